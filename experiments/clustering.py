"""The number and the quality of clusters by `kdi.cluster` and other methods, and the effect of `significance`.

All methods use the same samples of the paper's five mixtures. The notebook of the paper sorts the values without their
labels, so that its adjusted Rand index (ARI) compares clusters with labels of other values. Here labels stay with their
values (`ari`); the index of the notebook is `notebook_ari`. `clusters_shown` is the number of clusters in the one
sample that is plotted.

The recommended `significance` is chosen on other samples, by how often it keeps samples from one peak in one cluster
and finds the right number of clusters in mixtures.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import kdi
from experiments import clustering_methods, hdbscan_epsilon
from experiments.clustering_claims import RULES, claims
from experiments.clustering_figures import figures
from experiments.clustering_methods import (
    FLAT,
    FRESH,
    METHODS,
    MIXTURES,
    OURS,
    SHOWN_SEED,
    THEIRS,
    UNIMODAL,
    Floats,
    fresh_names,
    mixture,
    n_clusters,
    quietly,
    unimodal,
    usable,
)
from experiments.clustering_tables import tables
from experiments.libraries import installed, print_missing
from experiments.progress import Size, Task, hashed, run, task_key
from experiments.rows import Row, grouped
from kdi._clustering.valleys import Pruning

__all__ = ["LIBRARIES", "RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Clustering univariate data"
LIBRARIES = (THEIRS,) if installed(THEIRS) else ()
SIZES = (100, 200, 500, 1000, 2000, 5000)
SEEDS = 20
SEEDS_PER_TASK = 10  # about 15 s at the largest size
FRESH_MIXTURES, FRESH_UNIMODAL = 100, 400  # samples per cell of the tables


def measure(size: Size) -> list[Row]:
    quick = size == "quick"
    print_missing([THEIRS])
    sizes, seeds = (SIZES[:2], 2) if quick else (SIZES, SEEDS)
    tasks = [
        compared_task(data, n, range(begin, min(begin + SEEDS_PER_TASK, seeds)))
        for data in MIXTURES
        for n in sizes
        for begin in range(0, seeds, SEEDS_PER_TASK)
    ]
    counts = (5, 10) if quick else (FRESH_MIXTURES, FRESH_UNIMODAL)
    tasks += [fresh_task(data, n, counts[data not in MIXTURES]) for data in (*MIXTURES, *UNIMODAL, FLAT) for n in sizes]
    with quietly():
        found = run(tasks)
    return summarised([one for one in found if "seed" in one]) + [one for one in found if "seed" not in one]


def key(*parts: Any, libraries: tuple[str, ...] = ()) -> str:
    """Return the cache key of rows; it changes with the source of this module and of the methods."""
    methods = hashed(Path(module.__file__) for module in (clustering_methods, hdbscan_epsilon))
    return task_key(__file__, *parts, methods, libraries=libraries)


# All methods on the same samples.


def compared_task(data: str, n: int, seeds: range) -> Task:
    names = usable()
    own = key("compared", data, n, [*seeds], names, libraries=(THEIRS,) if THEIRS in names else ())
    label = f"{data}, N = {n:,}, seeds {seeds[0]} to {seeds[-1]}"
    return Task(label, len(seeds) * (200 + n), partial(compared, data, n, seeds, names), own)


def compared(data: str, n: int, seeds: range, names: list[str]) -> list[Row]:
    """Cluster samples by all methods: one row per sample and method."""
    found = []
    for seed in seeds:
        values, truth = mixture(data, n, seed)
        order = np.argsort(values)
        for name in names:
            labels = METHODS[name](values, seed)
            found.append(
                {"data": data, "n": n, "seed": seed, "method": name, "clusters": n_clusters(labels)}
                | {"ari": float(adjusted_rand_score(truth, labels))}
                | {"notebook_ari": float(adjusted_rand_score(truth, labels[order]))}
                | {"apart": boundary_difference(values) if name == THEIRS else 0.0}
            )
    return found


def boundary_difference(values: Floats) -> float:
    """Return the largest distance of kdi's boundaries from kditransform's, in the KD-integral; 0 if numbers differ."""
    from kditransform import KDIDiscretizer

    ours = kdi.cluster(values).boundaries
    theirs = KDIDiscretizer().fit(values[:, None].copy()).kdd_.boundaries_[0]
    if len(ours) != len(theirs) or not len(ours):
        return 0.0
    levels = kdi.KDITransformer().fit(values[:, None]).transform(ours[:, None])[:, 0]
    return float(abs(levels - theirs).max())


def summarised(samples: list[Row]) -> list[Row]:
    """Summarise samples: one row per mixture, size and method, and one for the agreement of kdi and kditransform."""
    rows = []
    for (data, n), cell in grouped(samples, "data", "n").items():
        methods = {name: own for (name,), own in grouped(cell, "method").items()}
        counts = {name: [one["clusters"] for one in own] for name, own in methods.items()}
        for name, own in methods.items():
            ari, notebook_ari = np.mean([(one["ari"], one["notebook_ari"]) for one in own], axis=0)
            shown = next(one["clusters"] for one in own if one["seed"] == SHOWN_SEED)
            rows.append(
                row("all methods", data, n, name, counts[name])
                | {"clusters_shown": shown, "ari": f"{ari:.4f}", "notebook_ari": f"{notebook_ari:.4f}"}
            )
        if THEIRS in methods:
            same = np.equal(counts[OURS], counts[THEIRS])
            apart = max(one["apart"] for one in methods[THEIRS])
            rows.append(
                row("agreement", data, n, "kdi and kditransform", [])
                | {"runs": len(same), "right": f"{same.mean():.4f}", "boundaries_apart": f"{apart:.1e}"}
            )
    return rows


# kdi at all levels of significance, on other samples.


def fresh_task(data: str, n: int, count: int) -> Task:
    label, call = f"significance, {data}, N = {n:,}", partial(fresh, data, n, count)
    return Task(label, count * (20 + n / 100), call, key("fresh", data, n, count))


def fresh(data: str, n: int, count: int) -> list[Row]:
    counts: dict[str, list[int]] = {name: [] for name in fresh_names()}
    for values in fresh_samples(data, n, count):
        found = kdi.cluster(values, alpha=np.inf if data == FLAT else 1.0).valleys
        for name, level in fresh_names().items():
            counts[name].append(Pruning(significance=level).apply(found).n_clusters)
    return [row("significance", data, n, name, found) for name, found in counts.items()]


def fresh_samples(data: str, n: int, count: int) -> Iterator[Floats]:
    for seed in range(FRESH, FRESH + count):
        yield mixture(data, n, seed)[0] if data in MIXTURES else unimodal(data, n, seed)


def row(measured: str, data: str, n: int, method: str, counts: list[int]) -> Row:
    true = len(MIXTURES.get(data, [None]))
    return {
        "measured": measured,
        "data": data,
        "n": n,
        "method": method,
        "runs": len(counts),
        "right": f"{np.mean(np.equal(counts, true)):.4f}" if counts else "",
        "mean_clusters": f"{np.mean(counts):.2f}" if counts else "",
        "clusters_shown": "",
        "ari": "",
        "notebook_ari": "",
        "boundaries_apart": "",
    }
