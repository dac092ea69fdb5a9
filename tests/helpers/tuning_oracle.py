"""Tuning by brute force, the suite's own oracle: a model is fitted for every alpha, feature, fold and row left out.

Nothing here comes from ``kdi`` but the transformation itself, which has an oracle of its own. A unit is a row that a
model was judged by, or a fold of an estimator; its score is higher where the model is better.
"""

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring

from kdi import KDITransformer

LEAST_GAIN = 1e-9


def held_out_errors(design, targets, mass, penalty, tested_design, tested_targets):
    """Squared errors, summed over targets, of rows that the model was not fitted to."""
    model = Ridge(penalty, solver="cholesky").fit(design, targets, sample_weight=mass)
    predicted = model.predict(tested_design).reshape(tested_targets.shape)
    return ((tested_targets - predicted) ** 2).sum(axis=1)


def left_out_errors(design, targets, mass, penalty):
    """The same of each row left out in turn: one repetition of it, all of it where it weighs less than one."""
    errors = np.empty(len(design))
    for row in range(len(design)):
        others = mass.copy()
        others[row] -= min(mass[row], 1.0)
        here = [row]
        errors[row] = held_out_errors(design, targets, others, penalty, design[here], targets[here])[0]
    return errors


def indicators(y):
    """A column for each class, of two classes too."""
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


class RidgeOracle:
    """Scores of the rows with each feature at some alpha: 1 - squared error / variance of the targets."""

    def __init__(self, X, y, alphas, *, weights=None, splits=None, labels=False, penalty=10.0, **options):
        X = np.asarray(X, dtype=float)
        self.targets = indicators(y) if labels else np.asarray(y, dtype=float)[:, None]
        self.mass = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
        self.penalty, self.splits = penalty, splits
        means = np.average(self.targets, axis=0, weights=self.mass)
        self.variance = np.average(((self.targets - means) ** 2).sum(axis=1), weights=self.mass)
        every = np.arange(len(X))
        self.columns = [  # by fold, then by alpha
            [self._filled(transformed(X, fitted, alpha, weights, options), fitted) for alpha in alphas]
            for fitted, _ in (splits or [(every, every)])
        ]

    def _filled(self, Z, fitted):
        """NaN becomes the mean of the rows that the model is fitted to."""
        for column in Z.T:
            missing = np.isnan(column)
            known = fitted[~missing[fitted]]
            enough = known.size and self.mass[known].any()
            column[missing] = np.average(column[known], weights=self.mass[known]) if enough else 0.0
        return Z

    def __call__(self, choice):
        if self.splits is None:
            errors = left_out_errors(chosen(self.columns[0], choice), self.targets, self.mass, self.penalty)
            return 1 - errors / self.variance
        found = [[] for _ in self.mass]
        for columns, (fitted, tested) in zip(self.columns, self.splits, strict=True):
            design = chosen(columns, choice)
            known = design[fitted], self.targets[fitted], self.mass[fitted]
            errors = held_out_errors(*known, self.penalty, design[tested], self.targets[tested])
            for row, error in zip(tested, errors, strict=True):
                found[row].append(1 - error / self.variance)
        return np.array([np.mean(scores) for scores in found if scores])

    @property
    def judged(self):
        """The rows that some fold tests."""
        rows = (
            np.arange(len(self.mass)) if self.splits is None else np.concatenate([tested for _, tested in self.splits])
        )
        return np.unique(rows)

    def mean(self, scores):
        return np.average(scores, weights=self.mass[self.judged])

    def standard_error(self, differences):
        mass = self.mass[self.judged]
        if np.array_equal(mass, np.round(mass)):  # repetitions
            repeated = np.repeat(differences, mass.astype(int))
            return repeated.std(ddof=1) / np.sqrt(len(repeated)) if len(repeated) > 1 else np.inf
        n = np.maximum(mass[mass > 0], 1).sum()
        centred = differences - self.mean(differences)
        total = sum(w * min(w, 1) * d**2 for w, d in zip(mass, centred, strict=True))
        return np.sqrt(total * n / (n - 1)) / mass.sum()


class EstimatorOracle:
    """Scores of an estimator on the folds."""

    def __init__(self, X, y, alphas, splits, estimator, *, weights=None, scoring=None, **options):
        self.y, self.splits, self.estimator, self.weights = np.asarray(y), splits, estimator, weights
        self.scorer = check_scoring(estimator, scoring)
        self.columns = [[transformed(X, fitted, alpha, weights, options) for alpha in alphas] for fitted, _ in splits]

    def __call__(self, choice):
        scores = []
        for columns, (fitted, tested) in zip(self.columns, self.splits, strict=True):
            design = chosen(columns, choice)
            known, judged = (
                {} if self.weights is None else {"sample_weight": self.weights[rows]} for rows in (fitted, tested)
            )
            model = clone(self.estimator).fit(design[fitted], self.y[fitted], **known)
            scores.append(self.scorer(model, design[tested], self.y[tested], **judged))
        return np.array(scores)

    def mean(self, scores):
        return np.mean(scores)

    def standard_error(self, differences):
        return np.std(differences, ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf


def transformed(X, fitted, alpha, weights, options):
    """All rows through the transformation that the fitted rows give."""
    mass = None if weights is None else np.asarray(weights)[fitted]
    return KDITransformer(alpha, **options).fit(X[fitted], sample_weight=mass).transform(X)


def chosen(columns, choice):
    return np.column_stack([columns[place][:, j] for j, place in enumerate(choice)])


def guarded(oracle, units, reference):
    """Scores and standard errors at every alpha; the best, or the reference where it does not beat it beyond doubt."""
    means = [oracle.mean(one) for one in units]
    errors = [oracle.standard_error(one - units[reference]) for one in units]
    best = int(np.argmax(means))
    gain = means[best] - means[reference]
    return means, errors, best if gain > errors[best] and gain > LEAST_GAIN else reference


def descend(oracle, n_alphas, n_features, reference, *, max_passes=3, idle=()):
    """The alpha that is best for all features alike; then for each feature in turn, until no feature moves."""
    alike = [oracle([place] * n_features) for place in range(n_alphas)]
    means, spreads, common = guarded(oracle, alike, reference)
    result = {"common": common, "base": means[reference], "alike": means, "alike_errors": spreads}
    choice = [common] * n_features
    scores, errors = np.empty((n_alphas, n_features)), np.zeros((n_alphas, n_features))
    best = means[common]
    passes = 0
    while passes < max_passes:
        passes += 1
        before = list(choice)
        for j in range(n_features):
            if j in idle:
                continue
            units = [oracle([*choice[:j], place, *choice[j + 1 :]]) for place in range(n_alphas)]
            scores[:, j], errors[:, j], choice[j] = guarded(oracle, units, common)
            best = scores[choice[j], j]
        if choice == before:
            break
    for j in idle:
        scores[:, j] = best
    return {**result, "choice": choice, "scores": scores, "errors": errors, "best": best, "passes": passes}
