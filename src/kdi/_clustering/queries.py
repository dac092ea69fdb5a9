"""Rows: the values of a table's columns as a search for valleys uses them, in memory or in parts.

Each question is one reading: sketches of the columns, the weight between cuts, the median between cuts. The rows of the
columns' T are rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kdi._clustering.medians import median, partitioned_medians
from kdi._integral.maps import ColumnMap, forward, map_column
from kdi._numerics.kernels import Kernel
from kdi._sketch.columns import sketch_array
from kdi._sketch.partitions import Chunk, MappedPartitions, PartitionedTable, TableSummary, sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray

Resolve = Callable[[Float64Array], Float64Array]  # from the weight of each column to its bandwidth factor


class ColumnQueries(Protocol):
    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        """Sketches in cells that are fine enough for the bandwidth factors, or `finer` than that."""
        ...

    def levels(self, tables: list[ColumnMap]) -> ColumnQueries:
        """The same rows, each value mapped by its column's table."""
        ...

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """For each column, the weight of its values below the first cut, between cuts, and above the last."""
        ...

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """For each column, the median of its values below the first cut, and so on; NaN where there are none."""
        ...

    @property
    def at_once(self) -> int:
        """How many versions of a column are worth looking at in one go: reading in parts is slow."""
        ...

    def columns(self, places: list[int]) -> ColumnQueries:
        """Some of the columns, which may repeat."""
        ...


@dataclass(frozen=True)
class ArrayQueries:
    """Rows of a table in memory."""

    table: Float64Array
    weights: Float64Array | None
    n_threads: int = 1

    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        return sketch_array(self.table, self.weights, kernel, resolve, self.n_threads, finer=finer)

    def levels(self, tables: list[ColumnMap]) -> ArrayQueries:
        levels = np.empty(self.table.shape[::-1]).T
        forward(tables, self.table, levels, "clip", self.n_threads)
        return ArrayQueries(levels, self.weights, self.n_threads)

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [weights_between(column, self.weights, here) for column, here in zip(self.table.T, cuts, strict=True)]

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [_medians(column, self.weights, here) for column, here in zip(self.table.T, cuts, strict=True)]

    @property
    def at_once(self) -> int:
        return 1

    def columns(self, places: list[int]) -> ArrayQueries:
        return ArrayQueries(self.table[:, places], self.weights, self.n_threads)


@dataclass(frozen=True)
class PartitionedQueries:
    """Rows of a table in parts; `check` is given what the first reading found, to refuse what it cannot take."""

    parts: PartitionedTable
    check: Callable[[TableSummary], None]

    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        found = sketch_for_alphas(self.parts, kernel, resolve, finer)
        self.check(found)
        return found.sketches

    def levels(self, tables: list[ColumnMap]) -> PartitionedQueries:
        return PartitionedQueries(MappedPartitions(self.parts, partial(_to_levels, tables=tables)), _no_check)

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return self.parts.reduce(partial(_weights_part, cuts=cuts), _add)

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return partitioned_medians(self.parts, cuts)

    @property
    def at_once(self) -> int:
        return 16

    def columns(self, places: list[int]) -> PartitionedQueries:
        return PartitionedQueries(MappedPartitions(self.parts, partial(_only, places=places), len(places)), self.check)


def _to_levels(columns: list[FloatArray], tables: list[ColumnMap]) -> list[FloatArray]:
    return [map_column(table, column) for table, column in zip(tables, columns, strict=True)]


def _only(columns: list[FloatArray], places: list[int]) -> list[FloatArray]:
    return [columns[j] for j in places]


def _no_check(found: TableSummary) -> None:
    """Levels are finite, and NaN where the values were."""


def _weights_part(chunks: Iterable[Chunk], cuts: list[Float64Array]) -> list[Float64Array]:
    totals = [np.zeros(len(here) + 1) for here in cuts]
    for columns, weights in chunks:
        for total, column, here in zip(totals, columns, cuts, strict=True):
            total += weights_between(np.asarray(column, dtype=float), weights, here)
    return totals


def _add(some: list[Float64Array], others: list[Float64Array]) -> list[Float64Array]:
    return [one + other for one, other in zip(some, others, strict=True)]


def assign_clusters(values: Float64Array, boundaries: Float64Array) -> NDArray[np.int64]:
    """The cluster of each value, counted from the left; -1 for NaN. A value on a boundary belongs to the right."""
    labels = np.searchsorted(boundaries, values, side="right")
    return np.where(np.isnan(values), -1, labels)


def _medians(values: Float64Array, weights: Float64Array | None, boundaries: Float64Array) -> Float64Array:
    mass = np.ones(len(values)) if weights is None else weights
    labels = np.where(mass > 0, assign_clusters(values, boundaries), -1)
    result = np.full(len(boundaries) + 1, np.nan)
    for k in np.unique(labels[labels >= 0]):
        result[k] = median(values[labels == k], mass[labels == k])
    return result


def weights_between(values: Float64Array, weights: Float64Array | None, boundaries: Float64Array) -> Float64Array:
    """The weight of the values in each cluster."""
    labels = assign_clusters(values, boundaries)
    known = labels >= 0
    mass = None if weights is None else weights[known]
    return np.bincount(labels[known], mass, minlength=len(boundaries) + 1).astype(float)
