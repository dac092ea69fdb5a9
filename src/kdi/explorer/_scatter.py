"""Density scatters: the number of sampled rows, or their weight, per bin of a pair of columns.

Bins have equal width in T at alpha = 1, so that neither outliers nor dense regions hide the relation of the columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from kdi._integral.build import build_features
from kdi._integral.maps import inverse
from kdi._sketch.partitions import Chunk, PartitionedTable
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, Int64Array
from kdi.explorer._columns import SampledPartitions
from kdi.explorer._features import KERNEL

BINS = 40  # per column
MAX_ROWS = 200_000  # of the sample
MAX_PAIRS = 1225  # all pairs of 50 columns

Pair = tuple[int, int]


def disagreements(matrices: list[Float64Array]) -> Float64Array:
    """Return the largest difference between the correlations of each pair over all alphas; -1 if there are none."""
    stacked = np.array(matrices)
    return np.asarray(np.nan_to_num(stacked.max(axis=0) - stacked.min(axis=0), nan=-1.0))


def scatter_pairs(matrices: list[Float64Array]) -> list[Pair]:
    """Choose the pairs to draw: all, or those whose correlations disagree most."""
    first, second = np.triu_indices(len(matrices[0]), 1)
    if len(first) > MAX_PAIRS:
        order = np.argsort(-disagreements(matrices)[first, second], kind="stable")
        chosen = np.sort(order[:MAX_PAIRS])
        first, second = first[chosen], second[chosen]
    return list(zip(first.tolist(), second.tolist(), strict=True))


def scatter_edges(sketches: list[Sketch]) -> list[Float64Array]:
    """Return for each column the values at which T at alpha = 1 is 0, 1/BINS, …, 1."""
    spreads = np.array([sketch.std for sketch in sketches])
    maps = build_features(sketches, spreads, KERNEL, are_bandwidths=True)[0].maps
    edges = np.repeat(np.linspace(0, 1, BINS + 1)[:, None], len(sketches), axis=1)
    inverse(maps, edges, edges, "clip")
    edges[0], edges[-1] = maps.low, maps.high
    return list(np.maximum.accumulate(np.clip(edges, maps.low, maps.high)).T.copy())


def scatter_counts(
    table: PartitionedTable, n_rows: int, edges: list[Float64Array], pairs: list[Pair]
) -> tuple[int, Float64Array]:
    """Return the number of sampled rows, and their counts per bin for each pair (i, j): j by row, i by column."""
    sample = SampledPartitions(table, -(-n_rows // MAX_ROWS))
    return sample.reduce(partial(_count_chunks, edges=edges, pairs=pairs), _add_counts)


def _add_counts(one: tuple[int, Float64Array], other: tuple[int, Float64Array]) -> tuple[int, Float64Array]:
    return one[0] + other[0], one[1] + other[1]


def _count_chunks(chunks: Iterable[Chunk], edges: list[Float64Array], pairs: list[Pair]) -> tuple[int, Float64Array]:
    counts = np.zeros((len(pairs), BINS * BINS))
    n_rows = 0
    for columns, weights in chunks:
        if weights is not None:
            columns, weights = [column[weights > 0] for column in columns], weights[weights > 0]
        n_rows += len(columns[0])
        bins = [_bin_numbers(column, column_edges) for column, column_edges in zip(columns, edges, strict=True)]
        has_missing = [bool((column_bins < 0).any()) for column_bins in bins]
        for count, (i, j) in zip(counts, pairs, strict=True):
            x, y, mass = bins[i], bins[j], weights
            if has_missing[i] or has_missing[j]:
                complete = (x >= 0) & (y >= 0)
                x, y, mass = x[complete], y[complete], None if mass is None else mass[complete]
            count += np.bincount(y * BINS + x, mass, minlength=BINS * BINS)
    return n_rows, counts


def _bin_numbers(column: FloatArray, edges: Float64Array) -> Int64Array:
    """Return the bin of each value, -1 for missing values."""
    bins = np.clip(np.searchsorted(edges, column.astype(float), side="right") - 1, 0, BINS - 1)
    bins[np.isnan(column)] = -1
    return bins
