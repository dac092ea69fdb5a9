"""kdi on Dask: fit and transform arrays and dataframes where they are, partition by partition.

One task reads a partition and summarises it, at alpha = 1 in at most about a megabyte per column. Summaries are merged
eight at a time until one is left, and only that one comes to the client:

    partition ─▶ summary ─┐
    partition ─▶ summary ─┼─▶ merged ─┐
        ⋮                 ┘           ├─▶ merged ─▶ ordinary KDITransformer
    partition ─▶ summary ───▶ merged ─┘

Everything runs on the scheduler, or the distributed client, that Dask itself would use.
"""

from __future__ import annotations

try:
    from kdi.dask._client import cluster, corr, corr_test, fit, inverse_transform, sketch_table, transform
    from kdi.dask._partitions import DaskPartitions
except ImportError as error:
    raise ImportError(f"kdi.dask needs dask and pandas: pip install 'kdi[dask]' ({error})") from error

__all__ = ["DaskPartitions", "cluster", "corr", "corr_test", "fit", "inverse_transform", "sketch_table", "transform"]


def __dir__() -> list[str]:
    return __all__
