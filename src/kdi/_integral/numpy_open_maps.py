"""Maps of the kernel cdf and of its normal score, built in NumPy: the twin of the open maps of cpp/column_map.hpp.

Both go on beyond the extremes: the knots reach as far as the kernel does, and from there the map approaches its limits
exponentially (cdf) or is a straight line (score).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, exp, fmod, inf, isfinite, nextafter, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from kdi._integral.integral import Integral
from kdi._integral.maps import (
    MAX_INTERVALS,
    ColumnMap,
    CubicMap,
    MapOptions,
    bounded_slopes,
    unit_and_scale,
)
from kdi._integral.score_bounds import LARGEST_SCORE, LOWEST_TAIL, ScoreBounds, normal_density
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array

MAX_FINE_KNOTS = 2**19 - 32  # with some at the ends, below 2 * MAX_INTERVALS
FINE_TOLERANCE, THIN_TOLERANCE = 3e-6, 2e-6  # shares of the error of normal scores, 1e-5
MOST_MERGED = 16  # fine knots to one knot of the map
FEW_CELLS = 8  # which need no knots parallel to them
SPARSE_RANGE = 2.0**15  # in bandwidths, from which on clusters are looked for
SCORE_LINE_STEP = 0.01  # of the lines of normal scores, in bandwidths
LEAST_TAILS = {"gaussian": 1e-11, "polyexp": 1e-300}  # of the kernel cdf; smaller ones may have lost their digits


def kernel_reach(kernel: Kernel) -> float:
    """Return how far the kernel reaches: the tail beyond is that of the normal distribution beyond LARGEST_SCORE."""
    wanted, below, above = Kernel(0).tail_at(LARGEST_SCORE), 0.0, 1.0
    while kernel.tail_at(above) > wanted:
        above *= 2
    for _ in range(60):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if kernel.tail_at(middle) > wanted else (below, middle)
    return above


def levels_of(lower: Float64Array, upper: Float64Array, options: MapOptions) -> Float64Array:
    """Return the levels of a kernel cdf, from its two tails; the smaller one decides, so that neither loses digits.

    They do not reach their limits, although a tail may underflow.
    """
    if options.target == "score":
        score = ndtri(np.maximum(np.minimum(lower, upper), np.finfo(float).tiny))
        return np.asarray(np.where(lower < upper, score, -score))
    floor, ceiling, stretch = options.floor, options.ceiling, options.ceiling - options.floor
    levels = np.where(lower < upper, floor + stretch * lower, ceiling - stretch * upper)
    return np.clip(levels, nextafter(floor, inf), nextafter(ceiling, -inf))


def with_end_levels(built: ColumnMap, options: MapOptions) -> ColumnMap:
    """Return an open map with its levels at the ends, which lie within its limits by a rounding at least."""
    is_score = options.target == "score"
    floor, ceiling = (-inf, inf) if is_score else (options.floor, options.ceiling)
    heights = built.coefficients[:, 0] if isinstance(built, CubicMap) else built.levels
    low_level = max(float(heights[0]), nextafter(floor, inf))
    high_level = min(float(heights[-1]), nextafter(ceiling, -inf))
    return replace(built, low_level=low_level, high_level=high_level, floor=floor, ceiling=ceiling)


def find_clusters(positions: Float64Array, mass: Float64Array, reach: float) -> tuple[Any, ...]:
    """Return the first and the last position of each cluster, and its share of the weight.

    Values further apart than the kernel reaches belong to different clusters; nothing happens between these.
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(positions) > 2 * reach) + 1])
    ends = np.append(starts[1:], len(positions)) - 1
    return positions[starts], positions[ends], np.add.reduceat(mass, starts) / mass.sum()


