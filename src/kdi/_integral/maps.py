"""Lookup maps: a column's map to [0, 1] and its inverse, in constant time per value.

For a bandwidth h that is neither 0 nor infinite, knots are regular in x and each interval is a cubic through exact
values and densities; its error is at most (Δ/h)^4 / 384 max|G''''| / P, and the knots are as close as it takes to meet
the tolerance. For a constant column, at h = inf (min-max), at h = 0 (the quantile transform) and where h is too small
for the number of knots, straight lines join the ends or the values themselves.

The maps of a table are a few flat arrays, `PackedMaps`; `CubicMap` and `LinearMap` are views of one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import frexp, ldexp
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kdi._numerics.backend import core
from kdi._utils.typing import Float64Array, FloatArray, Indices, Int64Array, OutOfRange

KNOT_TOLERANCE = 5e-7  # what the knots may contribute to the error of T: with the cells, the whole stays below 1e-6
MAX_INTERVALS = 2**18  # 32 bytes each; knots parallel to the cells may be up to twice as many
MIN_SLOPE = 1e-12  # of a line beyond the ends, in units of 1/range: a slope of 0 would have no inverse
MAX_SLOPE = 1e303  # of such a line, so that it stays finite however small the range
SMALL_RANGE_EXPONENT = -600  # a range below 2 to this power, halved, is multiplied by `unit` before it is divided
OUT_OF_RANGE: dict[OutOfRange, int] = {"clip": 0, "linear": 1, "nan": 2}
CUBIC, LINEAR, CONSTANT, EMPTY = range(4)  # kinds of packed maps


@dataclass(frozen=True, eq=False)
class MapEnds:
    """The ends of a map, its slopes there in levels per unit of x, and the bound on its error."""

    low: float
    high: float
    low_slope: float
    high_slope: float
    error: float
    unit: float = field(default=1.0, kw_only=True)  # a power of two, larger than 1 where the range is very small


@dataclass(frozen=True, eq=False)
class CubicMap(MapEnds):
    """Map with regular knots and one monotone cubic per interval."""

    scale: float  # (x - low) * unit * scale counts intervals
    coefficients: Float64Array  # one row per interval, and one for the last knot, which may lie beyond `high`

    @property
    def n_knots(self) -> int:
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class LinearMap(MapEnds):
    """Map with arbitrary knots and straight lines between them.

    Values fall into buckets of equal width; `guide` holds the interval in which each bucket begins.
    """

    scale: float  # (x - low) * unit * scale counts buckets of the guide
    knots: Float64Array
    levels: Float64Array
    guide: NDArray[np.int32]

    @property
    def n_knots(self) -> int:
        return len(self.knots)


ColumnMap = CubicMap | LinearMap


@dataclass(frozen=True, eq=False)
class PackedMaps(Sequence[ColumnMap]):
    """The maps of all columns as flat arrays, which every backend reads; docs/packed-model.md describes the format.

    Attributes
    ----------
    kind : ndarray of uint8 of shape (n_columns,)
        CUBIC, LINEAR, CONSTANT or EMPTY.
    low, high : ndarray of shape (n_columns,)
        The extremes of each column.
    unit, scale : ndarray of shape (n_columns,)
        (x - low) * unit * scale counts intervals, or buckets of the guide.
    low_slope, high_slope : ndarray of shape (n_columns,)
        Slopes beyond the ends, in levels per unit of x.
    start, n_knots : ndarray of int64 of shape (n_columns,)
        Column j has the rows start[j] to start[j] + n_knots[j] - 1 of `coefficients`, or of `knots`, `levels`, `guide`.
    coefficients : ndarray of shape (n_rows, 4)
        The powers 0 to 3 of one cubic per interval; the last row of a column holds the level of its last knot.
    knots, levels : ndarray of shape (n_points,)
    guide : ndarray of int32 of shape (n_points,)
        The last entry of each column is not used.
    error : ndarray of shape (n_columns,)
        Bounds on the error of each map.
    """

    kind: NDArray[np.uint8]
    low: Float64Array
    high: Float64Array
    unit: Float64Array
    scale: Float64Array
    low_slope: Float64Array
    high_slope: Float64Array
    start: Int64Array
    n_knots: Int64Array
    coefficients: Float64Array
    knots: Float64Array
    levels: Float64Array
    guide: NDArray[np.int32]
    error: Float64Array

    @classmethod
    def pack(cls, maps: Sequence[ColumnMap]) -> PackedMaps:
        """Pack the maps of columns."""
        if isinstance(maps, PackedMaps):
            return maps
        kind = np.array([kind_of(one) for one in maps], dtype=np.uint8)
        n_knots = np.where(kind <= LINEAR, [one.n_knots for one in maps], 0).astype(np.int64)
        start = np.zeros_like(n_knots)
        for chosen in (kind == CUBIC, kind == LINEAR):
            start[chosen] = np.cumsum(n_knots[chosen]) - n_knots[chosen]
        cubics: list[Any] = [one for one, k in zip(maps, kind, strict=True) if k == CUBIC]
        lines: list[Any] = [one for one, k in zip(maps, kind, strict=True) if k == LINEAR]
        numbers = {
            name: np.array([getattr(one, name) for one in maps], dtype=float)
            for name in ("low", "high", "unit", "scale", "low_slope", "high_slope", "error")
        }
        return cls(
            kind=kind,
            start=start,
            n_knots=n_knots,
            coefficients=np.concatenate([np.empty((0, 4)), *(one.coefficients for one in cubics)]),
            knots=np.concatenate([np.empty(0), *(one.knots for one in lines)]),
            levels=np.concatenate([np.empty(0), *(one.levels for one in lines)]),
            guide=np.concatenate([np.empty(0, np.int32), *(np.append(one.guide, 0) for one in lines)], dtype=np.int32),
            **numbers,
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that the numeric core reads: all but `error`."""
        return tuple(getattr(self, one.name) for one in fields(self)[:-1])

    @cached_property
    def in_core(self) -> core.PackedMaps:
        """The arrays as an object of the numeric core, which has checked them."""
        return core.PackedMaps(*self.arrays)

    def take(self, columns: Int64Array) -> PackedMaps:
        """Return the maps of some columns, which may repeat; they share the arrays of their knots."""
        shared = ("coefficients", "knots", "levels", "guide")
        names = [one.name for one in fields(self) if one.name not in shared]
        return replace(self, **{name: getattr(self, name)[columns] for name in names})

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # without cached properties

    def __len__(self) -> int:
        return len(self.kind)

    @overload
    def __getitem__(self, index: int) -> ColumnMap: ...
    @overload
    def __getitem__(self, index: slice) -> list[ColumnMap]: ...
    def __getitem__(self, index: int | slice) -> ColumnMap | list[ColumnMap]:
        if isinstance(index, slice):
            return [self[j] for j in range(len(self))[index]]
        j = range(len(self))[index]
        first, n_knots, unit = int(self.start[j]), int(self.n_knots[j]), float(self.unit[j])
        low, high, error = float(self.low[j]), float(self.high[j]), float(self.error[j])
        slopes = float(self.low_slope[j]), float(self.high_slope[j])
        scale, rows = float(self.scale[j]), slice(first, first + n_knots)
        if self.kind[j] == CUBIC:
            return CubicMap(low, high, *slopes, error, scale, self.coefficients[rows], unit=unit)
        if self.kind[j] == LINEAR:
            knots, levels, guide = self.knots[rows], self.levels[rows], self.guide[rows][: n_knots - 1]
            return LinearMap(low, high, *slopes, error, scale, knots, levels, guide, unit=unit)
        return build_linear_map(np.array([low, high]), np.array([0.0, float(self.kind[j] == CONSTANT)]), 0.0)

    def __iter__(self) -> Iterator[ColumnMap]:
        return (self[j] for j in range(len(self)))


