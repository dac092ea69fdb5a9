// First pass: the extremes, counts and rough spread of each column, from which the width of its cells is chosen.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "array_view.hpp"
#include "blocks.hpp"
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

// Statistics in independent lanes: in a single chain, each addition would wait for the previous one.
struct LaneStats {
    static constexpr std::size_t n_lanes = 32;

    double minimum[n_lanes], maximum[n_lanes], sum[n_lanes], square_sum[n_lanes];
    std::int64_t n_missing[n_lanes];

    LaneStats() {
        std::fill(minimum, minimum + n_lanes, std::numeric_limits<double>::infinity());
        std::fill(maximum, maximum + n_lanes, -std::numeric_limits<double>::infinity());
        std::fill(sum, sum + n_lanes, 0.0);
        std::fill(square_sum, square_sum + n_lanes, 0.0);
        std::fill(n_missing, n_missing + n_lanes, 0);
    }

    // Of `n` values, and of as many NaN as filled up the lanes.
    ColumnStats stats(std::size_t n, std::size_t n_padding) const {
        ColumnStats result;
        for (std::size_t k = 0; k < n_lanes; ++k) {
            result.minimum = std::fmin(result.minimum, minimum[k]);
            result.maximum = std::fmax(result.maximum, maximum[k]);
            result.sum += sum[k];
            result.square_sum += square_sum[k];
            result.n_missing += static_cast<double>(n_missing[k]);
        }
        result.n_missing -= static_cast<double>(n_padding);
        result.count = result.weight = static_cast<double>(n) - result.n_missing;
        return result;
    }
};

// Add a block of values, whose number is a multiple of the number of lanes.
KDI_LEVELS inline void scan_block(const double* block, std::size_t n, double shift, LaneStats& stats) {
    LaneStats lanes = stats;  // Locals avoid aliasing reloads.
    for (std::size_t row = 0; row < n; row += LaneStats::n_lanes)
        for (std::size_t k = 0; k < LaneStats::n_lanes; ++k) {
            const double value = block[row + k];
            const bool valid = value == value;
            const double offset = valid ? value - shift : 0.0;
            lanes.minimum[k] = value < lanes.minimum[k] ? value : lanes.minimum[k];
            lanes.maximum[k] = value > lanes.maximum[k] ? value : lanes.maximum[k];
            lanes.sum[k] += offset;
            lanes.square_sum[k] += offset * offset;
            lanes.n_missing[k] += !valid;
        }
    stats = lanes;
}

// Add n values of a column without weights; return by how many NaN the last block was filled up.
template <class Number>
std::size_t scan_unweighted(const Number* x, std::int64_t stride, std::size_t n, double shift, LaneStats& stats) {
    std::size_t n_padding = 0;
    for_each_row_block(n, [&](std::size_t row, std::size_t size) {
        double block[block_rows];
        load_block(x + static_cast<std::int64_t>(row) * stride, stride, size, block);
        for (; size % LaneStats::n_lanes; ++n_padding) block[size++] = std::numeric_limits<double>::quiet_NaN();
        scan_block(block, size, shift, stats);
    });
    return n_padding;
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
    struct Range {
        std::vector<ColumnStats> stats;
        std::vector<LaneStats> lanes;  // of columns without weights
        std::vector<std::size_t> n_padding;
    };
    std::vector<Range> ranges(static_cast<std::size_t>(std::max(n_threads, 1)));
    for (Range& range : ranges) {
        range.stats.resize(d);
        range.lanes.resize(weight ? 0 : d);
        range.n_padding.resize(weight ? 0 : d);
    }
    parallel_for(array.n_rows, n_threads, [&](int range, std::size_t begin, std::size_t end) {
        Range& own = ranges[static_cast<std::size_t>(range)];
        for_each_tile(array, 0, d, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            const Number* x = array.column(j, row);
            if (weight) own.stats[j].merge(scan_weighted(x, array.row_stride, weight + row, n, shift[j]));
            else own.n_padding[j] += scan_unweighted(x, array.row_stride, n, shift[j], own.lanes[j]);
        });
        for (std::size_t j = 0; !weight && j < d; ++j) own.stats[j] = own.lanes[j].stats(end - begin, own.n_padding[j]);
    });
    for (const Range& range : ranges)
        for (std::size_t j = 0; j < d; ++j) stats[j].merge(range.stats[j]);
}

}  // namespace kdi
