"""Lazy DataFrames: columns mapped by functions of Arrow arrays, as the driver builds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import FloatType

from kdi._tables.streams import model_for_workers
from kdi.spark._input import check_frame, check_new_names, find_columns, rename_by_position
from kdi.spark._tasks import map_columns
from kdi.spark._workers import for_workers


def map_lazily(estimator: Any, method: str, X: DataFrame, inputs: list[str], outputs: list[str]) -> DataFrame:
    """Replace columns by a method's output: in place if the names stay the same, after all others if not."""
    check_frame(X, "X")
    places = find_columns(X, inputs)
    names = X.columns
    same_names = inputs == outputs
    others = [place for place in range(len(names)) if place not in set(places)]
    if not same_names:
        check_new_names(outputs, [names[place] for place in others])
    fields = X.schema.fields
    kind = "float" if all(isinstance(fields[place].dataType, FloatType) for place in places) else "double"
    returned = "struct<" + ", ".join(f"m{j}: {kind}" for j in range(len(outputs))) + ">"
    function = column_function(partial(map_columns, _model_for_tasks(estimator), method, same_names), returned)
    numbered = rename_by_position(X)
    result = numbered.select(
        *[numbered[f"c{place}"] for place in others],
        function(*[numbered[f"c{place}"].cast(kind) for place in places]).alias("mapped"),
    )
    if same_names:
        replaced = {place: f"mapped.m{j}" for j, place in enumerate(places)}
        return result.selectExpr(*[replaced.get(place, f"c{place}") for place in range(len(names))]).toDF(*names)
    other_columns = [f"c{place}" for place in others]
    selected = result.selectExpr(*other_columns, *[f"mapped.m{j}" for j in range(len(outputs))])
    return selected.toDF(*[names[place] for place in others], *outputs)


def column_function(function: Callable[..., pa.Array], returned: str) -> Callable[..., Any]:
    """Turn a function of Arrow arrays into a function of columns."""

    sent = for_workers(function)

    def call(*columns: pa.Array) -> pa.Array:  # Spark reads the annotations
        return sent(*columns)

    udf: Callable[..., Any] = arrow_udf(call, returnType=returned)
    return udf


def _model_for_tasks(estimator: Any) -> Any:
    """Copy an estimator for the workers: one thread, since Spark runs one task per core, and dense output."""
    changes: dict[str, Any] = {"encode": "onehot-dense"} if getattr(estimator, "encode", None) == "onehot" else {}
    return model_for_workers(estimator, n_jobs=1, copy=False, **changes)
