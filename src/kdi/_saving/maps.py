"""Maps of columns as JSON and back, with every field checked.

The compiled core reads arrays without bounds checks (cpp/lookup.hpp), so a map from a file must be consistent.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from kdi._integral.maps import (
    LEVELS,
    MAX_INTERVALS,
    PER_FEATURE,
    SMALL_RANGE_EXPONENT,
    ColumnMap,
    CubicMap,
    LinearMap,
    PackedMaps,
    build_linear_map,
    kind_of,
)
from kdi._saving.values import (
    is_ascending,
    json_number,
    json_numbers,
    raise_invalid,
    require_fields,
    shortened,
    to_count,
    to_finite,
    to_number,
    to_numbers,
    to_positive,
    to_rows,
)
from kdi._utils.typing import Float64Array

RELATIVE_ROUNDING = 1e-9  # checks allow stored numbers to be off by this, relative to their size
ABSOLUTE_ROUNDING = 1e-320  # and by this, since tiny numbers underflow
KINDS = ("cubic", "linear", "constant", "empty")  # names of the kinds of packed maps, in their order
UNIT_LEVELS = dict(zip(LEVELS, (0.0, 1.0, 0.0, 1.0), strict=True))  # of maps of format versions 1 and 2


def maps_to_json(maps: PackedMaps) -> dict[str, Any]:
    """Convert the maps of all features to JSON; what follows from the other arrays is left out."""
    if int(maps.n_knots.sum()) != len(maps.coefficients) + len(maps.knots):  # columns that share a map
        maps = PackedMaps.pack(list(maps))
    numbers = {name: json_numbers(getattr(maps, name)) for name in PER_FEATURE}
    arrays = {name: json_numbers(getattr(maps, name)) for name in ("coefficients", "knots", "levels")}
    return {"kind": [KINDS[kind] for kind in maps.kind], "n_knots": maps.n_knots.tolist()} | numbers | arrays


def maps_from_json(value: Any, n_features: int, version: int) -> PackedMaps:
    """Read the maps of all features, each with the checks of `map_from_json`."""
    if version == 2 and isinstance(value, dict):  # all maps had levels from 0 to 1
        value = {name: [level] * n_features for name, level in UNIT_LEVELS.items()} | value
    kinds, n_knots, *others = require_fields(
        value, "maps", ["kind", "n_knots", *PER_FEATURE, "coefficients", "knots", "levels"]
    )
    *numbers, coefficients, knots, levels = others
    for name, given in zip(("kind", "n_knots", *PER_FEATURE), (kinds, n_knots, *numbers), strict=True):
        if not isinstance(given, list) or len(given) != n_features:
            raise_invalid(f"maps.{name}", f"must be a list of {n_features} entries, one per feature")
    for name, given in (("coefficients", coefficients), ("knots", knots), ("levels", levels)):
        if not isinstance(given, list):
            raise_invalid(f"maps.{name}", f"must be a list, got {shortened(given)}")
    maps, row, point = [], 0, 0
    for j, (kind, size, *own) in enumerate(zip(kinds, n_knots, *numbers, strict=True)):
        where = f"maps[{j}]"
        n, feature = to_count(size, f"{where}.n_knots"), dict(zip(PER_FEATURE, own, strict=True))
        if not isinstance(kind, str) or kind not in KINDS:
            raise_invalid(f"{where}.kind", f"must be one of {list(KINDS)}, got {shortened(kind)}")
        if kind == "cubic":
            maps.append(map_from_json(feature | {"kind": kind, "coefficients": coefficients[row : row + n]}, where))
            row += n
            continue
        ends = [to_number(feature.pop(name), f"{where}.{name}", nan=True) for name in ("low", "high")]
        for name in ("unit", "scale"):  # these belong to the guide, which is rebuilt
            to_finite(feature.pop(name), f"{where}.{name}")
        if kind == "linear":
            points = {"knots": knots[point : point + n], "levels": levels[point : point + n]}
            point += n
        elif n:
            raise_invalid(f"{where}.n_knots", f"must be 0 for kind {kind!r}, got {n}")
        else:
            points = {"knots": json_numbers(np.array(ends)), "levels": [feature["low_level"], feature["high_level"]]}
        one = map_from_json(feature | {"kind": "linear"} | points, where)
        if KINDS[kind_of(one)] != kind or not np.array_equal([one.low, one.high], ends, equal_nan=True):
            raise_invalid(where, f"must have knots and ends that fit kind {kind!r}")
        maps.append(one)
    if (row, point, point) != (len(coefficients), len(knots), len(levels)):
        raise_invalid("maps.n_knots", "must add up to the rows of coefficients, and to the knots and levels")
    return PackedMaps.pack(maps)


def map_to_json(column_map: ColumnMap) -> dict[str, Any]:
    """Convert a map to JSON. The lookup guide of a linear map is rebuilt on load."""
    common = {name: json_number(getattr(column_map, name)) for name in ("low_slope", "high_slope", "error")}
    if isinstance(column_map, LinearMap):
        arrays = {"knots": json_numbers(column_map.knots), "levels": json_numbers(column_map.levels)}
        return {"kind": "linear"} | common | arrays
    ends = {name: json_number(getattr(column_map, name)) for name in ("low", "high", "unit", "scale")}
    return {"kind": "cubic"} | common | ends | {"coefficients": json_numbers(column_map.coefficients)}


def map_from_json(value: Any, where: str) -> ColumnMap:
    """Read a map, and check that no value leads the core out of its arrays and that levels never decrease."""
    kind = value.get("kind") if isinstance(value, dict) else None
    own = ["knots", "levels"] if kind == "linear" else ["low", "high", "unit", "scale", "coefficients"]
    if kind == "cubic" and "unit" not in value:  # format version 1
        value = {"unit": 1.0} | value
    if kind not in ("linear", "cubic"):
        raise_invalid(where, f"must be a map of kind 'linear' or 'cubic', got {shortened(value)}")
    if not any(name in value for name in LEVELS):  # maps of discretizers have none
        value = UNIT_LEVELS | value
    _, low_slope, high_slope, error, *rest = require_fields(
        value, where, ["kind", "low_slope", "high_slope", "error", *LEVELS, *own]
    )
    levels, rest = _to_levels(rest[:4], where), rest[4:]
    slopes = to_positive(low_slope, f"{where}.low_slope"), to_positive(high_slope, f"{where}.high_slope")
    error = to_number(error, f"{where}.error", 0)
    column_map: ColumnMap
    column_map = _to_linear(rest, where, levels) if kind == "linear" else _to_cubic(rest, where, levels)
    return replace(column_map, low_slope=slopes[0], high_slope=slopes[1], error=error, **levels)


def _to_levels(fields: list[Any], where: str) -> dict[str, Any]:
    """Read the levels at the ends, and the limits, which the levels have reached or lie strictly within."""
    low, high = (to_finite(level, f"{where}.{name}") for name, level in zip(LEVELS, fields[:2], strict=False))
    floor, ceiling = (to_number(limit, f"{where}.{name}") for name, limit in zip(LEVELS[2:], fields[2:], strict=True))
    bounded = floor == low and ceiling == high and low < high
    if not bounded and not floor < low <= high < ceiling:
        raise_invalid(where, "must have levels at its ends that are its limits, or lie within these")
    return {"low_level": low, "high_level": high, "floor": floor, "ceiling": ceiling}


def _to_linear(fields: list[Any], where: str, ends: dict[str, float]) -> LinearMap:
    knots, levels = to_numbers(fields[0], f"{where}.knots", nan=True), to_numbers(fields[1], f"{where}.levels")
    if len(knots) != len(levels) or len(knots) < 2:
        raise_invalid(
            where, f"must have one level per knot and at least 2, got {len(knots)} knots, {len(levels)} levels"
        )
    if np.isnan(knots).any():  # a column without values
        if len(knots) > 2 or not np.isnan(knots).all():
            raise_invalid(f"{where}.knots", "must be numbers")
        return build_linear_map(knots, levels, 0.0)
    constant = len(knots) == 2 and knots[0] == knots[1]
    if not (is_ascending(knots, strictly=True) or constant) or float(knots[-1]) - float(knots[0]) == inf:
        raise_invalid(f"{where}.knots", "must increase over a finite range")
    if not _fit_levels(levels, ends) or not is_ascending(levels):
        raise_invalid(f"{where}.levels", "must increase from the level at one end to that at the other")
    return build_linear_map(knots, levels, 0.0)


def _to_cubic(fields: list[Any], where: str, ends: dict[str, float]) -> CubicMap:
    low, high = to_finite(fields[0], f"{where}.low"), to_finite(fields[1], f"{where}.high")
    unit, scale = to_positive(fields[2], f"{where}.unit"), to_positive(fields[3], f"{where}.scale")
    rows = to_rows(fields[4], f"{where}.coefficients", 4)
    if unit not in (1.0, 2.0**-SMALL_RANGE_EXPONENT):
        raise_invalid(f"{where}.unit", f"must be 1 or 2**{-SMALL_RANGE_EXPONENT}, got {shortened(fields[2])}")
    n = len(rows) - 1
    if not 1 <= n <= 2 * MAX_INTERVALS + 1:
        raise_invalid(f"{where}.coefficients", f"must have 2 to {2 * MAX_INTERVALS + 2} rows, got {n + 1}")
    # The last interval must contain `high`: then no position between the ends lies beyond the last row.
    if not low < high or not n - 1 - 1e-6 <= (high - low) * unit * scale <= n + 1e-6:
        raise_invalid(where, f"must have a scale with which {n} intervals reach from low to high")
    if not _are_monotone(rows, ends):
        raise_invalid(f"{where}.coefficients", "must be monotone cubics from the level at one end to that at the other")
    return CubicMap(low, high, 1.0, 1.0, 0.0, scale, rows, unit=unit)


def _fit_levels(levels: Float64Array, ends: dict[str, float], beyond: float = 0.0) -> bool:
    """Return whether levels begin and end with those at the ends of a map, the last `beyond` those at most."""
    low, high = ends["low_level"], ends["high_level"]
    if ends["floor"] == low:
        return bool(levels[0] == low and high - beyond <= levels[-1] and (beyond or levels[-1] == high))
    # The levels at the ends lie within the limits, by a rounding at least.
    first, last = max(levels[0], np.nextafter(ends["floor"], inf)), min(levels[-1], np.nextafter(ends["ceiling"], -inf))
    return bool(first == low and last == high)


def _are_monotone(rows: Float64Array, level_ends: dict[str, float]) -> bool:
    """Return whether cubics join and have end slopes from rise/4 to 2 rise, up to rounding (see cpp/cubics.hpp)."""
    levels, left = rows[:, 0], rows[:-1, 1]
    with np.errstate(over="ignore", invalid="ignore"):
        rise, reached = np.diff(levels), rows[:-1, 1:].sum(axis=1)
        right = rows[:-1, 1:] @ [1.0, 2.0, 3.0]
        tolerance = RELATIVE_ROUNDING * rise + ABSOLUTE_ROUNDING
        fits = (rise >= 0) & (abs(reached - rise) <= tolerance)
        for slope in (left, right):
            fits &= (slope >= rise / 4 - tolerance) & (slope <= 2 * rise + tolerance)
    high = level_ends["high_level"]
    ends = _fit_levels(levels, level_ends, 1e-6 * (high - level_ends["low_level"])) and not rows[-1, 1:].any()
    return bool(ends and levels[-1] < inf and fits.all() and (levels[-1] >= high or rise[-1] > 0))
