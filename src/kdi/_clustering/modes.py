"""Modes: the peaks and valleys of a kernel density estimate, to machine precision.

Slopes at regular knots, computed by the filters, show between which knots the density turns; the turning points
themselves are found there by Newton's method on the direct sum. Where the density is so close to 0 that the filters see
only their own rounding, there is one valley.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from kdi._integral.integral import Integral
from kdi._numerics.backend import core
from kdi._numerics.direct_sum import cell_sum
from kdi._utils.typing import Float64Array

KNOTS_PER_BANDWIDTH = 32  # turning points closer than that differ in density by less than a millionth
MAX_DENSITY_KNOTS = 2**18
REACH = 39  # bandwidths beyond which a Gaussian underflows to 0
NEGLIGIBLE = 1e-8  # of the highest density: less than one value among ten million makes


@dataclass(frozen=True)
class Modes:
    """Peaks and the valleys between them, ascending positions relative to the smallest value, with their densities."""

    peaks: Float64Array
    valleys: Float64Array
    peak_densities: Float64Array
    valley_densities: Float64Array

    @property
    def lower_peaks(self) -> Float64Array:
        """The density of the lower of the two peaks beside each valley."""
        return np.minimum(self.peak_densities[:-1], self.peak_densities[1:])

    @property
    def depths(self) -> Float64Array:
        """The depth of each valley as a share of the lower of the two peaks beside it."""
        return 1 - self.valley_densities / self.lower_peaks

    def without(self, valley: int) -> Modes:
        """Close one valley: of the two peaks beside it, the higher one stays."""
        lower = valley + int(self.peak_densities[valley] >= self.peak_densities[valley + 1])
        return Modes(
            np.delete(self.peaks, lower),
            np.delete(self.valleys, valley),
            np.delete(self.peak_densities, lower),
            np.delete(self.valley_densities, valley),
        )


def find_modes(integral: Integral) -> Modes:
    """Find all peaks and valleys of a density that differ from rounding errors."""
    length, bandwidth = integral.high - integral.low, integral.bandwidth * integral.kernel.scale
    knots = _knots(integral.positions, length, bandwidth)
    density, slope = core.slopes(
        integral.positions, integral.moments, integral.width, integral.kernel.order, bandwidth, knots
    )
    direction = np.where(density > NEGLIGIBLE * density.max(), np.sign(slope), 0.0)
    direction[0], direction[-1] = 1.0, -1.0  # the density rises from 0 and falls to 0
    known = np.flatnonzero(direction)
    turns = np.flatnonzero(np.diff(direction[known]))
    left, right = knots[known[turns]], knots[known[turns + 1]]
    turning_points = [
        _turning_point(integral, bandwidth, *bracket)
        for bracket in zip(left.tolist(), right.tolist(), direction[known[turns]].tolist(), strict=True)
    ]
    positions, densities = np.array(turning_points).T
    modes = Modes(positions[::2], positions[1::2], densities[::2], densities[1::2])
    while len(modes.valleys) and modes.depths.min() < NEGLIGIBLE:
        modes = modes.without(int(modes.depths.argmin()))
    return modes


def _knots(positions: Float64Array, length: float, bandwidth: float) -> Float64Array:
    """Return where to evaluate the density: everywhere, or near the values where the kernel is too narrow for that."""
    n_knots = ceil(length / bandwidth * KNOTS_PER_BANDWIDTH) + 2
    if n_knots <= MAX_DENSITY_KNOTS:
        return np.linspace(0, length, n_knots)
    near = bandwidth * np.linspace(-8, 8, 129)
    return np.unique(np.clip(positions[:, None] + near, 0, length))


def _turning_point(
    integral: Integral, bandwidth: float, left: float, right: float, left_sign: float
) -> tuple[float, float]:
    """Return where the density turns between two positions, and the density there, by safeguarded Newton's method.

    `left_sign` is the sign of the slope at the left end. Cells so far away that their kernel underflows are skipped.
    """
    first, last = np.searchsorted(integral.positions, [left - REACH * bandwidth, right + REACH * bandwidth])
    positions, moments = integral.positions[first:last], integral.moments[first:last]
    at = 0.5 * (left + right)
    for _ in range(100):
        sums = cell_sum(positions, moments, integral.width, integral.kernel, bandwidth, np.array([at]), n_derivatives=3)
        _, density, slope, curvature = (float(one[0]) for one in sums)
        step = slope / curvature if slope and curvature else 0.0
        # As far as the rounding of the sums, in bandwidths, and of the position itself allow.
        if abs(step) <= max(1e-13 * bandwidth, 2 * np.spacing(at)) or right - left <= 2 * np.spacing(at):
            break
        if slope * left_sign > 0:
            left = at
        else:
            right = at
        at = at - step if left <= at - step <= right else 0.5 * (left + right)
    return at, density
