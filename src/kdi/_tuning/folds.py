"""Sketches of training folds: rows that folds share are sketched once, and the sketches are added."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from kdi._numerics.kernels import Kernel
from kdi._sketch.columns import ColumnStats, scan_columns, sketch_array, with_robust_spread
from kdi._sketch.sketch import Sketch
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

MOST_FOLDS = 62  # one bit per fold in the integer that encodes the folds of a row


def row_groups(folds: Sequence[Int64Array], n_rows: int) -> tuple[list[Int64Array], list[list[int]]]:
    """Split the rows into groups that no fold divides; return them, and the indices of the groups of each fold.

    k folds that each leave out another part have k groups. If folds share so little that there would be many more
    groups than folds, or if a fold has a row more than once, every fold is a group of its own.
    """
    separate = list(folds), [[k] for k in range(len(folds))]
    if len(folds) > MOST_FOLDS:
        return separate
    codes = np.zeros(n_rows, dtype=np.int64)
    for k, fold in enumerate(folds):
        codes[fold] |= 1 << k
        if np.count_nonzero(codes >> k & 1) < len(fold):  # a repeated row counts as often as it is there
            return separate
    found, group_of = np.unique(codes, return_inverse=True)
    if len(found) > 2 * len(folds):
        return separate
    groups = [np.flatnonzero(group_of == place) for place in range(len(found))]
    return groups, [[place for place, code in enumerate(found.tolist()) if code >> k & 1] for k in range(len(folds))]


def sketch_folds(
    table: FloatArray,
    weights: Float64Array | None,
    folds: Sequence[Int64Array],
    kernel: Kernel,
    alpha: float,
    n_jobs: int | None,
    *,
    robust: bool = False,
) -> tuple[list[list[Sketch]], ColumnStats]:
    """Sketch every column of every fold, fine enough for `alpha`; return also the statistics of the columns.

    With `robust`, bandwidths are in units of the robust spread.
    """
    groups, made_of = row_groups(folds, len(table))
    scanned = []
    for rows in groups:
        whole = len(rows) == len(table)
        block, mass = (table, weights) if whole else (table[rows], None if weights is None else weights[rows])
        scanned.append((block, mass, scan_columns(block, mass, count_threads(n_jobs, block.size))))
    stats = _combined_stats([of_group for _, _, of_group in scanned])
    alphas = np.full(table.shape[1], alpha)
    all_rows, widest = stats, None
    if robust and not stats.infinite_columns:  # the spread of a fold may be smaller than that of all rows
        all_rows, widest = with_robust_spread(stats, table, weights)
        all_rows, widest = all_rows._replace(std=np.minimum(0.5 * all_rows.std, stats.std)), 0.5 * widest
    sketches = [
        sketch_array(
            block,
            mass,
            kernel,
            lambda _: alphas,
            count_threads(n_jobs, block.size),
            stats=of_group,
            whole=all_rows,
            widest=widest,
        )
        for block, mass, of_group in scanned
    ]
    sums = [
        [reduce(Sketch.merged, column) for column in zip(*(sketches[g] for g in made), strict=True)] for made in made_of
    ]
    return sums, stats


def _combined_stats(groups: Sequence[ColumnStats]) -> ColumnStats:
    """Combine the statistics of groups; the standard deviation is the smallest, since no union of them has less."""
    std = np.minimum.reduce([np.where(stats.counts > 0, stats.std, np.inf) for stats in groups])

    def total(name: str) -> Float64Array:
        return np.asarray(np.sum([getattr(stats, name) for stats in groups], axis=0))

    return ColumnStats(
        np.fmin.reduce([stats.minimum for stats in groups]),
        np.fmax.reduce([stats.maximum for stats in groups]),
        total("counts"),
        total("weight"),
        np.where(np.isfinite(std), std, 0.0),
        total("missing"),
        total("infinite"),
    )
