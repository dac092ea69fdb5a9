"""Saved models: estimators as readable JSON, exact to the last bit; nothing in a saved model is executed.

    {"format": "kdi.KDITransformer", "version": 3, "parameters": {…}, "maps": {…}, "features": [{…}, …]}

The maps of a transformer are the arrays of `PackedMaps` (docs/packed-model.md). In version 2 all maps were bounded,
with levels from 0 to 1. In version 1 each feature had a map of its own, as each feature of a discretizer still has,
whose valleys belong to that map.

Numbers are the shortest decimals that are read as the same float64; NaN and the infinities, which JSON does not have,
are "nan", "inf" and "-inf". Maps are stored and not rebuilt from the sketches, so that another version of the package
returns the same numbers. A text may come from anyone: every field is checked, those of the maps above all, since the
compiled core reads arrays without bounds checks (cpp/lookup.hpp).
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

VERSION, READ_VERSIONS = 3, (1, 2, 3)
TRANSFORMER, DISCRETIZER = "kdi.KDITransformer", "kdi.KDIDiscretizer"
MAX_DIGITS = 300  # integers of up to this many digits do not overflow as float64


def write_document(estimator: Any, name: str, others: dict[str, Any], features: list[dict[str, Any]]) -> str:
    """Write the text of a model: the fields that all estimators have, `others`, and one object per feature."""
    names = getattr(estimator, "feature_names_in_", None)
    check_parameters(estimator, len(features), names)
    parameters = {key: to_json_value(value, key) for key, value in estimator.get_params(deep=False).items()}
    named = [{"name": None if names is None else str(names[j])} | feature for j, feature in enumerate(features)]
    document = {"format": name, "version": VERSION, "kdi": __version__, "parameters": parameters}
    return _format(document | others | {"features": named}, "") + "\n"


def read_document(text: Any, name: str, restore: Callable[[dict[str, Any]], Any]) -> Any:
    """Parse the text of a model of format `name`, and return `restore(document)`."""
    try:
        return restore(_parse(text, name))
    except RecursionError:
        raise ValueError("this text is not a saved model: it is nested too deeply.") from None


def restore_estimator(
    cls: type[Any], document: dict[str, Any], others: list[str]
) -> tuple[Any, list[Any], list[tuple[str, dict[str, Any]]]]:
    """Return the estimator with its parameters, not yet fitted; the other fields; path and object of each feature."""
    _, _, release, parameters, features, *rest = require_fields(
        document, "the model", ["format", "version", "kdi", "parameters", "features", *others]
    )
    if not isinstance(release, str):
        raise_invalid("kdi", f"must be the version of kdi that wrote the model, got {shortened(release)}")
    if not isinstance(features, list) or not features:
        raise_invalid("features", f"must be a list of at least one feature, got {shortened(features)}")
    if not isinstance(parameters, dict):
        raise_invalid("parameters", f"must be an object, got {shortened(parameters)}")
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise_invalid("parameters", f"{shortened(unknown[0])} is not a parameter of {cls.__name__}")
    estimator = cls(**{key: from_json_value(value) for key, value in parameters.items()})
    names, paths = [], [f"features[{j}]" for j in range(len(features))]
    for where, feature in zip(paths, features, strict=True):
        if not isinstance(feature, dict) or not isinstance(feature.get("name", 0), str | None):
            raise_invalid(where, f"must be an object with a name (or null), got {shortened(feature)}")
        names.append(feature.pop("name"))
        if any("\ud800" <= letter <= "\udfff" for letter in names[-1] or ""):
            raise_invalid(where, f"has a name that is not Unicode text, {shortened(names[-1])}")
    if None in names and set(names) != {None}:
        raise_invalid("features", "must all have names, or all have null")
    estimator.n_features_in_ = len(names)
    if None not in names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    check_parameters(estimator, len(names), None if None in names else names)
    return estimator, rest, list(zip(paths, features, strict=True))


def check_parameters(estimator: Any, n_features: int, names: Any) -> None:
    """Check the parameters as `fit` does."""
    estimator._check_parameters()
    resolve_alpha(estimator.alpha, np.ones(n_features), names)


def _parse(text: Any, name: str) -> dict[str, Any]:
    if isinstance(text, bytes | bytearray):
        text = text.decode()  # raises UnicodeDecodeError, a ValueError, for other encodings
    if not isinstance(text, str):
        raise ValueError(f"a saved model must be text, as to_json returns it, got {type(text).__name__}.")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_float=_parse_float,
            parse_int=_parse_integer,
            parse_constant=_parse_float,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"this text is not a saved model: {error}.") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != name:
        if isinstance(found, str) and found in (TRANSFORMER, DISCRETIZER):
            raise ValueError(f"this text is a saved {found}, not a {name}; read it with {found}.from_json.")
        raise ValueError(f"this text is not a saved model: its format is not {name!r}.")
    version = document.get("version")
    if type(version) is not int or version not in READ_VERSIONS:
        raise ValueError(
            f"this model has format version {shortened(version)}; this version of kdi reads format versions "
            f"{READ_VERSIONS[0]} to {READ_VERSIONS[-1]}."
        )
    return dict(document)


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise_invalid("an object", "must not have the same key twice")
    return result


def _parse_float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise_invalid("a number", f"must be finite, got {text[:30]}")
    return value


def _parse_integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise_invalid("a number", f"must have at most {MAX_DIGITS} digits, got {len(text)}")
    return int(text)


def _format(value: Any, indent: str) -> str:
    """Format JSON with one line per field; a list of numbers takes one line."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_format(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(inner + _format(one, inner) for one in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
