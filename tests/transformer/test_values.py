"""Missing and infinite values, weights, constants and columns of few values."""

import os
import warnings

import numpy as np
import oracle
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample
from sklearn.pipeline import make_pipeline

from kdi import KDITransformer, Sketch, alpha_path

pytestmark = pytest.mark.numpy_core

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

    @pytest.mark.parametrize(
        "use",
        [
            lambda table: KDITransformer().fit(table),
            lambda table: KDITransformer().fit(pa.table({str(j): column for j, column in enumerate(table.T)})),
            lambda table: KDITransformer().fit_transform(table),
            lambda table: make_pipeline(KDITransformer(), KDITransformer()).fit(table),
            lambda table: KDITransformer().partial_fit(table).alpha_,
            lambda table: KDITransformer().partial_fit(table).transform(table),
            lambda table: KDITransformer().partial_fit(table).to_json(),
            lambda table: KDITransformer().fit_sketches([Sketch()]),
            lambda table: alpha_path(table, [1.0]),
        ],
        ids=["fit", "fit a stream", "fit_transform", "pipeline", "alpha_", "transform", "to_json", "sketches", "path"],
    )
    def test_the_warning_points_at_the_line_of_the_user(self, use, table):
        table[:, 1] = np.nan
        with pytest.warns(UserWarning, match="held only NaN") as record:
            use(table)
        assert {warning.filename for warning in record} == {__file__}

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
