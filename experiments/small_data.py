"""The Small Data Benchmarks: a linear support vector classifier after each transformer, scored by ROC AUC.

The usual run leaves out the sets in SLOW, and `--quick` runs the twelve smallest files, which this repository contains,
over fewer values of C. `--full` is about all of the archive: it adds to the committed rows those of the sets that they
lack, the largest last, and gives up a set if one of its folds takes more than LIMIT seconds of processor time. To
measure all sets anew, remove the committed rows first. How sets are scored: experiments/small_data_search.py.
"""

from functools import cache, partial
from pathlib import Path

import numpy as np

from experiments import datasets, linear_svc, small_data_search
from experiments.names import INTERIOR, LIBSVM, MIN_MAX
from experiments.progress import Rows, Size, Task, hashed, run, task_key
from experiments.rows import Row, grouped, read_rows
from experiments.small_data_search import FOLDS, SEARCH_ALPHAS, Floats, Labels, Penalties, TooSlow, fold_rows
from experiments.small_data_tables import BY_LIBSVM, LIMIT, RULES, SLOW, claims, figures, tables

__all__ = ["RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Small Data Benchmarks"
PENALTIES = tuple(10.0**power for power in range(-4, 3))  # C
QUICK_PENALTIES = PENALTIES[1::2]
JOBS = 2
HEAD = ("data", "rows", "columns", "classes", "solver", "method")
COMMITTED = Path(__file__).parent / "results" / "small_data.csv"


def measure(size: Size) -> list[Row]:
    penalties = QUICK_PENALTIES if size == "quick" else PENALTIES
    sets = all_sets(size)
    kept = committed() if size == "full" else {}
    wanted = [name for name in sets if name not in kept and (size == "full" or name not in SLOW)]
    originals = first_copies({name: sets[name] for name in wanted})
    names = sorted(set(originals.values()), key=partial(work, size))
    found = run([fold_task(size, name, fold, penalties) for name in names for fold in range(FOLDS)], JOBS)
    measured = {name: rows for (name,), rows in grouped(found, "data").items()}
    copies = [row | {"data": name} for name in wanted for row in measured.get(originals[name], [])]
    rows = kept | {name: own for (name,), own in grouped(summarised(copies), "data").items()}
    print(f"Left out: {', '.join(name for name in sets if name not in rows) or 'no set'}", flush=True)
    return [row for name in sorted(rows, key=partial(work, size)) for row in rows[name]]


def committed() -> dict[str, Rows]:
    if not COMMITTED.exists():
        return {}
    return {name: rows for (name,), rows in grouped(read_rows(COMMITTED), "data").items()}


def first_copies(sets: dict[str, tuple[Floats, Labels]]) -> dict[str, str]:
    """Name the first of the sets with the same rows and labels, per set: copies are measured once."""
    firsts: dict[str, str] = {}
    return {name: firsts.setdefault(table.tobytes() + labels.tobytes(), name) for name, (table, labels) in sets.items()}


def solver(name: str) -> str:
    return INTERIOR if name in SLOW and name not in BY_LIBSVM else LIBSVM


@cache  # the whole archive is read, once per process
def all_sets(size: Size) -> dict[str, tuple[Floats, Labels]]:
    path = datasets.SMALLEST if size == "quick" else None
    return {name: (table, labels) for name, table, labels in datasets.benchmarks(path)}


def work(size: Size, name: str) -> float:
    """Estimate the work: libsvm computes kernel values of all pairs of rows, the other solver products of columns."""
    table, labels = all_sets(size)[name]
    rows, columns = table.shape
    if solver(name) == LIBSVM:
        return rows**2 * (20 + columns) + 1e8
    return 2000.0 * int(labels.max()) * rows * (30 + columns) + 1e8


def fold_task(size: Size, name: str, fold: int, penalties: Penalties) -> Task:
    files = hashed([Path(linear_svc.__file__)]) if solver(name) == INTERIOR else ""
    key = task_key(small_data_search.__file__, name, fold, penalties, SEARCH_ALPHAS, FOLDS, LIMIT, files)
    return Task(
        f"{name}, fold {fold + 1} of {FOLDS}", work(size, name), partial(set_rows, size, name, fold, penalties), key
    )


def set_rows(size: Size, name: str, fold: int, penalties: Penalties) -> list[Row]:
    table, labels = all_sets(size)[name]
    head = {"data": name, "rows": len(table), "columns": table.shape[1], "classes": int(labels.max()) + 1}
    head |= {"solver": solver(name)}
    try:
        return [head | row for row in fold_rows(table, labels, fold, penalties, solver(name), LIMIT)]
    except TooSlow:
        return []


def summarised(found: list[Row]) -> list[Row]:
    """Combine the folds of a method on a set into one row, with the score that was published for the set.

    Sets of which a fold was given up are left out.
    """
    published = datasets.published_scores()
    return [
        {name: value for name, value in folds[0].items() if name in HEAD}
        | {
            "auc": f"{np.mean([one['auc'] for one in folds]):.6f}",
            "penalties": " ".join(f"{one['penalty']:g}" for one in folds),
            "alphas": " ".join(f"{one['alpha']:.3g}" for one in folds if one["alpha"]),
            "published": f"{published[data]:.6f}" if method == MIN_MAX else "",
            "seconds": f"{sum(one['seconds'] for one in folds):.2f}",
        }
        for (data, method), folds in grouped(found, "data", "method").items()
        if len(folds) == FOLDS
    ]
