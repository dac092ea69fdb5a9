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

from kdi._typing import Floats, Table
from kdi.gather import cell_widths, scan_columns, sketch_columns
from kdi.kernels import Kernel
from kdi.lookup import AnyTable, forward
from kdi.medians import median, medians_in_parts
from kdi.parts import Chunk, Gathered, MappedParts, Parts, gather_parts
from kdi.sketch import Sketch

Resolve = Callable[[Floats], Floats]  # from the weight of each column to its bandwidth factor


class Rows(Protocol):
    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        """Sketches in cells that are fine enough for the bandwidth factors, or `finer` than that."""
        ...

    def levels(self, tables: list[AnyTable]) -> Rows:
        """The same rows, each value mapped by its column's table."""
        ...

    def weights_between(self, cuts: list[Floats]) -> list[Floats]:
        """For each column, the weight of its values below the first cut, between cuts, and above the last."""
        ...

    def medians(self, cuts: list[Floats]) -> list[Floats]:
        """For each column, the median of its values below the first cut, and so on; NaN where there are none."""
        ...

    @property
    def at_once(self) -> int:
        """How many versions of a column are worth looking at in one go: reading in parts is slow."""
        ...

    def columns(self, places: list[int]) -> Rows:
        """Some of the columns, which may repeat."""
        ...


@dataclass(frozen=True)
class TableRows:
    """Rows of a table in memory."""

    table: Floats
    weights: Floats | None
    n_threads: int = 1

    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        scan = scan_columns(self.table, self.weights, self.n_threads)
        widths = cell_widths(kernel, resolve(scan.weight), scan) / finer
        return sketch_columns(self.table, self.weights, scan, widths, self.n_threads)

    def levels(self, tables: list[AnyTable]) -> TableRows:
        levels = np.empty(self.table.shape[::-1]).T
        forward(tables, self.table, levels, "clip", self.n_threads)
        return TableRows(levels, self.weights, self.n_threads)

    def weights_between(self, cuts: list[Floats]) -> list[Floats]:
        return [weights_between(column, self.weights, here) for column, here in zip(self.table.T, cuts, strict=True)]

    def medians(self, cuts: list[Floats]) -> list[Floats]:
        return [_medians(column, self.weights, here) for column, here in zip(self.table.T, cuts, strict=True)]

    @property
    def at_once(self) -> int:
        return 1

    def columns(self, places: list[int]) -> TableRows:
        return TableRows(self.table[:, places], self.weights, self.n_threads)


@dataclass(frozen=True)
class PartRows:
    """Rows of a table in parts; `check` is given what the first reading found, to refuse what it cannot take."""

    parts: Parts
    check: Callable[[Gathered], None]

    def sketches(self, kernel: Kernel, resolve: Resolve, finer: float = 1.0) -> list[Sketch]:
        found = gather_parts(self.parts, kernel, resolve, finer)
        self.check(found)
        return found.sketches

    def levels(self, tables: list[AnyTable]) -> PartRows:
        return PartRows(MappedParts(self.parts, partial(_to_levels, tables=tables)), _no_check)

    def weights_between(self, cuts: list[Floats]) -> list[Floats]:
        return self.parts.reduce(partial(_weights_part, cuts=cuts), _add)

    def medians(self, cuts: list[Floats]) -> list[Floats]:
        return medians_in_parts(self.parts, cuts)

    @property
    def at_once(self) -> int:
        return 16

    def columns(self, places: list[int]) -> PartRows:
        return PartRows(MappedParts(self.parts, partial(_only, places=places), len(places)), self.check)


def _to_levels(columns: list[Table], tables: list[AnyTable]) -> list[Table]:
    return [level(table, column) for table, column in zip(tables, columns, strict=True)]


def _only(columns: list[Table], places: list[int]) -> list[Table]:
    return [columns[j] for j in places]


def _no_check(found: Gathered) -> None:
    """Levels are finite, and NaN where the values were."""


def level(table: AnyTable, column: Table) -> Floats:
    """T of a column's values, in float64 whatever they are."""
    result = np.empty((len(column), 1))
    forward([table], np.asarray(column, dtype=float)[:, None], result, "clip")
    return result[:, 0]


def _weights_part(chunks: Iterable[Chunk], cuts: list[Floats]) -> list[Floats]:
    totals = [np.zeros(len(here) + 1) for here in cuts]
    for columns, weights in chunks:
        for total, column, here in zip(totals, columns, cuts, strict=True):
            total += weights_between(np.asarray(column, dtype=float), weights, here)
    return totals


def _add(some: list[Floats], others: list[Floats]) -> list[Floats]:
    return [one + other for one, other in zip(some, others, strict=True)]


def assign(values: Floats, boundaries: Floats) -> NDArray[np.int64]:
    """The cluster of each value, counted from the left; -1 for NaN. A value on a boundary belongs to the right."""
    labels = np.searchsorted(boundaries, values, side="right")
    return np.where(np.isnan(values), -1, labels)


def _medians(values: Floats, weights: Floats | None, boundaries: Floats) -> Floats:
    mass = np.ones(len(values)) if weights is None else weights
    labels = np.where(mass > 0, assign(values, boundaries), -1)
    result = np.full(len(boundaries) + 1, np.nan)
    for k in np.unique(labels[labels >= 0]):
        result[k] = median(values[labels == k], mass[labels == k])
    return result


def weights_between(values: Floats, weights: Floats | None, boundaries: Floats) -> Floats:
    """The weight of the values in each cluster."""
    labels = assign(values, boundaries)
    known = labels >= 0
    mass = None if weights is None else weights[known]
    return np.bincount(labels[known], mass, minlength=len(boundaries) + 1).astype(float)
