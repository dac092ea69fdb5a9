"""Paired samples, read as scipy.stats reads them, and Pearson's formula on their KD-integrals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdi._integral.bandwidth import bandwidth_factor
from kdi._integral.levels import column_levels
from kdi._numerics.kernels import Kernel
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers, as_weights, check_some_weight, is_integer, to_float, unit_weights

Booleans = NDArray[np.bool_]
UNIT_ROUNDING = 1e-15  # rounding of a correlation near 1: p-values of small samples would show its square root


class UnitVectors(NamedTuple):
    """Integrals centred and divided by their norm, so that a correlation is a sum of products."""

    vectors: Float64Array
    norms: Float64Array  # before the division: 0 for a constant, NaN for infinite values
    errors: Float64Array  # a bound on the length of each vector's error


def unit_vectors(
    samples: Float64Array, weights: Float64Array | None, alphas: list[Any], kernel: Kernel, n_jobs: int | None = None
) -> UnitVectors:
    """Compute the unit vectors of the integrals of many samples, one sample per row; NaN is left out of each."""
    factors = np.array([1.0 if isinstance(alpha, str) else to_float(alpha) for alpha in alphas])
    for j in [j for j, alpha in enumerate(alphas) if isinstance(alpha, str)]:  # the rules depend on the sample's size
        known = ~np.isnan(samples[j])
        factors[j] = bandwidth_factor(alphas[j], float(known.sum() if weights is None else weights[known].sum()))
    weights = None if weights is None else unit_weights(weights)
    levels, bounds = column_levels(samples.T, weights, factors, kernel, count_threads(n_jobs, samples.size))
    vectors = levels.T
    totals = _centre(vectors, weights)
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors /= norms[:, None]
        distances = bounds * np.sqrt(totals) / norms
        # Two vectors a and b, divided by their norms, are no further apart than 2 |a - b| / (|a| + |b|).
        errors = np.where(distances < 1, distances / (1 - 0.5 * distances), distances + 2)
    return UnitVectors(vectors, norms, errors)


def _centre(levels: Float64Array, weights: Float64Array | None) -> Float64Array:
    """Subtract the mean of levels along the last axis, in place, and multiply by the roots of the weights.

    Products of such vectors are the sums of Pearson's formula. NaN becomes 0, so that it does not count. Return the
    sums of the weights.
    """
    if weights is None and not np.isnan(levels.sum()):
        levels -= levels.mean(axis=-1, keepdims=True)
        return np.full(levels.shape[:-1], float(levels.shape[-1]))
    counted = np.where(np.isnan(levels), 0.0, 1.0 if weights is None else weights)
    total = counted.sum(axis=-1)
    levels[counted == 0] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        levels -= ((levels * counted).sum(axis=-1) / total)[..., None]
    levels *= np.sqrt(counted)
    return np.asarray(total)


@dataclass(frozen=True)
class PairedSamples:
    """Two samples, with rows along the last axis; a row that is left out is NaN in both."""

    x: Float64Array
    y: Float64Array
    weights: Float64Array | None
    undefined: Booleans  # slices whose NaN propagates to the result
    alphas: tuple[Any, Any]
    kernel: Kernel

    @property
    def n(self) -> Float64Array:
        """Sample size of each slice: the number of rows, or the sum of their weights."""
        return self._sum(self.weights)

    @property
    def n_rows(self) -> Float64Array:
        """Number of rows of each slice, whatever their weights."""
        return self._sum(None)

    @property
    def has_missing(self) -> bool:
        """True if rows are left out, so that slices may differ in length."""
        return bool(np.isnan(self.x).any())

    def correlate(self, x: Float64Array, y: Float64Array, axis: int = -1) -> Float64Array:
        """Compute the statistic of two resampled samples, each with integrals of its own; resampling calls this."""
        return correlate(self.to_unit_vectors(x, 0), self.to_unit_vectors(y, 1))

    def to_unit_vectors(self, values: Float64Array, which: int) -> UnitVectors:
        """Compute unit vectors of the integrals of values in the place of the first (0) or second (1) sample."""
        rows = values.reshape(-1, values.shape[-1])
        units = unit_vectors(rows, self.weights, [self.alphas[which]] * len(rows), self.kernel)
        outer = values.shape[:-1]
        return UnitVectors(units.vectors.reshape(values.shape), units.norms.reshape(outer), units.errors.reshape(outer))

    def repeated(self) -> PairedSamples:
        """Repeat every row as often as its weight says, so that no weights are left."""
        if self.weights is None:
            return self
        counts = repetitions(self.weights)
        x, y = np.repeat(self.x, counts, axis=-1), np.repeat(self.y, counts, axis=-1)
        return replace(self, x=x, y=y, weights=None)

    def slices(self) -> list[PairedSamples]:
        """Separate the slices, each without the rows that are left out."""
        length = self.x.shape[-1]
        result = []
        for x, y, undefined in zip(
            self.x.reshape(-1, length), self.y.reshape(-1, length), self.undefined.ravel(), strict=True
        ):
            known = ~np.isnan(x)
            result.append(replace(self, x=x[known], y=y[known], undefined=np.asarray(undefined)))
        return result

    def _sum(self, weights: Float64Array | None) -> Float64Array:
        known = ~np.isnan(self.x)
        return np.asarray(known.sum(axis=-1) if weights is None else known @ weights, dtype=float)


def correlate(x: UnitVectors, y: UnitVectors) -> Float64Array:
    """Compute the correlations of unit vectors."""
    return snap_to_unit(np.einsum("...n,...n->...", x.vectors, y.vectors))


def snap_to_unit(products: Any) -> Float64Array:
    """Undo the rounding that moved correlations off 1 or -1, or beyond."""
    return np.asarray(np.where(abs(products) > 1 - UNIT_ROUNDING, np.sign(products), products))


def read_samples(
    x: ArrayLike,
    y: ArrayLike,
    axis: int | None,
    nan_policy: str,
    weights: ArrayLike | None,
    alphas: tuple[Any, Any],
    kernel: Kernel,
) -> PairedSamples:
    """Check and read two samples; the messages are those of scipy.stats.pearsonr and spearmanrho."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"nan_policy must be one of {{'omit', 'propagate', 'raise'}}, got {nan_policy!r}.")
    first, second = _read(x, "x"), _read(y, "y")
    if axis is None:
        first, second = first.ravel(), second.ravel()
        axis, weights = -1, None if weights is None else np.ravel(weights)
    if not is_integer(axis):
        raise ValueError(f"`axis` must be an integer, got {axis!r}.")
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError as error:
        message = f"`x` and `y` must be broadcastable, got shapes {first.shape} and {second.shape}."
        raise ValueError(message) from error
    n_dimensions = max(first.ndim, second.ndim)
    if not -n_dimensions <= axis < n_dimensions:
        ends = f"from {-n_dimensions} to {n_dimensions - 1}"
        raise np.exceptions.AxisError(f"`axis` must be {ends} for these arrays, got {axis!r}.")
    first, second = (_with_axis_last(one, n_dimensions, int(axis)) for one in (first, second))
    n = first.shape[-1]
    if n != second.shape[-1]:
        raise ValueError(f"`x` and `y` must have the same length along `axis`, got {n} and {second.shape[-1]}.")
    row_weights = as_weights(weights, n, "weights")
    if row_weights is not None:
        check_some_weight(row_weights, "weights")
        counted = row_weights > 0
        first, second, row_weights = first[..., counted], second[..., counted], row_weights[counted]
    n = first.shape[-1]
    if n < 2 and (row_weights is None or row_weights.sum() < 2):  # one row of weight 2 is two rows
        which = "" if row_weights is None else " rows of weight > 0"
        raise ValueError(f"`x` and `y` must have length at least 2, got {n}{which}.")
    undefined = np.asarray(_holds_nan(first) | _holds_nan(second))
    if nan_policy == "raise" and undefined.any():
        raise ValueError("The input contains nan values")
    if nan_policy == "omit":
        undefined = np.zeros_like(undefined)
    first, second = np.ma.filled(first, np.nan), np.ma.filled(second, np.nan)
    missing = np.isnan(first) | np.isnan(second)
    known = ~missing
    if missing.any() and missing.ndim == 1 and known.sum() > 1:
        first, second = first[known], second[known]
        row_weights = None if row_weights is None else row_weights[known]
    elif missing.any():
        first, second = np.where(missing, np.nan, first), np.where(missing, np.nan, second)
    x, y = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return PairedSamples(x, y, row_weights, undefined, alphas, kernel)


