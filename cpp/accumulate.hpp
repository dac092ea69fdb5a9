// One more part of a column, added to cells that stay: what a table that is read in parts needs, in one reading.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "fill.hpp"

namespace kdi {

struct Taken {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    std::size_t count = 0, n_missing = 0, n_infinite = 0;
    std::size_t n_new = 0;  // cells that were empty before
    // Values outside the grid are handed back, for whoever keeps those far cells; their weights where there are weights.
    std::vector<double> outside, outside_weights;
};

template <bool weighted, class Number>
Taken accumulate(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    Taken taken;
    const double begin = static_cast<double>(grid.first), end = begin + static_cast<double>(grid.n_cells);
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        const double position = value * grid.scale;
        const bool inside = position >= begin && position < end;
        if (!inside) {  // NaN too
            if (value != value) {
                taken.n_missing += 1;
                continue;
            }
            if (std::isinf(value)) {
                taken.n_infinite += 1;
                continue;
            }
        }
        double mass = 1.0;
        if constexpr (weighted) {
            mass = weight[row];
            if (mass == 0) continue;
        }
        taken.minimum = value < taken.minimum ? value : taken.minimum;
        taken.maximum = value > taken.maximum ? value : taken.maximum;
        taken.count += 1;
        if (!inside) {
            if constexpr (weighted) taken.outside_weights.push_back(mass);
            taken.outside.push_back(value);
            continue;
        }
        const Place at(position);
        double* m = moments + n_moments * static_cast<std::size_t>(at.cell - grid.first);
        taken.n_new += m[0] == 0;
        add_moments(m, mass, at.z);
    }
    return taken;
}

}  // namespace kdi
