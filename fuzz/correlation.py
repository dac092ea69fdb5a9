"""correlation, and one pair of corr, against Pearson's formula on the direct sums."""

from __future__ import annotations

from typing import Any

import numpy as np

import kdi
from fuzz.checks import DATA_ERRORS, DirectSum, documented
from fuzz.decoder import Column, Decoder

ERRORS = [*DATA_ERRORS, r"must have length at least 2"]
WARNINGS = "coefficient is not defined|arguments is too small"


def check(data: bytes) -> None:
    """Correlate two columns."""
    decoder = Decoder(data)
    x, alpha, kernel = decoder.column(1500), decoder.alpha(), decoder.kernel()
    y = np.resize(decoder.column(1500), len(x)) if decoder.one_in(2) else decoder.choice([1.0, -1.0]) * x
    with np.errstate(over="ignore"):
        y = y[np.random.default_rng(decoder.integer(0, 255)).permutation(len(y))] if decoder.one_in(2) else y
    weights = decoder.weights(len(x))
    policy = decoder.choice(["omit", "propagate"])
    with documented(*ERRORS, allowed=WARNINGS):
        result = kdi.correlation(x, y, alpha=alpha, weights=weights, nan_policy=policy, **kernel)
        _check(result, x, y, weights, alpha, kernel, policy)
        other = kdi.correlation(y, x, alpha=alpha, weights=weights, nan_policy=policy, **kernel)
        assert np.isnan(other.statistic) == np.isnan(result.statistic), "symmetric"
        result.confidence_interval()
        if policy == "omit" and np.isfinite(x[~np.isnan(x)]).all() and np.isfinite(y[~np.isnan(y)]).all():
            matrix = kdi.corr(np.column_stack([x, y]), alpha=alpha, weights=weights, **kernel)
            error = abs(matrix[0, 1] - result.statistic)
            assert np.isnan(error) or error <= 2 * result.error_bound + 1e-9, f"corr is off by {error:.3g}"
            assert np.isnan(matrix[0, 1]) or matrix[0, 1] == matrix[1, 0], "symmetric"


def _check(
    result: Any, x: Column, y: Column, weights: Column | None, alpha: Any, kernel: dict[str, Any], policy: str
) -> None:
    statistic, bound = float(result.statistic), float(result.error_bound)
    if np.isnan(statistic):
        return
    assert -1 <= statistic <= 1, f"r is {statistic}"
    assert 0 <= bound <= 2, f"bound is {bound}"
    assert 0 <= result.pvalue <= 1 or np.isnan(result.pvalue), f"p is {result.pvalue}"
    known = ~(np.isnan(x) | np.isnan(y))
    if weights is not None:
        known &= weights > 0
    x, y = x[known], y[known]
    weights = None if weights is None else weights[known]
    vectors, allowance = [], 1e-12
    for values in (x, y):
        with np.errstate(over="ignore", invalid="ignore"):
            if alpha == 0:
                values = np.unique(values, return_inverse=True)[1].astype(float)  # ranks only, of infinite values too
            elif not np.isfinite(np.ptp(values)):
                values = values / 4  # an infinite range has a correlation, though no transformation
        exact = DirectSum.of(values, weights, alpha, **kernel)
        if exact.factor not in (0, np.inf) and exact.relative_spread < 1e-12:
            return
        levels, rounding = exact.integral(values)
        mass = np.ones(len(values)) if weights is None else weights / weights.max()
        centred = levels - np.average(levels, weights=mass)
        norm = np.sqrt((mass * centred**2).sum())
        allowance += 4 * rounding * np.sqrt(mass.sum()) / norm if norm else 2
        vectors.append(np.sqrt(mass) * centred / norm)
    if allowance > 0.1 or len(x) == 2:
        return
    error = abs(statistic - float(vectors[0] @ vectors[1]))
    assert error <= bound + allowance, f"error {error:.3g} beyond bound {bound:.3g} + {allowance:.3g}"
