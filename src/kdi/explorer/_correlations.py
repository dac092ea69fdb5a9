"""Correlations at several alphas from one reading.

What `kdi.corr` does of a table in parts, for all alphas at once: the columns are sketched already, so that the sums of
products of their T are all that is left. Where values are missing, rows are correlated in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf

import numpy as np

from kdi._correlation.matrix import Products, correlate_columns
from kdi._correlation.partitioned_matrix import CentredLevels, Pair, PairSums, finish_products, sum_part
from kdi._sketch.partitions import Chunk, PartitionedTable
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array
from kdi.explorer._features import KERNEL
from kdi.explorer._readings import SampledPartitions

SHOWN_ALPHAS = (0.0, 0.3, 1.0, 3.0, inf)  # Spearman's first and Pearson's last
WORK = 20_000_000  # values of pairs that miss some of their rows; beyond, a sample of the rows has to do
FEWEST_ROWS, MOST_ROWS = 2_000, 1_000_000  # of that sample


def correlations(
    parts: PartitionedTable, sketches: list[Sketch], n_rows: int, ranked: list[Sketch] | None = None
) -> tuple[int, list[Float64Array]]:
    """The rows that correlations are made of, and a matrix of them for each of ALPHAS; sketches must have some spread.

    `ranked` are the sketches that ranks, at alpha = 0, are taken from; the same by default.

    Those are all rows, unless there are many and columns miss values: a pair then has an integral of its own, over the
    rows that both columns have, which takes so much longer that a sample has to do.
    """
    n = len(sketches)
    whole = sum(not sketch.missing for sketch in sketches)
    apart = n * (n - 1) - whole * (whole - 1)  # columns beside others, where either misses rows
    if not apart:
        return n_rows, _by_sums(parts, sketches, ranked or sketches)
    step = -(-n_rows // max(min(WORK // apart, MOST_ROWS), FEWEST_ROWS))
    values, weights = SampledPartitions(parts, step).rows()
    products = [correlate_columns(values, weights, [alpha] * n, KERNEL, parts.n_jobs) for alpha in SHOWN_ALPHAS]
    return len(values), [found.statistic for found in products]


def _by_sums(parts: PartitionedTable, sketches: list[Sketch], ranked: list[Sketch]) -> list[Float64Array]:
    n = len(sketches)
    maps = [
        {(j, j): CentredLevels.of(one, alpha, KERNEL) for j, one in enumerate(sketches if alpha else ranked)}
        for alpha in SHOWN_ALPHAS
    ]
    totals: list[PairSums] = parts.reduce(partial(_sums, n=n, maps=maps), _plus)
    rows = np.full((n, n), float(sketches[0].count))
    found = []
    for sums, here in zip(totals, maps, strict=True):
        products = Products.empty(n)
        finish_products(products, rows, sums, here, min_periods=1)
        found.append(products.statistic)
    return found


def _sums(chunks: Iterable[Chunk], n: int, maps: list[dict[Pair, CentredLevels]]) -> list[PairSums]:
    totals = [PairSums.zeros(n) for _ in maps]
    for chunk in chunks:
        totals = [total.plus(sum_part([chunk], n, here)) for total, here in zip(totals, maps, strict=True)]
    return totals


def _plus(some: list[PairSums], others: list[PairSums]) -> list[PairSums]:
    return [one.plus(other) for one, other in zip(some, others, strict=True)]
