"""KDITransformer: parameters, fitted attributes, both directions, chunks."""

import inspect

import numpy as np
import oracle
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import KERNELS, SAMPLES, probes, sample
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import QuantileTransformer

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]


def test_signature():
    parameters = inspect.signature(KDITransformer).parameters
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "alpha": 1.0,
        "kernel": "polyexp",
        "order": 4,
        "output_distribution": "uniform",
        "bounded": True,
        "spread": "std",
        "feature_range": (0, 1),
        "out_of_range": "clip",
        "max_knots": None,
        "n_jobs": None,
        "copy": True,
    }
    positional = [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    assert positional == ["alpha"]


def test_init_stores_what_it_is_given_and_checks_nothing():
    given = {"alpha": object(), "kernel": 3, "order": "x", "output_distribution": None, "max_knots": -1}
    model = KDITransformer(**given)
    assert all(getattr(model, name) is value for name, value in given.items())
    assert not [name for name in vars(model) if name.endswith("_")]


class TestFitted:
    def test_shapes_and_values(self, table):
        model = KDITransformer(0.5).fit(table)
        assert model.n_features_in_ == 4
        assert_array_equal(model.alpha_, [0.5] * 4)
        assert_allclose(model.bandwidth_, 0.5 * table.std(axis=0), rtol=1e-12)
        assert_array_equal(model.data_min_, table.min(axis=0))
        assert_array_equal(model.data_max_, table.max(axis=0))
        assert_array_equal(model.n_samples_seen_, 500)
        assert np.shape(model.error_bound_) == np.shape(model.n_knots_) == (4,)
        assert (np.asarray(model.error_bound_) >= 0).all()
        assert (np.asarray(model.n_knots_) >= 2).all()
        assert not hasattr(model, "feature_names_in_")

    def test_feature_names(self, table):
        model = KDITransformer().fit(pd.DataFrame(table, columns=NAMES))
        assert_array_equal(model.feature_names_in_, NAMES)
        assert_array_equal(model.get_feature_names_out(), NAMES)
        assert_array_equal(KDITransformer().fit(table).get_feature_names_out(), ["x0", "x1", "x2", "x3"])
        assert_array_equal(KDITransformer().fit(table).get_feature_names_out(NAMES), NAMES)

    def test_references_and_quantiles_are_levels_and_their_inverse(self, table):
        model = KDITransformer().fit(table)
        levels, quantiles = model.references_, model.quantiles_
        assert levels.ndim == 1
        assert quantiles.shape == (levels.size, 4)
        assert_allclose(levels, np.linspace(0, 1, levels.size), rtol=0, atol=1e-15)
        assert_array_equal(quantiles[0], model.data_min_)
        assert_array_equal(quantiles[-1], model.data_max_)
        assert (np.diff(quantiles, axis=0) >= 0).all()
        assert_allclose(quantiles, model.inverse_transform(np.tile(levels[:, None], 4)), rtol=1e-12)

    def test_quantiles_stay_in_the_units_of_the_data_whatever_the_output(self, table):
        uniform = KDITransformer().fit(table).quantiles_
        assert_allclose(KDITransformer(output_distribution="normal").fit(table).quantiles_, uniform, rtol=1e-12)

    def test_fit_returns_self_and_forgets_the_past(self, table):
        model = KDITransformer()
        assert model.fit(table * 100) is model
        again = model.fit(table[:, :2]).transform(table[:, :2])
        assert_array_equal(again, KDITransformer().fit_transform(table[:, :2]))
        assert model.n_features_in_ == 2

    def test_fit_ignores_y(self, table):
        assert_array_equal(
            KDITransformer().fit(table, np.arange(500)).transform(table), KDITransformer().fit_transform(table)
        )

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_fit_transform_is_fit_then_transform(self, output, table):
        model = KDITransformer(output_distribution=output)
        assert_array_equal(model.fit_transform(table), model.fit(table).transform(table))

    def test_fit_is_repeatable(self, rng):
        values = rng.normal(size=(50_000, 3))
        assert_array_equal(KDITransformer().fit_transform(values), KDITransformer().fit_transform(values))

    @pytest.mark.parametrize("method", ["transform", "inverse_transform", "get_feature_names_out"])
    def test_unfitted(self, method, table):
        with pytest.raises(NotFittedError):
            getattr(KDITransformer(), method)(table)

    def test_parameters_are_left_alone(self, table):
        alpha = [0.1, "scott", 0, np.inf]
        model = KDITransformer(alpha).fit(table)
        assert model.alpha is alpha
        assert alpha == [0.1, "scott", 0, np.inf]


class TestAlpha:
    EXPECTED = (0.3, 500**-0.2, (0.75 * 500) ** -0.2, 2.0)

    @pytest.mark.parametrize(
        "alpha",
        [
            [0.3, "scott", "silverman", 2],
            (0.3, "scott", "silverman", 2.0),
            np.array([0.3, "scott", "silverman", 2.0], dtype=object),
            {"a": 0.3, "b": "scott", "c": "silverman", "d": 2},
            {"d": 2, "c": "silverman", "b": "scott", "a": np.float64(0.3)},
        ],
        ids=["list", "tuple", "array", "dict", "shuffled-dict"],
    )
    def test_per_feature(self, alpha, table):
        frame = pd.DataFrame(table, columns=NAMES)
        model = KDITransformer(alpha).fit(frame)
        assert_allclose(model.alpha_, self.EXPECTED, rtol=1e-15)
        ours = model.transform(frame)
        for j, one in enumerate(self.EXPECTED):
            assert_array_equal(ours[:, [j]], KDITransformer(one).fit_transform(table[:, [j]]))

    def test_numeric_array(self, table):
        assert_array_equal(KDITransformer(np.array([1, 2, 3, 4])).fit(table).alpha_, [1, 2, 3, 4])

    def test_limits_per_feature(self, table):
        model = KDITransformer([0, np.inf, 1.0, 0.0]).fit(table)
        assert_array_equal(model.alpha_, [0, np.inf, 1, 0])
        assert model.bandwidth_[0] == 0
        assert np.isinf(model.bandwidth_[1])
        assert_allclose(model.transform(table)[:, 0], oracle.quantile_limit(table[:, 0], table[:, 0]), atol=1e-12)

    @pytest.mark.parametrize("one", [np.float64(0.4), np.float32(0.4), 0.4])
    def test_number_types(self, one, table):
        assert_allclose(KDITransformer(one).fit(table).alpha_, float(one), rtol=1e-15)

    def test_integer(self, table):
        assert_array_equal(KDITransformer(2).fit_transform(table), KDITransformer(2.0).fit_transform(table))
        assert_array_equal(KDITransformer(np.int64(2)).fit_transform(table), KDITransformer(2.0).fit_transform(table))

    def test_rules_count_what_is_there(self, table):
        table[:100, 0] = np.nan
        weights = np.arange(500) % 3
        table[:, 1] = np.where(np.arange(500) < 50, np.nan, table[:, 1])
        model = KDITransformer("scott").fit(table, sample_weight=weights)
        totals = [weights[~np.isnan(column)].sum() for column in table.T]
        assert_allclose(model.alpha_, np.array(totals) ** -0.2, rtol=1e-14)

    def test_dict_without_the_names_of_features(self, table):
        with pytest.raises(ValueError, match=r"alpha.*feature name"):
            KDITransformer({"x0": 1.0}).fit(table)

    def test_dict_with_an_unknown_name(self, table):
        with pytest.raises(ValueError, match="'e'"):
            KDITransformer({"a": 1.0, "e": 1.0}).fit(pd.DataFrame(table, columns=NAMES))


class TestInverse:
    NOT_NEGLIGIBLE = 1e-4  # T' times the range

    @pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 10.0])
    @pytest.mark.parametrize(("kernel", "order"), KERNELS)
    @pytest.mark.parametrize("name", SAMPLES)
    def test_round_trip(self, name, kernel, order, alpha):
        values = sample(name, 2000)
        width = values.max() - values.min()
        at = probes(values)
        dense = oracle.slope(values, at, alpha, kernel, order) * width >= self.NOT_NEGLIGIBLE
        assert dense.any()
        model = KDITransformer(alpha, kernel=kernel, order=order).fit(values[:, None])
        there = model.transform(at[:, None])
        back = model.inverse_transform(there)[:, 0]
        assert abs(back - at)[dense].max() <= 1e-6 * width
        # where the density is negligible x may move, its level does not, as far as levels are known
        assert_allclose(model.transform(back[:, None]), there, rtol=0, atol=model.error_bound_[0])

    @pytest.mark.parametrize("alpha", [0, np.inf])
    def test_round_trip_of_the_limits(self, alpha, table):
        model = KDITransformer(alpha).fit(table)
        back = model.inverse_transform(model.transform(table))
        assert_allclose(back, table, rtol=1e-12, atol=1e-12 * np.ptp(table))

    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, np.inf])
    def test_ends_and_order(self, alpha, table):
        model = KDITransformer(alpha).fit(table)
        levels = np.tile(np.linspace(0, 1, 5001)[:, None], 4)
        back = model.inverse_transform(levels)
        assert_array_equal(back[0], table.min(axis=0))
        assert_array_equal(back[-1], table.max(axis=0))
        assert (np.diff(back, axis=0) >= -1e-12 * np.ptp(table)).all()

    @pytest.mark.parametrize("name", ["normal", "lognormal-2", "poisson"])
    def test_is_the_inverse_of_the_direct_sum(self, name):
        values = sample(name, 500)
        levels = np.linspace(0, 1, 101)
        back = KDITransformer().fit(values[:, None]).inverse_transform(levels[:, None])[:, 0]
        assert_allclose(oracle.transform(values, back, 1.0, "polyexp"), levels, rtol=0, atol=1e-6)

    def test_beyond_the_unit_interval(self, table):
        levels = np.array([[-0.5] * 4, [1.5] * 4])
        ends = [table.min(axis=0), table.max(axis=0)]
        assert_array_equal(KDITransformer().fit(table).inverse_transform(levels), ends)
        assert np.isnan(KDITransformer(out_of_range="nan").fit(table).inverse_transform(levels)).all()

    def test_nan_stays_nan(self, table):
        levels = np.full((3, 4), 0.5)
        levels[1, 2] = np.nan
        assert_array_equal(np.isnan(KDITransformer().fit(table).inverse_transform(levels)), np.isnan(levels))

    def test_float32(self, table):
        model = KDITransformer().fit(table.astype(np.float32))
        back = model.inverse_transform(model.transform(table.astype(np.float32)))
        assert back.dtype == np.float32
        # a level in float32 is known to 6e-8, which the density turns into a distance
        assert_allclose(back[:, 0], table[:, 0], rtol=0, atol=1e-3)


