"""The numeric columns of any source, as a partitioned table that can be read several times.

Columns that are not numeric are left out unless they were requested. The first read caches the rows if they need little
memory, so that text is parsed once, a query runs once, and a short stream can be read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from kdi._sketch.partitions import ArrayPartitions, Chunk, MappedPartitions, PartitionedTable
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.frames import read_frame
from kdi._tables.sources import is_source, open_source
from kdi._utils.names import check_unique, features_and_weights, format_names
from kdi._utils.typing import Float64Array, Int64Array
from kdi._utils.validation import as_weights, non_numeric_columns

Summary = TypeVar("Summary")

CACHE_BYTES = 2**27  # largest table that is cached in memory by its first read
NOT_NUMERIC = "is not numeric ({})"


@dataclass(frozen=True)
class NumericColumns:
    """A table to explore: its numeric columns, and the names of the other columns with the reason they are left out.

    `has_names` is whether the source names its columns; the names of an array's columns are made up.
    """

    table: PartitionedTable
    names: list[str]
    left_out: dict[str, str]
    has_names: bool = True

    def select(self, names: list[str]) -> PartitionedTable:
        """The columns with these names, in this order."""
        positions = [self.names.index(name) for name in names]
        return MappedPartitions(self.table, lambda columns: [columns[j] for j in positions], len(positions))


class CachedPartitions:
    """A partitioned table whose first read caches the rows, unless they need more than `max_bytes`."""

    is_distributed = False

    def __init__(self, table: PartitionedTable, max_bytes: int = CACHE_BYTES) -> None:
        self.table, self.max_bytes = table, max_bytes
        self.names, self.n_columns, self.n_jobs = table.names, table.n_columns, table.n_jobs
        self._cached: list[Chunk] | None = None

    @property
    def rereadable(self) -> bool:
        return self._cached is not None or self.table.rereadable

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        if self._cached is not None:
            return summarise(iter(self._cached))
        return self.table.reduce(lambda chunks: summarise(self._caching(chunks)), merge)

    def _caching(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Pass the chunks on; keep them if all of them were read and fit."""
        cached: list[Chunk] = []
        free = self.max_bytes
        for columns, weights in chunks:
            free -= sum(column.nbytes for column in columns) + (0 if weights is None else weights.nbytes)
            if free >= 0:
                cached.append((columns, weights))
            else:
                cached.clear()
            yield columns, weights
        if free >= 0:
            self._cached = cached


