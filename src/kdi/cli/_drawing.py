"""Pictures of the command line: where they go, and the one that no display draws, a heat map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kdi._utils.atomic_write import atomic_write, target_path
from kdi._utils.typing import Float64Array
from kdi.cli._errors import CommandError
from kdi.cli._text import digits, short

FORMATS = (".png", ".pdf", ".svg")
LABELLED = 60  # features whose names there is room for
WRITTEN = 15  # and whose correlations


def picture_path(text: str | None) -> str | None:
    """Where --plot wants its picture, once it is known that it can be drawn and written; None where there is none."""
    if text is None:
        return None
    if not text.lower().endswith(FORMATS):
        raise CommandError(f"--plot {text!r} must end in {', '.join(FORMATS)}.")
    new_figure((1, 1))  # which needs matplotlib
    return target_path(text, "a picture")


@contextmanager
def picture_beside(path: str | None, draw: Callable[[], Any]) -> Iterator[None]:
    """The figure that `draw` makes, written to a file if what is done in the meantime succeeds."""
    if path is None:
        yield
        return
    with atomic_write(path) as aside:
        draw().savefig(aside, format=path.lower().rpartition(".")[2], dpi=150)
        yield


def new_figure(size: tuple[float, float]) -> Any:
    """A figure that no window shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError("pictures are drawn with matplotlib: pip install 'kdi[cli]'") from error
    return Figure(figsize=size, layout="constrained")


def draw_matrix(features: list[str], matrix: Float64Array) -> Any:
    """A heat map of correlations, with the numbers in it where there is room."""
    n = len(features)
    side = min(3.2 + 0.42 * n, 16.0)
    axes = new_figure((side + 0.9, side)).subplots()
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="KD-integral correlation")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_facecolor("#ececec")  # where there is no correlation
    if n > LABELLED:
        axes.set(xticks=[], yticks=[], xlabel=f"{n} columns, in the order of the table")
        return axes.figure
    names = [short(name) for name in features]
    axes.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n), names)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)  # names are data: a $ in them is a $
    if n <= WRITTEN:
        for i, row in enumerate(matrix.tolist()):
            for j, value in enumerate(row):
                colour = "white" if abs(value) > 0.6 else "black"
                axes.text(j, i, digits(value, ".2f"), ha="center", va="center", fontsize=8, color=colour)
    return axes.figure
