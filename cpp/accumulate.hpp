// One more partition of a column, added to existing cells: a table that comes in partitions is read once.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fill.hpp"

namespace kdi {

struct PartitionSummary {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    std::size_t count = 0, n_missing = 0, n_infinite = 0;
    std::size_t n_new = 0;  // cells that were empty before
    // Values that were not added: outside the grid, or not among the known values. The caller stores them. The weights are
    // empty for an unweighted column.
    std::vector<double> outside, outside_weights;
};

// A block of values that all lie in the grid. First compute all cells and offsets in loops that vectorize, then add.
class ValueBlock {
  public:
    static constexpr std::size_t max_size = 256;

    // Return whether all values lie in the grid and all weights are positive; `add` is valid only then. No loop here has a
    // branch.
    template <class Number>
    bool load(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid) {
        const double first_cell = static_cast<double>(grid.first), n_cells = static_cast<double>(grid.n_cells), scale = grid.scale;
        int invalid = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double value = x[static_cast<std::int64_t>(k) * stride], position = value * scale;
            invalid |= !(position >= first_cell) | !(position < first_cell + n_cells) | ((position == 0) & (value != 0));
            // Adding and subtracting this constant rounds positions below 2^51 to the nearest integer. After rounding up, the
            // offset is negative, and the cell is the one before.
            constexpr double integer_rounder = 6755399441055744.0;  // 1.5 * 2^52
            const double nearest = (position + integer_rounder) - integer_rounder;
            const double offset = position - nearest + 0.0, half = std::copysign(0.5, offset);  // + 0.0 turns -0.0 into 0.0
            double index = nearest + (half - 0.5) - first_cell;
            index = index > 0 ? index : 0;  // keeps the conversion to an integer defined for positions outside the grid and NaN
            index = index < n_cells ? index : 0;
            index_[k] = static_cast<std::int32_t>(index);
            z_[k] = offset - half;
        }
        for (std::size_t k = 0; weight && k < n; ++k) invalid |= !(weight[k] > 0);
        double low = x[0], high = x[0];
        for (std::size_t k = 0; k < n; ++k) {
            const double value = x[static_cast<std::int64_t>(k) * stride];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        low_ = low;
        high_ = high;
        return !invalid;
    }

    void add(const double* weight, std::size_t n, double* moments, PartitionSummary& summary) const {
        summary.minimum = std::min(summary.minimum, low_);
        summary.maximum = std::max(summary.maximum, high_);
        summary.count += n;
        std::size_t n_new = 0;
        for (std::size_t k = 0; k < n; ++k) {
            double* m = moments + n_moments * static_cast<std::size_t>(index_[k]);
            n_new += m[0] == 0;
            add_moments(m, weight ? weight[k] : 1.0, z_[k]);
        }
        summary.n_new += n_new;
    }

  private:
    std::int32_t index_[max_size];  // cell - grid.first
    double z_[max_size];
    double low_, high_;
};

inline void accumulate_value(double value, double mass, bool weighted, const Grid& grid, double* moments, PartitionSummary& summary) {
    if (value != value) {
        ++summary.n_missing;
        return;
    }
    if (std::isinf(value)) {
        ++summary.n_infinite;
        return;
    }
    if (mass == 0) return;
    summary.minimum = std::min(summary.minimum, value);
    summary.maximum = std::max(summary.maximum, value);
    ++summary.count;
    const double position = value * grid.scale, first_cell = static_cast<double>(grid.first);
    const bool in_range = position >= first_cell && position < first_cell + static_cast<double>(grid.n_cells);
    const CellAndOffset at(value, in_range ? position : 0.0);
    if (!in_range || at.cell < grid.first) {
        summary.outside.push_back(value);
        if (weighted) summary.outside_weights.push_back(mass);
        return;
    }
    double* m = moments + n_moments * static_cast<std::size_t>(at.cell - grid.first);
    summary.n_new += m[0] == 0;
    add_moments(m, mass, at.z);
}

template <class Number>
PartitionSummary accumulate(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    PartitionSummary summary;
    ValueBlock block;
    for (std::size_t start = 0; start < n; start += ValueBlock::max_size) {
        const std::size_t size = std::min(ValueBlock::max_size, n - start);
        const Number* values = x + static_cast<std::int64_t>(start) * stride;
        const double* weights = weight ? weight + start : nullptr;
        // Arrow's columns are contiguous; a stride known to the compiler lets it vectorize the loads.
        if (stride == 1 ? block.load(values, 1, weights, size, grid) : block.load(values, stride, weights, size, grid)) {
            block.add(weights, size, moments, summary);
            continue;
        }
        for (std::size_t k = 0; k < size; ++k)
            accumulate_value(values[static_cast<std::int64_t>(k) * stride], weights ? weights[k] : 1.0, weights != nullptr, grid, moments,
                             summary);
    }
    return summary;
}

}  // namespace kdi
