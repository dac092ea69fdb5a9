"""KDITransformerCV: as a transformer, what it takes y for, at the edges of data, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kdi import KDITransformer, KDITransformerCV

NAMES = ["a", "b", "c"]
FEW = [0.05, 0.3, 1.0, 4.0]


@pytest.fixture
def X(rng):
    return rng.lognormal(sigma=1.5, size=(60, 3))


@pytest.fixture
def y(X, rng):
    return np.log(X[:, 0]) + X[:, 1] / 3 + rng.normal(scale=0.4, size=60)


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=NAMES, index=np.arange(100, 160))


class TestFitted:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"cv": 3},
            {"per_feature": False},
            {"kernel": "gaussian", "output_distribution": "normal"},
            {"alphas": [0, 1, np.inf], "out_of_range": "linear"},
            {"max_knots": 30, "order": 2, "n_jobs": 2},
            {"estimator": Ridge(), "alphas": FEW},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("weighted", [False, True])
    def test_state_is_that_of_a_transformer_with_these_alphas(self, options, weighted, X, y, rng):
        weights = rng.choice([0, 0.5, 2], size=60) if weighted else None
        model = KDITransformerCV(**options).fit(X, y, sample_weight=weights)
        shared = {name: value for name, value in options.items() if name in KDITransformer().get_params()}
        expected = KDITransformer(model.alpha_.tolist(), **shared).fit(X, sample_weight=weights)
        for name in (
            "alpha_",
            "data_min_",
            "data_max_",
            "n_samples_seen_",
            "n_features_in_",
            "n_knots_",
            "references_",
        ):
            assert_array_equal(getattr(model, name), getattr(expected, name))
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
        assert_allclose(model.quantiles_, expected.quantiles_, rtol=1e-9)
        assert_allclose(model.error_bound_, expected.error_bound_, rtol=1e-9, atol=1e-11)
        for one, other in zip(model.maps_, expected.maps_, strict=True):
            name = "coefficients" if hasattr(other, "coefficients") else "levels"
            assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12)
        beyond = X * 1.3
        assert_allclose(model.transform(beyond), expected.transform(beyond), rtol=1e-12, atol=1e-12)
        back = model.inverse_transform(model.transform(X))
        assert_allclose(back, expected.inverse_transform(expected.transform(X)), rtol=1e-9)

    def test_cells(self, rng):
        X = np.column_stack([rng.normal(size=30_000), rng.lognormal(size=30_000)])
        y = np.tanh(X[:, 0]) + np.log(X[:, 1]) + rng.normal(size=30_000)
        model = KDITransformerCV([0.3, 1, 3], cv=2, max_passes=1).fit(X, y)
        expected = KDITransformer(model.alpha_.tolist()).fit(X)
        assert not any(sketch.is_exact for sketch in expected.sketches_)
        assert [len(one) for one in model.sketches_] == [len(one) for one in expected.sketches_]
        assert_allclose(model.transform(X), expected.transform(X), rtol=0, atol=1e-11)

    def test_to_transformer(self, frame, y):
        model = KDITransformerCV(FEW, output_distribution="normal", max_knots=40).fit(frame, y)
        plain = model.to_transformer()
        assert type(plain) is KDITransformer
        assert plain.alpha == model.alpha_.tolist()
        assert (plain.output_distribution, plain.max_knots) == ("normal", 40)
        assert_array_equal(plain.transform(frame), model.transform(frame))
        assert_array_equal(plain.feature_names_in_, NAMES)
        before = model.transform(frame)
        plain.partial_fit(frame * 2)  # it goes on learning, and the tuned one does not
        assert plain.n_samples_seen_ == 120
        assert model.n_samples_seen_ == 60
        assert_array_equal(model.transform(frame), before)

    def test_json(self, frame, y):
        model = KDITransformerCV(FEW, kernel="gaussian").fit(frame, y)
        again = KDITransformer.from_json(model.to_json())
        assert_array_equal(again.transform(frame), model.transform(frame))
        assert again.alpha == model.alpha_.tolist()
        assert_array_equal(again.feature_names_in_, NAMES)

    @pytest.mark.parametrize("method", ["transform", "inverse_transform", "to_transformer", "to_json"])
    def test_unfitted(self, method, X):
        with pytest.raises(NotFittedError):
            getattr(KDITransformerCV(), method)(*([X] if "transform" in method and method[:3] != "to_" else []))

    def test_fit_returns_self_and_forgets_the_past(self, X, y):
        model = KDITransformerCV(FEW)
        assert model.fit(X, y) is model
        again = model.fit(X[:, :2], y).transform(X[:, :2])
        assert_array_equal(again, KDITransformerCV(FEW).fit_transform(X[:, :2], y))
        assert model.scores_.shape == (4, 2)

    @pytest.mark.parametrize("options", [{}, {"cv": 5}, {"estimator": Ridge()}], ids=str)
    def test_what_is_given_is_left_alone(self, options, X, y):
        X[3, 1] = np.nan
        if options.get("estimator"):
            X = np.nan_to_num(X)
        weights, splits = np.arange(60.0), [(np.arange(30), np.arange(30, 60))]
        alphas = [3.0, 1.0, 0.1]
        copies = X.copy(), y.copy(), weights.copy()
        for array in (X, y, weights):
            array.flags.writeable = False
        KDITransformerCV(alphas, **options, copy=False).fit(X, y, sample_weight=weights)
        KDITransformerCV(alphas, cv=splits, copy=False).fit(X, y, sample_weight=weights)
        for given_array, copy in zip((X, y, weights), copies, strict=True):
            assert_array_equal(given_array, copy)
        assert alphas == [3.0, 1.0, 0.1]


class TestInputs:
    def test_frames(self, frame, X, y):
        expected = KDITransformerCV(FEW).fit(X, y)
        for given_frame in (frame, pl.DataFrame(X, schema=NAMES)):
            for target in (y, pd.Series(y), pl.Series(y), y.tolist()):
                model = KDITransformerCV(FEW).fit(given_frame, target)
                assert_array_equal(model.scores_, expected.scores_)
            assert_array_equal(model.feature_names_in_, NAMES)
            assert_array_equal(model.get_feature_names_out(), NAMES)
            assert_array_equal(model.transform(given_frame), expected.transform(X))

    def test_streams_are_transformed(self, frame, X, y, tmp_path):
        model = KDITransformerCV(FEW).fit(frame, y)
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        assert_allclose(model.transform(arrow)["b"].to_numpy(), model.transform(frame)[:, 1], rtol=1e-12)
        assert model.transform_stream(arrow, tmp_path / "out.parquet") == 60
        assert_allclose(pd.read_parquet(tmp_path / "out.parquet"), model.transform(frame), rtol=1e-12)

    def test_streams_are_not_learnt_from(self, frame, y):
        batches = pa.Table.from_pandas(frame).to_reader()
        with pytest.raises(TypeError, match=r"X must be a table in memory, got RecordBatchReader\. Tune on a sample"):
            KDITransformerCV().fit(batches, y)

    def test_tables_of_engines_are_not_learnt_from(self, frame, y):
        dask = pytest.importorskip("dask.dataframe")  # tests/test_dask.py fails where it is required and missing
        with pytest.raises(TypeError, match=r"table in memory.* Tune on a sample"):
            KDITransformerCV().fit(dask.from_pandas(frame, npartitions=2), y)

    def test_tables_of_arrow_are_in_memory(self, frame, y):
        model = KDITransformerCV(FEW).fit(pa.Table.from_pandas(frame), y)
        assert_array_equal(model.scores_, KDITransformerCV(FEW).fit(frame, y).scores_)
        assert list(model.feature_names_in_) == list(frame)

    def test_a_splitter_is_given_the_frame(self, frame, y):
        class ByColumn:
            def get_n_splits(self, X=None, y=None, groups=None):
                return 3

            def split(self, X, y=None, groups=None):
                return GroupKFold(3).split(X, y, X.iloc[:, 0].rank() // 10)

        assert KDITransformerCV(FEW, cv=ByColumn()).fit(frame, y).n_passes_


class TestTask:
    def test_task_decides(self, X, y):
        counts = np.searchsorted(np.sort(y), y) // 20  # 0, 1 and 2
        models = [KDITransformerCV(FEW, task=task).fit(X, counts) for task in ("auto", "classification", "regression")]
        assert_array_equal(models[0].scores_, models[1].scores_)
        assert abs(models[0].base_score_ - models[2].base_score_) > 1e-3

    def test_names_of_classes_do_not_matter(self, X, y):
        places = np.searchsorted(np.sort(y), y) // 20
        expected = KDITransformerCV(FEW).fit(X, places).scores_
        for names in (np.array(["x", "y", "z"]), np.array([3, 1, 2]), np.array(["b", "a", "c"], dtype=object)):
            assert_allclose(KDITransformerCV(FEW).fit(X, names[places]).scores_, expected, rtol=1e-12)

    @pytest.mark.parametrize("kind", [bool, int, float, str])
    def test_two_classes_are_one_number(self, kind, X, y):
        high = y > np.median(y)
        expected = KDITransformerCV(FEW, task="regression").fit(X, high)
        assert_allclose(KDITransformerCV(FEW).fit(X, high.astype(kind)).scores_, expected.scores_, rtol=1e-12)


class TestInvariance:
    @pytest.mark.parametrize("labels", [False, True])
    def test_weights_are_repetitions(self, labels, X, y, rng):
        times = rng.integers(0, 4, size=60)
        target = np.where(y > 1, "high", np.where(y > 0, "mid", "low")) if labels else y
        weighted = KDITransformerCV(FEW).fit(X, target, sample_weight=times)
        repeated = KDITransformerCV(FEW).fit(np.repeat(X, times, axis=0), np.repeat(target, times))
        assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6)
        assert_allclose(weighted.standard_errors_, repeated.standard_errors_, rtol=1e-6, atol=1e-9)
        assert_array_equal(weighted.alpha_, repeated.alpha_)
        assert_allclose(weighted.transform(X), repeated.transform(X), atol=2e-8)  # more rows, and cells

    def test_weights_of_one_are_none(self, X, y):
        for options in ({}, {"cv": 5}, {"estimator": Ridge()}):
            one, other = (KDITransformerCV(FEW, **options).fit(X, y, sample_weight=w) for w in (None, np.ones(60)))
            assert_allclose(one.scores_, other.scores_, rtol=1e-12)

    @settings(max_examples=15)
    @given(st.permutations(range(30)), st.booleans())
    def test_the_order_of_rows(self, order, missing):
        rng = np.random.default_rng(0)
        X = rng.lognormal(size=(30, 2))
        X[0, 0] = np.nan if missing else 1
        y = np.log(X[:, 1]) + rng.normal(size=30)
        one, other = KDITransformerCV(FEW).fit(X, y), KDITransformerCV(FEW).fit(X[order], y[order])
        assert_allclose(other.scores_, one.scores_, rtol=1e-9)
        assert_array_equal(other.alpha_, one.alpha_)

    @settings(max_examples=15)
    @given(st.integers(0, 1000), st.floats(-3, 3), st.floats(-100, 100))
    def test_the_units_of_columns(self, seed, log_scale, shift):
        rng = np.random.default_rng(seed)
        X = rng.lognormal(size=(30, 2))
        y = np.log(X[:, 1]) + rng.normal(size=30)
        one, other = KDITransformerCV(FEW).fit(X, y), KDITransformerCV(FEW).fit(X * 10**log_scale + shift, y)
        assert_allclose(other.scores_, one.scores_, rtol=0, atol=1e-5)

    def test_float32(self, X, y):
        model = KDITransformerCV(FEW).fit(X.astype(np.float32), y.astype(np.float32))
        assert_allclose(model.scores_, KDITransformerCV(FEW).fit(X, y).scores_, atol=1e-5)
        assert model.transform(X.astype(np.float32)).dtype == np.float32

    def test_fit_is_repeatable(self, X, y):
        assert_array_equal(KDITransformerCV().fit(X, y).scores_, KDITransformerCV().fit(X, y).scores_)


class TestEdges:
    """Data that leaves nothing to choose: every alpha stays 1, and nothing is divided by nothing."""

    @staticmethod
    def assert_idle(model, X):
        assert_array_equal(model.alpha_, 1)
        assert model.best_score_ == model.base_score_
        assert np.isfinite(model.scores_).all()
        assert_array_equal(model.transform(X), KDITransformer().fit_transform(X))

    @pytest.mark.parametrize("n_rows", [1, 2])
    @pytest.mark.parametrize("weight", [None, 0.5, 3.0])
    def test_few_rows(self, n_rows, weight, X, y):
        model = KDITransformerCV().fit(X[:n_rows], y[:n_rows], sample_weight=weight)
        self.assert_idle(model, X[:n_rows])

    @pytest.mark.parametrize("cv", [None, 5])
    @pytest.mark.parametrize("value", [0.0, 3.7, 1e-200, "a", True], ids=str)
    def test_a_constant_target(self, value, cv, X, rng):
        for n in (7, 10, 49):
            self.assert_idle(KDITransformerCV(FEW, cv=cv).fit(X[:n], [value] * n), X[:n])
            weighted = KDITransformerCV(FEW, cv=cv).fit(X[:n], [value] * n, rng.uniform(0.1, 2, size=n))
            assert_array_equal(weighted.alpha_, 1)

    @pytest.mark.parametrize("cv", [None, 5])
    def test_columns_of_two_values_or_one(self, cv, X, y):
        X[:, 0], X[:, 1], X[:, 2] = X[:, 0] > 1, 4.0, np.where(X[:, 2] > 1, 7, np.nan)
        model = KDITransformerCV(cv=cv).fit(X, y)
        self.assert_idle(model, X)
        assert model.n_passes_ == 0
        assert_array_equal(model.scores_, model.base_score_)
        assert_array_equal(model.standard_errors_, 0)

    @pytest.mark.parametrize("options", [{}, {"cv": 5}], ids=str)
    def test_a_column_without_values(self, options, X, y):
        empty = np.column_stack([X, np.full(60, np.nan)])
        with pytest.warns(UserWarning, match="column 3 held only NaN") as caught:
            model = KDITransformerCV(FEW, **options).fit(empty, y)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert np.isnan(model.transform(empty)[:, 3]).all()
        assert_allclose(model.scores_[:, :3], KDITransformerCV(FEW, **options).fit(X, y).scores_, rtol=1e-9)

    def test_a_column_without_values_in_one_training_fold(self, X, y):
        X[:30, 0], X[30:, 1] = np.nan, 5.0
        model = KDITransformerCV(FEW, cv=KFold(2)).fit(X, y)
        assert np.isfinite(model.scores_).all()

    def test_one_class_in_a_fold(self, X):
        labels = np.repeat(["a", "b"], 30)
        assert np.isfinite(KDITransformerCV(FEW, cv=KFold(2)).fit(X, labels).scores_).all()

    @pytest.mark.parametrize("cv", [None, 5])
    def test_numbers_near_the_limits(self, cv, X, y):
        expected = KDITransformerCV(FEW, cv=cv).fit(X, y)
        for scale in (1e-200, 1e250):
            model = KDITransformerCV(FEW, cv=cv).fit(X * scale, y)
            assert_allclose(model.scores_, expected.scores_, atol=1e-6)

    @pytest.mark.parametrize("ridge", [1e-300, 1e-9, 1e300])
    def test_extreme_penalties(self, ridge, X, y):
        twice = np.column_stack([X, X, np.ones(60)])
        model = KDITransformerCV(FEW, ridge=ridge).fit(twice, y)
        assert np.isfinite(model.scores_).all()
        assert model.best_score_ >= model.base_score_
        assert model.best_score_ <= 1

    def test_alphas_without_one(self, X, y):
        model = KDITransformerCV([0.05, 0.3, 1.9]).fit(X, y)  # 1.9 is nearer to 1 by their ratio
        assert_array_equal(model.base_score_, KDITransformerCV([1.9]).fit(X, y).base_score_)
        assert_array_equal(KDITransformerCV([0, np.inf]).fit(X[:1], y[:1]).alpha_, 0)

    @pytest.mark.parametrize("alpha", [0, 0.3, np.inf])
    def test_alphas_of_one_value(self, alpha, X, y):
        model = KDITransformerCV([alpha]).fit(X, y)
        assert_array_equal(model.alpha_, [alpha] * 3)
        assert_array_equal(model.standard_errors_, 0)
        assert_allclose(model.transform(X), KDITransformer(float(alpha)).fit_transform(X), rtol=0, atol=1e-14)

    def test_alphas_in_any_order(self, X, y):
        model = KDITransformerCV([4.0, 0.3, 1, 0.05, 1]).fit(X, y)
        assert_array_equal(model.alphas_, FEW)
        assert_array_equal(model.scores_, KDITransformerCV(FEW).fit(X, y).scores_)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alphas": []}, "alphas must be a sequence of numbers >= 0"),
            ({"alphas": [1, -2]}, r"alphas must be .*got \[1, -2\]"),
            ({"alphas": "scott"}, "alphas must be real numbers, got .*'scott'"),
            ({"cv": "loo"}, "cv must be None, an integer >= 2, a splitter or an iterable of splits, got 'loo'"),
            ({"cv": 2.5}, "cv must be .*got 2.5"),
            ({"cv": True}, "cv must be .*got True"),
            ({"cv": 0, "estimator": Ridge()}, "cv must be .*got 0"),
            ({"task": "ranking"}, "task must be one of .*'regression'.*got 'ranking'"),
            ({"ridge": 0}, "ridge must be a positive number, got 0"),
            ({"ridge": np.nan}, "ridge must be a positive number, got nan"),
            ({"ridge": "1"}, "ridge must be a positive number, got '1'"),
            ({"max_passes": 0}, "max_passes must be an integer >= 1, got 0"),
            ({"max_passes": None}, "max_passes must be an integer >= 1, got None"),
            ({"max_passes": 1.5}, "max_passes must be an integer >= 1, got 1.5"),
            ({"per_feature": "yes"}, "per_feature must be True or False, got 'yes'"),
            ({"scoring": "r2"}, "scoring must be None if estimator is None, got 'r2'"),
            ({"cv": []}, "cv must have at least one split, got none; an iterator"),
            ({"cv": 1}, "cv must be None, an integer >= 2, .*got 1"),
            ({"estimator": "ridge"}, "estimator must be a scikit-learn estimator, got 'ridge'"),
            ({"ridge": True}, "ridge must be a positive number, got True"),
            (
                {"cv": [(np.arange(60), np.arange(0))]},
                "cv must leave rows of positive weight both to fit to and to score, but split 0",
            ),
            ({"cv": GroupKFold(2)}, "groups"),
            ({"kernel": "box"}, "kernel must be"),
            ({"output_distribution": "x"}, "output_distribution must be"),
            ({"max_knots": 1}, "max_knots must be"),
        ],
        ids=str,
    )
    def test_parameters(self, options, message, X, y):
        with pytest.raises(ValueError, match=message):
            KDITransformerCV(**options).fit(X, y)

    @pytest.mark.parametrize("estimator", [KNeighborsRegressor(), make_pipeline(StandardScaler(), Ridge())], ids=str)
    def test_weights_that_an_estimator_does_not_take(self, estimator, X, y):
        with pytest.raises(ValueError, match=f"must accept sample_weight in fit .*got a {type(estimator).__name__}"):
            KDITransformerCV(FEW, estimator=estimator).fit(X, y, sample_weight=np.ones(60))

    def test_scores_that_are_not_numbers(self, X, y):
        with pytest.raises(ValueError, match="score of Ridge must be a finite number, got nan"):
            KDITransformerCV(FEW, estimator=Ridge(), scoring=lambda *given: np.nan).fit(X, y)

    @pytest.mark.parametrize("cv", [None, 5])
    @pytest.mark.parametrize("value", [np.inf, -np.inf])
    def test_infinite_values(self, value, cv, frame, y):
        frame.iloc[7, 1] = value
        for given_table, name in ((frame, "column 'b'"), (frame.to_numpy(), "column 1")):
            for weights in (None, np.r_[np.ones(7), 0, np.ones(52)]):
                with pytest.raises(ValueError, match=f"infinity.*{name}"):
                    KDITransformerCV(cv=cv).fit(given_table, y, sample_weight=weights)

    def test_a_range_that_is_too_wide(self, X, y):
        X[0, 2], X[59, 2] = 1e308, -1e308
        for cv in (None, 5):
            with pytest.raises(ValueError, match="range of column 2 is too large"):
                KDITransformerCV(cv=cv).fit(X, y)

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (None, "KDITransformerCV requires y to be passed"),
            (np.r_[np.nan, np.ones(59)], "y contains NaN"),
            (np.r_[np.inf, np.ones(59)], "y contains infinity"),
            (["a"] * 59 + [None], "y contains NaN"),
            (pd.Series([pd.NA, *range(59)], dtype="Int64"), "y contains NaN"),
            (pd.Series([pd.NA, *["a"] * 59], dtype="string"), "y contains NaN"),
            (np.ones(59), r"\[60, 59\]"),
            (np.ones((60, 2)), "1d array"),
        ],
        ids=["None", "NaN", "inf", "None within", "NA", "NA text", "short", "two columns"],
    )
    def test_targets(self, target, message, X):
        with pytest.raises(ValueError, match=message):
            KDITransformerCV().fit(X, target)

    def test_text_is_not_a_number(self, X):
        with pytest.raises(ValueError, match="y must be real numbers, got "):
            KDITransformerCV(task="regression").fit(X, ["a", "b"] * 30)

    @pytest.mark.parametrize("weights", [np.zeros(60), -np.ones(60), np.ones(59), np.full(60, np.nan)], ids=str)
    def test_weights(self, weights, X, y):
        with pytest.raises(ValueError, match="sample_weight"):
            KDITransformerCV().fit(X, y, sample_weight=weights)

    def test_folds_without_weight(self, X, y):
        with pytest.raises(ValueError, match=r"cv must leave rows of positive weight .*, but split 0"):
            KDITransformerCV(cv=KFold(2)).fit(X, y, sample_weight=np.repeat([0, 1], 30))
