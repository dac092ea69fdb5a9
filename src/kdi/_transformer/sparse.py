"""Transforming sparse matrices: the stored values are mapped, and zeros that are not stored must remain zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdi._utils.sparse import check_zeros, stored_columns
from kdi._utils.typing import Float64Array, FloatArray, Indices, SparseMatrix
from kdi._utils.validation import check_finite

BLOCK_VALUES = 2**17  # stored values that are mapped at once, no more than a block of normal scores
ADVICE = (
    "zeros stay zeros in columns whose minimum is 0, with bounded uniform output whose feature_range begins at 0; "
    "otherwise pass X.toarray(), or these columns on their own as a dense array"
)


def map_sparse(
    estimator: Any,
    table: SparseMatrix,
    X: Any,
    function: Callable[..., int],
    stored: Callable[..., int],
    before: Callable[[Float64Array], None] | None,
) -> SparseMatrix:
    """Map the stored values of a sparse matrix; return a matrix of the same format with the same places stored.

    `table` is X, which the user gave, as `as_sparse_table` returns it. `function` maps a dense table, `stored` the
    stored values; `before` is that of `BaseKDITransformer._map_values`.
    """
    zeros = np.zeros((1, table.shape[1]), dtype=table.dtype)
    estimator._map_values(zeros, zeros, function, before)
    check_zeros(estimator, table, zeros[0], ADVICE)
    values = np.require(table.data, requirements=("C", "A"))
    # An error halfway would leave the user's matrix half overwritten.
    in_place = not estimator.copy and table is X and values is table.data and values.flags.writeable
    if in_place:
        check_finite(estimator, np.unique(stored_columns(table)[np.isinf(values)]))
    out = table if in_place else table.copy()

    def apply(columns: Indices, some: FloatArray, result: FloatArray) -> None:
        for start in range(0, len(some), BLOCK_VALUES):
            block = slice(start, start + BLOCK_VALUES)

            def of_block(maps: Any, levels: FloatArray, to: FloatArray, *options: Any, at: slice = block) -> int:
                return stored(maps, columns[at], levels[:, 0], to[:, 0], *options)

            estimator._map_values(some[block, None], result[block, None], of_block, before)

    if table.format == "csr" and len(values) > BLOCK_VALUES:
        # Column by column, each map is in the cache while its values are mapped; that is worth two conversions.
        by_column = table.tocsc()
        apply(stored_columns(by_column), by_column.data, by_column.data)
        out.data[:] = by_column.tocsr().data
    else:
        apply(stored_columns(table), values, out.data)
    return out
