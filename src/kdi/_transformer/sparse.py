"""Transforming sparse matrices: the stored values are mapped, and zeros that are not stored must remain zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdi._integral.maps import forward, forward_stored, inverse_stored
from kdi._utils.errors import TableError
from kdi._utils.typing import Float64Array, FloatArray, Indices, SparseMatrix
from kdi._utils.validation import as_sparse_table, check_finite, column_names

BLOCK_VALUES = 2**17  # stored values that are mapped at once
ADVICE = (
    "zeros stay zeros in columns whose minimum is 0, with uniform output from 0 on; otherwise pass X.toarray(), or these "
    "columns on their own as a dense array"
)


def map_sparse(
    estimator: Any,
    X: Any,
    function: Callable[..., int],
    before: Callable[[Float64Array], None] | None,
    after: Callable[[Float64Array], None] | None,
) -> SparseMatrix:
    """Map the stored values of a sparse matrix; return a matrix of the same format with the same places stored.

    The arguments are those of `BaseKDITransformer._apply_maps`.
    """
    table = as_sparse_table(estimator, X, reset=False)
    zeros = np.zeros((1, table.shape[1]), dtype=table.dtype)
    estimator._map_values(zeros, zeros, function, before, after)
    check_zeros(estimator, table, zeros[0])
    columns = stored_columns(table)
    values = np.require(table.data, requirements="CA")
    # An error halfway would leave the user's matrix half overwritten.
    in_place = not estimator.copy and table is X and values is table.data and values.flags.writeable
    if in_place:
        check_finite(estimator, np.unique(columns[np.isinf(values)]))
    out = table if in_place else table.copy()
    stored = forward_stored if function is forward else inverse_stored
    for start in range(0, len(values), BLOCK_VALUES):
        block = slice(start, start + BLOCK_VALUES)

        def of_block(maps: Any, some: FloatArray, result: FloatArray, *options: Any, at: slice = block) -> int:
            return stored(maps, columns[at], some[:, 0], result[:, 0], *options)

        estimator._map_values(values[block, None], out.data[block, None], of_block, before, after)
    return out


def stored_columns(table: SparseMatrix) -> Indices:
    """Return the column of each stored value."""
    if table.format == "csr":
        return np.require(table.indices, requirements="CA")
    return np.repeat(np.arange(table.shape[1], dtype=table.indices.dtype), np.diff(table.indptr))


def check_zeros(estimator: Any, table: SparseMatrix, zeros: FloatArray) -> None:
    """Raise if zeros that are not stored would not remain zeros; `zeros` are what the zeros of each column become."""
    changed = np.flatnonzero(zeros != 0)
    if not len(changed):
        return
    n_stored = np.bincount(stored_columns(table), minlength=len(zeros))
    dense = changed[n_stored[changed] < table.shape[0]]
    if len(dense):
        names = getattr(estimator, "feature_names_in_", None)
        first = dense[0]
        raise TableError(
            f"a sparse X must have zeros that stay zeros, but those of {column_names(estimator, dense)} become "
            f"{zeros[first]:.6g}",
            column=str(first if names is None else names[first]),
            advice=ADVICE,
        )
