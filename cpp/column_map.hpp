// The map of one column at one bandwidth, from its values or cells. The choices made here are documented in
// src/kdi/_integral/numpy_maps.py, the NumPy twin.
//
// Everything is computed in units of a power of two near the range of the column, so that no magnitude is special.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "cells.hpp"
#include "cubics.hpp"
#include "integrate.hpp"
#include "kernel.hpp"
#include "lookup.hpp"
#include "packed.hpp"
#include "regular.hpp"

namespace kdi {

// The constants of maps.py, numpy_maps.py and integral.py.
constexpr double max_intervals = 262144;         // MAX_INTERVALS
constexpr double least_slope = 1e-12;            // MIN_SLOPE
constexpr double steepest_slope = 1e303;         // MAX_SLOPE
constexpr double narrow_range = 1.0 / 64;        // NARROW_RANGE
constexpr double direct_sum_terms = 4096;        // DIRECT_SUM_TERMS
constexpr double density_rounding = 20;          // DENSITY_ROUNDING
constexpr double spread_rounding = 1e-15;        // SPREAD_ROUNDING
constexpr double worst_spread_error = 1e-3;      // WORST_SPREAD_ERROR
constexpr int small_range_exponent = -600;       // SMALL_RANGE_EXPONENT

// A column as the integral needs it: ascending distinct values with weights, or cells with moments.
struct ColumnSummary {
    double minimum = 0, maximum = 0;
    double count = 0;                     // values, which may repeat
    std::size_t n = 0;                    // distinct values, or occupied cells
    bool is_exact = true;                 // it keeps its values, not cells
    const double* values = nullptr;
    const std::int64_t* cells = nullptr;
    int exponent = 0;                     // the cells are 2^exponent wide
    const double* moments = nullptr;      // one weight per value, or n_moments per cell

    std::size_t moments_per_key() const { return is_exact ? 1 : n_moments; }
};

struct ColumnMap {
    MapKind kind = MapKind::empty;
    double low = not_a_number, high = not_a_number, unit = 1, scale = 0, low_slope = 1, high_slope = 1, error = 0;
    double bandwidth = not_a_number;  // h, in units of x
    std::vector<double> coefficients, knots, levels;
    std::vector<std::int32_t> guide;
};

struct MapOptions {
    Kernel kernel;
    double max_knots;  // infinity for no limit
    double tolerance;  // what the knots may contribute to the error
};

// A column in units of 2^-shift, in which its range is between 1/2 and 1; positions are relative to the minimum.
class ScaledColumn {
  public:
    int shift = 0;
    double low = 0, high = 0, range = 0;  // in these units
    double width = 0;                     // of the cells; 0 for values
    double weight = 0, std = 0;
    double moment_rounding = 0;           // what rounding the moments of tiny weights may contribute to the error of T

    // Weights are scaled by a power of two where their sums could overflow or lose digits.
    void load(const ColumnSummary& column) {
        column_ = &column;
        moments_ = column.moments;
        const std::size_t step = column.moments_per_key();
        int exponent;
        std::frexp(column.maximum - column.minimum, &exponent);
        shift = -exponent;
        low = std::ldexp(column.minimum, shift);
        high = std::ldexp(column.maximum, shift);
        range = high - low;
        width = column.is_exact ? 0 : std::ldexp(1.0, column.exponent + shift);
        double largest = 0;
        for (std::size_t k = 0; k < column.n; ++k) largest = std::max(largest, column.moments[k * step]);
        std::frexp(largest, &exponent);
        if (exponent > 900 || exponent < -400) {
            scaled_moments_.resize(column.n * step);
            for (std::size_t k = 0; k < scaled_moments_.size(); ++k) scaled_moments_[k] = std::ldexp(column.moments[k], -exponent);
            moments_ = scaled_moments_.data();
        }
        set_spread();
        // Each value rounds the moments of its cell by half of the smallest number. They enter T through the spread, too.
        moment_rounding = exponent < -400 && !column.is_exact ? std::ldexp(column.count / weight, -1072 - exponent) : 0.0;
    }

    const ColumnSummary& column() const { return *column_; }
    const double* moments() const { return moments_; }
    double mass(std::size_t k) const { return moments_[k * column_->moments_per_key()]; }
    double first_centre() const { return 0.5 * width - (low - static_cast<double>(column_->cells[0]) * width); }

