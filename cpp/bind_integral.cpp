#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "cubics.hpp"
#include "integrate.hpp"

namespace kdi {

// Two consecutive derivatives of the sum over cells: the kernel cdf and its density, or the density and its slope.
template <bool Slopes>
std::pair<NumPyFloat64, NumPyFloat64> integrate_cells(Vector positions, Matrix moments, double width, int order, double bandwidth,
                                                      Vector knots) {
    align(positions, moments, knots);
    require(moments.shape(0) == positions.shape(0), "moments must have one row per position");
    require(moments.shape(1) >= 1 && moments.shape(1) <= n_moments, "moments must have one to four columns");
    require(width >= 0 && std::isfinite(width), "width must be >= 0 and finite");
    require_order(order);
    require_positive(bandwidth, "bandwidth must be positive and finite");
    const Cells cells{positions.data(), moments.data(), positions.shape(0), static_cast<int>(moments.shape(1)), width};
    const std::size_t n = knots.shape(0);
    std::vector<double> one(n), other(n);
    {
        nb::gil_scoped_release release;
        const Curves curves = Slopes ? Curves{nullptr, one.data(), other.data()} : Curves{one.data(), other.data(), nullptr};
        choose_integrate(order)(cells, order, bandwidth, knots.data(), n, curves);
    }
    return {to_numpy(std::move(one), {n}), to_numpy(std::move(other), {n})};
}

template <bool Slopes>
void bind_integrate(nb::module_& m, const char* name) {
    m.def(name, &integrate_cells<Slopes>, nb::arg("positions"), nb::arg("moments"), nb::arg("width"), nb::arg("order"),
          nb::arg("bandwidth"), nb::arg("knots"));
}

std::pair<NumPyFloat64, double> cubics_of_levels(Vector values, Vector slopes, double shape_error) {
    const std::size_t n = values.shape(0);
    align(values, slopes);
    require(n >= 1 && slopes.shape(0) == n, "values and slopes must have one number per knot, and there must be a knot");
    for (std::size_t i = 1; i < n; ++i) require(!(values.data()[i] < values.data()[i - 1]), "values must not decrease");
    std::vector<double> coefficients(4 * n);
    const double worst = cubics(values.data(), slopes.data(), n - 1, shape_error, coefficients.data());
    return {to_numpy(std::move(coefficients), {n, 4}), worst};
}

void bind_integral(nb::module_& m) {
    bind_integrate<false>(m, "integrate");
    bind_integrate<true>(m, "slopes");
    m.def("cubics", &cubics_of_levels, nb::arg("values"), nb::arg("slopes"), nb::arg("shape_error"));
}

}  // namespace kdi
