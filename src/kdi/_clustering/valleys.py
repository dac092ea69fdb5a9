"""Valleys: where the density of a column's KD-integral is low, which is where clusters and bins are cut.

    x ──▶ T(x) ──▶ density of the T ──▶ its peaks and valleys ──▶ back through the inverse of T

In T, isolated values lie close together, so that thin regions are not cut into many groups: that is the paper's idea.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf, pi, sqrt
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri

from kdi._clustering.modes import Modes, find_modes
from kdi._clustering.queries import ColumnQueries, Resolve, assign_clusters
from kdi._integral.bandwidth import RULES, bandwidth_factor
from kdi._integral.integral import Integral
from kdi._integral.levels import TOLERANCE
from kdi._integral.maps import NO_RANGE, ColumnMap, build_map, forward, inverse
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array

GAUSSIAN = get_kernel("gaussian")
FINER = 4.0  # cells of the T are finer than their integral asks for, since their density is differentiated
# The variance of a density estimate is about f ROUGHNESS / (n h), the integral of the squared Gaussian being this.
ROUGHNESS = 1 / (2 * sqrt(pi))


NARROWEST = 1e-12  # bandwidth of the T, in units of their range, below which a kernel is lost in rounding
# Where there are too few valleys for a number of clusters: alphas to try, as factors of the given one, nearest first.
FACTORS = [2.0 ** (sign * step / 4) for step in range(1, 29) for sign in (1, -1)]


@dataclass(frozen=True, eq=False)
class Valleys:
    """One column's clusters: the table of T, the density of the T, and the peaks and valleys of it that are kept."""

    table: ColumnMap
    density: Integral | None  # None for a constant column, and for one without values
    modes: Modes
    sizes: Float64Array  # weight between the valleys
    alpha: float

    @property
    def boundaries(self) -> Float64Array:
        """The valleys as values of x, ascending."""
        return self._back(self.modes.valleys)

    @property
    def centers(self) -> Float64Array:
        """The peaks as values of x."""
        return self._back(self.modes.peaks)

    @property
    def n_clusters(self) -> int:
        return len(self.modes.peaks)

    @property
    def significances(self) -> Float64Array:
        """How many standard errors each valley lies below the lower of the peaks beside it."""
        if self.density is None:
            return np.empty(0)
        peaks, valleys = self.modes.lower_peaks, self.modes.valley_densities
        variance = ROUGHNESS / (self.sizes.sum() * self.density.bandwidth) * (peaks + valleys)
        return np.asarray((peaks - valleys) / np.sqrt(variance))

    def closed(self, valley: int) -> Valleys:
        """One valley closed."""
        sizes = np.delete(self.sizes, valley + 1)
        sizes[valley] += self.sizes[valley + 1]
        return replace(self, modes=self.modes.without(valley), sizes=sizes)

    def significant(self, level: float) -> Valleys:
        """Without the valleys that a sample of this size would show by chance, the least significant first."""
        result, least = self, float(ndtri(1 - level))
        while result.n_clusters > 1 and result.significances.min() < least:
            result = result.closed(int(result.significances.argmin()))
        return result

    def of_size(self, least: float) -> Valleys:
        """Without clusters that weigh less: each joins the neighbour behind the shallower valley."""
        result = self
        while result.n_clusters > 1 and result.sizes.min() < least:
            smallest = int(result.sizes.argmin())
            beside = [valley for valley in (smallest - 1, smallest) if 0 <= valley < len(result.modes.valleys)]
            result = result.closed(min(beside, key=lambda valley: result.modes.depths[valley]))
        return result

    def at_most(self, n_clusters: int) -> Valleys:
        """With the shallowest valleys closed, until no more clusters are left."""
        result = self
        while result.n_clusters > n_clusters:
            result = result.closed(int(result.modes.depths.argmin()))
        return result

    def distinct(self) -> Valleys:
        """Without valleys that are the same value of x as their neighbour, or as an end."""
        result = self
        while len(result.modes.valleys):
            edges = np.concatenate([[self.table.low], result.boundaries, [self.table.high]])
            same = np.flatnonzero(np.diff(edges) <= 0)
            if not len(same):
                break
            result = result.closed(min(int(same[0]), len(result.modes.valleys) - 1))
        return result

    def at_equal_steps(self, n_bins: int) -> Valleys:
        """Cut where T is 1/n, 2/n, … instead of at the valleys."""
        if self.density is None:
            return self
        steps = np.arange(2 * n_bins + 1) / (2 * n_bins)
        modes = Modes(steps[1::2], steps[2:-1:2], np.ones(n_bins), np.zeros(n_bins - 1))
        return replace(self, modes=modes, sizes=np.full(n_bins, np.nan)).distinct()

    def levels(self, values: Float64Array) -> Float64Array:
        """T of values of x."""
        result = np.empty((len(values), 1))
        forward([self.table], values[:, None], result, "clip")
        return result[:, 0]

    def density_at(self, values: Float64Array) -> Float64Array:
        """Density of the T at values of x; NaN for NaN."""
        result = np.where(np.isnan(values), np.nan, 1.0)
        if self.density is not None:
            result *= self._densities(self.levels(values), [slice(None)])[:, 0]
        return result

    def shares(self, values: Float64Array) -> Float64Array:
        """Each cluster's share of the density at values of x, one row a value; NaN for NaN."""
        if self.density is None:
            return np.where(np.isnan(values)[:, None], np.nan, np.ones((1, max(self.n_clusters, 1))))
        levels = self.levels(values)
        ends = [0, *np.searchsorted(self.density.positions, self.modes.valleys).tolist(), None]
        densities = self._densities(levels, [slice(*pair) for pair in pairwise(ends)])
        total = densities.sum(axis=1, keepdims=True)
        own = np.eye(self.n_clusters)[assign_clusters(levels - self.density.low, self.modes.valleys)]
        faint = total < 1e-8 / self.density.bandwidth  # of which rounding makes a large part
        shares = np.where(faint, own, densities / np.where(faint, 1.0, total))
        return np.where(np.isnan(values)[:, None], np.nan, shares)

    def _densities(self, levels: Float64Array, parts: list[slice]) -> Float64Array:
        """Density at levels of T that parts of its cells make, one column a part; 0 for NaN."""
        assert self.density is not None
        order = np.argsort(levels)
        known = order[: len(order) - int(np.isnan(levels).sum())]
        result = np.zeros((len(levels), len(parts)))
        at, density = levels[known] - self.density.low, self.density
        for k, part in enumerate(parts):
            cells, moments = density.positions[part], density.moments[part]
            found = core.integrate(cells, moments, density.width, 0, density.bandwidth, at)[1]
            result[known, k] = np.maximum(found, 0)
        return result

    def _back(self, levels: Float64Array) -> Float64Array:
        """Positions in T as values of x."""
        if self.density is None:
            return np.full(len(levels), self.table.low)
        result = np.empty((len(levels), 1))
        inverse([self.table], (levels + self.density.low)[:, None], result, "clip")
        return result[:, 0]


