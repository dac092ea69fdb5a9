"""ClusterDisplay: the histogram of a variable coloured by cluster, with its density and boundaries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kdi._clustering.clusters import Clusters, cluster
from kdi._clustering.discretizer import KDIDiscretizer
from kdi._clustering.queries import assign_clusters
from kdi._clustering.valleys import Valleys
from kdi._plots import style
from kdi._plots.marginals import range_without_outliers
from kdi._sketch.sketch import Sketch
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_column, as_table, as_weights

# The part of the colour map that is visible on the background, by the colour of the text on it.
COLOUR_RANGES = {"black": (0.05, 0.9), "white": (0.3, 1.0)}
N_FITTED = 20_000  # values that represent the cells of a discretizer's density


@public_in("kdi")
class ClusterDisplay:
    """Clusters of a variable: histogram coloured by cluster, density and boundaries.

    Where outliers would compress all other values, the x axis ends before them, and its label says how many values lie
    outside.

    Parameters
    ----------
    clusters : result of `kdi.cluster`
    x : array-like of shape (n,)
        The values that were clustered, or other values of the same variable.
    weights : array-like of shape (n,), optional
        Their weights, for the histogram; a weight of 0 removes a value.
    name : str, optional
        Name of the variable; by default the name of a pandas or polars Series, or "x".

    Attributes
    ----------
    ax_, figure_
        The axes and figure of the last `plot`.

    Examples
    --------
    >>> import kdi
    >>> x = [1.0, 1.2, 1.3, 1.1, 5.0, 5.2, 5.1, 4.9]
    >>> display = kdi.ClusterDisplay(kdi.cluster(x), x)
    >>> display.plot().ax_.get_ylabel()
    'values'
    """

    ax_: Any
    figure_: Any
    _shows_shares = False  # the values represent the data of a fit, whose number is not known

    def __init__(
        self, clusters: Clusters, x: ArrayLike, weights: ArrayLike | None = None, name: str | None = None
    ) -> None:
        if not isinstance(clusters, Clusters):
            raise ValueError(f"clusters must be a result of kdi.cluster, got {type(clusters).__name__}.")
        self.clusters, self.name = clusters, style.variable_name(x, name)
        self.x = as_column(x, "x")
        self.weights = as_weights(weights, len(self.x), "weights")
        if not self._known()[0].size:
            raise ValueError("x must hold at least one value that is not NaN and has a weight above 0.")

    @classmethod
    def from_estimator(
        cls, estimator: KDIDiscretizer, *, feature: int | str = 0, X: Any = None, bins: Any = None, ax: Any = None
    ) -> Self:
        """Plot the bins of one feature of a fitted discretizer.

        Parameters
        ----------
        estimator : fitted KDIDiscretizer
        feature : int or str, default=0
            Position or name of the feature.
        X : array-like of shape (n_samples, n_features), optional
            Data for the histogram. By default it is that of the fitted data, from the density of their KD-integral, as
            shares of the values.
        bins, ax
            As in `plot`.

        Returns
        -------
        display : ClusterDisplay
            With its axes.

        Examples
        --------
        >>> import kdi
        >>> X = [[1.0], [1.2], [1.3], [1.1], [5.0], [5.2], [5.1], [4.9]]
        >>> display = kdi.ClusterDisplay.from_estimator(kdi.KDIDiscretizer().fit(X))
        >>> display.clusters.boundaries.round(1), display.ax_.get_ylabel()
        (array([3.1]), 'share of the values')
        """
        style.import_pyplot()  # raise before the work, not after it
        if not isinstance(estimator, KDIDiscretizer):
            raise TypeError(
                "estimator must be a fitted KDIDiscretizer (for a pipeline, pass that step), got "
                f"{style.class_name(estimator)}."
            )
        check_is_fitted(estimator)
        names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
        names = names or [f"x{j}" for j in range(estimator.n_features_in_)]
        j = style.feature_index(feature, names, "feature")
        valleys = estimator.valleys_[j]
        if not valleys.n_clusters:
            raise ValueError(f"feature {names[j]!r} must have values in the fitted data to be drawn, got only NaN.")
        column = None if X is None else as_column(as_table(estimator, X, reset=False)[:, j], "X")
        if column is not None and np.isnan(column).all():
            raise ValueError(f"X must hold values of feature {names[j]!r} that are not NaN.")
        x, weights = (column, None) if column is not None else _fitted_values(valleys)
        display = cls(_clusters_of(valleys, column), x, weights, names[j])
        display._shows_shares = X is None
        return display.plot(ax, bins=bins)

    @classmethod
    def from_data(
        cls, x: ArrayLike, *, bins: Any = None, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Cluster a variable and plot the clusters.

        Parameters
        ----------
        x : array-like of shape (n,)
        bins, name, ax
            As in the class and in `plot`.
        **options
            Options of `kdi.cluster`: alpha, bandwidth, kernel, order, n_clusters, min_size, significance, weights.

        Returns
        -------
        display : ClusterDisplay
            With its axes.
        """
        style.import_pyplot()
        return cls(cluster(x, **options), x, options.get("weights"), name).plot(ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: Any = None) -> Self:
        """Draw the clusters.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        bins : int, sequence or str, optional
            Bins of the histogram, as in `numpy.histogram_bin_edges`, over the range that is shown; 40 to 200 by
            default. A sequence of edges also sets that range.

        Returns
        -------
        self : ClusterDisplay
        """
        ax = style.prepare_axes(ax, 7, 4)
        text_colour, earlier = style.text_colour(ax), ax.get_xlim() if ax.has_data() else None
        self.ax_, self.figure_ = ax, ax.figure
        values, weights = self._known()
        edges = _bin_edges(values, weights, bins)
        highest = self._draw_bars(edges, COLOUR_RANGES[text_colour])
        positions = np.linspace(edges[0], edges[-1], 1000)
        centers, boundaries = (
            marks[(marks >= edges[0]) & (marks <= edges[-1])]
            for marks in (self.clusters.centers, self.clusters.boundaries)
        )
        curve, tops = self.clusters.density(positions), self.clusters.density(centers)
        scale = highest / max(curve.max(), tops.max(initial=0))
        ax.plot(positions, scale * curve, color=text_colour, linewidth=1.3, label="density of the KD-integral, scaled")
        ax.plot(centers, scale * tops, "o", color=text_colour, markersize=5, label="centers")
        dashes = {"color": style.RED, "linestyle": "--", "linewidth": 1.3, "label": "boundaries"}
        for boundary in boundaries:
            ax.plot([boundary, boundary], [0, 1.03 * highest], **dashes)
        # Keep what was drawn before visible.
        limits = float(edges[0]), float(edges[-1])
        ax.set(xlim=style.joint_limits(earlier or limits, limits), ylim=(0, 1.02 * ax.dataLim.y1))
        ax.set_ylabel(self._y_label)
        # Names are data: a $ in them is not mathematics.
        label = ax.set_xlabel(style.on_one_line(self.name) + self._note_outside(edges), parse_math=False)
        style.add_legend_above_data(ax)
        style.update_layout(ax)
        style.shorten(label, ax.bbox.width)
        return self

    def _draw_bars(self, edges: Float64Array, colour_range: tuple[float, float]) -> float:
        """Draw the histogram with one colour per cluster; return the height of the highest bar."""
        from matplotlib import colormaps

        values, weights = self._known()
        labels = self.clusters.predict(values)
        groups = [labels == k for k in range(self.clusters.n_clusters)]
        heights = self.ax_.hist(
            [values[group] for group in groups],
            weights=[weights[group] for group in groups],
            bins=edges,
            stacked=True,
            color=colormaps["viridis"](np.linspace(*colour_range, len(groups))),
            alpha=0.75,
        )[0]
        return float(np.max(heights)) or 1.0

    @property
    def _y_label(self) -> str:
        if self._shows_shares:
            return "share of the values"
        return "values" if self.weights is None else "weight of the values"

    def _note_outside(self, edges: Float64Array) -> str:
        """Say how many values the histogram leaves out."""
        values, weights = self._known()
        is_outside = (values < edges[0]) | (values > edges[-1])
        number = int(is_outside.sum())
        if not number:
            return ""
        if self._shows_shares:
            return f" ({100 * weights[is_outside].sum():.2g}% of the values lie outside)"
        return f" ({number} value{'s lie' if number > 1 else ' lies'} outside)"

    def _known(self) -> tuple[Float64Array, Float64Array]:
        """Return the values that are not NaN and have a weight above 0, and their weights."""
        weights = np.ones(len(self.x)) if self.weights is None else self.weights
        known = ~np.isnan(self.x) & (weights > 0)
        return self.x[known], weights[known]


