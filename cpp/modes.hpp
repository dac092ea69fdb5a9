// The peaks and valleys of a Gaussian kernel density over cells, to machine precision.
//
// Slopes at knots, from the filters, show between which knots the density turns; the turning points themselves are found there by
// Newton's method on the direct sum. Where the density is so close to 0 that the filters see only their own rounding, there is one
// valley. numpy_core.py documents the constants.
//
// Densities and their derivatives are in units of the bandwidth, so that no bandwidth is special.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cells.hpp"
#include "integrate.hpp"
#include "kernel.hpp"
#include "regular.hpp"

namespace kdi {

constexpr double knots_per_bandwidth = 32;    // KNOTS_PER_BANDWIDTH
constexpr double max_density_knots = 262144;  // MAX_DENSITY_KNOTS
constexpr double negligible_density = 1e-8;   // NEGLIGIBLE
constexpr double reach_of_gaussian = 39;      // REACH
// Cells are merged, and values cut into cells, no wider than this share of a bandwidth. Four moments then leave an error of the
// slopes that moves no turning point by more than bracket_margin.
constexpr double cells_per_bandwidth = 128;
constexpr double bracket_margin = 1e-3;  // in bandwidths, beside a bracket: the slopes at its ends have errors

struct TurningPoint {
    double position, density;
};

class ModeFinder {
  public:
    // Positions ascend from 0 to `length`, give or take a cell.
    ModeFinder(const Cells& cells, double bandwidth, double length) : cells_(cells), bandwidth_(bandwidth), length_(length) {}

    // Return the turning points, ascending: peaks and valleys in turn, the first and the last a peak.
    std::vector<TurningPoint> find() {
        choose_knots();
        double highest = 0;
        for (const double density : density_) highest = std::max(highest, density);
        std::vector<TurningPoint> found;
        std::size_t previous = 0;
        double sign = 1;  // the density rises from 0 and falls to 0
        for (std::size_t i = 1; i < knots_.size(); ++i) {
            const bool is_last = i + 1 == knots_.size();
            if (!is_last && !(density_[i] > negligible_density * highest && slope_[i] != 0)) continue;
            const double own = is_last || slope_[i] < 0 ? -1 : 1;
            if (own != sign) found.push_back(turning_point(previous, i, sign));
            previous = i;
            sign = own;
        }
        return found;
    }

  private:
    struct Derivatives {
        double density, slope, curvature, third;
    };

    void choose_knots() {
        const double n_knots = std::ceil(length_ / bandwidth_ * knots_per_bandwidth) + 2;
        if (length_ <= bandwidth_) {  // concave: one peak
            knots_ = {0, length_};
            density_ = slope_ = {0, 0};
        } else if (n_knots > max_density_knots) {  // near the values only, where the kernel is too narrow for more
            for (std::size_t k = 0; k < cells_.n; ++k)
                for (int step = -64; step <= 64; ++step)
                    knots_.push_back(std::clamp(cells_.position[k] + step * bandwidth_ / 8, 0.0, length_));
            std::sort(knots_.begin(), knots_.end());
            knots_.erase(std::unique(knots_.begin(), knots_.end()), knots_.end());
            integrate_at_knots();
        } else if (cells_.width > bandwidth_ / knots_per_bandwidth) {
            const auto n = static_cast<std::size_t>(n_knots);
            for (std::size_t i = 0; i + 1 < n; ++i) knots_.push_back(length_ * static_cast<double>(i) / static_cast<double>(n - 1));
            knots_.push_back(length_);
            integrate_at_knots();
        } else {
            integrate_regular_cells();
        }
    }

    void integrate_at_knots() {
        density_.assign(knots_.size(), 0.0);
        slope_.assign(knots_.size(), 0.0);
        // In units of the bandwidth, as everything here.
        integrate<GaussianFilter>(cells_, 0, bandwidth_, knots_.data(), knots_.size(), {nullptr, density_.data(), slope_.data()});
        for (double& density : density_) density *= bandwidth_;
        for (double& slope : slope_) slope *= bandwidth_ * bandwidth_;
    }

    // Knots whose distance is an integer number of cells. Values are cut into cells first.
    void integrate_regular_cells() {
        SortedMoments<std::int64_t> own{n_moments, {}, {}};
        RegularCells cells{nullptr, cells_.moments, cells_.n, 0, cells_.width, cells_.position[0]};
        if (cells_.width > 0) {
            own.keys.resize(cells_.n);
            const double scale = 1 / cells_.width, first = cells_.position[0] * scale - 0.5;
            for (std::size_t k = 0; k < cells_.n; ++k) own.keys[k] = static_cast<std::int64_t>(cells_.position[k] * scale - first);
        } else {
            const int exponent = floor_log2(bandwidth_ / cells_per_bandwidth);
            own = cut(cells_.position, cells_.moments, cells_.n, exponent);
            cells.width = std::ldexp(1.0, exponent);
            cells.moments = own.moments.data();
            cells.n = own.keys.size();
            cells.shift = 0.5 * cells.width;
        }
        cells.keys = own.keys.data();
        const double most = std::floor(length_ / cells.width) + 1;  // one step is enough then
        const auto per_step = static_cast<std::int64_t>(std::min(bandwidth_ / knots_per_bandwidth / cells.width, most));
        const double step = static_cast<double>(per_step) * cells.width;
        const auto n = static_cast<std::size_t>(std::ceil(length_ / step)) + 1;
        knots_.resize(n);
        for (std::size_t i = 0; i < n; ++i) knots_[i] = static_cast<double>(i) * step;
        slopes_at_regular_knots(cells, per_step, step);
        knots_.back() = length_;  // its slope is not used
    }

