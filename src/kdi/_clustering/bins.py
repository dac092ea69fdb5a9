"""Bins: small parts of the discretizer, from edges and their names to parameters that are one a feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdi._clustering.valleys import Valleys
from kdi._utils.typing import Float64Array
from kdi._utils.validation import is_integer


def edges_of(valleys: Valleys) -> Float64Array:
    """Edges of a feature's bins, from its smallest value to its largest."""
    if valleys.density is None:
        return np.array([-np.inf, np.inf])
    return np.concatenate([[valleys.table.low], valleys.boundaries, [valleys.table.high]])


def intervals(edges: Float64Array) -> list[str]:
    """Bins in words, with as many digits as move no boundary by a hundredth of the narrowest bin."""
    boundaries = edges[1:-1]
    if not len(boundaries):
        return ["(-inf, inf)"]
    for digits in range(3, 18):
        rounded = np.array([float(f"{boundary:.{digits}g}") for boundary in boundaries])
        if (abs(rounded - boundaries) <= 0.01 * np.diff(edges).min()).all():
            break
    ends = ["-inf", *(_plain(number) for number in rounded), "inf"]
    return [f"{'[' if k else '('}{ends[k]}, {ends[k + 1]})" for k in range(len(ends) - 1)]


def _plain(number: float) -> str:
    """A number without an exponent, where that is readable."""
    if number == 0 or 1e-4 <= abs(number) < 1e15:
        return np.format_float_positional(number, trim="-")
    return repr(float(number))


def object_array(arrays: list[Float64Array]) -> Any:
    """Arrays of different lengths in an array of objects, as scikit-learn has them."""
    result = np.empty(len(arrays), dtype=object)
    for j, array in enumerate(arrays):
        result[j] = array
    return result


def per_feature_values(given: Any, n_features: int, name: str, check: Callable[[Any], None]) -> list[Any]:
    """A parameter that is one for all features, or one for each."""
    single = isinstance(given, str) or np.ndim(given) == 0
    values = [given] * n_features if single else list(given)
    if len(values) != n_features:
        raise ValueError(f"{name} must be one for all features or one for each of {n_features}, got {len(values)}.")
    for value in values:
        check(value)
    return values


def constant_name(name: str, places: list[int]) -> str:
    """The name of a column that is looked at alone."""
    return name


def check_n_bins(n_bins: Any) -> None:
    if not (n_bins == "auto" if isinstance(n_bins, str) else is_integer(n_bins) and n_bins >= 2):
        raise ValueError(f"n_bins must be 'auto' or a whole number >= 2, got {n_bins!r}.")
