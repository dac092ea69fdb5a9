"""NumPy twins of the maps of the compiled core (cpp/lookup.hpp).

`PackedMaps`, `forward` and `inverse`, and these two for the stored values of sparse matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kdi._utils.typing import Float64Array, FloatArray, Indices, Int64Array

BLOCK_ROWS = 2**16  # rows of a column that are mapped at once, to bound the temporary arrays
CUBIC, LINEAR, CONSTANT, EMPTY = range(4)  # the kinds of maps: see packed.hpp
# As in QuantileTransformer: normal scores beyond these of 1e-7 and 1 - 1e-7 are clipped.
CLIPPED_SCORE = float(ndtri(1e-7 - np.spacing(1)))
POSITION_ROUNDING = 1.5 * 2.0**20  # rounds positions to 2**-32 of an interval: see lookup.hpp for why


class PackedMaps:
    """The maps of all features as flat arrays; packed.hpp describes them."""

    def __init__(
        self,
        kind: NDArray[np.uint8],
        low: Float64Array,
        high: Float64Array,
        unit: Float64Array,
        scale: Float64Array,
        low_slope: Float64Array,
        high_slope: Float64Array,
        low_level: Float64Array,
        high_level: Float64Array,
        floor: Float64Array,
        ceiling: Float64Array,
        start: Int64Array,
        n_knots: Int64Array,
        coefficients: Float64Array,
        knots: Float64Array,
        levels: Float64Array,
        guide: NDArray[np.int32],
    ) -> None:
        ends = [low_slope, high_slope, low_level, high_level, floor, ceiling]
        numbers: list[Any] = [low, high, unit, scale, *ends]
        arrays: list[Any] = [kind, *numbers, start, n_knots, knots, levels, guide]
        dtypes = [np.uint8, *[np.float64] * 10, np.int64, np.int64, np.float64, np.float64, np.int32]
        if any(array.ndim != 1 or array.dtype != dtype for array, dtype in zip(arrays, dtypes, strict=True)):
            raise TypeError("packed maps: arrays must have one dimension and the dtypes of packed.hpp")
        _check_packed(len({len(array) for array in arrays[:13]}) == 1, "numbers per feature must have one length")
        _check_packed(coefficients.ndim == 2 and coefficients.shape[1] == 4, "coefficients must have four columns")
        _check_packed(len(knots) == len(levels) == len(guide), "knots, levels and guide must have one length")
        self.features = []
        for j in range(len(kind)):
            part = slice(int(start[j]), int(start[j]) + int(n_knots[j]))
            parameters = [array[j].item() for array in [kind, *numbers]]
            feature = _Feature._make([*parameters, coefficients[part], knots[part], levels[part]])
            _check_packed(feature.kind <= EMPTY, "kind must be 0 to 3")
            if feature.kind <= LINEAR:
                n, limit = int(n_knots[j]), 2**20 if feature.kind == CUBIC else 2**31
                n_points = len(coefficients if feature.kind == CUBIC else knots)
                _check_packed(2 <= n <= limit, "a feature must have 2 to 2**20 (cubic) or 2**31 (linear) knots")
                _check_packed(0 <= start[j] <= n_points - n, "knots of a feature must lie within the arrays")
            if feature.kind == LINEAR:
                buckets = guide[part][:-1]
                _check_packed(
                    bool(((buckets >= 0) & (buckets < n - 1)).all()), "guide must name intervals of the feature"
                )
            self.features.append(feature)


def _check_packed(holds: bool, requirement: str) -> None:
    if not holds:
        raise ValueError(f"packed maps: {requirement}")


class _Feature(NamedTuple):
    """The map of one feature, as views of the packed arrays."""

    kind: int
    low: float
    high: float
    unit: float
    scale: float
    low_slope: float
    high_slope: float
    low_level: float
    high_level: float
    floor: float
    ceiling: float
    coefficients: Float64Array
    knots: Float64Array
    levels: Float64Array

    @property
    def is_bounded(self) -> bool:
        return self.low_level == self.floor


def forward(
    maps: PackedMaps, array: FloatArray, out: FloatArray, out_of_range: int, n_threads: int, to_scores: bool = False
) -> int:
    """Map each column to `out`; return the leftmost column that holds an infinite value, or -1.

    With `to_scores`, levels from 0 to 1 are turned into normal scores.
    """
    return _map_columns(_forward_to_scores if to_scores else _forward, maps.features, array, out, out_of_range)


def inverse(maps: PackedMaps, array: FloatArray, out: FloatArray, out_of_range: int, n_threads: int) -> int:
    """Map each column back to `out`; return what `forward` returns."""
    return _map_columns(_inverse, maps.features, array, out, out_of_range)


def forward_stored(
    maps: PackedMaps,
    columns: Indices,
    values: FloatArray,
    out: FloatArray,
    out_of_range: int,
    n_threads: int,
    to_scores: bool = False,
) -> int:
    """Map each stored value of a sparse matrix by its column's map; return what `forward` returns."""
    return _map_stored(_forward_to_scores if to_scores else _forward, maps, columns, values, out, out_of_range)


