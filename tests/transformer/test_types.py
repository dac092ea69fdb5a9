"""Types, memory layouts and frames, none of which is altered."""

import os
import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]
PURE = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")
ALPHAS = [0, 0.1, 1.0, "scott", "silverman", np.inf]


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
