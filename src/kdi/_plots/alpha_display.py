"""AlphaDisplay: the criterion by which KDITransformerCV chose, against alpha, with a panel for each feature."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kdi._plots import style
from kdi._tuning.transformer_cv import KDITransformerCV
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers, check_count

MOST_LABELS = 5  # of an axis, ∞ and 0 not counted: panels are narrow
MOST_TICKS = 80  # without labels
LEAST, LARGEST = 1e-300, 1e300  # alphas that an axis has room for, and beyond them for 0 and inf


@public_in("kdi")
class AlphaDisplay:
    """The score at every alpha, with a panel for each feature.

    Each panel has the score with its feature at each alpha and the others as they were. The alpha compared with is
    where the grey lines cross; the band is one standard error of the difference to the score there, so that an alpha
    whose band lies above the level line is better beyond a standard error. The dot is what was chosen. Panels share the
    axis of scores: a curve that looks flat belongs to a feature whose alpha matters little.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        0 and inf have places of their own at the ends of the axis.
    scores : array-like of shape (n_alphas, n_features)
        Higher is better.
    standard_errors : array-like of the shape of scores, optional
        Of the differences to the scores at the alpha compared with. Where they are infinite no band is drawn.
    chosen : array-like of shape (n_features,)
        The alpha that was chosen for each feature.
    reference : float, default=1.0
        The alpha compared with.
    feature_names : sequence of str, optional
        "x0", "x1" and so on by default.
    score_name : str, default="score"

    Attributes
    ----------
    axes_ : ndarray of Axes
        The panels of the last `plot`.
    ax_, figure_
        The first panel, and its figure.
    features_ : list of int
        The features that the panels show.
    lines_ : list of matplotlib Line2D
        The curves of scores.

    Examples
    --------
    >>> import numpy as np
    >>> import kdi
    >>> rng = np.random.default_rng(0)
    >>> X = rng.lognormal(sigma=2, size=(500, 2))
    >>> y = np.log(X[:, 0]) + X[:, 1] / 10 + rng.normal(size=500)
    >>> model = kdi.KDITransformerCV().fit(X, y)
    >>> kdi.AlphaDisplay.from_estimator(model).features_  # the one that gains most comes first
    [0, 1]
    """

    ax_: Any
    axes_: Any
    figure_: Any
    features_: list[int]
    lines_: list[Any]

    def __init__(
        self,
        *,
        alphas: ArrayLike,
        scores: ArrayLike,
        standard_errors: ArrayLike | None = None,
        chosen: ArrayLike,
        reference: float = 1.0,
        feature_names: Iterable[Any] | None = None,
        score_name: str = "score",
    ) -> None:
        given = as_numbers(alphas, "alphas")
        if given.ndim != 1 or not given.size or not np.all(given >= 0) or len(np.unique(given)) < len(given):
            raise ValueError(f"alphas must be distinct numbers >= 0 (inf included), got {alphas!r}.")
        between = given[(given > 0) & np.isfinite(given)]
        if between.size and not LEAST <= between.min() <= between.max() <= LARGEST:
            raise ValueError(f"alphas must be 0, inf or from {LEAST:g} to {LARGEST:g} to be drawn, got {alphas!r}.")
        table = as_numbers(scores, "scores")
        if table.ndim != 2 or table.shape[0] != len(given) or not table.shape[1]:
            raise ValueError(f"scores must have shape ({len(given)}, n_features), got {table.shape}.")
        if not np.isfinite(table).all():
            raise ValueError("scores must be finite.")
        errors = (
            np.full(table.shape, np.inf) if standard_errors is None else as_numbers(standard_errors, "standard_errors")
        )
        if errors.shape != table.shape:
            raise ValueError(f"standard_errors must have the shape of scores, {table.shape}, got {errors.shape}.")
        names = [f"x{j}" for j in range(table.shape[1])] if feature_names is None else [str(n) for n in feature_names]
        picked = as_numbers(chosen, "chosen")
        for name, what in (("feature_names", len(names)), ("chosen", picked.size)):
            if what != table.shape[1]:
                raise ValueError(f"{name} must have one entry for each of {table.shape[1]} features, got {what}.")
        order = np.argsort(given)
        self.alphas, self.scores, self.standard_errors = given[order], table[order], errors[order]
        self.chosen, self.reference = picked.ravel(), float(reference)
        for name, value in [("reference", self.reference), *(("chosen", value) for value in self.chosen)]:
            if value not in self.alphas:
                raise ValueError(f"{name} must be among the alphas, got {value}.")
        self.feature_names, self.score_name = names, score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: KDITransformerCV,
        *,
        features: Any = None,
        max_features: int = 12,
        n_cols: int = 4,
        sharey: bool = True,
        ax: Any = None,
    ) -> Self:
        """Plot what a fitted KDITransformerCV chose by.

        Parameters
        ----------
        estimator : fitted KDITransformerCV
            With `per_feature=False` there is one panel, for all features.
        features, max_features, n_cols, sharey, ax
            As in `plot`.

        Returns
        -------
        display : AlphaDisplay
            With its panels and lines.
        """
        style.pyplot()
        if not isinstance(estimator, KDITransformerCV):
            raise TypeError(
                f"estimator must be a fitted KDITransformerCV, of a pipeline that step, got {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        each = estimator.scores_.shape[1] == estimator.n_features_in_
        display = cls(
            alphas=estimator.alphas_,
            scores=estimator.scores_,
            standard_errors=estimator.standard_errors_,
            chosen=estimator.alpha_ if each else estimator.alpha_[:1],
            reference=estimator.reference_alpha_,
            feature_names=estimator.get_feature_names_out() if each else ["all features"],
            score_name=_score_name(estimator),
        )
        return display.plot(ax, features=features, max_features=max_features, n_cols=n_cols, sharey=sharey)

    def plot(
        self, ax: Any = None, *, features: Any = None, max_features: int = 12, n_cols: int = 4, sharey: bool = True
    ) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            One for each feature; a new figure by default. There is no legend in an array of axes:
            ``figure.legend(*display.ax_.get_legend_handles_labels())`` makes one.
        features : str, int or sequence of them, optional
            The features to show, by name or position, in this order. By default those that gain most over the alpha
            compared with; without those that are the same at every alpha, as columns of two values are.
        max_features : int, default=12
            How many are shown at most, where `features` does not say which.
        n_cols : int, default=4
            How many panels stand side by side at most.
        sharey : bool, default=True
            Whether all panels have the same axis of scores. Otherwise each fills its panel.

        Returns
        -------
        self : AlphaDisplay
        """
        style.pyplot()
        for name, count in (("max_features", max_features), ("n_cols", n_cols)):
            if count is None:
                raise ValueError(f"{name} must be a whole number >= 1, got None.")
            check_count(name, count, least=1)
        shown, note = self._most_gaining(max_features) if features is None else (self._places(features), "")
        given = None if ax is None else _given_axes(ax, len(shown))
        grid = _new_axes(len(shown), n_cols, sharey) if given is None else given
        self.axes_, self.ax_, self.figure_ = grid, grid[0], grid[0].figure
        self.features_ = shown
        self.lines_ = [self._draw(panel, j) for panel, j in zip(grid, shown, strict=True)]
        if sharey:
            limits = np.array([panel.get_ylim() for panel in grid])
            for panel in grid:
                panel.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        self._say_what_is_what(given is None, f"alpha{note}")
        _set_titles(grid, [self.feature_names[j] for j in shown], [style.alpha_text(self.chosen[j]) for j in shown])
        if given is not None and len(shown) == 1:  # the lines behind this legend go all the way up
            opaque = {"frameon": True, "framealpha": 1, "edgecolor": "none", "facecolor": style.paper(self.ax_)}
            style.legend_over_data(self.ax_, **opaque)
        return self

    @property
    def _gains(self) -> Float64Array:
        """How much better each feature is at its alpha than at the one compared with."""
        columns = np.arange(len(self.chosen))
        chosen = self.scores[np.searchsorted(self.alphas, self.chosen), columns]
        return np.asarray(chosen - self.scores[np.searchsorted(self.alphas, self.reference)])

    def _most_gaining(self, most: int) -> tuple[list[int], str]:
        """The features that gain most, and a note on those that are left out."""
        reach = np.ptp(self.scores, axis=0)
        order = np.lexsort([-reach, -self._gains])
        flat = order[reach[order] == 0]
        lively = order[reach[order] > 0]
        shown = (lively if lively.size else flat)[:most].tolist()
        most_of = lively.size or flat.size
        notes = [f"the {len(shown)} of {most_of} features that gain most"] if len(shown) < most_of else []
        if lively.size and flat.size:
            notes.append(f"not shown: {flat.size} that no alpha changes")
        return shown, f" ({'; '.join(notes)})" if notes else ""

    def _places(self, features: Any) -> list[int]:
        """Features by name or position, as positions."""
        alone = isinstance(features, str) or not isinstance(features, Iterable)
        chosen = [features] if alone else features
        found = [style.feature_place(feature, self.feature_names, "features") for feature in chosen]
        if not found:
            raise ValueError("features must name at least one feature.")
        return found

    def _draw(self, panel: Any, j: int) -> Any:
        """One feature's curve, band and marks."""
        places, ticks, inner = _axis_of(self.alphas)
        at = dict(zip(self.alphas.tolist(), places.tolist(), strict=True))
        scores, errors = self.scores[:, j], self.standard_errors[:, j]
        limits = _moved(places[0], -1, places, 0.04), _moved(places[-1], 1, places, 0.04)
        if panel.has_data():  # both are to be seen
            limits = style.span(limits, panel.get_xlim())
        thin = {"color": style.GREY, "linewidth": 1}
        panel.axvline(
            at[self.reference], **thin, label=f"compared with alpha = {style.alpha_text(self.reference)}", zorder=1
        )
        panel.axhline(scores[self.alphas == self.reference][0], **thin, zorder=1)
        if self.reference != 1 and min(inner, default=2) <= 1 <= max(inner, default=0):
            panel.axvline(1, **thin, linestyle=":", label="alpha = 1", zorder=1)
        known = np.isfinite(errors)
        if known.any() and np.ptp(scores):
            low, high = scores - np.where(known, errors, 0), scores + np.where(known, errors, 0)
            band = {"color": style.KDI, "alpha": 0.3, "linewidth": 0, "zorder": 2}
            panel.fill_between(places, low, high, where=known, **band, label="± standard error")
        (line,) = panel.plot(places, scores, color=style.KDI, linewidth=1.5, marker=".", markersize=4, zorder=3)
        best = self.chosen[j]
        mark = {
            "color": style.ORANGE,
            "marker": "o",
            "markersize": 7,
            "markeredgecolor": style.ink(panel),
            "linestyle": "none",
        }
        panel.plot(at[best], scores[self.alphas == best], **mark, zorder=4, label="chosen alpha", clip_on=False)
        panel.set_xscale("log")
        panel.set_xlim(limits)
        panel.set_xticks(list(ticks), list(ticks.values()))
        between = _multiples(inner[0], inner[-1], range(2, 10)) if inner.size else inner
        panel.set_xticks(between if len(between) <= MOST_TICKS else [], minor=True)
        panel.xaxis.set_minor_formatter("")
        panel.autoscale(axis="y")  # which limits of an earlier plot have ended
        panel.margins(y=0.08)
        panel.ticklabel_format(axis="y", useOffset=False)
        style.hide_spines(panel)
        return line

    def _say_what_is_what(self, own: bool, label: str) -> None:
        """Labels, around the figure with its legend if it is ours, or of the axes that were given."""
        handles, labels = max(
            (panel.get_legend_handles_labels() for panel in self.axes_), key=lambda both: len(both[1])
        )
        if own:
            self.figure_.supxlabel(label, fontsize="medium")
            self.figure_.supylabel(self.score_name, fontsize="medium")
            for n_columns in range(len(handles) if self.figure_.get_figwidth() > 8 else 2, 0, -1):
                found = style.legend(self.figure_, handles, labels, loc="outside upper center", ncols=n_columns)
                if n_columns == 1 or found.get_window_extent().width <= self.figure_.bbox.width:
                    return
                found.remove()
        for panel in self.axes_:
            panel.set(xlabel=label, ylabel=self.score_name)


