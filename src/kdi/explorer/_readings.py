"""Readings: the numeric columns of whatever a user gives, read as often as it takes.

Columns that are not numbers are left out where nobody asked for them. Rows that take little memory are kept while they
are read for the first time, so that text is parsed once, a query runs once, and a short stream can be read again.
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

CACHE_BYTES = 2**27  # of rows that are kept in memory after their first reading
NOT_NUMERIC = "is not numeric ({})"


@dataclass(frozen=True)
class NumericColumns:
    """A table to explore: its numeric columns as `Parts`, and the names of the others with what is wrong with them.

    `named` is whether the table itself has the names of its columns, which arrays have not.
    """

    parts: PartitionedTable
    names: list[str]
    left_out: dict[str, str]
    named: bool = True

    def only(self, names: list[str]) -> PartitionedTable:
        """Some of the columns."""
        places = [self.names.index(name) for name in names]
        return MappedPartitions(self.parts, lambda columns: [columns[place] for place in places], len(places))


class CachedPartitions:
    """Parts that are kept from the first reading on, unless they take too much memory."""

    def __init__(self, parts: PartitionedTable, most: int = CACHE_BYTES) -> None:
        self.parts, self.most = parts, most
        self.names, self.n_columns, self.n_jobs = parts.names, parts.n_columns, parts.n_jobs
        self._kept: list[Chunk] | None = None

    @property
    def rereadable(self) -> bool:
        return self._kept is not None or self.parts.rereadable

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        if self._kept is not None:
            return summarise(iter(self._kept))
        return self.parts.reduce(lambda chunks: summarise(self._keeping(chunks)), merge)

    def _keeping(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        kept: list[Chunk] = []
        left = self.most
        for columns, weights in chunks:
            left -= sum(column.nbytes for column in columns) + (0 if weights is None else weights.nbytes)
            if left >= 0:
                kept.append((columns, weights))
            else:
                kept.clear()
            yield columns, weights
        if left >= 0:
            self._kept = kept


class SampledPartitions:
    """One row of every `step` that follow each other, any of them: rows at even steps may all be Mondays."""

    def __init__(self, parts: PartitionedTable, step: int) -> None:
        self.parts, self.step = parts, max(step, 1)
        self.names, self.n_columns, self.n_jobs, self.rereadable = (
            parts.names,
            parts.n_columns,
            parts.n_jobs,
            parts.rereadable,
        )

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        if self.step == 1:
            return self.parts.reduce(summarise, merge)
        return self.parts.reduce(lambda chunks: summarise(self._sampled(chunks)), merge)

    def rows(self) -> tuple[Float64Array, Float64Array | None]:
        """All of them that have weight, in memory, and their weights."""
        chunks: list[tuple[Float64Array, Float64Array | None]] = self.reduce(_stacked, list.__add__)
        if not chunks:
            return np.empty((0, self.n_columns)), None
        values = np.concatenate([values for values, _ in chunks])
        weights = [mass for _, mass in chunks if mass is not None]
        return values, np.concatenate(weights) if weights else None

    def _sampled(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        start = 0
        for columns, weights in chunks:
            rows = self._chosen(start, len(columns[0]))
            start += len(columns[0])
            if len(rows):
                yield [column[rows] for column in columns], None if weights is None else weights[rows]

    def _chosen(self, start: int, n_rows: int) -> Int64Array:
        """Which of `n_rows` rows that begin with number `start`; the same ones, however a table is divided."""
        blocks = np.arange(start // self.step, -(-(start + n_rows) // self.step), dtype=np.uint64)
        # The last steps of SplitMix64 (Steele, Lea and Flood 2014), which make random numbers of a count.
        mixed = (blocks + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        rows = (blocks * np.uint64(self.step) + mixed % np.uint64(self.step)).astype(np.int64) - start
        return rows[(rows >= 0) & (rows < n_rows)]


def _stacked(chunks: Iterable[Chunk]) -> list[tuple[Float64Array, Float64Array | None]]:
    found: list[tuple[Float64Array, Float64Array | None]] = []
    for columns, weights in chunks:
        values = np.column_stack(columns).astype(float, copy=False)
        found.append((values, None) if weights is None else (values[weights > 0], weights[weights > 0]))
    return found


def open_numeric_columns(
    source: Any, columns: Iterable[str] | str | None, weights: Any, progress: bool
) -> NumericColumns:
    """A table by what it is; no rows of a stream are read yet."""
    if is_source(source):
        return _open_stream(source, columns, weights, progress)
    return _open_table(source, columns, weights)


def source_title(source: Any) -> str | None:
    """What a reader of the page would call the source: the names of files, without where they lie."""
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
        features, _ = features_and_weights(None, weights, opened.names, opened.usual)
        kinds = {name: opened.schema.field(name).type for name in features}
        left_out = {name: NOT_NUMERIC.format(kind) for name, kind in kinds.items() if not is_number(kind)}
        columns = _others(features, left_out)
    # A stream that was opened is handed on, since some give theirs only once.
    handed_on = source if opened.stream is None else opened.stream
    parts = ArrowPartitions(handed_on, weights, columns=columns, progress=progress, argument="weights")
    return NumericColumns(CachedPartitions(parts), parts.names, left_out)


def _open_table(table: Any, columns: Iterable[str] | str | None, weights: Any) -> NumericColumns:
    """A frame or an array, which lies in memory already."""
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        names, kinds = [str(name) for name in table.columns], list(table.dtypes)
    else:
        given = type(table).__name__
        table = table if isinstance(table, np.ndarray) else np.asarray(table)
        if table.ndim != 2:
            raise ValueError(
                "a table must be a frame, an array of two dimensions, rows and columns, files or an Arrow stream, "
                f"got {given} of shape {table.shape}."
            )
        names = [f"x{j}" for j in range(table.shape[1])]
        kinds = [table.dtype] * len(names)
    check_unique(names)
    features, weight_column = features_and_weights(columns, weights, names)
    left_out = {}
    if columns is None:
        wrong = {names[j]: NOT_NUMERIC.format(kinds[j]) for j in non_numeric_columns(table)}
        left_out = {name: wrong[name] for name in features if name in wrong}
        features = _others(features, left_out)
    if weight_column is not None:
        weights = read_frame(_columns(table, [names.index(weight_column)])).values[:, 0]
    values = read_frame(_columns(table, [names.index(name) for name in features])).values
    parts = ArrayPartitions(values, as_weights(weights, len(values), "weights"), names=features)
    return NumericColumns(parts, features, left_out, named=hasattr(table, "columns"))


def _columns(table: Any, places: list[int]) -> Any:
    """Columns by position, since frames may have names that are no strings; the table itself where that is all."""
    if places == list(range(table.shape[1])):
        return table
    return table.iloc[:, places] if hasattr(table, "iloc") else table[:, places]


def _others(features: list[str], left_out: dict[str, str]) -> list[str]:
    numeric = [name for name in features if name not in left_out]
    if not numeric:
        raise ValueError(f"there is no numeric column to explore; the columns are {format_names(features, 20)}.")
    return numeric
