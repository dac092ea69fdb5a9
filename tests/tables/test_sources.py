"""Sources: every kind is read as a stream of batches, and wrong ones are errors before the first row."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from table_sources import KINDS, all_rows, as_source, numbers_table

from kdi._tables.arrow import BATCH_VALUES, even_batches
from kdi._tables.sources import is_source, open_source

N = 1000


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_gives_the_rows_in_their_order(kind, tmp_path):
    table = numbers_table()
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
    assert open_source(as_source(kind, numbers_table(), tmp_path)).n_rows == n_rows


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


@pytest.mark.slow
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


def test_an_opened_source_is_a_source():
    opened = open_source(numbers_table().to_reader(), ["a", "b"])
    assert is_source(opened)
    assert open_source(opened, "b").names == ["b"]
    assert sum(batch.num_rows for batch in open_source(opened).batches()) == N
    with pytest.raises(ValueError, match="only once"):
        opened.batches()


# Which columns there are


def test_missing_columns_are_named_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"no column 'x', 'y'; the columns are 'a', 'b', 'c'\."):
        open_source(numbers_table(), ["a", "x", "y"])


def test_names_must_be_unique():
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(ValueError, match="unique, but 'a'"):
        open_source(twice)
    with pytest.raises(ValueError, match="different from each other, got 'a', 'a'"):
        open_source(numbers_table(), ["a", "a"])


def test_names_must_be_unique_in_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,x\n1,2\n")
    with pytest.raises(ValueError, match=r"unique, but 'x' occurs more than once in .*b\.csv"):
        open_source([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_no_columns_are_an_error():
    with pytest.raises(ValueError, match="no columns"):
        open_source(pa.table({}))
    with pytest.raises(ValueError, match="no columns"):
        open_source(numbers_table(), [])


def test_other_things_are_a_type_error():
    with pytest.raises(TypeError, match=r"source must be a path, .* got int"):
        open_source(3)
    with pytest.raises(TypeError, match="got list"):
        open_source([[1.0]])


def test_names_are_listed_once():
    opened = open_source(numbers_table())
    assert opened.names is opened.names  # or else loops over wide tables take quadratic time
    assert opened.select("b").names == ["b"]


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


def test_wide_tables_are_read_in_fewer_rows(tmp_path):
    table = pa.table({f"x{j}": np.zeros(20_000) for j in range(800)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert max(batch.num_rows for batch in open_source(tmp_path / "a.parquet").batches()) <= BATCH_VALUES // 800


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
