// NumPy arrays in and out of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "table_view.hpp"

namespace kdi {

namespace nb = nanobind;

template <class Number>
using Table2D = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OptionalVector = std::optional<Vector>;

template <class Number>
TableView<Number> view(const Table2D<Number>& table) {
    return {table.data(), table.shape(0), table.shape(1), table.stride(0), table.stride(1)};
}

// A zeroed array that belongs to Python.
inline nb::ndarray<nb::numpy, double> new_array(std::vector<std::size_t> shape) {
    std::size_t size = 1;
    for (std::size_t length : shape) size *= length;
    double* data = new double[size]();
    nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<double*>(pointer); });
    return nb::ndarray<nb::numpy, double>(data, shape.size(), shape.data(), owner);
}

}  // namespace kdi
