"""Levels: T of a table's own values, from which correlations are computed.

Short columns are sorted, and the integral is computed at the values themselves; long ones take a sketch and a map, as
in KDITransformer. A bootstrap has thousands of short columns, a correlation matrix some long ones.
"""

from __future__ import annotations

import numpy as np

from kdi._integral.build import build_features
from kdi._integral.integral import rounding_error
from kdi._integral.maps import forward
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import LINEAR_RANGE
from kdi._sketch.columns import ColumnStats, cell_exponents, cell_widths, scan_columns, sketch_array
from kdi._utils.typing import Float64Array

MAX_SORTED_ROWS = 2**10  # rows up to which sorting a column is faster than a sketch and a map
# What the knots may contribute to the error: a correlation divides it by the deviation of T, which outliers make small.
LEVEL_TOLERANCE = 5e-9


def column_levels(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int = 1
) -> tuple[Float64Array, Float64Array]:
    """Compute T of every value within its own column, and a bound on the error per column.

    Weights must be positive. NaN is left out and stays NaN. A column with infinite values is NaN, unless its alpha is
    0: such values have ranks only. The result lies column by column in memory.
    """
    n_rows, n_columns = table.shape
    if n_rows <= MAX_SORTED_ROWS or not alphas.any():
        return _by_sorting(table, weights, alphas, kernel, n_threads)
    stats = scan_columns(table, weights, n_threads)
    widths = np.where(alphas > 0, cell_widths(kernel, alphas, stats), 0.0)
    # Where the sketch would keep the values, the integral at the values themselves is both faster and more exact.
    exact = np.array([exponent is None for exponent in cell_exponents(stats, widths)])
    if exact.all():
        return _by_sorting(table, weights, alphas, kernel, n_threads)
    if not exact.any():
        return _by_map(table, weights, alphas, kernel, stats, n_threads)
    levels, errors = np.empty((n_columns, n_rows)).T, np.empty(n_columns)
    levels[:, exact], errors[exact] = _by_sorting(table[:, exact], weights, alphas[exact], kernel, n_threads)
    others = ColumnStats(*(field[~exact] for field in stats))
    levels[:, ~exact], errors[~exact] = _by_map(table[:, ~exact], weights, alphas[~exact], kernel, others, n_threads)
    return levels, errors


def _by_sorting(
    table: Float64Array, weights: Float64Array | None, alphas: Float64Array, kernel: Kernel, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    levels = np.empty(table.shape[::-1]).T
    rounding = rounding_error(kernel, len(table))  # the core adds what the range contributes
    n_threads = max(1, min(n_threads, table.shape[1]))
    errors = core.levels(table, weights, levels, alphas, kernel.order, kernel.scale, LINEAR_RANGE, rounding, n_threads)
    return levels, errors


def _by_map(
    table: Float64Array,
    weights: Float64Array | None,
    alphas: Float64Array,
    kernel: Kernel,
    stats: ColumnStats,
    n_threads: int,
) -> tuple[Float64Array, Float64Array]:
    sketches = sketch_array(table, weights, kernel, lambda _: alphas, n_threads, stats=stats)
    features, _ = build_features(sketches, alphas, kernel, tolerance=LEVEL_TOLERANCE, n_threads=n_threads)
    levels = np.empty(table.shape[::-1]).T
    forward(features.maps, table, levels, "clip", n_threads)
    return levels, features.maps.error
