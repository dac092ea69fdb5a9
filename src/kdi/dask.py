"""kdi on dask: fit and transform arrays and dataframes where they are, partition by partition.

A partition becomes a summary, a few kilobytes a column, in one task together with the reading of it; summaries are
merged eight at a time until one is left, which alone comes to the client:

    partition ─▶ summary ─┐
    partition ─▶ summary ─┼─▶ merged ─┐
        ⋮                 ┘           ├─▶ merged ─▶ ordinary KDITransformer
    partition ─▶ summary ───▶ merged ─┘

Everything runs on the scheduler, or the distributed client, that dask itself would use.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from kdi._input import as_numbers, as_weights, is_plain, listed
from kdi._typing import Floats, KernelName, Rule, Table
from kdi.clusters import Clusters, cluster_parts
from kdi.discretizer import KDIDiscretizer
from kdi.matrix import CorrelationMatrix
from kdi.matrix_parts import corr_parts
from kdi.parts import Chunk, Columns, blocks, sketch_parts
from kdi.rows import assign
from kdi.sketch import Sketch
from kdi.transformer import KDITransformer

try:
    import dask
    import dask.array as da
    from dask.base import is_dask_collection, tokenize
    from dask.delayed import Delayed, delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.utils import is_dataframe_like, is_series_like, parse_bytes
except ImportError as error:
    raise ImportError("kdi.dask needs dask, which is not installed: pip install 'kdi[dask]'") from error

__all__ = ["DaskParts", "cluster", "corr", "fit", "inverse_transform", "sketch_table", "transform"]

Summary = TypeVar("Summary")

FAN_IN = 8  # summaries that one task merges
LEFT_BEHIND = ("sketches_", "valleys_", "_sklearn_output_config")  # what no block needs of an estimator


def fit(estimator: Any, X: Any, sample_weight: Any = None, *, compute: bool = True) -> Any:
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
    compute : bool, default=True
        False returns a Delayed of a fitted clone of a KDITransformer, which `transform` takes too. It reads the data
        once; with True there is a second reading where the bandwidth turns out to call for narrower cells than there
        was room for.

    Returns
    -------
    The estimator itself, fitted, an ordinary one that can be saved and used anywhere; or a Delayed.

    Examples
    --------
    >>> import dask.array as da
    >>> import kdi
    >>> import kdi.dask
    >>> X = da.arange(10_000, chunks=1000).astype(float)[:, None]
    >>> transformer = kdi.dask.fit(kdi.KDITransformer(), X)
    >>> kdi.dask.transform(transformer, X)[::2500].compute().ravel().round(2)
    array([0.  , 0.21, 0.5 , 0.79])
    """
    if not isinstance(estimator, KDITransformer | KDIDiscretizer):
        raise TypeError(f"estimator must be a KDITransformer or a KDIDiscretizer, got {_kind(estimator)}.")
    parts = DaskParts(X, sample_weight, instead="estimator.fit")
    if compute:
        return estimator._fit_parts(parts)
    if not isinstance(estimator, KDITransformer):
        raise ValueError("compute=False takes a KDITransformer: the bins of a KDIDiscretizer take several readings.")
    summary = parts.planned(clone(estimator)._fit_parts)
    return delayed(_fit_once, pure=True)(clone(estimator), parts.names, parts.n_columns, summary)


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
    """
    return _mapped(estimator, X, "transform")


def inverse_transform(estimator: Any, X: Any) -> Any:
    """Map what `transform` returned back to the features, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer, or Delayed of one
    X : dask array of shape (n_samples, n_features), or dask dataframe

    Returns
    -------
    dask array or dataframe
    """
    return _mapped(estimator, X, "inverse_transform")


def sketch_table(X: Any, columns: Sequence[Any] | None = None, weights: Any = None) -> Delayed:
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
    """
    parts = DaskParts(X, weights, columns, weights_name="weights", instead="kdi.sketch_table")
    return delayed(_named_sketches, pure=True)(parts.labels, parts.names, parts.planned(sketch_parts))


