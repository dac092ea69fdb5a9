"""Lookup maps: a column's map to [0, 1] and its inverse, in constant time per value.

For a bandwidth h that is neither 0 nor infinite, knots are regular in x and each interval is a cubic through exact
values and densities; its error is at most (Δ/h)^4 / 384 max|G''''| / P, and the knots are as close as it takes to meet
the tolerance. For a constant column, at h = inf (min-max), at h = 0 (the quantile transform) and where h is too small
for the number of knots, straight lines join the ends or the values themselves.

The maps of a table are a few flat arrays, `PackedMaps`; `CubicMap` and `LinearMap` are views of one column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from math import frexp, inf, ldexp
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._utils.typing import Float64Array, FloatArray, Indices, Int64Array, OutOfRange

KNOT_TOLERANCE = 5e-7  # what the knots may contribute to the error of T: with the cells, the whole stays below 1e-6
MAX_INTERVALS = 2**18  # 32 bytes each; knots parallel to the cells may be up to twice as many
MIN_SLOPE = 1e-12  # of a line beyond the ends, in units of 1/range: a slope of 0 would have no inverse
MAX_SLOPE = 1e303  # of such a line, so that it stays finite however small the range
SMALL_RANGE_EXPONENT = -600  # a range below 2 to this power, halved, is multiplied by `unit` before it is divided
OUT_OF_RANGE: dict[OutOfRange, int] = {"clip": 0, "linear": 1, "nan": 2}
CUBIC, LINEAR, CONSTANT, EMPTY = range(4)  # kinds of packed maps
Target = Literal["bounded", "cdf", "score"]
TARGETS: dict[Target, int] = {"bounded": 0, "cdf": 1, "score": 2}


@dataclass(frozen=True)
class MapOptions:
    """What is mapped, and how exactly.

    Attributes
    ----------
    max_knots : int, optional
    tolerance : float
        What the knots may contribute to the error of T.
    target : {"bounded", "cdf", "score"}
        T, which is 0 and 1 at the extremes; the kernel cdf, which is so in the limits; or the normal score of that.
    robust : bool
        Whether bandwidths are in units of the robust spread, not of the standard deviation.
    floor, ceiling : float
        What T, or the kernel cdf, is stretched to.
    """

    max_knots: int | None = None
    tolerance: float = KNOT_TOLERANCE
    target: Target = "bounded"
    robust: bool = False
    floor: float = 0.0
    ceiling: float = 1.0

    def with_kernel(self, kernel: Kernel) -> tuple[Any, ...]:
        """Return the options as the numeric core takes them."""
        most = inf if self.max_knots is None else float(self.max_knots)
        own = most, self.tolerance, TARGETS[self.target], self.robust, self.floor, self.ceiling
        return kernel.order, kernel.scale, kernel.peak, kernel.max_fourth_derivative, *own


DEFAULT_OPTIONS = MapOptions()


@dataclass(frozen=True, eq=False)
class MapEnds:
    """The ends of a map, its slopes there in levels per unit of x, and the bound on its error.

    `unit` is a power of two, larger than 1 where the range is very small. The levels at the ends are those of the
    limits, `floor` and `ceiling`, or the map goes on beyond the ends: towards its limits, which may be infinite.
    """

    low: float
    high: float
    low_slope: float
    high_slope: float
    error: float
    unit: float = field(default=1.0, kw_only=True)
    low_level: float = field(default=0.0, kw_only=True)
    high_level: float = field(default=1.0, kw_only=True)
    floor: float = field(default=0.0, kw_only=True)
    ceiling: float = field(default=1.0, kw_only=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, which may be older than some of the fields."""
        self.__dict__.update({one.name: one.default for one in fields(self) if one.default is not MISSING} | state)


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
LEVELS = ("low_level", "high_level", "floor", "ceiling")
PER_FEATURE = ("low", "high", "unit", "scale", "low_slope", "high_slope", *LEVELS, "error")  # numbers of packed maps


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
    low_level, high_level : ndarray of shape (n_columns,)
        The levels at `low` and `high`.
    floor, ceiling : ndarray of shape (n_columns,)
        The limits of the levels: those at the ends, or those that are approached beyond.
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
    low_level: Float64Array
    high_level: Float64Array
    floor: Float64Array
    ceiling: Float64Array
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
        numbers = {name: np.array([getattr(one, name) for one in maps], dtype=float) for name in PER_FEATURE}
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; in older ones, all maps have levels from 0 to 1."""
        levels = {name: np.full(len(state["kind"]), float(name in ("high_level", "ceiling"))) for name in LEVELS}
        self.__dict__.update(levels | state)

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
        first, n_knots = int(self.start[j]), int(self.n_knots[j])
        numbers: dict[str, Any] = {name: float(getattr(self, name)[j]) for name in PER_FEATURE}
        rows = slice(first, first + n_knots)
        if self.kind[j] == CUBIC:
            return CubicMap(**numbers, coefficients=self.coefficients[rows])
        if self.kind[j] == LINEAR:
            guide = self.guide[rows][: n_knots - 1]
            return LinearMap(**numbers, knots=self.knots[rows], levels=self.levels[rows], guide=guide)
        ends = np.array([numbers["low"], numbers["high"]])
        one = build_linear_map(ends, np.array([0.0, float(self.kind[j] == CONSTANT)]), 0.0)
        return replace(one, **{name: numbers[name] for name in LEVELS})

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
    maps: Sequence[ColumnMap],
    table: FloatArray,
    out: FloatArray,
    out_of_range: OutOfRange,
    n_threads: int = 1,
    *,
    to_scores: bool = False,
) -> int:
    """Write T of every column to `out`; return the leftmost column that holds an infinite value, or -1.

    With `to_scores`, levels from 0 to 1 are turned into normal scores.
    """
    in_core, policy = PackedMaps.pack(maps).in_core, OUT_OF_RANGE[out_of_range]
    return int(core.forward(in_core, table, out, policy, n_threads, to_scores))


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
    *,
    to_scores: bool = False,
) -> int:
    """Write T of each stored value of a sparse matrix to `out`, or its score; return what `forward` returns."""
    policy = OUT_OF_RANGE[out_of_range]
    return int(core.forward_stored(maps.in_core, columns, values, out, policy, n_threads, to_scores))


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
