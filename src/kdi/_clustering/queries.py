"""Queries: what a search for valleys asks of the columns of a table, in memory or partitioned.

Each query is one pass over the rows: sketches of the columns, the weight between cuts, the median between cuts. The T
of the columns answer the same queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from kdi._clustering.medians import partitioned_medians, weighted_median
from kdi._integral.maps import ColumnMap, forward, map_column
from kdi._numerics.kernels import Kernel
from kdi._sketch.columns import sketch_array
from kdi._sketch.partitions import Chunk, MappedPartitions, PartitionedTable, TableSummary, sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

ResolveAlphas = Callable[[Float64Array], Float64Array]  # from the total weight of each column to its bandwidth factor


class ColumnQueries(Protocol):
    """The queries, whose answers have one entry per column."""

    def sketches(self, kernel: Kernel, resolve_alphas: ResolveAlphas, finer: float = 1.0) -> list[Sketch]:
        """Sketch the columns in cells that are fine enough for the bandwidth factors, or `finer` than that."""
        ...

    def levels(self, maps: list[ColumnMap]) -> ColumnQueries:
        """Return the queries of the columns' T, each column mapped by its own map."""
        ...

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """Sum the weights of the values below the first cut, between two cuts, and above the last."""
        ...

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """Return the median of the values below the first cut, between two cuts, and above the last; NaN for none."""
        ...

    @property
    def alphas_per_pass(self) -> int:
        """Number of alphas to try in one pass, which is slow over partitions."""
        ...

    def select(self, columns: list[int]) -> ColumnQueries:
        """Return the queries of some of the columns, which may repeat."""
        ...


@dataclass(frozen=True)
class ArrayQueries:
    """Queries of a table in memory."""

    table: Float64Array
    weights: Float64Array | None
    n_threads: int = 1

    def sketches(self, kernel: Kernel, resolve_alphas: ResolveAlphas, finer: float = 1.0) -> list[Sketch]:
        return sketch_array(self.table, self.weights, kernel, resolve_alphas, self.n_threads, finer=finer)

    def levels(self, maps: list[ColumnMap]) -> ArrayQueries:
        levels = np.empty(self.table.shape[::-1]).T
        forward(maps, self.table, levels, "clip", self.n_threads)
        return ArrayQueries(levels, self.weights, self.n_threads)

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [_weights_between(values, self.weights, here) for values, here in zip(self.table.T, cuts, strict=True)]

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [_medians(values, self.weights, here) for values, here in zip(self.table.T, cuts, strict=True)]

    @property
    def alphas_per_pass(self) -> int:
        return 1

    def select(self, columns: list[int]) -> ArrayQueries:
        return ArrayQueries(self.table[:, columns], self.weights, self.n_threads)


@dataclass(frozen=True)
class PartitionedQueries:
    """Queries of a partitioned table; `check` raises if it cannot take what the first pass found."""

    table: PartitionedTable
    check: Callable[[TableSummary], None]

    def sketches(self, kernel: Kernel, resolve_alphas: ResolveAlphas, finer: float = 1.0) -> list[Sketch]:
        found = sketch_for_alphas(self.table, kernel, resolve_alphas, finer)
        self.check(found)
        return found.sketches

    def levels(self, maps: list[ColumnMap]) -> PartitionedQueries:
        return PartitionedQueries(MappedPartitions(self.table, partial(_to_levels, maps=maps)), _accept)

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return self.table.reduce(partial(_weights_in_chunks, cuts=cuts), _add)

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return partitioned_medians(self.table, cuts)

    @property
    def alphas_per_pass(self) -> int:
        return 16

    def select(self, columns: list[int]) -> PartitionedQueries:
        selected = MappedPartitions(self.table, partial(_select, indices=columns), len(columns))
        return PartitionedQueries(selected, self.check)


def _to_levels(columns: list[FloatArray], maps: list[ColumnMap]) -> list[FloatArray]:
    return [map_column(column_map, values) for column_map, values in zip(maps, columns, strict=True)]


def _select(columns: list[FloatArray], indices: list[int]) -> list[FloatArray]:
    return [columns[j] for j in indices]


def _accept(found: TableSummary) -> None:
    """Check nothing: T is finite, or NaN where the value is."""


def _weights_in_chunks(chunks: Iterable[Chunk], cuts: list[Float64Array]) -> list[Float64Array]:
    totals = [np.zeros(len(here) + 1) for here in cuts]
    for columns, weights in chunks:
        for total, values, here in zip(totals, columns, cuts, strict=True):
            total += _weights_between(np.asarray(values, dtype=float), weights, here)
    return totals


def _add(one: list[Float64Array], other: list[Float64Array]) -> list[Float64Array]:
    return [left + right for left, right in zip(one, other, strict=True)]


def assign_clusters(values: Float64Array, boundaries: Float64Array) -> Int64Array:
    """Number the cluster of each value, from the left; -1 for NaN. A value on a boundary belongs to the right."""
    labels = np.searchsorted(boundaries, values, side="right")
    return np.where(np.isnan(values), -1, labels)


def _medians(values: Float64Array, weights: Float64Array | None, boundaries: Float64Array) -> Float64Array:
    weights = np.ones(len(values)) if weights is None else weights
    labels = np.where(weights > 0, assign_clusters(values, boundaries), -1)
    result = np.full(len(boundaries) + 1, np.nan)
    for k in np.unique(labels[labels >= 0]):
        result[k] = weighted_median(values[labels == k], weights[labels == k])
    return result


def _weights_between(values: Float64Array, weights: Float64Array | None, boundaries: Float64Array) -> Float64Array:
    """Sum the weights of the values of one column in each cluster."""
    labels = assign_clusters(values, boundaries)
    known = labels >= 0
    known_weights = None if weights is None else weights[known]
    return np.bincount(labels[known], known_weights, minlength=len(boundaries) + 1).astype(float)
