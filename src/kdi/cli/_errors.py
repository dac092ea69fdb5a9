"""Errors and notes of the command line: one line each on stderr, whatever names and messages contain."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kdi._utils.atomic_write import DISK_FULL
from kdi._utils.errors import InfiniteValuesError, TableError, WeightsError

LEAVE_OUT = "leave the column out with --columns"
MAX_LENGTH = 600  # characters of a message: names may be long, and messages may quote a file
MISSING_GLYPH = "Glyph .* missing from"  # matplotlib warns once per letter that its font does not have


class CommandError(Exception):
    """A command cannot be carried out; the message says why."""


def printable(text: object) -> str:
    """Escape characters that cannot be printed, so that any text stays on one line."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text))


def message_line(message: object) -> str:
    """Format a message as one line of limited length."""
    shown = printable(str(message).strip())
    return shown if len(shown) <= MAX_LENGTH else f"{shown[:MAX_LENGTH]} …"


def print_error(message: object) -> None:
    """Print a line on stderr, if there is a stderr."""
    write_stderr(f"kdi: {message_line(message)}\n")


def write_stderr(text: str) -> None:
    """Write text to stderr, if there is a stderr."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def print_note(message: object) -> None:
    """Print a line about something that is not an error, but that the user should know."""
    print_error(f"note: {message}")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings of the package as notes, each once."""
    printed: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            print_note(message)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        warnings.filterwarnings("ignore", MISSING_GLYPH)
        warnings.showwarning = show
        yield


@contextmanager
def error_context(name: str, features: Collection[str] = ()) -> Iterator[None]:
    """Begin errors about a table with its name; errors about a column of `features` say how to leave it out."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = _describe_table_error(error, features)
        raise CommandError(text if name in text else f"{name}: {text}") from error


def _describe_table_error(error: Exception, features: Collection[str]) -> str:
    """Describe an error about a table in terms of the command line."""
    if isinstance(error, WeightsError):
        return f"--weights {error.text}"
    if isinstance(error, TableError) and error.column in features:
        error = error.with_advice(LEAVE_OUT)
    if isinstance(error, InfiniteValuesError):
        return f"column {error.column!r} must be finite or missing, got infinite values; {error.advice}."
    return str(error)


def describe_error(error: BaseException) -> str:
    """Describe any error."""
    if isinstance(error, MemoryError):
        return "there is not enough memory."
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        reason = "the disk is full" if error.errno != errno.EFBIG else "the file would exceed the size limit"
        return f"{error.filename or 'the output'} cannot be written: {reason}."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename!r}: {error.strerror}"
    if isinstance(error, CommandError | ValueError | TypeError | OSError | ImportError):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}; KDI_TRACEBACK=1 shows where it occurred."
