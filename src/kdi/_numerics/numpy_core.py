"""NumPy twins of the functions of the compiled core, for machines where it is missing.

Same names, same arguments, same results up to rounding; cpp/module.cpp is the index of the other side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from kdi._numerics.direct_sum import cell_sum
from kdi._numerics.kernels import Kernel
from kdi._utils.typing import Float64Array, FloatArray, Int64Array
from kdi._utils.validation import valid_values

BLOCK = 2**16
SUMMED = 2**14  # products of cells and knots below which it does not pay to look at fewer cells
POSITION_ROUNDING = 1.5 * 2.0**20  # rounds positions to 2**-32 of an interval: see lookup.hpp for why


def scan(table: FloatArray, weights: Float64Array | None, n_threads: int) -> Float64Array:
    """Per column: minimum, maximum, count, weight, rough standard deviation, missing, infinite."""
    result = np.zeros((7, table.shape[1]))
    for j in range(table.shape[1]):
        values, mass, n_missing = valid_values(table[:, j], weights)
        infinite = np.isinf(table[:, j]).sum()
        if not len(values):
            result[:, j] = np.inf, -np.inf, 0, 0, 0, n_missing, infinite
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            offsets = values - values[0]
            weight = len(values) if mass is None else mass.sum()
            mean = (offsets if mass is None else offsets * mass).sum() / weight
            square = (offsets**2 if mass is None else offsets**2 * mass).sum() / weight
            spread = np.sqrt(max(square - mean**2, 0.0))
        result[:, j] = values.min(), values.max(), len(values), weight, spread, n_missing, infinite
    return result


def fill(
    table: FloatArray,
    weights: Float64Array | None,
    scale: Float64Array,
    first: Sequence[int],
    n_cells: Sequence[int],
    n_threads: int,
) -> list[tuple[Int64Array, Float64Array]]:
    """Occupied cells of each column, and the moments 0 to 3 of their values about the centre, in units of the width."""
    result = []
    for j in range(table.shape[1]):
        moments = np.zeros((n_cells[j], 4))
        for start in range(0, len(table) if n_cells[j] else 0, BLOCK):
            part = slice(start, start + BLOCK)
            values, mass, _ = valid_values(table[part, j], None if weights is None else weights[part])
            _add_to_cells(*_placed(values, values * scale[j]), mass, first[j], moments)
        occupied = np.flatnonzero(moments[:, 0])
        result.append((occupied + first[j], moments[occupied]))
    return result


def _placed(values: Float64Array, positions: Float64Array) -> tuple[Int64Array, Float64Array]:
    """Cells of values, and offsets from their centres; a negative value next to nothing does not change its side."""
    cells = np.floor(positions) - ((positions == 0) & (values < 0))
    return cells.astype(np.int64), positions - cells - 0.5


def _add_to_cells(
    cells: Int64Array, z: Float64Array, mass: Float64Array | None, first: int, moments: Float64Array
) -> None:
    place = cells - first
    for k in range(4):
        moments[:, k] += np.bincount(place, z**k if mass is None else mass * z**k, len(moments))


def accumulate(
    column: FloatArray, weights: Float64Array | None, scale: float, first: int, moments: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]:
    """Add a column to cells that stay: what it is (minimum, maximum, count, missing, infinite, and how many cells were
    empty before), and its values that lie outside, with their weights."""
    told, values, mass = _finite(column, weights)
    positions = values * scale
    near = (positions >= first) & (positions < first + len(moments))
    cells, z = _placed(values, np.where(near, positions, 0.0))
    inside = near & (cells >= first)
    before = np.count_nonzero(moments[:, 0])
    _add_to_cells(cells[inside], z[inside], None if mass is None else mass[inside], first, moments)
    told[-1] = float(np.count_nonzero(moments[:, 0]) - before)
    return told, values[~inside], np.empty(0) if mass is None else mass[~inside]


def tally(
    column: FloatArray, weights: Float64Array | None, places: Float64Array, masses: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]:
    """Add a column to the weights of known distinct values, ascending; returns what `accumulate` does."""
    told, values, mass = _finite(column, weights)
    found = np.searchsorted(places, values)
    known = np.append(places, np.nan)[found] == values
    masses += np.bincount(found[known], None if mass is None else mass[known], len(places))
    return told, values[~known], np.empty(0) if mass is None else mass[~known]


def _finite(column: FloatArray, weights: Float64Array | None) -> tuple[list[float], Float64Array, Float64Array | None]:
    """Extremes and counts of a column, and its finite values with their weights."""
    values, mass, n_missing = valid_values(column, weights)
    n_infinite = np.isinf(column).sum()
    if n_infinite:
        finite = np.isfinite(values)
        values, mass = values[finite], None if mass is None else mass[finite]
    extremes = [values.min(), values.max()] if len(values) else [np.inf, -np.inf]
    return [float(one) for one in (*extremes, len(values), n_missing, n_infinite, 0)], values, mass


def cut(values: Float64Array, weights: Float64Array, exponent: int) -> tuple[Int64Array, Float64Array]:
    """The cells of 2**exponent that ascending values lie in, and their moments."""
    cells, z = _placed(values, np.ldexp(values, -exponent))
    return _runs(cells, weights[:, None] * np.stack([np.ones_like(z), z, z * z, z * z * z], axis=1))


def doublings(places: Any, exponent: int, most: int) -> int:
    """How often cells of 2**exponent must double until at most so many are occupied by ascending values or cells."""
    cells = places if places.dtype.kind == "i" else _placed(places, np.ldexp(places, -exponent))[0]
    return bisect_left(range(63), True, key=lambda times: bool(np.count_nonzero(np.diff(cells >> times)) < most))


def widen(cells: Int64Array, moments: Float64Array, levels: int) -> tuple[Int64Array, Float64Array]:
    """Cells that are 2**levels times as wide: moments shift by the binomial formula."""
    wider, ratio = cells >> levels, 2.0**-levels
    shift = (cells + 0.5) * ratio - wider - 0.5  # exact, and for any number of levels
    m0, m1, m2, m3 = moments.T * (ratio ** np.arange(4))[:, None]
    second = m2 + shift * (2 * m1 + shift * m0)
    third = m3 + shift * (3 * m2 + shift * (3 * m1 + shift * m0))
    return _runs(wider, np.stack([m0, m1 + shift * m0, second, third], axis=1))


def merge(
    places: Any, moments: Float64Array, other_places: Any, other_moments: Float64Array
) -> tuple[Any, Float64Array]:
    """Ascending places of both, moments of equal ones added up."""
    both = np.concatenate([places, other_places])
    order = np.argsort(both, kind="stable")
    return _runs(both[order], np.concatenate([moments, other_moments])[order])


def _runs(places: Any, moments: Float64Array) -> tuple[Any, Float64Array]:
    """Equal neighbours added up."""
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    return places[first], np.add.reduceat(moments, first, axis=0)


def integrate(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Sum of the kernel cdf over sorted cells, and of its density, at sorted knots."""
    value, density = _curves(positions, moments, width, order, bandwidth, knots, 1)
    return value, density


