"""The Small Data Benchmarks: a linear support vector classifier after each transformer, scored by ROC AUC.

The usual run leaves out the sets in SLOW, `--full` runs all of the archive, and `--quick` runs the twelve smallest
files, which this repository contains, over fewer values of C. How sets are scored: experiments/small_data_search.py.
"""

from functools import cache, partial

import numpy as np

from experiments import datasets, small_data_search
from experiments.names import MIN_MAX
from experiments.progress import Size, Task, run, task_key
from experiments.rows import Row, grouped
from experiments.small_data_search import FOLDS, SEARCH_ALPHAS, Floats, Labels, Penalties, fold_rows
from experiments.small_data_tables import RULES, SLOW, claims, figures, tables

__all__ = ["RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Small Data Benchmarks"
PENALTIES = tuple(10.0**power for power in range(-4, 3))  # C
QUICK_PENALTIES = PENALTIES[1::2]
JOBS = 2


def measure(size: Size) -> list[Row]:
    penalties = QUICK_PENALTIES if size == "quick" else PENALTIES
    chosen = {name: data for name, data in all_sets(size).items() if size == "full" or name not in SLOW}
    names = sorted(chosen, key=partial(work, size))
    tasks = [fold_task(size, name, fold, penalties) for name in names for fold in range(FOLDS)]
    left_out = len(all_sets(size)) - len(chosen)
    if left_out:
        print(f"Left out: {left_out} sets that take long ({', '.join(SLOW)}); --full runs them", flush=True)
    return summarised(run(tasks, JOBS))


@cache  # the whole archive is read, once per process
def all_sets(size: Size) -> dict[str, tuple[Floats, Labels]]:
    path = datasets.SMALLEST if size == "quick" else None
    return {name: (table, labels) for name, table, labels in datasets.benchmarks(path)}


def work(size: Size, name: str) -> float:
    """Estimate the work of libsvm: kernel values of all pairs of rows."""
    rows, columns = all_sets(size)[name][0].shape
    return rows**2 * (20 + columns) + 1e8


def fold_task(size: Size, name: str, fold: int, penalties: Penalties) -> Task:
    key = task_key(small_data_search.__file__, name, fold, penalties, SEARCH_ALPHAS, FOLDS)
    return Task(
        f"{name}, fold {fold + 1} of {FOLDS}", work(size, name), partial(set_rows, size, name, fold, penalties), key
    )


def set_rows(size: Size, name: str, fold: int, penalties: Penalties) -> list[Row]:
    table, labels = all_sets(size)[name]
    head = {"data": name, "rows": len(table), "columns": table.shape[1], "classes": int(labels.max()) + 1}
    return [head | row for row in fold_rows(table, labels, fold, penalties)]


def summarised(found: list[Row]) -> list[Row]:
    """Combine the folds of a method on a set into one row, with the score that was published for the set."""
    published = datasets.published_scores()
    return [
        {name: value for name, value in folds[0].items() if name in ("data", "rows", "columns", "classes", "method")}
        | {
            "auc": f"{np.mean([one['auc'] for one in folds]):.6f}",
            "penalties": " ".join(f"{one['penalty']:g}" for one in folds),
            "alphas": " ".join(f"{one['alpha']:.3g}" for one in folds if one["alpha"]),
            "published": f"{published[data]:.6f}" if method == MIN_MAX else "",
            "seconds": f"{sum(one['seconds'] for one in folds):.2f}",
        }
        for (data, method), folds in grouped(found, "data", "method").items()
    ]
