// Maps of columns to [0, 1] and back: piecewise cubics on regular knots, or straight lines between arbitrary knots.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "array_view.hpp"
#include "blocks.hpp"
#include "packed.hpp"
#include "parallel.hpp"
#include "score_table.hpp"

namespace kdi {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Adding and subtracting this constant rounds a position to a multiple of 2^-32 intervals (positions are below 2^19). A cubic
// whose slope varies by less than a factor of 2^10 over its interval then rises by more than its rounding errors from each
// position to the next, so that the results never decrease.
constexpr double position_rounder = 1.5 * 1048576.0;

// Limit a position, so that no contents of packed maps can lead outside of the arrays; NaN becomes 0.
inline double between_zero_and(double last, double position) {
    position = position > 0 ? position : 0;
    return position < last ? position : last;
}

// The ends of a feature: where its intervals begin and end, the levels there, and the limits that levels have beyond. A bounded
// feature has reached its limits at its ends.
struct MapEnds {
    double low, high, low_slope, high_slope, low_level, high_level, floor, ceiling;

    MapEnds(const PackedMaps& maps, std::size_t j)
        : low(maps.low[j]), high(maps.high[j]), low_slope(maps.low_slope[j]), high_slope(maps.high_slope[j]),
          low_level(maps.low_level[j]), high_level(maps.high_level[j]), floor(maps.floor[j]), ceiling(maps.ceiling[j]) {}

    bool is_bounded() const { return low_level == floor; }
};

// A cubic feature of the packed maps. The last interval may extend beyond `high`; forward and inverse are clipped there.
struct CubicMap : MapEnds {
    const double* coefficients;
    std::int64_t n_intervals;
    double unit, scale;

    CubicMap(const PackedMaps& maps, std::size_t j)
        : MapEnds(maps, j), coefficients(maps.coefficients + 4 * maps.start[j]), n_intervals(maps.n_knots[j] - 1), unit(maps.unit[j]),
          scale(maps.scale[j]) {}

    double forward(double x) const {  // low <= x < high
        const double rounded = ((x - low) * unit * scale + position_rounder) - position_rounder;
        const double position = between_zero_and(static_cast<double>(n_intervals), rounded);
        const auto i = static_cast<std::int32_t>(position);
        const double t = position - static_cast<double>(i);
        const double* c = coefficients + 4 * static_cast<std::int64_t>(i);
        return std::min(c[0] + t * (c[1] + t * (c[2] + t * c[3])), high_level);
    }

    // T of the values of a block that lie in [low, high); return whether all of them do. The others get any number.
    bool forward(const double* block, std::size_t n, double* out) const {
        std::int32_t interval[block_rows];
        double t[block_rows];
        const bool inside = locate(block, n, interval, t);
        evaluate(interval, t, n, out);
        return inside;
    }

    double inverse(double y) const {  // low_level < y < high_level
        std::int64_t first = 0, last = n_intervals;  // level(first) <= y < level(last)
        while (last - first > 1) {
            const std::int64_t middle = (first + last) / 2;
            (coefficients[4 * middle] <= y ? first : last) = middle;
        }
        const double* c = coefficients + 4 * first;
        const double rise = c[4] - c[0], wanted = y - c[0];
        double t = wanted / rise, below = 0, above = 1;  // Newton's method within a bracket, by bisection where it leaves that
        for (int step = 0; step < 50; ++step) {
            const double miss = t * (c[1] + t * (c[2] + t * c[3])) - wanted;
            (miss > 0 ? above : below) = t;
            const double slope = c[1] + t * (2 * c[2] + 3 * t * c[3]);
            double next = t - miss / slope;
            if (!(next > below && next < above)) next = 0.5 * (below + above);
            if (std::fabs(next - t) < 1e-15) break;
            t = next;
        }
        return std::min(low + (static_cast<double>(first) + t) / scale / unit, high);
    }

  private:
    // The interval of each value, and its position in there; the same arithmetic as for one value.
    KDI_LEVELS bool locate(const double* block, std::size_t n, std::int32_t* interval, double* t) const {
        const double least = low, end = high, own_unit = unit, own_scale = scale, last = static_cast<double>(n_intervals);
        std::int64_t outside = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double x = block[k];
            outside |= ((x >= least) & (x < end)) ? 0 : -1;
            const double position = between_zero_and(last, ((x - least) * own_unit * own_scale + position_rounder) - position_rounder);
            const auto i = static_cast<std::int32_t>(position);
            interval[k] = i;
            t[k] = position - static_cast<double>(i);
        }
        return outside == 0;
    }

    void evaluate(const std::int32_t* interval, const double* t, std::size_t n, double* out) const {
        const double* const rows = coefficients;
        const double highest = high_level;
        for (std::size_t k = 0; k < n; ++k) {
            const double* c = rows + 4 * static_cast<std::int64_t>(interval[k]);
            out[k] = std::min(c[0] + t[k] * (c[1] + t[k] * (c[2] + t[k] * c[3])), highest);
        }
    }
};

