"""Clusters of one variable: kdi.cluster up to 10,000,000 values, and other libraries up to the sizes they can handle.

The others solve different problems: jenkspy, ckwrap and GaussianMixture are given the number of clusters, HDBSCAN the
smallest size of one. All are measured on the same two bumps, which all of them should separate. kdi alone is measured
beside np.sort of the same values, which it does not need, and KDIDiscretizer per column.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.correlation import ratio, run_once, seconds
from benchmarks.report import Table, Target, number

LARGEST, QUICK_LARGEST = 10_000_000, 1_000_000
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 60.0, 5.0
SEED = 0
SHARE = 0.67  # of the values in the left bump; the paper's third mixture
# A boundary anywhere near the valley gives about 0.9.
AGREEMENT = 0.85
GRID = 2e-3  # kditransform's valleys are on a grid of steps of 1e-3, and its integral has an error of up to 1e-3
SORT, COLUMNS = "sort", "columns"  # keys of the results of kdi alone, beside those of the sizes
COLUMNS_SHAPE = (10_000, 20)
SORT_MILLISECONDS, COLUMN_MILLISECONDS = 200.0, 0.5
SMALLEST = 0.01  # size of the smallest cluster for HDBSCAN, as a share of the values

Values = Any


@dataclass(frozen=True)
class Contender:
    """A function that labels values, and the share of the largest size that it can handle in a minute."""

    label: Callable[[Values], Any]
    largest: float


def kdi_labels(values: Values) -> Any:
    import kdi

    return kdi.cluster(values).labels


def kditransform_labels(values: Values) -> Any:
    from kditransform import KDIDiscretizer

    # A copy, which every user needs who uses the values afterwards: fit changes them.
    column = values[:, None].copy()
    return KDIDiscretizer().fit(column).transform(column)[:, 0]


def jenkspy_labels(values: Values) -> Any:
    import jenkspy

    breaks = jenkspy.jenks_breaks(values, n_classes=2)
    return values > breaks[1]


def ckwrap_labels(values: Values) -> Any:
    import ckwrap

    return ckwrap.ckmeans(values, 2).labels


def hdbscan_labels(values: Values) -> Any:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=int(SMALLEST * len(values)), copy=True).fit_predict(values[:, None])


def mixture_labels(values: Values) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(2, random_state=SEED).fit_predict(values[:, None])


CONTENDERS = {
    "kdi.cluster": Contender(kdi_labels, 1),
    "ckwrap": Contender(ckwrap_labels, 1),
    "GaussianMixture": Contender(mixture_labels, 0.1),
    "kditransform": Contender(kditransform_labels, 0.1),
    "HDBSCAN": Contender(hdbscan_labels, 0.01),
    "jenkspy": Contender(jenkspy_labels, 0.001),
}


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing them would be timed
    for contender in CONTENDERS.values():
        contender.label(two_bumps(1000)[0])  # numba compiles and libraries load here, not in a timed round
    largest, budget = (QUICK_LARGEST, QUICK_BUDGET_SECONDS) if quick else (LARGEST, BUDGET_SECONDS)
    sizes = {f"{share:g}": measure_size(round(share * largest), share, budget) for share in (0.001, 0.01, 0.1, 1.0)}
    return sizes | {SORT: measure_sort(largest, budget / 2), COLUMNS: measure_columns(budget / 6)}


def two_bumps(n: int) -> tuple[Values, Any]:
    """Return values, and the bump that each comes from."""
    generator = np.random.default_rng([SEED, n])
    right = generator.random(n) >= SHARE
    return np.where(right, generator.normal(4, 1, n), generator.normal(1, 0.5, n)), right


def measure_size(n: int, share: float, budget: float) -> dict[str, Any]:
    print(f"clustering: {n:,} values", flush=True)
    values, truth = two_bumps(n)
    work = {
        name: partial(contender.label, values) for name, contender in CONTENDERS.items() if contender.largest >= share
    }
    outputs, costs = run_once(work)
    scores = check(values, truth, outputs)
    clocked = {name: partial(seconds, call) for name, call in work.items()}
    # One round is enough for contenders that take a large part of a minute.
    times = rounds.interleaved(clocked, rounds.turns(costs, budget, fewest=1))
    return {
        "values": n,
        "times": {
            name: {**rounds.summary(taken), "rounds": len(taken), "clusters": clusters(outputs[name])}
            | {"ari": scores[name]}
            for name, taken in times.items()
        },
    }


def measure_sort(n: int, budget: float) -> dict[str, Any]:
    """Time kdi.cluster beside np.sort on samples of n values."""
    import kdi
    from experiments.clustering_methods import MIXTURES

    rng = np.random.default_rng([SEED, n])
    mixed = [draw(rng, int(share * n / len(MIXTURES))) for parts in MIXTURES.values() for share, draw in parts]
    samples = {"normal": rng.normal(size=n), "the paper's mixtures together": rng.permutation(np.concatenate(mixed))}
    times: dict[str, Any] = {}
    for name, values in samples.items():
        print(f"clustering: {len(values):,} values, {name}", flush=True)
        work = {"kdi.cluster": partial(seconds, partial(kdi.cluster, values))}
        work["np.sort"] = partial(seconds, partial(np.sort, values))
        turns = rounds.turns({part: call() for part, call in work.items()}, budget / len(samples))
        times[name] = {part: rounds.summary(taken) for part, taken in rounds.interleaved(work, turns).items()}
    return {"values": n, "times": times}


def measure_columns(budget: float) -> dict[str, Any]:
    """Time KDIDiscretizer.fit per column of a table, beside KDITransformer.fit."""
    import kdi

    rows, columns = COLUMNS_SHAPE
    rng = np.random.default_rng([SEED, rows, columns])
    samples = {
        "two bumps": np.column_stack([rng.permutation(two_bumps(rows)[0]) for _ in range(columns)]),
        "lognormal": rng.lognormal(size=COLUMNS_SHAPE),
    }
    times: dict[str, Any] = {}
    for name, table in samples.items():
        print(f"clustering: KDIDiscretizer, {rows:,}×{columns}, {name}", flush=True)
        makers = {one.__name__: one for one in (kdi.KDIDiscretizer, kdi.KDITransformer)}
        work = {part: partial(seconds, partial(make().fit, table)) for part, make in makers.items()}
        turns = rounds.turns({part: call() for part, call in work.items()}, budget / len(samples))
        found = {part: rounds.summary(taken) for part, taken in rounds.interleaved(work, turns).items()}
        times[name] = {part: {kind: value / columns for kind, value in taken.items()} for part, taken in found.items()}
    return {"rows": rows, "columns": columns, "times": times}


def check(values: Values, truth: Any, outputs: Mapping[str, Any]) -> dict[str, float]:
    """Raise AssertionError for a wrong answer, else return the agreement of each contender with the truth."""
    from sklearn.metrics import adjusted_rand_score

    scores = {name: float(adjusted_rand_score(truth, labels)) for name, labels in outputs.items()}
    for name in outputs:
        if name != "HDBSCAN":  # it labels the sparse values as noise
            require(f"{name}, number of clusters", abs(clusters(outputs[name]) - 2), 0)
            require(f"{name}, agreement with the truth", 1 - scores[name], 1 - AGREEMENT)
    if "kditransform" in outputs:
        levels = integral(values)
        ends = [levels[outputs[name] == 0].max() for name in ("kdi.cluster", "kditransform")]
        require("kdi.cluster against kditransform, the boundary", abs(ends[0] - ends[1]), GRID)
    if "jenkspy" in outputs:  # both find the optimum
        ends = [values[outputs[name] == outputs[name][values.argmin()]].max() for name in ("jenkspy", "ckwrap")]
        require("jenkspy against ckwrap, the last value on the left", abs(ends[0] - ends[1]), 0)
    return scores


def integral(values: Values) -> Any:
    import kdi

    return kdi.KDITransformer().fit_transform(values[:, None])[:, 0]


def clusters(labels: Any) -> int:
    return len(np.unique(labels[labels >= 0]))


def tables(results: dict[str, Any]) -> list[Table]:
    sizes = [size_table(**measured) for name, measured in results.items() if name not in (SORT, COLUMNS)]
    note = "Minimum over interleaved rounds in one process."
    sort, columns = results.get(SORT), results.get(COLUMNS)
    if sort and columns:
        title = f"kdi.cluster of {sort['values']:,} values beside np.sort, milliseconds"
        sizes.append(pair_table(title, sort["times"], "np.sort", note))
        title = f"Fit per column of {columns['rows']:,} values, {columns['columns']} columns, milliseconds"
        sizes.append(pair_table(title, columns["times"], "KDITransformer", note))
    return sizes


def pair_table(title: str, times: dict[str, Any], unit: str, note: str) -> Table:
    """Make a table of two contenders, one line per sample."""
    names = list(next(iter(times.values())))
    rows = [
        [sample, *(number(one[name]["min"]) for name in names), number(ratio(one, names[0], unit))]
        for sample, one in times.items()
    ]
    return Table(title, ["", *names, f"{names[0]} / {unit}"], rows, note)


def size_table(values: int, times: dict[str, Any]) -> Table:
    rows = []
    for name, figures in times.items():
        cells = [number(figures["min"]), number(figures["median"]), number(1e6 * figures["min"] / values)]
        cells += [number(ratio(times, name, "kdi.cluster")), str(figures["clusters"]), f"{figures['ari']:.3f}"]
        rows.append([name, *cells, str(figures["rounds"])])
    header = ["", "minimum", "median", "ns per value", "of kdi.cluster", "clusters", "ARI", "rounds"]
    note = (
        "Over interleaved rounds in one process; ratios are of the minima; ARI against the true labels. "
        f"ckwrap, jenkspy and GaussianMixture are given K = 2, HDBSCAN min_cluster_size = {SMALLEST:.0%} of the values."
    )
    return Table(f"Clusters of {values:,} values, milliseconds", header, rows, note)


def targets(results: dict[str, Any]) -> list[Target]:
    """Check that the time is linear in the number of values up to the largest size."""
    largest, tenth = results["1"], results["0.1"]
    per_value = [1e6 * one["times"]["kdi.cluster"]["min"] / one["values"] for one in (largest, tenth)]
    found = [
        Target(
            f"kdi.cluster, {largest['values']:,} values: at most 1.5 times as long per value as {tenth['values']:,}",
            f"{number(per_value[0])} and {number(per_value[1])} ns per value",
            per_value[0] <= 1.5 * per_value[1],
        )
    ]
    for key, name, most in ((SORT, "kdi.cluster", SORT_MILLISECONDS), (COLUMNS, "KDIDiscretizer", COLUMN_MILLISECONDS)):
        measured = results.get(key, {"times": {}})
        for sample, times in measured["times"].items():
            what = f"a column of {measured['rows']:,}" if key == COLUMNS else f"{measured['values']:,} values"
            asked = f"{name}, {what}, {sample}: at most {most:g} ms"
            found.append(Target(asked, f"{number(times[name]['min'])} ms", times[name]["min"] <= most))
    return found
