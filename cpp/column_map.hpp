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
#include "scaled_column.hpp"
#include "score_bounds.hpp"

namespace kdi {

// The constants of maps.py, numpy_maps.py and integral.py.
constexpr double max_intervals = 262144;         // MAX_INTERVALS
constexpr double least_slope = 1e-12;            // MIN_SLOPE
constexpr double steepest_slope = 1e303;         // MAX_SLOPE
constexpr double narrow_range = 1.0 / 64;        // NARROW_RANGE
constexpr double direct_sum_terms = 4096;        // DIRECT_SUM_TERMS
constexpr double density_rounding = 20;          // DENSITY_ROUNDING
constexpr double worst_spread_error = 1e-3;      // WORST_SPREAD_ERROR
constexpr int small_range_exponent = -600;       // SMALL_RANGE_EXPONENT

struct ColumnMap {
    MapKind kind = MapKind::empty;
    double low = not_a_number, high = not_a_number, unit = 1, scale = 0, low_slope = 1, high_slope = 1;
    double low_level = 0, high_level = 1, floor = 0, ceiling = 1;
    double error = 0;
    double bandwidth = not_a_number;  // h, in units of x
    std::vector<double> coefficients, knots, levels;
    std::vector<std::int32_t> guide;
};

// What a map gives: T, which is 0 and 1 at the extremes; the kernel cdf; or the normal score of the kernel cdf.
enum class Target { bounded, cdf, score };

struct MapOptions {
    Kernel kernel;
    double max_knots;  // infinity for no limit
    double tolerance;  // what the knots may contribute to the error
    Target target = Target::bounded;
    bool is_robust = false;         // whether the bandwidth is in units of the robust spread
    double floor = 0, ceiling = 1;  // what T, or the kernel cdf, is stretched to
};

// Builds one map after the other and keeps its memory.
class MapBuilder {
  public:
    explicit MapBuilder(const MapOptions& options) : options_(options), bounds_(options.kernel), reach_(options.kernel.reach()) {}

    // `column` is empty, or has its extremes among its values or in its first and last cell. The factor is alpha, or the
    // bandwidth itself.
    ColumnMap build(const ColumnSummary& column, double factor, bool is_bandwidth = false) {
        ColumnMap map;
        merged_ = nullptr;
        if (column.n == 0) return map;
        map.low = column.minimum;
        map.high = column.maximum;
        set_levels(map);
        if (!(column.maximum > column.minimum)) {
            map.kind = MapKind::constant;
            if (!is_bounded()) map.low_level = map.high_level = is_score() ? 0 : 0.5 * options_.floor + 0.5 * options_.ceiling;
            map.bandwidth = is_bandwidth ? factor : factor * 0;  // NaN for an infinite alpha
            return map;
        }
        scaled_.load(column, options_.is_robust && !is_bandwidth);
        if (std::isnan(scaled_.std)) throw std::invalid_argument("weights and moments must be finite");
        // Uneven weights can let the deviation underflow, and infinity * 0 is NaN.
        const double bandwidth = std::isinf(factor) ? infinity
                                 : is_bandwidth    ? std::ldexp(factor, scaled_.shift)
                                                   : factor * scaled_.spread;
        map.bandwidth = std::ldexp(bandwidth, -scaled_.shift);
        const double flatness = scaled_.range / bandwidth / options_.kernel.scale;
        const double spread_error = is_bandwidth || std::isinf(factor) || factor == 0 ? 0 : scaled_.spread_error;
        if ((scaled_.width > widest_cell && !std::isinf(factor)) || (spread_error > 0 && !(scaled_.std_error < worst_spread_error)) ||
            (!is_bounded() && std::isinf(bandwidth))) {
            set_straight(map, 1);
        } else if (is_bounded() && flatness < flat_range) {
            const double wanted = options_.kernel.cell_width(bandwidth, scaled_.range);  // for the sketch, which needs hardly any cells
            choose_cells(width_exponent(wanted, scaled_.low, scaled_.high), wanted);
            set_straight(map, flatness * flatness);
        } else if (bandwidth < vanishing_bandwidth) {
            set_ranks();
            lines_through_values(map, factor > 0 ? vanishing_error() : rank_error(), factor > 0);
        } else {
            build_at(map, bandwidth);
            // |dT / d log h| is below 4. A spread that is not resolved may be far from the right one.
            const double sensitivity = is_score() ? ScoreBounds::spread_sensitivity : 4 * stretch();
            add_error(map, spread_error < worst_spread_error ? sensitivity * spread_error : infinity);
        }
        // In a normal score, the error of the smallest tail that the bound covers counts most.
        if (factor < infinity) add_error(map, scaled_.moment_rounding * (is_score() ? 1 / normal_density(largest_score) : stretch()));
        return map;
    }

