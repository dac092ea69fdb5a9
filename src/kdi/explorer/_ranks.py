"""Ranks: what the page embeds for alpha = 0 of a column whose values are too many.

Cells that are even in x may hold a large part of a skewed column each. So knots that are about even in T are taken from
the sketch as it was gathered, with straight lines between them, as `lookup.tabulate` has through all of its values. The
knot of a cell lies at the mean of its values: where many of them are equal, that is where they are.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from kdi._integral.maps import build_map
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

KNOTS = 2**11
FINE = 2**12  # parts of a cell's width that means are rounded to
UNIT = 2.0**-24  # of levels and masses


def rank_error(sketch: Sketch) -> float:
    """The most that cells can be off in T at alpha = 0."""
    return build_map(sketch, get_kernel("polyexp"), 0.0).error


def described_ranks(sketch: Sketch) -> tuple[dict[str, Any] | None, float]:
    """Knots and levels of T at alpha = 0 as the page holds them, and the most that lines between them are off.

    Places and `start` are those of `features.described`; levels are differences, too. Masses are those of the knots
    alone: what is left of the weight lies between them. A single cell says nothing of ranks.
    """
    if len(sketch) == 1:
        return None, 1.0
    mass = sketch.moments[:, 0]
    ranks = np.cumsum(mass) - 0.5 * mass
    levels = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    chosen = thinned(levels, KNOTS)
    width, places = 0.0, sketch.places[chosen]
    if not sketch.is_exact:
        means = sketch.moments[chosen, 1] / mass[chosen]
        width = sketch.cell_width / FINE
        places = np.diff((places - places[0]) * FINE + np.rint(means * FINE).astype(np.int64), prepend=0)
    rounded = np.rint(levels[chosen] / UNIT)
    # Between two knots that have others between them, both curves rise from the one level to the other.
    left_out = np.diff(levels[chosen])[np.diff(chosen) > 1]
    error = rank_error(sketch) + float(left_out.max(initial=0.0)) + UNIT
    return {
        "width": width,
        "start": float(sketch.offsets[0]),
        "places": places.tolist(),
        "levels": np.diff(rounded, prepend=0.0).astype(int).tolist(),
        "masses": np.rint(mass[chosen] / sketch.weight / UNIT).astype(int).tolist(),
        "unit": UNIT,
    }, error


def thinned(levels: Float64Array, most: int) -> Int64Array:
    """Places of some `most` of ascending levels from 0 to 1, closer to each other in the tails and beside wide gaps."""
    steps = 0.5 - 0.5 * np.cos(np.linspace(0, pi, most))
    after = np.minimum(np.searchsorted(levels, steps), len(levels) - 1)
    wide = after[(after > 0) & (levels[after] - levels[after - 1] > 1 / most)]
    return np.unique(np.concatenate([[0], after, wide - 1, [len(levels) - 1]]))
