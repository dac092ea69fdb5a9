"""Fits, transforms, sketches, correlations and clusters of Dask collections: the functions that users call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import clone

from kdi._clustering.clusters import Clusters, cluster_partitioned
from kdi._clustering.discretizer import KDIDiscretizer
from kdi._correlation.matrix import CorrelationMatrix
from kdi._correlation.partitioned_matrix import corr_partitioned
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import sketch_reducer
from kdi._transformer.transformer import KDITransformer
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, KernelName
from kdi.dask._input import (
    describe_type,
    is_dask_dataframe,
    one_column,
)
from kdi.dask._lazy import label_lazily, map_lazily
from kdi.dask._partitions import DaskPartitions
from kdi.dask._tasks import fit_from_summary, frame_of, named_sketches


@public_in("kdi.dask")
def fit(estimator: Any, X: Any, sample_weight: Any = None, *, columns: Any = None, compute: bool = True) -> Any:
    """Fit a KDITransformer or KDIDiscretizer to a dask array or dataframe.

    The result is what `estimator.fit` makes of the same rows in memory, whatever the number and order of partitions.

    Parameters
    ----------
    estimator : KDITransformer or KDIDiscretizer
    X : dask array of shape (n_samples, n_features), or dask dataframe
        Chunks may have unknown numbers of rows. Columns that are not numbers are refused before anything is computed.
    sample_weight : dask array or series, array-like of shape (n_samples,) or name of a column, optional
        A weight of 2 is a repetition, a weight of 0 a removal. For an array, weights are a dask array, or an array in
        memory where the sizes of the chunks are known; for a dataframe, a series with the same partitions or the name
        of one of its columns, which is then no feature.
    columns : sequence of names, or of numbers for an array, optional
        The features; by default all columns, but that of the weights. `transform` takes tables of the features alone.
    compute : bool, default=True
        False returns a Delayed of a fitted clone of a KDITransformer, which `transform` takes too. It reads the data
        once; with True there is a second reading where the bandwidth turns out to call for narrower cells than there
        was room for.

    Returns
    -------
    The estimator itself, fitted, an ordinary one that can be saved and used anywhere; or a Delayed.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> X = da.arange(10_000, chunks=1000).astype(float)[:, None]
    >>> kdi.dask.fit(kdi.KDITransformer(), X).transform([[2500.0], [5000.0]]).round(2).ravel()
    array([0.21, 0.5 ])
    """
    if not isinstance(estimator, KDITransformer | KDIDiscretizer):
        raise TypeError(f"estimator must be a KDITransformer or a KDIDiscretizer, got {describe_type(estimator)}.")
    parts = DaskPartitions(X, sample_weight, columns, instead="estimator.fit")
    if compute:
        return estimator._fit_partitions(parts)
    if not isinstance(estimator, KDITransformer):
        raise ValueError("compute=False takes a KDITransformer: the bins of a KDIDiscretizer take several readings.")
    model = clone(estimator)
    summary = parts.reduced(*model._summary_reducer(parts))
    return delayed(fit_from_summary, pure=True)(model, summary)


@public_in("kdi.dask")
def transform(estimator: Any, X: Any) -> Any:
    """Transform a dask array or dataframe, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer, or Delayed of one
    X : dask array of shape (n_samples, n_features), or dask dataframe
        Names of columns are checked as scikit-learn checks those of frames; inside a Delayed, when it is computed.

    Returns
    -------
    dask array or dataframe
        With the partitions, and the index, of X: float32 where all of X is float32, and float64 otherwise. One-hot
        columns are dense, whatever `encode` says of them, and are named as `get_feature_names_out` does; the estimator
        must have been computed for them.

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
    """Map what `transform` returned back to the features, lazily.

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
def sketch_table(X: Any, columns: Any = None, weights: Any = None) -> Delayed:
    """Sketches of the columns of a dask array or dataframe, in one reading.

    Parameters
    ----------
    X : dask array of shape (n, n_columns), or dask dataframe
    columns : sequence of names, or of numbers for an array, optional
        By default all, but that of the weights.
    weights : as `sample_weight` in `fit`, optional

    Returns
    -------
    Delayed of dict
        Name (or number) to Sketch, which does not depend on how X is divided.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> kdi.dask.sketch_table(da.arange(6, chunks=2).astype(float)[:, None]).compute()
    {0: Sketch(count=6, minimum=0.0, maximum=5.0, exact)}
    """
    parts = DaskPartitions(X, weights, columns, weights_name="weights", instead="kdi.sketch_table")
    gathered = parts.reduced(*sketch_reducer(get_kernel("polyexp"), np.ones(parts.n_columns), parts.n_jobs))
    return delayed(named_sketches, pure=True)(parts.labels, parts.names, gathered)


@public_in("kdi.dask")
def corr(
    X: Any,
    columns: Any = None,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    min_periods: int = 1,
    pvalues: bool = False,
    weights: Any = None,
) -> Any:
    """KD-integral correlations of all pairs of columns of a dask array or dataframe; computed at once.

    Parameters
    ----------
    X : dask array of shape (n, n_columns), or dask dataframe
    columns : sequence of names, or of numbers for an array, optional
        By default all, but that of the weights.
    alpha, kernel, min_periods, pvalues
        As in `kdi.corr`.
    weights : as `sample_weight` in `fit`, optional

    Returns
    -------
    ndarray, or pandas DataFrame where X is a dataframe; with `pvalues`, a named tuple of two

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> kdi.dask.corr(da.from_array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], chunks=(2, 2))).round(2)
    array([[1. , 0.7],
           [0.7, 1. ]])
    """
    parts = DaskPartitions(X, weights, columns, weights_name="weights", instead="kdi.corr")
    matrices = list(corr_partitioned(parts, alpha=alpha, kernel=kernel, min_periods=min_periods, pvalues=pvalues))
    if is_dask_dataframe(X):
        labels = X._meta[parts.labels].columns
        matrices = [matrix if matrix is None else frame_of(matrix, labels, labels) for matrix in matrices]
    return CorrelationMatrix(*matrices) if pvalues else matrices[0]


@public_in("kdi.dask")
def cluster(
    x: Any,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
    kernel: KernelName = "polyexp",
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: Any = None,
) -> Clusters:
    """Natural groups of one variable; computed at once, but for the labels.

    Parameters
    ----------
    x : dask array of shape (n,), dask series, or dask dataframe of one column beside that of the weights
    alpha, bandwidth, kernel, n_clusters, min_size, significance
        As in `kdi.cluster`.
    weights : as `sample_weight` in `fit`, optional

    Returns
    -------
    Clusters
        Its `labels` are a lazy dask array, or a series where x is a series or dataframe.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> found = kdi.dask.cluster(da.from_array([1.0, 2.0, 3.0, 101.0, 102.0, 103.0], chunks=4))
    >>> found.boundaries.round(), found.labels.compute()
    (array([52.]), array([0, 0, 0, 1, 1, 1]))
    """
    values, table = one_column(x, weights)
    parts = DaskPartitions(table, weights, weights_name="weights", instead="kdi.cluster")
    found = cluster_partitioned(
        parts,
        alpha=alpha,
        bandwidth=bandwidth,
        kernel=kernel,
        n_clusters=n_clusters,
        min_size=min_size,
        significance=significance,
    )
    return replace(found, labels=label_lazily(values, found.boundaries))
