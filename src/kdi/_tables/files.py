"""Parquet and CSV files: many of them are one source.

The schemas of all files are read first: missing columns and unreadable files are errors before the first row. Types may
differ from file to file, as may the order of the columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow_types
from pyarrow import csv
from pyarrow import parquet as pq

from kdi._tables.arrow import common_type, conform_batch, rows_per_batch, select_fields
from kdi._tables.csv_errors import CSVError, NotNumericError, csv_error, not_numeric_error
from kdi._tables.sinks import CSV_SUFFIXES, FileFormat
from kdi._tables.sources import Source
from kdi._utils.errors import TableError
from kdi._utils.names import check_unique, format_names

SUFFIXES: dict[str, FileFormat] = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".csv.gz": "CSV"}
WRITE_CSV = "write CSV to pass the column through as text"  # advice for columns that pass through
BUFFER_BYTES = 2**24  # bytes read ahead of a Parquet file, all columns together

# Patterns of identifiers that look like numbers: converted to the inferred type they would lose leading zeros, 0x, a
# plus sign or their last digits.
IDENTIFIER_PATTERNS = {
    "integer": r"^\s*(-?0[0-9]|0[xX]|\+)",
    "float": r"^\s*(-?0[0-9]|0[xX]|\+[0-9]+\s*$|-?[0-9]{16,}\s*$)",
}


def expand_paths(paths: Any) -> list[str]:
    """List the files that paths and globs stand for: in the order given, those of a glob sorted."""
    files = []
    for one in paths if isinstance(paths, list | tuple) else [paths]:
        path = os.path.expanduser(os.fsdecode(one))
        if os.path.exists(path):
            files.append(path)
        elif has_magic(path):
            found = sorted(name for name in glob(path, recursive=True) if not ("**" in path and os.path.isdir(name)))
            if not found:
                raise FileNotFoundError(f"no file matches {path!r}.")
            files += found
        else:
            raise FileNotFoundError(f"there is no file {path!r}.")
    for path in files:
        if os.path.isdir(path):
            raise ValueError(
                f"{path!r} is a directory; a glob such as {os.path.join(path, '*.parquet')!r} names the files in it."
            )
    return files


def file_format(path: str) -> FileFormat:
    """Return the format of a file to read, by its suffix."""
    for suffix, suffix_format in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return suffix_format
    raise ValueError(f"file names must end in {', '.join(SUFFIXES)}, got {path!r}.")


@contextmanager
def file_errors(path: str, names: list[str] | None = None) -> Iterator[None]:
    """Translate pyarrow's errors of reading a file: they name the file, and the column if `names` are all columns."""
    try:
        yield
    except PermissionError as error:
        raise PermissionError(f"{path} cannot be read: permission denied.") from error
    except (MemoryError, FileNotFoundError, pa.ArrowCancelled):
        raise
    except (pa.ArrowException, OSError, UnicodeError, CSVError) as error:
        if path.lower().endswith(CSV_SUFFIXES):
            raise csv_error(path, error, names) from error
        raise ValueError(f"{path} cannot be read: {error}") from error


@dataclass(frozen=True)
class _File:
    path: str
    schema: pa.Schema
    n_rows: int | None  # None for CSV files


