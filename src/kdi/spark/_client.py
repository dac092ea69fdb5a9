"""The functions of kdi.spark: fit, transform, sketch, correlate and cluster Spark DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame

from kdi._clustering.clusters import ClusterOptions, Clusters, cluster_partitioned
from kdi._correlation.matrix import CorrelationMatrix
from kdi._correlation.partitioned_matrix import corr_partitioned, corr_test_partitioned
from kdi._sketch.partitions import Estimator, PartitionedEstimator, fit_partitioned, sketch_partitions
from kdi._sketch.sketch import Sketch
from kdi._utils.public import public_in
from kdi._utils.typing import BandwidthRule, Float64Array, KernelName
from kdi._utils.validation import describe_type
from kdi.spark._input import (
    check_frame,
    check_new_names,
    check_weight_column,
    find_columns,
    fitted_names,
    rename_by_position,
)
from kdi.spark._lazy import column_function, map_lazily
from kdi.spark._partitions import SparkPartitions
from kdi.spark._tasks import label_column


@public_in("kdi.spark")
def fit(
    estimator: Estimator,
    X: DataFrame,
    *,
    columns: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
) -> Estimator:
    """Fit a KDITransformer or KDIDiscretizer to the rows of a Spark DataFrame.

    Parameters
    ----------
    estimator : KDITransformer or KDIDiscretizer
    X : pyspark.sql.DataFrame
        It may be read more than once: persist it if it is expensive to compute or differs from one computation to the
        next. Nulls and NaN are missing values.
    columns : str or sequence of str, optional
        The features: numbers of any type, or booleans. By default all columns except that of the weights.
    sample_weight : str, optional
        Name of the column that holds one weight per row. A weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    estimator
        The same object, fitted as by its own `fit` on the rows in memory. It can be saved and used anywhere.

    Examples
    --------
    >>> import kdi
    >>> import kdi.spark
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> transformer = kdi.spark.fit(kdi.KDITransformer(alpha=0), df, columns=["age", "income"])  # doctest: +SKIP
    >>> transformer.data_max_  # doctest: +SKIP
    array([58.,  7.])
    """
    if isinstance(estimator, type) or not isinstance(estimator, PartitionedEstimator):
        raise TypeError(f"estimator must be a KDITransformer or a KDIDiscretizer, got {describe_type(estimator)}.")
    check_frame(X, "X")
    check_weight_column(sample_weight, "sample_weight")
    return fit_partitioned(estimator, SparkPartitions(X, columns=columns, weights=sample_weight))


@public_in("kdi.spark")
def transform(estimator: Any, X: DataFrame) -> DataFrame:
    """Transform the features of a DataFrame, lazily; its other columns are left unchanged.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer
        It may have been fitted anywhere, on features with names.
    X : pyspark.sql.DataFrame
        Its columns include all features, in any order. It may be a stream.

    Returns
    -------
    pyspark.sql.DataFrame
        The features are transformed in place: floats if all of them were floats, and doubles otherwise. Null stays null
        and NaN stays NaN. A KDIDiscretizer with one column per bin appends these columns and drops the features.

    Notes
    -----
    Nothing is computed before Spark is asked for rows. An error in a task, about an infinite value for example, is then
    Spark's PythonException, which contains kdi's message. The model is sent to the workers as part of the function,
    without its sketches.

    Examples
    --------
    >>> df = spark.createDataFrame([(25, 1.0), (31, 7.0), (58, 3.0)], ["age", "income"])  # doctest: +SKIP
    >>> transformer = kdi.spark.fit(kdi.KDITransformer(alpha=0), df)  # doctest: +SKIP
    >>> [row["income"] for row in kdi.spark.transform(transformer, df).collect()]  # doctest: +SKIP
    [0.0, 1.0, 0.5]
    """
    features = fitted_names(estimator)
    return map_lazily(estimator, "transform", X, features, [str(name) for name in estimator.get_feature_names_out()])


@public_in("kdi.spark")
def inverse_transform(estimator: Any, X: DataFrame) -> DataFrame:
    """Map the output of `transform` back to the features, lazily.

    Parameters
    ----------
    estimator : fitted KDITransformer or KDIDiscretizer
    X : pyspark.sql.DataFrame
        Its columns include those that `transform` made.

    Returns
    -------
    pyspark.sql.DataFrame
        The features, in place; after all other columns if a KDIDiscretizer had made one column per bin.

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
    return map_lazily(estimator, "inverse_transform", X, outputs, features)


