"""Saved models: to_json and from_json give the same model to the last bit, and any other text is a ValueError."""

import copy
import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from paths import MODELS
from scipy.special import ndtr
from sklearn.exceptions import NotFittedError

import kdi
from kdi import KDIDiscretizer, KDITransformer

# Comparing to the last bit


def bits(value):
    """A value as something that compares equal only where every bit does; all NaN are one."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        value = np.where(np.isnan(value), np.nan, value).astype(value.dtype) if value.dtype.kind == "f" else value
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple | np.ndarray):
        return [bits(one) for one in value]
    if isinstance(value, float):
        return float(value).hex()
    if value is None or isinstance(value, str | int | np.integer):
        return value
    return type(value).__name__, {name: bits(one) for name, one in sorted(vars(value).items())}


def fitted(model):
    """Everything that a fitted estimator knows."""
    names = ["n_features_in_", "alpha_"]
    if isinstance(model, KDITransformer):
        names += ["bandwidth_", "data_min_", "data_max_", "n_samples_seen_", "error_bound_", "n_knots_", "maps_"]
        own = [sketch.to_bytes() for sketch in model.sketches_]
    else:
        names += ["bin_edges_", "n_bins_", "centers_", "representatives_", "valleys_"]
        own = model.get_feature_names_out().tolist()
    return {name: bits(getattr(model, name)) for name in names} | {
        "own": own,
        "names": getattr(model, "feature_names_in_", np.array([])).tolist(),
    }


def probes(model):
    """Values of each feature: its ends, between them, beyond them, and NaN where that is allowed."""
    tables = model.maps_ if isinstance(model, KDITransformer) else [one.table for one in model.valleys_]
    columns = []
    for table in tables:
        low, high = np.nan_to_num([table.low, table.high])
        beyond = [low - 1, high + 1, np.nextafter(low, -1e300), np.nextafter(high, 1e300), -1e300, 1e300, 0.0]
        columns.append(np.r_[np.linspace(0, 1, 41) * (high - low) + low, low, high, np.nextafter(high, low), beyond])
    result = np.column_stack(columns)
    if isinstance(model, KDITransformer) or model.missing == "bin":
        result = np.vstack([result, np.full(result.shape[1], np.nan)])
    if len(set(getattr(model, "feature_names_in_", []))) == len(tables):  # frames have no name twice
        return pd.DataFrame(result, columns=model.feature_names_in_)
    return result


def results(model):
    """What a model makes of values, and back; far out, straight lines overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _results(model, probes(model))


def _results(model, given):
    made = model.transform(given)
    if isinstance(made, np.ndarray):
        made = np.where(np.isinf(made), np.nan, made)  # a straight line that went on too far
    back = model.inverse_transform(made)
    if isinstance(model, KDITransformer):
        narrow = np.clip(given, -3e38, 3e38).astype(np.float32)
        levels = np.repeat(np.r_[np.linspace(-0.5, 1.5, 41), 1e-9, 1 - 1e-9][:, None], model.n_features_in_, axis=1)
        levels = pd.DataFrame(levels, columns=given.columns) if hasattr(given, "columns") else levels
        return [np.asarray(one) for one in (made, back, model.transform(narrow), model.inverse_transform(levels))]
    made = made.toarray() if hasattr(made, "toarray") else made
    return [np.asarray(one) for one in (made, back, model.predict_proba(given))]


def assert_same(model, other):
    assert type(model) is type(other)
    assert fitted(model) == fitted(other)
    assert bits(results(model)) == bits(results(other))


def again(model):
    """The model through JSON, which is strict and says the same when it is written once more."""
    text = model.to_json()
    json.loads(text, parse_constant=pytest.fail)
    result = type(model).from_json(text)
    assert result.to_json() == text
    return result


def quietly(function, *arguments, **others):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **others)


# Round trips

