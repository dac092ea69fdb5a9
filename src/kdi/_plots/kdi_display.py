"""KDIDisplay: the curve from x to T(x), with the density before above it and the density after at its right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kdi._plots import style
from kdi._plots.marginal_plots import Drawn, draw_margins
from kdi._plots.marginals import curves_and_densities
from kdi._plots.margins import Margins
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import BaseKDITransformer
from kdi._transformer.transformer import KDITransformer
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName
from kdi._utils.validation import as_column, as_numbers, as_table, as_weights

SHADES = ((0.52, 0.76, 0.95), (0.12, 0.38, 0.66))  # of blue, where there are several alphas besides 0 and infinity


@public_in("kdi")
class KDIDisplay:
    """The curve from x to T(x), with the density before above it and the density after at its right.

    Several alphas can be drawn over each other: the quantile transform (0) is orange, min-max scaling (inf) grey, what
    lies between is blue. Where outliers would hide the rest, the axis of x ends before them, and says how far they go.

    Parameters
    ----------
    x : array-like of shape (n,)
        Where the curves are drawn, ascending. One place is a constant, none a feature without values.
    curves : array-like of shape (n_alphas, n)
        T at these places; NaN where there is none.
    alphas : array-like of shape (n_alphas,)
        The alpha of each curve, for its colour and its name.
    before : array-like of shape (n,), optional
        The density before the transformation, at the same places; infinite at the value of a constant.
    after : sequence of pairs of array-like, one for each alpha, optional
        Ascending levels, and the density after the transformation there; one level with an infinite density where all
        values become the same.
    shown : pair of float, optional
        The part of the axis of x that is drawn, unless all of it is asked for.
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
        In axes of its own over all, so that it covers nothing.

    Notes
    -----
    Densities are Gaussian kernel estimates with Scott's bandwidth (of the standard deviation, or of the distance of the
    quartiles where it is narrower), reflected at the ends of the range.

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
            raise ValueError(f"alphas must be numbers >= 0 (inf included), one a curve, got {alphas!r}.")
        if self.curves.shape != (len(self.alphas), len(self.x)):
            raise ValueError(
                f"curves must have shape {(len(self.alphas), len(self.x))}, a row an alpha, got {self.curves.shape}."
            )
        self.before = None if before is None else as_numbers(before, "before")
        if self.before is not None and self.before.shape != self.x.shape:
            raise ValueError(f"before must have the shape of x, {self.x.shape}, got {self.before.shape}.")
        self.after = None if after is None else [_pair(one) for one in after]
        if self.after is not None and len(self.after) != len(self.alphas):
            raise ValueError(f"after must have one pair for each of {len(self.alphas)} alphas, got {len(self.after)}.")
        self.shown = None if shown is None else _range(shown)
        self.name, self.level_name = name, level_name

    @property
    def legend_(self) -> Any:
        """The legend as it is now: in a narrower layout, or with another display in the axes, it is made anew."""
        return self._margins.roof.get_legend()

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
            Data whose densities are drawn. By default those of the data of the fit, which its sketch knows; after a fit
            with a large alpha it knows too little of them, and none are drawn.
        show_all, ax, curve_kwargs
            As in `plot`.

        Returns
        -------
        display : KDIDisplay
            With its axes and lines.
        """
        style.pyplot()  # before the work, not after
        if not isinstance(estimator, BaseKDITransformer):
            raise TypeError(
                "estimator must be a fitted KDITransformer or KDITransformerCV, of a pipeline that step, got "
                f"{style.class_name(estimator)}."
            )
        check_is_fitted(estimator)
        names = [str(name) for name in estimator.get_feature_names_out()]
        j = style.feature_place(feature, names, "feature")
        seen = estimator.sketches_[j]
        if X is not None:
            seen = Sketch.from_values(as_column(as_table(estimator, X, reset=False)[:, j], "X"))
        display = cls._of(estimator, [j], seen, names[j])
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
        """Plot what one or more alphas do to a variable.

        Parameters
        ----------
        x : array-like of shape (n,)
            The values; NaN is left out.
        alpha : float, "scott", "silverman" or a sequence of these, default=(0, 1, inf)
            The quantile transform, the KD-integral and min-max scaling by default.
        weights : array-like of shape (n,), optional
            A weight of 2 is a repetition, a weight of 0 a removal.
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
        style.pyplot()
        column = as_column(x, "x")
        sketch = Sketch.from_values(column, as_weights(weights, len(column), "weights"))
        if not sketch.count:
            raise ValueError("x must hold at least one value that is not NaN and has a weight.")
        several: Any = [alpha] if isinstance(alpha, str) or np.ndim(alpha) == 0 else alpha
        alphas = list(several)
        if not alphas:
            raise ValueError("alpha must be a number or a sequence of at least one, got none.")
        model = KDITransformer(alphas, kernel=kernel, order=order).fit_sketches([sketch] * len(alphas))
        display = cls._of(model, list(range(len(alphas))), sketch, style.display_name(x, name))
        return display.plot(ax, show_all=show_all, curve_kwargs=curve_kwargs)

    @classmethod
    def _of(cls, model: BaseKDITransformer, features: list[int], seen: Sketch, name: str) -> Self:
        """Some maps of a transformer, and the densities of what was seen."""
        level_name = "normal score of T(x)" if model.output_distribution == "normal" else "T(x)"
        found = curves_and_densities(model, features, seen)
        display = cls(alphas=model.alpha_[features], name=name, level_name=level_name, **found)
        display._note = "values too far apart for densities"
        return display

    def plot(self, ax: Any = None, *, show_all: bool = False, curve_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the curves and the densities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            They give some of their room to the axes of the densities; new ones by default. In those of an earlier plot
            there is then both.
        show_all : bool, default=False
            Whether the axis of x goes on to the farthest outlier.
        curve_kwargs : dict, optional
            How the curves are drawn, as in matplotlib's `plot`: by `color` and `label` displays in the same axes are
            told apart. With several alphas, the label stands before the name of each.

        Returns
        -------
        self : KDIDisplay
        """
        ax = style.one_axes(ax, 5.5, 5.0)
        margins = Margins.of(ax)
        self._margins = margins
        self.ax_, self.above_, self.beside_, self.figure_ = ax, margins.above, margins.beside, ax.figure
        ends = (float(self.x[0]), float(self.x[-1])) if self.x.size else (0.0, 1.0)
        part = ends if show_all or self.shown is None else self.shown
        styles = self._draw(curve_kwargs)
        margins.drawn.append(Drawn(self.x, self.curves, self.before, self.after or [], part, styles, self._note))
        draw_margins(margins)
        label = ax.set_xlabel(style.name_on_one_line(self.name), parse_math=False)  # names are data: a $ in them is a $
        ax.set_ylabel(self.level_name)
        margins.legend(*ax.get_legend_handles_labels())
        style.update_layout(ax)
        style.shorten(label, self.beside_.bbox.x1 - ax.bbox.x0)
        return self

    def _draw(self, curve_kwargs: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Draw the curves; the styles that they have."""
        own = _line_options(curve_kwargs)
        label = own.pop("label", None)
        names = _labels(self.alphas)
        if label is not None:
            names = [str(label)] if len(names) == 1 else [f"{label}, {name}" for name in names]
        styles = [style | own for style in _styles(self.alphas)]
        marker = {"marker": "o"} if len(self.x) == 1 else {}
        self.lines_ = [
            self.ax_.plot(self.x, curve, **marker | style, label=name)[0]
            for curve, style, name in zip(self.curves, styles, names, strict=True)
        ]
        if not self.x.size:
            self.ax_.text(0.5, 0.5, "no values", transform=self.ax_.transAxes, ha="center", color=style.ink(self.ax_))
            self.ax_.tick_params(labelbottom=False, bottom=False)
        return styles


def _styles(alphas: Float64Array) -> list[dict[str, Any]]:
    """Orange for quantiles, grey for min-max, and blue for what lies between, darker where alpha is larger."""
    between = np.unique(alphas[(alphas > 0) & np.isfinite(alphas)])
    shades = [style.KDI] if len(between) == 1 else np.linspace(*SHADES, len(between)).tolist()
    colours = {0.0: style.QUANTILE, np.inf: style.MIN_MAX} | dict(zip(between.tolist(), shades, strict=True))
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
    names = {0.0: "quantile, ", np.inf: "min-max, "}
    between = "KD-integral, " if np.sum((alphas > 0) & np.isfinite(alphas)) == 1 else ""
    return [f"{names.get(alpha, between)}alpha = {style.alpha_text(alpha)}" for alpha in alphas.tolist()]


def _line_options(given: dict[str, Any] | None) -> dict[str, Any]:
    """Options of lines under their full names: `c` is `color`."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    options: dict[str, Any] = normalize_kwargs(given or {}, Line2D)
    return options


def _range(given: Any) -> tuple[float, float]:
    """Where an axis begins and ends."""
    ends = as_numbers(given, "shown")
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise ValueError(f"shown must be two finite numbers, the lower one first, got {given!r}.")
    return float(ends[0]), float(ends[1])


def _pair(given: Any) -> tuple[Float64Array, Float64Array]:
    """Levels and densities."""
    both = [as_numbers(one, "after") for one in given] if isinstance(given, Iterable) else []
    if len(both) != 2 or both[0].ndim != 1 or both[0].shape != both[1].shape:
        raise ValueError(f"after must be pairs of levels and densities, as many of each, got {given!r}.")
    return both[0], both[1]
