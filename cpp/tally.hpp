// One more part of a column that has few distinct values: those that are known are counted where they are, by hashing.
#pragma once

#include <cstring>
#include <vector>

#include "accumulate.hpp"

namespace kdi {

class Places {
  public:
    const std::size_t size;

    Places(const double* values, std::size_t n) : size(n), values_(values) {
        while ((std::size_t{1} << bits_) < 2 * n) ++bits_;
        slots_.assign(std::size_t{1} << bits_, -1);
        for (std::size_t place = 0; place < n; ++place) {
            std::size_t slot = first_slot(values[place]);
            while (slots_[slot] >= 0) slot = next(slot);
            slots_[slot] = static_cast<std::int32_t>(place);
        }
    }

    // The place of a value, or -1.
    std::int32_t find(double value) const {
        for (std::size_t slot = first_slot(value);; slot = next(slot)) {
            const std::int32_t place = slots_[slot];
            if (place < 0 || values_[place] == value) return place;
        }
    }

  private:
    std::size_t first_slot(double value) const {
        value += 0.0;  // one zero for both
        std::uint64_t key;
        std::memcpy(&key, &value, sizeof key);
        return static_cast<std::size_t>((key ^ (key >> 32)) * 0x9E3779B97F4A7C15u >> (64 - bits_));
    }
    std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    const double* values_;
    int bits_ = 1;
    std::vector<std::int32_t> slots_;
};

template <class Number>
Taken tally(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Places& places, double* masses) {
    Taken taken;
    double low = taken.minimum, high = taken.maximum;  // in registers: what is in `taken` could change in a call
    std::size_t n_known = 0;
    if (places.size == 0) taken.outside.reserve(n);
    for (std::size_t row = 0; row < n; ++row) {
        const double value = x[static_cast<std::int64_t>(row) * stride];
        if (value != value) {
            taken.n_missing += 1;
            continue;
        }
        if (std::isinf(value)) {
            taken.n_infinite += 1;
            continue;
        }
        const double mass = weight ? weight[row] : 1.0;
        if (mass == 0) continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        const std::int32_t place = places.find(value);
        if (place >= 0) {
            masses[place] += mass;
            ++n_known;
        } else {
            taken.outside.push_back(value);
            if (weight) taken.outside_weights.push_back(mass);
        }
    }
    taken.minimum = low;
    taken.maximum = high;
    taken.count = n_known + taken.outside.size();
    return taken;
}

}  // namespace kdi
