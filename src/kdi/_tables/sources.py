"""Sources: tables that are read as a stream of Arrow batches and never as a whole.

A source is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars LazyFrame, a DuckDB
relation), the path of a Parquet or CSV file, a glob of them, or a list of these:

    files, frames, relations ──▶ Source: names, types ──▶ batches of some 100,000 rows ──▶ columns as NumPy arrays

pyarrow is imported when a source is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakSet

from kdi._utils.names import as_name_list, check_columns, check_unique
from kdi._utils.progress import with_progress

PYARROW_SOURCES = {"Table", "RecordBatch", "RecordBatchReader", "Dataset", "Scanner"}


ENGINES = {"dask": "kdi.dask", "pyspark": "kdi.spark"}


def is_source(X: Any) -> bool:
    """Whether X is to be read as a stream of Arrow batches; frames and arrays in memory are not.

    Tables of engines are neither: loading them here in silence is what nobody wants.
    """
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(one, str | os.PathLike) for one in X)
    if isinstance(X, str | os.PathLike) or is_lazy_frame(X) or _is_a(X, "duckdb", "DuckDBPyRelation"):
        return True
    libraries = {library for library, _ in _classes(X)}
    for library, module in ENGINES.items():
        if library in libraries:
            raise TypeError(
                f"a table of {library} is fitted and transformed where it is, by {module}.fit(estimator, X) and "
                f"{module}.transform(estimator, X)."
            )
    if "pyarrow" in libraries:
        return any(_is_a(X, "pyarrow", name) for name in PYARROW_SOURCES)
    return not libraries & {"pandas", "polars"} and hasattr(type(X), "__arrow_c_stream__")


def is_lazy_frame(X: Any) -> bool:
    """Whether X is a LazyFrame of polars."""
    return _is_a(X, "polars", "LazyFrame")


def is_dataframe(X: Any) -> bool:
    """Whether X is a DataFrame of pandas or polars."""
    return _is_a(X, "pandas", "DataFrame") or _is_a(X, "polars", "DataFrame")


def _classes(X: Any) -> list[tuple[str, str]]:
    """Library and name of the classes that X is an instance of; nothing is imported to know."""
    return [(one.__module__.partition(".")[0].lstrip("_"), one.__name__) for one in type(X).__mro__]


def _is_a(X: Any, library: str, name: str) -> bool:
    return (library, name) in _classes(X)


def require_pyarrow() -> Any:
    """The module pyarrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("streams, Parquet and CSV files are read with pyarrow: pip install 'kdi[arrow]'") from error
    return pyarrow


_USED_UP: WeakSet[Any] = WeakSet()  # streams that have been read


