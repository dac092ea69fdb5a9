"""Fits, transforms, sketches, correlations and clusters of Spark DataFrames: the functions that users call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import pandas as pd
from pyspark.sql import DataFrame

from kdi._clustering.clusters import Clusters, cluster_partitioned
from kdi._correlation.matrix import CorrelationMatrix
from kdi._correlation.partitioned_matrix import corr_partitioned
from kdi._sketch.partitions import sketch_partitions
from kdi._sketch.sketch import Sketch
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, KernelName
from kdi.spark._input import check_frame, check_new_names, find_columns, fitted_names, rename_by_position
from kdi.spark._lazy import column_function, map_lazily
from kdi.spark._partitions import SparkPartitions
from kdi.spark._tasks import label_column

Estimator = TypeVar("Estimator")


@public_in("kdi.spark")
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
    if not hasattr(estimator, "_fit_partitions"):
        raise TypeError(f"estimator must be a KDITransformer or KDIDiscretizer, got a {type(estimator).__name__}.")
    estimator._fit_partitions(SparkPartitions(df, columns, weights))
    return estimator


@public_in("kdi.spark")
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
    features = fitted_names(estimator)
    return map_lazily(estimator, "transform", df, features, [str(name) for name in estimator.get_feature_names_out()])


@public_in("kdi.spark")
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
    features = fitted_names(estimator)
    outputs = [str(name) for name in estimator.get_feature_names_out()]
    return map_lazily(estimator, "inverse_transform", df, outputs, features)


@public_in("kdi.spark")
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
    parts = SparkPartitions(df, columns, weights)
    return dict(zip(parts.names or [], sketch_partitions(parts), strict=True))


@public_in("kdi.spark")
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
    parts = SparkPartitions(df, columns, weights)
    statistic, pvalue = corr_partitioned(parts, alpha=alpha, kernel=kernel, min_periods=min_periods, pvalues=pvalues)
    labelled = partial(pd.DataFrame, index=parts.names, columns=parts.names)
    return CorrelationMatrix(labelled(statistic), labelled(pvalue)) if pvalues else labelled(statistic)


@public_in("kdi.spark")
def cluster(
    df: DataFrame,
    column: str,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
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
    return cluster_partitioned(
        SparkPartitions(df, [column], weights),
        alpha=alpha,
        bandwidth=bandwidth,
        kernel=kernel,
        n_clusters=n_clusters,
        min_size=min_size,
        significance=significance,
    )


@public_in("kdi.spark")
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
    place = find_columns(df, [column])[0]
    check_new_names([name], df.columns)
    numbered = rename_by_position(df)
    labels = column_function(partial(label_column, clusters.boundaries, column), "int")
    result = numbered.select("*", labels(numbered[f"c{place}"].cast("double")).alias("label"))
    return result.toDF(*df.columns, name)
