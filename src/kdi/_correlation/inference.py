"""P-values and confidence intervals of a correlation, by formula or by resampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.special import betainc, ndtri
from scipy.stats import (
    BootstrapMethod,
    MonteCarloMethod,
    PermutationMethod,
    bootstrap,
    monte_carlo_test,
    permutation_test,
)

from kdi._correlation.samples import PairedSamples
from kdi._utils.typing import Float64Array

Alternative = Literal["two-sided", "less", "greater"]
BATCH = 2**22  # values resampled at a time, unless the user sets a batch


def check_alternative(alternative: Any) -> None:
    """Raise unless the alternative is one of scipy's three."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError(f"`alternative` must be 'less', 'greater', or 'two-sided', got {alternative!r}.")


def correlation_pvalue(statistic: Float64Array, n: Float64Array | float, alternative: Alternative) -> Float64Array:
    """Compute the p-value of a correlation of n independent rows by the distribution of Pearson's r under normality.

    r is beta(n/2 - 1, n/2 - 1) on [-1, 1]. Two rows are evidence of nothing: the p-value is 1. Weights that sum to less
    than 2 are not a sample: the p-value is NaN.
    """
    size = np.broadcast_to(np.asarray(n, dtype=float), statistic.shape)
    tail = {"two-sided": -abs(statistic), "less": statistic, "greater": -statistic}[alternative]
    shape = np.where(size > 2, size / 2 - 1, np.nan)
    pvalue = betainc(shape, shape, 0.5 + 0.5 * tail) * (2 if alternative == "two-sided" else 1)
    return np.where((size == 2) & ~np.isnan(statistic), 1.0, np.minimum(pvalue, 1.0))


def fisher_interval(
    statistic: Float64Array, n: Float64Array | float, level: float, alternative: Alternative
) -> Float64Array:
    """Compute the ends of a confidence interval: arctanh(r) is about normal, with standard error 1/sqrt(n - 3)."""
    size = np.broadcast_to(np.asarray(n, dtype=float), statistic.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        half_width = ndtri(0.5 + level / 2 if alternative == "two-sided" else level) / np.sqrt(size - 3)
        score = np.arctanh(statistic)
        low, high = np.tanh(score - half_width), np.tanh(score + half_width)
    low = np.where((size <= 3) | (alternative == "less"), -1.0, low)
    high = np.where((size <= 3) | (alternative == "greater"), 1.0, high)
    return np.stack([low, high])


def resampled_pvalue(samples: PairedSamples, method: Any, alternative: Alternative) -> Float64Array:
    """Compute the p-value of each slice by scipy's PermutationMethod or MonteCarloMethod."""
    test = _permutation if isinstance(method, PermutationMethod) else _monte_carlo
    return _by_slice(samples.repeated(), lambda some: test(some, method, alternative))


def bootstrap_interval(
    samples: PairedSamples, level: float, method: BootstrapMethod, alternative: Alternative
) -> Float64Array:
    """Compute the ends of a confidence interval by scipy's bootstrap; every resample has integrals of its own."""

    def interval(some: PairedSamples) -> Float64Array:
        result = bootstrap(
            (some.x, some.y),
            some.correlate,
            axis=-1,
            paired=True,
            vectorized=True,
            confidence_level=level,
            alternative=alternative,
            **_settings(method, some.x.size),
        )
        return np.clip(np.asarray(result.confidence_interval), -1, 1)  # one-sided ones end at infinity

    ends = _by_slice(samples.repeated(), interval)
    return np.broadcast_to(ends, (2, *samples.undefined.shape))


def _permutation(samples: PairedSamples, method: PermutationMethod, alternative: Alternative) -> Float64Array:
    """Test against other pairings of the same values, whose integrals are the same and are computed once."""
    x, y = samples.to_unit_vectors(samples.x, 0).vectors, samples.to_unit_vectors(samples.y, 1).vectors

    def statistic(y: Float64Array, axis: int) -> Float64Array:
        return np.asarray(np.einsum("...n,...n->...", x, y))

    result = permutation_test(
        (y,),
        statistic,
        permutation_type="pairings",
        axis=-1,
        vectorized=True,
        alternative=alternative,
        **_settings(method, x.size),
    )
    return np.asarray(result.pvalue)


def _monte_carlo(samples: PairedSamples, method: MonteCarloMethod, alternative: Alternative) -> Float64Array:
    """Test against samples drawn from other distributions, by default normal ones."""
    settings = _settings(method, samples.x.size)
    generator = np.random.default_rng(settings.pop("rng", None))
    settings.setdefault("rvs", (generator.normal, generator.normal))
    result = monte_carlo_test(
        (samples.x, samples.y),
        statistic=samples.correlate,
        axis=-1,
        vectorized=True,
        alternative=alternative,
        **settings,
    )
    return np.asarray(result.pvalue)


def _settings(method: Any, size: int) -> dict[str, Any]:
    """Convert a ResamplingMethod of scipy to keywords of scipy's function, in batches that fit in memory."""
    names = ("n_resamples", "batch", "method", "rvs", "rng", "random_state")
    settings = {name: getattr(method, name, None) for name in names}
    if settings["batch"] is None:
        settings["batch"] = max(1, BATCH // size)
    return {name: value for name, value in settings.items() if value is not None}


def _by_slice(samples: PairedSamples, function: Callable[[PairedSamples], Float64Array]) -> Float64Array:
    """Apply a function to all slices at once, or to each where rows are left out, as slices then differ in length."""
    x, y = np.broadcast_arrays(samples.x, samples.y)
    samples = replace(samples, x=x, y=y)
    if not samples.has_missing:
        return function(samples)
    results = [function(one) if len(one.x) > 1 else np.nan for one in samples.slices()]
    stacked = np.stack(np.broadcast_arrays(*results), axis=-1)
    return stacked.reshape(stacked.shape[:-1] + x.shape[:-1])
