"""Tables as aligned text, for people."""

from __future__ import annotations

import shutil
from math import isnan

from kdi.cli._errors import printable

NAME = 24  # letters of a name


def short(name: object, length: int = NAME) -> str:
    """A name on one line, and not too long."""
    shown = printable(name)
    return shown if len(shown) <= length else f"{shown[: length - 1]}…"


def digits(value: float, form: str) -> str:
    """A number, or nothing where there is none."""
    return "" if isnan(value) else format(value, form)


def aligned(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table whose first `left` columns are names; where it is wider than the terminal, the rest is folded."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    most = shutil.get_terminal_size((120, 24)).columns
    names = sum(widths[:left]) + 2 * left
    blocks: list[list[int]] = [[]]
    for j in range(left, len(header)):
        if blocks[-1] and names + sum(widths[k] + 2 for k in blocks[-1]) + widths[j] > most:
            blocks.append([])
        blocks[-1].append(j)

    def line(cells: list[str], block: list[int]) -> str:
        fields = [cells[j].ljust(widths[j]) for j in range(left)] + [cells[j].rjust(widths[j]) for j in block]
        return "  ".join(fields).rstrip() + "\n"

    return "\n".join("".join(line(cells, block) for cells in [header, *rows]) for block in blocks)
