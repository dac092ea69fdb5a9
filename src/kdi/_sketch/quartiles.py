"""The robust spread of a column: the interquartile range in units of that of a normal distribution.

A quartile is the place in its cell at which a quarter of the weight is reached, as if the values of the cell were
spread evenly about their mean, as far as their moments say. Equal values therefore stay where they are, and smooth data
is interpolated. The cells are the widest ones of which the range between the quartiles holds 32 at least: every sketch
with cells no wider than these, however it was made, leads to the same cells and so to the same spread (cpp/spread.hpp).
"""

from __future__ import annotations

from math import inf, ldexp, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kdi._sketch.cells import WIDEST_CELL, finest_exponent, floor_log2
from kdi._utils.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from kdi._sketch.sketch import Sketch

NORMAL_QUARTILES = 1.3489795003921634  # distance between the quartiles of the normal distribution
CELLS_BETWEEN_QUARTILES = 32
QUARTILE_ROUNDING = 1e-9  # of the total weight: sums in another order have the same quartiles
LEAST_VARIANCE = 1e-12  # in squared widths of a cell; less is the rounding of equal values
WORST_ERROR = 0.5  # relative error of the range from which on the standard deviation is taken


class RobustSpread(NamedTuple):
    """The smaller of the standard deviation and the robust spread; the former where the quartiles are equal.

    Attributes
    ----------
    value : float
    error : float
        Bound on the relative error, 0 where the sketch is fine enough.
    cell_width : float
        The width of the cells that the spread follows from; 0 where it follows from the values themselves only.
    """

    value: float
    error: float
    cell_width: float


def robust_spread(sketch: Sketch, scaled: Sketch, shift: int) -> RobustSpread:
    """Compute the robust spread of a sketch; `scaled` is the sketch in units of 2**-shift, and so is the result."""
    std = scaled.std
    if scaled.cell_width > WIDEST_CELL:
        return RobustSpread(std, 0.0, 0.0)
    value_range, error, exponent = _quartile_range(sketch, shift)
    if exponent is not None and error:  # the cells are too wide
        cell_width = ldexp(scaled.cell_width, -floor_log2(CELLS_BETWEEN_QUARTILES) - 1)
    else:
        cell_width = 0.0 if exponent is None else ldexp(1.0, exponent + shift)
    robust = value_range / NORMAL_QUARTILES
    if not value_range > 0 or robust * (1 - error) >= std:
        return RobustSpread(std, 0.0, cell_width)
    return RobustSpread(min(std, robust) if error < WORST_ERROR else std, error, cell_width)


def _quartile_range(sketch: Sketch, shift: int) -> tuple[float, float, int | None]:
    """Return the range between the quartiles, its relative error, and the exponent of the cells it was taken from."""
    finest, error = sketch.exponent, 0.0
    if finest is None:
        mass = sketch.moments[:, 0]
        pairs = zip(_places_of(mass, 0.25), _places_of(mass, 0.75), strict=True)
        keys = np.ldexp(np.asarray(sketch.keys, dtype=float), shift)
        value_range = sum(0.5 * float(keys[above] - keys[below]) for (below, _), (above, _) in pairs)
        least = finest_exponent(max(abs(sketch.minimum), abs(sketch.maximum)))
    else:
        value_range, least = ldexp(_cells_between(sketch.keys, sketch.moments), finest + shift), finest
        error = ldexp(2.0, finest + shift) / value_range if value_range > 0 else inf
    if not value_range > 0:
        return value_range, error, finest
    about = floor_log2(value_range / CELLS_BETWEEN_QUARTILES) - shift
    for exponent in range(about + 2, max(about - 2, least) - 1, -1):
        wide = sketch.coarsened(exponent)
        between = _cells_between(wide.keys, wide.moments)
        if between >= CELLS_BETWEEN_QUARTILES:
            return ldexp(between, exponent + shift), 0.0, exponent
    return value_range, error, finest


def _places_of(mass: Float64Array, share: float) -> list[tuple[int, float]]:
    """Return the index at which a share of the weight is reached, and the part of it there that is needed.

    If the share is reached exactly there, the quartile lies halfway to the next one, which is returned as well;
    otherwise the same one is returned twice.
    """
    sums = np.cumsum(mass)
    weight = float(sums[-1])
    wanted, rounding = share * weight, QUARTILE_ROUNDING * weight
    first = min(int(np.searchsorted(sums, wanted - rounding)), len(mass) - 1)
    second = first + (first + 1 < len(mass) and float(sums[first]) <= wanted + rounding)

    def part(place: int) -> float:
        before = float(sums[place - 1]) if place else 0.0
        return min(max((wanted - before) / float(mass[place]), 0.0), 1.0)

    return [(place, part(place)) for place in (first, second)]


def _cells_between(cells: Float64Array | Int64Array, moments: Float64Array) -> float:
    """Return the range between the quartiles of cells, in units of their width."""

    def place(k: int, part: float) -> tuple[int, float]:
        mean, square = (moments[k, 1:3] / moments[k, 0]).tolist()
        variance = square - mean * mean
        z = mean + (sqrt(12 * variance) * (part - 0.5) if variance > LEAST_VARIANCE else 0.0)
        return int(cells[k]), min(max(z, -0.5), 0.5)

    total = 0.0
    for below, above in zip(_places_of(moments[:, 0], 0.25), _places_of(moments[:, 0], 0.75), strict=True):
        (lower, lower_z), (upper, upper_z) = place(*below), place(*above)
        total += 0.5 * (upper - lower + (upper_z - lower_z))
    return float(max(total, 0.0))