class TestOutputDistribution:
    def test_normal_is_the_normal_quantile_of_uniform(self, table):
        uniform = KDITransformer(0.3).fit_transform(table)
        normal = KDITransformer(0.3, output_distribution="normal").fit_transform(table)
        inner = (uniform > 1e-6) & (uniform < 1 - 1e-6)
        assert inner.mean() > 0.9
        # A table of scores has an error of 2.4e-11 (cpp/score_table.hpp).
        assert_allclose(normal[inner], norm.ppf(uniform[inner]), rtol=0, atol=3e-11)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_clipped_as_in_quantile_transformer(self, alpha, table):
        clip = QuantileTransformer(n_quantiles=500, output_distribution="normal").fit_transform(table)
        ours = KDITransformer(alpha, output_distribution="normal").fit(table)
        out = ours.transform(np.array([table.min(axis=0), table.max(axis=0), [-1e9] * 4, [1e9] * 4]))
        assert_allclose(out[[0, 2]], clip.min(), rtol=0, atol=1e-14)
        assert_allclose(out[[1, 3]], clip.max(), rtol=0, atol=1e-9)  # one ulp of 1 - 1e-7 is 2e-10 of a score

    def test_equals_quantile_transformer_at_alpha_zero(self, rng):
        values = rng.normal(size=(300, 2))
        theirs = QuantileTransformer(n_quantiles=300, output_distribution="normal").fit_transform(values)
        assert_allclose(KDITransformer(0, output_distribution="normal").fit_transform(values), theirs, atol=1e-9)

    def test_is_standard_normal_for_a_large_sample(self, rng):
        values = rng.lognormal(size=(50_000, 1))
        out = KDITransformer(0.01, output_distribution="normal").fit_transform(values)
        assert abs(out.mean()) < 0.01
        assert abs(out.std() - 1) < 0.01

    def test_inverse(self, table):
        model = KDITransformer(output_distribution="normal").fit(table)
        back = model.inverse_transform(model.transform(table))
        assert_allclose(back[:, [0, 3]], table[:, [0, 3]], rtol=0, atol=1e-6 * np.ptp(table[:, 0]))

    def test_inverse_of_the_clipped_ends_is_the_ends(self, table):
        model = KDITransformer(output_distribution="normal").fit(table)
        ends = np.array([table.min(axis=0), table.max(axis=0)])
        assert_allclose(model.inverse_transform(model.transform(ends)), ends, rtol=1e-12)

    def test_monotone(self, table):
        model = KDITransformer(output_distribution="normal").fit(table)
        grid = np.tile(np.linspace(-5, 5, 20_001)[:, None], 4)
        assert (np.diff(model.transform(grid), axis=0) >= 0).all()


