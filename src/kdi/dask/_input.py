"""Dask collections as users pass them: checks of tables and columns, and weights with the partitions of the table."""

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

from kdi._utils.errors import WeightsError
from kdi._utils.validation import as_weights, describe_type, is_numeric_dtype, non_numeric_error


def is_dask_dataframe(X: Any) -> bool:
    """Return whether X is a dask dataframe."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_dataframe_like(X))


def is_dask_series(X: Any) -> bool:
    """Return whether X is a dask series."""
    return bool(not isinstance(X, Delayed) and is_dask_collection(X) and is_series_like(X))


def check_collection(X: Any, name: str, in_memory: str) -> None:
    """Raise unless X is a two-dimensional dask table.

    Parameters
    ----------
    X : any
    name : str
        What messages call X.
    in_memory : str
        The function that messages recommend for tables in memory.
    """
    if is_dask_dataframe(X):
        if not len(X.columns):
            raise ValueError(f"{name} has 0 columns, while at least 1 is required.")
        return
    if is_dask_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead; {name}.to_frame() makes a dataframe of one "
            "column."
        )
    if not isinstance(X, da.Array):
        raise TypeError(
            f"{name} must be a dask array or a dask dataframe, got {describe_type(X)}; use {in_memory} for tables in "
            "memory."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: shape {X.shape}. "
            f"Reshape with {name}[:, None] if it is a single feature, or {name}[None, :] if it is a single sample."
        )
    if np.isnan(X.shape[1]):
        raise ValueError(f"{name} must have a known number of columns; {name}.compute_chunk_sizes() finds it.")
    if not X.shape[1]:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if sparse.issparse(X._meta):
        raise TypeError(
            f"Sparse data was passed, but dense data is required; {name}.map_blocks(lambda block: block.toarray()) "
            "converts it."
        )


def check_numeric_columns(X: Any) -> None:
    """Raise for columns that are not numeric by their dtypes; columns of objects are checked in the workers."""
    names, dtypes = (X.columns, X.dtypes) if is_dask_dataframe(X) else (range(X.shape[1]), [X.dtype] * X.shape[1])
    wrong = {
        j: f"column {name!r} holds {dtype}"
        for j, (name, dtype) in enumerate(zip(names, dtypes, strict=True))
        if not _may_be_numeric(dtype)
    }
    if wrong:
        raise non_numeric_error(wrong, names)


def _may_be_numeric(dtype: Any) -> bool:
    arrow_type = str(getattr(dtype, "pyarrow_dtype", ""))
    return is_numeric_dtype(dtype) or dtype == np.dtype(object) or arrow_type.startswith(("decimal", "null"))


def is_column_name(value: Any) -> bool:
    """Return whether a value can be the name of a column of a dataframe."""
    return isinstance(value, str | int | tuple) and not isinstance(value, bool)


def sklearn_names(table: Any, labels: list[Any]) -> list[str] | None:
    """Return the feature names by scikit-learn's rules: None if none is a string, an error if only some are."""
    if not is_dask_dataframe(table):
        return None
    probe = BaseEstimator()
    validate_data(probe, table._meta[labels], skip_check_array=True)
    names = getattr(probe, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def align_weights(weights: Any, table: Any, name: str) -> Any:
    """Return the weights as a collection with the partitions of the table; messages call them `name`."""
    if weights is None:
        return None
    if is_dask_dataframe(table):
        return _align_series(weights, table, name)
    if is_dask_series(weights):
        weights = weights.to_dask_array()
    chunk_rows = table.chunks[0]
    known = not np.isnan(chunk_rows).any()
    if not isinstance(weights, da.Array):
        if is_dask_collection(weights):
            raise TypeError(f"{name} must be a dask array or a dask series, got {type(weights).__name__}.")
        if not known:
            raise ValueError(
                f"{name} must be a dask array with the chunks of the table, because their sizes are not known; "
                "compute_chunk_sizes() of the table finds them."
            )
        weights = da.from_array(as_weights(weights, sum(chunk_rows), name), chunks=(chunk_rows,))
    if weights.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {weights.shape}.")
    if known and not np.isnan(weights.shape[0]):
        if weights.shape[0] != sum(chunk_rows):
            raise WeightsError(name, f"must have shape ({sum(chunk_rows)},), one weight per row, got {weights.shape}.")
        return weights.rechunk((chunk_rows,))
    if weights.npartitions != len(chunk_rows):
        raise ValueError(f"{name} must have the {len(chunk_rows)} chunks of the table, got {weights.npartitions}.")
    return weights


def _align_series(weights: Any, table: Any, name: str) -> Any:
    if isinstance(weights, da.Array) and weights.ndim == 1:
        weights = weights.to_dask_dataframe()
    elif not is_dask_series(weights):
        raise TypeError(f"{name} must be a dask series or the name of a column, got {describe_type(weights)}.")
    same = weights.npartitions == table.npartitions
    if same and weights.known_divisions and table.known_divisions:
        same = weights.divisions == table.divisions
    if not same:
        raise ValueError(
            f"{name} must have the {table.npartitions} partitions of the table, got {weights.npartitions}; "
            "if the weights are a column of the table, pass its name."
        )
    return weights


def one_column(x: Any, weights: Any) -> tuple[Any, Any]:
    """Return the column to cluster, and the table that holds it and perhaps a column of weights."""
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
        f"x must be a dask array, series or dataframe, got {describe_type(x)}; use kdi.cluster for values in memory."
    )
