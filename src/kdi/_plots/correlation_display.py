"""CorrelationDisplay: where Pearson, Spearman and KD-integral correlations agree, and where they do not."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np

from kdi._correlation.comparison import Against, check_against, compare_correlations
from kdi._plots import style
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import is_integer


@public_in("kdi")
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
    >>> [label.get_text() for label in display.plot(n_labels=1).labels_]
    ['0, 1']
    """

    ax_: Any
    figure_: Any
    labels_: list[Any]

    def __init__(self, comparison: Any, *, against: Against = "pearson") -> None:
        check_against(against)
        self.comparison = comparison
        self.against = against
        try:
            self._columns = {name: self._column(name) for name in ("pearson", "spearman", "kdi")}
            self._names = [list(comparison[name]) for name in ("first", "second")]
        except Exception as error:
            raise ValueError(
                f"comparison must be a result of kdi.compare_correlations, got {type(comparison).__name__}: {error!r}."
            ) from error

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

        Returns
        -------
        display : CorrelationDisplay
            With its axes and labels.
        """
        style.pyplot()  # before the work, not after
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

        Returns
        -------
        self : CorrelationDisplay
        """
        if not is_integer(n_labels) or n_labels < 0:
            raise ValueError(f"n_labels must be a whole number >= 0, got {n_labels!r}.")
        ax = style.one_axes(ax, 5.5, 5.5)
        self.ax_, self.figure_ = ax, ax.figure
        earlier = ax.get_xlim() if ax.has_data() else (0.0, 0.0)
        pearson, spearman, ours = self._columns.values()
        defined = ~np.isnan(ours - pearson - spearman)
        x, below, above = pearson[defined], spearman[defined], ours[defined]
        errors = {name: self._errors(name)[defined] for name in self._columns}
        ax.axline((0, 0), slope=1, color=style.PEARSON, linewidth=1, zorder=1, label="agrees with Pearson")
        ax.vlines(x, below, above, color=style.PINK, linewidth=2.5, zorder=2)
        ax.scatter(x, below, s=30, color=style.SPEARMAN, marker="s", zorder=4, label="Spearman")
        ax.scatter(x, above, s=34, color=style.KDI, marker="o", zorder=5, label="KD-integral")
        if any(error.any() for error in errors.values()):  # behind the points, which would be covered by many of them
            bars = {"fmt": "none", "ecolor": style.ink(ax), "elinewidth": 0.9, "capsize": 2, "zorder": 3}
            ax.errorbar(x, below, yerr=errors["spearman"], **bars)
            ax.errorbar(x, above, yerr=errors["kdi"], xerr=errors["pearson"], **bars)
        reach = [(x, errors["pearson"]), (below, errors["spearman"]), (above, errors["kdi"])]
        low, high = _limits(*(centre + sign * error for centre, error in reach for sign in (-1, 1)))
        limits = style.span(earlier, (low, high))
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        ax.set_xlabel("Pearson correlation")
        label = ax.set_ylabel("Spearman and KD-integral correlation")
        if not defined.any():
            ax.text(0.5, 0.5, "no pair has correlations", transform=ax.transAxes, ha="center", color=style.ink(ax))
        style.update_layout(ax)
        if label.get_window_extent().height > ax.bbox.height:
            label.set_text("Spearman and\nKD-integral correlation")
        legend = style.legend(ax, *ax.get_legend_handles_labels(), loc="best")
        gaps = abs(ours - self._columns[self.against])
        largest = [j for j in np.argsort(-gaps, kind="stable") if defined[j]][:n_labels]
        self.labels_ = _label_points(
            ax,
            [(pearson[j], ours[j]) for j in largest],
            [_pair_label(*(style.name_on_one_line(names[j]) for names in self._names)) for j in largest],
            np.concatenate([np.c_[x, below + share * (above - below)] for share in np.linspace(0, 1, 6)]),
            legend,
        )
        return self

    def _column(self, name: str) -> Float64Array:
        return np.asarray(self.comparison[name], dtype=float)

    def _errors(self, name: str) -> Float64Array:
        """Standard errors of a coefficient; zero where the comparison has none."""
        given = self.comparison
        names = given.dtype.names if isinstance(given, np.ndarray) else given
        return np.nan_to_num(self._column(f"{name}_error")) if f"{name}_error" in names else 0 * self._columns[name]


def _limits(*coordinates: Float64Array) -> tuple[float, float]:
    """Limits that hold all coordinates, with some room for labels."""
    everything = np.concatenate([*coordinates, [0.0]])
    room = 0.08 * max(float(np.ptp(everything)), 0.1)
    return float(everything.min()) - room, float(everything.max()) + room


def _pair_label(first: str, second: str, *, length: int = 28) -> str:
    """Two names on one line where they are short, and not too long on two."""
    if len(first) + len(second) < length:
        return f"{first}, {second}"
    return ",\n".join(style.without_middle(name, length) for name in (first, second))


def _label_points(ax: Any, places: list[Any], texts: list[str], points: Float64Array, legend: Any) -> list[Any]:
    """Label places with leaders; the texts stay inside the axes and cover few points and no other text."""
    style.update_layout(ax)
    taken = [legend.get_window_extent()]
    dots = ax.transData.transform(points)
    diagonal = ax.transData.transform(np.linspace((-1, -1), (1, 1), 200))
    labels = []
    for place, text in zip(places, texts, strict=True):
        label = ax.annotate(
            text,
            place,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=style.SMALL,
            color=style.ink(ax),
            parse_math=False,  # names are data: a $ in them is a $
            zorder=7,
            bbox={"facecolor": style.paper(ax), "edgecolor": "none", "alpha": 0.8, "pad": 1},
            arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.8, "shrinkB": 4},
        )
        label.set_in_layout(False)
        best, least = (1, 1, 14), np.inf
        for distance, (right, up) in product((14, 30, 50, 75, 110, 150), product((1, -1, 0), (1, -1, 0))):
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
