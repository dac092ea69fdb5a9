"""The curves of a transformer, and the densities of sketched values before and after it, for plots.

Densities are Gaussian kernel estimates, reflected at the ends of the range: they are zero where there are no values,
and constant after a quantile transform. The density of equal values is infinite at that value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kdi._integral.integral import Integral
from kdi._integral.maps import forward
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import BaseKDITransformer
from kdi._utils.typing import Float64Array

MAX_TAIL = 0.005  # share of the values that may be left out of the plot at either end
OUTLIER_OF = 20  # one of so many values may be left out, even if it is a larger share
FAR = 2.0  # values are left out if they extend further than this many widths of the others
NORMAL_QUARTILES = 1.349  # distance of the quartiles of a normal distribution, in standard deviations
MIN_BANDWIDTH = 1e-3  # in units of the width of the plot
N_GRID, MAX_POSITIONS = 501, 1000


def sketched_values(sketch: Sketch) -> Float64Array:
    """Return the values of a sketch, or the centres of its cells."""
    if sketch.is_exact:
        return np.asarray(sketch.keys, dtype=float)
    return np.clip(sketch.minimum + sketch.offsets, sketch.minimum, sketch.maximum)


def quantiles(sketch: Sketch, shares: Float64Array) -> Float64Array:
    """Return the values up to which these shares of the weight lie."""
    reached = np.cumsum(sketch.moments[:, 0])
    indices = np.searchsorted(reached / reached[-1], shares).clip(0, len(reached) - 1)
    return np.asarray(sketched_values(sketch)[indices])


def range_without_outliers(sketch: Sketch) -> tuple[float, float]:
    """Return the range of the values without far outliers, which would compress all others."""
    low, high = sketch.minimum, sketch.maximum
    tail = max(MAX_TAIL, min(1 / OUTLIER_OF, 1.5 / sketch.count))
    share = np.cumsum(sketch.moments[:, 0]) / sketch.weight
    share_before = np.concatenate([[0.0], share[:-1]])
    values = sketched_values(sketch)
    first = values[np.searchsorted(share, tail * (1 + 1e-12), side="right").clip(0, len(values) - 1)]
    last = values[np.searchsorted(share_before, (1 - tail) * (1 - 1e-12), side="left") - 1]
    width = float(last - first)
    if not width > 0:
        return low, high
    if first - low > FAR * width:
        low = float(first) - 0.05 * width
    if high - last > FAR * width:
        high = float(last) + 0.05 * width
    return low, high


def curve_positions(sketch: Sketch, low: float, high: float) -> Float64Array:
    """Return where to evaluate a curve from low to high: more closely where there are more values."""
    values = sketched_values(sketch)
    if len(values) > MAX_POSITIONS:
        values = quantiles(sketch, np.linspace(0, 1, N_GRID))
    inner = range_without_outliers(sketch)
    return np.unique(np.concatenate([np.linspace(low, high, N_GRID), np.linspace(*inner, N_GRID), values]))


def density_bandwidth(sketch: Sketch) -> float | None:
    """Return Scott's bandwidth for the narrower of two measures of spread; None where the cells are too wide for it.

    It is at least a small share of the plot: nearly equal quartiles would make peaks that are too narrow to see.
    """
    first, last = quantiles(sketch, np.array([0.25, 0.75]))
    spread = min(sketch.std, (last - first) / NORMAL_QUARTILES) or sketch.std
    if not spread > sketch.cell_width:
        return None
    low, high = range_without_outliers(sketch)
    return float(max(spread * sketch.count**-0.2, 0.5 * sketch.cell_width, MIN_BANDWIDTH * (high - low)))


def reflected_density(sketch: Sketch, bandwidth: float, low: float, high: float, at: Float64Array) -> Float64Array:
    """Evaluate the density at ascending positions from low to high; it is reflected there, and so integrates to 1."""
    integral = Integral.from_sketch(sketch, get_kernel("gaussian", 4), bandwidth)
    start, within, period = low - sketch.minimum, at - low, 2 * (high - low)
    # The bandwidth is less than half of the range: images further away than three times the range add nearly nothing.
    density = np.zeros(len(at))
    for k in (-1, 0, 1):
        density += integral.at(start + k * period + within)[1]
    for k in (-1, 0, 1, 2):
        density += integral.at((start + k * period - within)[::-1])[1][::-1]
    return np.maximum(density, 0)


def density_before(sketch: Sketch, at: Float64Array) -> Float64Array | None:
    """Evaluate the density of sketched values, zero outside of their range; None where the cells are too wide."""
    if not sketch.range > 0:
        return np.where(at == sketch.minimum, np.inf, 0.0)
    bandwidth = density_bandwidth(sketch)
    if bandwidth is None:
        return None
    inside = (at >= sketch.minimum) & (at <= sketch.maximum)
    return np.where(inside, reflected_density(sketch, bandwidth, sketch.minimum, sketch.maximum, at), 0.0)


def density_after(
    values: Float64Array, weights: Float64Array, count: int, width: float, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Float64Array, Float64Array]:
    """Return levels, as far as the limits at least, and the density of transformed values there.

    `width` is the transformed width of a cell.
    """
    sketch = Sketch.exact(values, weights)
    if not sketch.range > 0:
        return sketched_values(sketch), np.full(len(sketch), np.inf)
    sketch.count = count  # of values, which may be more than the cells that were transformed
    low, high = min(limits[0], sketch.minimum), max(limits[1], sketch.maximum)
    at = curve_positions(sketch, low, high)
    bandwidth = max(density_bandwidth(sketch) or 0.0, 0.5 * width)
    return at, reflected_density(sketch, bandwidth, low, high, at)


def transform_feature(model: BaseKDITransformer, j: int, values: Float64Array) -> Float64Array:
    """Transform values of one feature of a transformer."""
    column = values[:, None].copy()
    forward([model.maps_[j]], column, column, model.out_of_range, to_scores=model._turns_into_scores)
    return column[:, 0]


def curves_and_densities(model: BaseKDITransformer, features: list[int], data: Sketch) -> dict[str, Any]:
    """Return the arguments of KDIDisplay: curves of features that were fitted to the same values, densities of `data`.

    Densities are missing where the cells of `data` are too wide for them.
    """
    fitted = model.sketches_[features[0]]
    if not fitted.count or not data.count:
        return {"x": np.empty(0), "curves": np.empty((len(features), 0))}
    low, high = min(fitted.minimum, data.minimum), max(fitted.maximum, data.maximum)
    x = curve_positions(data, low, high)
    result: dict[str, Any] = {"x": x, "curves": np.array([transform_feature(model, j, x) for j in features])}
    before = density_before(data, x)
    if before is None:  # such cells are too wide to find outliers, too
        return result
    ends = np.array([range_without_outliers(data), range_without_outliers(fitted)])
    result |= {"before": before, "shown": (float(ends[:, 0].min()), float(ends[:, 1].max()))}
    centres, weights, half = sketched_values(data), data.moments[:, 0], 0.5 * data.cell_width
    edges = np.minimum(centres + half, high), np.maximum(centres - half, low)
    # Normal scores have no limits; 0 is their centre.
    limits = (0.0, 0.0) if model.output_distribution == "normal" else model.feature_range
    after = []
    for j in features:
        levels = transform_feature(model, j, centres)
        known = ~np.isnan(levels)
        widths = transform_feature(model, j, edges[0]) - transform_feature(model, j, edges[1])
        width = float(np.nansum(widths * weights) / weights.sum())
        after.append(density_after(levels[known], weights[known], data.count, width, limits))
    return result | {"after": after}
