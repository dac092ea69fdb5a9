"""What a model is to predict, as numbers: y itself, or an indicator of each class."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from kdi._input import as_numbers
from kdi._typing import Floats

Task = Literal["auto", "regression", "classification"]
TASKS = ("auto", "regression", "classification")
LABEL_ROWS = 5  # whole numbers each of which occurs so often are taken for labels
FEW_LABELS = 20  # and so many, numbered through, that do on average, since classes may be rare


def as_target(name: str, y: Any, table: Any) -> Any:
    """y as one column without missing values, a value for each row of the table."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    column = column_or_1d(y, warn=True)
    check_consistent_length(table, column)
    if column.dtype.kind == "O" and any(value is None or str(value) == "<NA>" for value in column):  # pandas has that
        raise ValueError("Input y contains NaN.")
    assert_all_finite(column, input_name="y")
    if column.dtype.kind == "O" and all(isinstance(one, Real) and not isinstance(one, bool) for one in column):
        return column.astype(float)
    return column


def are_labels(y: Any, task: Task, weights: Floats) -> bool:
    """Whether y holds labels of classes: as it is said, or what is not a number, or a few whole numbers.

    Whole numbers are taken for labels where each occurs in five rows at least, or where they are numbered through from
    0 or 1, at most 20, and occur in five rows on average. Counts and ages have gaps, and numbers that occur once.
    """
    if task != "auto":
        return task == "classification"
    if y.dtype.kind not in "fiu":
        return True
    seen = weights > 0
    distinct, places = np.unique(y[seen], return_inverse=True)
    counts = np.bincount(places, repetitions(weights[seen]))
    whole = np.all(distinct == np.floor(distinct))
    numbered = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    few = numbered and len(distinct) <= FEW_LABELS and counts.mean() >= LABEL_ROWS
    return bool(whole and (len(distinct) <= 2 or few or counts.min() >= LABEL_ROWS))


def repetitions(weights: Floats) -> Floats:
    """How many observations rows are: a weight of 2 is two, and one below 1 is one still, unless it is 0."""
    return np.where(weights > 0, np.maximum(weights, 1.0), 0.0)


def target_matrix(y: Any, labels: bool, weights: Floats) -> tuple[Floats, float]:
    """Targets about their means, of shape (n_rows, n_targets), and the sum of their variances.

    Numbers are one target, two classes are one, more classes are one each.
    """
    if labels:
        classes, places = np.unique(y, return_inverse=True)
        indicated = [1] if len(classes) == 2 else range(len(classes))
        targets = np.column_stack([places == place for place in indicated]).astype(float)
    else:
        numbers = as_numbers(y, "y")
        targets = (numbers / (np.abs(numbers).max() or 1.0))[:, None]  # so that squares do not overflow
    share = weights / weights.sum()
    targets -= share @ targets
    variance = float(share @ np.einsum("nk,nk->n", targets, targets))
    return targets, variance