numbers = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True).filter(lambda x: abs(x) < 1e307)
columns = st.one_of(
    st.lists(numbers, min_size=8, max_size=8),
    st.lists(st.one_of(st.floats(-10, 10), st.just(float("nan"))), min_size=8, max_size=8),
    st.lists(st.sampled_from([-0.0, 0.0, 1.0, 0.1, 1e9 + 0.1]), min_size=8, max_size=8),
    st.floats(-1e9, 1e9).map(lambda x: [x] * 8),
    st.just([float("nan")] * 8),
)
factors = st.one_of(st.sampled_from([0, 0.0, 1.0, 0.3, 1e-3, 50, np.inf, "scott", "silverman"]), st.floats(0, 1e6))
weights = st.none() | st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), min_size=8, max_size=8).filter(any)


@st.composite
def tables(draw):
    table = np.array(draw(st.lists(columns, min_size=1, max_size=3))).T
    kind = draw(st.sampled_from(["array", "narrow", "frame"]))
    if kind == "narrow":
        return np.clip(table, -1e30, 1e30).astype(np.float32)
    return pd.DataFrame(table, columns=["größe", 'a "name"', "\n"][: table.shape[1]]) if kind == "frame" else table


@st.composite
def alphas(draw, table):
    n_features = table.shape[1]
    kind = draw(st.sampled_from(["one", "list", "array", "dict"]))
    if kind == "list":
        return draw(st.lists(factors, min_size=n_features, max_size=n_features))
    if kind == "array":
        return np.array(draw(st.lists(st.sampled_from([0, 1, np.inf]), min_size=n_features, max_size=n_features)))
    if kind == "dict" and hasattr(table, "columns"):
        return draw(st.dictionaries(st.sampled_from(list(table.columns)), factors))
    return draw(factors)


@settings(max_examples=150)
@given(st.data())
def test_transformers(data):
    table = data.draw(tables())
    model = KDITransformer(
        data.draw(alphas(table)),
        kernel=data.draw(st.sampled_from(["polyexp", "gaussian"])),
        order=data.draw(st.sampled_from([1, 4, np.int64(2)])),
        output_distribution=data.draw(st.sampled_from(["uniform", "normal"])),
        out_of_range=data.draw(st.sampled_from(["clip", "linear", "nan"])),
        n_quantiles=data.draw(st.sampled_from([None, 2, 5, np.int32(20)])),
        n_jobs=data.draw(st.sampled_from([None, 1, -1])),
        copy=data.draw(st.sampled_from([True, False, np.True_])),
    )
    mass = data.draw(weights)
    quietly(model.fit, table, sample_weight=mass)
    result = again(model)
    assert_same(model, result)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(table[::-1] if isinstance(table, np.ndarray) else table.iloc[::-1])
        result.partial_fit(table[::-1] if isinstance(table, np.ndarray) else table.iloc[::-1])
        assert_same(model, result)


@settings(max_examples=60)
@given(st.data())
def test_discretizers(data):
    table = data.draw(tables())
    model = KDIDiscretizer(
        data.draw(alphas(table)),
        n_bins=data.draw(st.sampled_from(["auto"] * 6 + [2, np.int64(3)])),
        bandwidth=data.draw(st.sampled_from(["scott", "silverman", 0.1, np.float32(0.5)])),
        encode=data.draw(st.sampled_from(["onehot", "onehot-dense", "ordinal"])),
        missing="bin",
        strategy=data.draw(st.sampled_from(["valley", "uniform"])),
        kernel=data.draw(st.sampled_from(["polyexp", "gaussian"])),
        min_size=data.draw(st.sampled_from([None, 0.2, 2])),
        significance=data.draw(st.sampled_from([None, 0.05])),
        inverse=data.draw(st.sampled_from(["center", "median", "midpoint"])),
    )
    try:
        quietly(model.fit, table, sample_weight=data.draw(weights))
    except ValueError:  # no so many clusters
        return
    assert_same(model, again(model))


def large(n=20_000, seed=3):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(size=n), 1e9 + rng.exponential(size=n), -rng.lognormal(sigma=3, size=n), rng.poisson(3, size=n)]
    )


