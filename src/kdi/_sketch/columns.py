"""Sketches of all columns of a table, in two readings of it: one for the extremes and the spread, one for the cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import cell_of, cell_width_for, keeps_values, width_exponent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray


class ColumnStats(NamedTuple):
    """What one reading of a table tells of each column, before its cells are cut."""

    minimum: Float64Array
    maximum: Float64Array
    counts: Float64Array
    weight: Float64Array
    std: Float64Array  # the standard deviation, to a few digits
    missing: Float64Array
    infinite: Float64Array

    @property
    def infinite_columns(self) -> list[int]:
        """The columns that hold infinite values."""
        found = (self.infinite > 0) | (self.maximum == np.inf) | (self.minimum == -np.inf)
        return [int(j) for j in np.flatnonzero(found)]


def scan_columns(table: FloatArray, weights: Float64Array | None, n_threads: int = 1) -> ColumnStats:
    """First reading of a table: extremes, counts and spread of each column."""
    scan = ColumnStats(*core.scan(table, weights, n_threads))
    # Squares that overflow tell nothing of the spread; without one, the values themselves are kept.
    return scan._replace(std=np.where(np.isfinite(scan.std), scan.std, 0.0))


def cell_exponents(scan: ColumnStats, widths: Float64Array) -> list[int | None]:
    """Exponents of cells within the given widths; None where the values themselves are kept.

    That is where a column has no more values than it would have cells, or its width is 0.
    """
    exponents = []
    for low, high, count, width in zip(scan.minimum, scan.maximum, scan.counts, widths, strict=True):
        exponent = width_exponent(float(width), float(low), float(high)) if count else None
        short = exponent is not None and keeps_values(exponent, float(high - low), int(count))
        exponents.append(None if short else exponent)
    return exponents


def sketch_columns(
    table: FloatArray, weights: Float64Array | None, scan: ColumnStats, widths: Float64Array, n_threads: int = 1
) -> list[Sketch]:
    """Second reading: sketches of the columns, in cells of at most the given widths, or of the values themselves."""
    n_columns = table.shape[1]
    sketches = [Sketch(missing=int(n)) for n in scan.missing]
    exponents = cell_exponents(scan, widths)
    n_cells, first, scale = [0] * n_columns, [0] * n_columns, np.ones(n_columns)
    for j in np.flatnonzero(scan.counts):
        exponent = exponents[j]
        if exponent is None:
            sketches[j] = Sketch.exact(table[:, j], weights)
            continue
        scale[j] = 2.0**-exponent
        first[j] = cell_of(float(scan.minimum[j]), exponent)
        n_cells[j] = cell_of(float(scan.maximum[j]), exponent) - first[j] + 1
    if any(n_cells):
        filled = core.fill(table, weights, scale, first, n_cells, n_threads)
        for j in np.flatnonzero(n_cells):
            sketches[j] = Sketch(
                float(scan.minimum[j]),
                float(scan.maximum[j]),
                int(scan.counts[j]),
                int(scan.missing[j]),
                exponents[j],
                *filled[j],
            )
    return sketches


def cell_widths(kernel: Kernel, alphas: Float64Array, scan: ColumnStats) -> Float64Array:
    """The widths for every column of a scanned table; a hair less, as the scan's spread has lost some digits."""
    with np.errstate(invalid="ignore", over="ignore"):
        ranges, bandwidths = scan.maximum - scan.minimum, alphas * scan.std
    pairs = zip((bandwidths * (1 - 1e-6)).tolist(), ranges.tolist(), strict=True)
    return np.array([cell_width_for(kernel, bandwidth, value_range) for bandwidth, value_range in pairs])


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
) -> list[Sketch]:
    """Sketch the columns of an array in cells that are fine enough for their bandwidths.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,), optional
    kernel : Kernel
    resolve : callable
        Maps the columns' sums of weights to their bandwidth factors.
    n_threads : int
    finer : float
        Factor by which cells are narrower than the integral asks for.
    check : callable, optional
        Called with what the first reading found; raises where the columns cannot be sketched.
    stats : ColumnStats, optional
        What an earlier first reading of the same array found.
    """
    stats = scan_columns(table, weights, n_threads) if stats is None else stats
    if check is not None:
        check(stats)
    widths = cell_widths(kernel, resolve(stats.weight), stats) / finer
    return sketch_columns(table, weights, stats, widths, n_threads)