class TestOutOfRange:
    def outside(self, table, share=1.0):
        low, high = table.min(axis=0), table.max(axis=0)
        return np.array([low - share * (high - low), high + share * (high - low)])

    def test_clip(self, table):
        out = KDITransformer().fit(table).transform(self.outside(table))
        assert_array_equal(out, [[0] * 4, [1] * 4])

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_nan(self, alpha, table):
        model = KDITransformer(alpha, out_of_range="nan").fit(table)
        assert np.isnan(model.transform(self.outside(table))).all()
        low, high = table.min(axis=0), table.max(axis=0)
        beside = np.array([np.nextafter(low, -np.inf), np.nextafter(high, np.inf)])
        assert np.isnan(model.transform(beside)).all()
        assert_array_equal(model.transform(np.array([low, high])), [[0] * 4, [1] * 4])

    @pytest.mark.parametrize("policy", ["linear", "nan"])
    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_nothing_changes_inside(self, policy, output, table):
        clip = KDITransformer(output_distribution=output).fit_transform(table)
        assert_array_equal(KDITransformer(output_distribution=output, out_of_range=policy).fit_transform(table), clip)

    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    @pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
    @pytest.mark.parametrize("name", SAMPLES)
    def test_linear_continues_with_the_end_slope(self, name, alpha, kernel):
        values = sample(name, 1000)
        ends = np.array([values.min(), values.max()])
        steps = np.array([-0.5, 2.0]) * np.ptp(values)
        excess = KDITransformer(alpha, kernel=kernel, out_of_range="linear").fit(values[:, None])
        excess = excess.transform((ends + steps)[:, None])[:, 0] - [0, 1]
        assert_allclose(excess, oracle.slope(values, ends, alpha, kernel) * steps, rtol=1e-6)

    def test_linear_at_the_limits(self, rng):
        values = np.array([[0.0], [1.0], [4.0], [8.0]])
        at = [[-1.0], [10.0]]
        infinite = KDITransformer(np.inf, out_of_range="linear").fit(values)
        assert_allclose(infinite.transform(at)[:, 0], [-1 / 8, 10 / 8], rtol=1e-14)
        zero = KDITransformer(0, out_of_range="linear").fit(values)
        assert_allclose(zero.transform(at)[:, 0], [-1 / 3, 1 + 2 / 12], rtol=1e-14)

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_linear_is_monotone_and_invertible(self, alpha, output, table):
        model = KDITransformer(alpha, output_distribution=output, out_of_range="linear").fit(table)
        low, high = table.min(axis=0), table.max(axis=0)
        steps = np.geomspace(1e-3, 5, 40)[:, None] * (high - low)
        at = np.concatenate([(low - steps)[::-1], [low, high], high + steps])
        out = model.transform(at)
        assert (np.diff(out, axis=0) > 0).all()
        assert_allclose(model.inverse_transform(out), at, rtol=1e-6, atol=1e-6 * (high - low).min())

    def test_linear_normal_goes_on_from_the_clip_value(self, table):
        uniform = KDITransformer(out_of_range="linear").fit(table).transform(self.outside(table))
        model = KDITransformer(output_distribution="normal", out_of_range="linear").fit(table)
        ends = model.transform(np.array([table.min(axis=0), table.max(axis=0)]))
        excess = uniform - [[0], [1]]
        assert_allclose(model.transform(self.outside(table)) - ends, excess, rtol=0, atol=1e-12)

    def test_linear_constant_column_has_slope_one(self):
        model = KDITransformer(out_of_range="linear").fit([[3.0], [3.0]])
        assert_allclose(model.transform([[1.0], [3.0], [3.5]])[:, 0], [-2, 0, 0.5], atol=1e-15)
        assert_allclose(model.inverse_transform([[-2.0], [0.0], [0.5]])[:, 0], [1, 3, 3.5], atol=1e-15)


