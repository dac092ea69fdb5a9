"""kdi.correlation: the statistic against the direct sum, its limits, shapes and types."""

import copy
import os
import pickle
import sys

import correlation_oracle as direct
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample
from scipy import stats

import kdi

pytestmark = pytest.mark.numpy_core

NAMES = list(SAMPLES)
PAIRS = list(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))
ROUNDING = 1e-12  # of the oracle's sums, over a spread of T that is small where one value is far out

EVERY_PAIR = pytest.mark.parametrize(("name", "other"), PAIRS)
BOTH_KERNELS = pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
EVERY_ALTERNATIVE = pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])


def check(result, expected, tolerance):
    """The statistic is within its certified bound, and the bound is small."""
    error = abs(result.statistic - expected)
    assert np.all(error <= result.error_bound + ROUNDING), (error, result.error_bound)
    assert np.all(result.error_bound >= 0)
    assert np.all(result.error_bound <= tolerance), result.error_bound


class TestAgainstTheDirectSum:
    @EVERY_PAIR
    @BOTH_KERNELS
    @pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 5.0])
    @pytest.mark.parametrize("n", [3, 30, 1000])
    def test_short(self, name, other, kernel, alpha, n):
        x, y, order = direct.named_pair(name, other, n)
        expected = direct.pearson(
            direct.named_levels(name, n, alpha, kernel), direct.named_levels(other, n, alpha, kernel)[order]
        )
        check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance=1e-9)

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
        check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance)

    @BOTH_KERNELS
    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    def test_20000_rows_of_few_values(self, alpha, kernel, rng):
        """Ties, so that the direct sum is over the distinct values only."""
        x = rng.normal(size=20_000).round(2)
        y = (np.exp(x) + rng.lognormal(size=20_000)).round(1)
        assert max(np.unique(x).size, np.unique(y).size) < 1200
        expected = direct.correlation(x, y, alpha, kernel)
        check(kdi.correlation(x, y, alpha=alpha, kernel=kernel), expected, tolerance=1e-6)

    @pytest.mark.parametrize(
        "alpha",
        [(0.1, 3.0), (3.0, 0.1), [0.3, 1.0], (0, np.inf), (np.inf, 1.0), (0.5, 0), ("scott", 2.0)],
        ids=str,
    )
    def test_pairs_of_alphas(self, alpha, rng):
        x = rng.lognormal(size=200)
        y = x + rng.normal(size=200)
        check(kdi.correlation(x, y, alpha=alpha), direct.correlation(x, y, tuple(alpha)), tolerance=1e-9)

    @BOTH_KERNELS
    @pytest.mark.parametrize("rule", ["scott", "silverman"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_rules(self, rule, kernel, weighted, rng):
        x = rng.normal(size=150)
        y = x**3 + rng.normal(size=150)
        weights = rng.uniform(0.5, 3, size=150) if weighted else None
        ours = kdi.correlation(x, y, alpha=rule, kernel=kernel, weights=weights)
        check(ours, direct.correlation(x, y, rule, kernel, weights), tolerance=1e-9)

    @BOTH_KERNELS
    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, 3.0, np.inf])
    @pytest.mark.parametrize("whole", [False, True])
    @pytest.mark.parametrize("n", [40, 1000])
    def test_weights(self, n, whole, alpha, kernel, rng):
        x, y, _ = direct.named_pair("lognormal-1", "poisson", n)
        weights = rng.integers(0, 4, size=n) if whole else rng.exponential(size=n)
        ours = kdi.correlation(x, y, alpha=alpha, kernel=kernel, weights=weights)
        check(ours, direct.correlation(x, y, alpha, kernel, weights), tolerance=1e-9)
        assert ours.pvalue == pytest.approx(direct.pvalue(ours.statistic, weights.sum()), rel=1e-9, abs=1e-300)

    def test_weights_of_many_rows(self, rng):
        x = rng.standard_cauchy(size=5000).round(1)
        y = x + rng.standard_cauchy(size=5000).round(1)
        weights = rng.exponential(size=5000)
        check(kdi.correlation(x, y, weights=weights), direct.correlation(x, y, weights=weights), tolerance=1e-6)

    @pytest.mark.parametrize("n", [50, 3000])
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf])
    def test_float32_is_computed_in_float64(self, alpha, n, rng):
        x = rng.lognormal(size=n).astype(np.float32).round(2)
        y = (x + rng.normal(size=n)).astype(np.float32).round(2)
        ours = kdi.correlation(x, y, alpha=alpha)
        check(ours, direct.correlation(x, y, alpha), tolerance=1e-9 if n == 50 else 1e-6)
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
    @EVERY_ALTERNATIVE
    @pytest.mark.parametrize("n", [6, 100, 3000])
    def test_infinity_is_pearsonr(self, name, other, alternative, n):
        x, y, _ = direct.named_pair(name, other, n)
        ours = kdi.correlation(x, y, alpha=np.inf, alternative=alternative)
        assert_allclose(ours, stats.pearsonr(x, y, alternative=alternative), rtol=0, atol=1e-12)
        assert ours.error_bound <= 1e-12

    @EVERY_PAIR
    @EVERY_ALTERNATIVE
    @pytest.mark.parametrize("n", [6, 100, 3000])
    def test_zero_is_spearmanr(self, name, other, alternative, n):
        x, y, _ = direct.named_pair(name, other, n)
        ours = kdi.correlation(x, y, alpha=0, alternative=alternative)
        assert_allclose(ours, stats.spearmanr(x, y, alternative=alternative), rtol=0, atol=1e-12)
        assert ours.error_bound <= 1e-12

    @EVERY_ALTERNATIVE
    @pytest.mark.parametrize("n_values", [2, 3, 10])
    @pytest.mark.parametrize("n", [12, 400, 5000])
    def test_ties(self, n, n_values, alternative, rng):
        x = rng.integers(n_values, size=n)
        y = x + rng.integers(n_values + 1, size=n)
        for alpha, theirs in [(0, stats.spearmanr), (np.inf, stats.pearsonr)]:
            ours = kdi.correlation(x, y, alpha=alpha, alternative=alternative)
            assert_allclose(ours, theirs(x, y, alternative=alternative), rtol=0, atol=1e-12)

    @BOTH_KERNELS
    def test_the_kernel_does_not_matter(self, kernel, rng):
        x, y = rng.normal(size=(2, 50))
        for alpha, theirs in [(0, stats.spearmanr), (np.inf, stats.pearsonr)]:
            assert_allclose(
                kdi.correlation(x, y, alpha=alpha, kernel=kernel).statistic, theirs(x, y).statistic, rtol=0, atol=1e-12
            )

    @BOTH_KERNELS
    def test_are_approached(self, kernel, rng):
        x = rng.permutation(60) + rng.uniform(0, 0.5, size=60)
        y = np.exp(x / 20) + rng.uniform(size=60)
        for limit, alphas in [(0, (1.0, 0.3, 0.03, 1e-4)), (np.inf, (1.0, 3.0, 30.0, 3e4))]:
            goal = kdi.correlation(x, y, alpha=limit).statistic
            away = [abs(kdi.correlation(x, y, alpha=alpha, kernel=kernel).statistic - goal) for alpha in alphas]
            assert away == sorted(away, reverse=True)
            assert away[0] > 1e-3
            assert away[-1] < 1e-6

    @EVERY_ALTERNATIVE
    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, 10.0, np.inf])
    @pytest.mark.parametrize(("y", "sign"), [([3.0, 4.5], 1.0), ([0.1, -7.3], -1.0)])
    def test_two_rows(self, alpha, alternative, y, sign):
        result = kdi.correlation([0.1, 0.7], y, alpha=alpha, alternative=alternative)
        assert result.statistic == sign
        assert result.pvalue == 1

    def test_infinite_values_are_ranked_at_zero(self):
        x, y = [1, 2, np.inf, -np.inf, 5, np.inf], [1, 3, 7, 0, 8, 2]
        assert_allclose(kdi.correlation(x, y, alpha=0), stats.spearmanr(x, y), rtol=0, atol=1e-12)


