// The fitted maps of all features as a few flat arrays: what `forward` and `inverse` read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kdi {

// cubic: one cubic per interval of regular knots; linear: straight lines between any knots; constant: one distinct value;
// empty: no value, so that every result is NaN.
enum class MapKind : std::uint8_t { cubic, linear, constant, empty };

// The position of x in a feature is (x - low) * unit * scale: in intervals for cubics, in buckets of the guide for lines. `unit`
// is a power of two, 1 for all features but those of so small a range that scale alone would overflow.
//
// Cubic features use the rows start .. start + n_knots - 1 of `coefficients`: c0 .. c3 of one interval each, for the powers of
// the position in it; the last row holds only the level of the last knot, which may lie beyond `high`.
// Linear features use the points start .. start + n_knots - 1 of `knots` and `levels`. For each of n_knots - 1 equal buckets of
// [low, high], `guide` holds the interval in which the bucket begins, also from index start on.
//
// `low_level` and `high_level` are the levels at low and high. Beyond these, a bounded feature, whose floor is low_level and whose
// ceiling is high_level, does as the caller says. An open one approaches its floor and its ceiling exponentially, or goes on in
// straight lines where they are infinite.
struct PackedMaps {
    std::size_t n_features;
    const std::uint8_t* kind;
    const double *low, *high, *unit, *scale, *low_slope, *high_slope, *low_level, *high_level, *floor, *ceiling;
    const std::int64_t *start, *n_knots;
    const double* coefficients;
    const double *knots, *levels;
    const std::int32_t* guide;
};

}  // namespace kdi
