// NumPy arrays in and out of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <utility>
#include <vector>

#include "table_view.hpp"

namespace kdi {

namespace nb = nanobind;

template <class Number>
using Table2D = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;
template <class Number>
using Column = nb::ndarray<Number, nb::ndim<1>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WritableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OptionalVector = std::optional<Vector>;

template <class Number>
TableView<Number> view(const Table2D<Number>& table) {
    return {table.data(), table.shape(0), table.shape(1), table.stride(0), table.stride(1)};
}

// Hands numbers over to Python, without a copy.
template <class Number>
nb::ndarray<nb::numpy, Number> give(std::vector<Number> numbers, std::vector<std::size_t> shape) {
    auto* kept = new std::vector<Number>(std::move(numbers));
    nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
    return nb::ndarray<nb::numpy, Number>(kept->data(), shape.size(), shape.data(), owner);
}

}  // namespace kdi
