"""KDITransformerCV with open maps, robust spreads and other feature ranges: choices, state, and what is saved."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from kdi import KDITransformer, KDITransformerCV

FEW = [0.1, 0.5, 1.0, 3.0]
OPTIONS = {
    "open": {"bounded": False},
    "scores": {"bounded": False, "output_distribution": "normal"},
    "robust": {"spread": "robust"},
    "robust scores": {"spread": "robust", "bounded": False, "output_distribution": "normal"},
    "range": {"feature_range": (-1, 1)},
    "auto": {"spread": "auto", "bounded": False, "feature_range": (-2, 3)},
}
EVERY_OPTION = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@pytest.fixture
def frame(rng):
    """Columns of which the second has a few far values, which set its standard deviation."""
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "c": rng.lognormal(size=80)})
    X.loc[:2, "b"] = [300.0, -500.0, 1000.0]
    return X


@pytest.fixture
def y(frame, rng):
    return frame["a"] + np.clip(frame["b"], -3, 3) + np.log(frame["c"]) + rng.normal(scale=0.3, size=80)


def plain_of(model):
    """A transformer with the alphas and the spread that a tuned one has chosen."""
    shared = {name: getattr(model, name) for name in KDITransformer().get_params() if name != "alpha"}
    return KDITransformer(model.alpha_.tolist(), **shared | {"spread": model.spread_})


class TestFitted:
    @EVERY_OPTION
    @pytest.mark.parametrize("more", [{}, {"cv": 3}, {"estimator": Ridge(), "cv": 2}], ids=["", "folds", "estimator"])
    def test_state_is_that_of_a_transformer(self, options, more, frame, y):
        model = KDITransformerCV(FEW, **options, **more).fit(frame, y)
        expected = plain_of(model).fit(frame)
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
        assert_allclose(model.error_bound_, expected.error_bound_, rtol=1e-6, atol=1e-11)
        beyond = frame * 1.5
        assert_allclose(model.transform(beyond), expected.transform(beyond), rtol=1e-9, atol=1e-9)
        assert model.spread_ in ("std", "robust")
        assert options.get("spread", "std") in (model.spread_, "auto")

    @EVERY_OPTION
    def test_copies(self, options, frame, y):
        """Pickles, JSON and to_transformer give the same to the bit; a clone has the parameters."""
        model = KDITransformerCV(FEW, **options).fit(frame, y)
        expected = model.transform(frame)
        levels = pd.DataFrame(expected, columns=frame.columns)
        plain = model.to_transformer()
        assert type(plain) is KDITransformer
        assert plain.get_params() == plain_of(model).get_params()
        for other in (plain, pickle.loads(pickle.dumps(model)), KDITransformer.from_json(model.to_json())):
            assert_array_equal(other.transform(frame), expected)
            assert_array_equal(other.inverse_transform(levels), model.inverse_transform(levels))
        assert KDITransformer.from_json(model.to_json()).get_params() == plain.get_params()
        again = clone(model)
        assert not hasattr(again, "spread_")
        assert_array_equal(again.fit(frame, y).transform(frame), expected)
        plain.partial_fit(frame)  # goes on learning with the spread that was chosen
        assert plain.n_samples_seen_ == 160

    def test_cells(self, rng):
        X = np.column_stack([rng.normal(size=40_000), rng.lognormal(size=40_000), rng.standard_t(3, size=40_000)])
        y = np.tanh(X[:, 0]) + np.log(X[:, 1]) + rng.normal(size=40_000)
        model = KDITransformerCV([0.3, 1, 3], spread="robust", bounded=False, cv=2, max_passes=1).fit(X, y)
        expected = plain_of(model).fit(X)
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
        assert_allclose(model.transform(X), expected.transform(X), rtol=0, atol=1e-9)


class TestChoice:
    @pytest.mark.parametrize("cv", [None, 4])
    def test_auto_takes_the_better_score(self, cv, frame, y):
        auto, std, robust = (
            KDITransformerCV(FEW, spread=spread, cv=cv).fit(frame, y) for spread in ("auto", "std", "robust")
        )
        best = max(std, robust, key=lambda model: model.best_score_)
        assert auto.spread_ == best.spread_ == "robust"  # far values make all alphas of `b` too large
        assert robust.best_score_ > std.best_score_
        assert_array_equal(auto.scores_, best.scores_)
        assert_array_equal(auto.alpha_, best.alpha_)
        assert_array_equal(auto.transform(frame), best.transform(frame))

    def test_auto_keeps_the_standard_deviation_where_it_is_no_matter(self, rng):
        X = rng.uniform(size=(60, 2))  # quartiles are further apart than those of a normal distribution
        model = KDITransformerCV(FEW, spread="auto").fit(X, X[:, 0])
        assert model.spread_ == "std"
        assert_array_equal(model.bandwidth_, KDITransformer(model.alpha_.tolist(), spread="robust").fit(X).bandwidth_)

    def test_scores_are_those_of_separate_fits(self, frame, y):
        """With an estimator and fixed splits, each score is that of a transformer fitted to each training fold."""
        rows = np.arange(80)
        splits = [(rows[rows % 4 != k], rows[rows % 4 == k]) for k in range(4)]
        options = {"spread": "robust", "bounded": False, "output_distribution": "normal"}
        tuned = KDITransformerCV(FEW, cv=splits, estimator=LinearRegression(), per_feature=False, **options)
        tuned.fit(frame, y)
        expected = []
        for alpha in FEW:
            scores = []
            for fitted, left_out in splits:
                model = KDITransformer(alpha, **options).fit(frame.iloc[fitted])
                regression = LinearRegression().fit(model.transform(frame.iloc[fitted]), y.iloc[fitted])
                scores.append(regression.score(model.transform(frame.iloc[left_out]), y.iloc[left_out]))
            expected.append(np.mean(scores))
        assert_allclose(tuned.scores_[:, 0], expected, rtol=1e-6)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"bounded": 1}, "bounded must be True or False, got 1"),
            ({"spread": "iqr"}, r"spread must be one of \['std', 'robust', 'auto'\], got 'iqr'"),
            ({"feature_range": (1, 1)}, r"feature_range must be two finite numbers, the smaller first, got \(1, 1\)"),
            ({"feature_range": (0, 2), "output_distribution": "normal"}, r"feature_range must be \(0, 1\) if"),
            ({"bounded": False, "alphas": [1, np.inf]}, "alphas must be finite if bounded=False, got inf"),
        ],
        ids=str,
    )
    def test_parameters(self, options, message, frame, y):
        with pytest.raises(ValueError, match=message):
            KDITransformerCV(**options).fit(frame, y)
