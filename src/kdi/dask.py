"""kdi on dask: fit and transform arrays and dataframes where they are, partition by partition.

A partition becomes a summary, at alpha = 1 a megabyte a column at most, in one task together with the reading of it;
summaries are merged eight at a time until one is left, which alone comes to the client:

    partition ─▶ summary ─┐
    partition ─▶ summary ─┼─▶ merged ─┐
        ⋮                 ┘           ├─▶ merged ─▶ ordinary KDITransformer
    partition ─▶ summary ───▶ merged ─┘

Everything runs on the scheduler, or the distributed client, that dask itself would use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from kdi._dask_tasks import fit_gathered, frame_of, merge_all, named_sketches, summary_of
from kdi._input import check_names
from kdi._names import check_columns, check_unique
from kdi._typing import KernelName, Rule
from kdi.cells import MANY
from kdi.clusters import Clusters, cluster_parts
from kdi.discretizer import KDIDiscretizer
from kdi.kernels import get_kernel
from kdi.matrix import CorrelationMatrix
from kdi.matrix_parts import corr_parts
from kdi.parts import Chunk, gathering
from kdi.transformer import KDITransformer

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.delayed import Delayed, delayed
    from dask.highlevelgraph import HighLevelGraph

    from kdi._dask_input import (
        check_collection,
        feature_names,
        is_frame,
        is_name,
        kind_of,
        one_column,
        refuse_others,
        weights_alike,
    )
    from kdi._dask_maps import labels_of, mapped
except ImportError as error:
    raise ImportError("kdi.dask needs dask, which is not installed: pip install 'kdi[dask]'") from error

__all__ = ["DaskParts", "cluster", "corr", "fit", "inverse_transform", "sketch_table", "transform"]

Summary = TypeVar("Summary")

FAN_IN = 8  # summaries that one task merges


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
        raise TypeError(f"estimator must be a KDITransformer or a KDIDiscretizer, got {kind_of(estimator)}.")
    parts = DaskParts(X, sample_weight, columns, instead="estimator.fit")
    if compute:
        return estimator._fit_parts(parts)
    if not isinstance(estimator, KDITransformer):
        raise ValueError("compute=False takes a KDITransformer: the bins of a KDIDiscretizer take several readings.")
    model = clone(estimator)
    check_names(model, parts.names, parts.n_columns, reset=True)
    alphas = model._resolve_alpha(np.full(parts.n_columns, MANY))
    gathered = parts.reduced(*gathering(model._check_parameters(), alphas, parts.n_jobs))
    return delayed(fit_gathered, pure=True)(model, gathered)


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
    return mapped(estimator, X, "transform")


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
    return mapped(estimator, X, "inverse_transform")


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
    parts = DaskParts(X, weights, columns, weights_name="weights", instead="kdi.sketch_table")
    gathered = parts.reduced(*gathering(get_kernel("polyexp"), np.ones(parts.n_columns), parts.n_jobs))
    return delayed(named_sketches, pure=True)(parts.labels, parts.names, gathered)


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
    parts = DaskParts(X, weights, columns, weights_name="weights", instead="kdi.corr")
    matrices = list(corr_parts(parts, alpha=alpha, kernel=kernel, min_periods=min_periods, pvalues=pvalues))
    if is_frame(X):
        labels = X._meta[parts.labels].columns
        matrices = [matrix if matrix is None else frame_of(matrix, labels, labels) for matrix in matrices]
    return CorrelationMatrix(*matrices) if pvalues else matrices[0]


def cluster(
    x: Any,
    *,
    alpha: float | Rule = 1.0,
    bandwidth: float | Rule = "scott",
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
    parts = DaskParts(table, weights, weights_name="weights", instead="kdi.cluster")
    found = cluster_parts(
        parts,
        alpha=alpha,
        bandwidth=bandwidth,
        kernel=kernel,
        n_clusters=n_clusters,
        min_size=min_size,
        significance=significance,
    )
    return replace(found, labels=labels_of(values, found.boundaries))


class DaskParts:
    """The partitions of a dask array or dataframe, as `kdi.parts` reads a table that lies in parts.

    Parameters
    ----------
    X : dask array of shape (n, n_columns), or dask dataframe
    weights : as `sample_weight` in `fit`, optional
    columns : sequence of names, or of numbers for an array, optional
        By default all, but that of the weights.
    weights_name : str
        What messages call the weights.
    instead : str
        What messages recommend for tables that are in memory.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> parts = kdi.dask.DaskParts(da.ones((6, 2), chunks=(2, 2)))
    >>> parts.reduce(lambda chunks: sum(len(columns[0]) for columns, _ in chunks), int.__add__)
    6
    """

    again = True
    n_jobs = 1  # a thread a partition: dask fills the other cores

    def __init__(
        self,
        X: Any,
        weights: Any = None,
        columns: Any = None,
        *,
        weights_name: str = "sample_weight",
        instead: str = "estimator.fit",
    ) -> None:
        check_collection(X, instead)
        every = list(X.columns) if is_frame(X) else list(range(X.shape[1]))
        check_unique(every)
        self.weight_column = weights if is_frame(X) and is_name(weights) else None
        usual = [label for label in every if self.weight_column is None or label != self.weight_column]
        self.labels = usual if columns is None else [columns] if is_name(columns) else list(columns)
        asked = [*self.labels, *([] if self.weight_column is None else [self.weight_column])]
        check_columns(asked, every)
        self.table = X if asked == every else X[asked] if is_frame(X) else X[:, asked]
        self.n_columns = len(self.labels)
        self.names = feature_names(self.table, self.labels)
        refuse_others(self.table)
        self.weights_name = weights_name
        self.weights = None if self.weight_column is not None else weights_alike(weights, self.table, weights_name)

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summaries of all partitions, merged on the workers; only the last comes here."""
        merged: Summary = self.reduced(summarise, merge).compute()
        return merged

    def reduced(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Delayed:
        """What `reduce` computes, as a Delayed."""
        summary = partial(summary_of, weight_column=self.weight_column, weights_name=self.weights_name)
        function = delayed(summarise, pure=True, traverse=False)  # one node of the graph: it may hold tables
        # A collection each of whose blocks is a summary, so that dask fuses the reading of a block with it.
        if is_frame(self.table):
            others = [] if self.weights is None else [self.weights]
            found = self.table.map_partitions(summary, function, *others, meta=(None, object), enforce_metadata=False)
        else:
            pairs = [self.table, "ij", function, None, *([] if self.weights is None else [self.weights, "i"])]
            meta = np.empty(0, dtype=object)
            found = da.blockwise(summary, "i", *pairs, concatenate=True, align_arrays=False, dtype=object, meta=meta)
        return _tree(found, partial(merge_all, merge))


def _tree(collection: Any, merge: Callable[[list[Any]], Any]) -> Delayed:
    """The blocks of a collection merged into one, a few at a time.

    One layer of the graph, made here: with `dask.delayed` for every node, the time is quadratic in their number.
    """
    leaves = collection.to_delayed()
    leaves = leaves.ravel().tolist() if isinstance(leaves, np.ndarray) else leaves
    keys = [leaf.key for leaf in leaves]
    name = f"kdi-merge-{tokenize(keys, merge)}"
    layer: dict[Any, Any] = {}
    level = 0
    while len(keys) > 1 or not layer:
        groups = [keys[start : start + FAN_IN] for start in range(0, len(keys), FAN_IN)]
        keys = [(name, level, place) for place in range(len(groups))]
        layer.update({key: (merge, group) for key, group in zip(keys, groups, strict=True)})
        level += 1
    return Delayed(keys[0], HighLevelGraph.from_collections(name, layer, dependencies=leaves[:1]), layer=name)
