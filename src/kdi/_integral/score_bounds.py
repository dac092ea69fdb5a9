"""Bounds on the errors of normal scores z = Phi^-1(F), F a kernel cdf, for |z| <= LARGEST_SCORE.

Let p be the smaller of the two tails F and 1 - F. An error e of p becomes e / phi(z) in z, so that every error of F has
to be small beside p. It is: the derivatives of the kernel cdf G are bounded by its tails,

    |G^(k)(u)| <= tail_ratio[k] min(G(u), 1 - G(u)),      k = 1 … 4,

for the polyexp kernel everywhere (1, 1, 1, 2 in units of its own bandwidth), for the Gaussian as far as u = 6.6, and
what lies beyond is less than a twentieth of p. So the same holds of F, and p / phi(z) is Mills' ratio, at most
min(1.2534, 1/|z|). The twin of cpp/score_bounds.hpp; positions are in units of h.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, log, pi, sqrt
from typing import Any

import numpy as np

from kdi._numerics.kernels import Kernel
from kdi._utils.typing import Float64Array

LARGEST_SCORE = 6.0  # bounds on normal scores hold for scores of at most this size
LOWEST_TAIL = 9.8658764503769814e-10  # of LARGEST_SCORE
LARGEST_MILLS_RATIO = 1.2534
GAUSSIAN_REACH = 6.6
SPREAD_SENSITIVITY = 64.0  # a bound on |d z / d log h|: see cpp/score_bounds.hpp


def normal_density(z: Any) -> Any:
    """Compute the density of the normal distribution."""
    return np.exp(-0.5 * np.square(z)) / sqrt(2 * pi)


def mills_ratio_bound(z: Any) -> Any:
    """Bound (1 - Phi(z)) / phi(z) for z >= 0."""
    return np.where(z > 0.8, np.minimum(LARGEST_MILLS_RATIO, 1 / np.maximum(z, 0.8)), LARGEST_MILLS_RATIO)


@dataclass(frozen=True)
class ScoreBounds:
    """Bounds for one kernel."""

    kernel: Kernel

    @cached_property
    def tail_ratio(self) -> tuple[float, float, float, float]:
        """Bounds on the derivatives 1 to 4 of a kernel cdf, in units of its smaller tail."""
        if self.kernel.order:
            b = self.kernel.scale
            return 1 / b, 1 / b**2, 1 / b**3, 2 / b**4
        u = GAUSSIAN_REACH
        hazard = 1.05 * float(normal_density(u)) / self.kernel.tail_at(u)
        return hazard, u * hazard, (u**2 - 1) * hazard, (u**3 - 3 * u) * hazard

    @cached_property
    def largest(self) -> tuple[float, float, float, float]:
        """Bounds on the derivatives 1 to 4 of a kernel cdf of total weight 1."""
        peak, fourth = self.kernel.peak, self.kernel.max_fourth_derivative
        if not self.kernel.order:
            return peak, 0.2420, peak, fourth
        b, highest = self.kernel.scale, max(map(_power_term, (self.kernel.order, self.kernel.order - 1))) * peak
        return peak / b, highest / b**2, highest / b**3, fourth

    def value_error(self, z: Float64Array, width: float, n_cells: int, relative_range: float) -> Float64Array:
        """Bound the error in z of cells of a width, and of rounding."""
        size = np.abs(z)
        mills, density = mills_ratio_bound(size), normal_density(size)
        growth = exp(width * self.tail_ratio[0])  # of a tail within a cell
        of_cells = width**4 / 384 * np.minimum(self.largest[3] / density, growth * self.tail_ratio[3] * mills)
        gaussian = not self.kernel.order
        rounding = (1e-11 if gaussian else 2e-13) + (4e-15 if gaussian else 5e-16) * n_cells
        rounding += 4e-16 * relative_range * self.tail_ratio[0]
        return np.asarray(1.01 * of_cells + rounding * mills + (1.2e-14 if gaussian else 0.0) / density)

    def slope_error(self, z: Float64Array, width: float, n_cells: int, relative_range: float) -> Float64Array:
        """Bound the error of the slope z', which has the same sources."""
        size = np.abs(z)
        mills, density = mills_ratio_bound(size), normal_density(size)
        bound = np.minimum(self.largest[3] / density, exp(width * self.tail_ratio[0]) * self.tail_ratio[3] * mills)
        value_error = self.value_error(z, width, n_cells, relative_range)
        return np.asarray(width**3 / 24 * bound + (20 + size) * self.tail_ratio[0] * value_error)

    def fourth_derivative(self, scores: Float64Array, slopes: Float64Array, step: float) -> Float64Array:
        """Bound |z''''| between each two neighbouring knots at a distance `step`."""
        one, other = scores[:-1], scores[1:]
        size = np.maximum(np.abs(one), np.abs(other))
        least = np.where((one < 0) & (other > 0), 0.0, np.minimum(np.abs(one), np.abs(other)))
        density, mills = normal_density(size), mills_ratio_bound(least)
        # The derivatives of F over phi(z).
        a, b, c, d = (
            np.minimum(most / density, ratio * mills) for most, ratio in zip(self.largest, self.tail_ratio, strict=True)
        )
        steepest = b + size * a * a  # |z''|
        first = np.minimum(a, np.maximum(slopes[:-1], slopes[1:]) + 0.5 * step * steepest)
        turn = size * first
        second = b + turn * first
        third = c + b * turn + first**3 + 2 * turn * second
        return np.asarray(
            d
            + 2 * c * turn
            + b * (turn**2 + first**2 + size * second)
            + 5 * first**2 * second
            + 2 * size * second**2
            + 2 * turn * third
        )

    def step(self, tolerance: float) -> float:
        """Return the step of knots with which cubics have an error of at most `tolerance`."""
        scores = np.repeat(np.arange(0, LARGEST_SCORE + 0.25, 0.5), 2)
        worst = self.fourth_derivative(scores, np.full(len(scores), np.inf), 0.0)[::2].max()
        return float((384 * tolerance / worst) ** 0.25)


def _power_term(k: int) -> float:
    """Return the largest value of u^k e^-u / k!."""
    return exp(k * log(k) - k - lgamma(k + 1)) if k else 1.0
