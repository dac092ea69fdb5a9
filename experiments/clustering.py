"""How many clusters `kdi.cluster` finds, and how well, beside other methods; and what `significance` does to that.

The samples are those of the paper's five mixtures: the components in fixed shares, drawn one after the other from the
seeds 0 to 19, as the paper's notebook draws them. Its labels are those of the components in that order, but its values
are sorted, so that its adjusted Rand index (ARI) compares the clusters with labels of other values. Here labels stay
with their values (`ari`); what the notebook computes stands beside it (`notebook_ari`).

The recommended `significance` is chosen on other samples: how often it leaves samples from one peak in one piece, and
mixtures in as many as they have.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans, MeanShift, estimate_bandwidth
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from threadpoolctl import threadpool_limits

import kdi
from benchmarks.report import Table
from experiments.hdbscan_epsilon import hdbscan
from experiments.progress import Task, run
from kdi.valleys import Pruning

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Row = dict[str, Any]
Part = tuple[float, Callable[[Any, int], Floats]]  # share of the sample, and how to draw it

SIZES = (100, 200, 500, 1000, 2000, 5000)
SEEDS = 20
FRESH = 1000  # the first of the seeds on which `significance` is chosen
FRESH_MIXTURES, FRESH_UNIMODAL = 100, 400  # samples a cell
LEVELS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.01)
SHOWN_LEVELS = (0.3, 0.1, 0.05, 0.01)
ALLOWED = 0.05  # share of samples from one peak that the recommended level may split, on average
MOST_CLUSTERS = 10
GRID = 2000  # positions at which the plain and the adaptive density are looked at

MIXTURES: dict[str, list[Part]] = {
    "mixture 1": [
        (0.55, lambda rng, n: rng.normal(1, 0.75, n)),
        (0.30, lambda rng, n: rng.normal(4, 1, n)),
        (0.15, lambda rng, n: rng.uniform(0, 20, n)),
    ],
    "mixture 2": [
        (0.45, lambda rng, n: rng.normal(1, 0.5, n)),
        (0.45, lambda rng, n: rng.normal(4, 1, n)),
        (0.10, lambda rng, n: rng.uniform(0, 20, n)),
    ],
    "mixture 3": [(0.67, lambda rng, n: rng.normal(1, 0.5, n)), (0.33, lambda rng, n: rng.normal(4, 1, n))],
    # The paper's Exp(λ) is NumPy's exponential(λ): λ is the mean.
    "mixture 4": [(0.8, lambda rng, n: rng.exponential(1, n)), (0.2, lambda rng, n: 10 + rng.exponential(4, n))],
    "mixture 5": [(0.5, lambda rng, n: rng.exponential(8, n)), (0.5, lambda rng, n: 100 - rng.exponential(5, n))],
}
UNIMODAL: dict[str, Callable[[Any, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "t, 2 df": lambda rng, n: rng.standard_t(2, size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
}
# With alpha = inf the integral is a straight line, and its density flat: all of its valleys are there by chance.
FLAT = "uniform, α = ∞"
# The level is judged by these. A uniform sample has peaks at both ends of its KD-integral at α = 1, not by chance.
JUDGED = ("normal", "exponential", "lognormal", "t, 2 df")


def measure(quick: bool) -> list[Row]:
    sizes, seeds = (SIZES[:2], 2) if quick else (SIZES, SEEDS)
    tasks = [
        Task(f"{data}, N = {n:,}", seeds * (200 + n), partial(reported, data, n, seeds))
        for data in MIXTURES
        for n in sizes
    ]
    counts = (5, 10) if quick else (FRESH_MIXTURES, FRESH_UNIMODAL)
    for data in (*MIXTURES, *UNIMODAL, FLAT):
        count = counts[data not in MIXTURES]
        tasks += [
            Task(f"significance, {data}, N = {n:,}", count * (20 + n / 100), partial(fresh, data, n, count))
            for n in sizes
        ]
    # One thread: samples this small are clustered many times slower by threads that wait for each other.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of mixtures with more components than there are
        warnings.filterwarnings("ignore", message=".*centroids.*boundaries")  # of kditransform's grid
        return run(tasks)


# Samples.


def mixture(data: str, n: int, seed: int) -> tuple[Floats, Labels]:
    """Values and the components that they come from: all five mixtures come from one seed, one after the other."""
    rng = np.random.RandomState(seed)  # the paper's notebook seeds the global one
    for name, parts in MIXTURES.items():
        counts = [round(share * n) for share, _ in parts]
        values = np.concatenate([draw(rng, count) for count, (_, draw) in zip(counts, parts, strict=True)])
        if name == data:
            return values, np.repeat(np.arange(len(parts)), counts)
    raise KeyError(data)


def unimodal(data: str, n: int, seed: int) -> Floats:
    return UNIMODAL["uniform" if data == FLAT else data](np.random.default_rng([FRESH, seed, n, *data.encode()]), n)


# Methods: from values and a seed to labels.


def kdi_labels(values: Floats, seed: int, significance: float | None = None) -> Labels:
    return kdi.cluster(values, significance=significance).labels


def kditransform_labels(values: Floats, seed: int) -> Labels:
    from kditransform import KDIDiscretizer

    # Copies, since it alters the caller's array; and the boundaries, since it cannot transform where there are none.
    found = KDIDiscretizer().fit(values[:, None].copy())
    levels = found.kdit_.transform(values[:, None].copy())[:, 0]
    return np.searchsorted(found.kdd_.boundaries_[0], levels)


def kmeans_labels(values: Floats, seed: int) -> Labels:
    tried = [KMeans(k, n_init=10, random_state=seed).fit_predict(values[:, None]) for k in range(2, MOST_CLUSTERS + 1)]
    return max(tried, key=lambda labels: silhouette(values, labels))


def silhouette(values: Floats, labels: Labels) -> float:
    """Mean silhouette of clusters that follow each other on a line: of all values, by cumulative sums.

    The mean distance of a value from another such cluster is its distance from the mean of that cluster.
    """
    order = np.argsort(values, kind="stable")
    values, labels = values[order], labels[order]
    means = np.array([values[labels == k].mean() for k in range(labels.max() + 1)])
    beside = abs(values[:, None] - means)
    own = np.zeros(len(values))
    alone = np.zeros(len(values), dtype=bool)
    for k in range(len(means)):
        inside = labels == k
        part, count = values[inside], int(inside.sum())
        ranks, sums = np.arange(count), np.cumsum(part) - part
        own[inside] = ((2 * ranks - count) * part + part.sum() - 2 * sums) / max(count - 1, 1)
        alone |= inside & (count == 1)
        beside[inside, k] = np.inf
    nearest = beside.min(axis=1)
    return float(np.where(alone, 0, (nearest - own) / np.maximum(nearest, own)).mean())


def gmm_labels(values: Floats, seed: int) -> Labels:
    tried = [GaussianMixture(k, random_state=seed).fit(values[:, None]) for k in range(1, MOST_CLUSTERS + 1)]
    return min(tried, key=lambda model: model.bic(values[:, None])).predict(values[:, None])


def bayesian_labels(values: Floats, seed: int) -> Labels:
    model = BayesianGaussianMixture(
        n_components=MOST_CLUSTERS, weight_concentration_prior_type="dirichlet_process", random_state=seed
    )
    return model.fit_predict(values[:, None])


def meanshift_labels(values: Floats, seed: int) -> Labels:
    """With the bandwidth that the paper's notebook takes."""
    bandwidth = estimate_bandwidth(values[:, None], quantile=0.2, n_samples=500, random_state=seed)
    return MeanShift(bandwidth=bandwidth, bin_seeding=True).fit_predict(values[:, None])


