"""What is written: tables as CSV or Parquet, to a file that appears when it is whole, or to standard output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kdi._tables.sinks import SinkKind, sink_kind, write_batches
from kdi._tables.streams import TransformedStream
from kdi._utils.atomic_write import atomic_write, disk_full_context, target_path
from kdi.cli._errors import CommandError

KINDS: dict[str, SinkKind] = {"csv": "CSV", "parquet": "Parquet"}
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")


@dataclass(frozen=True)
class Output:
    """Where a table goes; a path of None is standard output."""

    path: str | None
    kind: SinkKind

    @classmethod
    def of(cls, text: str, form: str | None) -> Output:
        """What -o and --format ask for, once it is known that it can be written."""
        if text == "-":
            kind = KINDS[form or "csv"]
            if standard_output().isatty() and kind == "Parquet":
                raise CommandError("Parquet is not shown on a terminal; -o FILE writes it to a file.")
            return cls(None, kind)
        if not text.lower().endswith(SUFFIXES):
            raise CommandError(f"output {text!r} must end in {', '.join(SUFFIXES)}, or be - for standard output.")
        if form is not None and KINDS[form] != sink_kind(text):
            raise CommandError(f"--format {form} and the name {text!r} do not agree.")
        return cls(target_path(text, "a Parquet or CSV file"), sink_kind(text))

    @property
    def title(self) -> str:
        return "standard output" if self.path is None else self.path

    def write(self, stream: TransformedStream) -> None:
        """Write a table."""
        if self.path is None:
            target = _binary(standard_output())
            with disk_full_context(self.title):
                write_batches(stream.batches, stream.schema, target, self.kind, stream.features, gzip=False)
                target.flush()
            return
        compressed = self.path.lower().endswith(".gz")
        with atomic_write(self.path) as aside:
            write_batches(stream.batches, stream.schema, aside, self.kind, stream.features, gzip=compressed)

    def write_table(self, table: Any) -> None:
        """Write a small table of pyarrow."""
        self.write(TransformedStream(iter(table.to_batches()), table.schema, []))


def check_paths_differ(written: dict[str, str | None], read: dict[str, list[str]]) -> None:
    """Raise where a file would be written over another that is written, or over one that is read."""
    targets = {what: os.path.realpath(path) for what, path in written.items() if path is not None}
    for what, path in targets.items():
        for other, place in targets.items():
            if other != what and place == path:
                raise CommandError(f"{what} and {other} are the same file, {path!r}.")
        for other, places in read.items():
            if path in {os.path.realpath(place) for place in places}:
                raise CommandError(f"{what} would replace {other}, {path!r}.")


@contextmanager
def saved_beside(path: str | None, text: str) -> Iterator[None]:
    """Text that is written to a file if what is done in the meantime succeeds."""
    if path is None:
        yield
        return
    with atomic_write(path) as aside:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
        yield


def standard_output() -> Any:
    """Where text and tables go that are not written to a file."""
    if sys.stdout is None:
        raise CommandError("there is no standard output to write to.")
    return sys.stdout


def print_text(text: str) -> None:
    """Text on standard output, in UTF-8 whatever the terminal says."""
    stream = _binary(standard_output())
    with disk_full_context("standard output"):
        stream.write(text.encode("utf-8", "backslashreplace"))
        stream.flush()


def _binary(stream: Any) -> Any:
    """A stream of text as one of bytes that takes all that it is given."""
    stream.flush()
    if isinstance(stream.buffer, io.RawIOBase):  # of python -u, which may take a part and say how much
        return open(stream.fileno(), "wb", closefd=False)
    return stream.buffer
