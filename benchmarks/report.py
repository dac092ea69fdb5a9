"""Tables and targets, as plain text for the terminal and as Markdown for the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass


def number(value: float | None, digits: int = 3) -> str:
    """Format with three significant digits, without an exponent unless tiny, with commas; None is a dash."""
    if value is None:
        return "–"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.0e}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


@dataclass(frozen=True)
class Table:
    """A table of a report, with a title above and a note below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def plain(self) -> str:
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        written = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([self.title, "", written[0], rule, *written[1:], *_note(self.note)])

    def markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = ["| " + " | ".join(cells) + " |" for cells in [self.header, rule, *self.rows]]
        return "\n".join([f"### {self.title}", "", *lines, *_note(self.note)])


@dataclass(frozen=True)
class Target:
    """A target, the measured value, and whether the target is reached."""

    asked: str
    measured: str
    reached: bool


def target_table(targets: Sequence[Target]) -> Table:
    rows = [[target.asked, target.measured, "yes" if target.reached else "NO"] for target in targets]
    return Table("Asked for, measured, reached", ["asked for", "measured", "reached"], rows)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = zip(cells, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]


def _note(note: str) -> list[str]:
    return ["", note] if note else []
