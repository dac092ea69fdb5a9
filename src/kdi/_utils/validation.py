"""Validation of tables, weights and parameters as users pass them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from kdi._utils.errors import InfiniteValuesError, TableError, WeightsError
from kdi._utils.namespaces import as_host_array
from kdi._utils.typing import Float64Array, FloatArray

NO_ROWS = "Found array with 0 sample(s) (shape=(0, {})) while a minimum of 1 is required."

SPREADS = ("std", "robust")
SAFE_EXPONENT = 400  # powers of two up to this one, squared and summed, stay far from overflow and underflow


def as_table(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """Return X as a float64 or float32 array, without a copy where possible; NaN and infinities are not checked."""
    if _is_plain_table(estimator, X, reset):
        if reset:
            estimator.n_features_in_ = X.shape[1]
        return X  # type: ignore[no-any-return]
    X = as_host_array(X)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(float), np.nan)
    elif isinstance(X, list | tuple) or _has_other_dtype(X):
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
        raise non_numeric_error(wrong, getattr(X, "columns", None))
    aligned: FloatArray = np.require(table, requirements="A")
    return aligned


def _is_plain_table(estimator: Any, X: Any, reset: bool) -> bool:
    """Tell whether X is an array that needs none of scikit-learn's checks; they take longer than mapping a row."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype == np.float64 or X.dtype == np.float32)
        and X.size > 0
        and X.flags.aligned
        and not hasattr(estimator, "feature_names_in_")
        and (reset or getattr(estimator, "n_features_in_", None) == X.shape[1])
    )


def _has_other_dtype(X: Any) -> bool:
    """Tell whether X is a table of another library than NumPy, with a dtype of that library."""
    is_array = getattr(X, "ndim", 0) == 2 and hasattr(X, "dtype") and not hasattr(X, "columns")
    return is_array and not hasattr(X.dtype, "kind")


def non_numeric_columns(X: Any) -> dict[int, str]:
    """Find the columns of a frame or array that are not numbers; return what is wrong with each, by position."""
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
    """Describe the first few columns that are not numbers, for a message."""
    return "all columns must be numeric, but " + ", ".join(list(wrong.values())[:5]) + " …" * (len(wrong) > 5)


def non_numeric_error(wrong: dict[int, str], names: Any, advice: str = "") -> TableError:
    """Return the error for columns that are not numbers; `names` are those of all columns, or None."""
    first = next(iter(wrong))
    return TableError(describe_columns(wrong), column=str(first if names is None else names[first]), advice=advice)


def _column_at(X: Any, j: int) -> Any:
    """Return a column by its position, since names may repeat."""
    return np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[X.columns[j]])


