"""The transformation against the direct sum: the matrix that the issue asks for."""

import numpy as np
import oracle
import pytest
from samples import ALPHAS, KERNELS, SAMPLES, probes, sample

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

TOLERANCE = 1e-6
ROUNDING = 2e-14  # of the oracle's own sums: some ulps over P(min, max), which is about 0.08 at alpha=10

EVERY_ALPHA = pytest.mark.parametrize("alpha", ALPHAS)
EVERY_KERNEL = pytest.mark.parametrize(("kernel", "order"), KERNELS)


def check_against_direct_sum(
    values, alpha, kernel, order, n_probes=300, weights=None, tolerance=TOLERANCE, **parameters
):
    """Fit one column; the error is within the tolerance and the certified bound, the ends are exact."""
    model = KDITransformer(alpha, kernel=kernel, order=order, **parameters)
    model.fit(values[:, None], sample_weight=weights)
    at = probes(values, n_probes)
    ours = model.transform(at[:, None])[:, 0]
    error = abs(ours - oracle.transform(values, at, alpha, kernel, order, weights))
    worst = error.argmax()
    bound = float(model.error_bound_[0])
    where = f"error {error[worst]:.2e}, bound {bound:.2e} at x={at[worst]!r}, T={ours[worst]!r}"
    assert error[worst] <= bound + ROUNDING, where
    assert bound <= tolerance, where
    assert error[worst] <= tolerance, where
    assert ours[0] == 0
    assert ours[-1] == 1
    assert (np.diff(ours) >= 0).all()
    return model


@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("n", [2, 3, 10, 100, 1500])
@pytest.mark.parametrize("name", SAMPLES)
def test_small(name, n, kernel, order, alpha):
    check_against_direct_sum(sample(name, n), alpha, kernel, order)


@pytest.mark.slow
@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "outlier"])
def test_20000(name, kernel, order, alpha):
    check_against_direct_sum(sample(name, 20_000), alpha, kernel, order)


@pytest.mark.slow
@EVERY_ALPHA
@EVERY_KERNEL
def test_one_huge_outlier_among_100000(kernel, order, alpha):
    check_against_direct_sum(sample("outlier", 100_000), alpha, kernel, order, n_probes=150)


@EVERY_ALPHA
@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("outlier", [-1e3, 1e5])
def test_outlier_among_100000(kernel, outlier, alpha, rng):
    values = rng.normal(size=100_000)
    values[0] = outlier
    check_against_direct_sum(values, alpha, kernel, 4, n_probes=60)


@pytest.mark.parametrize("order", [7, 12, 25])
@pytest.mark.parametrize("alpha", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("name", ["normal", "lognormal-2", "poisson"])
def test_high_orders(name, alpha, order):
    check_against_direct_sum(sample(name, 3000), alpha, "polyexp", order)


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("alpha", [1e-2, 30.0, 100.0])
@pytest.mark.parametrize("name", SAMPLES)
def test_beyond_the_usual_alphas(name, alpha, kernel):
    check_against_direct_sum(sample(name, 3000), alpha, kernel, 4)


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("alpha", [1e-300, 1e-100, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e3, 1e5, 1e12, 1e300])
@pytest.mark.parametrize("name", SAMPLES)
def test_extreme_alphas_keep_their_bound(name, alpha, kernel):
    # some thousand kernels that do not touch have no table of a reasonable size: the bound says so
    values = sample(name, 1000)
    tolerance = TOLERANCE if alpha > 1 else 1.0
    if alpha <= 100:
        check_against_direct_sum(values, alpha, kernel, 4, tolerance=tolerance)
        return
    # where the kernel is much wider than the data the direct sum itself cancels, but there K(0) - K(u) <= K(0) u²/2
    relative_range = np.ptp(values) / (alpha * oracle.spread(values) * oracle.canonical_scale(kernel))
    model = KDITransformer(alpha, kernel=kernel).fit(values[:, None])
    ours = model.transform(values[:, None])[:, 0]
    min_max = (values - values.min()) / np.ptp(values)
    assert model.error_bound_[0] <= tolerance
    assert abs(ours - min_max).max() <= relative_range**2 / 2 + model.error_bound_[0] + ROUNDING


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300])
def test_any_unit(scale, rng):
    values = rng.normal(size=400)
    model = KDITransformer().fit(values[:, None] * scale)
    error = abs(model.transform(values[:, None] * scale)[:, 0] - oracle.transform(values, values, 1.0, "polyexp")).max()
    assert error <= model.error_bound_[0] + ROUNDING
    assert error <= TOLERANCE


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", SAMPLES)
def test_weighted(name, alpha, kernel, rng):
    values = sample(name, 3000)
    check_against_direct_sum(values, alpha, kernel, 4, weights=rng.exponential(size=3000))


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
@pytest.mark.parametrize("max_knots", [5, 30, 300])
@pytest.mark.parametrize("name", SAMPLES)
def test_capped_knots_keep_their_bound(name, max_knots, alpha, kernel):
    model = check_against_direct_sum(sample(name, 3000), alpha, kernel, 4, tolerance=1.0, max_knots=max_knots)
    assert model.n_knots_[0] <= max_knots


def test_capping_the_knots_costs_what_the_bound_says():
    values = sample("normal", 3000)[:, None]
    free = KDITransformer(0.1).fit(values)
    few = KDITransformer(0.1, max_knots=20).fit(values)
    assert few.n_knots_[0] <= 20 < free.n_knots_[0]
    assert free.error_bound_[0] <= TOLERANCE < few.error_bound_[0]


def test_large_table_is_sketched_within_the_bound(rng):
    values = rng.lognormal(sigma=1.5, size=(300_000, 2))
    model = KDITransformer([0.2, 1.0]).fit(values)
    at = np.quantile(values, np.linspace(0, 1, 25), axis=0)
    ours = model.transform(at)
    for j, alpha in enumerate([0.2, 1.0]):
        error = abs(ours[:, j] - oracle.transform(values[:, j], at[:, j], alpha, "polyexp")).max()
        assert error <= model.error_bound_[j] + ROUNDING
        assert model.error_bound_[j] <= TOLERANCE


def test_columns_do_not_know_of_each_other():
    columns = np.column_stack([sample(name, 2000) for name in SAMPLES])
    together = KDITransformer(0.3).fit(columns)
    at = np.column_stack([np.resize(probes(column), 300) for column in columns.T])
    for j in range(columns.shape[1]):
        alone = KDITransformer(0.3).fit(columns[:, [j]])
        np.testing.assert_array_equal(together.transform(at)[:, j], alone.transform(at[:, [j]])[:, 0])


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("n", [100, 5000])
@pytest.mark.parametrize("tiny", [-5e-324, -1e-30, -1e-17, 1e-30])
def test_an_end_next_to_zero(tiny, n, kernel):
    check_against_direct_sum(np.r_[-np.linspace(1, 1000, n), tiny], 1.0, kernel, 4)
    check_against_direct_sum(np.r_[np.linspace(1, 1000, n), -tiny], 1.0, kernel, 4)
