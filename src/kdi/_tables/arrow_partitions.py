"""ArrowPartitions: a source as a partitioned table, whose chunks are batches as NumPy columns and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kdi._tables.sources import open_source
from kdi._utils.errors import SourceChangedError, TableError, WeightsError
from kdi._utils.names import features_and_weights
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers, as_weights

if TYPE_CHECKING:
    from kdi._sketch.partitions import Chunk, Columns

Summary = TypeVar("Summary")


class ArrowPartitions:
    """A source as a `PartitionedTable` of one partition, which is read batch by batch.

    Parameters
    ----------
    source : anything that `open_source` takes
    weights : str or array-like, optional
        The name of a column, which is then not a feature, or one weight per row.
    columns : list of str, optional
        The features; by default all columns but that of the weights.
    n_jobs : int, optional
    progress : bool, default=False
    argument : str, default="sample_weight"
        The name of the weights in error messages.
    """

    is_distributed = False

    def __init__(
        self,
        source: Any,
        weights: Any = None,
        *,
        columns: Iterable[str] | str | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        argument: str = "sample_weight",
    ) -> None:
        opened = open_source(source)
        from kdi._tables.arrow import check_numeric_columns, select_fields

        self.n_jobs = n_jobs
        self._argument, self._progress = argument, progress
        features, self._weight_column = features_and_weights(columns, weights, opened.names, opened.feature_columns)
        self.source = opened.select(features if self._weight_column is None else [*features, self._weight_column])
        check_numeric_columns(self.source.schema)
        self.schema = select_fields(self.source.schema, features)
        self._weights = self._read_weights(weights)
        self._n_rows_read: int | None = None

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def n_columns(self) -> int:
        return len(self.schema)

    @property
    def rereadable(self) -> bool:
        return self.source.rereadable

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summarise the only partition."""
        return summarise(self.chunks())

    def chunks(self) -> Iterator[Chunk]:
        """Read the columns and weights of one batch after the other."""
        from kdi._tables.arrow import as_floats

        start, total = 0, 0.0
        for batch in self.source.batches(self._progress):
            columns: Columns = [as_floats(batch.column(j)) for j in range(self.n_columns)]
            weights = self._batch_weights(batch, start)
            if weights is not None:
                total += float(weights.sum())
                if total == np.inf:
                    raise WeightsError(self._argument, f"must have a finite sum; it overflows after row {start}.")
            start += batch.num_rows
            del batch
            yield columns, weights
        if self._weights is not None and self._weights.ndim and len(self._weights) != start:
            raise self._wrong_length(len(self._weights), str(start))
        if self._n_rows_read not in (None, start):
            raise SourceChangedError(f"it had {self._n_rows_read} rows at first, and then {start}")
        self._n_rows_read = start

    def _read_weights(self, weights: Any) -> Float64Array | None:
        """Check weights that were given as an array; return None if they are a column."""
        if weights is None or self._weight_column is not None:
            return None
        mass: Float64Array = as_numbers(weights, self._argument)
        if not mass.ndim:
            return mass
        n_rows = self.source.n_rows
        if mass.ndim == 1 and n_rows is not None and n_rows != len(mass):
            raise self._wrong_length(len(mass), str(n_rows))
        return as_weights(mass, len(mass), self._argument)

    def _batch_weights(self, batch: Any, start: int) -> Float64Array | None:
        """Return the weights of a batch, which begins at row `start` of the source."""
        from kdi._tables.arrow import as_floats

        n = batch.num_rows
        if self._weight_column is not None:
            column = as_floats(batch.column(self.n_columns))
            try:
                return as_weights(column, n, f"weights in column {self._weight_column!r}")
            except TableError as error:
                raise TableError(error.problem, column=self._weight_column, row=error.row).after(start) from None
        if self._weights is None or not self._weights.ndim:
            return as_weights(self._weights, n, self._argument)
        if start + n > len(self._weights):
            raise self._wrong_length(len(self._weights), f"more than {len(self._weights)}")
        return self._weights[start : start + n]

    def _wrong_length(self, n_weights: int, n_rows: str) -> WeightsError:
        return WeightsError(self._argument, f"must have one weight per row, got {n_weights} weights for {n_rows} rows.")