@public_in("kdi.spark")
def sketch_table(
    table: DataFrame, *, columns: str | Sequence[str] | None = None, weights: str | None = None
) -> dict[str, Sketch]:
    """Sketch the columns of a Spark DataFrame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all columns except that of the weights.
    weights : str, optional
        Name of the column that holds one weight per row. A weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    dict of str to Sketch
        The sketches by column name.

    Examples
    --------
    >>> kdi.spark.sketch_table(spark.createDataFrame([(2.0,), (5.0,)], ["height"]))  # doctest: +SKIP
    {'height': Sketch(count=2, minimum=2.0, maximum=5.0, exact)}
    """
    partitions = SparkPartitions(table, columns=columns, weights=weights)
    return dict(zip(partitions.names or [], sketch_partitions(partitions), strict=True))


@public_in("kdi.spark")
def corr(
    table: DataFrame,
    *,
    columns: str | Sequence[str] | None = None,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: str | None = None,
) -> pd.DataFrame:
    """Compute the KD-integral correlations of all pairs of columns of a Spark DataFrame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
    columns : str or sequence of str, optional
        By default all columns except that of the weights.
    alpha, kernel, order, min_periods
        As in `kdi.corr`.
    weights : str, optional
        Name of the column that holds one weight per row. A weight of 2 is a repetition, a weight of 0 a removal.

    Returns
    -------
    pandas DataFrame, labelled on both sides

    See Also
    --------
    kdi.spark.corr_test : the same correlations, with p-values.

    Examples
    --------
    >>> df = spark.createDataFrame([(1.0, 2.0), (2.0, 1.0), (3.0, 5.0)], ["x", "y"])  # doctest: +SKIP
    >>> round(float(kdi.spark.corr(df).loc["x", "y"]), 2)  # doctest: +SKIP
    0.7
    """
    partitions = SparkPartitions(table, columns=columns, weights=weights)
    statistic = corr_partitioned(partitions, alpha=alpha, kernel=kernel, order=order, min_periods=min_periods)
    return _label_matrix(statistic, partitions)


@public_in("kdi.spark")
def corr_test(
    table: DataFrame,
    *,
    columns: str | Sequence[str] | None = None,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    min_periods: int = 1,
    weights: str | None = None,
) -> CorrelationMatrix:
    """Compute the KD-integral correlations of all pairs of columns of a Spark DataFrame, with p-values.

    Parameters
    ----------
    table, columns, alpha, kernel, order, min_periods, weights
        As in `corr`.

    Returns
    -------
    CorrelationMatrix
        A named tuple of two pandas DataFrames, `statistic` and `pvalue`.

    Examples
    --------
    >>> df = spark.createDataFrame([(1.0, 2.0), (2.0, 1.0), (3.0, 5.0)], ["x", "y"])  # doctest: +SKIP
    >>> round(float(kdi.spark.corr_test(df).pvalue.loc["x", "y"]), 2)  # doctest: +SKIP
    0.51
    """
    partitions = SparkPartitions(table, columns=columns, weights=weights)
    found = corr_test_partitioned(partitions, alpha=alpha, kernel=kernel, order=order, min_periods=min_periods)
    return CorrelationMatrix(*(_label_matrix(matrix, partitions) for matrix in found))


def _label_matrix(matrix: Float64Array, partitions: SparkPartitions) -> pd.DataFrame:
    return pd.DataFrame(matrix, index=partitions.names, columns=partitions.names)


@public_in("kdi.spark")
def cluster(
    table: DataFrame,
    column: str,
    *,
    alpha: float | BandwidthRule = 1.0,
    bandwidth: float | BandwidthRule = "scott",
    kernel: KernelName = "polyexp",
    order: int = 4,
    n_clusters: int | None = None,
    min_size: float | None = None,
    significance: float | None = None,
    weights: str | None = None,
) -> Clusters:
    """Find the natural groups of one column of a Spark DataFrame; `label` then assigns each row to its group.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
    column : str
    alpha, bandwidth, kernel, order, n_clusters, min_size, significance
        As in `kdi.cluster`.
    weights : str, optional
        Name of the column that holds one weight per row. A weight of 2 is a repetition, a weight of 0 a removal.

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
    options = ClusterOptions(alpha, bandwidth, kernel, order, n_clusters, min_size, significance)
    return cluster_partitioned(SparkPartitions(table, columns=[column], weights=weights), options)


@public_in("kdi.spark")
def label(clusters: Clusters, table: DataFrame, column: str, *, name: str = "cluster") -> DataFrame:
    """Add a column with the cluster of each row's value, lazily.

    Parameters
    ----------
    clusters : Clusters
        Result of `cluster`, or of `kdi.cluster`.
    table : pyspark.sql.DataFrame
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
    check_frame(table)
    (place,) = find_columns(table, [column])
    check_new_names([name], table.columns)
    numbered = rename_by_position(table)
    labels = column_function(partial(label_column, clusters.boundaries, column), "int")
    result = numbered.select("*", labels(numbered[f"c{place}"].cast("double")).alias("label"))
    return result.toDF(*table.columns, name)
