"""Features: what the page embeds of a column, and how far from the exact T a browser can then be.

A sketch is embedded in cells that are as wide as the smallest alpha of the slider allows, or as the values themselves
where there are few. Moments are whole numbers of some unit, which are short as text: partial sums over the cells are
rounded, not the moments, so that errors do not pile up. With E_i the sum of the errors up to cell i, R the difference
of the largest and the smallest E, and f any function of the cells' places c, summation by parts gives

    |sum_i e_i f(c_i)| <= R/2 (|f(c_1)| + |f(c_n)| + total variation of f).

Of masses, f(c) = G((x - c)/b) - G((a - c)/b) rises and then falls, which leaves R max f, and max f is at most twice
P(X(1), X(N)), since no value has less kernel inside than an end has, and G is concave above 0. Of moment k, f is the
same difference of k-th derivatives. T = A/(A + B) with A = P(X(1), x) and B = P(x, X(N)) then moves by no more than the
larger of the errors of A and B, over A + B.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import factorial, isfinite
from typing import Any

import numpy as np

from kdi._integral.integral import rounding_error
from kdi._numerics.kernels import get_kernel
from kdi._sketch.cells import (
    CAPACITY,
    CELL_TOLERANCE,
    SketchCapacity,
    cell_error,
    cell_width_for,
    least_total,
    width_exponent,
)
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array
from kdi.explorer._ranks import described_ranks

KERNEL = get_kernel("polyexp")
SMALLEST, LARGEST = 0.05, 10.0  # of the slider's alphas but 0 and infinity
TOLERANCE = 4e-7  # what the cells may contribute to the error of T at that alpha; rounding takes much less
# The alpha for which cells within the usual tolerance are those that are asked for here: the error goes by the fourth
# power of the width.
GATHERED = SMALLEST * (TOLERANCE / CELL_TOLERANCE) ** 0.25
ALL_VALUES = 2**18  # distinct values of all columns that are embedded as they are, so that ranks are exact
FEWEST_VALUES = 2**12  # and of every column, however many there are
CELLS = 2**12  # that are embedded even where fewer would do: an outlier must not hide the shape of the rest
MASS_UNIT, MOMENT_UNIT = 2.0**-32, 2.0**-24  # of the total weight


def room_for_values(n_features: int) -> int:
    """Distinct values that one of so many columns may embed."""
    return min(max(ALL_VALUES // n_features, FEWEST_VALUES), CAPACITY)


def embedded(sketch: Sketch, most: int = FEWEST_VALUES) -> Sketch:
    """The cells of a sketch that the page needs, or its values where there are no more of them than `most`."""
    if sketch.is_exact and len(sketch) <= most:
        return sketch
    width = cell_width_for(KERNEL, GATHERED * sketch.std, sketch.range)
    exponent = width_exponent(width, sketch.minimum, sketch.maximum)
    if exponent is None:  # hardly two numbers lie as close as such cells
        return sketch
    cells = sketch if sketch.exponent is not None and sketch.exponent >= exponent else sketch.coarsened(exponent)
    if len(cells) < CELLS:
        cells = sketch.limited_to(SketchCapacity(CELLS, CELLS))
    return sketch if sketch.is_exact and len(sketch) <= len(cells) else cells


@dataclass(frozen=True)
class Rounded:
    """Moments as whole numbers, the unit of each, and the most that rounding them does to T."""

    moments: Int64Array
    units: list[float]
    error: float

    @classmethod
    def of(cls, sketch: Sketch) -> Rounded:
        mass = sketch.moments[:, 0]
        # Counts of rows are whole numbers as they are.
        whole = sketch.weight < 2**53 and bool((mass == np.rint(mass)).all())
        units = [1 / sketch.weight if whole else MASS_UNIT, *[MOMENT_UNIT] * (sketch.moments.shape[1] - 1)]
        exact = sketch.moments / sketch.weight
        sums = np.rint(np.cumsum(exact, axis=0) / units)
        if whole:
            sums[:, 0] = np.cumsum(mass)
        moments = np.diff(sums, axis=0, prepend=0.0)
        piled = np.cumsum(exact - moments * units, axis=0)
        spread = np.maximum(piled.max(axis=0), 0.0) - np.minimum(piled.min(axis=0), 0.0)
        return cls(moments.astype(np.int64), units, _rounding(sketch, spread))


def _rounding(sketch: Sketch, spread: Float64Array) -> float:
    """Bound of what rounding does to T at any alpha of the slider, `spread` being the R of each moment."""
    error = 2 * float(spread[0])
    if len(spread) > 1 and sketch.range > 0:
        # At larger alphas, the width falls against the bandwidth by as much as the range does.
        relative = sketch.cell_width / (SMALLEST * sketch.std * KERNEL.scale)
        total = least_total(KERNEL, sketch.range / (SMALLEST * sketch.std))
        for k, share in enumerate(_sways()[1:], start=1):
            error += relative**k / factorial(k) * float(spread[k]) / 2 * share / total
    return error


@cache
def _sways() -> list[float]:
    """The most that both ends and the variation of f add up to, for each derivative of G up to the third."""
    u = np.linspace(-60, 60, 2**14 + 1)
    return [4 * float(abs(one).max()) + 2 * float(abs(np.diff(one)).sum()) for one in KERNEL.derivatives(u, 3)]


def described(name: str, sketch: Sketch, most: int = FEWEST_VALUES, ranked: Sketch | None = None) -> dict[str, Any]:
    """A feature as the page holds it, from a sketch that is fine enough for the smallest alpha, or another for ranks.

    Places are the values or, of cells, the number of cells from each to the next; `start` is where the first one lies,
    relative to the minimum. `ranks` are the knots for alpha = 0, where they do not follow from the values.
    """
    facts = {
        "name": name,
        "count": sketch.count,
        "missing": sketch.missing,
        "weight": sketch.weight,
        "minimum": _number(sketch.minimum),
        "maximum": _number(sketch.maximum),
        "mean": _number(sketch.mean),
        "std": _number(sketch.std),
    }
    if not sketch.count:
        nothing = {"width": 0.0, "start": 0.0, "places": [], "moments": [[]], "units": [1.0], "ranks": None}
        return facts | nothing | {"error": 0.0, "rank_error": 0.0}
    ranked, sketch = sketch if ranked is None else ranked, embedded(sketch, most)
    rounded = Rounded.of(sketch)
    ranks, rank_error = (None, rounded.error) if sketch.is_exact else described_ranks(ranked)
    return facts | {
        "width": sketch.cell_width,
        "start": float(sketch.offsets[0]),
        "places": (sketch.places if sketch.is_exact else np.diff(sketch.places, prepend=sketch.places[0])).tolist(),
        "moments": rounded.moments.T.tolist(),
        "units": rounded.units,
        "ranks": ranks,
        "error": min(1.0, _error(sketch) + rounded.error),
        "rank_error": min(1.0, rank_error),
    }


def _error(sketch: Sketch) -> float:
    """Bound of the error of T that the cells and the browser's own rounding leave, at any alpha of the slider."""
    if not sketch.range > 0:
        return 0.0
    bandwidth = SMALLEST * sketch.std
    error = cell_error(KERNEL, sketch.cell_width / bandwidth) / least_total(KERNEL, sketch.range / bandwidth)
    rounding = rounding_error(KERNEL, len(sketch)) / least_total(KERNEL, sketch.range / sketch.std / LARGEST)
    return 2 * (error + rounding)


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None
