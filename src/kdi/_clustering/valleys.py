"""Valleys: where the density of a column's KD-integral is low; clusters and bins are cut there.

    x ──▶ T(x) ──▶ density of the T ──▶ its peaks and valleys ──▶ back through the inverse of T

In T, isolated values lie close together, so that thin regions are not cut into many groups: that is the paper's idea.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from math import inf, pi, sqrt
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri

from kdi._clustering.modes import Modes, find_modes
from kdi._clustering.queries import ColumnQueries, assign_clusters
from kdi._integral.bandwidth import BANDWIDTH_RULES, bandwidth_factor
from kdi._integral.integral import Integral
from kdi._integral.maps import ColumnMap, PackedMaps, forward, inverse
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array
from kdi._utils.validation import to_float

DescribeColumns = Callable[[list[int]], str]  # from positions of columns to what messages call them

GAUSSIAN = get_kernel("gaussian")
FINER = 4.0  # cells of the T are finer than their integral needs, since their density is differentiated
# The variance of a density estimate is about f ROUGHNESS / (n h), the integral of the squared Gaussian being this.
ROUGHNESS = 1 / (2 * sqrt(pi))
MIN_BANDWIDTH = 1e-12  # of the T, in units of their range; a narrower kernel is lost in rounding
# Where there are too few valleys for a number of clusters: alphas to try, as factors of the given one, nearest first.
ALPHA_FACTORS = [2.0 ** (sign * step / 4) for step in range(1, 29) for sign in (1, -1)]


@dataclass(frozen=True, eq=False)
class Valleys:
    """The clusters of one column: its map to T, the density of the T, and those of its peaks and valleys that count."""

    column_map: ColumnMap
    density: Integral | None  # None for a constant column and for one without values
    modes: Modes
    sizes: Float64Array  # weight of each cluster
    alpha: float
    turns: InitVar[Float64Array | None] = None  # the peaks and then the valleys, as values of x

    def __post_init__(self, turns: Float64Array | None) -> None:
        if turns is not None:
            self.__dict__["_turns"] = turns

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # without cached properties

    @property
    def boundaries(self) -> Float64Array:
        """The valleys as values of x, ascending."""
        return self._turns[len(self.modes.peaks) :].copy()

    @property
    def centers(self) -> Float64Array:
        """The peaks as values of x."""
        return self._turns[: len(self.modes.peaks)].copy()

    @cached_property
    def _turns(self) -> Float64Array:
        return self.values_at(np.concatenate([self.modes.peaks, self.modes.valleys]))

    @property
    def edges(self) -> Float64Array:
        """The smallest value, the boundaries and the largest value."""
        return np.concatenate([[self.column_map.low], self.boundaries, [self.column_map.high]])

    @property
    def n_clusters(self) -> int:
        return len(self.modes.peaks)

    @property
    def significances(self) -> Float64Array:
        """Number of standard errors by which each valley lies below the lower of the peaks beside it."""
        if self.density is None:
            return np.empty(0)
        peaks, valleys = self.modes.lower_peaks, self.modes.valley_densities
        with np.errstate(divide="ignore", over="ignore"):  # of next to no weight, everything is chance
            variance = ROUGHNESS / (self.sizes.sum() * self.density.bandwidth) * (peaks + valleys)
        return np.asarray((peaks - valleys) / np.sqrt(variance))

    def without(self, valley: int) -> Valleys:
        """Close one valley: the two clusters beside it become one."""
        sizes = np.delete(self.sizes, valley + 1)
        sizes[valley] += self.sizes[valley + 1]
        return replace(self, modes=self.modes.without(valley), sizes=sizes)

    def without_insignificant(self, level: float) -> Valleys:
        """Close the valleys that a sample of this size would show by chance, the least significant first."""
        result, least = self, float(ndtri(1 - level))
        while result.n_clusters > 1 and result.significances.min() < least:
            result = result.without(int(result.significances.argmin()))
        return result

    def without_small(self, min_size: float) -> Valleys:
        """Join each cluster of less weight, the smallest first, with the neighbour behind the shallower valley."""
        result = self
        while result.n_clusters > 1 and result.sizes.min() < min_size:
            smallest = int(result.sizes.argmin())
            beside = [valley for valley in (smallest - 1, smallest) if 0 <= valley < len(result.modes.valleys)]
            result = result.without(min(beside, key=lambda valley: result.modes.depths[valley]))
        return result

    def with_at_most(self, n_clusters: int) -> Valleys:
        """Close the shallowest valleys until there are no more clusters than that."""
        result = self
        while result.n_clusters > n_clusters:
            result = result.without(int(result.modes.depths.argmin()))
        return result

    def without_coincident(self) -> Valleys:
        """Close valleys that are the same value of x as their neighbour, or as an end of the range."""
        result = self
        while len(result.modes.valleys):
            same = np.flatnonzero(np.diff(result.edges) <= 0)
            if not len(same):
                break
            result = result.without(min(int(same[0]), len(result.modes.valleys) - 1))
        return result

    def with_uniform_bins(self, n_bins: int) -> Valleys:
        """Cut where T is 1/n, 2/n, … instead of at the valleys; the sizes are then unknown."""
        if self.density is None:
            return self
        levels = np.arange(2 * n_bins + 1) / (2 * n_bins)
        modes = Modes(levels[1::2], levels[2:-1:2], np.ones(n_bins), np.zeros(n_bins - 1))
        return replace(self, modes=modes, sizes=np.full(n_bins, np.nan)).without_coincident()

    def levels(self, values: Float64Array) -> Float64Array:
        """Map values of x to T."""
        result = np.empty((len(values), 1))
        forward([self.column_map], values[:, None], result, "clip")
        return result[:, 0]

    def values_at(self, positions: Float64Array) -> Float64Array:
        """Map positions in the density of the T, which count from its smallest value, back to values of x."""
        if self.density is None:
            return np.full(len(positions), self.column_map.low)
        result = np.empty((len(positions), 1))
        inverse([self.column_map], (positions + self.density.low)[:, None], result, "clip")
        return result[:, 0]

    def cells(self) -> tuple[Float64Array, Float64Array]:
        """Return the positions of the cells of the density, and their weights, which sum to 1."""
        if self.density is None:
            return np.zeros(1), np.ones(1)
        return self.density.positions, self.density.moments[:, 0]

    def density_at(self, values: Float64Array) -> Float64Array:
        """Evaluate the density of the T at values of x; NaN for NaN."""
        result = np.where(np.isnan(values), np.nan, 1.0)
        if self.density is not None:
            result *= self._densities(self.levels(values), [slice(None)])[:, 0]
        return result

    def shares(self, values: Float64Array) -> Float64Array:
        """Return each cluster's share of the density at values of x, one row per value; NaN for NaN."""
        if self.density is None:
            return np.where(np.isnan(values)[:, None], np.nan, np.ones((1, max(self.n_clusters, 1))))
        levels = self.levels(values)
        ends = [0, *np.searchsorted(self.density.positions, self.modes.valleys).tolist(), None]
        densities = self._densities(levels, [slice(*pair) for pair in pairwise(ends)])
        total = densities.sum(axis=1, keepdims=True)
        own = np.eye(self.n_clusters)[assign_clusters(levels - self.density.low, self.modes.valleys)]
        faint = total < 1e-8 / self.density.bandwidth  # rounding errors are a large part of so small a density
        shares = np.where(faint, own, densities / np.where(faint, 1.0, total))
        return np.where(np.isnan(values)[:, None], np.nan, shares)

    def _densities(self, levels: Float64Array, cell_ranges: list[slice]) -> Float64Array:
        """Evaluate the densities that ranges of the cells contribute at T, one column per range; 0 for NaN."""
        assert self.density is not None
        order = np.argsort(levels)
        known = order[: len(order) - int(np.isnan(levels).sum())]
        result = np.zeros((len(levels), len(cell_ranges)))
        at, density = levels[known] - self.density.low, self.density
        for k, cells in enumerate(cell_ranges):
            positions, moments = density.positions[cells], density.moments[cells]
            found = core.integrate(positions, moments, density.width, 0, density.bandwidth, at)[1]
            result[known, k] = np.maximum(found, 0)
        return result


