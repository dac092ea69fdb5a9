"""Lazy collections: a fitted estimator, or cluster boundaries, applied to Dask collections block by block."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.utils.validation import check_is_fitted

from kdi._tables.streams import model_for_workers
from kdi._utils.typing import Float64Array
from kdi.dask._input import check_collection, check_numeric_columns, is_dask_dataframe
from kdi.dask._tasks import common_float, frame_of, label_block, map_block, to_dense


def map_lazily(estimator: Any, X: Any, method: str) -> Any:
    """Apply a method of the estimator to X, block by block."""
    check_collection(X, "X", f"estimator.{method}")
    check_numeric_columns(X)
    labels = X._meta.columns if is_dask_dataframe(X) else None
    width, dtype = X.shape[1], common_float(X.dtypes if is_dask_dataframe(X) else [X.dtype])
    if isinstance(estimator, Delayed):
        model = delayed(_model_for_blocks, pure=True)(estimator, is_dask_dataframe(X))
    else:
        width, dtype, labels = infer_output(estimator, method, width, dtype, labels)
        model = delayed(_model_for_blocks(estimator, is_dask_dataframe(X)), pure=True, traverse=False)
    function = partial(map_block, method=method, width=width, dtype=dtype, labels=labels)
    if is_dask_dataframe(X):
        return X.map_partitions(function, model, meta=function(X._meta, None))
    X = X.rechunk({1: -1})
    meta = np.empty((0, 0), dtype=dtype)
    return X.map_blocks(function, model, chunks=(X.chunks[0], (width,)), dtype=dtype, meta=meta, token=f"kdi-{method}")


def _model_for_blocks(estimator: Any, named: bool) -> Any:
    """Copy an estimator for the workers. It never overwrites a block, which other tasks may use too."""
    n_jobs = 1 if estimator.n_jobs is None else estimator.n_jobs  # Dask uses the other cores for other blocks
    return model_for_workers(estimator, named=named, n_jobs=n_jobs, copy=True)


def infer_output(estimator: Any, method: str, width: int, dtype: Any, labels: Any) -> tuple[int, Any, Any]:
    """Infer width, dtype and column labels of a method's output from one row, so that wrong columns raise here."""
    check_is_fitted(estimator)
    one_hot, is_forward = getattr(estimator, "encode", "ordinal") != "ordinal", method == "transform"
    # A row that every method accepts: zeros are values and numbers of bins; ones mark the bin of a one-hot row.
    row = np.full((1, width), float(one_hot and not is_forward), dtype=dtype)
    output = to_dense(getattr(estimator, method)(row if labels is None else frame_of(row, None, labels)))
    if labels is not None and one_hot:
        if is_forward:
            are_strings = all(isinstance(label, str) for label in labels)
            labels = estimator.get_feature_names_out(list(labels) if are_strings else None)
        else:
            numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
            labels = getattr(estimator, "feature_names_in_", numbered)
    return output.shape[1], output.dtype, labels


def label_lazily(x: Any, boundaries: Float64Array) -> Any:
    """Assign each value to its cluster, lazily."""
    label = partial(label_block, boundaries=boundaries)
    if isinstance(x, da.Array):
        return x.map_blocks(label, dtype=np.int64, meta=np.empty(0, dtype=np.int64), token="kdi-label")
    return x.map_partitions(label, meta=label(x._meta))
