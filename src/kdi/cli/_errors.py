"""What the command line says on stderr: one line each, whatever names and messages hold."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kdi._utils.atomic_write import DISK_FULL

OTHERS = "--columns can leave the column out."
LONGEST = 600  # characters of a message: names may be long, and parts of a file get into messages
# What messages of the package say of its parameters, in the words of the command line.
WORDS = {
    "Input X contains infinity or a value too large for its dtype, in ": "there are infinite values in ",
    "sample_weight is zero in every row": "--weights are zero in every row",
    "sample_weight must have": "--weights must have",
    "weights are zero in every row, which leaves no row to explore": "--weights are zero in every row",
    "x must hold at least one value that is not NaN and has weight": "it holds no value that has weight",
    "x must be finite or NaN, got infinite values": "there are infinite values",
    ": x has no ": ": it has no ",
}
UNSEEN = "Glyph .* missing from"  # of matplotlib, once for each letter that its font has no picture of


class CommandError(Exception):
    """What was asked for cannot be done; the message says why."""


def printable(text: object) -> str:
    """Text on one line, of letters that can be shown."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text))


def message_line(message: object) -> str:
    """A message on one line, in the words of the command line."""
    text = str(message).strip()
    for ours, theirs in WORDS.items():
        text = text.replace(ours, theirs)
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} …"


def print_error(message: object) -> None:
    """A line on stderr, where there is one."""
    write_stderr(f"kdi: {message_line(message)}\n")


def write_stderr(text: str) -> None:
    """Text on stderr, where there is one."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def print_note(message: object) -> None:
    """A line on something that is no error, but that one should know."""
    print_error(f"note: {message}")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings of the package as notes, each once."""
    said: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            print_note(message)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        warnings.filterwarnings("ignore", UNSEEN)
        warnings.showwarning = show
        yield


@contextmanager
def error_context(name: str, hint: str = "") -> Iterator[None]:
    """Errors that say what they are about, and what helps where a column turns out to hold no numbers."""
    try:
        yield
    except (ValueError, TypeError) as error:
        from kdi._tables.csv_errors import NotNumeric

        text = f"{error} {hint}" if hint and isinstance(error, NotNumeric) else str(error)
        raise CommandError(text if name in text else f"{name}: {text}") from error


def describe_error(error: BaseException) -> str:
    """An error in words."""
    if isinstance(error, MemoryError):
        return "there is not enough memory."
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        what = "there is no space left" if error.errno != errno.EFBIG else "it would be larger than files may be here"
        return f"{error.filename or 'the output'} cannot be written: {what}."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename!r}: {error.strerror}"
    if isinstance(error, CommandError | ValueError | TypeError | OSError | ImportError):
        return str(error) or type(error).__name__
    return f"{type(error).__name__}: {error}; this should not happen, and KDI_TRACEBACK=1 shows where it did."
