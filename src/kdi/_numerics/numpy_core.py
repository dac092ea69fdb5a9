"""NumPy twins of the functions of the compiled core, for machines where it is missing.

Same names, same arguments, same results up to rounding; cpp/module.cpp is the index of the compiled functions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from kdi._numerics.direct_sum import cell_sum
from kdi._numerics.kernels import Kernel
from kdi._numerics.numpy_lookup import PackedMaps, forward, forward_stored, inverse, inverse_stored
from kdi._utils.typing import Float64Array, FloatArray, Int64Array
from kdi._utils.validation import valid_values

__all__ = [
    "PackedMaps",
    "accumulate",
    "assign",
    "cubics",
    "cut",
    "doublings",
    "fill",
    "forward",
    "forward_stored",
    "integrate",
    "inverse",
    "inverse_stored",
    "levels",
    "merge",
    "scan",
    "slopes",
    "tally",
    "turning_points",
    "weights_between",
    "widen",
]

NUMPY_BLOCK_ROWS = 2**16  # rows of a column that are worked on at once, to bound the temporary arrays
DIRECT_TERMS = 2**14  # products of cells and knots below which selecting the near cells does not pay
VANISHING_BANDWIDTH = 1e-290  # in units of the range: distances in units of a smaller bandwidth would overflow
KERNEL_REACH = 1000.0  # bandwidths beyond which no kernel has any weight
BEYOND_EVERY_GRID = 4e18  # a position in cells that an integer can still represent
KNOTS_PER_BANDWIDTH = 32  # turning points closer than that differ in density by less than a millionth
MAX_DENSITY_KNOTS = 2**18
REACH = 39  # bandwidths beyond which a Gaussian underflows to 0
NEGLIGIBLE = 1e-8  # of the highest density: slopes where there is less are rounding errors


def scan(array: FloatArray, weights: Float64Array | None, n_threads: int) -> Float64Array:
    """Return per column: minimum, maximum, count, weight, rough standard deviation, missing, infinite."""
    result = np.zeros((7, array.shape[1]))
    for j in range(array.shape[1]):
        values, mass, n_missing = valid_values(array[:, j], weights)
        n_infinite = np.isinf(array[:, j]).sum()
        if not len(values):
            result[:, j] = np.inf, -np.inf, 0, 0, 0, n_missing, n_infinite
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            offsets = values - values[0]
            weight = len(values) if mass is None else mass.sum()
            mean = (offsets if mass is None else offsets * mass).sum() / weight
            square = (offsets**2 if mass is None else offsets**2 * mass).sum() / weight
            spread = np.sqrt(max(square - mean**2, 0.0))
        result[:, j] = values.min(), values.max(), len(values), weight, spread, n_missing, n_infinite
    return result


def fill(
    array: FloatArray,
    weights: Float64Array | None,
    scale: Float64Array,
    first: Sequence[int],
    n_cells: Sequence[int],
    n_threads: int,
) -> list[tuple[Int64Array, Float64Array, int]]:
    """Return the occupied cells of each column, their moments, and how many values lie in the grid and were added.

    The moments 0 to 3 are about the centre of a cell, in units of its width.
    """
    result = []
    for j in range(array.shape[1]):
        moments, n_filled = np.zeros((n_cells[j], 4)), 0
        for start in range(0, len(array) if n_cells[j] else 0, NUMPY_BLOCK_ROWS):
            block = slice(start, start + NUMPY_BLOCK_ROWS)
            values, mass, _ = valid_values(array[block, j], None if weights is None else weights[block])
            cells, z = _cells_and_offsets(values, np.clip(values * scale[j], -BEYOND_EVERY_GRID, BEYOND_EVERY_GRID))
            inside = (cells >= first[j]) & (cells < first[j] + n_cells[j])
            _add_to_cells(cells[inside], z[inside], None if mass is None else mass[inside], first[j], moments)
            n_filled += int(np.count_nonzero(inside))
        occupied = np.flatnonzero(moments[:, 0])
        result.append((occupied + first[j], moments[occupied], n_filled))
    return result


def _cells_and_offsets(values: Float64Array, positions: Float64Array) -> tuple[Int64Array, Float64Array]:
    """Return the cells of values and their offsets from the centres; a negative value that underflows stays below 0."""
    cells = np.floor(positions) - ((positions == 0) & (values < 0))
    return cells.astype(np.int64), positions - cells - 0.5


def _add_to_cells(
    cells: Int64Array, z: Float64Array, mass: Float64Array | None, first: int, moments: Float64Array
) -> None:
    index = cells - first
    for k in range(4):
        moments[:, k] += np.bincount(index, z**k if mass is None else mass * z**k, len(moments))


def accumulate(
    column: FloatArray, weights: Float64Array | None, scale: float, first: int, moments: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]:
    """Add a column in place to `moments`, one row per cell from `first` on.

    Return the list (minimum, maximum, count, missing, infinite, newly occupied cells), and the values outside these
    cells with their weights.
    """
    summary, values, mass = _finite_values(column, weights)
    with np.errstate(over="ignore"):
        positions = values * scale
    near = (positions >= first) & (positions < first + len(moments))
    cells, z = _cells_and_offsets(values, np.where(near, positions, 0.0))
    inside = near & (cells >= first)
    n_occupied = np.count_nonzero(moments[:, 0])
    _add_to_cells(cells[inside], z[inside], None if mass is None else mass[inside], first, moments)
    summary[-1] = float(np.count_nonzero(moments[:, 0]) - n_occupied)
    return summary, values[~inside], np.empty(0) if mass is None else mass[~inside]


def tally(
    column: FloatArray, weights: Float64Array | None, known_values: Float64Array, masses: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]:
    """Add a column in place to `masses`, the weights of known ascending values; return what `accumulate` returns."""
    summary, values, mass = _finite_values(column, weights)
    index = np.searchsorted(known_values, values)
    known = np.append(known_values, np.nan)[index] == values
    masses += np.bincount(index[known], None if mass is None else mass[known], len(known_values))
    return summary, values[~known], np.empty(0) if mass is None else mass[~known]


def _finite_values(
    column: FloatArray, weights: Float64Array | None
) -> tuple[list[float], Float64Array, Float64Array | None]:
    """Return the summary that `accumulate` returns, with 0 new cells, and the finite values with their weights."""
    values, mass, n_missing = valid_values(column, weights)
    n_infinite = np.isinf(column).sum()
    if n_infinite:
        finite = np.isfinite(values)
        values, mass = values[finite], None if mass is None else mass[finite]
    extremes = [values.min(), values.max()] if len(values) else [np.inf, -np.inf]
    return [float(number) for number in (*extremes, len(values), n_missing, n_infinite, 0)], values, mass


def cut(values: Float64Array, weights: Float64Array, exponent: int) -> tuple[Int64Array, Float64Array]:
    """Cut ascending values into cells of width 2**exponent; return the cells and their moments."""
    cells, z = _cells_and_offsets(values, np.ldexp(values, -exponent))
    return _add_equal(cells, weights[:, None] * np.stack([np.ones_like(z), z, z * z, z * z * z], axis=1))


def doublings(keys: Any, exponent: int, most: int) -> int:
    """Count how often cells must double until at most `most` are occupied.

    Keys are ascending: cells, or values to be cut into cells of width 2**exponent.
    """
    cells = keys if keys.dtype.kind == "i" else _cells_and_offsets(keys, np.ldexp(keys, -exponent))[0]
    return bisect_left(range(63), True, key=lambda times: bool(np.count_nonzero(np.diff(cells >> times)) < most))


def widen(cells: Int64Array, moments: Float64Array, n_doublings: int) -> tuple[Int64Array, Float64Array]:
    """Merge cells into cells 2**n_doublings times as wide: moments shift by the binomial formula."""
    wider, ratio = cells >> n_doublings, 2.0**-n_doublings
    shift = (cells + 0.5) * ratio - wider - 0.5  # exact, and for any number of doublings
    m0, m1, m2, m3 = moments.T * (ratio ** np.arange(4))[:, None]
    second = m2 + shift * (2 * m1 + shift * m0)
    third = m3 + shift * (3 * m2 + shift * (3 * m1 + shift * m0))
    return _add_equal(wider, np.stack([m0, m1 + shift * m0, second, third], axis=1))


def merge(keys: Any, moments: Float64Array, other_keys: Any, other_moments: Float64Array) -> tuple[Any, Float64Array]:
    """Merge two ascending sequences of values or cells; the moments of equal keys are added."""
    both = np.concatenate([keys, other_keys])
    order = np.argsort(both, kind="stable")
    return _add_equal(both[order], np.concatenate([moments, other_moments])[order])


def _add_equal(keys: Any, moments: Float64Array) -> tuple[Any, Float64Array]:
    """Return the distinct keys, and the sums of the moments of equal ones."""
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(moments, first, axis=0)


def integrate(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the sum of the kernel cdf over sorted cells, and that of its density, at sorted knots."""
    value, density = _curves(positions, moments, width, order, bandwidth, knots, 1)
    return value, density


