"""corr and corr_test for a partitioned table: one reading sketches the columns, the next sums the products of their T.

A pair of columns is correlated over the rows that both have, with integrals over those rows. So a column has one
integral per other column that misses rows of its own: with the other's missing values, it is read as one more column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from kdi._correlation.matrix import ColumnCorrelations, CorrelationMatrix, check_min_periods, warn_undefined
from kdi._correlation.samples import snap_to_unit
from kdi._integral.bandwidth import resolve_alpha, spread_alpha
from kdi._integral.build import build_map
from kdi._integral.levels import LEVEL_TOLERANCE, MAX_SORTED_ROWS
from kdi._integral.maps import ColumnMap, MapOptions, map_column
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.cells import MAX_TABLE_CELLS, MIN_COLUMN_CELLS, cell_width_for, keeps_values, width_exponent
from kdi._sketch.partitions import Chunk, MappedPartitions, PartitionedTable, sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.errors import SourceChangedError
from kdi._utils.typing import Float64Array, FloatArray, KernelName

EXACT = 1e-10  # tolerance of the knots of columns that are integrated exactly in memory
# Pairs sketched in one reading: with more, each would have too few cells.
PAIRS_PER_READING = MAX_TABLE_CELLS // MIN_COLUMN_CELLS
INFINITE_PARTITIONED = "infinite values have no correlation in a table that is read in partitions"
OrderedPair = tuple[int, int]  # column i over the rows that column j has too; (i, i) is column i over all its rows


@dataclass
class PairSums:
    """Sums over the rows that two columns both have, one matrix each: rows, weights, products of centred T."""

    n_rows: Float64Array
    weight: Float64Array
    level: Float64Array  # T of column i, over the rows that j has
    square: Float64Array
    product: Float64Array

    @classmethod
    def zeros(cls, n_columns: int) -> PairSums:
        return cls(*(np.zeros((n_columns, n_columns)) for _ in fields(cls)))

    def plus(self, other: PairSums) -> PairSums:
        return PairSums(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def corr_partitioned(
    table: PartitionedTable,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
) -> Float64Array:
    """Compute the matrix of `kdi.corr` for a partitioned table."""
    return _correlate_and_warn(table, alpha, get_kernel(kernel, order), min_periods).statistic


def corr_test_partitioned(
    table: PartitionedTable,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
) -> CorrelationMatrix:
    """Compute the two matrices of `kdi.corr_test`, as arrays, for a partitioned table."""
    found = _correlate_and_warn(table, alpha, get_kernel(kernel, order), min_periods)
    return CorrelationMatrix(found.statistic, found.pvalue)


def _correlate_and_warn(table: PartitionedTable, alpha: Any, kernel: Kernel, min_periods: Any) -> ColumnCorrelations:
    check_min_periods(min_periods)
    found = correlate_partitioned(table, alpha, kernel, int(min_periods))
    labels = list(range(table.n_columns) if table.names is None else table.names)
    warn_undefined(labels, found, stacklevel=5, infinite=INFINITE_PARTITIONED)  # points at the caller of kdi.dask.corr
    return found


def correlate_partitioned(table: PartitionedTable, alpha: Any, kernel: Kernel, min_periods: int) -> ColumnCorrelations:
    """Correlate all columns of a partitioned table, as `correlate_columns` does for a table in memory."""
    alphas = spread_alpha(alpha, table.n_columns, table.names)
    summary = sketch_for_alphas(table, kernel, partial(resolve_alpha, alpha, names=table.names))
    if summary.n_rows:
        summary.check_rows("weights")
    found = ColumnCorrelations.empty(table.n_columns)
    found.infinite[:] = np.array(summary.infinite) > 0
    counts = table.reduce(partial(_count_rows, n_columns=table.n_columns), PairSums.plus)
    expected = np.array([sketch.count for sketch in summary.sketches])
    if (np.diag(counts.n_rows) != expected)[~found.infinite].any():
        raise SourceChangedError("two readings found different numbers of values")
    found.n[:] = counts.weight
    maps = {(j, j): CentredLevels.from_sketch(one, alphas[j], kernel) for j, one in enumerate(summary.sketches)}
    incomplete = [
        (i, j)
        for i, j in np.argwhere(counts.n_rows < np.diag(counts.n_rows)[:, None]).tolist()
        if not found.infinite[[i, j]].any()
    ]
    for start in range(0, len(incomplete), PAIRS_PER_READING):
        pairs = incomplete[start : start + PAIRS_PER_READING]
        paired_columns = MappedPartitions(table, partial(_pair_columns, pairs=pairs), len(pairs))
        resolve = partial(resolve_alpha, [alphas[i] for i, _ in pairs])
        sketches = sketch_for_alphas(paired_columns, kernel, resolve).sketches
        maps |= {
            pair: CentredLevels.from_sketch(one, alphas[pair[0]], kernel)
            for pair, one in zip(pairs, sketches, strict=True)
        }
    sums = table.reduce(partial(sum_products, n_columns=table.n_columns, maps=maps), PairSums.plus)
    finite = np.ix_(~found.infinite, ~found.infinite)
    changed = abs(sums.weight - counts.weight)[finite] > 1e-6 * counts.weight[finite]
    if (changed & ~np.eye(len(changed), dtype=bool)).any():
        raise SourceChangedError("two readings found pairs of different weight")
    correlate_sums(found, counts.n_rows, sums, maps, min_periods)
    return found


def correlate_sums(
    found: ColumnCorrelations,
    n_rows: Float64Array,
    sums: PairSums,
    maps: dict[OrderedPair, CentredLevels],
    min_periods: int,
) -> None:
    """Write the correlations that follow from the sums to `found`; `n_rows` counts the rows of each pair."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.level / sums.weight
        variance = sums.square - sums.weight * mean**2
        covariance = sums.product - sums.weight * mean * mean.T
        statistic = snap_to_unit(covariance / np.sqrt(variance * variance.T))
    enough = n_rows >= max(min_periods, 2)
    for (i, j), levels in maps.items():
        if enough[i, j] and levels.is_constant and not found.infinite[i]:
            found.constant[i] = True
            others = slice(None) if i == j else j
            statistic[i, others] = statistic[others, i] = np.nan
    statistic[found.infinite] = statistic[:, found.infinite] = np.nan
    statistic = np.where(n_rows == 2, np.round(statistic), statistic)
    varied = np.array([not maps[j, j].is_constant for j in range(len(n_rows))])
    np.fill_diagonal(statistic, np.where(varied & ~found.infinite, 1.0, np.nan))
    found.statistic[:] = np.where(enough, statistic, np.nan)


