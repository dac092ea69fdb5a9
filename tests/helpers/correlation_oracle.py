"""KD-integral correlation by its definition: the direct sum of ``oracle.py``, then Pearson's formula.

Nothing here comes from ``kdi``. With weights w, which count repetitions, and R = T(x), S = T(y),

    r = Σ w (R − R̄)(S − S̄) / √( Σ w (R − R̄)² · Σ w (S − S̄)² )
"""

from functools import cache

import numpy as np
import oracle
from samples import sample
from scipy import stats

ROUNDING = 1e-12  # of the oracle's sums, over a spread of T that is small where one value is far out


def pearson(x, y, weights=None):
    """Pearson's formula, each weight a number of repetitions."""
    weights = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    x, y = (np.asarray(one, dtype=np.float64) for one in (x, y))
    x, y = (one - np.average(one, weights=weights) for one in (x, y))
    return np.sum(weights * x * y) / np.sqrt(np.sum(weights * x**2) * np.sum(weights * y**2))


def bandwidth_factor(alpha, weight):
    """The rules of thumb, as scipy.stats.gaussian_kde has them for one dimension."""
    if isinstance(alpha, str):
        return {"scott": weight, "silverman": 0.75 * weight}[alpha] ** -0.2
    return alpha


def levels(values, alpha=1.0, kernel="polyexp", weights=None, order=4):
    """T at the sample's own values."""
    values = np.asarray(values, dtype=np.float64)
    weight = values.size if weights is None else np.sum(weights)
    points, index = np.unique(values, return_inverse=True)
    factor = bandwidth_factor(alpha, weight)
    return oracle.transform(values, points, factor, kernel, order, weights=weights)[index]


def correlation(x, y, alpha=1.0, kernel="polyexp", weights=None, order=4):
    """The KD-integral correlation; `alpha` may be a pair."""
    one, other = alpha if isinstance(alpha, tuple) else (alpha, alpha)
    return pearson(levels(x, one, kernel, weights, order), levels(y, other, kernel, weights, order), weights)


def matrix(table, alpha=1.0, kernel="polyexp", order=4):
    """The correlations of all pairs of columns, without missing values."""
    columns = [levels(column, alpha, kernel, order=order) for column in np.transpose(table)]
    return np.array([[pearson(one, other) for other in columns] for one in columns])


def check(result, expected, tolerance):
    """Assert that a statistic is within its certified bound, and that the bound is small."""
    error = abs(result.statistic - expected)
    assert np.all(error <= result.error_bound + ROUNDING), (error, result.error_bound)
    assert np.all(result.error_bound >= 0)
    assert np.all(result.error_bound <= tolerance), result.error_bound


def pvalue(r, n, alternative="two-sided"):
    """The distribution of r for independent normal samples."""
    null = stats.beta(n / 2 - 1, n / 2 - 1, loc=-1, scale=2)
    return {"less": null.cdf(r), "greater": null.sf(r), "two-sided": 2 * null.sf(abs(r))}[alternative]


@cache
def named_levels(name, n, alpha, kernel):
    """`levels` of a named sample, summed once."""
    return levels(sample(name, n), alpha, kernel)


def pairing(x, y, seed=0):
    """An order of y's rows in which x and y rise together loosely: by their ranks, and noise."""
    noise = np.random.default_rng(seed).normal(scale=len(x) / 4, size=len(x))
    return np.argsort(y)[stats.rankdata(stats.rankdata(x) + noise).astype(int) - 1]


def named_pair(name, other, n):
    """Two named samples that depend on each other, and the order of the second that makes them."""
    x, y = sample(name, n), sample(other, n)
    order = pairing(x, y)
    return x, y[order], order
