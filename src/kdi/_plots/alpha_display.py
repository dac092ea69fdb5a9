"""AlphaDisplay: the score of KDITransformerCV against alpha, with one panel per feature."""

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

MAX_TICK_LABELS = 5  # of an axis, ∞ and 0 not counted: panels are narrow
MAX_MINOR_TICKS = 80
# Limits of the alphas on an axis; 0 and inf are drawn beyond them.
MIN_ALPHA, MAX_ALPHA = 1e-300, 1e300


@public_in("kdi")
class AlphaDisplay:
    """Score of KDITransformerCV at every alpha, with one panel per feature.

    Each panel shows the score where its feature has each alpha and the other features keep theirs. The grey lines cross
    at the alpha compared with; the band is one standard error of the difference to the score there, so that an alpha
    whose band lies above the horizontal line is better by more than a standard error. The dot is the chosen alpha.
    Panels share the axis of scores: a curve that looks flat belongs to a feature whose alpha matters little.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        0 and inf are drawn at the ends of the axis.
    scores : array-like of shape (n_alphas, n_features)
        Higher is better.
    standard_errors : array-like of the shape of scores, optional
        Standard errors of the differences to the scores at the alpha compared with. No band is drawn where they are
        infinite.
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
        The positions of the features that the panels show.
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
    >>> kdi.AlphaDisplay.from_estimator(model).features_  # the feature that gains most comes first
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
        inner = given[(given > 0) & np.isfinite(given)]
        if inner.size and not MIN_ALPHA <= inner.min() <= inner.max() <= MAX_ALPHA:
            raise ValueError(f"alphas must be 0, inf or from {MIN_ALPHA:g} to {MAX_ALPHA:g}, got {alphas!r}.")
        values = as_numbers(scores, "scores")
        if values.ndim != 2 or values.shape[0] != len(given) or not values.shape[1]:
            raise ValueError(f"scores must have shape ({len(given)}, n_features), got {values.shape}.")
        if not np.isfinite(values).all():
            raise ValueError("scores must be finite.")
        errors = (
            np.full(values.shape, np.inf) if standard_errors is None else as_numbers(standard_errors, "standard_errors")
        )
        if errors.shape != values.shape:
            raise ValueError(f"standard_errors must have the shape of scores, {values.shape}, got {errors.shape}.")
        n_features = values.shape[1]
        names = [f"x{j}" for j in range(n_features)] if feature_names is None else [str(n) for n in feature_names]
        chosen_alphas = as_numbers(chosen, "chosen")
        for name, length in (("feature_names", len(names)), ("chosen", chosen_alphas.size)):
            if length != n_features:
                raise ValueError(f"{name} must have one entry per feature ({n_features}), got {length}.")
        order = np.argsort(given)
        self.alphas, self.scores, self.standard_errors = given[order], values[order], errors[order]
        self.chosen, self.reference = chosen_alphas.ravel(), float(reference)
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
        """Plot the scores by which a fitted KDITransformerCV chose.

        Parameters
        ----------
        estimator : fitted KDITransformerCV
            With `per_feature=False` there is one panel for all features.
        features, max_features, n_cols, sharey, ax
            As in `plot`.

        Returns
        -------
        display : AlphaDisplay
            With its panels and lines.
        """
        style.import_pyplot()  # raise before the work, not after it
        if not isinstance(estimator, KDITransformerCV):
            raise TypeError(
                "estimator must be a fitted KDITransformerCV (for a pipeline, pass that step), got "
                f"{style.class_name(estimator)}."
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
            One per feature; a new figure by default. An array of axes gets no legend:
            ``figure.legend(*display.ax_.get_legend_handles_labels())`` adds one.
        features : str, int or sequence of them, optional
            The features to show, by name or position, in this order. By default those that gain most over the alpha
            compared with, without features whose score is the same at every alpha, such as columns of two values.
        max_features : int, default=12
            Largest number of features to show where `features` is not given.
        n_cols : int, default=4
            Largest number of panels per row.
        sharey : bool, default=True
            Whether all panels have the same axis of scores. Otherwise each curve fills its panel.

        Returns
        -------
        self : AlphaDisplay
        """
        for name, count in (("max_features", max_features), ("n_cols", n_cols)):
            if count is None:
                raise ValueError(f"{name} must be an integer >= 1, got None.")
            check_count(name, count, least=1)
        shown, note = self._most_gaining(max_features) if features is None else (self._positions(features), "")
        given = None if ax is None else _check_axes(ax, len(shown))
        grid = _new_axes(len(shown), n_cols, sharey) if given is None else given
        self.axes_, self.ax_, self.figure_ = grid, grid[0], grid[0].figure
        self.features_ = shown
        self.lines_ = [self._draw(panel, j) for panel, j in zip(grid, shown, strict=True)]
        if sharey:
            limits = np.array([panel.get_ylim() for panel in grid])
            for panel in grid:
                panel.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        self._add_labels(given is None, f"alpha{note}")
        _set_titles(grid, [self.feature_names[j] for j in shown], [style.format_alpha(self.chosen[j]) for j in shown])
        if given is not None and len(shown) == 1:  # vertical lines reach the top of the axes, behind this legend
            opaque = {"frameon": True, "framealpha": 1, "edgecolor": "none"}
            style.add_legend_above_data(self.ax_, **opaque, facecolor=style.background_colour(self.ax_))
        return self

    @property
    def _gains(self) -> Float64Array:
        """The gain in score of each feature at its alpha over the alpha compared with."""
        columns = np.arange(len(self.chosen))
        chosen = self.scores[np.searchsorted(self.alphas, self.chosen), columns]
        return np.asarray(chosen - self.scores[np.searchsorted(self.alphas, self.reference)])

    def _most_gaining(self, most: int) -> tuple[list[int], str]:
        """Return the features that gain most, and a note on the others."""
        ranges = np.ptp(self.scores, axis=0)
        order = np.lexsort([-ranges, -self._gains])
        flat = order[ranges[order] == 0]
        varied = order[ranges[order] > 0]
        shown = (varied if varied.size else flat)[:most].tolist()
        available = varied.size or flat.size
        notes = [f"the {len(shown)} of {available} features that gain most"] if len(shown) < available else []
        if varied.size and flat.size:
            notes.append(f"not shown: {flat.size} that no alpha changes")
        return shown, f" ({'; '.join(notes)})" if notes else ""

    def _positions(self, features: Any) -> list[int]:
        """Return the positions of features that are given by name or position."""
        is_single = isinstance(features, str) or not isinstance(features, Iterable)
        chosen = [features] if is_single else features
        found = [style.feature_index(feature, self.feature_names, "features") for feature in chosen]
        if not found:
            raise ValueError("features must name at least one feature.")
        return found

    def _draw(self, panel: Any, j: int) -> Any:
        """Draw the curve, the band and the marks of one feature."""
        positions, ticks, inner = _alpha_axis(self.alphas)
        at = dict(zip(self.alphas.tolist(), positions.tolist(), strict=True))
        scores, errors = self.scores[:, j], self.standard_errors[:, j]
        limits = _shifted(positions[0], -1, positions, 0.04), _shifted(positions[-1], 1, positions, 0.04)
        if panel.has_data():  # keep what was drawn before visible
            limits = style.joint_limits(limits, panel.get_xlim())
        thin = {"color": style.GREY, "linewidth": 1}
        label = f"compared with alpha = {style.format_alpha(self.reference)}"
        panel.axvline(at[self.reference], **thin, label=label, zorder=1)
        panel.axhline(scores[self.alphas == self.reference][0], **thin, zorder=1)
        if self.reference != 1 and min(inner, default=2) <= 1 <= max(inner, default=0):
            panel.axvline(1, **thin, linestyle=":", label="alpha = 1", zorder=1)
        known = np.isfinite(errors)
        if known.any() and np.ptp(scores):
            low, high = scores - np.where(known, errors, 0), scores + np.where(known, errors, 0)
            band = {"color": style.KDI, "alpha": 0.3, "linewidth": 0, "zorder": 2}
            panel.fill_between(positions, low, high, where=known, **band, label="± standard error")
        (line,) = panel.plot(positions, scores, color=style.KDI, linewidth=1.5, marker=".", markersize=4, zorder=3)
        best = self.chosen[j]
        mark = {
            "color": style.ORANGE,
            "marker": "o",
            "markersize": 7,
            "markeredgecolor": style.text_colour(panel),
            "linestyle": "none",
        }
        panel.plot(at[best], scores[self.alphas == best], **mark, zorder=4, label="chosen alpha", clip_on=False)
        panel.set_xscale("log")
        panel.set_xlim(limits)
        panel.set_xticks(list(ticks), list(ticks.values()))
        minor = _multiples(inner[0], inner[-1], range(2, 10)) if inner.size else inner
        panel.set_xticks(minor if len(minor) <= MAX_MINOR_TICKS else [], minor=True)
        panel.xaxis.set_minor_formatter("")
        panel.autoscale(axis="y")  # limits that an earlier plot has set ended it
        panel.margins(y=0.08)
        panel.ticklabel_format(axis="y", useOffset=False)
        style.hide_spines(panel)
        return line

    def _add_labels(self, is_new: bool, label: str) -> None:
        """Label a new figure and add its legend, or label the axes that were given."""
        handles, labels = max(
            (panel.get_legend_handles_labels() for panel in self.axes_), key=lambda both: len(both[1])
        )
        if is_new:
            self.figure_.supxlabel(label, fontsize="medium")
            self.figure_.supylabel(self.score_name, fontsize="medium")
            for n_columns in range(len(handles) if self.figure_.get_figwidth() > 8 else 2, 0, -1):
                legend = style.add_legend(self.figure_, handles, labels, loc="outside upper center", ncols=n_columns)
                if n_columns == 1 or legend.get_window_extent().width <= self.figure_.bbox.width:
                    return
                legend.remove()
        for panel in self.axes_:
            panel.set(xlabel=label, ylabel=self.score_name)


