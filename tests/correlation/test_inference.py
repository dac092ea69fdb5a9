"""kdi.correlation: p-values by resampling, confidence intervals, and how often a true null is rejected."""

from itertools import permutations

import correlation_oracle as direct
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import kdi

ALPHAS = [0, 0.3, 1.0, (0.1, 2.0), np.inf]


def exact_pvalue(x, y, alpha, alternative):
    """Share of all pairings that are at least as extreme; values equal but for rounding count as equal."""
    one, other = alpha if isinstance(alpha, tuple) else (alpha, alpha)
    x, y = direct.levels(x, one), direct.levels(y, other)
    observed = direct.pearson(x, y)
    null = np.array([direct.pearson(x, y[list(order)]) for order in permutations(range(len(y)))])
    less, greater = np.mean(null <= observed + 1e-9), np.mean(null >= observed - 1e-9)
    return {"less": less, "greater": greater, "two-sided": min(1, 2 * min(less, greater))}[alternative]


class TestDefaultPValue:
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf])
    def test_is_a_probability(self, alpha):
        """Of a correlation that is zero but for rounding, too: at most 1."""
        for n in range(3, 60):
            x = np.arange(n) - (n - 1) / 2
            for alternative in ("two-sided", "less", "greater"):
                result = kdi.correlation(x, x**2, alpha=alpha, alternative=alternative)
                assert abs(result.statistic) < 1e-14
                assert 0 <= result.pvalue <= 1

    @pytest.mark.parametrize("n", [3, 4, 10, 1000])
    def test_distribution_of_r(self, n, alternative, rng):
        x = rng.normal(size=n)
        result = kdi.correlation(x, x + rng.normal(size=n), alternative=alternative)
        assert result.pvalue == pytest.approx(direct.pvalue(result.statistic, n, alternative), rel=1e-9)


class TestPermutations:
    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    @pytest.mark.parametrize(
        ("x", "y"),
        [
            ([0.3, 1.9, 4.0, 2.2, 9.1], [1.0, 0.2, 8.3, 5.5, 6.1]),
            ([1.0, 2.0, 2.0, 3.0, 7.0], [5.0, 5.0, 1.0, 2.0, 0.0]),
        ],
        ids=["distinct", "ties"],
    )
    def test_all_pairings(self, x, y, alpha, alternative):
        for batch in (None, 7):
            method = stats.PermutationMethod(n_resamples=np.inf, batch=batch)
            ours = kdi.correlation(x, y, alpha=alpha, alternative=alternative, method=method)
            assert ours.pvalue == pytest.approx(exact_pvalue(x, y, alpha, alternative), abs=1e-12)
            assert ours.statistic == kdi.correlation(x, y, alpha=alpha).statistic

    def test_some_pairings(self, rng):
        """4,000 random pairings are within 4 standard errors of all 5,040, and the same again for the same seed."""
        x = rng.normal(size=7)
        y = x + 3 * rng.normal(size=7)
        exact = exact_pvalue(x, y, 1.0, "greater")
        assert 0.05 < exact < 0.95

        def pvalue(seed):
            method = stats.PermutationMethod(n_resamples=4000, rng=np.random.default_rng(seed))
            return kdi.correlation(x, y, alternative="greater", method=method).pvalue

        assert pvalue(1) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000))
        assert pvalue(1) == pvalue(1)
        assert len({pvalue(seed) for seed in range(5)}) > 1

    def test_slices(self, rng):
        x, y = rng.normal(size=(2, 5, 3))
        method = stats.PermutationMethod(n_resamples=np.inf)
        for axis in (0, 1):
            ours = kdi.correlation(np.moveaxis(x, 0, axis), np.moveaxis(y, 0, axis), axis=axis, method=method)
            expected = [exact_pvalue(x[:, j], y[:, j], 1.0, "two-sided") for j in range(3)]
            assert_allclose(ours.pvalue, expected, rtol=0, atol=1e-12)

    def test_weights_are_repetitions(self):
        x, y, weights = [1.0, 2.5, 0.3], [3.0, 9.1, 4.4], [2, 1, 3]
        method = stats.PermutationMethod(n_resamples=np.inf)
        ours = kdi.correlation(x, y, weights=weights, method=method)
        expected = exact_pvalue(np.repeat(x, weights), np.repeat(y, weights), 1.0, "two-sided")
        assert ours.pvalue == pytest.approx(expected, abs=1e-12)

    def test_missing_rows_are_left_out(self):
        x, y = [1.0, np.nan, 2.5, 0.3, 7.0, 4.1], [3.0, 2.0, 9.1, np.nan, 4.4, 4.0]
        method = stats.PermutationMethod(n_resamples=np.inf)
        ours = kdi.correlation(x, y, nan_policy="omit", method=method, alternative="less")
        assert ours.pvalue == pytest.approx(
            exact_pvalue([1.0, 2.5, 7.0, 4.1], [3.0, 9.1, 4.4, 4.0], 1.0, "less"), abs=1e-12
        )

    @pytest.mark.parametrize("make", [stats.PermutationMethod, stats.MonteCarloMethod])
    def test_infinity_is_pearsonr(self, make, rng):
        x, y = rng.normal(size=(2, 12))
        ours, theirs = (
            function(x, y, method=make(n_resamples=199, rng=np.random.default_rng(8)))
            for function in (lambda *args, **kwargs: kdi.correlation(*args, alpha=np.inf, **kwargs), stats.pearsonr)
        )
        assert_allclose(ours, theirs, rtol=0, atol=1e-12)


