"""kdi.compat.kditransform: as the original where that is right, and in the places where it is used."""

import importlib.util
import inspect
import pickle
import sys

import make_kditransform as golden
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from scipy.stats import gaussian_kde
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import kdi
import kdi.compat
import kdi.compat.kditransform as new
from kdi.compat.kditransform import ksum

TOLERANCE = 2e-3
# The original's own error, where it integrates over few points: 20 landmarks, or the values and what lies between.
COARSE = {"train": 1e-2, "20 landmarks": 1e-2, "all landmarks": 1e-2}
STEP = 6e-4  # half of the original's grid, within which its boundaries are arbitrary
HERE = importlib.util.find_spec("kditransform") is not None
CLASSES = [
    new.KDITransformer,
    new.KDDiscretizer,
    new.KDIDiscretizer,
    new.KBinsKDIDiscretizer,
    new.SimpleKDIDiscretizer,
]


@pytest.fixture(scope="module", params=["stored", "installed"] if HERE else ["stored"])
def original(request):
    """What kditransform computes: as stored, and anew where it is installed."""
    return golden.stored() if request.param == "stored" else golden.record()


@pytest.fixture
def clusters(rng):
    """Two features, of two and of three clusters."""
    left = rng.choice([0.0, 10.0], size=300) + rng.normal(size=300)
    return np.column_stack([left, rng.choice([0.0, 9.0, 20.0], size=300) + rng.normal(size=300)])


