"""Correlations at several alphas from one read of the table.

The same as `kdi.corr` computes for a partitioned table, but for all alphas at once: the sketches are known, so only the
sums of products of T remain to be computed. If values are missing, rows are correlated in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf

import numpy as np

from kdi._correlation.matrix import ColumnCorrelations, correlate_columns
from kdi._correlation.partitioned_matrix import CentredLevels, OrderedPair, PairSums, correlate_sums, sum_products
from kdi._sketch.partitions import Chunk, PartitionedTable
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array
from kdi.explorer._columns import SampledPartitions
from kdi.explorer._features import KERNEL

MATRIX_ALPHAS = (0.0, 0.3, 1.0, 3.0, inf)  # Spearman's is the first, Pearson's the last
MAX_PAIR_VALUES = 20_000_000  # rows times pairs with missing values that are not sampled
MIN_SAMPLE, MAX_SAMPLE = 2_000, 1_000_000  # rows of the sample if there are more


def matrices_at_alphas(
    table: PartitionedTable, sketches: list[Sketch], n_rows: int, rank_sketches: list[Sketch] | None = None
) -> tuple[int, list[Float64Array]]:
    """Return the number of rows used, and a correlation matrix for each of MATRIX_ALPHAS.

    No sketch may be of a constant column. `rank_sketches`, the same by default, are used for alpha = 0.

    All rows are used, unless there are many and values are missing: such a pair needs an integral of its own, over the
    rows that both columns have, which takes so long that only a sample of the rows is used.
    """
    n = len(sketches)
    n_complete = sum(not sketch.missing for sketch in sketches)
    n_incomplete = n * (n - 1) - n_complete * (n_complete - 1)  # ordered pairs in which a column has missing values
    if not n_incomplete:
        return n_rows, _matrices_from_sums(table, sketches, rank_sketches or sketches)
    step = -(-n_rows // max(min(MAX_PAIR_VALUES // n_incomplete, MAX_SAMPLE), MIN_SAMPLE))
    values, weights = SampledPartitions(table, step).load()
    products = [correlate_columns(values, weights, [alpha] * n, KERNEL, table.n_jobs) for alpha in MATRIX_ALPHAS]
    return len(values), [product.statistic for product in products]


def _matrices_from_sums(
    table: PartitionedTable, sketches: list[Sketch], rank_sketches: list[Sketch]
) -> list[Float64Array]:
    n = len(sketches)
    levels_per_alpha = [
        {
            (j, j): CentredLevels.from_sketch(sketch, alpha, KERNEL)
            for j, sketch in enumerate(sketches if alpha else rank_sketches)
        }
        for alpha in MATRIX_ALPHAS
    ]
    totals: list[PairSums] = table.reduce(partial(_sum_chunks, n=n, levels_per_alpha=levels_per_alpha), _add_sums)
    n_rows = np.full((n, n), float(sketches[0].count))
    matrices = []
    for sums, levels in zip(totals, levels_per_alpha, strict=True):
        correlations = ColumnCorrelations.empty(n)
        correlate_sums(correlations, n_rows, sums, levels, min_periods=1)
        matrices.append(correlations.statistic)
    return matrices


def _sum_chunks(
    chunks: Iterable[Chunk], n: int, levels_per_alpha: list[dict[OrderedPair, CentredLevels]]
) -> list[PairSums]:
    """Return the sums of products of the columns' T at each alpha."""
    totals = [PairSums.zeros(n) for _ in levels_per_alpha]
    for chunk in chunks:
        totals = _add_sums(totals, [sum_products([chunk], n, levels) for levels in levels_per_alpha])
    return totals


def _add_sums(left: list[PairSums], right: list[PairSums]) -> list[PairSums]:
    return [sums.plus(others) for sums, others in zip(left, right, strict=True)]
