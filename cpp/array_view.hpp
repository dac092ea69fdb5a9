// A two-dimensional array in place: any strides, float or double, never copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace kdi {

template <class Number>
struct ArrayView {
    Number* data;
    std::size_t n_rows, n_columns;
    std::int64_t row_stride, column_stride;  // in elements

    Number* column(std::size_t j, std::size_t first_row) const {
        return data + static_cast<std::int64_t>(j) * column_stride + static_cast<std::int64_t>(first_row) * row_stride;
    }
};

// Another thread or program may change an array between two passes over it. The second one must find as many values in the
// range as the first one has counted.
inline void check_unchanged(std::size_t n_values, double count) {
    if (static_cast<double>(n_values) != count) throw std::runtime_error("the data changed while it was read");
}

// Call visit(column, first_row, n_rows) tile by tile for rows [begin, end) of columns [first, last). Neighbouring columns of a
// row-major array share cache lines: within a tile, each line is read from memory once and found in the L1 cache afterwards.
template <class Number, class Visit>
void for_each_tile(const ArrayView<Number>& array, std::size_t first, std::size_t last, std::size_t begin, std::size_t end,
                   Visit visit) {
    const std::size_t tile_rows = array.row_stride == 1 ? 4096 : 256, tile_columns = 8;
    for (std::size_t row = begin; row < end; row += tile_rows)
        for (std::size_t tile = first; tile < last; tile += tile_columns)
            for (std::size_t j = tile; j < std::min(tile + tile_columns, last); ++j)
                visit(j, row, std::min(tile_rows, end - row));
}

}  // namespace kdi
