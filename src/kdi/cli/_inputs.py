"""What is read: files, globs and standard input as one table, its columns, and its rows as often as a command asks.

Small tables are read once and kept, large ones are read anew each time, batch by batch.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.sinks import SinkKind, check_csv_types
from kdi._tables.sources import Source, open_source, require_pyarrow
from kdi._utils.atomic_write import disk_full_context
from kdi._utils.names import format_names
from kdi.cli._errors import CommandError, error_context, print_note

IN_MEMORY = 2**26  # bytes of files, and then of columns, that are kept
GROWS = {".gz": 5, ".parquet": 3, ".pq": 3}  # by how much files are smaller than what they hold, roughly
MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
STDIN = "standard input"


@dataclass(frozen=True)
class Input:
    """A table that a user named.

    Attributes
    ----------
    paths : list of str
        Its files.
    spooled : str or None
        The file that standard input was written to, where it is one of them.
    """

    paths: list[str]
    spooled: str | None = None

    @property
    def title(self) -> str:
        """What messages call it."""
        first = STDIN if self.paths[0] == self.spooled else self.paths[0]
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1} more"

    @cached_property
    def source(self) -> Source:
        with self.named():
            found = open_source(self.paths)
        if self.is_text and all(map(_is_number, found.names)):
            print_note(
                f"all names of columns in {self.title} are numbers; is there no header? Its first line counts as one."
            )
        return found

    @property
    def is_text(self) -> bool:
        """Whether its files are CSV."""
        from kdi._tables.files import file_format

        return file_format(self.paths[0]) == "CSV"

    @cached_property
    def is_large(self) -> bool:
        sizes = [os.path.getsize(path) * GROWS.get(os.path.splitext(path)[1].lower(), 1) for path in self.paths]
        return sum(sizes) > IN_MEMORY

    @property
    def shows_progress(self) -> bool:
        """Whether there is someone to show it to, and time to see it."""
        return self.is_large and sys.stderr is not None and sys.stderr.isatty()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors that call standard input by its name, not by that of the file that it is kept in."""
        try:
            yield
        except Exception as error:
            if self.spooled is None or self.spooled not in str(error):
                raise
            raise CommandError(str(error).replace(repr(self.spooled), STDIN).replace(self.spooled, STDIN)) from error

    def features(self, chosen: list[str] | None, weights: str | None, others: str = "") -> list[str]:
        """The columns that were chosen or else all numbers; a note says what becomes of the `others`."""
        if weights is not None:
            self.check([weights])
        if chosen is not None:
            if weights in chosen:
                raise CommandError(f"column {weights!r} holds the weights, and cannot be a feature too.")
            self.check(chosen)
            return chosen
        usual = [name for name in self.source.usual if name != weights]
        keys = self.source.keys  # 007 is a number to those who ask for it by name
        chosen = [name for name in usual if name not in keys and _is_feature(self.source.schema.field(name).type)]
        if not chosen:
            raise CommandError(f"{self.title} has no numeric column; {self._what_there_is()}")
        if len(chosen) < len(usual):
            there = set(chosen)
            left = [name for name in usual if name not in there]
            print_note(f"not numeric, and {others}: {format_names(left)}.")
        return chosen

    def numbers(self, weights: str | None) -> list[str]:
        """The columns of numbers, with keys and truth values, but without the weights."""
        from kdi._tables.arrow import is_number

        usual = [name for name in self.source.usual if name != weights]
        return [name for name in usual if is_number(self.source.schema.field(name).type)]

    def check_output(self, kind: SinkKind) -> None:
        """Raise where columns cannot be written; what comes from CSV can be."""
        if kind == "CSV" and not self.is_text:
            with error_context(self.title):
                check_csv_types(self.source.schema)

    def parts(self, features: list[str], weights: str | None = None) -> ArrowPartitions:
        """Numbers of these columns, to be read as often as need be."""
        wanted = features if weights is None else [*features, weights]
        table = None if self.is_large else _kept(self.source.select(wanted))
        if table is not None and not table.num_rows:
            raise CommandError(f"{self.title} has no rows.")
        source = self.paths if table is None else table
        return ArrowPartitions(source, weights, columns=features, progress=self.shows_progress, argument="--weights")

    def check(self, chosen: list[str], why: str = "") -> None:
        """Raise unless these columns are there, once each, and are numbers; `why` says who wants them."""
        from kdi._tables.arrow import is_number

        there = set(self.source.names)
        missing = [name for name in chosen if name not in there]
        if missing:
            raise CommandError(f"{self.title} has no column {format_names(missing)}{why}; {self._what_there_is()}")
        twice = [name for name, times in Counter(chosen).items() if times > 1]
        if twice:
            raise CommandError(f"columns are named once each, but {format_names(twice)} is named more than once.")
        for name in chosen:
            kind = self.source.schema.field(name).type
            if not is_number(kind):
                example = self._example(name, kind)
                raise CommandError(f"column {name!r} of {self.title} must be numbers, but holds {example}.")

    def _example(self, name: str, kind: Any) -> str:
        """What a column holds, and the first value that is no number."""
        for batch in self.source.select(name).batches():
            for value in batch.column(0).to_pylist():
                try:
                    float("nan" if value is None or value == "" else value)
                except (TypeError, ValueError):
                    return f"{kind}, {str(value)[:60]!r} for example"
        return str(kind)

    def _what_there_is(self) -> str:
        from kdi._tables.csv_errors import other_separator

        names = self.source.names
        hint = other_separator(names[0]) if len(names) == 1 else None
        return hint or f"its columns are {format_names(names, 20)}."


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _is_feature(kind: Any) -> bool:
    import pyarrow.types as kinds

    from kdi._tables.arrow import is_number

    return is_number(kind) and not kinds.is_boolean(kind)


@contextmanager
def open_input(given: list[str]) -> Iterator[Input]:
    """The table that files, globs and - for standard input stand for."""
    require_pyarrow()
    from kdi._tables.files import expand_paths, file_format

    if given.count("-") > 1:
        raise CommandError("standard input, -, can be read only once.")
    with ExitStack() as stack:
        paths, kept = [], None
        for one in given:
            if one == "-":
                kept = stack.enter_context(_spooled())
                paths.append(kept)
            else:
                paths += expand_paths(one)
        for path in paths:
            file_format(path)
        table = Input(paths, kept)
        with table.named():
            yield table


@contextmanager
def _spooled() -> Iterator[str]:
    """Standard input as a file, which is gone in the end: what is read more than once needs one."""
    if sys.stdin is None:
        raise CommandError("there is no standard input to read.")
    stream: Any = sys.stdin.buffer
    start = stream.read(4)
    suffix = next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), ".csv")
    with tempfile.TemporaryDirectory(prefix="kdi-") as folder:
        path = os.path.join(folder, STDIN + suffix)  # a name that a page may show
        with disk_full_context(f"the copy of standard input in {folder}"), open(path, "wb") as file:
            file.write(start)
            while part := stream.read1(2**20):  # as it comes, so that an interrupt need not wait for more
                file.write(part)
        yield path


def _kept(source: Source) -> Any:
    """The rows in memory, or None where there are too many after all."""
    import pyarrow as pa

    batches, size = [], 0
    for batch in source.batches():
        batches.append(batch)
        size += batch.nbytes
        if size > 4 * IN_MEMORY:
            return None
    return pa.Table.from_batches(batches, source.schema)
