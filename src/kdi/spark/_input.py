"""What users of kdi.spark give, looked at on the driver.

Columns go by their place, since names may hold dots and quotes, and differ only in case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, NullType, NumericType
from sklearn.utils.validation import check_is_fitted

from kdi._utils.names import format_names
from kdi._utils.validation import describe_columns

NUMBERS = (NumericType, BooleanType, NullType)


def check_frame(df: Any) -> None:
    """Raise for anything that is not a Spark DataFrame, and say where it belongs."""
    if isinstance(df, DataFrame):
        return
    kind = f"{type(df).__module__.split('.')[0]} {type(df).__name__}"
    if hasattr(df, "to_spark"):
        raise TypeError("df must be a Spark DataFrame, got a DataFrame of pyspark.pandas; call to_spark() first.")
    raise TypeError(f"df must be a Spark DataFrame, got a {kind}; kdi itself takes what is in memory.")


def rename_by_position(df: DataFrame) -> DataFrame:
    """The same columns under the names c0, c1, …"""
    return df.toDF(*[f"c{j}" for j in range(len(df.columns))])


def find_columns(df: DataFrame, names: Sequence[Any], advice: str = "") -> list[int]:
    """Places of the named columns, which must be there, once each, and hold numbers."""
    there = df.columns
    missing = [name for name in names if name not in there]
    if missing:
        raise ValueError(f"df has no column {format_names(missing)}; its columns are {format_names(there, 20)}.")
    repeated = list(dict.fromkeys(name for name in names if there.count(name) > 1 or list(names).count(name) > 1))
    if repeated:
        raise ValueError(
            f"column {format_names(repeated)} occurs more than once; columns must have names of their own{advice}."
        )
    places = [there.index(name) for name in names]
    types = [df.schema.fields[place].dataType for place in places]
    wrong = {
        j: f"column {name!r} holds {kind.typeName()}"
        for j, (name, kind) in enumerate(zip(names, types, strict=True))
        if not isinstance(kind, NUMBERS)
    }
    if wrong:
        raise ValueError(f"{describe_columns(wrong)}{advice}.")
    return places


def check_new_names(names: list[str], others: list[str]) -> None:
    taken = [name for name in names if name in others]
    if taken:
        raise ValueError(
            f"df already has a column {format_names(taken)}, which would then be there twice; rename it first."
        )


def fitted_names(estimator: Any) -> list[str]:
    """The names of the features that an estimator was fitted to."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError("the estimator was fitted to columns without names; fit it to a DataFrame, to find them here.")
    return [str(name) for name in names]
