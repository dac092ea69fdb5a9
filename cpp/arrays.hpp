// Conversion of NumPy arrays to and from the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
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

// The headers trust their arguments. Everything that memory safety depends on is checked in the bindings: they must survive any
// call from Python.
inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Move a vector into a NumPy array of the given shape, without a copy.
template <class Number>
nb::ndarray<nb::numpy, Number> to_numpy(std::vector<Number> numbers, std::vector<std::size_t> shape) {
    auto owned = std::make_unique<std::vector<Number>>(std::move(numbers));
    nb::capsule owner(owned.get(), [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
    return nb::ndarray<nb::numpy, Number>(owned.release()->data(), shape.size(), shape.data(), owner);
}

// Loops that the compiler has vectorized rely on the alignment of numbers, which NumPy does not promise: fields of records and
// arrays that were sent between processes may lie anywhere. What is read is copied then; what is written must be aligned.
template <class Array>
void align_one(Array& array) {
    using Scalar = std::remove_pointer_t<decltype(array.data())>;
    using Number = std::remove_const_t<Scalar>;
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(Number) == 0) return;
    if constexpr (!std::is_const_v<Scalar>) {
        throw std::invalid_argument("arrays that are written must be aligned in memory");
    } else {
        const std::size_t n_rows = array.shape(0), n_columns = array.ndim() > 1 ? array.shape(1) : 1;
        auto numbers = std::make_unique<std::vector<Number>>(n_rows * n_columns);
        const auto* bytes = reinterpret_cast<const char*>(array.data());
        for (std::size_t i = 0; i < n_rows; ++i)
            for (std::size_t j = 0; j < n_columns; ++j) {
                const std::int64_t index = static_cast<std::int64_t>(i) * array.stride(0) +
                                           (array.ndim() > 1 ? static_cast<std::int64_t>(j) * array.stride(1) : 0);
                std::memcpy(numbers->data() + i * n_columns + j, bytes + index * static_cast<std::int64_t>(sizeof(Number)), sizeof(Number));
            }
        nb::capsule owner(numbers.get(), [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
        const std::size_t shape[] = {n_rows, n_columns};
        array = Array(numbers.release()->data(), array.ndim(), shape, owner);
    }
}

template <class... Arrays>
void align(Arrays&... arrays) {
    (align_one(arrays), ...);
}

template <class Array>
Array aligned(Array array) {
    align(array);
    return array;
}

inline void align_weights(OptionalVector& weights, std::size_t n_rows) {
    if (!weights) return;
    align(*weights);
    require(weights->shape(0) == n_rows, "weights must have one number per row");
}

inline void require_threads(int n_threads) { require(n_threads >= 1 && n_threads <= 1024, "n_threads must be 1 to 1024"); }

inline void require_order(int order) { require(order >= 0 && order <= 300, "order must be 0 to 300"); }

inline void require_positive(double number, const char* what) { require(number > 0 && std::isfinite(number), what); }

// Cells of any numbers have exponents between these, and their indices are exact as float64.
inline void require_exponent(std::int64_t exponent) {
    require(exponent > -3000 && exponent < 3000, "exponents must be between -3000 and 3000");
}
constexpr std::int64_t max_cell = std::int64_t{1} << 53;

inline void require_grid(double scale, std::int64_t first, std::size_t n_cells) {
    require_positive(scale, "scale must be positive and finite");
    require(first >= -max_cell && first <= max_cell, "first must be at most 2**53 in size");
    require(n_cells <= std::size_t{1} << 24, "there must be at most 2**24 cells");
}

template <class Number>
ArrayView<Number> view(Array2D<Number>& array) {
    align(array);
    return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

inline const double* data_or_null(const OptionalVector& vector) { return vector ? vector->data() : nullptr; }

}  // namespace kdi