def _score_name(estimator: KDITransformerCV) -> str:
    if estimator.estimator is None:
        return "R² in rows left out" + " (of classes)" * (estimator.task_ == "classification")
    return estimator.scoring if isinstance(estimator.scoring, str) else f"score of {type(estimator.estimator).__name__}"


def _axis_of(alphas: Float64Array) -> tuple[Float64Array, dict[float, str], Float64Array]:
    """Where alphas stand on a logarithmic axis, labels at some places, and the alphas other than 0 and inf.

    These two have places beyond the others.
    """
    inner = alphas[(alphas > 0) & np.isfinite(alphas)]
    first, last = (inner[0], inner[-1]) if inner.size else (1.0, 1.0)
    low, high = _moved(first, -1, inner, 0.15), _moved(last, 1, inner, 0.15)
    ends = {low: "0"} if alphas[0] == 0 else {}
    ends |= {high: "∞"} if alphas[-1] == np.inf else {}
    labels = {place: style.alpha_text(place) for place in _round_numbers(first, last).tolist()} if inner.size else {}
    near = 0.08 * np.log10(high / low) if high / low < np.inf else 50.0
    clear = {place: label for place, label in labels.items() if all(abs(np.log10(place / end)) > near for end in ends)}
    return np.clip(alphas, low, high), ends | clear, inner


