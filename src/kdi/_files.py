"""Parquet and CSV files, many of them as one table.

The schemas of all files are read first: what is missing, and which files cannot be read, is known before the first row.
Types may differ from file to file, as may the order of the columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from pyarrow import csv
from pyarrow import parquet as pq

from kdi._arrow import common_type, conformed, part_of, rows_at_once
from kdi._names import check_unique, quoted

SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".csv.gz": "CSV"}
BUFFERS = 2**24  # bytes read ahead of a Parquet file, all columns together

# What looks like a number, but is a name or a key: as a number it would lose its zeros, or its last digits.
KEY = {"integer": r"^\s*-?0[0-9]", "float": r"^\s*-?(0[0-9]|[0-9]{16,}\s*$)"}


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


def kind_of(path: str) -> str:
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
    except (MemoryError, FileNotFoundError, PermissionError, pa.ArrowCancelled):
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        place = re.match(r"In CSV column #(\d+)", str(error))
        column = f"column {names[int(place[1])]!r}: " if place and names else ""
        raise ValueError(f"{path} cannot be read: {column}{error}") from error


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
        kinds_found = {kind_of(path): path for path in paths}
        if len(kinds_found) > 1:
            both = " and ".join(map(repr, kinds_found.values()))
            raise ValueError(f"files must all be Parquet or all be CSV, got {both}.")
        self._is_text = "CSV" in kinds_found
        self._files = [_inspect_csv(path) if self._is_text else _inspect_parquet(path) for path in paths]
        self._as_it_stands = text
        self.schema = _common_schema(self._files)
        self._typed: dict[str, str] = {}  # columns that pass through as numbers, and what in them would be none
        self.keys: set[str] = set()  # columns that pass through as text, although they look like numbers
        if self._is_text:
            passing = [] if numbers is None else [name for name in self.schema.names if name not in set(numbers)]
            self.keys = set() if text else self._find_keys(passing)
            self.schema = _text_schema(self.schema, numbers, passing if text else self.keys)

    def count(self) -> int | None:
        """The number of rows, which Parquet files tell."""
        return None if self._is_text else sum(file.n_rows or 0 for file in self._files)

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = part_of(self.schema, names)
        for file in self._files:
            with reading(file.path, file.schema.names):
                for batch in self._read_csv(file.path, wanted) if self._is_text else read_parquet(file.path, names):
                    yield conformed(batch, wanted)

    def _find_keys(self, passing: list[str]) -> set[str]:
        """The columns in whose beginnings numbers are keys; what the others must not hold is noted."""
        for name in passing:
            kind = self.schema.field(name).type
            if kinds.is_integer(kind) or kinds.is_floating(kind):
                self._typed[name] = KEY["integer" if kinds.is_integer(kind) else "float"]
        keys: set[str] = set()
        if not self._typed:
            return keys
        wanted = pa.schema([(name, pa.string()) for name in self._typed])
        for file in self._files:
            with reading(file.path, file.schema.names), _csv_reader(file.path, wanted) as reader:
                first = next(iter(reader), None)
                keys |= set() if first is None else {name for name in self._typed if self._key_in(first, name)}
        self._typed = {name: pattern for name, pattern in self._typed.items() if name not in keys}
        return keys

    def _key_in(self, batch: pa.RecordBatch, name: str) -> str | None:
        """The first thing in a column that would not stay what it is as a number."""
        column = batch.column(name)
        found = column.filter(pc.match_substring_regex(column, self._typed[name]))
        return found[0].as_py() if len(found) else None

    def _read_csv(self, path: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        typed = [name for name in wanted.names if name in self._typed]
        as_text = pa.schema([pa.field(one.name, pa.string() if one.name in typed else one.type) for one in wanted])
        with _csv_reader(path, as_text) as reader:
            for batch in reader:
                for name in typed:
                    key = self._key_in(batch, name)
                    if key is not None:
                        raise ValueError(
                            f"{path} cannot be read: column {name!r} begins with numbers, but goes on with {key!r}, "
                            "which is none; as CSV it could pass through as it is."
                        )
                    numbers = numbers_from_text(batch.column(name), wanted.field(name).type, name)
                    batch = batch.set_column(batch.schema.get_field_index(name), wanted.field(name), numbers)
                yield _nulls_for_nothing(batch) if self._as_it_stands else batch


def _inspect_parquet(path: str) -> _File:
    with reading(path), pq.ParquetFile(path) as file:
        return _File(path, file.schema_arrow, file.metadata.num_rows)


def read_parquet(file: Any, names: list[str], row_groups: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """Batches of a Parquet file, in little memory: pages are read when it is their turn."""
    buffer_size = int(np.clip(BUFFERS // len(names), 2**14, 2**20))
    with pq.ParquetFile(file, pre_buffer=False, buffer_size=buffer_size, page_checksum_verification=True) as opened:
        yield from opened.iter_batches(rows_at_once(len(names)), row_groups=row_groups, columns=names)


def _inspect_csv(path: str) -> _File:
    with reading(path), _csv_reader(path) as reader:
        reader.schema.names  # noqa: B018 (names that are not UTF-8 are an error here, where the file is known)
        return _File(path, reader.schema, None)


def numbers_from_text(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """The numbers that a column of a CSV file holds as text."""
    text = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(text, pa.array(csv.ConvertOptions().null_values))
    try:
        return pc.cast(pc.if_else(missing, pa.scalar(None, text.type), text), kind)
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid(f"column {name!r}: {error}") from error


def _nulls_for_nothing(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Columns of text with null where there is none."""
    columns = [
        pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if kinds.is_string(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


@contextmanager
def _csv_reader(path: str, wanted: pa.Schema | None = None) -> Iterator[Any]:
    """A reader of a CSV file; without types, it takes them from the first block of the file."""
    types = {} if wanted is None else dict(zip(wanted.names, wanted.types, strict=True))
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    compression = "gzip" if path.lower().endswith(".gz") else None
    parsing = csv.ParseOptions(newlines_in_values=True)  # or else a field that goes on in the next block is two
    with (
        pa.input_stream(path, compression) as stream,
        csv.open_csv(stream, convert_options=options, parse_options=parsing) as reader,
    ):
        yield reader


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
                raise ValueError(f"{one.path} has no column {quoted(sorted(absent))}, which {other.path} has.")
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