def find_valleys(
    rows: ColumnQueries, resolve: Resolve, bandwidths: list[Any], kernel: Kernel, name: Callable[[list[int]], str]
) -> list[Valleys]:
    """The clusters of each column, with all the valleys that its density has.

    `resolve` makes bandwidth factors of the columns' weights, `name` says what to call columns.
    """
    sketches = rows.sketches(kernel, resolve)
    wide = [j for j, sketch in enumerate(sketches) if sketch.range == inf]
    if wide:
        raise ValueError(f"the range of {name(wide)} is too large for float64; divide the values first.")
    alphas = resolve(np.array([sketch.weight for sketch in sketches]))
    with np.errstate(invalid="ignore"):  # inf times the deviation of a constant
        spreads = alphas * np.array([sketch.std for sketch in sketches])
    tables = [
        build_map(sketch, kernel, h, tolerance=TOLERANCE) for sketch, h in zip(sketches, spreads.tolist(), strict=True)
    ]
    levels = rows.levels(tables)
    factors = partial(_factors, bandwidths)
    found: list[Valleys] = []
    for j, sketch in enumerate(levels.sketches(GAUSSIAN, factors, FINER)):
        density, modes = _density(sketch, bandwidths[j], partial(name, [j]))
        found.append(Valleys(tables[j], density, modes, np.full(len(modes.peaks), sketch.weight), float(alphas[j])))
    # Weights are counted: a cell of the density may lie on both sides of a valley.
    cuts = [one.modes.valleys + (one.density.low if one.density else 0.0) for one in found]
    sizes = levels.weights_between(cuts) if any(len(here) for here in cuts) else [one.sizes for one in found]
    return [
        replace(one, sizes=size).distinct() if len(one.modes.valleys) else one
        for one, size in zip(found, sizes, strict=True)
    ]


