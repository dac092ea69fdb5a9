"""CorrelationDisplay: where Pearson, Spearman and KD-integral correlations agree, and where they differ."""

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
    """Agreement of Pearson, Spearman and KD-integral correlations.

    The horizontal position of a pair of columns is its Pearson correlation; a vertical line joins its Spearman and its
    KD-integral correlation. The length of the line is the difference of these two, the distance of each from the
    diagonal its difference from Pearson.

    Parameters
    ----------
    comparison : result of `kdi.compare_correlations`, or a mapping with its columns
        If it has standard errors, error bars are drawn.
    against : {"pearson", "spearman"}, default="pearson"
        The coefficient whose largest differences from KD-integral are labelled.

    Attributes
    ----------
    ax_, figure_
        The axes and figure of the last `plot`.
    labels_ : list of matplotlib Annotation
        The labels of the largest differences.

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
        """Compare the correlations between the columns of a table, and plot them.

        Parameters
        ----------
        table : array-like of shape (n, n_columns), pandas or polars DataFrame
        against, n_labels, ax
            As in the class and in `plot`.
        **comparison
            Options of `kdi.compare_correlations`: alpha, kernel, order, weights, n_resamples (for error bars), rng,
            numeric_only, n_jobs.

        Returns
        -------
        display : CorrelationDisplay
            With its axes and labels.
        """
        style.import_pyplot()  # raise before the work, not after it
        found = compare_correlations(table, against=against, **comparison)
        return cls(found, against=against).plot(ax, n_labels=n_labels)

    def plot(self, ax: Any = None, *, n_labels: int = 2) -> Self:
        """Draw the comparison.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_labels : int, default=2
            Number of the largest differences to label.

        Returns
        -------
        self : CorrelationDisplay
        """
        if not is_integer(n_labels) or n_labels < 0:
            raise ValueError(f"n_labels must be an integer >= 0, got {n_labels!r}.")
        ax = style.prepare_axes(ax, 5.5, 5.5)
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
        if any(error.any() for error in errors.values()):  # behind the points, since many bars would cover them
            bars = {"fmt": "none", "ecolor": style.text_colour(ax), "elinewidth": 0.9, "capsize": 2, "zorder": 3}
            ax.errorbar(x, below, yerr=errors["spearman"], **bars)
            ax.errorbar(x, above, yerr=errors["kdi"], xerr=errors["pearson"], **bars)
        drawn = [(x, errors["pearson"]), (below, errors["spearman"]), (above, errors["kdi"])]
        low, high = _limits(*(centre + sign * error for centre, error in drawn for sign in (-1, 1)))
        limits = style.joint_limits(earlier, (low, high))
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        ax.set_xlabel("Pearson correlation")
        label = ax.set_ylabel("Spearman and KD-integral correlation")
        if not defined.any():
            text_style = {"ha": "center", "color": style.text_colour(ax)}
            ax.text(0.5, 0.5, "no pair has correlations", transform=ax.transAxes, **text_style)
        style.update_layout(ax)
        if label.get_window_extent().height > ax.bbox.height:
            label.set_text("Spearman and\nKD-integral correlation")
        legend = style.add_legend(ax, *ax.get_legend_handles_labels(), loc="best")
        differences = abs(ours - self._columns[self.against])
        largest = [j for j in np.argsort(-differences, kind="stable") if defined[j]][:n_labels]
        self.labels_ = _label_points(
            ax,
            [(pearson[j], ours[j]) for j in largest],
            [_pair_label(*(style.on_one_line(names[j]) for names in self._names)) for j in largest],
            np.concatenate([np.c_[x, below + share * (above - below)] for share in np.linspace(0, 1, 6)]),
            legend,
        )
        return self

    def _column(self, name: str) -> Float64Array:
        return np.asarray(self.comparison[name], dtype=float)

    def _errors(self, name: str) -> Float64Array:
        """Return the standard errors of a coefficient; zeros where the comparison has none."""
        comparison = self.comparison
        names = comparison.dtype.names if isinstance(comparison, np.ndarray) else comparison
        return np.nan_to_num(self._column(f"{name}_error")) if f"{name}_error" in names else 0 * self._columns[name]


def _limits(*coordinates: Float64Array) -> tuple[float, float]:
    """Return limits that include all coordinates and 0, with some space for labels."""
    values = np.concatenate([*coordinates, [0.0]])
    padding = 0.08 * max(float(np.ptp(values)), 0.1)
    return float(values.min()) - padding, float(values.max()) + padding


def _pair_label(first: str, second: str, *, length: int = 28) -> str:
    """Join two names on one line where they are short, else shortened on two lines."""
    if len(first) + len(second) < length:
        return f"{first}, {second}"
    return ",\n".join(style.elide_middle(name, length) for name in (first, second))


def _label_points(ax: Any, positions: list[Any], texts: list[str], points: Float64Array, legend: Any) -> list[Any]:
    """Label positions, with lines to them; the texts stay inside the axes and cover few points and no other text."""
    style.update_layout(ax)
    occupied = [legend.get_window_extent()]
    pixels = ax.transData.transform(points)
    diagonal = ax.transData.transform(np.linspace((-1, -1), (1, 1), 200))
    labels = []
    for position, text in zip(positions, texts, strict=True):
        label = ax.annotate(
            text,
            position,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=style.SMALL,
            color=style.text_colour(ax),
            parse_math=False,  # names are data: a $ in them is not mathematics
            zorder=7,
            bbox={"facecolor": style.background_colour(ax), "edgecolor": "none", "alpha": 0.8, "pad": 1},
            arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.8, "shrinkB": 4},
        )
        label.set_in_layout(False)
        best, lowest_cost = (1, 1, 14), np.inf
        for distance, (right, up) in product((14, 30, 50, 75, 110, 150), product((1, -1, 0), (1, -1, 0))):
            if right == up == 0:
                continue
            _move(label, right, up, distance)
            box = label.get_window_extent().padded(2)
            cost = distance / 100 + sum(box.overlaps(other) for other in occupied) * 10
            cost += box.count_contains(pixels) + 0.4 * (box.count_contains(diagonal) > 0)
            inside = ax.bbox.containsx(box.x0) and ax.bbox.containsx(box.x1)
            cost += 0 if inside and ax.bbox.containsy(box.y0) and ax.bbox.containsy(box.y1) else 100
            if cost < lowest_cost:
                best, lowest_cost = (right, up, distance), cost
        _move(label, *best)
        occupied.append(label.get_window_extent())
        labels.append(label)
    return labels


def _move(label: Any, right: int, up: int, distance: float) -> None:
    """Move a label beside its position, in one of eight directions."""
    label.set_position((right * distance, up * distance))
    label.set(ha={1: "left", 0: "center", -1: "right"}[right], va={1: "bottom", 0: "center", -1: "top"}[up])
