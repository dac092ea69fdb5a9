// Second pass: moments 0 to 3 of the values in each cell, about the cell's centre and in units of its width.
#pragma once

#include <vector>

#include "parallel.hpp"
#include "table_view.hpp"

namespace kdi {

constexpr std::size_t n_moments = 4;

// Where a column's cells lie: value * scale is a position counted in cells, of which `first` is the lowest.
struct Grid {
    double scale;
    std::int64_t first;
    std::size_t n_cells;
};

// The cell that a value lies in, given its position in cells, and the offset from its centre. The whole part is taken before
// the first cell is counted off: a difference could round up into the next cell. Nor may a negative value that is next to
// nothing in these cells, so that its position is zero, change its side.
struct Place {
    std::int64_t cell;
    double z;

    Place(double value, double position) : cell(static_cast<std::int64_t>(position)) {
        cell -= (position < static_cast<double>(cell)) | ((position == 0) & (value < 0));
        z = position - static_cast<double>(cell) - 0.5;
    }
};

inline void add_moments(double* m, double mass, double z) {
    const double square = z * z;
    m[0] += mass;
    m[1] += mass * z;
    m[2] += mass * square;
    m[3] += mass * (square * z);
}

template <class Number>
void fill_column(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) continue;
        if (weight && weight[row] == 0) continue;
        const Place at(value, value * grid.scale);
        const auto place = static_cast<std::size_t>(at.cell - grid.first);
        if (place >= grid.n_cells) continue;  // only if another thread changes the table between the two readings
        add_moments(moments + n_moments * place, weight ? weight[row] : 1.0, at.z);
    }
}

// The occupied cells of a column, and their moments one after the other.
struct Filled {
    std::vector<std::int64_t> cells;
    std::vector<double> moments;
};

inline Filled occupied(const Grid& grid, const double* moments) {
    Filled filled;
    for (std::size_t cell = 0; cell < grid.n_cells; ++cell) {
        const double* m = moments + n_moments * cell;
        if (m[0] == 0) continue;
        filled.cells.push_back(grid.first + static_cast<std::int64_t>(cell));
        filled.moments.insert(filled.moments.end(), m, m + n_moments);
    }
    return filled;
}

// Columns without cells are passed over.
template <class Number>
std::vector<Filled> fill_table(const TableView<Number>& table, const double* weight, const std::vector<Grid>& grids, int n_threads) {
    // Columns whose cells fit into a core's cache together share one reading of the table.
    constexpr std::size_t cache = 65536;
    std::vector<Filled> result(grids.size());
    std::vector<std::vector<double>> scratch(static_cast<std::size_t>(std::max(n_threads, 1)));
    for (std::size_t first = 0, last = 0; first < grids.size(); first = last) {
        std::vector<std::size_t> start;  // of each column's cells within the scratch
        std::size_t size = 0;
        for (; last < grids.size() && (last == first || size + grids[last].n_cells <= cache); ++last) {
            start.push_back(n_moments * size);
            size += grids[last].n_cells;
        }
        for (auto& one : scratch) one.reserve(n_moments * size);  // here, where running out of memory can be reported
        share_out(table.n_rows, n_threads, [&](int part, std::size_t begin, std::size_t end) {
            auto& mine = scratch[static_cast<std::size_t>(part)];
            mine.assign(n_moments * size, 0.0);
            walk_tiles(table, first, last, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
                if (grids[j].n_cells == 0) return;
                fill_column(table.column(j, row), table.row_stride, weight ? weight + row : nullptr, n, grids[j],
                            mine.data() + start[j - first]);
            });
        });
        for (std::size_t part = 1; part < scratch.size(); ++part)
            for (std::size_t k = 0; k < n_moments * size; ++k) scratch[0][k] += scratch[part][k];
        for (std::size_t j = first; j < last; ++j) result[j] = occupied(grids[j], scratch[0].data() + start[j - first]);
    }
    return result;
}

}  // namespace kdi
