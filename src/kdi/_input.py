"""Tables, weights and parameters as they come from users: the one place that validates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from kdi._typing import Floats, Table


def as_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """X as a float64 or float32 table, in its own memory where possible; NaN and infinities are not looked at."""
    try:
        table = validate_data(
            estimator, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=1
        )
    except (ValueError, TypeError) as error:
        names = non_numeric_columns(X)
        if not names:
            raise
        shown = ", ".join(names[:5]) + " …" * (len(names) > 5)
        raise type(error)(f"all columns must be numeric, but {shown} cannot be read as numbers: {error}") from error
    aligned: Table = np.require(table, requirements="A")
    return aligned


def non_numeric_columns(X: Any) -> list[str]:
    """Names, with their types, of the columns of a frame or array that are not numbers."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        columns = [(repr(name), np.asarray(X[name])) for name in X.columns]
    elif getattr(X, "ndim", 0) == 2 and hasattr(X, "dtype"):
        columns = [(str(j), X[:, j]) for j in range(X.shape[1])] if X.dtype.kind in "OUS" else []
    else:
        return []
    return [f"column {name} (for example {_example(column)})" for name, column in columns if not _is_numeric(column)]


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return False
    return np.asarray(column).dtype.kind not in "MmcUS"


def _example(column: Any) -> str:
    for value in column:
        if not _is_numeric([value]):
            return repr(value)
    return repr(column[0])


def as_column(values: ArrayLike, name: str = "values") -> Floats:
    """One column of finite numbers and NaN."""
    try:
        column = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    if column.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers, got an array of {column.dtype}.")
    if column.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {column.shape}.")
    if column.dtype not in (np.float32, np.float64):
        column = column.astype(float)
    if np.isinf(column).any():
        raise ValueError(
            f"{name} must be finite or NaN, got {column[np.isinf(column)][0]} at {np.isinf(column).argmax()}."
        )
    return np.asarray(column, dtype=float)


def as_weights(weights: ArrayLike | None, n: int, name: str = "sample_weight") -> Floats | None:
    """Weights as n finite numbers, none negative."""
    if weights is None:
        return None
    try:
        mass = np.asarray(weights, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    if mass.ndim == 0:
        mass = np.full(n, float(mass))
    if mass.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one weight a row, got {mass.shape}.")
    bad = ~(np.isfinite(mass) & (mass >= 0))
    if bad.any():
        place = int(bad.argmax())
        raise ValueError(f"{name} must be finite and not negative, got {mass[place]} in row {place}.")
    return mass


def column_names(estimator: Any, places: Sequence[int] | Any) -> str:
    """Columns as a person would call them: by name where there are names."""
    names = getattr(estimator, "feature_names_in_", None)
    shown = [repr(str(names[j])) if names is not None else str(j) for j in list(places)[:5]]
    return f"column{'s' * (len(places) > 1)} {', '.join(shown)}{' …' * (len(places) > 5)}"


def refuse_infinite(estimator: Any, places: Sequence[int] | Any) -> None:
    """Raise for columns that hold infinite values."""
    if len(places):
        raise ValueError(
            f"Input X contains infinity or a value too large for its dtype, in {column_names(estimator, places)}; "
            "finite numbers and NaN are allowed."
        )
