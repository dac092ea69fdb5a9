"""Partitioned tables: in a file, in memory or on many machines; and the sketches of their columns.

Whatever is learnt from such a table is a summary per partition and a way to merge two summaries. That is all that a
stream, Dask and Spark have to provide. Sketches are such summaries, and so are sums of products and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import repeat
from types import SimpleNamespace
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.builder import SketchBuilder
from kdi._sketch.cells import (
    LARGE_COUNT,
    MAX_CELLS,
    SketchCapacity,
    capacity_for,
    cell_width_for,
    floor_log2,
    sent_capacity_for,
    width_exponent,
)
from kdi._sketch.columns import ColumnStats, scan_columns, sketch_columns
from kdi._sketch.sketch import Sketch
from kdi._sketch.wire import pack_table, unpack_table
from kdi._utils.errors import SourceChangedError, WeightsError
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, SparseMatrix
from kdi._utils.validation import NO_ROWS, check_finite

Columns = list[FloatArray]  # one array of one dimension per column
Chunk = tuple[Columns, Float64Array | None]  # and one weight per row
Summary = TypeVar("Summary")

BLOCK_ROWS = 2**16  # rows of an array that are read at once, column by column, while they are in the cache
SECOND_CAPACITY = SketchCapacity(MAX_CELLS, MAX_CELLS)  # of the sketch of a column that is read again


class PartitionedTable(Protocol):
    """Table that is read in partitions.

    Attributes
    ----------
    names : list of str, or None where columns only have positions
    n_columns : int
    rereadable : bool
        Whether the rows can be read a second time.
    is_distributed : bool
        Whether summaries travel between processes: they are kept short, at the price of more second readings.
    n_jobs : int or None
        Threads for each partition; an engine that works on several partitions at once has 1.
    """

    @property
    def names(self) -> list[str] | None: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def rereadable(self) -> bool: ...

    @property
    def is_distributed(self) -> bool: ...

    @property
    def n_jobs(self) -> int | None: ...

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summarise all partitions, also those without rows, and merge the summaries in pairs, in any order."""
        ...


@dataclass
class TableSummary:
    """Sketches of all columns of one or more partitions, and what is wrong with the partitions."""

    sketches: list[Sketch]
    infinite: list[int]  # number of infinite values per column
    n_rows: int
    has_weight: bool = True  # whether there is a row of positive weight

    def __sizeof__(self) -> int:
        """Return the size in memory, by which Dask decides where to merge."""
        return sum(sketch.keys.nbytes + sketch.moments.nbytes for sketch in self.sketches)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"sketches": pack_table(self.sketches)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"sketches": unpack_table(state["sketches"])})

    def finite_sketches(self, names: list[str] | None) -> list[Sketch]:
        """Return the sketches; raise if a column holds infinite values."""
        check_finite(SimpleNamespace(feature_names_in_=names), np.flatnonzero(self.infinite))
        return self.sketches

    def check_rows(self, argument: str = "sample_weight") -> None:
        """Raise unless there are rows, some of them with weight; `argument` names the weights in the message."""
        if not self.n_rows:
            raise ValueError(NO_ROWS.format(len(self.sketches)))
        if not self.has_weight:
            raise WeightsError.all_zero(argument)


SummariseChunks = Callable[[Iterable[Chunk]], TableSummary]
MergeSummaries = Callable[[TableSummary, TableSummary], TableSummary]


@runtime_checkable
class PartitionedEstimator(Protocol):
    """Estimator that can be fitted to a partitioned table.

    This is the interface between estimators and those who fit them: streams, engines and the command line.
    """

    def _fit_partitions(self, table: PartitionedTable) -> Self:
        """Learn from all partitions, in as many passes as it takes."""
        ...


@runtime_checkable
class OnePassEstimator(PartitionedEstimator, Protocol):
    """Estimator that needs one reading of the table, whose end may be left to another process."""

    def _summary_reducer(self, table: PartitionedTable) -> tuple[SummariseChunks, MergeSummaries]:
        """Learn the features of a table; return how to summarise its partitions in one reading."""
        ...

    def _fit_summary(self, summary: TableSummary) -> Self:
        """Learn from the merged summary of all partitions."""
        ...


Estimator = TypeVar("Estimator", bound=PartitionedEstimator)


def fit_partitioned(estimator: Estimator, table: PartitionedTable) -> Estimator:
    """Fit an estimator to a partitioned table; return it."""
    return estimator._fit_partitions(table)


def sketch_reducer(
    kernel: Kernel, alphas: Float64Array, n_jobs: int | None, *, is_sent: bool = False
) -> tuple[SummariseChunks, MergeSummaries]:
    """Return how to summarise and merge for sketches in one pass, in the narrowest cells that the capacity allows.

    `is_sent` tells that the capacity is what most columns need, as for summaries that travel: others are read again.
    """
    find = cache(partial(sent_capacity_for if is_sent else capacity_for, kernel, n_columns=len(alphas)))
    capacities = [find(alpha) for alpha in alphas.tolist()]
    return (
        partial(_summarise_partition, capacities=capacities, n_jobs=n_jobs),
        partial(_merge_summaries, capacities=capacities),
    )


