"""Ridge regression on candidate columns: the errors with each candidate in place of a feature, without a refit.

Let M hold the other features and a column of ones, W the weights, and P = (M'WM + λ)^-1. A candidate c has the residual
r on the other features, and the model with c has the error e:

    r = c - M P M'Wc,    s = c'Wc + λ - c'WM P M'Wc,    γ = (c'Wy - c'WM P M'Wy) / s,    e = y - M P M'Wy - r γ

A visit to a feature thus costs two products of its candidates with the other features. Errors are those of rows that
the model was not fitted to, or of each row left out in turn: e / (1 - h), where the leverage h is that of the others
plus r²/s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdi._tuning.candidates import CandidateColumns
from kdi._utils.typing import Float64Array, Int64Array

BLOCK = 2**12  # rows whose errors are computed at once, so that they stay in the cache
LEAST_LEFT = 1e-10  # lower bound of 1 - h, for rows that decide their own prediction
LEAST_PENALTY = 1e-6  # per unit of weight; with less, rounding decides the coefficients of collinear features


class Visit(NamedTuple):
    """Results of a visit that `RidgeFold.move` needs."""

    feature: int
    columns: Float64Array  # (n_alphas, n_rows)
    inverse: Float64Array  # without the feature
    onto_others: Float64Array  # P M'Wc, (n_features + 1, n_alphas)
    remainders: Float64Array  # s
    moments: Float64Array  # c'Wy, (n_alphas, n_targets)


class RidgeFold:
    """A ridge model fitted to the first rows of some candidates, tested on the rest or on each row left out in turn.

    Parameters
    ----------
    candidates : CandidateColumns
        The fitted rows, followed by the tested ones. If all rows are fitted, each is left out in turn.
    targets : ndarray of shape (n_rows, n_targets)
    mass : ndarray of shape (n_fitted,)
        Weights of the fitted rows.
    penalty : float
        λ, not applied to the intercept; raised to a millionth of the sum of the weights if it is less.
    """

    def __init__(self, candidates: CandidateColumns, targets: Float64Array, mass: Float64Array, penalty: float) -> None:
        self.candidates, self.targets, self.mass = candidates, targets, mass
        self.penalty = max(penalty, LEAST_PENALTY * float(mass.sum()))
        self.n_fitted = candidates.n_fitted
        self.in_turn = self.n_fitted == candidates.n_rows
        self.first_tested = 0 if self.in_turn else self.n_fitted
        self.weighted_targets = targets[: self.n_fitted] * mass[:, None]
        # A weight of 2 is a repetition, of which one is left out; a weight below 1 is left out entirely.
        self.left_out = np.minimum(mass, 1.0)

    def start(self, choice: Int64Array) -> Float64Array:
        """Fit the model with each feature at its alpha in `choice`; return the squared error of each tested row."""
        self.choice = choice.copy()
        self.design = np.empty((self.candidates.n_rows, len(choice) + 1), order="F")
        self.design[:, 0] = 1.0
        self.design[:, 1:] = self.candidates.design(choice)
        fitted = self.design[: self.n_fitted]
        gram = (fitted * self.mass[:, None]).T @ fitted
        gram[np.arange(1, len(gram)), np.arange(1, len(gram))] += self.penalty
        self.inverse = np.linalg.inv(gram)
        self.moments = fitted.T @ self.weighted_targets
        tested = self.design[self.first_tested :]
        errors = self.targets[self.first_tested :] - tested @ (self.inverse @ self.moments)
        if self.in_turn:
            self.leverage = np.einsum("nd,nd->n", tested @ self.inverse, tested)
            errors /= np.maximum(1 - self.left_out * self.leverage, LEAST_LEFT)[:, None]
        return np.asarray(np.einsum("nk,nk->n", errors, errors))

    def visit(self, feature: int) -> Float64Array:
        """Return the squared errors of tested rows with the feature at each alpha, of shape (n_alphas, n_tested)."""
        place = feature + 1
        row = self.inverse[place]
        inverse = self.inverse - np.outer(row, row) / row[place]
        inverse[place] = inverse[:, place] = 0.0
        columns = self.candidates.column(feature)
        products, squares, moments = self._sums(columns)
        onto_others = inverse @ products
        remainders = squares + self.penalty - np.einsum("da,da->a", products, onto_others)
        remainders = np.maximum(remainders, self.penalty)  # less only by rounding
        coefficients = (moments - onto_others.T @ self.moments) / remainders[:, None]
        self._last = Visit(feature, columns, inverse, onto_others, remainders, moments)
        without = inverse @ self.moments
        errors = np.zeros((len(columns), self.candidates.n_rows - self.first_tested))
        for start in range(self.first_tested, self.candidates.n_rows, BLOCK):
            rows = slice(start, min(start + BLOCK, self.candidates.n_rows))
            others = self.design[rows]
            residuals = columns[:, rows] - (others @ onto_others).T
            known = self.targets[rows] - others @ without
            out = errors[:, rows.start - self.first_tested : rows.stop - self.first_tested]
            for target, slopes in zip(known.T, coefficients.T, strict=True):
                out += (target - residuals * slopes[:, None]) ** 2
            if self.in_turn:
                shares = residuals**2 / remainders[:, None]
                leverage = self.leverage[rows] - shares[self.choice[feature]] + shares
                out /= np.maximum(1 - self.left_out[rows] * leverage, LEAST_LEFT) ** 2
        return errors

    def _sums(self, columns: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return M'Wc, c'Wc and c'Wy of all candidates, over the fitted rows."""
        products = np.zeros((self.design.shape[1], len(columns)))
        squares, moments = np.zeros(len(columns)), np.zeros((len(columns), self.targets.shape[1]))
        for start in range(0, self.n_fitted, BLOCK):
            rows = slice(start, min(start + BLOCK, self.n_fitted))
            weighted = columns[:, rows] * self.mass[rows]
            products += self.design[rows].T @ weighted.T
            squares += np.einsum("an,an->a", weighted, columns[:, rows])
            moments += weighted @ self.targets[rows]
        return products, squares, moments

    def move(self, alpha: int) -> None:
        """Set the alpha of the feature that was visited last."""
        feature, columns, inverse, onto_others, remainders, moments = self._last
        place = feature + 1
        if self.in_turn:
            for sign, index in ((-1, int(self.choice[feature])), (1, alpha)):
                residual = columns[index] - self.design @ onto_others[:, index]
                self.leverage += sign * residual**2 / remainders[index]
        along = onto_others[:, alpha].copy()
        along[place] = -1.0
        self.inverse = inverse + np.outer(along, along) / remainders[alpha]
        self.moments[place] = moments[alpha]
        self.design[:, place] = columns[alpha]
        self.choice[feature] = alpha
