"""corr of a table in parts: sketches of the columns in one reading, sums of products of their T in the next.

A pair of columns is correlated over the rows that both have, with integrals over those rows. So a column has one
integral for every other column that misses rows of its own: with the other's holes, it is read like a column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from kdi._correlation.inference import correlation_pvalue
from kdi._correlation.matrix import Products, warn_undefined
from kdi._correlation.samples import snap_to_unit
from kdi._integral.bandwidth import resolve_alpha, spread_alpha
from kdi._integral.levels import SHORT, TOLERANCE
from kdi._integral.maps import ColumnMap, build_map, map_column
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.cells import MIN_CELLS, TABLE_CELLS, cell_width_for, keeps_values, width_exponent
from kdi._sketch.partitions import Chunk, MappedPartitions, PartitionedTable, sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, KernelName
from kdi._utils.validation import is_integer

EXACT = 1e-10  # what the knots may contribute to the error where in memory there would be none
AT_ONCE = TABLE_CELLS // MIN_CELLS  # pairs whose sketches are gathered in one reading: more would not share the memory
INFINITE_IN_PARTS = "columns with infinite values have no correlations here"
Pair = tuple[int, int]  # column i over the rows that column j has too; (i, i) is column i over all its rows


@dataclass
class PairSums:
    """Sums over the rows that two columns both have, a matrix each: rows, weights, products of centred T."""

    n: Float64Array
    weight: Float64Array
    own: Float64Array  # of T of column i, over the rows that j has
    square: Float64Array
    product: Float64Array

    @classmethod
    def zeros(cls, n_columns: int) -> PairSums:
        return cls(*(np.zeros((n_columns, n_columns)) for _ in fields(cls)))

    def plus(self, other: PairSums) -> PairSums:
        return PairSums(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def corr_partitioned(
    parts: PartitionedTable,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    min_periods: int = 1,
    pvalues: bool = False,
) -> tuple[Float64Array, Float64Array | None]:
    """The matrix of `kdi.corr` for a table in parts, and p-values where they are asked for."""
    if not is_integer(min_periods) or min_periods < 0:
        raise ValueError(f"min_periods must be a whole number >= 0, got {min_periods!r}.")
    found = correlate_partitioned(parts, alpha, get_kernel(kernel), int(min_periods))
    labels = list(range(parts.n_columns) if parts.names is None else parts.names)
    warn_undefined(labels, found, stacklevel=4, infinite=INFINITE_IN_PARTS)
    return found.statistic, correlation_pvalue(found.statistic, found.n, "two-sided") if pvalues else None


def correlate_partitioned(parts: PartitionedTable, alpha: Any, kernel: Kernel, min_periods: int) -> Products:
    """Correlations of all columns of a table in parts, as `matrix.correlate_columns` has them of one in memory."""
    alphas = spread_alpha(alpha, parts.n_columns, parts.names)
    gathered = sketch_for_alphas(parts, kernel, partial(resolve_alpha, alpha, names=parts.names))
    found = Products.empty(parts.n_columns)
    found.infinite[:] = np.array(gathered.infinite) > 0
    counts = parts.reduce(partial(_count_part, n_columns=parts.n_columns), PairSums.plus)
    found.n[:] = counts.weight
    maps = {(j, j): CentredLevels.of(sketch, alphas[j], kernel) for j, sketch in enumerate(gathered.sketches)}
    holes = [
        (i, j)
        for i, j in np.argwhere(counts.n < np.diag(counts.n)[:, None]).tolist()
        if not found.infinite[[i, j]].any()
    ]
    for start in range(0, len(holes), AT_ONCE):
        some = holes[start : start + AT_ONCE]
        beside = MappedPartitions(parts, partial(_with_holes, pairs=some), len(some))
        resolve = partial(resolve_alpha, [alphas[i] for i, _ in some])
        sketches = sketch_for_alphas(beside, kernel, resolve).sketches
        maps.update(
            {pair: CentredLevels.of(one, alphas[pair[0]], kernel) for pair, one in zip(some, sketches, strict=True)}
        )
    sums = parts.reduce(partial(sum_part, n_columns=parts.n_columns, maps=maps), PairSums.plus)
    finish_products(found, counts.n, sums, maps, min_periods)
    return found


def finish_products(
    found: Products, rows: Float64Array, sums: PairSums, maps: dict[Pair, CentredLevels], min_periods: int
) -> None:
    """Write the correlations that follow from the sums to `found`; `rows` counts those of each pair."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.own / sums.weight
        variance = sums.square - sums.weight * mean**2
        covariance = sums.product - sums.weight * mean * mean.T
        statistic = snap_to_unit(covariance / np.sqrt(variance * variance.T))
    enough = rows >= max(min_periods, 2)
    for (i, j), one in maps.items():
        if enough[i, j] and one.is_constant and not found.infinite[i]:
            found.constant[i] = True
            others = slice(None) if i == j else j
            statistic[i, others] = statistic[others, i] = np.nan
    statistic[found.infinite] = statistic[:, found.infinite] = np.nan
    statistic = np.where(rows == 2, np.round(statistic), statistic)
    varied = np.array([not maps[j, j].is_constant for j in range(len(rows))])
    np.fill_diagonal(statistic, np.where(varied & ~found.infinite, 1.0, np.nan))
    found.statistic[:] = np.where(enough, statistic, np.nan)