def _density(sketch: Sketch, bandwidth: Any, name: Callable[[], str]) -> tuple[Integral | None, Modes]:
    """The density of a column's T, of which a sketch is given, and its peaks and valleys."""
    if not sketch.range > NO_RANGE:
        n_clusters = min(sketch.count, 1)
        return None, Modes(*(np.zeros(n) for n in (n_clusters, 0, n_clusters, 0)))
    spread = _factor(bandwidth, sketch.weight) * sketch.std
    if not spread > NARROWEST:
        raise ValueError(f"the bandwidth {bandwidth!r} of {name()} is too small: {spread} of its KD-integral.")
    density = Integral.from_sketch(sketch, GAUSSIAN, spread, FINER)
    return density, find_modes(density)


@dataclass(frozen=True)
class Pruning:
    """Which valleys count: what `kdi.cluster` and `KDIDiscretizer` let users say of it."""

    min_size: float | None = None
    significance: float | None = None

    def __post_init__(self) -> None:
        level, size = self.significance, self.min_size
        if level is not None and not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"significance must be None or a number between 0 and 1, got {level!r}.")
        if size is not None and not (isinstance(size, Real) and not isinstance(size, bool) and 0 <= size < inf):
            raise ValueError(f"min_size must be None or a number >= 0, got {size!r}.")

    def __call__(self, valleys: Valleys) -> Valleys:
        """A column's clusters without the valleys that do not count."""
        if self.significance is not None:
            valleys = valleys.significant(self.significance)
        if self.min_size is not None:
            least = self.min_size * valleys.sizes.sum() if self.min_size < 1 else self.min_size
            valleys = valleys.of_size(least)
        return valleys


def with_n_clusters(
    rows: ColumnQueries,
    found: Valleys,
    n_clusters: int,
    bandwidth: Any,
    kernel: Kernel,
    prune: Pruning,
    name: Callable[[list[int]], str],
) -> Valleys:
    """Exactly so many clusters of one column: by closing the shallowest valleys, or by the nearest alpha with enough.

    `found` are the clusters at the given alpha, pruned.
    """
    if found.n_clusters >= n_clusters:
        return found.at_most(n_clusters)
    most = found.n_clusters
    start = found.alpha if 0 < found.alpha < inf else 1.0
    alphas = np.array([*(start * factor for factor in FACTORS), inf, 0.0])
    for some in np.split(alphas, range(rows.at_once, len(alphas), rows.at_once)):
        copies = rows.columns([0] * len(some))
        for one in find_valleys(copies, partial(_given, some), [bandwidth] * len(some), kernel, partial(_first, name)):
            if prune(one).n_clusters >= n_clusters:
                return prune(one).at_most(n_clusters)
            most = max(most, prune(one).n_clusters)
    advice = f"A smaller bandwidth than {bandwidth!r} finds more."
    if found.density is None:
        advice = "It is constant."
    elif prune != Pruning():
        advice = f"min_size and significance close valleys, and a smaller bandwidth than {bandwidth!r} finds more."
    raise ValueError(f"{name([0])} has no {n_clusters} clusters at any alpha: at most {most} were found. {advice}")


def check_bandwidth(bandwidth: Any) -> None:
    """Raise unless a bandwidth is a rule or a positive number."""
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and 0 < float(bandwidth) < inf
    if not number and not (isinstance(bandwidth, str) and bandwidth in RULES):
        raise ValueError(f"bandwidth must be a positive number, 'scott' or 'silverman', got {bandwidth!r}.")


def _factor(bandwidth: Any, weight: float) -> float:
    """Bandwidth of the density in units of the deviation of the T (ddof=0); scipy's is of the one with ddof=1."""
    factor = bandwidth_factor(bandwidth, weight, "bandwidth")
    return factor * sqrt(weight / (weight - 1)) if weight > 1 else factor


def _given(alphas: Float64Array, weights: Float64Array) -> Float64Array:
    return alphas


def _first(name: Callable[[list[int]], str], places: list[int]) -> str:
    """The name of the one column of which there are copies."""
    return name([0])


def _factors(bandwidths: list[Any], weights: Float64Array) -> Float64Array:
    return np.array([_factor(one, weight) for one, weight in zip(bandwidths, weights.tolist(), strict=True)])