def _moved(place: float, sign: int, places: Float64Array, share: float) -> float:
    """A place further out on a logarithmic axis, by a share of the length of it, as far as numbers go."""
    length = float(np.log10(places[-1]) - np.log10(places[0])) if places.size else 0.0
    exponent = float(np.log10(place)) + sign * max(share * length, share)
    return float(10 ** np.clip(exponent, -307, 307.5))


def _multiples(low: float, high: float, steps: Iterable[int]) -> Float64Array:
    """Multiples of powers of ten from low to high."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    numbers = np.outer(10.0**powers, list(steps)).ravel()
    return numbers[(numbers >= low * (1 - 1e-9)) & (numbers <= high * (1 + 1e-9))]


def _round_numbers(low: float, high: float) -> Float64Array:
    """A few round numbers from low to high, or the ends where there are none."""
    inside = _multiples(low, high, (1, 2, 5))
    if len(inside) > MOST_LABELS:
        inside = _multiples(low, high, (1,))
    return np.unique([low, high]) if len(inside) < 2 else inside[:: ceil(len(inside) / MOST_LABELS)]


def _given_axes(given: Any, n_panels: int) -> Any:
    """Axes that were given, as an array of as many as there are panels."""
    axes = np.array(given, dtype=object).ravel()
    if len(axes) != n_panels or not all(map(style.are_flat, axes)):
        allowed = "one Axes" if n_panels == 1 else f"an array of {n_panels} Axes"
        got = type(axes[0]).__name__ if len(axes) == 1 else f"{len(axes)} of them"
        raise ValueError(
            f"ax must be {allowed}, one a feature (not polar, not in 3D), got {got}; `features` says which are drawn."
        )
    return axes


def _new_axes(n_panels: int, n_cols: int, sharey: bool) -> Any:
    """Panels of a new figure, as even a grid as may be, with labels at the outer ones."""
    n_rows = ceil(n_panels / n_cols)
    n_cols = ceil(n_panels / n_rows)
    size = (5.5, 4.0) if n_panels == 1 else (max(2.5 * n_cols + 0.6, 6.0), 1.8 * n_rows + 1.2)
    axes = style.new_axes(*size, n_rows, n_cols, sharex=True, sharey=sharey).ravel()
    for place, panel in enumerate(axes):
        if place >= n_panels:
            panel.remove()
        elif place + n_cols >= n_panels:  # nothing below it
            panel.tick_params(labelbottom=True)
    return axes[:n_panels]


def _set_titles(axes: Any, names: list[str], chosen: list[str]) -> None:
    """The name of each feature at the left of its panel, the alpha that was chosen for it at the right."""
    said = {"loc": "right", "fontsize": "x-small"}
    right = [panel.set_title(f"alpha = {alpha}", **said) for panel, alpha in zip(axes, chosen, strict=True)]
    style.update_layout(axes[0])  # before long names, which would narrow the panels
    for panel, name, other in zip(axes, names, right, strict=True):
        title = panel.set_title(
            style.name_on_one_line(name), loc="left", fontsize=style.SMALL, parse_math=False
        )  # names are data: a $ in them is a $
        style.shorten(title, panel.bbox.width - other.get_window_extent().width - 8)