SHAPES = [
    ((30,), (30,), 0),
    ((30,), (30,), -1),
    ((30, 4), (30, 4), 0),
    ((4, 30), (4, 30), 1),
    ((30, 1), (30, 5), 0),
    ((30,), (5, 30), -1),
    ((5, 30), (30,), 1),
    ((4, 1, 30), (5, 30), -1),
    ((2, 30, 3), (30, 1), 1),
    ((2, 30, 3), (2, 30, 3), -2),
    ((1, 2, 30, 3), (30, 3), 2),
    ((5, 3, 2), (5, 3, 2), None),
    ((5, 6), (30,), None),
]


class TestShapes:
    @pytest.mark.parametrize(("x_shape", "y_shape", "axis"), SHAPES, ids=str)
    def test_like_pearsonr(self, x_shape, y_shape, axis, rng):
        x, y = rng.normal(size=x_shape), rng.lognormal(size=y_shape)
        ours, theirs = kdi.correlation(x, y, alpha=np.inf, axis=axis), stats.pearsonr(x, y, axis=axis)
        for one, other in zip(ours, theirs, strict=True):
            assert np.shape(one) == np.shape(other)
            assert_allclose(one, other, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0])
    @pytest.mark.parametrize(("x_shape", "y_shape", "axis"), SHAPES, ids=str)
    def test_slice_by_slice(self, x_shape, y_shape, axis, alpha, rng):
        x, y = rng.normal(size=x_shape), rng.lognormal(size=y_shape)
        ours = kdi.correlation(x, y, alpha=alpha, axis=axis)
        if axis is None:
            x, y, axis = x.ravel(), y.ravel(), 0
        dimensions = max(x.ndim, y.ndim)
        x, y = (one.reshape((1,) * (dimensions - one.ndim) + one.shape) for one in (x, y))
        x, y = np.broadcast_arrays(*(np.moveaxis(one, axis, -1) for one in (x, y)))
        assert np.shape(ours.statistic) == np.shape(ours.pvalue) == np.shape(ours.error_bound) == x.shape[:-1]
        for place in np.ndindex(x.shape[:-1]):
            expected = direct.correlation(x[place], y[place], alpha)
            assert np.asarray(ours.statistic)[place] == pytest.approx(expected, abs=1e-10)
            assert np.asarray(ours.pvalue)[place] == pytest.approx(direct.pvalue(expected, x.shape[-1]), abs=1e-9)

    @pytest.mark.parametrize(("x_shape", "y_shape", "axis"), SHAPES[:-1], ids=str)
    def test_keepdims(self, x_shape, y_shape, axis, rng):
        x, y = rng.normal(size=x_shape), rng.normal(size=y_shape)
        flat, kept = (kdi.correlation(x, y, axis=axis, keepdims=keep) for keep in (False, True))
        for one, other in zip(flat, kept, strict=True):
            shape = np.mean(np.broadcast_arrays(x, y)[0], axis=axis, keepdims=True).shape
            assert other.shape == shape
            assert_array_equal(np.ravel(one), other.ravel())
        assert kept.confidence_interval().low.shape == shape

    def test_many_columns_of_many_rows(self, rng):
        """Long slices side by side give what each gives alone."""
        x, y = rng.lognormal(size=(5000, 3)), rng.normal(size=(5000, 3))
        ours = kdi.correlation(x, y)
        for j in range(3):
            alone = kdi.correlation(x[:, j], y[:, j])
            assert ours.statistic[j] == pytest.approx(alone.statistic, abs=1e-14)
            assert ours.error_bound[j] == pytest.approx(alone.error_bound, rel=1e-9)

    def test_weights_along_the_axis(self, rng):
        x, y, weights = rng.normal(size=(3, 20)), rng.normal(size=(3, 20)), rng.integers(1, 4, size=20)
        ours = kdi.correlation(x, y, weights=weights, axis=1)
        repeated = kdi.correlation(np.repeat(x, weights, axis=1), np.repeat(y, weights, axis=1), axis=1)
        assert_allclose(ours, repeated, rtol=0, atol=1e-12)

    def test_weights_of_a_raveled_table(self, rng):
        x, y, weights = rng.normal(size=(4, 5)), rng.normal(size=(4, 5)), rng.integers(1, 4, size=20)
        expected = direct.correlation(x.ravel(), y.ravel(), weights=weights)
        for mass in (weights, weights.reshape(4, 5)):
            ours = kdi.correlation(x, y, weights=mass, axis=None)
            assert ours.statistic == pytest.approx(expected, abs=1e-10)

    def test_no_slices(self):
        result = kdi.correlation(np.empty((30, 0)), np.empty((30, 0)))
        assert result.statistic.shape == result.pvalue.shape == (0,)


