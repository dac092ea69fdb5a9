#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "cells.hpp"

namespace kdi {

// A key is a cell (int64) or a distinct value (float64).
template <class Key>
using Keys = nb::ndarray<const Key, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Key>
auto to_python(SortedMoments<Key> sorted) {
    const std::size_t n = sorted.keys.size(), moments_per_key = sorted.moments_per_key;
    return std::make_pair(to_numpy(std::move(sorted.keys), {n}), to_numpy(std::move(sorted.moments), {n, moments_per_key}));
}

void require_cells(Vector& values, int exponent) {
    align(values);
    require_exponent(exponent);
    const CellLocator locate(exponent);
    for (std::size_t k = 0; k < values.shape(0); ++k) require(locate.finds(values.data()[k]), "values must lie in cells that int64 can count");
}

template <class KeysOf>
void require_moments(KeysOf& keys, Matrix& moments) {
    align(keys, moments);
    require(moments.shape(0) == keys.shape(0), "moments must have one row per key");
}

auto cut_values(Vector values, Vector weights, int exponent) {
    require_cells(values, exponent);
    align(weights);
    require(weights.shape(0) == values.shape(0), "weights must have one number per value");
    SortedMoments<std::int64_t> cells{};
    {
        nb::gil_scoped_release release;
        cells = cut(values.data(), weights.data(), values.shape(0), exponent);
    }
    return to_python(std::move(cells));
}

auto widen_cells(Keys<std::int64_t> cells, Matrix moments, int n_doublings) {
    require_moments(cells, moments);
    require(moments.shape(1) == n_moments, "moments must have four columns");
    require(n_doublings >= 0, "n_doublings must not be negative");
    require_exponent(n_doublings);
    SortedMoments<std::int64_t> wider{};
    {
        nb::gil_scoped_release release;
        wider = widen(cells.data(), moments.data(), cells.shape(0), n_doublings);
    }
    return to_python(std::move(wider));
}

template <class Key>
auto merge_keys(Keys<Key> one, Matrix one_moments, Keys<Key> other, Matrix other_moments) {
    require_moments(one, one_moments);
    require_moments(other, other_moments);
    require(one_moments.shape(1) == other_moments.shape(1), "moments must have as many columns as the other moments");
    SortedMoments<Key> both{};
    {
        nb::gil_scoped_release release;
        both = merge<Key>({one.data(), one_moments.data(), one.shape(0)}, {other.data(), other_moments.data(), other.shape(0)},
                          one_moments.shape(1));
    }
    return to_python(std::move(both));
}

int doublings_of_values(Vector values, int exponent, std::size_t most) {
    require_cells(values, exponent);
    const CellLocator locate(exponent);
    const double* value = values.data();
    return doublings(values.shape(0), most, [&](std::size_t k) { return locate(value[k]).cell; });
}

// The overload for keys that are cells already; it ignores the exponent.
int doublings_of_cells(Keys<std::int64_t> cells, int, std::size_t most) {
    align(cells);
    const std::int64_t* cell = cells.data();
    return doublings(cells.shape(0), most, [&](std::size_t k) { return cell[k]; });
}

template <class Key>
void bind_merge(nb::module_& m) {
    m.def("merge", &merge_keys<Key>, nb::arg("keys").noconvert(), nb::arg("moments"), nb::arg("other_keys").noconvert(),
          nb::arg("other_moments"));
}

void bind_cells(nb::module_& m) {
    m.def("cut", &cut_values, nb::arg("values"), nb::arg("weights"), nb::arg("exponent"));
    m.def("doublings", &doublings_of_values, nb::arg("keys").noconvert(), nb::arg("exponent"), nb::arg("most"));
    m.def("doublings", &doublings_of_cells, nb::arg("keys").noconvert(), nb::arg("exponent"), nb::arg("most"));
    m.def("widen", &widen_cells, nb::arg("cells"), nb::arg("moments"), nb::arg("n_doublings"));
    bind_merge<double>(m);
    bind_merge<std::int64_t>(m);
}

}  // namespace kdi
