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
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kdi import _bytes
from kdi._typing import Floats, Integers
from kdi.bandwidth import resolve_alpha
from kdi.json_values import (
    ascend,
    fields,
    from_plain,
    number,
    numbers,
    plain,
    refuse,
    shown,
    to_finite,
    to_number,
    to_numbers,
    to_positive,
    to_rows,
    to_whole,
)
from kdi.lookup import MAX_INTERVALS, AnyTable, CubicTable, LinearTable, line_table
from kdi.maps import Maps
from kdi.sketch import Sketch

VERSION = 1
TRANSFORMER, DISCRETIZER = "kdi.KDITransformer", "kdi.KDIDiscretizer"
LONGEST_INTEGER = 300  # digits: every such number is a float64 too
FARTHEST_CELL = 2**53  # the numbers of cells are whole numbers as float64 too
LAST_EXPONENT = 1023  # the largest power of two that is a float64
ROUNDING = 1e-9  # what a check of rounded numbers allows for, relative to their size
LEAST = 1e-320  # and where that is no number


def transformer_to_json(estimator: Any) -> str:
    """A fitted KDITransformer as text."""
    check_is_fitted(estimator)
    per_feature = zip(estimator.sketches_, estimator.alpha_, estimator.bandwidth_, estimator.tables_, strict=True)
    features = [
        {"alpha": number(alpha), "bandwidth": number(h), "sketch": _from_sketch(sketch), "table": from_table(table)}
        for sketch, alpha, h, table in per_feature
    ]
    return to_text(estimator, TRANSFORMER, {"n_samples_seen": int(estimator.n_samples_seen_)}, features)


def transformer_from_json(cls: type[Any], text: Any) -> Any:
    """The fitted estimator of class `cls` that `transformer_to_json` wrote; anything else is a ValueError."""
    return read(text, TRANSFORMER, lambda document: _to_transformer(cls, document))


def _to_transformer(cls: type[Any], document: dict[str, Any]) -> Any:
    estimator, others, features = to_estimator(cls, document, ["n_samples_seen"])
    sketches, tables = [], []
    factors: list[float] = []
    bandwidths: list[float] = []
    for where, feature in features:
        alpha, bandwidth, sketch, table = fields(feature, where, ["alpha", "bandwidth", "sketch", "table"])
        factors.append(to_number(alpha, f"{where}.alpha", 0, nan=True))
        bandwidths.append(to_number(bandwidth, f"{where}.bandwidth", 0, nan=True))
        sketches.append(_to_sketch(sketch, f"{where}.sketch"))
        tables.append(to_table(table, f"{where}.table"))
        ends = (sketches[-1].minimum, sketches[-1].maximum), (tables[-1].low, tables[-1].high)
        if not np.array_equal(*ends, equal_nan=True):
            refuse(where, "the table does not reach from the sketch's minimum to its maximum")
    estimator.sketches_ = sketches
    estimator.n_samples_seen_ = to_whole(others[0], "n_samples_seen")
    estimator._maps = Maps(np.array(factors), np.array(bandwidths), tables)
    return estimator


# The document around the features


