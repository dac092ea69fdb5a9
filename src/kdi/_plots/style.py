"""What the displays share: colours, sizes, new axes, legends and names; matplotlib is imported when one is drawn.

Nothing of the user's settings is changed: what is drawn takes fonts and background from them, and sets the rest itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from kdi._utils.names import format_names
from kdi._utils.validation import is_integer

# Colours that are seen on white and on black, and differ in lightness or in saturation too, for those who cannot tell
# the hues apart. The transformations and the correlations that go with them have the same ones in every display.
BLUE, ORANGE, GREY, PINK, RED = "#1f6fb8", "#d97706", "#8a8a8a", "#d8a0bf", "#d0432f"
KDI, QUANTILE, MIN_MAX = BLUE, ORANGE, GREY
SPEARMAN, PEARSON = QUANTILE, MIN_MAX
SNUG = 0.97  # the most of the width of axes that a legend takes: they may become a bit narrower yet
SMALL = "small"  # of ticks, legends and notes, in units of the user's font size


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("this needs matplotlib, which `pip install 'kdi[plot]'` installs.") from error
    return plt


def new_axes(width: float, height: float, n_rows: int = 1, n_cols: int = 1, **sharing: Any) -> Any:
    """A grid of axes in a new figure of so many inches."""
    return pyplot().subplots(n_rows, n_cols, figsize=(width, height), layout="constrained", squeeze=False, **sharing)[1]


def one_axes(ax: Any, width: float, height: float) -> Any:
    """The axes that were given, or new ones, in the style of the displays."""
    pyplot()
    if ax is None:
        ax = new_axes(width, height)[0, 0]
    elif not are_flat(ax):
        raise ValueError(f"ax must be a matplotlib Axes (not polar, not in 3D) or None, got {type(ax).__name__}.")
    hide_spines(ax)
    return ax


def are_flat(ax: Any) -> bool:
    """Whether these are axes with an x and a y at right angles: polar ones have other edges, those in 3D have a z."""
    return hasattr(ax, "get_xlim") and {"top", "right"} <= set(ax.spines) and not hasattr(ax, "get_zlim")


def hide_spines(ax: Any) -> None:
    """No frame around the axes, and small ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(which="both", labelsize=SMALL)


def update_layout(ax: Any) -> None:
    """Lay out the whole figure, of which ax.figure may be a part, so that widths can be measured."""
    ax.figure.canvas.figure.draw_without_rendering()


def paper(ax: Any) -> tuple[float, float, float]:
    """The colour behind the axes, or a figure."""
    from matplotlib.colors import to_rgba

    whole = ax.figure.canvas.figure  # of which ax.figure may be a part
    for behind in (ax, ax.figure, whole):
        red, green, blue, opacity = to_rgba(behind.get_facecolor())
        if opacity > 0.5:
            return red, green, blue
    return 1.0, 1.0, 1.0


def ink(ax: Any) -> str:
    """The colour of text and of lines that are no data: black, or white on a dark ground."""
    red, green, blue = paper(ax)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def span(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Limits that hold both."""
    return min(one[0], other[0]), max(one[1], other[1])


def legend(ax: Any, handles: list[Any], labels: list[str], **options: Any) -> Any:
    """A legend without a frame, in the ink of the axes; what looks alike and is called alike is named once."""
    # What is seen in the legend of a line is its colour; the parts of other things always go with their names.
    looks = [str(getattr(handle, "get_color", str)()) for handle in handles]
    once = dict(reversed([((label, look), handle) for handle, label, look in zip(handles, labels, looks, strict=True)]))
    named = [(handle, label) for (label, _), handle in reversed(once.items())]
    style = {"frameon": False, "fontsize": SMALL, "labelcolor": ink(ax), "handlelength": 1.6, "columnspacing": 1.2}
    return ax.legend(*(list(column) for column in zip(*named, strict=True)), **style | options)


def legend_in_columns(ax: Any, handles: list[Any], labels: list[str], **options: Any) -> Any:
    """A legend of axes in as many columns as there is room for once they are settled; the layout does without it."""
    for n_columns in range(len(handles), 0, -1):
        found = legend(ax, handles, labels, ncols=n_columns, borderaxespad=0, **options)
        found.set_in_layout(False)
        if found.get_window_extent().width <= SNUG * ax.bbox.width:
            break
    return found


def legend_over_data(ax: Any, **options: Any) -> Any:
    """A legend inside of the axes at the top, and room for it over all that is drawn."""
    low, high = ax.get_ylim()
    update_layout(ax)
    found = legend_in_columns(ax, *ax.get_legend_handles_labels(), loc="upper center", **options)
    share = min(found.get_window_extent().height / ax.bbox.height + 0.02, 0.6)
    ax.set_ylim(low, low + (high - low) / (1 - share))
    return found


def name_on_one_line(name: Any) -> str:
    return " ".join(str(name).split())


def without_middle(words: str, length: int) -> str:
    """A text in so many characters at most, but no fewer than three; names often differ at the end."""
    kept = max(length - 1, 2)
    head = ceil(kept / 2)
    return words if len(words) <= length else f"{words[:head]}…{words[len(words) - kept + head :]}"


def shorten(text: Any, room: float) -> None:
    """Leave out the middle of a text that is wider than its room."""
    words, width = text.get_text(), text.get_window_extent().width
    length = len(words) if width <= room else max(int(len(words) * room / width), 2) + 1
    while width > room and length > 2:
        text.set_text(without_middle(words, length))
        width, length = text.get_window_extent().width, length - 1


def display_name(values: Any, name: str | None) -> str:
    """The name that was given, or that of a pandas or polars Series, or x."""
    own = getattr(values, "name", None)
    return name if name is not None else "x" if own is None or own == "" else str(own)


def class_name(thing: Any) -> str:
    """The class of a thing, with its module: two may be called alike."""
    kind = type(thing)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


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
    if is_integer(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"{parameter} must be given by name or by a position below {len(names)}, got {feature!r}; "
        f"the names are {format_names(names, 20)}."
    )
