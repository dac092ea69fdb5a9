// T of a column's own values: sorted once, and the integral taken at the values themselves, with no table in between.
// Exact up to rounding. For short columns, of which there may be many, and for columns whose values are all kept anyway.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "integrate.hpp"
#include "table_view.hpp"

namespace kdi {

struct Smoothing {
    double alpha;     // bandwidth in standard deviations: 0 is ranks, infinity is min-max
    int order;        // of the kernel; 0 is the Gaussian
    double scale;     // the kernel's own bandwidth for h = 1
    double flat;      // range / bandwidth below which the kernel is level: min-max, to the square of this number
    double rounding;  // of the kernel cdf
};

class LevelsOfColumn {
public:
    // Writes T of n values, NaN for NaN; weights must be positive. Infinite values have ranks, but no other integral: the
    // whole column is then NaN. Returns a bound on the error.
    double write(const double* x, std::int64_t stride, const double* weight, std::size_t n, const Smoothing& smoothing, double* out,
                 std::int64_t out_stride) {
        sort(x, stride, n, out, out_stride);
        if (sorted_.empty()) return 0;
        const double low = sorted_.front().value, high = sorted_.back().value;
        double error = 0;
        if (smoothing.alpha > 0 && (std::isinf(low) || std::isinf(high))) {
            level_.assign(sorted_.size(), std::numeric_limits<double>::quiet_NaN());
        } else {
            gather_runs(weight, low, high);
            level_.assign(mass_.size(), 0.0);
            if (mass_.size() > 1) error = smoothing.alpha > 0 ? integrate_at_values(smoothing) : rank();
        }
        std::size_t run = 0;
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            run += i > 0 && sorted_[i].value != sorted_[i - 1].value;
            out[static_cast<std::int64_t>(sorted_[i].row) * out_stride] = level_[run];
        }
        return error;
    }

private:
    struct Entry {
        double value;
        std::size_t row;
        bool operator<(const Entry& other) const { return value < other.value; }
    };

    void sort(const double* x, std::int64_t stride, std::size_t n, double* out, std::int64_t out_stride) {
        sorted_.clear();
        for (std::size_t row = 0; row < n; ++row) {
            const double value = x[static_cast<std::int64_t>(row) * stride];
            if (value == value) sorted_.push_back({value, row});
            else out[static_cast<std::int64_t>(row) * out_stride] = value;
        }
        std::sort(sorted_.begin(), sorted_.end());
    }

    // Distinct values, as positions in units of the range (so that no square overflows), and their weights.
    void gather_runs(const double* weight, double low, double high) {
        const double half = std::isinf(high - low) ? 0.5 : 1.0;
        const double range = high * half - low * half;
        position_.clear();
        mass_.clear();
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            const double mass = weight ? weight[sorted_[i].row] : 1.0;
            if (i > 0 && sorted_[i].value == sorted_[i - 1].value) {
                mass_.back() += mass;
            } else {
                position_.push_back((sorted_[i].value * half - low * half) / range);
                mass_.push_back(mass);
            }
        }
    }

    // Mid-ranks, from 0 to 1.
    double rank() {
        double before = 0;
        for (std::size_t i = 0; i < mass_.size(); ++i) {
            level_[i] = before + 0.5 * mass_[i];
            before += mass_[i];
        }
        stretch();
        return 0;
    }

    double integrate_at_values(const Smoothing& smoothing) {
        double total = 0, sum = 0, square = 0;
        for (std::size_t i = 0; i < mass_.size(); ++i) {
            total += mass_[i];
            sum += mass_[i] * position_[i];
        }
        const double mean = sum / total;
        for (std::size_t i = 0; i < mass_.size(); ++i) square += mass_[i] * (position_[i] - mean) * (position_[i] - mean);
        const double bandwidth = smoothing.alpha * smoothing.scale * std::sqrt(square / total);  // in units of the range
        if (std::isinf(smoothing.alpha) || 1 / bandwidth < smoothing.flat) {  // weights can be so uneven that the deviation is 0
            level_ = position_;
            return std::isinf(smoothing.alpha) ? 0 : 1 / (bandwidth * bandwidth);
        }
        if (bandwidth < 1e-290) return rank();  // distances in bandwidths would overflow
        const Cells cells{position_.data(), mass_.data(), mass_.size(), 1, 0.0};
        choose_integrate(smoothing.order)(cells, smoothing.order, bandwidth, position_.data(), position_.size(), {level_.data(), nullptr, nullptr});
        return 2 * smoothing.rounding * total / stretch();
    }

    // Brings the levels to begin at 0, end at 1 and never fall; returns what they spanned.
    double stretch() {
        const double first = level_.front(), span = level_.back() - first;
        double highest = 0;
        for (double& level : level_) level = highest = std::clamp((level - first) / span, highest, 1.0);
        return span;
    }

    std::vector<Entry> sorted_;
    std::vector<double> position_, mass_, level_;
};

}  // namespace kdi
