"""What a model is to predict, as numbers: y itself, or an indicator of each class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from kdi._input import as_numbers
from kdi._typing import Floats

Task = Literal["auto", "regression", "classification"]
TASKS = ("auto", "regression", "classification")
LABEL_ROWS = 5  # whole numbers each of which occurs so often are taken for labels


def as_target(name: str, y: Any, table: Any) -> Any:
    """y as one column without missing values, a value for each row of the table."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    column = column_or_1d(y, warn=True)
    check_consistent_length(table, column)
    assert_all_finite(column, input_name="y")
    return column


def are_labels(y: Any, task: Task) -> bool:
    """Whether y holds labels of classes: as it is said, or what is not a number, or a few whole numbers.

    Whole numbers are taken for labels where each occurs in five rows at least. Counts and ages have a tail of numbers
    that occur once or twice.
    """
    if task != "auto":
        return task == "classification"
    if y.dtype.kind not in "fiu":
        return True
    distinct, counts = np.unique(y, return_counts=True)
    return bool(np.all(distinct == np.floor(distinct)) and (len(distinct) <= 2 or counts.min() >= LABEL_ROWS))


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
