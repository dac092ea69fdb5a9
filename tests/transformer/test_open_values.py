"""bounded=False, spread and feature_range: what is promised for given data, and what is refused."""

import copy
import json
import pickle

import numpy as np
import open_oracle
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from saved_models import assert_same, saved_and_read
from scipy.special import ndtri
from scipy.stats import rankdata

import kdi
from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core
EITHER_OUTPUT = pytest.mark.parametrize("output", ["uniform", "normal"])


def opened(alpha=1.0, **parameters):
    return KDITransformer(alpha, **({"bounded": False} | parameters))


class TestRanks:
    """alpha=0."""

    def test_a_value_of_rank_i_becomes_i_minus_a_half(self, rng):
        values = rng.normal(size=200)
        result = opened(0).fit_transform(values[:, None])[:, 0]
        assert_allclose(result, (rankdata(values) - 0.5) / 200, rtol=1e-14)

    def test_scores_of_ranks(self, rng):
        values = rng.normal(size=200)
        result = opened(0, output_distribution="normal").fit_transform(values[:, None])[:, 0]
        assert_allclose(result, ndtri((rankdata(values) - 0.5) / 200), rtol=1e-12, atol=1e-14)

    @EITHER_OUTPUT
    def test_ties_are_at_the_middle_of_their_ranks(self, output, rng):
        values, weights = rng.poisson(3, size=300).astype(float), rng.exponential(size=300)
        for given in (None, weights):
            model = opened(0, output_distribution=output).fit(values[:, None], sample_weight=given)
            points, lower, upper = open_oracle.ranks(values, given)
            expected = open_oracle.level(lower, upper, output)
            assert_allclose(model.transform(points[:, None])[:, 0], expected, rtol=1e-12, atol=1e-13)
            assert model.error_bound_[0] == 0
            assert_array_equal(model.inverse_transform(model.transform(points[:, None]))[:, 0], points)

    def test_lines_between_the_values_and_beyond(self):
        model = opened(0).fit([[0.0], [1.0], [3.0], [7.0]])
        assert_allclose(model.transform([[0.5], [2.0], [5.0]])[:, 0], [0.25, 0.5, 0.75])
        beyond = model.transform([[-1.0], [-10.0], [8.0], [100.0]])[:, 0]
        assert 0 < beyond[1] < beyond[0] < 0.125
        assert 0.875 < beyond[2] < beyond[3] < 1

    @pytest.mark.parametrize("n", [1, 2, 3, 1000])
    def test_a_tail_of_tiny_weight_has_its_score(self, n):
        weights = np.r_[1e-9, np.ones(n), 1e-9]
        values = np.arange(n + 2.0)
        model = opened(0, output_distribution="normal").fit(values[:, None], sample_weight=weights)
        tail = 5e-10 / (n + 2e-9)
        assert_allclose(model.transform([[0.0], [n + 1.0]])[:, 0], [ndtri(tail), -ndtri(tail)], rtol=1e-12)


class TestColumnsWithoutSpread:
    @pytest.mark.parametrize("alpha", [0, 0.5, "scott"])
    def test_constants_are_in_the_middle(self, alpha):
        table = np.full((5, 1), 3.0)
        for ends, middle in (((0, 1), 0.5), ((-1, 1), 0.0), ((2, 6), 4.0)):
            model = opened(alpha, feature_range=ends).fit(table)
            assert_array_equal(model.transform(table), np.full((5, 1), middle))
            assert_array_equal(model.inverse_transform([[middle]]), [[3.0]])
            far = model.transform([[-1e300], [2.0], [4.0], [1e300]])[:, 0]
            assert ends[0] < far[0] <= far[1] < middle < far[2] <= far[3] < ends[1]
        model = opened(alpha, output_distribution="normal").fit(table)
        assert_array_equal(model.transform(table), np.zeros((5, 1)))
        assert_array_equal(model.inverse_transform([[0.0]]), [[3.0]])
        assert (model.error_bound_[0], model.bandwidth_[0]) == (0, 0)

    def test_bounded_constants_are_at_the_lower_end(self):
        for ends in ((0, 1), (-1, 1), (2, 6)):
            model = KDITransformer(feature_range=ends).fit([[3.0], [3.0]])
            assert_array_equal(model.transform([[3.0], [2.0], [4.0]])[:, 0], [ends[0], ends[0], ends[1]])
            assert_array_equal(model.inverse_transform([[ends[0]], [ends[1]]])[:, 0], [3.0, 3.0])

    @EITHER_OUTPUT
    def test_columns_without_values_are_nan(self, output):
        table = np.array([[np.nan, 1.0], [np.nan, 2.0]])
        model = opened(output_distribution=output)
        with pytest.warns(UserWarning, match="held only NaN"):
            model.fit(table)
        assert np.isnan(model.transform(table)[:, 0]).all()
        assert np.isnan(model.inverse_transform([[0.5, 0.5]])[0, 0])
        assert_same(saved_and_read(model), model)

    @EITHER_OUTPUT
    def test_missing_values_are_left_out_and_stay(self, output, rng):
        values = rng.normal(size=(50, 1))
        with_nan = np.r_[values, [[np.nan]]]
        one, other = opened(output_distribution=output).fit(values), opened(output_distribution=output).fit(with_nan)
        assert_array_equal(other.transform(with_nan), np.r_[one.transform(values), [[np.nan]]])