class FileSource(Source):
    """Parquet files or CSV files as one table.

    Parameters
    ----------
    paths : list of str
    numeric_columns : collection of str, optional
        The columns that will be used as numbers: integers of a CSV file are then read as floats, since fractions may
        follow. All by default.
    keep_text : bool, default=False
        Read the other columns of CSV files as the text that is in the file, an empty field being null, not in the
        inferred types.
    """

    def __init__(
        self, paths: list[str], numeric_columns: Collection[str] | None = None, *, keep_text: bool = False
    ) -> None:
        formats = {file_format(path): path for path in paths}
        if len(formats) > 1:
            both = " and ".join(map(repr, formats.values()))
            raise ValueError(f"files must all be Parquet or all be CSV, got {both}.")
        self._is_csv = "CSV" in formats
        self._files = [_inspect_csv(path) if self._is_csv else _inspect_parquet(path) for path in paths]
        self._keep_text = keep_text
        schema = self._inferred = _common_schema(self._files)
        # Other columns that begin with numbers: they are read as text first, as identifiers may follow.
        self._checked_patterns: dict[str, str] = {}
        self._bytes_read: Callable[[], int] = lambda: 0
        if self._is_csv:
            numeric = None if numeric_columns is None else set(numeric_columns)
            others = [] if numeric is None else [name for name in schema.names if name not in numeric]
            text = set(others) if keep_text else self._find_identifiers(others)
            if not keep_text:
                patterns = self._identifier_patterns(others)
                self._checked_patterns = {name: pattern for name, pattern in patterns.items() if name not in text}
            schema = _csv_types(schema, numeric, text)
        super().__init__(schema)

    @property
    def n_rows(self) -> int | None:
        """The number of rows from the footers of Parquet files; None for CSV files."""
        return None if self._is_csv else sum(file.n_rows or 0 for file in self._files)

    def share(self) -> float | None:
        """Return the share of the bytes of CSV files that has been read."""
        size = sum(os.path.getsize(file.path) for file in self._files)
        return min(self._bytes_read() / size, 1.0) if self._is_csv and size else None

    @cached_property
    def identifier_columns(self) -> set[str]:
        """The columns with identifiers in the first block of a file."""
        return self._find_identifiers(self._inferred.names) if self._is_csv else set()

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        target = select_fields(self.schema, names)
        bytes_before = 0
        for file in self._files:
            with file_errors(file.path, file.schema.names):
                is_csv = self._is_csv
                batches = self._read_csv(file.path, target, bytes_before) if is_csv else read_parquet(file.path, names)
                for batch in batches:
                    yield conform_batch(batch, target)
            bytes_before += os.path.getsize(file.path)

    def _identifier_patterns(self, names: list[str]) -> dict[str, str]:
        """Select the columns that begin with numbers, and the pattern of identifiers for each."""
        patterns = {}
        for name in names:
            inferred = self._inferred.field(name).type
            if arrow_types.is_integer(inferred):
                patterns[name] = IDENTIFIER_PATTERNS["integer"]
            elif arrow_types.is_floating(inferred):
                patterns[name] = IDENTIFIER_PATTERNS["float"]
        return patterns

    def _find_identifiers(self, names: list[str]) -> set[str]:
        """Select the columns with identifiers in the first block of a file."""
        found: set[str] = set()
        patterns = self._identifier_patterns(names)
        if not patterns:
            return found
        target = pa.schema([(name, pa.string()) for name in patterns])
        for file in self._files:
            with file_errors(file.path, file.schema.names), _csv_reader(file.path, target) as (reader, _):
                first = next(iter(reader), None)
                if first is not None:
                    found |= {
                        name
                        for name, pattern in patterns.items()
                        if _first_match(first.column(name), pattern) is not None
                    }
        return found

    def _read_csv(self, path: str, target: pa.Schema, bytes_before: int) -> Iterator[pa.RecordBatch]:
        """Read a file; the files before it have `bytes_before` bytes."""
        text = set(target.names) if self._keep_text else set(self._checked_patterns)
        as_text = pa.schema([one.with_type(pa.string()) if one.name in text else one for one in target])
        n_rows = 0
        try:
            with _csv_reader(path, as_text, keep_text=self._keep_text) as (reader, tell):
                self._bytes_read = lambda: bytes_before + tell()
                for batch in reader:
                    yield self._convert(batch, target, n_rows)
                    n_rows += batch.num_rows
                bytes_in_total = bytes_before + tell()
                self._bytes_read = lambda: bytes_in_total  # the file is closed before its last rows are used
        except pa.ArrowInvalid:
            # Read it again: only without threads does pyarrow report the row.
            with _csv_reader(path, as_text, threads=False, keep_text=self._keep_text) as (reader, _):
                for _ in reader:
                    pass
            raise

    def _convert(self, batch: pa.RecordBatch, target: pa.Schema, start: int) -> pa.RecordBatch:
        """Convert columns that were read as text to numbers; identifiers are an error. `start` rows came before."""
        columns = list(batch.columns)
        for j, name in enumerate(batch.schema.names):
            kind = target.field(j).type
            if columns[j].type == kind:
                continue
            pattern = self._checked_patterns.get(name)
            identifier = None if pattern is None else _first_match(columns[j], pattern)
            if identifier is not None:
                problem = f"column {name!r} begins with numbers, but {identifier!r} is an identifier"
                row = start + 2 + pc.index(columns[j], identifier).as_py()
                raise CSVError(problem, column=name, row=row, advice=WRITE_CSV)
            try:
                columns[j] = numbers_from_text(columns[j], kind, name)
            except NotNumericError as error:
                located = error.after(start)
                raise (located if pattern is None else located.with_advice(WRITE_CSV)) from error
        return pa.RecordBatch.from_arrays(columns, schema=target)