// A linear feature of the packed maps.
struct LinearMap : MapEnds {
    const double *knots, *levels;
    const std::int32_t* guide;
    std::int64_t n_intervals;  // also the number of buckets
    double unit, scale;

    LinearMap(const PackedMaps& maps, std::size_t j)
        : MapEnds(maps, j), knots(maps.knots + maps.start[j]), levels(maps.levels + maps.start[j]), guide(maps.guide + maps.start[j]),
          n_intervals(maps.n_knots[j] - 1), unit(maps.unit[j]), scale(maps.scale[j]) {}

    double forward(double x) const {  // low <= x < high
        const double position = between_zero_and(static_cast<double>(n_intervals - 1), (x - low) * unit * scale);
        const auto bucket = static_cast<std::int64_t>(position);
        std::int64_t i = guide[bucket], last = bucket + 1 < n_intervals ? guide[bucket + 1] + 1 : n_intervals;
        while (i > 0 && x < knots[i]) --i;  // the edges of the buckets have rounding errors
        while (last < n_intervals && x >= knots[last]) ++last;
        i = std::max(std::upper_bound(knots + i, knots + last, x) - knots - 1, std::ptrdiff_t{0});
        const double level = levels[i] + (x - knots[i]) / (knots[i + 1] - knots[i]) * (levels[i + 1] - levels[i]);
        return std::min(level, levels[i + 1]);
    }

    double inverse(double y) const {  // low_level < y < high_level
        const auto i = std::max(std::upper_bound(levels, levels + n_intervals, y) - levels - 1, std::ptrdiff_t{0});
        const double offset = y - levels[i], rise = levels[i + 1] - levels[i], gap = knots[i + 1] - knots[i], slope = gap / rise;
        const double x = knots[i] + (std::isfinite(slope) ? offset * slope : offset / rise * gap);
        return std::min(x, knots[i + 1]);
    }
};

// A constant or empty feature: no value lies between its ends.
struct ConstantMap : MapEnds {
    using MapEnds::MapEnds;

    double forward(double) const { return not_a_number; }
    double inverse(double) const { return not_a_number; }
};

enum class OutOfRange { clip, linear, nan };

// The level at a distance beyond an end of an open feature, where it approaches a limit exponentially, or is a straight line.
inline double level_beyond(double level, double slope, double limit, double distance) {
    if (std::isinf(limit)) return level + distance * slope;
    const double gap = level - limit;  // the exponent is negative on both sides
    const double result = limit + gap * std::exp(std::min(distance * slope / gap, 0.0));
    return distance < 0 ? std::min(result, level) : std::max(result, level);
}

// The distance from that end. Levels at the limit, or beyond it, are taken for the number next to it.
inline double distance_beyond(double level, double slope, double limit, double y) {
    if (std::isinf(limit)) return (y - level) / slope;
    const double gap = level - limit, least = std::fabs(std::nextafter(limit, level) - limit);
    const double left = gap > 0 ? std::max(y - limit, least) : std::min(y - limit, -least);
    const double distance = std::log(left / gap) / slope * gap;
    return gap > 0 ? std::min(distance, 0.0) : std::max(distance, 0.0);
}

// T of a value. Set `infinite` if the value is infinite; NaN stays NaN.
template <class Map>
double forward(const Map& map, double x, OutOfRange policy, bool& infinite) {
    if (x >= map.low && x < map.high) return map.forward(x);
    infinite |= std::isinf(x);
    const double top = map.low == map.high ? map.low_level : map.high_level;
    if (x == map.high) return top;
    if (x != x || map.low != map.low) return not_a_number;
    if (!map.is_bounded()) {
        if (x < map.low) return level_beyond(map.low_level, map.low_slope, map.floor, x - map.low);
        return level_beyond(map.high_level, map.high_slope, map.ceiling, x - map.high);
    }
    if (policy == OutOfRange::nan) return not_a_number;
    if (policy == OutOfRange::clip) return x < map.low ? map.low_level : map.high_level;
    if (x < map.low) return map.low_level + (x - map.low) * map.low_slope;
    return top + (x - map.high) * map.high_slope;
}

// The value at which T takes the level y. Set `infinite` if y is infinite; NaN stays NaN.
template <class Map>
double inverse(const Map& map, double y, OutOfRange policy, bool& infinite) {
    const bool linear = policy == OutOfRange::linear, constant = map.low == map.high;
    if (y > map.low_level && y < map.high_level) return constant ? map.low + (linear ? y - map.low_level : 0) : map.inverse(y);
    infinite |= std::isinf(y);
    if (y != y || map.low != map.low) return not_a_number;
    if (!map.is_bounded()) {
        if (policy == OutOfRange::nan && (y < map.floor || y > map.ceiling)) return not_a_number;
        if (y == map.low_level) return map.low;
        if (y < map.low_level) return map.low + distance_beyond(map.low_level, map.low_slope, map.floor, y);
        return map.high + distance_beyond(map.high_level, map.high_slope, map.ceiling, y);
    }
    if (policy == OutOfRange::nan && y != map.low_level && y != map.high_level) return not_a_number;
    if (!linear || y == map.low_level) return y > map.low_level ? map.high : map.low;
    if (y < map.low_level || constant) return map.low + (y - map.low_level) / map.low_slope;
    return map.high + (y - map.high_level) / map.high_slope;
}

