"""cluster: the natural groups of one variable, and the options that it shares with the engines' versions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from kdi._clustering.queries import ArrayQueries, ColumnQueries, PartitionedQueries, assign_clusters
from kdi._clustering.valleys import Pruning, Valleys, check_bandwidth, find_valleys, with_n_clusters
from kdi._integral.bandwidth import alpha_factors, bandwidth_factor
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.partitions import PartitionedTable, TableSummary
from kdi._utils.errors import TableError
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import BandwidthRule, Float64Array, Int64Array, KernelName
from kdi._utils.validation import as_column, as_weights, is_integer


@public_in("kdi")
@dataclass(frozen=True, eq=False)
class Clusters:
    """Result of `kdi.cluster`.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each value, numbered from the left; -1 for NaN. A lazy collection for Dask, None for Spark.
    boundaries : ndarray of shape (n_clusters - 1,)
        The valleys of the density of the KD-integral, as values of x. A value on a boundary belongs to the cluster on
        its right.
    centers : ndarray of shape (n_clusters,)
        The peaks of that density, as values of x.
    n_clusters : int
    edges : ndarray of shape (n_clusters + 1,)
        The smallest value, the boundaries and the largest value.
    sizes : ndarray of shape (n_clusters,)
        Number of values in each cluster, or the sum of their weights.
    depths : ndarray of shape (n_clusters - 1,)
        The depth of each valley as a share of the lower of the two peaks beside it: 0 is level, 1 is empty.
    alpha : float
        Bandwidth factor of the KD-integral; it differs from the given one where `n_clusters` required another.
    valleys : Valleys
        The map to T and the density of the T, from which `predict_proba` and `density` are computed.

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
    valleys: Valleys = field(repr=False)

    @property
    def n_clusters(self) -> int:
        return len(self.centers)

    @property
    def edges(self) -> Float64Array:
        return self.valleys.edges

    def predict(self, x: ArrayLike) -> Int64Array:
        """Assign each value to its cluster; -1 for NaN.

        Parameters
        ----------
        x : array-like of shape (n,)
        """
        return assign_clusters(as_column(x, "x"), self.boundaries)

    def predict_proba(self, x: ArrayLike) -> Float64Array:
        """Return each cluster's share of the density at x.

        Where the density is close to 0, the cluster that x lies in has the share 1.

        Parameters
        ----------
        x : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Rows sum to 1; rows of NaN are NaN.
        """
        return self.valleys.shares(as_column(x, "x"))

    def density(self, x: ArrayLike) -> Float64Array:
        """Evaluate the density of the KD-integrals, with valleys at the boundaries and peaks at the centers.

        Parameters
        ----------
        x : array-like of shape (n,)
        """
        return self.valleys.density_at(as_column(x, "x"))


@dataclass(frozen=True)
class ClusterOptions:
    """The options of `kdi.cluster` and of its versions for engines: checked once, here.

    The order of the fields is that of the keyword parameters of all these functions.
    """

    alpha: float | BandwidthRule = 1.0
    bandwidth: float | BandwidthRule = "scott"
    kernel: KernelName = "polyexp"
    order: int = 4
    n_clusters: int | None = None
    min_size: float | None = None
    significance: float | None = None

    def __post_init__(self) -> None:
        get_kernel(self.kernel, self.order)
        n_clusters = self.n_clusters
        if n_clusters is not None and not (is_integer(n_clusters) and n_clusters >= 1):
            raise ValueError(f"n_clusters must be None or an integer >= 1, got {n_clusters!r}.")
        Pruning(self.min_size, self.significance)
        check_bandwidth(self.bandwidth)
        bandwidth_factor(self.alpha, 1.0)

    @property
    def integral_kernel(self) -> Kernel:
        """The kernel of the KD-integral."""
        return get_kernel(self.kernel, self.order)

    @property
    def pruning(self) -> Pruning:
        """The valleys that count."""
        return Pruning(self.min_size, self.significance)


@public_in("kdi")
def cluster(
    x: ArrayLike,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
    kernel: KernelName = "polyexp",
    order: int = 4,
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: ArrayLike | None = None,
) -> Clusters:
    """Find the natural groups of one variable: cut it at the valleys of the density of its KD-integral.

    Parameters
    ----------
    x : array-like of shape (n,)
        The values; NaN is ignored and labelled -1.
    alpha : float, "scott" or "silverman", default=1.0
        Bandwidth factor of the KD-integral.
    bandwidth : float, "scott" or "silverman", default="scott"
        Bandwidth of the density of the KD-integrals, in units of their standard deviation; the rules are those of
        `scipy.stats.gaussian_kde`. Smaller ones find more clusters.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
        Kernel of the KD-integral. The density of the integrals is Gaussian.
    order : int, default=4
        Order of the polyexp kernel.
    n_clusters : int, optional
        Exact number of clusters: the shallowest valleys are closed or, where there are too few, the nearest alpha that
        has enough is used instead. By default there are as many clusters as the density has peaks, as in the paper.
    min_size : float, optional
        Clusters with fewer values than this (or with less than this share of the values, if it is below 1) join the
        neighbour behind the shallower valley.
    significance : float, optional
        Close valleys that a sample of this size would show by chance: those whose density is not significantly below
        that of the lower peak beside them at this level, for example 0.05.
    weights : array-like of shape (n,), optional
        A weight of 2 repeats a value, a weight of 0 removes it. Their sum is the sample size, on which the bandwidth
        rules depend: do not normalise weights to sum to 1.

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
    options = ClusterOptions(alpha, bandwidth, kernel, order, n_clusters, min_size, significance)
    column = as_column(x, "x")
    row_weights = as_weights(weights, len(column), "weights")
    n_threads = count_threads(None, len(column))
    found = _cluster(ArrayQueries(column[:, None], row_weights, n_threads), options)
    return replace(found, labels=assign_clusters(column, found.boundaries, n_threads))


def cluster_partitioned(table: PartitionedTable, options: ClusterOptions) -> Clusters:
    """Run `cluster` on the one column of a partitioned table; `labels` are None, for the caller to compute."""
    column = None if table.names is None else str(table.names[0])
    return _cluster(PartitionedQueries(table, partial(_check_finite, column=column)), options, column)


def _cluster(queries: ColumnQueries, options: ClusterOptions, column: str | None = None) -> Clusters:
    """Find the clusters of the one column that `queries` answer for; messages call it `x` where it has no name."""
    kernel, pruning, name = options.integral_kernel, options.pruning, _name(column)
    factors = alpha_factors(options.alpha, 1)
    (found,) = find_valleys(queries, factors, [options.bandwidth], kernel, lambda _: name)
    found = pruning.apply(found)
    if not found.n_clusters:
        raise TableError(f"{name} must hold at least one value that is not NaN and has a weight above 0", column=column)
    if options.n_clusters is not None:
        n_clusters = int(options.n_clusters)
        found = with_n_clusters(queries, found, n_clusters, options.bandwidth, kernel, pruning, name)
    return Clusters(None, found.boundaries, found.centers, found.sizes, found.modes.depths, found.alpha, found)


def _check_finite(found: TableSummary, column: str | None) -> None:
    if any(found.infinite):
        raise TableError(f"{_name(column)} must be finite or NaN, got infinite values", column=column)


def _name(column: str | None) -> str:
    """Return what messages call the column."""
    return "x" if column is None else f"column {column!r}"
