"""Lookup maps: a column's map to [0, 1] and its inverse, in constant time per value.

For a bandwidth h that is neither 0 nor infinite, knots are regular in x and each interval is a cubic through exact
values and densities; its error is at most (Δ/h)^4 / 384 max|G''''| / P, and the knots are as close as it takes to meet
the tolerance. For a constant column, at h = inf (min-max), at h = 0 (the quantile transform) and where h is too small
for the number of knots, straight lines join the ends or the values themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from kdi._integral.integral import Integral
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import LINEAR_RANGE, least_total
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, OutOfRange

KNOT_TOLERANCE = 5e-7  # what the knots may contribute to the error of T: with the cells, the whole stays below 1e-6
MAX_INTERVALS = 2**18  # 32 bytes each; knots parallel to the cells may be up to twice as many
MIN_SLOPE = 1e-12  # of a line beyond the ends, in units of 1/range: a slope of 0 would have no inverse
MIN_RANGE = 1e-303  # the reciprocal of a smaller range overflows: such a column is treated as constant
OUT_OF_RANGE: dict[OutOfRange, int] = {"clip": 0, "linear": 1, "nan": 2}


@dataclass(frozen=True, eq=False)
class MapEnds:
    """The ends of a map, its slopes there in levels per unit of x, and the bound on its error."""

    low: float
    high: float
    low_slope: float
    high_slope: float
    error: float


@dataclass(frozen=True, eq=False)
class CubicMap(MapEnds):
    """Map with regular knots and one monotone cubic per interval."""

    scale: float  # (x - low) * scale counts intervals
    coefficients: Float64Array  # one row per interval, and one for the last knot, which may lie beyond `high`

    @property
    def n_knots(self) -> int:
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class LinearMap(MapEnds):
    """Map with arbitrary knots and straight lines between them.

    Values fall into buckets of equal width; `guide` holds the interval in which each bucket begins.
    """

    scale: float  # (x - low) * scale counts buckets of the guide
    knots: Float64Array
    levels: Float64Array
    guide: NDArray[np.int32]

    @property
    def n_knots(self) -> int:
        return len(self.knots)


ColumnMap = CubicMap | LinearMap


def build_map(
    sketch: Sketch,
    kernel: Kernel,
    bandwidth: float,
    max_knots: int | None = None,
    tolerance: float = KNOT_TOLERANCE,
) -> ColumnMap:
    """Build the map of a column at a bandwidth h >= 0, which may be infinite, with at most `max_knots` knots."""
    if not sketch.count:
        return build_linear_map(np.full(2, np.nan), np.zeros(2), 0.0)
    value_range = sketch.range
    if not value_range > MIN_RANGE:
        return build_linear_map(np.array([sketch.minimum, sketch.maximum]), np.array([0.0, 1.0]), 0.0)
    relative = value_range / bandwidth if bandwidth else inf
    if relative / kernel.scale < LINEAR_RANGE:
        error = (relative / kernel.scale) ** 2
        return build_linear_map(np.array([sketch.minimum, sketch.maximum]), np.array([0.0, 1.0]), error)
    if relative == inf:
        mass = sketch.moments[:, 0]
        error = 0.0 if sketch.is_exact else float(mass.max() / (sketch.weight - 0.5 * (mass[0] + mass[-1])))
        return _map_through_values(sketch, np.cumsum(mass) - 0.5 * mass, 2 * error, max_knots)
    integral = Integral.from_sketch(sketch, kernel, bandwidth)
    if integral.value_error > 0.01 * least_total(kernel, relative):
        # Cells much wider than the kernel, as when alpha was lowered between two chunks: the only bound is 1.
        mass = sketch.moments[:, 0]
        return _map_through_values(sketch, np.cumsum(mass) - 0.5 * mass, 1.0, max_knots)
    if relative > MAX_INTERVALS:
        ranks, _ = integral.at(sketch.offsets)
        error = (integral.value_error + float(np.diff(ranks).max())) / float(ranks[-1] - ranks[0])
        return _map_through_values(sketch, ranks, 2 * error, max_knots)
    return build_cubic_map(integral, 0.0, value_range, max_knots, tolerance)


def build_cubic_map(
    integral: Integral,
    first: float,
    last: float,
    max_knots: int | None = None,
    tolerance: float = KNOT_TOLERANCE,
) -> CubicMap:
    """Build the cubics of an integral between two positions relative to the minimum."""
    kernel, length = integral.kernel, last - first
    total_at_least = least_total(kernel, length / integral.bandwidth)
    step = integral.bandwidth * (384 * tolerance * total_at_least / kernel.max_fourth_derivative) ** 0.25
    step = max(min(step, length / 4), length / MAX_INTERVALS)
    if 0 < integral.grid < step:
        step -= step % integral.grid  # knots parallel to the cells: the filters then need few exponentials
    if max_knots is not None and length / step > max_knots - 1:
        step = length / (max_knots - 1)
    n = max(ceil(length / step * (1 - 1e-12)), 1)
    # The last knot may lie beyond the end, so the end itself is evaluated too, and then dropped.
    offsets = np.arange(n + 2) * step + first
    # Where the two differ by a rounding only, the knot must not come first: the filters need ascending knots.
    offsets[n:] = first + length, max(first + n * step, first + length)
    values, densities = integral.at(offsets)
    total = float(values[n] - values[0])
    low_slope, high_slope = np.maximum(densities[[0, n]] / total, MIN_SLOPE / length).tolist()
    values[n], densities[n] = values[n + 1], densities[n + 1]
    levels, slopes = (values[:-1] - values[0]) / total, densities[:-1] * (step / total)
    levels = np.maximum.accumulate(levels)
    hermite_error = (step / integral.bandwidth) ** 4 / 384 * kernel.max_fourth_derivative
    shape_error = hermite_error + integral.density_error * step / 4
    coefficients, worst = core.cubics(levels, slopes, shape_error / total)
    error = worst + 2 * integral.value_error / total
    low, high = (integral.low + first, integral.low + last) if first else (integral.low, integral.high)
    return CubicMap(low, high, low_slope, high_slope, min(error, 1.0), 1 / step, coefficients)


def _map_through_values(sketch: Sketch, ranks: Float64Array, error: float, max_knots: int | None) -> LinearMap:
    """Build straight lines through T at the values; `ranks` are mid-ranks for h = 0, the limit of T."""
    total = float(ranks[-1] - ranks[0])
    if not total > 0:  # one occupied cell
        return build_linear_map(np.array([sketch.minimum, sketch.maximum]), np.array([0.0, 1.0]), 1.0)
    levels = np.clip(np.maximum.accumulate((ranks - ranks[0]) / total), 0.0, 1.0)
    knots = sketch.keys.astype(float) if sketch.is_exact else sketch.offsets + sketch.minimum
    knots[[0, -1]] = sketch.minimum, sketch.maximum
    if max_knots is not None and len(knots) > max_knots:
        chosen = np.searchsorted(levels, np.linspace(0, 1, max_knots))
        chosen = np.unique(np.append(chosen[:-1], len(knots) - 1))
        error += float(np.diff(levels[chosen]).max())
        knots, levels = knots[chosen], levels[chosen]
    return build_linear_map(knots, levels, min(error, 1.0))


def build_linear_map(knots: Float64Array, levels: Float64Array, error: float) -> LinearMap:
    """Build straight lines through ascending knots, with the bucket guide that finds the interval of a value."""
    low, high = float(knots[0]), float(knots[-1])
    n_buckets = len(knots) - 1
    scale = n_buckets / (high - low) if high - low > MIN_RANGE * n_buckets else 0.0  # 0: one bucket
    edges = low + np.arange(n_buckets) / scale if scale else np.full(n_buckets, low)
    guide = np.clip(np.searchsorted(knots, edges, side="right") - 1, 0, n_buckets - 1)
    # A constant has no slope; outside, one unit of x is one unit of the result, as in MinMaxScaler.
    slopes = np.ones(2)
    if high > low:
        with np.errstate(over="ignore"):
            slopes = np.diff(levels)[[0, -1]] / np.diff(knots)[[0, -1]]
            slopes = np.clip(slopes, min(MIN_SLOPE / (high - low), 1 / MIN_RANGE), 1 / MIN_RANGE)
    return LinearMap(low, high, float(slopes[0]), float(slopes[1]), error, scale, knots, levels, guide.astype(np.int32))


def forward(
    maps: list[ColumnMap], table: FloatArray, out: FloatArray, out_of_range: OutOfRange, n_threads: int = 1
) -> int:
    """Write T of every column to `out`; return a column that holds an infinite value, or -1.

    Of several such columns, the compiled core returns the one that some thread finds first, not always the leftmost.
    """
    return int(core.forward(maps, table, out, OUT_OF_RANGE[out_of_range], n_threads))


def inverse(
    maps: list[ColumnMap], table: FloatArray, out: FloatArray, out_of_range: OutOfRange, n_threads: int = 1
) -> int:
    """Write to `out` the values at which T takes the given levels; return what `forward` returns."""
    return int(core.inverse(maps, table, out, OUT_OF_RANGE[out_of_range], n_threads))


def map_column(column_map: ColumnMap, column: FloatArray) -> Float64Array:
    """Compute T of a column's values, in float64 whatever their dtype; values beyond the ends are clipped."""
    result = np.empty((len(column), 1))
    forward([column_map], np.asarray(column, dtype=float)[:, None], result, "clip")
    return result[:, 0]