@pytest.mark.parametrize("alpha", [0, 1e-7, 0.01, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_cells(alpha, kernel):
    model = KDITransformer(alpha, kernel=kernel).fit(large())
    result = again(model)
    assert_same(model, result)
    more = large(40_000, seed=4)
    assert_same(model.partial_fit(more), result.partial_fit(more))


def test_what_came_in_parts():
    model = KDITransformer()
    for seed in range(3):
        model.partial_fit(large(seed=seed))
    assert_same(model, again(model))


@pytest.mark.parametrize("options", [{}, {"strategy": "uniform", "alpha": 0.1}, {"alpha": 0}])
def test_discretizer_of_cells(options):
    model = KDIDiscretizer(**options).fit(large(5000)[:, :3])
    assert_same(model, again(model))


def test_parameters_come_back_plain():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 5.0, 4.0]})
    model = KDITransformer(
        {"b": np.float32(0.5), "a": np.inf}, order=np.int64(3), n_quantiles=np.uint8(9), copy=np.False_
    )
    parameters = again(model.fit(frame)).get_params()
    assert parameters == model.get_params()
    kinds = {type(value) for value in [*parameters.values(), *parameters["alpha"].values()]}
    assert kinds == {dict, str, int, bool, float, type(None)}
    for alpha in (np.array([0.5, np.inf]), (0.5, np.inf), pd.Series([0.5, np.inf])):
        assert again(KDITransformer(alpha).fit(frame)).alpha == [0.5, np.inf]
    assert again(KDITransformer([0.5, "scott"]).fit(frame)).alpha == [0.5, "scott"]
    assert again(KDITransformer(10**30).fit(frame)).alpha == 10**30


def test_parameters_changed_after_fit_are_kept():
    model = KDITransformer().fit([[1.0], [2.0]]).set_params(alpha=3.0, out_of_range="linear")
    assert_same(model, again(model))
    assert again(model).alpha == 3
    with pytest.raises(ValueError, match="out_of_range"):
        model.set_params(out_of_range="wrap").to_json()
    with pytest.raises(ValueError, match="alpha"):
        KDITransformer().fit([[1.0]]).set_params(alpha=object()).to_json()


def test_subclasses():
    class Own(KDITransformer):
        pass

    model = Own(0.5).fit([[1.0], [2.0], [4.0]])
    assert_same(model, again(model))
    assert type(Own.from_json(KDITransformer().fit([[1.0]]).to_json())) is Own


@pytest.mark.parametrize("model", [KDITransformer(), KDIDiscretizer()])
def test_not_fitted(model):
    with pytest.raises(NotFittedError):
        model.to_json()


def test_it_can_be_read_by_people():
    model = KDITransformer(n_quantiles=4, out_of_range="linear")
    text = model.fit(pd.DataFrame({"height": [1.5, 1.6, 1.9], "weight": [50.0, 60.1, np.nan]})).to_json()
    assert text.isascii()
    assert len(text.splitlines()) < 70
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == '"format": "kdi.KDITransformer",'
    assert f'"kdi": "{kdi.__version__}",' in lines
    assert '"values": [50.0, 60.1],' in lines
    document = json.loads(text)
    assert [feature["name"] for feature in document["features"]] == ["height", "weight"]
    assert list(document) == ["format", "version", "kdi", "parameters", "n_samples_seen", "features"]


def test_there_is_no_code_inside():
    text = KDITransformer().fit([[1.0], [2.0]]).to_json()
    assert "import" not in text
    assert "numpy" not in text


# What is refused


def small_models():
    rng = np.random.default_rng(7)
    few = np.column_stack([[1.0, 2.0, 2.5, 4.0, 9.0], [0.0, np.nan, -0.0, 1e-3, 1.0]])
    frame = pd.DataFrame({"a": few[:, 0], "b": [3.0] * 5, "c": [np.nan] * 5})
    cells = rng.normal(size=(2000, 1)).round(2)
    alphas = {"a": "scott", "b": np.inf}
    return {
        "cubic": KDITransformer(n_quantiles=4).fit(few),
        "linear": KDITransformer(0, out_of_range="linear", output_distribution="normal").fit(few),
        "named": quietly(KDITransformer(alphas, n_quantiles=3, out_of_range="nan").fit, frame),
        "cells": KDITransformer(20.0, n_quantiles=3).fit(cells),
        "bins": KDIDiscretizer(0, missing="bin", encode="ordinal").fit(np.vstack([few, few[:4] * 3])),
        "named-bins": quietly(KDIDiscretizer({"a": np.inf}, missing="bin", n_bins=["auto"] * 3).fit, frame),
        "cell-bins": KDIDiscretizer(np.inf, strategy="uniform", bandwidth=100.0).fit(cells[:, :1]),
    }