def _score_name(estimator: KDITransformerCV) -> str:
    """Name the score for the axis."""
    if estimator.estimator is None:
        return "R² in rows left out" + " (of classes)" * (estimator.task_ == "classification")
    return estimator.scoring if isinstance(estimator.scoring, str) else f"score of {type(estimator.estimator).__name__}"


def _alpha_axis(alphas: Float64Array) -> tuple[Float64Array, dict[float, str], Float64Array]:
    """Return the positions of alphas on a logarithmic axis, tick labels by position, and the alphas but 0 and inf.

    0 and inf are placed beyond the others.
    """
    inner = alphas[(alphas > 0) & np.isfinite(alphas)]
    first, last = (inner[0], inner[-1]) if inner.size else (1.0, 1.0)
    low, high = _shifted(first, -1, inner, 0.15), _shifted(last, 1, inner, 0.15)
    ends = {low: "0"} if alphas[0] == 0 else {}
    ends |= {high: "∞"} if alphas[-1] == np.inf else {}
    ticks = _round_numbers(first, last).tolist() if inner.size else []
    distance = 0.08 * np.log10(high / low) if high / low < np.inf else 50.0  # at which labels do not overlap
    clear = [tick for tick in ticks if all(abs(np.log10(tick / end)) > distance for end in ends)]
    return np.clip(alphas, low, high), ends | {tick: style.format_alpha(tick) for tick in clear}, inner


