#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "levels.hpp"
#include "parallel.hpp"

namespace kdi {

// Write T of each column's own values to `out`; return a bound on the error per column.
NumPyFloat64 levels(Array2D<const double> array, OptionalVector weights, Array2D<double> out, Vector alphas, int order,
                    double kernel_scale, double flat, double cdf_error, int n_threads) {
    const auto from = view(array);
    const auto to = view(out);
    require(to.n_rows == from.n_rows && to.n_columns == from.n_columns, "out must have the shape of the array");
    align_weights(weights, from.n_rows);
    align(alphas);
    require(alphas.shape(0) == from.n_columns, "alphas must have one number per column");
    for (std::size_t j = 0; j < from.n_columns; ++j) require(!(alphas.data()[j] < 0), "alphas must be >= 0, or NaN for no rows");
    require_order(order);
    require_positive(kernel_scale, "kernel_scale must be positive and finite");
    require_threads(n_threads);
    std::vector<double> errors(from.n_columns);
    {
        nb::gil_scoped_release release;
        parallel_for(from.n_columns, n_threads, [&](int, std::size_t begin, std::size_t end) {
            LevelsOfColumn column;
            for (std::size_t j = begin; j < end; ++j) {
                const Smoothing smoothing{alphas.data()[j], order, kernel_scale, flat, cdf_error};
                errors[j] = column.write(from.column(j, 0), from.row_stride, data_or_null(weights), from.n_rows, smoothing,
                                         to.column(j, 0), to.row_stride);
            }
        });
    }
    return to_numpy(std::move(errors), {from.n_columns});
}

void bind_levels(nb::module_& m) {
    m.def("levels", &levels, nb::arg("array").noconvert(), nb::arg("weights").none(), nb::arg("out").noconvert(), nb::arg("alphas"),
          nb::arg("order"), nb::arg("kernel_scale"), nb::arg("flat"), nb::arg("cdf_error"), nb::arg("n_threads"));
}

}  // namespace kdi
