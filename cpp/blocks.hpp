// Blocks of values of one column, side by side in the L1 cache, and functions that are compiled for several processors.
//
// The values of a row-major table are strided, and no loop over them vectorizes. A block is copied once; the loops over it have
// no branches, so that the compiler can use the widest instructions of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

// Compile a function for several levels of x86 and choose one when the module is loaded. Products and sums are not contracted,
// so that each level computes the same digits. Sanitizers are not ready when the choice is made, and musl has no such choice.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(KDI_ONE_LEVEL)
#define KDI_LEVELS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define KDI_FLATTEN __attribute__((flatten))  // what the function calls is compiled for the same level
#else
#define KDI_LEVELS
#define KDI_FLATTEN
#endif

namespace kdi {

constexpr std::size_t block_rows = 256;

template <class Number>
void load_block(const Number* x, std::int64_t stride, std::size_t n, double* block) {
    if (stride == 1) {
        for (std::size_t k = 0; k < n; ++k) block[k] = static_cast<double>(x[k]);
    } else {
        for (std::size_t k = 0; k < n; ++k) block[k] = static_cast<double>(x[static_cast<std::int64_t>(k) * stride]);
    }
}

template <class Number>
void store_block(const double* block, std::size_t n, Number* out, std::int64_t stride) {
    if (stride == 1) {
        for (std::size_t k = 0; k < n; ++k) out[k] = static_cast<Number>(block[k]);
    } else {
        for (std::size_t k = 0; k < n; ++k) out[static_cast<std::int64_t>(k) * stride] = static_cast<Number>(block[k]);
    }
}

// Call visit(first_row, n_rows) for each block of n rows.
template <class Visit>
void for_each_row_block(std::size_t n, Visit visit) {
    for (std::size_t row = 0; row < n; row += block_rows) visit(row, row + block_rows < n ? block_rows : n - row);
}

}  // namespace kdi
