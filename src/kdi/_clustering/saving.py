"""Saved discretizers: a feature's valleys, the density they are valleys of, and its bins, as JSON and back."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kdi._clustering.bins import check_n_bins, object_array, per_feature_values
from kdi._clustering.modes import Modes
from kdi._clustering.valleys import GAUSSIAN, NARROWEST, Pruning, Valleys, check_bandwidth
from kdi._integral.integral import Integral
from kdi._numerics.kernels import get_kernel
from kdi._saving.document import DISCRETIZER, read, to_estimator, to_text
from kdi._saving.maps import ROUNDING_ALLOWANCE, map_from_json, map_to_json
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
BINS = ["edges", "centers", "representatives"]


def discretizer_to_json(estimator: Any) -> str:
    """A fitted KDIDiscretizer as text."""
    check_is_fitted(estimator)
    _check_others(estimator, len(estimator.valleys_))
    per_feature = zip(
        estimator.valleys_, estimator.bin_edges_, estimator.centers_, estimator.representatives_, strict=True
    )
    features = [
        _from_valleys(valleys) | dict(zip(BINS, map(json_numbers, bins), strict=True)) for valleys, *bins in per_feature
    ]
    return to_text(estimator, DISCRETIZER, {}, features)


def discretizer_from_json(cls: type[Any], text: Any) -> Any:
    """The fitted estimator of class `cls` that `discretizer_to_json` wrote; anything else is a ValueError."""
    return read(text, DISCRETIZER, lambda document: _to_discretizer(cls, document))


def _to_discretizer(cls: type[Any], document: dict[str, Any]) -> Any:
    estimator, _, features = to_estimator(cls, document, [])
    _check_others(estimator, len(features))
    found = [_to_feature(feature, where) for where, feature in features]
    estimator.valleys_ = [valleys for valleys, *_ in found]
    estimator.alpha_ = np.array([valleys.alpha for valleys in estimator.valleys_])
    estimator.bin_edges_ = object_array([edges for _, edges, _, _ in found])
    estimator.n_bins_ = np.array([len(edges) - 1 for _, edges, _, _ in found])
    estimator.centers_ = object_array([centers for _, _, centers, _ in found])
    estimator.representatives_ = [representatives for *_, representatives in found]
    return estimator


def _check_others(estimator: Any, n_features: int) -> None:
    """The parameters that only `fit` looks at."""
    get_kernel(estimator.kernel)
    Pruning(estimator.min_size, estimator.significance)
    per_feature_values(estimator.bandwidth, n_features, "bandwidth", check_bandwidth)
    per_feature_values(estimator.n_bins, n_features, "n_bins", check_n_bins)


def _from_valleys(valleys: Valleys) -> dict[str, Any]:
    return {
        "alpha": json_number(valleys.alpha),
        "table": map_to_json(valleys.table),
        "density": None if valleys.density is None else _from_density(valleys.density),
        "modes": {name: json_numbers(getattr(valleys.modes, name)) for name in MODES},
        "sizes": json_numbers(valleys.sizes),
    }


def _to_feature(feature: Any, where: str) -> tuple[Valleys, Float64Array, Float64Array, Float64Array]:
    """A feature's valleys; edges, centers and representatives of its bins."""
    names = ["alpha", "table", "density", "modes", "sizes", *BINS]
    alpha, table, density, modes, sizes, edges, centers, representatives = require_fields(feature, where, names)
    valleys = Valleys(
        map_from_json(table, f"{where}.table"),
        None if density is None else _to_density(density, f"{where}.density"),
        _to_modes(modes, f"{where}.modes"),
        to_numbers(sizes, f"{where}.sizes", nan=True),
        to_number(alpha, f"{where}.alpha", 0, nan=True),
    )
    if len(valleys.sizes) != valleys.n_clusters or (valleys.sizes < 0).any():
        raise_invalid(
            f"{where}.sizes", f"must be {valleys.n_clusters}, one a peak and none negative, got {shortened(sizes)}"
        )
    low, high = valleys.table.low, valleys.table.high
    if valleys.density is None:
        if valleys.n_clusters > 1 or edges != ["-inf", "inf"]:
            raise_invalid(where, "has bins, but no density that they could come from")
        cuts = np.array([-inf, inf])
    else:
        _check_places(valleys.modes, valleys.density.high - valleys.density.low, f"{where}.modes")
        cuts = to_numbers(edges, f"{where}.edges")
        right = len(cuts) == valleys.n_clusters + 1 and is_ascending(cuts, strictly=True)
        if not right or (cuts[0], cuts[-1]) != (low, high):
            raise_invalid(
                f"{where}.edges", f"must ascend from {low} to {high} around the peaks, got {shortened(edges)}"
            )
    n_bins = len(cuts) - 1
    return (
        valleys,
        cuts,
        _inside(centers, n_bins, valleys, f"{where}.centers"),
        _inside(representatives, n_bins, valleys, f"{where}.representatives"),
    )


