"""Saved models: estimators as JSON that people can read, exact to the last bit, and never run.

    {"format": "kdi.KDITransformer", "version": 1, "parameters": {…}, "features": [{…}, …]}

Numbers are the shortest decimals that lead back to the same float64; NaN and the infinities, which JSON does not have,
are "nan", "inf" and "-inf". Tables are stored as they are, not made anew from the sketches, so that another version of
the package maps to the same numbers. A text may come from anyone: everything in it is checked, the tables above all,
since the compiled core does not look where it reads (cpp/lookup.hpp).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from kdi._integral.bandwidth import resolve_alpha
from kdi._saving.values import (
    from_json_value,
    raise_invalid,
    require_fields,
    shortened,
    to_json_value,
)
from kdi._version import __version__

VERSION = 1
TRANSFORMER, DISCRETIZER = "kdi.KDITransformer", "kdi.KDIDiscretizer"
LONGEST_INTEGER = 300  # digits: every such number is a float64 too


def to_text(estimator: Any, name: str, others: dict[str, Any], features: list[dict[str, Any]]) -> str:
    """What is common to all estimators, and what is given of each feature, as text."""
    names = getattr(estimator, "feature_names_in_", None)
    check_parameters(estimator, len(features), names)
    parameters = {key: to_json_value(value, key) for key, value in estimator.get_params(deep=False).items()}
    named = [{"name": None if names is None else str(names[j])} | feature for j, feature in enumerate(features)]
    document = {"format": name, "version": VERSION, "kdi": __version__, "parameters": parameters}
    return _laid_out(document | others | {"features": named}, "") + "\n"


def read(text: Any, name: str, make: Callable[[dict[str, Any]], Any]) -> Any:
    """What `make` makes of the document, once it is known to be one."""
    try:
        return make(_to_document(text, name))
    except RecursionError:
        raise ValueError("this text is not a saved model: it is nested too deeply.") from None


def to_estimator(
    cls: type[Any], document: dict[str, Any], others: list[str]
) -> tuple[Any, list[Any], list[tuple[str, dict[str, Any]]]]:
    """The estimator, not yet fitted; the other fields of the document; where each feature is, and what."""
    _, _, release, parameters, features, *rest = require_fields(
        document, "the model", ["format", "version", "kdi", "parameters", "features", *others]
    )
    if not isinstance(release, str):
        raise_invalid("kdi", f"must be the release that wrote the model, got {shortened(release)}")
    if not isinstance(features, list) or not features:
        raise_invalid("features", f"must be a list of at least one feature, got {shortened(features)}")
    if not isinstance(parameters, dict):
        raise_invalid("parameters", f"must be an object, got {shortened(parameters)}")
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise_invalid("parameters", f"{shortened(unknown[0])} is not a parameter of {cls.__name__}")
    estimator = cls(**{key: from_json_value(value) for key, value in parameters.items()})
    names, places = [], [f"features[{j}]" for j in range(len(features))]
    for where, feature in zip(places, features, strict=True):
        if not isinstance(feature, dict) or not isinstance(feature.get("name", 0), str | None):
            raise_invalid(where, f"must be an object with a name (or null), got {shortened(feature)}")
        names.append(feature.pop("name"))
        if any("\ud800" <= letter <= "\udfff" for letter in names[-1] or ""):
            raise_invalid(where, f"has a name that is not Unicode text, {shortened(names[-1])}")
    if None in names and set(names) != {None}:
        raise_invalid("features", "must all have names, or none of them")
    estimator.n_features_in_ = len(names)
    if None not in names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    check_parameters(estimator, len(names), None if None in names else names)
    return estimator, rest, list(zip(places, features, strict=True))


def check_parameters(estimator: Any, n_features: int, names: Any) -> None:
    """What `fit` would find wrong with the parameters."""
    estimator._check_parameters()
    resolve_alpha(estimator.alpha, np.ones(n_features), names)


def _to_document(text: Any, name: str) -> dict[str, Any]:
    if isinstance(text, bytes | bytearray):
        text = text.decode()  # another encoding is a UnicodeDecodeError, which is a ValueError
    if not isinstance(text, str):
        raise ValueError(f"a saved model is text, as to_json returns it; got {type(text).__name__}.")
    try:
        document = json.loads(
            text, object_pairs_hook=_object, parse_float=_finite, parse_int=_integer, parse_constant=_finite
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"this text is not a saved model: {error}.") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != name:
        if isinstance(found, str) and found in (TRANSFORMER, DISCRETIZER):
            raise ValueError(f"this text is a saved {found}, not a {name}: {found}.from_json reads it.")
        raise ValueError(f"this text is not a saved model: its format is not {name!r}.")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(f"this model has format version {shortened(version)}; this release reads version {VERSION}.")
    return dict(document)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise_invalid("an object", "has the same key twice")
    return result


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise_invalid("a number", f"must be finite, got {text[:30]}")
    return value


def _integer(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise_invalid("a number", f"has {len(text)} digits")
    return int(text)


def _laid_out(value: Any, indent: str) -> str:
    """JSON with a line for each field, and lists of numbers each on one line."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_laid_out(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(inner + _laid_out(one, inner) for one in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
