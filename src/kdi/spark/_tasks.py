"""Functions that run in Spark's workers, on Arrow batches and columns; none of them needs a session."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from kdi._clustering.queries import assign_clusters
from kdi._sketch.partitions import Chunk
from kdi._tables.arrow import as_floats, even_batches, rows_per_batch
from kdi._utils.errors import TableError, WeightsError
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_column, as_weights


def summarise_partition(
    summarise: Callable[[Iterable[Chunk]], Any],
    n_columns: int,
    weights: str | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Summarise a partition; yield the summary, or the error that the table causes, as one row."""
    try:
        summary = summarise(_chunks(batches, n_columns, weights))
    except ValueError as error:
        if type(error) is not ValueError and not isinstance(error, TableError | WeightsError):  # a retry may help
            raise
        summary = error
    yield _row(summary)


def merge_partition(merge: Callable[[Any, Any], Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the summaries in the rows of a partition; yield the result as one row, or nothing if there are none."""
    summaries = (pickle.loads(value.as_py()) for batch in batches for value in batch.column(0))
    first = next(summaries, None)
    if first is not None:
        yield _row(reduce(partial(merge_two, merge), summaries, first))


def merge_two(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Merge two summaries, or return the error that one of them is."""
    for error in (one, other):
        if isinstance(error, ValueError):
            return error
    return merge(one, other)


def _row(summary: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(summary, protocol=5)], pa.binary())], ["summary"])


def _chunks(batches: Iterable[pa.RecordBatch], n_columns: int, weights: str | None) -> Iterator[Chunk]:
    """Yield the rows of a partition as NumPy columns and weights; Spark's short batches are combined."""
    for batch in even_batches(batches, rows_per_batch(n_columns)):
        columns = [as_floats(column) for column in batch.columns]
        yield (columns, None) if weights is None else (columns[:-1], _weights(columns[-1], weights))


def _weights(column: Any, name: str) -> Float64Array | None:
    try:
        return as_weights(column, len(column), f"weights in column {name!r}")
    except TableError as error:
        raise TableError(error.problem, column=name) from None  # rows of a Spark DataFrame are not numbered


def map_columns(model: Any, method: str, keep_null: bool, *columns: pa.Array) -> pa.StructArray:
    """Apply a method of the model to columns; with `keep_null`, null stays null where the result is NaN."""
    table = np.empty((len(columns[0]), len(columns)), dtype=as_floats(columns[0]).dtype, order="F")
    for j, column in enumerate(columns):
        table[:, j] = as_floats(column)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        result = np.asarray(getattr(model, method)(table), dtype=table.dtype)
    arrays = []
    for j, values in enumerate(np.ascontiguousarray(result.T)):
        has_null = keep_null and columns[j].null_count > 0
        mask = np.isnan(values) & columns[j].is_null().to_numpy(zero_copy_only=False) if has_null else None
        arrays.append(pa.array(values, mask=mask, from_pandas=False))
    return pa.StructArray.from_arrays(arrays, names=[f"m{j}" for j in range(len(arrays))])


def label_column(boundaries: Float64Array, name: str, column: pa.Array) -> pa.Array:
    """Assign values to clusters; missing values become null."""
    try:
        values = as_column(as_floats(column), f"column {name!r}")
    except TableError as error:
        raise TableError(error.problem, column=name) from None  # rows of a Spark DataFrame are not numbered
    labels = assign_clusters(values, boundaries)
    return pa.array(labels.astype(np.int32), mask=labels < 0)
