// The kernels as plain numbers: their tails and derivatives, and the widths of cells that follow from an error bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "moments.hpp"
#include "normal.hpp"

namespace kdi {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The constants that src/kdi/_sketch/cells.py documents.
constexpr double flat_range = 1e-4;       // range / kernel bandwidth below which T is a straight line (LINEAR_RANGE)
constexpr double cell_tolerance = 1e-8;   // what the cells may contribute to the error of T (CELL_TOLERANCE)
constexpr std::size_t few_values = 64;    // no more values than that are always kept as they are (FEW_VALUES)
constexpr double vanishing_bandwidth = 1e-290;   // VANISHING_BANDWIDTH
constexpr double kernel_reach = 1000;            // KERNEL_REACH
constexpr int max_cells_exponent = 19;    // 2^19 cells at most are filled side by side (MAX_CELLS)
constexpr double widest_cell = 1048576;   // cells wider than so many ranges tell nothing about places within it (WIDEST_CELL)
constexpr int smallest_number_exponent = -1074;  // of 2^e, the smallest positive number (LEAST_EXPONENT)

struct Kernel {
    int order;  // 0 is the Gaussian
    double scale, peak, max_fourth_derivative;

    // 1 - G(u) for u >= 0.
    double tail_at(double u) const {
        if (order == 0) return 0.5 * std::erfc(u / std::sqrt(2.0));
        if (u > 700) return 0;
        double total = 0;
        for (int j = order; j >= 0; --j) total = order + 1 - j + total * u / (j + 1);
        return total * std::exp(-u) / (2.0 * (order + 1));
    }

    // A lower bound of P(X(1), X(N)) for a range in units of h: the ends have the least kernel inside.
    double least_total(double relative_range) const {
        const double distance = relative_range / scale;
        if (distance < 1e-3) return 0.999 * distance * peak;  // the difference would cancel
        return 0.5 - tail_at(distance);
    }

    // How far the kernel reaches, in units of its own bandwidth: the tail beyond is that of the normal distribution beyond
    // largest_score.
    double reach() const {
        const double wanted = 0.5 * std::erfc(largest_score / std::sqrt(2.0));
        double below = 0, above = 1;
        while (tail_at(above) > wanted) above *= 2;
        for (int step = 0; step < 60; ++step) {
            const double middle = 0.5 * (below + above);
            (tail_at(middle) > wanted ? below : above) = middle;
        }
        return above;
    }

    // The error bound of cells of this width, in units of h, in a sum of kernel cdfs of total weight 1.
    double cell_error(double relative_width) const {
        const double width = std::min(relative_width, 1e60);
        return width * width * width * width / 384 * max_fourth_derivative;
    }

    // The rounding error of a kernel cdf of total weight 1, summed over n cells. The filters carry a state from cell to cell, and
    // every step rounds it. The errors of the Gaussian are larger, since it is a sum of exponentials that partly cancel; that sum
    // itself differs from the Gaussian by 7e-14. Positions are rounded relative to the range.
    double rounding_error(std::size_t n, double relative_range) const {
        return 2e-13 + (order ? 5e-16 : 4e-15) * static_cast<double>(n) + 4e-16 * peak * relative_range / scale;
    }

    // The largest width of cells whose error stays within the tolerance.
    double cell_width(double bandwidth, double range) const {
        if (!(bandwidth > 0 && range > 0)) return 0;
        if (range / bandwidth / scale < flat_range) return range;  // min-max only needs the extremes
        const double total = least_total(range / bandwidth);
        return bandwidth * std::pow(cell_tolerance * total * 192 / max_fourth_derivative, 0.25);
    }
};

// floor(log2(x)) and ceil(log2(x)) of a positive number.
inline int floor_log2(double x) {
    int exponent;
    std::frexp(x, &exponent);
    return exponent - 1;
}
inline int ceil_log2(double x) {
    int exponent;
    return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
}

// The exponent of the narrowest cells whose indices are safe in 64 bits for values up to this size. Zero is in cell 0 however
// narrow the cells are, so it allows the narrowest of all.
inline int finest_exponent(double largest) {
    if (largest == 0) return smallest_number_exponent;
    int exponent;
    std::frexp(largest, &exponent);
    return std::max(exponent - 50, smallest_number_exponent);
}

// The exponent of the widest cells within `width`, and of no more cells than may be filled; none where the values must be kept.
inline std::optional<int> width_exponent(double width, double low, double high) {
    if (!(width > 0 && high > low)) return std::nullopt;
    const int exponent = std::max(floor_log2(width), ceil_log2(high - low) - max_cells_exponent);
    if (exponent < finest_exponent(std::max(std::fabs(low), std::fabs(high)))) return std::nullopt;
    return exponent;
}

// Whether the values are the shorter summary: few, or no more than there would be cells.
inline bool keeps_values(int exponent, double range, std::size_t count) {
    return static_cast<double>(count) <= std::max(static_cast<double>(few_values), std::ldexp(range, -exponent));
}

// The kernel cdf G and its first n - 1 derivatives at u.
inline void cdf_derivatives(int order, double u, int n, double* out) {
    if (order == 0) {
        out[0] = 0.5 * std::erfc(-u / std::sqrt(2.0));
        double before = 0, derivative = std::exp(-0.5 * u * u) / std::sqrt(2 * 3.14159265358979323846);
        for (int k = 1; k < n; ++k) {
            out[k] = derivative;
            const double next = -u * derivative - (k - 1) * before;
            before = derivative;
            derivative = next;
        }
        return;
    }
    std::vector<double> c(static_cast<std::size_t>(order) + 1);  // of the tail, in the basis u^l / l!
    for (std::size_t l = 0; l < c.size(); ++l) c[l] = (order + 1.0 - static_cast<double>(l)) / (2.0 * (order + 1));
    const double distance = std::fabs(u), decay = std::exp(-distance);
    for (int k = 0; k < n; ++k) {
        double total = 0;
        for (std::size_t l = c.size(); l-- > 0;) total = c[l] + total * distance / static_cast<double>(l + 1);
        total *= decay;
        if (u >= 0) out[k] = k == 0 ? 1 - total : -total;
        else out[k] = k % 2 ? -total : total;
        for (std::size_t l = 0; l < c.size(); ++l) c[l] = (l + 1 < c.size() ? c[l + 1] : 0.0) - c[l];
    }
}

// The kernel cdf and its density, summed directly over cells: more digits than the filters where the kernel is much wider than
// the range, in quadratic time.
inline void direct_sum(int order, const std::vector<double>& centres, const double* moments, int moments_per_cell, double width,
                       double bandwidth, const std::vector<double>& knots, double* value, double* density) {
    double derivative[n_moments + 1];
    for (std::size_t i = 0; i < knots.size(); ++i) {
        value[i] = density[i] = 0;
        for (std::size_t k = 0; k < centres.size(); ++k) {
            cdf_derivatives(order, (knots[i] - centres[k]) / bandwidth, moments_per_cell + 1, derivative);
            double factor = 1;
            for (int m = 0; m < moments_per_cell; ++m) {
                const double moment = factor * moments[k * static_cast<std::size_t>(moments_per_cell) + static_cast<std::size_t>(m)];
                value[i] += moment * derivative[m];
                density[i] += moment * derivative[m + 1] / bandwidth;
                factor *= -width / bandwidth / (m + 1);
            }
        }
    }
}

}  // namespace kdi
