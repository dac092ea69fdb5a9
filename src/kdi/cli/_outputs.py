"""Outputs: tables as CSV or Parquet, written atomically to a file, or to standard output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kdi._tables.sinks import FileFormat, sink_format, write_batches
from kdi._tables.streams import TransformedStream
from kdi._utils.atomic_write import atomic_write, disk_full_context, target_path
from kdi.cli._errors import CommandError

OUTPUT_FORMATS: dict[str, FileFormat] = {"csv": "CSV", "parquet": "Parquet"}
OUTPUT_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")


@dataclass(frozen=True)
class Output:
    """The file that a table is written to; a path of None is standard output."""

    path: str | None
    file_format: FileFormat

    @classmethod
    def from_options(cls, target: str, form: str | None) -> Output:
        """Check what -o and --format ask for."""
        if target == "-":
            file_format = OUTPUT_FORMATS[form or "csv"]
            if standard_output().isatty() and file_format == "Parquet":
                raise CommandError("Parquet cannot be shown on a terminal; -o FILE writes it to a file.")
            return cls(None, file_format)
        if not target.lower().endswith(OUTPUT_SUFFIXES):
            raise CommandError(
                f"--output must end in {', '.join(OUTPUT_SUFFIXES)}, or be - for standard output, got {target!r}."
            )
        if form is not None and OUTPUT_FORMATS[form] != sink_format(target):
            raise CommandError(f"--format {form} contradicts the suffix of {target!r}.")
        return cls(target_path(target, "a Parquet or CSV file"), sink_format(target))

    @property
    def title(self) -> str:
        return "standard output" if self.path is None else self.path

    def write(self, stream: TransformedStream) -> None:
        """Write a table, batch by batch."""
        batches, schema, features = stream.batches, stream.schema, stream.features
        if self.path is None:
            target = _binary(standard_output())
            with disk_full_context(self.title):
                write_batches(batches, schema, target, self.file_format, features, gzip=False)
                target.flush()
            return
        gzip = self.path.lower().endswith(".gz")
        with atomic_write(self.path) as temporary:
            write_batches(batches, schema, temporary, self.file_format, features, gzip=gzip)

    def write_table(self, table: Any) -> None:
        """Write a small pyarrow Table."""
        self.write(TransformedStream(iter(table.to_batches()), table.schema, []))


def check_paths_differ(written: dict[str, str | None], read: dict[str, list[str]]) -> None:
    """Raise if a written file would replace another written file, or one that is read; keys are names for messages."""
    targets = {what: os.path.realpath(path) for what, path in written.items() if path is not None}
    for what, path in targets.items():
        for other, other_path in targets.items():
            if other != what and other_path == path:
                raise CommandError(f"{what} and {other} are the same file, {path!r}.")
        for other, other_paths in read.items():
            if path in {os.path.realpath(one) for one in other_paths}:
                raise CommandError(f"{what} would replace {other}, {path!r}.")


@contextmanager
def save_text(path: str | None, text: str) -> Iterator[None]:
    """Write text before the block; the file appears only if the block succeeds."""
    if path is None:
        yield
        return
    with atomic_write(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        yield


def standard_output() -> Any:
    """Return standard output, or raise if it is closed."""
    if sys.stdout is None:
        raise CommandError("there is no standard output to write to.")
    return sys.stdout


def print_text(text: str) -> None:
    """Print text on standard output, in UTF-8 whatever the encoding of the terminal."""
    stream = _binary(standard_output())
    with disk_full_context("standard output"):
        stream.write(text.encode("utf-8", "backslashreplace"))
        stream.flush()


def _binary(stream: Any) -> Any:
    """Return the binary stream behind a text stream, such that one `write` writes all of its bytes."""
    stream.flush()
    if isinstance(stream.buffer, io.RawIOBase):  # under python -u: its write may be partial
        return open(stream.fileno(), "wb", closefd=False)
    return stream.buffer
