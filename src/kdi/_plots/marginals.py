"""The curves of a transformer, and densities of what a sketch has seen, before and after, as a plot shows them.

Densities are Gaussian kernel estimates, reflected at the ends of the range: nothing is drawn where there are no values,
and the density after a quantile transform is as level as it is. That of equal values is infinite where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kdi._integral.integral import Integral
from kdi._integral.maps import forward
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import BaseKDITransformer, to_normal
from kdi._utils.typing import Float64Array

TAIL = 0.005  # the share of the values that may be left out of the picture at either end
ONE_OF = 20  # of so many values or more, one may be left out
FAR = 2.0  # which they are where they reach further than this many times the width of the rest
NORMAL_QUARTILES = 1.349  # from one quartile of a normal distribution to the other, in standard deviations
FINEST = 1e-3  # the least bandwidth, in units of the width of the picture
GRID, MOST_PLACES = 501, 1000


def positions(sketch: Sketch) -> Float64Array:
    """The values, or the centres of the cells."""
    if sketch.is_exact:
        return np.asarray(sketch.places, dtype=float)
    return np.clip(sketch.minimum + sketch.offsets, sketch.minimum, sketch.maximum)


def quantiles(sketch: Sketch, shares: Float64Array) -> Float64Array:
    """The values up to which these shares of the weight lie."""
    mass = np.cumsum(sketch.moments[:, 0])
    found: Float64Array = positions(sketch)[np.searchsorted(mass / mass[-1], shares).clip(0, len(mass) - 1)]
    return found


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


def grid(sketch: Sketch, low: float, high: float) -> Float64Array:
    """Where to draw a curve from low to high, closer where more values are."""
    places = positions(sketch)
    if len(places) > MOST_PLACES:
        places = quantiles(sketch, np.linspace(0, 1, GRID))
    inner = bulk(sketch)
    return np.unique(np.concatenate([np.linspace(low, high, GRID), np.linspace(*inner, GRID), places]))


def smoothing(sketch: Sketch) -> float | None:
    """Scott's bandwidth, of the narrower of two measures of spread; None where the cells are too wide for a density.

    It is no less than a share of the picture: quartiles that are all but equal would make peaks that nobody sees.
    """
    first, last = quantiles(sketch, np.array([0.25, 0.75]))
    spread = min(sketch.std, (last - first) / NORMAL_QUARTILES) or sketch.std
    if not spread > sketch.cell_width:
        return None
    low, high = bulk(sketch)
    return float(max(spread * sketch.count**-0.2, 0.5 * sketch.cell_width, FINEST * (high - low)))


def density(sketch: Sketch, bandwidth: float, low: float, high: float, at: Float64Array) -> Float64Array:
    """The density at ascending places from low to high, at which it is reflected, however often: it integrates to 1."""
    integral = Integral.from_sketch(sketch, get_kernel("gaussian", 4), bandwidth)
    start, within, turn = low - sketch.minimum, at - low, 2 * (high - low)
    # Bandwidths are less than half of the range: of what is further away, three times the range, next to nothing comes.
    found = np.zeros(len(at))
    for k in (-1, 0, 1):
        found += integral.at(start + k * turn + within)[1]
    for k in (-1, 0, 1, 2):
        found += integral.at((start + k * turn - within)[::-1])[1][::-1]
    return np.maximum(found, 0)


def density_before(sketch: Sketch, at: Float64Array) -> Float64Array | None:
    """The density of what a sketch has seen, zero where that is nothing; None where its cells are too wide for that."""
    if not sketch.range > 0:
        return np.where(at == sketch.minimum, np.inf, 0.0)
    bandwidth = smoothing(sketch)
    if bandwidth is None:
        return None
    seen = (at >= sketch.minimum) & (at <= sketch.maximum)
    return np.where(seen, density(sketch, bandwidth, sketch.minimum, sketch.maximum, at), 0.0)


def density_after(
    values: Float64Array, mass: Float64Array, count: int, width: float
) -> tuple[Float64Array, Float64Array]:
    """Where values lie after a transformation, and how densely; `width` is how wide cells have become."""
    sketch = Sketch.exact(values, mass)
    if not sketch.range > 0:
        return positions(sketch), np.full(len(sketch), np.inf)
    sketch.count = count  # of values, where there were fewer cells
    low, high = min(0.0, sketch.minimum), max(1.0, sketch.maximum)
    at = grid(sketch, low, high)
    return at, density(sketch, max(smoothing(sketch) or 0.0, 0.5 * width), low, high, at)


def levels(model: BaseKDITransformer, j: int, places: Float64Array) -> Float64Array:
    """What a transformer makes of values of one of its features."""
    column = places[:, None].copy()
    forward([model.maps_[j]], column, column, model.out_of_range)
    if model.output_distribution == "normal":
        to_normal(column)
    return column[:, 0]


def curves_and_densities(model: BaseKDITransformer, features: list[int], seen: Sketch) -> dict[str, Any]:
    """What KDIDisplay draws: some maps of a transformer that were fitted to the same values, and what was seen."""
    fitted = model.sketches_[features[0]]
    if not fitted.count or not seen.count:
        return {"x": np.empty(0), "curves": np.empty((len(features), 0))}
    low, high = min(fitted.minimum, seen.minimum), max(fitted.maximum, seen.maximum)
    x = grid(seen, low, high)
    found: dict[str, Any] = {"x": x, "curves": np.array([levels(model, j, x) for j in features])}
    before = density_before(seen, x)
    if before is None:  # and cells are too wide to say where outliers begin
        return found
    ends = np.array([bulk(seen), bulk(fitted)])
    found |= {"before": before, "shown": (float(ends[:, 0].min()), float(ends[:, 1].max()))}
    centres, mass, half = positions(seen), seen.moments[:, 0], 0.5 * seen.cell_width
    edges = np.minimum(centres + half, high), np.maximum(centres - half, low)
    after = []
    for j in features:
        values = levels(model, j, centres)
        known = ~np.isnan(values)
        widths = levels(model, j, edges[0]) - levels(model, j, edges[1])
        width = float(np.nansum(widths * mass) / mass.sum())
        after.append(density_after(values[known], mass[known], seen.count, width))
    return found | {"after": after}