class TestAgreement:
    @pytest.mark.parametrize("case", golden.TRANSFORMERS)
    @pytest.mark.parametrize("name", golden.samples())
    def test_transformer(self, original, case, name):
        values = original[f"x|{name}"][:, None]
        model = new.KDITransformer(**golden.TRANSFORMERS[case]).fit(values)
        expected = original[f"forward|{case}|{name}"]
        found = model.transform(golden.probes(values[:, 0])[:, None])[:, 0]
        if model.exact:  # the original leaves [0, 1] outside the range of the values
            expected = np.clip(expected, 0, 1)
        tolerance = COARSE.get(case, TOLERANCE)
        normal = model.output_distribution == "normal"
        if normal:  # scores of the ends are far apart where levels are not
            assert_allclose(found[abs(expected) < 2], expected[abs(expected) < 2], rtol=0, atol=TOLERANCE)
            expected, found = ndtr(expected), ndtr(found)
        assert_allclose(found, expected, rtol=0, atol=tolerance)
        if model.exact:
            return
        for key in ("inverse", "quantiles"):
            back = original[f"{key}|{case}|{name}"].astype(float)
            if key == "quantiles":
                levels = model.references_[:: max(1, model.n_quantiles_ // 10)]
            else:
                levels = ndtr(np.linspace(-3, 3, 21)) if normal else golden.LEVELS
            plain = clone(model).set_params(output_distribution="uniform").fit(values)
            assert_allclose(plain.transform(back[:, None])[:, 0], levels, rtol=0, atol=tolerance)
            own = model.quantiles_[:: max(1, model.n_quantiles_ // 10), 0]
            if key == "inverse":
                own = plain.inverse_transform(levels[:, None])[:, 0]
            assert_allclose(plain.transform(own[:, None])[:, 0], levels, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("case", golden.DISCRETIZERS)
    @pytest.mark.parametrize("name", golden.discretized(golden.samples()))
    def test_discretizers(self, original, case, name):
        column = original[f"x|{name}"][:, None]
        kind, options = golden.DISCRETIZERS[case]
        model = getattr(new, kind)(**options).fit(column)
        reach = np.ptp(column) if kind == "KDDiscretizer" else 1.0
        level = (lambda x: x) if kind == "KDDiscretizer" else lambda x: model.kdit_.transform(x[:, None])[:, 0]
        assert_allclose(
            level(_boundaries(model)), level(original[f"boundaries|{case}|{name}"].astype(float)), atol=STEP * reach
        )
        assert np.mean(model.transform(column)[:, 0] != original[f"bins|{case}|{name}"]) <= 2e-3
        if kind == "SimpleKDIDiscretizer":
            return
        centers = model.centroids_[0] if kind == "KDDiscretizer" else model.get_centroids()[0]
        assert_allclose(
            level(centers), level(original[f"centroids|{case}|{name}"].astype(float)), rtol=0, atol=STEP * reach
        )
        grid = np.linspace(column.min(), column.max(), 40)[:, None]
        assert_allclose(model.predict_proba(grid), original[f"proba|{case}|{name}"], rtol=0, atol=TOLERANCE)
        assert_array_equal(model.predict(grid).argmax(axis=1), model.predict_proba(grid).argmax(axis=1))

    def test_stored_samples_are_those_of_the_code(self):
        stored = golden.stored()
        for name, values in golden.samples().items():
            assert_allclose(stored[f"x|{name}"], values, rtol=0, atol=0)

    def test_signatures_are_those_of_version_1_2_0(self):
        expected = {
            "KDITransformer": "alpha=1.0 kernel='polyexp' polyexp_order=4 polyexp_eval='auto' n_quantiles=1000 "
            "output_distribution='uniform' subsample=None random_state=None copy=True exact=False",
            "KDDiscretizer": "beta='scott' precision=0.001 enable_predict_proba=False random_state=None",
            "KDIDiscretizer": "alpha=1.0 n_quantiles=1000 beta='scott' precision=0.001 enable_predict_proba=False "
            "random_state=None",
            "KBinsKDIDiscretizer": "n_bins=2 left_alpha=0.1 right_alpha=10.0 beta_backtrack=1.3 n_quantiles=1000 "
            "subsample=10000 precision=0.001 enable_predict_proba=False random_state=None",
            "SimpleKDIDiscretizer": "n_bins=2 alpha=1.0 n_quantiles=1000 subsample=None random_state=None",
        }
        for kind in CLASSES:
            parameters = inspect.signature(kind).parameters.values()
            assert all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)
            assert " ".join(f"{one.name}={one.default!r}" for one in parameters) == expected[kind.__name__]

    def test_public_methods_of_the_original(self):
        methods = {
            "KDITransformer": ["inverse_transform", "get_feature_names_out"],
            "KDDiscretizer": ["get_intervals", "predict", "predict_proba"],
            "KDIDiscretizer": ["get_boundaries", "get_centroids", "predict", "predict_proba"],
            "KBinsKDIDiscretizer": ["get_boundaries", "get_centroids", "predict", "predict_proba"],
            "SimpleKDIDiscretizer": ["get_boundaries"],
        }
        for kind in CLASSES:
            for name in ("fit", "transform", "fit_transform", "set_output", *methods[kind.__name__]):
                assert name in dir(kind)


def _boundaries(model):
    if isinstance(model, new.SimpleKDIDiscretizer):
        return model.get_boundaries()[:, 0]
    return model.boundaries_[0] if isinstance(model, new.KDDiscretizer) else model.get_boundaries()[0]


class TestTransformer:
    def test_exact_is_the_native_transformer(self, table):
        model = new.KDITransformer(0.3, exact=True).fit(table)
        native = kdi.KDITransformer(0.3).fit(table)
        assert_array_equal(model.transform(table), native.transform(table))
        assert_array_equal(
            model.inverse_transform(model.transform(table)), native.inverse_transform(native.transform(table))
        )

    @pytest.mark.parametrize("evaluation", ["auto", "train", "uniform"])
    def test_landmarks_are_exact(self, evaluation, table):
        model = new.KDITransformer(0.2, polyexp_eval=evaluation, n_quantiles=20).fit(table)
        levels = kdi.KDITransformer(0.2).fit(table).transform(model.quantiles_)
        assert_allclose(levels, np.repeat(np.linspace(0, 1, 20)[:, None], 4, axis=1), rtol=0, atol=2e-6)

    def test_from_1000_rows_on_it_is_close_to_the_integral(self, rng):
        values = rng.lognormal(size=(1500, 2))
        expected = kdi.KDITransformer(0.2).fit_transform(values)
        assert_allclose(new.KDITransformer(0.2).fit_transform(values), expected, rtol=0, atol=1.01e-3)

    def test_exact_gaussian_is_that_of_scipy(self, rng):
        values = rng.normal(size=20)
        density = gaussian_kde(values, 0.4)
        low, high = values.min(), values.max()
        total = density.integrate_box_1d(low, high)
        expected = [density.integrate_box_1d(low, value) / total for value in values]
        found = new.KDITransformer(0.4, "gaussian", exact=True).fit_transform(values[:, None])
        assert_allclose(found[:, 0], expected, rtol=0, atol=2e-6)

    def test_attributes(self, table):
        model = new.KDITransformer(subsample=100).fit(table)
        assert (model.n_quantiles_, model.subsample_, model.n_features_in_) == (500, 500, 4)
        assert_array_equal(model.references_, np.linspace(0, 1, 500))
        assert model.quantiles_.shape == (500, 4)
        assert_allclose(model.quantiles_[[0, -1]], [table.min(axis=0), table.max(axis=0)])
        assert (np.diff(model.quantiles_, axis=0) >= 0).all()
        assert new.KDITransformer(n_quantiles=None).fit(table).n_quantiles_ == 500
        assert new.KDITransformer(n_quantiles=7).fit(table).quantiles_.shape == (7, 4)

    def test_alpha_for_each_feature(self, table):
        model = new.KDITransformer([0.1, "scott", None, 1]).fit(table)
        for j, alpha in enumerate([0.1, "scott", "scott", 1.0]):
            assert_array_equal(
                model.transform(table)[:, j], new.KDITransformer(alpha).fit_transform(table[:, [j]])[:, 0]
            )

    @pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
    def test_missing_values(self, kernel, table):
        holes = table.copy()
        holes[::7, 0], holes[:, 3] = np.nan, np.nan
        with pytest.warns(UserWarning, match="only NaN"):
            model = new.KDITransformer("scott", kernel).fit(holes)
        found = model.transform(holes)
        assert_array_equal(np.isnan(found), np.isnan(holes))
        assert_array_equal(np.isnan(model.inverse_transform(found)), np.isnan(holes))
        known = ~np.isnan(holes[:, 0])
        alone = new.KDITransformer("scott", kernel, n_quantiles=100).fit_transform(holes[known][:, [0]])
        again = new.KDITransformer("scott", kernel, n_quantiles=100).fit(holes[:, [0]]).transform(holes[known][:, [0]])
        assert_allclose(alone, again, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("options", [{}, {"exact": True}, {"kernel": "gaussian"}, {"n_quantiles": 1}], ids=str)
    def test_constants_and_single_rows(self, options):
        model = new.KDITransformer(**options)
        assert_array_equal(model.fit([[3.0]] * 5).transform([[2.0], [3.0], [4.0]]), [[0.0], [0.0], [1.0]])
        assert_array_equal(model.inverse_transform([[0.0], [0.5]]), [[3.0], [3.0]])
        assert_array_equal(model.fit([[3.0]]).transform([[3.0]]), [[0.0]])

    def test_types(self, table):
        assert new.KDITransformer().fit_transform(table.astype(np.float32)).dtype == np.float32
        assert new.KDITransformer().fit_transform(table.astype(int)).dtype == np.float64

    def test_the_table_is_left_alone_unless_copy_is_off(self, table):
        before = table.copy()
        model = new.KDITransformer().fit(table)
        expected = model.transform(table)
        assert_array_equal(table, before)
        model.copy = False
        assert model.transform(table) is table
        assert_array_equal(table, expected)

    def test_output_may_be_changed_after_fit(self, table):
        model = new.KDITransformer().fit(table)
        expected = new.KDITransformer(output_distribution="normal").fit_transform(table)
        assert_array_equal(model.set_params(output_distribution="normal").transform(table), expected)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": -1}, "alpha"),
            ({"alpha": [1.0]}, "one entry a feature"),
            ({"kernel": "box"}, "kernel"),
            ({"polyexp_order": 0}, "order"),
            ({"polyexp_eval": "grid"}, "polyexp_eval"),
            ({"n_quantiles": 0}, "n_quantiles"),
            ({"output_distribution": "cauchy"}, "output_distribution"),
            ({"subsample": 0}, "subsample"),
            ({"random_state": "x"}, "seed"),
            ({"copy": 2}, "copy"),
            ({"exact": "yes"}, "exact"),
        ],
        ids=str,
    )
    def test_refused_in_fit_and_not_before(self, options, message, table):
        model = new.KDITransformer(**options)
        with pytest.raises(ValueError, match=message):
            model.fit(table)

    def test_not_fitted(self, table):
        for method in ("transform", "inverse_transform"):
            with pytest.raises(NotFittedError):
                getattr(new.KDITransformer(), method)(table)


class TestDiscretizers:
    @pytest.mark.parametrize("kind", [new.KDDiscretizer, new.KDIDiscretizer])
    def test_several_features(self, kind, clusters):
        model = kind().fit(clusters)
        bins = model.transform(clusters)
        assert_array_equal(bins.max(axis=0), [1, 2])
        assert_array_equal(bins[:, 0], clusters[:, 0] > 5)
        inner = model if kind is new.KDDiscretizer else model.kdd_
        assert_array_equal(inner.n_bins_, [2, 3])
        for j in range(2):
            alone = kind().fit(clusters[:, [j]])
            assert_allclose(model.get_intervals(j), alone.get_intervals(0))
            assert_array_equal(bins[:, [j]], alone.transform(clusters[:, [j]]))

    def test_intervals(self, clusters):
        intervals = new.KDIDiscretizer().fit(clusters).get_intervals(1)
        assert intervals.shape == (3, 2)
        assert intervals[0, 0] == -np.inf and intervals[-1, 1] == np.inf
        assert_array_equal(intervals[1:, 0], intervals[:-1, 1])

    def test_boundaries_and_centers_in_the_units_of_each_feature(self, clusters):
        model = new.KDIDiscretizer().fit(clusters * [1, 1000] + [0, 1e6])
        boundaries, centers = model.get_boundaries(), model.get_centroids()
        assert [len(one) for one in boundaries] == [1, 2]
        assert_allclose(centers[0], [0, 10], atol=1)
        assert_allclose((centers[1] - 1e6) / 1000, [0, 9, 20], atol=1)
        assert ((boundaries[1] - 1e6) / 1000 > [3, 11]).all() and ((boundaries[1] - 1e6) / 1000 < [6, 17]).all()

    def test_one_bin(self, rng):
        model = new.KDIDiscretizer(beta=1.0).fit(rng.uniform(size=(50, 2)))
        assert_array_equal(model.kdd_.n_bins_, [1, 1])
        assert [len(one) for one in model.get_boundaries()] == [0, 0]
        assert_array_equal(model.get_intervals(0), [[-np.inf, np.inf]])

    def test_probabilities(self, clusters):
        column = clusters[:, [0]]
        model = new.KDIDiscretizer(enable_predict_proba=True).fit(column)
        levels = model.kdit_.transform(column)[:, 0]
        split = levels > model.kdd_.boundaries_[0]
        grid = np.linspace(-3, 13, 200)[:, None]
        at = model.kdit_.transform(grid)[:, 0]
        expected = np.column_stack([gaussian_kde(levels[~split]).logpdf(at), gaussian_kde(levels[split]).logpdf(at)])
        expected = np.exp(expected - expected.max(axis=1, keepdims=True))
        assert_allclose(model.predict_proba(grid), expected / expected.sum(axis=1, keepdims=True), rtol=0, atol=1e-4)
        assert_allclose(model.predict(grid).sum(axis=1), 1)
        assert np.isnan(model.predict_proba([[np.nan]])).all()

    def test_probabilities_of_a_bin_with_one_value(self):
        column = np.append(np.linspace(0, 1, 60), 50.0)[:, None]
        model = new.KDDiscretizer(beta=0.1, enable_predict_proba=True).fit(column)
        found = model.predict_proba([[0.5], [50.0]])
        assert_allclose(found, [[1, 0], [0, 1]], rtol=0, atol=1e-6)

    def test_probabilities_must_be_asked_for(self, clusters):
        assert not hasattr(new.KDIDiscretizer().fit(clusters), "predict_proba")
        with pytest.raises(AttributeError):
            new.KDDiscretizer().fit(clusters).predict(clusters)
        with pytest.raises(ValueError, match="one feature"):
            new.KDDiscretizer(enable_predict_proba=True).fit(clusters)
        model = new.KDDiscretizer().fit(clusters[:, [0]]).set_params(enable_predict_proba=True)
        with pytest.raises(ValueError, match="fit again"):
            model.predict_proba(clusters[:, [0]])

    @pytest.mark.parametrize("n_bins", [1, 2, 3])
    def test_k_bins(self, n_bins, clusters):
        model = new.KBinsKDIDiscretizer(n_bins=n_bins).fit(clusters[:, [1]])
        assert_array_equal(model.kdd_.n_bins_, [n_bins])
        assert len(np.unique(model.transform(clusters[:, [1]]))) == n_bins
        assert len(model.get_boundaries()[0]) == n_bins - 1 and len(model.get_centroids()[0]) == n_bins

    def test_k_bins_that_do_not_exist(self, rng):
        with pytest.raises(ValueError, match=r"column 0 has only \d bins"):
            new.KBinsKDIDiscretizer(n_bins=9).fit(rng.uniform(size=(100, 1)))

    def test_k_bins_where_the_number_jumps(self):
        # Symmetric about its middle: both valleys open at the same alpha, so there never are two bins.
        side = np.linspace(0, 1, 40)
        column = np.concatenate([side - 6, side - 0.5, side + 5])[:, None]
        model = new.KBinsKDIDiscretizer(n_bins=2).fit(column)
        assert_array_equal(model.kdd_.n_bins_, [2])

    def test_simple_bins(self, table):
        model = new.SimpleKDIDiscretizer(n_bins=4, alpha=0.3).fit(table)
        assert model.get_boundaries().shape == (3, 4)
        levels = model.kdit_.transform(table)
        assert np.mean(model.transform(table) != np.minimum(levels * 4, 3).astype(int)) < 1e-3
        model.get_boundaries()[:] = 0
        assert (np.diff(model.boundaries_, axis=0) > 0).all()

    def test_missing_values_and_frames(self, clusters):
        frame = pd.DataFrame(clusters, columns=["a", "b"])
        frame.loc[::5, "a"] = np.nan
        for kind in CLASSES[1:]:
            model = kind().set_output(transform="pandas")
            if kind is new.KBinsKDIDiscretizer:
                frame["b"] = frame["a"] * 2  # which has two clusters too
            found = model.fit_transform(frame)
            assert list(found.columns) == ["a", "b"]
            assert_array_equal(found["a"] == -1, frame["a"].isna())

    def test_constants(self):
        assert_array_equal(new.KDIDiscretizer().fit_transform([[3.0]] * 5), [[0]] * 5)
        model = new.KDDiscretizer(enable_predict_proba=True).fit([[3.0]] * 5)
        assert_array_equal(model.predict_proba([[3.0], [4.0]]), [[1.0], [1.0]])

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (new.KDDiscretizer(beta=0), "bandwidth"),
            (new.KDDiscretizer(beta=["scott"]), "one entry a feature"),
            (new.KDDiscretizer(precision=0), "precision"),
            (new.KDIDiscretizer(enable_predict_proba=3), "enable_predict_proba"),
            (new.KDIDiscretizer(alpha="box"), "alpha"),
            (new.KBinsKDIDiscretizer(n_bins=0), "n_bins"),
            (new.KBinsKDIDiscretizer(left_alpha=3.0, right_alpha=2.0), "ascending"),
            (new.KBinsKDIDiscretizer(beta_backtrack=1.0), "beta_backtrack"),
            (new.SimpleKDIDiscretizer(n_bins=1.5), "n_bins"),
        ],
        ids=str,
    )
    def test_refused(self, model, message, clusters):
        with pytest.raises(ValueError, match=message):
            model.fit(clusters)
        with pytest.raises(ValueError, match="infinity"):
            type(model)().fit([[1.0], [np.inf]])


class TestScikitLearn:
    @pytest.mark.parametrize(
        "model",
        [
            new.KDITransformer(),
            new.KDITransformer(None, "gaussian", output_distribution="normal"),
            new.KDITransformer(0.3, exact=True),
            new.KDDiscretizer(),
            new.KDIDiscretizer(),
            new.SimpleKDIDiscretizer(),
        ],
        ids=str,
    )
    def test_checks(self, model):
        # KBinsKDIDiscretizer refuses the data of these checks, which have no two clusters.
        results = check_estimator(model, on_skip=None)
        others = {one["check_name"]: one["status"] for one in results if "array_api" not in one["check_name"]}
        assert set(others.values()) == {"passed"}

    @pytest.mark.parametrize("kind", CLASSES)
    def test_clone_and_pickle(self, kind, clusters):
        column = clusters[:, [0]]
        options = {"enable_predict_proba": True} if "enable_predict_proba" in kind().get_params() else {}
        model = kind(**options).fit(column)
        assert not [name for name in vars(clone(model)) if name.endswith("_")]
        again = pickle.loads(pickle.dumps(model))
        for copied in (clone(model).fit(column), again):
            assert copied.get_params() == model.get_params()
            assert_array_equal(copied.transform(column), model.transform(column))
            if options:
                assert_array_equal(copied.predict_proba(column), model.predict_proba(column))

    @pytest.mark.parametrize("kind", CLASSES)
    def test_global_output(self, kind, clusters):
        frame = pd.DataFrame({"a": clusters[:, 0]})
        expected = kind().fit_transform(frame)
        with sklearn.config_context(transform_output="pandas"):
            found = kind().fit_transform(frame)
        assert isinstance(expected, np.ndarray) and isinstance(found, pd.DataFrame)
        assert_array_equal(found, expected)


class WithNaN(new.KDITransformer):
    """As TabPFN has it: missing values take the mean of their column, and are missing again afterwards."""

    def __init__(self, alpha=1.0, output_distribution="uniform", *, standardize=True, copy=True):
        self.standardize = standardize
        super().__init__(alpha=alpha, output_distribution=output_distribution, copy=copy)

    def _more_tags(self):
        return {"allow_nan": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None):
        X = np.asarray(X)
        self.imputation_values_ = np.nan_to_num(np.nanmean(X, axis=0), nan=0)
        return super().fit(np.nan_to_num(X, nan=self.imputation_values_), y)

    def transform(self, X):
        missing = np.isnan(np.asarray(X))
        result = super().transform(np.nan_to_num(X, nan=self.imputation_values_))
        result[missing] = np.nan
        return result

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    # What newer versions override of the original's inner workings; here nothing calls it.
    def _polyexp_dense_fit(self, X, alphas, random_state):
        raise AssertionError

    def _transform_col(self, X_col, quantiles, inverse):
        raise AssertionError


class OldTags(new.KDITransformer):
    """Before scikit-learn 1.6, tags were a method of this name."""

    def _more_tags(self):
        return {"allow_nan": True}


class TestSubclass:
    @pytest.fixture
    def holes(self, table):
        holes = table.copy()
        holes[::9, 1], holes[::4, 2] = np.nan, np.nan
        return holes

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    @pytest.mark.parametrize("alpha", [0.05, 1.0, 5.0])
    def test_fit_and_transform(self, alpha, output, holes):
        model = WithNaN(alpha, output).fit(holes)
        found = model.transform(holes)
        filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
        plain = new.KDITransformer(alpha, output_distribution=output).fit(filled)
        assert_array_equal(found, np.where(np.isnan(holes), np.nan, plain.transform(filled)))
        assert_array_equal(model.fit_transform(holes), found)
        assert_array_equal(
            model.inverse_transform(found), np.where(np.isnan(holes), np.nan, plain.inverse_transform(found))
        )
        assert_array_equal(model.get_feature_names_out(), ["x0", "x1", "x2", "x3"])
        assert_allclose(model.imputation_values_, np.nanmean(holes, axis=0))

    def test_parameters_and_clone(self, holes):
        model = WithNaN(0.3, "normal", standardize=False).fit(holes)
        expected = {"alpha": 0.3, "copy": True, "output_distribution": "normal", "standardize": False}
        assert model.get_params() == expected
        copied = clone(model)
        assert copied.get_params() == expected and not hasattr(copied, "imputation_values_")
        assert_array_equal(copied.fit_transform(holes), model.transform(holes))
        assert copied.set_params(alpha=1.0).alpha == 1.0

    def test_pickle(self, holes):
        model = WithNaN(0.3, "normal").fit(holes)
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(holes), model.transform(holes))

    def test_tags(self):
        assert get_tags(WithNaN()).input_tags.allow_nan
        assert get_tags(OldTags()).input_tags.allow_nan

    def test_column_transformer_and_pipeline(self, holes):
        frame = pd.DataFrame(holes, columns=["a", "b", "c", "d"])
        chosen = make_column_transformer((WithNaN(1.0, "normal"), ["a", "d"]), remainder="drop")
        pipeline = make_pipeline(chosen, Ridge()).fit(frame, frame["a"])
        assert pipeline.score(frame, frame["a"]) > 0.8
        assert_array_equal(chosen.get_feature_names_out(), ["withnan__a", "withnan__d"])
        both = ColumnTransformer([("left", WithNaN(), ["a", "b"]), ("right", WithNaN(0.2), ["c"])])
        found = both.fit_transform(frame)
        assert_allclose(found[:, :2], WithNaN().fit_transform(holes[:, :2]), rtol=0, atol=1e-12)
        assert_allclose(found[:, 2:], WithNaN(0.2).fit_transform(holes[:, [2]]), rtol=0, atol=1e-12)

    def test_set_output(self, holes):
        frame = pd.DataFrame(holes, columns=["a", "b", "c", "d"])
        found = WithNaN().set_output(transform="pandas").fit(frame).transform(frame)
        assert isinstance(found, pd.DataFrame)
        assert_array_equal(found.columns, ["x0", "x1", "x2", "x3"])  # its fit makes an array of the frame
        assert_allclose(found, WithNaN().fit_transform(holes), rtol=0, atol=1e-12)


