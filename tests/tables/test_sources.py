"""Sources: what is read as a stream, batch by batch, and what is refused before the first row."""

import gzip
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kdi._tables.arrow import VALUES, even_batches
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.sources import is_source, open_source

N = 1000


def sample(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.normal(size=n), "b": rng.integers(0, 100, n), "c": rng.normal(size=n).astype(np.float32)})


class Foreign:
    """An object of another library, of which nothing is known but its stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def all_rows(source, columns=None):
    opened = open_source(source, columns)
    return pa.Table.from_batches(opened.batches(), schema=opened.schema)


def as_source(kind, table, folder):
    """The same table as every kind of source."""
    paths = [folder / "part-0.parquet", folder / "part-1.parquet"]
    for path, part in zip(paths, (table.slice(0, 300), table.slice(300)), strict=True):
        pq.write_table(part, path, row_group_size=128)
    text = [folder / "part-0.csv", folder / "part-1.csv.gz"]
    for path, part in zip(text, (table.slice(0, 300), table.slice(300)), strict=True):
        with pa.CompressedOutputStream(str(path), "gzip") if path.suffix == ".gz" else open(path, "wb") as file:
            pyarrow.csv.write_csv(part, file)
    makers = {
        "table": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=77)),
        "dataset": lambda: ds.dataset(paths),
        "dataset of csv": lambda: ds.dataset(text[:1], format="csv"),
        "filtered dataset": lambda: ds.dataset(paths).filter(ds.field("b") >= 0),
        "dataset in memory": lambda: ds.dataset(table),
        "scanner": lambda: ds.dataset(paths).scanner(),
        "lazy frame": lambda: pl.scan_parquet(paths),
        "lazy frame in memory": lambda: pl.from_arrow(table).lazy(),
        "relation": lambda: duckdb.read_parquet([str(path) for path in paths]),
        "foreign": lambda: Foreign(table),
        "paths": lambda: paths,
        "glob": lambda: str(folder / "part-*.parquet"),
        "path": lambda: paths[0],
        "csv": lambda: [str(path) for path in text],
    }
    return makers[kind]()


KINDS = {  # whether a kind of source can be read again
    "table": True,
    "batch": True,
    "reader": False,
    "dataset": True,
    "filtered dataset": True,
    "dataset in memory": True,
    "scanner": False,
    "lazy frame": True,
    "lazy frame in memory": True,
    "relation": True,
    "foreign": False,
    "paths": True,
    "glob": True,
    "csv": True,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_gives_the_rows_in_their_order(kind, tmp_path):
    table = sample()
    source = as_source(kind, table, tmp_path)
    assert is_source(source)
    opened = open_source(source, ["b", "a"])
    assert opened.names == ["b", "a"]
    assert opened.rereadable is KINDS[kind]
    for _ in range(2 if opened.rereadable else 1):
        found = pa.Table.from_batches(opened.batches())
        assert found.schema.names == ["b", "a"]
        np.testing.assert_array_equal(found["a"].to_numpy(), table["a"].to_numpy())
        np.testing.assert_array_equal(found["b"].to_numpy(), table["b"].to_numpy())
    if not opened.rereadable:
        with pytest.raises(ValueError, match="only once"):
            opened.batches()


@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        *[(kind, N) for kind in ("table", "batch", "dataset", "glob")],
        ("path", 300),
        *[(kind, None) for kind in ("csv", "reader", "lazy frame", "relation", "filtered dataset", "dataset of csv")],
    ],
)
def test_rows_are_counted_only_where_that_takes_no_reading(kind, n_rows, tmp_path):
    assert open_source(as_source(kind, sample(), tmp_path)).n_rows == n_rows


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((3, 2)),
        np.array(["a", "b"]),
        [[1.0, 2.0]],
        [1.0, 2.0],
        [],
        [["a"]],
        ["a", 1.0],
        pd.DataFrame({"a": [1.0]}),
        pd.Series([1.0]),
        pl.DataFrame({"a": [1.0]}),
        pl.Series([1.0]),
        pa.array([1.0]),
        pa.chunked_array([[1.0]]),
        None,
        3.0,
        b"a.parquet",
    ],
    ids=lambda X: type(X).__name__,
)
def test_what_is_in_memory_is_no_source(X):
    assert not is_source(X)


@pytest.mark.parametrize("X", ["a.csv", Path("a.csv"), ["a.csv", Path("b.csv")], ("a.csv",), "**/*.pq"])
def test_paths_are_sources(X):
    assert is_source(X)


def test_telling_a_source_imports_nothing():
    code = (
        "import sys\n"
        "for name in ('pandas', 'polars', 'pyarrow', 'duckdb'): sys.modules[name] = None\n"
        "import kdi._tables.sources, numpy as np\n"
        "told = [kdi._tables.sources.is_source(X) for X in (np.zeros((2, 2)), [[1.0]], object(), 'a.parquet')]\n"
        "assert told == [False, False, False, True]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_pyarrow_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import kdi\n"
        "print(kdi.sketch_table([[1.0]]))\n"
        "for act in (lambda: kdi.sketch_table('a.parquet'), lambda: kdi.KDITransformer().fit('a.parquet')):\n"
        "    try: act()\n"
        "    except ImportError as error: assert \"pip install 'kdi[arrow]'\" in str(error), error\n"
        "    else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# Which columns there are


def test_missing_columns_are_named_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"no column 'x', 'y'; the columns are 'a', 'b', 'c'\."):
        open_source(sample(), ["a", "x", "y"])


def test_names_must_be_unique():
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(ValueError, match="unique, but 'a'"):
        open_source(twice)
    with pytest.raises(ValueError, match="different from each other, got 'a', 'a'"):
        open_source(sample(), ["a", "a"])


def test_names_must_be_unique_in_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,x\n1,2\n")
    with pytest.raises(ValueError, match=r"unique, but 'x' occurs more than once in .*b\.csv"):
        open_source([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_no_columns_are_an_error():
    with pytest.raises(ValueError, match="no columns"):
        open_source(pa.table({}))
    with pytest.raises(ValueError, match="no columns"):
        open_source(sample(), [])


def test_other_things_are_a_type_error():
    with pytest.raises(TypeError, match=r"a source is a path, .* got int"):
        open_source(3)
    with pytest.raises(TypeError, match="got list"):
        open_source([[1.0]])


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
    pq.write_table(sample(), tmp_path / "a.pq")
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
        pq.write_table(sample(k).select(["c"]), tmp_path / f"{k}.parquet")
    assert all_rows(tmp_path / "*.parquet").schema.types == [pa.float32()]


def test_columns_that_a_file_lacks_are_named_with_the_file(tmp_path):
    pq.write_table(sample(), tmp_path / "0.parquet")
    pq.write_table(sample().drop_columns(["b"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet has no column 'b', which .*0\.parquet has"):
        open_source(tmp_path / "*.parquet")
    pq.write_table(sample().append_column("d", sample()["a"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"0\.parquet has no column 'd', which .*1\.parquet has"):
        open_source(tmp_path / "*.parquet")


def test_types_that_have_nothing_in_common_are_named_with_the_file(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"column 'a' holds string in .*1\.parquet, but double"):
        open_source(tmp_path / "*.parquet")


# Files that cannot be read


def three_files(folder):
    for k in range(3):
        pq.write_table(sample(k), folder / f"{k}.parquet", row_group_size=100, use_dictionary=False)
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
    pq.write_table(sample(), path, compression="none", use_dictionary=False, write_page_checksum=True)
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


# CSV


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
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: column 'c': 'oops' is not a number, in row 400,002 "):
        list(opened.batches())


def test_a_line_of_another_length_is_named_with_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 400_000 + "1\n")
    opened = open_source(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: expected 2 columns, got 1, in row 400,002 "):
        list(opened.batches())


def test_how_much_of_csv_files_has_been_read(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a\n" + "1.5\n" * 2_000_000)
    opened = open_source(tmp_path / "*.csv")
    shares = [opened.share() for _ in opened.batches()]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.9
    assert shares[-1] == opened.share() == 1.0
    pq.write_table(sample(), tmp_path / "a.parquet")
    assert open_source(tmp_path / "a.parquet").share() is None  # rows tell


def test_keys_that_look_like_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("zip,hex,plus,long,x,y\n02139,1,2,1,1,a\n")
    (tmp_path / "b.csv").write_text("zip,hex,plus,long,x,y\n1,0x1F,+49,99999999999999999999,-2.5e3,b\n")
    assert open_source(tmp_path / "*.csv").keys == {"zip", "hex", "plus", "long"}
    assert not open_source(sample()).keys


def test_names_are_listed_once():
    opened = open_source(sample())
    assert opened.names is opened.names  # or else loops over wide tables take quadratic time
    assert opened.select("b").names == ["b"]


def test_columns_of_csv_that_pass_through_keep_their_types(tmp_path):
    (tmp_path / "a.csv").write_text(f"id,name,empty,x\n{2**60 + 1},n,,1\n")
    (tmp_path / "b.csv").write_text("id,name,empty,x\n7,m,12,2.5\n")
    opened = open_source(tmp_path / "*.csv", numbers=["x"])
    assert opened.schema.types == [pa.int64(), pa.string(), pa.int64(), pa.float64()]
    assert pa.Table.from_batches(opened.batches())["id"].to_pylist() == [2**60 + 1, 7]


def test_csv_of_a_header_only(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert all_rows(tmp_path / "a.csv").num_rows == 0
    assert open_source(tmp_path / "a.csv").names == ["a", "b"]


# Batches


@pytest.mark.parametrize("sizes", [[], [0], [0, 5, 0], [1] * 1000, [10, 2000, 10], [100_000], [63, 64, 65, 0, 64]])
def test_batches_become_neither_small_nor_large(sizes):
    values = np.arange(float(sum(sizes)))
    parts = [pa.record_batch({"a": part}) for part in np.split(values, np.cumsum(sizes)[:-1])] if sizes else []
    found = list(even_batches(iter(parts), 128))
    assert all(0 < batch.num_rows <= 1024 for batch in found)
    assert len(found) <= 3 + len(values) / 64
    rows = [batch["a"].to_numpy() for batch in found]
    np.testing.assert_array_equal(np.concatenate([np.empty(0), *rows]), values)


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


def test_row_groups_larger_than_memory_are_read_page_by_page(tmp_path):
    n = 6_000_000
    values = np.random.default_rng(0).normal(size=n)
    pq.write_table(pa.table({name: values for name in "abc"}), tmp_path / "a.parquet", row_group_size=n)
    for source in (tmp_path / "a.parquet", ds.dataset(tmp_path / "a.parquet")):
        before, most, rows = pa.total_allocated_bytes(), 0, 0
        for batch in open_source(source).batches():
            most = max(most, pa.total_allocated_bytes() - before)
            rows += batch.num_rows
        assert rows == n
        assert most < 75_000_000  # of 144 MB


def test_a_lazy_frame_may_be_left_early():
    source = open_source(pl.LazyFrame({"a": np.arange(2_000_000.0)}))
    assert next(source.batches())["a"][0].as_py() == 0.0
    assert sum(batch.num_rows for batch in source.batches()) == 2_000_000


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
    with pytest.raises(ValueError) as error:
        ArrowPartitions(table)
    assert f"all columns must be numeric, but column 'b' holds {column.type}" in str(error.value)
    assert ArrowPartitions(table, columns=["a"]).names == ["a"]


def test_parts_reduce_to_one_summary_of_all_chunks():
    parts = ArrowPartitions(sample())
    assert (parts.names, parts.n_columns, parts.rereadable, parts.n_jobs) == (["a", "b", "c"], 3, True, None)

    def total(chunks):
        return sum(float(columns[1].sum()) for columns, _ in chunks)

    assert parts.reduce(total, None) == float(sample()["b"].to_numpy().sum())
    assert ArrowPartitions(sample(n=0)).reduce(total, None) == 0.0


# Weights


def weights_of(parts):
    return np.concatenate([weights for _, weights in parts.chunks()])


@pytest.mark.parametrize("kind", ["table", "reader", "glob", "foreign", "relation"])
def test_weights_are_a_column_that_is_then_no_feature(kind, tmp_path):
    parts = ArrowPartitions(as_source(kind, sample(), tmp_path), "b")
    assert parts.names == ["a", "c"]
    np.testing.assert_array_equal(weights_of(parts), sample()["b"].to_numpy())


@pytest.mark.parametrize("make", [np.asarray, list, pd.Series, pl.Series, pa.array])
def test_weights_are_an_array_along_the_batches(make, tmp_path):
    given = np.arange(float(N))
    parts = ArrowPartitions(as_source("reader", sample(), tmp_path), make(given))
    assert parts.names == ["a", "b", "c"]
    np.testing.assert_array_equal(weights_of(parts), given)


def test_one_weight_for_all_rows():
    np.testing.assert_array_equal(weights_of(ArrowPartitions(sample(), 2.0)), np.full(N, 2.0))


@pytest.mark.parametrize("n", [N - 1, N + 1, 0])
def test_as_many_weights_as_rows(n, tmp_path):
    with pytest.raises(ValueError, match=f"sample_weight must have one weight a row, got {n} weights for {N} rows"):
        ArrowPartitions(sample(), np.ones(n))
    rows = f"more than {n}" if n < N else N
    with pytest.raises(ValueError, match=f"got {n} weights for {rows} rows"):
        weights_of(ArrowPartitions(as_source("reader", sample(), tmp_path), np.ones(n)))


@pytest.mark.parametrize(("value", "shown"), [(None, "nan"), (-1.0, "-1.0"), (np.inf, "inf"), (np.nan, "nan")])
def test_a_wrong_weight_is_named_with_its_row_in_the_source(value, shown):
    n, place = 400_000, 300_123
    weights = np.ones(n).tolist()
    weights[place] = value
    table = pa.table({"a": np.zeros(n), "w": weights})
    message = rf"weights in column 'w' must be finite and not negative, got {shown} in row {place}\."
    with pytest.raises(ValueError, match=message):
        weights_of(ArrowPartitions(pa.Table.from_batches(table.to_batches(max_chunksize=100_000)), "w"))
    with pytest.raises(ValueError, match=rf"sample_weight must be finite and not negative, got {shown} in row {place}"):
        ArrowPartitions(table, table["w"])


def test_weights_must_have_a_finite_sum():
    table = pa.table({"a": np.zeros(400_000), "w": np.full(400_000, 1e303)})
    with pytest.raises(ValueError, match="finite sum"):
        weights_of(ArrowPartitions(pa.Table.from_batches(table.to_batches(max_chunksize=100_000)), "w"))


def test_weights_that_are_no_column():
    with pytest.raises(ValueError, match="no column 'w'"):
        ArrowPartitions(sample(), "w")
    with pytest.raises(ValueError, match="'b' holds the weights and cannot be a feature too"):
        ArrowPartitions(sample(), "b", columns=["a", "b"])
    with pytest.raises(ValueError, match="no column but 'a'"):
        ArrowPartitions(sample().select(["a"]), "a")
    with pytest.raises(ValueError, match="column 'w' holds string"):
        ArrowPartitions(sample().append_column("w", pa.array(["x"] * N)), "w")


def test_wide_tables_are_read_in_fewer_rows(tmp_path):
    table = pa.table({f"x{j}": np.zeros(20_000) for j in range(800)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert max(batch.num_rows for batch in open_source(tmp_path / "a.parquet").batches()) <= VALUES // 800


# Datasets


def test_a_dataset_with_columns_in_its_paths(tmp_path):
    ds.write_dataset(
        pa.table({"a": [1.0, 2.0, 3.0], "year": [2001, 2002, 2002]}),
        tmp_path,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("year", pa.int64())]), flavor="hive"),
    )
    dataset = ds.dataset(tmp_path, partitioning="hive")
    assert all_rows(dataset).sort_by("a").to_pylist() == [
        {"a": 1.0, "year": 2001},
        {"a": 2.0, "year": 2002},
        {"a": 3.0, "year": 2002},
    ]
    assert sorted(all_rows(dataset, ["a"])["a"].to_pylist()) == [1.0, 2.0, 3.0]


def test_a_dataset_whose_files_differ(tmp_path):
    pq.write_table(pa.table({"a": [1.5], "b": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [2]}), tmp_path / "1.parquet")
    found = all_rows(ds.dataset([tmp_path / "0.parquet", tmp_path / "1.parquet"]))
    assert found.to_pylist() == [{"a": 1.5, "b": 1.0}, {"a": 2.0, "b": None}]