def _shifted(position: float, sign: int, positions: Float64Array, share: float) -> float:
    """Shift a position outwards on a logarithmic axis by a share of the axis, within the range of float64."""
    length = float(np.log10(positions[-1]) - np.log10(positions[0])) if positions.size else 0.0
    exponent = float(np.log10(position)) + sign * max(share * length, share)
    return float(10 ** np.clip(exponent, -307, 307.5))


def _multiples(low: float, high: float, steps: Iterable[int]) -> Float64Array:
    """Return the multiples of powers of ten from low to high."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    numbers = np.outer(10.0**powers, list(steps)).ravel()
    return numbers[(numbers >= low * (1 - 1e-9)) & (numbers <= high * (1 + 1e-9))]


def _round_numbers(low: float, high: float) -> Float64Array:
    """Return a few round numbers from low to high, or the ends where there are none."""
    inside = _multiples(low, high, (1, 2, 5))
    if len(inside) > MAX_TICK_LABELS:
        inside = _multiples(low, high, (1,))
    return np.unique([low, high]) if len(inside) < 2 else inside[:: ceil(len(inside) / MAX_TICK_LABELS)]


def _check_axes(given: Any, n_panels: int) -> Any:
    """Return the axes that were given as an array of one per panel."""
    axes = np.array(given, dtype=object).ravel()
    if len(axes) != n_panels or not all(map(style.are_rectangular, axes)):
        allowed = "one Axes" if n_panels == 1 else f"an array of {n_panels} Axes"
        got = type(axes[0]).__name__ if len(axes) == 1 else f"{len(axes)} of them"
        raise ValueError(
            f"ax must be {allowed}, one per feature (not polar, not in 3D), got {got}; choose the features with "
            "`features`."
        )
    return axes


def _new_axes(n_panels: int, n_cols: int, sharey: bool) -> Any:
    """Create the panels of a new figure in rows of equal length, with tick labels at the outer ones."""
    n_rows = ceil(n_panels / n_cols)
    n_cols = ceil(n_panels / n_rows)
    size = (5.5, 4.0) if n_panels == 1 else (max(2.5 * n_cols + 0.6, 6.0), 1.8 * n_rows + 1.2)
    axes = style.new_axes(*size, n_rows, n_cols, sharex=True, sharey=sharey).ravel()
    for k, panel in enumerate(axes):
        if k >= n_panels:
            panel.remove()
        elif k + n_cols >= n_panels:  # there is no panel below
            panel.tick_params(labelbottom=True)
    return axes[:n_panels]


def _set_titles(axes: Any, names: list[str], chosen: list[str]) -> None:
    """Write the name of each feature at the left above its panel, its chosen alpha at the right."""
    options = {"loc": "right", "fontsize": "x-small"}
    right = [panel.set_title(f"alpha = {alpha}", **options) for panel, alpha in zip(axes, chosen, strict=True)]
    style.update_layout(axes[0])  # before long names, which would narrow the panels
    for panel, name, other in zip(axes, names, right, strict=True):
        # Names are data: a $ in them is not mathematics.
        title = panel.set_title(style.on_one_line(name), loc="left", fontsize=style.SMALL, parse_math=False)
        style.shorten(title, panel.bbox.width - other.get_window_extent().width - 8)