@dataclass(frozen=True)
class CentredLevels:
    """T of a column, less its mean, so that sums of squares do not cancel."""

    column_map: ColumnMap
    centre: float
    is_constant: bool

    @classmethod
    def from_sketch(cls, sketch: Sketch, alpha: Any, kernel: Kernel) -> CentredLevels:
        factor = float(resolve_alpha([alpha], np.array([sketch.weight]))[0])
        bandwidth = factor * sketch.std if sketch.range else 0.0
        exponent = width_exponent(cell_width_for(kernel, bandwidth, sketch.range), sketch.minimum, sketch.maximum)
        # In memory, columns that are short or have fewer values than cells are integrated at the values themselves.
        is_short = sketch.count <= MAX_SORTED_ROWS
        exact = is_short or exponent is None or keeps_values(exponent, sketch.range, sketch.count)
        column_map = build_map(sketch, kernel, bandwidth, MapOptions(tolerance=EXACT if exact else LEVEL_TOLERANCE))
        centre = 0.0
        if sketch.count:
            levels = map_column(column_map, sketch.offsets + sketch.minimum)
            centre = float(levels @ sketch.moments[:, 0] / sketch.weight)
        return cls(column_map, centre, not sketch.range)

    def __call__(self, column: FloatArray) -> Float64Array:
        return map_column(self.column_map, column) - self.centre


def _pair_columns(columns: list[FloatArray], pairs: list[OrderedPair]) -> list[FloatArray]:
    """Return the first column of each pair, missing where the second is."""
    return [np.where(np.isnan(columns[j]), np.nan, columns[i]) for i, j in pairs]


def _count_rows(chunks: Iterable[Chunk], n_columns: int) -> PairSums:
    """Sum the rows that have weight, and their weights."""
    sums = PairSums.zeros(n_columns)
    for columns, weights in chunks:
        known = ~np.isnan(np.array(columns, dtype=float))
        if weights is not None:
            known &= weights > 0
        present = known.astype(float)
        sums.n_rows += present @ present.T
        sums.weight += present @ present.T if weights is None else (present * weights) @ present.T
    return sums


def sum_products(chunks: Iterable[Chunk], n_columns: int, maps: dict[OrderedPair, CentredLevels]) -> PairSums:
    """Sum products of centred T over the rows of some chunks.

    `maps` has T of each column over all its rows and, where another column misses some of these, over the rows that
    both have.
    """
    sums = PairSums.zeros(n_columns)
    # Columns that have one integral, the same beside every other column, are summed by one product of matrices.
    several = {j for pair in maps if pair[0] != pair[1] for j in pair}
    plain = [j for j in range(n_columns) if j not in several]
    pairs = [pair for pair in combinations(range(n_columns), 2) if several & {*pair}] if several else []
    for columns, weights in chunks:
        row_weights = np.ones(len(columns[0])) if weights is None else weights
        levels = [maps[j, j](column) for j, column in enumerate(columns)]
        plain_levels = np.array([levels[j] for j in plain]).reshape(len(plain), len(row_weights))
        _add_plain(sums, plain, plain_levels, row_weights)
        for i, j in pairs:
            both = ~(np.isnan(levels[i]) | np.isnan(levels[j]))
            x = maps[i, j](columns[i][both]) if (i, j) in maps else levels[i][both]
            y = maps[j, i](columns[j][both]) if (j, i) in maps else levels[j][both]
            _add_pair(sums, i, j, x, y, row_weights[both])
    return sums


def _add_plain(sums: PairSums, plain: list[int], levels: Float64Array, weights: Float64Array) -> None:
    grid = np.ix_(plain, plain)
    present = ~np.isnan(levels)
    weighted, levels = present * weights, np.where(present, levels, 0.0)
    sums.weight[grid] += weighted @ present.T
    sums.level[grid] += (levels * weighted) @ present.T
    sums.square[grid] += (levels * levels * weighted) @ present.T
    sums.product[grid] += (levels * weighted) @ levels.T


def _add_pair(sums: PairSums, i: int, j: int, x: Float64Array, y: Float64Array, weights: Float64Array) -> None:
    for one, other, levels in ((i, j, x), (j, i, y)):
        sums.weight[one, other] += weights.sum()
        sums.level[one, other] += levels @ weights
        sums.square[one, other] += (levels * levels) @ weights
        sums.product[one, other] += (x * y) @ weights
