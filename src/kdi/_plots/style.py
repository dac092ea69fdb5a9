"""Style that the displays share: colours, sizes, figures, axes, legends and names.

The user's settings are never changed: fonts and background are taken from them, everything else is set on what is
drawn. matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from kdi._utils.names import format_names
from kdi._utils.validation import is_integer

# These colours are visible on white and on black, and differ in lightness or saturation too, for readers who cannot
# distinguish hues. A transformation and the correlation that belongs to it have the same colour in every display.
BLUE, ORANGE, GREY, PINK, RED = "#1f6fb8", "#d97706", "#8a8a8a", "#d8a0bf", "#d0432f"
KDI, QUANTILE, MIN_MAX = BLUE, ORANGE, GREY
SPEARMAN, PEARSON = QUANTILE, MIN_MAX
MAX_LEGEND_SHARE = 0.97  # of the width of the axes, which the final layout may make a bit narrower
SMALL = "small"  # ticks, legends and notes, relative to the user's font size
MISSING_MATPLOTLIB = "displays need matplotlib: pip install 'kdi[plot]'"


def import_pyplot() -> Any:
    """Import pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(MISSING_MATPLOTLIB) from error
    return plt


def new_figure(width: float, height: float) -> Any:
    """Create a figure of this size in inches for a file: pyplot does not know it, so that no window shows it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(MISSING_MATPLOTLIB) from error
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float, height: float, n_rows: int = 1, n_cols: int = 1, **sharing: Any) -> Any:
    """Create a grid of axes in a new figure of this size in inches."""
    options = {"figsize": (width, height), "layout": "constrained", "squeeze": False}
    return import_pyplot().subplots(n_rows, n_cols, **options, **sharing)[1]


def prepare_axes(ax: Any, width: float, height: float) -> Any:
    """Check the given axes, or create new ones, and give them the style of the displays."""
    if ax is None:
        ax = new_axes(width, height)[0, 0]
    elif not are_rectangular(ax):
        raise ValueError(f"ax must be a matplotlib Axes (not polar, not in 3D) or None, got {type(ax).__name__}.")
    hide_spines(ax)
    return ax


def are_rectangular(ax: Any) -> bool:
    """Tell whether these are axes with x and y at right angles: polar axes have other spines, 3D axes have a z."""
    return hasattr(ax, "get_xlim") and {"top", "right"} <= set(ax.spines) and not hasattr(ax, "get_zlim")


def hide_spines(ax: Any) -> None:
    """Remove the top and right spines, and make the tick labels small."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(which="both", labelsize=SMALL)


def update_layout(ax: Any) -> None:
    """Lay out the whole figure, so that widths can be measured."""
    root_figure(ax).draw_without_rendering()


def root_figure(ax: Any) -> Any:
    """Return the whole figure; ax.figure may be a subfigure of it."""
    return ax.figure.canvas.figure


def background_colour(ax: Any) -> tuple[float, float, float]:
    """Return the colour behind axes, or behind a figure."""
    from matplotlib.colors import to_rgba

    for behind in (ax, ax.figure, root_figure(ax)):
        red, green, blue, opacity = to_rgba(behind.get_facecolor())
        if opacity > 0.5:
            return red, green, blue
    return 1.0, 1.0, 1.0


def text_colour(ax: Any) -> str:
    """Return the colour of text, and of lines that are not data: black, or white on a dark background."""
    red, green, blue = background_colour(ax)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def joint_limits(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the limits that include both limits."""
    return min(one[0], other[0]), max(one[1], other[1])


def add_legend(ax: Any, handles: list[Any], labels: list[str], **options: Any) -> Any:
    """Add a legend without a frame; entries of the same colour and label are shown once."""
    # The legend of a line shows its colour; the looks of other artists always go with their labels.
    looks = [str(getattr(handle, "get_color", str)()) for handle in handles]
    once = dict(reversed([((label, look), handle) for handle, label, look in zip(handles, labels, looks, strict=True)]))
    entries = [(handle, label) for (label, _), handle in reversed(once.items())]
    style = {"frameon": False, "fontsize": SMALL, "labelcolor": text_colour(ax), "handlelength": 1.6}
    style |= {"columnspacing": 1.2}
    return ax.legend(*(list(column) for column in zip(*entries, strict=True)), **style | options)


def add_legend_in_columns(ax: Any, handles: list[Any], labels: list[str], **options: Any) -> Any:
    """Add a legend in as many columns as fit into the axes; the layout of the figure ignores it."""
    for n_columns in range(len(handles), 0, -1):
        legend = add_legend(ax, handles, labels, ncols=n_columns, borderaxespad=0, **options)
        legend.set_in_layout(False)
        if legend.get_window_extent().width <= MAX_LEGEND_SHARE * ax.bbox.width:
            break
    return legend


def add_legend_above_data(ax: Any, **options: Any) -> Any:
    """Add a legend at the top inside the axes, and extend the y axis so that it covers no data."""
    low, high = ax.get_ylim()
    update_layout(ax)
    legend = add_legend_in_columns(ax, *ax.get_legend_handles_labels(), loc="upper center", **options)
    share = min(legend.get_window_extent().height / ax.bbox.height + 0.02, 0.6)
    ax.set_ylim(low, low + (high - low) / (1 - share))
    return legend


def on_one_line(name: Any) -> str:
    """Replace line breaks and repeated spaces of a name by single spaces."""
    return " ".join(str(name).split())


def elide_middle(text: str, length: int) -> str:
    """Cut out the middle of a text that is longer than `length` (>= 3) characters; names often differ at the end."""
    kept = max(length - 1, 2)
    head = ceil(kept / 2)
    return text if len(text) <= length else f"{text[:head]}…{text[len(text) - kept + head :]}"


def shorten(artist: Any, max_width: float) -> None:
    """Cut out the middle of a text artist that is wider than `max_width` pixels."""
    text, width = artist.get_text(), artist.get_window_extent().width
    length = len(text) if width <= max_width else max(int(len(text) * max_width / width), 2) + 1
    while width > max_width and length > 2:
        artist.set_text(elide_middle(text, length))
        width, length = artist.get_window_extent().width, length - 1


def variable_name(values: Any, name: str | None) -> str:
    """Return the given name, or else the name of a pandas or polars Series, or else "x"."""
    own = getattr(values, "name", None)
    return name if name is not None else "x" if own is None or own == "" else str(own)


def class_name(instance: Any) -> str:
    """Return the name of an object's class with its module, since two classes may have the same name."""
    cls = type(instance)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def format_alpha(alpha: float) -> str:
    """Write an alpha in few characters."""
    if alpha == float("inf"):
        return "∞"
    if alpha == 0 or 1e-3 <= alpha < 1e4:
        return f"{alpha:.3g}" if alpha < 1000 else f"{alpha:.0f}"
    digits, power = f"{alpha:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def feature_index(feature: Any, names: Sequence[str], parameter: str) -> int:
    """Return the position of a feature that is given by name or by position."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if is_integer(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"{parameter} must be a name or a position below {len(names)}, got {feature!r}; the names are "
        f"{format_names(names, 20)}."
    )
