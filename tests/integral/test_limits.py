"""The two limits: alpha=inf is MinMaxScaler and alpha=0 is QuantileTransformer."""

from itertools import pairwise

import numpy as np
import oracle
import pytest
from samples import SAMPLES, sample
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

TIE_FREE = [name for name in SAMPLES if name != "poisson"]


def around(values, n=500):
    """Points in, between and somewhat beyond the values."""
    low, high = values.min(), values.max()
    outside = [low - (high - low), high + (high - low)]
    return np.r_[np.linspace(low, high, n), values[:n], outside][:, None]


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("n", [2, 3, 1000, 30_000])
@pytest.mark.parametrize("name", SAMPLES)
def test_infinity_is_min_max_scaling(name, n, kernel):
    values = sample(name, n)
    low, width = values.min(), np.ptp(values)
    ours = KDITransformer(np.inf, kernel=kernel).fit(values[:, None])
    at, levels = around(values), np.linspace(0, 1, 101)[:, None]
    np.testing.assert_allclose(ours.transform(at), np.clip((at - low) / width, 0, 1), rtol=0, atol=1e-15)
    np.testing.assert_allclose(ours.inverse_transform(levels), low + levels * width, rtol=1e-15, atol=1e-15 * width)
    if name != "offset-1e9":  # there MinMaxScaler itself is right to 1e-8 only: it computes x * scale_ + min_
        theirs = MinMaxScaler(clip=True).fit(values[:, None])
        np.testing.assert_allclose(ours.transform(at), theirs.transform(at), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("n", [2, 3, 1000, 10_000])
@pytest.mark.parametrize("name", TIE_FREE)
def test_zero_is_the_quantile_transform(name, n, kernel):
    values = sample(name, n)
    assert np.unique(values).size == n
    ours = KDITransformer(0, kernel=kernel).fit(values[:, None])
    np.testing.assert_allclose(
        ours.transform(np.sort(values)[:, None])[:, 0], np.arange(n) / (n - 1), rtol=0, atol=1e-12
    )
    theirs = QuantileTransformer(n_quantiles=n, subsample=None).fit(values[:, None])
    theirs.quantiles_[:] = np.sort(values)[:, None]  # its own come from np.percentile, which rounds
    at = around(values)
    np.testing.assert_allclose(ours.transform(at), theirs.transform(at), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 101, 1000])
def test_zero_equals_an_untouched_quantile_transformer(n, rng):
    values = rng.normal(size=(n, 3))
    theirs = QuantileTransformer(n_quantiles=n).fit_transform(values)
    np.testing.assert_allclose(KDITransformer(0).fit_transform(values), theirs, rtol=0, atol=1e-12)


def test_zero_inverts_the_quantile_transform(rng):
    values = rng.lognormal(size=(200, 2))
    model = KDITransformer(0).fit(values)
    levels = np.linspace(0, 1, 200)
    np.testing.assert_allclose(
        model.inverse_transform(np.column_stack([levels, levels])), np.sort(values, axis=0), rtol=1e-12
    )


def test_zero_gives_ties_their_mid_ranks():
    values = np.array([[1.0], [2.0], [2.0], [2.0], [5.0], [5.0]])
    ours = KDITransformer(0).fit(values).transform([[1.0], [2.0], [5.0], [3.5]])
    # mid-ranks 0.5, 2.5 and 5, of which the first becomes 0 and the last 1; halfway between 2 and 5 the mean
    np.testing.assert_allclose(ours[:, 0], [0, 2 / 4.5, 1, (2 / 4.5 + 1) / 2], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", SAMPLES)
def test_zero_with_weights(name, rng):
    values = sample(name, 300)
    weights = rng.integers(0, 4, size=300)
    at = np.linspace(values.min(), values.max(), 1000)
    ours = KDITransformer(0).fit(values[:, None], sample_weight=weights).transform(at[:, None])[:, 0]
    np.testing.assert_allclose(ours, oracle.quantile_limit(values, at, weights), rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", [0, np.inf])
def test_limits_are_exact(alpha, table):
    np.testing.assert_array_less(KDITransformer(alpha).fit(table).error_bound_, 1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("name", SAMPLES)
def test_limits_are_approached(name, kernel):
    """T at the training values goes to the ranks as alpha goes to 0, and to min-max scaling as it goes to infinity."""
    values = np.unique(np.round(sample(name, 12), 6))[:, None]
    for limit, alphas in [(0, (0.3, 0.1, 1e-2, 1e-3)), (np.inf, (1.0, 10.0, 100.0, 1e4))]:
        goal = KDITransformer(limit).fit_transform(values)
        away = [abs(KDITransformer(alpha, kernel=kernel).fit_transform(values) - goal).max() for alpha in alphas]
        assert all(later <= earlier + 1e-6 for earlier, later in pairwise(away))
        assert away[-1] < 2e-6 or limit == 0
