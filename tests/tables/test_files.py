"""Files as sources: paths, Parquet files that differ, and files that cannot be read."""

import gzip
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from table_sources import all_rows, numbers_table

from kdi._tables.sources import open_source
from kdi._utils.errors import TableError

# Paths


def test_a_glob_is_read_in_sorted_order(tmp_path):
    for k in (3, 1, 2):
        pq.write_table(pa.table({"a": [float(k)]}), tmp_path / f"{k}.parquet")
    assert all_rows(tmp_path / "*.parquet")["a"].to_pylist() == [1, 2, 3]
    given = [tmp_path / "3.parquet", str(tmp_path / "[12].parquet")]
    assert all_rows(given)["a"].to_pylist() == [3, 1, 2]
    assert all_rows(str(tmp_path / "**" / "*.parquet"))["a"].to_pylist() == [1, 2, 3]


def test_a_name_that_looks_like_a_glob_is_a_file_where_there_is_one(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "[1].parquet")
    assert all_rows(tmp_path / "[1].parquet")["a"].to_pylist() == [1.0]


@pytest.mark.parametrize("name", ["none-*.parquet", "none.parquet"])
def test_no_such_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError) as error:
        open_source(tmp_path / name)
    assert name in str(error.value)


def test_other_suffixes_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"must end in \.parquet, \.pq, \.csv, \.csv\.gz, got .*a\.xlsx"):
        open_source(tmp_path / "a.xlsx")
    (tmp_path / "a.csv").write_text("a\n1\n")
    pq.write_table(numbers_table(), tmp_path / "a.pq")
    with pytest.raises(ValueError, match=r"all be Parquet or all be CSV, got .*a\.csv' and .*a\.pq"):
        open_source(tmp_path / "a.[cp]*")


def test_a_directory_is_refused_with_advice(tmp_path):
    with pytest.raises(ValueError, match=r"is a directory; a glob such as .*\*\.parquet"):
        open_source(tmp_path)


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "a.PARQUET")
    assert all_rows("~/a.PARQUET").num_rows == 1


# Files that differ


def test_types_and_order_of_columns_may_differ_from_file_to_file(tmp_path):
    tables = [
        {"a": pa.array([1, 2], pa.int32()), "b": pa.array([0.5, None], pa.float32())},
        {"b": pa.array([0.25], pa.float64()), "a": pa.array([2.5], pa.float64())},
        {"a": pa.array([2**40], pa.int64()), "b": pa.array([True])},
        {"a": pa.array([3], pa.uint8()), "b": pa.array([None], pa.null())},
        {"a": pa.array([Decimal("1.25")]), "b": pa.array([7], pa.int64()).dictionary_encode()},
    ]
    for k, columns in enumerate(tables):
        pq.write_table(pa.table(columns), tmp_path / f"{k}.parquet")
    found = all_rows(tmp_path / "*.parquet")
    assert found.schema.types == [pa.float64(), pa.float64()]
    assert found["a"].to_pylist() == [1, 2, 2.5, 2**40, 3, 1.25]
    assert found["b"].to_pylist() == [0.5, None, 0.25, 1, None, 7]


def test_whole_numbers_stay_whole_where_all_files_have_them(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([2**60 + 1], pa.int64())}), tmp_path / "1.parquet")
    assert all_rows(tmp_path / "*.parquet")["a"].to_pylist() == [1, 2**60 + 1]


def test_all_float32_stays_float32(tmp_path):
    for k in range(2):
        pq.write_table(numbers_table(k).select(["c"]), tmp_path / f"{k}.parquet")
    assert all_rows(tmp_path / "*.parquet").schema.types == [pa.float32()]


def test_columns_that_a_file_lacks_are_named_with_the_file(tmp_path):
    pq.write_table(numbers_table(), tmp_path / "0.parquet")
    pq.write_table(numbers_table().drop_columns(["b"]), tmp_path / "1.parquet")
    with pytest.raises(TableError, match=r"1\.parquet has no column 'b', which .*0\.parquet has") as error:
        open_source(tmp_path / "*.parquet")
    assert error.value.column == "b"
    pq.write_table(numbers_table().append_column("d", numbers_table()["a"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"0\.parquet has no column 'd', which .*1\.parquet has"):
        open_source(tmp_path / "*.parquet")


def test_types_that_have_nothing_in_common_are_named_with_the_file(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "1.parquet")
    with pytest.raises(TableError, match=r"column 'a' holds string in .*1\.parquet, but double") as error:
        open_source(tmp_path / "*.parquet")
    assert error.value.column == "a"


# Files that cannot be read


def three_files(folder):
    for k in range(3):
        pq.write_table(numbers_table(k), folder / f"{k}.parquet", row_group_size=100, use_dictionary=False)
    return folder / "1.parquet"


@pytest.mark.parametrize("left", [0, 3, 100, 0.5, 0.99])
def test_a_truncated_parquet_file_is_named_before_any_row_is_read(tmp_path, left):
    path = three_files(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: left if isinstance(left, int) else int(left * len(data))])
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read"):
        open_source(tmp_path / "*.parquet")


@pytest.mark.parametrize("kind", ["glob", "dataset"])
def test_a_corrupt_page_is_named_when_it_is_met(tmp_path, kind):
    path = three_files(tmp_path)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 1000] = b"\xff" * 1000  # the footer, at the end, is whole
    path.write_bytes(data)
    source = tmp_path / "*.parquet" if kind == "glob" else ds.dataset(sorted(map(str, tmp_path.glob("*.parquet"))))
    opened = open_source(source)
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read"):
        for _ in opened.batches():
            pass


def test_checksums_of_pages_are_checked_where_there_are_any(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(numbers_table(), path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[2000] ^= 1  # another number
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read: .*(CRC|checksum)"):
        all_rows(path)


def test_an_empty_csv_file_is_named(tmp_path):
    (tmp_path / "0.csv").write_text("a\n1\n")
    (tmp_path / "1.csv").write_text("")
    with pytest.raises(ValueError, match=r"1\.csv cannot be read"):
        open_source(tmp_path / "*.csv")


def test_a_truncated_gzip_file_is_named(tmp_path):
    text = "a\n" + "".join(f"{value}\n" for value in np.random.default_rng(0).normal(size=200_000))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode())[:-1000])
    opened = open_source(tmp_path / "a.csv.gz")
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be read"):
        list(opened.batches())
