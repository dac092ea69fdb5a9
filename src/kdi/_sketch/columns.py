"""Sketches of all columns of an array in two passes: one for the extremes and the spread, one for the cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import FILLED_EXPONENTS, LEAST_WEIGHT, cell_of, cell_width_for, keeps_values, width_exponent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray


class ColumnStats(NamedTuple):
    """Statistics of each column from a first pass over a table, before its values are cut into cells."""

    minimum: Float64Array
    maximum: Float64Array
    counts: Float64Array
    weight: Float64Array
    std: Float64Array  # to a few digits
    missing: Float64Array
    infinite: Float64Array

    @property
    def infinite_columns(self) -> list[int]:
        """Positions of the columns that hold infinite values."""
        found = (self.infinite > 0) | (self.maximum == np.inf) | (self.minimum == -np.inf)
        return [int(j) for j in np.flatnonzero(found)]


def scan_columns(table: FloatArray, weights: Float64Array | None, n_threads: int = 1) -> ColumnStats:
    """Make the first pass: extremes, counts and spread of each column."""
    stats = ColumnStats(*core.scan(table, weights, n_threads))
    # Where squares overflow the spread is unknown; with a spread of 0 the values themselves are kept.
    return stats._replace(std=np.where(np.isfinite(stats.std), stats.std, 0.0))


def cell_exponents(stats: ColumnStats, widths: Float64Array) -> list[int | None]:
    """Return the exponents of cells within the given widths; None where the values themselves are kept.

    They are kept where a column has no more values than it would have cells, where the width is 0, and where moments of
    tiny weights would lose digits.
    """
    exponents = []
    columns = zip(stats.minimum, stats.maximum, stats.counts, stats.weight, widths, strict=True)
    for low, high, count, weight, width in columns:
        has_cells = count and weight >= LEAST_WEIGHT
        exponent = width_exponent(float(width), float(low), float(high)) if has_cells else None
        if exponent is not None and keeps_values(exponent, float(high - low), int(count)):
            exponent = None
        exponents.append(exponent if exponent in FILLED_EXPONENTS else None)
    return exponents


def sketch_columns(
    table: FloatArray, weights: Float64Array | None, stats: ColumnStats, widths: Float64Array, n_threads: int = 1
) -> list[Sketch]:
    """Make the second pass: sketch the columns in cells of at most the given widths, or by their values."""
    n_columns = table.shape[1]
    sketches = [Sketch(missing=int(n)) for n in stats.missing]
    exponents = cell_exponents(stats, widths)
    n_cells, first, scale = [0] * n_columns, [0] * n_columns, np.ones(n_columns)
    for j in np.flatnonzero(stats.counts):
        exponent = exponents[j]
        if exponent is None:
            sketches[j] = Sketch.exact(table[:, j], weights)
            continue
        scale[j] = 2.0**-exponent
        first[j] = cell_of(float(stats.minimum[j]), exponent)
        n_cells[j] = cell_of(float(stats.maximum[j]), exponent) - first[j] + 1
    if any(n_cells):
        filled = core.fill(table, weights, scale, first, n_cells, n_threads)
        for j in np.flatnonzero(n_cells):
            cells, moments, count = filled[j]
            extremes, missing = (float(stats.minimum[j]), float(stats.maximum[j])), int(stats.missing[j])
            sketches[j] = Sketch(*extremes, count, missing, exponents[j], cells, moments)
    return sketches


def cell_widths(kernel: Kernel, alphas: Float64Array, stats: ColumnStats) -> Float64Array:
    """Return the width of cells for each column, slightly reduced since the first pass rounds the spread."""
    with np.errstate(invalid="ignore", over="ignore"):
        ranges, bandwidths = stats.maximum - stats.minimum, alphas * stats.std
    pairs = zip((bandwidths * (1 - 1e-6)).tolist(), ranges.tolist(), strict=True)
    return np.array([cell_width_for(kernel, bandwidth, value_range) for bandwidth, value_range in pairs])


def with_robust_spread(
    stats: ColumnStats, table: FloatArray, weights: Float64Array | None
) -> tuple[ColumnStats, Float64Array]:
    """Return statistics with the robust spread as deviation, and the widths of cells that it follows from."""
    spreads = [Sketch.exact(column, weights).robust_spread for column in table.T]
    return stats._replace(std=np.array([one.value for one in spreads])), np.array([one.cell_width for one in spreads])


def sketch_array(
    table: FloatArray,
    weights: Float64Array | None,
    kernel: Kernel,
    resolve: Callable[[Float64Array], Float64Array],
    n_threads: int = 1,
    *,
    finer: float = 1.0,
    check: Callable[[ColumnStats], None] | None = None,
    stats: ColumnStats | None = None,
    whole: ColumnStats | None = None,
    widest: Float64Array | None = None,
) -> list[Sketch]:
    """Sketch the columns of an array in cells that are fine enough for their bandwidths.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,), optional
    kernel : Kernel
    resolve : callable
        Returns the bandwidth factors of the columns, given their sums of weights.
    n_threads : int
    finer : float
        Factor by which cells are narrower than the integral asks for.
    check : callable, optional
        Called with the statistics of the first pass; raises where the columns cannot be sketched.
    stats : ColumnStats, optional
        Statistics of an earlier first pass over the same array.
    whole : ColumnStats, optional
        Statistics that the cell widths follow from, where the array is a part of a larger table.
    widest : ndarray of shape (n_columns,), optional
        Widths that the cells are not to exceed.
    """
    stats = scan_columns(table, weights, n_threads) if stats is None else stats
    if check is not None:
        check(stats)
    whole = stats if whole is None else whole
    widths = cell_widths(kernel, resolve(whole.weight), whole) / finer
    if widest is not None:
        widths = np.minimum(widths, widest)
    sketches = sketch_columns(table, weights, stats, widths, n_threads)
    if any(sketch.count != count for sketch, count in zip(sketches, stats.counts.tolist(), strict=True)):
        raise RuntimeError("the data changed while it was read")
    return sketches