def lines_in_clusters(
    sketch: Sketch, scaled: Sketch, shift: int, integral: Integral, options: MapOptions
) -> tuple[Float64Array, Float64Array, float] | None:
    """Return knots and levels in the reach of clusters of values only, and the error; None where they are too many.

    Where a few values lie far from all others, the range has too many bandwidths for regular knots.
    """
    kernel, bandwidth, is_score = integral.kernel, integral.bandwidth, options.target == "score"
    bounds, is_bounded, stretch = ScoreBounds(kernel), options.target == "bounded", options.ceiling - options.floor
    reach = kernel_reach(kernel) * bandwidth * kernel.scale + integral.width
    curvature, beyond = bounds.largest[1] / bandwidth**2, 1e-9 * bounds.tail_ratio[1] / bandwidth**2
    firsts, lasts, shares = find_clusters(scaled.offsets, scaled.moments[:, 0], reach)
    parts, curvatures, n_knots = [], [], 0.0
    for k, (first, last, share) in enumerate(zip(firsts, lasts, shares, strict=True)):
        # The extremes, not the middles of their cells.
        start = 0.0 if is_bounded and k == 0 else first - reach
        end = scaled.range if is_bounded and k == len(firsts) - 1 else last + reach
        wanted = SCORE_LINE_STEP * bandwidth if is_score else sqrt(8 * options.tolerance / (curvature * share))
        n = ceil((end - start) / min(wanted, 0.25 * bandwidth))
        n_knots += n + 1
        if not n_knots - 1 < MAX_INTERVALS:
            return None
        parts.append(start + (end - start) * (np.arange(n + 1) / max(n, 1)))
        curvatures.append(np.append(np.full(n, curvature * share + beyond), inf))
    positions, bends = np.concatenate(parts), np.concatenate(curvatures)
    with np.errstate(over="ignore"):
        knots = np.ldexp(positions, -shift) + sketch.minimum
    if is_bounded:
        knots = np.minimum(knots, sketch.maximum)
    rising = np.isfinite(knots) & np.append(True, knots[1:] > np.maximum.accumulate(knots)[:-1])
    knots, bends = knots[rising], bends[rising]
    if len(knots) < 2 or not knots[-1] - knots[0] < inf:
        return None
    if is_bounded:
        knots[-1] = sketch.maximum
    # The integral is taken at the knots themselves, which are rounded numbers.
    positions = np.ldexp(knots, shift) - np.ldexp(sketch.minimum, shift)
    if is_bounded:
        positions[-1] = scaled.range
    lower, upper, _ = open_tails(integral, positions)
    base, total = (float(lower[0]), float(lower[-1] - lower[0])) if is_bounded else (0.0, 1.0)
    lower = (lower - base) / total
    kept = np.ones(len(knots), dtype=bool)
    if is_bounded:
        levels = options.floor + stretch * np.clip(lower, 0.0, 1.0)
    else:
        least = 0.1 * LOWEST_TAIL if is_score else 0.0
        levels = levels_of(np.maximum(lower, least), np.maximum(upper, least), options)
    if is_score:  # one knot beyond LARGEST_SCORE is enough
        kept[:-1] &= lower[1:] >= LOWEST_TAIL
        kept[1:] &= upper[:-1] >= LOWEST_TAIL
    places = np.flatnonzero(kept)
    if len(places) < 2:
        return None
    before, after, steps = levels[places[:-1]], levels[places[1:]], np.diff(positions)[places[1:] - 1]
    rises, bends = np.maximum(after - before, 0.0), bends[places[1:] - 1]
    if is_score:
        bends = np.where(bends < inf, bounds.second_derivative(before, after) / bandwidth**2, inf)
        width, relative_range = min(integral.width / bandwidth, 1e60), scaled.range / bandwidth
        at_knots, _ = bounds.knot_errors(width, len(integral.positions), relative_range)
    else:
        bends = bends * (stretch / total)
        at_knots = stretch * (2 if is_bounded else 1) * integral.value_error / total
    error = float(np.minimum(rises, steps**2 / 8 * bends).max()) + at_knots
    return knots[places], levels[places], error


