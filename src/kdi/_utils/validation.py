"""Tables, weights and parameters as they come from users: the one place that validates."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from kdi._utils.typing import Float64Array, FloatArray

NO_ROWS = "Found array with 0 sample(s) (shape=(0, {})) while a minimum of 1 is required."


def as_table(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """X as a float64 or float32 table, in its own memory where possible; NaN and infinities are not looked at."""
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(float), np.nan)
    elif isinstance(X, list | tuple):
        X = np.asarray(X)
    wrong = non_numeric_columns(X)
    try:
        table = validate_data(
            estimator, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False, ensure_min_samples=1
        )
    except (TypeError, ValueError) as error:
        if wrong:
            raise type(error)(f"{describe_columns(wrong)}: {error}") from error
        raise
    if wrong:  # text that looks like numbers, or dates
        raise ValueError(f"{describe_columns(wrong)}.")
    aligned: FloatArray = np.require(table, requirements="A")
    return aligned


def non_numeric_columns(X: Any) -> dict[int, str]:
    """The columns of a frame or array that are not numbers, by position, and what is wrong with each."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = enumerate(zip(X.columns, X.dtypes, strict=False))
        columns = [(j, repr(name), _column_at(X, j)) for j, (name, dtype) in kinds if not is_numeric_dtype(dtype)]
    elif getattr(X, "ndim", 0) == 2 and hasattr(X, "dtype") and not is_numeric_dtype(X.dtype):
        columns = [(j, str(j), X[:, j]) for j in range(X.shape[1])]
    else:
        return {}
    found = [(j, name, _not_a_number(column)) for j, name, column in columns]
    return {j: f"column {name} holds {what}" for j, name, what in found if what}


def describe_columns(wrong: dict[int, str]) -> str:
    """The first few of the columns that are not numbers, in words."""
    return "all columns must be numeric, but " + ", ".join(list(wrong.values())[:5]) + " …" * (len(wrong) > 5)


def _column_at(X: Any, j: int) -> Any:
    """A column by its position, since names may repeat."""
    return np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[X.columns[j]])


def is_numeric_dtype(dtype: Any) -> bool:
    """Whether a dtype of NumPy, pandas or polars is one of real numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "fiub"
    return str(dtype) == "Boolean" or bool(getattr(dtype, "is_numeric", lambda: False)())


def _not_a_number(column: Any) -> str | None:
    """The first thing in a column that is not a number, if there is one."""
    if column.dtype.kind in "USMm":
        return f"{column.dtype}" + (f", for example {column[0].item()!r}" if len(column) else "")
    if column.dtype.kind == "c":
        return f"{column.dtype}"
    for value in column:
        if isinstance(value, str | bytes) or (isinstance(value, np.generic) and value.dtype.kind in "Mm"):
            return repr(value)
        try:
            float("nan") if value is None else float(value)
        except (TypeError, ValueError):
            if str(value) != "<NA>":  # pandas' missing value
                return repr(value)
    return None


def as_numbers(values: Any, name: str) -> Float64Array:
    """An array of real numbers; what is missing in an array of objects is NaN."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub" or not array.size:
        return array.astype(float, copy=False)
    wrong = _not_a_number(array.ravel())
    if wrong:
        raise ValueError(f"{name} must be real numbers, got {wrong}.")
    if array.dtype.kind == "O":
        missing = np.array([str(value) == "<NA>" for value in array.ravel()]).reshape(array.shape)  # pandas has that
        array = np.where(missing, np.nan, array)
    return array.astype(float)


def as_column(values: ArrayLike, name: str = "values") -> Float64Array:
    """One column of finite numbers and NaN."""
    column = as_numbers(values, name)
    if column.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {column.shape}.")
    infinite = np.isinf(column)
    if infinite.any():
        raise ValueError(f"{name} must be finite or NaN, got {column[infinite][0]} at {infinite.argmax()}.")
    return column


def as_weights(weights: ArrayLike | None, n: int, name: str = "sample_weight") -> Float64Array | None:
    """Weights as n finite numbers, none negative."""
    if weights is None:
        return None
    mass = np.asarray(as_numbers(weights, name), dtype=float, order="C")
    if mass.ndim == 0:
        mass = np.full(n, float(mass))
    if mass.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one weight a row, got {mass.shape}.")
    bad = ~(np.isfinite(mass) & (mass >= 0))
    if bad.any():
        place = int(bad.argmax())
        raise ValueError(f"{name} must be finite and not negative, got {mass[place]} in row {place}.")
    with np.errstate(over="ignore"):
        total = mass.sum()
    if not np.isfinite(total):
        raise ValueError(f"{name} must have a finite sum, got weights up to {mass.max()}.")
    return mass


def is_integer(value: Any) -> bool:
    """Whether a number is an integer, of Python or NumPy, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any, least: int) -> None:
    """Raise unless a parameter is None or a whole number that is large enough."""
    if value is not None and not (is_integer(value) and value >= least):
        raise ValueError(f"{name} must be None or a whole number >= {least}, got {value!r}.")


def check_jobs(n_jobs: Any) -> None:
    """Raise unless n_jobs is None or a whole number other than 0."""
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")


def valid_values(column: FloatArray, weights: Float64Array | None) -> tuple[Float64Array, Float64Array | None, int]:
    """The values of a column that count, as float64, their weights, and the number of NaN."""
    missing = np.isnan(column)
    keep = ~missing if weights is None else ~missing & (weights > 0)
    values = column[keep].astype(float)
    return values, None if weights is None else weights[keep], int(missing.sum())


def column_names(estimator: Any, places: Sequence[int] | Any) -> str:
    """Columns as a person would call them: by name where there are names."""
    names = getattr(estimator, "feature_names_in_", None)
    shown = [repr(str(names[j])) if names is not None else str(j) for j in list(places)[:5]]
    return f"column{'s' * (len(places) > 1)} {', '.join(shown)}{' …' * (len(places) > 5)}"


def check_finite(estimator: Any, places: Sequence[int] | Any) -> None:
    """Raise for columns that hold infinite values."""
    if len(places):
        raise ValueError(
            f"Input X contains infinity or a value too large for its dtype, in {column_names(estimator, places)}; "
            "finite numbers and NaN are allowed."
        )


def check_feature_names(estimator: Any, names: list[str] | None, n_columns: int, *, reset: bool) -> None:
    """Learn the names and number of columns of a table in parts, or compare them, as scikit-learn does of frames."""
    if reset:
        estimator.n_features_in_ = n_columns
        if names is not None and all(isinstance(name, str) for name in names):
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
        lines = [f"Feature names unseen at fit time: {unseen[:5]}."] * bool(unseen)
        lines += [f"Feature names seen at fit time, yet now missing: {missing[:5]}."] * bool(missing)
        lines = lines or ["Feature names must be in the same order as they were in fit."]
        raise ValueError("The feature names should match those that were passed during fit. " + " ".join(lines))
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
