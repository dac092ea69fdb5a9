"""kdi.correlation: the statistic against the direct sum, and its limits."""

import correlation_oracle as direct
import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import SAMPLES, sample
from scipy import stats

import kdi

pytestmark = pytest.mark.numpy_core

NAMES = list(SAMPLES)
PAIRS = list(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))

EVERY_PAIR = pytest.mark.parametrize(("name", "other"), PAIRS)


class TestAgainstTheDirectSum:
    @EVERY_PAIR
    @pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 5.0])
    @pytest.mark.parametrize("n", [3, 30, 1000])
    def test_short(self, name, other, kernel, alpha, n):
        x, y, order = direct.named_pair(name, other, n)
        expected = direct.pearson(
            direct.named_levels(name, n, alpha, kernel), direct.named_levels(other, n, alpha, kernel)[order]
        )
        direct.check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance=1e-9)

    @EVERY_PAIR
    @pytest.mark.parametrize(
        ("n", "alpha", "kernel"),
        [(2000, 1.0, "polyexp"), (5000, 0.1, "polyexp"), (5000, 1.0, "polyexp"), (5000, 1.0, "gaussian")],
    )
    def test_long(self, name, other, n, alpha, kernel):
        x, y, order = direct.named_pair(name, other, n)
        expected = direct.pearson(
            direct.named_levels(name, n, alpha, kernel), direct.named_levels(other, n, alpha, kernel)[order]
        )
        # an error of T counts over T's spread, which is small beside one huge outlier
        tolerance = 2e-6 if "outlier" in (name, other) else 5e-7
        direct.check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance)

    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    def test_20000_rows_of_few_values(self, alpha, kernel, rng):
        """Ties, so that the direct sum is over the distinct values only."""
        x = rng.normal(size=20_000).round(2)
        y = (np.exp(x) + rng.lognormal(size=20_000)).round(1)
        assert max(np.unique(x).size, np.unique(y).size) < 1200
        expected = direct.correlation(x, y, alpha, kernel)
        direct.check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance=1e-6)

    @pytest.mark.parametrize("order", [1, 2, 6])
    @pytest.mark.parametrize("alpha", [0.1, 1.0, (3.0, "scott")], ids=str)
    @pytest.mark.parametrize(("n", "tolerance"), [(50, 1e-9), (3000, 5e-7)])
    def test_orders_of_the_kernel(self, n, tolerance, alpha, order):
        x, y, _ = direct.named_pair("lognormal-1", "normal", n)
        expected = direct.correlation(x, y, alpha, order=order)
        direct.check(kdi.correlation(x, y, alpha=alpha, order=order), expected, tolerance)
        assert abs(expected - direct.correlation(x, y, alpha)) > 1e-6

    def test_the_gaussian_has_no_order(self, rng):
        x, y = rng.normal(size=(2, 50))
        assert kdi.correlation(x, y, kernel="gaussian", order=1) == kdi.correlation(x, y, kernel="gaussian")

    @pytest.mark.parametrize(
        "alpha",
        [(0.1, 3.0), (3.0, 0.1), [0.3, 1.0], (0, np.inf), (np.inf, 1.0), (0.5, 0), ("scott", 2.0)],
        ids=str,
    )
    def test_pairs_of_alphas(self, alpha, rng):
        x = rng.lognormal(size=200)
        y = x + rng.normal(size=200)
        direct.check(kdi.correlation(x, y, alpha=alpha), direct.correlation(x, y, tuple(alpha)), tolerance=1e-9)

    @pytest.mark.parametrize("rule", ["scott", "silverman"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_rules(self, rule, kernel, weighted, rng):
        x = rng.normal(size=150)
        y = x**3 + rng.normal(size=150)
        weights = rng.uniform(0.5, 3, size=150) if weighted else None
        ours = kdi.correlation(x, y, alpha=rule, kernel=kernel, weights=weights)
        direct.check(ours, direct.correlation(x, y, rule, kernel, weights), tolerance=1e-9)

    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, 3.0, np.inf])
    @pytest.mark.parametrize("whole", [False, True])
    @pytest.mark.parametrize("n", [40, 1000])
    def test_weights(self, n, whole, alpha, kernel, rng):
        x, y, _ = direct.named_pair("lognormal-1", "poisson", n)
        weights = rng.integers(0, 4, size=n) if whole else rng.exponential(size=n)
        ours = kdi.correlation(x, y, alpha=alpha, kernel=kernel, weights=weights)
        direct.check(ours, direct.correlation(x, y, alpha, kernel, weights), tolerance=1e-9)
        assert ours.pvalue == pytest.approx(direct.pvalue(ours.statistic, weights.sum()), rel=1e-9, abs=1e-300)

    def test_weights_of_many_rows(self, rng):
        x = rng.standard_cauchy(size=5000).round(1)
        y = x + rng.standard_cauchy(size=5000).round(1)
        weights = rng.exponential(size=5000)
        direct.check(kdi.correlation(x, y, weights=weights), direct.correlation(x, y, weights=weights), tolerance=1e-6)

    @pytest.mark.parametrize("n", [50, 3000])
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf])
    def test_float32_is_computed_in_float64(self, alpha, n, rng):
        x = rng.lognormal(size=n).astype(np.float32).round(2)
        y = (x + rng.normal(size=n)).astype(np.float32).round(2)
        ours = kdi.correlation(x, y, alpha=alpha)
        direct.check(ours, direct.correlation(x, y, alpha), tolerance=1e-9 if n == 50 else 1e-6)
        assert type(ours.statistic) is np.float64
        assert type(ours.pvalue) is np.float64

    @pytest.mark.parametrize("n", [5, 500, 5000])
    @pytest.mark.parametrize("name", NAMES)
    def test_with_itself(self, name, n):
        x = sample(name, n)
        assert kdi.correlation(x, x).statistic == pytest.approx(1, abs=1e-14)
        mirrored = kdi.correlation(x, -x)
        assert mirrored.statistic == pytest.approx(-1, abs=mirrored.error_bound + 1e-12)

    def test_one_outlier(self):
        """By hand: at alpha=inf the far value alone decides, at alpha=0 the other ranks do."""
        x = np.r_[np.arange(20.0), 1e9]
        y = np.r_[-np.arange(20.0), 1e9]
        assert kdi.correlation(x, y, alpha=np.inf).statistic == pytest.approx(1, abs=1e-12)
        assert kdi.correlation(x, y, alpha=0).statistic < -0.7