def find_valleys(
    queries: ColumnQueries,
    factors: Float64Array,
    bandwidths: list[Any],
    kernel: Kernel,
    describe: DescribeColumns,
    n_threads: int = 1,
) -> list[Valleys]:
    """Find the clusters of each column, with all the valleys that its density has.

    `factors` are the bandwidth factors of the integrals or rules, as `bandwidth.alpha_factors` returns them.
    """

    def check_ranges(ranges: Float64Array) -> None:
        wide = np.flatnonzero(ranges == inf).tolist()
        if wide:
            raise ValueError(f"the range of {describe(wide)} is too large for float64; divide the values first.")

    features = queries.fit(factors, kernel, check_ranges)
    sketches = queries.level_sketches(features.maps, partial(_density_factors, bandwidths), GAUSSIAN, FINER)
    densities = [
        _density(sketch, bandwidth, partial(describe, [j]))
        for j, (sketch, bandwidth) in enumerate(zip(sketches, bandwidths, strict=True))
    ]
    of_densities = iter(find_modes([one for one in densities if one is not None], n_threads))
    modes = [
        _constant_modes(sketch) if density is None else next(of_densities)
        for sketch, density in zip(sketches, densities, strict=True)
    ]
    turns = _turns(features.maps, densities, modes)
    # Sizes take a pass of their own: a cell of the density may lie on both sides of a valley.
    sizes = [np.full(min(sketch.count, 1), sketch.weight) for sketch in sketches]
    if any(len(one.valleys) for one in modes):
        between = queries.weights_between([values[len(own.peaks) :] for values, own in zip(turns, modes, strict=True)])
        sizes = [own if len(one.valleys) else whole for own, one, whole in zip(between, modes, sizes, strict=True)]
    return [
        Valleys(features.maps[j], densities[j], modes[j], sizes[j], alpha, turns[j]).without_coincident()
        for j, alpha in enumerate(features.alpha.tolist())
    ]


