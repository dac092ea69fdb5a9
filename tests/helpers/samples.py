"""The samples that the issue names, and the points at which an integral of them is checked."""

import numpy as np


def _two_clusters(rng, n, distance):
    values = rng.normal(size=n)
    values[::2] += distance
    return values


def _outlier(rng, n):
    values = rng.normal(size=n)
    values[-1] = 1e9
    return values


SAMPLES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal-1": lambda rng, n: rng.lognormal(sigma=1, size=n),
    "lognormal-2": lambda rng, n: rng.lognormal(sigma=2, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "pareto-1.1": lambda rng, n: 1 + rng.pareto(1.1, size=n),
    "offset-1e9": lambda rng, n: 1e9 + _two_clusters(rng, n, 6),
    "poisson": lambda rng, n: rng.poisson(4, size=n).astype(np.float64),
    "far-clusters": lambda rng, n: _two_clusters(rng, n, 1e6),
    "outlier": _outlier,
}
KERNELS = [("gaussian", 4), *(("polyexp", order) for order in range(1, 7))]
ALPHAS = [0.05, 0.1, 0.3, 1.0, 3.0, 10.0]


def sample(name, n, seed=0):
    """The named sample of n values, never constant."""
    rng = np.random.default_rng([seed, n, *name.encode()])
    while True:
        values = SAMPLES[name](rng, n)
        if values.min() < values.max():
            return values


def probes(values, n=300, seed=0):
    """About n sorted points: training values, points between neighbours, an even grid, and both ends."""
    rng = np.random.default_rng(seed)
    ordered = np.unique(values[~np.isnan(values)])
    low, high = ordered[0], ordered[-1]
    chosen = ordered[np.unique(np.linspace(0, ordered.size - 1, n // 3).astype(int))]
    left = np.unique(np.r_[rng.integers(ordered.size - 1, size=n // 4), 0, ordered.size - 2])
    share = rng.uniform(size=left.size)
    between = ordered[left] * (1 - share) + ordered[left + 1] * share
    grid = np.linspace(low, high, n // 4)
    shifted = rng.uniform(low, high, n // 8)
    ends = [np.nextafter(low, high), np.nextafter(high, low), low + (high - low) * 1e-9, high - (high - low) * 1e-9]
    return np.unique(np.clip(np.r_[chosen, between, grid, shifted, ends], low, high))
