"""ArrowPartitions: a source as `Parts`, its batches as columns of numbers beside their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kdi._tables.sources import open_source
from kdi._utils.names import features_and_weights
from kdi._utils.typing import Float64Array, FloatArray
from kdi._utils.validation import as_numbers, as_weights

if TYPE_CHECKING:
    from kdi._sketch.partitions import Chunk, Columns

Summary = TypeVar("Summary")


class ArrowPartitions:
    """A source as `Parts`: there is one part, and it is read batch by batch.

    Parameters
    ----------
    source : anything that `open_source` takes
    weights : str or array-like, optional
        The name of a column, which is then not a feature, or one weight a row.
    columns : list of str, optional
        The features; by default all columns but that of the weights.
    n_jobs : int, optional
    progress : bool, default=False
    argument : str, default="sample_weight"
        What messages call the weights.
    """

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
        whole = open_source(source)
        from kdi._tables.arrow import check_numeric_columns, select_fields

        self.n_jobs = n_jobs
        self._argument, self._progress = argument, progress
        features, self._weight_column = features_and_weights(columns, weights, whole.names, whole.usual)
        self.source = whole.select(features if self._weight_column is None else [*features, self._weight_column])
        check_numeric_columns(self.source.schema)
        self.schema = select_fields(self.source.schema, features)
        self._weights = self._read_weights(weights)

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
        """The summary of the one part that there is."""
        return summarise(self.chunks())

    def chunks(self) -> Iterator[Chunk]:
        """Columns and weights of one batch after the other."""
        from kdi._tables.arrow import as_floats

        start, total = 0, 0.0
        for batch in self.source.batches(self._progress):
            columns: Columns = [as_floats(batch.column(j)) for j in range(self.n_columns)]
            weights = self._weights_of(batch, start)
            if weights is not None:
                total += float(weights.sum())
                if total == np.inf:
                    raise ValueError(f"{self._argument} must have a finite sum, which overflows after row {start}.")
            start += batch.num_rows
            del batch
            yield columns, weights
        if self._weights is not None and self._weights.ndim and len(self._weights) != start:
            raise ValueError(self._wrong_length(start))

    def _read_weights(self, weights: Any) -> Float64Array | None:
        """Weights that were given as an array, all of them checked; None where they are a column."""
        if weights is None or self._weight_column is not None:
            return None
        mass: Float64Array = as_numbers(weights, self._argument)
        if not mass.ndim:
            return mass
        n_rows = self.source.n_rows
        if mass.ndim == 1 and n_rows is not None and n_rows != len(mass):
            raise ValueError(self._wrong_length(n_rows, len(mass)))
        return as_weights(mass, len(mass), self._argument)

    def _weights_of(self, batch: Any, start: int) -> Float64Array | None:
        from kdi._tables.arrow import as_floats

        n = batch.num_rows
        if self._weight_column is not None:
            return weights_from(as_floats(batch.column(self.n_columns)), start, self._weight_column)
        if self._weights is None or not self._weights.ndim:
            return as_weights(self._weights, n, self._argument)
        if start + n > len(self._weights):
            raise ValueError(self._wrong_length(None))
        return self._weights[start : start + n]

    def _wrong_length(self, n_rows: int | None, n_weights: int | None = None) -> str:
        given = len(self._weights) if n_weights is None and self._weights is not None else n_weights
        rows = f"{n_rows} rows" if n_rows is not None else f"more than {given} rows"
        return f"{self._argument} must have one weight a row, got {given} weights for {rows}."


def weights_from(column: FloatArray, start: int, name: str) -> Float64Array | None:
    """Weights from a column that begins at row `start` of its source."""
    try:
        return as_weights(column, len(column), f"weights in column {name!r}")
    except ValueError:
        bad = ~(np.isfinite(column) & (column >= 0))
        if not bad.any():
            raise
        place = int(bad.argmax())
        raise ValueError(
            f"weights in column {name!r} must be finite and not negative, got {column[place]} in row {start + place}."
        ) from None
