"""KDE1D: a kernel density estimate as a distribution object, in time linear in the data."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kdi._integral.bandwidth import bandwidth_factor
from kdi._integral.build import build_map
from kdi._integral.integral import Integral
from kdi._integral.maps import LinearMap, MapOptions, PackedMaps, inverse
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.columns import scan_columns, sketch_array, with_robust_spread
from kdi._sketch.sketch import Sketch, unit_sketch
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName, Spread
from kdi._utils.validation import as_column, as_weights, check_some_weight, check_spread

MIN_BANDWIDTH = 1e-290  # in units of the range: distances in units of a smaller bandwidth would overflow
LARGEST_NEGATIVE = -5e-324
REACH = 1e4  # bandwidths beyond which no kernel has any weight that a float64 can show


@public_in("kdi")
class KDE1D:
    """Kernel density estimate of one variable, with the methods of a scipy.stats distribution.

    Parameters
    ----------
    x : array-like of shape (n,), or Sketch
        The values; NaN is left out. A sketch represents the values that were added to it.
    alpha : float, "scott" or "silverman", default="scott"
        Bandwidth in units of `spread`; the rules are those of `scipy.stats.gaussian_kde`.
    kernel : {"gaussian", "polyexp"}, default="gaussian"
    order : int, default=4
        Order of a polyexp kernel.
    weights : array-like of shape (n,), optional
        A weight of 2 repeats a value, a weight of 0 removes it.
    spread : {"std", "robust"}, default="std"
        The standard deviation (ddof=0), or the smaller of it and the interquartile range / 1.349, as in
        `KDITransformer`.

    Attributes
    ----------
    alpha, bandwidth : float
        The bandwidth factor, and the bandwidth: alpha times the spread.
    n : float
        Sum of the weights.
    error_bound : float
        Bound on the error of `cdf` and `sf`.

    Notes
    -----
    The data is read twice, to make a sketch. `pdf`, `cdf` and `sf` sort the points and sum over the sketch by the
    filters of `KDITransformer`, whose `bounded=False` maps values to `cdf`. `ppf` inverts `cdf` by Newton's method.

    Examples
    --------
    >>> import kdi
    >>> kde = kdi.KDE1D([1.0, 2.0, 2.5, 4.0])
    >>> kde.cdf([0.0, 2.0, 5.0]).round(3)
    array([0.03 , 0.417, 0.972])
    >>> float(kde.ppf(0.5).round(3))
    2.292
    """

    def __init__(
        self,
        x: ArrayLike | Sketch,
        *,
        alpha: float | BandwidthRule = "scott",
        kernel: KernelName = "gaussian",
        order: int = 4,
        weights: ArrayLike | None = None,
        spread: Spread = "std",
    ) -> None:
        chosen = get_kernel(kernel, order)
        check_spread(spread)
        if isinstance(x, Sketch) and weights is not None:
            raise ValueError("weights must be None where x is a sketch; pass them to Sketch.from_values.")
        robust = spread == "robust"
        sketch = x if isinstance(x, Sketch) else _sketch(x, alpha, chosen, weights, robust)
        factor = bandwidth_factor(alpha, sketch.weight)
        if not 0 < factor < np.inf and sketch.count:
            raise ValueError(f"alpha must be positive and finite for a density, got {alpha!r}.")
        if not 0 < sketch.range < np.inf:
            raise ValueError(f"x must hold at least two different values of finite range, got {sketch!r}.")
        # Positions and densities are computed in units of 2**-shift, so that no magnitude is special.
        scaled, self._shift = unit_sketch(sketch)
        deviation, deviation_error, _ = scaled.robust_spread if robust else (scaled.std, 0.0, 0.0)
        bandwidth = factor * deviation
        if not MIN_BANDWIDTH < bandwidth < 1 / MIN_BANDWIDTH:
            raise ValueError(
                "alpha and weights must give a bandwidth that is not lost in rounding, "
                f"got {bandwidth} times the range of x."
            )
        with np.errstate(over="ignore"):
            self.alpha, self.n, self.bandwidth = factor, sketch.weight, float(np.ldexp(bandwidth, -self._shift))
        self._scaled, self._integral = scaled, Integral.from_sketch(scaled, chosen, bandwidth)
        self._low = sketch.minimum
        self.error_bound = min(self._integral.value_error + deviation_error, 1.0)  # |d cdf / d log h| is below 1

    def pdf(self, x: ArrayLike) -> Float64Array:
        """Compute the density at x."""
        return self._evaluate(x)[1]

    def cdf(self, x: ArrayLike) -> Float64Array:
        """Compute the probability of a value <= x."""
        return self._evaluate(x)[0]

    def sf(self, x: ArrayLike) -> Float64Array:
        """Compute the probability of a value > x, within `error_bound` and without the cancellation of 1 - cdf."""
        points = np.asarray(x, dtype=float)
        length = self._integral.high - self._integral.low
        return _at(self._integral.mirrored(), length - self._offsets(points))[0].reshape(points.shape)[()]

    def ppf(self, q: ArrayLike) -> Float64Array:
        """Compute the quantiles, at which `cdf` is q; NaN where q is not within [0, 1]."""
        share = np.asarray(q, dtype=float)
        result = np.where(share == 0, -np.inf, np.where(share == 1, np.inf, np.nan))
        inner = (share > 0) & (share < 1)
        result[inner] = self._quantiles(share[inner])
        return result[()]

    def rvs(self, size: int | tuple[int, ...] = 1, *, rng: np.random.Generator | int | None = None) -> Float64Array:
        """Draw random values; their distribution function is within 1e-6 of `cdf`.

        Parameters
        ----------
        size : int or tuple of int, default=1
            Shape of the result.
        rng : numpy.random.Generator or int, optional
            A generator, or the seed of one.
        """
        levels = np.asarray(np.random.default_rng(rng).uniform(size=size))
        out = np.empty((levels.size, 1))
        inverse(self._maps, levels.reshape(-1, 1), out, "clip")
        return self._values(out.reshape(levels.shape) - self._integral.low)

    @cached_property
    def _maps(self) -> PackedMaps:
        """The cdf as the map of one column."""
        kernel, bandwidth, scaled = self._integral.kernel, self._integral.bandwidth, self._scaled
        if scaled.is_exact:  # values that are tiny beside the range may have become equal
            scaled = Sketch.exact(scaled.keys.astype(float), scaled.moments[:, 0])
        elif scaled.keys[0] < 0:  # an extreme below 0 that underflows stays in its cell
            maximum = scaled.maximum if scaled.keys[-1] >= 0 else min(scaled.maximum, LARGEST_NEGATIVE)
            scaled = replace(scaled, minimum=min(scaled.minimum, LARGEST_NEGATIVE), maximum=maximum)
        return PackedMaps.pack([build_map(scaled, kernel, bandwidth, MapOptions(target="cdf"))])

    def _evaluate(self, x: ArrayLike) -> tuple[Float64Array, Float64Array]:
        points = np.asarray(x, dtype=float)
        cdf, pdf = _at(self._integral, self._offsets(points))
        with np.errstate(over="ignore", under="ignore"):
            pdf = np.ldexp(pdf, self._shift)
        return cdf.reshape(points.shape)[()], pdf.reshape(points.shape)[()]

    def _offsets(self, points: Float64Array) -> Float64Array:
        """Return positions relative to the minimum, in units of 2**-shift; all far ones are alike."""
        with np.errstate(over="ignore", invalid="ignore"):
            offsets = np.ldexp(points.ravel(), self._shift) - np.ldexp(self._low, self._shift)
        far = 1 + REACH * self._integral.bandwidth
        return np.asarray(np.clip(offsets, -far, far), dtype=float)

    def _values(self, offsets: Float64Array) -> Float64Array:
        with np.errstate(over="ignore"):
            return np.asarray(self._low + np.ldexp(offsets, -self._shift), dtype=float)

    def _quantiles(self, share: Float64Array) -> Float64Array:
        """Solve cdf(x) = share by Newton's method, within the interval of the map that contains the solution."""
        column_map, low = self._maps[0], self._integral.low
        if isinstance(column_map, LinearMap):
            knots = column_map.knots - low
        else:
            knots = column_map.low - low + np.arange(column_map.n_knots) / column_map.scale / column_map.unit
        levels = _at(self._integral, knots)[0]
        upper = np.clip(np.searchsorted(levels, share, side="right"), 1, len(levels) - 1)
        bandwidth = self._integral.bandwidth
        left = np.where(share < levels[0], knots[0] - 700 * bandwidth, knots[upper - 1])
        right = np.where(share >= levels[-1], knots[-1] + 700 * bandwidth, knots[upper])
        offset = 0.5 * (left + right)
        for _ in range(100):
            level, slope = _at(self._integral, offset)
            miss = level - share
            left, right = np.where(miss < 0, offset, left), np.where(miss < 0, right, offset)
            with np.errstate(divide="ignore", invalid="ignore"):
                following = offset - miss / slope
            following = np.where((following >= left) & (following <= right), following, 0.5 * (left + right))
            done = abs(following - offset) <= 1e-14 * (abs(offset) + bandwidth)
            offset = following
            if done.all():
                break
        return self._values(offset)


def _at(integral: Integral, offsets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Evaluate cdf and pdf at positions relative to the minimum, in any order."""
    order = np.argsort(offsets)  # NaN last
    known = order[: len(order) - int(np.isnan(offsets).sum())]
    cdf, pdf = np.full(len(order), np.nan), np.full(len(order), np.nan)
    values, densities = integral.at(offsets[known])
    cdf[known], pdf[known] = np.clip(values, 0, 1), np.maximum(densities, 0)
    return cdf, pdf


def _sketch(
    x: ArrayLike, alpha: float | BandwidthRule, kernel: Kernel, weights: ArrayLike | None, robust: bool
) -> Sketch:
    column = as_column(x, "x")
    mass = as_weights(weights, len(column), "weights")
    check_some_weight(mass, "weights")

    def factors(weights: Float64Array) -> Float64Array:
        return np.array([bandwidth_factor(alpha, float(weights[0]))])

    table = column[:, None]
    if not robust:
        return sketch_array(table, mass, kernel, factors)[0]
    stats = scan_columns(table, mass)
    whole, widest = with_robust_spread(stats, table, mass)
    return sketch_array(table, mass, kernel, factors, stats=stats, whole=whole, widest=widest)[0]
