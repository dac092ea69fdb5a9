"""Parts: a table that lies in parts, in a file, on many machines, and what can be said of it by adding up.

Whatever is learnt of such a table is a summary of each part, and a way to merge two summaries; that is all that a
stream, Dask and Spark have to do. Sketches are such summaries, and so are sums of products and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from types import SimpleNamespace
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.builder import SketchBuilder
from kdi._sketch.cells import LARGE_COUNT, SketchCapacity, capacity_for, cell_width_for, width_exponent
from kdi._sketch.columns import ColumnStats, sketch_columns
from kdi._sketch.sketch import Sketch
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray
from kdi._utils.validation import NO_ROWS, check_finite

Columns = list[FloatArray]  # one array of one dimension a column
Chunk = tuple[Columns, Float64Array | None]  # and a weight a row
Summary = TypeVar("Summary")

BLOCK_ROWS = 2**16  # rows of a table that are read at once, column by column, while they are in the cache


class PartitionedTable(Protocol):
    """A table in parts.

    Attributes
    ----------
    names : list of str, or None where columns only have numbers
    n_columns : int
    rereadable : bool
        Whether the rows can be read a second time.
    n_jobs : int or None
        Threads for each part; an engine that works on several parts at once has 1.
    """

    @property
    def names(self) -> list[str] | None: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def rereadable(self) -> bool: ...

    @property
    def n_jobs(self) -> int | None: ...

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summaries of all parts, merged two by two in any order; there is one of a part without rows, too."""
        ...


@dataclass
class TableSummary:
    """Summary of a part: a sketch a column, and what is wrong with it."""

    sketches: list[Sketch]
    infinite: list[int]
    n_rows: int
    has_weight: bool = True  # whether there is a row of positive weight

    def finite(self, names: list[str] | None) -> list[Sketch]:
        """The sketches, unless a column holds infinite values."""
        check_finite(SimpleNamespace(feature_names_in_=names), np.flatnonzero(self.infinite))
        return self.sketches

    def check_rows(self) -> None:
        """Raise unless there are rows, and some that have weight."""
        if not self.n_rows:
            raise ValueError(NO_ROWS.format(len(self.sketches)))
        if not self.has_weight:
            raise ValueError("sample_weight is zero in every row, which leaves no row to fit.")


SummariseChunks = Callable[[Iterable[Chunk]], TableSummary]
MergeSummaries = Callable[[TableSummary, TableSummary], TableSummary]


class PartitionedEstimator(Protocol):
    """An estimator that can be fitted to a partitioned table.

    This is the interface between estimators and those who fit them: streams, engines and the command line.
    """

    def _fit_partitions(self, table: PartitionedTable) -> Self:
        """Learn from all partitions, in as many readings as it takes."""
        ...


def sketch_reducer(kernel: Kernel, alphas: Float64Array, n_jobs: int | None) -> tuple[SummariseChunks, MergeSummaries]:
    """How to summarise and merge for sketches in one reading: the narrowest cells for which there is room."""
    rooms = [capacity_for(kernel, alpha, len(alphas)) for alpha in alphas.tolist()]
    return partial(_gather_part, rooms=rooms, n_jobs=n_jobs), partial(_merge_gathered, rooms=rooms)


def sketch_one_pass(parts: PartitionedTable, kernel: Kernel, alphas: Float64Array) -> TableSummary:
    """Sketches of all columns in one reading."""
    return parts.reduce(*sketch_reducer(kernel, alphas, parts.n_jobs))


def sketch_for_alphas(
    parts: PartitionedTable, kernel: Kernel, resolve: Callable[[Float64Array], Float64Array], finer: float = 1.0
) -> TableSummary:
    """Sketches of all columns, fine enough for the bandwidth factors that `resolve` makes of the columns' weights.

    One reading is mostly enough; see `capacity_for` for when it is sure to be. Where it is not, and the rows can be read
    again, a second reading fills the cells that are called for.
    """
    found = sketch_one_pass(parts, kernel, resolve(np.full(parts.n_columns, LARGE_COUNT)) / finer)
    if parts.rereadable:
        alphas = resolve(np.array([sketch.weight for sketch in found.sketches]))
        wanted = _too_coarse(found.sketches, kernel, alphas, finer)
        wanted = {j: width for j, width in wanted.items() if not found.infinite[j]}  # which nobody wants any more
        if wanted:
            _gather_again(parts, found.sketches, wanted)
    return found


def sketch_partitions(parts: PartitionedTable) -> list[Sketch]:
    """Sketches of all columns for a use that is not known yet; the default alpha, 1, is served to the full."""
    found = sketch_for_alphas(parts, get_kernel("polyexp"), np.ones_like)
    return found.finite(parts.names)


