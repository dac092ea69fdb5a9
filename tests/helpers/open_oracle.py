"""The kernel cdf from minus infinity and its normal score by direct sums, relatively exact in both tails.

Nothing here comes from ``kdi``. Each tail is a sum of positive terms, so neither loses digits; the smaller one decides.
"""

import numpy as np
import oracle
from scipy.special import ndtri

LARGEST_SCORE = 6.0  # as far as the bounds of normal scores hold


def tails(values, at, bandwidth, kernel, order=4, weights=None):
    """P(-inf, at) and P(at, inf)."""
    points, masses = oracle.distinct(values, weights)
    shift = -np.frexp(max(points[-1] / 2 - points[0] / 2, 5e-324))[1]  # no magnitude is special
    with np.errstate(over="ignore"):
        points, at, bandwidth = (np.ldexp(one, shift) for one in (points, np.asarray(at, dtype=float), bandwidth))
    unit = bandwidth * oracle.canonical_scale(kernel, order)
    masses = masses / masses.max()
    step = max(1, oracle.BLOCK // points.size)
    lower, upper = np.empty(at.size), np.empty(at.size)
    for start in range(0, at.size, step):
        part = slice(start, start + step)
        with np.errstate(over="ignore"):
            u = (at[part, None] - points) / unit
        lower[part] = (oracle.kernel_cdf(u, kernel, order) * masses).sum(axis=1) / masses.sum()
        upper[part] = (oracle.kernel_cdf(-u, kernel, order) * masses).sum(axis=1) / masses.sum()
    return lower, upper


def level(lower, upper, output="uniform"):
    """The kernel cdf, or its normal score, from both tails."""
    if output == "normal":
        score = ndtri(np.minimum(lower, upper))
        return np.where(lower < upper, score, -score)
    return np.where(lower < upper, lower, 1 - upper)


def transform(values, at, bandwidth, kernel, order=4, weights=None, output="uniform"):
    """T with bounded=False at a bandwidth h > 0."""
    return level(*tails(values, at, bandwidth, kernel, order, weights), output)


def ranks(values, weights=None):
    """Distinct values, and both tails at them for h = 0: (rank - 1/2) / N, ties at the middle of theirs."""
    points, masses = oracle.distinct(values, weights)
    lower = np.cumsum(masses) - masses / 2
    upper = np.cumsum(masses[::-1])[::-1] - masses / 2
    return points, lower / masses.sum(), upper / masses.sum()


def quartiles(values, weights=None):
    """Quartiles as numpy has them: where the distribution function is a quarter, the middle between two values."""
    points, masses = oracle.distinct(values, weights)
    if (masses == np.round(masses)).all():
        return np.quantile(np.repeat(points, masses.astype(int)), [0.25, 0.75], method="averaged_inverted_cdf")
    return np.quantile(points, [0.25, 0.75], weights=masses, method="inverted_cdf")


def robust_spread(values, weights=None):
    """min(std, IQR / 1.349), or the standard deviation where the quartiles are equal."""
    low, high = quartiles(values, weights)
    std = oracle.spread(values, weights)
    return min(std, (high - low) / 1.3489795003921634) if high > low else std


def probes(values, bandwidth, n=200, seed=0):
    """Sorted points: values, what lies between and beside them, and far beyond both ends."""
    rng = np.random.default_rng(seed)
    points = np.unique(values[~np.isnan(values)])
    low, high = points[0], points[-1]
    chosen = points[np.unique(np.linspace(0, points.size - 1, n // 3).astype(int))]
    left = rng.integers(max(points.size - 1, 1), size=n // 3)
    share = rng.uniform(size=left.size)
    between = points[left] * (1 - share) + points[np.minimum(left + 1, points.size - 1)] * share
    beyond = rng.exponential(4, size=n // 3) * bandwidth
    near = rng.choice(points, n // 3) + rng.normal(size=n // 3) * bandwidth * 3
    found = np.r_[chosen, between, low - beyond, high + beyond, near, low, high]
    return np.unique(found[np.isfinite(found)])
