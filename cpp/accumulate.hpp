// One more part of a column, added to cells that stay: what a table that is read in parts needs, in one reading.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fill.hpp"

namespace kdi {

struct Taken {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    std::size_t count = 0, n_missing = 0, n_infinite = 0;
    std::size_t n_new = 0;  // cells that were empty before
    // Values outside the grid are handed back, for whoever keeps those far cells; their weights where there are weights.
    std::vector<double> outside, outside_weights;
};

// Some values that all lie in the grid: places and offsets first, many at a time, and then the additions.
class Tile {
  public:
    static constexpr std::size_t size = 256;

    // Whether all values lie in the grid and have weight; only then is the tile of use. No loop here has a branch.
    template <class Number>
    bool take(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid) {
        const double begin = static_cast<double>(grid.first), n_cells = static_cast<double>(grid.n_cells), scale = grid.scale;
        int bad = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double value = x[static_cast<std::int64_t>(k) * stride], position = value * scale;
            bad |= !(position >= begin) | !(position < begin + n_cells) | ((position == 0) & (value != 0));
            // Adding and taking away this number rounds positions below 2^51. Where that was up, the offset is negative, and
            // the cell is the one before.
            constexpr double rounding = 6755399441055744.0;  // 1.5 * 2^52
            const double nearest = (position + rounding) - rounding;
            const double offset = position - nearest + 0.0, half = std::copysign(0.5, offset);  // of two zeros the positive
            double place = nearest + (half - 0.5) - begin;
            place = place > 0 ? place : 0;  // for the conversion, whatever the position is
            place = place < n_cells ? place : 0;
            place_[k] = static_cast<std::int32_t>(place);
            z_[k] = offset - half;
        }
        for (std::size_t k = 0; weight && k < n; ++k) bad |= !(weight[k] > 0);
        double low = x[0], high = x[0];
        for (std::size_t k = 0; k < n; ++k) {
            const double value = x[static_cast<std::int64_t>(k) * stride];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        low_ = low;
        high_ = high;
        return !bad;
    }

    void add(const double* weight, std::size_t n, double* moments, Taken& taken) const {
        taken.minimum = std::min(taken.minimum, low_);
        taken.maximum = std::max(taken.maximum, high_);
        taken.count += n;
        std::size_t n_new = 0;
        for (std::size_t k = 0; k < n; ++k) {
            double* m = moments + n_moments * static_cast<std::size_t>(place_[k]);
            n_new += m[0] == 0;
            add_moments(m, weight ? weight[k] : 1.0, z_[k]);
        }
        taken.n_new += n_new;
    }

  private:
    std::int32_t place_[size];
    double z_[size];
    double low_, high_;
};

inline void accumulate_one(double value, double mass, bool weighted, const Grid& grid, double* moments, Taken& taken) {
    if (value != value) {
        ++taken.n_missing;
        return;
    }
    if (std::isinf(value)) {
        ++taken.n_infinite;
        return;
    }
    if (mass == 0) return;
    taken.minimum = std::min(taken.minimum, value);
    taken.maximum = std::max(taken.maximum, value);
    ++taken.count;
    const double position = value * grid.scale, begin = static_cast<double>(grid.first);
    const bool near = position >= begin && position < begin + static_cast<double>(grid.n_cells);
    const Place at(value, near ? position : 0.0);
    if (!near || at.cell < grid.first) {
        taken.outside.push_back(value);
        if (weighted) taken.outside_weights.push_back(mass);
        return;
    }
    double* m = moments + n_moments * static_cast<std::size_t>(at.cell - grid.first);
    taken.n_new += m[0] == 0;
    add_moments(m, mass, at.z);
}

template <class Number>
Taken accumulate(const Number* x, std::int64_t stride, const double* weight, std::size_t n, const Grid& grid, double* moments) {
    Taken taken;
    Tile tile;
    for (std::size_t start = 0; start < n; start += Tile::size) {
        const std::size_t height = std::min(Tile::size, n - start);
        const Number* part = x + static_cast<std::int64_t>(start) * stride;
        const double* mass = weight ? weight + start : nullptr;
        // Arrow's columns lie closely in memory; a constant stride lets the compiler take several values at once.
        if (stride == 1 ? tile.take(part, 1, mass, height, grid) : tile.take(part, stride, mass, height, grid)) {
            tile.add(mass, height, moments, taken);
            continue;
        }
        for (std::size_t k = 0; k < height; ++k)
            accumulate_one(part[static_cast<std::int64_t>(k) * stride], mass ? mass[k] : 1.0, mass != nullptr, grid, moments, taken);
    }
    return taken;
}

}  // namespace kdi
