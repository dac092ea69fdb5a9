"""Inputs: files, globs and standard input as one table, its columns, and its rows as often as a command reads them.

Small tables are read once and kept in memory; large ones are read again each time, batch by batch.
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
from kdi._tables.sinks import FileFormat, check_csv_types
from kdi._tables.sources import Source, open_source, require_pyarrow
from kdi._utils.atomic_write import disk_full_context
from kdi._utils.names import format_names
from kdi.cli._errors import CommandError, error_context, print_note

IN_MEMORY = 2**26  # files of at most this many bytes are kept in memory
EXPANSION = {".gz": 5, ".parquet": 3, ".pq": 3}  # size of a table in memory relative to its file, roughly
MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
STDIN = "standard input"


@dataclass(frozen=True)
class Input:
    """A table that a user named.

    Attributes
    ----------
    paths : list of str
        The files of the table.
    spooled : str or None
        The temporary copy of standard input, if that is one of the files.
    """

    paths: list[str]
    spooled: str | None = None

    @property
    def title(self) -> str:
        """The name of the table in messages."""
        first = STDIN if self.paths[0] == self.spooled else self.paths[0]
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1} more"

    @cached_property
    def source(self) -> Source:
        with self.name_stdin():
            found = open_source(self.paths)
        if self.is_csv and all(map(_is_number, found.names)):
            print_note(
                f"all column names of {self.title} are numbers; the first line is used as the header. Is it missing?"
            )
        return found

    @property
    def is_csv(self) -> bool:
        from kdi._tables.files import file_format

        return file_format(self.paths[0]) == "CSV"

    @cached_property
    def is_large(self) -> bool:
        sizes = [os.path.getsize(path) * EXPANSION.get(os.path.splitext(path)[1].lower(), 1) for path in self.paths]
        return sum(sizes) > IN_MEMORY

    @property
    def shows_progress(self) -> bool:
        """True if progress is shown: the table is large, and stderr is a terminal."""
        return self.is_large and sys.stderr is not None and sys.stderr.isatty()

    @contextmanager
    def name_stdin(self) -> Iterator[None]:
        """In all messages, also those of libraries, name standard input instead of its temporary copy."""
        try:
            yield
        except Exception as error:
            if self.spooled is None or self.spooled not in str(error):
                raise
            raise CommandError(str(error).replace(repr(self.spooled), STDIN).replace(self.spooled, STDIN)) from error

    def select_features(self, chosen: list[str] | None, weights: str | None, others: str = "") -> list[str]:
        """Return the chosen columns, or all numeric ones; a note says what happens to the `others`."""
        if weights is not None:
            self.check_columns([weights])
        if chosen is not None:
            if weights in chosen:
                raise CommandError(f"column {weights!r} holds the weights and cannot be a feature too.")
            self.check_columns(chosen)
            return chosen
        default = [name for name in self.source.feature_columns if name != weights]
        identifiers = self.source.identifier_columns  # such as 007: numbers only if --columns names them
        chosen = [name for name in default if name not in identifiers and self._is_feature(name)]
        if not chosen:
            raise CommandError(f"{self.title} has no numeric column; {self._describe_columns()}")
        if len(chosen) < len(default):
            left_out = set(default).difference(chosen)
            print_note(f"not numeric, and {others}: {format_names(name for name in default if name in left_out)}.")
        return chosen

    def numeric_columns(self, weights: str | None) -> list[str]:
        """Return the numeric columns, including identifiers and booleans, without the weights."""
        from kdi._tables.arrow import is_number

        default = [name for name in self.source.feature_columns if name != weights]
        return [name for name in default if is_number(self.source.schema.field(name).type)]

    def check_format(self, file_format: FileFormat) -> None:
        """Raise if a column cannot be written in this format; all columns of CSV files can."""
        if file_format == "CSV" and not self.is_csv:
            with error_context(self.title):
                check_csv_types(self.source.schema)

    def partitions(self, features: list[str], weights: str | None = None) -> ArrowPartitions:
        """Return these columns as a partitioned table, which can be read several times."""
        wanted = features if weights is None else [*features, weights]
        table = None if self.is_large else _read_small(self.source.select(wanted))
        if table is not None and not table.num_rows:
            raise CommandError(f"{self.title} has no rows.")
        source = self.paths if table is None else table
        return ArrowPartitions(source, weights, columns=features, progress=self.shows_progress, argument="--weights")

    def check_columns(self, chosen: list[str], reason: str = "") -> None:
        """Raise unless these columns exist, differ from each other and are numeric; `reason` says why they must."""
        from kdi._tables.arrow import is_number

        available = set(self.source.names)
        missing = [name for name in chosen if name not in available]
        if missing:
            raise CommandError(
                f"{self.title} has no column {format_names(missing)}{reason}; {self._describe_columns()}"
            )
        repeated = [name for name, n_times in Counter(chosen).items() if n_times > 1]
        if repeated:
            raise CommandError(
                f"columns must be different from each other, got {format_names(repeated)} more than once."
            )
        for name in chosen:
            kind = self.source.schema.field(name).type
            if not is_number(kind):
                raise CommandError(
                    f"column {name!r} of {self.title} must be numeric, got {self._describe_values(name, kind)}."
                )

    def _describe_values(self, name: str, kind: Any) -> str:
        """Describe what a column holds: its type, and its first value that is not a number."""
        for batch in self.source.select(name).batches():
            for value in batch.column(0).to_pylist():
                try:
                    float("nan" if value is None or value == "" else value)
                except (TypeError, ValueError):
                    return f"{kind}, for example {str(value)[:60]!r}"
        return str(kind)

    def _describe_columns(self) -> str:
        from kdi._tables.csv_errors import other_separator

        names = self.source.names
        advice = other_separator(names[0]) if len(names) == 1 else None
        return advice or f"its columns are {format_names(names, 20)}."

    def _is_feature(self, name: str) -> bool:
        import pyarrow.types as arrow_types

        from kdi._tables.arrow import is_number

        kind = self.source.schema.field(name).type
        return is_number(kind) and not arrow_types.is_boolean(kind)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


@contextmanager
def open_input(arguments: list[str]) -> Iterator[Input]:
    """Open the table that files, globs and - for standard input make up."""
    require_pyarrow()
    from kdi._tables.files import expand_paths, file_format

    if arguments.count("-") > 1:
        raise CommandError("- is standard input, which can be read only once.")
    with ExitStack() as stack:
        paths, spooled = [], None
        for argument in arguments:
            if argument == "-":
                spooled = stack.enter_context(_spool_stdin())
                paths.append(spooled)
            else:
                paths += expand_paths(argument)
        for path in paths:
            file_format(path)  # raises for other suffixes
        table = Input(paths, spooled)
        with table.name_stdin():
            yield table


@contextmanager
def _spool_stdin() -> Iterator[str]:
    """Copy standard input to a temporary file, because most commands read it more than once; yield the path."""
    if sys.stdin is None:
        raise CommandError("there is no standard input to read.")
    stream: Any = sys.stdin.buffer
    start = stream.read(4)
    suffix = next((suffix for magic, suffix in MAGIC.items() if start.startswith(magic)), ".csv")
    with tempfile.TemporaryDirectory(prefix="kdi-") as folder:
        path = os.path.join(folder, STDIN + suffix)  # pages show this name as their title
        with disk_full_context(f"the copy of standard input in {folder}"), open(path, "wb") as file:
            file.write(start)
            while block := stream.read1(2**20):  # does not wait for a full block, so that an interrupt is handled
                file.write(block)
        yield path


def _read_small(source: Source) -> Any:
    """Read the rows into memory; return None if they turn out to be too many."""
    import pyarrow as pa

    batches, size = [], 0
    for batch in source.batches():
        batches.append(batch)
        size += batch.nbytes
        if size > 4 * IN_MEMORY:
            return None
    return pa.Table.from_batches(batches, source.schema)
