"""Ranks: T at alpha = 0 as the page embeds it for columns with too many values.

Single cells that are even in x may hold a large share of a skewed column. T at alpha = 0 is therefore embedded as
straight lines between knots that are about even in T, taken from the full sketch in the same way as
`kdi._integral.build.build_map` takes them from all values. The knot of a cell lies at the mean of its values, which is
right where most of them are equal.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from kdi._integral.build import build_map
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

MAX_KNOTS = 2**11
STEPS_PER_CELL = 2**12  # means are rounded to this fraction of the cell width
LEVEL_UNIT = 2.0**-24  # levels and masses are rounded to multiples of this


def rank_error(sketch: Sketch) -> float:
    """Return a bound of the error that the cells cause in T at alpha = 0."""
    return build_map(sketch, get_kernel("polyexp"), 0.0).error


def describe_ranks(sketch: Sketch) -> tuple[dict[str, Any] | None, float]:
    """Return knots and levels of T at alpha = 0 as the page embeds them, and a bound of their error.

    `places` and `start` are as in `describe_feature`; levels are embedded as differences, too. A mass is the weight at
    the knot itself; the rest of the weight lies between the knots. A single cell does not determine ranks.
    """
    if len(sketch) == 1:
        return None, 1.0
    mass = sketch.moments[:, 0]
    ranks = np.cumsum(mass) - 0.5 * mass
    levels = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    chosen = choose_knots(levels, MAX_KNOTS)
    width, places = 0.0, sketch.keys[chosen]
    if not sketch.is_exact:
        means = sketch.moments[chosen, 1] / mass[chosen]
        width = sketch.cell_width / STEPS_PER_CELL
        within = np.rint(means * STEPS_PER_CELL).astype(np.int64)
        places = np.diff((places - places[0]) * STEPS_PER_CELL + within, prepend=0)
    rounded = np.rint(levels[chosen] / LEVEL_UNIT)
    # Where knots were skipped, the line and the exact curve both rise from one chosen level to the next.
    skipped_rises = np.diff(levels[chosen])[np.diff(chosen) > 1]
    error = rank_error(sketch) + float(skipped_rises.max(initial=0.0)) + LEVEL_UNIT
    return {
        "width": width,
        "start": float(sketch.offsets[0]),
        "places": places.tolist(),
        "levels": np.diff(rounded, prepend=0.0).astype(int).tolist(),
        "masses": np.rint(mass[chosen] / sketch.weight / LEVEL_UNIT).astype(int).tolist(),
        "unit": LEVEL_UNIT,
    }, error


def choose_knots(levels: Float64Array, n_knots: int) -> Int64Array:
    """Return the indices of about `n_knots` of ascending levels from 0 to 1, denser in the tails and at wide gaps."""
    targets = 0.5 - 0.5 * np.cos(np.linspace(0, pi, n_knots))
    after = np.minimum(np.searchsorted(levels, targets), len(levels) - 1)
    after_gap = after[(after > 0) & (levels[after] - levels[after - 1] > 1 / n_knots)]
    return np.unique(np.concatenate([[0], after, after_gap - 1, [len(levels) - 1]]))
