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
import pyarrow.types as kinds
from pyarrow import csv
from pyarrow import parquet as pq

from kdi._arrow import common_type, conformed, part_of, rows_at_once
from kdi._names import check_unique, quoted

SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV", ".csv.gz": "CSV"}
BUFFERS = 2**24  # bytes read ahead of a Parquet file, all columns together


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
    """

    def __init__(self, paths: list[str], numbers: Collection[str] | None = None) -> None:
        kinds_found = {kind_of(path): path for path in paths}
        if len(kinds_found) > 1:
            both = " and ".join(map(repr, kinds_found.values()))
            raise ValueError(f"files must all be Parquet or all be CSV, got {both}.")
        self._is_text = "CSV" in kinds_found
        self._files = [_inspect_csv(path) if self._is_text else _inspect_parquet(path) for path in paths]
        schema = _common_schema(self._files)
        self.schema = _text_schema(schema, numbers) if self._is_text else schema

    def count(self) -> int | None:
        """The number of rows, which Parquet files tell."""
        return None if self._is_text else sum(file.n_rows or 0 for file in self._files)

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        wanted = part_of(self.schema, names)
        for file in self._files:
            with reading(file.path, file.schema.names):
                for batch in _read_csv(file.path, wanted) if self._is_text else read_parquet(file.path, names):
                    yield conformed(batch, wanted)


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


def _read_csv(path: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    with _csv_reader(path, wanted) as reader:
        yield from reader


@contextmanager
def _csv_reader(path: str, wanted: pa.Schema | None = None) -> Iterator[Any]:
    """A reader of a CSV file; without types, it takes them from the first block of the file."""
    types = {} if wanted is None else dict(zip(wanted.names, wanted.types, strict=True))
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    compression = "gzip" if path.lower().endswith(".gz") else None
    with pa.input_stream(path, compression) as stream, csv.open_csv(stream, convert_options=options) as reader:
        yield reader


def _text_schema(schema: pa.Schema, numbers: Collection[str] | None) -> pa.Schema:
    """The types to read CSV files with, from those that the beginnings of the files have."""
    fields = []
    for field in schema:
        is_number = numbers is None or field.name in numbers
        if is_number and (kinds.is_integer(field.type) or kinds.is_null(field.type)):
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