    // What the moments of a cell add to the state of the filter, real and imaginary parts side by side.
    struct StepTerms {
        static constexpr std::size_t size = 16;  // even: two numbers per instruction
        static_assert(2 * n_exponentials <= size);
        double terms[n_moments][size] = {};

        void set(const GaussianFilter::Contributions& contributions) {
            for (std::size_t k = 0; k < n_moments; ++k)
                for (std::size_t l = 0; l < n_exponentials; ++l) {
                    terms[k][l] = contributions[k].real[l];
                    terms[k][size / 2 + l] = contributions[k].imag[l];
                }
        }
    };

    // The sum of what the cells between two knots add.
    struct StepSum {
        double sum[StepTerms::size] = {};

        void add(const double* m, const StepTerms& cell) {
            for (std::size_t l = 0; l < StepTerms::size; ++l)
                sum[l] += (m[0] * cell.terms[0][l] + m[1] * cell.terms[1][l]) + (m[2] * cell.terms[2][l] + m[3] * cell.terms[3][l]);
        }

        void move_to(GaussianFilter& filter) {
            const double one[n_moments] = {1};
            GaussianFilter::Contributions all{};
            for (std::size_t l = 0; l < n_exponentials; ++l) {
                all[0].real[l] = sum[l];
                all[0].imag[l] = sum[StepTerms::size / 2 + l];
            }
            filter.add(one, all);
            *this = {};
        }
    };

    // As integrate_regular, for the density and its slope.
    void slopes_at_regular_knots(const RegularCells& cells, std::int64_t per_step, double step) {
        const std::size_t n = knots_.size();
        density_.assign(n, 0.0);
        slope_.assign(n, 0.0);
        // Knot i follows on the cells up to index i * per_step, less one where the centre of that cell lies after the knot.
        const std::int64_t after = cells.shift > 0;
        std::vector<StepTerms> contributions(static_cast<std::size_t>(per_step) + 1);
        for (const bool is_left : {true, false}) {
            GaussianFilter filter(0, (is_left ? -cells.width : cells.width) / bandwidth_);
            for (std::int64_t j = after; j < per_step + after; ++j) {  // the knot less the index of the cell
                const double distance = static_cast<double>(j) * cells.width - cells.shift;
                contributions[static_cast<std::size_t>(j)].set(filter.contributions((is_left ? distance : step - distance) / bandwidth_));
            }
            const auto move = filter.step(step / bandwidth_);
            StepSum sum;
            const auto add = [&](std::size_t k, std::int64_t knot) {
                sum.add(cells.moments + n_moments * k, contributions[static_cast<std::size_t>(knot - cells.index(k))]);
            };
            const auto read = [&](std::size_t i) {
                const TailSums tails = filter.read();
                density_[i] += tails.slope;
                slope_[i] += (is_left ? -1 : 1) * tails.curvature;
            };
            if (is_left) {
                std::int64_t knot = 0;  // counted in cells
                for (std::size_t i = 0, next = 0; i < n; ++i, knot += per_step) {
                    if (i > 0) filter.move(move);
                    for (; next < cells.n && cells.index(next) <= knot - after; ++next) add(next, knot);
                    sum.move_to(filter);
                    read(i);
                }
                continue;
            }
            std::size_t next = cells.n;
            std::int64_t knot = static_cast<std::int64_t>(n + 1) * per_step;
            for (std::size_t i = n + 2; i-- > 0; knot -= per_step) {  // centres may lie up to a cell beyond the last knot
                if (i < n) filter.move(move);
                for (; next > 0 && cells.index(next - 1) > knot - after; --next) add(next - 1, knot + per_step);
                sum.move_to(filter);
                if (i < n) read(i);
            }
        }
    }

