"""Parquet and CSV files, many of them as one table.

The schemas of all files are read first: what is missing, and which files cannot be read, is known before the first row.
Types may differ from file to file, as may the order of the columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from pyarrow import csv
from pyarrow import parquet as pq

from kdi._tables.arrow import common_type, conform_batch, rows_at_once, select_fields
from kdi._tables.csv_errors import NotNumeric, csv_error, not_numeric
from kdi._utils.names import check_unique, format_names

SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".csv.gz": "CSV"}
TEXT = tuple(suffix for suffix, kind in SUFFIXES.items() if kind == "CSV")
AS_CSV = "as CSV it could pass through as it is"  # a hint for columns that pass through
BUFFERS = 2**24  # bytes read ahead of a Parquet file, all columns together

# What looks like a number, but is a name or a key: as a number it would lose its zeros, its 0x, its plus, or its last
# digits.
KEY = {
    "integer": r"^\s*(-?0[0-9]|0[xX]|\+)",
    "float": r"^\s*(-?0[0-9]|0[xX]|\+[0-9]+\s*$|-?[0-9]{16,}\s*$)",
}


def expand_paths(paths: Any) -> list[str]:
    """The files that paths and globs stand for: in the order given, those of a glob sorted."""
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


def file_format(path: str) -> str:
    """Parquet or CSV, by the suffix."""
    for suffix, kind in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return kind
    raise ValueError(f"names of files must end in {', '.join(SUFFIXES)}, got {path!r}.")


@contextmanager
def reading(path: str, names: list[str] | None = None) -> Iterator[None]:
    """Errors of pyarrow that say which file they are about, and which column."""
    try:
        yield
    except PermissionError as error:
        raise PermissionError(f"{path} cannot be read: permission denied.") from error
    except (MemoryError, FileNotFoundError, pa.ArrowCancelled):
        raise
    except (pa.ArrowException, OSError, UnicodeError, NotNumeric) as error:
        if path.lower().endswith(TEXT):
            raise csv_error(path, error, names) from error
        raise ValueError(f"{path} cannot be read: {error}") from error


@dataclass(frozen=True)
class _File:
    path: str
    schema: pa.Schema
    n_rows: int | None


class Files:
    """Files as one table.

    Parameters
    ----------
    paths : list of str
    numbers : collection of str, optional
        The columns that will be taken as numbers: integers of a CSV file are then floats, since fractions may follow.
        All by default.
    text : bool, default=False
        Read the other columns of CSV files as the text that stands there, an empty field being null, rather than in
        the types that it suggests.
    """

    def __init__(self, paths: list[str], numbers: Collection[str] | None = None, *, text: bool = False) -> None:
        kinds_found = {file_format(path): path for path in paths}
        if len(kinds_found) > 1:
            both = " and ".join(map(repr, kinds_found.values()))
            raise ValueError(f"files must all be Parquet or all be CSV, got {both}.")
        self._is_text = "CSV" in kinds_found
        self._files = [_inspect_csv(path) if self._is_text else _inspect_parquet(path) for path in paths]
        self._as_it_stands = text
        self.schema = self._found = _common_schema(self._files)
        self._signs: dict[str, str] = {}  # columns that pass through as numbers, and what in them would be none
        self._position: Callable[[], int] = lambda: 0  # bytes that have been read
        if self._is_text:
            features = None if numbers is None else set(numbers)
            passing = [] if features is None else [name for name in self.schema.names if name not in features]
            as_text = set(passing) if text else self._keys_among(passing)
            if not text:
                self._signs = {name: sign for name, sign in self._signs_of(passing).items() if name not in as_text}
            self.schema = _text_schema(self.schema, features, as_text)

    def count(self) -> int | None:
        """The number of rows, which Parquet files tell."""
        return None if self._is_text else sum(file.n_rows or 0 for file in self._files)

    def share(self) -> float | None:
        """How much of CSV files has been read, in bytes."""
        size = sum(os.path.getsize(file.path) for file in self._files)
        return min(self._position() / size, 1.0) if self._is_text and size else None

    def find_keys(self) -> set[str]:
        """The columns in whose beginnings numbers are keys."""
        return self._keys_among(self._found.names) if self._is_text else set()

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = select_fields(self.schema, names)
        before = 0
        for file in self._files:
            with reading(file.path, file.schema.names):
                batches = self._read_csv(file.path, wanted, before) if self._is_text else read_parquet(file.path, names)
                for batch in batches:
                    yield conform_batch(batch, wanted)
            before += os.path.getsize(file.path)

    def _signs_of(self, names: list[str]) -> dict[str, str]:
        """Which of these columns begin with numbers, and the sign of a key in each."""
        types = {name: self._found.field(name).type for name in names}
        kind_of_number = {name: "integer" if kinds.is_integer(kind) else "float" for name, kind in types.items()}
        is_number = {name: kinds.is_integer(kind) or kinds.is_floating(kind) for name, kind in types.items()}
        return {name: KEY[kind] for name, kind in kind_of_number.items() if is_number[name]}

    def _keys_among(self, names: list[str]) -> set[str]:
        """The columns in whose beginnings numbers are keys."""
        keys: set[str] = set()
        signs = self._signs_of(names)
        if not signs:
            return keys
        wanted = pa.schema([(name, pa.string()) for name in signs])
        for file in self._files:
            with reading(file.path, file.schema.names), _csv_reader(file.path, wanted) as (reader, _):
                first = next(iter(reader), None)
                if first is not None:
                    keys |= {name for name, sign in signs.items() if _key_in(first.column(name), sign) is not None}
        return keys

    def _read_csv(self, path: str, wanted: pa.Schema, before: int) -> Iterator[pa.RecordBatch]:
        """Batches of a file, where files of `before` bytes were read already."""
        text = set(wanted.names) if self._as_it_stands else set(self._signs)
        as_text = pa.schema([one.with_type(pa.string()) if one.name in text else one for one in wanted])
        n_rows = 1  # with the header
        try:
            with _csv_reader(path, as_text, only_nothing=self._as_it_stands) as (reader, tell):
                self._position = lambda: before + tell()
                for batch in reader:
                    yield self._finished(batch, wanted, path, n_rows)
                    n_rows += batch.num_rows
                whole = before + tell()
                self._position = lambda: whole  # rows of a file that is closed may still be on their way
        except pa.ArrowInvalid:
            # The error again, but with its row.
            with _csv_reader(path, as_text, threads=False, only_nothing=self._as_it_stands) as (reader, _):
                for _ in reader:
                    pass
            raise

    def _finished(self, batch: pa.RecordBatch, wanted: pa.Schema, path: str, start: int) -> pa.RecordBatch:
        """A batch with numbers where text was read to see whether it holds keys."""
        columns = list(batch.columns)
        for j, name in enumerate(batch.schema.names):
            kind = wanted.field(j).type
            if columns[j].type == kind:
                continue
            key = _key_in(columns[j], self._signs[name]) if name in self._signs else None
            if key is not None:
                raise ValueError(
                    f"{path} cannot be read: column {name!r} begins with numbers, but goes on with {key!r}, "
                    f"which is none; {AS_CSV}."
                )
            try:
                columns[j] = numbers_from_text(columns[j], kind, name, start)
            except NotNumeric as error:
                raise NotNumeric(f"{str(error)[:-1]}; {AS_CSV}." if name in self._signs else str(error)) from error
        return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _key_in(column: pa.Array, sign: str) -> str | None:
    """The first thing in a column that would not stay what it is as a number."""
    found = column.filter(pc.match_substring_regex(column, sign))
    return found[0].as_py() if len(found) else None


def _inspect_parquet(path: str) -> _File:
    with reading(path), pq.ParquetFile(path) as file:
        return _File(path, file.schema_arrow, file.metadata.num_rows)


def read_parquet(file: Any, names: list[str], row_groups: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """Batches of a Parquet file, in little memory: pages are read when it is their turn."""
    buffer_size = int(np.clip(BUFFERS // len(names), 2**14, 2**20))
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=buffer_size, page_checksum_verification=True) as opened:
        yield from opened.iter_batches(rows_at_once(len(names)), row_groups=row_groups, columns=names)


def _inspect_csv(path: str) -> _File:
    with reading(path), _csv_reader(path, threads=False) as (reader, _):
        reader.schema.names  # noqa: B018 (names that are not UTF-8 are an error here, where the file is known)
        return _File(path, reader.schema, None)


def numbers_from_text(column: pa.Array, kind: pa.DataType, name: str, start: int = 1) -> pa.Array:
    """The numbers that a column of a CSV file holds as text; `start` rows stand before it, with the header."""
    text = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(text, pa.array(csv.ConvertOptions().null_values))
    try:
        return pc.cast(pc.if_else(missing, pa.scalar(None, text.type), text), kind)
    except pa.ArrowInvalid as error:
        value = str(error).partition("'")[2].rpartition("'")[0]
        raise not_numeric(name, value, str(kind), start + 1 + pc.index(text, value).as_py()) from error


@contextmanager
def _csv_reader(
    path: str, wanted: pa.Schema | None = None, *, threads: bool = True, only_nothing: bool = False
) -> Iterator[tuple[Any, Callable[[], int]]]:
    """A reader of a CSV file, and a function that tells how many bytes of the file it has read.

    Without types, they are those of the first block of the file. Errors tell their row where there are no threads. With
    `only_nothing`, an empty field is null, and all else, "" and NA too, is text.
    """
    types = {} if wanted is None else dict(zip(wanted.names, wanted.types, strict=True))
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    if only_nothing:
        options.null_values, options.strings_can_be_null, options.quoted_strings_can_be_null = [""], True, False
    parsing = csv.ParseOptions(newlines_in_values=True)  # or else a field that goes on in the next block is two
    with ExitStack() as stack:
        file = stream = stack.enter_context(pa.OSFile(path))
        if path.lower().endswith(".gz"):
            stream = stack.enter_context(pa.CompressedInputStream(file, "gzip"))
        how = {"read_options": csv.ReadOptions(use_threads=threads), "parse_options": parsing}
        yield stack.enter_context(csv.open_csv(stream, convert_options=options, **how)), file.tell


def _text_schema(schema: pa.Schema, numbers: Collection[str] | None, text: Collection[str]) -> pa.Schema:
    """The types to read CSV files with, from those that the beginnings of the files have."""
    fields = []
    for field in schema:
        is_number = numbers is None or field.name in numbers
        if field.name in text:
            fields.append(field.with_type(pa.string()))
        elif is_number and (kinds.is_integer(field.type) or kinds.is_null(field.type)):
            fields.append(field.with_type(pa.float64()))  # fractions may follow
        elif kinds.is_null(field.type):
            fields.append(field.with_type(pa.string()))  # which anything can be read as
        else:
            fields.append(field)
    return pa.schema(fields)


def _common_schema(files: list[_File]) -> pa.Schema:
    """The schema of the first file, in types that hold those of all the others."""
    for file in files:
        check_unique(file.schema.names, f" in {file.path}")
    first, *others = files
    fields = {field.name: field for field in first.schema}
    for file in others:
        for one, other in ((file, first), (first, file)):
            absent = set(other.schema.names).difference(one.schema.names)
            if absent:
                raise ValueError(f"{one.path} has no column {format_names(sorted(absent))}, which {other.path} has.")
        for field in file.schema:
            fields[field.name] = _common_field(fields[field.name], field, file.path)
    return pa.schema(list(fields.values()), metadata=first.schema.metadata)


def _common_field(before: pa.Field, field: pa.Field, path: str) -> pa.Field:
    try:
        kind = before.type if before.type == field.type else common_type(before.type, field.type)
    except pa.ArrowException as error:
        raise ValueError(
            f"column {field.name!r} holds {field.type} in {path}, but {before.type} in a file before."
        ) from error
    return before.with_type(kind).with_nullable(before.nullable or field.nullable)
