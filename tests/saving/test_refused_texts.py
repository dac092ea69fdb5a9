"""Texts that are not models, and models with inconsistent fields: the ValueError tells the cause."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from saved_models import SMALL, TEXTS
from scipy.special import ndtr

from kdi import KDIDiscretizer, KDITransformer


@given(st.one_of(st.text(), st.binary(), st.none(), st.integers(), st.lists(st.integers())))
def test_anything_else(text):
    for cls in (KDITransformer, KDIDiscretizer):
        with pytest.raises(ValueError):
            cls.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(json_values, json_values)
def test_other_documents(value, other):
    envelope = {"format": "kdi.KDITransformer", "version": 1, "kdi": "0.1.0", "n_samples_seen": 1}
    for document in (value, envelope | {"parameters": value, "features": other}, envelope | {"features": value}):
        with pytest.raises(ValueError):
            KDITransformer.from_json(json.dumps(document))


@pytest.mark.parametrize("cls", [KDITransformer, KDIDiscretizer])
def test_other_types(cls, tmp_path):
    for value in (None, 1, 1.5, [], {}, tmp_path, np.zeros(3), object()):
        with pytest.raises(ValueError, match="text"):
            cls.from_json(value)


def test_bytes_are_text_too():
    model = SMALL["named"]
    for kind in (bytes, bytearray):
        assert KDITransformer.from_json(kind(TEXTS["named"].encode())).to_json() == model.to_json()
    with pytest.raises(ValueError):
        KDITransformer.from_json(TEXTS["named"].encode("utf-16"))


def test_messages_tell_the_causes_apart():
    text = TEXTS["cubic"]
    with pytest.raises(
        ValueError, match=r"this model has format version 2; this version of kdi reads format version 1"
    ):
        KDITransformer.from_json(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(ValueError, match=r"saved kdi.KDIDiscretizer, not a kdi.KDITransformer"):
        KDITransformer.from_json(TEXTS["bins"])
    with pytest.raises(ValueError, match=r"saved kdi.KDITransformer, not a kdi.KDIDiscretizer"):
        KDIDiscretizer.from_json(text)
    with pytest.raises(ValueError, match="not a saved model"):
        KDITransformer.from_json(text[:-10])
    with pytest.raises(ValueError, match="not a saved model"):
        KDITransformer.from_json("{}")
    with pytest.raises(ValueError, match="nested too deeply"):
        KDITransformer.from_json("[" * 100_000)
    with pytest.raises(ValueError, match="same key twice"):
        KDITransformer.from_json(text.replace('"version": 1', '"version": 1, "version": 1'))
    with pytest.raises(ValueError, match="'speed' is not a parameter of KDITransformer"):
        KDITransformer.from_json(text.replace('"copy"', '"speed": 1, "copy"'))
    with pytest.raises(ValueError, match="out_of_range must be one of"):
        KDITransformer.from_json(text.replace('"out_of_range": "clip"', '"out_of_range": "wrap"'))
    with pytest.raises(ValueError, match=r"features\[0\].map.scale"):
        document = json.loads(text)
        document["features"][0]["map"]["scale"] = "fast"
        KDITransformer.from_json(json.dumps(document))


def test_parameters_that_are_not_named_have_their_defaults():
    document = json.loads(TEXTS["cubic"])
    document["parameters"] = {}
    assert KDITransformer.from_json(json.dumps(document)).get_params() == KDITransformer().get_params()


def cubic_document():
    document = json.loads(TEXTS["cubic"])
    return document, document["features"][0]["map"], document["features"][0]["sketch"]


def test_maps_that_would_lead_out_of_their_arrays():
    """What the compiled core would not notice, one by one."""
    for factor in (1.001, 1.5, 1e6, 1e300):
        document, column_map, _ = cubic_document()
        column_map["scale"] *= factor
        with pytest.raises(ValueError, match="reach from low to high"):
            KDITransformer.from_json(json.dumps(document))
    document, column_map, sketch = cubic_document()
    column_map["high"] = sketch["maximum"] = sketch["values"][-1] = 1e6
    with pytest.raises(ValueError, match="reach from low to high"):
        KDITransformer.from_json(json.dumps(document))
    document, column_map, _ = cubic_document()
    column_map["coefficients"] = column_map["coefficients"][:1]
    with pytest.raises(ValueError, match=r"must have 2 to .* rows"):
        KDITransformer.from_json(json.dumps(document))
    document, column_map, _ = cubic_document()
    column_map["high"] = 1e6
    with pytest.raises(ValueError):
        KDITransformer.from_json(json.dumps(document))
    document, column_map, _ = cubic_document()
    column_map["coefficients"][1][3] += 0.5
    with pytest.raises(ValueError, match="monotone"):
        KDITransformer.from_json(json.dumps(document))


def test_range_too_small_for_its_knots():
    """So many knots over so short a range have a scale that is no number."""
    n = 200_001
    knots = (np.arange(n) * (1.05e-303 / (n - 1))).tolist()
    document = json.loads(TEXTS["linear"])
    feature = document["features"][0]
    document["features"] = [feature]
    feature["map"] |= {"knots": knots, "levels": np.linspace(0, 1, n).tolist(), "low_slope": 1.0, "high_slope": 1.0}
    feature["sketch"] = {
        "count": n, "missing": 0, "minimum": 0.0, "maximum": knots[-1], "values": knots, "weights": [1.0] * n
    }  # fmt: skip
    model = KDITransformer.from_json(json.dumps(document))
    at = np.column_stack([knots[::1000]] * model.n_features_in_)
    assert_allclose(ndtr(model.transform(at)[:, 0]), np.linspace(0, 1, n)[::1000], rtol=0, atol=2e-7)  # scores