def to_text(estimator: Any, name: str, others: dict[str, Any], features: list[dict[str, Any]]) -> str:
    """What is common to all estimators, and what is given of each feature, as text."""
    import kdi  # at the top it would be half loaded: this file is below the package's own

    names = getattr(estimator, "feature_names_in_", None)
    check_parameters(estimator, len(features), names)
    parameters = {key: plain(value, key) for key, value in estimator.get_params(deep=False).items()}
    named = [{"name": None if names is None else str(names[j])} | feature for j, feature in enumerate(features)]
    document = {"format": name, "version": VERSION, "kdi": kdi.__version__, "parameters": parameters}
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
    _, _, release, parameters, features, *rest = fields(
        document, "the model", ["format", "version", "kdi", "parameters", "features", *others]
    )
    if not isinstance(release, str):
        refuse("kdi", f"must be the release that wrote the model, got {shown(release)}")
    if not isinstance(features, list) or not features:
        refuse("features", f"must be a list of at least one feature, got {shown(features)}")
    if not isinstance(parameters, dict):
        refuse("parameters", f"must be an object, got {shown(parameters)}")
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        refuse("parameters", f"{shown(unknown[0])} is not a parameter of {cls.__name__}")
    estimator = cls(**{key: from_plain(value) for key, value in parameters.items()})
    names, places = [], [f"features[{j}]" for j in range(len(features))]
    for where, feature in zip(places, features, strict=True):
        if not isinstance(feature, dict) or not isinstance(feature.get("name", 0), str | None):
            refuse(where, f"must be an object with a name (or null), got {shown(feature)}")
        names.append(feature.pop("name"))
        if any("\ud800" <= letter <= "\udfff" for letter in names[-1] or ""):
            refuse(where, f"has a name that is not Unicode text, {shown(names[-1])}")
    if None in names and set(names) != {None}:
        refuse("features", "must all have names, or none of them")
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
        raise ValueError(f"this model has format version {shown(version)}; this release reads version {VERSION}.")
    return dict(document)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        refuse("an object", "has the same key twice")
    return result


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        refuse("a number", f"must be finite, got {text[:30]}")
    return value