class TestKnots:
    def test_the_tolerance_chooses(self, rng):
        values = rng.normal(size=(20_000, 1))
        n_knots = [KDITransformer(alpha).fit(values).n_knots_[0] for alpha in (0.1, 1.0, 10.0)]
        assert n_knots[0] > n_knots[1] >= n_knots[2]

    @pytest.mark.parametrize("max_knots", [2, 3, 10, 1000])
    @pytest.mark.parametrize("alpha", [0, 0.05, 1.0, np.inf])
    def test_cap(self, max_knots, alpha, table):
        model = KDITransformer(alpha, max_knots=max_knots).fit(table)
        assert (np.asarray(model.n_knots_) <= max_knots).all()
        out = model.transform(np.sort(table, axis=0))
        assert_array_equal(out[[0, -1]], [[0] * 4, [1] * 4])
        assert (np.diff(out, axis=0) >= 0).all()

    def test_a_generous_cap_changes_nothing(self, table):
        free, capped = KDITransformer(), KDITransformer(max_knots=10**6)
        assert_array_equal(capped.fit_transform(table), free.fit_transform(table))
        assert_array_equal(capped.error_bound_, free.error_bound_)

    @pytest.mark.parametrize("max_knots", [2, 10, 100])
    def test_capped_quantile_limit_keeps_its_bound(self, max_knots, table):
        model = KDITransformer(0, max_knots=max_knots).fit(table)
        grid = np.linspace(table.min(axis=0), table.max(axis=0), 2000)
        at = np.sort(np.concatenate([grid, table]), axis=0)
        ours = model.transform(at)
        for j in range(4):
            error = abs(ours[:, j] - oracle.quantile_limit(table[:, j], at[:, j])).max()
            assert error <= model.error_bound_[j] + 1e-14

    def test_inverse_of_few_knots_still_inverts(self, table):
        model = KDITransformer(0.1, max_knots=8).fit(table)
        out = model.transform(table)
        assert_allclose(model.transform(model.inverse_transform(out)), out, rtol=0, atol=1e-9)
