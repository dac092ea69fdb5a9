"""Densities of what a sketch has seen, before and after a transformation, as the margins of a plot show them.

They are Gaussian kernel estimates, reflected at the ends of the range: nothing is drawn where there are no values, and
the density after a quantile transform is as level as it is.
"""

from __future__ import annotations

import numpy as np

from kdi._typing import Floats
from kdi.integral import Integral
from kdi.kernels import get_kernel
from kdi.sketch import Sketch

TAIL = 0.005  # the share of the values that may be left out of the picture at either end
ONE_OF = 20  # of so many values or more, one may be left out
FAR = 2.0  # which they are where they reach further than this many times the width of the rest
NORMAL_QUARTILES = 1.349  # from one quartile of a normal distribution to the other, in standard deviations
GRID, MOST_PLACES = 501, 1000


def positions(sketch: Sketch) -> Floats:
    """The values, or the centres of the cells."""
    return np.clip(sketch.minimum + sketch.offsets, sketch.minimum, sketch.maximum)


def quantiles(sketch: Sketch, shares: Floats) -> Floats:
    """The values up to which these shares of the weight lie."""
    mass = np.cumsum(sketch.moments[:, 0])
    return positions(sketch)[np.searchsorted(mass / mass[-1], shares).clip(0, len(mass) - 1)]


def bulk(sketch: Sketch) -> tuple[float, float]:
    """The range without far outliers, which would leave no room for the rest."""
    low, high = sketch.minimum, sketch.maximum
    tail = max(TAIL, min(1 / ONE_OF, 1.5 / sketch.count))
    share = np.cumsum(sketch.moments[:, 0]) / sketch.weight
    before = np.concatenate([[0.0], share[:-1]])
    places = positions(sketch)
    first = places[np.searchsorted(share, tail * (1 + 1e-12), side="right").clip(0, len(places) - 1)]
    last = places[np.searchsorted(before, (1 - tail) * (1 - 1e-12), side="left") - 1]
    width = float(last - first)
    if not width > 0:
        return low, high
    if first - low > FAR * width:
        low = float(first) - 0.05 * width
    if high - last > FAR * width:
        high = float(last) + 0.05 * width
    return low, high


def grid(sketch: Sketch, low: float, high: float) -> Floats:
    """Where to draw a curve from low to high, closer where more values are."""
    places = positions(sketch)
    if len(places) > MOST_PLACES:
        places = quantiles(sketch, np.linspace(0, 1, GRID))
    inner = bulk(sketch)
    return np.unique(np.concatenate([np.linspace(low, high, GRID), np.linspace(*inner, GRID), places]))


def smoothing(sketch: Sketch) -> float | None:
    """Scott's bandwidth, of the narrower of two measures of spread; None where the cells are too wide for a density."""
    first, last = quantiles(sketch, np.array([0.25, 0.75]))
    spread = min(sketch.std, (last - first) / NORMAL_QUARTILES) or sketch.std
    if not spread > sketch.cell_width:
        return None
    return float(max(spread * sketch.count**-0.2, 0.5 * sketch.cell_width))


def density(sketch: Sketch, bandwidth: float, low: float, high: float, at: Floats) -> Floats:
    """The density at ascending places from low to high, at which it is reflected."""
    integral = Integral(sketch, get_kernel("gaussian", 4), bandwidth)

    def raw(places: Floats) -> Floats:
        return np.asarray(integral.at(places - sketch.minimum)[1])

    mirrored = [raw((2 * end - at)[::-1])[::-1] for end in (low, high)]
    return np.maximum(raw(at) + mirrored[0] + mirrored[1], 0)


def density_after(values: Floats, mass: Floats, count: int, width: float) -> tuple[Floats, Floats]:
    """Where values lie after a transformation, and how densely; `width` is how wide cells have become."""
    sketch = Sketch.exact(values, mass)
    sketch.count = count
    if not sketch.range > 0:
        return values[:1], np.full(1, np.inf)
    low, high = min(0.0, sketch.minimum), max(1.0, sketch.maximum)
    at = grid(sketch, low, high)
    bandwidth = max(smoothing(sketch) or 0.0, 0.5 * width)
    return at, density(sketch, bandwidth, low, high, at)