@dataclass(frozen=True)
class ArrayPartitions:
    """A table in memory as a single part."""

    table: FloatArray
    weights: Float64Array | None
    n_jobs: int | None = None
    names: list[str] | None = None
    rereadable: bool = True

    @property
    def n_columns(self) -> int:
        return int(self.table.shape[1])

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        return summarise(row_blocks(self.table, self.weights))


class MappedPartitions:
    """Parts whose columns are made of other parts' columns, chunk by chunk."""

    def __init__(
        self, parts: PartitionedTable, mapping: Callable[[Columns], Columns], n_columns: int | None = None
    ) -> None:
        self.parts, self.mapping = parts, mapping
        self.n_columns = parts.n_columns if n_columns is None else n_columns
        self.names, self.rereadable, self.n_jobs = None, parts.rereadable, parts.n_jobs

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        summary: Summary = self.parts.reduce(
            partial(_summarise_mapped, mapping=self.mapping, summarise=summarise), merge
        )
        return summary


def _summarise_mapped(
    chunks: Iterable[Chunk],
    mapping: Callable[[Columns], Columns],
    summarise: Callable[[Iterable[Chunk]], Any],
) -> Any:
    return summarise((mapping(columns), weights) for columns, weights in chunks)


def row_blocks(table: FloatArray, weights: Float64Array | None) -> Iterator[Chunk]:
    """A table's columns, some rows at a time, so that a row-major table is read from memory once."""
    for start in range(0, len(table), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        yield list(table[part].T), None if weights is None else weights[part]


def _gather_part(chunks: Iterable[Chunk], rooms: list[SketchCapacity], n_jobs: int | None) -> TableSummary:
    growing = [SketchBuilder(room) for room in rooms]
    n_rows, has_weight = 0, False
    # The core lets go of the interpreter's lock, so that columns grow side by side; threads start when they are needed.
    with ThreadPoolExecutor(max(1, min(count_threads(n_jobs, 2**30), len(rooms)))) as pool:
        for columns, weights in chunks:
            n_rows += len(columns[0])
            has_weight = has_weight or weights is None or bool(weights.any())
            alone = count_threads(n_jobs, len(columns) * len(columns[0])) == 1 or len(columns) == 1
            list((map if alone else pool.map)(SketchBuilder.add, growing, columns, repeat(weights)))
    return TableSummary([one.sketch() for one in growing], [one.infinite for one in growing], n_rows, has_weight)


def _merge_gathered(one: TableSummary, other: TableSummary, rooms: list[SketchCapacity]) -> TableSummary:
    merged = [
        left.merged(right).limited_to(room)
        for left, right, room in zip(one.sketches, other.sketches, rooms, strict=True)
    ]
    infinite = [left + right for left, right in zip(one.infinite, other.infinite, strict=True)]
    return TableSummary(merged, infinite, one.n_rows + other.n_rows, one.has_weight or other.has_weight)


def _too_coarse(sketches: list[Sketch], kernel: Kernel, alphas: Float64Array, finer: float) -> dict[int, float]:
    """Columns whose cells are wider than their bandwidth calls for, and how wide they should be."""
    wanted = {}
    for j, (sketch, alpha) in enumerate(zip(sketches, alphas.tolist(), strict=True)):
        if sketch.exponent is None or not sketch.range < np.inf:
            continue
        width = cell_width_for(kernel, alpha * sketch.std, sketch.range) / finer
        exponent = width_exponent(width, sketch.minimum, sketch.maximum)
        if exponent is not None and exponent < sketch.exponent:
            wanted[j] = width
    return wanted


def _gather_again(parts: PartitionedTable, sketches: list[Sketch], wanted: dict[int, float]) -> None:
    """Second reading of some columns, now that their extremes and the width of their cells are known."""
    places = list(wanted)
    known = [sketches[j] for j in places]
    fields = [[one.minimum, one.maximum, one.count, one.weight, one.std, one.missing, 0.0] for one in known]
    scan, widths = ColumnStats(*np.array(fields, dtype=float).T), np.array(list(wanted.values()))
    refilled = parts.reduce(partial(_sketch_part, places=places, scan=scan, widths=widths), _merge_sketches)
    for j, before, after in zip(places, known, refilled, strict=True):
        totals = {name: getattr(before, name) for name in ("minimum", "maximum", "count", "missing")}
        sketches[j] = replace(after, **totals)


def _sketch_part(chunks: Iterable[Chunk], places: list[int], scan: ColumnStats, widths: Float64Array) -> list[Sketch]:
    found = [Sketch()] * len(places)
    for columns, weights in chunks:
        for k, j in enumerate(places):
            alone = ColumnStats(*(field[k : k + 1] for field in scan))
            found[k] = found[k].merged(sketch_columns(columns[j][:, None], weights, alone, widths[k : k + 1])[0])
    return found


def _merge_sketches(some: list[Sketch], others: list[Sketch]) -> list[Sketch]:
    return [one.merged(other) for one, other in zip(some, others, strict=True)]
