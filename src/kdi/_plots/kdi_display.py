"""KDIDisplay: the curve of T(x), with the density before above it and the density after to its right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kdi._plots import style
from kdi._plots.marginal_plots import DrawnCurves, draw_margins
from kdi._plots.marginals import curves_and_densities
from kdi._plots.margins import Margins
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import BaseKDITransformer
from kdi._transformer.transformer import KDITransformer
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName
from kdi._utils.validation import as_column, as_numbers, as_table, as_weights

BLUE_SHADES = ((0.52, 0.76, 0.95), (0.12, 0.38, 0.66))  # for several alphas between 0 and infinity


@public_in("kdi")
class KDIDisplay:
    """Curve of the transformation T(x), with the density before above it and the density after to its right.

    Several alphas can be drawn over each other: the quantile transform (0) is orange, min-max scaling (inf) grey, and
    the alphas between are blue. Where outliers would compress all other values, the x axis ends before them, and a note
    gives the extreme.

    Parameters
    ----------
    x : array-like of shape (n,)
        The values at which the curves are drawn, ascending: one for a constant, none for a feature without values.
    curves : array-like of shape (n_alphas, n)
        T at these values; NaN where it is not defined.
    alphas : array-like of shape (n_alphas,)
        The alpha of each curve, for its colour and its name.
    before : array-like of shape (n,), optional
        The density before the transformation, at the same values; infinite at the value of a constant.
    after : sequence of pairs of array-like, one per alpha, optional
        Ascending levels, and the density after the transformation there; a single level with an infinite density where
        all values become equal.
    shown : pair of float, optional
        The range of x that `plot` draws, unless `show_all` is True.
    name : str, default="x"
        Name of the feature.
    level_name : str, default="T(x)"

    Attributes
    ----------
    ax_, above_, beside_
        The axes of the last `plot`: of the curve, and of the densities before and after.
    figure_
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.
    legend_ : matplotlib Legend
        It has axes of its own on top, so that it covers nothing.

    Notes
    -----
    Densities are Gaussian kernel estimates with Scott's bandwidth (from the standard deviation or, if it is narrower,
    the interquartile range), reflected at the ends of the range.

    Examples
    --------
    >>> import numpy as np
    >>> import kdi
    >>> x = np.random.default_rng(0).lognormal(size=500)
    >>> display = kdi.KDIDisplay.from_data(x, alpha=[0, 1], name="income")
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['quantile, alpha = 0', 'KD-integral, alpha = 1']
    """

    ax_: Any
    above_: Any
    beside_: Any
    figure_: Any
    lines_: list[Any]
    _note = ""
    _margins: Margins

    def __init__(
        self,
        *,
        x: ArrayLike,
        curves: ArrayLike,
        alphas: ArrayLike,
        before: ArrayLike | None = None,
        after: Any = None,
        shown: tuple[float, float] | None = None,
        name: str = "x",
        level_name: str = "T(x)",
    ) -> None:
        self.x, self.alphas = as_numbers(x, "x"), as_numbers(alphas, "alphas")
        self.curves = as_numbers(curves, "curves")
        if self.x.ndim != 1 or not (np.diff(self.x) > 0).all() or not np.isfinite(self.x).all():
            raise ValueError(f"x must be finite numbers, ascending, in one dimension, got {x!r}.")
        if self.alphas.ndim != 1 or not self.alphas.size or not (self.alphas >= 0).all():
            raise ValueError(f"alphas must be numbers >= 0 (inf included), one per curve, got {alphas!r}.")
        if self.curves.shape != (len(self.alphas), len(self.x)):
            raise ValueError(
                f"curves must have shape {(len(self.alphas), len(self.x))}, one row per alpha, got {self.curves.shape}."
            )
        self.before = None if before is None else as_numbers(before, "before")
        if self.before is not None and self.before.shape != self.x.shape:
            raise ValueError(f"before must have the shape of x, {self.x.shape}, got {self.before.shape}.")
        self.after = None if after is None else [_check_density(pair) for pair in after]
        if self.after is not None and len(self.after) != len(self.alphas):
            raise ValueError(f"after must have one pair per alpha ({len(self.alphas)}), got {len(self.after)}.")
        self.shown = None if shown is None else _check_range(shown)
        self.name, self.level_name = name, level_name

    @property
    def legend_(self) -> Any:
        """The current legend; a narrower layout, or another display in the same axes, replaces it."""
        return self._margins.legend_axes.get_legend()

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseKDITransformer,
        *,
        feature: int | str = 0,
        X: Any = None,
        show_all: bool = False,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot one feature of a fitted transformer.

        Parameters
        ----------
        estimator : fitted KDITransformer or KDITransformerCV
        feature : int or str, default=0
            Position or name of the feature.
        X : array-like of shape (n_samples, n_features), optional
            Data whose densities are drawn. By default the densities are those of the fitted data, from the sketch;
            after a fit with a large alpha the sketch is too coarse, and none are drawn.
        show_all, ax, curve_kwargs
            As in `plot`.

        Returns
        -------
        display : KDIDisplay
            With its axes and lines.
        """
        style.import_pyplot()  # raise before the work, not after it
        if not isinstance(estimator, BaseKDITransformer):
            raise TypeError(
                "estimator must be a fitted KDITransformer or KDITransformerCV (for a pipeline, pass that step), got "
                f"{style.class_name(estimator)}."
            )
        check_is_fitted(estimator)
        names = [str(name) for name in estimator.get_feature_names_out()]
        j = style.feature_index(feature, names, "feature")
        data = estimator.sketches_[j]
        if X is not None:
            data = Sketch.from_values(as_column(as_table(estimator, X, reset=False)[:, j], "X"))
        display = cls._from_model(estimator, [j], data, names[j])
        if X is None:
            display._note = "pass X= for densities"
        return display.plot(ax, show_all=show_all, curve_kwargs=curve_kwargs)

    @classmethod
    def from_data(
        cls,
        x: ArrayLike,
        *,
        alpha: float | BandwidthRule | Any = (0, 1, np.inf),
        weights: ArrayLike | None = None,
        kernel: KernelName = "polyexp",
        order: int = 4,
        name: str | None = None,
        show_all: bool = False,
        ax: Any = None,
        curve_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the transformation of a variable at one or more alphas.

        Parameters
        ----------
        x : array-like of shape (n,)
            The values; NaN is ignored.
        alpha : float, "scott", "silverman" or a sequence of these, default=(0, 1, inf)
            The quantile transform, the KD-integral and min-max scaling by default.
        weights : array-like of shape (n,), optional
            A weight of 2 repeats a value, a weight of 0 removes it.
        kernel : {"polyexp", "gaussian"}, default="polyexp"
        order : int, default=4
            Order of the polyexp kernel.
        name : str, optional
            Name of the variable; that of a pandas or polars Series by default, or "x".
        show_all, ax, curve_kwargs
            As in `plot`.

        Returns
        -------
        display : KDIDisplay
            With its axes and lines.
        """
        style.import_pyplot()
        column = as_column(x, "x")
        sketch = Sketch.from_values(column, as_weights(weights, len(column), "weights"))
        if not sketch.count:
            raise ValueError("x must hold at least one value that is not NaN and has a weight above 0.")
        given: Any = [alpha] if isinstance(alpha, str) or np.ndim(alpha) == 0 else alpha
        alphas = list(given)
        if not alphas:
            raise ValueError("alpha must be a number or a sequence of at least one number, got none.")
        model = KDITransformer(alphas, kernel=kernel, order=order).fit_sketches([sketch] * len(alphas))
        display = cls._from_model(model, list(range(len(alphas))), sketch, style.variable_name(x, name))
        return display.plot(ax, show_all=show_all, curve_kwargs=curve_kwargs)

    @classmethod
    def _from_model(cls, model: BaseKDITransformer, features: list[int], data: Sketch, name: str) -> Self:
        """Create the display of some features of a transformer, with the densities of `data`."""
        level_name = "normal score of T(x)" if model.output_distribution == "normal" else "T(x)"
        curves = curves_and_densities(model, features, data)
        display = cls(alphas=model.alpha_[features], name=name, level_name=level_name, **curves)
        display._note = "values too far apart for densities"
        return display

    def plot(self, ax: Any = None, *, show_all: bool = False, curve_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the curves and the densities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            They are made smaller, for the axes of the densities; new ones by default. Axes of an earlier plot then show
            both.
        show_all : bool, default=False
            Whether the x axis extends to the farthest outlier.
        curve_kwargs : dict, optional
            Options of the curves, as in matplotlib's `plot`. `color` and `label` distinguish displays in the same axes;
            with several alphas, the label precedes the name of each curve.

        Returns
        -------
        self : KDIDisplay
        """
        ax = style.prepare_axes(ax, 5.5, 5.0)
        margins = Margins.of(ax)
        self._margins = margins
        self.ax_, self.above_, self.beside_, self.figure_ = ax, margins.above, margins.beside, ax.figure
        ends = (float(self.x[0]), float(self.x[-1])) if self.x.size else (0.0, 1.0)
        shown = ends if show_all or self.shown is None else self.shown
        styles = self._draw_curves(curve_kwargs)
        drawn = DrawnCurves(self.x, self.curves, self.before, self.after or [], shown, styles, self._note)
        margins.drawn.append(drawn)
        draw_margins(margins)
        # Names are data: a $ in them is not mathematics.
        label = ax.set_xlabel(style.on_one_line(self.name), parse_math=False)
        ax.set_ylabel(self.level_name)
        margins.legend(*ax.get_legend_handles_labels())
        style.update_layout(ax)
        style.shorten(label, self.beside_.bbox.x1 - ax.bbox.x0)
        return self

    def _draw_curves(self, curve_kwargs: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Draw the curves; return their styles."""
        options = _line_options(curve_kwargs)
        label = options.pop("label", None)
        names = _labels(self.alphas)
        if label is not None:
            names = [str(label)] if len(names) == 1 else [f"{label}, {name}" for name in names]
        styles = [default | options for default in _line_styles(self.alphas)]
        marker = {"marker": "o"} if len(self.x) == 1 else {}
        self.lines_ = [
            self.ax_.plot(self.x, curve, **marker | line_style, label=name)[0]
            for curve, line_style, name in zip(self.curves, styles, names, strict=True)
        ]
        if not self.x.size:
            text_style = {"ha": "center", "color": style.text_colour(self.ax_)}
            self.ax_.text(0.5, 0.5, "no values", transform=self.ax_.transAxes, **text_style)
            self.ax_.tick_params(labelbottom=False, bottom=False)
        return styles


def _line_styles(alphas: Float64Array) -> list[dict[str, Any]]:
    """Return the styles of curves: orange for quantiles, grey for min-max, else blue, darker where alpha is larger."""
    inner = np.unique(alphas[(alphas > 0) & np.isfinite(alphas)])
    shades = [style.KDI] if len(inner) == 1 else np.linspace(*BLUE_SHADES, len(inner)).tolist()
    colours = {0.0: style.QUANTILE, np.inf: style.MIN_MAX} | dict(zip(inner.tolist(), shades, strict=True))
    return [
        {
            "color": colours[alpha],
            "linewidth": 1.5 if alpha in (0, np.inf) else 2.0,
            "linestyle": "--" if alpha == np.inf else "-",
            "zorder": 2 if alpha in (0, np.inf) else 3,
        }
        for alpha in alphas.tolist()
    ]


def _labels(alphas: Float64Array) -> list[str]:
    """Return the labels of curves; a single alpha between 0 and infinity is called KD-integral."""
    names = {0.0: "quantile, ", np.inf: "min-max, "}
    inner = "KD-integral, " if np.sum((alphas > 0) & np.isfinite(alphas)) == 1 else ""
    return [f"{names.get(alpha, inner)}alpha = {style.format_alpha(alpha)}" for alpha in alphas.tolist()]


def _line_options(given: dict[str, Any] | None) -> dict[str, Any]:
    """Return options of lines under their full names: `c` is `color`."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    options: dict[str, Any] = normalize_kwargs(given or {}, Line2D)
    return options


def _check_range(given: Any) -> tuple[float, float]:
    """Return the ends of an axis."""
    ends = as_numbers(given, "shown")
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise ValueError(f"shown must be two finite numbers, the lower one first, got {given!r}.")
    return float(ends[0]), float(ends[1])


def _check_density(pair: Any) -> tuple[Float64Array, Float64Array]:
    """Return levels and densities as arrays of the same length."""
    arrays = [as_numbers(values, "after") for values in pair] if isinstance(pair, Iterable) else []
    if len(arrays) != 2 or arrays[0].ndim != 1 or arrays[0].shape != arrays[1].shape:
        raise ValueError(f"after must be pairs of levels and densities of the same length, got {pair!r}.")
    return arrays[0], arrays[1]
