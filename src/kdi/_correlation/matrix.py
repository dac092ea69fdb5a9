"""corr: the matrix of KD-integral correlations of a table's columns.

Every column becomes a unit vector, once, and the matrix is one product of them. Where values are missing, a pair of
columns has the rows that both have, and integrals over those: columns that miss the same rows are dealt with together.
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
from kdi._integral.bandwidth import resolve_alpha, spread_alpha
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._tables.frames import NumericFrame, read_frame
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, KernelName
from kdi._utils.validation import as_weights, check_jobs, is_integer

PART = 2**22  # values of pairs that are correlated at once


@public_in("kdi")
class CorrelationMatrix(NamedTuple):
    """Correlations and their p-values, each as a matrix of the table's kind.

    Examples
    --------
    >>> import kdi
    >>> statistic, pvalue = kdi.corr([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], pvalues=True)
    >>> pvalue.round(2)
    array([[0.  , 0.51],
           [0.51, 0.  ]])
    """

    statistic: Any
    pvalue: Any


@dataclass(frozen=True)
class Products:
    """Correlations of all columns with all, before they are given a kind."""

    statistic: Float64Array
    n: Float64Array  # size of each pair's sample
    constant: NDArray[np.bool_]  # columns that do not vary over the rows of some pair
    infinite: NDArray[np.bool_]  # columns that hold infinite values, which have no integral

    @classmethod
    def empty(cls, n: int) -> Products:
        return cls(np.full((n, n), np.nan), np.zeros((n, n)), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))

    def note(self, columns: NDArray[np.int64], norms: Float64Array) -> None:
        """Remember columns whose integrals do not vary, or do not exist."""
        self.constant[columns[norms == 0]] = True
        self.infinite[columns[np.isnan(norms)]] = True


@public_in("kdi")
def corr(
    table: Any,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    min_periods: int = 1,
    weights: ArrayLike | None = None,
    pvalues: bool = False,
    numeric_only: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """KD-integral correlations of all pairs of columns.

    Parameters
    ----------
    table : array-like of shape (n, n_columns), pandas or polars DataFrame
        NaN is left out pair by pair: a pair is correlated over the rows that both columns have, with KD-integrals of
        those rows.
    alpha : float, "scott", "silverman", sequence of these or dict by column name, default=1.0
        Bandwidth in units of a column's standard deviation. 0 gives Spearman's correlations, inf Pearson's. Columns
        that a dict does not name have alpha 1.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
    min_periods : int, default=1
        Pairs that share fewer rows are NaN, as are pairs that share fewer than two.
    weights : array-like of shape (n,), optional
        A weight of 2 is a repetition, a weight of 0 a removal.
    pvalues : bool, default=False
        Return p-values beside the correlations, of the same kind as `kdi.correlation` has by default.
    numeric_only : bool, default=False
        Leave out columns that are not numeric; they are an error otherwise.
    n_jobs : int, optional
        Threads. None takes the cores that are free for large tables.

    Returns
    -------
    ndarray, pandas DataFrame (labelled on both sides) or polars DataFrame (labelled columns, rows in the same order)
        Of the kind that was given. With `pvalues`, a named tuple of two: `statistic` and `pvalue`.

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
    check_jobs(n_jobs)
    if not is_integer(min_periods) or min_periods < 0:
        raise ValueError(f"min_periods must be a whole number >= 0, got {min_periods!r}.")
    frame = read_frame(table, numeric_only=numeric_only)
    values, mass = weighted_rows(frame, weights)
    alphas = column_alphas(alpha, frame)
    products = correlate_columns(values, mass, alphas, get_kernel(kernel), n_jobs, int(min_periods))
    warn_undefined(frame.labels, products, stacklevel=3)
    statistic = frame.square(products.statistic)
    if not pvalues:
        return statistic
    return CorrelationMatrix(statistic, frame.square(correlation_pvalue(products.statistic, products.n, "two-sided")))


def weighted_rows(frame: NumericFrame, weights: ArrayLike | None) -> tuple[Float64Array, Float64Array | None]:
    """The rows of a table that have weight, and their weights."""
    mass = as_weights(weights, len(frame.values), "weights")
    if mass is None:
        return frame.values, None
    if len(mass) and not mass.any():
        raise ValueError("weights are zero in every row, which leaves no row to correlate.")
    return (frame.values, mass) if mass.all() else (frame.values[mass > 0], mass[mass > 0])


def column_alphas(alpha: Any, frame: NumericFrame) -> list[Any]:
    """One alpha a column, checked."""
    n_columns = frame.values.shape[1]
    names = None if frame.names is None else list(frame.names)
    resolve_alpha(alpha, np.ones(n_columns), names)
    return spread_alpha(alpha, n_columns, names)


