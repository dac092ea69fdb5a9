"""Single values of a saved model: as JSON has them, and read back only where they are what they must be."""

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
    raise ValueError(f"this is not a valid model: {where}: {what}.")


def shortened(value: Any) -> str:
    """A value for a message, however long it is."""
    return reprlib.repr(value)


def to_json_value(value: Any, name: str) -> Any:
    """A parameter as JSON has it: NumPy's numbers and arrays become plain ones."""
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
    raise ValueError(f"{name} cannot be saved: JSON has no {type(value).__name__}.")


def from_json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: from_json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [from_json_value(one) for one in value]
    # NaN is no valid parameter; "nan" is, for what becomes of values out of range.
    return NOT_FINITE[value] if value in ("inf", "-inf") else value


def json_number(value: Any) -> float | str:
    value = float(value)
    return value if isfinite(value) else repr(value)


def json_numbers(values: Float64Array | Int64Array) -> list[Any]:
    """An array of one or two dimensions, as lists."""
    if np.isfinite(values).all():
        return list(values.tolist())
    return [json_number(value) for value in values.tolist()]


def require_fields(value: Any, where: str, names: list[str]) -> list[Any]:
    """The fields of an object that has these and no others."""
    if not isinstance(value, dict):
        raise_invalid(where, f"must be an object, got {shortened(value)}")
    for name in names:
        if name not in value:
            raise_invalid(where, f"has no {name!r}")
    for name in value:
        if name not in names:
            raise_invalid(where, f"has a field {shortened(name)}, which is not known")
    return [value[name] for name in names]


def to_number(value: Any, where: str, least: float = -inf, most: float = inf, *, nan: bool = False) -> float:
    """A number between two others; NaN where that is allowed."""
    result = NOT_FINITE.get(value) if isinstance(value, str) else value
    if type(result) is int:
        result = float(result)
    if type(result) is not float or not (least <= result <= most or (nan and isnan(result))):
        raise_invalid(where, f"must be a number between {least} and {most}, got {shortened(value)}")
    return result


def to_finite(value: Any, where: str) -> float:
    largest = float(np.finfo(float).max)
    return to_number(value, where, -largest, largest)


def to_positive(value: Any, where: str) -> float:
    result = to_finite(value, where)
    if not result > 0:
        raise_invalid(where, f"must be positive, got {shortened(value)}")
    return result


def to_count(value: Any, where: str) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise_invalid(where, f"must be a whole number >= 0, got {shortened(value)}")
    return int(value)


def to_numbers(value: Any, where: str, *, nan: bool = False) -> Float64Array:
    """Finite numbers, and NaN where that is allowed."""
    if not isinstance(value, list):
        raise_invalid(where, f"must be a list of numbers, got {shortened(value)}")
    if nan:
        value = [NOT_FINITE["nan"] if one == "nan" else one for one in value]
    if not set(map(type, value)) <= {int, float}:
        raise_invalid(where, f"must be a list of numbers, got {shortened(value)}")
    return np.array(value, dtype=float)


def is_ascending(values: Float64Array, *, strictly: bool = False) -> bool:
    """Whether each is no less than the one before it, or more; differences might overflow."""
    return bool((values[1:] > values[:-1]).all() if strictly else (values[1:] >= values[:-1]).all())


def to_rows(value: Any, where: str, width: int) -> Float64Array:
    """Rows of so many finite numbers each."""
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == width for row in value):
        raise_invalid(where, f"must be rows of {width} numbers, got {shortened(value)}")
    return to_numbers([one for row in value for one in row], where).reshape(-1, width)