class TestMissing:
    @pytest.fixture
    def holes(self, rng):
        x, y = rng.normal(size=(2, 40, 3))
        x[[1, 5], 0], y[[5, 9], 0], y[3, 1] = np.nan, np.nan, np.nan
        return x, y

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_propagate_slice_by_slice(self, holes, alpha):
        x, y = holes
        ours = kdi.correlation(x, y, alpha=alpha)
        assert_array_equal(np.isnan(ours.statistic), [True, True, False])
        assert_array_equal(np.isnan(ours.pvalue), [True, True, False])
        alone = kdi.correlation(x[:, 2], y[:, 2], alpha=alpha)
        assert_allclose([ours.statistic[2], ours.pvalue[2]], alone, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, "scott", np.inf])
    def test_omit_leaves_out_rows_of_each_slice(self, holes, alpha, weighted, rng):
        x, y = holes
        weights = rng.integers(1, 4, size=40) if weighted else np.ones(40)
        ours = kdi.correlation(x, y, alpha=alpha, nan_policy="omit", weights=weights if weighted else None)
        for j in range(3):
            keep = ~np.isnan(x[:, j] + y[:, j])
            expected = direct.correlation(x[keep, j], y[keep, j], alpha, weights=weights[keep])
            assert ours.statistic[j] == pytest.approx(expected, abs=1e-10)
            assert ours.pvalue[j] == pytest.approx(direct.pvalue(expected, weights[keep].sum()), abs=1e-9)

    def test_omit_in_intervals(self, holes):
        x, y = holes
        keep = ~np.isnan(x[:, 0] + y[:, 0])
        omitted = kdi.correlation(x[:, 0], y[:, 0], nan_policy="omit").confidence_interval()
        assert_allclose(omitted, kdi.correlation(x[keep, 0], y[keep, 0]).confidence_interval(), rtol=0, atol=1e-13)

    @pytest.mark.parametrize("nan_policy", ["propagate", "omit", "raise"])
    def test_nothing_missing(self, nan_policy, rng):
        x, y = rng.normal(size=(2, 40))
        assert_array_equal(kdi.correlation(x, y, nan_policy=nan_policy), kdi.correlation(x, y))

    @pytest.mark.parametrize("nan_policy", ["propagate", "omit", "raise"])
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf])
    def test_a_mask_leaves_out_rows(self, alpha, nan_policy, rng):
        x, y = rng.normal(size=(2, 40))
        mask = np.zeros((2, 40), dtype=bool)
        mask[0, [2, 3]] = mask[1, [3, 30]] = True
        x[2] = 1e6  # must not be seen
        masked = [np.ma.array(one, mask=hidden) for one, hidden in zip((x, y), mask, strict=True)]
        ours = kdi.correlation(*masked, alpha=alpha, nan_policy=nan_policy)
        keep = ~mask.any(axis=0)
        assert_allclose(ours, kdi.correlation(x[keep], y[keep], alpha=alpha), rtol=0, atol=1e-13)

    def test_a_mask_and_nan(self, rng):
        """Under "propagate" what is masked goes and what is NaN stays."""
        x, y = rng.normal(size=(2, 40))
        x[5] = np.nan
        assert np.isnan(kdi.correlation(np.ma.array(x, mask=np.arange(40) == 2), y).statistic)
        assert np.isfinite(kdi.correlation(np.ma.array(x, mask=np.arange(40) == 5), y).statistic)

    @pytest.mark.parametrize("hidden", [np.nan, np.inf])
    def test_a_row_without_weight_is_gone(self, hidden, rng):
        x, y = rng.normal(size=(2, 40))
        x[7], weights = hidden, np.arange(40) != 7
        ours = kdi.correlation(x, y, weights=weights.astype(float))
        assert_allclose(ours, kdi.correlation(x[weights], y[weights]), rtol=0, atol=1e-13)