SMALL = small_models()
TEXTS = {name: model.to_json() for name, model in SMALL.items()}


def test_small_models_cover_what_there_is():
    documents = [json.loads(text) for text in TEXTS.values()]
    features = [feature for document in documents for feature in document["features"]]
    assert {feature["table"]["kind"] for feature in features} == {"cubic", "linear"}
    assert {"cells" in feature["sketch"] for feature in features if "sketch" in feature} == {True, False}
    widths = {len(feature["density"]["moments"][0]) for feature in features if feature.get("density")}
    assert widths == {1, 4}
    assert any(feature.get("density", 0) is None for feature in features)


def check_usable(model):
    """A model that was accepted works, and stays within its range."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(model, KDITransformer):
            _check_transformer(model)
        else:
            made, back, shares = results(model)
            assert made.shape[1] in (model.n_features_in_, int((model.n_bins_ + (model.missing == "bin")).sum()))
            assert back.shape[1] == model.n_features_in_
            assert ((shares >= 0) & (shares <= 1) | np.isnan(shares)).all()
        assert type(model).from_json(model.to_json()).to_json() == model.to_json()


def _check_transformer(model):
    results(model)
    other = copy.deepcopy(model).set_params(out_of_range="clip", output_distribution="uniform", n_jobs=None)
    given = probes(other)
    made = np.asarray(other.transform(given))
    assert (np.isnan(made) | ((made >= 0) & (made <= 1))).all()
    full = [sketch.count > 0 for sketch in other.sketches_]
    assert not np.isnan(made[:-1, full]).any()
    order = np.argsort(np.asarray(given), axis=0)[:-1]
    assert (np.diff(np.take_along_axis(made, order, axis=0)[:, full], axis=0) >= 0).all()
    back = np.asarray(other.inverse_transform(made))[:-1, full]
    assert ((back >= other.data_min_[full]) & (back <= other.data_max_[full])).all()
    try:
        other.partial_fit(given)
    except ValueError:  # a range that is too wide
        return
    np.asarray(other.transform(given))


class Raw(str):
    """A piece of JSON that is written as it is."""


def written(value):
    """JSON, with raw pieces, and objects as lists of pairs so that keys may repeat."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def places(value, way=()):
    """Ways to the nodes of a document; of long lists, the ends and the middle."""
    if way:
        yield way
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    if isinstance(value, list) and len(value) > 6:
        keys = [0, 1, len(value) // 2, -2, -1]
    for key in keys:
        yield from places(value[key], (*way, key))


def changed(document, way, change):
    """The document with one of its nodes changed: `change` takes its parent and its key."""
    result = copy.deepcopy(document)
    parent = result
    for key in way[:-1]:
        parent = parent[key]
    change(parent, way[-1])
    return written(result)


def without(parent, key):
    del parent[key]


def twice(parent, key):
    if isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = Raw(f"{written(parent[key])}, {json.dumps(key)}: {written(parent[key])}")


def with_more(parent, key):
    if isinstance(parent[key], dict):
        parent[key]["__class__"] = "os.system"
    elif isinstance(parent[key], list):
        parent[key].append(parent[key][-1] if parent[key] else 0)


def reversed_there(parent, key):
    if isinstance(parent[key], list):
        parent[key].reverse()


def scaled(factor):
    def change(parent, key):
        if type(parent[key]) in (int, float):
            parent[key] = type(parent[key])(parent[key] * factor)

    return change


def replaced(text):
    return lambda parent, key: parent.__setitem__(key, Raw(text))


HOSTILE = [
    *(
        "null",
        "true",
        "false",
        "0",
        "-0.0",
        "1",
        "-1",
        "2",
        "0.5",
        "1e308",
        "-1e308",
        "5e-324",
        "1e400",
        "-1e400",
        "1e19",
    ),
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        '"nan"',
        '"inf"',
        '"-inf"',
        '"x"',
        '"1.0"',
        '""',
        '"\\ud800"',
        "[]",
        "{}",
        "[[]]",
    ),
    *("9223372036854775807", "9223372036854775808", str(2**70), "1" * 299, "1" * 400, "1" * 5000),
    *("[0, 1]", "[1, 0]", "[1.0, 2.0]", '["nan", "nan"]', "[1e308, -1e308]", "[[0, 0, 0, 0]]", "[[0], [1, 2]]", "[{}]"),
    *('{"a": 1}', '{"b": 1, "zz": 2}', "[[[[1]]]]", '"scott"', "[" * 700 + "]" * 700),
]
CHANGES = [without, twice, with_more, reversed_there, *(scaled(f) for f in (-1, 0.5, 1 + 1e-6, 1.5, 2, 1e3, 1e200))]


