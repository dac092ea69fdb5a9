"""Pictures of the command line: where they go, and the one that no display draws, a heat map."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kdi._typing import Floats
from kdi._writing import target_path, written_aside
from kdi.cli.errors import Refusal
from kdi.cli.text import short

LABELLED = 60  # features whose names there is room for
WRITTEN = 15  # and whose correlations


@dataclass(frozen=True)
class Picture:
    """Where a picture goes; None where none was asked for."""

    path: str | None

    def save(self, figure: Any) -> None:
        """Write the figure, in the format that the suffix names."""
        assert self.path is not None
        with written_aside(self.path) as aside:
            figure.savefig(aside, format=_suffix(self.path), dpi=150)


@contextmanager
def picture(text: str | None) -> Iterator[Picture]:
    """What --plot asks for, once it is known that it can be drawn and written."""
    if text is None:
        yield Picture(None)
        return
    figure = new_axes((1, 1)).figure
    formats = sorted(figure.canvas.get_supported_filetypes())
    if _suffix(text) not in formats:
        raise Refusal(f"--plot {text!r} must end in one of {', '.join('.' + one for one in formats)}.")
    yield Picture(target_path(text, "a picture"))


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower().lstrip(".")


def new_axes(size: tuple[float, float]) -> Any:
    """Axes of a figure that no window shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Refusal("pictures are drawn with matplotlib: pip install 'kdi[cli]'") from error
    return Figure(figsize=size, layout="constrained").subplots()


def draw_matrix(features: list[str], matrix: Floats) -> Any:
    """A heat map of correlations, with the numbers in it where there is room."""
    n = len(features)
    side = min(3.2 + 0.42 * n, 16.0)
    axes = new_axes((side + 0.9, side))
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="KD-integral correlation")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if n > LABELLED:
        axes.set(xticks=[], yticks=[], xlabel=f"{n} columns, in the order of the table")
        return axes.figure
    names = [short(name) for name in features]
    axes.set_xticks(range(n), names, rotation=45 if n > 3 else 0, ha="right" if n > 3 else "center")
    axes.set_yticks(range(n), names)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)  # names are data: a $ in them is a $
    if n <= WRITTEN:
        for i, row in enumerate(matrix.tolist()):
            for j, value in enumerate(row):
                colour = "white" if abs(value) > 0.6 else "black"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    return axes.figure
