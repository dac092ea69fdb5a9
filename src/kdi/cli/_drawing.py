"""Plots of the command line: the files they are written to, and the heat map of a correlation matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kdi._plots.style import new_figure
from kdi._utils.atomic_write import atomic_write, target_path
from kdi._utils.typing import Float64Array
from kdi.cli._errors import CommandError
from kdi.cli._text import format_number, short

PLOT_SUFFIXES = (".png", ".pdf", ".svg")
MAX_NAMED = 60  # more features are drawn without names
MAX_NUMBERED = 15  # more features are drawn without numbers in the cells


def plot_path(text: str | None) -> str | None:
    """Check the path that --plot names, and that matplotlib is there; None if there is no --plot."""
    if text is None:
        return None
    if not text.lower().endswith(PLOT_SUFFIXES):
        raise CommandError(f"--plot must end in {', '.join(PLOT_SUFFIXES)}, got {text!r}.")
    require_matplotlib()
    return target_path(text, "a plot")


def require_matplotlib() -> None:
    """Raise unless matplotlib is installed."""
    try:
        new_figure(1, 1)
    except ImportError as error:
        raise CommandError("plots need matplotlib: pip install 'kdi[cli]'") from error


@contextmanager
def save_plot(path: str | None, draw: Callable[[], Any]) -> Iterator[None]:
    """Write the figure that `draw` returns, before the block; the file appears only if the block succeeds."""
    if path is None:
        yield
        return
    with atomic_write(path) as temporary:
        draw().savefig(temporary, format=path.lower().rpartition(".")[2], dpi=150)
        yield


def draw_matrix(features: list[str], matrix: Float64Array) -> Any:
    """Draw a heat map of correlations, with the numbers in its cells unless there are many."""
    n = len(features)
    side = min(3.2 + 0.42 * n, 16.0)
    axes = new_figure(side + 0.9, side).subplots()
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="KD-integral correlation")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_facecolor("#ececec")  # shows where the correlation is NaN
    if n > MAX_NAMED:
        axes.set(xticks=[], yticks=[], xlabel=f"{n} columns, in the order of the table")
        return axes.figure
    names = [short(name) for name in features]
    axes.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n), names)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_parse_math(False)  # a $ in a name is not mathematics
    if n <= MAX_NUMBERED:
        for i, row in enumerate(matrix.tolist()):
            for j, value in enumerate(row):
                colour = "white" if abs(value) > 0.6 else "black"
                axes.text(j, i, format_number(value, ".2f"), ha="center", va="center", fontsize=8, color=colour)
    return axes.figure