def correlate_columns(
    values: Float64Array,
    weights: Float64Array | None,
    alphas: list[Any],
    kernel: Kernel,
    n_jobs: int | None,
    min_periods: int = 1,
) -> Products:
    """Correlations of all columns with all, each pair over the rows that both have; weights must be positive."""
    n_columns = values.shape[1]
    found = Products.empty(n_columns)
    missing = np.isnan(values)
    groups = _alike(missing)
    # Rows are picked from the columns many times, unless nothing is missing or all columns miss the same.
    columns = values.T if len(groups) == 1 else np.ascontiguousarray(values.T)
    for one, other in combinations_with_replacement(groups, 2):
        if len(one) == len(other) == 1 and one is not other:
            continue
        both = one if one is other else one + other
        rows = np.flatnonzero(~(missing[:, one[0]] | missing[:, other[0]]))
        whole = len(rows) == len(values) and len(both) == n_columns
        mass = weights if weights is None else weights[rows]
        found.n[np.ix_(one, other)] = found.n[np.ix_(other, one)] = len(rows) if mass is None else mass.sum()
        if len(rows) < max(min_periods, 2):
            continue
        part = columns if whole else columns[both].take(rows, axis=1)
        units = unit_vectors(part, mass, [alphas[j] for j in both], kernel, n_jobs)
        found.note(np.array(both), units.norms)
        block = snap_to_unit(units.vectors[: len(one)] @ units.vectors[-len(other) :].T)
        block = np.round(block) if len(rows) == 2 else block
        found.statistic[np.ix_(one, other)], found.statistic[np.ix_(other, one)] = block, block.T
    alone = [group[0] for group in groups if len(group) == 1]
    _correlate_pairs(columns, weights, alphas, kernel, n_jobs, max(min_periods, 2), np.array(alone, dtype=int), found)
    diagonal = np.arange(n_columns)
    found.statistic[diagonal, diagonal] = np.where(np.isnan(found.statistic[diagonal, diagonal]), np.nan, 1.0)
    return found


def _correlate_pairs(
    columns: Float64Array,
    weights: Float64Array | None,
    alphas: list[Any],
    kernel: Kernel,
    n_jobs: int | None,
    least: int,
    alone: NDArray[np.int64],
    found: Products,
) -> None:
    """Pairs of columns each of which misses rows of its own, many at once: thousands of short ones take most time."""
    first, second = (alone[places] for places in np.triu_indices(len(alone), 1))
    height = max(1, PART // max(columns.shape[1], 1))
    for start in range(0, len(first), height):
        i, j = first[start : start + height], second[start : start + height]
        x, y = columns[i], columns[j]
        missing = np.isnan(x) | np.isnan(y)
        x[missing] = y[missing] = np.nan
        n_rows = (~missing).sum(axis=1)
        found.n[i, j] = found.n[j, i] = n_rows if weights is None else ~missing @ weights
        enough = n_rows >= least
        i, j, x, y, n_rows = i[enough], j[enough], x[enough], y[enough], n_rows[enough]
        one = unit_vectors(x, weights, [alphas[k] for k in i], kernel, n_jobs)
        other = unit_vectors(y, weights, [alphas[k] for k in j], kernel, n_jobs)
        found.note(i, one.norms)
        found.note(j, other.norms)
        statistic = correlate(one, other)
        found.statistic[i, j] = found.statistic[j, i] = np.where(n_rows == 2, np.round(statistic), statistic)


def warn_undefined(
    labels: list[Any], products: Products, stacklevel: int, infinite: str = INFINITE.rstrip(".")
) -> None:
    """Say which columns are constant or infinite, and so have no correlation."""
    for places, kind, message in (
        (products.constant, ConstantInputWarning, CONSTANT.rstrip(".")),
        (products.infinite, RuntimeWarning, infinite),
    ):
        names = [repr(labels[j]) for j in np.flatnonzero(places)]
        if names:
            shown = ", ".join(names[:5]) + " …" * (len(names) > 5)
            warnings.warn(f"{message} (column{'s' * (len(names) > 1)} {shown}).", kind, stacklevel=stacklevel)


def _alike(missing: NDArray[np.bool_]) -> list[list[int]]:
    """Columns in groups that miss the same rows."""
    if not missing.any():
        return [list(range(missing.shape[1]))] if missing.shape[1] else []
    groups: dict[bytes, list[int]] = {}
    for j in range(missing.shape[1]):
        groups.setdefault(np.packbits(missing[:, j]).tobytes(), []).append(j)
    return list(groups.values())
