"""Partitions of a Spark DataFrame as a `PartitionedTable`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from itertools import count
from math import ceil
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession, is_remote
from pyspark.sql.types import FloatType

from kdi._sketch.partitions import Chunk
from kdi._utils.names import as_name_list
from kdi._utils.public import public_in
from kdi.spark._input import check_frame, check_weight_column, find_columns, rename_by_position
from kdi.spark._tasks import merge_partition, merge_two, summarise_partition
from kdi.spark._workers import explained_errors, for_workers

Summary = TypeVar("Summary")

MERGED_AT_ONCE = 16  # summaries that the driver, or one task, merges
MERGED_BYTES = 2**28  # bytes of summaries that the driver, or one task, holds at once


@public_in("kdi.spark")
class SparkPartitions:
    """The partitions of a Spark DataFrame, for functions that read a partitioned table.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all columns except that of the weights.
    weights : str, optional
        Name of the column that holds one weight per row.

    Examples
    --------
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> table = kdi.spark.SparkPartitions(df, weights="income")  # doctest: +SKIP
    >>> table.reduce(lambda chunks: float(sum(weights.sum() for _, weights in chunks)), float.__add__)  # doctest: +SKIP
    11.0
    """

    rereadable = True
    is_distributed = True
    n_jobs = 1  # Spark runs one task per core

    def __init__(
        self, table: DataFrame, *, columns: str | Sequence[str] | None = None, weights: str | None = None
    ) -> None:
        check_frame(table)
        if table.isStreaming:
            raise ValueError("the DataFrame is a stream, which never ends; fit a table, then transform the stream.")
        check_weight_column(weights)
        default = [name for name in table.columns if name != weights]
        chosen = default if columns is None else as_name_list(columns)
        if not chosen:
            raise ValueError("there are no columns to read; columns= must name at least one.")
        places = find_columns(table, chosen, advice="columns= selects the columns to read")
        weight_places = [] if weights is None else find_columns(table, [weights])
        self.names: list[str] | None = chosen
        self.n_columns = len(chosen)
        self._weights = weights
        self._has_few_partitions = False  # known after the first reading
        types = [field.dataType for field in table.schema.fields]
        self._rows = rename_by_position(table).selectExpr(
            *[
                f"CAST(c{place} AS {'FLOAT' if isinstance(types[place], FloatType) else 'DOUBLE'}) AS v{j}"
                for j, place in enumerate(places)
            ],
            *[f"CAST(c{place} AS DOUBLE) AS weight" for place in weight_places],
        )

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summarise all partitions and merge the summaries, on the workers first and then on the driver.

        A ValueError about the table in a task is returned as a row and raised here, so that Spark neither retries the
        task nor wraps the error in a Java exception.
        """
        task = for_workers(partial(summarise_partition, summarise, self.n_columns, self._weights))
        rows = self._rows.mapInArrow(task, "summary binary")
        with explained_errors(), ExitStack() as cleanup, _cancelled_if_interrupted(self._rows.sparkSession):
            if not self._has_few_partitions:
                rows = self._merge_until_few(rows, merge, cleanup)
            summaries = [pickle.loads(row[0]) for row in rows.collect()]
        # A DataFrame may have no partitions at all.
        merged = reduce(partial(merge_two, merge), summaries) if summaries else summarise(iter([]))
        if isinstance(merged, ValueError):
            raise merged
        return merged

    def _merge_until_few(
        self, rows: DataFrame, merge: Callable[[Summary, Summary], Summary], cleanup: ExitStack
    ) -> DataFrame:
        """Merge rows of summaries in groups until the driver can hold them all; `cleanup` unpersists the rows."""
        for n_rounds in count():
            rows = rows.persist()
            cleanup.callback(rows.unpersist)
            n_rows, largest = rows.selectExpr("count(*)", "coalesce(max(length(summary)), 0)").collect()[0]
            if n_rows <= 1 or (n_rows <= MERGED_AT_ONCE and n_rows * largest <= MERGED_BYTES):
                self._has_few_partitions = n_rounds == 0
                break
            group_size = min(max(MERGED_BYTES // largest, 2), MERGED_AT_ONCE)
            rows = rows.repartition(ceil(n_rows / group_size)).mapInArrow(
                for_workers(partial(merge_partition, merge)), "summary binary"
            )
        return rows


@contextmanager
def _cancelled_if_interrupted(session: SparkSession) -> Iterator[None]:
    """Cancel the jobs of a session on Ctrl-C.

    PySpark's own handler means to cancel all jobs, but it fails while a result is awaited, because it uses the same
    connection to Java. The client of Spark Connect cancels its operation itself.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not is_remote():
            session.interruptAll()
        raise
