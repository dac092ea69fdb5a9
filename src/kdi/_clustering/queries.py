"""Queries: what a search for valleys asks of the columns of a table, in memory or partitioned.

The queries are maps to T, sketches of T, the weight between cuts, and the median between cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from kdi._clustering.medians import partitioned_medians, weighted_median
from kdi._integral.bandwidth import resolve_factors
from kdi._integral.build import FeatureMaps, build_features, fit_table
from kdi._integral.levels import LEVEL_OPTIONS
from kdi._integral.maps import ColumnMap, PackedMaps, forward, map_column
from kdi._numerics.backend import core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import cell_width_for
from kdi._sketch.columns import ColumnStats, sketch_array
from kdi._sketch.partitions import Chunk, MappedPartitions, PartitionedTable, TableSummary, sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

Resolve = Callable[[Float64Array], Float64Array]  # from the total weight of each column to its bandwidth factor
Check = Callable[[Float64Array], None]  # of the range of each column


class ColumnQueries(Protocol):
    """The queries, whose answers have one entry per column."""

    def fit(self, factors: Float64Array, kernel: Kernel, check_ranges: Check) -> FeatureMaps:
        """Build the maps of the columns to T; the factors may be rules, as `bandwidth.alpha_factors` returns them."""
        ...

    def level_sketches(self, maps: PackedMaps, resolve: Resolve, kernel: Kernel, finer: float) -> list[Sketch]:
        """Sketch the T of the columns in cells that are `finer` than an integral with bandwidth factors needs."""
        ...

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """Sum the weights of the values below the first cut, between two cuts, and above the last."""
        ...

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        """Return the median of the values below the first cut, between two cuts, and above the last; NaN for none."""
        ...

    @property
    def alphas_per_pass(self) -> int:
        """Number of alphas to try in one pass, which is slow over partitions."""
        ...

    def select(self, columns: list[int]) -> ColumnQueries:
        """Return the queries of some of the columns, which may repeat."""
        ...


@dataclass(frozen=True)
class ArrayQueries:
    """Queries of a table in memory."""

    table: Float64Array
    weights: Float64Array | None
    n_threads: int = 1

    def fit(self, factors: Float64Array, kernel: Kernel, check_ranges: Check) -> FeatureMaps:
        def check(stats: ColumnStats) -> None:
            with np.errstate(over="ignore"):
                check_ranges(stats.maximum - stats.minimum)

        _, features = fit_table(
            self.table, self.weights, factors, kernel, self.n_threads, check=check, options=LEVEL_OPTIONS
        )
        return features

    def level_sketches(self, maps: PackedMaps, resolve: Resolve, kernel: Kernel, finer: float) -> list[Sketch]:
        levels = np.empty(self.table.shape[::-1]).T
        forward(maps, self.table, levels, "clip", self.n_threads)
        return sketch_array(levels, self.weights, kernel, resolve, self.n_threads, finer=finer)

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return core.weights_between(self.table, self.weights, cuts, self.n_threads)

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [_medians(values, self.weights, here) for values, here in zip(self.table.T, cuts, strict=True)]

    @property
    def alphas_per_pass(self) -> int:
        return 1

    def select(self, columns: list[int]) -> ArrayQueries:
        return ArrayQueries(self.table[:, columns], self.weights, self.n_threads)


@dataclass(frozen=True)
class SketchQueries:
    """Queries of columns whose distinct values are known, one exact sketch per column."""

    sketches: Sequence[Sketch]
    n_threads: int = 1

    def fit(self, factors: Float64Array, kernel: Kernel, check_ranges: Check) -> FeatureMaps:
        with np.errstate(over="ignore"):
            check_ranges(np.array([sketch.maximum - sketch.minimum for sketch in self.sketches]))
        alphas = resolve_factors(factors, np.array([sketch.weight for sketch in self.sketches]))
        return build_features(self.sketches, alphas, kernel, LEVEL_OPTIONS, self.n_threads)[0]

    def level_sketches(self, maps: PackedMaps, resolve: Resolve, kernel: Kernel, finer: float) -> list[Sketch]:
        alphas = resolve(np.array([sketch.weight for sketch in self.sketches]))
        result = []
        for sketch, column_map, alpha in zip(self.sketches, maps, alphas.tolist(), strict=True):
            levels = Sketch.sorted(map_column(column_map, _values(sketch)), sketch.moments[:, 0])
            levels = replace(levels, count=sketch.count, missing=sketch.missing)
            width = cell_width_for(kernel, alpha * levels.std, levels.range) / finer
            result.append(levels.coarsened_to_width(width) if levels.count else levels)
        return result

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [
            np.bincount(assign_clusters(_values(sketch), here), sketch.moments[:, 0], len(here) + 1).astype(float)
            for sketch, here in zip(self.sketches, cuts, strict=True)
        ]

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return [
            _medians(_values(sketch), sketch.moments[:, 0], here)
            for sketch, here in zip(self.sketches, cuts, strict=True)
        ]

    @property
    def alphas_per_pass(self) -> int:
        return 1

    def select(self, columns: list[int]) -> SketchQueries:
        return SketchQueries([self.sketches[j] for j in columns], self.n_threads)


@dataclass(frozen=True)
class PartitionedQueries:
    """Queries of a partitioned table; `check` raises if it cannot take what the first pass found."""

    table: PartitionedTable
    check: Callable[[TableSummary], None]

    def fit(self, factors: Float64Array, kernel: Kernel, check_ranges: Check) -> FeatureMaps:
        found = sketch_for_alphas(self.table, kernel, partial(resolve_factors, factors))
        self.check(found)
        check_ranges(np.array([sketch.range for sketch in found.sketches]))
        alphas = resolve_factors(factors, np.array([sketch.weight for sketch in found.sketches]))
        return build_features(found.sketches, alphas, kernel, LEVEL_OPTIONS)[0]

    def level_sketches(self, maps: PackedMaps, resolve: Resolve, kernel: Kernel, finer: float) -> list[Sketch]:
        levels = MappedPartitions(self.table, partial(_to_levels, maps=list(maps)))
        return sketch_for_alphas(levels, kernel, resolve, finer).sketches

    def weights_between(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return self.table.reduce(partial(_weights_in_chunks, cuts=cuts), _add)

    def medians(self, cuts: list[Float64Array]) -> list[Float64Array]:
        return partitioned_medians(self.table, cuts)

    @property
    def alphas_per_pass(self) -> int:
        return 16

    def select(self, columns: list[int]) -> PartitionedQueries:
        selected = MappedPartitions(self.table, partial(_select, indices=columns), len(columns))
        return PartitionedQueries(selected, self.check)


def _values(sketch: Sketch) -> Float64Array:
    """Return the distinct values of an exact sketch."""
    return np.asarray(sketch.keys, dtype=float)


def _to_levels(columns: list[FloatArray], maps: list[ColumnMap]) -> list[FloatArray]:
    return [map_column(column_map, values) for column_map, values in zip(maps, columns, strict=True)]


def _select(columns: list[FloatArray], indices: list[int]) -> list[FloatArray]:
    return [columns[j] for j in indices]


def _weights_in_chunks(chunks: Iterable[Chunk], cuts: list[Float64Array]) -> list[Float64Array]:
    totals = [np.zeros(len(here) + 1) for here in cuts]
    for columns, weights in chunks:
        for total, values, here in zip(totals, columns, cuts, strict=True):
            total += core.weights_between(values[:, None], weights, [here], 1)[0]
    return totals


def _add(one: list[Float64Array], other: list[Float64Array]) -> list[Float64Array]:
    return [left + right for left, right in zip(one, other, strict=True)]


def assign_clusters(values: Float64Array, boundaries: Float64Array, n_threads: int = 1) -> Int64Array:
    """Number the cluster of each value, from the left; -1 for NaN. A value on a boundary belongs to the right."""
    labels = np.empty(len(values), dtype=np.int64)
    core.assign(values[:, None], [boundaries], labels[:, None], n_threads)
    return labels


def _medians(values: Float64Array, weights: Float64Array | None, boundaries: Float64Array) -> Float64Array:
    weights = np.ones(len(values)) if weights is None else weights
    labels = np.where(weights > 0, assign_clusters(values, boundaries), -1)
    result = np.full(len(boundaries) + 1, np.nan)
    for k in np.unique(labels[labels >= 0]):
        result[k] = weighted_median(values[labels == k], weights[labels == k])
    return result
