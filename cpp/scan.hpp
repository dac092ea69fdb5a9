// First pass: what must be known of a column before its cells can be cut.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "table_view.hpp"

namespace kdi {

struct ColumnScan {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double count = 0, weight = 0;     // of the values that are neither NaN nor of weight zero
    double sum = 0, square_sum = 0;   // of value - shift
    double n_missing = 0;
    double n_infinite = 0;            // only counted where weights could hide them from the extremes

    void merge(const ColumnScan& other) {
        minimum = std::fmin(minimum, other.minimum);
        maximum = std::fmax(maximum, other.maximum);
        count += other.count;
        weight += other.weight;
        sum += other.sum;
        square_sum += other.square_sum;
        n_missing += other.n_missing;
        n_infinite += other.n_infinite;
    }
};

template <class Number>
ColumnScan scan_plain(const Number* x, std::int64_t stride, std::size_t n, double shift) {
    // Independent lanes: one chain of additions would wait for itself.
    constexpr int lanes = 4;
    ColumnScan lane[lanes];
    auto take = [&](ColumnScan& s, double value) {
        const bool valid = value == value;
        const double offset = valid ? value - shift : 0.0;
        s.minimum = value < s.minimum ? value : s.minimum;
        s.maximum = value > s.maximum ? value : s.maximum;
        s.sum += offset;
        s.square_sum += offset * offset;
        s.n_missing += valid ? 0.0 : 1.0;
    };
    std::size_t row = 0;
    for (; row + lanes <= n; row += lanes)
        for (int k = 0; k < lanes; ++k) take(lane[k], x[static_cast<std::int64_t>(row + k) * stride]);
    for (; row < n; ++row) take(lane[0], x[static_cast<std::int64_t>(row) * stride]);
    for (int k = 1; k < lanes; ++k) lane[0].merge(lane[k]);
    lane[0].count = lane[0].weight = static_cast<double>(n) - lane[0].n_missing;
    return lane[0];
}

template <class Number>
ColumnScan scan_weighted(const Number* x, std::int64_t stride, const double* weight, std::size_t n, double shift) {
    ColumnScan s;
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) {
            s.n_missing += 1;
            continue;
        }
        if (std::isinf(value)) s.n_infinite += 1;
        if (weight[row] == 0) continue;
        const double offset = value - shift;
        s.minimum = std::fmin(s.minimum, value);
        s.maximum = std::fmax(s.maximum, value);
        s.count += 1;
        s.weight += weight[row];
        s.sum += weight[row] * offset;
        s.square_sum += weight[row] * offset * offset;
    }
    return s;
}

// Sums are taken about a value of the column itself: it lies within sqrt(n) standard deviations of the mean,
// so the variance keeps its digits whatever the offset of the data.
template <class Number>
double first_value(const TableView<Number>& table, std::size_t j, const double* weight) {
    for (std::size_t row = 0; row < table.n_rows; ++row) {
        const double value = *table.column(j, row);
        if (value == value && !(weight && weight[row] == 0)) return value;
    }
    return 0;
}

template <class Number>
void scan_table(const TableView<Number>& table, const double* weight, int n_threads, ColumnScan* scans, double* shift) {
    const std::size_t d = table.n_columns;
    for (std::size_t j = 0; j < d; ++j) shift[j] = first_value(table, j, weight);
    std::vector<std::vector<ColumnScan>> parts(static_cast<std::size_t>(std::max(n_threads, 1)), std::vector<ColumnScan>(d));
    share_out(table.n_rows, n_threads, [&](int part, std::size_t begin, std::size_t end) {
        auto& mine = parts[static_cast<std::size_t>(part)];
        walk_tiles(table, 0, d, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            const Number* x = table.column(j, row);
            mine[j].merge(weight ? scan_weighted(x, table.row_stride, weight + row, n, shift[j])
                                 : scan_plain(x, table.row_stride, n, shift[j]));
        });
    });
    for (auto& part : parts)
        for (std::size_t j = 0; j < d; ++j) scans[j].merge(part[j]);
}

}  // namespace kdi
