"""kdi.corr and kdi.corr_test: the matrices against their pairs, pandas' at both limits, labels, missing values."""

import inspect
import re
import warnings

import correlation_oracle as direct
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample
from scipy import stats

import kdi

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]
ALPHAS = [0, 0.1, 1.0, "scott", np.inf]
EVERY_ALPHA = pytest.mark.parametrize("alpha", ALPHAS)


def pair_by_pair(table, alpha=1.0, min_periods=1, **options):
    """Every pair through kdi.correlation on its shared rows: statistics and p-values."""
    alphas = alpha if isinstance(alpha, list) else [alpha] * table.shape[1]
    result = np.full((2, table.shape[1], table.shape[1]), np.nan)
    for i in range(table.shape[1]):
        for j in range(table.shape[1]):
            shared = ~np.isnan(table[:, i] + table[:, j])
            if shared.sum() >= max(min_periods, 2):
                result[:, i, j] = kdi.correlation(
                    table[:, i], table[:, j], alpha=(alphas[i], alphas[j]), nan_policy="omit", **options
                )
    return result


def check_form(matrix):
    assert_array_equal(matrix, matrix.T)
    diagonal = np.diag(matrix)
    assert ((diagonal == 1) | np.isnan(diagonal)).all()
    assert (abs(matrix[~np.isnan(matrix)]) <= 1).all()


