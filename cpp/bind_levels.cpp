#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "levels.hpp"
#include "parallel.hpp"

namespace kdi {

// Writes T of every column's own values to `out`; returns a bound on the error of each column's.
nb::ndarray<nb::numpy, double> levels(Table2D<const double> table, OptionalVector weights, Table2D<double> out, Vector alphas, int order,
                                      double scale, double flat, double rounding, int n_threads) {
    const auto from = view(table);
    const auto to = view(out);
    std::vector<double> errors(from.n_columns);
    {
        nb::gil_scoped_release release;
        share_out(from.n_columns, n_threads, [&](int, std::size_t begin, std::size_t end) {
            LevelsOfColumn column;
            for (std::size_t j = begin; j < end; ++j) {
                const Smoothing smoothing{alphas.data()[j], order, scale, flat, rounding};
                errors[j] = column.write(from.column(j, 0), from.row_stride, weights ? weights->data() : nullptr, from.n_rows, smoothing,
                                         to.column(j, 0), to.row_stride);
            }
        });
    }
    return give(std::move(errors), {from.n_columns});
}

void bind_levels(nb::module_& m) {
    m.def("levels", &levels, nb::arg("table").noconvert(), nb::arg("weights").none(), nb::arg("out").noconvert(), nb::arg("alphas"),
          nb::arg("order"), nb::arg("scale"), nb::arg("flat"), nb::arg("rounding"), nb::arg("n_threads"));
}

}  // namespace kdi