class TestMonteCarlo:
    @staticmethod
    def rvs():
        """One stream a sample, so that it does not matter which is drawn first."""
        return np.random.default_rng(5).lognormal, np.random.default_rng(6).standard_cauchy

    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    def test_both_samples_are_drawn_and_fitted_anew(self, alpha, alternative, rng):
        x = rng.lognormal(size=12)
        y = x + rng.standard_cauchy(size=12)
        theirs = stats.monte_carlo_test(
            (x, y), self.rvs(), lambda x, y: direct.correlation(x, y, alpha), n_resamples=149, alternative=alternative
        )
        for batch in (None, 40):
            method = stats.MonteCarloMethod(n_resamples=149, rvs=self.rvs(), batch=batch)
            ours = kdi.correlation(x, y, alpha=alpha, alternative=alternative, method=method)
            assert ours.pvalue == pytest.approx(theirs.pvalue, abs=1e-12)
            assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-10)

    def test_normal_unless_told(self, rng):
        """Near the p-value of r's distribution for normal samples, which is nearly exact at n=30."""
        x = rng.normal(size=30)
        y = 0.3 * x + rng.normal(size=30)
        default = kdi.correlation(x, y).pvalue
        assert 0.01 < default < 0.9
        method = stats.MonteCarloMethod(n_resamples=2000, rng=np.random.default_rng(1))
        ours = kdi.correlation(x, y, method=method).pvalue
        assert ours == pytest.approx(default, abs=4 * np.sqrt(default * (1 - default) / 2000))

    def test_weights_are_repetitions(self, rng):
        x, y = rng.normal(size=(2, 6))
        weights = np.array([1, 3, 0, 2, 1, 2])
        weighted, repeated = (
            kdi.correlation(*samples, method=stats.MonteCarloMethod(n_resamples=99, rvs=self.rvs()), weights=mass)
            for samples, mass in [((x, y), weights), ((np.repeat(x, weights), np.repeat(y, weights)), None)]
        )
        assert_allclose(weighted, repeated, rtol=0, atol=1e-12)

    def test_slices(self, rng):
        x, y = rng.normal(size=(2, 12, 3))
        ours = kdi.correlation(x, y, method=stats.MonteCarloMethod(n_resamples=99, rvs=self.rvs()))
        for j in range(3):
            alone = kdi.correlation(x[:, j], y[:, j], method=stats.MonteCarloMethod(n_resamples=99, rvs=self.rvs()))
            assert ours.pvalue[j] == pytest.approx(alone.pvalue, abs=1e-12)


