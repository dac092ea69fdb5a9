"""Clusters by their definition: the direct sums of ``oracle.py``, then a Gaussian density of the levels T.

Nothing here comes from ``kdi``. For levels t_1 … t_m with masses w, summing to W, and the bandwidth
h = factor · std(t, ddof=1), the density is

    f(t) = 1/(W h) Σ w_i φ((t − t_i)/h)

Its stationary points are bracketed on a grid of h/100 and bisected there; those that are minima are the boundaries,
those that are maxima the centers, mapped back by bisection on T.
"""

from copy import copy
from functools import cached_property
from itertools import pairwise
from math import sqrt

import numpy as np
import oracle
from numpy.testing import assert_allclose
from scipy.optimize import brentq

FLAT = 1e-8  # of the highest density: what is less deep, or fainter, is rounding
STEPS_PER_BANDWIDTH = 100
ROUNDING = 1e-13  # of a sum
LEVEL = 1e-8  # twice what T may be off


def rule(bandwidth, weight):
    """The rules of thumb, as scipy.stats.gaussian_kde has them for one dimension."""
    if isinstance(bandwidth, str):
        return {"scott": weight, "silverman": 0.75 * weight}[bandwidth] ** -0.2
    return bandwidth


class Density:
    """A Gaussian kernel density estimate and its stationary points."""

    def __init__(self, values, bandwidth, weights=None):
        self.points, self.masses = oracle.distinct(values, weights)
        self.weight = self.masses.sum()
        self.bandwidth = bandwidth

    @classmethod
    def by_rule(cls, values, factor="scott", weights=None):
        """With the bandwidth in units of the deviation with ddof=1, as scipy.stats.gaussian_kde has it."""
        weight = oracle.distinct(values, weights)[1].sum()
        deviation = oracle.spread(values, weights) * sqrt(weight / (weight - 1))
        return cls(values, rule(factor, weight) * deviation, weights)

    def _sum(self, at, function, part=slice(None)):
        u = (np.atleast_1d(np.asarray(at, dtype=np.float64))[:, None] - self.points[part]) / self.bandwidth
        return (function(u) * np.exp(-(u**2) / 2)) @ self.masses[part] / (self.weight * sqrt(2 * np.pi))

    def value(self, at, part=slice(None)):
        return self._sum(at, np.ones_like, part) / self.bandwidth

    def slope(self, at):
        return self._sum(at, np.negative) / self.bandwidth**2

    def curve(self, at):
        return self._sum(at, lambda u: u**2 - 1) / self.bandwidth**3

    @cached_property
    def turns(self):
        """Peaks and valleys, alternating, the first and the last a peak; the least deep closed."""
        low, high = self.points[[0, -1]]
        grid = np.linspace(low, high, int((high - low) / self.bandwidth * STEPS_PER_BANDWIDTH) + 3)
        blocks = np.array_split(grid, max(1, grid.size * self.points.size // 2**20))
        slope, value = (np.concatenate([function(part) for part in blocks]) for function in (self.slope, self.value))
        sign = np.where(abs(slope) * self.bandwidth > ROUNDING * value, np.sign(slope), 0)
        sign[0], sign[-1] = 1, -1
        known = np.flatnonzero(sign)
        change = np.flatnonzero(np.diff(sign[known]))
        places = np.array([self._turn(grid[known[k]], grid[known[k + 1]]) for k in change])
        heights = self.value(places)
        while len(places) > 1:
            depths = 1 - heights[1::2] / np.minimum(heights[:-2:2], heights[2::2])
            if depths.min() >= FLAT:
                break
            places, heights = close(places, heights, int(depths.argmin()))
        return places, heights

    def _turn(self, left, right):
        for end, slope in zip((left, right), self.slope([left, right]), strict=True):
            if slope == 0:  # an end of the sample that is far from all other values
                return end
        return brentq(lambda at: self.slope(at)[0], left, right, xtol=1e-16, rtol=1e-15)


def close(places, heights, valley):
    """One valley closed: of the two peaks beside it, the lower one goes."""
    lower = 2 * valley if heights[2 * valley] < heights[2 * valley + 2] else 2 * valley + 2
    gone = [2 * valley + 1, lower]
    return np.delete(places, gone), np.delete(heights, gone)


class Clusters:
    """The clusters of a sample, with the names that the result of `kdi.cluster` has."""

    def __init__(self, values, alpha=1.0, bandwidth="scott", kernel="polyexp", weights=None):
        self.values = np.asarray(values, dtype=np.float64)
        self.weights = np.ones(self.values.size) if weights is None else np.asarray(weights, dtype=np.float64)
        self.points, self.masses = oracle.distinct(self.values, self.weights)
        self.alpha, self.kernel = rule(alpha, self.masses.sum()), kernel
        self.own = self.levels(self.points)
        self.density = Density.by_rule(self.own, bandwidth, self.masses)
        self.places, self.heights = self.density.turns

    def levels(self, at):
        """T."""
        return oracle.transform(self.points, at, self.alpha, self.kernel, weights=self.masses)

    def back(self, level):
        """The x where T is a level, by bisection."""
        low, high = self.points[[0, -1]]
        while True:
            middle = low + 0.5 * (high - low)
            if not low < middle < high:
                return middle
            low, high = (middle, high) if self.levels(middle) < level else (low, middle)

    def closed(self, valley):
        """One valley closed."""
        result = copy(self)
        result.places, result.heights = close(self.places, self.heights, valley)
        return result

    @property
    def valleys(self):
        return self.places[1::2]

    @property
    def peaks(self):
        return self.places[::2]

    @property
    def n_clusters(self):
        return len(self.peaks)

    @property
    def depths(self):
        return 1 - self.heights[1::2] / np.minimum(self.heights[:-2:2], self.heights[2::2])

    @property
    def boundaries(self):
        return np.array([self.back(level) for level in self.valleys])

    @property
    def centers(self):
        return np.array([self.back(level) for level in self.peaks])

    @property
    def labels(self):
        missing, weightless = np.isnan(self.values), ~np.isin(self.values, self.points)
        levels = self.own[np.minimum(np.searchsorted(self.points, self.values), self.points.size - 1)]
        levels[weightless & ~missing] = self.levels(self.values[weightless & ~missing])
        return np.where(missing, -1, np.searchsorted(self.valleys, levels, side="right"))

    @property
    def sizes(self):
        known = self.labels >= 0
        return np.bincount(self.labels[known], self.weights[known], minlength=self.n_clusters)

    def shares(self, at):
        """Each cluster's part of the density at values of x."""
        levels = self.levels(at)
        ends = [0, *np.searchsorted(self.density.points, self.valleys), None]
        parts = [self.density.value(levels, slice(*pair)) for pair in pairwise(ends)]
        return np.column_stack(parts) / self.density.value(levels)[:, None]

    def conditions(self):
        """How much further than the levels a turning point moves when they do: f / (h² |f″|), at least 1."""
        curve = abs(self.density.curve(self.places)) * self.density.bandwidth**2
        return np.maximum(1.0, self.heights / np.maximum(curve, 1e-300))


def mixture(number, n, seed=0):
    """One of the paper's five mixtures, 1 to 5, of n values: the values and which component each comes from."""
    rng = np.random.default_rng([seed, number, n])
    normal, uniform, exponential = rng.normal, rng.uniform, rng.exponential
    shares, components = {
        1: (
            [0.55, 0.3, 0.15],
            [lambda m: normal(1, 0.75, m), lambda m: normal(4, 1, m), lambda m: uniform(0, 20, m)],
        ),
        2: ([0.45, 0.45, 0.1], [lambda m: normal(1, 0.5, m), lambda m: normal(4, 1, m), lambda m: uniform(0, 20, m)]),
        3: ([0.67, 0.33], [lambda m: normal(1, 0.5, m), lambda m: normal(4, 1, m)]),
        4: ([0.8, 0.2], [lambda m: exponential(1, m), lambda m: 10 + exponential(4, m)]),
        5: ([0.5, 0.5], [lambda m: exponential(8, m), lambda m: 100 - exponential(5, m)]),
    }[number]
    component = rng.choice(len(shares), size=n, p=shares)
    values = np.empty(n)
    for k, draw in enumerate(components):
        values[component == k] = draw(int((component == k).sum()))
    return values, component


def closed_to(expected, n_clusters):
    """The shallowest valleys closed, one at a time."""
    while expected.n_clusters > n_clusters:
        expected = expected.closed(int(expected.depths.argmin()))
    return expected


def assert_turning_points(result, expected):
    """The numbers of both, and boundaries and centers where the oracle's levels are."""
    assert result.n_clusters == expected.n_clusters
    assert result.boundaries.shape == result.depths.shape == (expected.n_clusters - 1,)
    assert result.centers.shape == result.sizes.shape == (expected.n_clusters,)
    places = np.empty(len(expected.places))
    places[::2], places[1::2] = result.centers, result.boundaries
    levels = expected.levels(places)
    step = expected.levels(np.nextafter(places, np.inf)) - expected.levels(np.nextafter(places, -np.inf))
    near = abs(levels - expected.places) <= LEVEL * expected.conditions() + step  # as well as they are determined
    void = expected.heights < 1e-8 * expected.heights.max()  # a boundary anywhere in empty space
    assert (near | void).all()
    assert (expected.density.value(levels[void]) <= 1e-8 * expected.heights.max()).all()
    assert_allclose(result.depths, expected.depths, rtol=0, atol=LEVEL / expected.density.bandwidth)
