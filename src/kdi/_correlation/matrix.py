"""corr and corr_test: the matrix of KD-integral correlations of a table's columns.

Every column becomes a unit vector, once, and the matrix is one product of them. Where values are missing, a pair of
columns is correlated over the rows that both have, with integrals over those rows: columns that miss the same rows are
grouped, and each pair of groups is one product.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ConstantInputWarning

from kdi._correlation.correlation import CONSTANT, INFINITE
from kdi._correlation.inference import correlation_pvalue
from kdi._correlation.samples import correlate, snap_to_unit, unit_vectors
from kdi._integral.bandwidth import alpha_factors, spread_alpha
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._tables.frames import NumericFrame, read_frame
from kdi._utils.names import format_names
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, KernelName
from kdi._utils.validation import as_weights, check_jobs, check_some_weight, is_integer

BLOCK_VALUES = 2**22  # values of pairs that are correlated at a time


@public_in("kdi")
class CorrelationMatrix(NamedTuple):
    """Result of `kdi.corr_test`: correlations and their p-values, each as a matrix in the kind of the table.

    Attributes
    ----------
    statistic : ndarray, pandas DataFrame or polars DataFrame
        The correlations.
    pvalue : ndarray, pandas DataFrame or polars DataFrame
        Their two-sided p-values.

    Examples
    --------
    >>> import kdi
    >>> kdi.corr_test([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]]).statistic.round(2)
    array([[1. , 0.7],
           [0.7, 1. ]])
    """

    statistic: Any
    pvalue: Any


@dataclass(frozen=True)
class ColumnCorrelations:
    """Correlations of all columns with all, as arrays."""

    statistic: Float64Array
    n: Float64Array  # sample size of each pair
    constant: NDArray[np.bool_]  # columns that are constant over the rows of some pair
    infinite: NDArray[np.bool_]  # columns that hold infinite values, which have no integral

    @classmethod
    def empty(cls, n_columns: int) -> ColumnCorrelations:
        shape = n_columns, n_columns
        flags = np.zeros(n_columns, dtype=bool)
        return cls(np.full(shape, np.nan), np.zeros(shape), flags, flags.copy())

    def flag_undefined(self, columns: NDArray[np.int64], norms: Float64Array) -> None:
        """Flag the columns whose integrals are constant or do not exist."""
        self.constant[columns[norms == 0]] = True
        self.infinite[columns[np.isnan(norms)]] = True

    @property
    def pvalue(self) -> Float64Array:
        return correlation_pvalue(self.statistic, self.n, "two-sided")


@public_in("kdi")
def corr(
    table: Any,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: ArrayLike | None = None,
    numeric_only: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Compute the KD-integral correlations of all pairs of columns.

    Parameters
    ----------
    table : array-like of shape (n, n_columns), pandas or polars DataFrame
        NaN is left out pair by pair: a pair is correlated over the rows that both columns have, with KD-integrals of
        those rows.
    alpha : float, "scott", "silverman", sequence of these or dict by column name, default=1.0
        Bandwidth in units of a column's standard deviation. 0 gives Spearman's correlations, inf Pearson's. Columns
        that a dict does not name have alpha 1.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
    order : int, default=4
        Order of the polyexp kernel; 4 is close to the Gaussian.
    min_periods : int, default=1
        Pairs that share fewer rows are NaN, as are pairs that share fewer than two.
    weights : array-like of shape (n,), optional
        One weight per row. A weight of 2 is a repetition, a weight of 0 a removal.
    numeric_only : bool, default=False
        Leave out columns that are not numeric; otherwise they are an error.
    n_jobs : int, optional
        Number of threads. By default, large tables use all cores that are free.

    Returns
    -------
    ndarray, pandas DataFrame (labelled on both sides) or polars DataFrame (labelled columns, rows in the same order)
        The matrix, in the kind of the table.

    See Also
    --------
    kdi.corr_test : the same correlations, with p-values.
    kdi.compare_correlations : every pair of columns beside Pearson's and Spearman's correlation.

    Examples
    --------
    >>> import kdi
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> kdi.corr(np.c_[x, np.exp(x), -x]).round(2)
    array([[ 1.  ,  0.79, -1.  ],
           [ 0.79,  1.  , -0.79],
           [-1.  , -0.79,  1.  ]])
    """
    chosen = get_kernel(kernel, order)
    frame, found = _correlate_table(table, alpha, chosen, min_periods, weights, numeric_only, n_jobs)
    return frame.square(found.statistic)


