// A table as it lies in memory: any strides, float or double, never copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kdi {

template <class Number>
struct TableView {
    Number* data;
    std::size_t n_rows, n_columns;
    std::int64_t row_stride, column_stride;  // in elements

    Number* column(std::size_t j, std::size_t first_row) const {
        return data + static_cast<std::int64_t>(j) * column_stride + static_cast<std::int64_t>(first_row) * row_stride;
    }
};

// Visits rows [begin, end) of columns [first, last) block by block, so that a row-major table is read from memory once
// and each visit runs down one column: visit(column, first_row, n_rows).
template <class Visit>
void walk_blocks(std::size_t first, std::size_t last, std::size_t begin, std::size_t end, Visit visit) {
    const std::size_t width = std::max<std::size_t>(last - first, 1);
    const std::size_t height = std::clamp<std::size_t>(16384 / width, 64, 8192);
    for (std::size_t row = begin; row < end; row += height)
        for (std::size_t j = first; j < last; ++j) visit(j, row, std::min(height, end - row));
}

}  // namespace kdi