class SampledPartitions:
    """One random row per block of `step` rows; fixed strides could alias with periodic data."""

    def __init__(self, table: PartitionedTable, step: int) -> None:
        self.table, self.step = table, max(step, 1)
        self.names, self.n_columns, self.n_jobs = table.names, table.n_columns, table.n_jobs
        self.rereadable, self.is_distributed = table.rereadable, table.is_distributed

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        if self.step == 1:
            return self.table.reduce(summarise, merge)
        return self.table.reduce(lambda chunks: summarise(self._sample(chunks)), merge)

    def load(self) -> tuple[Float64Array, Float64Array | None]:
        """Return the sampled rows of positive weight as one array, and their weights."""
        chunks: list[tuple[Float64Array, Float64Array | None]] = self.reduce(_stack_columns, list.__add__)
        if not chunks:
            return np.empty((0, self.n_columns)), None
        values = np.concatenate([values for values, _ in chunks])
        weights = [chunk_weights for _, chunk_weights in chunks if chunk_weights is not None]
        return values, np.concatenate(weights) if weights else None

    def _sample(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        start = 0
        for columns, weights in chunks:
            rows = self._sampled_rows(start, len(columns[0]))
            start += len(columns[0])
            if len(rows):
                yield [column[rows] for column in columns], None if weights is None else weights[rows]

    def _sampled_rows(self, start: int, n_rows: int) -> Int64Array:
        """Choose among `n_rows` rows that begin with row `start`; the choice does not depend on the chunks."""
        blocks = np.arange(start // self.step, -(-(start + n_rows) // self.step), dtype=np.uint64)
        # The mixing function of SplitMix64 (Steele, Lea and Flood 2014) turns block numbers into random numbers.
        mixed = (blocks + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        rows = (blocks * np.uint64(self.step) + mixed % np.uint64(self.step)).astype(np.int64) - start
        return rows[(rows >= 0) & (rows < n_rows)]


def _stack_columns(chunks: Iterable[Chunk]) -> list[tuple[Float64Array, Float64Array | None]]:
    """Return each chunk as one array, without rows of zero weight."""
    stacked: list[tuple[Float64Array, Float64Array | None]] = []
    for columns, weights in chunks:
        values = np.column_stack(columns).astype(float, copy=False)
        stacked.append((values, None) if weights is None else (values[weights > 0], weights[weights > 0]))
    return stacked


def open_numeric_columns(
    source: Any, columns: Iterable[str] | str | None, weights: Any, progress: bool
) -> NumericColumns:
    """Open a source of any kind; no rows of a stream are read yet."""
    if is_source(source):
        return _open_stream(source, columns, weights, progress)
    return _open_in_memory(source, columns, weights)


def source_title(source: Any) -> str | None:
    """Return a title for the page: the file names of the source without their folders."""
    paths = source if isinstance(source, list | tuple) else [source]
    if not is_source(source) or not all(isinstance(path, str | os.PathLike) for path in paths):
        return None
    first = os.path.basename(os.fsdecode(paths[0]))
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


def _open_stream(source: Any, columns: Iterable[str] | str | None, weights: Any, progress: bool) -> NumericColumns:
    opened = open_source(source)
    from kdi._tables.arrow import is_number

    left_out = {}
    if columns is None:
        features, _ = features_and_weights(None, weights, opened.names, opened.feature_columns)
        types = {name: opened.schema.field(name).type for name in features}
        left_out = {name: NOT_NUMERIC.format(kind) for name, kind in types.items() if not is_number(kind)}
        columns = _numeric_names(features, left_out)
    table = ArrowPartitions(opened, weights, columns=columns, progress=progress, argument="weights")
    return NumericColumns(CachedPartitions(table), table.names, left_out)


def _open_in_memory(table: Any, columns: Iterable[str] | str | None, weights: Any) -> NumericColumns:
    """Open a frame or an array."""
    has_names = hasattr(table, "columns") and hasattr(table, "dtypes")
    if has_names:
        names, dtypes = [str(name) for name in table.columns], list(table.dtypes)
    else:
        given = type(table).__name__
        table = table if isinstance(table, np.ndarray) else np.asarray(table)
        if table.ndim != 2:
            raise ValueError(
                "source must be a frame, an array with two dimensions (rows and columns), files or an Arrow stream, "
                f"got {given} of shape {table.shape}."
            )
        names = [f"x{j}" for j in range(table.shape[1])]
        dtypes = [table.dtype] * len(names)
    check_unique(names)
    features, weight_column = features_and_weights(columns, weights, names)
    left_out = {}
    if columns is None:
        non_numeric = {names[j]: NOT_NUMERIC.format(dtypes[j]) for j in non_numeric_columns(table)}
        left_out = {name: non_numeric[name] for name in features if name in non_numeric}
        features = _numeric_names(features, left_out)
    if weight_column is not None:
        weights = read_frame(_columns_at(table, [names.index(weight_column)])).values[:, 0]
    values = read_frame(_columns_at(table, [names.index(name) for name in features])).values
    partitions = ArrayPartitions(values, as_weights(weights, len(values), "weights"), names=features)
    return NumericColumns(partitions, features, left_out, has_names)


def _columns_at(table: Any, positions: list[int]) -> Any:
    """Select columns by position, as names in frames may not be strings; return the table itself if that is all."""
    if positions == list(range(table.shape[1])):
        return table
    return table.iloc[:, positions] if hasattr(table, "iloc") else table[:, positions]


def _numeric_names(features: list[str], left_out: dict[str, str]) -> list[str]:
    numeric = [name for name in features if name not in left_out]
    if not numeric:
        raise ValueError(f"there is no numeric column to explore; the columns are {format_names(features, 20)}.")
    return numeric
