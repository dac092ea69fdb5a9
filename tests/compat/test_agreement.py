"""kdi.compat.kditransform agrees with the original, except where the original is inaccurate."""

import inspect

import make_kditransform as golden
import numpy as np
import pytest
from kditransform_classes import CLASSES, first_boundaries
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone

import kdi.compat.kditransform as new

TOLERANCE = 2e-3
# The original's own error where it integrates over few points: 20 landmarks, or the values and the gaps between them.
COARSE = {"train": 1e-2, "20 landmarks": 1e-2, "all landmarks": 1e-2}
STEP = 6e-4  # half of the step of the original's grid, within which its boundaries are arbitrary


@pytest.mark.parametrize("case", golden.TRANSFORMERS)
@pytest.mark.parametrize("name", golden.samples())
def test_transformer(original, case, name):
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
def test_discretizers(original, case, name):
    column = original[f"x|{name}"][:, None]
    kind, options = golden.DISCRETIZERS[case]
    model = getattr(new, kind)(**options).fit(column)
    reach = np.ptp(column) if kind == "KDDiscretizer" else 1.0
    level = (lambda x: x) if kind == "KDDiscretizer" else lambda x: model.kdit_.transform(x[:, None])[:, 0]
    assert_allclose(
        level(first_boundaries(model)), level(original[f"boundaries|{case}|{name}"].astype(float)), atol=STEP * reach
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


def test_stored_samples_are_those_of_the_code():
    stored = golden.stored()
    for name, values in golden.samples().items():
        assert_allclose(stored[f"x|{name}"], values, rtol=0, atol=0)


def test_signatures_are_those_of_version_1_2_0():
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


def test_public_methods_of_the_original():
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