def sketch_one_pass(
    table: PartitionedTable, kernel: Kernel, alphas: Float64Array, *, is_sent: bool = False
) -> TableSummary:
    """Sketch all columns in one pass."""
    return table.reduce(*sketch_reducer(kernel, alphas, table.n_jobs, is_sent=is_sent))


def sketch_for_alphas(
    table: PartitionedTable,
    kernel: Kernel,
    resolve: Callable[[Float64Array], Float64Array],
    finer: float = 1.0,
    *,
    robust: bool = False,
) -> TableSummary:
    """Sketch all columns in cells that are fine enough for their bandwidths.

    One pass is mostly enough; see `capacity_for` for when it is sure to be. Where it is not, and the rows can be read
    again, a second pass fills the cells that the bandwidths call for.

    Parameters
    ----------
    table : PartitionedTable
    kernel : Kernel
    resolve : callable
        Returns the bandwidth factors of the columns, given their sums of weights.
    finer : float
        Factor by which cells are narrower than the integral asks for.
    robust : bool
        Whether bandwidths are in units of the robust spread.
    """
    factors = resolve(np.full(table.n_columns, LARGE_COUNT)) / finer
    summary = sketch_one_pass(table, kernel, factors, is_sent=table.is_distributed and table.rereadable)
    if table.rereadable:
        alphas = resolve(np.array([sketch.weight for sketch in summary.sketches]))
        widths = _widths_of_coarse_columns(summary.sketches, kernel, alphas, finer, robust)
        # Infinite columns are rejected later; skip them.
        widths = {j: width for j, width in widths.items() if not summary.infinite[j]}
        if widths:
            _sketch_again(table, summary.sketches, widths)
    return summary


def sketch_partitions(table: PartitionedTable) -> list[Sketch]:
    """Sketch all columns for an unknown purpose: fine enough for the default alpha, 1, in units of either spread."""
    summary = sketch_for_alphas(table, get_kernel("polyexp"), np.ones_like, robust=True)
    return summary.finite_sketches(table.names)


@dataclass(frozen=True)
class ArrayPartitions:
    """An array in memory as a table of one partition; `BatchedSketches` takes sparse ones too."""

    table: FloatArray | SparseMatrix
    weights: Float64Array | None
    n_jobs: int | None = None
    names: list[str] | None = None
    rereadable: bool = True
    is_distributed: bool = False

    @property
    def n_columns(self) -> int:
        return int(self.table.shape[1])

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        return summarise(row_blocks(self.table, self.weights))


