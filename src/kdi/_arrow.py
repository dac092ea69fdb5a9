"""Arrow's types, columns and batches, as far as tables of numbers need them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from kdi._input import listed
from kdi._typing import Table

TOGETHER = 2**17  # rows that small batches are put together to
VALUES = 3 * 2**21  # values of a batch: of many columns, fewer rows are read at once
LEAST = 2**10  # rows of a batch, however many columns there are


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of real numbers; that of a column of nothing but null is one too."""
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return is_number(kind.value_type)
    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(test(kind) for test in tests)


def refuse_text(schema: pa.Schema) -> None:
    """Raise unless all columns are numbers."""
    wrong = {j: f"column {one.name!r} holds {one.type}" for j, one in enumerate(schema) if not is_number(one.type)}
    if wrong:
        raise ValueError(f"{listed(wrong)}; kdi.sketch_table(source, columns=[…]) chooses columns for fit_sketches.")


def index_columns(schema: pa.Schema) -> set[str]:
    """The columns that are the index of a frame of pandas, which is written beside its columns."""
    try:
        names = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in names if isinstance(name, str)}  # the others take no column
    except (KeyError, TypeError, ValueError):
        return set()


def common_dtype(schema: pa.Schema) -> np.dtype[Any]:
    """float32 where all columns are, float64 otherwise."""
    return np.dtype(np.float32 if all(kinds.is_float32(kind) for kind in schema.types) else np.float64)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type that both can be turned into: for two kinds of numbers it is double."""
    if is_number(one) and is_number(other) and not kinds.is_null(one) and not kinds.is_null(other):
        if kinds.is_signed_integer(one) and kinds.is_signed_integer(other):
            return max(one, other, key=lambda kind: kind.bit_width)
        return pa.float64()
    pair = [pa.schema([("", kind)]) for kind in (one, other)]
    return pa.unify_schemas(pair, promote_options="permissive").field(0).type


def part_of(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Some columns of a schema, in the order of their names."""
    return pa.schema([schema.field(name) for name in names], metadata=schema.metadata)


def as_floats(column: Any) -> Table:
    """A column as float64, or float32 where it is that, in its own memory where possible; null is NaN."""
    plain = decoded(column)
    if not (kinds.is_float64(plain.type) or kinds.is_float32(plain.type)):
        plain = pc.cast(plain, pa.float64(), safe=False)
    values: Table = np.require(plain.to_numpy(zero_copy_only=False), requirements="A")
    return values


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns that a schema names, in its order and types."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for field in schema:
        column = batch.column(field.name)
        if column.type != field.type:
            column = pc.cast(column if kinds.is_dictionary(field.type) else decoded(column), field.type, safe=False)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def decoded(column: Any) -> Any:
    """A column with its values one after the other."""
    if kinds.is_dictionary(column.type):
        return column.dictionary_decode()
    return pc.run_end_decode(column) if kinds.is_run_end_encoded(column.type) else column


def rows_at_once(n_columns: int) -> int:
    """Rows to ask for, where a source can be asked."""
    return int(np.clip(VALUES // n_columns, LEAST, 2**20))


def even_batches(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are neither very small nor very large, and never empty."""
    rows = min(TOGETHER, rows)
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
