"""Sketches of the columns of sparse matrices, in time and memory proportional to the stored values.

A column is sketched by its distinct values. The zeros that are not stored are one of them; their weight is that of the
rows that store nothing. A column costs one call, to sort its values; everything else is done for all columns together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from math import fsum

import numpy as np
from scipy.sparse import vstack

from kdi._sketch.columns import ColumnStats
from kdi._sketch.packed import DISTINCT, PackedSketches
from kdi._utils.typing import Float64Array, Int64Array, SparseMatrix


@dataclass(frozen=True, eq=False)
class StoredColumns:
    """The values of the columns of a sparse matrix that count: those that are not NaN and have weight.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The stored values, one column after the other.
    weights : ndarray of shape (n_values,), or None where each is 1
    sizes : ndarray of shape (n_columns,)
        Number of stored values of each column.
    zero_counts, zero_weights : ndarray of shape (n_columns,)
        Number of zeros that are not stored, and the sum of their weights.
    missing, infinite : ndarray of shape (n_columns,)
        Number of NaN and of infinite values.
    """

    values: Float64Array
    weights: Float64Array | None
    sizes: Int64Array
    zero_counts: Int64Array
    zero_weights: Float64Array
    missing: Int64Array
    infinite: Int64Array

    @classmethod
    def from_matrix(cls, table: SparseMatrix, weights: Float64Array | None) -> StoredColumns:
        """Read a matrix in CSR or CSC format that has no duplicates, and one weight per row."""
        by_column = table.tocsc()
        values = by_column.data.astype(float) + 0.0  # -0 becomes 0
        stored = np.diff(by_column.indptr).astype(np.int64)
        keep = ~np.isnan(values)
        missing, infinite = stored - _count(keep, stored), _count(np.isinf(values), stored)
        if weights is None:
            mass, zero_counts = None, table.shape[0] - stored
            zero_weights = zero_counts.astype(float)
        else:
            mass = weights[by_column.indices]
            zero_counts = np.count_nonzero(weights) - _count(mass > 0, stored)
            zero_weights = _unstored_weights(weights, mass, stored)
            keep &= mass > 0
        if keep.all():
            return cls(values, mass, stored, zero_counts, zero_weights, missing, infinite)
        mass = None if mass is None else mass[keep]
        return cls(values[keep], mass, _count(keep, stored), zero_counts, zero_weights, missing, infinite)

    @property
    def stats(self) -> ColumnStats:
        """The statistics of the columns, but for the standard deviation."""
        zero = np.where(self.zero_counts > 0, 0.0, np.nan)
        weights = self.sizes if self.weights is None else _reduce(np.add, self.weights, self.sizes, 0.0)
        return ColumnStats(
            np.fmin(_reduce(np.minimum, self.values, self.sizes, np.inf), zero),
            np.fmax(_reduce(np.maximum, self.values, self.sizes, -np.inf), zero),
            (self.sizes + self.zero_counts).astype(float),
            weights + self.zero_weights,
            np.full(len(self.sizes), np.nan),
            self.missing.astype(float),
            self.infinite.astype(float),
        )

    def sketches(self) -> PackedSketches:
        """Sketch each column by its distinct values, which must be finite."""
        has_zero = self.zero_counts > 0
        sizes = self.sizes + has_zero
        ends = np.cumsum(sizes)
        is_zero = np.zeros(len(self.values) + np.count_nonzero(has_zero), dtype=bool)
        is_zero[(ends - sizes)[has_zero]] = True
        values = np.zeros(len(is_zero))
        values[~is_zero] = self.values
        weights = None
        if self.weights is not None:
            weights = np.empty(len(is_zero))
            weights[~is_zero], weights[is_zero] = self.weights, self.zero_weights[has_zero]
        for start, stop in pairwise([0, *ends.tolist()]):
            if weights is None:
                values[start:stop].sort()
            else:
                order = start + np.argsort(values[start:stop])
                values[start:stop], weights[start:stop] = values[order], weights[order]
        is_first = np.append(True, values[1:] != values[:-1])[: len(values)]
        is_first[(ends - sizes)[sizes > 0]] = True
        n_distinct, first = _count(is_first, sizes), np.flatnonzero(is_first)
        distinct = values[first]
        if weights is None:
            masses = np.diff(np.append(first, len(values))).astype(float)
            columns = np.repeat(np.arange(len(sizes)), n_distinct)
            zeros = np.flatnonzero((distinct == 0) & has_zero[columns])  # one of each is that of all rows not stored
            masses[zeros] += self.zero_weights[columns[zeros]] - 1
        else:
            masses = np.add.reduceat(weights, first) if len(first) else np.empty(0)
        stats, n_columns = self.stats, len(sizes)
        return PackedSketches(
            stats.minimum,
            stats.maximum,
            stats.counts,
            stats.missing,
            keys=np.full(n_columns, DISTINCT, dtype=np.uint8),
            exponents=np.zeros(n_columns, dtype=np.int64),
            sizes=n_distinct,
            cells=np.empty(0, dtype=np.int64),
            moments=np.empty((0, 4)),
            values=distinct,
            masses=masses,
        )


def stack_rows(tables: list[SparseMatrix]) -> SparseMatrix:
    """Return the rows of all matrices as one."""
    return tables[0] if len(tables) == 1 else vstack(tables, format="csc")


def _reduce(function: np.ufunc, values: Float64Array, sizes: Int64Array, empty: float) -> Float64Array:
    """Reduce consecutive groups of values of the given sizes; an empty group gives `empty`."""
    result = np.full(len(sizes), empty)
    filled = np.flatnonzero(sizes)
    if len(filled):
        result[filled] = function.reduceat(values, (np.cumsum(sizes) - sizes)[filled])
    return result


def _count(chosen: np.typing.NDArray[np.bool_], sizes: Int64Array) -> Int64Array:
    """Count the chosen values of consecutive groups."""
    return _reduce(np.add, chosen.astype(float), sizes, 0.0).astype(np.int64)


def _unstored_weights(weights: Float64Array, stored: Float64Array, sizes: Int64Array) -> Float64Array:
    """Sum the weights of all rows less those of the stored values of each column, rounded once.

    A difference of rounded sums would lose the small weights beside large ones.
    """
    parts: list[float] = []  # numbers whose exact sum is that of the weights
    rows = weights.tolist()
    while not parts or parts[-1]:
        parts.append(fsum(chain(rows, (-part for part in parts))))
    ends = np.append(0, np.cumsum(sizes)).tolist()
    return np.array([fsum(chain(parts, (-stored[start:stop]).tolist())) for start, stop in pairwise(ends)])