LAYOUTS = {
    "read-only": lambda x: x,
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">" if sys.byteorder == "little" else "<")),
}


class TestInput:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("n", [50, 5000])
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf])
    def test_layouts_and_nothing_is_altered(self, alpha, n, layout, rng):
        x, y = rng.normal(size=(2, n, 2))
        weights = rng.uniform(size=n)
        expected = kdi.correlation(x, y, alpha=alpha, weights=weights)
        given = [LAYOUTS[layout](one) for one in (x, y, weights)]
        for one in given:
            one.flags.writeable = False
        ours = kdi.correlation(given[0], given[1], alpha=alpha, weights=given[2])
        assert_allclose(ours, expected, rtol=0, atol=1e-13)
        for one, before in zip(given, (x, y, weights), strict=True):
            assert_array_equal(one, before)

    @pytest.mark.parametrize("nan_policy", ["propagate", "omit"])
    def test_writeable_input_is_not_altered(self, nan_policy, rng):
        x, y = rng.normal(size=(2, 50, 2))
        x[3, 0] = np.nan
        copies = x.copy(), y.copy()
        kdi.correlation(x, y, nan_policy=nan_policy, alpha=(0, 1.0))
        assert_array_equal(x, copies[0])
        assert_array_equal(y, copies[1])

    @pytest.mark.parametrize(
        "make",
        [list, tuple, np.array, pd.Series, pl.Series, lambda x: np.array(x, dtype=object), lambda x: np.array(x, "i1")],
        ids=["list", "tuple", "array", "pandas", "polars", "object", "int8"],
    )
    def test_kinds(self, make):
        x, y = [1, 2, 5, 3, 7, 4], [2, 1, 9, 3, 4, 8]
        assert_allclose(kdi.correlation(make(x), make(y)).statistic, direct.correlation(x, y), rtol=0, atol=1e-12)

    def test_the_index_of_a_series_does_not_matter(self, rng):
        x, y = rng.normal(size=(2, 30))
        shuffled = pd.Series(x, index=rng.permutation(30))
        assert_array_equal(kdi.correlation(shuffled, y), kdi.correlation(x, y))

    def test_truth_values(self, rng):
        x, y = rng.uniform(size=(2, 50)) < 0.4
        expected = kdi.correlation(x.astype(float), y.astype(float))
        assert_array_equal(kdi.correlation(x, y), expected)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    @pytest.mark.parametrize("exponent", [-900, -60, 60, 900])
    def test_any_unit(self, alpha, exponent, rng):
        """Powers of two are exact: nothing over- or underflows that need not."""
        x, y = rng.normal(size=(2, 100))
        ours = kdi.correlation(np.ldexp(x, exponent), np.ldexp(y, -exponent), alpha=alpha)
        assert ours.statistic == pytest.approx(direct.correlation(x, y, alpha), abs=1e-12)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_a_range_beyond_the_largest_number(self, alpha, rng):
        x, y = rng.uniform(-1, 1, size=(2, 50))
        x[:2] = -1, 1
        ours = kdi.correlation(x * 1.7e308, y, alpha=alpha)
        assert ours.statistic == pytest.approx(direct.correlation(x, y, alpha), abs=1e-12)

    @pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0, np.inf])
    def test_far_from_zero(self, alpha, rng):
        """Whole numbers stay exact when 1e12 is added, and so does what is made of them."""
        x, y = rng.integers(100, size=(2, 200)).astype(float)
        expected = direct.correlation(x, y, alpha)
        assert kdi.correlation(x + 1e12, y - 1e12, alpha=alpha).statistic == pytest.approx(expected, abs=1e-11)


