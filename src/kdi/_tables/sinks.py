"""Sinks: batches of Arrow as a Parquet or CSV file, or as what goes to standard output.

In CSV, null and NaN are an empty field, and text stands as it is: quotes are put around what would be read otherwise.
pyarrow is imported when something is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from typing import Any, Literal

from kdi._utils.atomic_write import target_path

SinkKind = Literal["Parquet", "CSV"]
CSV_SUFFIXES = (".csv", ".csv.gz")

ROW_GROUP = 2**20  # rows of a row group that is written
GROUP_BYTES = 2**26  # and its bytes in memory
LINES = 2**15  # lines of CSV that are made at once


def sink_kind(path: str) -> SinkKind:
    """What a path is written as: CSV where the suffix says so, Parquet otherwise."""
    return "CSV" if path.lower().endswith(CSV_SUFFIXES) else "Parquet"


def sink_path(sink: Any) -> str:
    """The path of the file to write."""
    return target_path(sink, "a Parquet or CSV file")


def write_batches(
    batches: Iterable[Any], schema: Any, target: Any, kind: SinkKind, features: Collection[str] = (), *, gzip: bool
) -> int:
    """Write batches to a path or a binary stream, and return the number of rows.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    schema : pyarrow.Schema
    target : path or binary file
    kind : {"Parquet", "CSV"}
    features : collection of str
        Columns of numbers that hardly repeat, for which Parquet need not look for repetitions.
    gzip : bool
        Whether to compress CSV.
    """
    if kind == "Parquet":
        return _write_parquet(batches, schema, features, target)
    import pyarrow as pa

    with ExitStack() as stack:
        if isinstance(target, str):
            target = stack.enter_context(pa.output_stream(target, compression="gzip" if gzip else None))
        return _write_csv(batches, schema, target)


def _write_parquet(batches: Iterable[Any], schema: Any, features: Collection[str], target: Any) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    chosen = set(features)
    passing = [name for name in schema.names if name not in chosen]  # which may hold few values many times
    waiting: list[Any] = []
    n_rows = 0
    with pq.ParquetWriter(target, schema, use_dictionary=passing or False) as writer:

        def write() -> None:
            table = pa.Table.from_batches(waiting, schema)
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            waiting.clear()

        for batch in batches:
            n_rows += batch.num_rows
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= ROW_GROUP or sum(one.nbytes for one in waiting) >= GROUP_BYTES:
                write()
        if waiting:
            write()
    return n_rows


def _write_csv(batches: Iterable[Any], schema: Any, stream: Any) -> int:
    check_csv_types(schema)
    stream.write((",".join(map(csv_field, schema.names)) + "\n").encode())
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        for start in range(0, batch.num_rows, LINES):
            stream.write(_lines(batch.slice(start, LINES)))
    return n_rows


def csv_field(text: str) -> str:
    """A field of CSV that is read as this text."""
    if text and not any(sign in text for sign in '",\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def check_csv_types(schema: Any) -> None:
    """Raise for columns that CSV cannot hold; bytes need not be text, even where they can be turned into it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    for field in schema:
        encoded = kinds.is_dictionary(field.type) or kinds.is_run_end_encoded(field.type)
        kind = field.type.value_type if encoded else field.type
        try:
            pc.cast(pa.nulls(0, kind), pa.large_string())
            has_text = "binary" not in str(kind)
        except pa.ArrowNotImplementedError:
            has_text = False
        if not has_text:
            raise ValueError(f"column {field.name!r} holds {field.type}, for which CSV has no place; write Parquet.")


def _lines(batch: Any) -> Any:
    """The rows as lines of CSV, in one buffer."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    def constant(text: str) -> Any:
        return pa.scalar(text, pa.large_string())

    fields = [_as_text(column) for column in batch.columns]
    if len(fields) == 1:  # an empty line would be taken for no row
        fields = [pc.coalesce(fields[0], constant('""'))]
    empty = {"null_handling": "replace", "null_replacement": ""}
    rows = pc.binary_join_element_wise(*fields, constant(","), **empty)
    lines = pc.binary_join_element_wise(rows, constant(""), constant("\n"))
    _, places, text = lines.buffers()
    ends = np.frombuffer(places, dtype=np.int64)
    first, last = int(ends[lines.offset]), int(ends[lines.offset + len(lines)])
    return memoryview(text)[first:last]


def _as_text(column: Any) -> Any:
    """The fields of a column."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    from kdi._tables.arrow import decode_column

    column = decode_column(column)
    if kinds.is_floating(column.type):
        column = column.cast(pa.float32()) if kinds.is_float16(column.type) else column
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    text = pc.cast(column, pa.large_string())
    if not (kinds.is_string(column.type) or kinds.is_large_string(column.type) or kinds.is_string_view(column.type)):
        return text
    special = pc.match_substring_regex(text, r'[",\r\n]|^$')
    if not pc.any(special).as_py():
        return text
    inner = pc.replace_substring(text, '"', '""')
    quote, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    return pc.if_else(special, pc.binary_join_element_wise(quote, inner, quote, nothing), text)