def slopes(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Sum of the kernel density over sorted cells, and its slope, at sorted knots."""
    _, density, slope = _curves(positions, moments, width, order, bandwidth, knots, 2)
    return density, slope


def _curves(
    positions: Float64Array,
    moments: Float64Array,
    width: float,
    order: int,
    bandwidth: float,
    knots: Float64Array,
    last: int,
) -> list[Float64Array]:
    """Kernel cdf and derivatives; far from a knot a cell counts whole or not at all, so that few are seen."""
    kernel = Kernel(order)
    reach = (50 + 4 * order if order else 9) * bandwidth  # the tail there is below 1e-18
    before = np.concatenate([[0.0], np.cumsum(moments[:, 0])])
    curves = [np.empty(len(knots)) for _ in range(last + 1)]
    step = max(1, len(knots) // 64, SUMMED // max(1, len(positions)))
    for start in range(0, len(knots), step):
        part = slice(start, start + step)
        first, end = np.searchsorted(positions, [knots[part][0] - reach, knots[part][-1] + reach])
        near = slice(first, end)
        sums = cell_sum(positions[near], moments[near], width, kernel, bandwidth, knots[part], last)
        for curve, total in zip(curves, sums, strict=True):
            curve[part] = total
        curves[0][part] += before[first]
    return curves


def levels(
    table: Float64Array,
    weights: Float64Array | None,
    out: Float64Array,
    alphas: Float64Array,
    order: int,
    scale: float,
    flat: float,
    rounding: float,
    n_threads: int,
) -> Float64Array:
    """Write T of every column's own values to `out`; a bound on the error of each column's.

    Infinite values have ranks (alpha 0), but no other integral: such a column is NaN.
    """
    errors = np.zeros(table.shape[1])
    for j, alpha in enumerate(alphas.tolist()):
        known = ~np.isnan(table[:, j])
        out[:, j] = np.nan
        if not known.any() or (alpha > 0 and np.isinf(table[known, j]).any()):
            continue
        values, places = np.unique(table[known, j], return_inverse=True)
        mass = np.bincount(places, None if weights is None else weights[known]).astype(float)
        level, errors[j] = _levels(values, mass, alpha, order, scale, flat, rounding)
        out[known, j] = level[places]
    return errors


def _levels(
    values: Float64Array, mass: Float64Array, alpha: float, order: int, scale: float, flat: float, rounding: float
) -> tuple[Float64Array, float]:
    """T at sorted distinct values of the given weights, and a bound on its error."""
    if len(values) == 1:
        return np.zeros(1), 0.0
    error, total, ranks = 0.0, float(mass.sum()), np.cumsum(mass) - 0.5 * mass
    if alpha > 0:
        half = 1.0 if values[-1] / 2 - values[0] / 2 < 2.0**1022 else 0.5  # a range that overflows
        positions = (values * half - values[0] * half) / (values[-1] * half - values[0] * half)
        if alpha == np.inf:
            return positions, 0.0
        mean = float(positions @ mass) / total
        bandwidth = alpha * scale * float(np.sqrt((positions - mean) ** 2 @ mass / total))
        if bandwidth * flat > 1:
            return positions, 1 / bandwidth**2
        if bandwidth >= 1e-290:
            ranks, _ = integrate(positions, mass[:, None], 0.0, order, bandwidth, positions)
            error = 2 * rounding * total / float(ranks[-1] - ranks[0])
    level = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    return np.clip(np.maximum.accumulate(level), 0.0, 1.0), error


def cubics(values: Float64Array, slopes: Float64Array, given: float) -> tuple[Float64Array, float]:
    """One monotone cubic an interval, and the largest error of any; cubics.hpp says why the slopes are limited."""
    rise = np.diff(values)
    left = np.clip(slopes[:-1], 0.25 * rise, 2 * rise)
    right = np.clip(slopes[1:], 0.25 * rise, 2 * rise)
    coefficients = np.zeros((len(values), 4))
    coefficients[:-1] = np.stack([values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=1)
    coefficients[-1, 0] = values[-1]
    moved = 4 / 27 * (abs(left - slopes[:-1]) + abs(right - slopes[1:]))
    return coefficients, float(np.minimum(rise, given + moved).max(initial=0.0))


def forward(tables: list[Any], table: FloatArray, out: FloatArray, out_of_range: int, n_threads: int) -> int:
    """Map every column through its table; the first column that holds an infinite value, or -1."""
    return _map_columns(_forward, tables, table, out, out_of_range)


def inverse(tables: list[Any], table: FloatArray, out: FloatArray, out_of_range: int, n_threads: int) -> int:
    """Map every column back; the first column that holds an infinite value, or -1."""
    return _map_columns(_inverse, tables, table, out, out_of_range)


def _map_columns(function: Any, tables: list[Any], table: FloatArray, out: FloatArray, out_of_range: int) -> int:
    first_infinite = -1
    for j, one in enumerate(tables):
        for start in range(0, len(table), BLOCK):
            values = table[start : start + BLOCK, j].astype(float)
            if first_infinite < 0 and np.isinf(values).any():
                first_infinite = j
            with np.errstate(all="ignore"):
                out[start : start + BLOCK, j] = function(one, values, out_of_range)
    return first_infinite


def _forward(table: Any, x: Float64Array, out_of_range: int) -> Float64Array:
    if hasattr(table, "coefficients"):
        n = len(table.coefficients) - 1
        position = np.clip(np.nan_to_num((x - table.low) * table.scale, nan=0.0), 0, n)
        position = (position + POSITION_ROUNDING) - POSITION_ROUNDING
        i = position.astype(np.int64)
        t = position - i
        c = table.coefficients[i].T
        y = np.minimum(c[0] + t * (c[1] + t * (c[2] + t * c[3])), 1.0)
    else:
        knots, levels = table.knots, table.levels
        i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        y = levels[i] + (x - knots[i]) / (knots[i + 1] - knots[i]) * (levels[i + 1] - levels[i])
        y = np.minimum(y, levels[i + 1])
    end = 0.0 if table.low == table.high else 1.0
    if out_of_range == 0:
        below, above = np.zeros_like(x), np.ones_like(x)
    elif out_of_range == 1:
        below, above = (x - table.low) * table.low_slope, end + (x - table.high) * table.high_slope
    else:
        below = above = np.full_like(x, np.nan)
    result = np.select([x < table.low, x > table.high, x == table.high, x >= table.low], [below, above, end, y], np.nan)
    return np.asarray(result)


def _inverse(table: Any, y: Float64Array, out_of_range: int) -> Float64Array:
    inner = np.clip(np.nan_to_num(y, nan=0.0), 0, 1)
    if table.low == table.high:
        x = table.low + (inner if out_of_range == 1 else 0 * inner)
    elif hasattr(table, "coefficients"):
        x = _inverse_cubic(table, inner)
    else:
        knots, levels = table.knots, table.levels
        i = np.clip(np.searchsorted(levels, inner, side="right") - 1, 0, len(knots) - 2)
        x = knots[i] + (inner - levels[i]) * ((knots[i + 1] - knots[i]) / (levels[i + 1] - levels[i]))
        x = np.minimum(x, knots[i + 1])
    x = np.where(y == 0, table.low, x)
    if out_of_range == 1:
        x = np.where(y < 0, table.low + y / table.low_slope, x)
        start = 0 if table.low == table.high else 1
        x = np.where(y > 1, table.high + (y - start) / table.high_slope, x)
    else:
        x = np.where(y >= 1, table.high, np.where(y <= 0, table.low, x))
    if out_of_range == 2:
        x = np.where((y < 0) | (y > 1), np.nan, x)
    return np.where(np.isnan(y), np.nan, x)


def _inverse_cubic(table: Any, y: Float64Array) -> Float64Array:
    """Newton's method inside a bracket, on the interval between whose levels y lies."""
    levels = table.coefficients[:, 0]
    i = np.clip(np.searchsorted(levels, y, side="right") - 1, 0, len(levels) - 2)
    _, c1, c2, c3 = table.coefficients[i].T
    wanted = y - levels[i]
    t = wanted / (levels[i + 1] - levels[i])
    below, above = np.zeros_like(t), np.ones_like(t)
    for _ in range(50):
        miss = t * (c1 + t * (c2 + t * c3)) - wanted
        above, below = np.where(miss > 0, t, above), np.where(miss > 0, below, t)
        following = t - miss / (c1 + t * (2 * c2 + 3 * t * c3))
        following = np.where((following > below) & (following < above), following, 0.5 * (below + above))
        settled = abs(following - t) < 1e-15
        t = np.where(settled, t, following)
        if settled.all():
            break
    x = np.minimum(table.low + (i + t) / table.scale, table.high)
    return np.asarray(np.where(y >= 1, table.high, x))
