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

// Visits rows [begin, end) of columns [first, last) tile by tile, so that the lines of a row-major table are read from memory
// once and found in the first cache by the neighbouring columns: visit(column, first_row, n_rows).
template <class Number, class Visit>
void walk_tiles(const TableView<Number>& table, std::size_t first, std::size_t last, std::size_t begin, std::size_t end, Visit visit) {
    const std::size_t height = table.row_stride == 1 ? 4096 : 256, width = 8;
    for (std::size_t row = begin; row < end; row += height)
        for (std::size_t tile = first; tile < last; tile += width)
            for (std::size_t j = tile; j < std::min(tile + width, last); ++j) visit(j, row, std::min(height, end - row));
}

}  // namespace kdi