@dataclass(frozen=True)
class CentredLevels:
    """A column's T, less its mean, so that sums of squares do not cancel."""

    table: ColumnMap
    centre: float
    is_constant: bool

    @classmethod
    def of(cls, sketch: Sketch, alpha: Any, kernel: Kernel) -> CentredLevels:
        factor = float(resolve_alpha([alpha], np.array([sketch.weight]))[0])
        bandwidth = factor * sketch.std if sketch.range else 0.0
        exponent = width_exponent(cell_width_for(kernel, bandwidth, sketch.range), sketch.minimum, sketch.maximum)
        # In memory, columns that are short or have fewer values than cells are integrated at the values themselves.
        exact = sketch.count <= SHORT or exponent is None or keeps_values(exponent, sketch.range, sketch.count)
        table = build_map(sketch, kernel, bandwidth, tolerance=EXACT if exact else TOLERANCE)
        centre = 0.0
        if sketch.count:
            centre = float(map_column(table, sketch.offsets + sketch.minimum) @ sketch.moments[:, 0] / sketch.weight)
        return cls(table, centre, not sketch.range)

    def __call__(self, column: FloatArray) -> Float64Array:
        return map_column(self.table, column) - self.centre


def _with_holes(columns: list[FloatArray], pairs: list[Pair]) -> list[FloatArray]:
    return [np.where(np.isnan(columns[j]), np.nan, columns[i]) for i, j in pairs]


def _count_part(chunks: Iterable[Chunk], n_columns: int) -> PairSums:
    sums = PairSums.zeros(n_columns)
    for columns, weights in chunks:
        known = ~np.isnan(np.array(columns, dtype=float))
        if weights is not None:
            known &= weights > 0
        present = known.astype(float)
        sums.n += present @ present.T
        sums.weight += present @ present.T if weights is None else (present * weights) @ present.T
    return sums


def sum_part(chunks: Iterable[Chunk], n_columns: int, maps: dict[Pair, CentredLevels]) -> PairSums:
    """Sums over the rows of some chunks, `maps` being each column's T, also over the rows that another one has."""
    sums = PairSums.zeros(n_columns)
    # Columns that have the same integral beside every other go by one product of matrices.
    several = {j for pair in maps if pair[0] != pair[1] for j in pair}
    plain = [j for j in range(n_columns) if j not in several]
    pairs = [pair for pair in combinations(range(n_columns), 2) if several & {*pair}] if several else []
    for columns, weights in chunks:
        mass = np.ones(len(columns[0])) if weights is None else weights
        levels = [maps[j, j](column) for j, column in enumerate(columns)]
        _add_plain(sums, plain, np.array([levels[j] for j in plain]).reshape(len(plain), len(mass)), mass)
        for i, j in pairs:
            both = ~(np.isnan(levels[i]) | np.isnan(levels[j]))
            x = maps[i, j](columns[i][both]) if (i, j) in maps else levels[i][both]
            y = maps[j, i](columns[j][both]) if (j, i) in maps else levels[j][both]
            _add_pair(sums, i, j, x, y, mass[both])
    return sums


def _add_plain(sums: PairSums, plain: list[int], levels: Float64Array, mass: Float64Array) -> None:
    grid = np.ix_(plain, plain)
    present = ~np.isnan(levels)
    weighted, levels = present * mass, np.where(present, levels, 0.0)
    sums.weight[grid] += weighted @ present.T
    sums.own[grid] += (levels * weighted) @ present.T
    sums.square[grid] += (levels * levels * weighted) @ present.T
    sums.product[grid] += (levels * weighted) @ levels.T


def _add_pair(sums: PairSums, i: int, j: int, x: Float64Array, y: Float64Array, mass: Float64Array) -> None:
    for one, other, mine in ((i, j, x), (j, i, y)):
        sums.weight[one, other] += mass.sum()
        sums.own[one, other] += mine @ mass
        sums.square[one, other] += (mine * mine) @ mass
        sums.product[one, other] += (x * y) @ mass
