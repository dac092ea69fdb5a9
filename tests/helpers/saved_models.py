"""Models to save, and comparisons of models to the last bit."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from kdi import KDIDiscretizer, KDITransformer
from kdi._saving.maps import map_to_json


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
    # Without cached properties.
    return type(value).__name__, {name: bits(one) for name, one in sorted(value.__getstate__().items())}


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
    maps = model.maps_ if isinstance(model, KDITransformer) else [one.column_map for one in model.valleys_]
    columns = []
    for column_map in maps:
        low, high = np.nan_to_num([column_map.low, column_map.high])
        beyond = [low - 1, high + 1, np.nextafter(low, -1e300), np.nextafter(high, 1e300), -1e300, 1e300, 0.0]
        columns.append(np.r_[np.linspace(0, 1, 41) * (high - low) + low, low, high, np.nextafter(high, low), beyond])
    result = np.column_stack(columns)
    if isinstance(model, KDITransformer) or model.missing == "bin":
        result = np.vstack([result, np.full(result.shape[1], np.nan)])
    if len(set(getattr(model, "feature_names_in_", []))) == len(maps):  # frames have no name twice
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


def as_version_1(text):
    """The text of a transformer as format version 1 has it: each feature holds its own map."""
    document = json.loads(text)
    maps = [map_to_json(one) for one in KDITransformer.from_json(text).maps_]
    for feature, one in zip(document["features"], maps, strict=True):
        assert one.pop("unit", 1.0) == 1  # which version 1 did not have
        feature["map"] = one
    del document["maps"]
    return json.dumps(document | {"version": 1})


def as_version_2(text):
    """The text of a transformer as format version 2 has it: all levels are from 0 to 1."""
    document = json.loads(text)
    for name, level in {"low_level": 0, "high_level": 1, "floor": 0, "ceiling": 1}.items():
        assert set(document["maps"].pop(name)) == {level}
    return json.dumps(document | {"version": 2})


def saved_and_read(model):
    """The model through JSON, which is valid and the same when it is written once more."""
    text = model.to_json()
    json.loads(text, parse_constant=pytest.fail)
    result = type(model).from_json(text)
    assert result.to_json() == text
    return result


def quietly(function, *arguments, **others):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **others)


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
    output = "uniform" if model.bounded else model.output_distribution
    other = copy.deepcopy(model).set_params(out_of_range="clip", output_distribution=output, n_jobs=None)
    given = probes(other)
    made = np.asarray(other.transform(given))
    floor, ceiling = (-np.inf, np.inf) if output == "normal" else other.feature_range
    assert (np.isnan(made) | ((made >= floor) & (made <= ceiling))).all()
    full = [sketch.count > 0 for sketch in other.sketches_]
    assert not np.isnan(made[:-1, full]).any()
    order = np.argsort(np.asarray(given), axis=0)[:-1]
    assert (np.diff(np.take_along_axis(made, order, axis=0)[:, full], axis=0) >= 0).all()
    back = np.asarray(other.inverse_transform(made))[:-1, full]
    assert not model.bounded or ((back >= other.data_min_[full]) & (back <= other.data_max_[full])).all()
    try:
        other.partial_fit(given)
    except ValueError:  # a range that is too wide
        return
    np.asarray(other.transform(given))


def small_models():
    rng = np.random.default_rng(7)
    few = np.column_stack([[1.0, 2.0, 2.5, 4.0, 9.0], [0.0, np.nan, -0.0, 1e-3, 1.0]])
    frame = pd.DataFrame({"a": few[:, 0], "b": [3.0] * 5, "c": [np.nan] * 5})
    cells = rng.normal(size=(2000, 1)).round(2)
    alphas = {"a": "scott", "b": np.inf}
    return {
        "cubic": KDITransformer(max_knots=4).fit(few),
        "linear": KDITransformer(0, out_of_range="linear", output_distribution="normal").fit(few),
        "named": quietly(KDITransformer(alphas, max_knots=3, out_of_range="nan").fit, frame),
        "cells": KDITransformer(20.0, max_knots=3).fit(cells),
        "open": KDITransformer(2.0, bounded=False, spread="robust", feature_range=(-1, 1), max_knots=9).fit(few),
        "score": KDITransformer(bounded=False, output_distribution="normal", max_knots=5).fit(few),
        "lines": KDITransformer(0, bounded=False, output_distribution="normal").fit(few),
        "bins": KDIDiscretizer(0, missing="bin", encode="ordinal").fit(np.vstack([few, few[:4] * 3])),
        "named-bins": quietly(KDIDiscretizer({"a": np.inf}, missing="bin", n_bins=["auto"] * 3).fit, frame),
        "cell-bins": KDIDiscretizer(np.inf, strategy="uniform", bandwidth=100.0).fit(cells[:, :1]),
    }


SMALL = small_models()
TEXTS = {name: model.to_json() for name, model in SMALL.items()}
TEXTS["version-1"] = as_version_1(TEXTS["named"])
CLASSES = {name: KDIDiscretizer if "bins" in name else KDITransformer for name in TEXTS}
