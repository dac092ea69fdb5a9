"""The score of every method with a model on one split of a set, and the linear models of the experiment on networks.

The network is in experiments/networks_perceptron.py. The linear models are a logistic and a ridge regression, with a
penalty chosen by cross-validation from the same values.

A split is 75/25, stratified by class. Missing values become the median of the training part, and a target without
classes is standardised by its training part. All columns go through the transformer, those with two values too.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.rounds import timed
from experiments.datasets import Floats
from experiments.networks_data import Data
from experiments.networks_names import NETWORK
from experiments.networks_perceptron import Split, network
from experiments.rows import Row

TEST = 0.25

PENALTIES = tuple(10.0**power for power in range(-2, 4))  # C of the logistic regression
RIDGES = tuple(10.0**power for power in np.arange(-3, 4.5, 0.5))
FOLDS = 3
# Columns × classes up to which Newton's method is faster; beyond, L-BFGS with scikit-learn's tolerance, which may stop
# short of the minimum where penalties are weak and classes are nearly separable.
DENSE = 150


def split_rows(
    data: Data, methods: Mapping[str, Callable[[int, int], Any]], model: str, seed: int, steps: int
) -> list[Row]:
    """Score every method with a model on one split."""
    stratify = data.target if data.n_classes else None
    table, new, target, new_target = train_test_split(
        data.table, data.target, test_size=TEST, random_state=seed, stratify=stratify
    )
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(table)
    table, new = imputer.transform(table), imputer.transform(new)
    if not data.n_classes:
        mean, deviation = target.mean(), target.std()
        target, new_target = (target - mean) / deviation, (new_target - mean) / deviation
    parts, prepared, rows = {}, {}, []
    with threadpool_limits(1):
        for method, make in methods.items():
            prepared[method], parts[method] = timed(transformed, make(len(table), seed), table, new, target)
        if model == NETWORK:
            results = networks(parts, target, data.n_classes, seed, steps)
        else:
            results = {method: timed(linear, part, target, data.n_classes) for method, part in parts.items()}
    for method, (seconds, found) in results.items():
        head = {"data": data.name, "split": seed, "model": model, "method": method}
        times = {"preparation": prepared[method], "fit": seconds}
        rows.append(head | scores(found, new_target, data.n_classes) | times)
    return rows


def transformed(transformer: Any, table: Floats, new: Floats, target: Any) -> Split:
    transformer.fit(table, target)
    return Split(transformer.transform(table), transformer.transform(new))


def scores(found: Floats, target: Any, n_classes: int) -> Row:
    """Return the weighted one-vs-rest ROC AUC and the share of errors, or the root of the mean squared error."""
    if not n_classes:
        return {"value": float(np.sqrt(np.mean((found - target) ** 2))), "error": ""}
    ranked = found if n_classes > 2 else found[:, 1]
    auc = roc_auc_score(target, ranked, multi_class="ovr", average="weighted")
    return {"value": float(auc), "error": float(np.mean(found.argmax(1) != target))}


def networks(
    parts: dict[str, Split], target: Any, n_classes: int, seed: int, steps: int
) -> dict[str, tuple[float, Floats]]:
    """Train the networks of all tables with as many columns together; each is said to take its share of the time."""
    by_columns: dict[int, list[str]] = {}
    for method, part in parts.items():
        by_columns.setdefault(part.train.shape[1], []).append(method)
    results = {}
    for own in by_columns.values():
        seconds, found = timed(network, [parts[method] for method in own], target, n_classes, seed, steps)
        results |= {method: (seconds / len(own), one) for method, one in zip(own, found, strict=True)}
    return {method: results[method] for method in parts}


def linear(part: Split, target: Any, n_classes: int) -> Floats:
    """Fit a logistic or ridge regression; return probabilities or values of the test rows."""
    if not n_classes:
        return RidgeCV(alphas=RIDGES).fit(part.train, target).predict(part.test)
    solver = "newton-cholesky" if part.train.shape[1] * n_classes <= DENSE else "lbfgs"
    options = {"l1_ratios": (0,), "use_legacy_attributes": False}  # future defaults, set here to avoid their warning
    model = LogisticRegressionCV(
        Cs=PENALTIES, cv=FOLDS, scoring="neg_log_loss", solver=solver, max_iter=1_000, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of separable classes at the weakest penalties
        return model.fit(part.train, target).predict_proba(part.test)