class TestErrors:
    @pytest.mark.parametrize("alpha", [np.inf, [1.0, np.inf], {"b": float("inf")}, "inf"])
    def test_alpha_must_be_finite(self, alpha):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 3.0]})
        if alpha == "inf":
            with pytest.raises(ValueError, match="alpha"):
                opened(alpha).fit(frame)
            return
        message = "^alpha must be finite if bounded=False, got inf: .* Use bounded=True for min-max scaling"
        for fit in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=message):
                getattr(opened(alpha), fit)(frame)
        with pytest.raises(ValueError, match=message):
            opened(alpha).fit_sketches([kdi.Sketch.from_values(frame["a"]), kdi.Sketch.from_values(frame["b"])])

    def test_paths_without_infinity(self, rng):
        with pytest.raises(ValueError, match=r"^alphas must be finite if bounded=False, got inf"):
            kdi.alpha_path(rng.normal(size=(10, 1)), [1.0, np.inf], bounded=False)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"bounded": 1}, "^bounded must be True or False, got 1"),
            ({"bounded": "no"}, "^bounded must be True or False, got 'no'"),
            ({"spread": "iqr"}, r"^spread must be one of \['std', 'robust'\], got 'iqr'"),
            ({"spread": None}, r"^spread must be one of \['std', 'robust'\], got None"),
            ({"spread": ["std"]}, r"^spread must be one of \['std', 'robust'\], got"),
            ({"feature_range": (1, 0)}, r"^feature_range must be two finite numbers, the smaller first, got \(1, 0\)"),
            ({"feature_range": (1, 1)}, "^feature_range must be two finite numbers"),
            ({"feature_range": (0, np.inf)}, "^feature_range must be two finite numbers"),
            ({"feature_range": (np.nan, 1)}, "^feature_range must be two finite numbers"),
            ({"feature_range": (-1e308, 1e308)}, "^feature_range must be two finite numbers"),
            ({"feature_range": (0, 1, 2)}, "^feature_range must be two finite numbers"),
            ({"feature_range": 1}, "^feature_range must be two finite numbers"),
            ({"feature_range": "01"}, "^feature_range must"),
            ({"feature_range": None}, "^feature_range must"),
            (
                {"feature_range": (-1, 1), "output_distribution": "normal"},
                r"^feature_range must be \(0, 1\) if output_distribution='normal', got \(-1, 1\)",
            ),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            KDITransformer(**parameters).fit([[0.0], [1.0]])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"bounded": True}, "^bounded and output_distribution must be as in fit"),
            ({"output_distribution": "normal"}, "^bounded and output_distribution must be as in fit"),
            ({"feature_range": (0, 2)}, "^feature_range must be as in fit"),
        ],
    )
    def test_parameters_that_the_maps_follow_from(self, change, message, rng):
        table = rng.normal(size=(20, 1))
        model = opened().fit(table).set_params(**change)
        for method in (model.transform, model.inverse_transform):
            with pytest.raises(ValueError, match=f"{message}, where .* was .*, got .*; call fit again"):
                method(table)
        model.fit(table).transform(table)

    def test_parameters_that_maps_do_not_follow_from(self, rng):
        """Bounded normal output is computed from T, and the spread has had its effect."""
        table = rng.normal(size=(20, 1))
        model = (
            KDITransformer(feature_range=(0, 1)).fit(table).set_params(output_distribution="normal", spread="robust")
        )
        expected = KDITransformer(output_distribution="normal").fit_transform(table)
        assert_array_equal(model.transform(table), expected)

    def test_infinite_values(self):
        model = opened().fit([[0.0], [1.0]])
        for method in (model.transform, model.inverse_transform):
            with pytest.raises(ValueError, match="infinity"):
                method([[np.inf]])


