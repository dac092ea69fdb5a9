"""Coordinate descent over the alphas of features, with a guard against improvements that may be chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kdi._utils.typing import Float64Array, Int64Array

LEAST_GAIN = 1e-9  # what rounding could be


class Criterion(Protocol):
    """Scores of units (rows or folds), higher is better, for features at some alphas."""

    n_alphas: int
    n_features: int

    def start(self, choice: Int64Array) -> Float64Array:
        """Scores with each feature at the alpha of the given place, of shape (n_units,)."""

    def visit(self, feature: int) -> Float64Array:
        """Scores with one feature at every alpha and the others as they are, of shape (n_alphas, n_units)."""

    def move(self, alpha: int) -> None:
        """Take the alpha of this place for the feature that was visited last."""

    def mean(self, scores: Float64Array) -> Float64Array:
        """The score of all units together, of each row."""

    def standard_error(self, differences: Float64Array) -> Float64Array:
        """The standard error of the mean of differences, of each row."""


@dataclass(frozen=True)
class Comparison:
    """Scores at every alpha, and the standard errors of their differences to one of them."""

    scores: Float64Array
    errors: Float64Array
    best: int  # the place of the best alpha, or of the one compared with where none is better beyond doubt


def compare(criterion: Criterion, scores: Float64Array, reference: int) -> Comparison:
    """The best alpha, if it beats the reference by more than the standard error of the difference."""
    means, errors = criterion.mean(scores), criterion.standard_error(scores - scores[reference])
    best = int(means.argmax())
    gain = means[best] - means[reference]
    beyond_doubt = gain > max(errors[best], LEAST_GAIN)
    return Comparison(means, errors, best if beyond_doubt else reference)


@dataclass(frozen=True)
class Descent:
    """The alphas that were chosen, by their places, and the scores that led there."""

    choice: Int64Array
    common: int  # the alpha that was best for all features alike
    reference: int  # the alpha that scores were compared with last
    scores: Float64Array  # (n_alphas, n_features), or (n_alphas, 1) where all features have the same
    errors: Float64Array
    base_score: float  # of the reference for all features
    best_score: float
    n_passes: int


def descend(criterion: Criterion, reference: int, *, per_feature: bool, idle: Int64Array, max_passes: int) -> Descent:
    """One alpha for all features first, then one for each, the others as they are, until none moves.

    Features that are `idle` are the same at every alpha, and are not visited.
    """
    alike = [np.full(criterion.n_features, place) for place in range(criterion.n_alphas)]
    common = compare(criterion, np.array([criterion.start(choice) for choice in alike]), reference)
    choice = alike[common.best]
    base = float(common.scores[reference])
    best = float(common.scores[common.best])
    if not per_feature:
        return Descent(choice, common.best, reference, common.scores[:, None], common.errors[:, None], base, best, 0)
    table = np.full((criterion.n_alphas, criterion.n_features), best)
    errors = np.zeros_like(table)
    visited = np.setdiff1d(np.arange(criterion.n_features), idle).tolist()
    n_passes = 0
    while n_passes < max_passes and visited:
        n_passes += 1
        before = choice.copy()
        criterion.start(choice)  # anew, for the updates of a pass lose some digits
        for feature in visited:
            found = compare(criterion, criterion.visit(feature), common.best)
            table[:, feature], errors[:, feature] = found.scores, found.errors
            choice[feature], best = found.best, float(found.scores[found.best])
            criterion.move(found.best)
        if np.array_equal(choice, before):
            break
    table[:, idle] = best
    return Descent(choice, common.best, common.best, table, errors, base, best, n_passes)
