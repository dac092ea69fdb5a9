// Sorted keys and their moments: sorted values cut into cells, cells widened, and two sketches merged.
#pragma once

#include <cmath>
#include <vector>

#include "fill.hpp"

namespace kdi {

// Ascending keys with their moments: distinct values (double keys) with one moment, the weight, or cells (integer keys) with
// all four.
template <class Key>
struct SortedMoments {
    std::size_t moments_per_key;
    std::vector<Key> keys;
    std::vector<double> moments;

    // Append a key, or add to the last key's moments if the two are equal.
    void add(Key key, const double* moment) {
        if (keys.empty() || keys.back() != key) {
            keys.push_back(key);
            moments.insert(moments.end(), moment, moment + moments_per_key);
            return;
        }
        double* last = moments.data() + moments.size() - moments_per_key;
        for (std::size_t k = 0; k < moments_per_key; ++k) last[k] += moment[k];
    }
};

// The function from a value to its cell of width 2^exponent and its offset in that cell.
class CellLocator {
  public:
    explicit CellLocator(int exponent) : exponent_(exponent), has_scale_(exponent > -1000 && exponent < 1000) {
        if (has_scale_) scale_ = std::ldexp(1.0, -exponent);  // elsewhere 2^-exponent may overflow or underflow
    }
    CellAndOffset operator()(double value) const { return CellAndOffset(value, position(value)); }

    // Tell whether the cell of a value is a number that an integer can represent.
    bool finds(double value) const { return std::fabs(position(value)) < 4e18; }

  private:
    double position(double value) const { return has_scale_ ? value * scale_ : std::ldexp(value, -exponent_); }

    int exponent_;
    bool has_scale_;
    double scale_ = 0;
};

// Cut ascending values into cells of width 2^exponent; |value / 2^exponent| must be below 2^51.
inline SortedMoments<std::int64_t> cut(const double* values, const double* weights, std::size_t n, int exponent) {
    SortedMoments<std::int64_t> result{n_moments, {}, {}};
    const CellLocator locate(exponent);
    for (std::size_t k = 0; k < n; ++k) {
        const CellAndOffset at = locate(values[k]);
        double moment[n_moments] = {};
        add_moments(moment, weights[k], at.z);
        result.add(at.cell, moment);
    }
    return result;
}

// Merge cells into cells 2^n_doublings times as wide; moments shift to the new centres by the binomial formula.
inline SortedMoments<std::int64_t> widen(const std::int64_t* cells, const double* moments, std::size_t n, int n_doublings) {
    SortedMoments<std::int64_t> result{n_moments, {}, {}};
    const double ratio = std::ldexp(1.0, -n_doublings);
    for (std::size_t k = 0; k < n; ++k) {
        const std::int64_t cell = n_doublings < 63 ? cells[k] >> n_doublings : -(cells[k] < 0);
        const double shift = (static_cast<double>(cells[k]) + 0.5) * ratio - static_cast<double>(cell) - 0.5;
        const double* m = moments + n_moments * k;
        const double m0 = m[0], m1 = m[1] * ratio, m2 = m[2] * ratio * ratio, m3 = m[3] * ratio * ratio * ratio;
        const double moment[n_moments] = {m0, m1 + shift * m0, m2 + shift * (2 * m1 + shift * m0),
                                          m3 + shift * (3 * m2 + shift * (3 * m1 + shift * m0))};
        result.add(cell, moment);
    }
    return result;
}

// The number of bits up to the highest one that is set.
inline int bit_width(std::uint64_t number) {
    int bits = 0;
    for (int half = 32; half; half /= 2)
        if (number >> half) {
            number >>= half;
            bits += half;
        }
    return bits + (number != 0);
}

// Return how many times the cell width must double until at most `most` cells are occupied; cell_at(k) ascends with k.
// After b doublings two cells are one exactly if their numbers agree in all bits above the lowest b.
template <class CellAt>
int doublings(std::size_t n, std::size_t most, CellAt cell_at) {
    std::size_t n_pairs[65] = {};  // n_pairs[b]: neighbouring pairs whose highest differing bit is the b-th; b = 0 if equal
    std::int64_t previous = n ? cell_at(0) : 0;
    for (std::size_t k = 1; k < n; ++k) {
        const std::int64_t cell = cell_at(k);
        ++n_pairs[bit_width(static_cast<std::uint64_t>(cell ^ previous))];
        previous = cell;
    }
    std::size_t n_cells = n ? n - n_pairs[0] : 0;
    int times = 0;
    while (times < 63 && n_cells > most) n_cells -= n_pairs[++times];
    return times;
}

template <class Key>
struct SortedMomentsView {
    const Key* keys;
    const double* moments;
    std::size_t n;
};

// Merge two ascending sequences; the moments of equal keys are added.
template <class Key>
SortedMoments<Key> merge(SortedMomentsView<Key> one, SortedMomentsView<Key> other, std::size_t moments_per_key) {
    SortedMoments<Key> result{moments_per_key, {}, {}};
    result.keys.reserve(one.n + other.n);
    result.moments.reserve(moments_per_key * (one.n + other.n));
    for (std::size_t i = 0, j = 0; i < one.n || j < other.n;) {
        const bool from_one = j == other.n || (i < one.n && one.keys[i] <= other.keys[j]);
        const SortedMomentsView<Key>& from = from_one ? one : other;
        std::size_t& k = from_one ? i : j;
        result.add(from.keys[k], from.moments + moments_per_key * k);
        ++k;
    }
    return result;
}

}  // namespace kdi
