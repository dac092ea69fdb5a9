"""Levels: T of a table's own values, which is what correlations are made of.

Short columns are sorted and the integral is taken at the values themselves; long ones go by sketch and table, as in
KDITransformer. A bootstrap has thousands of short columns, a correlation matrix some long ones.
"""

from __future__ import annotations

import numpy as np

from kdi._integral.integral import rounding_error
from kdi._integral.maps import build_map, forward
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import LINEAR_RANGE
from kdi._sketch.columns import ColumnStats, cell_exponents, cell_widths, scan_columns, sketch_array
from kdi._utils.typing import Float64Array

SHORT = 2**10  # rows up to which sorting a column is faster than its sketch and table
# What the knots may contribute to the error: a correlation divides it by the deviation of T, which outliers make small.
TOLERANCE = 5e-9


def column_levels(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int = 1
) -> tuple[Float64Array, Float64Array]:
    """T of every value within its own column, and a bound on the error of each column's.

    Weights must be positive. NaN is left out and stays NaN. A column with infinite values is NaN, unless its alpha is
    0: ranks are all that such values have. The result lies column by column in memory.
    """
    n_rows, n_columns = table.shape
    if n_rows <= SHORT or not alphas.any():
        return _by_sorting(table, weights, alphas, kernel, n_threads)
    scan = scan_columns(table, weights, n_threads)
    widths = np.where(alphas > 0, cell_widths(kernel, alphas, scan), 0.0)
    # Where the values would be kept anyway, the integral at the values themselves is both faster and more exact.
    kept = np.array([exponent is None for exponent in cell_exponents(scan, widths)])
    if kept.all():
        return _by_sorting(table, weights, alphas, kernel, n_threads)
    if not kept.any():
        return _by_map(table, weights, alphas, kernel, scan, n_threads)
    levels, errors = np.empty((n_columns, n_rows)).T, np.empty(n_columns)
    levels[:, kept], errors[kept] = _by_sorting(table[:, kept], weights, alphas[kept], kernel, n_threads)
    others = ColumnStats(*(field[~kept] for field in scan))
    levels[:, ~kept], errors[~kept] = _by_map(table[:, ~kept], weights, alphas[~kept], kernel, others, n_threads)
    return levels, errors


def _by_sorting(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    levels = np.empty(table.shape[::-1]).T
    rounding = rounding_error(kernel, len(table))
    n_threads = min(n_threads, table.shape[1])
    errors = core.levels(table, weights, levels, alphas, kernel.order, kernel.scale, LINEAR_RANGE, rounding, n_threads)
    return levels, errors


def _by_map(
    table: Float64Array,
    weights: Float64Array | None,
    alphas: Float64Array,
    kernel: Kernel,
    scan: ColumnStats,
    n_threads: int,
) -> tuple[Float64Array, Float64Array]:
    sketches = sketch_array(table, weights, kernel, lambda _: alphas, n_threads, stats=scan)
    tables = [
        build_map(sketch, kernel, alpha * sketch.std, tolerance=TOLERANCE)
        for sketch, alpha in zip(sketches, alphas.tolist(), strict=True)
    ]
    levels = np.empty(table.shape[::-1]).T
    forward(tables, table, levels, "clip", n_threads)
    return levels, np.array([one.error for one in tables])