def hdbscan_labels(values: Floats, seed: int) -> Labels:
    """-1 where it calls a value noise."""
    return hdbscan(values, min_cluster_size=5, epsilon=0.5)


def minima_labels(values: Floats, seed: int, sensitivity: float = 0.0) -> Labels:
    """Cut at the local minima of a density: Scott's bandwidth, times (density / its geometric mean)^-sensitivity."""
    grid = np.linspace(values.min(), values.max(), GRID)
    bandwidths = np.full(len(values), gaussian_kde(values).factor * values.std(ddof=1))
    if sensitivity:
        pilot = np.interp(values, grid, density(values, bandwidths, grid))
        bandwidths *= (pilot / np.exp(np.log(pilot).mean())) ** -sensitivity
    minima, _ = find_peaks(-density(values, bandwidths, grid))
    return np.searchsorted(grid[minima], values)


def density(values: Floats, bandwidths: Floats, places: Floats) -> Floats:
    """Gaussian kernels at the values, each with a bandwidth of its own."""
    found = np.empty(len(places))
    for rows in np.array_split(np.arange(len(places)), len(places) // 100 + 1):
        found[rows] = np.exp(-0.5 * ((places[rows, None] - values) / bandwidths) ** 2) @ (1 / bandwidths)
    return found / (len(values) * np.sqrt(2 * np.pi))


METHODS: dict[str, Callable[[Floats, int], Labels]] = {
    "kdi": kdi_labels,
    **{f"kdi, significance {level:g}": partial(kdi_labels, significance=level) for level in SHOWN_LEVELS},
    "kditransform": kditransform_labels,
    "KMeans, silhouette": kmeans_labels,
    "GMM, BIC": gmm_labels,
    "Bayesian GMM": bayesian_labels,
    "MeanShift": meanshift_labels,
    "HDBSCAN": hdbscan_labels,
    "KDE minima": minima_labels,
    "adaptive KDE minima": partial(minima_labels, sensitivity=0.5),
}


# What is measured.


def reported(data: str, n: int, seeds: int) -> list[Row]:
    """All methods on the same samples."""
    counts: dict[str, list[int]] = {name: [] for name in METHODS}
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    apart = 0.0
    for seed in range(seeds):
        values, truth = mixture(data, n, seed)
        order = np.argsort(values)
        for name, method in METHODS.items():
            labels = method(values, seed)
            counts[name].append(len(np.unique(labels[labels >= 0])))
            scores[name].append((adjusted_rand_score(truth, labels), adjusted_rand_score(truth, labels[order])))
        apart = max(apart, boundary_difference(values))
    rows = []
    for name in METHODS:
        ari, notebook_ari = np.mean(scores[name], axis=0)
        rows.append(
            row("all methods", data, n, name, counts[name])
            | {"ari": f"{ari:.4f}", "notebook_ari": f"{notebook_ari:.4f}"}
        )
    same = np.equal(counts["kdi"], counts["kditransform"])
    rows.append(
        row("agreement", data, n, "kdi and kditransform", [])
        | {"runs": seeds, "right": f"{same.mean():.4f}", "boundaries_apart": f"{apart:.1e}"}
    )
    return rows


def boundary_difference(values: Floats) -> float:
    """How far kdi's boundaries are from kditransform's, at most, in units of the KD-integral; 0 if numbers differ."""
    from kditransform import KDIDiscretizer

    ours = kdi.cluster(values).boundaries
    theirs = KDIDiscretizer().fit(values[:, None].copy()).kdd_.boundaries_[0]
    if len(ours) != len(theirs) or not len(ours):
        return 0.0
    levels = kdi.KDITransformer().fit(values[:, None]).transform(ours[:, None])[:, 0]
    return float(abs(levels - theirs).max())


def fresh(data: str, n: int, count: int) -> list[Row]:
    """How many clusters there are at every level of significance, in other samples."""
    counts: dict[str, list[int]] = {name: [] for name in fresh_names()}
    for values in fresh_samples(data, n, count):
        found = kdi.cluster(values, alpha=np.inf if data == FLAT else 1.0)._valleys
        for name, level in fresh_names().items():
            counts[name].append(Pruning(significance=level)(found).n_clusters)
    return [row("significance", data, n, name, found) for name, found in counts.items()]


def fresh_names() -> dict[str, float | None]:
    return {"kdi": None, **{f"kdi, significance {level:g}": level for level in LEVELS}}


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
        "ari": "",
        "notebook_ari": "",
        "boundaries_apart": "",
    }


