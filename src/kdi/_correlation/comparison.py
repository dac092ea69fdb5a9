"""compare_correlations: Pearson, Spearman and KD-integral side by side, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kdi._correlation.matrix import (
    ColumnCorrelations,
    column_alphas,
    correlate_columns,
    warn_undefined,
    weighted_rows,
)
from kdi._correlation.partitioned_matrix import INFINITE_PARTITIONED, correlate_partitioned
from kdi._correlation.samples import repetitions
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import PartitionedTable
from kdi._tables.frames import read_frame
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, KernelName
from kdi._utils.validation import check_jobs, is_integer

Against = Literal["pearson", "spearman"]
AGAINST: tuple[Against, ...] = ("pearson", "spearman")


def check_against(against: Any) -> None:
    """Raise unless the coefficient to compare with is known."""
    if against not in AGAINST:
        raise ValueError(f"against must be 'pearson' or 'spearman', got {against!r}.")


@public_in("kdi")
def compare_correlations(
    table: Any,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    weights: ArrayLike | None = None,
    against: Against = "pearson",
    n_resamples: int = 0,
    rng: Any = None,
    numeric_only: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Compare Pearson, Spearman and KD-integral correlations of all pairs of columns, the largest disagreements first.

    Parameters
    ----------
    table : array-like of shape (n, n_columns), pandas or polars DataFrame
        NaN is left out pair by pair.
    alpha, kernel, order, weights, numeric_only, n_jobs
        As in `kdi.corr`.
    against : {"pearson", "spearman"}, default="pearson"
        Sort by the absolute difference between KD-integral and Pearson, or Spearman.
    n_resamples : int, default=0
        Number of bootstrap resamples of the rows for standard errors; 0 leaves these out. Every resample has
        KD-integrals of its own. Weights must then be integers. Where a resample has no correlation, because a column is
        nearly constant, the standard error is NaN.
    rng : int, numpy.random.Generator or None
        Seed or generator of the resamples.

    Returns
    -------
    pandas or polars DataFrame, or a structured ndarray where the table was an array
        One row per pair: `first`, `second`, `pearson`, `spearman`, `kdi`, `kdi_minus_pearson`, `kdi_minus_spearman`
        and, with resamples, `pearson_error`, `spearman_error` and `kdi_error`. Pairs without a correlation come last.

    Examples
    --------
    >>> import kdi
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> pairs = kdi.compare_correlations(np.c_[x, np.exp(x), -x])
    >>> for pair in pairs:
    ...     print(pair["first"], pair["second"], *(pair[name].round(2) for name in ("pearson", "spearman", "kdi")))
    0 1 0.72 1.0 0.79
    1 2 -0.72 -1.0 -0.79
    0 2 -1.0 -1.0 -1.0
    """
    check_against(against)
    check_jobs(n_jobs)
    if not is_integer(n_resamples) or n_resamples < 0 or n_resamples == 1:
        raise ValueError(f"n_resamples must be 0 or an integer >= 2, got {n_resamples!r}.")
    frame = read_frame(table, numeric_only=numeric_only)
    n_columns = frame.values.shape[1]
    if n_columns < 2:
        raise ValueError(f"table must have at least two numeric columns, got {n_columns}.")
    values, row_weights = weighted_rows(frame, weights)
    chosen = get_kernel(kernel, order)
    coefficients = {
        "pearson": [np.inf] * n_columns,
        "spearman": [0.0] * n_columns,
        "kdi": column_alphas(alpha, frame),
    }
    first, second = np.triu_indices(n_columns, 1)

    def correlate(rows: Float64Array, weights: Float64Array | None) -> dict[str, ColumnCorrelations]:
        return {name: correlate_columns(rows, weights, alphas, chosen, n_jobs) for name, alphas in coefficients.items()}

    found = correlate(values, row_weights)
    # Infinite values have no Pearson correlation, whatever alpha is.
    warn_undefined(frame.labels, found["pearson"], stacklevel=3)
    errors: dict[str, Float64Array] = {}
    if n_resamples:
        resampled: dict[str, list[Float64Array]] = {name: [] for name in coefficients}
        for sample in _resamples(values, row_weights, int(n_resamples), rng):
            for name, one in correlate(*sample).items():
                resampled[name].append(one.statistic[first, second])
        errors = {f"{name}_error": np.std(draws, axis=0, ddof=1) for name, draws in resampled.items()}
    return frame.records(_table_of_pairs(frame.labels, found, against, errors))


def compare_partitioned(
    table: PartitionedTable,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    against: Against = "pearson",
) -> dict[str, Any]:
    """Compute the columns of `compare_correlations` for a partitioned table, without standard errors."""
    check_against(against)
    chosen = get_kernel(kernel, order)
    if table.n_columns < 2:
        raise ValueError(f"table must have at least two numeric columns, got {table.n_columns}.")
    labels = list(range(table.n_columns) if table.names is None else table.names)
    found = {
        name: correlate_partitioned(table, alphas, chosen, 1)
        for name, alphas in {"pearson": np.inf, "spearman": 0.0, "kdi": alpha}.items()
    }
    warn_undefined(labels, found["pearson"], stacklevel=3, infinite=INFINITE_PARTITIONED)
    return _table_of_pairs(labels, found, against, {})


def _table_of_pairs(
    labels: list[Any], found: dict[str, ColumnCorrelations], against: Against, errors: dict[str, Float64Array]
) -> dict[str, Any]:
    """Return named columns with one row per pair, the largest disagreements first."""
    first, second = np.triu_indices(len(labels), 1)
    values = {name: one.statistic[first, second] for name, one in found.items()}
    values |= {f"kdi_minus_{other}": values["kdi"] - values[other] for other in AGAINST} | errors
    order = np.argsort(-abs(values[f"kdi_minus_{against}"]), kind="stable")
    columns = {"first": [labels[j] for j in first[order]], "second": [labels[j] for j in second[order]]}
    return columns | {name: column[order] for name, column in values.items()}


def _resamples(
    values: Float64Array, weights: Float64Array | None, n_resamples: int, rng: Any
) -> Iterator[tuple[Float64Array, Float64Array]]:
    """Draw rows with replacement; yield the rows that were drawn, and as weights how often each was."""
    generator = np.random.default_rng(rng)
    rows = np.arange(len(values))
    if weights is not None:
        rows = np.repeat(rows, repetitions(weights))
    for _ in range(n_resamples):
        times = np.bincount(rows[generator.integers(len(rows), size=len(rows))], minlength=len(values))
        drawn = times > 0
        yield values[drawn], times[drawn].astype(float)
