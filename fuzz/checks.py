"""What all targets check: documented errors and warnings only, and the direct sum at any magnitude."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import frexp, inf
from typing import Any

import numpy as np
import oracle

from fuzz.decoder import Column

ROUNDING = 1e-12  # what T may be off beyond its bound: rounding of the direct sum, and of positions between knots
TERM_ROUNDING = 1e-14  # of each of the sums whose difference is divided by P
SPREAD_ROUNDING = 4e-16  # of the standard deviation, in units of the range

# Errors about data that no method can use; any other ValueError is a finding where the parameters are valid.
DATA_ERRORS = [
    r"Input X contains infinity",
    r"must be finite or NaN",
    r"the range of column",
    r"must be finite and not negative",
    r"must have a finite sum",
    r"must not be zero in every row",
    r"sum of the weights of both sketches must be finite",
]


@contextmanager
def documented(*errors: str, allowed: str = "held only NaN") -> Iterator[None]:
    """Turn warnings into errors, but for `allowed` ones; end quietly at a ValueError whose message matches `errors`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", f".*({allowed})")
        try:
            yield
        except ValueError as error:
            if not (errors and re.search("|".join(errors), str(error))):
                raise


def bandwidth_factor(alpha: Any, weight: float) -> float:
    """Return an alpha as a number: the rules of scipy.stats.gaussian_kde."""
    return float({"scott": 1.0, "silverman": 0.75}[alpha] * weight) ** -0.2 if isinstance(alpha, str) else float(alpha)


@dataclass
class DirectSum:
    """The direct sum over a sample, of any magnitude: distances are divided by the bandwidth one by one."""

    points: Column
    masses: Column  # of total 1
    weight: float
    factor: float
    kernel: str
    order: int

    @classmethod
    def of(cls, values: Column, weights: Column | None, alpha: Any, kernel: str, order: int) -> DirectSum:
        """Sum over a column and its weights; NaN and values without weight are left out."""
        weights = np.ones(len(values)) if weights is None else weights
        keep = ~np.isnan(values) & (weights > 0)
        weight = float(weights[keep].sum())
        scaled = np.ldexp(weights[keep], -frexp(weights[keep].max())[1]) if keep.any() else weights[keep]
        points, index = np.unique(values[keep] + 0.0, return_inverse=True)
        masses = np.bincount(index, weights=scaled, minlength=len(points))
        total = masses.sum() if len(points) else 1.0
        return cls(points, masses / total, weight, bandwidth_factor(alpha, weight) if weight else 1.0, kernel, order)

    @property
    def length(self) -> float:
        with np.errstate(over="ignore"):
            return float(self.points[-1] - self.points[0])

    @property
    def relative_spread(self) -> float:
        """The standard deviation in units of the range."""
        shift = -frexp(self.length)[1]
        length = np.ldexp(self.length, shift)
        offsets = (np.ldexp(self.points - self.points[0], shift) / length).astype(np.longdouble)
        mass = self.masses.astype(np.longdouble)
        mean = (offsets * mass).sum() / mass.sum()
        return float(np.sqrt(((offsets - mean) ** 2 * mass).sum() / mass.sum()))

    def distances(self, at: Column) -> Column:
        """Distances of points from all values in units of the kernel's own bandwidth."""
        significand, exponent = self._unit()
        shift = -2 if self.length > 1e307 or abs(at).max() > 1e307 else 0  # so that no difference overflows
        with np.errstate(over="ignore", under="ignore"):
            differences = np.ldexp(at, shift)[:, None] - np.ldexp(self.points, shift)
            return np.asarray(np.ldexp(differences, -exponent - shift) / significand)

    @property
    def relative_range(self) -> float:
        """The range in units of the kernel's own bandwidth."""
        significand, exponent = self._unit()
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self.length, -exponent) / significand)

    def cdf(self, at: Column) -> Column:
        """The kernel estimate of the distribution function."""
        return np.asarray(oracle.kernel_cdf(self.distances(at), self.kernel, self.order) @ self.masses)

    def sf(self, at: Column) -> Column:
        """1 - cdf, without cancellation."""
        return np.asarray(oracle.kernel_cdf(-self.distances(at), self.kernel, self.order) @ self.masses)

    def integral(self, at: Column) -> tuple[Column, float]:
        """T at points, and a bound on the rounding of this sum and of what it is compared with."""
        low, high = self.points[0], self.points[-1]
        inside = np.clip(at, low, high)
        if self.factor == 0:
            return self._ranks(inside), ROUNDING
        if self.factor == inf or self.relative_range < 1e-4:
            square = 0.0 if self.factor == inf else self.relative_range**2
            return (inside - low) / (high - low), ROUNDING + square
        below, above = self.cdf(np.array([low, high])), self.sf(np.array([low, high]))
        # From the nearer end, where a tail is small.
        left, right = self.cdf(inside) - below[0], self.sf(inside) - above[1]
        total = min(below[1] - below[0], above[0] - above[1])
        exact = np.where(left < right, left, total - right) / total
        spread = self.relative_spread
        return exact, ROUNDING + TERM_ROUNDING / total + (SPREAD_ROUNDING / spread) ** 2 / total

    def _unit(self) -> tuple[float, int]:
        """The kernel's own bandwidth as significand and exponent: it may be too large or too small for a float."""
        one, other = frexp(self.factor), frexp(self.relative_spread * oracle.canonical_scale(self.kernel, self.order))
        length = frexp(self.length)
        significand, exponent = frexp(one[0] * other[0] * length[0])
        return significand, exponent + one[1] + other[1] + length[1]

    def _ranks(self, at: Column) -> Column:
        ranks = np.cumsum(self.masses) - self.masses / 2
        levels = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
        right = np.clip(np.searchsorted(self.points, at), 1, len(self.points) - 1)
        gap = self.points[right] - self.points[right - 1]
        shift = -np.frexp(gap)[1]
        share = np.ldexp(at - self.points[right - 1], shift) / np.ldexp(gap, shift)
        return np.asarray(levels[right - 1] + share * (levels[right] - levels[right - 1]))
