"""KDIDisplay: the curve from x to T(x), with the density before above it and the density after at its right."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kdi import _style
from kdi._input import as_column, as_numbers, as_table, as_weights
from kdi._margins import Margins
from kdi._typing import Floats, KernelName, Rule
from kdi.fitted import FittedMaps, to_normal
from kdi.lookup import forward
from kdi.marginals import bulk, density, density_after, grid, positions, smoothing
from kdi.sketch import Sketch
from kdi.transformer import KDITransformer

MOST_TIMES = 4.0  # a density after is cut where it is this many times as high as the lowest of them
SHADES = ((0.52, 0.76, 0.95), (0.12, 0.38, 0.66))  # of blue, where there are several alphas besides 0 and infinity


class KDIDisplay:
    """The curve from x to T(x), with the density before above it and the density after at its right.

    Several alphas can be drawn over each other: the quantile transform (0) is orange, min-max scaling (inf) grey, what
    lies between is blue. Where outliers would hide the rest, the axis of x ends before them, and says how far they go.

    Parameters
    ----------
    x : array-like of shape (n,)
        Where the curves are drawn, ascending. One place is a constant, none a feature without values.
    curves : array-like of shape (n_alphas, n)
        T at these places.
    alphas : array-like of shape (n_alphas,)
        The alpha of each curve, for its colour and its name.
    before : array-like of shape (n,), optional
        The density before the transformation, at the same places.
    after : sequence of pairs of array-like, one for each alpha, optional
        Ascending levels, and the density after the transformation there.
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
    legend_: Any

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
        self.shown, self.name, self.level_name = shown, name, level_name

    @classmethod
    def from_estimator(
        cls, estimator: FittedMaps, *, feature: int | str = 0, X: Any = None, show_all: bool = False, ax: Any = None
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
        show_all, ax
            As in `plot`.
        """
        _style.pyplot()  # before the work, not after
        if not isinstance(estimator, FittedMaps):
            raise TypeError(
                "estimator must be a fitted KDITransformer or KDITransformerCV, of a pipeline that step, got "
                f"{type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        names = [str(name) for name in estimator.get_feature_names_out()]
        j = _style.feature_place(feature, names, "feature")
        seen = estimator.sketches_[j]
        if X is not None:
            seen = Sketch.from_values(as_column(as_table(estimator, X, reset=False)[:, j], "X"))
        return cls._of(estimator, [j], seen, names[j]).plot(ax, show_all=show_all)

    @classmethod
    def from_data(
        cls,
        x: ArrayLike,
        *,
        alpha: float | Rule | Any = (0, 1, np.inf),
        weights: ArrayLike | None = None,
        kernel: KernelName = "polyexp",
        order: int = 4,
        name: str = "x",
        show_all: bool = False,
        ax: Any = None,
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
        name : str, default="x"
            Name of the variable.
        show_all, ax
            As in `plot`.
        """
        _style.pyplot()
        column = as_column(x, "x")
        sketch = Sketch.from_values(column, as_weights(weights, len(column), "weights"))
        if not sketch.count:
            raise ValueError("x must hold at least one value that is not NaN and has a weight.")
        alphas = [alpha] if isinstance(alpha, str) or np.ndim(alpha) == 0 else list(alpha)
        if not alphas:
            raise ValueError("alpha must be a number or a sequence of at least one, got none.")
        model = KDITransformer(alphas, kernel=kernel, order=order).fit_sketches([sketch] * len(alphas))
        return cls._of(model, list(range(len(alphas))), sketch, name).plot(ax, show_all=show_all)

    @classmethod
    def _of(cls, model: FittedMaps, features: list[int], seen: Sketch, name: str) -> Self:
        """Some maps of a transformer, and the densities of what was seen."""
        tables = [model.tables_[j] for j in features]
        fitted = model.sketches_[features[0]]
        normal = model.output_distribution == "normal"
        named = {"name": name, "level_name": "normal score of T(x)" if normal else "T(x)"}
        alphas = model.alpha_[features]
        if not fitted.count or not seen.count:
            return cls(x=[], curves=np.empty((len(alphas), 0)), alphas=alphas, **named)

        def levels(table: Any, places: Floats) -> Floats:
            column = places[:, None].copy()
            forward([table], column, column, model.out_of_range)
            if normal:
                to_normal(column)
            return column[:, 0]

        low, high = min(fitted.minimum, seen.minimum), max(fitted.maximum, seen.maximum)
        if not high > low:
            x = np.array([low])
            return cls(x=x, curves=[levels(table, x) for table in tables], alphas=alphas, **named)
        x = grid(seen, low, high)
        before, after = None, None
        bandwidth = smoothing(seen)
        if bandwidth is not None:
            before = np.where(
                (x >= seen.minimum) & (x <= seen.maximum), density(seen, bandwidth, seen.minimum, seen.maximum, x), 0
            )
            after = []
            centres, mass, half = positions(seen), seen.moments[:, 0], 0.5 * seen.cell_width
            for table in tables:
                values = levels(table, centres)
                known = ~np.isnan(values)
                widths = levels(table, np.minimum(centres + half, high)) - levels(
                    table, np.maximum(centres - half, low)
                )
                width = float(np.nansum(widths * mass) / mass.sum())
                after.append(density_after(values[known], mass[known], seen.count, width))
        return cls(
            x=x,
            curves=[levels(table, x) for table in tables],
            alphas=alphas,
            before=before,
            after=after,
            shown=bulk(seen),
            **named,
        )

    def plot(self, ax: Any = None, *, show_all: bool = False) -> Self:
        """Draw the curves and the densities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            They give some of their room to the axes of the densities; new ones by default. Those of an earlier plot are
            drawn over.
        show_all : bool, default=False
            Whether the axis of x goes on to the farthest outlier.
        """
        ax = _style.one_axes(ax, 5.5, 5.0)
        margins = Margins.of(ax)
        self.ax_, self.above_, self.beside_, self.figure_ = ax, margins.above, margins.beside, ax.figure
        self._draw_curves()
        self._draw_before(show_all)
        self._draw_after()
        label = ax.set_xlabel(_style.one_line(self.name), parse_math=False)  # names are data: a $ in them is a $
        ax.set_ylabel(self.level_name)
        self.legend_ = margins.legend(*ax.get_legend_handles_labels())
        _style.settle(ax)
        _style.shorten(label, self.beside_.bbox.x1 - ax.bbox.x0)
        return self

    def _draw_curves(self) -> None:
        self.lines_ = []
        marker = "o" if len(self.x) == 1 else ""
        for curve, label, style in zip(self.curves, _labels(self.alphas), _styles(self.alphas), strict=True):
            self.lines_ += self.ax_.plot(self.x, curve, **style, marker=marker, label=label)
        if not self.x.size:
            self.ax_.text(0.5, 0.5, "no values", transform=self.ax_.transAxes, ha="center", color=_style.ink(self.ax_))
            self.ax_.tick_params(labelbottom=False, bottom=False)

    def _draw_before(self, show_all: bool) -> None:
        above, ink = self.above_, _style.ink(self.ax_)
        if len(self.x) < 2:
            above.vlines(self.x, 0, 1, color=ink, alpha=0.5)
            above.set_ylim(0, 1.1)
            return
        ends = float(self.x[0]), float(self.x[-1])
        low, high = ends if show_all or self.shown is None else self.shown
        room = 0.02 * (high - low)
        self.ax_.set_xlim(low - room * (low == ends[0]), high + room * (high == ends[1]))
        note = {"fontsize": _style.SMALL, "color": ink, "va": "top", "transform": above.transAxes}
        if low > ends[0]:
            above.text(0, 1, f"◂ from {_number(ends[0])}", ha="left", **note)
        if high < ends[1]:
            above.text(1, 1, f"on to {_number(ends[1])} ▸", ha="right", **note)
        if self.before is None:
            above.text(0.5, 0.6, "densities need X", ha="center", **note)
            return
        above.fill_between(self.x, self.before, color=ink, alpha=0.25, linewidth=0)
        highest = self.before[(self.x >= low) & (self.x <= high)].max()
        above.set_ylim(0, highest * (1.05 if (low, high) == ends else 1.45) or 1.0)  # room for the notes

    def _draw_after(self) -> None:
        beside, styles = self.beside_, _styles(self.alphas)
        levels = [*self.curves, *(pair[0] for pair in self.after or [])]
        known = np.concatenate([one[np.isfinite(one)] for one in levels])
        low, high = min(0.0, *known), max(1.0, *known)
        self.ax_.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        tops = np.array([pair[1].max() for pair in self.after or []])
        finite = tops[np.isfinite(tops)]
        limit = min(finite.max(), MOST_TIMES * finite.min()) if finite.size else 1.0
        beside.set_xlim(0, 1.05 * limit)
        spikes = [(curve, style) for curve, style in zip(self.curves, styles, strict=True) if len(self.x) == 1]
        cut = 0
        for (at, heights), style in zip(self.after or [], styles, strict=False):
            if not np.isfinite(heights).all():
                spikes.append((at, style))
                continue
            beside.plot(heights, at, **style | {"linewidth": 1.3})
            if len(styles) == 1:
                beside.fill_betweenx(at, heights, color=style["color"], alpha=0.3, linewidth=0)
            if heights.max() > 1.05 * limit:
                self._note_in_the_corner(f"to {heights.max():.2g} ▸", cut, style["color"])
                cut += 1
        for places, style in spikes:
            beside.hlines(places, 0, limit, color=style["color"])

    def _note_in_the_corner(self, text: str, line: int, colour: Any) -> None:
        """How far a density goes that is cut, in the corner between the margins, where nothing else is."""
        where = {"xycoords": "axes fraction", "textcoords": "offset points", "xytext": (2, 5 + 11 * line)}
        self.beside_.annotate(text, (0, 1), **where, color=colour, fontsize=_style.SMALL).set_in_layout(False)


def _styles(alphas: Floats) -> list[dict[str, Any]]:
    """Orange for quantiles, grey for min-max, and blue for what lies between, darker where alpha is larger."""
    between = np.unique(alphas[(alphas > 0) & np.isfinite(alphas)])
    shades = [_style.KDI] if len(between) == 1 else np.linspace(*SHADES, len(between)).tolist()
    colours = {0.0: _style.QUANTILE, np.inf: _style.MIN_MAX} | dict(zip(between.tolist(), shades, strict=True))
    return [
        {
            "color": colours[alpha],
            "linewidth": 1.5 if alpha in (0, np.inf) else 2.0,
            "linestyle": "--" if alpha == np.inf else "-",
            "zorder": 2 if alpha in (0, np.inf) else 3,
        }
        for alpha in alphas.tolist()
    ]


def _labels(alphas: Floats) -> list[str]:
    names = {0.0: "quantile, ", np.inf: "min-max, "}
    between = "KD-integral, " if np.sum((alphas > 0) & np.isfinite(alphas)) == 1 else ""
    return [f"{names.get(alpha, between)}alpha = {_style.alpha_text(alpha)}" for alpha in alphas.tolist()]


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def _pair(given: Any) -> tuple[Floats, Floats]:
    """Levels and densities."""
    levels, densities = (as_numbers(one, "after") for one in given)
    if levels.ndim != 1 or levels.shape != densities.shape:
        raise ValueError(f"after must be pairs of levels and densities, as many of each, got {given!r}.")
    return levels, densities
