"""Sources: tables that are read as a stream of Arrow batches and never as a whole.

A source is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars LazyFrame, a DuckDB
relation), the path of a Parquet or CSV file, a glob, or a list of paths and globs:

    files, frames, relations ──▶ Source: names, types ──▶ batches of some 100,000 rows ──▶ columns as NumPy arrays

pyarrow is imported when a source is opened.
"""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakSet

from kdi._utils.names import as_name_list, check_columns, check_unique
from kdi._utils.progress import with_progress

if TYPE_CHECKING:
    import pyarrow as pa

PYARROW_SOURCES = {"Table", "RecordBatch", "RecordBatchReader", "Dataset", "Scanner"}
ENGINES = {"dask": "kdi.dask", "pyspark": "kdi.spark"}


def is_source(X: Any) -> bool:
    """Return whether X is to be read as a stream of Arrow batches; frames and arrays in memory are not.

    Tables of engines are an error: never load engine tables implicitly.
    """
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(one, str | os.PathLike) for one in X)
    if isinstance(X, str | os.PathLike | Source) or is_lazy_frame(X) or _is_relation(X):
        return True
    libraries = {library for library, _ in _classes(X)}
    for library, module in ENGINES.items():
        if library in libraries:
            raise TypeError(
                f"a table of {library} is not loaded into memory; use {module}.fit(estimator, X) and "
                f"{module}.transform(estimator, X)."
            )
    if "pyarrow" in libraries:
        return any(_is_a(X, "pyarrow", name) for name in PYARROW_SOURCES)
    return not libraries & {"pandas", "polars"} and hasattr(type(X), "__arrow_c_stream__")


def is_lazy_frame(X: Any) -> bool:
    """Return whether X is a polars LazyFrame."""
    return _is_a(X, "polars", "LazyFrame")


def is_dataframe(X: Any) -> bool:
    """Return whether X is a DataFrame of pandas or polars."""
    return _is_a(X, "pandas", "DataFrame") or _is_a(X, "polars", "DataFrame")


def _is_relation(X: Any) -> bool:
    return _is_a(X, "duckdb", "DuckDBPyRelation")


def _is_a(X: Any, library: str, name: str) -> bool:
    return (library, name) in _classes(X)


def _classes(X: Any) -> list[tuple[str, str]]:
    """List the classes of X as (library, name), which needs no import of the library."""
    return [(one.__module__.partition(".")[0].lstrip("_"), one.__name__) for one in type(X).__mro__]


def require_pyarrow() -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("streams, Parquet and CSV files are read with pyarrow: pip install 'kdi[arrow]'") from error
    return pyarrow


