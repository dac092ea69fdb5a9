"""Functions that run in Dask's workers: summarise a partition, apply a fitted model to a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import reduce
from typing import Any

import numpy as np

from kdi._clustering.queries import assign_clusters
from kdi._sketch.partitions import Chunk, Columns, OnePassEstimator, TableSummary, row_blocks
from kdi._sketch.sketch import Sketch
from kdi._utils.errors import TableError
from kdi._utils.typing import Float64Array, FloatArray
from kdi._utils.validation import as_numbers, as_weights, is_numeric_dtype


def common_float(dtypes: Iterable[Any]) -> Any:
    """Return float32 if all dtypes are float32, and float64 otherwise."""
    return np.dtype(np.float32 if all(_is_float32(dtype) for dtype in dtypes) else np.float64)


def _is_float32(dtype: Any) -> bool:
    return bool(getattr(dtype, "numpy_dtype", dtype) == np.float32)


def summarise_block(
    block: Any,
    summarise: Callable[[Iterable[Chunk]], Any],
    weights: Any = None,
    *,
    weight_column: Any,
    weights_name: str,
) -> Any:
    """Summarise one partition."""
    if weight_column is not None:
        block, weights = block.drop(columns=weight_column), block[weight_column]
    where = "of a partition" if weight_column is None else f"in column {weight_column!r} of a partition"
    try:
        mass = as_weights(weights, len(block), f"{weights_name} {where}")
    except TableError as error:  # its row would be counted from the beginning of the partition
        raise TableError(error.problem, column=None if weight_column is None else str(weight_column)) from None
    if _is_float_array(block):
        return summarise(row_blocks(block, mass))
    return summarise([(columns_of(block), mass)] if len(block) else [])


def merge_all(merge: Callable[[Any, Any], Any], summaries: list[Any]) -> Any:
    return reduce(merge, summaries)


def columns_of(block: Any) -> Columns:
    """Return the columns of a NumPy or pandas block: float32 as it is, other numbers as float64, missing as NaN."""
    if hasattr(block, "iloc"):
        return [_series_floats(block.iloc[:, j], name) for j, name in enumerate(block.columns)]
    if isinstance(block, np.ma.MaskedArray):
        block = np.ma.filled(block.astype(float), np.nan)
    block = np.asarray(block)
    return [_array_floats(block[:, j], j) for j in range(block.shape[1])]


def _is_float_array(block: Any) -> bool:
    """Return whether a block can be read without conversion."""
    return type(block) is np.ndarray and block.dtype in (np.float64, np.float32) and block.flags.aligned


def _series_floats(series: Any, name: Any) -> FloatArray:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) or not is_numeric_dtype(dtype):
        return _array_floats(np.asarray(series), name)
    target = np.float32 if _is_float32(dtype) else np.float64
    values: FloatArray = series.to_numpy(dtype=target, na_value=np.nan)
    return values


def _array_floats(values: Any, name: Any) -> FloatArray:
    is_single = values.dtype == np.float32
    floats = values if is_single else as_numbers(values, f"column {name!r}", str(name))
    aligned: FloatArray = np.require(floats, np.float32 if is_single else np.float64, "A")
    return aligned


def fit_from_summary(model: OnePassEstimator, summary: TableSummary) -> OnePassEstimator:
    """Fit a copy of a transformer, which knows its features already, to the summary of a table."""
    return copy(model)._fit_summary(summary)


def named_sketches(labels: list[Any], names: list[str] | None, summary: TableSummary) -> dict[Any, Sketch]:
    return dict(zip(labels, summary.finite_sketches(names), strict=True))


def map_block(block: Any, model: Any, *, method: str, width: int, dtype: Any, labels: Any) -> Any:
    """Apply a method of a fitted model to one block."""
    result = np.empty((0, width), dtype=dtype)
    if len(block):  # scikit-learn rejects tables without rows
        table = block if _is_float_array(block) else np.column_stack(columns_of(block))
        named = hasattr(model, "feature_names_in_")
        result = to_dense(getattr(model, method)(frame_of(table, None, block.columns) if named else table))
        if result.shape[1] != width:
            raise ValueError(
                f"{type(model).__name__}.{method} returned {result.shape[1]} columns, expected {width}: the number of "
                "bins is not known before the estimator is computed; compute the Delayed first."
            )
        result = result.astype(dtype, copy=False)
    return result if labels is None else frame_of(result, block.index, labels)


def label_block(block: Any, boundaries: Float64Array) -> Any:
    """Assign the values of one block to their clusters."""
    if not hasattr(block, "iloc"):
        return assign_clusters(as_numbers(np.asarray(block), "x").astype(float), boundaries)
    import pandas as pd

    labels = assign_clusters(_series_floats(block, block.name).astype(float), boundaries)
    return pd.Series(labels, index=block.index, name=block.name)


def to_dense(result: Any) -> Any:
    return result.toarray() if hasattr(result, "toarray") else np.asarray(result)


def frame_of(table: Any, index: Any, labels: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(table, index=index, columns=labels, copy=False)