def corr(
    X: Any,
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
    alpha, kernel, min_periods, pvalues
        As in `kdi.corr`.
    weights : as `sample_weight` in `fit`, optional

    Returns
    -------
    ndarray, or pandas DataFrame where X is a dataframe; with `pvalues`, a named tuple of two
    """
    parts = DaskParts(X, weights, weights_name="weights", instead="kdi.corr")
    matrices = list(corr_parts(parts, alpha=alpha, kernel=kernel, min_periods=min_periods, pvalues=pvalues))
    if is_frame(X):
        labels = X._meta[parts.labels].columns
        matrices = [matrix if matrix is None else _frame(matrix, labels, labels) for matrix in matrices]
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
    """
    values, table = _one_column(x, weights)
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
    return replace(found, labels=_labels(values, found.boundaries))


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
    """

    again = True
    n_jobs = 1  # a thread a partition: dask fills the other cores

    def __init__(
        self,
        X: Any,
        weights: Any = None,
        columns: Sequence[Any] | None = None,
        *,
        weights_name: str = "sample_weight",
        instead: str = "estimator.fit",
    ) -> None:
        check_collection(X, instead)
        every = list(X.columns) if is_frame(X) else list(range(X.shape[1]))
        self.weight_column = weights if is_frame(X) and _is_name(weights) else None
        if columns is None:
            columns = [label for label in every if self.weight_column is None or label != self.weight_column]
        asked = [*columns, *([] if self.weight_column is None else [self.weight_column])]
        for label in asked:
            if label not in every:
                raise ValueError(f"X has no column {label!r}; it has {every[:10]}{' …' * (len(every) > 10)}.")
        self.table = X if asked == every else X[asked] if is_frame(X) else X[:, asked]
        self.labels = list(columns)
        self.n_columns = len(self.labels)
        self.names = _names(self.table, self.labels)
        refuse_others(self.table)
        self.weights_name = weights_name
        self.weights = None if self.weight_column is not None else _alike(weights, self.table, weights_name)

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summaries of all partitions, merged on the workers; only the last comes here."""
        with _room_in_graph(summarise):
            merged: Summary = self.reduced(summarise, merge).compute()
        return merged

    def reduced(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Delayed:
        """What `reduce` computes, as a Delayed."""
        summary = partial(_summary, weight_column=self.weight_column, weights_name=self.weights_name)
        function = delayed(summarise, pure=True, traverse=False)  # one node of the graph: it may hold tables
        # A collection each of whose blocks is a summary, so that dask fuses the reading of a block with it.
        if is_frame(self.table):
            others = [] if self.weights is None else [self.weights]
            found = self.table.map_partitions(summary, function, *others, meta=(None, object), enforce_metadata=False)
        else:
            pairs = [self.table, "ij", function, None, *([] if self.weights is None else [self.weights, "i"])]
            meta = np.empty(0, dtype=object)
            found = da.blockwise(summary, "i", *pairs, concatenate=True, align_arrays=False, dtype=object, meta=meta)
        return _tree(found, partial(_merge, merge))

    def planned(self, question: Callable[[Any], Any]) -> Delayed:
        """The first thing that a function of parts has reduced, as a Delayed; nothing is computed."""
        try:
            question(_Listening(self.names, self.n_columns))
        except _Heard as heard:
            return self.reduced(heard.summarise, heard.merge)
        raise RuntimeError("the parts were not read.")


@dataclass(frozen=True)
class Reduced:
    """Parts of which all that is left is what they were reduced to."""

    names: list[str] | None
    n_columns: int
    summary: Any
    again: bool = False
    n_jobs: int | None = 1

    def reduce(self, summarise: Any, merge: Any) -> Any:
        return self.summary


@dataclass(frozen=True)
class _Listening:
    """Parts that stop whoever reads them, and remember how it was to be done."""

    names: list[str] | None
    n_columns: int
    again: bool = False
    n_jobs: int | None = 1

    def reduce(self, summarise: Any, merge: Any) -> Any:
        raise _Heard(summarise, merge)


class _Heard(Exception):
    def __init__(self, summarise: Any, merge: Any) -> None:
        self.summarise, self.merge = summarise, merge


def is_frame(X: Any) -> bool:
    """Whether X is a dask dataframe."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_dataframe_like(X))


def is_series(X: Any) -> bool:
    """Whether X is a dask series."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_series_like(X))


def check_collection(X: Any, instead: str) -> None:
    """Raise unless X is a dask table of two dimensions."""
    if is_frame(X):
        if not len(X.columns):
            raise ValueError("X has 0 columns, while at least 1 is required.")
        return
    if is_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead; X.to_frame() is a dataframe of one column."
        )
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a dask array or a dask dataframe, got {_kind(X)}; {instead} takes tables that are in memory."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: shape {X.shape}. "
            "Reshape with X[:, None] if it is a single feature, or X[None, :] if it is a single sample."
        )
    if np.isnan(X.shape[1]):
        raise ValueError("X must have a known number of columns; X.compute_chunk_sizes() finds it.")
    if not X.shape[1]:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if sparse.issparse(X._meta):
        raise TypeError(
            "Sparse data was passed, but dense data is required; X.map_blocks(lambda b: b.toarray()) makes it."
        )


