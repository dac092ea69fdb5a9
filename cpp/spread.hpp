// The robust spread of a column: the interquartile range in units of that of a normal distribution.
//
// A quartile is the place in its cell at which a quarter of the weight is reached, as if the values of the cell were spread evenly
// about their mean, as far as their moments say. Equal values therefore stay where they are, and smooth data is interpolated. The
// cells are the widest ones of which the range between the quartiles holds 32 at least: every sketch with cells no wider than these,
// however it was made, leads to the same cells and so to the same spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "cells.hpp"
#include "kernel.hpp"

namespace kdi {

constexpr double normal_quartiles = 1.3489795003921634;  // distance between the quartiles of the normal distribution
constexpr double cells_between_quartiles = 32;           // CELLS_BETWEEN_QUARTILES
constexpr double quartile_rounding = 1e-9;               // of the total weight: sums in another order have the same quartiles

struct QuartileRange {
    double range = 0;             // between the quartiles, in units of 2^-shift
    double error = 0;             // relative to the range; 0 where the sketch is fine enough
    std::optional<int> exponent;  // of the cells that it was taken from; none where these were the values themselves
};

// The place of a quartile: the index of its cell, and the offset from the cell's centre in units of its width.
struct Quartile {
    std::int64_t cell = 0;
    double z = 0;
};

inline Quartile find_quartile(const std::int64_t* cells, const double* moments, std::size_t n, double share) {
    double weight = 0, before = 0;
    for (std::size_t k = 0; k < n; ++k) weight += moments[n_moments * k];
    const double wanted = share * weight, least = wanted - quartile_rounding * weight;
    std::size_t k = 0;
    while (k + 1 < n && before + moments[n_moments * k] < least) before += moments[n_moments * k++];
    const double* m = moments + n_moments * k;
    const double mean = m[1] / m[0], variance = std::max(m[2] / m[0] - mean * mean, 0.0);
    const double part = std::clamp((wanted - before) / m[0], 0.0, 1.0);
    // A variance that is rounding only is that of equal values.
    const double z = variance > 1e-12 ? mean + std::sqrt(12 * variance) * (part - 0.5) : mean;
    return {cells[k], std::clamp(z, -0.5, 0.5)};
}

// The quartiles of distinct values.
inline double values_between_quartiles(const double* values, const double* weights, std::size_t n, int shift) {
    double weight = 0, before = 0, quartile[2] = {};
    for (std::size_t k = 0; k < n; ++k) weight += weights[k];
    std::size_t k = 0;
    for (int i = 0; i < 2; ++i) {
        const double least = (0.25 + 0.5 * i - quartile_rounding) * weight;
        while (k + 1 < n && before + weights[k] < least) before += weights[k++];
        quartile[i] = std::ldexp(values[k], shift);
    }
    return quartile[1] - quartile[0];
}

// The range between the quartiles of cells, in units of their width.
inline double cells_between(const std::int64_t* cells, const double* moments, std::size_t n) {
    const Quartile lower = find_quartile(cells, moments, n, 0.25), upper = find_quartile(cells, moments, n, 0.75);
    return std::max(static_cast<double>(upper.cell - lower.cell) + (upper.z - lower.z), 0.0);
}

// The quartiles of ascending values (n weights) or of cells of 2^exponent (n x n_moments moments), in units of 2^-shift.
inline QuartileRange quartile_range(const double* values, const std::int64_t* cells, const double* moments, std::size_t n, int exponent,
                                    int shift) {
    QuartileRange finest;
    int least_exponent = exponent;
    if (values) {
        finest.range = values_between_quartiles(values, moments, n, shift);
        least_exponent = finest_exponent(std::max(std::fabs(values[0]), std::fabs(values[n - 1])));
    } else {
        finest.exponent = exponent;
        finest.range = std::ldexp(cells_between(cells, moments, n), exponent + shift);
        finest.error = finest.range > 0 ? std::ldexp(2.0, exponent + shift) / finest.range : infinity;
    }
    if (!(finest.range > 0)) return finest;
    const int about = floor_log2(finest.range / cells_between_quartiles) - shift;
    for (int e = about + 2; e >= std::max(about - 2, least_exponent); --e) {
        const SortedMoments<std::int64_t> wide = values ? cut(values, moments, n, e) : widen(cells, moments, n, e - exponent);
        const double between = cells_between(wide.keys.data(), wide.moments.data(), wide.keys.size());
        if (between >= cells_between_quartiles) return {std::ldexp(between, e + shift), 0, e};
    }
    return finest;
}

}  // namespace kdi
