#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "cubics.hpp"
#include "integrate.hpp"

namespace kdi {

using Integrate = void (*)(const Cells&, int, double, const double*, std::size_t, double*, double*);

// order 0 is the Gaussian kernel
Integrate choose(int order) {
    switch (order) {
        case 0: return &integrate<GaussianFilter>;
        case 1: return &integrate<PolyexpFilter<1>>;
        case 2: return &integrate<PolyexpFilter<2>>;
        case 3: return &integrate<PolyexpFilter<3>>;
        case 4: return &integrate<PolyexpFilter<4>>;
        default: return &integrate<PolyexpFilter<0>>;
    }
}

std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>> bound_integrate(Vector positions, Matrix moments, double width,
                                                                                          int order, double bandwidth, Vector knots) {
    const Cells cells{positions.data(), moments.data(), positions.shape(0), static_cast<int>(moments.shape(1)), width};
    auto value = new_array({knots.shape(0)}), density = new_array({knots.shape(0)});
    {
        nb::gil_scoped_release release;
        choose(order)(cells, order, bandwidth, knots.data(), knots.shape(0), value.data(), density.data());
    }
    return {value, density};
}

std::pair<nb::ndarray<nb::numpy, double>, double> bound_cubics(Vector values, Vector slopes, double given) {
    auto coefficients = new_array({values.shape(0), 4});
    const double worst = cubics(values.data(), slopes.data(), values.shape(0) - 1, given, coefficients.data());
    return {coefficients, worst};
}

void bind_integral(nb::module_& m) {
    m.def("integrate", &bound_integrate, nb::arg("positions"), nb::arg("moments"), nb::arg("width"), nb::arg("order"), nb::arg("bandwidth"),
          nb::arg("knots"));
    m.def("cubics", &bound_cubics, nb::arg("values"), nb::arg("slopes"), nb::arg("given"));
}

}  // namespace kdi