def refuse_others(X: Any) -> None:
    """Raise for columns that are not numbers, as far as their dtypes tell; objects are looked at in the workers."""
    kinds = list(zip(X.columns, X.dtypes, strict=True)) if is_frame(X) else [(j, X.dtype) for j in range(X.shape[1])]
    wrong = {j: f"column {name!r} holds {kind}" for j, (name, kind) in enumerate(kinds) if not _may_be_numbers(kind)}
    if wrong:
        raise ValueError(f"{listed(wrong)}.")


def _may_be_numbers(dtype: Any) -> bool:
    arrow = str(getattr(dtype, "pyarrow_dtype", ""))
    return is_plain(dtype) or dtype == np.dtype(object) or arrow.startswith(("decimal", "null"))


def _is_name(weights: Any) -> bool:
    return isinstance(weights, str | int | tuple) and not isinstance(weights, bool)


def _names(table: Any, labels: list[Any]) -> list[str] | None:
    """Names of the features by scikit-learn's rules: None where they are not text, an error where only some are."""
    if not is_frame(table):
        return None
    probe = BaseEstimator()
    validate_data(probe, table._meta[labels], skip_check_array=True)
    names = getattr(probe, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _alike(weights: Any, table: Any, name: str) -> Any:
    """Weights as a collection whose partitions are those of the table."""
    if weights is None:
        return None
    if is_frame(table):
        return _series_alike(weights, table, name)
    if is_series(weights):
        weights = weights.to_dask_array()
    rows = table.chunks[0]
    known = not np.isnan(rows).any()
    if not isinstance(weights, da.Array):
        if is_dask_collection(weights):
            raise TypeError(f"{name} must be a dask array or a dask series, got {type(weights).__name__}.")
        if not known:
            raise ValueError(
                f"{name} must be a dask array with the chunks of X, whose sizes are not known; "
                "X.compute_chunk_sizes() finds them."
            )
        weights = da.from_array(as_weights(weights, sum(rows), name), chunks=(rows,))
    if weights.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {weights.shape}.")
    if known and not np.isnan(weights.shape[0]):
        if weights.shape[0] != sum(rows):
            raise ValueError(f"{name} must have shape ({sum(rows)},), one weight a row, got {weights.shape}.")
        return weights.rechunk((rows,))
    if weights.npartitions != len(rows):
        raise ValueError(f"{name} must have the {len(rows)} chunks of X, got {weights.npartitions}.")
    return weights


def _series_alike(weights: Any, table: Any, name: str) -> Any:
    if isinstance(weights, da.Array) and weights.ndim == 1:
        weights = weights.to_dask_dataframe()
    elif not is_series(weights):
        raise TypeError(f"{name} must be a dask series, or the name of a column of X, got {_kind(weights)}.")
    same = weights.npartitions == table.npartitions
    if same and weights.known_divisions and table.known_divisions:
        same = weights.divisions == table.divisions
    if not same:
        raise ValueError(
            f"{name} must have the partitions of X, {table.npartitions}, got {weights.npartitions}; "
            "weights that are a column of X are given by its name."
        )
    return weights


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


def _mapped(estimator: Any, X: Any, method: str) -> Any:
    """X through a method of the estimator, block by block."""
    check_collection(X, f"estimator.{method}")
    refuse_others(X)
    labels = X._meta.columns if is_frame(X) else None
    width, dtype = X.shape[1], common_float(X.dtypes if is_frame(X) else [X.dtype])
    if isinstance(estimator, Delayed):
        model = delayed(_travelling, pure=True)(estimator, is_frame(X))
    else:
        width, dtype, labels = _foreseen(estimator, method, width, dtype, labels)
        model = delayed(_travelling(estimator, is_frame(X)), pure=True, traverse=False)
    function = partial(_map_block, method=method, width=width, dtype=dtype, labels=labels)
    if is_frame(X):
        return X.map_partitions(function, model, meta=function(X._meta, None))
    X = X.rechunk({1: -1})
    meta = np.empty((0, 0), dtype=dtype)
    return X.map_blocks(function, model, chunks=(X.chunks[0], (width,)), dtype=dtype, meta=meta, token=f"kdi-{method}")


def _foreseen(estimator: Any, method: str, width: int, dtype: Any, labels: Any) -> tuple[int, Any, Any]:
    """Width, dtype and names of what a method will return, from one row; columns that do not fit are refused by it."""
    check_is_fitted(estimator)
    one_hot, there = getattr(estimator, "encode", "ordinal") != "ordinal", method == "transform"
    # A row that every method takes: zeros are values and numbers of bins, and ones say that a bin is the row's.
    row = np.full((1, width), float(one_hot and not there), dtype=dtype)
    found = _dense(getattr(estimator, method)(row if labels is None else _frame(row, None, labels)))
    if labels is not None and one_hot:
        text = all(isinstance(label, str) for label in labels)
        numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
        labels = (
            estimator.get_feature_names_out(list(labels) if text else None)
            if there
            else getattr(estimator, "feature_names_in_", numbered)
        )
    return found.shape[1], found.dtype, labels


def _one_column(x: Any, weights: Any) -> tuple[Any, Any]:
    """The one column to cluster, and the table of it, which may have a column of weights too."""
    if is_frame(x):
        labels = [label for label in x.columns if not (_is_name(weights) and label == weights)]
        if len(labels) != 1:
            raise ValueError(f"x must have one column, got {len(labels)}: {labels[:10]}.")
        return x[labels[0]], x
    if is_series(x):
        return x, x.to_frame(name="x" if x.name is None else x.name)
    if isinstance(x, da.Array):
        if x.ndim != 1:
            raise ValueError(f"x must have one dimension, got an array of shape {x.shape}.")
        return x, x[:, None]
    raise TypeError(
        f"x must be a dask array, series or dataframe, got {_kind(x)}; kdi.cluster takes values that are in memory."
    )


def _labels(x: Any, boundaries: Floats) -> Any:
    """The cluster of each value, lazily."""
    label = partial(_label_block, boundaries=boundaries)
    if isinstance(x, da.Array):
        return x.map_blocks(label, dtype=np.int64, meta=np.empty(0, dtype=np.int64), token="kdi-label")
    return x.map_partitions(label, meta=label(x._meta))


def common_float(dtypes: Iterable[Any]) -> Any:
    """float32 where everything is, and float64 otherwise."""
    return np.dtype(np.float32 if all(_is_single(dtype) for dtype in dtypes) else np.float64)


def _is_single(dtype: Any) -> bool:
    return bool(getattr(dtype, "numpy_dtype", dtype) == np.float32)


def _kind(thing: Any) -> str:
    """What a thing is, in words: its library and class."""
    return f"a {type(thing).__module__.split('.')[0]} {type(thing).__name__}"


@contextmanager
def _room_in_graph(function: Any) -> Iterator[None]:
    """Let a graph carry a function, which may hold large tables, once, without a warning that it is large."""
    name = "distributed.admin.large-graph-warning-threshold"
    limit = dask.config.get(name, None)
    if limit is None:  # there is no distributed scheduler
        yield
    else:
        with dask.config.set({name: parse_bytes(limit) + len(pickle.dumps(function))}):
            yield


# What runs in the workers.


def _summary(
    block: Any,
    summarise: Callable[[Iterable[Chunk]], Any],
    weights: Any = None,
    *,
    weight_column: Any,
    weights_name: str,
) -> Any:
    """Summary of one partition."""
    if weight_column is not None:
        block, weights = block.drop(columns=weight_column), block[weight_column]
    mass = as_weights(weights, len(block), f"{weights_name} of a partition")
    if _is_table(block):
        return summarise(blocks(block, mass))
    return summarise([(columns_of(block), mass)] if len(block) else [])


def _merge(merge: Callable[[Any, Any], Any], summaries: list[Any]) -> Any:
    return reduce(merge, summaries)


def columns_of(block: Any) -> Columns:
    """The columns of a NumPy or pandas block: float32 as it is, all else as float64, what is missing as NaN."""
    if hasattr(block, "iloc"):
        return [_column_of(block.iloc[:, j], repr(name)) for j, name in enumerate(block.columns)]
    if isinstance(block, np.ma.MaskedArray):
        block = np.ma.filled(block.astype(float), np.nan)
    block = np.asarray(block)
    return [_floats(block[:, j], str(j)) for j in range(block.shape[1])]


def _is_table(block: Any) -> bool:
    """Whether a block can be read as it is."""
    return type(block) is np.ndarray and block.dtype in (np.float64, np.float32) and block.flags.aligned


def _column_of(series: Any, name: str) -> Table:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) or not is_plain(dtype):
        return _floats(np.asarray(series), name)
    target = np.float32 if _is_single(dtype) else np.float64
    values: Table = series.to_numpy(dtype=target, na_value=np.nan)
    return values


