"""Modes: the peaks and valleys of a kernel density estimate, to machine precision.

Slopes at regular knots, computed by the filters, show between which knots the density turns; the turning points
themselves are found there by Newton's method on the direct sum. Where the density is so close to 0 that the filters see
only their own rounding, there is one valley.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kdi._integral.integral import Integral
from kdi._numerics.backend import core
from kdi._utils.typing import Float64Array

LEAST_DEPTH = 1e-8  # of a valley; rounding errors make shallower ones


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


def find_modes(densities: Sequence[Integral], n_threads: int = 1) -> list[Modes]:
    """Find all peaks and valleys of each Gaussian density that differ from rounding errors."""
    found = core.turning_points(
        [one.positions for one in densities],
        [one.moments for one in densities],
        np.array([one.width for one in densities]),
        np.array([one.bandwidth for one in densities]),
        np.array([one.high - one.low for one in densities]),
        n_threads,
    )
    return [_significant(Modes(at[::2], at[1::2], density[::2], density[1::2])) for at, density in found]


def _significant(modes: Modes) -> Modes:
    """Close the valleys that are no deeper than rounding errors, the shallowest first."""
    while len(modes.valleys) and modes.depths.min() < LEAST_DEPTH:
        modes = modes.without(int(modes.depths.argmin()))
    return modes
