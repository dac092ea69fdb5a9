"""Partitions of a Dask collection as a `PartitionedTable`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph

from kdi._sketch.partitions import Chunk
from kdi._utils.names import check_columns, check_unique
from kdi._utils.public import public_in
from kdi.dask._input import (
    align_weights,
    check_collection,
    check_numeric_columns,
    is_column_name,
    is_dask_dataframe,
    sklearn_names,
)
from kdi.dask._tasks import merge_all, summarise_block

Summary = TypeVar("Summary")

FAN_IN = 8  # summaries that one task merges


@public_in("kdi.dask")
class DaskPartitions:
    """The partitions of a dask array or dataframe, for functions that read a partitioned table.

    Parameters
    ----------
    table : dask array of shape (n, n_columns), or dask dataframe
    columns : sequence of names, or of numbers for an array, optional
        By default all columns except that of the weights.
    weights : dask array or series, array-like of shape (n,) or name of a column, optional
        As `sample_weight` in `fit`.
    table_name, weights_name : str
        What messages call the table and the weights.
    in_memory : str
        The function that messages recommend for tables in memory.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> partitions = kdi.dask.DaskPartitions(da.ones((6, 2), chunks=(2, 2)))
    >>> partitions.reduce(lambda chunks: sum(len(columns[0]) for columns, _ in chunks), int.__add__)
    6
    """

    rereadable = True
    is_distributed = True
    n_jobs = 1  # one thread per partition: Dask uses the other cores for other partitions

    def __init__(
        self,
        table: Any,
        *,
        columns: Any = None,
        weights: Any = None,
        table_name: str = "table",
        weights_name: str = "weights",
        in_memory: str = "kdi",
    ) -> None:
        check_collection(table, table_name, in_memory)
        available = list(table.columns) if is_dask_dataframe(table) else list(range(table.shape[1]))
        check_unique(available)
        self.weight_column = weights if is_dask_dataframe(table) and is_column_name(weights) else None
        default = [label for label in available if self.weight_column is None or label != self.weight_column]
        self.labels = default if columns is None else [columns] if is_column_name(columns) else list(columns)
        wanted = [*self.labels, *([] if self.weight_column is None else [self.weight_column])]
        check_columns(wanted, available)
        if wanted != available:
            table = table[wanted] if is_dask_dataframe(table) else table[:, wanted]
        self.table = table
        self.n_columns = len(self.labels)
        self.names = sklearn_names(self.table, self.labels)
        check_numeric_columns(self.table)
        self.weights_name = weights_name
        self.weights = None if self.weight_column is not None else align_weights(weights, self.table, weights_name)

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summarise all partitions and merge the summaries on the workers; only the last one comes to the client."""
        merged: Summary = self.reduce_lazily(summarise, merge).compute()
        return merged

    def reduce_lazily(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Delayed:
        """Return what `reduce` computes as a Delayed."""
        summarise_one = partial(summarise_block, weight_column=self.weight_column, weights_name=self.weights_name)
        function = delayed(summarise, pure=True, traverse=False)  # one node of the graph: it may hold large maps
        # A collection each of whose blocks is a summary, so that Dask fuses the task that reads a block with it.
        if is_dask_dataframe(self.table):
            others = [] if self.weights is None else [self.weights]
            summaries = self.table.map_partitions(
                summarise_one, function, *others, meta=(None, object), enforce_metadata=False
            )
        else:
            pairs = [self.table, "ij", function, None, *([] if self.weights is None else [self.weights, "i"])]
            meta = np.empty(0, dtype=object)
            summaries = da.blockwise(
                summarise_one, "i", *pairs, concatenate=True, align_arrays=False, dtype=object, meta=meta
            )
        return _merge_tree(summaries, partial(merge_all, merge))


def _merge_tree(collection: Any, merge: Callable[[list[Any]], Any]) -> Delayed:
    """Merge the blocks of a collection, a few per task, until one is left.

    The tree is one layer of the graph, made here: with `dask.delayed` for every node, building it would take time that
    is quadratic in the number of nodes.
    """
    leaves = collection.to_delayed()
    leaves = leaves.ravel().tolist() if isinstance(leaves, np.ndarray) else leaves
    keys = [leaf.key for leaf in leaves]
    name = f"kdi-merge-{tokenize(keys, merge)}"
    layer: dict[Any, Any] = {}
    level = 0
    while len(keys) > 1 or not layer:
        groups = [keys[start : start + FAN_IN] for start in range(0, len(keys), FAN_IN)]
        keys = [(name, level, place) for place in range(len(groups))]
        layer.update({key: (merge, group) for key, group in zip(keys, groups, strict=True)})
        level += 1
    return Delayed(keys[0], HighLevelGraph.from_collections(name, layer, dependencies=leaves[:1]), layer=name)
