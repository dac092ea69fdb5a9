"""The classes of kdi.compat.kditransform as estimators of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from kditransform_classes import CLASSES
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import kdi.compat.kditransform as new


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
def test_checks(model):
    # KBinsKDIDiscretizer refuses the data of these checks, which have no two clusters.
    results = check_estimator(model, on_skip=None)
    others = {one["check_name"]: one["status"] for one in results if "array_api" not in one["check_name"]}
    assert set(others.values()) == {"passed"}


@pytest.mark.parametrize("kind", CLASSES)
def test_clone_and_pickle(kind, clusters):
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
def test_global_output(kind, clusters):
    frame = pd.DataFrame({"a": clusters[:, 0]})
    expected = kind().fit_transform(frame)
    with sklearn.config_context(transform_output="pandas"):
        found = kind().fit_transform(frame)
    assert isinstance(expected, np.ndarray) and isinstance(found, pd.DataFrame)
    assert_array_equal(found, expected)
