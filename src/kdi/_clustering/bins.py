"""Bins of the discretizer: their edges, their names, and parameters that may differ between features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdi._clustering.valleys import Valleys
from kdi._utils.typing import Float64Array
from kdi._utils.validation import is_integer, n_dimensions


def bin_edges(valleys: Valleys) -> Float64Array:
    """Return the edges of a feature's bins, from its smallest value to its largest; infinite ones for a constant."""
    return np.array([-np.inf, np.inf]) if valleys.density is None else valleys.edges


def interval_names(edges: Float64Array) -> list[str]:
    """Name bins by their intervals, with so many digits that no boundary moves by 1% of the narrowest bin."""
    boundaries = edges[1:-1]
    if not len(boundaries):
        return ["(-inf, inf)"]
    for digits in range(3, 18):
        rounded = np.array([float(f"{boundary:.{digits}g}") for boundary in boundaries])
        if (abs(rounded - boundaries) <= 0.01 * np.diff(edges).min()).all():
            break
    ends = ["-inf", *(_format_boundary(boundary) for boundary in rounded), "inf"]
    return [f"{'[' if k else '('}{ends[k]}, {ends[k + 1]})" for k in range(len(ends) - 1)]


def _format_boundary(boundary: float) -> str:
    """Write a number without an exponent, where that is readable."""
    if boundary == 0 or 1e-4 <= abs(boundary) < 1e15:
        return np.format_float_positional(boundary, trim="-")
    return repr(float(boundary))


def object_array(arrays: list[Float64Array]) -> Any:
    """Put arrays of different lengths into an array of objects, as scikit-learn's KBinsDiscretizer does."""
    result = np.empty(len(arrays), dtype=object)
    for j, array in enumerate(arrays):
        result[j] = array
    return result


def per_feature_values(parameter: Any, n_features: int, name: str, check: Callable[[Any], None]) -> list[Any]:
    """Return the checked value of a parameter for each feature; a single value is that of all features."""
    is_single = isinstance(parameter, str) or n_dimensions(parameter) == 0
    values = [parameter] * n_features if is_single else list(parameter)
    if len(values) != n_features:
        raise ValueError(
            f"{name} must be one value for all features or one per feature ({n_features}), got {len(values)}."
        )
    for value in values:
        check(value)
    return values


def check_n_bins(n_bins: Any) -> None:
    """Raise unless a number of bins is "auto" or an integer >= 2."""
    if not (n_bins == "auto" if isinstance(n_bins, str) else is_integer(n_bins) and n_bins >= 2):
        raise ValueError(f"n_bins must be 'auto' or an integer >= 2, got {n_bins!r}.")