def _first_match(column: pa.Array, pattern: str) -> str | None:
    """Return the first value of a column that matches a pattern, if there is one."""
    matches = column.filter(pc.match_substring_regex(column, pattern))
    return matches[0].as_py() if len(matches) else None


def _inspect_parquet(path: str) -> _File:
    with file_errors(path), pq.ParquetFile(path) as file:
        return _File(path, file.schema_arrow, file.metadata.num_rows)


def read_parquet(file: Any, names: list[str], row_groups: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file in little memory: page by page, not by whole row groups."""
    buffer_size = int(np.clip(BUFFER_BYTES // len(names), 2**14, 2**20))
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=buffer_size, page_checksum_verification=True) as opened:
        yield from opened.iter_batches(rows_per_batch(len(names)), row_groups=row_groups, columns=names)


def _inspect_csv(path: str) -> _File:
    with file_errors(path), _csv_reader(path, threads=False) as (reader, _):
        reader.schema.names  # noqa: B018 (names that are not UTF-8 raise here, where the file is known)
        return _File(path, reader.schema, None)


def numbers_from_text(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Convert a column of a CSV file from text; errors count rows as if it were the beginning of the file."""
    text = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(text, pa.array(csv.ConvertOptions().null_values))
    try:
        return pc.cast(pc.if_else(missing, pa.scalar(None, text.type), text), kind)
    except pa.ArrowInvalid as error:
        value = str(error).partition("'")[2].rpartition("'")[0]  # only the message of pyarrow has it
        raise not_numeric_error(name, value, str(kind), 2 + pc.index(text, value).as_py()) from error


@contextmanager
def _csv_reader(
    path: str, target: pa.Schema | None = None, *, threads: bool = True, keep_text: bool = False
) -> Iterator[tuple[Any, Callable[[], int]]]:
    """Open a reader of a CSV file, and a function that returns how many bytes of the file it has read.

    Types that are not given are inferred from the first block of the file. Errors have a row only without threads.
    With `keep_text`, an empty field is null, and everything else, "" and NA too, is text.
    """
    types = {} if target is None else dict(zip(target.names, target.types, strict=True))
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    if keep_text:
        options.null_values, options.strings_can_be_null, options.quoted_strings_can_be_null = [""], True, False
    parsing = csv.ParseOptions(newlines_in_values=True)  # otherwise a field that two blocks share is split
    with ExitStack() as stack:
        file = stream = stack.enter_context(pa.OSFile(path))
        if path.lower().endswith(".gz"):
            stream = stack.enter_context(pa.CompressedInputStream(file, "gzip"))
        how = {"read_options": csv.ReadOptions(use_threads=threads), "parse_options": parsing}
        yield stack.enter_context(csv.open_csv(stream, convert_options=options, **how)), file.tell


def _csv_types(schema: pa.Schema, numeric: set[str] | None, text: set[str]) -> pa.Schema:
    """Choose the types to read CSV files with, from those inferred from the first blocks."""
    fields = []
    for field in schema:
        is_numeric = numeric is None or field.name in numeric
        if field.name in text:
            fields.append(field.with_type(pa.string()))
        elif is_numeric and (arrow_types.is_integer(field.type) or arrow_types.is_null(field.type)):
            fields.append(field.with_type(pa.float64()))  # fractions may follow
        elif arrow_types.is_null(field.type):
            fields.append(field.with_type(pa.string()))  # anything may follow
        else:
            fields.append(field)
    return pa.schema(fields)


def _common_schema(files: list[_File]) -> pa.Schema:
    """Return the schema of the first file with types that hold those of all the others."""
    for file in files:
        check_unique(file.schema.names, f" in {file.path}")
    first, *others = files
    fields = {field.name: field for field in first.schema}
    for file in others:
        for one, other in ((file, first), (first, file)):
            absent = set(other.schema.names).difference(one.schema.names)
            if absent:
                names = sorted(absent)
                raise TableError(
                    f"{one.path} has no column {format_names(names)}, which {other.path} has", column=names[0]
                )
        for field in file.schema:
            fields[field.name] = _common_field(fields[field.name], field, file.path)
    return pa.schema(list(fields.values()), metadata=first.schema.metadata)


def _common_field(before: pa.Field, field: pa.Field, path: str) -> pa.Field:
    try:
        kind = before.type if before.type == field.type else common_type(before.type, field.type)
    except pa.ArrowException as error:
        problem = f"column {field.name!r} holds {field.type} in {path}, but {before.type} in an earlier file"
        raise TableError(problem, column=field.name) from error
    return before.with_type(kind).with_nullable(before.nullable or field.nullable)
