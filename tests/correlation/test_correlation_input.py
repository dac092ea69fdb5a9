"""kdi.correlation: shapes, missing values, kinds of input, and the result."""

import copy
import pickle
import sys

import correlation_oracle as direct
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import kdi

pytestmark = pytest.mark.numpy_core


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
    def gappy(self, rng):
        x, y = rng.normal(size=(2, 40, 3))
        x[[1, 5], 0], y[[5, 9], 0], y[3, 1] = np.nan, np.nan, np.nan
        return x, y

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_propagate_slice_by_slice(self, gappy, alpha):
        x, y = gappy
        ours = kdi.correlation(x, y, alpha=alpha)
        assert_array_equal(np.isnan(ours.statistic), [True, True, False])
        assert_array_equal(np.isnan(ours.pvalue), [True, True, False])
        alone = kdi.correlation(x[:, 2], y[:, 2], alpha=alpha)
        assert_allclose([ours.statistic[2], ours.pvalue[2]], alone, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, "scott", np.inf])
    def test_omit_leaves_out_rows_of_each_slice(self, gappy, alpha, weighted, rng):
        x, y = gappy
        weights = rng.integers(1, 4, size=40) if weighted else np.ones(40)
        ours = kdi.correlation(x, y, alpha=alpha, nan_policy="omit", weights=weights if weighted else None)
        for j in range(3):
            keep = ~np.isnan(x[:, j] + y[:, j])
            expected = direct.correlation(x[keep, j], y[keep, j], alpha, weights=weights[keep])
            assert ours.statistic[j] == pytest.approx(expected, abs=1e-10)
            assert ours.pvalue[j] == pytest.approx(direct.pvalue(expected, weights[keep].sum()), abs=1e-9)

    def test_omit_in_intervals(self, gappy):
        x, y = gappy
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
    def test_pvalue_follows_the_statistic(self, shape, alternative, rng):
        x = rng.normal(size=shape)
        result = kdi.correlation(x, 0.2 * x + rng.normal(size=shape), alternative=alternative)
        assert_allclose(result.pvalue, direct.pvalue(result.statistic, 50, alternative), rtol=1e-10)
