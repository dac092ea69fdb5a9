"""ArrowPartitions: columns of a source as NumPy arrays, and weights beside them."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from table_sources import as_source, numbers_table

from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._utils.errors import TableError

N = 1000

# Columns as NumPy arrays


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1.5, None, np.nan]), [1.5, np.nan, np.nan]),
        (pa.array([1, None], pa.int8()), [1.0, np.nan]),
        (pa.array([2**63, 1], pa.uint64()), [2.0**63, 1.0]),
        (pa.array([2**53 + 1, 1]), [2.0**53, 1.0]),
        (pa.array([True, None, False]), [1.0, np.nan, 0.0]),
        (pa.array([Decimal("1.25"), None]), [1.25, np.nan]),
        (pa.array([np.float16(0.5), None], pa.float16()), [0.5, np.nan]),
        (pa.array([3, None, 3]).dictionary_encode(), [3.0, np.nan, 3.0]),
        (pa.compute.run_end_encode(pa.array([3, 3, 4])), [3.0, 3.0, 4.0]),
        (pa.nulls(2), [np.nan, np.nan]),
    ],
    ids=lambda value: str(value.type) if hasattr(value, "type") else "",
)
def test_numbers_of_every_type_become_float64_and_null_nan(column, expected):
    ((columns, weights),) = ArrowPartitions(pa.table({"a": column})).chunks()
    assert weights is None
    assert columns[0].dtype == np.float64
    np.testing.assert_array_equal(columns[0], expected)


def test_float32_stays_float32_and_nothing_is_copied():
    table = pa.table({"a": pa.array([1.0, 2.0]), "b": pa.array([1.0, 2.0], pa.float32())})
    ((columns, _),) = ArrowPartitions(table).chunks()
    assert [column.dtype for column in columns] == [np.float64, np.float32]
    for name, column in zip("ab", columns, strict=True):
        assert np.shares_memory(column, table[name].chunk(0).to_numpy())
    ((columns, _),) = ArrowPartitions(pa.table({"b": pa.array([1.0, None], pa.float32())})).chunks()
    assert columns[0].dtype == np.float32
    np.testing.assert_array_equal(columns[0], np.array([1.0, np.nan], np.float32))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["1"]),
        pa.array(["1"]).dictionary_encode(),
        pa.array([pd.Timestamp("2020-01-01")]),
        pa.array([1], pa.date32()),
        pa.array([1], pa.duration("s")),
        pa.array([[1.0]]),
        pa.array([{"x": 1.0}]),
    ],
    ids=lambda column: str(column.type),
)
def test_what_is_not_a_number_is_refused_from_the_schema(column):
    table = pa.table({"a": [1.0], "b": column})
    with pytest.raises(TableError) as error:
        ArrowPartitions(table)
    assert f"all columns must be numeric, but column 'b' holds {column.type}" in str(error.value)
    assert str(error.value).endswith("; choose columns with kdi.sketch_table(source, columns=[…]) and fit_sketches.")
    assert error.value.column == "b"
    assert ArrowPartitions(table, columns=["a"]).names == ["a"]


def test_parts_reduce_to_one_summary_of_all_chunks():
    parts = ArrowPartitions(numbers_table())
    assert (parts.names, parts.n_columns, parts.rereadable, parts.n_jobs) == (["a", "b", "c"], 3, True, None)

    def total(chunks):
        return sum(float(columns[1].sum()) for columns, _ in chunks)

    assert parts.reduce(total, None) == float(numbers_table()["b"].to_numpy().sum())
    assert ArrowPartitions(numbers_table(n=0)).reduce(total, None) == 0.0


def test_a_stream_is_read_as_it_is_used():
    """Of many batches, few are alive at any time."""
    made = []

    def batches():
        for k in range(100):
            made.append(k)
            yield pa.record_batch({"a": np.full(100_000, float(k))})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), batches())
    before = pa.total_allocated_bytes()
    for k, (columns, _) in enumerate(ArrowPartitions(reader).chunks()):
        assert len(made) <= k + 2
        assert columns[0][0] == k
        assert pa.total_allocated_bytes() - before < 10_000_000
    assert len(made) == 100


# Weights


def weights_of(parts):
    return np.concatenate([weights for _, weights in parts.chunks()])


@pytest.mark.parametrize("kind", ["table", "reader", "glob", "foreign", "relation"])
def test_weights_are_a_column_that_is_then_no_feature(kind, tmp_path):
    parts = ArrowPartitions(as_source(kind, numbers_table(), tmp_path), "b")
    assert parts.names == ["a", "c"]
    np.testing.assert_array_equal(weights_of(parts), numbers_table()["b"].to_numpy())


@pytest.mark.parametrize("make", [np.asarray, list, pd.Series, pl.Series, pa.array])
def test_weights_are_an_array_along_the_batches(make, tmp_path):
    given = np.arange(float(N))
    parts = ArrowPartitions(as_source("reader", numbers_table(), tmp_path), make(given))
    assert parts.names == ["a", "b", "c"]
    np.testing.assert_array_equal(weights_of(parts), given)


def test_one_weight_for_all_rows():
    np.testing.assert_array_equal(weights_of(ArrowPartitions(numbers_table(), 2.0)), np.full(N, 2.0))


@pytest.mark.parametrize("n", [N - 1, N + 1, 0])
def test_as_many_weights_as_rows(n, tmp_path):
    with pytest.raises(ValueError, match=f"sample_weight must have one weight per row, got {n} weights for {N} rows"):
        ArrowPartitions(numbers_table(), np.ones(n))
    rows = f"more than {n}" if n < N else N
    with pytest.raises(ValueError, match=f"got {n} weights for {rows} rows"):
        weights_of(ArrowPartitions(as_source("reader", numbers_table(), tmp_path), np.ones(n)))


@pytest.mark.parametrize(("value", "shown"), [(None, "nan"), (-1.0, "-1.0"), (np.inf, "inf"), (np.nan, "nan")])
def test_a_wrong_weight_is_named_with_its_row_in_the_source(value, shown):
    n, place = 400_000, 300_123
    weights = np.ones(n).tolist()
    weights[place] = value
    table = pa.table({"a": np.zeros(n), "w": weights})
    message = rf"weights in column 'w' must be finite and not negative, got {shown} in row {place}\."
    with pytest.raises(TableError, match=message) as error:
        weights_of(ArrowPartitions(pa.Table.from_batches(table.to_batches(max_chunksize=100_000)), "w"))
    assert (error.value.column, error.value.row) == ("w", place)
    with pytest.raises(ValueError, match=rf"sample_weight must be finite and not negative, got {shown} in row {place}"):
        ArrowPartitions(table, table["w"])


def test_weights_must_have_a_finite_sum():
    table = pa.table({"a": np.zeros(400_000), "w": np.full(400_000, 1e303)})
    with pytest.raises(ValueError, match="finite sum"):
        weights_of(ArrowPartitions(pa.Table.from_batches(table.to_batches(max_chunksize=100_000)), "w"))


def test_weights_that_are_no_column():
    with pytest.raises(TableError, match="no column 'w'"):
        ArrowPartitions(numbers_table(), "w")
    with pytest.raises(ValueError, match="'b' holds the weights and cannot be a feature too"):
        ArrowPartitions(numbers_table(), "b", columns=["a", "b"])
    with pytest.raises(ValueError, match="the only column, 'a', holds the weights"):
        ArrowPartitions(numbers_table().select(["a"]), "a")
    with pytest.raises(ValueError, match="column 'w' holds string"):
        ArrowPartitions(numbers_table().append_column("w", pa.array(["x"] * N)), "w")
