// First pass: the extremes, counts and rough spread of each column, from which the width of its cells is chosen.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "array_view.hpp"
#include "parallel.hpp"

namespace kdi {

struct ColumnStats {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double count = 0, weight = 0;     // of the values that are not NaN and whose weight is not 0
    double sum = 0, square_sum = 0;   // of value - shift
    double n_missing = 0;
    double n_infinite = 0;            // counted only with weights: a weight of 0 hides an infinite value from the extremes

    void merge(const ColumnStats& other) {
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
ColumnStats scan_unweighted(const Number* x, std::int64_t stride, std::size_t n, double shift) {
    // Independent lanes: in a single chain, each addition would wait for the previous one.
    constexpr int lanes = 4;
    ColumnStats lane[lanes];
    auto add = [&](ColumnStats& s, double value) {
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
        for (int k = 0; k < lanes; ++k) add(lane[k], x[static_cast<std::int64_t>(row + k) * stride]);
    for (; row < n; ++row) add(lane[0], x[static_cast<std::int64_t>(row) * stride]);
    for (int k = 1; k < lanes; ++k) lane[0].merge(lane[k]);
    lane[0].count = lane[0].weight = static_cast<double>(n) - lane[0].n_missing;
    return lane[0];
}

template <class Number>
ColumnStats scan_weighted(const Number* x, std::int64_t stride, const double* weight, std::size_t n, double shift) {
    ColumnStats s;
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

// The shift about which sums are taken: a value of the column itself. It lies within sqrt(n) standard deviations of the
// mean, so the variance keeps its digits whatever the offset of the data.
template <class Number>
double first_value(const ArrayView<Number>& array, std::size_t j, const double* weight) {
    for (std::size_t row = 0; row < array.n_rows; ++row) {
        const double value = *array.column(j, row);
        if (value == value && !(weight && weight[row] == 0)) return value;
    }
    return 0;
}

template <class Number>
void scan_array(const ArrayView<Number>& array, const double* weight, int n_threads, ColumnStats* stats, double* shift) {
    const std::size_t d = array.n_columns;
    for (std::size_t j = 0; j < d; ++j) shift[j] = first_value(array, j, weight);
    std::vector<std::vector<ColumnStats>> by_range(static_cast<std::size_t>(std::max(n_threads, 1)), std::vector<ColumnStats>(d));
    parallel_for(array.n_rows, n_threads, [&](int range, std::size_t begin, std::size_t end) {
        auto& own = by_range[static_cast<std::size_t>(range)];
        for_each_tile(array, 0, d, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            const Number* x = array.column(j, row);
            own[j].merge(weight ? scan_weighted(x, array.row_stride, weight + row, n, shift[j])
                                : scan_unweighted(x, array.row_stride, n, shift[j]));
        });
    });
    for (auto& range_stats : by_range)
        for (std::size_t j = 0; j < d; ++j) stats[j].merge(range_stats[j]);
}

}  // namespace kdi
