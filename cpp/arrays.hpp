// Conversion of NumPy arrays to and from the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <utility>
#include <vector>

#include "array_view.hpp"

namespace kdi {

namespace nb = nanobind;

// Arrays of any strides; bound with .noconvert(), so that each dtype selects its own overload and nothing is copied.
template <class Number>
using Array2D = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;
template <class Number>
using Column = nb::ndarray<Number, nb::ndim<1>, nb::device::cpu>;
// Contiguous float64 arrays. nanobind converts other read-only arguments to a temporary copy. Writable ones are bound with
// .noconvert(), because results written to a copy would be lost.
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WritableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OptionalVector = std::optional<Vector>;
using NumPyFloat64 = nb::ndarray<nb::numpy, double>;
using NumPyInt64 = nb::ndarray<nb::numpy, std::int64_t>;

template <class Number>
ArrayView<Number> view(const Array2D<Number>& array) {
    return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

inline const double* data_or_null(const OptionalVector& vector) { return vector ? vector->data() : nullptr; }

// Move a vector into a NumPy array of the given shape, without a copy.
template <class Number>
nb::ndarray<nb::numpy, Number> to_numpy(std::vector<Number> numbers, std::vector<std::size_t> shape) {
    auto* owned = new std::vector<Number>(std::move(numbers));
    nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
    return nb::ndarray<nb::numpy, Number>(owned->data(), shape.size(), shape.data(), owner);
}

}  // namespace kdi
