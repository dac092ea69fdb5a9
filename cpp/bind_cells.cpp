#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "cells.hpp"

namespace kdi {

template <class PlaceType>
using PlaceArray = nb::ndarray<const PlaceType, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class PlaceType>
auto given_away(Sorted<PlaceType> sorted) {
    const std::size_t n = sorted.places.size(), width = sorted.width;
    return std::make_pair(give(std::move(sorted.places), {n}), give(std::move(sorted.moments), {n, width}));
}

auto cut_values(Vector values, Vector weights, int exponent) {
    Sorted<std::int64_t> cells{};
    {
        nb::gil_scoped_release release;
        cells = cut(values.data(), weights.data(), values.shape(0), exponent);
    }
    return given_away(std::move(cells));
}

auto widen_cells(PlaceArray<std::int64_t> cells, Matrix moments, int levels) {
    Sorted<std::int64_t> wider{};
    {
        nb::gil_scoped_release release;
        wider = widen(cells.data(), moments.data(), cells.shape(0), levels);
    }
    return given_away(std::move(wider));
}

template <class PlaceType>
auto merge_places(PlaceArray<PlaceType> one, Matrix one_moments, PlaceArray<PlaceType> other, Matrix other_moments) {
    Sorted<PlaceType> both{};
    {
        nb::gil_scoped_release release;
        both = merge<PlaceType>({one.data(), one_moments.data(), one.shape(0)},
                                {other.data(), other_moments.data(), other.shape(0)}, one_moments.shape(1));
    }
    return given_away(std::move(both));
}

int doublings_of_values(Vector values, int exponent, std::size_t most) {
    const Ruler ruler(exponent);
    const double* value = values.data();
    return doublings(values.shape(0), most, [&](std::size_t k) { return ruler(value[k]).cell; });
}

int doublings_of_cells(PlaceArray<std::int64_t> cells, int, std::size_t most) {
    const std::int64_t* cell = cells.data();
    return doublings(cells.shape(0), most, [&](std::size_t k) { return cell[k]; });
}

void bind_cells(nb::module_& m) {
    m.def("cut", &cut_values, nb::arg("values"), nb::arg("weights"), nb::arg("exponent"));
    m.def("doublings", &doublings_of_values, nb::arg("places").noconvert(), nb::arg("exponent"), nb::arg("most"));
    m.def("doublings", &doublings_of_cells, nb::arg("places").noconvert(), nb::arg("exponent"), nb::arg("most"));
    m.def("widen", &widen_cells, nb::arg("cells"), nb::arg("moments"), nb::arg("levels"));
    m.def("merge", &merge_places<double>, nb::arg("places").noconvert(), nb::arg("moments"), nb::arg("other_places").noconvert(), nb::arg("other_moments"));
    m.def("merge", &merge_places<std::int64_t>, nb::arg("places").noconvert(), nb::arg("moments"), nb::arg("other_places").noconvert(), nb::arg("other_moments"));
}

}  // namespace kdi
