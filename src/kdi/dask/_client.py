"""The functions of kdi.dask: fit, transform, sketch, correlate and cluster Dask collections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import clone

from kdi._clustering.clusters import ClusterOptions, Clusters, cluster_partitioned
from kdi._correlation.matrix import CorrelationMatrix
from kdi._correlation.partitioned_matrix import corr_partitioned, corr_test_partitioned
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import OnePassEstimator, PartitionedEstimator, fit_partitioned, sketch_reducer
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName
from kdi._utils.validation import describe_type
from kdi.dask._input import is_dask_dataframe, one_column
from kdi.dask._lazy import label_lazily, map_lazily
from kdi.dask._partitions import DaskPartitions
from kdi.dask._tasks import fit_from_summary, frame_of, named_sketches


@public_in("kdi.dask")
def fit(estimator: Any, X: Any, *, columns: Any = None, sample_weight: Any = None, compute: bool = True) -> Any:
    """Fit a KDITransformer or KDIDiscretizer to a dask array or dataframe.

    The result equals that of `estimator.fit` on the same rows in memory; it does not depend on the number and the order
    of the partitions.

    Parameters
    ----------
    estimator : KDITransformer or KDIDiscretizer
    X : dask array of shape (n_samples, n_features), or dask dataframe
        Chunks may have unknown numbers of rows. Columns that are not numeric raise an error before anything is
        computed.
    columns : sequence of names, or of numbers for an array, optional
        The features; by default all columns except that of the weights. `transform` takes tables of the features only.
    sample_weight : dask array or series, array-like of shape (n_samples,) or name of a column, optional
        One weight per row. A weight of 2 is a repetition, a weight of 0 a removal. For an array, the weights are a dask
        array, or an array in memory if the sizes of the chunks are known. For a dataframe, they are a series with the
        same partitions, or the name of one of its columns, which is then not a feature.
    compute : bool, default=True
        If False, return a Delayed of a fitted clone of a KDITransformer, which `transform` accepts too. It reads the
        data once; if True, the data is read a second time where the bandwidth needs narrower cells than one reading
        could keep.

    Returns
    -------
    The fitted estimator itself, which can be saved and used anywhere; or a Delayed.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> X = da.arange(10_000, chunks=1000).astype(float)[:, None]
    >>> kdi.dask.fit(kdi.KDITransformer(), X).transform([[2500.0], [5000.0]]).round(2).ravel()
    array([0.21, 0.5 ])
    """
    if isinstance(estimator, type) or not isinstance(estimator, PartitionedEstimator):
        raise TypeError(f"estimator must be a KDITransformer or a KDIDiscretizer, got {describe_type(estimator)}.")
    table = DaskPartitions(
        X,
        columns=columns,
        weights=sample_weight,
        table_name="X",
        weights_name="sample_weight",
        in_memory="estimator.fit",
    )
    if compute:
        return fit_partitioned(estimator, table)
    if not isinstance(estimator, OnePassEstimator):
        raise ValueError(
            f"compute=False needs a KDITransformer, got a {type(estimator).__name__}, which reads the data several "
            "times; use compute=True."
        )
    model: OnePassEstimator = clone(estimator)
    summary = table.reduce_lazily(*model._summary_reducer(table))
    return delayed(fit_from_summary, pure=True)(model, summary)


@public_in("kdi.dask")
def transform(estimator: Any, X: Any) -> Any:
    """Transform a dask array or dataframe, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer, or Delayed of one
    X : dask array of shape (n_samples, n_features), or dask dataframe
        Column names are checked as scikit-learn checks those of dataframes; for a Delayed estimator, when it is
        computed.

    Returns
    -------
    dask array or dataframe
        With the partitions and the index of X; float32 if all of X is float32, float64 otherwise. One-hot columns are
        always dense, and named as by `get_feature_names_out`; they need an estimator that is not a Delayed.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> X = da.from_array([[1.0], [2.0], [4.0]], chunks=2)
    >>> kdi.dask.transform(kdi.dask.fit(kdi.KDITransformer(alpha=0), X), X).compute().ravel()
    array([0. , 0.5, 1. ])
    """
    return map_lazily(estimator, X, "transform")


@public_in("kdi.dask")
def inverse_transform(estimator: Any, X: Any) -> Any:
    """Map the output of `transform` back to the features, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer, or Delayed of one
    X : dask array of shape (n_samples, n_features), or dask dataframe

    Returns
    -------
    dask array or dataframe

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> transformer = kdi.KDITransformer(alpha=0).fit([[1.0], [2.0], [4.0]])
    >>> kdi.dask.inverse_transform(transformer, da.from_array([[0.0], [0.75], [1.0]], chunks=2)).compute().ravel()
    array([1., 3., 4.])
    """
    return map_lazily(estimator, X, "inverse_transform")


@public_in("kdi.dask")
def sketch_table(table: Any, *, columns: Any = None, weights: Any = None) -> Delayed:
    """Sketch the columns of a dask array or dataframe in one reading.

    Parameters
    ----------
    table : dask array of shape (n, n_columns), or dask dataframe
    columns : sequence of names, or of numbers for an array, optional
        By default all columns except that of the weights.
    weights : dask array or series, array-like of shape (n,) or name of a column, optional
        As `sample_weight` in `fit`.

    Returns
    -------
    Delayed of dict
        From the name (or number) of a column to its Sketch, which does not depend on the partitions.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> kdi.dask.sketch_table(da.arange(6, chunks=2).astype(float)[:, None]).compute()
    {0: Sketch(count=6, minimum=0.0, maximum=5.0, exact)}
    """
    partitions = DaskPartitions(table, columns=columns, weights=weights, in_memory="kdi.sketch_table")
    reducer = sketch_reducer(get_kernel("polyexp"), np.ones(partitions.n_columns), partitions.n_jobs)
    summary = partitions.reduce_lazily(*reducer)
    return delayed(named_sketches, pure=True)(partitions.labels, partitions.names, summary)


@public_in("kdi.dask")
def corr(
    table: Any,
    *,
    columns: Any = None,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: Any = None,
) -> Any:
    """Compute the KD-integral correlations of all pairs of columns of a dask array or dataframe; not lazy.

    Parameters
    ----------
    table : dask array of shape (n, n_columns), or dask dataframe
    columns : sequence of names, or of numbers for an array, optional
        By default all columns except that of the weights.
    alpha, kernel, order, min_periods
        As in `kdi.corr`.
    weights : dask array or series, array-like of shape (n,) or name of a column, optional
        As `sample_weight` in `fit`.

    Returns
    -------
    ndarray, or pandas DataFrame if the table is a dataframe

    See Also
    --------
    kdi.dask.corr_test : the same correlations, with p-values.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> kdi.dask.corr(da.from_array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], chunks=(2, 2))).round(2)
    array([[1. , 0.7],
           [0.7, 1. ]])
    """
    partitions = DaskPartitions(table, columns=columns, weights=weights, in_memory="kdi.corr")
    statistic = corr_partitioned(partitions, alpha=alpha, kernel=kernel, order=order, min_periods=min_periods)
    return _label_matrix(statistic, table, partitions)


@public_in("kdi.dask")
def corr_test(
    table: Any,
    *,
    columns: Any = None,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: Any = None,
) -> CorrelationMatrix:
    """Compute the KD-integral correlations of all pairs of columns, with p-values; not lazy.

    Parameters
    ----------
    table, columns, alpha, kernel, order, min_periods, weights
        As in `corr`.

    Returns
    -------
    CorrelationMatrix
        A named tuple of two matrices, `statistic` and `pvalue`: ndarrays, or pandas DataFrames if the table is a
        dataframe.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> kdi.dask.corr_test(da.from_array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], chunks=(2, 2))).pvalue.round(2)
    array([[0.  , 0.51],
           [0.51, 0.  ]])
    """
    partitions = DaskPartitions(table, columns=columns, weights=weights, in_memory="kdi.corr_test")
    found = corr_test_partitioned(partitions, alpha=alpha, kernel=kernel, order=order, min_periods=min_periods)
    return CorrelationMatrix(*(_label_matrix(matrix, table, partitions) for matrix in found))


def _label_matrix(matrix: Float64Array, table: Any, partitions: DaskPartitions) -> Any:
    """Return a matrix of the columns as a pandas DataFrame if the table is a dataframe, and as it is otherwise."""
    if not is_dask_dataframe(table):
        return matrix
    labels = table._meta[partitions.labels].columns
    return frame_of(matrix, labels, labels)


@public_in("kdi.dask")
def cluster(
    x: Any,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
    kernel: KernelName = "polyexp",
    order: int = 4,
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: Any = None,
) -> Clusters:
    """Find the natural groups of one variable; only the labels are lazy.

    Parameters
    ----------
    x : dask array of shape (n,), dask series, or dask dataframe of one column beside that of the weights
    alpha, bandwidth, kernel, order, n_clusters, min_size, significance
        As in `kdi.cluster`.
    weights : dask array or series, array-like of shape (n,) or name of a column, optional
        As `sample_weight` in `fit`.

    Returns
    -------
    Clusters
        Its `labels` are a lazy dask array, or a lazy series if x is a series or dataframe.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> found = kdi.dask.cluster(da.from_array([1.0, 2.0, 3.0, 101.0, 102.0, 103.0], chunks=4))
    >>> found.boundaries.round(), found.labels.compute()
    (array([52.]), array([0, 0, 0, 1, 1, 1]))
    """
    values, table = one_column(x, weights)
    partitions = DaskPartitions(table, weights=weights, table_name="x", in_memory="kdi.cluster")
    options = ClusterOptions(alpha, bandwidth, kernel, order, n_clusters, min_size, significance)
    found = cluster_partitioned(partitions, options)
    return replace(found, labels=label_lazily(values, found.boundaries))