class TestValues:
    @EVERY_ALPHA
    def test_against_the_direct_sum(self, alpha, kernel, table):
        ours = kdi.corr(table, alpha=alpha, kernel=kernel)
        assert type(ours) is np.ndarray
        assert_allclose(ours, direct.matrix(table, alpha, kernel), rtol=0, atol=1e-9)
        check_form(ours)

    @pytest.mark.parametrize("order", [1, 2])
    def test_orders_of_the_kernel(self, order, table):
        expected = direct.matrix(table, order=order)
        assert_allclose(kdi.corr(table, order=order), expected, rtol=0, atol=1e-9)
        assert_allclose(kdi.corr_test(table, order=order).statistic, expected, rtol=0, atol=1e-9)
        assert abs(expected - direct.matrix(table)).max() > 1e-3

    @pytest.mark.parametrize("weighted", [False, True])
    @EVERY_ALPHA
    def test_pair_by_pair(self, alpha, weighted, table, rng):
        weights = rng.exponential(size=500) if weighted else None
        ours = kdi.corr_test(table, alpha=alpha, weights=weights)
        statistic, pvalue = pair_by_pair(table, alpha, weights=weights)
        assert_allclose(ours.statistic, statistic, rtol=0, atol=1e-10)
        assert_allclose(ours.pvalue, pvalue, rtol=0, atol=1e-9)

    def test_every_sample_in_one_long_table(self):
        table = np.column_stack([sample(name, 5000) for name in SAMPLES])
        ours = kdi.corr(table)
        check_form(ours)
        for i, j in [(0, 1), (0, 6), (2, 3), (5, 7), (4, 8)]:
            pair = kdi.correlation(table[:, i], table[:, j])
            assert ours[i, j] == pytest.approx(pair.statistic, abs=2 * pair.error_bound + 1e-12)
            expected = direct.pearson(*(direct.named_levels(list(SAMPLES)[k], 5000, 1.0, "polyexp") for k in (i, j)))
            assert ours[i, j] == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize(("alpha", "theirs"), [(0, "spearman"), (np.inf, "pearson")])
    @pytest.mark.parametrize("min_periods", [1, 380, 420])
    def test_limits_are_those_of_pandas(self, alpha, theirs, min_periods, holes):
        frame = pd.DataFrame(holes, columns=NAMES)
        ours = kdi.corr(frame, alpha=alpha, min_periods=min_periods)
        expected = frame.corr(theirs, min_periods=min_periods)
        pd.testing.assert_frame_equal(ours, expected, rtol=0, atol=1e-12)
        assert np.isnan(ours.to_numpy()).any() == (min_periods == 420)

    def test_positive_semidefinite(self, table):
        assert np.linalg.eigvalsh(kdi.corr(np.hstack([table, table**2]))).min() > -1e-12

    def test_statistic_and_pvalue(self, table):
        ours = kdi.corr_test(table)
        statistic, pvalue = ours
        assert type(ours) is kdi.CorrelationMatrix
        assert ours._fields == ("statistic", "pvalue")
        assert statistic.shape == pvalue.shape == (4, 4)
        assert_array_equal(statistic, kdi.corr(table))
        assert_array_equal(pvalue, pvalue.T)
        assert_array_equal(np.diag(pvalue), 0)

    def test_the_parameters_are_the_same(self):
        assert inspect.signature(kdi.corr_test).parameters == inspect.signature(kdi.corr).parameters

    def test_alpha_of_each_column(self, table, frame):
        alphas = [0, 0.1, "scott", np.inf]
        expected = pair_by_pair(table, alphas)[0]
        assert_allclose(kdi.corr(table, alpha=alphas), expected, rtol=0, atol=1e-10)
        named = dict(zip(NAMES[::-1], alphas[::-1], strict=True))
        assert_allclose(kdi.corr(frame, alpha=named), expected, rtol=0, atol=1e-10)
        assert_allclose(kdi.corr(pl.DataFrame(table, schema=NAMES), alpha=named), expected, rtol=0, atol=1e-10)

    def test_weights_are_repetitions(self, holes, rng):
        weights = rng.integers(0, 3, size=len(holes))
        weighted = kdi.corr_test(holes, weights=weights)
        repeated = kdi.corr_test(np.repeat(holes, weights, axis=0))
        assert_allclose(weighted.statistic, repeated.statistic, rtol=0, atol=1e-10)
        assert_allclose(weighted.pvalue, repeated.pvalue, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("missing", [False, True])
    def test_threads_do_not_matter(self, missing, rng):
        table = rng.lognormal(size=(3000, 6))
        table[::7, 2] = np.nan if missing else 1.0
        for one, other in zip(kdi.corr_test(table, n_jobs=1), kdi.corr_test(table, n_jobs=2), strict=True):
            assert_array_equal(one, other)

    @pytest.mark.parametrize("dtype", [np.float32, np.int16, bool, object])
    def test_other_numbers(self, dtype, rng):
        table = (rng.lognormal(size=(200, 3)) * 3).astype(np.int16 if dtype is not bool else bool).astype(dtype)
        if dtype is bool:
            table[::3] = False
        assert_allclose(kdi.corr(table), kdi.corr(table.astype(float)), rtol=0, atol=1e-12)

    def test_lists(self):
        table = [[1, 2.5, 0], [3, 4, 1], [4, 9, 7], [0, 1, 1]]
        assert_array_equal(kdi.corr(table), kdi.corr(np.array(table)))


class TestMissing:
    @pytest.mark.parametrize("weighted", [False, True])
    @EVERY_ALPHA
    def test_each_pair_on_its_shared_rows(self, alpha, weighted, holes, rng):
        weights = rng.exponential(size=len(holes)) if weighted else None
        ours = kdi.corr_test(holes, alpha=alpha, weights=weights)
        statistic, pvalue = pair_by_pair(holes, alpha, weights=weights)
        assert_allclose(ours.statistic, statistic, rtol=0, atol=1e-10)
        assert_allclose(ours.pvalue, pvalue, rtol=0, atol=1e-9)
        check_form(ours.statistic)

    def test_many_rows(self, rng):
        table = rng.lognormal(size=(4000, 4))
        table[:, 1] += table[:, 0]
        table[::3, 0], table[1::5, 1], table[::3, 2] = np.nan, np.nan, np.nan  # two columns miss the same rows
        assert_allclose(kdi.corr(table), pair_by_pair(table)[0], rtol=0, atol=1e-6)

    @pytest.mark.parametrize("min_periods", [1, 2, 3, 4, 6, 7])
    def test_min_periods(self, min_periods):
        nan = np.nan
        table = np.array(
            [[1, 2, nan], [4, 1, nan], [3, 7, nan], [5, nan, 2], [9, nan, 1], [2, 5, 8.0]],
        )
        ours = kdi.corr_test(table, min_periods=min_periods)
        statistic, pvalue = pair_by_pair(table, min_periods=min_periods)
        assert_allclose(ours.statistic, statistic, rtol=0, atol=1e-12)
        assert_allclose(ours.pvalue, pvalue, rtol=0, atol=1e-7)  # the diagonal's: r = 1 up to rounding
        assert np.isnan(ours.statistic[1, 2])  # one shared row

    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_rows_are_silent(self, n):
        assert_array_equal(kdi.corr(np.ones((n, 3))), np.full((3, 3), np.nan))

    def test_an_empty_column_is_silent(self, table):
        table[:, 1] = np.nan
        ours = kdi.corr(table)
        assert np.isnan(ours[1]).all()
        assert_allclose(np.delete(np.delete(ours, 1, 0), 1, 1), kdi.corr(table[:, [0, 2, 3]]), rtol=0, atol=1e-13)

    def test_constant_on_the_shared_rows_only(self):
        table = np.array([[1, 5.0, 2], [1, 3, 4], [1, 4, 9], [2, np.nan, 7], [3, np.nan, 1]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = kdi.corr(table)
        assert_array_equal(np.isnan(ours), [[False, True, False], [True, False, False], [False, False, False]])
        assert ours[0, 2] == pytest.approx(direct.correlation(table[:, 0], table[:, 2]), abs=1e-12)

    def test_masked(self, table, rng):
        mask = rng.uniform(size=table.shape) < 0.1
        expected = kdi.corr(np.where(mask, np.nan, table))
        assert_array_equal(kdi.corr(np.ma.array(table, mask=mask)), expected)


class TestUndefined:
    @EVERY_ALPHA
    def test_constant_columns(self, alpha, table):
        table[:, 1] = 7
        frame = pd.DataFrame(table, columns=NAMES)
        with pytest.warns(stats.ConstantInputWarning, match="constant.*'b'") as caught:
            ours = kdi.corr_test(frame, alpha=alpha)
        assert len(caught) == 1
        assert "'a'" not in str(caught[0].message)
        assert caught[0].filename == __file__
        for matrix in ours:
            undefined = np.isnan(matrix.to_numpy())
            assert undefined[1].all()
            assert undefined[:, 1].all()
            assert undefined.sum() == 7

    def test_constant_columns_of_an_array(self, table):
        table[:, [0, 2]] = 7, 0
        with pytest.warns(stats.ConstantInputWarning, match=r"0\D*2") as caught:
            ours = kdi.corr(table)
        assert caught[0].filename == __file__
        assert np.isnan(ours).sum() == 12

    @pytest.mark.parametrize("alpha", [0.3, 1.0, np.inf])
    def test_infinite_values(self, alpha, table):
        table[3, 2] = np.inf
        frame = pd.DataFrame(table, columns=NAMES)
        with pytest.warns(RuntimeWarning, match="'c'") as caught:
            ours = kdi.corr(frame, alpha=alpha)
        assert len(caught) == 1
        assert_array_equal(np.isnan(ours).sum(), [1, 1, 4, 1])
        rest = frame.drop(columns="c")
        assert_allclose(ours.drop(columns="c", index="c"), kdi.corr(rest, alpha=alpha), rtol=0, atol=1e-13)

    def test_infinite_values_are_ranked_at_zero(self, table):
        table[3, 2], table[5, 2], table[7, 2] = np.inf, -np.inf, np.inf
        expected = stats.spearmanr(table).statistic
        assert_allclose(kdi.corr(table, alpha=0), expected, rtol=0, atol=1e-12)

    def test_an_infinite_value_that_a_pair_does_not_share(self, table):
        table[3, 0], table[3, 1] = np.inf, np.nan
        with pytest.warns(RuntimeWarning):
            ours = kdi.corr(table)
        keep = np.arange(500) != 3
        assert ours[0, 1] == pytest.approx(kdi.correlation(table[keep, 0], table[keep, 1]).statistic, abs=1e-12)
        assert np.isnan(ours[0, 2])


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
EVERY_FRAME = pytest.mark.parametrize("kind", FRAMES)


def mixed(n=60):
    rng = np.random.default_rng(3)
    return {
        "age": rng.normal(size=n),
        "town": ["Bern", "Basel"] * (n // 2),
        "count": rng.integers(0, 9, size=n),
        "yes": rng.uniform(size=n) < 0.4,
        "day": np.array(["2020-01-01", "2021-01-01"] * (n // 2), dtype="datetime64[ns]"),
    }


class TestFrames:
    def test_pandas(self, holes):
        frame = pd.DataFrame(holes, columns=pd.Index(NAMES, name="quantity"), index=np.arange(500)[::-1])
        ours, expected = ((kdi.corr(one), *kdi.corr_test(one)) for one in (frame, holes))
        for one, other in zip(ours, expected, strict=True):
            assert isinstance(one, pd.DataFrame)
            pd.testing.assert_index_equal(one.columns, frame.columns)
            pd.testing.assert_index_equal(one.index, frame.columns)
            assert_array_equal(one, other)

    def test_polars(self, holes):
        frame = pl.DataFrame(holes, schema=NAMES)
        ours, expected = ((kdi.corr(one), *kdi.corr_test(one)) for one in (frame, holes))
        for one, other in zip(ours, expected, strict=True):
            assert isinstance(one, pl.DataFrame)
            assert one.columns == NAMES
            assert_array_equal(one.to_numpy(), other)

    @pytest.mark.parametrize(
        "columns",
        [
            ["a", "a", "b", "a"],
            [3, 1, 2, 0],
            ["a", 1, ("x", 2), None],
            pd.MultiIndex.from_product([["p", "q"], [1, 2]]),
        ],
        ids=["duplicate", "numbers", "mixed", "levels"],
    )
    def test_any_labels_in_pandas(self, columns, holes):
        frame = pd.DataFrame(holes)
        frame.columns = columns
        ours = kdi.corr(frame)
        pd.testing.assert_index_equal(ours.columns, frame.columns)
        pd.testing.assert_index_equal(ours.index, frame.columns)
        assert_array_equal(ours, kdi.corr(holes))

    @EVERY_FRAME
    def test_what_is_not_a_number_is_named(self, kind):
        frame = FRAMES[kind](mixed())
        with pytest.raises(ValueError, match=r"'town'.*'day'") as caught:
            kdi.corr(frame)
        assert "'age'" not in str(caught.value)
        assert "'yes'" not in str(caught.value)

    @EVERY_FRAME
    def test_numeric_only(self, kind):
        frame = FRAMES[kind](mixed())
        names = ["age", "count", "yes"]
        ours = kdi.corr(frame, numeric_only=True)
        assert list(ours.columns) == names
        plain = np.column_stack([np.asarray(frame[name], dtype=float) for name in names])
        assert_allclose(np.asarray(ours), kdi.corr(plain), rtol=0, atol=1e-13)
        if kind == "pandas":
            assert list(ours.index) == names

    @EVERY_FRAME
    def test_numeric_only_of_numbers_changes_nothing(self, kind, table):
        frame = FRAMES[kind](dict(zip(NAMES, table.T, strict=True)))
        assert_array_equal(kdi.corr(frame, numeric_only=True), kdi.corr(frame))

    def test_text_in_an_array(self):
        with pytest.raises(ValueError, match=r"column.*1"):
            kdi.corr(np.array([[1, "x"], [2, "y"], [3, "z"]], dtype=object))

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "Float32", "int64[pyarrow]", "float64[pyarrow]"])
    def test_nullable(self, dtype):
        plain = pd.DataFrame(
            {"a": [1, np.nan, 3, 10, 5, 7], "b": [2, 1, np.nan, 0, 9, 4], "c": [1, 5, 4, 2, 2, np.nan]}
        )
        frame = plain.astype(dtype)
        copied = frame.copy(deep=True)
        pd.testing.assert_frame_equal(kdi.corr(frame), kdi.corr(plain), rtol=0, atol=1e-13)
        pd.testing.assert_frame_equal(frame, copied)

    @pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]"])
    def test_nullable_truth(self, dtype):
        plain = pd.DataFrame({"a": [1, 0, np.nan, 1, 0, 0], "b": [1, 0, 1, 1, np.nan, 1]})
        frame = plain.astype("boolean").astype(dtype)
        pd.testing.assert_frame_equal(kdi.corr(frame), kdi.corr(plain), rtol=0, atol=1e-13)

    def test_polars_null(self):
        frame = pl.DataFrame(
            {
                "a": [1, None, 3, 10, 5, 4],
                "b": [0.5, 2.0, None, 1.0, 9.0, 3.0],
                "c": [True, False, None, True, False, True],
            }
        )
        plain = np.array([[1, 0.5, 1], [np.nan, 2, 0], [3, np.nan, np.nan], [10, 1, 1], [5, 9, 0], [4, 3, 1]])
        assert_allclose(kdi.corr(frame).to_numpy(), kdi.corr(plain), rtol=0, atol=1e-13)

    @pytest.mark.parametrize("order", ["C", "F"])
    @EVERY_ALPHA
    def test_nothing_is_altered(self, alpha, order, holes):
        given = np.array(holes, order=order)
        given.flags.writeable = False
        weights = np.arange(500.0)
        weights.flags.writeable = False
        expected = kdi.corr(holes.copy(), alpha=alpha, weights=weights.copy())
        assert_allclose(kdi.corr(given, alpha=alpha, weights=weights), expected, rtol=0, atol=1e-13)
        assert_array_equal(given, holes)
        assert_array_equal(weights, np.arange(500.0))
        frame = pd.DataFrame(holes, columns=NAMES)
        copied = frame.copy(deep=True)
        kdi.corr(frame, alpha=alpha)
        pd.testing.assert_frame_equal(frame, copied)

    def test_one_column(self, table):
        assert_array_equal(kdi.corr(table[:, :1]), [[1.0]])


class TestRefused:
    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (np.ones(5), "dim|2-d|shape"),
            (np.ones((2, 2, 2)), "dim|2-d|shape"),
            (np.full((3, 2), 1j), "complex"),
            ("table", ""),
            (None, ""),
        ],
        ids=["1d", "3d", "complex", "text", "none"],
    )
    def test_tables(self, bad, said):
        with pytest.raises((ValueError, TypeError), match=f"(?i){said}"):
            kdi.corr(bad)

    @pytest.mark.parametrize(
        ("name", "bad", "said"),
        [
            ("alpha", -1.0, "alpha.*-1.0"),
            ("alpha", "cv", "alpha.*'cv'"),
            ("alpha", [1.0, 2.0], "alpha.*4.*2"),
            ("alpha", [1.0, 1.0, -3.0, 1.0], "alpha.*-3.0"),
            ("alpha", {"z": 1.0}, "alpha.*'z'"),
            ("kernel", "triangle", "kernel.*'triangle'"),
            ("order", 0, "order.*0"),
            ("min_periods", 0.5, "min_periods.*0.5"),
            ("min_periods", "two", "min_periods.*'two'"),
            ("weights", np.r_[-1.0, np.ones(499)], "weights.*negative.*-1"),
            ("weights", np.zeros(500), "weights.*(zero|positive)"),
            ("weights", np.ones(3), "weights.*500.*3"),
            ("n_jobs", 0, "n_jobs.*0"),
            ("n_jobs", "two", "n_jobs.*'two'"),
        ],
        ids=lambda value: re.sub(r"\s+", " ", str(value))[:20],
    )
    @pytest.mark.parametrize("function", [kdi.corr, kdi.corr_test])
    def test_parameters(self, function, name, bad, said, frame):
        with pytest.raises(ValueError, match=said):
            function(frame, **{name: bad})

    def test_a_mapping_without_names(self, table):
        with pytest.raises(ValueError, match=r"alpha.*name"):
            kdi.corr(table, alpha={"a": 1.0})

    def test_options_have_names(self, table):
        for function in (kdi.corr, kdi.corr_test):
            with pytest.raises(TypeError):
                function(table, 1.0)
