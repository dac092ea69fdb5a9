#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "accumulate.hpp"
#include "arrays.hpp"
#include "fill.hpp"
#include "scan.hpp"
#include "tally.hpp"

namespace kdi {

// Seven rows, one number per column in each: minimum, maximum, count, weight, standard deviation, missing, infinite. The
// standard deviation is rough: it comes from a difference of sums of squares.
template <class Number>
NumPyFloat64 scan(Array2D<const Number> array, OptionalVector weights, int n_threads) {
    const auto rows = view(array);
    align_weights(weights, rows.n_rows);
    require_threads(n_threads);
    std::vector<ColumnStats> stats(rows.n_columns);
    std::vector<double> shift(rows.n_columns);
    {
        nb::gil_scoped_release release;
        scan_array(rows, data_or_null(weights), n_threads, stats.data(), shift.data());
    }
    std::vector<double> result(7 * rows.n_columns);
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
        const ColumnStats& s = stats[j];
        const double mean = s.weight > 0 ? s.sum / s.weight : 0;
        const double variance = s.weight > 0 ? s.square_sum / s.weight - mean * mean : 0;
        const double of_column[] = {s.minimum,   s.maximum, s.count, s.weight, variance > 0 ? std::sqrt(variance) : 0.0,
                                    s.n_missing, s.n_infinite};
        for (std::size_t k = 0; k < 7; ++k) result[k * rows.n_columns + j] = of_column[k];
    }
    return to_numpy(std::move(result), {7, rows.n_columns});
}

// Per column: the occupied cells, their moments, and how many values these hold.
template <class Number>
std::vector<std::tuple<NumPyInt64, NumPyFloat64, std::size_t>> fill(Array2D<const Number> array, OptionalVector weights, Vector scale,
                                                                    std::vector<std::int64_t> first,
                                                                    std::vector<std::size_t> n_cells, int n_threads) {
    const auto rows = view(array);
    align_weights(weights, rows.n_rows);
    require_threads(n_threads);
    align(scale);
    require(scale.shape(0) == rows.n_columns && first.size() == rows.n_columns && n_cells.size() == rows.n_columns,
            "scale, first and n_cells must have one number per column");
    std::vector<Grid> grids;
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
        require_grid(scale.data()[j], first[j], n_cells[j]);
        grids.push_back({scale.data()[j], first[j], n_cells[j]});
    }
    std::vector<OccupiedCells> occupied;
    {
        nb::gil_scoped_release release;
        occupied = fill_array(rows, data_or_null(weights), grids, n_threads);
    }
    std::vector<std::tuple<NumPyInt64, NumPyFloat64, std::size_t>> result;
    for (OccupiedCells& column : occupied) {
        const std::size_t n = column.cells.size();
        result.emplace_back(to_numpy(std::move(column.cells), {n}), to_numpy(std::move(column.moments), {n, n_moments}), column.n_values);
    }
    return result;
}

// The list (minimum, maximum, count, missing, infinite, newly occupied cells), the values outside and their weights.
auto to_python(PartitionSummary summary) {
    const std::size_t n_outside = summary.outside.size(), n_weights = summary.outside_weights.size();
    const double counts[] = {double(summary.count), double(summary.n_missing), double(summary.n_infinite), double(summary.n_new)};
    return std::make_tuple(std::vector<double>{summary.minimum, summary.maximum, counts[0], counts[1], counts[2], counts[3]},
                           to_numpy(std::move(summary.outside), {n_outside}),
                           to_numpy(std::move(summary.outside_weights), {n_weights}));
}

// Add a column in place to `moments`, one row per cell from `first` on.
template <class Number>
auto accumulate_column(Column<const Number> column, OptionalVector weights, double scale, std::int64_t first, WritableMatrix moments) {
    align(column, moments);
    align_weights(weights, column.shape(0));
    require_grid(scale, first, moments.shape(0));
    require(moments.shape(1) == n_moments, "moments must have four columns");
    const Grid grid{scale, first, moments.shape(0)};
    const std::size_t n = column.shape(0);
    PartitionSummary summary;
    {
        nb::gil_scoped_release release;
        summary = accumulate(column.data(), column.stride(0), data_or_null(weights), n, grid, moments.data());
    }
    return to_python(std::move(summary));
}

// Add a column in place to `masses`, the weights of distinct known values; return the same as `accumulate`.
template <class Number>
auto tally_column(Column<const Number> column, OptionalVector weights, Vector known_values, WritableVector masses) {
    align(column, known_values, masses);
    align_weights(weights, column.shape(0));
    require(masses.shape(0) == known_values.shape(0), "masses must have one number per known value");
    require(known_values.shape(0) <= std::size_t{1} << 30, "there must be at most 2**30 known values");
    PartitionSummary summary;
    {
        nb::gil_scoped_release release;
        summary = tally(column.data(), column.stride(0), data_or_null(weights), column.shape(0),
                        DistinctValues(known_values.data(), known_values.shape(0)), masses.data());
    }
    return to_python(std::move(summary));
}

template <class Number>
void bind_number(nb::module_& m) {
    m.def("accumulate", &accumulate_column<Number>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("scale"),
          nb::arg("first"), nb::arg("moments").noconvert());
    m.def("tally", &tally_column<Number>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("known_values"),
          nb::arg("masses").noconvert());
    m.def("scan", &scan<Number>, nb::arg("array").noconvert(), nb::arg("weights").none(), nb::arg("n_threads"));
    m.def("fill", &fill<Number>, nb::arg("array").noconvert(), nb::arg("weights").none(), nb::arg("scale"), nb::arg("first"),
          nb::arg("n_cells"), nb::arg("n_threads"));
}

void bind_sketch(nb::module_& m) {
    bind_number<double>(m);
    bind_number<float>(m);
}

}  // namespace kdi
