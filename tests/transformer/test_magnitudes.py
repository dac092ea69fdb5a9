"""No magnitude of values, weights or alpha is special: T stays within its bound, and nothing warns or overflows."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ConstantInputWarning

from kdi import KDE1D, KDITransformer, Sketch, cluster, correlation

pytestmark = pytest.mark.numpy_core
KERNELS = ["polyexp", "gaussian"]
ROUNDING = 1e-12  # of the direct sum, and of values rounded to few digits


def assert_within_bound(values, alpha, kernel, weights=None, unit=1.0, tolerance=ROUNDING):
    """Compare a fit of `values * unit` with the direct sum over `values`."""
    values = np.asarray(values, dtype=float)
    column = (values * unit)[:, None]
    model = KDITransformer(alpha, kernel=kernel).fit(column, sample_weight=weights)
    expected = oracle.transform(values, values, alpha, kernel, weights=weights)
    assert abs(model.transform(column).ravel() - expected).max() <= model.error_bound_[0] + tolerance
    return model


class TestValues:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("alpha", [0.05, 1, 30])
    @pytest.mark.parametrize("exponent", [-1020, -1000, -500, 0, 500, 1000])
    @pytest.mark.parametrize("n", [50, 3000])
    def test_a_power_of_two_changes_nothing(self, n, exponent, alpha, kernel, rng):
        values = np.round(rng.normal(size=n), 9)
        unit = np.ldexp(1.0, exponent)
        model = assert_within_bound(values, alpha, kernel, unit=unit, tolerance=1e-12 if exponent > -1000 else 1e-5)
        assert model.error_bound_[0] <= 1e-6

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_subnormal_columns(self, kernel, rng):
        steps = rng.integers(-40, 40, size=200).astype(float)
        assert_within_bound(steps, 1.0, kernel, unit=5e-324)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize(
        ("values", "alpha"),
        [([0, 1, 3, 10], 5.0), ([0, 1, 2, 3], 1e-310), ([0, 1, 2, 3], 1e-300), ([0, 1, 2, 3], 1e300)],
    )
    def test_bandwidths_at_the_ends_of_the_numbers(self, values, alpha, kernel):
        """The oracle takes the limit where it cannot divide by the bandwidth."""
        unit = 1e307 if alpha == 5.0 else 1.0
        column = np.array(values, dtype=float)[:, None]
        model = KDITransformer(alpha, kernel=kernel).fit(column * unit)
        limit = 0 if alpha < 1 else np.inf if alpha > 1e9 else alpha
        expected = oracle.transform(column, column.ravel(), limit, kernel)
        assert abs(model.transform(column * unit).ravel() - expected).max() <= model.error_bound_[0] + ROUNDING

    def test_values_closer_than_a_vanishing_bandwidth(self):
        """Ranks tell them apart, the kernel does not; the bound knows."""
        values = np.r_[-9e307, np.linspace(0, 1, 60)]
        model = KDITransformer(1e-307).fit(values[:, None])
        assert model.bandwidth_[0] > 1
        assert model.error_bound_[0] == 1
        apart = KDITransformer(1e-307).fit(np.array([[-8e307], [0.0], [9e307]]))
        assert apart.error_bound_[0] < 1

    def test_correlations_of_values_closer_than_a_vanishing_bandwidth(self):
        y = [3, 2.4e-83, -100, 5e-324, 0, 2e5, 7, 9]
        found = correlation([4, 6, 10, 3, 9, 5, 4, 1], y, alpha=1e-290)
        exact = correlation([4, 6, 10, 3, 9, 5, 4, 1], y, alpha=1e-280)
        assert abs(found.statistic - exact.statistic) <= found.error_bound + exact.error_bound

    @pytest.mark.parametrize("exponent", [20, 30, 40, 60, 520])
    def test_cells_that_are_much_wider_than_the_range(self, exponent):
        """Their moments hardly tell the spread."""
        values = np.array([2.86, 3.58, 2.66, 0.47, 2.16, 1.1, 0.2, 5.0] * 9) + np.arange(72) / 1024
        sketch = Sketch.from_values(values, cell_width=2.0**exponent)
        for alpha in (1.0, 30.0):
            model = KDITransformer(alpha).fit_sketches([sketch])
            expected = oracle.transform(values, values, alpha, "polyexp")
            assert abs(model.transform(values[:, None]).ravel() - expected).max() <= model.error_bound_[0] + ROUNDING

    def test_inverse_between_knots_that_are_far_apart(self):
        model = KDITransformer(0).fit([[-1e308], [1.0], [2.0], [3.0]])
        assert_allclose(model.inverse_transform([[0.1], [0.2]]).ravel(), [-7e307, -4e307], rtol=1e-9)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("alpha", [0, 1])
    def test_lines_beyond_steep_ends_stay_finite(self, alpha, dtype):
        model = KDITransformer(alpha, out_of_range="linear").fit(np.array([[0.0], [3e-41], [5e-41]]))
        largest = np.finfo(dtype).max
        far = np.array([[-largest], [largest]])
        levels = model.transform(far)
        assert_array_equal(np.isfinite(levels), True)
        assert levels[0, 0] < 0 and levels[1, 0] > 1
        assert_array_equal(np.isfinite(model.inverse_transform(levels)), True)


class TestWeights:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e290])
    def test_tiny_and_huge(self, unit, kernel, rng):
        values, weights = rng.normal(size=300), rng.integers(1, 5, size=300).astype(float)
        one = KDITransformer(kernel=kernel).fit(values[:, None], sample_weight=weights * unit)
        assert one.error_bound_[0] <= 1e-6
        expected = oracle.transform(values, values, 1.0, kernel, weights=weights)
        assert abs(one.transform(values[:, None]).ravel() - expected).max() <= one.error_bound_[0] + ROUNDING

    def test_uneven(self):
        values = np.array([[0.0], [1.0], [2.0]])
        model = KDITransformer().fit(values, sample_weight=[1e-300, 1e300, 1e-300])
        levels = model.transform(values).ravel()
        assert levels[0] == 0 and levels[2] == 1
        assert abs(levels[1] - 0.5) <= model.error_bound_[0]

    @pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e300])
    def test_of_a_correlation(self, unit, rng):
        x, weights = rng.normal(size=20), rng.integers(1, 5, size=20).astype(float)
        y = x + rng.normal(size=20)
        for alpha in (0, 1, np.inf):
            expected = correlation(x, y, weights=weights, alpha=alpha).statistic
            assert_allclose(correlation(x, y, weights=weights * unit, alpha=alpha).statistic, expected, rtol=1e-9)

    def test_of_a_correlation_that_one_row_has(self):
        """The others are lost beside it in every sum, so there is one value."""
        with pytest.warns(ConstantInputWarning):
            found = correlation([0.0, 1, 2, 3], [1.0, 0, 3, 2], weights=[1e300, 1e-300, 1e-300, 1e-300])
        assert np.isnan(found.statistic)

    def test_of_clusters(self):
        values = np.r_[np.zeros(12), 9e12 + np.arange(20.0)]
        found = cluster(values, bandwidth=0.01, weights=np.full(32, 1e-323), significance=0.05)
        assert len(found.sizes) == 1

    def test_of_a_density(self):
        with pytest.raises(ValueError, match="bandwidth"):
            KDE1D([0.0, 1.0], weights=[1e-300, 1e300])
        assert KDE1D([0, 1, 2.0], alpha=1e-100, weights=[1, 1e200, 1]).error_bound == 1


class TestDensities:
    @pytest.mark.parametrize("alpha", [1.797e308, 1e300])
    def test_bandwidths_that_are_too_large(self, alpha):
        with pytest.raises(ValueError, match="bandwidth"):
            KDE1D([0.0, 1.0, 2.0], alpha=alpha)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize(("alpha", "unit"), [(1e3, 1e307), (1e100, 1.0), (1e280, 1.0), (1.0, 1e-300)])
    def test_medians_of_wide_ones(self, alpha, unit, kernel):
        kde = KDE1D(np.array([-1.0, 0.0, 2.0]) * unit, alpha=alpha, kernel=kernel)
        median = kde.ppf(0.5)
        assert np.isfinite(median)
        assert_allclose(kde.cdf(median), 0.5, atol=1e-9)

    @pytest.mark.parametrize("n", [1000, 100_000])
    def test_gaussian_sums_of_values_that_nearly_touch(self, n):
        """Gaps that differ by less than a rounding must not add up to a drift."""
        h = 0.1 * np.sqrt(n) / (n + 1)
        values = np.r_[0.0, np.cumsum(0.98e-12 * h + np.arange(n) * 1e-19 * h), 1.0]
        kde = KDE1D(values, alpha=0.1, kernel="gaussian")
        at = np.array([0.01, 0.1, 1.0, 3.0]) * h
        exact = oracle.cdf(values, at, 0.1 * oracle.spread(values), "gaussian")
        assert abs(kde.cdf(at) - exact).max() <= kde.error_bound + 1e-14

    @given(st.integers(2, 400), st.floats(1, 1e9), st.floats(0.01, 3), st.sampled_from(KERNELS), st.integers(0, 99))
    def test_normal_values_and_one_far_out(self, n, far, alpha, kernel, seed):
        values = np.r_[np.random.default_rng(seed).normal(size=n), far]
        kde = KDE1D(values, alpha=alpha, kernel=kernel)
        exact = oracle.cdf(values, values, alpha * oracle.spread(values), kernel)
        assert abs(kde.cdf(values) - exact).max() <= kde.error_bound + 2e-15 * n


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normal_scores_never_decrease(dtype, rng):
    model = KDITransformer(output_distribution="normal").fit(rng.normal(size=(20_000, 1)))
    start = rng.uniform(-4, 4, size=(2000, 1))
    steps = np.arange(100) * np.spacing(np.abs(start)) * np.ldexp(1.0, rng.integers(0, 30, size=(2000, 1)))
    scores = model.transform((start + steps).reshape(-1, 1).astype(dtype)).reshape(2000, 100)
    assert (np.diff(scores, axis=1) >= 0).all()


def test_threads_that_ask_for_the_maps_at_once(rng):
    """`partial_fit` leaves the maps to the first call of `transform`, which may come from many threads."""
    table = rng.normal(size=(2000, 8))
    expected = KDITransformer(n_jobs=1).fit(table).transform(table)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            for _ in range(20):
                model = KDITransformer(n_jobs=1).partial_fit(table)
                for result in pool.map(lambda _, model=model: model.transform(table), range(16)):
                    assert_allclose(result, expected, rtol=0, atol=1e-9)
    finally:
        sys.setswitchinterval(interval)


def test_more_levels_than_rows_are_not_made(rng):
    model = KDITransformer(max_knots=10**11).fit(rng.normal(size=(50, 2)))
    assert model.quantiles_.shape == (50, 2)
    assert model.references_.shape == (50,)
