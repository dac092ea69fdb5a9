"""Features: the part of a column's sketch that the page embeds, and a bound of the error of T computed from it.

A sketch is embedded with cells as wide as the smallest alpha of the slider allows, or as the values themselves if there
are few. Moments are embedded as integer multiples of a unit, which are short as text: partial sums over the cells are
rounded instead of the moments, so that errors do not accumulate. With E_i the sum of the errors up to cell i, R the
difference of the largest and the smallest E, and f any function of the cells' places c, summation by parts gives

    |sum_i e_i f(c_i)| <= R/2 (|f(c_1)| + |f(c_n)| + total variation of f).

For the masses, f(c) = G((x - c)/b) - G((a - c)/b) rises and then falls, so the bound is R max f, and max f is at most
twice P(X(1), X(N)), since the kernel of every value has at least as much mass in the range as that of the extremes, and
G is concave above 0. For moment k, f is the same difference of k-th derivatives. T = A/(A + B) with A = P(X(1), x) and
B = P(x, X(N)) then changes by at most the larger of the errors of A and B, divided by A + B.
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
    CELL_TOLERANCE,
    DEFAULT_CAPACITY,
    SketchCapacity,
    cell_error,
    cell_width_for,
    least_total,
    width_exponent,
)
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array
from kdi.explorer._ranks import describe_ranks

KERNEL = get_kernel("polyexp")
MIN_ALPHA, MAX_ALPHA = 0.05, 10.0  # of the slider, besides 0 and infinity
EMBEDDED_TOLERANCE = 4e-7  # what the cells may contribute to the error of T at MIN_ALPHA; rounding adds much less
# A sketch for this alpha, whose cells keep CELL_TOLERANCE, keeps EMBEDDED_TOLERANCE at MIN_ALPHA: the error is
# proportional to the fourth power of the cell width.
SKETCH_ALPHA = MIN_ALPHA * (EMBEDDED_TOLERANCE / CELL_TOLERANCE) ** 0.25
MAX_VALUES = 2**18  # distinct values that all columns together may embed, which makes their ranks exact
MIN_VALUES = 2**12  # distinct values that every column may embed, however many columns there are
MIN_CELLS = 2**12  # cells to embed even if fewer are exact enough: an outlier must not hide the shape of the rest
TINY_RANGE = 1e-303  # the page draws a straight line for a smaller range, whose reciprocal overflows
MASS_UNIT, MOMENT_UNIT = 2.0**-32, 2.0**-24  # in units of the total weight


def max_values_for(n_features: int) -> int:
    """Return how many distinct values each of so many columns may embed."""
    return min(max(MAX_VALUES // n_features, MIN_VALUES), DEFAULT_CAPACITY)


def embedded_sketch(sketch: Sketch, max_values: int = MIN_VALUES) -> Sketch:
    """Return the sketch that the page embeds: the values, if there are at most `max_values`, or else cells."""
    if sketch.is_exact and len(sketch) <= max_values:
        return sketch
    width = cell_width_for(KERNEL, SKETCH_ALPHA * sketch.std, sketch.range)
    exponent = width_exponent(width, sketch.minimum, sketch.maximum)
    if exponent is None:  # such cells are narrower than the spacing of floating-point numbers
        return sketch
    cells = sketch if sketch.exponent is not None and sketch.exponent >= exponent else sketch.coarsened(exponent)
    if len(cells) < MIN_CELLS:
        cells = sketch.limited_to(SketchCapacity(MIN_CELLS, MIN_CELLS))
    return sketch if sketch.is_exact and len(sketch) <= len(cells) else cells


@dataclass(frozen=True)
class RoundedMoments:
    """Moments as integers, the unit of each, and a bound of the error of T that rounding them causes."""

    moments: Int64Array
    units: list[float]
    error: float

    @classmethod
    def from_sketch(cls, sketch: Sketch) -> RoundedMoments:
        mass = sketch.moments[:, 0]
        masses_are_integers = sketch.weight < 2**53 and bool((mass == np.rint(mass)).all())  # counts of rows
        mass_unit = 1 / sketch.weight if masses_are_integers else MASS_UNIT
        units = [mass_unit, *[MOMENT_UNIT] * (sketch.moments.shape[1] - 1)]
        exact = sketch.moments / sketch.weight
        sums = np.rint(np.cumsum(exact, axis=0) / units)
        if masses_are_integers:
            sums[:, 0] = np.cumsum(mass)
        moments = np.diff(sums, axis=0, prepend=0.0)
        summed_errors = np.cumsum(exact - moments * units, axis=0)
        spread = np.maximum(summed_errors.max(axis=0), 0.0) - np.minimum(summed_errors.min(axis=0), 0.0)
        return cls(moments.astype(np.int64), units, _moment_rounding_bound(sketch, spread))


def _moment_rounding_bound(sketch: Sketch, spread: Float64Array) -> float:
    """Bound the error of T caused by rounding, at any alpha of the slider; `spread` is the R of each moment."""
    error = 2 * float(spread[0])
    if len(spread) > 1 and sketch.range > 0:
        # MIN_ALPHA is the worst case: both the width and the range fall in proportion to a larger bandwidth.
        relative_width = sketch.cell_width / (MIN_ALPHA * sketch.std * KERNEL.scale)
        total = least_total(KERNEL, sketch.range / (MIN_ALPHA * sketch.std))
        for k, variation in enumerate(_derivative_variations()[1:], start=1):
            error += relative_width**k / factorial(k) * float(spread[k]) / 2 * variation / total
    return error


@cache
def _derivative_variations() -> list[float]:
    """Bound |f(c_1)| + |f(c_n)| + total variation of f for each derivative of G up to the third."""
    u = np.linspace(-60, 60, 2**14 + 1)
    return [4 * float(abs(values).max()) + 2 * float(abs(np.diff(values)).sum()) for values in KERNEL.derivatives(u, 3)]


def describe_feature(
    name: str, sketch: Sketch, max_values: int = MIN_VALUES, rank_sketch: Sketch | None = None
) -> dict[str, Any]:
    """Return a feature as the page embeds it.

    `sketch` must be fine enough for MIN_ALPHA; `rank_sketch`, the same by default, must be for alpha = 0. `places` are
    the values or, if there are cells, the distances from each cell to the next, counted in cells; `start` is where the
    first cell lies, relative to the minimum. `ranks` are the knots for alpha = 0 if they do not follow from the values.
    """
    facts = {
        "name": name,
        "count": sketch.count,
        "missing": sketch.missing,
        "weight": sketch.weight,
        "minimum": _finite_or_none(sketch.minimum),
        "maximum": _finite_or_none(sketch.maximum),
        "mean": _finite_or_none(sketch.mean),
        "std": _finite_or_none(sketch.std),
    }
    if not sketch.count:
        empty = {"width": 0.0, "start": 0.0, "places": [], "moments": [[]], "units": [1.0], "ranks": None}
        return facts | empty | {"error": 0.0, "rank_error": 0.0}
    rank_sketch, sketch = sketch if rank_sketch is None else rank_sketch, embedded_sketch(sketch, max_values)
    rounded = RoundedMoments.from_sketch(sketch)
    ranks, rank_error = (None, rounded.error) if sketch.is_exact else describe_ranks(rank_sketch)
    error = _integral_error_bound(sketch) + rounded.error
    if 0 < sketch.range <= TINY_RANGE:
        error = rank_error = 1.0
    return facts | {
        "width": sketch.cell_width,
        "start": float(sketch.offsets[0]),
        "places": (sketch.keys if sketch.is_exact else np.diff(sketch.keys, prepend=sketch.keys[0])).tolist(),
        "moments": rounded.moments.T.tolist(),
        "units": rounded.units,
        "ranks": ranks,
        "error": min(1.0, error),
        "rank_error": min(1.0, rank_error),
    }


def _integral_error_bound(sketch: Sketch) -> float:
    """Bound the error of T caused by cells and floating-point rounding in the browser, at any alpha of the slider."""
    if not sketch.range > 0:
        return 0.0
    bandwidth = MIN_ALPHA * sketch.std
    error = cell_error(KERNEL, sketch.cell_width / bandwidth) / least_total(KERNEL, sketch.range / bandwidth)
    rounding = rounding_error(KERNEL, len(sketch), sketch.range / bandwidth) / least_total(
        KERNEL, sketch.range / sketch.std / MAX_ALPHA
    )
    return 2 * (error + rounding)


def _finite_or_none(value: float) -> float | None:
    return float(value) if isfinite(value) else None
