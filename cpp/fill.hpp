// Second pass: moments 0 to 3 of the values in each cell, about the cell's centre and in units of its width.
#pragma once

#include <vector>

#include "parallel.hpp"
#include "table_view.hpp"

namespace kdi {

constexpr std::size_t n_moments = 4;

// Where a column's cells lie: value * scale - first is a position counted in cells, from 0.
struct Grid {
    double scale, first;
    std::size_t n_cells;
};

template <class Number>
void fill_column(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) continue;
        if (weight && weight[row] == 0) continue;
        const double position = value * grid.scale - grid.first;
        const auto cell = static_cast<std::size_t>(position);
        const double z = position - static_cast<double>(cell) - 0.5;
        const double mass = weight ? weight[row] : 1.0;
        double* m = moments + n_moments * cell;
        m[0] += mass;
        m[1] += mass * z;
        m[2] += mass * z * z;
        m[3] += mass * z * z * z;
    }
}

// moments[j] points to the zeroed n_cells x 4 array of column j; columns without cells are passed over.
template <class Number>
void fill_table(const TableView<Number>& table, const double* weight, const std::vector<Grid>& grids, int n_threads,
                const std::vector<double*>& moments) {
    // Columns whose cells fit into a core's cache together share one reading of the table.
    constexpr std::size_t cache = 16384;
    std::size_t first = 0;
    while (first < grids.size()) {
        std::size_t last = first, cells = 0;
        while (last < grids.size() && (last == first || cells + grids[last].n_cells <= cache)) cells += grids[last++].n_cells;

        std::vector<std::vector<double>> extra(static_cast<std::size_t>(std::max(n_threads, 1)));
        for (std::size_t part = 1; part < extra.size(); ++part) extra[part].assign(n_moments * cells, 0.0);
        share_out(table.n_rows, n_threads, [&](int part, std::size_t begin, std::size_t end) {
            std::vector<double*> mine(last - first);
            double* next = extra[static_cast<std::size_t>(part)].data();
            for (std::size_t j = first; j < last; ++j) {
                mine[j - first] = part == 0 ? moments[j] : next;
                if (part != 0) next += n_moments * grids[j].n_cells;
            }
            walk_blocks(first, last, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
                if (grids[j].n_cells == 0) return;
                fill_column(table.column(j, row), table.row_stride, weight ? weight + row : nullptr, n, grids[j],
                            mine[j - first]);
            });
        });
        for (std::size_t part = 1; part < extra.size(); ++part) {
            const double* next = extra[part].data();
            for (std::size_t j = first; j < last; ++j)
                for (std::size_t k = 0; k < n_moments * grids[j].n_cells; ++k) moments[j][k] += *next++;
        }
        first = last;
    }
}

}  // namespace kdi
