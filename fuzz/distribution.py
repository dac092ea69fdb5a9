"""KDE1D against the direct sum: cdf and sf within the bound, density, quantiles, random values."""

from __future__ import annotations

import numpy as np

import kdi
from fuzz.checks import DATA_ERRORS, DirectSum, documented
from fuzz.decoder import LARGEST, Column, Decoder

ERRORS = [
    *DATA_ERRORS,
    r"alpha must be positive and finite for a density",
    r"at least two different values of finite range",
    r"bandwidth that is not lost in rounding",
]
ROUNDING = 1e-14  # of the direct sum
POSITION_ROUNDING = 4e-14  # of quantiles, in units of the range


def check(data: bytes) -> None:
    """Estimate a density and compare it with the direct sum."""
    decoder = Decoder(data)
    column, kernel, alpha = decoder.column(), decoder.kernel(), decoder.alpha()
    weights = decoder.weights(len(column))
    with documented(*ERRORS):
        kde = kdi.KDE1D(column, alpha=alpha, weights=weights, **kernel)
        _check(decoder, kde, DirectSum.of(column, weights, alpha, **kernel))


def _check(decoder: Decoder, kde: kdi.KDE1D, exact: DirectSum) -> None:
    at = decoder.points(exact.points)
    with np.errstate(over="ignore"):
        reach = min(decoder.choice([0.1, 1.0, 10.0, 100.0]) * kde.bandwidth, 1e306)
        at = np.concatenate([at, exact.points[0] - reach * np.arange(5), exact.points[-1] + reach * np.arange(5)])
    at = np.unique(at[np.isfinite(at)])
    assert 0 <= kde.error_bound <= 1, f"bound is {kde.error_bound}"
    cdf, sf, pdf = kde.cdf(at), kde.sf(at), kde.pdf(at)
    spread = exact.relative_spread
    if spread > 1e-12:
        allowance = ROUNDING + (4e-16 / spread) ** 2
        for name, result, expected in (("cdf", cdf, exact.cdf(at)), ("sf", sf, exact.sf(at))):
            error = abs(result - expected).max()
            assert error <= kde.error_bound + allowance, f"{name}: error {error:.3g} beyond {kde.error_bound:.3g}"
    for result in (cdf, sf):
        assert ((result >= 0) & (result <= 1)).all(), "within [0, 1]"
    assert (pdf >= 0).all(), "densities are not negative"
    _check_quantiles(kde, POSITION_ROUNDING * exact.length)
    drawn = kde.rvs(5, rng=0)
    assert drawn.shape == (5,) and not np.isnan(drawn).any(), "random values"


def _check_quantiles(kde: kdi.KDE1D, room: float) -> None:
    levels = np.array([1e-300, 1e-9, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1 - 1e-9])
    quantiles = kde.ppf(levels)
    assert not np.isnan(quantiles).any(), "quantiles are numbers"
    assert (kde.ppf([0.0, 1.0]) == [-np.inf, np.inf]).all(), "quantiles of 0 and 1"
    assert np.isnan(kde.ppf([-0.1, 1.1, np.nan])).all(), "no quantiles beyond"
    finite: Column = np.isfinite(quantiles)
    with np.errstate(over="ignore"):
        below, above = quantiles[finite] - room, quantiles[finite] + room
    below, above = (
        np.nextafter(np.clip(one, -LARGEST, LARGEST), end) for one, end in ((below, -LARGEST), (above, LARGEST))
    )
    tolerance = 1e-9 + 2 * kde.error_bound
    met = (kde.cdf(below) <= levels[finite] + tolerance) & (kde.cdf(above) >= levels[finite] - tolerance)
    assert met.all(), f"cdf of a quantile is not its level, {levels[finite][~met][:3]}"
