// Second pass: the moments of the values in each cell.
#pragma once

#include <vector>

#include "array_view.hpp"
#include "moments.hpp"
#include "parallel.hpp"

namespace kdi {

// The cells of a column: value * scale is a position counted in cells; `first` is the lowest cell.
struct Grid {
    double scale;
    std::int64_t first;
    std::size_t n_cells;
};

// The cell that holds a value, and the offset z from the cell's centre in cell widths, computed from the position in cells.
// The floor is taken of the absolute position, before the first cell is subtracted: the difference could round up into the
// next cell. Negative values that underflow to position 0 stay in cell -1.
struct CellAndOffset {
    std::int64_t cell;
    double z;

    CellAndOffset(double value, double position) : cell(static_cast<std::int64_t>(position)) {
        cell -= (position < static_cast<double>(cell)) | ((position == 0) & (value < 0));
        z = position - static_cast<double>(cell) - 0.5;
    }
};

template <class Number>
void fill_column(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) continue;
        if (weight && weight[row] == 0) continue;
        const CellAndOffset at(value, value * grid.scale);
        const auto index = static_cast<std::size_t>(at.cell - grid.first);
        if (index >= grid.n_cells) continue;  // only if another thread changes the array between the two passes
        add_moments(moments + n_moments * index, weight ? weight[row] : 1.0, at.z);
    }
}

// The occupied cells of a column, and their moments one cell after the other.
struct OccupiedCells {
    std::vector<std::int64_t> cells;
    std::vector<double> moments;
};

inline OccupiedCells occupied_cells(const Grid& grid, const double* moments) {
    OccupiedCells occupied;
    for (std::size_t index = 0; index < grid.n_cells; ++index) {
        const double* m = moments + n_moments * index;
        if (m[0] == 0) continue;
        occupied.cells.push_back(grid.first + static_cast<std::int64_t>(index));
        occupied.moments.insert(occupied.moments.end(), m, m + n_moments);
    }
    return occupied;
}

// Skip columns whose grid has no cells.
template <class Number>
std::vector<OccupiedCells> fill_array(const ArrayView<Number>& array, const double* weight, const std::vector<Grid>& grids,
                                      int n_threads) {
    // Columns whose cells fit together into the cache of a processor core share one pass over the array.
    constexpr std::size_t cells_in_cache = 65536;
    std::vector<OccupiedCells> result(grids.size());
    std::vector<std::vector<double>> scratch(static_cast<std::size_t>(std::max(n_threads, 1)));
    for (std::size_t first = 0, last = 0; first < grids.size(); first = last) {
        std::vector<std::size_t> start;  // index in the scratch at which the moments of each column begin
        std::size_t size = 0;
        for (; last < grids.size() && (last == first || size + grids[last].n_cells <= cells_in_cache); ++last) {
            start.push_back(n_moments * size);
            size += grids[last].n_cells;
        }
        // Allocate on the calling thread: here std::bad_alloc reaches Python, on another thread it would end the process.
        for (auto& one : scratch) one.reserve(n_moments * size);
        parallel_for(array.n_rows, n_threads, [&](int range, std::size_t begin, std::size_t end) {
            auto& own = scratch[static_cast<std::size_t>(range)];
            own.assign(n_moments * size, 0.0);
            for_each_tile(array, first, last, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
                if (grids[j].n_cells == 0) return;
                fill_column(array.column(j, row), array.row_stride, weight ? weight + row : nullptr, n, grids[j],
                            own.data() + start[j - first]);
            });
        });
        for (std::size_t range = 1; range < scratch.size(); ++range)
            for (std::size_t k = 0; k < n_moments * size; ++k) scratch[0][k] += scratch[range][k];
        for (std::size_t j = first; j < last; ++j) result[j] = occupied_cells(grids[j], scratch[0].data() + start[j - first]);
    }
    return result;
}

}  // namespace kdi
