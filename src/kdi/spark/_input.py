"""Checks of what users of kdi.spark pass, on the driver.

Columns are addressed by position, because names may contain dots and quotes and may differ only in case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, NullType, NumericType
from sklearn.utils.validation import check_is_fitted

from kdi._utils.errors import TableError
from kdi._utils.names import check_available, format_names, not_unique_error
from kdi._utils.validation import describe_type, non_numeric_error

NUMERIC_TYPES = (NumericType, BooleanType, NullType)


def check_frame(table: Any, name: str = "table") -> None:
    """Raise unless a table is a Spark DataFrame; messages call it `name`."""
    if isinstance(table, DataFrame):
        return
    if hasattr(table, "to_spark"):
        raise TypeError(f"{name} must be a Spark DataFrame, got a DataFrame of pyspark.pandas; call to_spark() first.")
    raise TypeError(
        f"{name} must be a Spark DataFrame, got {describe_type(table)}; use the functions of kdi for tables in memory."
    )


def check_weight_column(weights: Any, name: str = "weights") -> None:
    """Raise unless the weights are None or a string; messages call them `name`."""
    if weights is not None and not isinstance(weights, str):
        raise TypeError(f"{name} must be the name of a column, got {type(weights).__name__}.")


def rename_by_position(table: DataFrame) -> DataFrame:
    """Rename the columns to c0, c1, …"""
    return table.toDF(*[f"c{j}" for j in range(len(table.columns))])


def find_columns(table: DataFrame, names: Sequence[Any], advice: str = "") -> list[int]:
    """Return the positions of columns, each of which must exist exactly once and be numeric."""
    available = table.columns
    check_available(names, available)
    repeated = list(dict.fromkeys(name for name in names if available.count(name) > 1 or list(names).count(name) > 1))
    if repeated:
        raise not_unique_error(repeated, advice=advice)
    places = [available.index(name) for name in names]
    types = [table.schema.fields[place].dataType for place in places]
    wrong = {
        j: f"column {name!r} holds {kind.typeName()}"
        for j, (name, kind) in enumerate(zip(names, types, strict=True))
        if not isinstance(kind, NUMERIC_TYPES)
    }
    if wrong:
        raise non_numeric_error(wrong, names, advice)
    return places


def check_new_names(names: list[str], others: list[str]) -> None:
    """Raise if a new column would have the name of one of the others."""
    taken = [name for name in names if name in others]
    if taken:
        raise TableError(
            f"the table already has a column {format_names(taken)}, which would then occur twice",
            column=taken[0],
            advice="rename it first",
        )


def fitted_names(estimator: Any) -> list[str]:
    """Return the names of the features that an estimator was fitted on."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "estimator must know the names of its features, got one fitted without; refit it with named columns."
        )
    return [str(name) for name in names]