@pytest.mark.parametrize("name", SMALL)
def test_every_changed_node(name):
    """Whatever is changed, the outcome is a ValueError or a model that works."""
    document, cls = json.loads(TEXTS[name]), type(SMALL[name])
    assert_same(cls.from_json(written(document)), cls.from_json(TEXTS[name]))
    n_refused = n_accepted = 0
    seen = set()
    for way in places(document):
        for change in [*CHANGES, *map(replaced, HOSTILE)]:
            text = changed(document, way, change)
            if text in seen:
                continue
            seen.add(text)
            try:
                model = cls.from_json(text)
            except ValueError as error:
                assert len(str(error)) < 1000, way
                n_refused += 1
            else:
                check_usable(model)
                n_accepted += 1
    assert n_refused > 5 * n_accepted


@settings(max_examples=400)
@given(
    st.sampled_from(list(TEXTS)),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 8), st.text(max_size=8)), min_size=1, max_size=4),
)
def test_patched_texts(name, patches):
    text, cls = TEXTS[name], type(SMALL[name])
    for place, length, patch in patches:
        place %= len(text)
        text = text[:place] + patch + text[place + length :]
    try:
        model = cls.from_json(text)
    except ValueError:
        return
    check_usable(model)


@settings(max_examples=400)
@given(st.sampled_from(list(TEXTS)), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1))
def test_flipped_bytes(name, flips):
    data, cls = bytearray(TEXTS[name].encode()), type(SMALL[name])
    for place, byte in flips[:4]:
        data[place % len(data)] = byte
    try:
        model = cls.from_json(bytes(data))
    except ValueError:
        return
    check_usable(model)


@settings(max_examples=400)
@given(st.sampled_from(list(TEXTS)), st.data())
def test_changed_digits(name, data):
    """Digits only, so that the text stays JSON and the numbers are almost right."""
    text, cls = TEXTS[name], type(SMALL[name])
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    for place in data.draw(st.lists(st.sampled_from(digits), min_size=1, max_size=3)):
        text = text[:place] + str(data.draw(st.integers(0, 9))) + text[place + 1 :]
    try:
        model = cls.from_json(text)
    except ValueError:
        return
    check_usable(model)


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
    with pytest.raises(ValueError, match=r"this model has format version 2; this release reads version 1"):
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
    with pytest.raises(ValueError, match=r"features\[0\].table.scale"):
        document = json.loads(text)
        document["features"][0]["table"]["scale"] = "fast"
        KDITransformer.from_json(json.dumps(document))


def test_parameters_that_are_not_named_have_their_defaults():
    document = json.loads(TEXTS["cubic"])
    document["parameters"] = {}
    assert KDITransformer.from_json(json.dumps(document)).get_params() == KDITransformer().get_params()


def cubic_document():
    document = json.loads(TEXTS["cubic"])
    return document, document["features"][0]["table"], document["features"][0]["sketch"]


def test_tables_that_would_lead_out_of_their_arrays():
    """What the compiled core would not notice, one by one."""
    for factor in (1.001, 1.5, 1e6, 1e300):
        document, table, _ = cubic_document()
        table["scale"] *= factor
        with pytest.raises(ValueError, match="do not reach"):
            KDITransformer.from_json(json.dumps(document))
    document, table, sketch = cubic_document()
    table["high"] = sketch["maximum"] = sketch["values"][-1] = 1e6
    with pytest.raises(ValueError, match="do not reach"):
        KDITransformer.from_json(json.dumps(document))
    document, table, _ = cubic_document()
    table["coefficients"] = table["coefficients"][:1]
    with pytest.raises(ValueError, match="intervals"):
        KDITransformer.from_json(json.dumps(document))
    document, table, _ = cubic_document()
    table["high"] = 1e6
    with pytest.raises(ValueError):
        KDITransformer.from_json(json.dumps(document))
    document, table, _ = cubic_document()
    table["coefficients"][1][3] += 0.5
    with pytest.raises(ValueError, match="monotone"):
        KDITransformer.from_json(json.dumps(document))


