"""ClusterDisplay: the histogram of a variable coloured by cluster, its density and its boundaries."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kdi._clustering.clusters import Clusters, cluster
from kdi._plots import style
from kdi._plots.marginals import bulk
from kdi._sketch.sketch import Sketch
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_column, as_weights

SHADES = {"black": (0.05, 0.9), "white": (0.3, 1.0)}  # of the clusters, by the ink: what is seen on its ground


@public_in("kdi")
class ClusterDisplay:
    """A variable's clusters: histogram coloured by cluster, density, boundaries.

    Where outliers would hide the rest, the axis ends before them, and its name says how many values lie outside.

    Parameters
    ----------
    clusters : result of `kdi.cluster`
    x : array-like of shape (n,)
        The values that were clustered, or others of the same variable.
    weights : array-like of shape (n,), optional
        Their weights, for the histogram; a weight of 0 is a removal.
    name : str, optional
        Name of the variable; that of a pandas or polars Series by default, or "x".

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

    def __init__(
        self, clusters: Clusters, x: ArrayLike, weights: ArrayLike | None = None, name: str | None = None
    ) -> None:
        if not isinstance(clusters, Clusters):
            raise ValueError(f"clusters must be a result of kdi.cluster, got {type(clusters).__name__}.")
        self.clusters, self.name = clusters, style.display_name(x, name)
        self.x = as_column(x, "x")
        self.weights = as_weights(weights, len(self.x), "weights")
        if not self._drawn()[0].size:
            raise ValueError("x must hold at least one value that is not NaN and has a weight.")

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
            Whatever `kdi.cluster` takes: alpha, bandwidth, kernel, n_clusters, min_size, significance, weights.

        Returns
        -------
        display : ClusterDisplay
            With its axes.
        """
        style.pyplot()
        return cls(cluster(x, **options), x, options.get("weights"), name).plot(ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: Any = None) -> Self:
        """Draw the clusters.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        bins : int, sequence or str, optional
            Bins of the histogram, as in `numpy.histogram_bin_edges`, over what is shown; 40 to 200 by default. Edges
            say themselves what is shown.

        Returns
        -------
        self : ClusterDisplay
        """
        ax = style.one_axes(ax, 7, 4)
        ink, earlier = style.ink(ax), ax.get_xlim() if ax.has_data() else None
        self.ax_, self.figure_ = ax, ax.figure
        values, mass = self._drawn()
        edges = _edges(values, mass, bins)
        labels = self.clusters.predict(values)
        groups = [labels == k for k in range(self.clusters.n_clusters)]
        bars = ax.hist(
            [values[group] for group in groups],
            weights=[mass[group] for group in groups],
            bins=edges,
            stacked=True,
            color=style.pyplot().get_cmap("viridis")(np.linspace(*SHADES[ink], len(groups))),
            alpha=0.75,
        )[0]
        highest = np.max(bars) or 1.0
        grid = np.linspace(edges[0], edges[-1], 1000)
        centers, boundaries = (
            marks[(marks >= edges[0]) & (marks <= edges[-1])]
            for marks in (self.clusters.centers, self.clusters.boundaries)
        )
        curve, tops = self.clusters.density(grid), self.clusters.density(centers)
        scale = highest / max(curve.max(), tops.max(initial=0))
        ax.plot(grid, scale * curve, color=ink, linewidth=1.3, label="density of the KD-integral, scaled")
        ax.plot(centers, scale * tops, "o", color=ink, markersize=5, label="centers")
        dashes = {"color": style.RED, "linestyle": "--", "linewidth": 1.3, "label": "boundaries"}
        for boundary in boundaries:
            ax.plot([boundary, boundary], [0, 1.03 * highest], **dashes)
        # Whatever was drawn before is to be seen too.
        ends = float(edges[0]), float(edges[-1])
        ax.set(xlim=style.span(earlier or ends, ends), ylim=(0, 1.02 * ax.dataLim.y1))
        ax.set_ylabel("values" if self.weights is None else "weight of the values")
        outside = int(((values < edges[0]) | (values > edges[-1])).sum())
        note = f" ({outside} value{'s lie' if outside > 1 else ' lies'} outside)" if outside else ""
        label = ax.set_xlabel(style.name_on_one_line(self.name) + note, parse_math=False)
        style.legend_over_data(ax)
        style.update_layout(ax)
        style.shorten(label, ax.bbox.width)
        return self

    def _drawn(self) -> tuple[Float64Array, Float64Array]:
        """The values that count, and how much."""
        mass = np.ones(len(self.x)) if self.weights is None else self.weights
        known = ~np.isnan(self.x) & (mass > 0)
        return self.x[known], mass[known]


def _edges(values: Float64Array, mass: Float64Array, bins: Any) -> Float64Array:
    """Edges of the histogram: over all values or, where some are far outliers, over the rest."""
    low, high = bulk(Sketch.from_values(values, mass))
    if bins is None and high - low < 40 and (values == np.rint(values)).all():
        return np.arange(np.ceil(low) - 0.5, np.floor(high) + 1)
    number = int(np.clip(np.sqrt(len(values)), 40, 200)) if bins is None else bins
    return np.histogram_bin_edges(values, number, range=(low, high))