def inverse_stored(
    maps: PackedMaps, columns: Indices, values: FloatArray, out: FloatArray, out_of_range: int, n_threads: int
) -> int:
    """Map each stored value of a sparse matrix back by its column's map; return what `forward` returns."""
    return _map_stored(_inverse, maps, columns, values, out, out_of_range)


def _map_stored(
    function: Any, maps: PackedMaps, columns: Indices, values: FloatArray, out: FloatArray, out_of_range: int
) -> int:
    if not columns.shape == values.shape == out.shape == (len(values),):
        raise ValueError("columns, values and out must have the same length")
    if len(columns) and not (columns.min() >= 0 and columns.max() < len(maps.features)):
        raise ValueError("columns must be features of the maps")
    order = np.argsort(columns, kind="stable")
    found, first = np.unique(columns[order], return_index=True)
    infinite_column = -1
    for j, places in zip(found.tolist(), np.split(order, first[1:]), strict=True):
        result = np.empty((len(places), 1), dtype=out.dtype)
        feature = [maps.features[j]]
        infinite = _map_columns(function, feature, values[places][:, None], result, out_of_range)
        infinite_column = j if infinite_column < 0 <= infinite else infinite_column
        out[places] = result[:, 0]
    return infinite_column


def _map_columns(function: Any, features: list[_Feature], array: FloatArray, out: FloatArray, out_of_range: int) -> int:
    if not array.shape == out.shape == (len(array), len(features)):
        raise ValueError("array, out and the maps must have the same shape")
    if out_of_range not in (0, 1, 2):
        raise ValueError("out_of_range must be 0, 1 or 2")
    infinite_column = -1
    for j, feature in enumerate(features):
        for start in range(0, len(array), BLOCK_ROWS):
            values = array[start : start + BLOCK_ROWS, j].astype(float)
            if infinite_column < 0 and np.isinf(values).any():
                infinite_column = j
            with np.errstate(all="ignore"):
                result = function(feature, values, out_of_range)
            if (
                out_of_range == 1 or not feature.is_bounded
            ):  # far beyond the ends of a steep or flat map, a line may leave the range of numbers
                largest = float(np.finfo(out.dtype).max)
                result = np.clip(result, -largest, largest)
            out[start : start + BLOCK_ROWS, j] = result
    return infinite_column


def _forward(feature: _Feature, x: Float64Array, out_of_range: int) -> Float64Array:
    low, high = feature.low, feature.high
    y = np.full_like(x, np.nan)
    if feature.kind == CUBIC:
        position = ((x - low) * feature.unit * feature.scale + POSITION_ROUNDING) - POSITION_ROUNDING
        position = np.clip(np.nan_to_num(position, nan=0.0), 0, len(feature.coefficients) - 1)
        i = position.astype(np.int64)
        t = position - i
        c = feature.coefficients[i].T
        y = np.minimum(c[0] + t * (c[1] + t * (c[2] + t * c[3])), feature.high_level)
    elif feature.kind == LINEAR:
        knots, levels = feature.knots, feature.levels
        i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        y = levels[i] + (x - knots[i]) / (knots[i + 1] - knots[i]) * (levels[i + 1] - levels[i])
        y = np.minimum(y, levels[i + 1])
    end = feature.low_level if low == high else feature.high_level
    if not feature.is_bounded:
        below = _level_beyond(feature.low_level, feature.low_slope, feature.floor, np.minimum(x - low, 0.0))
        above = _level_beyond(feature.high_level, feature.high_slope, feature.ceiling, np.maximum(x - high, 0.0))
    elif out_of_range == 0:
        below, above = np.full_like(x, feature.low_level), np.full_like(x, feature.high_level)
    elif out_of_range == 1:
        below, above = feature.low_level + (x - low) * feature.low_slope, end + (x - high) * feature.high_slope
    else:
        below = above = np.full_like(x, np.nan)
    return np.asarray(np.select([x < low, x > high, x == high, x >= low], [below, above, end, y], np.nan))


def _forward_to_scores(feature: _Feature, x: Float64Array, out_of_range: int) -> Float64Array:
    return normal_scores(_forward(feature, x, out_of_range))


