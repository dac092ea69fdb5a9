"""kdi on Spark: fits where the rows are, transforms as a column expression.

Every partition becomes one summary, a row of bytes; rows are merged some at a time, in a tree, and the last few on the
driver:

    partition ──▶ summary ─┐
    partition ──▶ summary ─┼──▶ merged ─┐
    partition ──▶ summary ─┘            ├──▶ driver ──▶ an ordinary KDITransformer
    …                          merged ──┘

Only DataFrames are used, neither RDDs nor a SparkContext, which Spark Connect does not have. The workers need kdi too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from itertools import count
from math import ceil
from typing import Any, TypeVar

from kdi._typing import KernelName, Rule
from kdi.clusters import Clusters, cluster_parts
from kdi.matrix import CorrelationMatrix
from kdi.matrix_parts import corr_parts
from kdi.parts import Chunk, sketch_parts
from kdi.sketch import Sketch

try:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.types import FloatType

    from kdi._spark_input import by_place, check_frame, feature_names, find, refuse_taken
    from kdi._spark_maps import mapped, on_columns
    from kdi._spark_tasks import label_column, merge_two, merged, summarised
except ImportError as error:
    raise ImportError(
        f"kdi.spark needs pyspark 4.1 or later, with pandas and pyarrow: pip install 'kdi[spark]' ({error})"
    ) from error

__all__ = ["SparkParts", "cluster", "corr", "fit", "inverse_transform", "label", "sketch_table", "transform"]

S = TypeVar("S")
Estimator = TypeVar("Estimator")

FEW = 16  # summaries that the driver merges, and that one task merges
BYTES = 2**28  # of summaries that the driver, or one task, takes in at once


class SparkParts:
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
    >>> parts = kdi.spark.SparkParts(df, weights="income")  # doctest: +SKIP
    >>> parts.reduce(lambda chunks: float(sum(weights.sum() for _, weights in chunks)), float.__add__)  # doctest: +SKIP
    11.0
    """

    again = True
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
        places = find(df, chosen, advice="; columns= chooses which to read")
        held_by = find(df, [weights]) if weights is not None else []
        self.names: list[str] | None = chosen
        self.n_columns = len(chosen)
        self._weights = weights
        self._are_few = False  # the summaries of all partitions, once they were counted
        types = [field.dataType for field in df.schema.fields]
        self._rows = by_place(df).selectExpr(
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
        task = partial(summarised, summarise, self.n_columns, self._weights)
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
            if n_rows <= 1 or (n_rows <= FEW and n_rows * largest <= BYTES):
                self._are_few = n_rounds == 0
                break
            together = min(max(BYTES // largest, 2), FEW)
            rows = rows.repartition(ceil(n_rows / together)).mapInArrow(partial(merged, merge), "summary binary")
        return rows


def fit(
    estimator: Estimator, df: DataFrame, columns: str | Sequence[str] | None = None, weights: str | None = None
) -> Estimator:
    """Fit a KDITransformer or KDIDiscretizer to the rows of a Spark DataFrame.

    Parameters
    ----------
    estimator : KDITransformer or KDIDiscretizer
    df : pyspark.sql.DataFrame
        It may be read more than once: one that is costly, or comes out different each time, should be persisted. Nulls
        and NaN are missing values.
    columns : str or sequence of str, optional
        The features: numbers of any type, truth values. By default all columns but that of the weights.
    weights : str, optional
        Name of a column: a weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    estimator
        The same object, fitted as its own `fit` would have fitted it to the rows in memory. It can be saved, and used
        anywhere.

    Examples
    --------
    >>> import kdi
    >>> import kdi.spark
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> transformer = kdi.spark.fit(kdi.KDITransformer(alpha=0), df, columns=["age", "income"])  # doctest: +SKIP
    >>> transformer.data_max_  # doctest: +SKIP
    array([58.,  7.])
    """
    if not hasattr(estimator, "_fit_parts"):
        raise TypeError(f"estimator must be a KDITransformer or KDIDiscretizer, got a {type(estimator).__name__}.")
    estimator._fit_parts(SparkParts(df, columns, weights))
    return estimator


def transform(estimator: Any, df: DataFrame) -> DataFrame:
    """The features of a DataFrame transformed, lazily; its other columns are left as they are.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer
        Wherever it was fitted, if the features had names.
    df : pyspark.sql.DataFrame
        With all features among its columns, in any order. It may be a stream.

    Returns
    -------
    pyspark.sql.DataFrame
        The features, in their places, are doubles, or floats where all of them were. Null stays null and NaN stays NaN.
        A KDIDiscretizer that has one column a bin appends these columns and drops the features.

    Notes
    -----
    Nothing is computed before Spark is asked for rows. What a task then refuses, such as an infinite value, is Spark's
    PythonException, with the message of kdi in it. The model travels to the workers as part of the function, without
    its sketches.

    Examples
    --------
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> transformer = kdi.spark.fit(kdi.KDITransformer(alpha=0), df)  # doctest: +SKIP
    >>> [row["income"] for row in kdi.spark.transform(transformer, df).collect()]  # doctest: +SKIP
    [0.0, 1.0, 0.5]
    """
    features = feature_names(estimator)
    return mapped(estimator, "transform", df, features, [str(name) for name in estimator.get_feature_names_out()])


def inverse_transform(estimator: Any, df: DataFrame) -> DataFrame:
    """What `transform` returned, mapped back to the features, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer
    df : pyspark.sql.DataFrame
        With the columns that `transform` made.

    Returns
    -------
    pyspark.sql.DataFrame
        The features in their places; behind all other columns where a KDIDiscretizer had made one column a bin.

    Examples
    --------
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> transformer = kdi.spark.fit(kdi.KDITransformer(alpha=0), df)  # doctest: +SKIP
    >>> levels = kdi.spark.transform(transformer, df)  # doctest: +SKIP
    >>> [row["age"] for row in kdi.spark.inverse_transform(transformer, levels).collect()]  # doctest: +SKIP
    [25.0, 31.0, 58.0]
    """
    features = feature_names(estimator)
    outputs = [str(name) for name in estimator.get_feature_names_out()]
    return mapped(estimator, "inverse_transform", df, outputs, features)


def sketch_table(
    df: DataFrame, columns: str | Sequence[str] | None = None, weights: str | None = None
) -> dict[str, Sketch]:
    """Sketches of the columns of a Spark DataFrame, by name.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all columns but that of the weights.
    weights : str, optional
        Name of a column: a weight of 2 is a repetition, a weight of 0 a removal.

    Examples
    --------
    >>> kdi.spark.sketch_table(spark.createDataFrame([(2.0,), (5.0,)], ["height"]))  # doctest: +SKIP
    {'height': Sketch(count=2, minimum=2.0, maximum=5.0, exact)}
    """
    parts = SparkParts(df, columns, weights)
    return dict(zip(parts.names or [], sketch_parts(parts), strict=True))


def corr(
    df: DataFrame,
    columns: str | Sequence[str] | None = None,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    min_periods: int = 1,
    pvalues: bool = False,
    weights: str | None = None,
) -> Any:
    """KD-integral correlations of all pairs of columns of a Spark DataFrame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all columns but that of the weights.
    alpha, kernel, min_periods, pvalues
        As in `kdi.corr`.
    weights : str, optional
        Name of a column: a weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    pandas DataFrame, labelled on both sides
        With `pvalues`, a named tuple of two: `statistic` and `pvalue`.

    Examples
    --------
    >>> df = spark.createDataFrame([(1.0, 2.0), (2.0, 1.0), (3.0, 5.0)], ["x", "y"])  # doctest: +SKIP
    >>> round(float(kdi.spark.corr(df).loc["x", "y"]), 2)  # doctest: +SKIP
    0.7
    """
    parts = SparkParts(df, columns, weights)
    statistic, pvalue = corr_parts(parts, alpha=alpha, kernel=kernel, min_periods=min_periods, pvalues=pvalues)
    labelled = partial(pd.DataFrame, index=parts.names, columns=parts.names)
    return CorrelationMatrix(labelled(statistic), labelled(pvalue)) if pvalues else labelled(statistic)


def cluster(
    df: DataFrame,
    column: str,
    *,
    alpha: float | Rule = 1.0,
    bandwidth: float | Rule = "scott",
    kernel: KernelName = "polyexp",
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: str | None = None,
) -> Clusters:
    """Natural groups of one column of a Spark DataFrame; `label` says to which of them each row belongs.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    column : str
    alpha, bandwidth, kernel, n_clusters, min_size, significance
        As in `kdi.cluster`.
    weights : str, optional
        Name of a column: a weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    Clusters
        As of `kdi.cluster`, but its `labels` are None.

    Examples
    --------
    >>> df = spark.createDataFrame([(x,) for x in (1.0, 2.0, 3.0, 101.0, 102.0, 103.0)], ["x"])  # doctest: +SKIP
    >>> kdi.spark.cluster(df, "x").boundaries.round()  # doctest: +SKIP
    array([52.])
    """
    return cluster_parts(
        SparkParts(df, [column], weights),
        alpha=alpha,
        bandwidth=bandwidth,
        kernel=kernel,
        n_clusters=n_clusters,
        min_size=min_size,
        significance=significance,
    )


def label(clusters: Clusters, df: DataFrame, column: str, name: str = "cluster") -> DataFrame:
    """A DataFrame with one more column, the cluster of each row's value, lazily.

    Parameters
    ----------
    clusters : Clusters
        Result of `cluster`, or of `kdi.cluster`.
    df : pyspark.sql.DataFrame
    column : str
    name : str, default="cluster"
        Name of the new column.

    Returns
    -------
    pyspark.sql.DataFrame
        The new column is an int, null where the value is null or NaN.

    Examples
    --------
    >>> df = spark.createDataFrame([(x,) for x in (1.0, 2.0, 3.0, 101.0, 102.0, 103.0)], ["x"])  # doctest: +SKIP
    >>> found = kdi.spark.cluster(df, "x")  # doctest: +SKIP
    >>> [row["cluster"] for row in kdi.spark.label(found, df, "x").collect()]  # doctest: +SKIP
    [0, 0, 0, 1, 1, 1]
    """
    check_frame(df)
    place = find(df, [column])[0]
    refuse_taken([name], df.columns)
    numbered = by_place(df)
    labels = on_columns(partial(label_column, clusters.boundaries, column), "int")
    result = numbered.select("*", labels(numbered[f"c{place}"].cast("double")).alias("label"))
    return result.toDF(*df.columns, name)
