"""Tables as aligned text, for terminals."""

from __future__ import annotations

import shutil
from math import isnan

from kdi.cli._errors import printable

NAME_LENGTH = 24


def short(name: object, length: int = NAME_LENGTH) -> str:
    """Cut a name to a length, and escape what cannot be printed."""
    shown = printable(name)
    return shown if len(shown) <= length else f"{shown[: length - 1]}…"


def format_number(value: float, form: str) -> str:
    """Format a number; NaN is an empty text."""
    return "" if isnan(value) else format(value, form)


def aligned(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Align a table whose first `left` columns are names; if it is wider than the terminal, fold the other columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    terminal_width = shutil.get_terminal_size((120, 24)).columns
    names_width = sum(widths[:left]) + 2 * left
    blocks: list[list[int]] = [[]]
    for j in range(left, len(header)):
        if blocks[-1] and names_width + sum(widths[k] + 2 for k in blocks[-1]) + widths[j] > terminal_width:
            blocks.append([])
        blocks[-1].append(j)

    def line(cells: list[str], block: list[int]) -> str:
        fields = [cells[j].ljust(widths[j]) for j in range(left)] + [cells[j].rjust(widths[j]) for j in block]
        return "  ".join(fields).rstrip() + "\n"

    return "\n".join("".join(line(cells, block) for cells in [header, *rows]) for block in blocks)