class TestLimits:
    """Both limits to 1e-12, statistic and p-value."""

    @EVERY_PAIR
    @pytest.mark.parametrize("n", [6, 100, 3000])
    def test_infinity_is_pearsonr(self, name, other, alternative, n):
        x, y, _ = direct.named_pair(name, other, n)
        ours = kdi.correlation(x, y, alpha=np.inf, alternative=alternative)
        assert_allclose(ours, stats.pearsonr(x, y, alternative=alternative), rtol=0, atol=1e-12)
        assert ours.error_bound <= 1e-12

    @EVERY_PAIR
    @pytest.mark.parametrize("n", [6, 100, 3000])
    def test_zero_is_spearmanr(self, name, other, alternative, n):
        x, y, _ = direct.named_pair(name, other, n)
        ours = kdi.correlation(x, y, alpha=0, alternative=alternative)
        assert_allclose(ours, stats.spearmanr(x, y, alternative=alternative), rtol=0, atol=1e-12)
        assert ours.error_bound <= 1e-12

    @pytest.mark.parametrize("n_values", [2, 3, 10])
    @pytest.mark.parametrize("n", [12, 400, 5000])
    def test_ties(self, n, n_values, alternative, rng):
        x = rng.integers(n_values, size=n)
        y = x + rng.integers(n_values + 1, size=n)
        for alpha, theirs in [(0, stats.spearmanr), (np.inf, stats.pearsonr)]:
            ours = kdi.correlation(x, y, alpha=alpha, alternative=alternative)
            assert_allclose(ours, theirs(x, y, alternative=alternative), rtol=0, atol=1e-12)

    def test_the_kernel_does_not_matter(self, kernel, rng):
        x, y = rng.normal(size=(2, 50))
        for alpha, theirs in [(0, stats.spearmanr), (np.inf, stats.pearsonr)]:
            assert_allclose(
                kdi.correlation(x, y, alpha=alpha, kernel=kernel).statistic, theirs(x, y).statistic, rtol=0, atol=1e-12
            )

    def test_are_approached(self, kernel, rng):
        x = rng.permutation(60) + rng.uniform(0, 0.5, size=60)
        y = np.exp(x / 20) + rng.uniform(size=60)
        for limit, alphas in [(0, (1.0, 0.3, 0.03, 1e-4)), (np.inf, (1.0, 3.0, 30.0, 3e4))]:
            goal = kdi.correlation(x, y, alpha=limit).statistic
            away = [abs(kdi.correlation(x, y, alpha=alpha, kernel=kernel).statistic - goal) for alpha in alphas]
            assert away == sorted(away, reverse=True)
            assert away[0] > 1e-3
            assert away[-1] < 1e-6

    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, 10.0, np.inf])
    @pytest.mark.parametrize(("y", "sign"), [([3.0, 4.5], 1.0), ([0.1, -7.3], -1.0)])
    def test_two_rows(self, alpha, alternative, y, sign):
        result = kdi.correlation([0.1, 0.7], y, alpha=alpha, alternative=alternative)
        assert result.statistic == sign
        assert result.pvalue == 1

    def test_infinite_values_are_ranked_at_zero(self):
        x, y = [1, 2, np.inf, -np.inf, 5, np.inf], [1, 3, 7, 0, 8, 2]
        assert_allclose(kdi.correlation(x, y, alpha=0), stats.spearmanr(x, y), rtol=0, atol=1e-12)