class MappedPartitions:
    """Partitioned table whose columns are computed from those of another, chunk by chunk."""

    def __init__(
        self, table: PartitionedTable, mapping: Callable[[Columns], Columns], n_columns: int | None = None
    ) -> None:
        self.table, self.mapping = table, mapping
        self.n_columns = table.n_columns if n_columns is None else n_columns
        self.names, self.rereadable, self.n_jobs = None, table.rereadable, table.n_jobs
        self.is_distributed = table.is_distributed

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        summary: Summary = self.table.reduce(
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
    """Yield the columns of an array in blocks of rows, so that a row-major array is read from memory once."""
    for start in range(0, len(table), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield list(table[block].T), None if weights is None else weights[block]


def _summarise_partition(chunks: Iterable[Chunk], capacities: list[SketchCapacity], n_jobs: int | None) -> TableSummary:
    builders = [SketchBuilder(capacity) for capacity in capacities]
    n_rows, has_weight = 0, False
    # The core releases the GIL, so that columns are added in parallel; the pool starts threads when they are needed.
    with ThreadPoolExecutor(max(1, min(count_threads(n_jobs, 2**30), len(builders)))) as pool:
        for columns, weights in chunks:
            n_rows += len(columns[0])
            has_weight = has_weight or weights is None or bool(weights.any())
            serial = count_threads(n_jobs, len(columns) * len(columns[0])) == 1 or len(columns) == 1
            list((map if serial else pool.map)(SketchBuilder.add, builders, columns, repeat(weights)))
    return TableSummary(
        [builder.sketch() for builder in builders], [builder.infinite for builder in builders], n_rows, has_weight
    )


def _merge_summaries(one: TableSummary, other: TableSummary, capacities: list[SketchCapacity]) -> TableSummary:
    sketches = [
        left.merged(right).limited_to(capacity)
        for left, right, capacity in zip(one.sketches, other.sketches, capacities, strict=True)
    ]
    infinite = [left + right for left, right in zip(one.infinite, other.infinite, strict=True)]
    return TableSummary(sketches, infinite, one.n_rows + other.n_rows, one.has_weight or other.has_weight)


def _widths_of_coarse_columns(
    sketches: list[Sketch], kernel: Kernel, alphas: Float64Array, finer: float, robust: bool
) -> dict[int, float]:
    """Find the columns whose cells are wider than their bandwidth calls for; return the widths that it calls for.

    A width of 0 asks for the narrowest cells that a second reading can keep.
    """
    widths = {}
    for j, (sketch, alpha) in enumerate(zip(sketches, alphas.tolist(), strict=True)):
        if sketch.exponent is None or not sketch.range < np.inf:
            continue
        spread, unknown, widest = sketch.robust_spread if robust else (sketch.std, 0.0, np.inf)
        width = min(cell_width_for(kernel, alpha * spread, sketch.range) / finer, widest)
        exponent = width_exponent(width, sketch.minimum, sketch.maximum)
        if exponent is None:
            continue
        if robust and (unknown or 2.0**exponent > width):
            # The range has too many such cells, of which few may be occupied: as narrow ones as SECOND_CAPACITY allows.
            if floor_log2(width) < sketch.exponent and 2 * len(sketch) <= SECOND_CAPACITY.cells:
                widths[j] = 0.0
        elif exponent < sketch.exponent:
            widths[j] = width
    return widths


def _sketch_again(table: PartitionedTable, sketches: list[Sketch], widths: dict[int, float]) -> None:
    """Replace some sketches in a second pass, now that extremes and widths of these columns are known."""
    columns = list(widths)
    first_pass = [sketches[j] for j in columns]
    fields = [[one.minimum, one.maximum, one.count, one.weight, one.std, one.missing, 0.0] for one in first_pass]
    stats = ColumnStats(*np.array(fields, dtype=float).T)
    second_pass = table.reduce(
        partial(_sketch_chunks, columns=columns, stats=stats, widths=np.array(list(widths.values()))), _merge_readings
    )
    for j, before, after in zip(columns, first_pass, second_pass, strict=True):
        _check_unchanged(before, after, str(j) if table.names is None else repr(table.names[j]))
        totals = {name: getattr(before, name) for name in ("minimum", "maximum", "count", "missing")}
        sketches[j] = replace(after.sketch, **totals)


@dataclass
class SecondReading:
    """A column's sketch from a second reading, whose counts and extremes are those of the first, and its own."""

    sketch: Sketch
    minimum: float = np.inf
    maximum: float = -np.inf
    count: int = 0
    missing: int = 0

    def __getstate__(self) -> dict[str, Any]:
        # The extremes of the sketch are those of the whole column, but on the wire they lie in its first and last cell.
        whole, keys, exponent = self.sketch, self.sketch.keys, self.sketch.exponent
        ends = [float("nan")] * 2
        if len(keys):
            ends = [float(keys[0]), float(keys[-1])]
            ends = ends if exponent is None else np.ldexp([ends[0], ends[1] + 0.5], exponent).tolist()
        sent = pack_table([replace(whole, minimum=ends[0], maximum=ends[1])])
        return self.__dict__ | {"sketch": (sent, whole.minimum, whole.maximum)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sent, minimum, maximum = state["sketch"]
        sketch = replace(unpack_table(sent)[0], minimum=minimum, maximum=maximum)
        self.__dict__.update(state | {"sketch": sketch})

    def merged(self, other: SecondReading) -> SecondReading:
        return SecondReading(
            self.sketch.merged(other.sketch).limited_to(SECOND_CAPACITY),
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            self.count + other.count,
            self.missing + other.missing,
        )


def _sketch_chunks(
    chunks: Iterable[Chunk], columns: list[int], stats: ColumnStats, widths: Float64Array
) -> list[SecondReading]:
    readings = [SecondReading(Sketch())] * len(columns)
    for chunk, weights in chunks:
        for k, j in enumerate(columns):
            block = chunk[j][:, None]
            own_stats, found = ColumnStats(*(field[k : k + 1] for field in stats)), scan_columns(block, weights)
            low, high, count, missing = (
                field[0].item() for field in (found.minimum, found.maximum, found.counts, found.missing)
            )
            # Cells are laid out between the extremes of the first reading; other values show that the source changed.
            expected = own_stats.minimum[0] <= low and high <= own_stats.maximum[0]
            sketch = sketch_columns(block, weights, own_stats, widths[k : k + 1])[0] if expected else Sketch()
            readings[k] = readings[k].merged(SecondReading(sketch, low, high, int(count), int(missing)))
    return readings


def _merge_readings(some: list[SecondReading], others: list[SecondReading]) -> list[SecondReading]:
    return [one.merged(other) for one, other in zip(some, others, strict=True)]


def _check_unchanged(before: Sketch, after: SecondReading, column: str) -> None:
    """Raise if the two readings of a column did not find the same values, as far as their summaries tell."""
    sketch = after.sketch
    # A zero of either sign is the same extreme.
    first = f"{before.count} values from {before.minimum + 0.0} to {before.maximum + 0.0} and {before.missing} missing"
    second = f"{after.count} values from {after.minimum + 0.0} to {after.maximum + 0.0} and {after.missing} missing"
    rounding = 1e-9 + before.count * 2.0**-52
    if first == second and not abs(sketch.weight - before.weight) <= rounding * before.weight:
        first, second = f"values of total weight {before.weight}", f"of {sketch.weight}"
    elif first == second:
        # The extremes of `sketch` are those of the first reading.
        if abs(sketch.mean - before.mean) <= rounding * before.range:
            return
        first, second = f"values of mean {before.mean}", f"of {sketch.mean}"
    raise SourceChangedError(f"column {column} had {first} at first, and then {second}")
