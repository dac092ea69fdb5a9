"""Modes: the peaks and valleys of a kernel density estimate, to machine precision.

A walk over regular knots, by the filters, finds between which knots the density turns; the turning points themselves
are found there by Newton's method on the direct sum. Where there is next to nothing, and the filters see only their
own rounding, there is one valley.
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
MAX_KNOTS = 2**18
REACH = 39  # bandwidths beyond which a Gaussian is no number
NOTHING = 1e-8  # of the highest density: less than one value among ten million makes


@dataclass(frozen=True)
class Modes:
    """Peaks and the valleys between them, ascending positions relative to the smallest value, with their densities."""

    peaks: Float64Array
    valleys: Float64Array
    peak_densities: Float64Array
    valley_densities: Float64Array

    @property
    def lower_peaks(self) -> Float64Array:
        """The density of the lower of the peaks beside each valley."""
        return np.minimum(self.peak_densities[:-1], self.peak_densities[1:])

    @property
    def depths(self) -> Float64Array:
        """How deep each valley is, as a share of the lower of the peaks beside it."""
        return 1 - self.valley_densities / self.lower_peaks

    def without(self, valley: int) -> Modes:
        """One valley closed: of the two peaks beside it, the higher one stays."""
        lower = valley + int(self.peak_densities[valley] >= self.peak_densities[valley + 1])
        return Modes(
            np.delete(self.peaks, lower),
            np.delete(self.valleys, valley),
            np.delete(self.peak_densities, lower),
            np.delete(self.valley_densities, valley),
        )


def find_modes(integral: Integral) -> Modes:
    """All peaks and valleys of a density that can be told from rounding."""
    length, own = integral.high - integral.low, integral.bandwidth * integral.kernel.scale
    knots = _knots(integral.positions, length, own)
    density, slope = core.slopes(
        integral.positions, integral.moments, integral.width, integral.kernel.order, own, knots
    )
    direction = np.where(density > NOTHING * density.max(), np.sign(slope), 0.0)
    direction[0], direction[-1] = 1.0, -1.0  # the density rises from nothing and falls to nothing
    turning = np.flatnonzero(direction)
    turns = np.flatnonzero(np.diff(direction[turning]))
    left, right = knots[turning[turns]], knots[turning[turns + 1]]
    found = [
        _turning_point(integral, own, *bracket)
        for bracket in zip(left.tolist(), right.tolist(), direction[turning[turns]].tolist(), strict=True)
    ]
    places, heights = np.array(found).T
    modes = Modes(places[::2], places[1::2], heights[::2], heights[1::2])
    while len(modes.valleys) and modes.depths.min() < NOTHING:
        modes = modes.without(int(modes.depths.argmin()))
    return modes


def _knots(positions: Float64Array, length: float, own: float) -> Float64Array:
    """Where the density is looked at: everywhere, or around the values where the kernel is too narrow for that."""
    n_knots = ceil(length / own * KNOTS_PER_BANDWIDTH) + 2
    if n_knots <= MAX_KNOTS:
        return np.linspace(0, length, n_knots)
    around = own * np.linspace(-8, 8, 129)
    return np.unique(np.clip(positions[:, None] + around, 0, length))


def _turning_point(integral: Integral, own: float, left: float, right: float, before: float) -> tuple[float, float]:
    """Where the density turns between two positions, and how high it is: Newton's method, kept inside.

    `before` is the sign of the slope at the left. Cells too far away to be a number count nothing.
    """
    first, last = np.searchsorted(integral.positions, [left - REACH * own, right + REACH * own])
    positions, moments = integral.positions[first:last], integral.moments[first:last]
    place = 0.5 * (left + right)
    for _ in range(100):
        sums = cell_sum(positions, moments, integral.width, integral.kernel, own, np.array([place]), last=3)
        _, density, slope, curve = (float(one[0]) for one in sums)
        step = slope / curve if slope and curve else 0.0
        # As far as the rounding of the sums, in bandwidths, and of the position itself allow.
        if abs(step) <= max(1e-13 * own, 2 * np.spacing(place)) or right - left <= 2 * np.spacing(place):
            break
        if slope * before > 0:
            left = place
        else:
            right = place
        place = place - step if left <= place - step <= right else 0.5 * (left + right)
    return place, density
