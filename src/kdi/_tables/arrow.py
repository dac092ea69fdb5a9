"""Arrow's types, columns and batches, as far as tables of numbers need them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow_types

from kdi._utils.typing import FloatArray
from kdi._utils.validation import describe_columns

BATCH_ROWS = 2**17  # rows that small batches are put together to
VALUES = 3 * 2**21  # values of a batch: of many columns, fewer rows are read at once
LEAST = 2**10  # rows of a batch, however many columns there are


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of real numbers; that of a column of nothing but null is one too."""
    if arrow_types.is_dictionary(kind) or arrow_types.is_run_end_encoded(kind):
        return is_number(kind.value_type)
    tests = (
        arrow_types.is_integer,
        arrow_types.is_floating,
        arrow_types.is_boolean,
        arrow_types.is_decimal,
        arrow_types.is_null,
    )
    return any(test(kind) for test in tests)


def check_numeric_columns(schema: pa.Schema) -> None:
    """Raise unless all columns are numbers."""
    wrong = {j: f"column {one.name!r} holds {one.type}" for j, one in enumerate(schema) if not is_number(one.type)}
    if wrong:
        raise ValueError(
            f"{describe_columns(wrong)}; kdi.sketch_table(source, columns=[…]) chooses columns for fit_sketches."
        )


def index_columns(schema: pa.Schema) -> set[str]:
    """The columns that are the index of a frame of pandas, which is written beside its columns."""
    try:
        names = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in names if isinstance(name, str)}  # the others take no column
    except (KeyError, TypeError, ValueError):
        return set()


def common_dtype(schema: pa.Schema) -> np.dtype[Any]:
    """float32 where all columns are, float64 otherwise."""
    return np.dtype(np.float32 if all(arrow_types.is_float32(kind) for kind in schema.types) else np.float64)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type that both can be turned into: for two kinds of numbers it is double."""
    if is_number(one) and is_number(other) and not arrow_types.is_null(one) and not arrow_types.is_null(other):
        if arrow_types.is_signed_integer(one) and arrow_types.is_signed_integer(other):
            return max(one, other, key=lambda kind: kind.bit_width)
        return pa.float64()
    pair = [pa.schema([("", kind)]) for kind in (one, other)]
    return pa.unify_schemas(pair, promote_options="permissive").field(0).type


def select_fields(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Some columns of a schema, in the order of their names."""
    return pa.schema([schema.field(name) for name in names], metadata=schema.metadata)


def as_floats(column: Any) -> FloatArray:
    """A column as float64, or float32 where it is that, in its own memory where possible; null is NaN."""
    plain = decode_column(column)
    if not (arrow_types.is_float64(plain.type) or arrow_types.is_float32(plain.type)):
        plain = pc.cast(plain, pa.float64(), safe=False)
    values: FloatArray = np.require(plain.to_numpy(zero_copy_only=False), requirements="A")
    return values


def conform_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that a schema names, in its order and types."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for field in schema:
        column = batch.column(field.name)
        if column.type != field.type:
            column = pc.cast(
                column if arrow_types.is_dictionary(field.type) else decode_column(column), field.type, safe=False
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def decode_column(column: Any) -> Any:
    """A column with its values one after the other."""
    if arrow_types.is_dictionary(column.type):
        return column.dictionary_decode()
    return pc.run_end_decode(column) if arrow_types.is_run_end_encoded(column.type) else column


def rows_at_once(n_columns: int) -> int:
    """Rows to ask for, where a source can be asked."""
    return int(np.clip(VALUES // n_columns, LEAST, 2**20))


def even_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are neither very small nor very large, and never empty."""
    rows = min(BATCH_ROWS, rows)
    most = 8 * rows
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            part = batch.slice(start, most)
            is_small = part.num_rows < rows // 2
            if waiting and not (is_small and sum(one.num_rows for one in waiting) < rows):
                yield _together(waiting)
                waiting.clear()
            if is_small:
                waiting.append(part)
            else:
                yield part
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
