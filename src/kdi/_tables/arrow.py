"""Types, columns and batches of Arrow, for tables of numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow_types

from kdi._utils.errors import SourceChangedError
from kdi._utils.typing import FloatArray
from kdi._utils.validation import non_numeric_error

BATCH_ROWS = 2**17  # small batches are concatenated up to this many rows
BATCH_VALUES = 3 * 2**21  # rows × columns per batch: wide tables are read in fewer rows
MIN_BATCH_ROWS = 2**10  # however many columns there are


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type holds real numbers; the type of a column of nulls does, too."""
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
    """Raise unless all columns are numeric."""
    wrong = {j: f"column {one.name!r} holds {one.type}" for j, one in enumerate(schema) if not is_number(one.type)}
    if wrong:
        advice = "choose columns with kdi.sketch_table(source, columns=[…]) and fit_sketches"
        raise non_numeric_error(wrong, schema.names, advice)


def index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that hold the index of a pandas frame, which is written beside its columns."""
    try:
        names = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in names if isinstance(name, str)}  # a RangeIndex is a dict: it has no column
    except (KeyError, TypeError, ValueError):
        return set()


def common_dtype(schema: pa.Schema) -> np.dtype[Any]:
    """Return float32 if all columns are float32, float64 otherwise."""
    return np.dtype(np.float32 if all(arrow_types.is_float32(kind) for kind in schema.types) else np.float64)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type that both can be converted to: double for two different types of numbers."""
    if is_number(one) and is_number(other) and not arrow_types.is_null(one) and not arrow_types.is_null(other):
        if arrow_types.is_signed_integer(one) and arrow_types.is_signed_integer(other):
            return max(one, other, key=lambda kind: kind.bit_width)
        return pa.float64()
    pair = [pa.schema([("", kind)]) for kind in (one, other)]
    return pa.unify_schemas(pair, promote_options="permissive").field(0).type


def select_fields(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Select columns of a schema, in the order of the names."""
    return pa.schema([schema.field(name) for name in names], metadata=schema.metadata)


def as_floats(column: Any) -> FloatArray:
    """Return a column as float64, or float32 if it is float32, without a copy if possible; null is NaN."""
    plain = decode_column(column)
    if not (arrow_types.is_float64(plain.type) or arrow_types.is_float32(plain.type)):
        plain = pc.cast(plain, pa.float64(), safe=False)
    values: FloatArray = np.require(plain.to_numpy(zero_copy_only=False), requirements="A")
    return values


def conform_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Select the columns that a schema names, in its order and types."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    names = set(batch.schema.names)
    for field in schema:
        if field.name not in names:
            raise SourceChangedError(f"column {field.name!r} is missing now")
        column = batch.column(field.name)
        if column.type != field.type:
            column = pc.cast(
                column if arrow_types.is_dictionary(field.type) else decode_column(column), field.type, safe=False
            )
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def decode_column(column: Any) -> Any:
    """Decode a column that is dictionary-encoded or run-end-encoded."""
    if arrow_types.is_dictionary(column.type):
        return column.dictionary_decode()
    return pc.run_end_decode(column) if arrow_types.is_run_end_encoded(column.type) else column


def rows_per_batch(n_columns: int) -> int:
    """Return the number of rows to request per batch."""
    return int(np.clip(BATCH_VALUES // n_columns, MIN_BATCH_ROWS, 2**20))


def even_batches(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Split and concatenate batches: none has more than 8 n_rows rows, few have less than n_rows / 2, none is empty."""
    n_rows = min(BATCH_ROWS, n_rows)
    max_rows = 8 * n_rows
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        for start in range(0, batch.num_rows, max_rows):
            part = batch.slice(start, max_rows)
            is_small = part.num_rows < n_rows // 2
            if pending and not (is_small and sum(one.num_rows for one in pending) < n_rows):
                yield _concatenate(pending)
                pending.clear()
            if is_small:
                pending.append(part)
            else:
                yield part
    if pending:
        yield _concatenate(pending)


def _concatenate(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