def kind_of(column_map: ColumnMap) -> int:
    """Return the kind of a map in packed form."""
    if column_map.low != column_map.low:
        return EMPTY
    if column_map.low == column_map.high:
        return CONSTANT
    return CUBIC if isinstance(column_map, CubicMap) else LINEAR


def build_linear_map(knots: Float64Array, levels: Float64Array, error: float) -> LinearMap:
    """Build straight lines through ascending knots, with the bucket guide that finds the interval of a value."""
    low, high = float(knots[0]), float(knots[-1])
    if not high > low:
        # A constant has no slope; outside, one unit of x is one unit of the result, as in MinMaxScaler.
        return LinearMap(low, high, 1.0, 1.0, error, 0.0, knots, levels, np.zeros(1, dtype=np.int32))
    n_buckets = len(knots) - 1
    shift = -frexp(high - low)[1]
    unit, scale = unit_and_scale(n_buckets / ldexp(high - low, shift), shift)
    edges = np.arange(n_buckets) / scale
    guide = np.clip(np.searchsorted((knots - low) * unit, edges, side="right") - 1, 0, n_buckets - 1)
    with np.errstate(over="ignore"):
        slopes = bounded_slopes(np.diff(levels)[[0, -1]] / np.diff(knots)[[0, -1]], high - low)
    low_slope, high_slope = slopes.tolist()
    return LinearMap(low, high, low_slope, high_slope, error, scale, knots, levels, guide.astype(np.int32), unit=unit)


