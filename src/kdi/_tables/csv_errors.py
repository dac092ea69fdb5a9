"""What is wrong with a CSV file, in words: which column, which row, and what might help."""

from __future__ import annotations

import re

import pyarrow as pa

HEADER = 2**16  # bytes in which the first line is sought
SEPARATORS = {";": "semicolons", "\t": "tabs"}
UTF16 = (b"\xff\xfe", b"\xfe\xff")

# What pyarrow says. Its rows count from 1, the header is the first.
PARSING = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
CONVERTING = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.*?): invalid value '(.*)'", re.DOTALL
)


class NotNumeric(ValueError):
    """A column that holds something else than its beginning suggests."""


def not_numeric(column: str, value: str, kind: str, row: int | None) -> NotNumeric:
    """The error of a value in a column that was to be of some type; rows count from 1, the header is the first."""
    wanted = "a number" if kind.startswith(("int", "uint", "float", "double", "decimal")) else kind
    return NotNumeric(f"column {column!r}: {value!r} is not {wanted}{_place(row)}.")


def csv_error(path: str, error: Exception, names: list[str] | None) -> ValueError:
    """An error of reading a CSV file in our words.

    Parameters
    ----------
    path : str
    error : exception
    names : list of str, optional
        All columns of the file, where they are known.
    """
    text = str(error)
    if isinstance(error, NotNumeric):
        return NotNumeric(f"{path} cannot be read: {text}")
    if isinstance(error, UnicodeError) or "UTF8" in text or _start(path, 2) in UTF16:
        name = "utf-16" if _start(path, 2) in UTF16 else "latin1"
        return ValueError(f"{path} is not UTF-8; iconv -f {name} -t utf-8 converts it.")
    found = CONVERTING.match(text)
    if found and names:
        row = None if found[2] is None else int(found[2])
        return NotNumeric(f"{path} cannot be read: {not_numeric(names[int(found[1])], found[4], found[3], row)}")
    found = PARSING.match(text)
    if found:
        header = _start(path, HEADER).decode("utf-8", "replace").splitlines()[:1]
        hint = other_separator(header[0]) if header and found[2] == "1" else None
        if hint:
            return ValueError(f"{path} cannot be read: {hint}")
        place = _place(None if found[1] is None else int(found[1]))
        text = f"expected {found[2]} columns, got {found[3]}{place}: {found[4][:60]!r}"
    return ValueError(f"{path} cannot be read: {text}")


def other_separator(header: str) -> str | None:
    """A hint where the one name of a header looks like several."""
    for sign, word in SEPARATORS.items():
        if sign in header:
            return (
                f"its one column is {header!r}, which looks like several with {word} between them; CSV files must "
                "have commas."
            )
    return None


def _place(row: int | None) -> str:
    return "" if row is None else f", in row {row:,} (the header is row 1)"


def _start(path: str, size: int) -> bytes:
    """The first bytes of a file, or none where it cannot be read."""
    try:
        with pa.input_stream(path, "gzip" if path.lower().endswith(".gz") else None) as stream:
            return bytes(stream.read(size))
    except (pa.ArrowException, OSError):
        return b""