// Apply a map to n values of one column; return whether one of them is infinite. `x` and `out` may be the same memory. With
// `to_scores`, levels from 0 to 1 are turned into normal scores.
template <bool Forward, class Number, class Map>
bool map_column(const Map& map, const Number* x, std::int64_t stride, Number* out, std::int64_t out_stride, std::size_t n,
                OutOfRange policy, bool to_scores) {
    bool infinite = false;
    for_each_row_block(n, [&](std::size_t row, std::size_t size) {
        double block[block_rows], result[block_rows];
        bool may_overflow = policy == OutOfRange::linear || !map.is_bounded();
        load_block(x + static_cast<std::int64_t>(row) * stride, stride, size, block);
        if constexpr (Forward && std::is_same_v<Map, CubicMap>) {
            const bool all_inside = map.forward(block, size, result);
            may_overflow &= !all_inside;
            for (std::size_t k = 0; !all_inside && k < size; ++k)
                if (!(block[k] >= map.low && block[k] < map.high)) result[k] = forward(map, block[k], policy, infinite);
        } else {
            for (std::size_t k = 0; k < size; ++k)
                result[k] = Forward ? forward(map, block[k], policy, infinite) : inverse(map, block[k], policy, infinite);
        }
        if (Forward && to_scores) ScoreTable::get().apply(result, size);
        // Far beyond the ends of a steep or flat map, a line may leave the range of numbers.
        constexpr double largest = std::numeric_limits<Number>::max();
        for (std::size_t k = 0; may_overflow && k < size; ++k)
            if (std::fabs(result[k]) > largest) result[k] = std::copysign(largest, result[k]);
        store_block(result, size, out + static_cast<std::int64_t>(row) * out_stride, out_stride);
    });
    return infinite;
}

// Apply the map of feature j to n values; return whether one of them is infinite.
template <bool Forward, class Number>
bool map_feature(const PackedMaps& maps, std::size_t j, const Number* x, std::int64_t stride, Number* out, std::int64_t out_stride,
                 std::size_t n, OutOfRange policy, bool to_scores) {
    const auto apply = [&](const auto& map) { return map_column<Forward>(map, x, stride, out, out_stride, n, policy, to_scores); };
    const auto kind = static_cast<MapKind>(maps.kind[j]);
    return kind == MapKind::cubic    ? apply(CubicMap(maps, j))
           : kind == MapKind::linear ? apply(LinearMap(maps, j))
                                     : apply(ConstantMap(maps, j));
}

// The leftmost column of several threads.
class LeftmostColumn {
  public:
    explicit LeftmostColumn(std::size_t n_columns) : column_(n_columns) {}

    void add(std::size_t j) {
        std::size_t leftmost = column_;
        while (j < leftmost && !column_.compare_exchange_weak(leftmost, j)) {
        }
    }

    std::size_t get() const { return column_; }

  private:
    std::atomic<std::size_t> column_;
};

// Apply the map of each column. Return the leftmost column that holds an infinite value, or the number of columns.
template <bool Forward, class Number>
std::size_t map_columns(const PackedMaps& maps, const ArrayView<const Number>& from, const ArrayView<Number>& to, OutOfRange policy,
                        int n_threads, bool to_scores = false) {
    LeftmostColumn infinite(from.n_columns);
    parallel_for(from.n_rows, n_threads, [&](int, std::size_t begin, std::size_t end) {
        for_each_tile(from, 0, from.n_columns, begin, end, [&](std::size_t j, std::size_t row, std::size_t n) {
            if (map_feature<Forward>(maps, j, from.column(j, row), from.row_stride, to.column(j, row), to.row_stride, n, policy, to_scores))
                infinite.add(j);
        });
    });
    return infinite.get();
}

// Apply to each stored value of a sparse matrix the map of its column; neighbours in one column are mapped together. Return the
// leftmost column that holds an infinite value, or the number of columns.
template <bool Forward, class Number, class Index>
std::size_t map_stored(const PackedMaps& maps, const Index* columns, const Number* x, Number* out, std::size_t n, OutOfRange policy,
                       int n_threads, bool to_scores = false) {
    LeftmostColumn infinite(maps.n_features);
    parallel_for(n, n_threads, [&](int, std::size_t begin, std::size_t end) {
        for (std::size_t first = begin, last = begin; first < end; first = last) {
            const Index column = columns[first];
            while (last < end && columns[last] == column) ++last;
            // Another thread may have changed the index since it was checked; the range must not depend on that.
            last = std::max(last, first + 1);
            const auto j = static_cast<std::size_t>(column);
            if (column < 0 || j >= maps.n_features) throw std::invalid_argument("columns must be features of the maps");
            if (map_feature<Forward>(maps, j, x + first, 1, out + first, 1, last - first, policy, to_scores)) infinite.add(j);
        }
    });
    return infinite.get();
}

}  // namespace kdi
