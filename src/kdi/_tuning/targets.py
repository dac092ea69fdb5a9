"""What a model is to predict, as numbers: y itself, or an indicator of each class."""

from __future__ import annotations

from numbers import Number
from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers

Task = Literal["auto", "regression", "classification"]
TASKS = ("auto", "regression", "classification")
LABEL_ROWS = 5  # whole numbers that are numbered through and occur so often, each of them, are taken for labels
MOST_LABELS = 100


def as_target(name: str, y: Any, table: Any) -> Any:
    """y as one column of numbers or labels, without missing values, one for each row of the table."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    column = column_or_1d(y, warn=True)
    check_consistent_length(table, column)
    if column.dtype.kind in "mMc":
        raise ValueError(f"y must hold numbers or labels, got {column.dtype}.")
    if column.dtype.kind != "O":
        assert_all_finite(column, input_name="y")
        is_category = str(getattr(y, "dtype", "")).startswith(("category", "Categorical", "Enum"))
        return column.astype(str) if is_category else column  # numbers that a frame calls categories are labels
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
    """Whether y holds labels of classes: as it is said, or what is not a number, or two whole numbers, or whole numbers
    that are numbered through from 0 or 1 and each occur in five rows or more. Those of counts and ages mostly do not.
    """
    if task != "auto":
        return task == "classification"
    if y.dtype.kind not in "fiu":
        return True
    seen = weights > 0
    distinct, places = np.unique(y[seen], return_inverse=True)
    if len(distinct) > MOST_LABELS or np.any(distinct != np.floor(distinct)):
        return False
    numbered = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    often = np.bincount(places, repetitions(weights[seen])).min() >= LABEL_ROWS
    return bool(len(distinct) <= 2 or (numbered and often))


def repetitions(weights: Float64Array) -> Float64Array:
    """How many observations rows are: a weight of 2 is two, and one below 1 is one still, unless it is 0."""
    return np.where(weights > 0, np.maximum(weights, 1.0), 0.0)


def target_matrix(y: Any, labels: bool, weights: Float64Array) -> Float64Array:
    """Targets about their means, of shape (n_rows, n_targets).

    Numbers are one target, two classes are one, more classes are one each.
    """
    if labels:
        classes, places = np.unique(y, return_inverse=True)
        if len(classes) == len(y) > 2:
            raise ValueError(f"y must hold numbers, or labels that occur more than once, got {len(y)} different ones.")
        indicated = [1] if len(classes) == 2 else range(len(classes))
        targets = np.column_stack([places == place for place in indicated]).astype(float)
    else:
        numbers = as_numbers(y, "y")
        targets = (numbers / (np.abs(numbers).max() or 1.0))[:, None]  # so that squares do not overflow
    targets -= (weights / weights.sum()) @ targets
    return targets
