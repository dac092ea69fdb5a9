"""kdi.KDIDiscretizer by the conventions of scikit-learn: its checks, KBinsDiscretizer, frames, pipelines."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kdi import KDIDiscretizer

ENCODINGS = ["onehot", "onehot-dense", "ordinal"]
NAMES = ["age", "income", "rooms"]

CONFIGURATIONS = [
    KDIDiscretizer(),
    KDIDiscretizer(0.3, encode="ordinal", kernel="gaussian"),
    KDIDiscretizer("scott", encode="onehot-dense", inverse_strategy="median"),
    KDIDiscretizer(strategy="uniform", encode="ordinal", n_bins=4),
    KDIDiscretizer(strategy="uniform", missing="bin", inverse_strategy="midpoint"),
    KDIDiscretizer(missing="bin", encode="onehot-dense", significance=0.05, min_size=3, n_jobs=2),
    KDIDiscretizer(0, strategy="uniform", bandwidth="silverman"),
    KDIDiscretizer(np.inf, bandwidth=0.1),
]


@parametrize_with_checks(CONFIGURATIONS)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [KDIDiscretizer(), KDIDiscretizer(encode="ordinal", missing="bin")], ids=str)
def test_check_estimator_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None)
    assert results
    # scikit-learn skips its array API check unless SCIPY_ARRAY_API is set; nothing else may be skipped
    others = {result["check_name"]: result["status"] for result in results if "array_api" not in result["check_name"]}
    assert set(others.values()) == {"passed"}


class TestAsKBinsDiscretizer:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("encode", ENCODINGS)
    def test_kinds_shapes_and_dtypes(self, encode, dtype, table):
        table = table.astype(dtype)
        ours = KDIDiscretizer(encode=encode, strategy="uniform").fit(table)
        theirs = KBinsDiscretizer(encode=encode, strategy="uniform").fit(table)
        one, other = ours.transform(table), theirs.transform(table)
        assert type(one) is type(other)
        assert one.shape == other.shape
        assert one.dtype == dtype
        assert sparse.issparse(one) == (encode == "onehot")
        if encode == "onehot":
            assert one.format == "csr"
        assert type(ours.bin_edges_) is type(theirs.bin_edges_)
        assert ours.bin_edges_.dtype == theirs.bin_edges_.dtype == object
        assert ours.bin_edges_.shape == theirs.bin_edges_.shape
        assert_array_equal(ours.n_bins_, theirs.n_bins_)
        assert ours.n_bins_.dtype.kind == "i"
        back = ours.inverse_transform(one)
        assert type(back) is type(theirs.inverse_transform(other))
        assert back.shape == table.shape

    def test_encodings_say_the_same(self, table):
        ordinal, dense, onehot = (
            KDIDiscretizer(encode=encode).fit_transform(table) for encode in ("ordinal", "onehot-dense", "onehot")
        )
        assert_array_equal(onehot.toarray(), dense)
        assert_array_equal(dense.sum(axis=1), 3)
        start = 0
        for j, n_bins in enumerate([2, 3, 2]):
            assert_array_equal(dense[:, start : start + n_bins].argmax(axis=1), ordinal[:, j])
            start += n_bins
        assert dense.shape[1] == start

    def test_whole_numbers_become_float64(self):
        out = KDIDiscretizer(encode="ordinal").fit_transform(np.array([[1], [2], [50], [51]]))
        assert out.dtype == np.float64

    def test_values_outside_belong_to_the_outer_bins(self, table):
        model = KDIDiscretizer(encode="ordinal").fit(table)
        assert_array_equal(model.transform([[-1e9] * 3, [1e9] * 3]), [[0, 0, 0], [1, 2, 1]])

    def test_a_value_on_an_edge_belongs_to_the_right(self, table):
        model = KDIDiscretizer(encode="ordinal").fit(table[:, :1])
        edge = model.bin_edges_[0][1]
        assert_array_equal(model.transform([[np.nextafter(edge, -np.inf)], [edge]]), [[0], [1]])

    def test_not_fitted(self, table):
        for method in ("transform", "inverse_transform", "predict_proba"):
            with pytest.raises(NotFittedError):
                getattr(KDIDiscretizer(), method)(table)
        with pytest.raises(NotFittedError):
            KDIDiscretizer().get_feature_names_out()

    def test_constants_are_one_bin_with_the_same_warning(self, frame):
        frame["rooms"] = 3.0
        with pytest.warns(UserWarning) as theirs:
            KBinsDiscretizer(quantile_method="averaged_inverted_cdf").fit(frame)
        with pytest.warns(UserWarning) as ours:
            model = KDIDiscretizer(encode="ordinal").fit(frame)
        assert "is constant and will be replaced with 0" in str(theirs[0].message)
        assert "'rooms' is constant and will be replaced with 0" in str(ours[0].message)
        assert len(ours) == 1
        assert model.n_bins_[2] == 1
        assert_array_equal(model.bin_edges_[2], [-np.inf, np.inf])
        assert_array_equal(model.transform(frame)[:, 2], 0)
        assert_array_equal(model.inverse_transform(model.transform(frame))[:, 2], 3.0)
        assert_array_equal(model.predict_proba(frame)[:, -1], 1.0)

    @pytest.mark.parametrize("inverse", ["center", "median", "midpoint"])
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_a_constant_comes_back(self, strategy, inverse):
        model = KDIDiscretizer(strategy=strategy, inverse_strategy=inverse, n_bins=3)
        with pytest.warns(UserWarning, match="constant"):
            out = model.fit_transform(np.full((4, 1), 7.0))
        assert out.shape == (4, 1)
        assert_array_equal(model.inverse_transform(out), np.full((4, 1), 7.0))
        assert_array_equal(model.get_feature_names_out(), ["x0_(-inf, inf)"])


class TestFrames:
    @pytest.mark.parametrize("encode", ["ordinal", "onehot-dense"])
    def test_pandas_out(self, encode, frame):
        model = KDIDiscretizer(encode=encode).set_output(transform="pandas")
        out = model.fit_transform(frame)
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert_array_equal(out.index, frame.index)
        assert_array_equal(out, KDIDiscretizer(encode=encode).fit_transform(frame.to_numpy()))

    @pytest.mark.parametrize("encode", ["ordinal", "onehot-dense"])
    def test_polars_out(self, encode, table):
        frame = pl.DataFrame(table, schema=NAMES)
        model = KDIDiscretizer(encode=encode).set_output(transform="polars")
        out = model.fit_transform(frame)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == list(model.get_feature_names_out())
        assert_array_equal(out.to_numpy(), KDIDiscretizer(encode=encode).fit_transform(table))

    def test_sparse_does_not_fit_in_a_frame(self, frame):
        with pytest.raises(ValueError, match=r"(?i)sparse"):
            KDIDiscretizer().set_output(transform="pandas").fit_transform(frame)

    def test_names_in(self, frame):
        model = KDIDiscretizer().fit(frame)
        assert_array_equal(model.feature_names_in_, NAMES)
        assert model.n_features_in_ == 3
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frame[NAMES[::-1]])

    @pytest.mark.parametrize("kind", [pd.DataFrame, lambda t: pl.DataFrame(t, schema=NAMES), list, np.asfortranarray])
    def test_whatever_comes_in(self, kind, table):
        out = KDIDiscretizer(encode="ordinal").fit_transform(kind(table))
        assert isinstance(out, np.ndarray)
        assert_array_equal(out, KDIDiscretizer(encode="ordinal").fit_transform(table))

    def test_input_is_left_alone(self, table):
        before = table.copy()
        table.flags.writeable = False
        model = KDIDiscretizer().fit(table, sample_weight=np.ones(300))
        model.inverse_transform(model.transform(table))
        assert_array_equal(table, before)


class TestInScikitLearn:
    @pytest.mark.parametrize("model", CONFIGURATIONS, ids=str)
    def test_pickle(self, model, table, tmp_path):
        model = clone(model).fit(table)
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
            out, expected = again.transform(table), model.transform(table)
            assert (out != expected).sum() == 0
            assert_array_equal(again.inverse_transform(out), model.inverse_transform(expected))
            assert_array_equal(again.predict_proba(table), model.predict_proba(table))
            assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())

    def test_pickle_is_small(self, rng):
        model = KDIDiscretizer().fit(rng.normal(size=(100_000, 1)))
        assert len(pickle.dumps(model)) < 1_000_000

    def test_clone(self, table):
        model = KDIDiscretizer(0.3, n_bins=[2, 3, 2], encode="ordinal", inverse_strategy="median").fit(table)
        copied = clone(model)
        assert copied.get_params() == model.get_params()
        assert not hasattr(copied, "bin_edges_")
        assert_array_equal(copied.fit_transform(table), model.transform(table))

    def test_repr(self):
        assert repr(KDIDiscretizer(0.3, encode="ordinal")) == "KDIDiscretizer(alpha=0.3, encode='ordinal')"

    def test_pipeline(self, table):
        target = np.where(table[:, 0] > 2.5, 1.0, -1.0) + (table[:, 2] > 50)
        pipeline = make_pipeline(StandardScaler(), KDIDiscretizer(), Ridge(alpha=1e-6)).fit(table, target)
        assert pipeline.score(table, target) > 0.8

    def test_columns(self, frame):
        frame["town"] = "Bern"
        transformer = make_column_transformer(
            (KDIDiscretizer(encode="onehot-dense"), ["age", "income"]), ("drop", ["town"])
        ).set_output(transform="pandas")
        out = transformer.fit_transform(frame)
        assert out.shape == (300, 5)
        assert out.columns[0].startswith("kdidiscretizer__age_(-inf, ")

    @pytest.mark.slow
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_grid_search(self, n_jobs, table):
        target = np.where(table[:, 0] > 2.5, 1.0, -1.0)
        grid = {
            "kdidiscretizer__alpha": [0.3, 1.0, "scott"],
            "kdidiscretizer__n_bins": ["auto", 2, 4],
            "kdidiscretizer__strategy": ["uniform"],
        }
        search = GridSearchCV(make_pipeline(KDIDiscretizer(), Ridge()), grid, cv=3, n_jobs=n_jobs).fit(table, target)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_score_ > 0.5

    def test_number_of_threads(self, table):
        many = np.tile(table, (1, 4))
        one, two = (KDIDiscretizer(n_jobs=n_jobs, inverse_strategy="median").fit(many) for n_jobs in (1, 2))
        for left, right in zip(one.bin_edges_, two.bin_edges_, strict=True):
            assert_array_equal(left, right)
        assert_array_equal(one.predict_proba(many), two.predict_proba(many))
        assert (one.transform(many) != two.transform(many)).nnz == 0

    def test_routing(self, table, rng):
        weights = rng.integers(0, 3, size=300)
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(
                KDIDiscretizer().set_fit_request(sample_weight=True), Ridge().set_fit_request(sample_weight=False)
            )
            pipeline.fit(table, table[:, 0], sample_weight=weights)
        expected = KDIDiscretizer().fit(table, sample_weight=weights)
        for one, other in zip(pipeline[0].bin_edges_, expected.bin_edges_, strict=True):
            assert_array_equal(one, other)
        assert any(
            (a != b).any() for a, b in zip(expected.bin_edges_, KDIDiscretizer().fit(table).bin_edges_, strict=True)
        )

    def test_fit_transform_takes_weights(self, table, rng):
        weights = rng.integers(0, 3, size=300)
        expected = KDIDiscretizer(encode="ordinal").fit(table, sample_weight=weights).transform(table)
        assert_array_equal(KDIDiscretizer(encode="ordinal").fit_transform(table, sample_weight=weights), expected)

    def test_fit_again_forgets(self, frame):
        model = KDIDiscretizer().fit(frame)
        model.fit(frame.to_numpy()[:, :1])
        assert model.n_features_in_ == 1
        assert len(model.bin_edges_) == 1
        assert not hasattr(model, "feature_names_in_")
