// Bounds on the errors of normal scores z = Phi^-1(F), F a kernel cdf, for |z| <= largest_score.
//
// Let p be the smaller of the two tails F and 1 - F. An error e of p becomes e / phi(z) in z, so that every error of F has to be
// small beside p. It is: the derivatives of the kernel cdf G are bounded by its tails,
//
//     |G^(k)(u)| <= tail_ratio[k] min(G(u), 1 - G(u)),      k = 1 … 4,
//
// for the polyexp kernel everywhere (1, 1, 1, 2 in units of its own bandwidth), for the Gaussian as far as u = 6.6, and what lies
// beyond is less than a twentieth of p. So the same holds of F, and p / phi(z) is Mills' ratio, at most min(1.2534, 1/|z|).
//
// Units: h for positions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel.hpp"
#include "normal.hpp"

namespace kdi {

inline double mills_ratio_bound(double z) { return z > 0.8 ? std::min(1.2534, 1 / z) : 1.2534; }

class ScoreBounds {
  public:
    explicit ScoreBounds(const Kernel& kernel) {
        if (kernel.order == 0) {
            constexpr double u = 6.6, beyond = 1.05;
            const double hazard = beyond * normal_density(u) / kernel.tail_at(u);
            tail_ratio = {hazard, u * hazard, (u * u - 1) * hazard, (u * u * u - 3 * u) * hazard};
            largest = {kernel.peak, 0.2420, kernel.peak, kernel.max_fourth_derivative};
            rounding_per_cell_ = 4e-15;
            absolute_rounding_ = 1.2e-14;  // of the sum of exponentials, where the tail is not larger than that of u = 1
            relative_rounding_ = 1e-11;
        } else {
            const double b = kernel.scale, k = kernel.order;
            tail_ratio = {1 / b, 1 / (b * b), 1 / (b * b * b), 2 / (b * b * b * b)};
            const double highest = std::max(power_term(k), power_term(k - 1)) * kernel.peak;
            largest = {kernel.peak / b, highest / (b * b), highest / (b * b * b), kernel.max_fourth_derivative};
        }
    }

    // The error in z of the cells, of width w, and of rounding. `relative_range` is in units of h.
    double value_error(double z, double w, std::size_t n_cells, double relative_range) const {
        const double size = std::fabs(z), mills = mills_ratio_bound(size), density = normal_density(size);
        const double remainder = w * w * w * w / 384;
        // Within a cell, a tail varies by less than this factor.
        const double growth = std::exp(w * tail_ratio[0]);
        const double of_cells = remainder * std::min(largest[3] / density, growth * tail_ratio[3] * mills);
        const double rounding = relative_rounding_ + rounding_per_cell_ * static_cast<double>(n_cells) + 4e-16 * relative_range * tail_ratio[0];
        return 1.01 * of_cells + rounding * mills + absolute_rounding_ / density;
    }

    // The error of the slope z', which has the same sources.
    double slope_error(double z, double w, std::size_t n_cells, double relative_range) const {
        const double size = std::fabs(z), mills = mills_ratio_bound(size), density = normal_density(size);
        const double of_cells = w * w * w / 24 * std::min(largest[3] / density, std::exp(w * tail_ratio[0]) * tail_ratio[3] * mills);
        return of_cells + (20 + size) * tail_ratio[0] * value_error(z, w, n_cells, relative_range);
    }

    // A bound on |z''''| between two knots at a distance `step`, from the scores and their slopes at both.
    double fourth_derivative(double one, double other, double one_slope, double other_slope, double step) const {
        const double size = std::max(std::fabs(one), std::fabs(other));
        const double least = one < 0 && other > 0 ? 0.0 : std::min(std::fabs(one), std::fabs(other));
        const double density = normal_density(size), mills = mills_ratio_bound(least);
        std::array<double, 4> a;  // of the derivatives of F over phi(z)
        for (std::size_t k = 0; k < 4; ++k) a[k] = std::min(largest[k] / density, tail_ratio[k] * mills);
        const double steepest = a[1] + size * a[0] * a[0];  // |z''|
        const double first = std::min(a[0], std::max(one_slope, other_slope) + 0.5 * step * steepest);
        const double turn = size * first, second = a[1] + turn * first;
        const double third = a[2] + a[1] * turn + first * first * first + 2 * turn * second;
        return a[3] + 2 * a[2] * turn + a[1] * (turn * turn + first * first + size * second) + 5 * first * first * second +
               2 * size * second * second + 2 * turn * third;
    }

    // The step of knots with which cubics have an error of at most `tolerance`.
    double step(double tolerance) const {
        double worst = 0;
        for (double z = 0; z <= largest_score; z += 0.5) worst = std::max(worst, fourth_derivative(z, z, infinity, infinity, 0));
        return std::pow(384 * tolerance / worst, 0.25);
    }

    // A bound on |d z / d log h|: a value at a distance u adds at most u G'(u) to it, which is below 6.6 times the largest
    // tail_ratio of the Gaussian, and 40 times that of polyexp, in units of the kernel's bandwidth; beyond, no value counts.
    static constexpr double spread_sensitivity = 64;

    std::array<double, 4> tail_ratio, largest;

  private:
    static double power_term(double k) { return k > 0 ? std::exp(k * std::log(k) - k - std::lgamma(k + 1)) : 1.0; }

    double rounding_per_cell_ = 5e-16, absolute_rounding_ = 0, relative_rounding_ = 2e-13;
};

}  // namespace kdi