# The rows as people read them.


def tables(rows: list[Row]) -> list[Table]:
    compared = [one for one in rows if one["measured"] == "all methods"]
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    found = [
        summary_table(
            "Share of runs with the right number of clusters, mean over the five mixtures", compared, "right"
        ),
        summary_table("Adjusted Rand index against the true labels, mean over the five mixtures", compared, "ari"),
        agreement_table([one for one in rows if one["measured"] == "agreement"]),
        notebook_table(compared),
    ]
    chosen = [one for one in rows if one["measured"] == "significance"]
    found += [false_table(chosen), power_table(chosen), choice_table(chosen)]
    for n in sizes:
        here = [one for one in compared if one["n"] == n]
        found += [
            mixture_table(f"Share of runs with the right number of clusters, N = {n:,}", here, "right", 2),
            mixture_table(f"Number of clusters, mean, N = {n:,}", here, "mean_clusters", 1),
            mixture_table(f"Adjusted Rand index against the true labels, N = {n:,}", here, "ari", 3),
        ]
    return found


def summary_table(title: str, rows: list[Row], what: str) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = []
    for method in METHODS:
        by_size = [[float(one[what]) for one in rows if (one["n"], one["method"]) == (n, method)] for n in sizes]
        body.append([method, *(f"{np.mean(values):.3f}" for values in by_size)])
    return Table(title, ["", *(f"N = {n:,}" for n in sizes)], body, f"{rows[0]['runs']} seeds a mixture.")


