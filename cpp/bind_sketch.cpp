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

template <class Number>
nb::ndarray<nb::numpy, double> scan(Table2D<const Number> table, OptionalVector weights, int n_threads) {
    const auto rows = view(table);
    std::vector<ColumnScan> scans(rows.n_columns);
    std::vector<double> shift(rows.n_columns);
    {
        nb::gil_scoped_release release;
        scan_table(rows, weights ? weights->data() : nullptr, n_threads, scans.data(), shift.data());
    }
    std::vector<double> result(7 * rows.n_columns);
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
        const ColumnScan& s = scans[j];
        const double mean = s.weight > 0 ? s.sum / s.weight : 0;
        const double variance = s.weight > 0 ? s.square_sum / s.weight - mean * mean : 0;
        const double row[] = {s.minimum, s.maximum, s.count, s.weight, variance > 0 ? std::sqrt(variance) : 0.0, s.n_missing, s.n_infinite};
        for (std::size_t k = 0; k < 7; ++k) result[k * rows.n_columns + j] = row[k];
    }
    return give(std::move(result), {7, rows.n_columns});
}

using Occupied = std::pair<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, double>>;

template <class Number>
std::vector<Occupied> fill(Table2D<const Number> table, OptionalVector weights, Vector scale, std::vector<std::int64_t> first, std::vector<std::size_t> n_cells,
                           int n_threads) {
    const auto rows = view(table);
    std::vector<Grid> grids;
    for (std::size_t j = 0; j < rows.n_columns; ++j) grids.push_back({scale.data()[j], first[j], n_cells[j]});
    std::vector<Filled> filled;
    {
        nb::gil_scoped_release release;
        filled = fill_table(rows, weights ? weights->data() : nullptr, grids, n_threads);
    }
    std::vector<Occupied> result;
    for (Filled& column : filled) {
        const std::size_t n = column.cells.size();
        result.emplace_back(give(std::move(column.cells), {n}), give(std::move(column.moments), {n, n_moments}));
    }
    return result;
}

auto told(Taken taken) {
    const std::size_t n_outside = taken.outside.size(), n_weights = taken.outside_weights.size();
    const double counts[] = {double(taken.count), double(taken.n_missing), double(taken.n_infinite), double(taken.n_new)};
    return std::make_tuple(std::vector<double>{taken.minimum, taken.maximum, counts[0], counts[1], counts[2], counts[3]},
                           give(std::move(taken.outside), {n_outside}), give(std::move(taken.outside_weights), {n_weights}));
}

// Adds a column to `moments`, the cells from `first` on; what they were and the values that lie outside, with their weights.
template <class Number>
auto accumulate_column(Column<const Number> column, OptionalVector weights, double scale, std::int64_t first, WritableMatrix moments) {
    const Grid grid{scale, first, moments.shape(0)};
    const std::size_t n = column.shape(0);
    Taken taken;
    {
        nb::gil_scoped_release release;
        taken = accumulate(column.data(), column.stride(0), weights ? weights->data() : nullptr, n, grid, moments.data());
    }
    return told(std::move(taken));
}

// Adds a column to `masses`, the weights of the distinct values `places`; returns what `accumulate` does.
template <class Number>
auto tally_column(Column<const Number> column, OptionalVector weights, Vector places, WritableVector masses) {
    Taken taken;
    {
        nb::gil_scoped_release release;
        taken = tally(column.data(), column.stride(0), weights ? weights->data() : nullptr, column.shape(0),
                      Places(places.data(), places.shape(0)), masses.data());
    }
    return told(std::move(taken));
}

void bind_sketch(nb::module_& m) {
    m.def("accumulate", &accumulate_column<double>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("scale"), nb::arg("first"),
          nb::arg("moments").noconvert());
    m.def("accumulate", &accumulate_column<float>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("scale"), nb::arg("first"),
          nb::arg("moments").noconvert());
    m.def("tally", &tally_column<double>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("places"), nb::arg("masses").noconvert());
    m.def("tally", &tally_column<float>, nb::arg("column").noconvert(), nb::arg("weights").none(), nb::arg("places"), nb::arg("masses").noconvert());
    m.def("scan", &scan<double>, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("n_threads"));
    m.def("scan", &scan<float>, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("n_threads"));
    m.def("fill", &fill<double>, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("scale"), nb::arg("first"),
          nb::arg("n_cells"), nb::arg("n_threads"));
    m.def("fill", &fill<float>, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("scale"), nb::arg("first"),
          nb::arg("n_cells"), nb::arg("n_threads"));
}

}  // namespace kdi
