"""Sinks: Arrow batches are written as Parquet or CSV, to a file or to standard output.

In CSV, null and NaN are an empty field; text is quoted only if it would be read differently without quotes. pyarrow is
imported when something is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from typing import Any, Literal

from kdi._utils.atomic_write import target_path
from kdi._utils.errors import TableError

FileFormat = Literal["Parquet", "CSV"]
CSV_SUFFIXES = (".csv", ".csv.gz")

# A row group of Parquet is written once it has this many rows, or takes this many bytes in memory.
ROW_GROUP_ROWS = 2**20
ROW_GROUP_BYTES = 2**26
CSV_ROWS = 2**15  # rows of CSV that are formatted at once


def sink_format(path: str) -> FileFormat:
    """Return the format of a file to write: CSV by its suffix, Parquet otherwise."""
    return "CSV" if path.lower().endswith(CSV_SUFFIXES) else "Parquet"


def sink_path(sink: Any) -> str:
    """Check the path of the file to write."""
    return target_path(sink, "a Parquet or CSV file")


def write_batches(
    batches: Iterable[Any],
    schema: Any,
    target: Any,
    file_format: FileFormat,
    features: Collection[str] = (),
    *,
    gzip: bool,
) -> int:
    """Write batches to a path or a binary stream, and return the number of rows.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    schema : pyarrow.Schema
    target : path or binary file
    file_format : {"Parquet", "CSV"}
    features : collection of str
        Columns whose values rarely repeat: Parquet writes them without a dictionary.
    gzip : bool
        Whether to compress CSV.
    """
    if file_format == "Parquet":
        return _write_parquet(batches, schema, features, target)
    import pyarrow as pa

    with ExitStack() as stack:
        if isinstance(target, str):
            target = stack.enter_context(pa.output_stream(target, compression="gzip" if gzip else None))
        return _write_csv(batches, schema, target)


def _write_parquet(batches: Iterable[Any], schema: Any, features: Collection[str], target: Any) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    without_dictionary = set(features)
    with_dictionary = [name for name in schema.names if name not in without_dictionary]
    pending: list[Any] = []
    n_rows = 0
    with pq.ParquetWriter(target, schema, use_dictionary=with_dictionary or False) as writer:

        def write_row_group() -> None:
            table = pa.Table.from_batches(pending, schema)
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            pending.clear()

        for batch in batches:
            n_rows += batch.num_rows
            pending.append(batch)
            has_rows = sum(one.num_rows for one in pending) >= ROW_GROUP_ROWS
            if has_rows or sum(one.nbytes for one in pending) >= ROW_GROUP_BYTES:
                write_row_group()
        if pending:
            write_row_group()
    return n_rows


def _write_csv(batches: Iterable[Any], schema: Any, stream: Any) -> int:
    check_csv_types(schema)
    stream.write((",".join(map(_quote_field, schema.names)) + "\n").encode())
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        for start in range(0, batch.num_rows, CSV_ROWS):
            stream.write(_csv_lines(batch.slice(start, CSV_ROWS)))
    return n_rows


def _quote_field(text: str) -> str:
    """Quote a text for CSV if it would be read differently without quotes."""
    if text and not any(sign in text for sign in '",\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def check_csv_types(schema: Any) -> None:
    """Raise if a column cannot be written as CSV; bytes cannot, since they need not be text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as arrow_types

    for field in schema:
        encoded = arrow_types.is_dictionary(field.type) or arrow_types.is_run_end_encoded(field.type)
        kind = field.type.value_type if encoded else field.type
        try:
            pc.cast(pa.nulls(0, kind), pa.large_string())
            has_text = "binary" not in str(kind)
        except pa.ArrowNotImplementedError:
            has_text = False
        if not has_text:
            problem = f"column {field.name!r} holds {field.type}, which cannot be written as CSV"
            raise TableError(problem, column=field.name, advice="write Parquet")


def _csv_lines(batch: Any) -> Any:
    """Format rows as lines of CSV, in one buffer."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    def constant(text: str) -> Any:
        return pa.scalar(text, pa.large_string())

    fields = [_csv_fields(column) for column in batch.columns]
    if len(fields) == 1:  # readers skip empty lines
        fields = [pc.coalesce(fields[0], constant('""'))]
    empty = {"null_handling": "replace", "null_replacement": ""}
    rows = pc.binary_join_element_wise(*fields, constant(","), **empty)
    lines = pc.binary_join_element_wise(rows, constant(""), constant("\n"))
    _, offset_buffer, text = lines.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)
    first, last = int(offsets[lines.offset]), int(offsets[lines.offset + len(lines)])
    return memoryview(text)[first:last]


def _csv_fields(column: Any) -> Any:
    """Format the values of a column as fields of CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as arrow_types

    from kdi._tables.arrow import decode_column

    column = decode_column(column)
    if arrow_types.is_floating(column.type):
        column = column.cast(pa.float32()) if arrow_types.is_float16(column.type) else column
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    text = pc.cast(column, pa.large_string())
    string_types = (arrow_types.is_string, arrow_types.is_large_string, arrow_types.is_string_view)
    if not any(is_type(column.type) for is_type in string_types):
        return text
    needs_quotes = pc.match_substring_regex(text, r'[",\r\n]|^$')
    if not pc.any(needs_quotes).as_py():
        return text
    escaped = pc.replace_substring(text, '"', '""')
    quote, separator = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    return pc.if_else(needs_quotes, pc.binary_join_element_wise(quote, escaped, quote, separator), text)