def is_numeric_dtype(dtype: Any) -> bool:
    """Tell whether a dtype of NumPy, pandas or polars is one of real numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "fiub"
    return str(dtype) == "Boolean" or bool(getattr(dtype, "is_numeric", lambda: False)())


def _not_a_number(column: Any) -> str | None:
    """Describe the first value of a column that is not a number, if there is one."""
    if column.dtype.kind in "USMm":
        return f"{column.dtype}" + (f", for example {column[0].item()!r}" if len(column) else "")
    if column.dtype.kind == "c":
        return f"{column.dtype}"
    for value in column:
        if isinstance(value, str | bytes) or (isinstance(value, np.generic) and value.dtype.kind in "Mm"):
            return repr(value)
        try:
            float("nan") if value is None else to_float(value)
        except (TypeError, ValueError):
            if str(value) != "<NA>":  # pandas' missing value
                return repr(value)
    return None


def as_numbers(values: Any, name: str, column: str | None = None) -> Float64Array:
    """Return values as a float64 array; missing values in an array of objects become NaN.

    Messages call the values `name`; `column` is the column that they are, if they are one.
    """
    array = np.asarray(values)
    if array.dtype.kind in "fiub" or not array.size:
        return array.astype(float, copy=False)
    wrong = _not_a_number(array.ravel())
    if wrong:
        raise TableError(f"{name} must be real numbers, got {wrong}", column=column)
    if array.dtype.kind == "O":
        missing = np.array([str(value) == "<NA>" for value in array.ravel()]).reshape(array.shape)  # from pandas
        array = np.where(missing, np.nan, array)
    try:
        return array.astype(float)
    except OverflowError:  # an integer too large for float64
        return np.array([np.nan if one is None else to_float(one) for one in array.ravel()]).reshape(array.shape)


def as_column(values: ArrayLike, name: str = "values") -> Float64Array:
    """Return one column as float64; it may hold NaN, but no infinite values."""
    column = as_numbers(values, name)
    if column.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {column.shape}.")
    infinite = np.isinf(column)
    if infinite.any():
        row = int(infinite.argmax())
        raise TableError(f"{name} must be finite or NaN, got {column[row]}", row=row)
    return column


def as_weights(weights: ArrayLike | None, n: int, name: str = "sample_weight") -> Float64Array | None:
    """Return weights as n finite numbers >= 0; a single number is the weight of every row.

    A wrong weight raises a TableError with its row, weights that are wrong as a whole raise a WeightsError.
    """
    if weights is None:
        return None
    mass = np.require(as_numbers(as_host_array(weights), name), dtype=float, requirements=("C", "A"))
    if mass.ndim == 0:
        mass = np.full(n, float(mass))
    if mass.shape != (n,):
        raise WeightsError(name, f"must have shape ({n},), one weight per row, got {mass.shape}.")
    wrong = ~(np.isfinite(mass) & (mass >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(f"{name} must be finite and not negative, got {mass[row]}", row=row)
    with np.errstate(over="ignore"):
        total = mass.sum()
    if not np.isfinite(total):
        raise WeightsError(name, f"must have a finite sum, got weights up to {mass.max()}.")
    return mass


def unit_weights(weights: Float64Array) -> Float64Array:
    """Scale weights by a power of two where their sums or products could overflow or lose digits; averages stay."""
    exponent = int(np.frexp(weights.max(initial=0.0))[1])
    return weights if abs(exponent) < SAFE_EXPONENT else np.ldexp(weights, -exponent)


def check_some_weight(weights: Float64Array | None, argument: str) -> None:
    """Raise if every row has the weight zero; a table without rows passes."""
    if weights is not None and len(weights) and not weights.any():
        raise WeightsError.all_zero(argument)


def describe_type(thing: Any) -> str:
    """Describe an object by its library and class."""
    library, name = type(thing).__module__.split(".")[0], type(thing).__name__
    return f"a {name}" if library == "builtins" else f"a {library} {name}"


def to_float(number: Any) -> float:
    """Convert a real number of any type; one that is too large for float64 becomes infinite."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def n_dimensions(value: Any) -> int:
    """Return the number of dimensions; 1 for a sequence whose entries differ in shape."""
    try:
        return np.ndim(value)
    except ValueError:
        return 1


def check_spread(spread: Any, allowed: tuple[str, ...] = SPREADS) -> None:
    """Raise unless a spread is one of those that are allowed."""
    if not isinstance(spread, str) or spread not in allowed:
        raise ValueError(f"spread must be one of {list(allowed)}, got {spread!r}.")


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer, of Python or NumPy, and not a boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any, least: int) -> None:
    """Raise unless a parameter is None or an integer that is at least `least`."""
    if value is not None and not (is_integer(value) and value >= least):
        raise ValueError(f"{name} must be None or an integer >= {least}, got {value!r}.")


def check_jobs(n_jobs: Any) -> None:
    """Raise unless n_jobs is None or an integer other than 0."""
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}.")


def valid_values(column: FloatArray, weights: Float64Array | None) -> tuple[Float64Array, Float64Array | None, int]:
    """Return the values that are not NaN and have weight, as float64, their weights, and the number of NaN."""
    missing = np.isnan(column)
    keep = ~missing if weights is None else ~missing & (weights > 0)
    values = column[keep].astype(float)
    return values, None if weights is None else weights[keep], int(missing.sum())


def column_names(estimator: Any, columns: Sequence[int] | Any) -> str:
    """Format columns for a message: by name where they have names, else by position."""
    names = getattr(estimator, "feature_names_in_", None)
    shown = [repr(str(names[j])) if names is not None else str(j) for j in list(columns)[:5]]
    return f"column{'s' * (len(columns) > 1)} {', '.join(shown)}{' …' * (len(columns) > 5)}"


def check_finite(estimator: Any, columns: Sequence[int] | Any) -> None:
    """Raise if there are any `columns`, which are the positions of those that hold infinite values."""
    if len(columns):
        names, first = getattr(estimator, "feature_names_in_", None), columns[0]
        raise InfiniteValuesError(
            f"Input X contains infinity or a value too large for its dtype, in {column_names(estimator, columns)}",
            column=str(first if names is None else names[first]),
            advice="finite numbers and NaN are allowed",
        )


def check_feature_names(estimator: Any, names: list[str] | None, n_columns: int, *, reset: bool) -> None:
    """Learn the names and number of columns of a partitioned table, or with `reset=False` compare them.

    Rules and messages are those of scikit-learn for frames.
    """
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
