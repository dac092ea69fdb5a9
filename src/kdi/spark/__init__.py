"""kdi on Spark: fit where the rows are, transform as a column expression.

Every partition becomes one summary, a row of bytes. The rows are merged in a tree, and the last few on the driver:

    partition ──▶ summary ─┐
    partition ──▶ summary ─┼──▶ merged ─┐
    partition ──▶ summary ─┘            ├──▶ driver ──▶ an ordinary KDITransformer
    …                          merged ──┘

Only DataFrames are used, neither RDDs nor a SparkContext, because Spark Connect has neither. kdi must be installed on
the workers, too.
"""

from __future__ import annotations

try:
    from kdi.spark._client import cluster, corr, corr_test, fit, inverse_transform, label, sketch_table, transform
    from kdi.spark._partitions import SparkPartitions
except ImportError as error:
    raise ImportError(
        f"kdi.spark needs pyspark 4.1 or later, with pandas and pyarrow: pip install 'kdi[spark]' ({error})"
    ) from error

__all__ = [
    "SparkPartitions",
    "cluster",
    "corr",
    "corr_test",
    "fit",
    "inverse_transform",
    "label",
    "sketch_table",
    "transform",
]


def __dir__() -> list[str]:
    return __all__