class Source(ABC):
    """A table that is read in batches; there is one subclass per kind.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types of the columns; every batch has them.
    names : list of str
        Names of the columns.
    rereadable : bool
        Whether the rows can be read more than once.
    """

    rereadable = True

    def __init__(self, schema: pa.Schema) -> None:
        self._set_schema(schema)

    def _set_schema(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.names: list[str] = list(schema.names)  # made once: loops over wide tables would take quadratic time

    @abstractmethod
    def read(self, names: list[str]) -> Iterable[pa.RecordBatch]:
        """Read these columns of all rows, in batches of any size."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, or None if it is known only after reading them."""
        return None

    def share(self) -> float | None:
        """Return how much of the source has been read, from 0 to 1, or None if only `n_rows` is known."""
        return None

    @property
    def identifier_columns(self) -> Collection[str]:
        """The columns that look like numbers but are identifiers, such as 007."""
        return frozenset()

    @property
    def feature_columns(self) -> list[str]:
        """The columns that are features by default: all but an index that pandas wrote beside them."""
        from kdi._tables.arrow import index_columns

        index = index_columns(self.schema)
        return [name for name in self.names if name not in index] or self.names

    def batches(self, progress: bool = False) -> Iterator[pa.RecordBatch]:
        """Read all rows as RecordBatches of even size; a source that can be read only once raises the second time."""
        from kdi._tables.arrow import even_batches, rows_per_batch

        batches = even_batches(self.read(self.names), rows_per_batch(len(self.schema)))
        return with_progress(batches, self.n_rows, self.share) if progress else batches

    def select(self, columns: Iterable[str] | str) -> Self:
        """Return the same rows with these columns only, in this order."""
        from kdi._tables.arrow import select_fields

        chosen = as_name_list(columns)
        check_columns(chosen, self.names)
        selected = copy.copy(self)
        selected._set_schema(select_fields(self.schema, chosen))
        return selected


def open_source(
    source: Any,
    columns: Iterable[str] | str | None = None,
    *,
    numeric_columns: Collection[str] | None = None,
    keep_text: bool = False,
) -> Source:
    """Open a source of any kind; no rows are read yet.

    Parameters
    ----------
    source : path, glob or list of them, object with an Arrow stream, DataFrame or Source
    columns : list of str, optional
        The columns to read, in this order; all by default.
    numeric_columns : collection of str, optional
        The columns that will be used as numbers: integers of a CSV file are then read as floats, since fractions may
        follow. All by default.
    keep_text : bool, default=False
        Read the other columns of CSV files as the text that is in the file, not in the inferred types.
    """
    opened = source if isinstance(source, Source) else _open(source, numeric_columns, keep_text)
    check_unique(opened.names)
    return opened.select(opened.names if columns is None else columns)


def _open(source: Any, numeric_columns: Collection[str] | None, keep_text: bool) -> Source:
    pa = require_pyarrow()
    if is_dataframe(source):
        is_pandas = _is_a(source, "pandas", "DataFrame")
        source = pa.Table.from_pandas(source, preserve_index=False) if is_pandas else source.to_arrow()
    if not is_source(source):
        raise TypeError(
            "source must be a path, a glob, a list of them or an object with an Arrow stream (a pyarrow Table, "
            "RecordBatchReader or Dataset, a polars LazyFrame, a DuckDB relation), got "
            f"{type(source).__name__}."
        )
    if isinstance(source, str | os.PathLike | list | tuple):
        from kdi._tables.files import FileSource, expand_paths

        return FileSource(expand_paths(source), numeric_columns, keep_text=keep_text)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return TableSource(source)
    if _is_a(source, "pyarrow", "Dataset"):
        return DatasetSource(source)
    if _is_a(source, "pyarrow", "Scanner"):
        return OneTimeSource(source, source.projected_schema)
    if is_lazy_frame(source):
        return LazyFrameSource(source)
    if _is_relation(source):
        return RelationSource(source)
    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    return OneTimeSource(reader, reader.schema)


class TableSource(Source):
    """A pyarrow Table in memory."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table.schema)
        self._table = table

    @property
    def n_rows(self) -> int:
        return int(self._table.num_rows)

    def read(self, names: list[str]) -> Iterable[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = self._table.select(names).to_batches()
        return batches


class OneTimeSource(Source):
    """A RecordBatchReader or Scanner of pyarrow: it is used up by reading it."""

    rereadable = False
    _used_up: ClassVar[WeakSet[Any]] = WeakSet()  # a stream may be opened more than once, but read only once

    def __init__(self, stream: Any, schema: pa.Schema) -> None:
        super().__init__(schema)
        self._stream = stream

    def read(self, names: list[str]) -> Iterable[pa.RecordBatch]:
        if self._stream in self._used_up:  # it would look like a source without rows
            raise ValueError(
                "this source can be read only once and has been read; use a Table, a Dataset or the paths of files, "
                "which can be read again."
            )
        self._used_up.add(self._stream)
        batches = self._stream.to_batches() if hasattr(self._stream, "to_batches") else self._stream
        return (batch.select(names) for batch in batches)


class DatasetSource(Source):
    """A pyarrow Dataset, which is read one fragment (file) after the other."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset.schema)
        self._dataset = dataset
        try:
            self._fragments: list[Any] | None = list(dataset.get_fragments())
        except ValueError:  # a filtered dataset does not have them
            self._fragments = None

    @cached_property
    def n_rows(self) -> int | None:
        """The number of rows from the footers of Parquet files; None for other datasets."""
        import pyarrow.dataset as ds

        fragments = self._fragments
        if fragments is None or not all(isinstance(one, ds.ParquetFileFragment) for one in fragments):
            return None
        return sum(int(one.count_rows()) for one in fragments)

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        from kdi._tables.arrow import conform_batch, select_fields
        from kdi._tables.files import file_errors

        if self._fragments is None:
            yield from _scan(self._dataset, names, fragment_readahead=1)
            return
        target = select_fields(self._dataset.schema, names)
        for fragment in self._fragments:
            with file_errors(getattr(fragment, "path", "the dataset")):
                for batch in self._read_fragment(fragment, names):
                    yield conform_batch(batch, target)

    def _read_fragment(self, fragment: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow.dataset as ds

        from kdi._tables.files import read_parquet

        # Columns that are not in the file come from its path or are null; the scanner adds them, at more memory.
        if isinstance(fragment, ds.ParquetFileFragment) and set(names) <= set(fragment.physical_schema.names):
            return read_parquet(fragment.open(), names, [group.id for group in fragment.row_groups])
        return _scan(fragment, names, schema=self._dataset.schema)


def _scan(dataset: Any, names: list[str], **options: Any) -> Iterator[pa.RecordBatch]:
    """Read a dataset or a fragment of one with pyarrow's scanner."""
    import pyarrow.dataset as ds

    from kdi._tables.arrow import rows_per_batch

    # Do not read row groups ahead: a scanner that is faster than its consumer would load the whole file.
    if isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
    options |= {"columns": names, "batch_size": rows_per_batch(len(names)), "batch_readahead": 0}
    yield from dataset.scanner(**options).to_batches()


class LazyFrameSource(Source):
    """A polars LazyFrame, which polars' streaming engine reads."""

    def __init__(self, frame: Any) -> None:
        import polars as pl

        if not hasattr(frame, "collect_batches"):
            raise ImportError("a LazyFrame is streamed by polars 1.34 or later: pip install -U polars")
        super().__init__(pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema)
        self._frame = frame

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        from kdi._tables.arrow import BATCH_ROWS, conform_batch, rows_per_batch, select_fields

        target, n_rows = select_fields(self.schema, names), min(BATCH_ROWS, rows_per_batch(len(names)))
        frames = self._frame.select(names).collect_batches(chunk_size=n_rows, lazy=True, engine="streaming")
        for frame in frames:
            for batch in frame.to_arrow().to_batches():
                yield conform_batch(batch, target)


class RelationSource(Source):
    """A DuckDB relation."""

    def __init__(self, relation: Any) -> None:
        super().__init__(_relation_reader(relation.limit(0), 1).schema)
        self._relation = relation

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        from kdi._tables.arrow import BATCH_ROWS, rows_per_batch

        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        yield from _relation_reader(self._relation.project(columns), min(BATCH_ROWS, rows_per_batch(len(names))))


def _relation_reader(relation: Any, n_rows: int) -> Any:
    """Open a RecordBatchReader; older versions of DuckDB call it otherwise."""
    reader = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
    return reader(n_rows)
