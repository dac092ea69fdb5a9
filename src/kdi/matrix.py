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

from kdi._frames import Frame, read_frame
from kdi._input import as_weights, check_jobs, is_whole
from kdi._threads import count_threads
from kdi._typing import Floats, KernelName
from kdi.bandwidth import bandwidth_factor, resolve_alpha, spread_alpha
from kdi.correlate import CONSTANT, INFINITE
from kdi.inference import correlation_pvalue
from kdi.kernels import Kernel, get_kernel
from kdi.levels import column_levels
from kdi.pairs import centre, snapped


class CorrelationMatrix(NamedTuple):
    """Correlations and their p-values, each as a matrix of the table's kind."""

    statistic: Any
    pvalue: Any


@dataclass(frozen=True)
class Products:
    """Correlations of all columns with all, before they are given a kind."""

    statistic: Floats
    n: Floats  # size of each pair's sample
    constant: NDArray[np.bool_]  # columns that do not vary over the rows of some pair
    infinite: NDArray[np.bool_]  # columns that hold infinite values, which have no integral


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
    if not is_whole(min_periods) or min_periods < 0:
        raise ValueError(f"min_periods must be a whole number >= 0, got {min_periods!r}.")
    frame = read_frame(table, numeric_only=numeric_only)
    values, mass = weighted_rows(frame, weights)
    alphas = column_alphas(alpha, frame)
    n_threads = count_threads(n_jobs, values.size)
    products = correlate_columns(values, mass, alphas, get_kernel(kernel), n_threads, int(min_periods))
    warn_undefined(frame, products, stacklevel=3)
    statistic = frame.square(products.statistic)
    if not pvalues:
        return statistic
    return CorrelationMatrix(statistic, frame.square(correlation_pvalue(products.statistic, products.n, "two-sided")))


def weighted_rows(frame: Frame, weights: ArrayLike | None) -> tuple[Floats, Floats | None]:
    """The rows of a table that have weight, and their weights."""
    mass = as_weights(weights, len(frame.values), "weights")
    if mass is None:
        return frame.values, None
    if len(mass) and not mass.any():
        raise ValueError("weights are zero in every row, which leaves no row to correlate.")
    return (frame.values, mass) if mass.all() else (frame.values[mass > 0], mass[mass > 0])


def column_alphas(alpha: Any, frame: Frame) -> list[Any]:
    """One alpha a column, checked."""
    n_columns = frame.values.shape[1]
    names = None if frame.names is None else list(frame.names)
    resolve_alpha(alpha, np.ones(n_columns), names)
    return spread_alpha(alpha, n_columns, names)


def correlate_columns(
    values: Floats,
    weights: Floats | None,
    alphas: list[Any],
    kernel: Kernel,
    n_threads: int,
    min_periods: int = 1,
) -> Products:
    """Correlations of all columns with all, each pair over the rows that both have; weights must be positive."""
    n_columns = values.shape[1]
    statistic, n = np.full((n_columns, n_columns), np.nan), np.zeros((n_columns, n_columns))
    constant = np.zeros(n_columns, dtype=bool)
    infinite = np.zeros(n_columns, dtype=bool)
    missing = np.isnan(values)
    groups = _alike(missing)
    columnwise = values.T if len(groups) == 1 else np.ascontiguousarray(values.T)  # rows are picked from it many times
    for one, other in combinations_with_replacement(groups, 2):
        columns = one if one is other else one + other
        rows = np.flatnonzero(~(missing[:, one[0]] | missing[:, other[0]]))
        n_rows = len(rows)
        mass = weights if weights is None else weights[rows]
        size = n_rows if mass is None else float(mass.sum())
        n[np.ix_(one, other)] = n[np.ix_(other, one)] = size
        if n_rows < max(min_periods, 2):
            continue
        part = columnwise if n_rows == len(values) and len(groups) == 1 else columnwise[columns].take(rows, axis=1)
        factors = np.array([bandwidth_factor(alphas[j], size) for j in columns])
        vectors = column_levels(part.T, mass, factors, kernel, n_threads)[0].T
        centre(vectors, mass)
        left, right = slice(0, len(one)), slice(len(columns) - len(other), len(columns))
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        constant[columns] |= norms == 0
        infinite[columns] |= np.isnan(norms)
        with np.errstate(invalid="ignore", divide="ignore"):
            block = snapped(vectors[left] @ vectors[right].T / np.outer(norms[left], norms[right]))
        block = np.round(block) if n_rows == 2 else block
        statistic[np.ix_(one, other)], statistic[np.ix_(other, one)] = block, block.T
    diagonal = np.arange(n_columns)
    statistic[diagonal, diagonal] = np.where(np.isnan(statistic[diagonal, diagonal]), np.nan, 1.0)
    return Products(statistic, n, constant, infinite)


def warn_undefined(frame: Frame, products: Products, stacklevel: int) -> None:
    """Say which columns are constant or infinite, and so have no correlation."""
    labels = frame.labels
    for places, kind, message in (
        (products.constant, ConstantInputWarning, CONSTANT.rstrip(".")),
        (products.infinite, RuntimeWarning, INFINITE.rstrip(".")),
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
