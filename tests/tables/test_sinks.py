"""Sinks: what is written as CSV or Parquet is read as what it was."""

import csv
import datetime
import decimal
import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdi._tables.sinks
from kdi._tables.sinks import sink_format, write_batches


def as_csv(columns, schema=None):
    """The text of a table."""
    table = pa.table(columns, schema=schema)
    stream = io.BytesIO()
    assert write_batches(table.to_batches(), table.schema, stream, "CSV", gzip=False) == table.num_rows
    return stream.getvalue().decode()


def fields(text):
    """What Python's own reader makes of it."""
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_are_read_as_the_same_floats(values):
    assert [float(row[0]) for row in fields(as_csv({"x": values}))[1:]] == values


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_single_precision_is_read_as_the_same(values):
    text = as_csv({"x": pa.array(values, pa.float32())})
    assert [np.float32(row[0]) for row in fields(text)[1:]] == [np.float32(one) for one in values]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_text_is_read_as_the_same_text(values):
    assert fields(as_csv({"x": values, "y": values})) == [["x", "y"], *([one, one] for one in values)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, unique=True))
def test_names_of_columns_are_read_as_the_same_names(names):
    assert fields(as_csv({name: [1] for name in names}))[0] == names


def test_nothing_and_empty_text_differ():
    assert as_csv({"x": ["a", None, ""], "y": ["", None, "b"]}) == 'x,y\na,""\n,\n"",b\n'


def test_a_single_column_has_no_empty_lines():
    assert as_csv({"x": [1.5, None, np.nan]}) == 'x\n1.5\n""\n""\n'
    assert as_csv({"x": ["a", None, ""]}) == 'x\na\n""\n""\n'


def test_what_is_no_number_is_an_empty_field():
    assert as_csv({"x": [1.0, np.nan, None], "y": [np.inf, -np.inf, 0.0]}) == "x,y\n1,inf\n,-inf\n,0\n"


def test_kinds():
    columns = {
        "whole": pa.array([2**63 - 1, -1], pa.int64()),
        "large": pa.array([2**64 - 1, 0], pa.uint64()),
        "half": pa.array(np.array([0.1, 65504], dtype=np.float16)),
        "flag": pa.array([True, None]),
        "day": pa.array([datetime.date(2024, 2, 29), None]),
        "moment": pa.array([datetime.datetime(2024, 2, 29, 12, 0, 1), None], pa.timestamp("s")),
        "exact": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(5, 2)),
        "word": pa.array(["a,b", None]).dictionary_encode(),
        "none": pa.nulls(2),
        "view": pa.array(['say "x"', "b"], pa.string_view()),
    }
    assert fields(as_csv(columns))[1:] == [
        f'{2**63 - 1}|{2**64 - 1}|0.099975586|true|2024-02-29|2024-02-29 12:00:01|1.10|a,b||say "x"'.split("|"),
        ["-1", "0", "65504", "", "", "", "", "", "", "b"],
    ]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int8()),
        pa.struct([("a", pa.int8())]),
        pa.binary(),
        pa.binary(4),
        pa.large_binary(),
        pa.binary_view(),
        pa.dictionary(pa.int8(), pa.binary()),
        pa.month_day_nano_interval(),
    ],
)
def test_types_that_csv_cannot_hold_are_refused(kind):
    with pytest.raises(ValueError, match=r"column 'x' holds .*, which cannot be written as CSV; write Parquet"):
        as_csv({"x": pa.nulls(1, kind)})


def test_long_batches_are_written_in_parts(monkeypatch):
    monkeypatch.setattr(kdi._tables.sinks, "CSV_ROWS", 7)
    values = list(range(100))
    assert as_csv({"x": values}) == "x\n" + "".join(f"{one}\n" for one in values)


def test_slices_of_batches():
    batch = pa.record_batch({"x": ["a", None, "c", "d"], "y": [1.5, 2.5, None, 4.5]}).slice(1, 2)
    stream = io.BytesIO()
    write_batches([batch], batch.schema, stream, "CSV", gzip=False)
    assert stream.getvalue() == b"x,y\n,2.5\nc,\n"


def test_files_are_compressed_where_asked_for(tmp_path):
    table = pa.table({"x": [1, 2]})
    for gz in (False, True):
        write_batches(table.to_batches(), table.schema, str(tmp_path / "a"), "CSV", gzip=gz)
        content = (tmp_path / "a").read_bytes()
        assert (gzip.decompress(content) if gz else content) == b"x\n1\n2\n"


def test_row_groups_of_parquet_are_not_small(tmp_path, monkeypatch):
    monkeypatch.setattr(kdi._tables.sinks, "ROW_GROUP_ROWS", 100)
    table = pa.table({"x": np.arange(1000.0), "y": ["a", "b"] * 500})
    write_batches(table.to_batches(max_chunksize=30), table.schema, str(tmp_path / "a"), "Parquet", ["x"], gzip=False)
    found = pq.ParquetFile(tmp_path / "a")
    assert found.read().equals(table)
    assert [found.metadata.row_group(k).num_rows for k in range(found.num_row_groups)] == [120] * 8 + [40]
    encodings = [found.metadata.row_group(0).column(j).encodings for j in range(2)]
    assert ["RLE_DICTIONARY" in one for one in encodings] == [False, True]


@pytest.mark.parametrize(
    "path, kind",
    [("a.csv", "CSV"), ("a.CSV.gz", "CSV"), ("a.parquet", "Parquet"), ("a.pq", "Parquet"), ("a", "Parquet")],
)
def test_suffixes(path, kind):
    assert sink_format(path) == kind
