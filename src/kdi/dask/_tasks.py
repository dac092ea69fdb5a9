"""What runs in dask's workers: summaries of partitions, and blocks through a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kdi._clustering.queries import assign_clusters
from kdi._sketch.partitions import Chunk, Columns, row_blocks
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray
from kdi._utils.validation import as_numbers, as_weights, is_numeric_dtype

NOT_SENT = ("sketches_", "valleys_", "_sklearn_output_config")  # what no block needs of an estimator


def common_float(dtypes: Iterable[Any]) -> Any:
    """float32 where everything is, and float64 otherwise."""
    return np.dtype(np.float32 if all(_is_single(dtype) for dtype in dtypes) else np.float64)


def _is_single(dtype: Any) -> bool:
    return bool(getattr(dtype, "numpy_dtype", dtype) == np.float32)


def summary_of(
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
    whose = "of a partition" if weight_column is None else f"in column {weight_column!r} of a partition"
    mass = as_weights(weights, len(block), f"{weights_name} {whose}")
    if _is_table(block):
        return summarise(row_blocks(block, mass))
    return summarise([(columns_of(block), mass)] if len(block) else [])


def merge_all(merge: Callable[[Any, Any], Any], summaries: list[Any]) -> Any:
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


def _column_of(series: Any, name: str) -> FloatArray:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) or not is_numeric_dtype(dtype):
        return _floats(np.asarray(series), name)
    target = np.float32 if _is_single(dtype) else np.float64
    values: FloatArray = series.to_numpy(dtype=target, na_value=np.nan)
    return values


def _floats(values: Any, name: str) -> FloatArray:
    single = values.dtype == np.float32
    floats = values if single else as_numbers(values, f"column {name}")
    aligned: FloatArray = np.require(floats, np.float32 if single else np.float64, "A")
    return aligned


def fit_from_summary(model: Any, gathered: Any) -> Any:
    """A clone of a transformer whose features are known, fitted to what was gathered of them."""
    return copy(model)._fit_summary(gathered)


def named_sketches(labels: list[Any], names: list[str] | None, gathered: Any) -> dict[Any, Sketch]:
    return dict(zip(labels, gathered.finite(names), strict=True))


def model_for_workers(estimator: Any, named: bool) -> Any:
    """What the blocks need of an estimator: light, without names for arrays, which have none, and of one thread."""
    check_is_fitted(estimator)
    getattr(estimator, "maps_", None)  # made now, where they have not been: once, and not in every worker
    model = copy(estimator)
    for name in NOT_SENT if named else (*NOT_SENT, "feature_names_in_"):
        vars(model).pop(name, None)
    if model.n_jobs is None:
        model.n_jobs = 1  # the other cores have blocks of their own
    if hasattr(model, "copy"):
        model.copy = True  # a block may be somebody else's too
    return model


def map_block(block: Any, model: Any, *, method: str, width: int, dtype: Any, labels: Any) -> Any:
    """One block through a method of a fitted model."""
    result = np.empty((0, width), dtype=dtype)
    if len(block):  # scikit-learn takes no table without rows
        table = block if _is_table(block) else np.column_stack(columns_of(block))
        named = hasattr(model, "feature_names_in_")
        result = dense(getattr(model, method)(frame_of(table, None, block.columns) if named else table))
        if result.shape[1] != width:
            raise ValueError(
                f"{type(model).__name__}.{method} returned {result.shape[1]} columns where {width} were foreseen; "
                "compute the Delayed before, since the number of bins is not known until then."
            )
        result = result.astype(dtype, copy=False)
    return result if labels is None else frame_of(result, block.index, labels)


def label_block(block: Any, boundaries: Float64Array) -> Any:
    if not hasattr(block, "iloc"):
        return assign_clusters(_floats(np.asarray(block), "x").astype(float), boundaries)
    import pandas as pd

    labels = assign_clusters(_column_of(block, repr(block.name)).astype(float), boundaries)
    return pd.Series(labels, index=block.index, name=block.name)


def dense(result: Any) -> Any:
    return result.toarray() if hasattr(result, "toarray") else np.asarray(result)


def frame_of(table: Any, index: Any, labels: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(table, index=index, columns=labels, copy=False)
