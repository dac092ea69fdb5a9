"""BatchedSketches: the sketches of a table that comes in many batches, most of them perhaps of a few rows.

Rows are kept as they come until there are as many as the sketches have values or cells; only then, or when a sketch is
asked for, are they sketched together. A small batch costs little more than a copy, and a table of n rows takes no more
than O(n log n) time, however it is divided. Of sparse batches, the stored values count instead of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from scipy.sparse import issparse

from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import MAX_TABLE_CELLS, MIN_COLUMN_CELLS, capacity_for
from kdi._sketch.columns import scan_columns
from kdi._sketch.partitions import ArrayPartitions, PartitionedTable, TableSummary, row_blocks, sketch_reducer
from kdi._sketch.sketch import Sketch
from kdi._sketch.sparse import StoredColumns, stack_rows
from kdi._utils.typing import Float64Array, FloatArray, SparseMatrix

Rows = tuple[FloatArray | SparseMatrix, Float64Array | None]


class BatchedSketches(Sequence[Sketch]):
    """Sequence of sketches, made when one is asked for; `plus` returns another one and leaves this one alone.

    Parameters
    ----------
    sketches : sequence of Sketch
        Sketches of earlier batches, one per column.
    kernel : Kernel
    alphas : ndarray of shape (n_columns,)
        What the capacities of the sketches follow from.
    n_jobs : int, optional

    Attributes
    ----------
    minimum, maximum, weight : ndarray of shape (n_columns,)
        Known without the sketches; the extremes of an empty column are infinite.
    infinite : list of int
        The columns with infinite values in the last batch.
    n_rows : int
        Number of rows of the last batch.
    """

    _known: list[Sketch]  # those of all batches but the last few
    _batches: list[Rows | list[Sketch]]  # the first `_n_batches` of these are the last few
    _sketched: list[Sketch] | None  # those of all batches, once they are asked for

    def __init__(self, sketches: Sequence[Sketch], kernel: Kernel, alphas: Float64Array, n_jobs: int | None) -> None:
        self._key = kernel, alphas.tolist(), n_jobs
        self._summarise, self._merge = sketch_reducer(kernel, alphas, n_jobs)
        found = {alpha: capacity_for(kernel, alpha, len(alphas)) for alpha in set(alphas.tolist())}
        self._capacities = [found[alpha] for alpha in alphas.tolist()]
        self._least_rows = max(capacity.cells for capacity in found.values())
        self.infinite: list[int] = []
        self.n_rows = 0
        self.minimum, self.maximum = np.full(len(sketches), np.inf), np.full(len(sketches), -np.inf)
        self.weight = np.zeros(len(sketches))
        self._add_totals(sketches)
        self._set_sketched(list(sketches))

    def is_for(self, kernel: Kernel, alphas: Float64Array, n_jobs: int | None) -> bool:
        """Tell whether the sketches have the capacities that follow from these."""
        return self._key == (kernel, alphas.tolist(), n_jobs)

    def plus(self, batch: PartitionedTable) -> Self:
        """Return the sketches with one more batch; they are not to be used if it has infinite values."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)  # `copy` would make a list, as pickle does
        if self._sketched is not None:
            result._set_sketched(self._sketched)
        if isinstance(batch, ArrayPartitions):
            result._add_rows(batch.table, batch.weights)
        else:
            result._add_summary(batch.reduce(self._summarise, self._merge))
        return result

    def _add_rows(self, table: FloatArray | SparseMatrix, weights: Float64Array | None) -> None:
        stats = StoredColumns.from_matrix(table, weights).stats if issparse(table) else scan_columns(table, weights)
        self.infinite, self.n_rows = stats.infinite_columns, table.shape[0]
        if self.infinite or not self.n_rows:
            return
        size = _stored_per_column(table) if issparse(table) else len(table)
        self.minimum, self.maximum = np.fmin(self.minimum, stats.minimum), np.fmax(self.maximum, stats.maximum)
        with np.errstate(over="ignore"):  # an overflow is infinite, and refused
            self.weight = self.weight + stats.weight
        if self._n_pending + size >= self._limit:
            self._set_sketched(self._merged((table, weights)))
        else:  # the caller may overwrite the arrays
            self._append((table.copy(), None if weights is None else weights.copy()), size)

    def _add_summary(self, summary: TableSummary) -> None:
        self.infinite, self.n_rows = np.flatnonzero(summary.infinite).tolist(), summary.n_rows
        self._add_totals(summary.sketches)
        self._append(summary.sketches, max(len(sketch) for sketch in summary.sketches))
        if self._n_pending >= self._limit:
            self._set_sketched(self._merged())

    def _add_totals(self, sketches: Sequence[Sketch]) -> None:
        self.minimum = np.fmin(self.minimum, [sketch.minimum for sketch in sketches])
        self.maximum = np.fmax(self.maximum, [sketch.maximum for sketch in sketches])
        with np.errstate(over="ignore"):
            self.weight = self.weight + [sketch.weight for sketch in sketches]

    def _append(self, batch: Rows | list[Sketch], size: int) -> None:
        # A copy of this object shares the list, and may have appended to it.
        if len(self._batches) != self._n_batches:
            self._batches = self._batches[: self._n_batches]
        self._batches.append(batch)
        self._n_batches += 1
        self._n_pending += size
        self._sketched = None

    def _set_sketched(self, sketches: list[Sketch]) -> None:
        self._known = self._sketched = sketches
        self._batches = []
        self._n_batches = self._n_pending = 0
        self._limit = max(self._least_rows, *(len(sketch) for sketch in sketches))

    def _merged(self, *more: Rows) -> list[Sketch]:
        """Sketch the batches, and `more` rows; merge them with what is known, the smallest first."""
        batches = self._batches[: self._n_batches]
        no_infinite = [0] * len(self)
        summaries = [TableSummary(one, no_infinite, 0) for one in [self._known, *batches] if isinstance(one, list)]
        rows = [*(one for one in batches if isinstance(one, tuple)), *more]
        sparse, dense = ([one for one in rows if issparse(one[0]) == kind] for kind in (True, False))
        if sparse:
            summaries.append(TableSummary(self._sketch_sparse(*_joined(sparse)), no_infinite, 0))
        if dense:
            # The last batch may be large, and is not copied.
            blocks = [_joined(dense[:-1])] if len(dense) > 1 else []
            chunks = (chunk for block in (*blocks, dense[-1]) for chunk in row_blocks(*block))
            summaries.append(self._summarise(chunks))
        while len(summaries) > 1:
            summaries.sort(key=lambda one: -max(len(sketch) for sketch in one.sketches))
            summaries.append(self._merge(summaries.pop(), summaries.pop()))
        return summaries[0].sketches

    def _sketch_sparse(self, table: SparseMatrix, weights: Float64Array | None) -> list[Sketch]:
        sketches = StoredColumns.from_matrix(table, weights).sketches()
        return [sketch.limited_to(capacity) for sketch, capacity in zip(sketches, self._capacities, strict=True)]

    def _sketches(self) -> list[Sketch]:
        if self._sketched is None:
            self._sketched = self._merged()  # other threads may do the same, with the same result
        return self._sketched

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, index: int) -> Sketch: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sketch]: ...
    def __getitem__(self, index: int | slice) -> Sketch | list[Sketch]:
        return self._sketches()[index]

    def __iter__(self) -> Iterator[Sketch]:
        return iter(self._sketches())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def _stored_per_column(table: SparseMatrix) -> int:
    """Return how many values a column stores on average; many columns have less memory each."""
    n_stored: int = table.nnz
    return 1 + n_stored // min(int(table.shape[1]), MAX_TABLE_CELLS // MIN_COLUMN_CELLS)


def _joined(rows: list[Rows]) -> Rows:
    """Join batches of rows, all sparse or all dense; those without weights have weight 1 beside those with."""
    weights = None
    if any(mass is not None for _, mass in rows):
        weights = np.concatenate([np.ones(table.shape[0]) if mass is None else mass for table, mass in rows])
    tables = [table for table, _ in rows]
    return stack_rows(tables) if issparse(tables[0]) else np.concatenate(tables), weights