def test_range_too_small_for_its_knots():
    """So many knots over so short a range have a scale that is no number."""
    n = 200_001
    knots = (np.arange(n) * (1.05e-303 / (n - 1))).tolist()
    document = json.loads(TEXTS["linear"])
    feature = document["features"][0]
    document["features"] = [feature]
    feature["table"] |= {"knots": knots, "levels": np.linspace(0, 1, n).tolist(), "low_slope": 1.0, "high_slope": 1.0}
    feature["sketch"] = {
        "count": n, "missing": 0, "minimum": 0.0, "maximum": knots[-1], "values": knots, "weights": [1.0] * n
    }  # fmt: skip
    model = KDITransformer.from_json(json.dumps(document))
    at = np.column_stack([knots[::1000]] * model.n_features_in_)
    assert_allclose(ndtr(model.transform(at)[:, 0]), np.linspace(0, 1, n)[::1000], rtol=0, atol=2e-7)  # scores


# Models of earlier versions


@pytest.mark.parametrize("kind", ["transformer", "discretizer"])
@pytest.mark.parametrize("suffix", ["json", "pickle"])
def test_stored_models(kind, suffix):
    """What version 1 wrote is read, and gives the same numbers to the last bit."""
    stored = MODELS / f"{kind}-1.{suffix}"
    cls = {"transformer": KDITransformer, "discretizer": KDIDiscretizer}[kind]
    model = cls.from_json(stored.read_text()) if suffix == "json" else pickle.loads(stored.read_bytes())
    assert type(model) is cls
    with np.load(MODELS / f"{kind}-1.npz") as expected:
        found = {"transformed": model.transform(expected["values"])}
        found["back"] = model.inverse_transform(found["transformed"])
        if kind == "transformer":
            found["error_bound"], found["n_samples_seen"] = model.error_bound_, np.array(model.n_samples_seen_)
            found["sketches"] = np.frombuffer(b"".join(one.to_bytes() for one in model.sketches_), dtype=np.uint8)
        else:
            found["shares"] = model.predict_proba(expected["values"])
            found["edges"] = np.concatenate(model.bin_edges_)
        assert {*found, "values"} == set(expected)
        # Shares are sums of exponentials, whose last digits are the mathematical library's own.
        np.testing.assert_allclose(found.pop("shares", 0), expected.get("shares", 0), rtol=0, atol=1e-12)
        for name, array in found.items():
            assert bits(array) == bits(expected[name]), name


@pytest.mark.parametrize("kind", ["transformer", "discretizer"])
def test_stored_pickle_and_json_are_the_same_model(kind):
    cls = {"transformer": KDITransformer, "discretizer": KDIDiscretizer}[kind]
    model = pickle.loads((MODELS / f"{kind}-1.pickle").read_bytes())
    assert_same(model, cls.from_json((MODELS / f"{kind}-1.json").read_text()))


@pytest.mark.parametrize("name", SMALL)
def test_pickles(name):
    assert_same(pickle.loads(pickle.dumps(SMALL[name])), SMALL[name])


def test_a_new_process_reads_what_this_one_wrote(tmp_path):
    model = KDITransformer(0.5).fit(large()[:, :2])
    (tmp_path / "model.json").write_text(model.to_json())
    code = (
        "import sys, kdi, numpy as np; model = kdi.KDITransformer.from_json(open(sys.argv[1]).read()); "
        "print(model.transform([[0.3, 1e9 + 1]]).tobytes().hex())"
    )
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.json")], capture_output=True, text=True)
    assert found.stdout.strip() == model.transform([[0.3, 1e9 + 1]]).tobytes().hex(), found.stderr
