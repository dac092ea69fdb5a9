"""Criteria that score alphas: the errors of a ridge model in rows left out, or the scores of any estimator on folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from kdi._tuning.candidates import CandidateColumns
from kdi._tuning.ridge import RidgeFold
from kdi._tuning.targets import observations_per_row
from kdi._utils.typing import Float64Array, Int64Array


class RidgeCriterion:
    """Explained share of the targets' variance per row: 1 - squared error / variance.

    Parameters
    ----------
    folds : list of RidgeFold
    rows : list of ndarray of int
        The tested rows of each fold; the score of a row is its mean over the folds that test it.
    mass : ndarray of shape (n_rows,)
        Weights of all rows.
    variance : float
        Weighted variance of the targets over all rows, summed over targets.
    """

    def __init__(self, folds: list[RidgeFold], rows: list[Int64Array], mass: Float64Array, variance: float) -> None:
        self.folds, self.variance = folds, variance
        self.n_alphas, self.n_features = folds[0].candidates.n_alphas, folds[0].candidates.n_features
        places = np.concatenate(rows)
        tested, self._unit_of, self._times = np.unique(places, return_inverse=True, return_counts=True)
        self._regrouped = not np.array_equal(places, tested)
        self.mass = mass[tested]
        self.total, self.n_observations = float(self.mass.sum()), float(observations_per_row(self.mass).sum())

    def start(self, choice: Int64Array) -> Float64Array:
        return np.asarray(self._scores(np.concatenate([fold.start(choice) for fold in self.folds])[None])[0])

    def visit(self, feature: int) -> Float64Array:
        return self._scores(np.concatenate([fold.visit(feature) for fold in self.folds], axis=1))

    def move(self, alpha: int) -> None:
        for fold in self.folds:
            fold.move(alpha)

    def mean(self, scores: Float64Array) -> Float64Array:
        # Not `@`: BLAS would start threads for a sum that is too short for them.
        return np.asarray(np.einsum("an,n->a", scores, self.mass)) / self.total

    def standard_error(self, differences: Float64Array) -> Float64Array:
        n = self.n_observations
        if n < 2:
            return np.full(len(differences), np.inf)
        squares = (differences - self.mean(differences)[:, None]) ** 2
        sums = np.einsum("an,n->a", squares, self.mass * np.minimum(self.mass, 1.0))
        return np.asarray(np.sqrt(sums * (n / (n - 1))) / self.total)

    def _scores(self, errors: Float64Array) -> Float64Array:
        scores = 1 - errors / self.variance
        if not self._regrouped:
            return scores
        return np.array([np.bincount(self._unit_of, of_alpha) / self._times for of_alpha in scores])


class EstimatorCriterion:
    """Scores of an estimator per fold: fitted to its training rows, scored on the rows left out.

    Parameters
    ----------
    folds : list of CandidateColumns
        The rows that the estimator is fitted to, followed by those that it is scored on.
    targets, weights : list of ndarray
        Of the same rows; weights may be None.
    estimator : scikit-learn estimator
    score : callable
        ``score(estimator, X, y, **weights)``.
    """

    def __init__(
        self,
        folds: list[CandidateColumns],
        targets: list[Any],
        weights: list[Float64Array] | None,
        estimator: Any,
        score: Callable[..., float],
    ) -> None:
        self.folds, self.targets, self.weights = folds, targets, weights
        self.estimator, self.score = estimator, score
        self.n_alphas, self.n_features = folds[0].n_alphas, folds[0].n_features

    def start(self, choice: Int64Array) -> Float64Array:
        self.designs = [fold.design(choice) for fold in self.folds]
        return np.array([self._score_fold(k) for k in range(len(self.folds))])

    def visit(self, feature: int) -> Float64Array:
        self._feature = feature
        scores = np.empty((self.n_alphas, len(self.folds)))
        for k, (fold, design) in enumerate(zip(self.folds, self.designs, strict=True)):
            for place, column in enumerate(fold.column(feature)):
                design[:, feature] = column
                scores[place, k] = self._score_fold(k)
        return scores

    def move(self, alpha: int) -> None:
        for fold, design in zip(self.folds, self.designs, strict=True):
            design[:, self._feature] = fold.at(self._feature, alpha)

    def mean(self, scores: Float64Array) -> Float64Array:
        return np.asarray(scores.mean(axis=1))

    def standard_error(self, differences: Float64Array) -> Float64Array:
        n = differences.shape[1]
        if n < 2:
            return np.full(len(differences), np.inf)
        return np.asarray(differences.std(axis=1, ddof=1) / np.sqrt(n))

    def _score_fold(self, k: int) -> float:
        design, y, n = self.designs[k], self.targets[k], self.folds[k].n_fitted
        fitted, tested = (
            ({}, {})
            if self.weights is None
            else (
                {"sample_weight": self.weights[k][:n]},
                {"sample_weight": self.weights[k][n:]},
            )
        )
        # Copies, since an estimator may overwrite its input.
        model = clone(self.estimator).fit(design[:n].copy("C"), y[:n], **fitted)
        score = float(self.score(model, design[n:].copy("C"), y[n:], **tested))
        if not np.isfinite(score):
            raise ValueError(f"the score of {type(self.estimator).__name__} must be a finite number, got {score}.")
        return score
