"""Targets of a model as numbers: y itself, or one indicator per class."""

from __future__ import annotations

from numbers import Number
from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from kdi._utils.namespaces import as_host_array
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers

Task = Literal["auto", "regression", "classification"]
TASKS = ("auto", "regression", "classification")
LABEL_ROWS = 5  # consecutive integers are taken for labels if each occurs at least so often
MAX_CLASS_LABELS = 100


def as_target(name: str, y: Any, table: Any) -> Any:
    """Return y as one column of numbers or labels, one per row of the table; raise if a value is missing."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = as_host_array(y)
    column = column_or_1d(y, warn=True)
    check_consistent_length(table, column)
    if column.dtype.kind in "mMc":
        raise ValueError(f"y must hold numbers or labels, got {column.dtype}.")
    if column.dtype.kind != "O":
        assert_all_finite(column, input_name="y")
        is_category = str(getattr(y, "dtype", "")).startswith(("category", "Categorical", "Enum"))
        return column.astype(str) if is_category else column  # numbers in a categorical column are labels
    if any(value is None or (str(value) in ("<NA>", "nan", "NaT") and not isinstance(value, str)) for value in column):
        raise ValueError("Input y contains NaN.")
    kinds = {_kind(value) for value in column.tolist()}
    if len(kinds) > 1:
        raise ValueError(f"y must hold numbers or labels of one kind, got {' and '.join(sorted(kinds))}.")
    if kinds <= {"number", "bool"}:
        column = column.astype(float if kinds == {"number"} else bool)
    assert_all_finite(column, input_name="y")
    return column


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    return "number" if isinstance(value, Number) else type(value).__name__


def are_labels(y: Any, task: Task, weights: Float64Array) -> bool:
    """Tell whether y holds labels of classes, as `task` says.

    For "auto", labels are values that are not numbers, at most two distinct integers, and consecutive integers from
    0 or 1 that each occur in at least five rows, which counts and ages mostly do not.
    """
    if task != "auto":
        return task == "classification"
    if y.dtype.kind not in "fiu":
        return True
    seen = weights > 0
    distinct, places = np.unique(y[seen], return_inverse=True)
    if len(distinct) > MAX_CLASS_LABELS or np.any(distinct != np.floor(distinct)):
        return False
    consecutive = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    frequent = np.bincount(places, observations_per_row(weights[seen])).min() >= LABEL_ROWS
    return bool(len(distinct) <= 2 or (consecutive and frequent))


def observations_per_row(weights: Float64Array) -> Float64Array:
    """Return how many observations each row stands for: its weight, but at least 1 unless the weight is 0."""
    return np.where(weights > 0, np.maximum(weights, 1.0), 0.0)


def target_matrix(y: Any, labels: bool, weights: Float64Array) -> Float64Array:
    """Return centred targets of shape (n_rows, n_targets).

    Numbers are one target, two classes are one, and three or more classes are one target per class.
    """
    if labels:
        classes, places = np.unique(y, return_inverse=True)
        if len(classes) == len(y) > 2:
            raise ValueError(f"y must hold numbers, or labels that occur more than once, got {len(y)} distinct labels.")
        indicated = [1] if len(classes) == 2 else range(len(classes))
        targets = np.column_stack([places == place for place in indicated]).astype(float)
    else:
        numbers = as_numbers(y, "y")
        targets = (numbers / (np.abs(numbers).max() or 1.0))[:, None]  # else squares could overflow
    targets -= (weights / weights.sum()) @ targets
    return targets