class TestResult:
    @pytest.fixture
    def result(self, rng):
        x = rng.normal(size=50)
        return kdi.correlation(x, x + rng.normal(size=50))

    def test_unpacks(self, result):
        statistic, pvalue = result
        assert isinstance(result, tuple)
        assert len(result) == 2
        assert (statistic, pvalue) == (result.statistic, result.pvalue) == (result[0], result[1])
        assert type(statistic) is type(pvalue) is np.float64

    def test_repr_names_both(self, result):
        assert f"statistic={result.statistic!r}" in repr(result)
        assert f"pvalue={result.pvalue!r}" in repr(result)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    @pytest.mark.parametrize("n_slices", [None, 2])
    def test_copies(self, again, n_slices, rng):
        shape = (20,) if n_slices is None else (20, n_slices)
        first = kdi.correlation(*rng.normal(size=(2, *shape)), alternative="less", weights=np.arange(20))
        second = again(first)
        assert type(second) is type(first)
        assert_array_equal(second, first)
        assert_array_equal(second.error_bound, first.error_bound)
        method = stats.BootstrapMethod(n_resamples=9, method="percentile", rng=3)
        for one in (None, method):
            ours, expected = (result.confidence_interval(0.8, one) for result in (second, first))
            assert_array_equal(ours, expected)

    @pytest.mark.parametrize("shape", [(50,), (50, 3)])
    @EVERY_ALTERNATIVE
    def test_pvalue_follows_the_statistic(self, shape, alternative, rng):
        x = rng.normal(size=shape)
        result = kdi.correlation(x, 0.2 * x + rng.normal(size=shape), alternative=alternative)
        assert_allclose(result.pvalue, direct.pvalue(result.statistic, 50, alternative), rtol=1e-10)


def examples(n):
    return settings(max_examples=int(os.environ.get("KDI_EXPLORE", "0")) or n)


