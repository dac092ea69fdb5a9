"""The discretizers of kdi.compat.kditransform: bins, boundaries, probabilities and errors."""

import numpy as np
import pandas as pd
import pytest
from kditransform_classes import CLASSES
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde

import kdi.compat.kditransform as new


@pytest.mark.parametrize("kind", [new.KDDiscretizer, new.KDIDiscretizer])
def test_several_features(kind, clusters):
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


def test_intervals(clusters):
    intervals = new.KDIDiscretizer().fit(clusters).get_intervals(1)
    assert intervals.shape == (3, 2)
    assert intervals[0, 0] == -np.inf and intervals[-1, 1] == np.inf
    assert_array_equal(intervals[1:, 0], intervals[:-1, 1])


def test_boundaries_and_centers_in_the_units_of_each_feature(clusters):
    model = new.KDIDiscretizer().fit(clusters * [1, 1000] + [0, 1e6])
    boundaries, centers = model.get_boundaries(), model.get_centroids()
    assert [len(one) for one in boundaries] == [1, 2]
    assert_allclose(centers[0], [0, 10], atol=1)
    assert_allclose((centers[1] - 1e6) / 1000, [0, 9, 20], atol=1)
    assert ((boundaries[1] - 1e6) / 1000 > [3, 11]).all() and ((boundaries[1] - 1e6) / 1000 < [6, 17]).all()


def test_one_bin(rng):
    model = new.KDIDiscretizer(beta=1.0).fit(rng.uniform(size=(50, 2)))
    assert_array_equal(model.kdd_.n_bins_, [1, 1])
    assert [len(one) for one in model.get_boundaries()] == [0, 0]
    assert_array_equal(model.get_intervals(0), [[-np.inf, np.inf]])


def test_probabilities(clusters):
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


def test_probabilities_of_a_bin_with_one_value():
    column = np.append(np.linspace(0, 1, 60), 50.0)[:, None]
    model = new.KDDiscretizer(beta=0.1, enable_predict_proba=True).fit(column)
    found = model.predict_proba([[0.5], [50.0]])
    assert_allclose(found, [[1, 0], [0, 1]], rtol=0, atol=1e-6)


def test_probabilities_must_be_asked_for(clusters):
    assert not hasattr(new.KDIDiscretizer().fit(clusters), "predict_proba")
    with pytest.raises(AttributeError):
        new.KDDiscretizer().fit(clusters).predict(clusters)
    with pytest.raises(ValueError, match="one feature"):
        new.KDDiscretizer(enable_predict_proba=True).fit(clusters)
    model = new.KDDiscretizer().fit(clusters[:, [0]]).set_params(enable_predict_proba=True)
    with pytest.raises(ValueError, match="fit again"):
        model.predict_proba(clusters[:, [0]])


@pytest.mark.parametrize("n_bins", [1, 2, 3])
def test_k_bins(n_bins, clusters):
    model = new.KBinsKDIDiscretizer(n_bins=n_bins).fit(clusters[:, [1]])
    assert_array_equal(model.kdd_.n_bins_, [n_bins])
    assert len(np.unique(model.transform(clusters[:, [1]]))) == n_bins
    assert len(model.get_boundaries()[0]) == n_bins - 1 and len(model.get_centroids()[0]) == n_bins


def test_k_bins_that_do_not_exist(rng):
    with pytest.raises(ValueError, match=r"column 0 has only \d bins"):
        new.KBinsKDIDiscretizer(n_bins=9).fit(rng.uniform(size=(100, 1)))


def test_k_bins_where_the_number_jumps():
    # Symmetric about its middle: both valleys open at the same alpha, so there never are two bins.
    side = np.linspace(0, 1, 40)
    column = np.concatenate([side - 6, side - 0.5, side + 5])[:, None]
    model = new.KBinsKDIDiscretizer(n_bins=2).fit(column)
    assert_array_equal(model.kdd_.n_bins_, [2])


def test_simple_bins(table):
    model = new.SimpleKDIDiscretizer(n_bins=4, alpha=0.3).fit(table)
    assert model.get_boundaries().shape == (3, 4)
    levels = model.kdit_.transform(table)
    assert np.mean(model.transform(table) != np.minimum(levels * 4, 3).astype(int)) < 1e-3
    model.get_boundaries()[:] = 0
    assert (np.diff(model.boundaries_, axis=0) > 0).all()


def test_missing_values_and_frames(clusters):
    frame = pd.DataFrame(clusters, columns=["a", "b"])
    frame.loc[::5, "a"] = np.nan
    for kind in CLASSES[1:]:
        model = kind().set_output(transform="pandas")
        if kind is new.KBinsKDIDiscretizer:
            frame["b"] = frame["a"] * 2  # which has two clusters too
        found = model.fit_transform(frame)
        assert list(found.columns) == ["a", "b"]
        assert_array_equal(found["a"] == -1, frame["a"].isna())


def test_constants():
    assert_array_equal(new.KDIDiscretizer().fit_transform([[3.0]] * 5), [[0]] * 5)
    model = new.KDDiscretizer(enable_predict_proba=True).fit([[3.0]] * 5)
    assert_array_equal(model.predict_proba([[3.0], [4.0]]), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (new.KDDiscretizer(beta=0), "bandwidth"),
        (new.KDDiscretizer(beta=["scott"]), "one entry per feature"),
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
def test_refused(model, message, clusters):
    with pytest.raises(ValueError, match=message):
        model.fit(clusters)
    with pytest.raises(ValueError, match="infinity"):
        type(model)().fit([[1.0], [np.inf]])
