"""Scatter: how many rows of a sample, or what weight of them, lie in each bin of a pair of columns.

Bins are even in T at alpha = 1, so that neither outliers nor crowds hide what the pair is like.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from kdi._integral.maps import build_map, inverse
from kdi._sketch.partitions import Chunk, PartitionedTable
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, Int64Array
from kdi.explorer._features import KERNEL
from kdi.explorer._readings import SampledPartitions

BINS = 40
SAMPLED = 200_000  # rows
PAIRS = 1225  # those of 50 columns

Pair = tuple[int, int]


def disagreements(matrices: list[Float64Array]) -> Float64Array:
    """How far apart the correlations of each pair are over all alphas; -1 where there are none."""
    stacked = np.array(matrices)
    return np.asarray(np.nan_to_num(stacked.max(axis=0) - stacked.min(axis=0), nan=-1.0))


def scatter_pairs(matrices: list[Float64Array]) -> list[Pair]:
    """The pairs to draw: all, or those that the correlations disagree on most."""
    first, second = np.triu_indices(len(matrices[0]), 1)
    if len(first) > PAIRS:
        order = np.argsort(-disagreements(matrices)[first, second], kind="stable")
        places = np.sort(order[:PAIRS])
        first, second = first[places], second[places]
    return list(zip(first.tolist(), second.tolist(), strict=True))


def bin_edges(sketches: list[Sketch]) -> list[Float64Array]:
    """For each column the values at which T at alpha = 1 is 0, 1/BINS, …, 1."""
    levels = np.linspace(0, 1, BINS + 1)
    found = []
    for sketch in sketches:
        edges = np.empty((BINS + 1, 1))
        inverse([build_map(sketch, KERNEL, sketch.std)], levels[:, None], edges, "clip")
        edges[0], edges[-1] = sketch.minimum, sketch.maximum
        found.append(np.maximum.accumulate(np.clip(edges[:, 0], sketch.minimum, sketch.maximum)))
    return found


def scatter_counts(
    parts: PartitionedTable, n_rows: int, edges: list[Float64Array], pairs: list[Pair]
) -> tuple[int, Float64Array]:
    """Rows of a sample, and how many of them lie in each bin of each pair: row by j, column by i."""
    sample = SampledPartitions(parts, -(-n_rows // SAMPLED))
    return sample.reduce(partial(_scatter_part, edges=edges, pairs=pairs), _both)


def _both(one: tuple[int, Float64Array], other: tuple[int, Float64Array]) -> tuple[int, Float64Array]:
    return one[0] + other[0], one[1] + other[1]


def _scatter_part(chunks: Iterable[Chunk], edges: list[Float64Array], pairs: list[Pair]) -> tuple[int, Float64Array]:
    counts = np.zeros((len(pairs), BINS * BINS))
    n_rows = 0
    for columns, weights in chunks:
        if weights is not None:
            columns, weights = [column[weights > 0] for column in columns], weights[weights > 0]
        n_rows += len(columns[0])
        places = [_places(column, here) for column, here in zip(columns, edges, strict=True)]
        missing = [bool((place < 0).any()) for place in places]
        for count, (i, j) in zip(counts, pairs, strict=True):
            x, y, mass = places[i], places[j], weights
            if missing[i] or missing[j]:
                both = (x >= 0) & (y >= 0)
                x, y, mass = x[both], y[both], None if mass is None else mass[both]
            count += np.bincount(y * BINS + x, mass, minlength=BINS * BINS)
    return n_rows, counts


def _places(column: FloatArray, edges: Float64Array) -> Int64Array:
    """The bin of each value, -1 where there is none."""
    places = np.clip(np.searchsorted(edges, column.astype(float), side="right") - 1, 0, BINS - 1)
    places[np.isnan(column)] = -1
    return places