def _floats(values: Any, name: str) -> Table:
    single = values.dtype == np.float32
    floats = values if single else as_numbers(values, f"column {name}")
    aligned: Table = np.require(floats, np.float32 if single else np.float64, "A")
    return aligned


def _fit_once(estimator: Any, names: list[str] | None, n_columns: int, summary: Any) -> Any:
    return clone(estimator)._fit_parts(Reduced(names, n_columns, summary))


def _named_sketches(labels: list[Any], names: list[str] | None, summary: Any) -> dict[Any, Sketch]:
    return dict(zip(labels, sketch_parts(Reduced(names, len(labels), summary)), strict=True))


def _travelling(estimator: Any, named: bool) -> Any:
    """What the blocks need of an estimator: light, without names for arrays, which have none, and of one thread."""
    check_is_fitted(estimator)
    getattr(estimator, "tables_", None)  # made now, where they have not been: once, and not in every worker
    model = copy(estimator)
    for name in LEFT_BEHIND if named else (*LEFT_BEHIND, "feature_names_in_"):
        vars(model).pop(name, None)
    if model.n_jobs is None:
        model.n_jobs = 1  # the other cores have blocks of their own
    if hasattr(model, "copy"):
        model.copy = True  # a block may be somebody else's too
    return model


def _map_block(block: Any, model: Any, *, method: str, width: int, dtype: Any, labels: Any) -> Any:
    """One block through a method of a fitted model."""
    result = np.empty((0, width), dtype=dtype)
    if len(block):  # scikit-learn takes no table without rows
        table = block if _is_table(block) else np.column_stack(columns_of(block))
        named = hasattr(model, "feature_names_in_")
        result = _dense(getattr(model, method)(_frame(table, None, block.columns) if named else table))
        if result.shape[1] != width:
            raise ValueError(
                f"{type(model).__name__}.{method} returned {result.shape[1]} columns where {width} were foreseen; "
                "compute the Delayed before, since the number of bins is not known until then."
            )
        result = result.astype(dtype, copy=False)
    return result if labels is None else _frame(result, block.index, labels)


def _label_block(block: Any, boundaries: Floats) -> Any:
    if not hasattr(block, "iloc"):
        return assign(_floats(np.asarray(block), "x").astype(float), boundaries)
    import pandas as pd

    labels = assign(_column_of(block, repr(block.name)).astype(float), boundaries)
    return pd.Series(labels, index=block.index, name=block.name)


def _dense(result: Any) -> Any:
    return result.toarray() if hasattr(result, "toarray") else np.asarray(result)


def _frame(table: Any, index: Any, labels: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(table, index=index, columns=labels, copy=False)
