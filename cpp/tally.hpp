// One more partition of a column with few distinct values: a hash index finds the known values, whose weights grow in place.
#pragma once

#include <cstring>
#include <vector>

#include "accumulate.hpp"

namespace kdi {

// A hash index of distinct values, with linear probing and at most half of the slots occupied.
class DistinctValues {
  public:
    const std::size_t size;

    DistinctValues(const double* values, std::size_t n) : size(n), values_(values) {
        while ((std::size_t{1} << bits_) < 2 * n) ++bits_;
        slots_.assign(std::size_t{1} << bits_, -1);
        for (std::size_t index = 0; index < n; ++index) {
            std::size_t slot = first_slot(values[index]);
            while (slots_[slot] >= 0) slot = next(slot);
            slots_[slot] = static_cast<std::int32_t>(index);
        }
    }

    // Return the index of a value, or -1 for an unknown one.
    std::int32_t find(double value) const {
        for (std::size_t slot = first_slot(value);; slot = next(slot)) {
            const std::int32_t index = slots_[slot];
            if (index < 0 || values_[index] == value) return index;
        }
    }

  private:
    std::size_t first_slot(double value) const {
        value += 0.0;  // turns -0.0 into 0.0: the two are equal and need the same hash
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return static_cast<std::size_t>((bits ^ (bits >> 32)) * 0x9E3779B97F4A7C15u >> (64 - bits_));
    }
    std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    const double* values_;
    int bits_ = 1;  // there are 2^bits_ slots
    std::vector<std::int32_t> slots_;
};

template <class Number>
PartitionSummary tally(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const DistinctValues& known,
                       double* masses) {
    PartitionSummary summary;
    double low = summary.minimum, high = summary.maximum;  // Locals avoid aliasing reloads.
    std::size_t n_known = 0;
    if (known.size == 0) summary.outside.reserve(n);
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) {
            summary.n_missing += 1;
            continue;
        }
        if (std::isinf(value)) {
            summary.n_infinite += 1;
            continue;
        }
        const double mass = weight ? weight[row] : 1.0;
        if (mass == 0) continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        const std::int32_t index = known.find(value);
        if (index >= 0) {
            masses[index] += mass;
            ++n_known;
        } else {
            summary.outside.push_back(value);
            if (weight) summary.outside_weights.push_back(mass);
        }
    }
    summary.minimum = low;
    summary.maximum = high;
    summary.count = n_known + summary.outside.size();
    return summary;
}

}  // namespace kdi
