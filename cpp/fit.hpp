// The fit of a table in memory: one pass for the extremes and the spread of each column, one for its cells, and then its map.
//
// Where a block of neighbouring columns fits into the cache, threads share the columns, and a block takes all steps while it is
// there. Tables with more rows are read by all threads together, each its own rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "column_map.hpp"
#include "fill.hpp"
#include "scan.hpp"
#include "sort.hpp"

namespace kdi {

// Bandwidth factors that depend on the weight of a column; others are the number itself.
constexpr double scott = -1, silverman = -2;

inline double bandwidth_factor(double alpha, double weight) {
    if (alpha != scott && alpha != silverman) return alpha;
    if (!(weight > 0)) return not_a_number;
    return std::pow(alpha == scott ? weight : 0.75 * weight, -0.2);
}

// What a fit learns of a column. The sketch has cells, or ascending distinct values with their weights, or values as they came.
struct FittedColumn {
    ColumnStats stats;
    double alpha = not_a_number;
    enum class Keys : std::uint8_t { cells, distinct, unsorted } keys = Keys::distinct;
    int exponent = 0;
    std::vector<std::int64_t> cells;
    std::vector<double> cell_moments;
    std::vector<double> values, masses;
    ColumnMap map;

    bool is_finite() const {
        return !(stats.n_infinite > 0 || stats.maximum == infinity || stats.minimum == -infinity) &&
               (stats.count == 0 || stats.maximum - stats.minimum < infinity);
    }
};

struct FitOptions {
    const double* alphas;  // one per column, or a rule
    MapOptions map;
};

template <class Number>
class TableFit {
  public:
    TableFit(const ArrayView<Number>& table, const double* weight, const FitOptions& options)
        : columns(table.n_columns), table_(table), weight_(weight), options_(options) {}

    std::vector<FittedColumn> columns;

