"""Sketches of training folds: each row is sketched once, and what folds have in common is added up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from kdi._numerics.kernels import Kernel
from kdi._sketch.columns import ColumnStats, cell_widths, scan_columns, sketch_columns
from kdi._sketch.sketch import Sketch
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

MOST_FOLDS = 62  # bits of a whole number that tells in which folds a row is


def row_groups(folds: Sequence[Int64Array], n_rows: int) -> tuple[list[Int64Array], list[list[int]]]:
    """Rows that no fold divides, and for each fold the groups that it is made of.

    Of k folds that leave out one part each there are k groups. Where folds have so little in common that there would be
    many more groups than folds, or a fold has a row more than once, every fold is a group of its own.
    """
    alone = list(folds), [[k] for k in range(len(folds))]
    if len(folds) > MOST_FOLDS:
        return alone
    codes = np.zeros(n_rows, dtype=np.int64)
    for k, fold in enumerate(folds):
        codes[fold] |= 1 << k
        if np.count_nonzero(codes >> k & 1) < len(fold):  # a row that is there twice counts twice
            return alone
    found, group_of = np.unique(codes, return_inverse=True)
    if len(found) > 2 * len(folds):
        return alone
    groups = [np.flatnonzero(group_of == place) for place in range(len(found))]
    return groups, [[place for place, code in enumerate(found.tolist()) if code >> k & 1] for k in range(len(folds))]


def sketch_folds(
    table: FloatArray,
    weights: Float64Array | None,
    folds: Sequence[Int64Array],
    kernel: Kernel,
    alpha: float,
    n_jobs: int | None,
) -> tuple[list[list[Sketch]], ColumnStats]:
    """Sketches of every column in every fold, fine enough for `alpha`; and what was seen of the columns."""
    groups, made_of = row_groups(folds, len(table))
    parts = []
    for rows in groups:
        whole = len(rows) == len(table)
        part, mass = (table, weights) if whole else (table[rows], None if weights is None else weights[rows])
        parts.append((part, mass, scan_columns(part, mass, count_threads(n_jobs, part.size))))
    seen = _together([scan for _, _, scan in parts])
    widths = cell_widths(kernel, np.full(table.shape[1], alpha), seen)
    sketches = [
        sketch_columns(part, mass, scan, widths, count_threads(n_jobs, part.size)) for part, mass, scan in parts
    ]
    sums = [
        [reduce(Sketch.merged, column) for column in zip(*(sketches[g] for g in made), strict=True)] for made in made_of
    ]
    return sums, seen


def _together(scans: Sequence[ColumnStats]) -> ColumnStats:
    """The extremes of all parts, and the least spread: no sum of them has less than that."""
    std = np.minimum.reduce([np.where(scan.counts > 0, scan.std, np.inf) for scan in scans])

    def total(name: str) -> Float64Array:
        return np.asarray(np.sum([getattr(scan, name) for scan in scans], axis=0))

    return ColumnStats(
        np.fmin.reduce([scan.minimum for scan in scans]),
        np.fmax.reduce([scan.maximum for scan in scans]),
        total("counts"),
        total("weight"),
        np.where(np.isfinite(std), std, 0.0),
        total("missing"),
        total("infinite"),
    )