def _integer(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        refuse("a number", f"has {len(text)} digits")
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


# Sketches and tables


def _from_sketch(sketch: Sketch) -> dict[str, Any]:
    result = {
        "count": int(sketch.count),
        "missing": int(sketch.missing),
        "minimum": number(sketch.minimum),
        "maximum": number(sketch.maximum),
    }
    if sketch.exponent is None:
        return result | {"values": numbers(sketch.places), "weights": numbers(sketch.moments[:, 0])}
    cells = {"exponent": int(sketch.exponent), "cells": sketch.places.tolist(), "moments": numbers(sketch.moments)}
    return result | cells


def _to_sketch(value: Any, where: str) -> Sketch:
    own = ["values", "weights"] if isinstance(value, dict) and "values" in value else ["exponent", "cells", "moments"]
    count, missing, minimum, maximum, *rest = fields(value, where, ["count", "missing", "minimum", "maximum", *own])
    exponent: int | None = None
    places: Floats | Integers
    if len(rest) == 2:
        places, moments = to_numbers(rest[0], f"{where}.values"), to_numbers(rest[1], f"{where}.weights")[:, None]
    else:
        exponent, places = _to_cells(rest[0], rest[1], where)
        moments = to_rows(rest[2], f"{where}.moments", 4)
    if len(places) != len(moments):
        refuse(where, f"{len(places)} places do not have {len(moments)} weights")
    sketch = Sketch(
        to_number(minimum, f"{where}.minimum", nan=True),
        to_number(maximum, f"{where}.maximum", nan=True),
        to_whole(count, f"{where}.count"),
        to_whole(missing, f"{where}.missing"),
        exponent,
        places,
        moments,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        possible = _bytes._is_possible(*sketch.__getstate__().values())
    if not possible or sketch.range == inf:
        refuse(where, "the numbers do not fit together")
    return sketch


def _to_cells(exponent: Any, cells: Any, where: str) -> tuple[int, Integers]:
    if type(exponent) is not int or exponent > LAST_EXPONENT:
        refuse(f"{where}.exponent", f"must be a whole number up to {LAST_EXPONENT}, got {shown(exponent)}")
    if not isinstance(cells, list) or not all(type(one) is int and abs(one) <= FARTHEST_CELL for one in cells):
        refuse(f"{where}.cells", f"must be a list of whole numbers, got {shown(cells)}")
    return exponent, np.array(cells, dtype=np.int64)


def from_table(table: AnyTable) -> dict[str, Any]:
    """A table as JSON; what only makes a straight table faster is left out."""
    common = {name: number(getattr(table, name)) for name in ("low_slope", "high_slope", "error")}
    if isinstance(table, LinearTable):
        return {"kind": "linear"} | common | {"knots": numbers(table.knots), "levels": numbers(table.levels)}
    ends = {name: number(getattr(table, name)) for name in ("low", "high", "scale")}
    return {"kind": "cubic"} | common | ends | {"coefficients": numbers(table.coefficients)}


def to_table(value: Any, where: str) -> AnyTable:
    """A table in which no value leads the core out of its arrays, and T is monotone from 0 to 1."""
    kind = value.get("kind") if isinstance(value, dict) else None
    own = ["knots", "levels"] if kind == "linear" else ["low", "high", "scale", "coefficients"]
    if kind not in ("linear", "cubic"):
        refuse(where, f"must be a table of kind 'linear' or 'cubic', got {shown(value)}")
    _, low_slope, high_slope, error, *rest = fields(value, where, ["kind", "low_slope", "high_slope", "error", *own])
    slopes = to_positive(low_slope, f"{where}.low_slope"), to_positive(high_slope, f"{where}.high_slope")
    error = to_number(error, f"{where}.error", 0, 1)
    table: AnyTable = _to_linear(rest, where) if kind == "linear" else _to_cubic(rest, where)
    return replace(table, low_slope=slopes[0], high_slope=slopes[1], error=error)


def _to_linear(given: list[Any], where: str) -> LinearTable:
    knots, levels = to_numbers(given[0], f"{where}.knots", nan=True), to_numbers(given[1], f"{where}.levels")
    if len(knots) != len(levels) or len(knots) < 2:
        refuse(where, f"{len(knots)} knots do not have {len(levels)} levels, or are fewer than 2")
    if np.isnan(knots).any():  # a column without values
        if len(knots) > 2 or not np.isnan(knots).all() or levels.any():
            refuse(f"{where}.knots", "must be numbers")
        return line_table(knots, levels, 0.0)
    constant = len(knots) == 2 and knots[0] == knots[1]
    if not (ascend(knots, strictly=True) or constant) or float(knots[-1]) - float(knots[0]) == inf:
        refuse(f"{where}.knots", "must ascend, over a finite range")
    if (levels[0], levels[-1]) != (0, 1) or not ascend(levels):
        refuse(f"{where}.levels", "must rise from 0 to 1")
    return line_table(knots, levels, 0.0)


def _to_cubic(given: list[Any], where: str) -> CubicTable:
    low, high = to_finite(given[0], f"{where}.low"), to_finite(given[1], f"{where}.high")
    scale = to_positive(given[2], f"{where}.scale")
    rows = to_rows(given[3], f"{where}.coefficients", 4)
    n = len(rows) - 1
    if not 1 <= n <= 2 * MAX_INTERVALS + 1:
        refuse(f"{where}.coefficients", f"must be of 1 to {2 * MAX_INTERVALS + 1} intervals and an end, got {n}")
    # The last interval begins before `high` and ends there or after, so that no position lies beyond the last row.
    if not low < high or not n - 1 - 1e-6 <= (high - low) * scale <= n + 1e-6:
        refuse(where, f"{n} intervals do not reach from low to high")
    if not _are_monotone(rows):
        refuse(f"{where}.coefficients", "must be monotone cubics that rise from 0 to 1")
    return CubicTable(low, high, 1.0, 1.0, 0.0, scale, rows)


def _are_monotone(rows: Floats) -> bool:
    """Whether cubics join, with end slopes between rise/4 and 2 rise, as cpp/cubics.hpp makes them, up to rounding."""
    levels, left = rows[:, 0], rows[:-1, 1]
    with np.errstate(over="ignore", invalid="ignore"):
        rise, reached = np.diff(levels), rows[:-1, 1:].sum(axis=1)
        right = rows[:-1, 1:] @ [1.0, 2.0, 3.0]
        off = ROUNDING * rise + LEAST
        fits = (rise >= 0) & (abs(reached - rise) <= off)
        for slope in (left, right):
            fits &= (slope >= rise / 4 - off) & (slope <= 2 * rise + off)
    ends = levels[0] == 0 and 1 - 1e-6 <= levels[-1] < inf and not rows[-1, 1:].any()
    return bool(ends and fits.all() and (levels[-1] >= 1 or rise[-1] > 0))