    void run(int n_threads) {
        const std::size_t width = table_.column_stride == 1 || table_.n_columns == 1 ? block_columns : 1;
        const std::size_t n_blocks = (table_.n_columns + width - 1) / width;
        const bool by_columns = table_.n_rows * width * sizeof(Number) <= block_bytes && (n_threads == 1 || n_blocks > 1);
        if (by_columns) {
            for_each_block(n_blocks, useful_threads(n_threads), [&](std::size_t block) {
                const std::size_t first = block * width, last = std::min(first + width, table_.n_columns);
                scan_block(first, last, 1);
                if (!fill_block(first, last, 1)) return;
                MapBuilder builder(options_.map);
                for (std::size_t j = first; j < last; ++j) build(builder, j);
            });
            return;
        }
        n_threads = useful_threads(n_threads);
        scan_block(0, table_.n_columns, n_threads);
        if (!fill_block(0, table_.n_columns, n_threads)) return;
        for_each_block(table_.n_columns, static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(n_threads), table_.n_columns)),
                       [&](std::size_t j) {
                           MapBuilder builder(options_.map);
                           build(builder, j);
                       });
    }

  private:
    static constexpr std::size_t block_columns = 8;            // of doubles: a cache line of a row-major table
    static constexpr std::size_t block_bytes = 1024 * 1024;    // of a processor core's own cache
    static constexpr double values_per_thread = 32768;         // for fewer, starting a thread costs more than it saves
    static constexpr double knots_per_value = 64;              // a column's map costs as much as so many values

    int useful_threads(int n_threads) const {
        const double rows = static_cast<double>(table_.n_rows), columns_ = static_cast<double>(table_.n_columns);
        const double work = rows * columns_ + columns_ * std::min(rows, 64.0) * knots_per_value;
        return static_cast<int>(std::clamp(work / values_per_thread, 1.0, static_cast<double>(std::max(n_threads, 1))));
    }

    ArrayView<Number> part(std::size_t first, std::size_t last) const {
        return {table_.column(first, 0), table_.n_rows, last - first, table_.row_stride, table_.column_stride};
    }

    void scan_block(std::size_t first, std::size_t last, int n_threads) {
        std::vector<ColumnStats> stats(last - first);
        std::vector<double> shift(last - first);
        scan_array(part(first, last), weight_, n_threads, stats.data(), shift.data());
        for (std::size_t j = first; j < last; ++j) columns[j].stats = stats[j - first];
    }

    // Gather the cells or the values of each column. Return false, and gather nothing, if a column is not finite.
    bool fill_block(std::size_t first, std::size_t last, int n_threads) {
        for (std::size_t j = first; j < last; ++j)
            if (!columns[j].is_finite()) return false;
        std::vector<Grid> grids;
        for (std::size_t j = first; j < last; ++j) grids.push_back(choose_grid(j));
        auto filled = fill_array(part(first, last), weight_, grids, n_threads);
        for (std::size_t j = first; j < last; ++j) {
            if (grids[j - first].n_cells > 0) check_unchanged(filled[j - first].n_values, columns[j].stats.count);
            columns[j].cells = std::move(filled[j - first].cells);
            columns[j].cell_moments = std::move(filled[j - first].moments);
        }
        return true;
    }

    // Choose what is kept of a column, and the cells into which it is filled; no cells where its distinct values are needed.
    Grid choose_grid(std::size_t j) {
        const Grid none{1.0, 0, 0};
        FittedColumn& column = columns[j];
        const ColumnStats& stats = column.stats;
        if (!(stats.weight < infinity)) throw std::invalid_argument("weights must be finite, and so must their sum");
        column.alpha = bandwidth_factor(options_.alphas[j], stats.weight);
        if (!(stats.count > 0)) return none;
        // The first pass rounds the spread, hence slightly narrower cells.
        const double range = stats.maximum - stats.minimum, std = rough_std(j) * (1 - 1e-6);
        double width = options_.map.kernel.cell_width(column.alpha * std, range);
        if (options_.map.is_robust && range > 0) {
            // A sample says roughly where the quartiles are; half of what it says is safe for all but few columns.
            const double between = 0.5 * sampled_quartile_range(j);
            if (!(between > 0)) return none;
            width = std::min(options_.map.kernel.cell_width(column.alpha * std::min(std, between / normal_quartiles), range),
                             0.5 * between / cells_between_quartiles);
        }
        const auto exponent = width_exponent(width, stats.minimum, stats.maximum);
        // Moments of tiny weights would lose digits.
        if (!exponent || *exponent < least_exponent || *exponent > greatest_exponent || stats.weight < least_weight) return none;
        column.exponent = *exponent;
        const Grid grid = grid_between(stats.minimum, stats.maximum, *exponent);
        if (options_.map.is_robust && std::ldexp(1.0, *exponent) > width) return none;
        column.keys = FittedColumn::Keys::cells;
        if (!keeps_values(*exponent, range, static_cast<std::size_t>(stats.count))) return grid;
        column.keys = FittedColumn::Keys::distinct;
        if (std::ldexp(1.0, *exponent) > width || !(options_.map.tolerance > cell_tolerance)) return none;
        if (options_.map.is_robust) return none;  // one sort of a short column gives its quartiles, too
        if (static_cast<double>(grid.n_cells) > std::max(4096.0, 4 * stats.count)) return none;
        // The sketch keeps the values, but the map follows from cells: filling these is faster than sorting.
        column.keys = FittedColumn::Keys::unsorted;
        return grid;
    }

    static constexpr double least_weight = 1e-290;  // LEAST_WEIGHT
    static constexpr int least_exponent = -1022, greatest_exponent = 1022;  // FILLED_EXPONENTS

    static Grid grid_between(double minimum, double maximum, int exponent) {
        const double scale = std::ldexp(1.0, -exponent);
        const std::int64_t first = CellAndOffset(minimum, minimum * scale).cell, last = CellAndOffset(maximum, maximum * scale).cell;
        return {scale, first, static_cast<std::size_t>(last - first) + 1};
    }

    // The standard deviation to a few digits. Where squares could overflow or lose digits, it takes another pass.
    double rough_std(std::size_t j) const {
        const ColumnStats& stats = columns[j].stats;
        const double range = stats.maximum - stats.minimum;
        int exponent;
        std::frexp(range, &exponent);
        const bool is_safe = std::abs(exponent) < 300 && stats.weight > 1e-100 && stats.weight < 1e100;
        if (is_safe) {
            const double mean = stats.sum / stats.weight, variance = stats.square_sum / stats.weight - mean * mean;
            return variance > 0 ? std::sqrt(variance) : 0;
        }
        const double half = std::ldexp(1.0, -exponent / 2), other_half = std::ldexp(1.0, -exponent - -exponent / 2);
        double sum = 0, square = 0;
        for_values(j, [&](double value, double mass) {
            const double offset = (value - stats.minimum) * half * other_half;  // at most 1
            sum += mass / stats.weight * offset;
            square += mass / stats.weight * offset * offset;
        });
        const double variance = square - sum * sum;
        return variance > 0 ? std::ldexp(std::sqrt(variance), exponent) : 0;
    }

    // Visit the values that count, with their weights.
    template <class Visit>
    void for_values(std::size_t j, Visit visit) const {
        const Number* x = table_.column(j, 0);
        for (std::size_t row = 0; row < table_.n_rows; ++row) {
            const double value = x[static_cast<std::int64_t>(row) * table_.row_stride];
            const double mass = weight_ ? weight_[row] : 1.0;
            if (value == value && mass > 0) visit(value, mass);
        }
    }

    // The range between the quartiles of some thousand values; 0 where they are equal.
    double sampled_quartile_range(std::size_t j) const {
        constexpr std::size_t wanted = 2048;
        // Rows at even distances could agree with a period of the data: one at random from each of so many parts.
        std::vector<double> values;
        const Number* x = table_.column(j, 0);
        const std::size_t n = std::min(wanted, table_.n_rows);
        std::uint64_t state = 88172645463325252u;
        for (std::size_t k = 0; k < n; ++k) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const std::size_t first = k * table_.n_rows / n, size = (k + 1) * table_.n_rows / n - first;
            const std::size_t row = first + static_cast<std::size_t>(state % size);
            const double value = x[static_cast<std::int64_t>(row) * table_.row_stride];
            if (value == value && (!weight_ || weight_[row] > 0)) values.push_back(value);
        }
        if (values.size() < 64) return 0;
        const auto at = [&](double share) {
            const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
            std::nth_element(values.begin(), place, values.end());
            return *place;
        };
        const double lower = at(0.25);
        return at(0.75) - lower;
    }

    // Whether cells are fine enough for a bandwidth in units of the robust spread, and for the spread itself.
    bool is_fine_enough(const FittedColumn& column) const {
        const MapOptions& options = options_.map;
        if (!options.is_robust) return true;
        ScaledColumn scaled;
        scaled.load(summary_of(column), true);
        const double width = options.kernel.cell_width(column.alpha * scaled.spread, scaled.range);
        const auto exponent = width_exponent(width, scaled.low, scaled.high);
        return scaled.spread_error < 1e-9 && scaled.spread_exponent && exponent && column.exponent + scaled.shift <= *exponent;
    }

    void gather_values(std::size_t j) {
        FittedColumn& column = columns[j];
        const auto count = static_cast<std::size_t>(column.stats.count);
        const bool needs_masses = weight_ || column.keys == FittedColumn::Keys::unsorted;
        column.values.reserve(count);
        if (needs_masses) column.masses.reserve(count);
        for_values(j, [&](double value, double mass) {
            if (!(value >= column.stats.minimum && value <= column.stats.maximum)) return;
            column.values.push_back(value);
            if (needs_masses) column.masses.push_back(mass);
        });
        check_unchanged(column.values.size(), column.stats.count);
    }

    static ColumnSummary summary_of(const FittedColumn& column) {
        ColumnSummary summary;
        summary.minimum = column.stats.minimum;
        summary.maximum = column.stats.maximum;
        summary.count = column.stats.count;
        if (column.keys == FittedColumn::Keys::distinct) {
            summary.n = column.values.size();
            summary.values = column.values.data();
            summary.moments = column.masses.data();
        } else {
            summary.is_exact = false;
            summary.n = column.cells.size();
            summary.cells = column.cells.data();
            summary.moments = column.cell_moments.data();
            summary.exponent = column.exponent;
        }
        return summary;
    }

    void build(MapBuilder& builder, std::size_t j) {
        FittedColumn& column = columns[j];
        if (!(column.stats.count > 0) || std::isnan(column.alpha)) return;
        if (column.keys == FittedColumn::Keys::cells && !is_fine_enough(column)) {
            column.keys = FittedColumn::Keys::distinct;
            column.cells.clear();
            column.cell_moments.clear();
        }
        if (column.keys != FittedColumn::Keys::cells) gather_values(j);
        if (column.keys == FittedColumn::Keys::distinct) make_distinct(column.values, column.masses);
        column.map = builder.build(summary_of(column), column.alpha);
        if (column.keys == FittedColumn::Keys::unsorted) {
            column.cells.clear();
            column.cell_moments.clear();
        } else if (options_.map.is_robust) {
            keep_merged(builder, column);
        }
    }

    // Cells that were chosen by a sample are narrower than need be: keep those that do not depend on it.
    static void keep_merged(const MapBuilder& builder, FittedColumn& column) {
        const auto* merged = builder.merged_cells();
        if (!merged || column.keys != FittedColumn::Keys::cells) return;
        column.exponent = builder.merged_exponent();
        column.cells = merged->keys;
        column.cell_moments = merged->moments;
    }

    const ArrayView<Number> table_;
    const double* weight_;
    const FitOptions options_;
};

}  // namespace kdi