@public_in("kdi")
def corr_test(
    table: Any,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: ArrayLike | None = None,
    numeric_only: bool = False,
    n_jobs: int | None = None,
) -> CorrelationMatrix:
    """Compute the KD-integral correlations of all pairs of columns, with p-values.

    Parameters
    ----------
    table, alpha, kernel, order, min_periods, weights, numeric_only, n_jobs
        As in `kdi.corr`.

    Returns
    -------
    CorrelationMatrix
        A named tuple of two matrices in the kind of the table, `statistic` and `pvalue`. The p-values are those of
        `kdi.correlation` by default, two-sided; the sample size of a pair is the number of rows that both columns have,
        or the sum of their weights.

    See Also
    --------
    kdi.corr : the correlations alone.
    kdi.correlation : one pair, with one-sided and resampled p-values and confidence intervals.

    Examples
    --------
    >>> import kdi
    >>> statistic, pvalue = kdi.corr_test([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]])
    >>> pvalue.round(2)
    array([[0.  , 0.51],
           [0.51, 0.  ]])
    """
    chosen = get_kernel(kernel, order)
    frame, found = _correlate_table(table, alpha, chosen, min_periods, weights, numeric_only, n_jobs)
    return CorrelationMatrix(frame.square(found.statistic), frame.square(found.pvalue))


def _correlate_table(
    table: Any,
    alpha: Any,
    kernel: Kernel,
    min_periods: Any,
    weights: ArrayLike | None,
    numeric_only: bool,
    n_jobs: int | None,
) -> tuple[NumericFrame, ColumnCorrelations]:
    check_jobs(n_jobs)
    check_min_periods(min_periods)
    frame = read_frame(table, numeric_only=numeric_only)
    values, row_weights = weighted_rows(frame, weights)
    found = correlate_columns(values, row_weights, column_alphas(alpha, frame), kernel, n_jobs, int(min_periods))
    warn_undefined(frame.labels, found, stacklevel=4)
    return frame, found


def check_min_periods(min_periods: Any) -> None:
    """Raise unless the fewest rows of a pair are an integer that is not negative."""
    if not is_integer(min_periods) or min_periods < 0:
        raise ValueError(f"min_periods must be an integer >= 0, got {min_periods!r}.")


def weighted_rows(frame: NumericFrame, weights: ArrayLike | None) -> tuple[Float64Array, Float64Array | None]:
    """Return the rows of a table that have weight, and their weights."""
    row_weights = as_weights(weights, len(frame.values), "weights")
    if row_weights is None:
        return frame.values, None
    check_some_weight(row_weights, "weights")
    counted = row_weights > 0
    return (frame.values, row_weights) if counted.all() else (frame.values[counted], row_weights[counted])


def column_alphas(alpha: Any, frame: NumericFrame) -> list[Any]:
    """Check alpha and return one for each column."""
    n_columns = frame.values.shape[1]
    names = None if frame.names is None else list(frame.names)
    alpha_factors(alpha, n_columns, names)
    return spread_alpha(alpha, n_columns, names)