def normal_scores(levels: Float64Array) -> Float64Array:
    """Turn levels into normal scores; beyond 0 and 1, continue from the clipped ends in a straight line."""
    inner = np.clip(levels, 0, 1)
    upper = inner > 0.5
    tail = np.where(upper, 1 - inner, inner)
    # ndtri decreases by a rounding here and there. With 40 bits, different tails have scores that differ by more.
    split = tail * (2.0**13 + 1)
    tail = split - (split - tail)
    scores = np.clip(ndtri(tail), CLIPPED_SCORE, 0)
    return np.asarray(levels - inner + np.where(upper, -scores, scores))


def _level_beyond(level: float, slope: float, limit: float, distance: Float64Array) -> Float64Array:
    """Return the level at a distance beyond an end of an open feature: near its limit, or on a straight line."""
    if np.isinf(limit):
        return np.asarray(level + distance * slope)
    gap = level - limit  # the exponent is negative on both sides
    result = limit + gap * np.exp(np.minimum(distance * slope / gap, 0.0))
    return np.asarray(np.minimum(result, level) if gap > 0 else np.maximum(result, level))


def _distance_beyond(level: float, slope: float, limit: float, y: Float64Array) -> Float64Array:
    """Return the distance from that end; levels at the limit, or beyond it, are taken for the number next to it."""
    if np.isinf(limit):
        return np.asarray((y - level) / slope)
    gap, least = level - limit, abs(np.nextafter(limit, level) - limit)
    left = np.maximum(y - limit, least) if gap > 0 else np.minimum(y - limit, -least)
    distance = np.log(left / gap) / slope * gap
    return np.asarray(np.minimum(distance, 0.0) if gap > 0 else np.maximum(distance, 0.0))


def _inverse(feature: _Feature, y: Float64Array, out_of_range: int) -> Float64Array:
    low, high, low_level, high_level = feature.low, feature.high, feature.low_level, feature.high_level
    inner = np.clip(np.nan_to_num(y, nan=low_level), low_level, high_level)
    if feature.kind >= CONSTANT:
        x = low + (inner - low_level if out_of_range == 1 else 0 * inner)
    elif feature.kind == CUBIC:
        x = _inverse_cubic(feature, inner)
    else:
        knots, levels = feature.knots, feature.levels
        i = np.clip(np.searchsorted(levels, inner, side="right") - 1, 0, len(knots) - 2)
        offset, rise, gap = inner - levels[i], levels[i + 1] - levels[i], knots[i + 1] - knots[i]
        slope = gap / rise
        x = knots[i] + np.where(np.isfinite(slope), offset * slope, offset / rise * gap)
        x = np.minimum(x, knots[i + 1])
    x = np.where(y == low_level, low, x)
    if not feature.is_bounded:
        below = low + _distance_beyond(low_level, feature.low_slope, feature.floor, np.minimum(y, low_level))
        above = high + _distance_beyond(high_level, feature.high_slope, feature.ceiling, np.maximum(y, high_level))
        x = np.select([y < low_level, (y >= high_level) & (y > low_level)], [below, above], x)
        outside = (y < feature.floor) | (y > feature.ceiling)
    elif out_of_range == 1:
        x = np.where(y < low_level, low + (y - low_level) / feature.low_slope, x)
        start = low_level if low == high else high_level
        x = np.where(y > high_level, high + (y - start) / feature.high_slope, x)
        outside = np.zeros_like(y, dtype=bool)
    else:
        x = np.where(y >= high_level, high, np.where(y <= low_level, low, x))
        outside = (y < low_level) | (y > high_level)
    if out_of_range == 2:
        x = np.where(outside, np.nan, x)
    return np.where(np.isnan(y), np.nan, x)


def _inverse_cubic(feature: _Feature, y: Float64Array) -> Float64Array:
    """Solve for x by Newton's method within a bracket, on the interval whose levels enclose y."""
    levels = feature.coefficients[:, 0]
    i = np.clip(np.searchsorted(levels, y, side="right") - 1, 0, len(levels) - 2)
    _, c1, c2, c3 = feature.coefficients[i].T
    target = y - levels[i]
    t = target / (levels[i + 1] - levels[i])
    below, above = np.zeros_like(t), np.ones_like(t)
    for _ in range(50):
        miss = t * (c1 + t * (c2 + t * c3)) - target
        above, below = np.where(miss > 0, t, above), np.where(miss > 0, below, t)
        following = t - miss / (c1 + t * (2 * c2 + 3 * t * c3))
        following = np.where((following > below) & (following < above), following, 0.5 * (below + above))
        settled = abs(following - t) < 1e-15
        t = np.where(settled, t, following)
        if settled.all():
            break
    x = np.minimum(feature.low + (i + t) / feature.scale / feature.unit, feature.high)
    return np.asarray(np.where(y >= feature.high_level, feature.high, x))
