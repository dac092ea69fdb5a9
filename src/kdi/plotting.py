"""Displays: pictures of results, with the conventions of scikit-learn's displays. matplotlib is an extra."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np

from kdi._typing import Floats
from kdi.comparison import AGAINST, Against, compare_correlations

# Colours that differ in lightness too, for those who cannot tell the hues apart.
BLUE, ORANGE, PINK, GREY = "#0059a8", "#e08214", "#d8a0bf", "#9a9a9a"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("this needs matplotlib, which `pip install kdi[plot]` installs.") from error
    return plt


class CorrelationDisplay:
    """Where Pearson, Spearman and KD-integral correlations agree, and where they do not.

    Each pair of columns stands at its Pearson correlation, with its Spearman and its KD-integral correlation above and
    below each other, joined by a line: how far the two are apart is the length of the line, how far each is from
    Pearson the distance to the diagonal.

    Parameters
    ----------
    comparison : result of `kdi.compare_correlations`, or a mapping with its columns
        With standard errors in it, error bars are drawn.
    against : {"pearson", "spearman"}, default="pearson"
        Whose largest disagreements with KD-integral are labelled.

    Attributes
    ----------
    ax_, figure_
        The axes and figure of the last `plot`.
    labels_ : list of matplotlib Annotation
        The labels of the largest disagreements.

    Examples
    --------
    >>> import kdi, numpy as np
    >>> x = np.arange(10.0)
    >>> display = kdi.CorrelationDisplay(kdi.compare_correlations(np.c_[x, np.exp(x), -x]))
    >>> display = display.plot()  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    labels_: list[Any]

    def __init__(self, comparison: Any, *, against: Against = "pearson") -> None:
        if against not in AGAINST:
            raise ValueError(f"against must be 'pearson' or 'spearman', got {against!r}.")
        self.comparison = comparison
        self.against = against

    @classmethod
    def from_data(
        cls, table: Any, *, against: Against = "pearson", n_labels: int = 2, ax: Any = None, **comparison: Any
    ) -> Self:
        """Compare the correlations of a table's columns and plot them.

        Parameters
        ----------
        table : array-like of shape (n, n_columns), pandas or polars DataFrame
        against, n_labels, ax
            As in the class and in `plot`.
        **comparison
            Whatever `kdi.compare_correlations` takes: alpha, kernel, weights, n_resamples (for error bars), rng,
            numeric_only, n_jobs.
        """
        _pyplot()  # before the work, not after
        return cls(compare_correlations(table, against=against, **comparison), against=against).plot(
            ax, n_labels=n_labels
        )

    def plot(self, ax: Any = None, *, n_labels: int = 2) -> Self:
        """Draw the comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_labels : int, default=2
            How many of the largest disagreements are labelled.
        """
        plt = _pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        pearson, spearman, ours = (self._column(name) for name in ("pearson", "spearman", "kdi"))
        defined = ~np.isnan(ours - pearson - spearman)
        x, below, above = pearson[defined], spearman[defined], ours[defined]
        ax.axline((0, 0), slope=1, color=GREY, linewidth=1, zorder=1, label="agrees with Pearson")
        ax.vlines(x, below, above, color=PINK, linewidth=2.5, zorder=2)
        self._error_bars(x, below, "spearman", defined, sideways=False)
        self._error_bars(x, above, "kdi", defined, sideways=True)
        ax.scatter(x, below, s=30, color=ORANGE, marker="s", zorder=4, label="Spearman")
        ax.scatter(x, above, s=34, color=BLUE, marker="o", zorder=5, label="KD-integral")
        ax.set(xlabel="Pearson correlation", ylabel="Spearman and KD-integral correlation", aspect="equal")
        low, high = _limits(x, below, above)
        ax.set(xlim=(low, high), ylim=(low, high))
        legend = ax.legend(loc="upper left", frameon=False)
        gaps = abs(ours - (pearson if self.against == "pearson" else spearman))
        largest = [j for j in np.argsort(-gaps, kind="stable") if defined[j]][:n_labels]
        first, second = (list(self.comparison[name]) for name in ("first", "second"))
        points = np.r_[np.c_[x, below], np.c_[x, above]]
        self.labels_ = _label_points(
            ax,
            [(pearson[j], ours[j]) for j in largest],
            [f"{first[j]}, {second[j]}" for j in largest],
            points,
            [legend],
        )
        return self

    def _column(self, name: str) -> Floats:
        return np.asarray(self.comparison[name], dtype=float)

    def _error_bars(self, x: Floats, y: Floats, name: str, defined: Any, sideways: bool) -> None:
        """Standard errors of one coefficient upwards and, once, of Pearson's sideways, where there are some."""
        names = (
            getattr(self.comparison.dtype, "names", ()) if isinstance(self.comparison, np.ndarray) else self.comparison
        )
        if f"{name}_error" not in names:
            return
        self.ax_.errorbar(
            x,
            y,
            yerr=self._column(f"{name}_error")[defined],
            xerr=self._column("pearson_error")[defined] if sideways else None,
            fmt="none",
            ecolor="black",
            elinewidth=0.9,
            capsize=2,
            zorder=6,
        )


def _limits(*coordinates: Floats) -> tuple[float, float]:
    """Limits that hold all coordinates, with some room for labels."""
    everything = np.concatenate([*coordinates, [0.0]])
    room = 0.08 * max(float(np.ptp(everything)), 0.1)
    return float(everything.min()) - room, float(everything.max()) + room


def _label_points(ax: Any, places: list[Any], texts: list[str], points: Floats, obstacles: list[Any]) -> list[Any]:
    """Label places with leaders; the texts stay inside the axes and cover few points and no other text."""
    ax.figure.draw_without_rendering()
    taken = [one.get_window_extent() for one in obstacles]
    dots = ax.transData.transform(points)
    diagonal = ax.transData.transform(np.linspace((-1, -1), (1, 1), 200))
    labels = []
    for place, text in zip(places, texts, strict=True):
        label = ax.annotate(
            text,
            place,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=9,
            zorder=7,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
            arrowprops={"arrowstyle": "-", "color": "0.4", "linewidth": 0.8, "shrinkB": 4},
        )
        best, least = (1, 1, 14), np.inf
        for distance, (right, up) in product((14, 30, 50, 75), product((1, -1, 0), (1, -1, 0))):
            if right == up == 0:
                continue
            _move(label, right, up, distance)
            box = label.get_window_extent().padded(2)
            cost = distance / 100 + sum(box.overlaps(other) for other in taken) * 10
            cost += box.count_contains(dots) + 0.4 * (box.count_contains(diagonal) > 0)
            inside = ax.bbox.containsx(box.x0) and ax.bbox.containsx(box.x1)
            cost += 0 if inside and ax.bbox.containsy(box.y0) and ax.bbox.containsy(box.y1) else 100
            if cost < least:
                best, least = (right, up, distance), cost
        _move(label, *best)
        taken.append(label.get_window_extent())
        labels.append(label)
    return labels


def _move(label: Any, right: int, up: int, distance: float) -> None:
    """Put a label beside its place, in one of eight directions."""
    label.set_position((right * distance, up * distance))
    label.set(ha={1: "left", 0: "center", -1: "right"}[right], va={1: "bottom", 0: "center", -1: "top"}[up])
