"""Modes: the peaks and valleys of a kernel density estimate, to machine precision.

A walk over regular knots, by the filters, finds between which knots the density turns; the turning points themselves
are found there by Newton's method on the direct sum. Where there is next to nothing, and the filters see only their
own rounding, there is one valley.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from kdi._backend import core
from kdi._typing import Floats
from kdi.integral import Integral
from kdi.reference import cell_sum

KNOTS_PER_BANDWIDTH = 32  # turning points closer than that differ in density by less than a millionth
MAX_KNOTS = 2**18
NOTHING = 1e-8  # of the highest density: less than one value among ten million makes


@dataclass(frozen=True)
class Modes:
    """Peaks and the valleys between them, ascending positions relative to the smallest value, with their densities."""

    peaks: Floats
    valleys: Floats
    peak_densities: Floats
    valley_densities: Floats

    @property
    def lower_peaks(self) -> Floats:
        """The density of the lower of the peaks beside each valley."""
        return np.minimum(self.peak_densities[:-1], self.peak_densities[1:])

    @property
    def depths(self) -> Floats:
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
    places, heights = _turning_points(integral, own, left, right, direction[turning[turns]])
    modes = Modes(places[::2], places[1::2], heights[::2], heights[1::2])
    while len(modes.valleys) and modes.depths.min() < NOTHING:
        modes = modes.without(int(modes.depths.argmin()))
    return modes


def _knots(positions: Floats, length: float, own: float) -> Floats:
    """Where the density is looked at: everywhere, or around the values where the kernel is too narrow for that."""
    n_knots = ceil(length / own * KNOTS_PER_BANDWIDTH) + 2
    if n_knots <= MAX_KNOTS:
        return np.linspace(0, length, n_knots)
    around = own * np.linspace(-8, 8, 129)
    return np.unique(np.clip(positions[:, None] + around, 0, length))


def _turning_points(
    integral: Integral, own: float, left: Floats, right: Floats, before: Floats
) -> tuple[Floats, Floats]:
    """Where the density turns between two positions each, and how high it is: Newton's method, kept inside."""
    left, right = left.copy(), right.copy()
    place = 0.5 * (left + right)
    for _ in range(100):
        _, density, slope, curve = cell_sum(
            integral.positions, integral.moments, integral.width, integral.kernel, own, place, last=3
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(slope == 0, 0.0, slope / curve)
        if (abs(step) <= 1e-13 * own).all():  # the rounding of the sums, in bandwidths
            break
        same = np.sign(slope) == before
        left, right = np.where(same, place, left), np.where(same, right, place)
        newton = place - step
        inside = (newton >= left) & (newton <= right)
        place = np.where(inside, newton, 0.5 * (left + right))
    return place, density
