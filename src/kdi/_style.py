"""What the displays share: colours, sizes, new axes, legends and names; matplotlib is imported when one is drawn.

Nothing of the user's settings is changed: what is drawn takes fonts and background from them, and sets the rest itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from kdi._input import is_whole
from kdi._names import quoted

# Colours that are seen on white and on black, and differ in lightness or in saturation too, for those who cannot tell
# the hues apart. The transformations and the correlations that go with them have the same ones in every display.
BLUE, ORANGE, GREY, PINK, RED = "#1f6fb8", "#d97706", "#8a8a8a", "#d8a0bf", "#d0432f"
KDI, QUANTILE, MIN_MAX = BLUE, ORANGE, GREY
SPEARMAN, PEARSON = QUANTILE, MIN_MAX
SMALL = "small"  # of ticks, legends and notes, in units of the user's font size


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("this needs matplotlib, which `pip install kdi[plot]` installs.") from error
    return plt


def new_axes(width: float, height: float, n_rows: int = 1, n_cols: int = 1, **sharing: Any) -> Any:
    """A grid of axes in a new figure of so many inches."""
    return pyplot().subplots(n_rows, n_cols, figsize=(width, height), layout="constrained", squeeze=False, **sharing)[1]


def one_axes(ax: Any, width: float, height: float) -> Any:
    """The axes that were given, or new ones, in the style of the displays."""
    pyplot()
    if ax is None:
        ax = new_axes(width, height)[0, 0]
    elif not hasattr(ax, "get_xlim"):
        raise ValueError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}.")
    tidy(ax)
    return ax


def tidy(ax: Any) -> None:
    """No frame around the axes, and small ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(which="both", labelsize=SMALL)


def settle(ax: Any) -> None:
    """Lay out the whole figure, of which ax.figure may be a part, so that widths can be measured."""
    ax.figure.canvas.figure.draw_without_rendering()


def paper(ax: Any) -> tuple[float, float, float]:
    """The colour behind the axes, or a figure."""
    from matplotlib.colors import to_rgba

    for behind in (
        ax,
        ax.figure,
        ax.figure.canvas.figure,
    ):  # the axes, the part of a figure that they are in, all of it
        red, green, blue, opacity = to_rgba(behind.get_facecolor())
        if opacity > 0.5:
            return red, green, blue
    return 1.0, 1.0, 1.0


def ink(ax: Any) -> str:
    """The colour of text and of lines that are no data: black, or white on a dark ground."""
    red, green, blue = paper(ax)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def legend(ax: Any, *handles: Any, **options: Any) -> Any:
    """A legend without a frame, in the ink of the axes."""
    style = {"frameon": False, "fontsize": SMALL, "labelcolor": ink(ax), "handlelength": 1.6, "columnspacing": 1.2}
    return ax.legend(*handles, **style | options)


def one_line(name: Any) -> str:
    return " ".join(str(name).split())


def shorten(text: Any, room: float) -> None:
    """Leave out the middle of a text that is wider than its room; names often differ at the end."""
    words, width = text.get_text(), text.get_window_extent().width
    length = len(words) if width <= room else max(int(len(words) * room / width), 2)
    while width > room and length > 1:
        head = ceil(length / 2)
        text.set_text(f"{words[:head]}…{words[len(words) - length + head :]}")
        width, length = text.get_window_extent().width, length - 1


def alpha_text(alpha: float) -> str:
    """An alpha in few characters."""
    if alpha == float("inf"):
        return "∞"
    if alpha == 0 or 1e-3 <= alpha < 1e4:
        return f"{alpha:.3g}" if alpha < 1000 else f"{alpha:.0f}"
    digits, power = f"{alpha:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def feature_place(feature: Any, names: Sequence[str], parameter: str) -> int:
    """A feature by name or position, as a position."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if is_whole(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"{parameter} must be given by name or by a position below {len(names)}, got {feature!r}; "
        f"the names are {quoted(names, 20)}."
    )
