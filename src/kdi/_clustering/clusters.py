"""cluster: the natural groups of one variable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdi._clustering.queries import ArrayQueries, ColumnQueries, PartitionedQueries, assign_clusters
from kdi._clustering.valleys import Pruning, Valleys, check_bandwidth, find_valleys, with_n_clusters
from kdi._integral.bandwidth import bandwidth_factor
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import PartitionedTable, TableSummary
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName
from kdi._utils.validation import as_column, as_weights, is_integer


@public_in("kdi")
@dataclass(frozen=True, eq=False)
class Clusters:
    """Result of `kdi.cluster`.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each value, counted from the left; -1 for NaN. Lazy where the values are Dask's, None where they
        are Spark's.
    boundaries : ndarray of shape (n_clusters - 1,)
        Where the density of the KD-integral has its valleys, as values of x. A value on a boundary belongs to the
        right.
    centers : ndarray of shape (n_clusters,)
        Where it has its peaks, as values of x.
    n_clusters : int
    edges : ndarray of shape (n_clusters + 1,)
        The smallest value, the boundaries and the largest value.
    sizes : ndarray of shape (n_clusters,)
        Number of values in each cluster, or the sum of their weights.
    depths : ndarray of shape (n_clusters - 1,)
        How deep each valley is, as a share of the lower of the two peaks beside it: from 0, level, to 1, empty.
    alpha : float
        Bandwidth factor of the KD-integral; another than the given one where `n_clusters` asked for it.

    Examples
    --------
    >>> import kdi
    >>> found = kdi.cluster([1.0, 2.0, 3.0, 101.0, 102.0, 103.0])
    >>> found.predict([2.5, 90.0]), found.predict_proba([2.5, 90.0]).round(2).tolist()
    (array([0, 1]), [[0.97, 0.03], [0.07, 0.93]])
    >>> found.edges.round(2).tolist()
    [1.0, 52.0, 103.0]
    """

    labels: Any = field(repr=False)
    boundaries: Float64Array
    centers: Float64Array
    sizes: Float64Array
    depths: Float64Array
    alpha: float
    _valleys: Valleys = field(repr=False)

    @property
    def n_clusters(self) -> int:
        return len(self.centers)

    @property
    def edges(self) -> Float64Array:
        table = self._valleys.table
        return np.concatenate([[table.low], self.boundaries, [table.high]])

    def predict(self, x: ArrayLike) -> NDArray[np.int64]:
        """The cluster of each value; -1 for NaN.

        Parameters
        ----------
        x : array-like of shape (n,)
        """
        return assign_clusters(as_column(x, "x"), self.boundaries)

    def predict_proba(self, x: ArrayLike) -> Float64Array:
        """Each cluster's share of the density at x; where there is next to no density, the whole is its own cluster's.

        Parameters
        ----------
        x : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Rows sum to 1; those of NaN are NaN.
        """
        return self._valleys.shares(as_column(x, "x"))

    def density(self, x: ArrayLike) -> Float64Array:
        """The density of the KD-integrals at x, whose valleys are the boundaries and whose peaks are the centers.

        Parameters
        ----------
        x : array-like of shape (n,)
        """
        return self._valleys.density_at(as_column(x, "x"))


@public_in("kdi")
def cluster(
    x: ArrayLike,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
    kernel: KernelName = "polyexp",
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: ArrayLike | None = None,
) -> Clusters:
    """Natural groups of one variable, cut at the valleys of the density of its KD-integral.

    Parameters
    ----------
    x : array-like of shape (n,)
        The values; NaN is left out and labelled -1.
    alpha : float, "scott" or "silverman", default=1.0
        Bandwidth factor of the KD-integral.
    bandwidth : float, "scott" or "silverman", default="scott"
        Bandwidth of the density of the KD-integrals, in units of their standard deviation; the rules are those of
        `scipy.stats.gaussian_kde`. Smaller ones find more clusters.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
        Kernel of the KD-integral. The density of the integrals is Gaussian.
    n_clusters : int, optional
        Exactly so many: the shallowest valleys are closed or, where there are too few, the nearest alpha is taken that
        has enough. By default, as many as there are valleys, which is the paper's method.
    min_size : float, optional
        Clusters of fewer values than this, or of less than this share of them where it is below 1, join the neighbour
        behind the shallower valley.
    significance : float, optional
        Close valleys that a sample of this size would show by chance: those that are not below the lower peak beside
        them at this level of significance, for example 0.05.
    weights : array-like of shape (n,), optional
        A weight of 2 is a repetition, a weight of 0 a removal. Their sum is the size of the sample, on which the rules
        for the bandwidth depend: weights that sum to 1 are a sample of one.

    Returns
    -------
    Clusters
        With `labels`, `boundaries`, `centers`, `n_clusters`, `sizes`, `depths`, and the methods `predict` and
        `predict_proba`.

    Notes
    -----
    With T the KD-integral of x (see `KDITransformer`) and f a Gaussian kernel density estimate of the values T(x_n),
    boundaries are the local minima of f and centers its local maxima, mapped back through the inverse of T. They are
    found by Newton's method on the density itself, not on a grid. The time is linear in the number of values.

    References
    ----------
    McCarter, C. (2023). The Kernel Density Integral Transformation. Transactions on Machine Learning Research.

    Examples
    --------
    >>> import kdi
    >>> result = kdi.cluster([1.0, 1.2, 1.3, 1.1, 5.0, 5.2, 5.1, 4.9, 9.0])
    >>> result.n_clusters, result.labels.tolist(), result.boundaries.round(1).tolist()
    (2, [0, 0, 0, 0, 1, 1, 1, 1, 1], [3.1])
    """
    column = as_column(x, "x")
    mass = as_weights(weights, len(column), "weights")
    rows = ArrayQueries(column[:, None], mass, count_threads(None, len(column)))
    found = _cluster(rows, ClusterOptions(alpha, bandwidth, kernel, n_clusters, min_size, significance))
    return replace(found, labels=assign_clusters(column, found.boundaries))


@dataclass(frozen=True)
class ClusterOptions:
    """What `cluster` lets users say, wherever the values are."""

    alpha: Any = 1.0
    bandwidth: Any = "scott"
    kernel: KernelName = "polyexp"
    n_clusters: int | None = None
    min_size: float | None = None
    significance: float | None = None


def cluster_partitioned(parts: PartitionedTable, **options: Any) -> Clusters:
    """`cluster` of a column that lies in parts; labels are for those who have the values."""
    return _cluster(PartitionedQueries(parts, _refuse_infinite), ClusterOptions(**options))


def _cluster(rows: ColumnQueries, options: ClusterOptions) -> Clusters:
    chosen = get_kernel(options.kernel)
    n_clusters = options.n_clusters
    if n_clusters is not None and not (is_integer(n_clusters) and n_clusters >= 1):
        raise ValueError(f"n_clusters must be None or a whole number >= 1, got {n_clusters!r}.")
    prune = Pruning(options.min_size, options.significance)
    check_bandwidth(options.bandwidth)
    bandwidth_factor(options.alpha, 1.0)
    found = prune(find_valleys(rows, partial(_factors, options.alpha), [options.bandwidth], chosen, _name)[0])
    if not found.n_clusters:
        raise ValueError("x must hold at least one value that is not NaN and has weight.")
    if n_clusters is not None:
        found = with_n_clusters(rows, found, int(n_clusters), options.bandwidth, chosen, prune, _name)
    boundaries = found.boundaries
    (sizes,) = rows.weights_between([boundaries])
    return Clusters(None, boundaries, found.centers, sizes, found.modes.depths, found.alpha, found)


def _factors(alpha: Any, weights: Float64Array) -> Float64Array:
    return np.array([bandwidth_factor(alpha, weight) for weight in weights.tolist()])


def _refuse_infinite(found: TableSummary) -> None:
    if any(found.infinite):
        raise ValueError("x must be finite or NaN, got infinite values.")


def _name(places: list[int]) -> str:
    """What the one column is called in messages."""
    return "x"