    // The cells into which the last column was merged for its bandwidth, and for its spread; none if it stayed as it was.
    const SortedMoments<std::int64_t>* merged_cells() const { return merged_; }
    int merged_exponent() const { return merged_exponent_; }

  private:
    static constexpr std::size_t max_fine_knots = 524256;  // with some at the ends, below 2 * max_intervals
    static constexpr double sparse_range = 32768;    // in bandwidths, from which on clusters are looked for
    static constexpr double score_line_step = 0.01;  // of the lines of normal scores, in bandwidths
    static constexpr double fine_tolerance = 3e-6, thin_tolerance = 2e-6;  // shares of the error of normal scores, 1e-5

    bool is_bounded() const { return options_.target == Target::bounded; }
    bool is_score() const { return options_.target == Target::score; }
    double stretch() const { return options_.ceiling - options_.floor; }
    double stretched(double level) const { return options_.floor + stretch() * level; }
    double worst_error() const { return is_score() ? infinity : stretch(); }
    void add_error(ColumnMap& map, double error) const { map.error = std::min(map.error + error, worst_error()); }

    // The level of a kernel cdf and its upper tail, of total weight 1; it does not reach its limits, although a tail may underflow.
    double level_of(double lower, double upper) const {
        if (is_score()) return normal_score(std::max(lower, least_tail), std::max(upper, least_tail));
        const double level = lower < upper ? stretched(lower) : options_.ceiling - stretch() * upper;
        return std::clamp(level, std::nextafter(options_.floor, infinity), std::nextafter(options_.ceiling, -infinity));
    }
    // The slope of the level, from the density of the kernel cdf.
    double slope_of(double density, double level) const { return is_score() ? density / normal_density(level) : stretch() * density; }

    void set_levels(ColumnMap& map) const {
        map.floor = is_score() ? -infinity : options_.floor;
        map.ceiling = is_score() ? infinity : options_.ceiling;
        map.low_level = options_.floor;
        map.high_level = options_.ceiling;
    }

    // The levels at the ends of an open map lie within its limits, by a rounding at least.
    void set_end_levels(ColumnMap& map, double low_level, double high_level) const {
        map.low_level = std::max(low_level, std::nextafter(map.floor, infinity));
        map.high_level = std::min(high_level, std::nextafter(map.ceiling, -infinity));
    }

    // A line from one end to the other, where nothing more is known.
    void set_straight(ColumnMap& map, double error) {
        map.knots = {map.low, map.high};
        if (is_bounded()) map.levels = {options_.floor, options_.ceiling};
        else map.levels = {level_of(0.25, 0.75), level_of(0.75, 0.25)};
        map.error = is_bounded() ? std::min(error, 1.0) * stretch() : worst_error();
        finish_lines(map);
    }

