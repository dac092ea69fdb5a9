"""Subclasses of kdi.compat.kditransform's KDITransformer, as other libraries define them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import kdi.compat.kditransform as new


class WithNaN(new.KDITransformer):
    """As in TabPFN: missing values are replaced by the mean of their column, and are missing again in the result."""

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

    # Newer versions override these private methods of the original; kdi never calls them.
    def _polyexp_dense_fit(self, X, alphas, random_state):
        raise AssertionError

    def _transform_col(self, X_col, quantiles, inverse):
        raise AssertionError


class OldTags(new.KDITransformer):
    """Before scikit-learn 1.6, tags were a method of this name."""

    def _more_tags(self):
        return {"allow_nan": True}


@pytest.fixture
def holes(table):
    holes = table.copy()
    holes[::9, 1], holes[::4, 2] = np.nan, np.nan
    return holes


@pytest.mark.parametrize("output", ["uniform", "normal"])
@pytest.mark.parametrize("alpha", [0.05, 1.0, 5.0])
def test_fit_and_transform(alpha, output, holes):
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


def test_parameters_and_clone(holes):
    model = WithNaN(0.3, "normal", standardize=False).fit(holes)
    expected = {"alpha": 0.3, "copy": True, "output_distribution": "normal", "standardize": False}
    assert model.get_params() == expected
    copied = clone(model)
    assert copied.get_params() == expected and not hasattr(copied, "imputation_values_")
    assert_array_equal(copied.fit_transform(holes), model.transform(holes))
    assert copied.set_params(alpha=1.0).alpha == 1.0


def test_pickle(holes):
    model = WithNaN(0.3, "normal").fit(holes)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(holes), model.transform(holes))


def test_tags():
    assert get_tags(WithNaN()).input_tags.allow_nan
    assert get_tags(OldTags()).input_tags.allow_nan


def test_column_transformer_and_pipeline(holes):
    frame = pd.DataFrame(holes, columns=["a", "b", "c", "d"])
    chosen = make_column_transformer((WithNaN(1.0, "normal"), ["a", "d"]), remainder="drop")
    pipeline = make_pipeline(chosen, Ridge()).fit(frame, frame["a"])
    assert pipeline.score(frame, frame["a"]) > 0.8
    assert_array_equal(chosen.get_feature_names_out(), ["withnan__a", "withnan__d"])
    both = ColumnTransformer([("left", WithNaN(), ["a", "b"]), ("right", WithNaN(0.2), ["c"])])
    found = both.fit_transform(frame)
    assert_allclose(found[:, :2], WithNaN().fit_transform(holes[:, :2]), rtol=0, atol=1e-12)
    assert_allclose(found[:, 2:], WithNaN(0.2).fit_transform(holes[:, [2]]), rtol=0, atol=1e-12)


def test_set_output(holes):
    frame = pd.DataFrame(holes, columns=["a", "b", "c", "d"])
    found = WithNaN().set_output(transform="pandas").fit(frame).transform(frame)
    assert isinstance(found, pd.DataFrame)
    assert_array_equal(found.columns, ["x0", "x1", "x2", "x3"])  # its fit makes an array of the frame
    assert_allclose(found, WithNaN().fit_transform(holes), rtol=0, atol=1e-12)
