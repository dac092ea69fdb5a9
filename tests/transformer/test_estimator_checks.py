"""scikit-learn's own checks, and the places where transformers meet the rest of it."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from threadpoolctl import threadpool_limits

from kdi import KDITransformer, KDITransformerCV

CONFIGURATIONS = [
    KDITransformer(),
    KDITransformer(0.1, kernel="gaussian"),
    KDITransformer("scott", order=1, output_distribution="normal"),
    KDITransformer(0),
    KDITransformer(np.inf, out_of_range="linear"),
    KDITransformer(max_knots=20, n_jobs=2),
    KDITransformer(output_distribution="normal", out_of_range="linear"),
    KDITransformer(bounded=False),
    KDITransformer(0, bounded=False, spread="robust", feature_range=(-1, 1)),
    KDITransformer(bounded=False, output_distribution="normal", spread="robust"),
]
FEW = [0.05, 0.3, 1.0, 4.0]
TUNED = [
    KDITransformerCV(),
    KDITransformerCV(cv=3, per_feature=False),
    KDITransformerCV([0, 0.3, 1, np.inf], task="regression", kernel="gaussian", output_distribution="normal"),
    KDITransformerCV(FEW, task="classification", cv=2, out_of_range="linear"),
    KDITransformerCV([0.1, 1], estimator=DecisionTreeRegressor(max_depth=2, random_state=0), cv=2, max_passes=1),
]


@pytest.fixture
def array_api(monkeypatch):
    """Let scikit-learn check its array API, which it skips unless this variable is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks([*CONFIGURATIONS, *TUNED])
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("array_api")
@pytest.mark.parametrize("model", [KDITransformer(), KDITransformerCV()], ids=str)
def test_check_estimator_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None)
    assert results
    # Libraries that are not installed are skipped (test_array_api.py); nothing else may be skipped.
    others = {result["check_name"]: result["status"] for result in results if "array_api" not in result["check_name"]}
    assert set(others.values()) == {"passed"}


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=["a", "b", "c", "d"], index=np.arange(1000, 1500))


@pytest.fixture
def target(table, rng):
    return np.tanh(table[:, 0]) + 0.1 * rng.normal(size=500)


def test_clone_and_parameters(table):
    model = KDITransformer([0.1, "scott", 1, np.inf], order=2).fit(table)
    copied = clone(model)
    assert not hasattr(copied, "bandwidth_")
    assert copied.get_params() == model.get_params()
    assert_array_equal(copied.fit_transform(table), model.transform(table))


def test_clone_with_arrays_and_mappings(frame):
    for alpha in (np.array([0.1, 0.2, 0.3, 0.4]), {"a": 0.1, "b": "scott"}):
        assert_array_equal(
            clone(KDITransformer(alpha)).fit_transform(frame), KDITransformer(alpha).fit_transform(frame)
        )


@pytest.mark.parametrize("copy", [lambda m: pickle.loads(pickle.dumps(m)), pytest.param(None, id="joblib")])
@pytest.mark.parametrize("model", CONFIGURATIONS, ids=str)
def test_pickle(model, copy, table, tmp_path):
    model = clone(model).fit(table)
    expected = model.transform(table.copy())
    if copy is None:
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    else:
        again = copy(model)
    assert_array_equal(again.transform(table.copy()), expected)
    again.partial_fit(table)
    assert_array_equal(again.n_samples_seen_, 1000)


def test_pickle_of_an_unfitted_one():
    assert pickle.loads(pickle.dumps(KDITransformer(0.3))).alpha == 0.3


def test_pickle_is_small(rng):
    model = KDITransformer().fit(rng.normal(size=(200_000, 1)))
    assert len(pickle.dumps(model)) < 200_000


def test_pipeline(table, target):
    pipeline = make_pipeline(KDITransformer(0.3), StandardScaler(), Ridge()).fit(table, target)
    assert pipeline.score(table, target) > 0.5
    assert_array_equal(pipeline[:-1].get_feature_names_out(), ["x0", "x1", "x2", "x3"])


def test_union_and_columns(frame):
    union = make_union(KDITransformer(), KDITransformer(0)).fit_transform(frame)
    assert union.shape == (500, 8)
    assert isinstance(FeatureUnion([("k", KDITransformer())]).fit(frame), FeatureUnion)
    frame["town"] = np.where(frame["a"] > 0, "Bern", "Basel")
    transformer = make_column_transformer(
        (KDITransformer({"a": 0.1, "b": "scott"}), ["a", "b"]), (OneHotEncoder(sparse_output=False), ["town"])
    )
    out = transformer.set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns[:2]) == ["kditransformer__a", "kditransformer__b"]
    assert_array_equal(out.iloc[:, 0], KDITransformer(0.1).fit_transform(frame[["a"]])[:, 0])