def unit_and_scale(intervals: float, shift: int) -> tuple[float, float]:
    """Return `unit` and `scale` for so many intervals on a length of 2**-shift."""
    unit_exponent = -SMALL_RANGE_EXPONENT if -shift < SMALL_RANGE_EXPONENT else 0
    return 2.0**unit_exponent, ldexp(intervals, shift - unit_exponent)


def bounded_slopes(slopes: Float64Array, value_range: float) -> Float64Array:
    """Limit slopes to positive and finite numbers."""
    with np.errstate(over="ignore"):
        least = min(float(np.float64(MIN_SLOPE) / value_range), MAX_SLOPE)
    return np.clip(slopes, least, MAX_SLOPE)


def forward(
    maps: Sequence[ColumnMap], table: FloatArray, out: FloatArray, out_of_range: OutOfRange, n_threads: int = 1
) -> int:
    """Write T of every column to `out`; return the leftmost column that holds an infinite value, or -1."""
    return int(core.forward(PackedMaps.pack(maps).in_core, table, out, OUT_OF_RANGE[out_of_range], n_threads))


def inverse(
    maps: Sequence[ColumnMap], table: FloatArray, out: FloatArray, out_of_range: OutOfRange, n_threads: int = 1
) -> int:
    """Write to `out` the values at which T takes the given levels; return what `forward` returns."""
    return int(core.inverse(PackedMaps.pack(maps).in_core, table, out, OUT_OF_RANGE[out_of_range], n_threads))


def forward_stored(
    maps: PackedMaps,
    columns: Indices,
    values: FloatArray,
    out: FloatArray,
    out_of_range: OutOfRange,
    n_threads: int = 1,
) -> int:
    """Write T of each stored value of a sparse matrix to `out`; return what `forward` returns."""
    return int(core.forward_stored(maps.in_core, columns, values, out, OUT_OF_RANGE[out_of_range], n_threads))


def inverse_stored(
    maps: PackedMaps,
    columns: Indices,
    values: FloatArray,
    out: FloatArray,
    out_of_range: OutOfRange,
    n_threads: int = 1,
) -> int:
    """Write to `out` the values at which T takes the stored levels; return what `forward` returns."""
    return int(core.inverse_stored(maps.in_core, columns, values, out, OUT_OF_RANGE[out_of_range], n_threads))


def map_column(column_map: ColumnMap, column: FloatArray) -> Float64Array:
    """Compute T of a column's values, in float64 whatever their dtype; values beyond the ends are clipped."""
    result = np.empty((len(column), 1))
    forward([column_map], np.asarray(column, dtype=float)[:, None], result, "clip")
    return result[:, 0]
