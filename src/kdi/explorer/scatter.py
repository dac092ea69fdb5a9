"""Scatter: how many rows of a sample lie in each bin of a pair of columns.

Bins are even in T at alpha = 1, so that neither outliers nor crowds hide what the pair is like.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kdi._typing import Floats, Table
from kdi.explorer.features import KERNEL
from kdi.explorer.readings import SampledParts
from kdi.lookup import inverse, tabulate
from kdi.parts import Chunk, Parts
from kdi.sketch import Sketch

BINS = 40
SAMPLED = 200_000  # rows
PAIRS = 1225  # those of 50 columns

Pair = tuple[int, int]


def disagreements(matrices: list[Floats]) -> Floats:
    """How far apart the correlations of each pair are over all alphas; -1 where there are none."""
    stacked = np.array(matrices)
    return np.asarray(np.nan_to_num(stacked.max(axis=0) - stacked.min(axis=0), nan=-1.0))


def scatter_pairs(matrices: list[Floats]) -> list[Pair]:
    """The pairs to draw: all, or those that the correlations disagree on most."""
    first, second = np.triu_indices(len(matrices[0]), 1)
    if len(first) > PAIRS:
        order = np.argsort(-disagreements(matrices)[first, second], kind="stable")
        places = np.sort(order[:PAIRS])
        first, second = first[places], second[places]
    return list(zip(first.tolist(), second.tolist(), strict=True))


def bin_edges(sketches: list[Sketch]) -> list[Floats]:
    """For each column the values at which T at alpha = 1 is 0, 1/BINS, …, 1."""
    levels = np.linspace(0, 1, BINS + 1)
    found = []
    for sketch in sketches:
        edges = np.empty((BINS + 1, 1))
        inverse([tabulate(sketch, KERNEL, sketch.std)], levels[:, None], edges, "clip")
        edges[0], edges[-1] = sketch.minimum, sketch.maximum
        found.append(np.maximum.accumulate(np.clip(edges[:, 0], sketch.minimum, sketch.maximum)))
    return found


def scatter_counts(parts: Parts, n_rows: int, edges: list[Floats], pairs: list[Pair]) -> tuple[int, NDArray[np.int64]]:
    """Rows of a sample at even steps, and how many of them lie in each bin of each pair: row by j, column by i."""
    sample = SampledParts(parts, -(-n_rows // SAMPLED))
    return sample.reduce(partial(_scatter_part, edges=edges, pairs=pairs), _both)


def _both(one: tuple[int, NDArray[np.int64]], other: tuple[int, NDArray[np.int64]]) -> tuple[int, NDArray[np.int64]]:
    return one[0] + other[0], one[1] + other[1]


def _scatter_part(chunks: Iterable[Chunk], edges: list[Floats], pairs: list[Pair]) -> tuple[int, NDArray[np.int64]]:
    counts = np.zeros((len(pairs), BINS * BINS), dtype=np.int64)
    n_rows = 0
    for columns, weights in chunks:
        columns = columns if weights is None else [column[weights > 0] for column in columns]
        n_rows += len(columns[0])
        places = [_places(column, here) for column, here in zip(columns, edges, strict=True)]
        missing = [bool((place < 0).any()) for place in places]
        for count, (i, j) in zip(counts, pairs, strict=True):
            x, y = places[i], places[j]
            if missing[i] or missing[j]:
                both = (x >= 0) & (y >= 0)
                x, y = x[both], y[both]
            count += np.bincount(y * BINS + x, minlength=BINS * BINS)
    return n_rows, counts


def _places(column: Table, edges: Floats) -> NDArray[np.int64]:
    """The bin of each value, -1 where there is none."""
    places = np.clip(np.searchsorted(edges, column.astype(float), side="right") - 1, 0, BINS - 1)
    places[np.isnan(column)] = -1
    return places
