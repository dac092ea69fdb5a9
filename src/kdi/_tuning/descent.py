"""Coordinate descent over the alphas of features, with a guard against improvements that may be due to chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kdi._utils.typing import Float64Array, Int64Array

LEAST_GAIN = 1e-9  # smaller gains could be rounding errors


class Criterion(Protocol):
    """Scores of units (rows or folds) for a choice of alphas; higher is better.

    A choice holds one index per feature, of its alpha among the candidates.
    """

    n_alphas: int
    n_features: int

    def start(self, choice: Int64Array) -> Float64Array:
        """Return the scores with each feature at its alpha in `choice`, of shape (n_units,)."""

    def visit(self, feature: int) -> Float64Array:
        """Return the scores with one feature at every alpha and the others unchanged, of shape (n_alphas, n_units)."""

    def move(self, alpha: int) -> None:
        """Set the alpha of the feature that was visited last."""

    def mean(self, scores: Float64Array) -> Float64Array:
        """Return the mean score over all units, per row of `scores`."""

    def standard_error(self, differences: Float64Array) -> Float64Array:
        """Return the standard error of the mean difference, per row of `differences`."""


@dataclass(frozen=True)
class Comparison:
    """Mean scores at every alpha, and the standard errors of their differences to the reference."""

    scores: Float64Array
    errors: Float64Array
    best: int  # index of the best alpha if it passes the guard, else of the reference


def compare(criterion: Criterion, scores: Float64Array, reference: int) -> Comparison:
    """Choose the best alpha if it beats the reference by more than the standard error of the difference."""
    means, errors = criterion.mean(scores), criterion.standard_error(scores - scores[reference])
    best = int(means.argmax())
    gain = means[best] - means[reference]
    passes = gain > max(errors[best], LEAST_GAIN)
    return Comparison(means, errors, best if passes else reference)


@dataclass(frozen=True)
class Descent:
    """The chosen alphas, as indices into the candidates, and the scores that they were chosen by."""

    choice: Int64Array
    common: int  # the alpha chosen for all features together
    reference: int  # the alpha that the last scores were compared with
    scores: Float64Array  # (n_alphas, n_features), or (n_alphas, 1) if all features share one alpha
    errors: Float64Array
    base_score: float  # of the reference for all features
    best_score: float
    n_passes: int


def descend(criterion: Criterion, reference: int, *, per_feature: bool, idle: Int64Array, max_passes: int) -> Descent:
    """Choose one alpha for all features, then one per feature with the others unchanged, until no choice changes.

    Features that are `idle` are the same at every alpha, and are not visited.
    """
    shared = [np.full(criterion.n_features, place) for place in range(criterion.n_alphas)]
    common = compare(criterion, np.array([criterion.start(choice) for choice in shared]), reference)
    choice = shared[common.best]
    base = float(common.scores[reference])
    best = float(common.scores[common.best])
    if not per_feature:
        return Descent(choice, common.best, reference, common.scores[:, None], common.errors[:, None], base, best, 0)
    scores = np.full((criterion.n_alphas, criterion.n_features), best)
    errors = np.zeros_like(scores)
    visited = np.setdiff1d(np.arange(criterion.n_features), idle).tolist()
    n_passes = 0
    while n_passes < max_passes and visited:
        n_passes += 1
        before = choice.copy()
        criterion.start(choice)  # from scratch, since the updates of a pass lose some digits
        for feature in visited:
            found = compare(criterion, criterion.visit(feature), common.best)
            scores[:, feature], errors[:, feature] = found.scores, found.errors
            choice[feature], best = found.best, float(found.scores[found.best])
            criterion.move(found.best)
        if np.array_equal(choice, before):
            break
    scores[:, idle] = best
    return Descent(choice, common.best, common.best, scores, errors, base, best, n_passes)