    // Where the density turns between two knots, and the density there, by safeguarded Newton's method; `sign` is that of the
    // slope on the left.
    TurningPoint turning_point(std::size_t first, std::size_t last, double sign) const {
        const double margin = bracket_margin * bandwidth_, tolerance = 1e-13 * std::min(bandwidth_, length_);
        double left = std::max(knots_[first] - (first > 0 ? margin : 0.0), 0.0);
        double right = std::min(knots_[last] + (last + 1 < knots_.size() ? margin : 0.0), length_);
        double at = 0.5 * (left + right), density = 0;
        if (first > 0 && first + 1 == last && last + 1 < knots_.size()) at = std::clamp(guess(first), left, right);
        for (int step = 0; step < 100; ++step) {
            const Derivatives found = derivatives_at(at);
            density = found.density;
            const double root = found.slope != 0 && found.curvature != 0 ? found.slope / found.curvature : 0, shift = bandwidth_ * root;
            // As far as the rounding of the sums and of the position itself allow.
            const double rounding = 2 * spacing(at);
            if (std::fabs(shift) <= std::max(tolerance, rounding) || right - left <= rounding) break;
            // So close to the root, its distance follows to that precision from the third derivative, and the density too.
            const double bend = root * found.third / found.curvature;
            if (std::fabs(root) < 1e-5 && std::fabs(bend) < 1e-4) {
                const double there = std::clamp(at - shift * (1 + 0.5 * bend), left, right), distance = (there - at) / bandwidth_;
                return {there, (density + distance * (found.slope + 0.5 * distance * found.curvature)) / bandwidth_};
            }
            (found.slope * sign > 0 ? left : right) = at;
            at = left <= at - shift && at - shift <= right ? at - shift : 0.5 * (left + right);
        }
        return {at, density / bandwidth_};
    }

    // The root of the slope of the cubic through densities and slopes at two neighbouring knots.
    double guess(std::size_t i) const {
        const double length = knots_[i + 1] - knots_[i], units = length / bandwidth_;
        const double rise = density_[i + 1] - density_[i], a = units * slope_[i], b = units * slope_[i + 1];
        const double linear = 2 * (3 * rise - 2 * a - b), square = 3 * (a + b - 2 * rise);  // slope: a + linear t + square t²
        const double root = std::sqrt(std::max(linear * linear - 4 * a * square, 0.0));
        const double denominator = linear + std::copysign(root, linear);
        double t = -2 * a / denominator;  // the root near that of the line; NaN for a slope of 0
        if (!(t >= 0 && t <= 1)) t = a / (a - b);
        return knots_[i] + t * length;
    }

    static double spacing(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()) - x; }

    // Cells so far away that they do not change the sums are left out: where the density is not close to 0, those that contribute
    // less than 1e-29 of the weight, and elsewhere those whose kernel underflows.
    Derivatives derivatives_at(double at) const {
        const Derivatives near = derivatives_at(at, 12);
        return near.density > 1e-12 ? near : derivatives_at(at, reach_of_gaussian);
    }

    Derivatives derivatives_at(double at, double reach) const {
        const double *begin = cells_.position, *end = begin + cells_.n;
        const auto first = static_cast<std::size_t>(std::lower_bound(begin, end, at - reach * bandwidth_) - begin);
        const auto last = static_cast<std::size_t>(std::upper_bound(begin, end, at + reach * bandwidth_) - begin);
        return cells_.moments_per_cell == 1 ? sum<1>(at, first, last) : sum<n_moments>(at, first, last);
    }

    // Sum the density and its first three derivatives over some cells: cell c adds sum_k m_k (-w/b)^k / k! phi^(k)((x - c)/b).
    template <int n>
    Derivatives sum(double at, std::size_t first, std::size_t last) const {
        constexpr std::size_t block = 64;
        double factor[n] = {1};
        for (int k = 1; k < n; ++k) factor[k] = -factor[k - 1] * cells_.width / bandwidth_ / k;
        double density = 0, slope = 0, curvature = 0, third = 0;
        double u[block], weight[block];
        for (std::size_t start = first; start < last; start += block) {
            const std::size_t size = std::min(block, last - start);
            for (std::size_t i = 0; i < size; ++i) u[i] = (at - cells_.position[start + i]) / bandwidth_;
            for (std::size_t i = 0; i < size; ++i) weight[i] = std::exp(-0.5 * u[i] * u[i]);
            for (std::size_t i = 0; i < size; ++i) {
                const double* m = cells_.moments + n * (start + i);
                double h[n + 3] = {1, -u[i]};  // derivatives of phi, in units of phi
                for (int k = 1; k <= n + 1; ++k) h[k + 1] = -u[i] * h[k] - k * h[k - 1];
                double own = 0, own_slope = 0, own_curvature = 0, own_third = 0;
                for (int k = 0; k < n; ++k) {
                    const double moment = factor[k] * m[k];
                    own += moment * h[k];
                    own_slope += moment * h[k + 1];
                    own_curvature += moment * h[k + 2];
                    own_third += moment * h[k + 3];
                }
                density += weight[i] * own;
                slope += weight[i] * own_slope;
                curvature += weight[i] * own_curvature;
                third += weight[i] * own_third;
            }
        }
        const double peak = 1 / std::sqrt(2 * 3.14159265358979323846);
        return {peak * density, peak * slope, peak * curvature, peak * third};
    }

    const Cells cells_;
    const double bandwidth_, length_;
    std::vector<double> knots_, density_, slope_;
};

}  // namespace kdi