    // The relative error of std: the variance of cells is a difference of terms as large as the squared width.
    double spread_error() const { return column_->is_exact ? 0 : spread_rounding * (width / std) * (width / std); }

    double position(std::size_t k) const {
        if (column_->is_exact) return std::ldexp(column_->values[k], shift) - low;
        return static_cast<double>(column_->cells[k] - column_->cells[0]) * width + first_centre();
    }

  private:
    void set_spread() {
        const std::size_t n = column_->n, step = column_->moments_per_key();
        double sum = 0, square = 0;
        weight = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double* m = moments_ + k * step;
            weight += m[0];
            sum += position(k) * m[0] + (step > 1 ? width * m[1] : 0.0);
        }
        const double mean = sum / weight;
        for (std::size_t k = 0; k < n; ++k) {
            const double* m = moments_ + k * step;
            const double offset = position(k) - mean;
            square += offset * offset * m[0] + (step > 1 ? width * (2 * offset * m[1] + width * m[2]) : 0.0);
        }
        std = std::min(std::sqrt(std::max(square, 0.0) / weight), 0.5 * range);
    }

    const ColumnSummary* column_ = nullptr;
    const double* moments_ = nullptr;
    std::vector<double> scaled_moments_;
};

// Builds one map after the other and keeps its memory.
class MapBuilder {
  public:
    explicit MapBuilder(const MapOptions& options) : options_(options) {}

    // `column` is empty, or has its extremes among its values or in its first and last cell. The factor is alpha, or the
    // bandwidth itself.
    ColumnMap build(const ColumnSummary& column, double factor, bool is_bandwidth = false) {
        ColumnMap map;
        is_merged_ = false;
        if (column.n == 0) return map;
        map.low = column.minimum;
        map.high = column.maximum;
        if (!(column.maximum > column.minimum)) {
            map.kind = MapKind::constant;
            map.bandwidth = is_bandwidth ? factor : factor * 0;  // NaN for an infinite alpha
            return map;
        }
        scaled_.load(column);
        if (std::isnan(scaled_.std)) throw std::invalid_argument("weights and moments must be finite");
        // Uneven weights can let the deviation underflow, and infinity * 0 is NaN.
        const double bandwidth = std::isinf(factor) ? infinity
                                 : is_bandwidth    ? std::ldexp(factor, scaled_.shift)
                                                   : factor * scaled_.std;
        map.bandwidth = std::ldexp(bandwidth, -scaled_.shift);
        const double flatness = scaled_.range / bandwidth / options_.kernel.scale;
        const double spread_error = is_bandwidth || std::isinf(factor) || factor == 0 ? 0 : scaled_.spread_error();
        if ((scaled_.width > widest_cell && !std::isinf(factor)) || !(spread_error < worst_spread_error)) {
            set_straight(map, 1);
        } else if (flatness < flat_range) {
            const double wanted = options_.kernel.cell_width(bandwidth, scaled_.range);  // for the sketch, which needs hardly any cells
            choose_cells(width_exponent(wanted, scaled_.low, scaled_.high), wanted);
            set_straight(map, flatness * flatness);
        } else if (bandwidth < vanishing_bandwidth) {
            set_ranks();
            lines_through_values(map, factor > 0 ? vanishing_error() : rank_error(), factor > 0);
        } else {
            build_at(map, bandwidth);
            map.error = std::min(map.error + 4 * spread_error, 1.0);  // |dT / d log h| is below 4
        }
        if (factor < infinity) map.error = std::min(map.error + scaled_.moment_rounding, 1.0);
        return map;
    }

    // The cells into which the last column was merged for its bandwidth; none if it stayed as it was.
    const SortedMoments<std::int64_t>* merged_cells() const { return is_merged_ ? &own_ : nullptr; }
    int merged_exponent() const { return merged_exponent_; }

  private:
    // A line from 0 at the minimum to 1 at the maximum.
    void set_straight(ColumnMap& map, double error) {
        map.knots = {map.low, map.high};
        map.levels = {0, 1};
        map.error = std::min(error, 1.0);
        finish_lines(map);
    }

    // Mid-ranks of the values or cells, in units of weight.
    void set_ranks() {
        value_.resize(scaled_.column().n);
        double before = 0;
        for (std::size_t k = 0; k < value_.size(); ++k) {
            value_[k] = before + 0.5 * scaled_.mass(k);
            before += scaled_.mass(k);
        }
    }