class TestInstall:
    @pytest.fixture
    def absent(self, monkeypatch):
        """As if kditransform were not installed, and nothing had been imported under that name."""
        before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "kditransform"}
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == "kditransform" else find(name, *rest)
        )
        yield
        for name in [name for name in sys.modules if name.split(".")[0] == "kditransform"]:
            del sys.modules[name]
        sys.modules.update(before)

    def test_all_ways_to_import_it(self, absent):
        kdi.compat.install()
        import kditransform
        import kditransform.kdi_discretizer
        import kditransform.kdi_transformer as inner
        import kditransform.ksum
        from kditransform import KDITransformer
        from kditransform.kdi_discretizer import KBinsKDIDiscretizer
        from kditransform.kdi_transformer import BOUNDS_THRESHOLD

        assert kditransform is new and kditransform.kdi_discretizer.KDIDiscretizer is new.KDIDiscretizer
        assert KDITransformer is new.KDITransformer is inner.KDITransformer
        assert KBinsKDIDiscretizer is new.KBinsKDIDiscretizer
        assert BOUNDS_THRESHOLD == 1e-7 and kditransform.ksum is ksum
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("kditransform.nothing")

    def test_twice_is_harmless(self, absent):
        kdi.compat.install()
        kdi.compat.install()
        assert sys.modules["kditransform"] is new

    def test_pickles_do_not_need_it(self, absent, table):
        kdi.compat.install()
        from kditransform import KDITransformer

        data = pickle.dumps(KDITransformer().fit(table))
        for name in [name for name in sys.modules if name.split(".")[0] == "kditransform"]:
            del sys.modules[name]
        assert isinstance(pickle.loads(data), new.KDITransformer)

    def test_refused_where_it_was_imported(self, absent):
        sys.modules["kditransform"] = np
        with pytest.raises(RuntimeError, match="imported already"):
            kdi.compat.install()
        assert sys.modules["kditransform"] is np

    def test_refused_where_it_is_installed(self, absent, monkeypatch, tmp_path):
        monkeypatch.undo()
        (tmp_path / "kditransform").mkdir()
        (tmp_path / "kditransform" / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(RuntimeError, match="kditransform is installed"):
            kdi.compat.install()
        assert "kditransform" not in sys.modules


class TestKernelSums:
    @pytest.mark.parametrize("order", [1, 2, 4, 6])
    def test_constants_are_those_of_the_kernel(self, order):
        betas = ksum.betas_for_order(order)
        assert_allclose(ksum.norm_const_K(betas), 1)
        assert_allclose(ksum.h_Gauss_to_K(1.0, betas), kdi._numerics.kernels.get_kernel("polyexp", order).scale)
        assert_allclose(ksum.roughness_K(3 * betas), ksum.roughness_K(betas))
        assert_allclose(ksum.var_K(betas), ksum.var_K(3 * betas))

    def test_the_sum_is_a_density(self, rng):
        values, points = np.sort(rng.normal(size=50)), np.linspace(-4, 4, 30)
        out, betas = np.empty(30), ksum.betas_for_order(4)
        h = ksum.h_Gauss_to_K(0.3 * values.std(), betas)
        ksum.ksum_numba(values, np.ones(50), points, h, betas, out, None, None, None, None)
        expected = kdi.KDE1D(values, 0.3, "polyexp").pdf(points)
        assert_allclose(out / (50 * h), expected, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("order", golden.ORDERS)
    def test_constants_are_those_of_the_original(self, original, order):
        betas = ksum.betas_for_order(order)
        constants = [ksum.h_Gauss_to_K(0.7, betas), ksum.roughness_K(2 * betas), ksum.var_K(2 * betas)]
        assert_allclose([*constants, ksum.norm_const_K(2 * betas), *betas], original[f"ksum|{order}"], rtol=1e-6)
