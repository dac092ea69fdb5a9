"""Dask's collections as they come from users: tables, their columns, and weights that lie in the same partitions."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from dask.utils import is_dataframe_like, is_series_like
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from kdi._utils.validation import as_weights, describe_columns, is_numeric_dtype


def is_dask_dataframe(X: Any) -> bool:
    """Whether X is a dask dataframe."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_dataframe_like(X))


def is_dask_series(X: Any) -> bool:
    """Whether X is a dask series."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_series_like(X))


def check_collection(X: Any, instead: str) -> None:
    """Raise unless X is a dask table of two dimensions."""
    if is_dask_dataframe(X):
        if not len(X.columns):
            raise ValueError("X has 0 columns, while at least 1 is required.")
        return
    if is_dask_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead; X.to_frame() is a dataframe of one column."
        )
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a dask array or a dask dataframe, got {describe_type(X)}; {instead} takes tables that are in memory."
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


def check_numeric_columns(X: Any) -> None:
    """Raise for columns that are not numbers, as far as their dtypes tell; objects are looked at in the workers."""
    kinds = (
        list(zip(X.columns, X.dtypes, strict=True))
        if is_dask_dataframe(X)
        else [(j, X.dtype) for j in range(X.shape[1])]
    )
    wrong = {j: f"column {name!r} holds {kind}" for j, (name, kind) in enumerate(kinds) if not _may_be_numbers(kind)}
    if wrong:
        raise ValueError(f"{describe_columns(wrong)}.")


def _may_be_numbers(dtype: Any) -> bool:
    arrow = str(getattr(dtype, "pyarrow_dtype", ""))
    return is_numeric_dtype(dtype) or dtype == np.dtype(object) or arrow.startswith(("decimal", "null"))


def is_column_name(weights: Any) -> bool:
    return isinstance(weights, str | int | tuple) and not isinstance(weights, bool)


def sklearn_names(table: Any, labels: list[Any]) -> list[str] | None:
    """Names of the features by scikit-learn's rules: None where they are not text, an error where only some are."""
    if not is_dask_dataframe(table):
        return None
    probe = BaseEstimator()
    validate_data(probe, table._meta[labels], skip_check_array=True)
    names = getattr(probe, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def weights_alike(weights: Any, table: Any, name: str) -> Any:
    """Weights as a collection whose partitions are those of the table."""
    if weights is None:
        return None
    if is_dask_dataframe(table):
        return _series_alike(weights, table, name)
    if is_dask_series(weights):
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
    elif not is_dask_series(weights):
        raise TypeError(f"{name} must be a dask series, or the name of a column of X, got {describe_type(weights)}.")
    same = weights.npartitions == table.npartitions
    if same and weights.known_divisions and table.known_divisions:
        same = weights.divisions == table.divisions
    if not same:
        raise ValueError(
            f"{name} must have the partitions of X, {table.npartitions}, got {weights.npartitions}; "
            "weights that are a column of X are given by its name."
        )
    return weights


def one_column(x: Any, weights: Any) -> tuple[Any, Any]:
    """The one column to cluster, and the table of it, which may have a column of weights too."""
    if is_dask_dataframe(x):
        labels = [label for label in x.columns if not (is_column_name(weights) and label == weights)]
        if len(labels) != 1:
            raise ValueError(f"x must have one column, got {len(labels)}: {labels[:10]}.")
        return x[labels[0]], x
    if is_dask_series(x):
        return x, x.to_frame(name="x" if x.name is None else x.name)
    if isinstance(x, da.Array):
        if x.ndim != 1:
            raise ValueError(f"x must have one dimension, got an array of shape {x.shape}.")
        return x, x[:, None]
    raise TypeError(
        f"x must be a dask array, series or dataframe, got {describe_type(x)}; kdi.cluster takes values that are in memory."
    )


def describe_type(thing: Any) -> str:
    """What a thing is, in words: its library and class."""
    return f"a {type(thing).__module__.split('.')[0]} {type(thing).__name__}"