def slopes(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the sum of the kernel density over sorted cells, and that of its slope, at sorted knots."""
    _, density, slope = _curves(positions, moments, width, order, bandwidth, knots, 2)
    return density, slope


def _curves(
    positions: Float64Array,
    moments: Float64Array,
    width: float,
    order: int,
    bandwidth: float,
    knots: Float64Array,
    n_derivatives: int,
) -> list[Float64Array]:
    """Sum the kernel cdf and its derivatives over the near cells; of far ones all of the weight counts, or none."""
    kernel = Kernel(order)
    reach = (50 + 4 * order if order else 9) * bandwidth  # the tail there is below 1e-18
    before = np.concatenate([[0.0], np.cumsum(moments[:, 0])])
    curves = [np.empty(len(knots)) for _ in range(n_derivatives + 1)]
    step = max(1, len(knots) // 64, DIRECT_TERMS // max(1, len(positions)))
    for start in range(0, len(knots), step):
        block = slice(start, start + step)
        first, end = np.searchsorted(positions, [knots[block][0] - reach, knots[block][-1] + reach])
        near = slice(first, end)
        near_cells = positions[near], moments[near]
        sums = cell_sum(*near_cells, width, kernel, bandwidth, knots[block], n_derivatives=n_derivatives)
        for curve, total in zip(curves, sums, strict=True):
            curve[block] = total
        curves[0][block] += before[first]
    return curves


def levels(
    array: Float64Array,
    weights: Float64Array | None,
    out: Float64Array,
    alphas: Float64Array,
    order: int,
    kernel_scale: float,
    flat: float,
    cdf_error: float,
    n_threads: int,
) -> Float64Array:
    """Write T of each column's own values to `out`; return a bound on the error per column.

    Infinite values have ranks (alpha 0) but no other integral: such a column is NaN.
    """
    errors = np.zeros(array.shape[1])
    for j, alpha in enumerate(alphas.tolist()):
        known = ~np.isnan(array[:, j])
        out[:, j] = np.nan
        if not known.any() or (alpha > 0 and np.isinf(array[known, j]).any()):
            continue
        values, inverse_index = np.unique(array[known, j], return_inverse=True)
        mass = np.bincount(inverse_index, None if weights is None else weights[known]).astype(float)
        level, errors[j] = _levels_of_values(values, mass, alpha, order, kernel_scale, flat, cdf_error)
        out[known, j] = level[inverse_index]
    return errors


def _levels_of_values(
    values: Float64Array,
    mass: Float64Array,
    alpha: float,
    order: int,
    kernel_scale: float,
    flat: float,
    cdf_error: float,
) -> tuple[Float64Array, float]:
    """Return T at ascending distinct values with the given weights, and a bound on its error."""
    if len(values) == 1:
        return np.zeros(1), 0.0
    error, total, ranks = 0.0, float(mass.sum()), np.cumsum(mass) - 0.5 * mass
    if alpha > 0:
        half = 1.0 if values[-1] / 2 - values[0] / 2 < 2.0**1022 else 0.5  # a range that overflows
        positions = (values * half - values[0] * half) / (values[-1] * half - values[0] * half)
        if alpha == np.inf:
            return positions, 0.0
        mean = float(positions @ mass) / total
        bandwidth = alpha * kernel_scale * float(np.sqrt((positions - mean) ** 2 @ mass / total))
        if bandwidth * flat > 1:
            return positions, 1 / bandwidth**2
        if bandwidth < VANISHING_BANDWIDTH:  # ranks, unless values are close enough to touch
            error = float(np.any(np.diff(positions) < KERNEL_REACH * VANISHING_BANDWIDTH))
        else:
            ranks, _ = integrate(positions, mass[:, None], 0.0, order, bandwidth, positions)
            position_error = 2e-16 / bandwidth  # positions are rounded relative to the range
            error = 2 * (cdf_error + position_error) * total / float(ranks[-1] - ranks[0])
    level = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    return np.clip(np.maximum.accumulate(level), 0.0, 1.0), error


def cubics(values: Float64Array, slopes: Float64Array, shape_error: float) -> tuple[Float64Array, float]:
    """Return one monotone cubic per interval, and the largest error of any; cubics.hpp says why slopes are limited."""
    rise = np.diff(values)
    left = np.clip(slopes[:-1], 0.25 * rise, 2 * rise)
    right = np.clip(slopes[1:], 0.25 * rise, 2 * rise)
    coefficients = np.zeros((len(values), 4))
    coefficients[:-1] = np.stack([values[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=1)
    coefficients[-1, 0] = values[-1]
    moved = 4 / 27 * (abs(left - slopes[:-1]) + abs(right - slopes[1:]))
    return coefficients, float(np.minimum(rise, shape_error + moved).max(initial=0.0))


def turning_points(
    positions: Sequence[Float64Array],
    moments: Sequence[Float64Array],
    widths: Float64Array,
    bandwidths: Float64Array,
    lengths: Float64Array,
    n_threads: int,
) -> list[tuple[Float64Array, Float64Array]]:
    """Return where each Gaussian density over cells turns, and the density there: peaks and valleys alternate.

    `lengths` are the ranges from which the cells were made, beginning at 0.
    """
    columns = zip(positions, moments, widths.tolist(), bandwidths.tolist(), lengths.tolist(), strict=True)
    return [_turning_points(*column) for column in columns]


def _turning_points(
    positions: Float64Array, moments: Float64Array, width: float, bandwidth: float, length: float
) -> tuple[Float64Array, Float64Array]:
    knots = _density_knots(positions, length, bandwidth)
    # In units of the bandwidth, in which nothing underflows.
    density, slope = slopes(positions / bandwidth, moments, width / bandwidth, 0, 1.0, knots / bandwidth)
    direction = np.where(density > NEGLIGIBLE * density.max(), np.sign(slope), 0.0)
    direction[0], direction[-1] = 1.0, -1.0  # the density rises from 0 and falls to 0
    known = np.flatnonzero(direction)
    turns = np.flatnonzero(np.diff(direction[known]))
    left, right = knots[known[turns]], knots[known[turns + 1]]
    brackets = zip(left.tolist(), right.tolist(), direction[known[turns]].tolist(), strict=True)
    tolerance = 1e-13 * min(bandwidth, length)
    found = [_turning_point(positions, moments, width, bandwidth, tolerance, *bracket) for bracket in brackets]
    at, densities = np.array(found).T
    return at, densities


def _density_knots(positions: Float64Array, length: float, bandwidth: float) -> Float64Array:
    """Return where to evaluate the density: everywhere, or near the values where the kernel is too narrow for that."""
    if length <= bandwidth:  # concave: one peak
        return np.array([0.0, length])
    n_knots = ceil(length / bandwidth * KNOTS_PER_BANDWIDTH) + 2
    if n_knots <= MAX_DENSITY_KNOTS:
        return np.linspace(0, length, n_knots)
    near = bandwidth * np.linspace(-8, 8, 129)
    return np.unique(np.clip(positions[:, None] + near, 0, length))


def _turning_point(
    positions: Float64Array,
    moments: Float64Array,
    width: float,
    bandwidth: float,
    tolerance: float,
    left: float,
    right: float,
    left_sign: float,
) -> tuple[float, float]:
    """Return where the density turns between two positions, and the density there, by safeguarded Newton's method.

    `left_sign` is the sign of the slope at the left end. Cells so far away that their kernel underflows are skipped.
    """
    first, last = np.searchsorted(positions, [left - REACH * bandwidth, right + REACH * bandwidth])
    positions, moments = positions[first:last], moments[first:last]
    at = 0.5 * (left + right)
    for _ in range(100):
        distances = (at - positions) / bandwidth
        sums = cell_sum(-distances, moments, width / bandwidth, Kernel(0), 1.0, np.zeros(1), n_derivatives=3)
        _, density, slope, curvature = (float(one[0]) for one in sums)
        step = bandwidth * (slope / curvature) if slope and curvature else 0.0
        # As far as the rounding of the sums and of the position itself allow.
        if abs(step) <= max(tolerance, 2 * np.spacing(at)) or right - left <= 2 * np.spacing(at):
            break
        if slope * left_sign > 0:
            left = at
        else:
            right = at
        at = at - step if left <= at - step <= right else 0.5 * (left + right)
    return at, density / bandwidth


def assign(array: FloatArray, cuts: Sequence[Float64Array], out: Int64Array, n_threads: int) -> None:
    """Write the number of ascending cuts at or below each value to `out`, -1 for NaN."""
    _check_cuts(array, cuts)
    if array.shape != out.shape:
        raise ValueError("array and out must have the same shape")
    for j, own in enumerate(cuts):
        labels = np.searchsorted(own, array[:, j].astype(float), side="right")
        out[:, j] = np.where(np.isnan(array[:, j]), -1, labels)


def weights_between(
    array: FloatArray, weights: Float64Array | None, cuts: Sequence[Float64Array], n_threads: int
) -> list[Float64Array]:
    """Sum the weights of each column's values below its first cut, between two cuts, and from the last cut on."""
    _check_cuts(array, cuts)
    if weights is not None and len(weights) != len(array):
        raise ValueError("weights must have one entry per row")
    labels = np.empty(array.shape, dtype=np.int64)
    assign(array, cuts, labels, n_threads)
    known, result = labels >= 0, []
    for j, own in enumerate(cuts):
        mass = None if weights is None else weights[known[:, j]]
        result.append(np.bincount(labels[known[:, j], j], mass, len(own) + 1).astype(float))
    return result


def _check_cuts(array: FloatArray, cuts: Sequence[Float64Array]) -> None:
    if len(cuts) != array.shape[1]:
        raise ValueError("cuts must have one entry per column")
    if not all((np.diff(own) >= 0).all() for own in cuts):
        raise ValueError("cuts must ascend")