def _turns(maps: PackedMaps, densities: list[Integral | None], modes: list[Modes]) -> list[Float64Array]:
    """Return the peaks and then the valleys of each column, as values of x."""
    lengths = [len(one.peaks) + len(one.valleys) for one in modes]
    levels = np.zeros((len(maps), max(lengths, default=0)))
    for row, density, own in zip(levels, densities, modes, strict=True):
        if density is not None:
            positions = np.concatenate([own.peaks, own.valleys])
            row[: len(positions)] = positions + density.low
    values = np.empty_like(levels)
    inverse(maps, levels.T, values.T, "clip")
    return [row[:length] for row, length in zip(values, lengths, strict=True)]


def _density(sketch: Sketch, bandwidth: Any, describe: Callable[[], str]) -> Integral | None:
    """Return the density of a column's T from their sketch; None for a constant."""
    if not sketch.range > 0:
        return None
    absolute = _density_factor(bandwidth, sketch.weight) * sketch.std
    if not absolute > MIN_BANDWIDTH:
        raise ValueError(
            f"bandwidth must be larger for {describe()}, got {bandwidth!r}: {absolute} in units of the KD-integral is "
            "lost in rounding."
        )
    return Integral.from_sketch(sketch, GAUSSIAN, absolute, FINER)


def _constant_modes(sketch: Sketch) -> Modes:
    """Return the modes of a constant, which is one cluster, or of no values."""
    n_clusters = min(sketch.count, 1)
    return Modes(*(np.zeros(n) for n in (n_clusters, 0, n_clusters, 0)))


@dataclass(frozen=True)
class Pruning:
    """The valleys that count, by the size of the clusters and by significance."""

    min_size: float | None = None
    significance: float | None = None

    def __post_init__(self) -> None:
        level, size = self.significance, self.min_size
        if level is not None and not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"significance must be None or a number between 0 and 1, got {level!r}.")
        if size is not None and not (isinstance(size, Real) and not isinstance(size, bool) and 0 <= size < inf):
            raise ValueError(f"min_size must be None or a number >= 0, got {size!r}.")

    def apply(self, valleys: Valleys) -> Valleys:
        """Close the valleys that do not count."""
        if self.significance is not None:
            valleys = valleys.without_insignificant(float(self.significance))
        if self.min_size is not None:
            size = to_float(self.min_size)
            min_size = size * valleys.sizes.sum() if size < 1 else size
            valleys = valleys.without_small(min_size)
        return valleys


def with_n_clusters(
    queries: ColumnQueries, found: Valleys, n_clusters: int, bandwidth: Any, kernel: Kernel, pruning: Pruning, name: str
) -> Valleys:
    """Cut one column into exactly so many clusters: close the shallowest valleys, or use the nearest alpha with enough.

    `found` are the clusters at the given alpha, pruned; messages call the column `name`.
    """
    if found.n_clusters >= n_clusters:
        return found.with_at_most(n_clusters)
    most = found.n_clusters
    start = found.alpha if 0 < found.alpha < inf else 1.0
    alphas = np.array([*(start * factor for factor in ALPHA_FACTORS), inf, 0.0])
    for some in np.split(alphas, range(queries.alphas_per_pass, len(alphas), queries.alphas_per_pass)):
        copies, bandwidths = queries.select([0] * len(some)), [bandwidth] * len(some)
        for one in find_valleys(copies, some, bandwidths, kernel, lambda _: name):
            pruned = pruning.apply(one)
            if pruned.n_clusters >= n_clusters:
                return pruned.with_at_most(n_clusters)
            most = max(most, pruned.n_clusters)
    advice = f"A smaller bandwidth than {bandwidth!r} finds more."
    if found.density is None:
        advice = "It is constant."
    elif pruning != Pruning():
        advice = f"min_size and significance close valleys, and a smaller bandwidth than {bandwidth!r} finds more."
    raise ValueError(f"{name} has no {n_clusters} clusters at any alpha: at most {most} were found. {advice}")


def check_bandwidth(bandwidth: Any) -> None:
    """Raise unless a bandwidth is a rule or a positive number."""
    number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and 0 < to_float(bandwidth) < inf
    if not number and not (isinstance(bandwidth, str) and bandwidth in BANDWIDTH_RULES):
        raise ValueError(f"bandwidth must be a positive number, 'scott' or 'silverman', got {bandwidth!r}.")


def _density_factor(bandwidth: Any, weight: float) -> float:
    """Return the bandwidth of the density in standard deviations of the T with ddof=0; scipy's has ddof=1."""
    factor = bandwidth_factor(bandwidth, weight, "bandwidth")
    return factor * sqrt(weight / (weight - 1)) if weight > 1 else factor


def _density_factors(bandwidths: list[Any], weights: Float64Array) -> Float64Array:
    return np.array([_density_factor(one, weight) for one, weight in zip(bandwidths, weights.tolist(), strict=True)])