def _read(values: ArrayLike, name: str) -> Any:
    """Convert a sample to an array of floats, masked where the input is."""
    if np.iscomplexobj(values):
        raise ValueError(f"This function does not support complex data, got {name} of {np.asarray(values).dtype}.")
    if not isinstance(values, np.ma.MaskedArray):
        return np.atleast_1d(as_numbers(values, name))
    numbers = np.atleast_1d(as_numbers(np.ma.getdata(values), name))
    return np.ma.array(numbers, mask=np.atleast_1d(np.ma.getmaskarray(values)))


def _with_axis_last(values: Any, n_dimensions: int, axis: int) -> Any:
    return np.moveaxis(values.reshape((1,) * (n_dimensions - values.ndim) + values.shape), axis, -1)


def _holds_nan(values: Any) -> Any:
    """Find the slices that hold NaN that is not masked."""
    return np.isnan(np.ma.filled(values, 0.0)).any(axis=-1)


def repetitions(weights: Float64Array) -> NDArray[np.int64]:
    """Convert weights to numbers of repetitions."""
    counts = np.rint(weights).astype(np.int64)
    wrong = weights[counts != weights]
    if len(wrong):
        raise ValueError(
            f"weights must be integers where rows are resampled (each is a number of repetitions), got {wrong[0]}."
        )
    return counts
