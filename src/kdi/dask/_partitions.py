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
    check_collection,
    check_numeric_columns,
    is_column_name,
    is_dask_dataframe,
    sklearn_names,
    weights_alike,
)
from kdi.dask._tasks import merge_all, summary_of

Summary = TypeVar("Summary")

FAN_IN = 8  # summaries that one task merges


@public_in("kdi.dask")
class DaskPartitions:
    """The partitions of a dask array or dataframe, as `kdi._sketch.partitions` reads a table that lies in parts.

    Parameters
    ----------
    X : dask array of shape (n, n_columns), or dask dataframe
    weights : as `sample_weight` in `fit`, optional
    columns : sequence of names, or of numbers for an array, optional
        By default all, but that of the weights.
    weights_name : str
        What messages call the weights.
    instead : str
        What messages recommend for tables that are in memory.

    Examples
    --------
    >>> import dask.array as da, kdi.dask
    >>> parts = kdi.dask.DaskPartitions(da.ones((6, 2), chunks=(2, 2)))
    >>> parts.reduce(lambda chunks: sum(len(columns[0]) for columns, _ in chunks), int.__add__)
    6
    """

    rereadable = True
    n_jobs = 1  # a thread a partition: dask fills the other cores

    def __init__(
        self,
        X: Any,
        weights: Any = None,
        columns: Any = None,
        *,
        weights_name: str = "sample_weight",
        instead: str = "estimator.fit",
    ) -> None:
        check_collection(X, instead)
        every = list(X.columns) if is_dask_dataframe(X) else list(range(X.shape[1]))
        check_unique(every)
        self.weight_column = weights if is_dask_dataframe(X) and is_column_name(weights) else None
        usual = [label for label in every if self.weight_column is None or label != self.weight_column]
        self.labels = usual if columns is None else [columns] if is_column_name(columns) else list(columns)
        asked = [*self.labels, *([] if self.weight_column is None else [self.weight_column])]
        check_columns(asked, every)
        self.table = X if asked == every else X[asked] if is_dask_dataframe(X) else X[:, asked]
        self.n_columns = len(self.labels)
        self.names = sklearn_names(self.table, self.labels)
        check_numeric_columns(self.table)
        self.weights_name = weights_name
        self.weights = None if self.weight_column is not None else weights_alike(weights, self.table, weights_name)

    def reduce(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Summary:
        """Summaries of all partitions, merged on the workers; only the last comes here."""
        merged: Summary = self.reduced(summarise, merge).compute()
        return merged

    def reduced(
        self, summarise: Callable[[Iterable[Chunk]], Summary], merge: Callable[[Summary, Summary], Summary]
    ) -> Delayed:
        """What `reduce` computes, as a Delayed."""
        summary = partial(summary_of, weight_column=self.weight_column, weights_name=self.weights_name)
        function = delayed(summarise, pure=True, traverse=False)  # one node of the graph: it may hold tables
        # A collection each of whose blocks is a summary, so that dask fuses the reading of a block with it.
        if is_dask_dataframe(self.table):
            others = [] if self.weights is None else [self.weights]
            found = self.table.map_partitions(summary, function, *others, meta=(None, object), enforce_metadata=False)
        else:
            pairs = [self.table, "ij", function, None, *([] if self.weights is None else [self.weights, "i"])]
            meta = np.empty(0, dtype=object)
            found = da.blockwise(summary, "i", *pairs, concatenate=True, align_arrays=False, dtype=object, meta=meta)
        return _tree(found, partial(merge_all, merge))


def _tree(collection: Any, merge: Callable[[list[Any]], Any]) -> Delayed:
    """The blocks of a collection merged into one, a few at a time.

    One layer of the graph, made here: with `dask.delayed` for every node, the time is quadratic in their number.
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
