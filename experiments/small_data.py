"""The Small Data Benchmarks: a linear support vector classifier after each transformer, scored by ROC AUC.

The setting is that of Feldman (2021) and of the paper: four stratified outer folds (shuffled, seed 0), in each a grid
search by four inner ones over C, and over alpha in {1/3, 1, 3} where it is tuned; every transformer is fitted anew to
every part. The score is the one-vs-rest AUC weighted by class, a mean over the outer folds. The classifier is libsvm's,
as theirs: with two classes the decision function ranks the rows, with more the probabilities that libsvm fits to it,
since one-vs-one decisions give no ranking of their own.

The usual run leaves out the sets of SLOW, `--full` runs all of the archive, `--quick` the twelve smallest files, which
are shipped, over fewer values of C.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import kdi
from benchmarks.rounds import timed
from experiments import datasets
from experiments.drawing import EACH, KDI, MIN_MAX, QUANTILE, TUNED
from experiments.progress import Size, Task, run, task_key
from experiments.small_data_tables import claims, figures, tables

__all__ = ["TITLE", "claims", "figures", "measure", "tables"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Row = dict[str, Any]

TITLE = "Small Data Benchmarks"
PENALTIES = tuple(10.0**power for power in range(-4, 3))  # C
QUICK_PENALTIES = PENALTIES[1::2]
ALPHAS = (1 / 3, 1.0, 3.0)
FOLDS = 4
JOBS = 2
CACHE = 1000  # megabytes of libsvm's kernel cache
QUANTILES = 1000  # QuantileTransformer's default, which it lowers to the rows there are with a warning
# What took longest in trials of single fits: without these the run is one of two hours on two cores.
SLOW = (
    "robot-nav-sensor-readings-24",
    "pendigits",
    "thyroid-sick",
    "tamilnadu-electricity",
    "nursery-4class",
    "artificial-characters",
    "letter",
    "bank-marketing-full",
    "turkiye-student",
    "autoUniv-au4-2500",
    "kr-vs-k",
)


class Option(NamedTuple):
    """A transformer that a grid search may choose: from the number of rows to one that is not fitted."""

    name: str
    alpha: float | None
    make: Callable[[int], Any]


OPTIONS = (
    Option(MIN_MAX, None, lambda rows: MinMaxScaler()),
    Option(QUANTILE, None, lambda rows: QuantileTransformer(n_quantiles=min(QUANTILES, rows))),
    *(Option(TUNED, alpha, lambda rows, alpha=alpha: kdi.KDITransformer(alpha=alpha)) for alpha in ALPHAS),
    Option(EACH, None, lambda rows: kdi.KDITransformerCV(n_jobs=1)),
)
# Which options a method chooses from: alpha = 1 is one of those of the search over alpha, and not measured twice.
CHOICES = {
    MIN_MAX: [0],
    QUANTILE: [1],
    KDI: [index for index, option in enumerate(OPTIONS) if option.alpha == 1],
    TUNED: [index for index, option in enumerate(OPTIONS) if option.name == TUNED],
    EACH: [len(OPTIONS) - 1],
}


def measure(size: Size) -> list[Row]:
    penalties = QUICK_PENALTIES if size == "quick" else PENALTIES
    chosen = {name: data for name, data in all_sets(size).items() if size == "full" or name not in SLOW}
    names = sorted(chosen, key=partial(work, size))
    tasks = [fold_task(size, name, fold, penalties) for name in names for fold in range(FOLDS)]
    left_out = len(all_sets(size)) - len(chosen)
    if left_out:
        print(f"Left out: {left_out} sets that take long ({', '.join(SLOW)}); --full runs them", flush=True)
    return summarised(run(tasks, JOBS))


@cache  # the archive is read as a whole, once a process
def all_sets(size: Size) -> dict[str, tuple[Floats, Labels]]:
    path = datasets.SMALLEST if size == "quick" else None
    return {name: (table, labels) for name, table, labels in datasets.benchmarks(path)}


def work(size: Size, name: str) -> float:
    """Roughly what libsvm needs: kernel values of all pairs of rows, and more fits where it fits probabilities."""
    table, labels = all_sets(size)[name]
    rows, columns = table.shape
    return (rows**2 * (20 + columns) + 1e8) * (5 if labels.max() > 1 else 1)


def fold_task(size: Size, name: str, fold: int, penalties: tuple[float, ...]) -> Task:
    key = task_key("small_data", name, fold, penalties, ALPHAS, FOLDS)
    call = partial(fold_rows, size, name, fold, penalties)
    return Task(f"{name}, fold {fold + 1} of {FOLDS}", work(size, name), call, key)


def fold_rows(size: Size, name: str, fold: int, penalties: tuple[float, ...]) -> list[Row]:
    """The score of every method on one outer fold, with what its inner search chose."""
    table, labels = all_sets(size)[name]
    train, test = list(splitter().split(table, labels))[fold]
    head = {"data": name, "rows": len(table), "columns": table.shape[1], "classes": int(labels.max()) + 1, "fold": fold}
    with threadpool_limits(1), warnings.catch_warnings():
        # scikit-learn 1.9 announces that it will drop libsvm's probabilities, which the benchmark is defined by.
        warnings.filterwarnings("ignore", message=".*probability.*", category=FutureWarning)
        searched = [timed(inner_scores, option, table[train], labels[train], penalties) for option in OPTIONS]
        outer = cache(partial(outer_score, table, labels, train, test))
        rows = []
        for method, choices in CHOICES.items():
            scores = np.concatenate([searched[index][1] for index in choices])
            option, penalty = divmod(int(np.argmax(scores)), len(penalties))  # the first, where there are ties
            chosen = choices[option]
            seconds = sum(searched[index][0] for index in choices)
            rows.append(
                head
                | {"method": method, "auc": outer(chosen, penalties[penalty]), "penalty": penalties[penalty]}
                | {"alpha": OPTIONS[chosen].alpha or "", "seconds": seconds}
            )
    return rows


def splitter() -> StratifiedKFold:
    return StratifiedKFold(FOLDS, shuffle=True, random_state=0)


def inner_scores(option: Option, table: Floats, labels: Labels, penalties: tuple[float, ...]) -> Floats:
    """Of every C, the mean over inner folds; the transformer is fitted once a fold, it does not depend on C."""
    found = np.empty((FOLDS, len(penalties)))
    for fold, (train, test) in enumerate(splitter().split(table, labels)):
        transformer = option.make(len(train)).fit(table[train], labels[train])
        parts = transformer.transform(table[train]), labels[train], transformer.transform(table[test]), labels[test]
        found[fold] = [auc(*parts, penalty) for penalty in penalties]
    return found.mean(axis=0)


def outer_score(
    table: Floats, labels: Labels, train: NDArray[np.intp], test: NDArray[np.intp], chosen: int, penalty: float
) -> float:
    transformer = OPTIONS[chosen].make(len(train)).fit(table[train], labels[train])
    return auc(
        transformer.transform(table[train]), labels[train], transformer.transform(table[test]), labels[test], penalty
    )


def auc(train: Floats, train_labels: Labels, test: Floats, test_labels: Labels, penalty: float) -> float:
    several = train_labels.max() > 1
    options = {"probability": True} if several else {}
    model = SVC(kernel="linear", C=penalty, cache_size=CACHE, random_state=0, **options).fit(train, train_labels)
    if several:
        return float(roc_auc_score(test_labels, model.predict_proba(test), multi_class="ovr", average="weighted"))
    return float(roc_auc_score(test_labels, model.decision_function(test)))


def summarised(found: list[Row]) -> list[Row]:
    """The folds of a method on a set become one row, with what was published for the set."""
    published, groups = datasets.published_scores(), {}
    for one in found:
        groups.setdefault((one["data"], one["method"]), []).append(one)
    return [
        {name: value for name, value in folds[0].items() if name in ("data", "rows", "columns", "classes", "method")}
        | {
            "auc": f"{np.mean([one['auc'] for one in folds]):.6f}",
            "penalties": " ".join(f"{one['penalty']:g}" for one in folds),
            "alphas": " ".join(f"{one['alpha']:.3g}" for one in folds if one["alpha"]),
            "published": f"{published[data]:.6f}" if method == MIN_MAX else "",
            "seconds": f"{sum(one['seconds'] for one in folds):.2f}",
        }
        for (data, method), folds in groups.items()
    ]
