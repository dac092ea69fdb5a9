"""The gain from tuning alpha: one alpha, or one per feature, compared with alpha = 1 and with other transformers.

All methods see the same random splits, and are scored on rows that they were not fitted to:

- regression: rMSE of a linear regression, 70/30 splits;
- classification: accuracy of the paper's PCA and Gaussian naive Bayes, and of a logistic regression, 70/30, stratified;
- benchmarks: weighted one-vs-rest ROC AUC of a logistic regression on Small Data Benchmarks, 75/25, stratified, with
  scikit-learn's default penalty and with one chosen by cross-validation on the training part, since features in [0, 1]
  and features in units of their deviation need different ones. These are all 44 sets with at most 1,000 rows and at
  most 40 columns after one-hot encoding (with at most 800 rows there are only 39);
- time: tuning on all of California housing, against a grid search over the same alphas.

Differences are to kdi at alpha = 1 on the same split; their standard error is their deviation over the root of the
number of splits. Splits overlap, so it is only a guide, and does not allow inference about other data.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import kdi
from benchmarks.rounds import interleaved, timed
from experiments import datasets
from experiments.libraries import print_missing
from experiments.progress import Size, Task, run
from experiments.rows import Row, grouped
from experiments.tuning_methods import (
    BASE,
    BAYES,
    EACH,
    LINEAR,
    LOGISTIC,
    METHODS,
    MISSING,
    NEEDED,
    PENALISED,
    SEARCHED,
    SINGLE,
    fingerprint,
    pipeline,
    search,
)
from experiments.tuning_tables import TIMED, tables

__all__ = ["LIBRARIES", "measure", "tables"]

LIBRARIES = tuple(library for library in NEEDED.values() if library not in MISSING)
SPLITS, QUICK_SPLITS = 30, 2
MOST_ROWS, MOST_COLUMNS = 1_000, 40  # of the benchmarks
QUICK_SETS = 5
ROUNDS = 7  # of timing
JOBS = 2
# Roughly how much longer they take than other transformers.
COSTS = {SEARCHED: 20, SINGLE: 10, EACH: 10, "PowerTransformer": 8}


class Part(NamedTuple):
    """One kind of data: how it is split and scored, and with which models."""

    name: str
    models: tuple[str, ...]
    metric: str
    scoring: str
    sign: int  # -1 for rMSE: scikit-learn's scores are higher where they are better
    test_share: float
    stratified: bool


REGRESSION = Part("regression", (LINEAR.name,), "rMSE", "neg_root_mean_squared_error", -1, 0.3, False)
CLASSIFICATION = Part("classification", (BAYES.name, LOGISTIC.name), "accuracy", "accuracy", 1, 0.3, True)
BENCHMARKS = Part("benchmarks", (LOGISTIC.name, PENALISED.name), "AUC", "roc_auc_ovr_weighted", 1, 0.25, True)


def measure(size: Size) -> list[Row]:
    quick = size == "quick"
    print_missing(NEEDED.values())
    n_splits = QUICK_SPLITS if quick else SPLITS
    tasks = [
        split_task(part, data, model, method, n_splits)
        for part, names in chosen_data(quick).items()
        for data in names
        for model in part.models
        for method in METHODS
    ]
    rows = summarised(run(tasks, JOBS))
    # Alone, after the others: nothing else should run while these are timed.
    return rows + run([Task("time of tuning California housing", 1, partial(times, quick))])


def chosen_data(quick: bool) -> dict[Part, list[str]]:
    found = {REGRESSION: list(datasets.REGRESSION), CLASSIFICATION: list(datasets.CLASSIFICATION)}
    if quick:
        found = {REGRESSION: ["abalone"], CLASSIFICATION: ["wine"]}
    try:
        names = list(benchmark_sets())
    except datasets.NoArchive as reason:
        print(f"Left out: {reason}", flush=True)
        return found
    return found | {BENCHMARKS: names[:QUICK_SETS] if quick else names}


@cache
def load(part: Part, data: str) -> tuple[Any, Any]:
    if part == BENCHMARKS:
        return benchmark_sets()[data]
    return (datasets.regression if part == REGRESSION else datasets.classification)(data)


@cache  # the whole archive is read, once per process
def benchmark_sets() -> dict[str, tuple[Any, Any]]:
    sets = datasets.benchmarks(most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
    return {name: (table, labels) for name, table, labels in sets}


# Scores.


def split_task(part: Part, data: str, model: str, method: str, n_splits: int) -> Task:
    table, _ = load(part, data)
    work = n_splits * (2_000 + table.size) * COSTS.get(method, 1)
    own = part._replace(models=(model,))  # the other models make no difference
    key = [*own, data, model, method, n_splits, fingerprint(method, model, part.scoring)]
    call = partial(scores, part, data, model, method, n_splits)
    return Task(f"{part.name}, {data}, {model}, {method}", work, call, json.dumps(key))


def scores(part: Part, data: str, model: str, method: str, n_splits: int) -> list[Row]:
    """Measure the score and the seconds of the fit per split."""
    table, target = load(part, data)
    scorer, found = get_scorer(part.scoring), []
    head = {"part": part.name, "data": data, "rows": len(table), "columns": table.shape[1], "model": model}
    head |= {"method": method, "metric": part.metric}
    # One thread: tasks run in parallel, and small matrix products are slowed by threads that wait for each other.
    with threadpool_limits(1):
        for seed in range(n_splits):
            train, test, train_target, test_target = train_test_split(
                table,
                target,
                test_size=part.test_share,
                random_state=seed,
                stratify=target if part.stratified else None,
            )
            estimator = pipeline(method, model, part.scoring, len(train))
            seconds, _ = timed(estimator.fit, train, train_target)
            score = part.sign * float(scorer(estimator, test, test_target))
            found.append(head | {"split": seed, "score": score, "seconds": seconds})
    return found


def summarised(found: list[Row]) -> list[Row]:
    """Combine the splits of a method on a set into one row, with its difference to alpha = 1 on the same splits."""
    rows = []
    for own in grouped(found, "part", "data", "model").values():
        group = {method: splits for (method,), splits in grouped(own, "method").items()}
        base = np.array([one["score"] for one in group[BASE]])
        for splits in group.values():
            values = np.array([one["score"] for one in splits])
            apart = values - base
            rows.append(
                {name: value for name, value in splits[0].items() if name not in ("split", "score", "seconds")}
                | {
                    "value": f"{values.mean():.6f}",
                    "deviation": f"{values.std(ddof=1):.6f}",
                    "difference": f"{apart.mean():.6f}",
                    "standard_error": f"{apart.std(ddof=1) / np.sqrt(len(apart)):.6f}",
                    "runs": len(values),
                    # The median, since the first fit in a process may load and compile code.
                    "seconds": f"{np.median([one['seconds'] for one in splits]):.4f}",
                    "ratio": "",
                }
            )
    return rows


# Times.


def times(quick: bool) -> list[Row]:
    """Time tuning in interleaved rounds; the value is the median, the ratio is to the first method."""
    table, target = datasets.regression("california")
    if quick:
        table, target = table[::10], target[::10]
    chain = partial(make_pipeline, kdi.KDITransformer(), LinearRegression())
    makers: dict[str, Callable[[], Any]] = {
        TIMED: kdi.KDITransformerCV,
        f"{TIMED}, n_jobs=1": partial(kdi.KDITransformerCV, n_jobs=1),
        f"{TIMED}, cv=5": partial(kdi.KDITransformerCV, cv=5),
        "KDITransformerCV, one alpha": partial(kdi.KDITransformerCV, per_feature=False),
        "GridSearchCV, n_jobs=1": lambda: search(chain(), n_jobs=1),
        "GridSearchCV, n_jobs=2": lambda: search(chain(), n_jobs=2),
    }

    def seconds(make: Callable[[], Any]) -> float:
        return timed(make().fit, table, target)[0]

    for make in makers.values():
        seconds(make)  # a warm-up: starts processes and loads code
    rounds = 2 if quick else ROUNDS
    found = interleaved({name: partial(seconds, make) for name, make in makers.items()}, dict.fromkeys(makers, rounds))
    head = {"part": "time", "data": "california", "rows": len(table), "columns": table.shape[1]}
    return [
        head
        | {"model": LINEAR.name, "method": name, "metric": "seconds"}
        | {"value": f"{np.median(values):.6f}", "deviation": f"{np.std(values, ddof=1):.6f}"}
        | {"difference": "", "standard_error": "", "runs": rounds, "seconds": f"{np.median(values):.4f}"}
        | {"ratio": f"{np.median(np.divide(values, found[TIMED])):.4f}"}
        for name, values in found.items()
    ]
