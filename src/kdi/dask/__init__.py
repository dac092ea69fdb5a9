"""kdi on dask: fit and transform arrays and dataframes where they are, partition by partition.

A partition becomes a summary, at alpha = 1 a megabyte a column at most, in one task together with the reading of it;
summaries are merged eight at a time until one is left, which alone comes to the client:

    partition ─▶ summary ─┐
    partition ─▶ summary ─┼─▶ merged ─┐
        ⋮                 ┘           ├─▶ merged ─▶ ordinary KDITransformer
    partition ─▶ summary ───▶ merged ─┘

Everything runs on the scheduler, or the distributed client, that dask itself would use.
"""

from __future__ import annotations

try:
    from kdi.dask._client import cluster, corr, fit, inverse_transform, sketch_table, transform
    from kdi.dask._partitions import DaskPartitions
except ImportError as error:
    raise ImportError("kdi.dask needs dask, which is not installed: pip install 'kdi[dask]'") from error

__all__ = ["DaskPartitions", "cluster", "corr", "fit", "inverse_transform", "sketch_table", "transform"]


def __dir__() -> list[str]:
    return __all__