def _clusters_of(valleys: Valleys, column: Float64Array | None) -> Clusters:
    """Return the bins of a feature as clusters, with the labels of a column."""
    boundaries = valleys.boundaries
    labels = None if column is None else assign_clusters(column, boundaries)
    depths = valleys.modes.depths
    return Clusters(labels, boundaries, valleys.centers, valleys.sizes, depths, valleys.alpha, valleys)


def _fitted_values(valleys: Valleys) -> tuple[Float64Array, Float64Array]:
    """Return values that represent the data of a fit, and their weights, which sum to 1."""
    positions, weights = valleys.cells()
    if valleys.density is None or not valleys.density.width:
        return valleys.values_at(positions), weights
    # Spread the values of each cell over its width, which bars may be narrower than.
    edges = positions[:, None] + valleys.density.width * np.array([-0.5, 0.5])
    reached = np.cumsum(weights)
    shares = np.stack([reached - weights, reached], axis=1)
    positions = np.interp(np.linspace(0, 1, N_FITTED), shares.ravel(), edges.ravel())
    values = valleys.values_at(positions)
    integers = np.rint(values)
    if abs(values - integers).max() < 0.05:  # cells that each hold one integer
        values = integers
    return values, np.full(N_FITTED, 1 / N_FITTED)


def _bin_edges(values: Float64Array, weights: Float64Array, bins: Any) -> Float64Array:
    """Return the edges of the histogram: over all values, or without far outliers; between integers if all are."""
    low, high = range_without_outliers(Sketch.from_values(values, weights))
    if bins is None and high - low < 40 and (values == np.rint(values)).all():
        return np.arange(np.ceil(low) - 0.5, np.floor(high) + 1)
    default = int(np.clip(np.sqrt(len(values)), 40, 200))
    return np.histogram_bin_edges(values, default if bins is None else bins, range=(low, high))