class TestFisher:
    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
    @pytest.mark.parametrize("shape", [(4,), (30,), (30, 3)], ids=str)
    def test_infinity_is_pearsonr(self, shape, level, alternative, rng):
        x = rng.normal(size=shape)
        y = x + rng.normal(size=shape)
        ours = kdi.correlation(x, y, alpha=np.inf, alternative=alternative).confidence_interval(level)
        theirs = stats.pearsonr(x, y, alternative=alternative).confidence_interval(level)
        for one, other in zip(ours, theirs, strict=True):
            assert np.shape(one) == np.shape(other)
            assert_allclose(one, other, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    def test_formula(self, alpha, weighted, alternative, rng):
        """tanh(artanh r ± z / √(n − 3)), one bound given away to the alternative."""
        x = rng.lognormal(size=25)
        y = x + rng.normal(size=25)
        weights = rng.uniform(0.5, 2, size=25) if weighted else None
        n = 25 if weights is None else weights.sum()
        result = kdi.correlation(x, y, alpha=alpha, weights=weights, alternative=alternative)
        tail = 0.1 / 2 if alternative == "two-sided" else 0.1
        step = stats.norm.isf(tail) / np.sqrt(n - 3)
        low, high = np.tanh(np.arctanh(result.statistic) + np.array([-step, step]))
        expected = (-1 if alternative == "less" else low, 1 if alternative == "greater" else high)
        interval = result.confidence_interval(confidence_level=0.9)
        assert_allclose(interval, expected, rtol=0, atol=1e-12)
        assert_array_equal(interval, (interval.low, interval.high))

    def test_95_percent_is_the_default(self, rng):
        result = kdi.correlation(*rng.normal(size=(2, 20)))
        assert_array_equal(result.confidence_interval(), result.confidence_interval(0.95))

    @pytest.mark.parametrize("n", [2, 3])
    def test_three_rows_say_nothing(self, n, alternative):
        result = kdi.correlation([1.0, 2.0, 4.0][:n], [5.0, 3.0, 4.0][:n], alternative=alternative)
        assert_array_equal(result.confidence_interval(), [-1, 1])

    @pytest.mark.parametrize("sign", [-1, 1])
    def test_a_perfect_correlation(self, sign):
        x = np.arange(8.0)
        low, high = kdi.correlation(x, sign * x).confidence_interval()
        assert_allclose([low, high], [sign, sign], rtol=0, atol=1e-12)

    def test_of_nothing(self):
        """NaN stays NaN, and is silent about it."""
        interval = kdi.correlation([1.0, 2.0, np.nan, 4.0, 5.0], np.arange(5.0)).confidence_interval()
        assert np.isnan(interval).all()


def boot(x, y, alpha, seed, **options):
    """scipy's bootstrap of our own statistic, cut to [-1, 1]."""

    def statistic(x, y, axis):
        stacked = np.concatenate(np.broadcast_arrays(x, y), axis=-1)
        return np.apply_along_axis(lambda row: direct.correlation(*np.split(row, 2), alpha), -1, stacked)

    result = stats.bootstrap((x, y), statistic, paired=True, rng=np.random.default_rng(seed), **options)
    return np.clip(result.confidence_interval, -1, 1)


class TestBootstrap:
    @pytest.mark.parametrize("kind", ["percentile", "basic", "BCa"])
    @pytest.mark.parametrize("alpha", [0.3, 1.0, (0.1, 2.0), "scott"], ids=str)
    def test_every_resample_fits_both_integrals(self, alpha, kind, alternative, rng):
        x = rng.lognormal(size=20)
        y = x + rng.normal(size=20)
        method = stats.BootstrapMethod(n_resamples=99, method=kind, rng=np.random.default_rng(2))
        result = kdi.correlation(x, y, alpha=alpha, alternative=alternative)
        ours = result.confidence_interval(0.9, method=method)
        expected = boot(x, y, alpha, 2, n_resamples=99, method=kind, alternative=alternative, confidence_level=0.9)
        assert_allclose(ours, expected, rtol=0, atol=1e-9)
        assert_array_equal(ours, (ours.low, ours.high))

    @pytest.mark.parametrize("kind", ["percentile", "basic", "BCa"])
    def test_infinity_is_pearsonr(self, kind, rng):
        x, y = rng.normal(size=(2, 20))
        ours, theirs = (
            result.confidence_interval(method=stats.BootstrapMethod(n_resamples=199, method=kind, rng=4))
            for result in (kdi.correlation(x, y, alpha=np.inf), stats.pearsonr(x, y))
        )
        assert_allclose(ours, theirs, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kind", ["percentile", "basic", "BCa"])
    @pytest.mark.parametrize("batch", [None, 10])
    def test_slices(self, kind, batch, rng):
        x, y = rng.normal(size=(2, 3, 15))
        method = stats.BootstrapMethod(n_resamples=49, method=kind, rng=np.random.default_rng(2), batch=batch)
        ours = kdi.correlation(x, y, axis=-1).confidence_interval(method=method)
        expected = boot(x, y, 1.0, 2, n_resamples=49, method=kind, axis=-1)
        assert ours.low.shape == ours.high.shape == (3,)
        assert_allclose(ours, expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("kind", ["percentile", "BCa"])
    def test_weights_are_repetitions(self, kind, rng):
        x, y = rng.normal(size=(2, 10))
        weights = rng.integers(0, 4, size=10)
        repeated = np.repeat(x, weights), np.repeat(y, weights)
        weighted, repeated = (
            result.confidence_interval(method=stats.BootstrapMethod(n_resamples=99, method=kind, rng=4))
            for result in (kdi.correlation(x, y, weights=weights), kdi.correlation(*repeated))
        )
        assert_allclose(weighted, repeated, rtol=0, atol=1e-12)

    def test_missing_rows_are_left_out(self, rng):
        x, y = rng.normal(size=(2, 20))
        x[4] = y[9] = np.nan
        keep = ~np.isnan(x + y)
        omitted, clean = (
            result.confidence_interval(method=stats.BootstrapMethod(n_resamples=99, rng=4))
            for result in (kdi.correlation(x, y, nan_policy="omit"), kdi.correlation(x[keep], y[keep]))
        )
        assert_allclose(omitted, clean, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("nan_policy", ["omit", "propagate"])
    def test_missing_in_one_slice(self, nan_policy, rng):
        x, y = rng.normal(size=(2, 20, 2))
        x[4, 0] = np.nan
        ours = kdi.correlation(x, y, nan_policy=nan_policy, keepdims=True)
        ours = ours.confidence_interval(method=stats.BootstrapMethod(n_resamples=49, method="percentile", rng=4))
        assert ours.low.shape == ours.high.shape == (1, 2)
        for j in range(2):
            alone = kdi.correlation(x[:, j], y[:, j], nan_policy=nan_policy)
            alone = alone.confidence_interval(method=stats.BootstrapMethod(n_resamples=49, method="percentile", rng=4))
            assert_allclose([ours.low[0, j], ours.high[0, j]], alone, rtol=0, atol=1e-12)
            assert np.isnan(alone).all() == (nan_policy == "propagate" and j == 0)

    def test_many_rows(self, rng):
        """Long samples, where the integrals are interpolated: as if each resample were given by itself."""
        x = rng.normal(size=4000)
        y = x + rng.normal(size=4000)
        method = stats.BootstrapMethod(n_resamples=20, method="percentile", rng=np.random.default_rng(0))
        low, high = kdi.correlation(x, y).confidence_interval(method=method)
        order = np.random.default_rng(0).integers(0, 4000, size=(20, 4000))  # as scipy draws them
        resampled = kdi.correlation(x[order], y[order], axis=1)
        expected = np.quantile(resampled.statistic, [0.025, 0.975])
        assert_allclose([low, high], expected, rtol=0, atol=2 * resampled.error_bound.max() + 1e-12)


DRAW = {
    "normal": lambda rng, size: rng.normal(size=size),
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "student-2": lambda rng, size: rng.standard_t(2, size=size),  # the variance is infinite
    "cauchy": lambda rng, size: rng.standard_cauchy(size=size),
}


def rejections(name, n, n_simulations, **options):
    """How often p < 0.05 for two independent samples."""
    rng = np.random.default_rng([n, *name.encode()])
    x, y = (DRAW[name](rng, (n, n_simulations)) for _ in range(2))
    return np.mean(kdi.correlation(x, y, **options).pvalue < 0.05)


def standard_error(rate, n_simulations):
    return np.sqrt(rate * (1 - rate) / n_simulations)


@pytest.mark.slow
class TestATrueNull:
    """Rejected as often as said, but for 3.5 standard errors of the simulation."""

    @pytest.mark.parametrize("n", [20, 100, 1000])
    @pytest.mark.parametrize("name", ["normal", "lognormal", "student-2"])
    def test_in_five_percent(self, name, n):
        assert rejections(name, n, 4000) == pytest.approx(0.05, abs=3.5 * standard_error(0.05, 4000))

    @pytest.mark.parametrize("n", [20, 100, 1000])
    def test_in_six_percent_of_cauchy_samples(self, n):
        """What an approximate p-value costs where not even the mean exists: 0.060 in 100,000 simulations."""
        assert rejections("cauchy", n, 4000) == pytest.approx(0.06, abs=3.5 * standard_error(0.06, 4000))

    @pytest.mark.parametrize(("n", "n_simulations"), [(20, 4000), (100, 1000)])
    def test_permutations_are_exact_for_any_samples(self, n, n_simulations):
        """99 pairings: p < 0.05 has the probability 4/100, as p is a multiple of 2/100."""
        method = stats.PermutationMethod(n_resamples=99, rng=np.random.default_rng(0))
        rate = rejections("cauchy", n, n_simulations, method=method)
        assert rate == pytest.approx(0.04, abs=3.5 * standard_error(0.04, n_simulations))