def test_column_transformer_in_parallel(frame):
    parts = [("left", KDITransformer(), ["a", "b"]), ("right", KDITransformer(0), ["c", "d"])]
    out = ColumnTransformer(parts, n_jobs=2).fit_transform(frame)
    assert_array_equal(out[:, :2], KDITransformer().fit_transform(frame[["a", "b"]]))
    assert_array_equal(out[:, 2:], KDITransformer(0).fit_transform(frame[["c", "d"]]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search_over_alpha(n_jobs, table, target):
    grid = {"kditransformer__alpha": [0, 0.1, 1.0, "scott", np.inf], "kditransformer__kernel": ["gaussian", "polyexp"]}
    search = GridSearchCV(make_pipeline(KDITransformer(), LinearRegression()), grid, cv=3, n_jobs=n_jobs)
    search.fit(table, target)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.5


def test_cross_validation(table, target):
    assert cross_val_score(make_pipeline(KDITransformer(), Ridge()), table, target, cv=3).mean() > 0.3


class TestSetOutput:
    def test_pandas(self, frame):
        out = KDITransformer().set_output(transform="pandas").fit_transform(frame)
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == ["a", "b", "c", "d"]
        assert_array_equal(out.index, frame.index)
        assert_array_equal(out, KDITransformer().fit_transform(frame))

    def test_polars(self, table):
        frame = pl.DataFrame(table, schema=["a", "b", "c", "d"])
        out = KDITransformer().set_output(transform="polars").fit_transform(frame)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == ["a", "b", "c", "d"]
        assert_array_equal(out.to_numpy(), KDITransformer().fit_transform(table))

    def test_default_is_an_array_whatever_comes_in(self, frame, table):
        assert isinstance(KDITransformer().fit_transform(frame), np.ndarray)
        assert isinstance(KDITransformer().fit_transform(pl.DataFrame(table)), np.ndarray)

    def test_float32_frames(self, frame):
        out = KDITransformer().set_output(transform="pandas").fit_transform(frame.astype(np.float32))
        assert (out.dtypes == np.float32).all()

    @pytest.mark.parametrize("container", ["pandas", "polars"])
    def test_from_an_array(self, container, table):
        out = KDITransformer().set_output(transform=container).fit_transform(table)
        assert list(out.columns) == ["x0", "x1", "x2", "x3"]

    def test_global_configuration(self, frame):
        with sklearn.config_context(transform_output="pandas"):
            assert isinstance(KDITransformer().fit_transform(frame), pd.DataFrame)


class TestRouting:
    def test_sample_weight_reaches_the_transformer(self, table, target):
        weights = np.random.default_rng(0).integers(0, 3, size=500)
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(
                KDITransformer().set_fit_request(sample_weight=True), Ridge().set_fit_request(sample_weight=False)
            )
            pipeline.fit(table, target, sample_weight=weights)
        expected = KDITransformer().fit(table, sample_weight=weights)
        assert_array_equal(pipeline[0].transform(table), expected.transform(table))

    def test_both_methods_can_ask_for_it(self):
        with sklearn.config_context(enable_metadata_routing=True):
            model = KDITransformer().set_fit_request(sample_weight=True).set_partial_fit_request(sample_weight=True)
            assert model.get_metadata_routing().fit.requests == {"sample_weight": True}
            assert model.get_metadata_routing().partial_fit.requests == {"sample_weight": True}

    def test_not_asked_for_is_an_error(self, table, target):
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(KDITransformer(), Ridge().set_fit_request(sample_weight=True))
            with pytest.raises(ValueError, match="sample_weight"):
                pipeline.fit(table, target, sample_weight=np.ones(500))

    def test_without_routing(self, table, target):
        weights = np.arange(500.0)
        pipeline = make_pipeline(KDITransformer(), Ridge()).fit(table, target, kditransformer__sample_weight=weights)
        expected = KDITransformer().fit(table, sample_weight=weights).transform(table)
        assert_array_equal(pipeline[0].transform(table), expected)

    def test_fit_transform_takes_weights(self, table):
        weights = np.arange(500.0)
        expected = KDITransformer().fit(table, sample_weight=weights).transform(table)
        assert_array_equal(KDITransformer().fit_transform(table, sample_weight=weights), expected)


def test_subclass(table):
    class Named(KDITransformer):
        pass

    assert_array_equal(clone(Named(0.3)).fit_transform(table), KDITransformer(0.3).fit_transform(table))


def test_repr_and_html(table):
    model = KDITransformer(0.3, kernel="gaussian")
    assert repr(model) == "KDITransformer(alpha=0.3, kernel='gaussian')"
    assert "KDITransformer" in model.fit(table)._repr_html_()
    assert isinstance(model, BaseEstimator)


def test_tags():
    tags = KDITransformer().__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert not KDITransformerCV().__sklearn_tags__().input_tags.sparse
    assert set(tags.transformer_tags.preserves_dtype) == {"float64", "float32"}
    assert not tags.target_tags.required


def test_joblib_workers(table):
    parts = joblib.Parallel(n_jobs=2)(
        joblib.delayed(KDITransformer(alpha).fit_transform)(table) for alpha in (0.1, 1.0, 10.0)
    )
    for alpha, part in zip((0.1, 1.0, 10.0), parts, strict=True):
        assert_allclose(part, KDITransformer(alpha).fit_transform(table), rtol=0, atol=0)


class TestTuned:
    """KDITransformerCV among the others."""

    @pytest.mark.parametrize("container", ["pandas", "polars"])
    def test_set_output(self, container, frame, target):
        out = KDITransformerCV(FEW).set_output(transform=container).fit_transform(frame, target)
        assert type(out).__module__.startswith(container)
        assert list(out.columns) == ["a", "b", "c", "d"]
        assert_array_equal(np.asarray(out), KDITransformerCV(FEW).fit_transform(frame, target))

    def test_clone_and_pickle(self, table, target):
        model = KDITransformerCV(FEW, estimator=Ridge(2), cv=KFold(3)).fit(table, target)
        copied = clone(model)
        assert not hasattr(copied, "alpha_")
        assert_array_equal(copied.fit(table, target).scores_, model.scores_)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.transform(table), model.transform(table))
        assert_array_equal(again.scores_, model.scores_)
        assert_array_equal(again.alpha_, model.alpha_)

    def test_nested_parameters(self):
        model = KDITransformerCV(estimator=Ridge(2)).set_params(estimator__alpha=3, ridge=0.5)
        assert model.get_params()["estimator__alpha"] == 3
        assert model.ridge == 0.5

    def test_pipelines_and_searches(self, table, target):
        pipeline = make_pipeline(KDITransformerCV(FEW), StandardScaler(), LinearRegression())
        assert pipeline.fit(table, target).score(table, target) > 0.6
        assert np.isfinite(cross_val_score(pipeline, table, target, cv=3)).all()
        grid = {"kditransformercv__ridge": [0.1, 10], "kditransformercv__per_feature": [True, False]}
        search = GridSearchCV(pipeline, grid, cv=3).fit(table, target)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert hasattr(search.best_estimator_[0], "scores_")

    def test_classifiers_in_pipelines(self, table, target):
        labels = np.where(target > np.median(target), "high", "low")
        pipeline = make_pipeline(KDITransformerCV(FEW), LogisticRegression())
        assert cross_val_score(pipeline, table, labels, cv=3).mean() > 0.7

    def test_an_estimator_that_is_a_pipeline(self, table, target):
        scaled = make_pipeline(StandardScaler(), Ridge(0.1))
        model = KDITransformerCV(FEW, estimator=scaled, cv=3).fit(table, target)
        assert model.scores_.shape == (4, 4)
        assert model.best_score_ >= model.base_score_
        assert not hasattr(scaled[-1], "coef_")  # clones were fitted

    def test_an_estimator_is_given_what_is_missing(self, table, target):
        table[::5, 0] = np.nan
        boosting = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=4, early_stopping=False)
        with threadpool_limits(1):
            model = KDITransformerCV([0.3, 1.0], estimator=boosting, cv=2, max_passes=1).fit(table, target)
        assert np.isfinite(model.scores_).all()
        with pytest.raises(ValueError, match="NaN"):
            KDITransformerCV([0.3, 1.0], estimator=Ridge(), cv=2).fit(table, target)

    def test_an_estimator_that_overwrites_what_it_is_given(self, table, target):
        class Greedy(RegressorMixin, BaseEstimator):
            def fit(self, X, y):
                self.model_ = LinearRegression().fit(X, y)
                X[:] = 0
                return self

            def predict(self, X):
                predicted = self.model_.predict(X)
                X[:] = 0
                return predicted

        model = KDITransformerCV(FEW, estimator=Greedy(), cv=3).fit(table, target)
        expected = KDITransformerCV(FEW, estimator=LinearRegression(), cv=3).fit(table, target)
        assert_array_equal(model.scores_, expected.scores_)

    def test_weights_are_routed(self, table, target):
        weights = np.random.default_rng(0).integers(0, 3, size=500)
        with sklearn.config_context(enable_metadata_routing=True):
            tuned = KDITransformerCV(FEW).set_fit_request(sample_weight=True)
            pipeline = make_pipeline(tuned, Ridge().set_fit_request(sample_weight=False))
            pipeline.fit(table, target, sample_weight=weights)
        expected = KDITransformerCV(FEW).fit(table, target, sample_weight=weights)
        assert_array_equal(pipeline[0].scores_, expected.scores_)

    def test_tags_and_repr(self):
        tags = KDITransformerCV().__sklearn_tags__()
        assert tags.target_tags.required
        assert tags.input_tags.allow_nan
        assert repr(KDITransformerCV(ridge=1)) == "KDITransformerCV(ridge=1)"
