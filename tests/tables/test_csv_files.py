"""CSV files as sources: types, identifiers, errors with their rows, and how much has been read."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_sources import all_rows, numbers_table

from kdi._tables.csv_errors import NotNumericError
from kdi._tables.sources import open_source
from kdi._utils.errors import TableError


def test_fractions_may_follow_whole_numbers_in_csv(tmp_path):
    lines = ["a,b,c"] + ["1,,2"] * 400_000 + ["1.5,3.5,1e300", ",,"]  # more than pyarrow looks at
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    found = all_rows(tmp_path / "a.csv")
    assert found.num_rows == 400_002
    assert found.schema.types == [pa.float64()] * 3
    assert found.slice(399_999).to_pylist() == [
        {"a": 1.0, "b": None, "c": 2.0},
        {"a": 1.5, "b": 3.5, "c": 1e300},
        {"a": None, "b": None, "c": None},
    ]


def test_what_is_no_number_in_csv_is_named_with_file_and_column(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n" * 400_000 + "1,2,oops\n")
    opened = open_source(tmp_path / "a.csv", ["c", "a"])
    message = r"a\.csv cannot be read: column 'c': 'oops' is not a number in row 400,002 \(the header is row 1\)\.$"
    with pytest.raises(NotNumericError, match=message) as error:
        list(opened.batches())
    assert (error.value.column, error.value.row) == ("c", 400_002)


def test_a_line_of_another_length_is_named_with_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 400_000 + "1\n")
    opened = open_source(tmp_path / "a.csv")
    with pytest.raises(
        TableError, match=r"a\.csv cannot be read: expected 2 columns, got 1 \('1'\) in row 400,002 "
    ) as error:
        list(opened.batches())
    assert (error.value.column, error.value.row) == (None, 400_002)


@pytest.mark.parametrize("value", ["oops", "007"])
def test_a_wrong_value_in_a_column_that_passes_through_is_named_with_its_row(tmp_path, value):
    """Such columns are read as text and converted batch by batch."""
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 700_000 + f"1,{value}\n")
    opened = open_source(tmp_path / "a.csv", numeric_columns=["x"])
    message = rf"a\.csv cannot be read: column 'y'.* '{value}' is .* in row 700,002 .*; write CSV to pass the column"
    with pytest.raises(TableError, match=message) as error:
        list(opened.batches())
    assert (error.value.column, error.value.row) == ("y", 700_002)


def test_how_much_of_csv_files_has_been_read(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a\n" + "1.5\n" * 2_000_000)
    opened = open_source(tmp_path / "*.csv")
    shares = [opened.share() for _ in opened.batches()]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.9
    assert shares[-1] == opened.share() == 1.0
    pq.write_table(numbers_table(), tmp_path / "a.parquet")
    assert open_source(tmp_path / "a.parquet").share() is None  # rows tell


def test_keys_that_look_like_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("zip,hex,plus,long,x,y\n02139,1,2,1,1,a\n")
    (tmp_path / "b.csv").write_text("zip,hex,plus,long,x,y\n1,0x1F,+49,99999999999999999999,-2.5e3,b\n")
    assert open_source(tmp_path / "*.csv").identifier_columns == {"zip", "hex", "plus", "long"}
    assert not open_source(numbers_table()).identifier_columns


def test_columns_of_csv_that_pass_through_keep_their_types(tmp_path):
    (tmp_path / "a.csv").write_text(f"id,name,empty,x\n{2**60 + 1},n,,1\n")
    (tmp_path / "b.csv").write_text("id,name,empty,x\n7,m,12,2.5\n")
    opened = open_source(tmp_path / "*.csv", numeric_columns=["x"])
    assert opened.schema.types == [pa.int64(), pa.string(), pa.int64(), pa.float64()]
    assert pa.Table.from_batches(opened.batches())["id"].to_pylist() == [2**60 + 1, 7]


def test_csv_of_a_header_only(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert all_rows(tmp_path / "a.csv").num_rows == 0
    assert open_source(tmp_path / "a.csv").names == ["a", "b"]
