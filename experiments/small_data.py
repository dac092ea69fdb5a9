"""The Small Data Benchmarks: a linear support vector classifier after each transformer, scored by ROC AUC.

The usual run measures the sets that are not in SLOW, and keeps the committed rows of the others. `--quick` runs the
twelve smallest files, which this repository contains, over fewer values of C. `--full` adds to the committed rows those
that they lack, the largest sets last, and gives up a set if one of its folds takes more than LIMIT seconds of processor
time. Stopped with Ctrl-C it writes the sets that are complete; the same command goes on from there. To measure all sets
anew, remove the committed rows first. How sets are scored: experiments/small_data_search.py.

`--full` also measures what shows that the scores are right: some sets by both solvers, and the sets whose score after
min-max scaling is not the published one, read as they were read for that one.
"""

from functools import cache, partial
from pathlib import Path

import numpy as np

from experiments import datasets, linear_svc, small_data_search
from experiments.names import INTERIOR, LIBSVM, MIN_MAX
from experiments.progress import Size, Task, cached, hashed, run, task_key
from experiments.rows import Row, chosen, grouped, read_rows
from experiments.small_data_search import (
    CHOICES,
    FOLDS,
    SEARCH_ALPHAS,
    Floats,
    Labels,
    Penalties,
    TooSlow,
    fold_rows,
)
from experiments.small_data_tables import (
    AS_PUBLISHED,
    BY_LIBSVM,
    LIMIT,
    READ_AGAIN,
    RULES,
    SLOW,
    SOLVED_TWICE,
    TWICE,
    claims,
    figures,
    labelled,
    tables,
)

__all__ = ["RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Small Data Benchmarks"
PENALTIES = tuple(10.0**power for power in range(-4, 3))  # C
QUICK_PENALTIES = PENALTIES[1::2]
JOBS = 2
HEAD = ("data", "rows", "columns", "classes", "solver", "method")
COMMITTED = Path(__file__).parent / "results" / "small_data.csv"


Kind = str  # of a measurement of a set: "", TWICE or AS_PUBLISHED


def measure(size: Size) -> list[Row]:
    kept = read_rows(COMMITTED) if COMMITTED.exists() and size != "quick" else []
    if size == "full":
        return added_to(kept)
    names = [name for name in in_order(size) if name not in SLOW]
    penalties = QUICK_PENALTIES if size == "quick" else PENALTIES
    tasks = [fold_task(size, name, "", fold, penalties) for name in names for fold in range(FOLDS)]
    return ordered(kept, summarised(run(tasks, JOBS)), in_order(size))


def ordered(kept: list[Row], rows: list[Row], names: list[str]) -> list[Row]:
    """Return new rows, and those kept of what they lack, in the order of the sets."""
    new = {(row["data"], row["method"]) for row in rows}
    rows = [row for row in kept if (row["data"], row["method"]) not in new] + rows
    return sorted(rows, key=lambda row: names.index(row["data"]))


def added_to(rows: list[Row]) -> list[Row]:
    """Measure what the rows lack, and return all: a set that is a copy of another is measured once."""
    order = in_order("full")
    there = {(row["data"], row["method"]) for row in rows}
    wanted = [(name, "") for name in order]
    wanted += [(name, TWICE) for name in SOLVED_TWICE] + [(name, AS_PUBLISHED) for name in READ_AGAIN]
    wanted = [(name, kind) for name, kind in wanted if (name, labelled(MIN_MAX, kind)) not in there]
    originals = first_copies({name: all_sets("full")[name] for name, kind in wanted if not kind})
    tasks = [
        fold_task("full", name, kind, fold, PENALTIES)
        for name, kind in wanted
        if kind or originals[name] == name
        for fold in range(FOLDS)
    ]
    print(f"A set is given up if one of its folds takes more than {LIMIT:,} s of processor time", flush=True)
    try:
        found = run(tasks, JOBS)
    except KeyboardInterrupt:
        found = cached(tasks)
    own = [row for row in found if row["method"] in CHOICES]
    found += [
        row | {"data": copy} for copy, name in originals.items() if copy != name for row in chosen(own, data=name)
    ]
    return ordered(rows, summarised(found), order)


def first_copies(sets: dict[str, tuple[Floats, Labels]]) -> dict[str, str]:
    """Name the first of the sets with the same rows and labels, per set."""
    firsts: dict[bytes, str] = {}
    return {name: firsts.setdefault(table.tobytes() + labels.tobytes(), name) for name, (table, labels) in sets.items()}


@cache  # the whole archive is read, once per process
def all_sets(size: Size) -> dict[str, tuple[Floats, Labels]]:
    path = datasets.SMALLEST if size == "quick" else None
    return {name: (table, labels) for name, table, labels in datasets.benchmarks(path)}


def in_order(size: Size) -> list[str]:
    """Name all sets, those that take longest last."""
    return sorted(all_sets(size), key=partial(work, size))


def work(size: Size, name: str) -> float:
    """Estimate the work: libsvm computes kernel values of all pairs of rows, the other solver products of columns."""
    table, labels = all_sets(size)[name]
    rows, columns = table.shape
    if solver(name) == LIBSVM:
        return rows**2 * (20 + columns) + 1e8
    return 2000.0 * int(labels.max()) * rows * (30 + columns) + 1e8


def solver(name: str, kind: Kind = "") -> str:
    by_libsvm = name not in SLOW or name in BY_LIBSVM
    return LIBSVM if by_libsvm != (kind == TWICE) else INTERIOR


def fold_task(size: Size, name: str, kind: Kind, fold: int, penalties: Penalties) -> Task:
    files = hashed([Path(linear_svc.__file__), Path(datasets.__file__)])
    key = task_key(small_data_search.__file__, name, kind, fold, penalties, SEARCH_ALPHAS, FOLDS, LIMIT, files)
    label = f"{name}, {kind or 'all methods'}, fold {fold + 1} of {FOLDS}"
    return Task(label, work(size, name), partial(fold_of_set, size, name, kind, fold, penalties), key)


def fold_of_set(size: Size, name: str, kind: Kind, fold: int, penalties: Penalties) -> list[Row]:
    """Return a row per method, or none if they take too long."""
    table, labels = datasets.as_published(name) if kind == AS_PUBLISHED else all_sets(size)[name]
    head = {"data": name, "rows": len(table), "columns": table.shape[1], "classes": int(labels.max()) + 1}
    methods = (MIN_MAX,) if kind == AS_PUBLISHED else tuple(CHOICES)
    try:
        rows = fold_rows(table, labels, fold, penalties, solver(name, kind), LIMIT, methods)
    except TooSlow:
        return []
    return [head | row | {"method": labelled(row["method"], kind), "solver": solver(name, kind)} for row in rows]


def summarised(found: list[Row]) -> list[Row]:
    """Combine the folds of a method on a set into one row, with the score that was published for the set.

    Sets of which a fold is missing are left out.
    """
    published = datasets.published_scores()
    return [
        {name: folds[0][name] for name in HEAD}
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
