"""Maps built from sketches in NumPy: the twin of cpp/column_map.hpp."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, fmod, frexp, inf, isinf
from typing import cast

import numpy as np

from kdi._integral.integral import Integral
from kdi._integral.maps import (
    DEFAULT_OPTIONS,
    MAX_INTERVALS,
    ColumnMap,
    CubicMap,
    MapOptions,
    bounded_slopes,
    build_linear_map,
    unit_and_scale,
)
from kdi._integral.numpy_open_maps import (
    SPARSE_RANGE,
    build_open_map,
    levels_of,
    lines_in_clusters,
    open_tails,
    with_end_levels,
)
from kdi._integral.score_bounds import LARGEST_SCORE, SPREAD_SENSITIVITY, normal_density
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._numerics.numpy_core import KERNEL_REACH, VANISHING_BANDWIDTH
from kdi._sketch.cells import (
    CELL_TOLERANCE,
    LEAST_EXPONENT,
    LINEAR_RANGE,
    WIDEST_CELL,
    cell_width_for,
    keeps_values,
    least_total,
    width_exponent,
)
from kdi._sketch.quartiles import robust_spread
from kdi._sketch.sketch import Sketch, unit_sketch
from kdi._utils.typing import Float64Array

SPREAD_ROUNDING = 1e-15  # rounding error of the variance of cells, in units of their squared width
WORST_SPREAD_ERROR = 1e-3  # relative error of the standard deviation from which on the only bound is 1


def numpy_map(
    sketch: Sketch,
    kernel: Kernel,
    factor: float,
    is_bandwidth: bool = False,
    options: MapOptions = DEFAULT_OPTIONS,
) -> tuple[ColumnMap, float]:
    """Build the map of a column; return it and its bandwidth.

    The factor, alpha >= 0 or the bandwidth itself, may be infinite.
    """
    ends, is_bounded, is_score = (
        np.array([sketch.minimum, sketch.maximum]),
        options.target == "bounded",
        options.target == "score",
    )
    if not sketch.count:
        return build_linear_map(ends, np.zeros(2), 0.0), np.nan
    if not sketch.range > 0:
        constant: ColumnMap = build_linear_map(ends, np.array([0.0, 1.0]), 0.0)
        limits = (-inf, inf) if is_score else (options.floor, options.ceiling)
        level = 0.0 if is_score else 0.5 * options.floor + 0.5 * options.ceiling
        levels = limits if is_bounded else (level, level)
        constant = replace(constant, low_level=levels[0], high_level=levels[1], floor=limits[0], ceiling=limits[1])
        return constant, factor if is_bandwidth else factor * 0.0
    built: ColumnMap
    scaled, shift = unit_sketch(sketch)
    robust = options.robust and not is_bandwidth
    spread, spread_error, _ = robust_spread(sketch, scaled, shift) if robust else (scaled.std, 0.0, 0.0)
    # Uneven weights can let the deviation underflow, and infinity * 0 is NaN.
    bandwidth = inf if isinf(factor) else _ldexp(factor, shift) if is_bandwidth else factor * spread
    flatness = scaled.range / bandwidth / kernel.scale if bandwidth else inf
    std_error = 0.0 if is_bandwidth or isinf(factor) or not factor else _spread_error(scaled)
    spread_error = max(spread_error, std_error) if factor and not isinf(factor) else 0.0
    stretch, worst = options.ceiling - options.floor, worst_error(options)
    too_wide = not is_bounded and isinf(bandwidth)
    if (scaled.cell_width > WIDEST_CELL and factor < inf) or not std_error < WORST_SPREAD_ERROR or too_wide:
        built = _straight_map(ends, 1.0, options)
    elif is_bounded and flatness < LINEAR_RANGE:
        built = _straight_map(ends, flatness**2, options)
    elif bandwidth < VANISHING_BANDWIDTH:
        error = _vanishing_error(scaled) if factor else _rank_error(scaled)
        built = _lines_through_values(sketch, *_ranks(scaled), scaled.weight, error, factor > 0, options)
    else:
        built = _map_at(sketch, scaled, shift, kernel, bandwidth, options)
        # |dT / d log h| is below 4. A spread that is not resolved may be far from the right one.
        sensitivity = SPREAD_SENSITIVITY if is_score else 4 * stretch
        of_spread = sensitivity * spread_error if spread_error < WORST_SPREAD_ERROR else inf
        built = replace(built, error=min(built.error + of_spread, worst))
    if factor < inf and not sketch.is_exact:
        # In a normal score, the error of the smallest tail that the bound covers counts most.
        rounding = _moment_rounding(sketch) * (1 / float(normal_density(LARGEST_SCORE)) if is_score else stretch)
        built = replace(built, error=min(built.error + rounding, worst))
    return built, _ldexp(bandwidth, -shift)


def worst_error(options: MapOptions) -> float:
    """Return the error beyond which nothing is known."""
    return inf if options.target == "score" else options.ceiling - options.floor


def _straight_map(ends: Float64Array, error: float, options: MapOptions) -> ColumnMap:
    """Build a line from one end to the other, where nothing more is known."""
    if options.target == "bounded":
        return _limited(build_linear_map(ends, np.array([options.floor, options.ceiling]), 0.0), error, options)
    levels = levels_of(np.array([0.25, 0.75]), np.array([0.75, 0.25]), options)
    return with_end_levels(build_linear_map(ends, levels, worst_error(options)), options)


def _limited(built: ColumnMap, error: float, options: MapOptions) -> ColumnMap:
    """Return a bounded map with its limits, and with an error that was bounded for levels from 0 to 1."""
    floor, ceiling = options.floor, options.ceiling
    error = min(error, 1.0) * (ceiling - floor)
    return replace(built, low_level=floor, high_level=ceiling, floor=floor, ceiling=ceiling, error=error)


def _ldexp(number: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(number, exponent))


def _moment_rounding(sketch: Sketch) -> float:
    """Bound what rounding the moments of tiny weights contributes to the error of T, also through the spread.

    Each value rounds the moments of its cell by half of the smallest number.
    """
    if frexp(float(sketch.moments[:, 0].max()))[1] >= -400:
        return 0.0
    mass, exponent = frexp(sketch.weight)
    return _ldexp(sketch.count / mass, LEAST_EXPONENT + 2 - exponent)


def _ranks(scaled: Sketch) -> tuple[Float64Array, Float64Array]:
    """Mid-ranks of the values or cells from below and from above, in units of weight."""
    mass = scaled.moments[:, 0]
    return np.cumsum(mass) - 0.5 * mass, np.cumsum(mass[::-1])[::-1] - 0.5 * mass


def _rank_error(scaled: Sketch) -> float:
    """Bound the error of ranks of cells, both in the rank itself and in the total."""
    mass = scaled.moments[:, 0]
    inner = scaled.weight - 0.5 * float(mass[0] + mass[-1])
    return 0.0 if scaled.is_exact else 2 * float(mass.max()) / inner if inner else inf


def _vanishing_error(scaled: Sketch) -> float:
    """Bound the error of ranks at a bandwidth that vanishes but is not 0.

    There is none where no two values are close enough to touch.
    """
    if not scaled.is_exact:
        return _rank_error(scaled)
    return float(np.any(np.diff(scaled.offsets) < KERNEL_REACH * VANISHING_BANDWIDTH))


def _spread_error(scaled: Sketch) -> float:
    """Bound the relative error of the standard deviation.

    The variance of cells is a difference of terms as large as the squared width.
    """
    if scaled.is_exact:
        return 0.0
    return SPREAD_ROUNDING * (scaled.cell_width / scaled.std) ** 2 if scaled.std else inf


def _map_at(
    sketch: Sketch,
    scaled: Sketch,
    shift: int,
    kernel: Kernel,
    bandwidth: float,
    options: MapOptions,
) -> ColumnMap:
    """Build the map at a bandwidth for which the integral can be computed."""
    wanted = cell_width_for(kernel, bandwidth, scaled.range)
    exponent = width_exponent(wanted, scaled.minimum, scaled.maximum)
    cut = scaled
    if exponent is not None and (scaled.exponent is None or exponent > scaled.exponent):
        # A short column loses digits in cells, which do not matter only beside a larger error of the knots.
        is_short = keeps_values(exponent, scaled.range, scaled.count)
        # Bandwidths in units of the robust spread may need narrower cells than the range can be divided into.
        stays = (scaled.is_exact or options.robust) and 2.0**exponent > wanted
        if (options.tolerance > CELL_TOLERANCE or not is_short) and not stays:
            cut = scaled.coarsened(exponent)
    integral = Integral.from_sketch(cut, kernel, bandwidth)
    relative = scaled.range / bandwidth
    is_bounded = options.target == "bounded"
    if integral.value_error > 0.01 * (least_total(kernel, relative) if is_bounded else 0.5):
        # Cells much wider than the kernel, as when alpha was lowered between two chunks: the only bound is 1.
        return _lines_through_values(sketch, *_ranks(scaled), scaled.weight, 1.0, False, options)
    if relative > SPARSE_RANGE:
        lines = lines_in_clusters(sketch, scaled, shift, integral, options)
        if lines is not None:
            return _lines_through(*lines, False, options)
    if relative > MAX_INTERVALS:
        positions = scaled.offsets.copy()
        positions[[0, -1]] = 0.0, scaled.range  # the extremes, not the middles of their cells
        lower, upper, _ = open_tails(integral, positions)
        error = 2 * integral.value_error / float(lower[-1] - lower[0]) if is_bounded else integral.value_error
        built = _lines_through_values(sketch, lower, upper, 1.0, error, True, options)
        if is_bounded:
            return built
        # Beyond the values, the kernel cdf is somewhere between its levels at the ends and its limits.
        beyond = max(built.low_level - built.floor, built.ceiling - built.high_level)
        return replace(built, error=min(built.error + beyond, worst_error(options)))
    ends = np.array([sketch.minimum, sketch.maximum])
    if not is_bounded:
        opened = build_open_map(sketch, scaled, shift, integral, options)
        return _straight_map(ends, 1.0, options) if opened is None else opened
    built = _build_cubic_map(integral, options)
    unit, scale = unit_and_scale(built.scale, shift)
    with np.errstate(over="ignore"):
        slopes = np.ldexp([built.low_slope, built.high_slope], shift)
    low_slope, high_slope = bounded_slopes(slopes, sketch.range).tolist()
    return replace(
        built,
        low=sketch.minimum,
        high=sketch.maximum,
        low_slope=low_slope,
        high_slope=high_slope,
        scale=scale,
        unit=unit,
    )


def _build_cubic_map(integral: Integral, options: MapOptions) -> CubicMap:
    """Build the cubics of an integral between the extremes."""
    kernel, length, max_knots = integral.kernel, integral.high - integral.low, options.max_knots
    floor, stretch = options.floor, options.ceiling - options.floor
    total_at_least = least_total(kernel, length / integral.bandwidth)
    step = integral.bandwidth * (384 * options.tolerance * total_at_least / kernel.max_fourth_derivative) ** 0.25
    step = max(min(step, length / 4), length / MAX_INTERVALS)
    if 0 < integral.grid < step:
        step -= fmod(step, integral.grid)  # knots parallel to the cells: the filters then need few exponentials
    if max_knots is not None and length / step > max_knots - 1:
        step = length / (max_knots - 1)
    n = max(ceil(length / step * (1 - 1e-12)), 1)
    # The last knot may lie beyond the end, so the end itself is evaluated too, and then dropped.
    offsets = np.arange(n + 2) * step
    # Where the two differ by a rounding only, the knot must not come first: the filters need ascending knots.
    offsets[n:] = length, max(n * step, length)
    values, densities = integral.at(offsets)
    total = float(values[n] - values[0])
    low_slope, high_slope = bounded_slopes(stretch * densities[[0, n]] / total, length).tolist()
    values[n], densities[n] = values[n + 1], densities[n + 1]
    levels, slopes = (values[:-1] - values[0]) / total, densities[:-1] * (stretch * step / total)
    levels = floor + stretch * np.maximum.accumulate(levels)
    hermite_error = min(step / integral.bandwidth, 1e60) ** 4 / 384 * kernel.max_fourth_derivative
    shape_error = hermite_error + integral.density_error * step / 4
    coefficients, worst = core.cubics(levels, slopes, stretch * shape_error / total)
    error = worst / stretch + 2 * integral.value_error / total
    built = CubicMap(integral.low, integral.high, low_slope, high_slope, 0.0, 1 / step, coefficients)
    return cast(CubicMap, _limited(built, error, options))


def _lines_through_values(
    sketch: Sketch,
    ranks: Float64Array,
    upper: Float64Array,
    weight: float,
    error: float,
    in_steps: bool,
    options: MapOptions,
) -> ColumnMap:
    """Build straight lines through the integral at the values; `ranks` are mid-ranks for h = 0, the limit of T.

    `upper` is its upper tail. Where the integral rises `in_steps` between two values, the line is off by the rise at
    most.
    """
    ends, is_bounded = np.array([sketch.minimum, sketch.maximum]), options.target == "bounded"
    total = float(ranks[-1] - ranks[0]) if is_bounded else weight
    if not total > 0 or len(ranks) < 2:  # one occupied cell
        return _straight_map(ends, 1.0, options)
    knots = sketch.keys.astype(float) if sketch.is_exact else sketch.offsets + sketch.minimum
    knots[[0, -1]] = ends
    stretch = options.ceiling - options.floor
    if is_bounded:
        levels = options.floor + stretch * np.clip((ranks - ranks[0]) / total, 0.0, 1.0)
    else:
        levels = levels_of(ranks / total, upper / total, options)
    if options.target != "score":
        error *= stretch
    elif error:
        tail = float(normal_density(max(abs(levels[0]), abs(levels[-1]))))
        error = 1.2 * error / tail if error < 0.1 * tail else inf
    return _lines_through(knots, levels, error, in_steps, options)


def _lines_through(
    knots: Float64Array, levels: Float64Array, error: float, in_steps: bool, options: MapOptions
) -> ColumnMap:
    """Build lines through points whose levels may decrease by roundings, no more of them than max_knots."""
    levels, max_knots = np.maximum.accumulate(levels), options.max_knots
    if in_steps:
        error += float(np.diff(levels).max())
    if max_knots is not None and len(knots) > max_knots:
        first, spacing = float(levels[0]), (float(levels[-1]) - float(levels[0])) / (max_knots - 1)
        chosen = np.searchsorted(levels, first + np.arange(max_knots) * spacing)
        chosen = np.maximum(chosen, np.arange(max_knots))
        chosen = np.unique(np.append(chosen[:-1], len(knots) - 1))
        error += float(np.diff(levels[chosen]).max())
        knots, levels = knots[chosen], levels[chosen]
    built = build_linear_map(knots, levels, min(error, worst_error(options)))
    if options.target != "bounded":
        return with_end_levels(built, options)
    floor, ceiling = options.floor, options.ceiling
    return replace(built, low_level=floor, high_level=ceiling, floor=floor, ceiling=ceiling)
