// Sorted places and their moments: sorted values into cells, cells into wider ones, and two sketches into one.
#pragma once

#include <cmath>
#include <vector>

#include "fill.hpp"

namespace kdi {

// Distinct values with their weights, or cells with their four moments, in ascending order.
template <class PlaceType>
struct Sorted {
    std::size_t width;  // moments of a place
    std::vector<PlaceType> places;
    std::vector<double> moments;

    void add(PlaceType place, const double* moment) {
        if (places.empty() || places.back() != place) {
            places.push_back(place);
            moments.insert(moments.end(), moment, moment + width);
            return;
        }
        double* last = moments.data() + moments.size() - width;
        for (std::size_t k = 0; k < width; ++k) last[k] += moment[k];
    }
};

class Ruler {
  public:
    explicit Ruler(int exponent) : exponent_(exponent), usual_(exponent > -1000 && exponent < 1000) {
        if (usual_) scale_ = std::ldexp(1.0, -exponent);  // or else there is no such number to multiply by
    }
    Place operator()(double value) const { return Place(value, usual_ ? value * scale_ : std::ldexp(value, -exponent_)); }

  private:
    int exponent_;
    bool usual_;
    double scale_ = 0;
};

// The cells of 2^exponent that ascending values lie in; |value / 2^exponent| is below 2^51.
inline Sorted<std::int64_t> cut(const double* values, const double* weights, std::size_t n, int exponent) {
    Sorted<std::int64_t> result{n_moments, {}, {}};
    const Ruler ruler(exponent);
    for (std::size_t k = 0; k < n; ++k) {
        const Place at = ruler(values[k]);
        double moment[n_moments] = {};
        add_moments(moment, weights[k], at.z);
        result.add(at.cell, moment);
    }
    return result;
}

// Cells that are 2^levels times as wide: moments shift by the binomial formula.
inline Sorted<std::int64_t> widen(const std::int64_t* cells, const double* moments, std::size_t n, int levels) {
    Sorted<std::int64_t> result{n_moments, {}, {}};
    const double ratio = std::ldexp(1.0, -levels);
    for (std::size_t k = 0; k < n; ++k) {
        const std::int64_t cell = levels < 63 ? cells[k] >> levels : -(cells[k] < 0);
        const double shift = (static_cast<double>(cells[k]) + 0.5) * ratio - static_cast<double>(cell) - 0.5;
        const double* m = moments + n_moments * k;
        const double m0 = m[0], m1 = m[1] * ratio, m2 = m[2] * ratio * ratio, m3 = m[3] * ratio * ratio * ratio;
        const double moment[n_moments] = {m0, m1 + shift * m0, m2 + shift * (2 * m1 + shift * m0),
                                          m3 + shift * (3 * m2 + shift * (3 * m1 + shift * m0))};
        result.add(cell, moment);
    }
    return result;
}

inline int n_bits(std::uint64_t number) {
    int bits = 0;
    for (int half = 32; half; half /= 2)
        if (number >> half) {
            number >>= half;
            bits += half;
        }
    return bits + (number != 0);
}

// How many times the width of cells must be doubled until at most `most` of them are occupied; cell(k) ascends with k.
// Two cells become one when the numbers do not differ in any higher bit.
template <class Cell>
int doublings(std::size_t n, std::size_t most, Cell cell) {
    std::size_t apart[65] = {};  // pairs of neighbours that differ up to this bit
    std::int64_t before = n ? cell(0) : 0;
    for (std::size_t k = 1; k < n; ++k) {
        const std::int64_t here = cell(k);
        ++apart[n_bits(static_cast<std::uint64_t>(here ^ before))];
        before = here;
    }
    std::size_t n_cells = n ? n - apart[0] : 0;
    int times = 0;
    while (times < 63 && n_cells > most) n_cells -= apart[++times];
    return times;
}

template <class PlaceType>
struct SortedView {
    const PlaceType* places;
    const double* moments;
    std::size_t n;
};

template <class PlaceType>
Sorted<PlaceType> merge(SortedView<PlaceType> one, SortedView<PlaceType> other, std::size_t width) {
    Sorted<PlaceType> result{width, {}, {}};
    result.places.reserve(one.n + other.n);
    result.moments.reserve(width * (one.n + other.n));
    for (std::size_t i = 0, j = 0; i < one.n || j < other.n;) {
        const bool left = j == other.n || (i < one.n && one.places[i] <= other.places[j]);
        const SortedView<PlaceType>& from = left ? one : other;
        std::size_t& k = left ? i : j;
        result.add(from.places[k], from.moments + width * k);
        ++k;
    }
    return result;
}

}  // namespace kdi
