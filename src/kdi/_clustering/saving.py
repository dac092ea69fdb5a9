"""Saved discretizers: the valleys, the density and the bins of each feature, as JSON and back."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kdi._clustering.bins import check_n_bins, object_array, per_feature_values
from kdi._clustering.modes import Modes
from kdi._clustering.valleys import GAUSSIAN, MIN_BANDWIDTH, Pruning, Valleys, check_bandwidth
from kdi._integral.integral import Integral
from kdi._saving.document import DISCRETIZER, read_document, restore_estimator, write_document
from kdi._saving.maps import RELATIVE_ROUNDING, map_from_json, map_to_json
from kdi._saving.values import (
    is_ascending,
    json_number,
    json_numbers,
    raise_invalid,
    require_fields,
    shortened,
    to_finite,
    to_number,
    to_numbers,
    to_positive,
    to_rows,
)
from kdi._utils.typing import Float64Array

MODES = ["peaks", "valleys", "peak_densities", "valley_densities"]
DENSITY = ["low", "high", "bandwidth", "width", "grid", "value_error", "density_error"]
BIN_FIELDS = ["edges", "centers", "representatives"]


def discretizer_to_json(estimator: Any) -> str:
    """Write a fitted KDIDiscretizer as text."""
    check_is_fitted(estimator)
    _check_fit_parameters(estimator, len(estimator.valleys_))
    per_feature = zip(
        estimator.valleys_, estimator.bin_edges_, estimator.centers_, estimator.representatives_, strict=True
    )
    features = [
        _valleys_to_json(valleys) | dict(zip(BIN_FIELDS, map(json_numbers, bins), strict=True))
        for valleys, *bins in per_feature
    ]
    return write_document(estimator, DISCRETIZER, {}, features)


def discretizer_from_json(cls: type[Any], text: Any) -> Any:
    """Read the fitted estimator of class `cls` that `discretizer_to_json` wrote; raise ValueError for other text."""
    return read_document(text, DISCRETIZER, lambda document: _to_discretizer(cls, document))


def _to_discretizer(cls: type[Any], document: dict[str, Any]) -> Any:
    estimator, _, features = restore_estimator(cls, document, [])
    _check_fit_parameters(estimator, len(features))
    found = [_feature_from_json(feature, where) for where, feature in features]
    estimator.valleys_ = [valleys for valleys, *_ in found]
    estimator.alpha_ = np.array([valleys.alpha for valleys in estimator.valleys_])
    estimator.bin_edges_ = object_array([edges for _, edges, _, _ in found])
    estimator.n_bins_ = np.array([len(edges) - 1 for _, edges, _, _ in found])
    estimator.centers_ = object_array([centers for _, _, centers, _ in found])
    estimator.representatives_ = [representatives for *_, representatives in found]
    return estimator


def _check_fit_parameters(estimator: Any, n_features: int) -> None:
    """Check the parameters that otherwise only `fit` checks."""
    Pruning(estimator.min_size, estimator.significance)
    per_feature_values(estimator.bandwidth, n_features, "bandwidth", check_bandwidth)
    per_feature_values(estimator.n_bins, n_features, "n_bins", check_n_bins)


def _valleys_to_json(valleys: Valleys) -> dict[str, Any]:
    return {
        "alpha": json_number(valleys.alpha),
        "map": map_to_json(valleys.column_map),
        "density": None if valleys.density is None else _density_to_json(valleys.density),
        "modes": {name: json_numbers(getattr(valleys.modes, name)) for name in MODES},
        "sizes": json_numbers(valleys.sizes),
    }


def _feature_from_json(feature: Any, where: str) -> tuple[Valleys, Float64Array, Float64Array, Float64Array]:
    """Read a feature: its valleys, and the edges, centers and representatives of its bins."""
    names = ["alpha", "map", "density", "modes", "sizes", *BIN_FIELDS]
    alpha, column_map, density, modes, sizes, edges, centers, representatives = require_fields(feature, where, names)
    valleys = Valleys(
        map_from_json(column_map, f"{where}.map"),
        None if density is None else _density_from_json(density, f"{where}.density"),
        _modes_from_json(modes, f"{where}.modes"),
        to_numbers(sizes, f"{where}.sizes", nan=True),
        to_number(alpha, f"{where}.alpha", 0, nan=True),
    )
    if len(valleys.sizes) != valleys.n_clusters or (valleys.sizes < 0).any():
        raise_invalid(
            f"{where}.sizes",
            f"must be {valleys.n_clusters} numbers >= 0, one per peak, got {shortened(sizes)}",
        )
    low, high = valleys.column_map.low, valleys.column_map.high
    if valleys.density is None:
        if valleys.n_clusters > 1 or edges != ["-inf", "inf"]:
            raise_invalid(where, "must have a density where it has several bins, got null")
        cuts = np.array([-inf, inf])
    else:
        _check_positions(valleys.modes, valleys.density.high - valleys.density.low, f"{where}.modes")
        cuts = to_numbers(edges, f"{where}.edges")
        valid = len(cuts) == valleys.n_clusters + 1 and is_ascending(cuts, strictly=True)
        if not valid or (cuts[0], cuts[-1]) != (low, high):
            raise_invalid(
                f"{where}.edges",
                f"must be {valleys.n_clusters + 1} numbers that increase from {low} to {high}, got {shortened(edges)}",
            )
    n_bins = len(cuts) - 1
    return (
        valleys,
        cuts,
        _bin_values(centers, n_bins, valleys, f"{where}.centers"),
        _bin_values(representatives, n_bins, valleys, f"{where}.representatives"),
    )


def _bin_values(given: Any, n_bins: int, valleys: Valleys, where: str) -> Float64Array:
    """Read one value per bin, in the range of the feature; NaN for a feature without values."""
    values, low, high = to_numbers(given, where, nan=True), valleys.column_map.low, valleys.column_map.high
    inside = (values >= low) & (values <= high) if valleys.n_clusters else np.isnan(values)
    if len(values) != n_bins or not inside.all():
        raise_invalid(where, f"must be {n_bins} numbers between {low} and {high}, one per bin, got {shortened(given)}")
    return values


def _modes_from_json(value: Any, where: str) -> Modes:
    found = [
        to_numbers(one, f"{where}.{name}") for one, name in zip(require_fields(value, where, MODES), MODES, strict=True)
    ]
    peaks, valleys, peak_densities, valley_densities = found
    if len(peaks) != len(peak_densities) or len(valleys) != len(valley_densities):
        raise_invalid(where, "must have one density per peak and per valley")
    if len(valleys) != max(len(peaks) - 1, 0):
        raise_invalid(where, f"must have one valley between two peaks, got {len(peaks)} peaks, {len(valleys)} valleys")
    return Modes(*found)


def _check_positions(modes: Modes, length: float, where: str) -> None:
    positions = np.empty(len(modes.peaks) + len(modes.valleys))
    positions[::2], positions[1::2] = modes.peaks, modes.valleys
    if not len(positions) or not is_ascending(positions) or not is_ascending(modes.valleys, strictly=True):
        raise_invalid(where, "peaks and valleys must alternate and increase")
    if not (positions[0] >= 0 and positions[-1] <= length):
        raise_invalid(where, "peaks and valleys must lie in the range of the density")


def _density_to_json(density: Integral) -> dict[str, Any]:
    scalars = {name: json_number(getattr(density, name)) for name in DENSITY}
    return scalars | {"positions": json_numbers(density.positions), "moments": json_numbers(density.moments)}


def _density_from_json(value: Any, where: str) -> Integral:
    *scalars, positions, moments = require_fields(value, where, [*DENSITY, "positions", "moments"])
    numbers = {name: to_finite(one, f"{where}.{name}") for name, one in zip(DENSITY, scalars, strict=True)}
    low, high, width = numbers["low"], numbers["high"], numbers["width"]
    if not 0 <= low < high <= 1:
        raise_invalid(where, f"must have 0 <= low < high <= 1, got {low} and {high}")
    if not 0 <= width <= 1 or not to_positive(scalars[2], f"{where}.bandwidth") > MIN_BANDWIDTH:
        raise_invalid(where, f"must have a width in [0, 1] and a bandwidth above {MIN_BANDWIDTH}")
    if any(numbers[name] < 0 for name in ("grid", "value_error", "density_error")):
        raise_invalid(where, "must have errors and a grid that are not negative")
    cells = to_numbers(positions, f"{where}.positions")
    rows = to_rows(moments, f"{where}.moments", 4 if width else 1)
    if not len(cells) == len(rows) > 0:
        raise_invalid(where, f"must have one row of moments per position, got {len(cells)} and {len(rows)}")
    if not is_ascending(cells) or cells[0] < -width or cells[-1] > high - low + width:
        raise_invalid(f"{where}.positions", "must increase within the range of the density")
    # As in a sketch: no offset from a cell's centre is more than a half.
    with np.errstate(over="ignore"):
        largest = rows[:, :1] * 0.5 ** np.arange(rows.shape[1]) * (1 + RELATIVE_ROUNDING)
        weight = rows[:, 0].sum()
    if (rows[:, 0] < 0).any() or not abs(weight - 1) < 1e-6 or (abs(rows) > largest).any():
        raise_invalid(f"{where}.moments", "must be those of values of total weight 1")
    return Integral(kernel=GAUSSIAN, positions=cells, moments=rows, **numbers)
