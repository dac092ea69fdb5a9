"""KDITransformer as JSON, and back: its sketches, and a map per feature."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kdi._integral.build import FeatureMaps
from kdi._integral.maps import EMPTY, MapOptions, PackedMaps
from kdi._saving.document import TRANSFORMER, read_document, restore_estimator, write_document
from kdi._saving.maps import map_from_json, maps_from_json, maps_to_json
from kdi._saving.values import (
    json_number,
    json_numbers,
    raise_invalid,
    require_fields,
    shortened,
    to_count,
    to_number,
    to_numbers,
    to_rows,
)
from kdi._sketch.encoding import is_consistent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

FARTHEST_CELL = 2**53  # up to here, every integer is a float64
LAST_EXPONENT = 1023  # the largest power of two that is a float64


def transformer_to_json(estimator: Any) -> str:
    """Return a fitted KDITransformer as JSON text."""
    check_is_fitted(estimator)
    per_feature = zip(estimator._get_sketches("to_json"), estimator.alpha_, estimator.bandwidth_, strict=True)
    features = [
        {
            "alpha": json_number(alpha),
            "bandwidth": json_number(h),
            "sketch": _sketch_to_json(sketch),
        }
        for sketch, alpha, h in per_feature
    ]
    others = {"n_samples_seen": int(estimator.n_samples_seen_), "maps": maps_to_json(estimator.packed_maps_)}
    return write_document(estimator, TRANSFORMER, others, features)


def transformer_from_json(cls: type[Any], text: Any) -> Any:
    """Return the fitted estimator of class `cls` that `transformer_to_json` wrote; anything else is a ValueError."""
    return read_document(text, TRANSFORMER, lambda document: _to_transformer(cls, document))


def _to_transformer(cls: type[Any], document: dict[str, Any]) -> Any:
    in_features = document["version"] == 1  # each map stood with its feature
    names = ["n_samples_seen"] if in_features else ["n_samples_seen", "maps"]
    estimator, others, features = restore_estimator(cls, document, names)
    sketches, maps = [], []
    factors: list[float] = []
    bandwidths: list[float] = []
    for where, feature in features:
        alpha, bandwidth, sketch, *column_map = require_fields(
            feature, where, ["alpha", "bandwidth", "sketch", *["map"] * in_features]
        )
        factors.append(to_number(alpha, f"{where}.alpha", 0, nan=True))
        bandwidths.append(to_number(bandwidth, f"{where}.bandwidth", 0, nan=True))
        sketches.append(_sketch_from_json(sketch, f"{where}.sketch"))
        if in_features:
            maps.append(map_from_json(column_map[0], f"{where}.map"))
    packed = PackedMaps.pack(maps) if in_features else maps_from_json(others[1], len(features), document["version"])
    for (where, _), sketch, low, high in zip(features, sketches, packed.low, packed.high, strict=True):
        ends = (sketch.minimum, sketch.maximum)
        if not np.array_equal(ends, (low, high), equal_nan=True) and (
            estimator.bounded or not low <= ends[0] <= ends[1] <= high
        ):
            raise_invalid(where, "map must reach from the minimum of the sketch to its maximum")
    options = estimator._map_options()
    _check_limits(packed, options)
    feature_maps = FeatureMaps(np.array(factors), np.array(bandwidths), packed, options)
    return estimator._set_fit(sketches, to_count(others[0], "n_samples_seen"), feature_maps)


def _check_limits(maps: PackedMaps, options: MapOptions) -> None:
    """Raise unless the limits of maps are those that the parameters ask for."""
    limits = (-inf, inf) if options.target == "score" else (options.floor, options.ceiling)
    for j in np.flatnonzero(maps.kind != EMPTY).tolist():
        bounded = maps.low_level[j] == maps.floor[j]
        if (maps.floor[j], maps.ceiling[j]) != limits or bounded != (options.target == "bounded"):
            raise_invalid(f"maps[{j}]", "must have the limits that bounded, output_distribution and feature_range give")


def _sketch_to_json(sketch: Sketch) -> dict[str, Any]:
    result = {
        "count": int(sketch.count),
        "missing": int(sketch.missing),
        "minimum": json_number(sketch.minimum),
        "maximum": json_number(sketch.maximum),
    }
    if sketch.exponent is None:
        return result | {"values": json_numbers(sketch.keys), "weights": json_numbers(sketch.moments[:, 0])}
    cells = {"exponent": int(sketch.exponent), "cells": sketch.keys.tolist(), "moments": json_numbers(sketch.moments)}
    return result | cells


def _sketch_from_json(value: Any, where: str) -> Sketch:
    own = ["values", "weights"] if isinstance(value, dict) and "values" in value else ["exponent", "cells", "moments"]
    count, missing, minimum, maximum, *rest = require_fields(
        value, where, ["count", "missing", "minimum", "maximum", *own]
    )
    exponent: int | None = None
    keys: Float64Array | Int64Array
    if len(rest) == 2:
        keys, moments = to_numbers(rest[0], f"{where}.values"), to_numbers(rest[1], f"{where}.weights")[:, None]
    else:
        exponent, keys = _to_cells(rest[0], rest[1], where)
        moments = to_rows(rest[2], f"{where}.moments", 4)
    if len(keys) != len(moments):
        raise_invalid(
            where, f"must have weights or moments for each of {len(keys)} values or cells, got {len(moments)}"
        )
    sketch = Sketch(
        to_number(minimum, f"{where}.minimum", nan=True),
        to_number(maximum, f"{where}.maximum", nan=True),
        to_count(count, f"{where}.count"),
        to_count(missing, f"{where}.missing"),
        exponent,
        keys,
        moments,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        consistent = is_consistent(*sketch.__getstate__().values())
    if not consistent or sketch.range == inf:
        raise_invalid(where, "has inconsistent fields")
    return sketch


def _to_cells(exponent: Any, cells: Any, where: str) -> tuple[int, Int64Array]:
    if type(exponent) is not int or exponent > LAST_EXPONENT:
        raise_invalid(f"{where}.exponent", f"must be an integer up to {LAST_EXPONENT}, got {shortened(exponent)}")
    if not isinstance(cells, list) or not all(type(one) is int and abs(one) <= FARTHEST_CELL for one in cells):
        raise_invalid(f"{where}.cells", f"must be a list of integers, got {shortened(cells)}")
    return exponent, np.array(cells, dtype=np.int64)
