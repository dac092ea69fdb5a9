"""Levels: T of a table's own values, from which correlations are computed.

Short columns are sorted, and the integral is computed at the values themselves; long ones take a sketch and a map, as
in KDITransformer. A bootstrap has thousands of short columns, a correlation matrix some long ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdi._integral.build import fit_table
from kdi._integral.integral import rounding_error
from kdi._integral.maps import MapOptions, forward
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import LINEAR_RANGE
from kdi._sketch.columns import ColumnStats, cell_exponents, cell_widths, scan_columns
from kdi._sketch.packed import are_exact
from kdi._utils.typing import Float64Array

MAX_SORTED_ROWS = 2**10  # rows up to which sorting a column is faster than a sketch and a map
# Rows up to which columns often have fewer values than cells: a scan finds those that are better sorted.
MAX_SCANNED_ROWS = 2**13
# What the knots may contribute to the error: a correlation divides it by the deviation of T, which outliers make small.
LEVEL_TOLERANCE = 5e-9
LEVEL_OPTIONS = MapOptions(tolerance=LEVEL_TOLERANCE)


def column_levels(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int = 1
) -> tuple[Float64Array, Float64Array]:
    """Compute T of every value within its own column, and a bound on the error per column.

    Weights must be positive. NaN is left out and stays NaN. A column with infinite values is NaN, unless its alpha is
    0: such values have ranks only. The result lies column by column in memory.
    """
    n_rows = len(table)
    sorted_ones = alphas == 0
    if n_rows <= MAX_SORTED_ROWS:
        sorted_ones[:] = True
    elif n_rows <= MAX_SCANNED_ROWS and not sorted_ones.all():
        stats = scan_columns(table, weights, n_threads)
        widths = np.where(sorted_ones, 0.0, cell_widths(kernel, alphas, stats))
        sorted_ones = np.array([exponent is None for exponent in cell_exponents(stats, widths)])
    if sorted_ones.all():
        return _by_sorting(table, weights, alphas, kernel, n_threads)
    if not sorted_ones.any():
        levels, errors, sorted_ones = _by_map(table, weights, alphas, kernel, n_threads)
    else:
        levels, errors = np.empty(table.shape[::-1]).T, np.empty(len(alphas))
        mapped = np.flatnonzero(~sorted_ones)
        levels[:, mapped], errors[mapped], sorted_ones[mapped] = _by_map(
            table[:, mapped], weights, alphas[mapped], kernel, n_threads
        )
    if sorted_ones.any():
        levels[:, sorted_ones], errors[sorted_ones] = _by_sorting(
            table[:, sorted_ones], weights, alphas[sorted_ones], kernel, n_threads
        )
    return levels, errors


def _by_sorting(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    levels = np.empty(table.shape[::-1]).T
    rounding = rounding_error(kernel, len(table))  # the core adds what the range contributes
    n_threads = max(1, min(n_threads, table.shape[1]))
    errors = core.levels(table, weights, levels, alphas, kernel.order, kernel.scale, LINEAR_RANGE, rounding, n_threads)
    return levels, errors


class _WithoutIntegral(Exception):
    """Raised for columns that hold infinite values or whose range is too large; `columns` flags them."""

    def __init__(self, columns: NDArray[np.bool_]) -> None:
        self.columns = columns


def _check_ranges(stats: ColumnStats) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        wide = (stats.counts > 0) & ~np.isfinite(stats.maximum - stats.minimum)
    if wide.any():
        raise _WithoutIntegral(wide)


def _by_map(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int
) -> tuple[Float64Array, Float64Array, NDArray[np.bool_]]:
    """Return levels, their errors, and the columns that are still to be sorted."""
    try:
        sketches, features = fit_table(
            table, weights, alphas, kernel, n_threads, check=_check_ranges, options=LEVEL_OPTIONS
        )
    except _WithoutIntegral as error:
        levels, errors, others = np.empty(table.shape[::-1]).T, np.empty(len(alphas)), error.columns.copy()
        mapped = np.flatnonzero(~others)
        if len(mapped):
            levels[:, mapped], errors[mapped], others[mapped] = _by_map(
                table[:, mapped], weights, alphas[mapped], kernel, n_threads
            )
        return levels, errors, others
    levels = np.empty(table.shape[::-1]).T
    forward(features.maps, table, levels, "clip", n_threads)
    # Where the sketch keeps the values, the integral at the values themselves is more exact.
    return levels, features.maps.error, are_exact(sketches)
