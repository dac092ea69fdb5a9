"""Spark's DataFrames with columns mapped by functions of Arrow arrays: what the driver builds."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import FloatType

from kdi.spark._input import check_frame, check_new_names, find_columns, rename_by_position
from kdi.spark._tasks import map_columns


def map_lazily(estimator: Any, method: str, df: DataFrame, inputs: list[str], outputs: list[str]) -> DataFrame:
    """A DataFrame with columns replaced: in their places where names stay the same, behind all others where not."""
    check_frame(df)
    places = find_columns(df, inputs)
    names = df.columns
    same = inputs == outputs
    others = [place for place in range(len(names)) if place not in set(places)]
    if not same:
        check_new_names(outputs, [names[place] for place in others])
    fields = df.schema.fields
    kind = "float" if all(isinstance(fields[place].dataType, FloatType) for place in places) else "double"
    returned = "struct<" + ", ".join(f"m{j}: {kind}" for j in range(len(outputs))) + ">"
    function = column_function(partial(map_columns, model_for_workers(estimator), method, same), returned)
    numbered = rename_by_position(df)
    result = numbered.select(
        *[numbered[f"c{place}"] for place in others],
        function(*[numbered[f"c{place}"].cast(kind) for place in places]).alias("mapped"),
    )
    if same:
        new = {place: f"mapped.m{j}" for j, place in enumerate(places)}
        return result.selectExpr(*[new.get(place, f"c{place}") for place in range(len(names))]).toDF(*names)
    kept = [f"c{place}" for place in others]
    chosen = result.selectExpr(*kept, *[f"mapped.m{j}" for j in range(len(outputs))])
    return chosen.toDF(*[names[place] for place in others], *outputs)


def column_function(function: Callable[..., pa.Array], returned: str) -> Callable[..., Any]:
    """A function of Arrow arrays as a function of columns."""

    def call(*columns: pa.Array) -> pa.Array:  # Spark reads the annotations, which a partial does not have
        return function(*columns)

    udf: Callable[..., Any] = arrow_udf(call, returnType=returned)
    return udf


def model_for_workers(estimator: Any) -> Any:
    """The estimator as tasks need it: one thread, no sparse matrices, and none of what only more fitting would need."""
    getattr(estimator, "maps_", None)  # made here, or every task would make them
    model = copy(estimator)
    for name in ("sketches_", "valleys_"):
        vars(model).pop(name, None)
    changes: dict[str, Any] = {"n_jobs": 1, "copy": False}
    if getattr(model, "encode", None) == "onehot":
        changes["encode"] = "onehot-dense"
    vars(model).update({name: value for name, value in changes.items() if name in vars(model)})
    return model
