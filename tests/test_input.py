"""What comes in: missing and infinite values, weights, types, layouts, frames, and everything that is refused."""

import os
import sys
import tracemalloc
import warnings

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample
from scipy import sparse
from scipy.special import ndtr

from kdi import KDITransformer

NAMES = ["a", "b", "c", "d"]
PURE = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")
ALPHAS = [0, 0.1, 1.0, "scott", "silverman", np.inf]


class TestMissing:
    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    @pytest.mark.parametrize("alpha", ALPHAS)
    def test_left_out_of_the_fit_and_kept_in_the_output(self, alpha, kernel, table, rng):
        holes = table.copy()
        holes[rng.uniform(size=table.shape) < 0.3] = np.nan
        out = KDITransformer(alpha, kernel=kernel).fit_transform(holes)
        assert_array_equal(np.isnan(out), np.isnan(holes))
        for j in range(4):
            there = ~np.isnan(holes[:, j])
            alone = KDITransformer(alpha, kernel=kernel).fit_transform(holes[there][:, [j]])
            assert_allclose(out[there, j], alone[:, 0], rtol=0, atol=1e-9)

    def test_in_a_large_column(self, rng):
        values = rng.normal(size=(100_000, 1))
        values[::3] = np.nan
        model = KDITransformer().fit(values)
        whole = KDITransformer().fit(values[~np.isnan(values)][:, None])
        assert_allclose(model.transform(values), whole.transform(values), rtol=0, atol=1e-9)
        assert model.bandwidth_[0] == pytest.approx(np.nanstd(values), rel=1e-9)

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    @pytest.mark.parametrize("policy", ["clip", "linear", "nan"])
    def test_in_transform_only(self, policy, output, table):
        model = KDITransformer(out_of_range=policy, output_distribution=output).fit(table)
        holes = table.copy()
        holes[::2, 1] = np.nan
        assert_array_equal(np.isnan(model.transform(holes)), np.isnan(holes))

    @pytest.mark.parametrize("alpha", ALPHAS)
    def test_all_missing_column(self, alpha, table):
        table[:, 1] = np.nan
        model = KDITransformer(alpha)
        with pytest.warns(UserWarning) as record:
            model.fit(table)
        assert len(record) == 1
        assert "NaN" in str(record[0].message)
        assert "1" in str(record[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table[:100, 1] = 5.0
            out = model.transform(table)
            back = model.inverse_transform(out)
        assert_array_equal(np.isnan(out), np.arange(4) == np.full((500, 1), 1))
        assert np.isnan(back[:, 1]).all()
        assert_array_equal(np.isnan([model.data_min_, model.data_max_]), [[False, True, False, False]] * 2)
        others = [0, 2, 3]
        assert_array_equal(out[:, others], KDITransformer(alpha).fit_transform(table[:, others]))

    def test_one_warning_for_several_columns(self, table):
        table[:, 1:3] = np.nan
        with pytest.warns(UserWarning) as record:
            KDITransformer().fit(pd.DataFrame(table, columns=["age", "height", "weight", "income"]))
        assert len(record) == 1
        assert "height" in str(record[0].message)
        assert "weight" in str(record[0].message)

    def test_one_warning_in_fit_transform(self, table):
        table[:, 0] = np.nan
        with pytest.warns(UserWarning) as record:
            KDITransformer().fit_transform(table)
        assert len(record) == 1

    def test_all_missing_for_lack_of_weight(self):
        values = np.array([[np.nan, 1.0], [3.0, 2.0], [np.nan, 3.0]])
        with pytest.warns(UserWarning, match="NaN"):
            out = KDITransformer().fit(values, sample_weight=[1, 0, 1]).transform(values)
        assert np.isnan(out[:, 0]).all()

    def test_all_missing_first_chunk(self, table):
        holes = table.copy()
        holes[:100, 0] = np.nan
        model = KDITransformer()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(holes[:100])
        model.partial_fit(holes[100:])
        assert_allclose(model.transform(table), KDITransformer().fit(holes).transform(table), rtol=0, atol=1e-9)


class TestInfinite:
    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    @pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "transform"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_names_the_column(self, dtype, method, bad, table):
        frame = pd.DataFrame(table, columns=["age", "height", "weight", "income"]).astype(dtype)
        model = KDITransformer().fit(frame)
        frame.loc[7, "weight"] = bad
        with pytest.raises(ValueError, match=r"(?i)inf.*'?weight'?"):
            getattr(model, method)(frame)
        array = frame.to_numpy()
        model = KDITransformer().fit(table)
        with pytest.raises(ValueError, match=r"(?i)inf.*\b(x?2)\b"):
            getattr(model, method)(array)

    def test_also_without_weight(self, table):
        # a value that is not a number is a mistake in the table, whatever its weight
        table[3, 1] = np.inf
        weights = np.ones(500)
        weights[3] = 0
        with pytest.raises(ValueError, match=r"(?i)inf.*1"):
            KDITransformer().fit(table, sample_weight=weights)

    def test_too_large_for_float32(self, table):
        model = KDITransformer().fit(table.astype(np.float32))
        with np.errstate(over="ignore"):
            too_large = np.full((1, 4), 1e300).astype(np.float32)
        with pytest.raises(ValueError, match=r"(?i)inf"):
            model.transform(too_large)

    def test_a_failed_chunk_changes_nothing(self, table):
        model = KDITransformer().fit(table)
        before = model.transform(table)
        bad = table.copy()
        bad[0, 3] = np.inf
        with pytest.raises(ValueError):
            model.partial_fit(bad)
        assert_array_equal(model.transform(table), before)
        assert_array_equal(model.n_samples_seen_, 500)


class TestWeights:
    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    @pytest.mark.parametrize("alpha", ALPHAS)
    @pytest.mark.parametrize("n", [50, 30_000])
    def test_are_repetitions(self, n, alpha, kernel, rng):
        values, counts = rng.lognormal(size=(n, 2)), rng.integers(0, 4, size=n)
        model = KDITransformer(alpha, kernel=kernel)
        weighted = model.fit(values, sample_weight=counts).transform(values)
        repeated = model.fit(np.repeat(values, counts, axis=0)).transform(values)
        assert_allclose(weighted, repeated, rtol=0, atol=1e-9)

    def test_attributes_of_repetitions(self, table, rng):
        counts = rng.integers(0, 4, size=500)
        weighted = KDITransformer("scott").fit(table, sample_weight=counts)
        repeated = KDITransformer("scott").fit(np.repeat(table, counts, axis=0))
        for name in ("alpha_", "bandwidth_", "data_min_", "data_max_"):
            assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, err_msg=name)

    def test_zero_removes_even_the_ends(self, table):
        wild = np.concatenate([np.full((1, 4), 1e9), table, np.full((1, 4), -1e12)])
        weights = np.r_[0, np.ones(500), 0]
        model = KDITransformer().fit(wild, sample_weight=weights)
        assert_array_equal(model.data_max_, table.max(axis=0))
        assert_allclose(model.transform(table), KDITransformer().fit_transform(table), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("wild", [1e9, -1e12, 1e300])
    def test_zero_removes_wild_rows_from_a_large_column(self, wild, rng):
        values, weights = rng.normal(size=(200_000, 1)), np.ones(200_000)
        expected = KDITransformer().fit(values[1:])
        values[0], weights[0] = wild, 0
        model = KDITransformer().fit(values, sample_weight=weights)
        assert model.bandwidth_[0] == pytest.approx(expected.bandwidth_[0], rel=1e-9)
        assert model.error_bound_[0] <= 1e-6
        assert_allclose(model.transform(values[1:]), expected.transform(values[1:]), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_common_factor_changes_nothing(self, name, rng):
        values, weights = sample(name, 1000)[:, None], rng.exponential(size=1000)
        ours = [KDITransformer(0.3).fit(values, sample_weight=weights * f).transform(values) for f in (1, 1e-3, 1e6)]
        assert_allclose(ours[1], ours[0], rtol=0, atol=1e-9)
        assert_allclose(ours[2], ours[0], rtol=0, atol=1e-9)

    def test_ones_change_nothing(self, table):
        ones = KDITransformer("scott").fit(table, sample_weight=np.ones(500))
        assert_allclose(ones.transform(table), KDITransformer("scott").fit_transform(table), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("kind", [list, pd.Series, np.float32, np.int8, lambda w: np.repeat(w, 2)[::2]])
    def test_kinds(self, kind, table, rng):
        weights = rng.integers(0, 3, size=500)
        expected = KDITransformer().fit(table, sample_weight=weights.astype(float)).transform(table)
        assert_array_equal(KDITransformer().fit(table, sample_weight=kind(weights)).transform(table), expected)

    def test_with_missing_values(self, rng):
        values, weights = rng.normal(size=200), rng.exponential(size=200)
        values[::5] = np.nan
        ours = KDITransformer().fit(values[:, None], sample_weight=weights).transform(values[:, None])[:, 0]
        there = ~np.isnan(values)
        expected = oracle.transform(values, values[there], 1.0, "polyexp", weights=weights)
        assert_allclose(ours[there], expected, rtol=0, atol=1e-6)

    @pytest.mark.parametrize(
        ("bad", "said"),
        [(-1.0, "-1"), (np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")],
    )
    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    def test_bad_values(self, method, bad, said, table):
        weights = np.ones(500)
        weights[17] = bad
        with pytest.raises(ValueError, match=f"(?i)weight.*({said}|{'negative'})"):
            getattr(KDITransformer(), method)(table, sample_weight=weights)

    def test_a_negative_weight_of_a_missing_value_is_an_error_too(self):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            KDITransformer().fit([[np.nan], [1.0], [2.0]], sample_weight=[-1, 1, 1])

    @pytest.mark.parametrize("bad", [np.ones(3), np.ones((500, 2)), ["a"] * 500, np.zeros(500)])
    def test_bad_shapes_and_kinds(self, bad, table):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            KDITransformer().fit(table, sample_weight=bad)

    def test_are_left_alone(self, table):
        weights = np.arange(500.0)
        weights.flags.writeable = False
        KDITransformer().fit(table, sample_weight=weights)
        assert_array_equal(weights, np.arange(500.0))


class TestConstantAndFew:
    @pytest.mark.parametrize("alpha", ALPHAS)
    @pytest.mark.parametrize("n", [1, 2, 1000])
    @pytest.mark.parametrize("constant", [0.0, 3.0, -1e9, 1e-300, 0.1])
    def test_constant_column_maps_to_zero(self, constant, n, alpha):
        model = KDITransformer(alpha).fit(np.full((n, 1), constant))
        assert_array_equal(model.transform(np.full((n, 1), constant)), 0)
        above, below = np.nextafter(constant, np.inf), np.nextafter(constant, -np.inf)
        assert_array_equal(model.transform([[below], [above], [constant - 7], [constant + 7]])[:, 0], [0, 1, 0, 1])
        assert_array_equal(model.inverse_transform([[0.0], [0.4], [1.0]])[:, 0], constant)
        assert model.bandwidth_[0] == 0 or alpha == np.inf  # inf times 0 is neither
        assert model.error_bound_[0] <= 1e-6

    def test_constant_column_as_in_quantile_transformer(self):
        from sklearn.preprocessing import QuantileTransformer

        values = np.full((20, 1), 3.0)
        for output in ("uniform", "normal"):
            theirs = QuantileTransformer(n_quantiles=20, output_distribution=output).fit(values)
            ours = KDITransformer(output_distribution=output).fit(values)
            at = np.array([[1.0], [3.0], [8.0]])
            assert_allclose(ours.transform(at), theirs.transform(at), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_one_row(self, output, table):
        model = KDITransformer(output_distribution=output).fit(table[:1])
        out = model.transform(table[:1])
        assert_array_equal(out, 0 if output == "uniform" else np.full((1, 4), out.min()))
        assert out.shape == (1, 4)
        assert np.isfinite(out).all()
        assert_array_equal(model.inverse_transform(out), table[:1])

    def test_constant_with_policy_nan(self):
        out = KDITransformer(out_of_range="nan").fit([[3.0]]).transform([[2.0], [3.0], [4.0]])
        assert_array_equal(out[:, 0], [np.nan, 0, np.nan])

    def test_two_values(self):
        out = KDITransformer().fit([[1.0], [3.0]]).transform([[0.0], [1.0], [2.0], [3.0], [4.0]])
        assert_allclose(out[:, 0], [0, 0, 0.5, 1, 1], rtol=0, atol=1e-6)

    @pytest.mark.parametrize("values", [(1.0, np.nextafter(1.0, 2.0)), (1e9, np.nextafter(1e9, 2e9)), (0.0, 5e-324)])
    def test_neighbouring_floats(self, values):
        out = KDITransformer().fit_transform(np.array(values)[:, None])
        assert_array_equal(out[:, 0], [0, 1])

    def test_a_range_beyond_float64_is_refused(self):
        largest = np.finfo(float).max
        with pytest.raises(ValueError, match=r"range.*1"):
            KDITransformer().fit([[0.0, -largest], [1.0, 0.0], [2.0, largest]])


class TestTypes:
    @pytest.mark.parametrize(
        "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool, np.float16]
    )
    def test_other_numbers(self, dtype, rng):
        values = rng.integers(0, 2 if dtype is bool else 100, size=(300, 3)).astype(dtype)
        out = KDITransformer(0.3).fit_transform(values)
        assert out.dtype in (np.float64, np.float32)
        atol = 1e-12 if out.dtype == np.float64 else 2e-7
        assert_allclose(out, KDITransformer(0.3).fit_transform(values.astype(float)), rtol=0, atol=atol)

    @pytest.mark.parametrize("dtype", [np.int64, np.int8, bool])
    def test_whole_numbers_come_out_as_float64(self, dtype):
        assert KDITransformer().fit_transform(np.array([[0], [1]], dtype=dtype)).dtype == np.float64

    def test_objects_that_are_numbers(self, table):
        out = KDITransformer().fit_transform(table.astype(object))
        assert_array_equal(out, KDITransformer().fit_transform(table))

    def test_lists(self):
        assert_array_equal(
            KDITransformer().fit_transform([[1, 2.5], [3, 4], [4, 9]]),
            KDITransformer().fit_transform(np.array([[1, 2.5], [3, 4], [4, 9]])),
        )

    def test_other_byte_order(self, table):
        swapped = table.astype(table.dtype.newbyteorder(">" if sys.byteorder == "little" else "<"))
        assert_array_equal(KDITransformer().fit_transform(swapped), KDITransformer().fit_transform(table))

    @pytest.mark.parametrize("alpha", ALPHAS)
    @pytest.mark.parametrize("output", ["uniform", "normal"])
    @pytest.mark.parametrize("n", [50, 30_000])
    def test_float32_in_float32_out(self, n, output, alpha, rng):
        values = rng.lognormal(size=(n, 2)).astype(np.float32)
        model = KDITransformer(alpha, output_distribution=output).fit(values)
        out = model.transform(values)
        assert out.dtype == np.float32
        assert model.inverse_transform(out).dtype == np.float32
        exact = (
            KDITransformer(alpha, output_distribution=output).fit(values.astype(float)).transform(values.astype(float))
        )
        if output == "uniform":
            assert_allclose(out, exact, rtol=0, atol=1e-7)
            assert out.min() == 0
            assert out.max() == 1
        else:
            # one ulp of a level below 1 is 6e-8 in float32, and the scores are steep there: compare as levels
            assert_allclose(ndtr(out.astype(float)), ndtr(exact), rtol=0, atol=2e-7)
        for j in range(2):
            assert (np.diff(out[np.argsort(values[:, j]), j]) >= 0).all()

    def test_float64_through_a_float32_fit(self, table):
        model = KDITransformer().fit(table.astype(np.float32))
        assert model.transform(table).dtype == np.float64
        assert KDITransformer().fit(table).transform(table.astype(np.float32)).dtype == np.float32

    def test_attributes_of_a_float32_fit_are_float64(self, table):
        model = KDITransformer().fit(table.astype(np.float32))
        for name in ("alpha_", "bandwidth_", "data_min_", "data_max_", "error_bound_"):
            assert getattr(model, name).dtype == np.float64

    @pytest.mark.skipif(PURE, reason="NumPy takes some columns' worth of memory")
    def test_float32_is_never_a_float64_table(self):
        n, megabyte = 1_000_000, 2**20
        values = np.random.default_rng(0).standard_normal((n, 4), dtype=np.float32)
        model = KDITransformer(n_jobs=1)
        tracemalloc.start()
        try:
            model.fit(values)
            fitted = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            model.transform(values)
            transformed = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        assert fitted <= 16 * megabyte  # a float64 table takes 32
        assert transformed <= values.nbytes + 8 * megabyte


LAYOUTS = {
    "fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "every-other-row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every-other-column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast-free-view": lambda x: np.pad(x, 3)[3:-3, 3:-3],
}


class TestLayouts:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    @pytest.mark.parametrize("n", [50, 20_000])
    def test_give_the_same(self, n, dtype, layout, rng):
        values = (rng.lognormal(size=(n, 3)) * 10).astype(dtype)
        shaped = LAYOUTS[layout](values)
        assert_array_equal(shaped, values)
        copied = shaped.copy(order="K")
        shaped.flags.writeable = False
        plain = KDITransformer().fit(values)
        model = KDITransformer().fit(shaped)
        assert_array_equal(model.transform(shaped), plain.transform(values))
        assert_array_equal(
            model.inverse_transform(model.transform(shaped)), plain.inverse_transform(plain.transform(values))
        )
        assert_array_equal(shaped, copied)

    def test_broadcast(self, rng):
        values = np.broadcast_to(rng.normal(size=(200, 1)), (200, 3))
        assert_array_equal(KDITransformer().fit_transform(values), KDITransformer().fit_transform(values.copy()))

    def test_unaligned(self, rng):
        values = rng.normal(size=(50, 2))
        raw = np.frombuffer(b"\0" + values.tobytes(), dtype=np.uint8)[1:]
        unaligned = raw.view(np.float64).reshape(50, 2)
        assert not unaligned.flags.aligned
        assert_array_equal(KDITransformer().fit_transform(unaligned), KDITransformer().fit_transform(values))

    def test_memory_map(self, tmp_path, table):
        np.save(tmp_path / "table.npy", table)
        mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
        assert_array_equal(KDITransformer().fit_transform(mapped), KDITransformer().fit_transform(table))


class TestNothingIsMutated:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    @pytest.mark.parametrize("output", ["uniform", "normal"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_tables(self, order, output, dtype, table):
        values = np.array(table * 10, dtype=dtype, order=order)
        copied = values.copy()
        model = KDITransformer(output_distribution=output).fit(values)
        assert_array_equal(values, copied)
        out = model.transform(values)
        assert_array_equal(values, copied)
        assert not np.shares_memory(out, values)
        out_copied = out.copy()
        back = model.inverse_transform(out)
        assert_array_equal(out, out_copied)
        assert not np.shares_memory(back, out)
        model.partial_fit(values)
        assert_array_equal(values, copied)

    def test_frames(self, table):
        frame = pd.DataFrame(table, columns=NAMES)
        copied = frame.copy(deep=True)
        KDITransformer().fit_transform(frame)
        pd.testing.assert_frame_equal(frame, copied)

    def test_without_copy_the_answer_is_the_same(self, table):
        expected = KDITransformer().fit(table)
        model = KDITransformer(copy=False).fit(table)
        there = expected.transform(table)
        assert_array_equal(model.transform(table.copy()), there)
        assert_array_equal(model.inverse_transform(there.copy()), expected.inverse_transform(there))

    def test_without_copy_fit_leaves_the_table_alone(self, table):
        copied = table.copy()
        KDITransformer(copy=False).fit(table)
        assert_array_equal(table, copied)

    def test_without_copy_read_only_memory_still_works(self, table):
        expected = KDITransformer().fit_transform(table)
        copied = table.copy()
        table.flags.writeable = False
        model = KDITransformer(copy=False).fit(table)
        assert_array_equal(model.transform(table), expected)
        assert_array_equal(table, copied)

    def test_transform_does_not_change_the_model(self, table):
        model = KDITransformer().fit(table)
        first = model.transform(table)
        model.transform(table * 3)
        model.inverse_transform(first)
        assert_array_equal(model.transform(table), first)


def mixed_columns(n=200):
    rng = np.random.default_rng(3)
    return {
        "float64": rng.normal(size=n),
        "float32": rng.normal(size=n).astype(np.float32),
        "int8": rng.integers(-100, 100, size=n).astype(np.int8),
        "uint32": rng.integers(0, 10**6, size=n).astype(np.uint32),
        "bool": rng.uniform(size=n) < 0.3,
    }


class TestFrames:
    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_mixed_numbers(self, make):
        columns = mixed_columns()
        frame = make(columns)
        expected = KDITransformer().fit_transform(np.column_stack([c.astype(float) for c in columns.values()]))
        model = KDITransformer().fit(frame)
        assert_array_equal(model.feature_names_in_, list(columns))
        assert_array_equal(model.transform(frame), expected)

    def test_pandas_nullable(self):
        frame = pd.DataFrame(
            {
                "Int64": pd.array([1, None, 3, 10, 5], dtype="Int64"),
                "Float64": pd.array([1.5, 2.5, None, 0.0, 9.0], dtype="Float64"),
                "boolean": pd.array([True, False, None, True, True], dtype="boolean"),
                "float64": [1.0, np.nan, 2.0, 3.0, 4.0],
            }
        )
        plain = np.array(
            [[1, 1.5, 1, 1], [np.nan, 2.5, 0, np.nan], [3, np.nan, np.nan, 2], [10, 0, 1, 3], [5, 9, 1, 4]], dtype=float
        )
        copied = frame.copy(deep=True)
        out = KDITransformer().fit_transform(frame)
        assert_array_equal(out, KDITransformer().fit_transform(plain))
        pd.testing.assert_frame_equal(frame, copied)

    def test_pandas_pyarrow_types(self):
        frame = pd.DataFrame({"a": [1, 2, None, 4], "b": [0.5, None, 2.0, 9.0]}).astype("float64[pyarrow]")
        plain = np.array([[1, 0.5], [2, np.nan], [np.nan, 2], [4, 9]])
        assert_array_equal(KDITransformer().fit_transform(frame), KDITransformer().fit_transform(plain))

    def test_polars_null(self):
        frame = pl.DataFrame({"a": [1, None, 3, 10], "b": [0.5, 2.0, None, 1.0]})
        plain = np.array([[1, 0.5], [np.nan, 2], [3, np.nan], [10, 1]])
        out = KDITransformer().fit_transform(frame)
        assert_array_equal(np.asarray(out), KDITransformer().fit_transform(plain))

    def test_columns_in_another_order(self, table):
        frame = pd.DataFrame(table, columns=NAMES)
        with pytest.raises(ValueError, match="feature names"):
            KDITransformer().fit(frame).transform(frame[NAMES[::-1]])

    def test_row_labels_do_not_matter(self, table):
        frame = pd.DataFrame(table, columns=NAMES, index=np.random.default_rng(0).permutation(500))
        assert_array_equal(KDITransformer().fit_transform(frame), KDITransformer().fit_transform(table))


BAD_PARAMETERS = [
    ("alpha", -1.0, ["-1.0", "scott", "silverman"]),
    ("alpha", -np.inf, ["-inf", "scott"]),
    ("alpha", np.nan, ["nan", "scott"]),
    ("alpha", "cv", ["'cv'", "scott", "silverman"]),
    ("alpha", None, ["None", "scott"]),
    ("alpha", True, ["True", "scott"]),
    ("alpha", 1j, ["1j", "scott"]),
    ("alpha", [1.0, 2.0], ["2", "4"]),
    ("alpha", np.ones((4, 4)), ["4, 4"]),
    ("alpha", [1.0, "cv", 1.0, 1.0], ["'cv'", "scott", "1"]),
    ("alpha", [1.0, 1.0, -2.0, 1.0], ["-2.0", "scott", "2"]),
    ("alpha", [1.0, 1.0, np.nan, 1.0], ["nan", "scott"]),
    ("kernel", "triangle", ["'triangle'", "polyexp", "gaussian"]),
    ("kernel", None, ["None", "polyexp", "gaussian"]),
    ("kernel", ["gaussian"], ["gaussian", "polyexp"]),
    ("order", 0, ["0", "1"]),
    ("order", -3, ["-3", "1"]),
    ("order", 2.5, ["2.5"]),
    ("order", "4", ["'4'"]),
    ("order", None, ["None"]),
    ("order", True, ["True"]),
    ("output_distribution", "cauchy", ["'cauchy'", "uniform", "normal"]),
    ("output_distribution", None, ["None", "uniform", "normal"]),
    ("out_of_range", "raise", ["'raise'", "clip", "linear", "nan"]),
    ("out_of_range", None, ["None", "clip", "linear", "nan"]),
    ("n_quantiles", 0, ["0"]),
    ("n_quantiles", -5, ["-5"]),
    ("n_quantiles", 10.5, ["10.5"]),
    ("n_quantiles", "all", ["'all'"]),
    ("n_jobs", 0, ["0"]),
    ("n_jobs", 1.5, ["1.5"]),
    ("n_jobs", "two", ["'two'"]),
    ("copy", "no", ["'no'"]),
    ("copy", None, ["None"]),
]


class TestRefused:
    @pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "transform", "inverse_transform"])
    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (np.empty((0, 4)), "0 sample"),
            (np.empty((5, 0)), r"0 feature|features"),
            (np.ones(4), "1D|2D"),
            (np.ones((2, 2, 4)), "dim"),
            (np.full((3, 4), 1j), "(?i)complex"),
            (np.array([["a", "b", "c", "d"]] * 3), "string|numeric|numbers|convert"),
            (np.array([[1, 2, "x", 4]] * 3, dtype=object), "'x'"),
            (None, "None|array"),
        ],
        ids=["no-rows", "no-columns", "1d", "3d", "complex", "strings", "objects", "none"],
    )
    def test_tables(self, method, bad, said, table):
        model = KDITransformer()
        if method.endswith("transform") and method != "fit_transform":
            model.fit(table)
        with pytest.raises((ValueError, TypeError), match=said):
            getattr(model, method)(bad)

    @pytest.mark.parametrize("method", ["fit", "transform", "inverse_transform"])
    def test_sparse(self, method, table):
        model = KDITransformer().fit(table)
        with pytest.raises((ValueError, TypeError), match=r"(?i)sparse"):
            getattr(model, method)(sparse.csr_array(table))

    def test_text_in_a_frame_names_the_column(self):
        frame = pd.DataFrame({"age": [1.0, 2.0], "town": ["Bern", "Basel"]})
        with pytest.raises(ValueError, match="town"):
            KDITransformer().fit(frame)

    def test_dates_in_a_frame_name_the_column(self):
        frame = pd.DataFrame({"age": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2021-01-01"])})
        with pytest.raises((ValueError, TypeError), match="day"):
            KDITransformer().fit(frame)

    @pytest.mark.parametrize("method", ["transform", "inverse_transform"])
    @pytest.mark.parametrize("n_columns", [1, 3, 5])
    def test_wrong_number_of_columns(self, method, n_columns, table):
        with pytest.raises(ValueError, match=f"{n_columns} features.*4 features"):
            getattr(KDITransformer().fit(table), method)(np.zeros((2, n_columns)))

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_parameters(self, name, bad, said, method, table):
        model = KDITransformer(**{name: bad})  # nothing is said here
        with pytest.raises(ValueError) as caught:
            getattr(model, method)(table)
        for word in [name, *said]:
            assert word in str(caught.value)

    def test_a_bad_order_does_not_matter_less_for_the_gaussian(self, table):
        with pytest.raises(ValueError, match="order"):
            KDITransformer(kernel="gaussian", order=0).fit(table)

    def test_numpy_numbers_are_fine(self, table):
        KDITransformer(np.float32(0.5), order=np.int64(3), n_quantiles=np.int32(50), n_jobs=np.int64(2)).fit(table)
        KDITransformer(copy=np.True_).fit(table)

    def test_a_failed_fit_leaves_no_half_fitted_model(self, table):
        model = KDITransformer(alpha="cv")
        with pytest.raises(ValueError):
            model.fit(table)
        with pytest.raises(ValueError):  # NotFittedError is one
            model.transform(table)