def mixture_table(title: str, rows: list[Row], what: str, digits: int) -> Table:
    cells = {(one["method"], one["data"]): float(one[what]) for one in rows}
    body = [[method, *(f"{cells[method, data]:.{digits}f}" for data in MIXTURES)] for method in METHODS]
    return Table(title, ["", *(f"{data} ({len(parts)})" for data, parts in MIXTURES.items())], body)


def agreement_table(rows: list[Row]) -> Table:
    body = []
    for n in dict.fromkeys(one["n"] for one in rows):
        here = [one for one in rows if one["n"] == n]
        differ = sum(round(one["runs"] * (1 - float(one["right"]))) for one in here)
        apart = max(float(one["boundaries_apart"]) for one in here)
        body.append([f"N = {n:,}", f"{sum(one['runs'] for one in here)}", f"{differ}", f"{apart:.1e}"])
    header = ["", "runs", "with another number of clusters", "largest distance of a boundary"]
    note = "Distances in units of the KD-integral, whose range is 1; "
    note += f"kditransform {version('kditransform')} looks at a grid of steps of 1e-3."
    return Table("kdi and kditransform on the same samples", header, body, note)


def notebook_table(rows: list[Row]) -> Table:
    n = 1000 if any(one["n"] == 1000 for one in rows) else rows[-1]["n"]
    cells = {one["data"]: one for one in rows if (one["n"], one["method"]) == (n, "kdi")}
    body = [
        [name, *(f"{float(cells[data][what]):.3f}" for data in MIXTURES)]
        for name, what in (("labels stay with their values", "ari"), ("values sorted, labels not", "notebook_ari"))
    ]
    return Table(
        f"Adjusted Rand index of kdi with and without the notebook's sorting, N = {n:,}", ["", *MIXTURES], body
    )


def by_level(rows: list[Row], data: str, n: int, wanted: Callable[[float], float]) -> list[str]:
    found = {one["method"]: float(one["right"]) for one in rows if (one["data"], one["n"]) == (data, n)}
    return [f"{wanted(found[name]):.3f}" for name in fresh_names()]


def level_header() -> list[str]:
    return ["", "N", "none", *(f"{level:g}" for level in LEVELS)]


def false_table(rows: list[Row]) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = [
        [data, f"{n:,}", *by_level(rows, data, n, lambda right: 1 - right)] for data in (*UNIMODAL, FLAT) for n in sizes
    ]
    runs = next(one["runs"] for one in rows if one["data"] == FLAT)
    note = f"{runs} samples a cell, others than in the tables of methods. The last lines are of a flat density."
    return Table("Share of samples from one peak that are split, by significance", level_header(), body, note)


def power_table(rows: list[Row]) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = [[data, f"{n:,}", *by_level(rows, data, n, lambda right: right)] for data in MIXTURES for n in sizes]
    runs = next(one["runs"] for one in rows if one["data"] in MIXTURES)
    note = f"{runs} samples a cell, others than in the tables of methods."
    return Table("Share of runs with the right number of clusters, by significance", level_header(), body, note)


def choice_table(rows: list[Row]) -> Table:
    """The means of the two tables above, and the level that follows."""
    split, right = {}, {}
    for name in fresh_names():
        own = [one for one in rows if one["method"] == name]
        split[name] = 1 - np.mean([float(one["right"]) for one in own if one["data"] in JUDGED])
        right[name] = np.mean([float(one["right"]) for one in own if one["data"] in MIXTURES])
    body = [
        [f"samples split: {', '.join(JUDGED)}", *(f"{value:.3f}" for value in split.values())],
        ["mixtures with the right number", *(f"{value:.3f}" for value in right.values())],
    ]
    levels = {name: level for name, level in fresh_names().items() if level and split[name] <= ALLOWED}
    best = f"{max(levels.values()):g}" if levels else "none of these"
    note = f"Means over all N. Recommended: {best}, the largest that splits at most {ALLOWED:.0%} of the former."
    return Table("The choice of significance", level_header()[:1] + level_header()[2:], body, note)
