// T of a column's own values: the values are sorted once and the integral is computed at each of them, without a map in
// between. Exact up to rounding errors. Used for short columns, which may be numerous, and for columns whose sketch would hold
// every value anyway.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "integrate.hpp"
#include "kernel.hpp"

namespace kdi {

struct Smoothing {
    double alpha;         // bandwidth in standard deviations: 0 gives ranks, infinity gives min-max
    int order;            // of the kernel; 0 is the Gaussian
    double kernel_scale;  // the kernel's own bandwidth for h = 1
    double flat;          // below this range / bandwidth the kernel is constant: T is min-max, up to the square of the ratio
    double cdf_error;     // rounding error of the kernel cdf, per unit of weight
};

class LevelsOfColumn {
public:
    // Write T of n values, NaN for NaN, and return a bound on the error. Weights must be positive. Infinite values have ranks,
    // but their integral is not defined for alpha > 0: the whole column is then NaN.
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

    // Fill position_ and mass_: the distinct values in units of the range (so that squares do not overflow), and their weights.
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

    // Set the levels to the mid-ranks, rescaled to [0, 1]; return their error, which is 0.
    double rank() {
        double before = 0;
        for (std::size_t i = 0; i < mass_.size(); ++i) {
            level_[i] = before + 0.5 * mass_[i];
            before += mass_[i];
        }
        rescale();
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
        const double bandwidth = smoothing.alpha * smoothing.kernel_scale * std::sqrt(square / total);  // in units of the range
        // alpha itself is tested: weights can be so uneven that the deviation underflows to 0, and infinity * 0 is NaN.
        if (std::isinf(smoothing.alpha) || 1 / bandwidth < smoothing.flat) {
            level_ = position_;
            return std::isinf(smoothing.alpha) ? 0 : 1 / (bandwidth * bandwidth);
        }
        if (bandwidth < vanishing_bandwidth) {  // distances in units of the bandwidth would overflow
            bool may_touch = false;
            for (std::size_t i = 1; i < position_.size(); ++i) may_touch |= position_[i] - position_[i - 1] < kernel_reach * vanishing_bandwidth;
            return rank() + may_touch;
        }
        const Cells cells{position_.data(), mass_.data(), mass_.size(), 1, 0.0};
        choose_integrate(smoothing.order)(cells, smoothing.order, bandwidth, position_.data(), position_.size(),
                                          {level_.data(), nullptr, nullptr});
        const double position_error = 2e-16 / bandwidth;  // positions are rounded relative to the range; no density exceeds 1/2
        return 2 * (smoothing.cdf_error + position_error) * total / rescale();
    }

    // Rescale the levels to begin at 0, end at 1 and never decrease; return the span they had before.
    double rescale() {
        const double first = level_.front(), span = level_.back() - first;
        double highest = 0;
        for (double& level : level_) level = highest = std::clamp((level - first) / span, highest, 1.0);
        return span;
    }

    std::vector<Entry> sorted_;
    std::vector<double> position_, mass_, level_;
};

}  // namespace kdi