def build_open_map(
    sketch: Sketch, scaled: Sketch, shift: int, integral: Integral, options: MapOptions
) -> ColumnMap | None:
    """Build the cubics of an integral as far as its kernel reaches; None where no numbers are left beyond the range."""
    kernel, bandwidth, is_score = integral.kernel, integral.bandwidth, options.target == "score"
    bounds, reach = ScoreBounds(kernel), kernel_reach(kernel) * bandwidth * kernel.scale
    most = MAX_FINE_KNOTS if is_score else MAX_INTERVALS
    relative = (
        bounds.step(FINE_TOLERANCE) if is_score else (384 * options.tolerance / kernel.max_fourth_derivative) ** 0.25
    )
    step = widest_step = max(bandwidth * relative, (scaled.range + 2 * reach) / most)
    low, first = _place_near(-reach - step, sketch, shift)
    if not isfinite(low):
        return None
    if integral.width and len(integral.positions) > FEW_CELLS:
        if integral.width <= step:
            step -= fmod(step, integral.width)
        else:
            step = integral.width / ceil(integral.width / step)
        if (scaled.range + reach - first) / step > MAX_FINE_KNOTS:
            step = widest_step
    n = ceil((scaled.range + reach - first) / step) + 1
    if not is_score and options.max_knots is not None and n + 1 > options.max_knots:
        n, (low, first) = options.max_knots - 1, _place_near(-reach, sketch, shift)
        step = (scaled.range + reach - first) / n
    lower, upper, densities = open_tails(integral, first + np.arange(n + 1.0) * step)
    if is_score:
        levels, slopes, every, error = _score_knots(lower, upper, densities, step, integral, scaled, bounds, options)
        if not len(levels):
            return None
        coefficients, _ = core.cubics(levels, slopes * (step * every), 0.0)
    else:
        stretch = options.ceiling - options.floor
        lower, upper, densities = _continued(lower, upper, densities, step, LEAST_TAILS[kernel.name])
        levels, slopes, every = np.maximum.accumulate(levels_of(lower, upper, options)), densities * stretch, 1
        shape_error = min(step / bandwidth, 1e60) ** 4 / 384 * kernel.max_fourth_derivative
        shape_error += integral.density_error * step / 4
        coefficients, error = core.cubics(levels, slopes * step, stretch * shape_error)
        error = min(error + stretch * (integral.value_error + LEAST_TAILS[kernel.name]), stretch)
    with np.errstate(over="ignore"):
        high = float(low + np.ldexp((len(levels) - 1) * step * every, -shift))
        ends = np.ldexp(slopes[[0, -1]], shift)
    unit, scale = unit_and_scale(1 / (step * every), shift)
    if not high - low < inf or not scale > 0:
        return None
    low_slope, high_slope = bounded_slopes(ends, high - low).tolist()
    return with_end_levels(CubicMap(low, high, low_slope, high_slope, error, scale, coefficients, unit=unit), options)


def _place_near(wanted: float, sketch: Sketch, shift: int) -> tuple[float, float]:
    """Return a number near a place relative to the minimum, and its own place, which is exact."""
    with np.errstate(over="ignore"):
        number = float(sketch.minimum + np.ldexp(wanted, -shift))
        return number, float(np.ldexp(number, shift) - np.ldexp(sketch.minimum, shift))


