// Second pass: the moments of the values in each cell.
#pragma once

#include <cmath>
#include <vector>

#include "array_view.hpp"
#include "blocks.hpp"
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

// The cells and offsets of a block of values, computed in loops that vectorize. A value that is NaN, outside of the grid or of
// weight 0 goes to one more cell behind the last.
struct LocatedBlock {
    std::int32_t index[block_rows];  // cell - grid.first
    double z[block_rows], mass[block_rows];
};

// Return how many of the values went to a cell of the grid.
KDI_LEVELS inline std::size_t locate_block(const double* block, const double* weight, std::size_t n, const Grid& grid,
                                           LocatedBlock& located) {
    // Adding and subtracting this constant rounds positions below 2^51 to the nearest integer. After rounding up, the offset is
    // negative, and the cell is the one before.
    constexpr double integer_rounder = 6755399441055744.0;  // 1.5 * 2^52
    const double first_cell = static_cast<double>(grid.first), n_cells = static_cast<double>(grid.n_cells), scale = grid.scale;
    std::int64_t n_located = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const double value = block[k], position = value * scale;
        const double nearest = (position + integer_rounder) - integer_rounder;
        const double offset = position - nearest + 0.0, half = std::copysign(0.5, offset);  // + 0.0 turns -0.0 into 0.0
        const double underflow = ((position == 0) & (value < 0)) ? 1.0 : 0.0;  // stays in cell -1
        const double mass = weight ? weight[k] : 1.0;
        const double index = nearest + (half - 0.5) - underflow - first_cell;
        const bool valid = (index >= 0) & (index < n_cells) & (mass > 0);
        located.index[k] = static_cast<std::int32_t>(valid ? index : n_cells);
        located.z[k] = valid ? offset - half + underflow : 0.0;
        located.mass[k] = mass;
        n_located += valid;
    }
    return static_cast<std::size_t>(n_located);
}

// Values of even and odd rows are added to cells of their own: where few values repeat, an addition would wait for the one before.
KDI_LEVELS inline void add_block(const LocatedBlock& located, std::size_t n, double* even, double* odd) {
    for (std::size_t k = 0; k < n; ++k)
        add_moments((k % 2 ? odd : even) + n_moments * static_cast<std::size_t>(located.index[k]), located.mass[k], located.z[k]);
}

// Add the values of a column to the moments of its cells; there must be room for one more cell. Return how many were added.
template <class Number>
std::size_t fill_column(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* even,
                        double* odd) {
    std::size_t n_added = 0;
    for_each_row_block(n, [&](std::size_t row, std::size_t size) {
        double block[block_rows];
        LocatedBlock located;
        load_block(x + static_cast<std::int64_t>(row) * stride, stride, size, block);
        n_added += locate_block(block, weight ? weight + row : nullptr, size, grid, located);
        add_block(located, size, even, odd);
    });
    return n_added;
}

// The occupied cells of a column, and their moments one cell after the other.
struct OccupiedCells {
    std::vector<std::int64_t> cells;
    std::vector<double> moments;
    std::size_t n_values = 0;  // that were added
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
    // Columns of few cells have them twice, for even and for odd rows.
    constexpr std::size_t few_cells = 2048;
    const auto is_double = [&](const Grid& grid) { return grid.n_cells <= few_cells && array.n_rows >= 4 * grid.n_cells; };
    std::vector<OccupiedCells> result(grids.size());
    struct Range {
        std::vector<double> moments;
        std::vector<std::size_t> n_values;
    };
    std::vector<Range> ranges(static_cast<std::size_t>(std::max(n_threads, 1)));
    for (Range& range : ranges) range.n_values.resize(grids.size());
    for (std::size_t first = 0, last = 0; first < grids.size(); first = last) {
        std::vector<std::size_t> start;  // where the moments of each column begin
        std::size_t size = 0;
        for (; last < grids.size() && (last == first || size + grids[last].n_cells <= cells_in_cache); ++last) {
            start.push_back(n_moments * size);
            size += (grids[last].n_cells + 1) * (is_double(grids[last]) ? 2 : 1);
        }
        parallel_for(array.n_rows, n_threads, [&](int range, std::size_t begin, std::size_t end) {
            Range& own = ranges[static_cast<std::size_t>(range)];
            own.moments.assign(n_moments * size, 0.0);
            for_each_tile(array, first, last, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
                if (grids[j].n_cells == 0) return;
                double* even = own.moments.data() + start[j - first];
                double* odd = is_double(grids[j]) ? even + n_moments * (grids[j].n_cells + 1) : even;
                own.n_values[j] += fill_column(array.column(j, row), array.row_stride, weight ? weight + row : nullptr, n, grids[j], even,
                                               odd);
            });
        });
        // Adding up the cells of all threads takes as long as filling them where they are many.
        parallel_for(last - first, static_cast<int>(std::min(ranges.size(), last - first)), [&](int, std::size_t begin, std::size_t end) {
            for (std::size_t j = first + begin; j < first + end; ++j) {
                double* total = ranges[0].moments.data() + start[j - first];
                const std::size_t n = n_moments * grids[j].n_cells, n_parts = is_double(grids[j]) ? 2 : 1;
                for (std::size_t k = 0; k < n_parts * ranges.size(); ++k) {
                    const double* part = ranges[k / n_parts].moments.data() + start[j - first] + (k % n_parts) * (n + n_moments);
                    for (std::size_t m = 0; m < n && k > 0; ++m) total[m] += part[m];
                }
                result[j] = occupied_cells(grids[j], total);
                for (const Range& range : ranges) result[j].n_values += range.n_values[j];
            }
        });
    }
    return result;
}

}  // namespace kdi