def correlate_columns(
    values: Float64Array,
    weights: Float64Array | None,
    alphas: list[Any],
    kernel: Kernel,
    n_jobs: int | None,
    min_periods: int = 1,
) -> ColumnCorrelations:
    """Correlate all columns with all, each pair over the rows that both have; weights must be positive."""
    n_columns = values.shape[1]
    found = ColumnCorrelations.empty(n_columns)
    missing = np.isnan(values)
    groups = _group_by_missing(missing)
    # Rows are picked from the columns many times, unless nothing is missing or all columns miss the same rows.
    columns = values.T if len(groups) == 1 else np.ascontiguousarray(values.T)
    for group, other in combinations_with_replacement(groups, 2):
        if len(group) == len(other) == 1 and group is not other:
            continue
        both = group if group is other else group + other
        rows = np.flatnonzero(~(missing[:, group[0]] | missing[:, other[0]]))
        is_whole = len(rows) == len(values) and len(both) == n_columns
        row_weights = None if weights is None else weights[rows]
        n = len(rows) if row_weights is None else row_weights.sum()
        found.n[np.ix_(group, other)] = found.n[np.ix_(other, group)] = n
        if len(rows) < max(min_periods, 2):
            continue
        samples = columns if is_whole else columns[both].take(rows, axis=1)
        units = unit_vectors(samples, row_weights, [alphas[j] for j in both], kernel, n_jobs)
        found.flag_undefined(np.array(both), units.norms)
        block = snap_to_unit(units.vectors[: len(group)] @ units.vectors[-len(other) :].T)
        block = np.round(block) if len(rows) == 2 else block
        found.statistic[np.ix_(group, other)], found.statistic[np.ix_(other, group)] = block, block.T
    alone = np.array([group[0] for group in groups if len(group) == 1], dtype=int)
    _correlate_pairs(columns, weights, alphas, kernel, n_jobs, max(min_periods, 2), alone, found)
    diagonal = np.arange(n_columns)
    found.statistic[diagonal, diagonal] = np.where(np.isnan(found.statistic[diagonal, diagonal]), np.nan, 1.0)
    return found


def _correlate_pairs(
    columns: Float64Array,
    weights: Float64Array | None,
    alphas: list[Any],
    kernel: Kernel,
    n_jobs: int | None,
    min_rows: int,
    alone: NDArray[np.int64],
    found: ColumnCorrelations,
) -> None:
    """Correlate pairs of columns that each miss rows of their own, many at once: there may be thousands of pairs."""
    first, second = (alone[places] for places in np.triu_indices(len(alone), 1))
    height = max(1, BLOCK_VALUES // max(columns.shape[1], 1))
    for start in range(0, len(first), height):
        i, j = first[start : start + height], second[start : start + height]
        x, y = columns[i], columns[j]
        missing = np.isnan(x) | np.isnan(y)
        x[missing] = y[missing] = np.nan
        n_rows = (~missing).sum(axis=1)
        found.n[i, j] = found.n[j, i] = n_rows if weights is None else ~missing @ weights
        enough = n_rows >= min_rows
        i, j, x, y, n_rows = i[enough], j[enough], x[enough], y[enough], n_rows[enough]
        x_units = unit_vectors(x, weights, [alphas[k] for k in i], kernel, n_jobs)
        y_units = unit_vectors(y, weights, [alphas[k] for k in j], kernel, n_jobs)
        found.flag_undefined(i, x_units.norms)
        found.flag_undefined(j, y_units.norms)
        statistic = correlate(x_units, y_units)
        found.statistic[i, j] = found.statistic[j, i] = np.where(n_rows == 2, np.round(statistic), statistic)


def warn_undefined(
    labels: list[Any], found: ColumnCorrelations, stacklevel: int, infinite: str = INFINITE.rstrip(".")
) -> None:
    """Warn of the columns that have no correlation because they are constant or hold infinite values."""
    for places, kind, message in (
        (found.constant, ConstantInputWarning, CONSTANT.rstrip(".")),
        (found.infinite, RuntimeWarning, infinite),
    ):
        names = [labels[j] for j in np.flatnonzero(places)]
        if names:
            plural = "s" * (len(names) > 1)
            warnings.warn(f"{message} (column{plural} {format_names(names)}).", kind, stacklevel=stacklevel)


def _group_by_missing(missing: NDArray[np.bool_]) -> list[list[int]]:
    """Group the columns that miss the same rows."""
    if not missing.any():
        return [list(range(missing.shape[1]))] if missing.shape[1] else []
    groups: dict[bytes, list[int]] = {}
    for j in range(missing.shape[1]):
        groups.setdefault(np.packbits(missing[:, j]).tobytes(), []).append(j)
    return list(groups.values())
