"""Partitions of a Spark DataFrame as a `PartitionedTable`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from itertools import count
from math import ceil
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import FloatType

from kdi._sketch.partitions import Chunk
from kdi._utils.public import public_in
from kdi.spark._input import check_frame, find_columns, rename_by_position
from kdi.spark._tasks import merge_partition, merge_two, summarise_partition

S = TypeVar("S")

MERGED_AT_ONCE = 16  # summaries that the driver merges, and that one task merges
BYTES = 2**28  # of summaries that the driver, or one task, takes in at once


@public_in("kdi.spark")
class SparkPartitions:
    """The numbers of a DataFrame's columns, partition by partition.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all but the weights.
    weights : str, optional
        Name of the column that holds the weight of each row.

    Examples
    --------
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> parts = kdi.spark.SparkPartitions(df, weights="income")  # doctest: +SKIP
    >>> parts.reduce(lambda chunks: float(sum(weights.sum() for _, weights in chunks)), float.__add__)  # doctest: +SKIP
    11.0
    """

    rereadable = True
    n_jobs = 1  # Spark has a task for every core

    def __init__(self, df: DataFrame, columns: str | Sequence[str] | None = None, weights: str | None = None) -> None:
        check_frame(df)
        if df.isStreaming:
            raise ValueError("df is a stream, which has no end; fit a table, then transform the stream.")
        if weights is not None and not isinstance(weights, str):
            raise TypeError(f"weights must be the name of a column, got {type(weights).__name__}.")
        if columns is None:
            columns = [name for name in df.columns if name != weights]
        chosen = [columns] if isinstance(columns, str) else list(columns)
        if not chosen:
            raise ValueError("there are no columns to read; columns= names them.")
        places = find_columns(df, chosen, advice="; columns= chooses which to read")
        held_by = find_columns(df, [weights]) if weights is not None else []
        self.names: list[str] | None = chosen
        self.n_columns = len(chosen)
        self._weights = weights
        self._are_few = False  # the summaries of all partitions, once they were counted
        types = [field.dataType for field in df.schema.fields]
        self._rows = rename_by_position(df).selectExpr(
            *[
                f"CAST(c{place} AS {'FLOAT' if isinstance(types[place], FloatType) else 'DOUBLE'}) AS v{j}"
                for j, place in enumerate(places)
            ],
            *[f"CAST(c{place} AS DOUBLE) AS weight" for place in held_by],
        )

    def reduce(self, summarise: Callable[[Iterable[Chunk]], S], merge: Callable[[S, S], S]) -> S:
        """One summary of all partitions.

        A ValueError of a task travels as a row, and is raised here: no task is tried again for it, and no Java is seen.
        """
        task = partial(summarise_partition, summarise, self.n_columns, self._weights)
        rows = self._rows.mapInArrow(task, "summary binary")
        with ExitStack() as done:
            if not self._are_few:
                rows = self._merge_until_few(rows, merge, done)
            summaries = [pickle.loads(row[0]) for row in rows.collect()]
        # A frame may have no partitions at all.
        found = reduce(partial(merge_two, merge), summaries) if summaries else summarise(iter([]))
        if isinstance(found, ValueError):
            raise found
        return found

    def _merge_until_few(self, rows: DataFrame, merge: Callable[[S, S], S], done: ExitStack) -> DataFrame:
        """Rows of summaries, merged some at a time until the driver can take them; they are kept until all is done."""
        for n_rounds in count():
            rows = rows.persist()
            done.callback(rows.unpersist)
            n_rows, largest = rows.selectExpr("count(*)", "coalesce(max(length(summary)), 0)").collect()[0]
            if n_rows <= 1 or (n_rows <= MERGED_AT_ONCE and n_rows * largest <= BYTES):
                self._are_few = n_rounds == 0
                break
            together = min(max(BYTES // largest, 2), MERGED_AT_ONCE)
            rows = rows.repartition(ceil(n_rows / together)).mapInArrow(
                partial(merge_partition, merge), "summary binary"
            )
        return rows
