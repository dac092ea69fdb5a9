// The cluster of each value: the number of cuts at or below it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "array_view.hpp"
#include "parallel.hpp"

namespace kdi {

// Ascending cuts of one column.
class Cuts {
  public:
    const double* cuts;
    std::size_t n;

    // Write the label of each of `size` values, -1 for NaN.
    void assign(const double* values, std::size_t size, std::int64_t* labels) const {
        if (n > few) {
            for (std::size_t i = 0; i < size; ++i) labels[i] = values[i] == values[i] ? std::upper_bound(cuts, cuts + n, values[i]) - cuts : -1;
            return;
        }
        // Comparing with every cut has no branches.
        for (std::size_t i = 0; i < size; ++i) labels[i] = -std::int64_t{values[i] != values[i]};
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t i = 0; i < size; ++i) labels[i] += values[i] >= cuts[k];
    }

  private:
    static constexpr std::size_t few = 16;
};

// Call visit(column, values, first_row, n) for blocks of the rows [begin, end); the values of a block are adjacent doubles.
template <class Number, class Visit>
void for_each_block_of_values(const ArrayView<Number>& array, std::size_t begin, std::size_t end, Visit visit) {
    double buffer[1024];
    for_each_tile(array, 0, array.n_columns, begin, end, [&](std::size_t j, std::size_t row, std::size_t n_rows) {
        for (std::size_t first = row; first < row + n_rows; first += 1024) {
            const std::size_t n = std::min<std::size_t>(1024, row + n_rows - first);
            const Number* x = array.column(j, first);
            for (std::size_t i = 0; i < n; ++i) buffer[i] = static_cast<double>(x[static_cast<std::int64_t>(i) * array.row_stride]);
            visit(j, buffer, first, n);
        }
    });
}

template <class Number>
void assign_array(const ArrayView<Number>& array, const std::vector<Cuts>& cuts, const ArrayView<std::int64_t>& out, int n_threads) {
    parallel_for(array.n_rows, n_threads, [&](int, std::size_t begin, std::size_t end) {
        std::int64_t labels[1024];
        for_each_block_of_values(array, begin, end, [&](std::size_t j, const double* values, std::size_t row, std::size_t n) {
            cuts[j].assign(values, n, labels);
            std::int64_t* to = out.column(j, row);
            for (std::size_t i = 0; i < n; ++i) to[static_cast<std::int64_t>(i) * out.row_stride] = labels[i];
        });
    });
}

// The weight of the values below the first cut, between two cuts, and above the last, one column after the other; NaN is left
// out.
template <class Number>
std::vector<std::vector<double>> weigh_array(const ArrayView<Number>& array, const double* weight, const std::vector<Cuts>& cuts,
                                             int n_threads) {
    std::vector<std::vector<double>> total;
    for (const Cuts& column : cuts) total.emplace_back(column.n + 2);  // the first entry is for NaN
    std::vector<std::vector<std::vector<double>>> by_range(static_cast<std::size_t>(std::max(n_threads, 1)), total);
    parallel_for(array.n_rows, n_threads, [&](int range, std::size_t begin, std::size_t end) {
        std::int64_t labels[1024];
        auto& own = by_range[static_cast<std::size_t>(range)];
        for_each_block_of_values(array, begin, end, [&](std::size_t j, const double* values, std::size_t row, std::size_t n) {
            double* sums = own[j].data() + 1;
            if (weight || cuts[j].n > 4) {
                cuts[j].assign(values, n, labels);
                for (std::size_t i = 0; i < n; ++i) sums[labels[i]] += weight ? weight[row + i] : 1.0;
                return;
            }
            // Counting the values above each cut has no branches, and no sum waits for the one before.
            std::int64_t above = 0;
            for (std::size_t i = 0; i < n; ++i) above += values[i] == values[i];
            for (std::size_t k = 0; k < cuts[j].n; ++k) {
                std::int64_t next = 0;
                for (std::size_t i = 0; i < n; ++i) next += values[i] >= cuts[j].cuts[k];
                sums[k] += static_cast<double>(above - next);
                above = next;
            }
            sums[cuts[j].n] += static_cast<double>(above);
        });
    });
    for (const auto& range : by_range)
        for (std::size_t j = 0; j < total.size(); ++j)
            for (std::size_t k = 0; k < total[j].size(); ++k) total[j][k] += range[j][k];
    for (auto& column : total) column.erase(column.begin());
    return total;
}

}  // namespace kdi
