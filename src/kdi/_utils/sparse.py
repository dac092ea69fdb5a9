"""Sparse matrices of scipy as users pass them: their validation, and the zeros that they do not store."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kdi._utils.errors import TableError
from kdi._utils.typing import FloatArray, Indices, SparseMatrix
from kdi._utils.validation import column_names


def as_sparse_table(estimator: Any, X: Any, *, reset: bool) -> SparseMatrix:
    """Return a sparse X in CSR or CSC format without duplicates, float64 or float32, without a copy where possible.

    NaN and infinities are not checked.
    """
    table = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=("csr", "csc"),
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
        ensure_min_samples=1,
    )
    if not table.has_canonical_format or len(table.data) != table.indptr[-1]:
        table = table.copy()
        table.prune()
        table.sum_duplicates()
    return table


def stored_columns(table: SparseMatrix) -> Indices:
    """Return the column of each stored value."""
    if table.format == "csr":
        indices: Indices = np.require(table.indices, requirements=("C", "A"))
        return indices
    return np.repeat(np.arange(table.shape[1], dtype=table.indices.dtype), np.diff(table.indptr))


def check_zeros(estimator: Any, table: SparseMatrix, zeros: FloatArray, advice: str) -> None:
    """Raise if zeros that are not stored do not remain zeros; `zeros` are what the zeros of each column become."""
    changed = np.flatnonzero(zeros != 0)
    if not len(changed):
        return
    n_stored = np.bincount(stored_columns(table), minlength=len(zeros))
    dense = changed[n_stored[changed] < table.shape[0]]
    if len(dense):
        names, first = getattr(estimator, "feature_names_in_", None), dense[0]
        become = f"{zeros[first]:.6g}" if len(dense) == 1 else f"other numbers, {zeros[first]:.6g} in the first"
        those = f"those of {column_names(estimator, dense)} become {become}"
        raise TableError(
            f"a sparse X must have zeros that stay zeros, but {those}",
            column=str(first if names is None else names[first]),
            advice=advice,
        )
