"""The direct sum, written from the formulas alone: the suite's own oracle.

Nothing here comes from ``kdi``. For a sample X_1 … X_n with weights w and a bandwidth h,

    P(a, b) = (1/W) Σ w_i [ G((b − X_i)/h) − G((a − X_i)/h) ],      T(x) = P(min, x) / P(min, max)

with G the cdf of the kernel at its canonical scale, evaluated one product n × m at a time.
"""

from math import factorial, pi, sqrt

import numpy as np
from scipy.special import ndtr

BLOCK = 1 << 16  # products n × m held at a time: half a megabyte stays in the cache


def distinct(values, weights=None):
    """Sorted distinct values that have weight, and the weight of each."""
    values = np.asarray(values, dtype=np.float64).ravel()
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=np.float64)
    keep = ~np.isnan(values) & (weights > 0)
    points, index = np.unique(values[keep], return_inverse=True)
    return points, np.bincount(index, weights=weights[keep], minlength=points.size)


def spread(values, weights=None):
    """Standard deviation with ddof=0, each weight a number of repetitions."""
    points, masses = distinct(values, weights)
    centred = points - points[0]  # exact enough at offset 1e9, where the raw squares are not
    mean = np.average(centred, weights=masses)
    return sqrt(np.average((centred - mean) ** 2, weights=masses))


def canonical_scale(kernel, order=4):
    """Kernel's own unit for bandwidth 1: equal smoothing of different kernels at one h."""
    if kernel == "gaussian":
        return 1.0
    powers = range(order + 1)
    beta = [1 / (factorial(i) * 2 * (order + 1)) for i in powers]
    roughness = sum(beta[i] * beta[j] * factorial(i + j) / 2 ** (i + j) for i in powers for j in powers)
    variance = 2 * sum(beta[i] * factorial(i + 2) for i in powers)
    return (2 * sqrt(pi) * roughness / variance**2) ** 0.2


def _exponential_tail(distance, coefficients):
    """e^(−u) Σ_j c_j u^j for u ≥ 0, zero where the exponential underflows."""
    distance = np.minimum(distance, 745.0)
    total = np.full_like(distance, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= distance
        total += coefficient
    total *= np.exp(-distance)
    return total


def kernel_cdf(u, kernel, order=4):
    """G(u), in the kernel's own units."""
    u = np.asarray(u, dtype=np.float64)
    if kernel == "gaussian":
        return ndtr(u)
    tail = _exponential_tail(np.abs(u), [(order + 1 - j) / (factorial(j) * 2 * (order + 1)) for j in range(order + 1)])
    return np.where(u > 0, 1 - tail, tail)


def kernel_pdf(u, kernel, order=4):
    """K(u) = G′(u), in the kernel's own units."""
    u = np.asarray(u, dtype=np.float64)
    if kernel == "gaussian":
        return np.exp(-(u**2) / 2) / sqrt(2 * pi)
    return _exponential_tail(np.abs(u), [1 / (factorial(j) * 2 * (order + 1)) for j in range(order + 1)])


def _mean_over(points, masses, at, unit, function):
    at = np.asarray(at, dtype=np.float64)
    flat = at.ravel()
    result = np.empty(flat.size)
    step = max(1, BLOCK // points.size)
    for start in range(0, flat.size, step):
        u = (flat[start : start + step, None] - points) / unit
        result[start : start + step] = (function(u) * masses).sum(axis=1) / masses.sum()
    return result.reshape(at.shape)


def cdf(values, at, bandwidth, kernel, order=4, weights=None):
    """Kernel density estimate's cdf (not cut at the sample's ends)."""
    points, masses = distinct(values, weights)
    unit = bandwidth * canonical_scale(kernel, order)
    return _mean_over(points, masses, at, unit, lambda u: kernel_cdf(u, kernel, order))


def pdf(values, at, bandwidth, kernel, order=4, weights=None):
    """Kernel density estimate."""
    points, masses = distinct(values, weights)
    unit = bandwidth * canonical_scale(kernel, order)
    return _mean_over(points, masses, at, unit, lambda u: kernel_pdf(u, kernel, order)) / unit


def quantile_limit(values, at, weights=None):
    """T at alpha=0: mid-ranks at the distinct values, straight lines between them."""
    points, masses = distinct(values, weights)
    ranks = np.cumsum(masses) - masses / 2
    return np.interp(at, points, (ranks - ranks[0]) / (ranks[-1] - ranks[0]))


def transform(values, at, alpha, kernel, order=4, weights=None):
    """T(at), 0 below the sample and 1 above it."""
    points, _ = distinct(values, weights)
    at = np.asarray(at, dtype=np.float64)
    if points.size == 1:
        return np.where(np.isnan(at), np.nan, (at > points[0]).astype(np.float64))
    if alpha == 0:
        return quantile_limit(values, at, weights)
    at = np.clip(at, points[0], points[-1])
    if np.isinf(alpha):
        return (at - points[0]) / (points[-1] - points[0])
    bandwidth = alpha * spread(values, weights)
    ends = cdf(values, points[[0, -1]], bandwidth, kernel, order, weights)
    return (cdf(values, at, bandwidth, kernel, order, weights) - ends[0]) / (ends[1] - ends[0])


def slope(values, at, alpha, kernel, order=4, weights=None):
    """T′(at) within the sample's range."""
    points, _ = distinct(values, weights)
    bandwidth = alpha * spread(values, weights)
    ends = cdf(values, points[[0, -1]], bandwidth, kernel, order, weights)
    return pdf(values, at, bandwidth, kernel, order, weights) / (ends[1] - ends[0])
