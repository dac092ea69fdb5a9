# The compiled core (cpp/module.cpp); numpy_core.py documents the functions, _integral/build.py fit and build_maps.
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdi._utils.typing import Float64Array, FloatArray, Indices, Int64Array

Keys = Float64Array | Int64Array  # the distinct values of a sketch, or the indices of its cells

def scan(array: FloatArray, weights: Float64Array | None, n_threads: int) -> Float64Array: ...
def fill(
    array: FloatArray,
    weights: Float64Array | None,
    scale: Float64Array,
    first: Sequence[int],
    n_cells: Sequence[int],
    n_threads: int,
) -> list[tuple[Int64Array, Float64Array, int]]: ...
def fit(
    table: FloatArray,
    weights: Float64Array | None,
    alphas: Float64Array,
    options: tuple[Any, ...],
    n_threads: int,
) -> tuple[Float64Array, Float64Array, tuple[Any, ...], tuple[Any, ...]]: ...
def build_maps(
    sketches: tuple[Any, ...],
    minimum: Float64Array,
    maximum: Float64Array,
    counts: Float64Array,
    factors: Float64Array,
    is_bandwidth: bool,
    options: tuple[Any, ...],
    merge: bool,
    n_threads: int,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]: ...
def accumulate(
    column: FloatArray, weights: Float64Array | None, scale: float, first: int, moments: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]: ...
def tally(
    column: FloatArray, weights: Float64Array | None, known_values: Keys, masses: Float64Array
) -> tuple[list[float], Float64Array, Float64Array]: ...
def cut(values: Keys, weights: Float64Array, exponent: int) -> tuple[Int64Array, Float64Array]: ...
def doublings(keys: Keys, exponent: int, most: int) -> int: ...
def widen(cells: Keys, moments: Float64Array, n_doublings: int) -> tuple[Int64Array, Float64Array]: ...
def merge(
    keys: Keys, moments: Float64Array, other_keys: Keys, other_moments: Float64Array
) -> tuple[Keys, Float64Array]: ...
def integrate(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]: ...
def slopes(
    positions: Float64Array, moments: Float64Array, width: float, order: int, bandwidth: float, knots: Float64Array
) -> tuple[Float64Array, Float64Array]: ...
def cubics(values: Float64Array, slopes: Float64Array, shape_error: float) -> tuple[Float64Array, float]: ...
def turning_points(
    positions: Sequence[Float64Array],
    moments: Sequence[Float64Array],
    widths: Float64Array,
    bandwidths: Float64Array,
    lengths: Float64Array,
    n_threads: int,
) -> list[tuple[Float64Array, Float64Array]]: ...
def assign(array: FloatArray, cuts: Sequence[Float64Array], out: Int64Array, n_threads: int) -> None: ...
def weights_between(
    array: FloatArray, weights: Float64Array | None, cuts: Sequence[Float64Array], n_threads: int
) -> list[Float64Array]: ...

class PackedMaps:
    def __init__(
        self,
        kind: NDArray[np.uint8],
        low: Float64Array,
        high: Float64Array,
        unit: Float64Array,
        scale: Float64Array,
        low_slope: Float64Array,
        high_slope: Float64Array,
        low_level: Float64Array,
        high_level: Float64Array,
        floor: Float64Array,
        ceiling: Float64Array,
        start: Int64Array,
        n_knots: Int64Array,
        coefficients: Float64Array,
        knots: Float64Array,
        levels: Float64Array,
        guide: NDArray[np.int32],
    ) -> None: ...

def forward(
    maps: PackedMaps, array: FloatArray, out: FloatArray, out_of_range: int, n_threads: int, to_scores: bool = False
) -> int: ...
def inverse(maps: PackedMaps, array: FloatArray, out: FloatArray, out_of_range: int, n_threads: int) -> int: ...
def forward_stored(
    maps: PackedMaps,
    columns: Indices,
    values: FloatArray,
    out: FloatArray,
    out_of_range: int,
    n_threads: int,
    to_scores: bool = False,
) -> int: ...
def inverse_stored(
    maps: PackedMaps, columns: Indices, values: FloatArray, out: FloatArray, out_of_range: int, n_threads: int
) -> int: ...
def levels(
    array: Float64Array,
    weights: Float64Array | None,
    out: Float64Array,
    alphas: Float64Array,
    order: int,
    kernel_scale: float,
    flat: float,
    cdf_error: float,
    n_threads: int,
) -> Float64Array: ...
