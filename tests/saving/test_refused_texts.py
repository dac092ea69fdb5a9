"""Texts that are not models, and models with inconsistent fields: the ValueError tells the cause."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from saved_models import SMALL, TEXTS, as_version_1, as_version_2, assert_same
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
    envelope = {"format": "kdi.KDITransformer", "version": 2, "kdi": "0.1.0", "n_samples_seen": 1, "maps": {}}
    filled = envelope | {"parameters": value, "features": other}
    packed = envelope | {"parameters": {}, "features": [{"name": None}], "maps": value}
    for document in (value, filled, envelope | {"features": value}, filled | {"version": 1}, packed):
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
        ValueError, match=r"this model has format version 4; this version of kdi reads format versions 1 to 3"
    ):
        KDITransformer.from_json(text.replace('"version": 3', '"version": 4'))
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
        KDITransformer.from_json(text.replace('"version": 3', '"version": 3, "version": 3'))
    with pytest.raises(ValueError, match="'speed' is not a parameter of KDITransformer"):
        KDITransformer.from_json(text.replace('"copy"', '"speed": 1, "copy"'))
    with pytest.raises(ValueError, match="out_of_range must be one of"):
        KDITransformer.from_json(text.replace('"out_of_range": "clip"', '"out_of_range": "wrap"'))
    with pytest.raises(ValueError, match=r"maps\[1\].scale: must be a number"):
        document = json.loads(text)
        document["maps"]["scale"][1] = "fast"
        KDITransformer.from_json(json.dumps(document))
    with pytest.raises(ValueError, match=r"features\[0\].map.scale: must be a number"):
        document = json.loads(as_version_1(text))
        document["features"][0]["map"]["scale"] = "fast"
        KDITransformer.from_json(json.dumps(document))


def test_parameters_that_are_not_named_have_their_defaults():
    document = json.loads(TEXTS["cubic"])
    document["parameters"] = {}
    assert KDITransformer.from_json(json.dumps(document)).get_params() == KDITransformer().get_params()


@pytest.mark.parametrize("earlier", [as_version_1, as_version_2])
@pytest.mark.parametrize("name", ["cubic", "linear", "named", "cells"])
def test_earlier_versions_are_the_same_model(name, earlier):
    assert_same(KDITransformer.from_json(earlier(TEXTS[name])), SMALL[name])


def test_a_version_has_its_own_fields():
    old = as_version_1(TEXTS["cubic"])
    for text in (TEXTS["cubic"].replace('"version": 3', '"version": 1'), old.replace('"version": 1', '"version": 3')):
        with pytest.raises(ValueError, match=r"must (not )?have (a|the unknown) field 'maps'"):
            KDITransformer.from_json(text)
    with pytest.raises(ValueError, match="must have a field 'low_level'"):
        KDITransformer.from_json(as_version_2(TEXTS["cubic"]).replace('"version": 2', '"version": 3'))


def set_item(name, index, value):
    def change(maps):
        maps[name][index] = value

    return change


def append(name, value):
    return lambda maps: maps[name].append(value)


def scale_by(factor):
    def change(maps):
        maps["scale"][0] *= factor

    return change


def split(first, second):
    """Share the same rows or points among two features in another way."""
    return lambda maps: maps.update(n_knots=[first, second])


# What the compiled core would not notice, one by one: two cubic features of 4 rows each, or linear ones of 5 points.
WRONG = [
    *(("cubic", scale_by(factor), "reach from low to high") for factor in (1.001, 1.5, 1e6, 1e300)),
    ("cubic", set_item("low", 0, -1e6), "reach from low to high"),
    ("cubic", set_item("high", 0, 1e6), "reach from low to high"),
    ("cubic", set_item("unit", 0, 3.0), "unit: must be 1 or"),
    ("cubic", set_item("coefficients", 1, [0.5, 0.1, 0.1, 0.9]), "monotone"),
    ("cubic", set_item("coefficients", 1, [0.5, 0.1, 0.1]), "rows of 4 numbers"),
    ("cubic", set_item("low_level", 0, 0.1), "levels at its ends"),
    ("cubic", set_item("ceiling", 1, 0.5), "levels at its ends"),
    ("cubic", set_item("floor", 1, "-inf"), "levels at its ends"),
    ("open", set_item("floor", 0, -1.5), "limits that bounded, output_distribution and feature_range give"),
    ("open", set_item("low_level", 0, 0.1), "from the level at one end"),
    ("open", set_item("high_level", 0, 1.5), "levels at its ends"),
    ("open", set_item("low", 0, 2.0), "reach from low to high|minimum of the sketch"),
    ("score", set_item("ceiling", 0, 9.0), "limits that bounded, output_distribution and feature_range give"),
    ("score", set_item("floor", 0, "nan"), "floor: must be a number|levels at its ends"),
    ("cubic", split(1, 7), "must have 2 to .* rows"),
    ("cubic", split(3, 5), "reach from low to high"),
    ("cubic", split(4, 5), "n_knots: must add up"),
    ("cubic", split(4, 2**62), "n_knots: must add up"),
    ("cubic", split(4, 2**64), "integer >= 0"),
    ("cubic", split(4, -4), "integer >= 0"),
    ("cubic", append("coefficients", [1.0, 0.0, 0.0, 0.0]), "n_knots: must add up"),
    ("cubic", append("knots", 1.0), "n_knots: must add up"),
    ("cubic", append("low", 1.0), "maps.low: must be a list of 2 entries"),
    ("cubic", set_item("kind", 0, "square"), "kind: must be one of"),
    ("cubic", set_item("kind", 0, ["cubic"]), "kind: must be one of"),
    ("cubic", set_item("kind", 0, "linear"), "at least 2, got 0 knots"),
    ("cubic", set_item("kind", 0, "constant"), "n_knots: must be 0 for kind 'constant'"),
    ("linear", split(4, 6), "levels: must increase from the level at one end"),
    ("linear", append("levels", 1.0), "n_knots: must add up"),
    ("linear", set_item("knots", 1, 1e9), "knots: must increase"),
    ("linear", set_item("levels", 1, 2.0), "levels: must increase from the level at one end"),
    ("linear", set_item("low", 0, 0.5), "knots and ends that fit kind 'linear'"),
    ("linear", set_item("scale", 0, None), "scale: must be a number"),
    ("linear", set_item("kind", 0, "empty"), "n_knots: must be 0 for kind 'empty'"),
    ("named", set_item("kind", 1, "empty"), "knots and ends that fit kind 'empty'"),
    ("named", set_item("kind", 2, "constant"), "knots and ends that fit kind 'constant'"),
    ("named", set_item("high", 1, 4.0), "knots and ends that fit kind 'constant'"),
    ("named", set_item("n_knots", 2, 2), "n_knots: must be 0 for kind 'empty'"),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG)
def test_maps_that_would_lead_out_of_their_arrays(name, change, message):
    document = json.loads(TEXTS[name])
    change(document["maps"])
    with pytest.raises(ValueError, match=message):
        KDITransformer.from_json(json.dumps(document))


def test_maps_must_have_the_ends_of_their_sketches():
    document = json.loads(TEXTS["cubic"])
    document["features"][0], document["features"][1] = document["features"][1], document["features"][0]
    with pytest.raises(ValueError, match=r"features\[0\]: map must reach from the minimum of the sketch"):
        KDITransformer.from_json(json.dumps(document))


def old_cubic_document():
    document = json.loads(as_version_1(TEXTS["cubic"]))
    return document, document["features"][0]["map"], document["features"][0]["sketch"]


def test_maps_of_version_1_that_would_lead_out_of_their_arrays():
    for factor in (1.001, 1.5, 1e6, 1e300):
        document, column_map, _ = old_cubic_document()
        column_map["scale"] *= factor
        with pytest.raises(ValueError, match="reach from low to high"):
            KDITransformer.from_json(json.dumps(document))
    document, column_map, sketch = old_cubic_document()
    column_map["high"] = sketch["maximum"] = sketch["values"][-1] = 1e6
    with pytest.raises(ValueError, match="reach from low to high"):
        KDITransformer.from_json(json.dumps(document))
    document, column_map, _ = old_cubic_document()
    column_map["coefficients"] = column_map["coefficients"][:1]
    with pytest.raises(ValueError, match=r"must have 2 to .* rows"):
        KDITransformer.from_json(json.dumps(document))
    document, column_map, _ = old_cubic_document()
    column_map["coefficients"][1][3] += 0.5
    with pytest.raises(ValueError, match="monotone"):
        KDITransformer.from_json(json.dumps(document))


def test_range_too_small_for_its_knots():
    """So many knots over so short a range have a scale that is no number."""
    n = 200_001
    knots = (np.arange(n) * (1.05e-303 / (n - 1))).tolist()
    document = json.loads(TEXTS["linear"])
    document["features"] = document["features"][:1]
    maps = {name: given[:1] for name, given in document["maps"].items()}
    maps |= {"n_knots": [n], "high": knots[-1:], "low": [0.0], "low_slope": [1.0], "high_slope": [1.0]}
    document["maps"] = maps | {"knots": knots, "levels": np.linspace(0, 1, n).tolist(), "coefficients": []}
    document["features"][0]["sketch"] = {
        "count": n, "missing": 0, "minimum": 0.0, "maximum": knots[-1], "values": knots, "weights": [1.0] * n
    }  # fmt: skip
    model = KDITransformer.from_json(json.dumps(document))
    at = np.column_stack([knots[::1000]] * model.n_features_in_)
    assert_allclose(ndtr(model.transform(at)[:, 0]), np.linspace(0, 1, n)[::1000], rtol=0, atol=2e-7)  # scores