def open_tails(integral: Integral, positions: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the kernel cdf, its upper tail and its density, without the cancellation of 1 - cdf."""
    lower, densities = integral.at(positions)
    upper, _ = integral.mirrored().at((integral.high - integral.low) - positions[::-1])
    return lower, upper[::-1], densities


def _continued(
    lower: Float64Array, upper: Float64Array, densities: Float64Array, step: float, least: float
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Let the tails go on as exponentials where they have lost their digits; they are off by less than `least`."""
    first = min(int(np.argmax(lower > least)) if (lower > least).any() else len(lower) - 1, len(lower) - 1)
    last = len(upper) - 1 - int(np.argmax(upper[::-1] > least)) if (upper > least).any() else 0
    falling = exp(-step * densities[first] / lower[first]) ** np.arange(first, 0, -1)
    rising = exp(-step * densities[last] / upper[last]) ** np.arange(1, len(upper) - last)
    lower, upper, densities = lower.copy(), upper.copy(), densities.copy()
    lower[:first], densities[:first] = np.minimum(lower[first] * falling, least), densities[first] * falling
    upper[:first] = 1 - lower[:first]
    upper[last + 1 :], densities[last + 1 :] = np.minimum(upper[last] * rising, least), densities[last] * rising
    lower[last + 1 :] = 1 - upper[last + 1 :]
    return lower, upper, densities


def _score_knots(
    lower: Float64Array,
    upper: Float64Array,
    densities: Float64Array,
    step: float,
    integral: Integral,
    scaled: Sketch,
    bounds: ScoreBounds,
    options: MapOptions,
) -> tuple[Float64Array, Float64Array, int, float]:
    """Return the scores and slopes of the fewest knots whose cubics agree with those of all, and their bound.

    Beyond LARGEST_SCORE, scores go on in a straight line.
    """
    first = max(int(np.argmax(lower > LOWEST_TAIL)) - 1, 0)
    last = min(len(upper) - int(np.argmax(upper[::-1] > LOWEST_TAIL)), len(upper) - 1)
    if last < first + 2:
        return np.empty(0), np.empty(0), 1, inf
    inner = slice(first, last + 1)
    # The outermost knots may be anywhere beyond LARGEST_SCORE, where a tail has no digits any more.
    tails = np.maximum(lower[inner], 0.1 * LOWEST_TAIL), np.maximum(upper[inner], 0.1 * LOWEST_TAIL)
    scores = levels_of(*tails, options)
    slopes = np.maximum(densities[inner], 0.0) / normal_density(scores)
    relative_step, relative_range = step / integral.bandwidth, scaled.range / integral.bandwidth
    width, n_cells = min(integral.width / integral.bandwidth, 1e60), len(integral.positions)
    value_error, slope_error = bounds.knot_errors(width, n_cells, relative_range)
    rising = np.maximum.accumulate(scores)
    fourth = float(bounds.fourth_derivative(rising, slopes * integral.bandwidth, relative_step).max())
    n, every = len(lower) - 1, MOST_MERGED
    knots = _go_on_straight(rising, slopes, first, (n // every + 1) * every, step)
    fine_error = fourth * relative_step**4 / 384
    allowed = max(THIN_TOLERANCE, 0.25 * fine_error)
    while every > 1 and _error_of_merging(*knots, first, last, every, step) > allowed:
        every //= 2
    most = inf if options.max_knots is None else options.max_knots - 1
    if n // every + 1 > most:
        every = ceil(n / most)
        knots = _go_on_straight(rising, slopes, first, ceil(n / every) * every, step)
    merging_error = _error_of_merging(*knots, first, last, every, step)  # what clamping the slopes does is part of it
    error = fine_error + merging_error + value_error + slope_error * relative_step / 4
    return knots[0][::every], knots[1][::every], every, error


def _go_on_straight(
    scores: Float64Array, slopes: Float64Array, first: int, n: int, step: float
) -> tuple[Float64Array, Float64Array]:
    """Let scores go on in straight lines in front of index `first` and behind their end, up to n intervals."""
    behind = n + 1 - first - len(scores)
    before = scores[0] + np.arange(-first, 0) * step * slopes[0]
    after = scores[-1] + np.arange(1, behind + 1) * step * slopes[-1]
    all_slopes = np.concatenate([np.full(first, slopes[0]), slopes, np.full(max(behind, 0), slopes[-1])])
    return np.concatenate([before, scores, after])[: n + 1], all_slopes[: n + 1]


def _error_of_merging(
    scores: Float64Array, slopes: Float64Array, first: int, last: int, every: int, step: float
) -> float:
    """Bound the difference between the cubics of all knots from `first` to `last` and those of every so many knots."""
    n = (len(scores) - 1) // every * every
    coefficients, _ = core.cubics(scores[: n + 1 : every], slopes[: n + 1 : every] * (step * every), 0.0)
    t = np.arange(every + 1) / every
    c0, c1, c2, c3 = (column[:, None] for column in coefficients[:-1].T)
    places = np.arange(0, n, every)[:, None] + np.arange(every + 1)
    miss = np.abs(c0 + t * (c1 + t * (c2 + t * c3)) - scores[places])
    turn = np.abs((c1 + t * (2 * c2 + 3 * t * c3)) / every - slopes[places] * step)
    measured = (places >= first) & (places <= last) & (np.arange(0, n, every)[:, None] < last)
    return float(np.where(measured, miss, 0.0).max() + np.where(measured, turn, 0.0).max() / 4)
