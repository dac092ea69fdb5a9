"""The nested search of the Small Data Benchmarks: the score of every method on one outer fold.

The setting is that of Feldman (2021), which the paper repeats: four stratified outer folds (shuffled, seed 0), in each
a grid search by four inner ones over C, and over alpha in {1/3, 1, 3} where it is tuned; every transformer is fitted
anew to every training part. The classifier is his too: libsvm's with a linear kernel, classes weighted by their rarity,
and rows ranked by the probabilities that libsvm fits to its decisions, with two classes as with more. But it stops
after ITERATIONS: on some sets it would need millions at C = 100, minutes per fit, for scores that hardly change. Where
even that takes hours, experiments/linear_svc.py solves the same problems.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import kdi
from benchmarks.rounds import timed
from experiments import linear_svc
from experiments.names import EACH, INTERIOR, KDI, LIBSVM, MIN_MAX, QUANTILE, TUNED
from experiments.rows import Row

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Penalties = tuple[float, ...]  # values of C

SEARCH_ALPHAS = (1 / 3, 1.0, 3.0)
FOLDS = 4
CACHE = 1000  # megabytes of libsvm's kernel cache
ITERATIONS = 100_000
QUANTILES = 1000  # QuantileTransformer's default, which it lowers to the number of rows with a warning


class Option(NamedTuple):
    """A transformer that a grid search may choose, made unfitted for a number of rows."""

    name: str
    alpha: float | None
    make: Callable[[int], Any]


OPTIONS = (
    Option(MIN_MAX, None, lambda rows: MinMaxScaler()),
    Option(QUANTILE, None, lambda rows: QuantileTransformer(n_quantiles=min(QUANTILES, rows))),
    *(Option(TUNED, alpha, lambda rows, alpha=alpha: kdi.KDITransformer(alpha=alpha)) for alpha in SEARCH_ALPHAS),
    Option(EACH, None, lambda rows: kdi.KDITransformerCV(n_jobs=1)),
)
# The options of each method, by index: alpha = 1 belongs to the search over alpha too, and is not measured twice.
CHOICES = {
    MIN_MAX: [0],
    QUANTILE: [1],
    KDI: [index for index, option in enumerate(OPTIONS) if option.alpha == 1],
    TUNED: [index for index, option in enumerate(OPTIONS) if option.name == TUNED],
    EACH: [len(OPTIONS) - 1],
}


class TooSlow(Exception):
    """A fold took longer than its limit."""


def fold_rows(
    table: Floats,
    labels: Labels,
    fold: int,
    penalties: Penalties,
    solver: str,
    limit: float,
    methods: Sequence[str] = tuple(CHOICES),
) -> list[Row]:
    """Score methods on one outer fold, and record the choices of their inner searches.

    The limit is in seconds of processor time; a fold that exceeds it raises TooSlow.
    """
    until = process_time() + limit
    train, test = list(splitter().split(table, labels))[fold]
    with threadpool_limits(1), warnings.catch_warnings():
        # scikit-learn 1.9 deprecates libsvm's probabilities, which are part of the benchmark's definition.
        warnings.filterwarnings("ignore", message=".*probability.*", category=FutureWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        searched = {
            index: timed(inner_scores, OPTIONS[index], table[train], labels[train], penalties, solver, until)
            for index in sorted({index for method in methods for index in CHOICES[method]})
        }
        outer = cache(partial(outer_score, table, labels, train, test, solver))
        rows = []
        for method in methods:
            choices = CHOICES[method]
            scores = np.concatenate([searched[index][1] for index in choices])
            option, penalty = divmod(int(np.argmax(scores)), len(penalties))  # the first of ties
            chosen = choices[option]
            seconds = sum(searched[index][0] for index in choices)
            rows.append(
                {"fold": fold, "method": method, "auc": outer(chosen, penalties[penalty])}
                | {"penalty": penalties[penalty], "alpha": OPTIONS[chosen].alpha or "", "seconds": seconds}
            )
    return rows


def splitter() -> StratifiedKFold:
    return StratifiedKFold(FOLDS, shuffle=True, random_state=0)


def inner_scores(
    option: Option, table: Floats, labels: Labels, penalties: Penalties, solver: str, until: float
) -> Floats:
    """Return the mean score over inner folds per C; the transformer does not depend on C: one fit per fold."""
    found = np.empty((FOLDS, len(penalties)))
    for fold, (train, test) in enumerate(splitter().split(table, labels)):
        if process_time() > until:
            raise TooSlow
        transformer = option.make(len(train)).fit(table[train], labels[train])
        split = transformer.transform(table[train]), labels[train], transformer.transform(table[test]), labels[test]
        found[fold] = [auc(*split, penalty, solver) for penalty in penalties]
    return found.mean(axis=0)


def outer_score(
    table: Floats,
    labels: Labels,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    solver: str,
    chosen: int,
    penalty: float,
) -> float:
    transformer = OPTIONS[chosen].make(len(train)).fit(table[train], labels[train])
    split = transformer.transform(table[train]), labels[train], transformer.transform(table[test]), labels[test]
    return auc(*split, penalty, solver)


def auc(train: Floats, train_labels: Labels, test: Floats, test_labels: Labels, penalty: float, solver: str) -> float:
    """Return the one-vs-rest ROC AUC of the classifier, weighted by class."""
    found = SOLVERS[solver](train, train_labels, test, penalty)
    scores = found if found.shape[1] > 2 else found[:, 1]
    return float(roc_auc_score(test_labels, scores, multi_class="ovr", average="weighted"))


def libsvm_probabilities(train: Floats, labels: Labels, test: Floats, penalty: float) -> Floats:
    model = SVC(kernel="linear", C=penalty, class_weight="balanced", probability=True, tol=1e-4, random_state=0)
    model.set_params(cache_size=CACHE, max_iter=ITERATIONS)
    return model.fit(train, labels).predict_proba(test)


SOLVERS = {LIBSVM: libsvm_probabilities, INTERIOR: linear_svc.probabilities}
