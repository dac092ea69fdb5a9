// Conversion of NumPy arrays to and from the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstdint>
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

// Loops that the compiler has vectorized rely on the alignment of numbers, which NumPy does not promise.
template <class... Arrays>
void require_aligned(const Arrays&... arrays) {
    const auto is_aligned = [](const auto& array) {
        return reinterpret_cast<std::uintptr_t>(array.data()) % alignof(std::remove_pointer_t<decltype(array.data())>) == 0;
    };
    require((is_aligned(arrays) && ...), "arrays must be aligned in memory");
}

inline void require_weights(const OptionalVector& weights, std::size_t n_rows) {
    if (!weights) return;
    require_aligned(*weights);
    require(weights->shape(0) == n_rows, "weights must have one entry per row");
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
ArrayView<Number> view(const Array2D<Number>& array) {
    require_aligned(array);
    return {array.data(), array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

inline const double* data_or_null(const OptionalVector& vector) { return vector ? vector->data() : nullptr; }

// Move a vector into a NumPy array of the given shape, without a copy.
template <class Number>
nb::ndarray<nb::numpy, Number> to_numpy(std::vector<Number> numbers, std::vector<std::size_t> shape) {
    auto owned = std::make_unique<std::vector<Number>>(std::move(numbers));
    nb::capsule owner(owned.get(), [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
    return nb::ndarray<nb::numpy, Number>(owned.release()->data(), shape.size(), shape.data(), owner);
}

}  // namespace kdi