class TestAttributes:
    @EITHER_OUTPUT
    def test_quantiles(self, output, rng):
        values = rng.normal(size=(300, 1))
        model = opened(0.3, output_distribution=output, feature_range=(0, 1)).fit(values)
        assert_allclose(model.references_, (np.arange(300) + 0.5) / 300)
        levels = ndtri(model.references_) if output == "normal" else model.references_
        assert_allclose(model.transform(model.quantiles_)[:, 0], levels, rtol=0, atol=1e-9)
        stretched = KDITransformer(0.3, feature_range=(-2, 2)).fit(values)
        assert_allclose(stretched.transform(stretched.quantiles_)[:, 0], 4 * stretched.references_ - 2, atol=1e-8)

    def test_older_pickles_have_the_defaults(self):
        model = KDITransformer().fit([[0.0], [1.0], [3.0]])
        state = model.__getstate__()
        for name in ("bounded", "spread", "feature_range"):
            del state[name]
        older = KDITransformer.__new__(KDITransformer)
        older.__setstate__(state)
        assert (older.bounded, older.spread, older.feature_range) == (True, "std", (0, 1))
        assert_same(older, model)


def some_models():
    rng = np.random.default_rng(5)
    columns = [
        rng.normal(size=60),
        rng.poisson(2, 60),
        np.full(60, 2.0),
        rng.lognormal(size=60),
        1e-310 * np.arange(60),
    ]
    table = np.column_stack(columns)
    for parameters in (
        {},
        {"output_distribution": "normal"},
        {"feature_range": (-1, 1)},
        {"output_distribution": "normal", "spread": "robust", "kernel": "gaussian"},
        {"bounded": True, "feature_range": (-3, 5), "spread": "robust", "max_knots": 20},
        {"max_knots": 6, "output_distribution": "normal"},
    ):
        for alpha in (0.0, 0.3, 1e-8, 10.0):
            yield opened(alpha, **parameters).fit(table)


@pytest.mark.parametrize("model", list(some_models()), ids=lambda model: f"{model.alpha}-{model.output_distribution}")
def test_saved_models_are_the_same_to_the_bit(model):
    assert_same(saved_and_read(model), model)
    assert_same(pickle.loads(pickle.dumps(model)), model)
    assert_same(copy.deepcopy(model), model)


def level_of(name, value):
    return lambda document: document["maps"][name].__setitem__(0, value)


FORGED = [
    *(level_of(name, value) for name in ("floor", "ceiling") for value in ("nan", None, 0.5, -1e300, "x", [])),
    *(level_of(name, value) for name in ("floor", "ceiling") for value in ("inf", "-inf")),
    *(level_of(name, value) for name in ("low_level", "high_level") for value in ("nan", None, "inf", -1, 2, 0, 1)),
    *(level_of(name, value) for name in ("low_slope", "high_slope") for value in (0, -1, "nan", "inf", None)),
    level_of("error", "nan"),
    level_of("error", -1),
    lambda document: document["parameters"].update(bounded=True),
    lambda document: document["parameters"].update(bounded=None),
    lambda document: document["parameters"].update(feature_range=[0, 2]),
    lambda document: document["parameters"].update(feature_range=[2, 0]),
    lambda document: document["parameters"].update(feature_range=["nan", 1]),
    lambda document: document["parameters"].update(feature_range=3),
    lambda document: document["parameters"].update(spread="quartiles"),
    lambda document: document["maps"].pop("floor"),
    lambda document: document["maps"].pop("low_level"),
    lambda document: document["maps"]["ceiling"].append(1),
    lambda document: document["maps"]["low"].__setitem__(0, 1e6),
    lambda document: document["maps"]["high"].__setitem__(0, -1e6),
    lambda document: document["maps"]["coefficients"].reverse(),
]


@pytest.mark.parametrize("change", FORGED)
def test_forged_levels_are_a_value_error(change, rng):
    text = opened(max_knots=40).fit(rng.normal(size=(30, 2))).to_json()
    document = json.loads(text)
    change(document)
    with pytest.raises(ValueError):
        KDITransformer.from_json(json.dumps(document))


def test_forged_scores_are_a_value_error(rng):
    text = opened(max_knots=40, output_distribution="normal").fit(rng.normal(size=(30, 1))).to_json()
    for change in (
        level_of("floor", 0),
        level_of("ceiling", 1e300),
        level_of("low_level", "-inf"),
        level_of("high_level", -100),
        lambda document: document["parameters"].update(output_distribution="uniform"),
    ):
        document = json.loads(text)
        change(document)
        with pytest.raises(ValueError):
            KDITransformer.from_json(json.dumps(document))