def _inside(given: Any, n_bins: int, valleys: Valleys, where: str) -> Float64Array:
    """A value for each bin, in the range of the feature; NaN where there is none."""
    values, low, high = to_numbers(given, where, nan=True), valleys.table.low, valleys.table.high
    inside = (values >= low) & (values <= high) if valleys.n_clusters else np.isnan(values)
    if len(values) != n_bins or not inside.all():
        raise_invalid(where, f"must be one a bin, between {low} and {high}, got {shortened(given)}")
    return values


def _to_modes(value: Any, where: str) -> Modes:
    found = [
        to_numbers(one, f"{where}.{name}") for one, name in zip(require_fields(value, where, MODES), MODES, strict=True)
    ]
    peaks, valleys, peak_densities, valley_densities = found
    if len(peaks) != len(peak_densities) or len(valleys) != len(valley_densities):
        raise_invalid(where, "peaks and valleys must each have a density")
    if len(valleys) != max(len(peaks) - 1, 0):
        raise_invalid(where, f"{len(peaks)} peaks do not have {len(valleys)} valleys between them")
    return Modes(*found)


def _check_places(modes: Modes, length: float, where: str) -> None:
    places = np.empty(len(modes.peaks) + len(modes.valleys))
    places[::2], places[1::2] = modes.peaks, modes.valleys
    if not len(places) or not is_ascending(places) or not is_ascending(modes.valleys, strictly=True):
        raise_invalid(where, "peaks and valleys must ascend by turns")
    if not (places[0] >= 0 and places[-1] <= length):
        raise_invalid(where, "peaks and valleys must lie in the range of the density")


def _from_density(density: Integral) -> dict[str, Any]:
    scalars = {name: json_number(getattr(density, name)) for name in DENSITY}
    return scalars | {"positions": json_numbers(density.positions), "moments": json_numbers(density.moments)}


def _to_density(value: Any, where: str) -> Integral:
    *scalars, positions, moments = require_fields(value, where, [*DENSITY, "positions", "moments"])
    numbered = {name: to_finite(one, f"{where}.{name}") for name, one in zip(DENSITY, scalars, strict=True)}
    low, high, width = numbered["low"], numbered["high"], numbered["width"]
    if not 0 <= low < high <= 1:
        raise_invalid(where, f"must have 0 <= low < high <= 1, got {low} and {high}")
    if not 0 <= width <= 1 or not to_positive(scalars[2], f"{where}.bandwidth") > NARROWEST:
        raise_invalid(where, f"must have a width in [0, 1] and a bandwidth above {NARROWEST}")
    if any(numbered[name] < 0 for name in ("grid", "value_error", "density_error")):
        raise_invalid(where, "must not have errors, or a grid, below 0")
    places = to_numbers(positions, f"{where}.positions")
    mass = to_rows(moments, f"{where}.moments", 4 if width else 1)
    if not len(places) == len(mass) > 0:
        raise_invalid(where, f"{len(places)} positions do not have {len(mass)} rows of moments")
    if not is_ascending(places) or places[0] < -width or places[-1] > high - low + width:
        raise_invalid(f"{where}.positions", "must ascend, in the range of the density")
    # As in a sketch: no offset from a cell's centre is more than a half.
    with np.errstate(over="ignore"):
        largest = mass[:, :1] * 0.5 ** np.arange(mass.shape[1]) * (1 + ROUNDING_ALLOWANCE)
        weight = mass[:, 0].sum()
    if (mass[:, 0] < 0).any() or not abs(weight - 1) < 1e-6 or (abs(mass) > largest).any():
        raise_invalid(f"{where}.moments", "must be those of values of total weight 1")
    return Integral(kernel=GAUSSIAN, positions=places, moments=mass, **numbered)
