// A column as its map needs it: its values or cells in units near its range, its standard deviation, and its robust spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells.hpp"
#include "kernel.hpp"
#include "spread.hpp"

namespace kdi {

constexpr double spread_rounding = 1e-15;  // SPREAD_ROUNDING

// A column as the integral needs it: ascending distinct values with weights, or cells with moments.
struct ColumnSummary {
    double minimum = 0, maximum = 0;
    double count = 0;                     // values, which may repeat
    std::size_t n = 0;                    // distinct values, or occupied cells
    bool is_exact = true;                 // it keeps its values, not cells
    const double* values = nullptr;
    const std::int64_t* cells = nullptr;
    int exponent = 0;                     // the cells are 2^exponent wide
    const double* moments = nullptr;      // one weight per value, or n_moments per cell

    std::size_t moments_per_key() const { return is_exact ? 1 : n_moments; }
};

// A column in units of 2^-shift, in which its range is between 1/2 and 1; positions are relative to the minimum.
class ScaledColumn {
  public:
    int shift = 0;
    double low = 0, high = 0, range = 0;  // in these units
    double width = 0;                     // of the cells; 0 for values
    double weight = 0, std = 0;
    double spread = 0;                    // std, or the robust spread
    double std_error = 0;                 // relative
    double spread_error = 0;              // relative; not below std_error
    bool keeps_values = false;            // whether the spread asks for the values themselves
    std::optional<int> spread_exponent;   // of the widest cells that the spread follows from, in units of x
    double moment_rounding = 0;           // what rounding the moments of tiny weights may contribute to the error of T

    // Weights are scaled by a power of two where their sums could overflow or lose digits.
    void load(const ColumnSummary& column, bool is_robust) {
        column_ = &column;
        moments_ = column.moments;
        const std::size_t step = column.moments_per_key();
        int exponent;
        std::frexp(column.maximum - column.minimum, &exponent);
        shift = -exponent;
        low = std::ldexp(column.minimum, shift);
        high = std::ldexp(column.maximum, shift);
        range = high - low;
        width = column.is_exact ? 0 : std::ldexp(1.0, column.exponent + shift);
        double largest = 0;
        for (std::size_t k = 0; k < column.n; ++k) largest = std::max(largest, column.moments[k * step]);
        std::frexp(largest, &exponent);
        if (exponent > 900 || exponent < -400) {
            scaled_moments_.resize(column.n * step);
            for (std::size_t k = 0; k < scaled_moments_.size(); ++k) scaled_moments_[k] = std::ldexp(column.moments[k], -exponent);
            moments_ = scaled_moments_.data();
        }
        set_std();
        set_spread(is_robust);
        // Each value rounds the moments of its cell by half of the smallest number. They enter T through the spread, too.
        moment_rounding = exponent < -400 && !column.is_exact ? std::ldexp(column.count / weight, -1072 - exponent) : 0.0;
    }

    const ColumnSummary& column() const { return *column_; }
    const double* moments() const { return moments_; }
    double mass(std::size_t k) const { return moments_[k * column_->moments_per_key()]; }
    double first_centre() const { return 0.5 * width - (low - static_cast<double>(column_->cells[0]) * width); }

    double position(std::size_t k) const {
        if (column_->is_exact) return std::ldexp(column_->values[k], shift) - low;
        return static_cast<double>(column_->cells[k] - column_->cells[0]) * width + first_centre();
    }

  private:
    void set_spread(bool is_robust) {
        spread = std;
        // The variance of cells is a difference of terms as large as the squared width.
        std_error = spread_error = column_->is_exact ? 0 : spread_rounding * (width / std) * (width / std);
        spread_exponent.reset();
        keeps_values = false;
        if (!is_robust || width > widest_cell) return;
        const QuartileRange quartiles =
            quartile_range({column_->is_exact ? column_->values : nullptr, column_->is_exact ? nullptr : column_->cells, moments_,
                            column_->n, column_->exponent},
                           shift);
        spread_exponent = quartiles.exponent;
        keeps_values = !quartiles.exponent;
        if (!(quartiles.range > 0)) return;  // as where more than half of the values are equal
        const double robust = quartiles.range / normal_quartiles;
        if (robust * (1 - quartiles.error) >= std) return;
        spread_error = std::max(spread_error, quartiles.error);
        if (quartiles.error < 0.5) spread = std::min(std, robust);
    }

    void set_std() {
        const std::size_t n = column_->n, step = column_->moments_per_key();
        double sum = 0, square = 0;
        weight = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double* m = moments_ + k * step;
            weight += m[0];
            sum += position(k) * m[0] + (step > 1 ? width * m[1] : 0.0);
        }
        const double mean = sum / weight;
        for (std::size_t k = 0; k < n; ++k) {
            const double* m = moments_ + k * step;
            const double offset = position(k) - mean;
            square += offset * offset * m[0] + (step > 1 ? width * (2 * offset * m[1] + width * m[2]) : 0.0);
        }
        std = std::min(std::sqrt(std::max(square, 0.0) / weight), 0.5 * range);
    }

    const ColumnSummary* column_ = nullptr;
    const double* moments_ = nullptr;
    std::vector<double> scaled_moments_;
};

}  // namespace kdi
