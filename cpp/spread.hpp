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

// Ascending values with weights, or cells of 2^exponent with moments; `values` or `cells` is null.
struct SortedColumn {
    const double* values;
    const std::int64_t* cells;
    const double* moments;
    std::size_t n;
    int exponent;

    double mass(std::size_t k) const { return moments[values ? k : n_moments * k]; }
};

// A quartile: the index of the value or cell at which its share of the weight is reached, the weight before it, and the share. If
// the share is reached exactly there, the quartile lies halfway to `next`; otherwise that is the same index.
struct Quartile {
    std::size_t index, next;
    double before, wanted;
};

// The place of a quartile in wider cells: the index of its cell, and the offset from the cell's centre in units of its width.
struct CellPlace {
    std::int64_t cell;
    double z;
};

class Quartiles {
  public:
    explicit Quartiles(const SortedColumn& column) : column_(column) {
        double weight = 0, before = 0;
        for (std::size_t k = 0; k < column.n; ++k) weight += column.mass(k);
        std::size_t k = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            const double wanted = (0.25 + 0.5 * static_cast<double>(i)) * weight, least = wanted - quartile_rounding * weight;
            while (k + 1 < column.n && before + column.mass(k) < least) before += column.mass(k++);
            const bool is_between = k + 1 < column.n && before + column.mass(k) <= wanted + quartile_rounding * weight;
            quartiles_[i] = {k, k + is_between, before, wanted};
        }
    }

    // The range between the quartiles of the values or cells themselves, in units of 2^-shift.
    double finest(int shift) const {
        if (!column_.values) return std::ldexp(between(column_.exponent), column_.exponent + shift);
        const auto value = [&](std::size_t k) { return std::ldexp(column_.values[k], shift); };
        const Quartile &lower = quartiles_[0], &upper = quartiles_[1];
        return 0.5 * (value(upper.index) - value(lower.index)) + 0.5 * (value(upper.next) - value(lower.next));
    }

    // The range between the quartiles of cells of 2^exponent, in units of their width.
    double between(int exponent) const {
        const auto distance = [](const CellPlace& lower, const CellPlace& upper) {
            return static_cast<double>(upper.cell - lower.cell) + (upper.z - lower.z);
        };
        const double first = distance(place(quartiles_[0], exponent), place(quartiles_[1], exponent));
        const double second = distance(place(next(quartiles_[0]), exponent), place(next(quartiles_[1]), exponent));
        return std::max(0.5 * first + 0.5 * second, 0.0);
    }

  private:
    Quartile next(const Quartile& quartile) const {
        if (quartile.next == quartile.index) return quartile;
        return {quartile.next, quartile.next, quartile.before + column_.mass(quartile.index), quartile.wanted};
    }

    // Only the cell that holds a quartile matters: what falls into it lies side by side.
    CellPlace place(const Quartile& quartile, int exponent) const {
        const CellLocator locate(exponent);
        const int n_doublings = column_.values ? 0 : exponent - column_.exponent;
        const auto cell_at = [&](std::size_t k) -> std::int64_t {
            if (column_.values) return locate(column_.values[k]).cell;
            return n_doublings < 63 ? column_.cells[k] >> n_doublings : -static_cast<std::int64_t>(column_.cells[k] < 0);
        };
        const std::int64_t cell = cell_at(quartile.index);
        std::size_t first = quartile.index, last = quartile.index;
        double before = quartile.before;
        while (first > 0 && cell_at(first - 1) == cell) before -= column_.mass(--first);
        while (last + 1 < column_.n && cell_at(last + 1) == cell) ++last;
        const std::size_t n = last + 1 - first;
        const auto within = column_.values ? cut(column_.values + first, column_.moments + first, n, exponent)
                                           : widen(column_.cells + first, column_.moments + n_moments * first, n, n_doublings);
        const double* m = within.moments.data();
        const double mean = m[1] / m[0], variance = m[2] / m[0] - mean * mean;
        const double part = std::clamp((quartile.wanted - before) / m[0], 0.0, 1.0);
        // A variance that is rounding only is that of equal values.
        const double z = variance > 1e-12 ? mean + std::sqrt(12 * variance) * (part - 0.5) : mean;
        return {cell, std::clamp(z, -0.5, 0.5)};
    }

    SortedColumn column_;
    Quartile quartiles_[2];
};

inline QuartileRange quartile_range(const SortedColumn& column, int shift) {
    const Quartiles quartiles(column);
    QuartileRange finest;
    finest.range = quartiles.finest(shift);
    int least_exponent = column.exponent;
    if (column.values) {
        least_exponent = finest_exponent(std::max(std::fabs(column.values[0]), std::fabs(column.values[column.n - 1])));
    } else {
        finest.exponent = column.exponent;
        finest.error = finest.range > 0 ? std::ldexp(2.0, column.exponent + shift) / finest.range : infinity;
    }
    if (!(finest.range > 0)) return finest;
    const int about = floor_log2(finest.range / cells_between_quartiles) - shift;
    for (int e = about + 2; e >= std::max(about - 2, least_exponent); --e) {
        const double between = quartiles.between(e);
        if (between >= cells_between_quartiles) return {std::ldexp(between, e + shift), 0, e};
    }
    return finest;
}

}  // namespace kdi