ordinary = st.floats(-1e6, 1e6, allow_subnormal=False)
whole = st.integers(-20, 20).map(float)
two_rows_or_more = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.one_of(*(hnp.arrays(np.float64, n, elements=e) for e in (ordinary, whole))),) * 2)
)
alphas = st.sampled_from([0, 0.05, 0.3, 1.0, 5.0, np.inf, "scott", (0.1, 2.0), (0, 1.0)])
kernels = st.sampled_from(["polyexp", "gaussian"])


def varied(x, y):
    """No constant sample, and none whose range is all rounding."""
    for one in (x, y):
        assume(np.ptp(one) > max(1e-9 * abs(one).max(), 1e-100))  # the oracle loses squares of less
    return x, y


def same(one, other, sign=1):
    assert one.statistic == pytest.approx(sign * other.statistic, abs=one.error_bound + other.error_bound + 1e-12)


class TestProperties:
    @examples(200)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_between_minus_one_and_one(self, pair, alpha, kernel):
        x, y = pair
        assume(np.ptp(x) > 0 and np.ptp(y) > 0)
        for result in (kdi.correlation(x, y, alpha=alpha, kernel=kernel), kdi.correlation(x, x, alpha=0.3)):
            assert -1 <= result.statistic <= 1
            assert 0 <= result.pvalue <= 1
            low, high = result.confidence_interval()
            assert -1 <= low <= high <= 1

    @examples(150)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_within_the_bound_of_the_direct_sum(self, pair, alpha, kernel):
        x, y = varied(*pair)
        ours = kdi.correlation(x, y, alpha=alpha, kernel=kernel)
        check(ours, direct.correlation(x, y, alpha, kernel), tolerance=1e-8)

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_symmetric(self, pair, alpha, kernel):
        x, y = varied(*pair)
        turned = alpha[::-1] if isinstance(alpha, tuple) else alpha
        same(kdi.correlation(x, y, alpha=alpha, kernel=kernel), kdi.correlation(y, x, alpha=turned, kernel=kernel))

    @examples(100)
    @given(
        pair=st.integers(2, 40).flatmap(
            lambda n: st.tuples(*(hnp.arrays(np.float64, n, elements=st.integers(-1000, 1000).map(float)),) * 2)
        ),
        alpha=alphas,
        kernel=kernels,
        exponents=st.tuples(st.integers(-40, 40), st.integers(-40, 40)),
        shifts=st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)),
    )
    def test_units_and_origins_do_not_matter(self, pair, alpha, kernel, exponents, shifts):
        x, y = varied(*pair)
        mapped = [np.ldexp(one + b, a) for one, a, b in zip((x, y), exponents, shifts, strict=True)]  # all exact
        same(kdi.correlation(*mapped, alpha=alpha, kernel=kernel), kdi.correlation(x, y, alpha=alpha, kernel=kernel))

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_the_sign_follows_either_sample(self, pair, alpha, kernel):
        x, y = varied(*pair)
        plain = kdi.correlation(x, y, alpha=alpha, kernel=kernel)
        for signs, sign in [((-1, 1), -1), ((1, -1), -1), ((-1, -1), 1)]:
            turned = kdi.correlation(signs[0] * x, signs[1] * y, alpha=alpha, kernel=kernel)
            same(turned, plain, sign)

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels, seed=st.integers(0, 1000))
    def test_the_order_of_rows_does_not_matter(self, pair, alpha, kernel, seed):
        x, y = varied(*pair)
        order = np.random.default_rng(seed).permutation(len(x))
        shuffled = kdi.correlation(x[order], y[order], alpha=alpha, kernel=kernel)
        same(shuffled, kdi.correlation(x, y, alpha=alpha, kernel=kernel))

    @examples(150)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels, data=st.data())
    def test_weights_are_repetitions(self, pair, alpha, kernel, data):
        x, y = pair
        counts = data.draw(hnp.arrays(np.int64, len(x), elements=st.integers(0, 3)))
        assume(counts.any())
        repeated = varied(np.repeat(x, counts), np.repeat(y, counts))
        one = kdi.correlation(x, y, alpha=alpha, kernel=kernel, weights=counts)
        other = kdi.correlation(*repeated, alpha=alpha, kernel=kernel)
        same(one, other)
        assert one.pvalue == pytest.approx(other.pvalue, abs=1e-7)  # a square root of rounding where |r| is near 1
        assert_allclose(one.confidence_interval(), other.confidence_interval(), rtol=0, atol=1e-9)
