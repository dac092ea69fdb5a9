"""Features: what the page embeds of a column, and how far from the exact T a browser can then be.

A sketch is embedded in cells that are as wide as the smallest alpha of the slider allows, with its moments divided by
the total weight and in single precision. Each mass is rounded together with the error of the one before, so that errors
do not pile up: with E_i the sum of the errors up to cell i, and R the difference of the largest and the smallest E,

    |sum_i e_i [G((x - c_i)/b) - G((a - c_i)/b)]| <= R max_c [G((x - c)/b) - G((a - c)/b)],

for the bracket rises and then falls with c, and summation by parts leaves half of R for its ends and its way up and
down. The right side is at most 2 R of P(X(1), X(N)), at any bandwidth, since G is concave above 0.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from math import factorial, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdi._typing import Floats
from kdi.cells import CELL_TOLERANCE, Room, cell_error, cell_width_for, least_total, width_exponent
from kdi.integral import rounding_error
from kdi.kernels import get_kernel
from kdi.lookup import tabulate
from kdi.sketch import Sketch

KERNEL = get_kernel("polyexp")
SMALLEST = 0.05  # of the slider's positive alphas
TOLERANCE = 4e-7  # what the cells may contribute to the error of T at that alpha; rounding takes 1e-7 at most
# The alpha for which cells within the usual tolerance are those that are asked for here: the error goes by the fourth
# power of the width.
GATHERED = SMALLEST * (TOLERANCE / CELL_TOLERANCE) ** 0.25
VALUES = 2**12  # distinct values that are embedded as they are
CELLS = 2**11  # that are embedded even where fewer would do: an outlier must not hide the ranks of all others


def embedded(sketch: Sketch) -> Sketch:
    """The cells of a sketch that the page needs, or its values where they take no more room."""
    if sketch.is_exact and len(sketch) <= VALUES:
        return sketch
    width = cell_width_for(KERNEL, GATHERED * sketch.std, sketch.range)
    exponent = width_exponent(width, sketch.minimum, sketch.maximum)
    if exponent is None:  # hardly two numbers lie as close as such cells
        return sketch
    cells = sketch if sketch.exponent is not None and sketch.exponent >= exponent else sketch.coarsened(exponent)
    if len(cells) < CELLS:
        cells = sketch.within(Room(CELLS, CELLS))
    # A value takes half the room of a cell, which has four moments.
    return sketch if sketch.is_exact and len(sketch) <= 2 * len(cells) else cells


@dataclass(frozen=True)
class Rounded:
    """Moments over the total weight in single precision, and the most that rounding them does to T."""

    moments: NDArray[np.float32]
    error: float

    @classmethod
    def of(cls, sketch: Sketch) -> Rounded:
        exact = sketch.moments / sketch.weight
        moments = exact.astype(np.float32)
        moments[:, 0] = _diffused(exact[:, 0])
        errors = exact - moments
        piled = np.append(0.0, np.cumsum(errors[:, 0]))
        error = 2 * float(piled.max() - piled.min())
        if sketch.range > 0 and moments.shape[1] > 1:
            relative = sketch.cell_width / (SMALLEST * sketch.std * KERNEL.scale)
            steepest = [float(abs(one).max()) for one in KERNEL.derivatives(np.linspace(0, 8, 200), 3)]
            # At larger alphas, the width falls against the bandwidth by as much as the range does.
            total = least_total(KERNEL, sketch.range / (SMALLEST * sketch.std))
            for k in range(1, moments.shape[1]):
                error += 2 * relative**k / factorial(k) * steepest[k] * float(abs(errors[:, k]).sum()) / total
        return cls(moments, error)


def _diffused(masses: Floats) -> NDArray[np.float32]:
    """Masses in single precision whose partial sums are as close to the exact ones as the last mass is."""
    sums = np.append(0.0, np.cumsum(masses))
    rounded = np.empty(len(masses), dtype=np.float32)
    total = 0.0
    for place, upto in enumerate(sums[1:].tolist()):
        rounded[place] = max(upto - total, 0.0)
        total += float(rounded[place])
    return rounded


def described(name: str, sketch: Sketch) -> dict[str, Any]:
    """A feature as the page holds it, from a sketch that is fine enough for the smallest alpha."""
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
        return facts | {"width": 0.0, "offsets": "", "moments": "", "error": 0.0, "rank_error": 0.0}
    sketch = embedded(sketch)
    rounded = Rounded.of(sketch)
    return facts | {
        "width": sketch.cell_width,
        "offsets": as_base64(sketch.offsets.astype("<f8")),
        "moments": as_base64(rounded.moments.astype("<f4")),
        "error": min(1.0, _error(sketch) + rounded.error),
        "rank_error": min(1.0, tabulate(sketch, KERNEL, 0.0).error + rounded.error),
    }


def _error(sketch: Sketch) -> float:
    """Bound of the error of T that the cells and the browser's own rounding leave, at any alpha of the slider."""
    if not sketch.range > 0:
        return 0.0
    bandwidth = SMALLEST * sketch.std
    error = cell_error(KERNEL, sketch.cell_width / bandwidth) + rounding_error(KERNEL, len(sketch))
    return 2 * error / least_total(KERNEL, sketch.range / bandwidth)


def as_base64(array: NDArray[Any]) -> str:
    return b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None