@dataclass
class Source:
    """A table that is read in batches.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types of the columns; every batch has them.
    read : callable
        Takes names of columns, and gives batches of them.
    count : callable
        Gives the number of rows where it is known without reading them, else None.
    stream : object, optional
        What is used up by reading it, where that is so.
    find_keys : callable
        Gives the columns that look like numbers, but are keys, such as 007.
    share : callable
        Gives how much of the source has been read, from 0 to 1, where that is known without the number of rows.
    """

    schema: Any
    read: Callable[[list[str]], Iterable[Any]]
    count: Callable[[], int | None] = lambda: None
    stream: Any = None
    find_keys: Callable[[], Collection[str]] = frozenset
    share: Callable[[], float | None] = lambda: None

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read a second time."""
        return self.stream is None

    @cached_property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @cached_property
    def keys(self) -> Collection[str]:
        """The columns that look like numbers, but are keys."""
        return self.find_keys()

    @property
    def usual(self) -> list[str]:
        """The columns that are features where nothing is said of it: all but an index of pandas."""
        from kdi._tables.arrow import index_columns

        index = index_columns(self.schema)
        return [name for name in self.names if name not in index] or self.names

    @cached_property
    def n_rows(self) -> int | None:
        return self.count()

    def batches(self, progress: bool = False) -> Iterator[Any]:
        """The rows from the first on, as pyarrow RecordBatches that are neither very small nor very large."""
        from kdi._tables.arrow import even_batches, rows_at_once

        if self.stream is not None:
            if self.stream in _USED_UP:  # or else it would look like one without rows
                raise ValueError(
                    "this source can be read only once, and has been; a Table, a Dataset or the paths of files can be "
                    "read again."
                )
            _USED_UP.add(self.stream)
        batches = even_batches(self.read(self.names), rows_at_once(len(self.schema)))
        return with_progress(batches, self.n_rows, self.share) if progress else batches

    def select(self, columns: Iterable[str] | str) -> Source:
        """The same rows with these columns only, in this order."""
        from kdi._tables.arrow import select_fields

        chosen = as_name_list(columns)
        check_columns(chosen, self.names)
        return replace(self, schema=select_fields(self.schema, chosen))


def open_source(
    source: Any,
    columns: Iterable[str] | str | None = None,
    *,
    numbers: Collection[str] | None = None,
    text: bool = False,
) -> Source:
    """A source by what it holds; no rows are read yet.

    Parameters
    ----------
    source : path, glob or list of them, object with an Arrow stream, or DataFrame
    columns : list of str, optional
        The columns to read, in this order; all by default.
    numbers : collection of str, optional
        The columns that will be taken as numbers: integers of a CSV file are then floats, since fractions may follow.
        All by default.
    text : bool, default=False
        Read the other columns of CSV files as the text that stands there, not in the types that it suggests.
    """
    opened = _open(source, numbers, text)
    check_unique(opened.names)
    return opened.select(opened.names if columns is None else columns)


def _open(source: Any, numbers: Collection[str] | None, text: bool) -> Source:
    pa = require_pyarrow()
    if is_dataframe(source):
        is_pandas = _is_a(source, "pandas", "DataFrame")
        source = pa.Table.from_pandas(source, preserve_index=False) if is_pandas else source.to_arrow()
    if not is_source(source):
        raise TypeError(
            "a source is a path, a glob or a list of them, or has an Arrow stream (a pyarrow Table, RecordBatchReader "
            f"or Dataset, a polars LazyFrame, a DuckDB relation), got {type(source).__name__}."
        )
    if isinstance(source, str | os.PathLike | list | tuple):
        from kdi._tables.files import Files, expand_paths

        files = Files(expand_paths(source), numbers, text=text)
        return Source(files.schema, files.read, files.count, find_keys=files.find_keys, share=files.share)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return Source(source.schema, lambda names: source.select(names).to_batches(), lambda: source.num_rows)
    if _is_a(source, "pyarrow", "Dataset"):
        return _open_dataset(source)
    if _is_a(source, "pyarrow", "Scanner"):
        return Source(source.projected_schema, lambda names: _chosen(source.to_batches(), names), stream=source)
    if is_lazy_frame(source):
        return _open_lazy_frame(source)
    if _is_a(source, "duckdb", "DuckDBPyRelation"):
        return _open_relation(source)
    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    return Source(reader.schema, lambda names: _chosen(reader, names), stream=reader)


def _chosen(batches: Iterable[Any], names: list[str]) -> Iterator[Any]:
    return (batch.select(names) for batch in batches)


def _open_dataset(dataset: Any) -> Source:
    import pyarrow.dataset as ds

    from kdi._tables.arrow import conform_batch, rows_at_once, select_fields
    from kdi._tables.files import read_parquet, reading

    try:
        fragments: list[Any] | None = list(dataset.get_fragments())
    except ValueError:  # a filtered dataset does not tell
        fragments = None

    def scan(one: Any, names: list[str], **options: Any) -> Iterator[Any]:
        # Row groups are not fetched ahead of their turn: the whole file would be, where the scanner is faster than we.
        if isinstance(getattr(one, "format", None), ds.ParquetFileFormat):
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        options |= {"columns": names, "batch_size": rows_at_once(len(names)), "batch_readahead": 0}
        yield from one.scanner(**options).to_batches()

    def read_fragment(one: Any, names: list[str]) -> Iterator[Any]:
        # Columns that are not in the file come from its path, or are null: a matter for the scanner, at more memory.
        if isinstance(one, ds.ParquetFileFragment) and set(names) <= set(one.physical_schema.names):
            return read_parquet(one.open(), names, [group.id for group in one.row_groups])
        return scan(one, names, schema=dataset.schema)

    def read(names: list[str]) -> Iterator[Any]:
        if fragments is None:
            yield from scan(dataset, names, fragment_readahead=1)
            return
        wanted = select_fields(dataset.schema, names)
        for one in fragments:
            with reading(getattr(one, "path", "the dataset")):
                for batch in read_fragment(one, names):
                    yield conform_batch(batch, wanted)

    def count() -> int | None:
        if fragments is None or not all(isinstance(one, ds.ParquetFileFragment) for one in fragments):
            return None
        return sum(int(one.count_rows()) for one in fragments)  # which the files tell

    return Source(dataset.schema, read, count)


def _open_lazy_frame(frame: Any) -> Source:
    import polars as pl

    from kdi._tables.arrow import BATCH_ROWS, conform_batch, rows_at_once, select_fields

    if not hasattr(frame, "collect_batches"):
        raise ImportError("a LazyFrame is streamed by polars 1.34 or later: pip install -U polars")
    schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema

    def read(names: list[str]) -> Iterator[Any]:
        wanted, rows = select_fields(schema, names), min(BATCH_ROWS, rows_at_once(len(names)))
        stream = frame.select(names).collect_batches(chunk_size=rows, lazy=True, engine="streaming")
        for part in stream:
            for batch in part.to_arrow().to_batches():
                yield conform_batch(batch, wanted)

    return Source(schema, read)


def _open_relation(relation: Any) -> Source:
    from kdi._tables.arrow import BATCH_ROWS, rows_at_once

    def stream(one: Any, rows: int) -> Any:
        return one.to_arrow_reader(rows) if hasattr(one, "to_arrow_reader") else one.fetch_arrow_reader(rows)

    def read(names: list[str]) -> Iterator[Any]:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        yield from stream(relation.project(columns), min(BATCH_ROWS, rows_at_once(len(names))))

    return Source(stream(relation.limit(0), 1).schema, read)
