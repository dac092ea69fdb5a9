"""The paper's five mixtures, other samples, and the clustering methods that are compared.

The samples of the mixtures are those of the paper's notebook: the components in fixed shares, drawn one after the other
from the seeds 0 to 19.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans, MeanShift, estimate_bandwidth
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from threadpoolctl import threadpool_limits

import kdi
from experiments.hdbscan_epsilon import hdbscan
from experiments.libraries import installed

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Part = tuple[float, Callable[[Any, int], Floats]]  # share of the sample, and how to draw it

OURS, THEIRS = "kdi", "kditransform"
LEVELS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.01)  # of significance
SHOWN_LEVELS = (0.3, 0.1, 0.05, 0.01)
SHOWN_SEED = 1  # of the one sample per mixture that is plotted, as in the paper's notebook
FRESH = 1000  # the first of the seeds on which `significance` is chosen
MOST_CLUSTERS = 10
GRID = 2000  # positions at which the plain and the adaptive density are evaluated

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
# With alpha = inf the integral is a straight line, and its density flat: all of its valleys are due to chance.
FLAT = "uniform, α = ∞"
# The level is chosen on these. A uniform sample has peaks at both ends of its KD-integral at α = 1, not by chance.
JUDGED = ("normal", "exponential", "lognormal", "t, 2 df")


# Samples.


def mixture(data: str, n: int, seed: int) -> tuple[Floats, Labels]:
    """Return values and their components; the notebook draws all five mixtures from one seed, one after the other."""
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

    # Pass copies, since it changes the caller's array; use its boundaries, since it cannot transform without any.
    found = KDIDiscretizer().fit(values[:, None].copy())
    levels = found.kdit_.transform(values[:, None].copy())[:, 0]
    return np.searchsorted(found.kdd_.boundaries_[0], levels)


def kmeans_labels(values: Floats, seed: int) -> Labels:
    tried = [KMeans(k, n_init=10, random_state=seed).fit_predict(values[:, None]) for k in range(2, MOST_CLUSTERS + 1)]
    return max(tried, key=lambda labels: silhouette(values, labels))


def silhouette(values: Floats, labels: Labels) -> float:
    """Return the mean silhouette of clusters that are intervals, from cumulative sums.

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
    """Cluster with the bandwidth of the paper's notebook."""
    bandwidth = estimate_bandwidth(values[:, None], quantile=0.2, n_samples=500, random_state=seed)
    return MeanShift(bandwidth=bandwidth, bin_seeding=True).fit_predict(values[:, None])


def hdbscan_labels(values: Floats, seed: int) -> Labels:
    """Cluster with the paper's parameters; noise is -1."""
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
    """Evaluate a density of Gaussian kernels, each with its own bandwidth."""
    found = np.empty(len(places))
    for rows in np.array_split(np.arange(len(places)), len(places) // 100 + 1):
        found[rows] = np.exp(-0.5 * ((places[rows, None] - values) / bandwidths) ** 2) @ (1 / bandwidths)
    return found / (len(values) * np.sqrt(2 * np.pi))


METHODS: dict[str, Callable[[Floats, int], Labels]] = {
    OURS: kdi_labels,
    **{f"kdi, significance {level:g}": partial(kdi_labels, significance=level) for level in SHOWN_LEVELS},
    THEIRS: kditransform_labels,
    "KMeans, silhouette": kmeans_labels,
    "GMM, BIC": gmm_labels,
    "Bayesian GMM": bayesian_labels,
    "MeanShift": meanshift_labels,
    "HDBSCAN": hdbscan_labels,
    "KDE minima": minima_labels,
    "adaptive KDE minima": partial(minima_labels, sensitivity=0.5),
}

# The methods that the paper compares, under its names.
PAPER = {
    OURS: "KD-integral",
    "KMeans, silhouette": "KMeans + silhouette",
    "GMM, BIC": "GMM + BIC",
    "Bayesian GMM": "Bayesian GMM",
    "MeanShift": "MeanShift",
    "HDBSCAN": "HDBSCAN",
    "KDE minima": "KDE minima",
    "adaptive KDE minima": "adaptive KDE minima",
}


def usable() -> list[str]:
    """Return the methods whose libraries are installed: kditransform is part of the `bench` extra."""
    return [name for name in METHODS if name != THEIRS or installed(THEIRS)]


def n_clusters(labels: Labels) -> int:
    """Count the clusters; noise, which is -1, is not counted."""
    return len(np.unique(labels[labels >= 0]))


def fresh_names() -> dict[str, float | None]:
    """Return the names of kdi at every level of significance."""
    return {OURS: None, **{f"kdi, significance {level:g}": level for level in LEVELS}}


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress irrelevant warnings and run methods in one thread."""
    # Samples this small are clustered many times slower by several threads, which wait for each other.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # mixtures with more components than the data has
        warnings.filterwarnings("ignore", message=".*centroids.*boundaries")  # from the grid of kditransform
        yield