    // The error of ranks of cells, both in the rank itself and in the total.
    double rank_error() const {
        const std::size_t n = scaled_.column().n;
        if (scaled_.column().is_exact) return 0;
        double largest = 0;
        for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, scaled_.mass(k));
        return 2 * largest / (scaled_.weight - 0.5 * (scaled_.mass(0) + scaled_.mass(n - 1)));
    }

    // The error of ranks at a bandwidth that vanishes but is not 0: none where no two values are close enough to touch.
    double vanishing_error() const {
        if (!scaled_.column().is_exact) return rank_error();
        for (std::size_t k = 1; k < scaled_.column().n; ++k)
            if (scaled_.position(k) - scaled_.position(k - 1) < kernel_reach * vanishing_bandwidth) return 1;
        return 0;
    }

    // Straight lines through the integral at the values, which is in value_. Where it rises in steps between two values, the
    // line is off by the rise at most.
    void lines_through_values(ColumnMap& map, double error, bool in_steps) {
        const ColumnSummary& column = scaled_.column();
        const double first = value_.front(), total = value_.back() - first;
        if (!(total > 0)) return set_straight(map, 1);  // one occupied cell
        map.levels = std::move(value_);
        map.knots.resize(column.n);
        double highest = 0, rise = 0;
        for (std::size_t k = 0; k < column.n; ++k) {
            const double level = std::clamp((map.levels[k] - first) / total, highest, 1.0);
            rise = std::max(rise, level - highest);
            map.levels[k] = highest = level;
            map.knots[k] = column.is_exact ? column.values[k] : std::ldexp(scaled_.position(k), -scaled_.shift) + map.low;
        }
        map.knots.front() = map.low;
        map.knots.back() = map.high;
        if (static_cast<double>(column.n) > options_.max_knots) error += thin_out(map);
        map.error = std::min(error + (in_steps ? rise : 0.0), 1.0);
        finish_lines(map);
    }

    // Keep max_knots knots at even levels; return the largest rise between two of them.
    double thin_out(ColumnMap& map) const {
        const auto most = static_cast<std::size_t>(options_.max_knots);
        const double spacing = 1.0 / static_cast<double>(most - 1);
        std::size_t n = 0, last = map.knots.size() - 1, previous = last + 1;
        double rise = 0;
        for (std::size_t i = 0; i < most; ++i) {
            const auto found = std::lower_bound(map.levels.begin() + static_cast<std::ptrdiff_t>(n), map.levels.end(),
                                                static_cast<double>(i) * spacing);
            const std::size_t k = i + 1 == most ? last : std::min(static_cast<std::size_t>(found - map.levels.begin()), last);
            if (k == previous) continue;
            previous = k;
            map.knots[n] = map.knots[k];
            map.levels[n] = map.levels[k];
            if (n > 0) rise = std::max(rise, map.levels[n] - map.levels[n - 1]);
            ++n;
        }
        map.knots.resize(n);
        map.levels.resize(n);
        return rise;
    }

    // The guide, which says in which interval each of n_knots - 1 equal parts of the range begins, and the slopes at the ends.
    void finish_lines(ColumnMap& map) {
        map.kind = MapKind::linear;
        const std::size_t n_buckets = map.knots.size() - 1;
        set_scale(map, static_cast<double>(n_buckets) / scaled_.range);
        // Part b begins in interval k if k of the inner knots are not above its beginning: count for each knot in which part it
        // is first, and add up.
        map.guide.reserve(map.knots.size());  // packed maps have one entry more
        map.guide.assign(n_buckets, 0);
        const auto edge = [&](std::size_t bucket) { return static_cast<double>(bucket) / map.scale; };
        for (std::size_t k = 1; k < n_buckets; ++k) {
            const double position = (map.knots[k] - map.low) * map.unit;
            auto bucket = static_cast<std::size_t>(std::min(position * map.scale, static_cast<double>(n_buckets)));
            while (bucket > 0 && edge(bucket - 1) >= position) --bucket;
            while (bucket < n_buckets && edge(bucket) < position) ++bucket;
            if (bucket == n_buckets) break;
            ++map.guide[bucket];
        }
        for (std::size_t bucket = 1; bucket < n_buckets; ++bucket) map.guide[bucket] += map.guide[bucket - 1];
        const auto slope = [&](std::size_t i) {
            return bounded_slope((map.levels[i + 1] - map.levels[i]) / (map.knots[i + 1] - map.knots[i]), map);
        };
        map.low_slope = slope(0);
        map.high_slope = slope(n_buckets - 1);
    }

    // Set unit and scale so that (x - low) * unit * scale counts intervals, of which so many fit into 2^-shift.
    void set_scale(ColumnMap& map, double intervals) const {
        const bool is_small = -scaled_.shift < small_range_exponent;
        map.unit = is_small ? std::ldexp(1.0, -small_range_exponent) : 1.0;
        map.scale = std::ldexp(intervals, scaled_.shift + (is_small ? small_range_exponent : 0));
    }

    // Slopes beyond the ends are positive and finite, since a slope of 0 would have no inverse.
    static double bounded_slope(double slope, const ColumnMap& map) {
        return std::clamp(slope, std::min(least_slope / (map.high - map.low), steepest_slope), steepest_slope);
    }

    void build_at(ColumnMap& map, double bandwidth) {
        const Kernel& kernel = options_.kernel;
        const double relative = scaled_.range / bandwidth;
        const double wanted = kernel.cell_width(bandwidth, scaled_.range);
        const auto grid = width_exponent(wanted, scaled_.low, scaled_.high);
        choose_cells(grid, wanted);
        const double relative_width = std::min(width_ / bandwidth, 1e60);
        const double rounding = kernel.rounding_error(n_, relative);
        const double value_error = kernel.cell_error(relative_width) + rounding;
        if (value_error > 0.01 * kernel.least_total(relative)) {
            // Cells much wider than the kernel, as when alpha was lowered between two chunks: the only bound is 1.
            set_ranks();
            return lines_through_values(map, 1, false);
        }
        if (relative > max_intervals) {
            std::vector<double> positions(scaled_.column().n);
            for (std::size_t k = 0; k < positions.size(); ++k) positions[k] = scaled_.position(k);
            integrate_at(positions, bandwidth);
            const double total = value_.back() - value_.front();
            return lines_through_values(map, 2 * value_error / total, true);
        }
        const double density_error = (relative_width * relative_width * relative_width * kernel.max_fourth_derivative / 24 +
                                      density_rounding * rounding) / bandwidth;
        build_cubics(map, bandwidth, grid ? std::ldexp(1.0, *grid) : 0.0, value_error, density_error);
    }

    // The cells from which the integral is taken: those of the grid that the bandwidth calls for, into which values and narrower
    // cells are merged; or what the column has, where that is wider, or more exact at little cost.
    void choose_cells(std::optional<int> grid, double wanted) {
        const ColumnSummary& column = scaled_.column();
        n_ = column.n;
        keys_ = column.cells;
        moments_ = scaled_.moments();
        width_ = scaled_.width;
        has_cells_ = !column.is_exact;
        if (!grid || (has_cells_ && column.exponent + scaled_.shift >= *grid)) return;
        // A short column loses digits in cells, which do not matter only beside a larger error of the knots. Cells at even
        // distances are much cheaper to integrate than values.
        const bool is_short = static_cast<double>(column.count) <= std::max<double>(few_values, std::ldexp(scaled_.range, -*grid));
        if (is_short && !(options_.tolerance > cell_tolerance)) return;
        if (column.is_exact && std::ldexp(1.0, *grid) > wanted) return;
        const int exponent = *grid - scaled_.shift;
        if (has_cells_) own_ = widen(keys_, moments_, n_, exponent - column.exponent);
        else own_ = cut(column.values, moments_, n_, exponent);
        n_ = own_.keys.size();
        keys_ = own_.keys.data();
        moments_ = own_.moments.data();
        width_ = std::ldexp(1.0, *grid);
        has_cells_ = is_merged_ = true;
        merged_exponent_ = exponent;
    }

    double first_centre() const { return 0.5 * width_ - (scaled_.low - static_cast<double>(keys_[0]) * width_); }

    // Positions of the cells or values from which the integral is taken.
    std::vector<double> positions() const {
        std::vector<double> result(n_);
        for (std::size_t k = 0; k < n_; ++k)
            result[k] = has_cells_ ? static_cast<double>(keys_[k] - keys_[0]) * width_ + first_centre() : scaled_.position(k);
        return result;
    }

    // Fill value_ and density_ with the kernel cdf and its density at ascending positions; both in units of weight.
    void integrate_at(const std::vector<double>& knots, double bandwidth) {
        const Kernel& kernel = options_.kernel;
        const std::vector<double> centres = positions();
        const int moments_per_cell = has_cells_ ? n_moments : 1;
        const double b = bandwidth * kernel.scale;
        value_.assign(knots.size(), 0.0);
        density_.assign(knots.size(), 0.0);
        const bool is_narrow = scaled_.range < narrow_range * b;
        if (is_narrow && static_cast<double>(n_) * static_cast<double>(knots.size()) <= direct_sum_terms) {
            direct_sum(kernel.order, centres, moments_, moments_per_cell, width_, b, knots, value_.data(), density_.data());
            return;
        }
        const Cells cells{centres.data(), moments_, n_, moments_per_cell, width_};
        choose_integrate(kernel.order)(cells, kernel.order, b, knots.data(), knots.size(), {value_.data(), density_.data(), nullptr});
    }

    void build_cubics(ColumnMap& map, double bandwidth, double grid, double value_error, double density_error) {
        const Kernel& kernel = options_.kernel;
        const double length = scaled_.range, total_at_least = kernel.least_total(length / bandwidth);
        double step = bandwidth * std::pow(384 * options_.tolerance * total_at_least / kernel.max_fourth_derivative, 0.25);
        step = std::max(std::min(step, length / 4), length / max_intervals);
        if (0 < grid && grid < step) step -= std::fmod(step, grid);  // knots parallel to the cells
        if (length / step > options_.max_knots - 1) step = length / (options_.max_knots - 1);
        const double intervals = std::max(std::ceil(length / step * (1 - 1e-12)), 1.0);
        if (!(intervals <= 2 * max_intervals + 1)) throw std::invalid_argument("weights, moments and bandwidths must be finite");
        const auto n = static_cast<std::size_t>(intervals);
        const double last = static_cast<double>(n) * step, cells_per_step = step / width_;
        const bool is_narrow = length < narrow_range * bandwidth * kernel.scale;
        const bool is_parallel = has_cells_ && cells_per_step <= 4096 && cells_per_step == std::floor(cells_per_step);
        if (is_parallel && !is_narrow) {
            value_.resize(n + 2);
            density_.resize(n + 2);
            const RegularCells cells{keys_, moments_, n_, keys_[0], width_, first_centre()};
            const RegularKnots knots{static_cast<std::int64_t>(cells_per_step), step, n + 1, length};
            choose_integrate_regular(kernel.order)(cells, knots, kernel.order, bandwidth * kernel.scale, value_.data(),
                                                   density_.data());
        } else {
            std::vector<double> knots(n + 2);
            for (std::size_t i = 0; i < n; ++i) knots[i] = static_cast<double>(i) * step;
            // The last knot may lie beyond the end, so the end itself is evaluated too. Where the two differ by a rounding only,
            // the knot must not come first: the filters need ascending knots.
            knots[n] = length;
            knots[n + 1] = std::max(last, length);
            integrate_at(knots, bandwidth);
            std::swap(value_[n], value_[n + 1]);
            std::swap(density_[n], density_[n + 1]);
        }
        // Now value_ holds the knots 0 to n, and then the end.
        const double first = value_[0], total = value_[n + 1] - first;
        map.kind = MapKind::cubic;
        map.low_slope = bounded_slope(std::ldexp(density_[0] / total, scaled_.shift), map);
        map.high_slope = bounded_slope(std::ldexp(density_[n + 1] / total, scaled_.shift), map);
        set_scale(map, 1 / step);
        double highest = 0;
        for (std::size_t i = 0; i <= n; ++i) {
            value_[i] = highest = std::max((value_[i] - first) / total, highest);
            density_[i] *= step / total;
        }
        // Errors are for a total weight of 1.
        const double share = total / scaled_.weight;
        const double hermite_error = std::pow(step / bandwidth, 4) / 384 * kernel.max_fourth_derivative;
        map.coefficients.resize(4 * (n + 1));
        const double worst =
            cubics(value_.data(), density_.data(), n, (hermite_error + density_error * step / 4) / share, map.coefficients.data());
        map.error = std::min(worst + 2 * value_error / share, 1.0);
    }

    MapOptions options_;
    ScaledColumn scaled_;
    std::vector<double> value_, density_;
    // What choose_cells has chosen.
    SortedMoments<std::int64_t> own_{n_moments, {}, {}};
    std::size_t n_ = 0;
    const std::int64_t* keys_ = nullptr;
    const double* moments_ = nullptr;
    double width_ = 0;
    bool has_cells_ = false, is_merged_ = false;
    int merged_exponent_ = 0;
};

}  // namespace kdi
