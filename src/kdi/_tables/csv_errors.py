"""Errors in CSV files: which file, which column and which row, and what to do about it."""

from __future__ import annotations

import re

import pyarrow as pa

from kdi._utils.errors import TableError

HEADER_BYTES = 2**16  # the header is looked for in this many bytes
SEPARATORS = {";": "semicolons", "\t": "tabs"}
UTF16 = (b"\xff\xfe", b"\xfe\xff")

# Messages of pyarrow, which are the only place where it gives column and row. Rows count from 1; the header is row 1.
PARSING = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
CONVERTING = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.*?): invalid value '(.*)'", re.DOTALL
)


class CSVError(TableError):
    """An error in a CSV file; rows count from 1, and the header is row 1."""

    row_format = " in row {:,} (the header is row 1)"

    def in_file(self, path: str) -> CSVError:
        """The same error, with the name of the file."""
        problem = f"{path} cannot be read: {self.problem}"
        return type(self)(problem, column=self.column, row=self.row, advice=self.advice)


class NotNumericError(CSVError):
    """A later value contradicts the inferred column type."""


def not_numeric_error(column: str, value: str, kind: str, row: int | None) -> NotNumericError:
    """Describe a value that cannot be converted to the type `kind`."""
    expected = "a number" if kind.startswith(("int", "uint", "float", "double", "decimal")) else kind
    return NotNumericError(f"column {column!r}: {value!r} is not {expected}", column=column, row=row)


def csv_error(path: str, error: Exception, names: list[str] | None) -> ValueError:
    """Translate an error of reading a CSV file.

    Parameters
    ----------
    path : str
    error : exception
    names : list of str, optional
        All columns of the file, if they are known.
    """
    text = str(error)
    if isinstance(error, CSVError):
        return error.in_file(path)
    if isinstance(error, UnicodeError) or "UTF8" in text or _first_bytes(path, 2) in UTF16:
        encoding = "utf-16" if _first_bytes(path, 2) in UTF16 else "latin1"
        return ValueError(f"{path} is not UTF-8; iconv -f {encoding} -t utf-8 converts it.")
    found = CONVERTING.match(text)
    if found and names:
        column, row, kind, value = found.groups()
        return not_numeric_error(names[int(column)], value, kind, None if row is None else int(row)).in_file(path)
    found = PARSING.match(text)
    if found:
        row, expected, given, line = found.groups()
        header = _first_bytes(path, HEADER_BYTES).decode("utf-8", "replace").splitlines()[:1]
        advice = other_separator(header[0]) if header and expected == "1" else None
        if advice:
            return ValueError(f"{path} cannot be read: {advice}")
        problem = f"expected {expected} columns, got {given} ({line[:60]!r})"
        return CSVError(problem, row=None if row is None else int(row)).in_file(path)
    return ValueError(f"{path} cannot be read: {text}")


def other_separator(header: str) -> str | None:
    """Explain that a file with one column has probably another separator than the comma."""
    for sign, word in SEPARATORS.items():
        if sign in header:
            return (
                f"its one column is {header!r}, which looks like several columns separated by {word}; CSV files must "
                "be separated by commas."
            )
    return None


def _first_bytes(path: str, size: int) -> bytes:
    """Return the first bytes of a file, or none if it cannot be read."""
    try:
        with pa.input_stream(path, "gzip" if path.lower().endswith(".gz") else None) as stream:
            return bytes(stream.read(size))
    except (pa.ArrowException, OSError):
        return b""