    // Mid-ranks of the values or cells, in units of weight.
    void set_ranks() {
        const std::size_t n = scaled_.column().n;
        value_.resize(n);
        upper_.resize(n);
        double before = 0, behind = 0;
        for (std::size_t k = 0; k < n; ++k) {
            value_[k] = before + 0.5 * scaled_.mass(k);
            before += scaled_.mass(k);
        }
        for (std::size_t k = n; k-- > 0;) {
            upper_[k] = behind + 0.5 * scaled_.mass(k);
            behind += scaled_.mass(k);
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

    // Straight lines through the integral at the values, which is in value_, with its upper tail in upper_. Where it rises in steps
    // between two values, the line is off by the rise at most.
    void lines_through_values(ColumnMap& map, double error, bool in_steps) {
        const ColumnSummary& column = scaled_.column();
        const double first = is_bounded() ? value_.front() : 0, total = is_bounded() ? value_.back() - first : scaled_.weight;
        if (!(total > 0) || column.n < 2) return set_straight(map, 1);  // one occupied cell
        map.levels = std::move(value_);
        map.knots.resize(column.n);
        for (std::size_t k = 0; k < column.n; ++k) {
            const double level = (map.levels[k] - first) / total;
            map.levels[k] = is_bounded() ? stretched(std::clamp(level, 0.0, 1.0)) : level_of(level, upper_[k] / total);
            map.knots[k] = column.is_exact ? column.values[k] : std::ldexp(scaled_.position(k), -scaled_.shift) + map.low;
        }
        map.knots.front() = map.low;
        map.knots.back() = map.high;
        finish_values(map, is_score() ? error_of_scores(map, error) : error * stretch(), in_steps);
    }

    // The error of normal scores from that of the levels.
    double error_of_scores(const ColumnMap& map, double error) const {
        if (error == 0) return 0;
        const double tail = normal_density(std::max(std::fabs(map.levels.front()), std::fabs(map.levels.back())));
        return error < 0.1 * tail ? 1.2 * error / tail : infinity;
    }

    // Lines through points that may decrease by roundings, no more of them than max_knots.
    void finish_values(ColumnMap& map, double error, bool in_steps) {
        double rise = 0;
        for (std::size_t k = 1; k < map.levels.size(); ++k) {
            map.levels[k] = std::max(map.levels[k], map.levels[k - 1]);
            rise = std::max(rise, map.levels[k] - map.levels[k - 1]);
        }
        if (static_cast<double>(map.knots.size()) > options_.max_knots) error += thin_out(map);
        map.error = std::min(error + (in_steps ? rise : 0.0), worst_error());
        finish_lines(map);
    }

    // Keep max_knots knots at even levels; return the largest rise between two of them.
    double thin_out(ColumnMap& map) const {
        const auto most = static_cast<std::size_t>(options_.max_knots);
        const double first = map.levels.front(), spacing = (map.levels.back() - first) / static_cast<double>(most - 1);
        std::size_t n = 0, last = map.knots.size() - 1, previous = last + 1;
        double rise = 0;
        for (std::size_t i = 0; i < most; ++i) {
            const auto found = std::lower_bound(map.levels.begin() + static_cast<std::ptrdiff_t>(n), map.levels.end(),
                                                first + static_cast<double>(i) * spacing);
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
        if (!is_bounded()) set_end_levels(map, map.levels.front(), map.levels.back());
        const std::size_t n_buckets = map.knots.size() - 1;
        set_scale(map, static_cast<double>(n_buckets) / (std::ldexp(map.high, scaled_.shift) - std::ldexp(map.low, scaled_.shift)));
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
        if (value_error > 0.01 * (is_bounded() ? kernel.least_total(relative) : 0.5)) {
            // Cells much wider than the kernel, as when alpha was lowered between two chunks: the only bound is 1.
            set_ranks();
            return lines_through_values(map, 1, false);
        }
        if (relative > sparse_range && lines_in_clusters(map, bandwidth, value_error)) return;
        if (relative > max_intervals) {
            std::vector<double> positions(scaled_.column().n);
            for (std::size_t k = 0; k < positions.size(); ++k) positions[k] = scaled_.position(k);
            positions.front() = 0;  // the extremes, not the middles of their cells
            positions.back() = scaled_.range;
            integrate_at(positions, bandwidth, true);
            const double total = is_bounded() ? value_.back() - value_.front() : scaled_.weight;
            lines_through_values(map, (is_bounded() ? 2 : 1) * value_error / total * scaled_.weight, true);
            // Beyond the values, the kernel cdf is somewhere between its levels at the ends and its limits.
            if (!is_bounded()) add_error(map, std::max(map.low_level - map.floor, map.ceiling - map.high_level));
            return;
        }
        const double density_error = (relative_width * relative_width * relative_width * kernel.max_fourth_derivative / 24 +
                                      density_rounding * rounding) / bandwidth;
        const double width = grid ? std::ldexp(1.0, *grid) : 0.0;
        if (is_bounded()) build_cubics(map, bandwidth, width, value_error, density_error);
        else build_open_cubics(map, bandwidth, value_error, density_error);
    }

    // Values further apart than the kernel reaches belong to different clusters; nothing happens between these.
    struct Cluster {
        double first, last, share;  // its ends, and its part of the weight
    };

    std::vector<Cluster> find_clusters(double reach) const {
        std::vector<Cluster> clusters;
        for (std::size_t k = 0; k < scaled_.column().n; ++k) {
            const double at = scaled_.position(k), share = scaled_.mass(k) / scaled_.weight;
            if (clusters.empty() || at - clusters.back().last > 2 * reach) {
                clusters.push_back({at, at, share});
            } else {
                clusters.back().last = at;
                clusters.back().share += share;
            }
        }
        return clusters;
    }

    // Where a few values lie far from all others, the range has too many bandwidths for regular knots: straight lines between
    // knots in the reach of clusters only. Return whether these are few enough.
    bool lines_in_clusters(ColumnMap& map, double bandwidth, double value_error) {
        const double reach = reach_ * bandwidth * options_.kernel.scale + width_;
        const double curvature = bounds_.largest[1] / (bandwidth * bandwidth), beyond = 1e-9 * bounds_.tail_ratio[1] / (bandwidth * bandwidth);
        const std::vector<Cluster> clusters = find_clusters(reach);
        std::vector<double> knots, positions, curvatures;
        for (const Cluster& cluster : clusters) {
            // The extremes, not the middles of their cells.
            const double from = is_bounded() && positions.empty() ? 0 : cluster.first - reach;
            const double to = is_bounded() && &cluster == &clusters.back() ? scaled_.range : cluster.last + reach;
            const double wanted = is_score() ? score_line_step * bandwidth : std::sqrt(8 * options_.tolerance / (curvature * cluster.share));
            const double n = std::ceil((to - from) / std::min(wanted, 0.25 * bandwidth));
            if (!(static_cast<double>(positions.size()) + n < max_intervals)) return false;
            for (double i = 0; i <= n; ++i) {
                // The integral is taken at the knots themselves, which are rounded numbers.
                const double wanted_place = n > 0 ? from + (to - from) * (i / n) : from;
                double knot = std::ldexp(wanted_place, -scaled_.shift) + map.low;
                if (is_bounded()) knot = std::min(knot, map.high);
                if (!std::isfinite(knot) || (!knots.empty() && !(knot > knots.back()))) continue;
                knots.push_back(knot);
                positions.push_back(std::ldexp(knot, scaled_.shift) - scaled_.low);
                curvatures.push_back(i < n ? curvature * cluster.share + beyond : infinity);
            }
        }
        if (knots.size() < 2 || !(knots.back() - knots.front() < infinity)) return false;
        if (is_bounded()) {
            knots.back() = map.high;
            positions.back() = scaled_.range;
        }
        integrate_at(positions, bandwidth, true);
        const double first = is_bounded() ? value_.front() : 0, total = is_bounded() ? value_.back() - first : scaled_.weight;
        map.knots.clear();
        map.levels.clear();
        double worst = 0;
        const auto n = positions.size();
        for (std::size_t i = 0; i < n; ++i) {
            const double lower = (value_[i] - first) / total, upper = is_bounded() ? 1 - lower : upper_[i] / total;
            // One knot beyond largest_score is enough.
            if (is_score() && ((i + 1 < n && value_[i + 1] / total < lowest_tail) || (i > 0 && upper_[i - 1] / total < lowest_tail))) continue;
            const double least = is_score() ? 0.1 * lowest_tail : 0;
            const double level = is_bounded() ? stretched(std::clamp(lower, 0.0, 1.0)) : level_of(std::max(lower, least), std::max(upper, least));
            if (!map.knots.empty()) worst = std::max(worst, line_error(map.levels.back(), level, positions, curvatures, i, bandwidth, total));
            map.knots.push_back(knots[i]);
            map.levels.push_back(level);
        }
        if (map.knots.size() < 2) return false;
        map.low = map.knots.front();
        map.high = map.knots.back();
        const double share = total / scaled_.weight;
        const double at_knots = is_score() ? bounds_.knot_errors(std::min(width_ / bandwidth, 1e60), n_, scaled_.range / bandwidth).value
                                           : stretch() * (is_bounded() ? 2 : 1) * value_error / share;
        finish_values(map, worst + at_knots, false);
        return true;
    }

    // The error of the line from the knot before to knot i: the rise at most, or what the curvature allows.
    double line_error(double before, double level, const std::vector<double>& positions, const std::vector<double>& curvatures, std::size_t i,
                      double bandwidth, double total) const {
        const double step = positions[i] - positions[i - 1], rise = std::max(level - before, 0.0);
        if (!is_score()) return std::min(rise, step * step / 8 * stretch() * curvatures[i - 1] * scaled_.weight / total);
        const double second = bounds_.second_derivative(before, level) / (bandwidth * bandwidth);
        return std::min(rise, curvatures[i - 1] < infinity ? step * step / 8 * second : infinity);
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
        // Bandwidths in units of the robust spread may need narrower cells than the range can be divided into.
        if ((column.is_exact || options_.is_robust) && std::ldexp(1.0, *grid) > wanted) return;
        const int exponent = *grid - scaled_.shift;
        own_ = merged_to(exponent);
        set_merged(exponent);
        n_ = own_.keys.size();
        keys_ = own_.keys.data();
        moments_ = own_.moments.data();
        width_ = std::ldexp(1.0, *grid);
        has_cells_ = true;
    }

    SortedMoments<std::int64_t> merged_to(int exponent) const {
        const ColumnSummary& column = scaled_.column();
        if (column.is_exact) return cut(column.values, scaled_.moments(), column.n, exponent);
        return widen(column.cells, scaled_.moments(), column.n, exponent - column.exponent);
    }

    // What the sketch may become: the cells of the integral, or narrower ones that the spread asks for.
    void set_merged(int exponent) {
        const ColumnSummary& column = scaled_.column();
        merged_ = nullptr;
        if (scaled_.keeps_values) return;
        merged_exponent_ = std::min(exponent, scaled_.spread_exponent.value_or(exponent));
        if (merged_exponent_ == exponent) {
            merged_ = &own_;
        } else if (column.is_exact || column.exponent < merged_exponent_) {
            for_spread_ = merged_to(merged_exponent_);
            merged_ = &for_spread_;
        }
    }

    double first_centre() const { return 0.5 * width_ - (scaled_.low - static_cast<double>(keys_[0]) * width_); }

    // Positions of the cells or values from which the integral is taken.
    std::vector<double> positions() const {
        std::vector<double> result(n_);
        for (std::size_t k = 0; k < n_; ++k)
            result[k] = has_cells_ ? static_cast<double>(keys_[k] - keys_[0]) * width_ + first_centre() : scaled_.position(k);
        return result;
    }

    // Fill value_ and density_, and upper_ if it is wanted, with the kernel cdf, its density and its upper tail at ascending
    // positions; all in units of weight.
    void integrate_at(const std::vector<double>& knots, double bandwidth, bool wants_upper = false) {
        const Kernel& kernel = options_.kernel;
        const std::vector<double> centres = positions();
        const int moments_per_cell = has_cells_ ? n_moments : 1;
        const double b = bandwidth * kernel.scale;
        value_.assign(knots.size(), 0.0);
        density_.assign(knots.size(), 0.0);
        if (wants_upper) upper_.assign(knots.size(), 0.0);
        // Only differences of levels lose digits where the kernel is wide.
        const bool is_narrow = scaled_.range < narrow_range * b && !wants_upper;
        if (is_narrow && static_cast<double>(n_) * static_cast<double>(knots.size()) <= direct_sum_terms) {
            direct_sum(kernel.order, centres, moments_, moments_per_cell, width_, b, knots, value_.data(), density_.data());
            return;
        }
        const Cells cells{centres.data(), moments_, n_, moments_per_cell, width_};
        choose_integrate(kernel.order)(cells, kernel.order, b, knots.data(), knots.size(),
                                       {value_.data(), density_.data(), nullptr, wants_upper ? upper_.data() : nullptr});
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
            choose_integrate_regular(kernel.order)(cells, knots, kernel.order, bandwidth * kernel.scale,
                                                   {value_.data(), nullptr, density_.data()});
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
        map.low_slope = bounded_slope(std::ldexp(stretch() * density_[0] / total, scaled_.shift), map);
        map.high_slope = bounded_slope(std::ldexp(stretch() * density_[n + 1] / total, scaled_.shift), map);
        set_scale(map, 1 / step);
        double highest = 0;
        for (std::size_t i = 0; i <= n; ++i) {
            highest = std::max((value_[i] - first) / total, highest);
            value_[i] = stretched(highest);
            density_[i] *= stretch() * step / total;
        }
        // Errors are for a total weight of 1.
        const double share = total / scaled_.weight;
        const double hermite_error = std::pow(step / bandwidth, 4) / 384 * kernel.max_fourth_derivative;
        map.coefficients.resize(4 * (n + 1));
        const double worst = cubics(value_.data(), density_.data(), n,
                                    stretch() * (hermite_error + density_error * step / 4) / share, map.coefficients.data());
        map.error = std::min(worst + stretch() * 2 * value_error / share, worst_error());
    }

    // Cubics of the kernel cdf, or of its normal score, as far as the kernel reaches beyond the range.
    void build_open_cubics(ColumnMap& map, double bandwidth, double value_error, double density_error) {
        const Kernel& kernel = options_.kernel;
        const double reach = reach_ * bandwidth * kernel.scale, length = scaled_.range + 2 * reach;
        const double tolerance = options_.tolerance;
        double step = is_score() ? bandwidth * bounds_.step(fine_tolerance)
                                 : bandwidth * std::pow(384 * tolerance / kernel.max_fourth_derivative, 0.25);
        const double most = is_score() ? static_cast<double>(max_fine_knots) : max_intervals;
        step = std::max(step, length / most);
        const double widest_step = step;
        double from = column_place(map, -reach - step);
        const double to = scaled_.range + reach;
        if (!std::isfinite(map.low)) return set_straight_anew(map);
        // Knots parallel to the cells: where these are narrower, a step is some of them; where they are wider, so many knots lie
        // in each, and every pass takes one of them.
        const bool has_grid = has_cells_ && n_ > 8;
        std::size_t per_cell = has_grid ? 1 : 0;
        if (has_grid && width_ <= step) {
            step -= std::fmod(step, width_);
        } else if (has_grid) {
            per_cell = static_cast<std::size_t>(std::ceil(width_ / step));
            step = width_ / static_cast<double>(per_cell);
        }
        if ((to - from) / step > static_cast<double>(max_fine_knots)) {
            step = widest_step;
            per_cell = 0;
        }
        auto n = static_cast<std::size_t>(std::ceil((to - from) / step)) + 1;
        if (!is_score() && static_cast<double>(n + 1) > options_.max_knots) {
            map.low = scaled_.column().minimum;
            from = column_place(map, -reach);
            n = static_cast<std::size_t>(options_.max_knots) - 1;
            step = (to - from) / static_cast<double>(n);
            per_cell = 0;
        }
        integrate_regularly(from, step, n + 1, per_cell, bandwidth);
        for (std::vector<double>* curve : {&value_, &upper_, &density_})
            for (double& number : *curve) number /= scaled_.weight;
        if (is_score()) return finish_scores(map, step, bandwidth);
        const double lost = kernel.order == 0 ? 1e-11 : 1e-300;
        continue_tails(step, lost);
        for (std::size_t i = 0; i <= n; ++i) {
            value_[i] = level_of(value_[i], upper_[i]);
            if (i > 0) value_[i] = std::max(value_[i], value_[i - 1]);
            density_[i] *= stretch();
        }
        const double hermite_error = std::pow(step / bandwidth, 4) / 384 * kernel.max_fourth_derivative;
        finish_open(map, 1, step, stretch() * (hermite_error + density_error * step / 4));
        add_error(map, stretch() * (value_error + lost));
    }

    // Where a tail of the kernel cdf has lost its digits, it goes on as an exponential, and is off by less than `least`.
    void continue_tails(double step, double least) {
        const std::size_t n = value_.size();
        std::size_t first = 0, last = n - 1;
        while (first + 1 < n && !(value_[first] > least)) ++first;
        while (last > 0 && !(upper_[last] > least)) --last;
        const double falling = std::exp(-step * density_[first] / value_[first]), rising = std::exp(-step * density_[last] / upper_[last]);
        for (std::size_t i = first; i-- > 0;) {
            value_[i] = std::min(value_[i + 1] * falling, least);
            upper_[i] = 1 - value_[i];
            density_[i] = density_[i + 1] * falling;
        }
        for (std::size_t i = last + 1; i < n; ++i) {
            upper_[i] = std::min(upper_[i - 1] * rising, least);
            value_[i] = 1 - upper_[i];
            density_[i] = density_[i - 1] * rising;
        }
    }

    // The place in the scaled units, relative to the minimum, of the first knot: `map.low` is a number near the wanted place.
    double column_place(ColumnMap& map, double wanted) const {
        map.low += std::ldexp(wanted, -scaled_.shift);
        return std::ldexp(map.low, scaled_.shift) - scaled_.low;
    }

    // The kernel cdf, its upper tail and its density at n knots from `from` on. With `per_cell` = 0 they are not parallel to cells.
    void integrate_regularly(double from, double step, std::size_t n, std::size_t per_cell, double bandwidth) {
        const double cells_per_step = std::max(std::round(step / width_), 1.0);
        if (per_cell == 0 || cells_per_step > 4096) {
            std::vector<double> knots(n);
            for (std::size_t i = 0; i < n; ++i) knots[i] = from + static_cast<double>(i) * step;
            return integrate_at(knots, bandwidth, true);
        }
        const Kernel& kernel = options_.kernel;
        for (std::vector<double>* curve : {&value_, &upper_, &density_}) curve->assign(n, 0.0);
        for (std::size_t pass = 0; pass < per_cell; ++pass) {
            const std::size_t n_knots = (n - pass + per_cell - 1) / per_cell;
            const double centre = first_centre() - from - static_cast<double>(pass) * step, index = std::floor(centre / width_ + 0.5);
            double shift = centre - index * width_;
            if (shift <= -0.5 * width_) shift = std::nextafter(-0.5 * width_, 0.0);
            const RegularCells cells{keys_, moments_, n_, keys_[0] - static_cast<std::int64_t>(index), width_, shift};
            const RegularKnots knots{static_cast<std::int64_t>(cells_per_step), cells_per_step * width_, n_knots, not_a_number};
            std::vector<double>&value = pass_[0], &upper = pass_[1], &density = pass_[2];
            for (auto& curve : pass_) curve.resize(n_knots);
            choose_integrate_regular(kernel.order)(cells, knots, kernel.order, bandwidth * kernel.scale,
                                                   {value.data(), upper.data(), density.data()});
            for (std::size_t i = 0; i < n_knots; ++i) {
                value_[pass + i * per_cell] = value[i];
                upper_[pass + i * per_cell] = upper[i];
                density_[pass + i * per_cell] = density[i];
            }
        }
    }

    // The cubics of every so many knots; levels are in value_, slopes in density_.
    void finish_open(ColumnMap& map, std::size_t every, double step, double shape_error) {
        const std::size_t n = (value_.size() - 1) / every;
        std::vector<double> levels(n + 1), slopes(n + 1);
        const double length = step * static_cast<double>(every);
        for (std::size_t i = 0; i <= n; ++i) {
            levels[i] = value_[i * every];
            slopes[i] = density_[i * every] * length;
        }
        map.kind = MapKind::cubic;
        map.coefficients.resize(4 * (n + 1));
        map.error = std::min(cubics(levels.data(), slopes.data(), n, shape_error, map.coefficients.data()), worst_error());
        set_scale(map, 1 / length);
        map.high = map.low + std::ldexp(static_cast<double>(n) * length, -scaled_.shift);
        set_end_levels(map, levels.front(), levels.back());
        map.low_slope = bounded_slope(std::ldexp(density_.front(), scaled_.shift), map);
        map.high_slope = bounded_slope(std::ldexp(density_[n * every], scaled_.shift), map);
        if (!(map.high - map.low < infinity) || !(map.scale > 0)) set_straight_anew(map);
    }

    void set_straight_anew(ColumnMap& map) {
        map.coefficients.clear();
        map.low = scaled_.column().minimum;
        map.high = scaled_.column().maximum;
        set_straight(map, 1);
    }

    // Turn the tails into scores, which go on in a straight line where they are beyond largest_score, and keep the fewest knots
    // whose cubics agree with those of all.
    void finish_scores(ColumnMap& map, double step, double bandwidth) {
        const double relative_range = scaled_.range / bandwidth, relative_step = step / bandwidth;
        const double relative_width = std::min(width_ / bandwidth, 1e60);
        std::size_t first = 0, last = value_.size() - 1;
        while (first < last && !(value_[first + 1] > lowest_tail)) ++first;
        while (last > first && !(upper_[last - 1] > lowest_tail)) --last;
        if (last < first + 2) return set_straight_anew(map);
        const auto knot_errors = bounds_.knot_errors(relative_width, n_, relative_range);
        double fine = 0, highest = -infinity, slope_before = 0, density_before = 0;
        for (std::size_t i = first; i <= last; ++i) {
            // The outermost knots may be anywhere beyond largest_score, where a tail has no digits any more.
            const double tail = 0.1 * lowest_tail, score = normal_score(std::max(value_[i], tail), std::max(upper_[i], tail));
            const double density = normal_density(score), slope = std::max(density_[i], 0.0) / density;
            if (i > first)
                fine = std::max(fine, bounds_.fourth_derivative(value_[i - 1], score, slope_before * bandwidth, slope * bandwidth,
                                                                relative_step, std::min(density, density_before)));
            value_[i] = highest = std::max(score, highest);
            density_[i] = slope_before = slope;
            density_before = density;
        }
        const auto most = static_cast<std::size_t>(std::min(options_.max_knots - 1, 1e9));
        const std::size_t n = value_.size() - 1;
        std::size_t every = most_merged;
        go_on_straight(first, last, (n / every + 1) * every, step);
        const double fine_error = fine * std::pow(relative_step, 4) / 384, allowed = std::max(thin_tolerance, 0.25 * fine_error);
        // What clamping the slopes does is part of the error.
        double merging_error = error_of_merging(first, last, every, step, allowed);
        while (every > 1 && merging_error > allowed) merging_error = error_of_merging(first, last, every /= 2, step, allowed);
        if (n / every + 1 > most || merging_error > allowed) {
            every = std::max(every, (n + most - 1) / most);
            go_on_straight(first, last, (n + every - 1) / every * every, step);
            merging_error = error_of_merging(first, last, every, step, infinity);
        }
        finish_open(map, every, step, 0);
        if (map.kind == MapKind::cubic)
            map.error = fine_error + merging_error + knot_errors.value + knot_errors.slope * relative_step / 4;
    }

    // Let scores go on in straight lines in front of `first` and behind `last`, up to n intervals.
    void go_on_straight(std::size_t first, std::size_t last, std::size_t n, double step) {
        value_.resize(n + 1);
        density_.resize(n + 1);
        const auto set = [&](std::size_t i, std::size_t from) {
            value_[i] = value_[from] + (static_cast<double>(i) - static_cast<double>(from)) * step * density_[from];
            density_[i] = density_[from];
        };
        for (std::size_t i = 0; i < first; ++i) set(i, first);
        for (std::size_t i = last + 1; i <= n; ++i) set(i, last);
    }

    // A bound on the difference between the cubics of all knots from `first` to `last` and the cubics of every so many knots, or
    // any number above `allowed` if it is larger than that.
    double error_of_merging(std::size_t first, std::size_t last, std::size_t every, double step, double allowed) const {
        const double length = step * static_cast<double>(every), part = 1.0 / static_cast<double>(every);
        double at_knots = 0, of_slopes = 0;
        for (std::size_t k = first / every * every; k < last; k += every) {
            const double levels[] = {value_[k], value_[k + every]}, slopes[] = {density_[k] * length, density_[k + every] * length};
            double c[8];
            cubics(levels, slopes, 1, 0, c);
            for (std::size_t j = 0; j <= every && k + j <= last; ++j) {
                if (k + j < first) continue;
                const double t = static_cast<double>(j) * part, miss = c[0] + t * (c[1] + t * (c[2] + t * c[3])) - value_[k + j];
                const double slope = (c[1] + t * (2 * c[2] + 3 * t * c[3])) * part - density_[k + j] * step;
                at_knots = std::max(at_knots, std::fabs(miss));
                of_slopes = std::max(of_slopes, std::fabs(slope));
            }
            if (at_knots > allowed) break;
        }
        return at_knots + of_slopes / 4;
    }

    static constexpr std::size_t most_merged = 16;  // fine knots to one knot of the map
    static constexpr double least_tail = std::numeric_limits<double>::min();
    static constexpr double lowest_tail = 9.8658764503769814e-10;  // of largest_score

    MapOptions options_;
    ScoreBounds bounds_;
    double reach_;  // of the kernel, in units of its own bandwidth
    ScaledColumn scaled_;
    std::vector<double> value_, upper_, density_;
    std::vector<double> pass_[3];
    // What choose_cells has chosen.
    SortedMoments<std::int64_t> own_{n_moments, {}, {}}, for_spread_{n_moments, {}, {}};
    const SortedMoments<std::int64_t>* merged_ = nullptr;
    std::size_t n_ = 0;
    const std::int64_t* keys_ = nullptr;
    const double* moments_ = nullptr;
    double width_ = 0;
    bool has_cells_ = false;
    int merged_exponent_ = 0;
};

}  // namespace kdi
