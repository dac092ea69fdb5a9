"""Single values of a saved model: conversion to JSON, and back with checks."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from math import inf, isfinite, isnan
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from kdi._utils.typing import Float64Array, Int64Array

NOT_FINITE = {"nan": float("nan"), "inf": inf, "-inf": -inf}


def raise_invalid(where: str, what: str) -> NoReturn:
    """Raise the error of an invalid field; `where` is its path in the document."""
    raise ValueError(f"this is not a valid model: {where}: {what}.")


def shortened(value: Any) -> str:
    """Format a value for a message, shortened if it is long."""
    return reprlib.repr(value)


def to_json_value(value: Any, name: str) -> Any:
    """Convert a parameter to JSON: numbers and arrays of NumPy become plain numbers and lists."""
    if value is None or isinstance(value, bool | np.bool_):
        return value if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return json_number(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): to_json_value(one, name) for key, one in value.items()}
    if np.ndim(value):
        return [to_json_value(one, name) for one in value]
    raise ValueError(f"{name} cannot be saved as JSON: it is of type {type(value).__name__}.")


def from_json_value(value: Any) -> Any:
    """Convert a parameter back from JSON."""
    if isinstance(value, dict):
        return {key: from_json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [from_json_value(one) for one in value]
    # "nan" stays text: it is a value of out_of_range, and no parameter may be NaN.
    return NOT_FINITE[value] if value in ("inf", "-inf") else value


def json_number(value: Any) -> float | str:
    """Convert a number to JSON, which has no NaN and no infinities."""
    value = float(value)
    return value if isfinite(value) else repr(value)


def json_numbers(values: Float64Array | Int64Array) -> list[Any]:
    """Convert an array to lists; one of two dimensions must be finite."""
    if np.isfinite(values).all():
        return list(values.tolist())
    return [json_number(value) for value in values.tolist()]


def require_fields(value: Any, where: str, names: list[str]) -> list[Any]:
    """Return the fields of an object, which must have these and no others."""
    if not isinstance(value, dict):
        raise_invalid(where, f"must be an object, got {shortened(value)}")
    for name in names:
        if name not in value:
            raise_invalid(where, f"must have a field {name!r}")
    for name in value:
        if name not in names:
            raise_invalid(where, f"must not have the unknown field {shortened(name)}")
    return [value[name] for name in names]


def to_number(value: Any, where: str, least: float = -inf, most: float = inf, *, nan: bool = False) -> float:
    """Read a number between two others; NaN only if it is allowed."""
    result = NOT_FINITE.get(value) if isinstance(value, str) else value
    if type(result) is int:
        result = float(result)
    if type(result) is not float or not (least <= result <= most or (nan and isnan(result))):
        raise_invalid(where, f"must be a number between {least} and {most}, got {shortened(value)}")
    return result


def to_finite(value: Any, where: str) -> float:
    """Read a finite number."""
    largest = float(np.finfo(float).max)
    return to_number(value, where, -largest, largest)


def to_positive(value: Any, where: str) -> float:
    """Read a finite number > 0."""
    result = to_finite(value, where)
    if not result > 0:
        raise_invalid(where, f"must be positive, got {shortened(value)}")
    return result


def to_count(value: Any, where: str) -> int:
    """Read an integer >= 0."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise_invalid(where, f"must be an integer >= 0, got {shortened(value)}")
    return int(value)


def to_numbers(value: Any, where: str, *, nan: bool = False) -> Float64Array:
    """Read a list of finite numbers; NaN only if it is allowed."""
    if not isinstance(value, list):
        raise_invalid(where, f"must be a list of numbers, got {shortened(value)}")
    if nan:
        value = [NOT_FINITE["nan"] if one == "nan" else one for one in value]
    if not set(map(type, value)) <= {int, float}:
        raise_invalid(where, f"must be a list of numbers, got {shortened(value)}")
    return np.array(value, dtype=float)


def is_ascending(values: Float64Array, *, strictly: bool = False) -> bool:
    """Return whether values increase; differences, which might overflow, are not computed."""
    return bool((values[1:] > values[:-1]).all() if strictly else (values[1:] >= values[:-1]).all())


def to_rows(value: Any, where: str, width: int) -> Float64Array:
    """Read a list of rows of `width` finite numbers."""
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == width for row in value):
        raise_invalid(where, f"must be a list of rows of {width} numbers, got {shortened(value)}")
    return to_numbers([one for row in value for one in row], where).reshape(-1, width)
