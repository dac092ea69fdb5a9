"""transform_stream: a source is transformed into a file, and an error leaves the file as it was."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from table_sources import as_array, as_source, features_frame, write_corrupt_file

import kdi
from kdi._tables.streams import transform_source, write_stream
from kdi._utils.errors import TableError

N = 3000
KINDS = ["table", "batch", "reader", "dataset", "lazy frame", "relation", "glob", "csv"]


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_replaced_and_other_columns_pass(kind, tmp_path):
    frame = features_frame()
    fitted = kdi.KDITransformer().fit(frame)
    wide = frame[["whole", "normal"]].assign(
        key=np.arange(N) + 2**60, far=frame["far"], text=[f"row {k}" for k in range(N)], gaps=frame["gaps"]
    )
    sink = tmp_path / "out.parquet"
    assert fitted.transform_stream(as_source(kind, wide, tmp_path), sink) == N
    found = pd.read_parquet(sink)
    assert list(found.columns) == list(wide.columns)
    assert found["key"].tolist() == wide["key"].tolist()
    assert found["text"].tolist() == wide["text"].tolist()
    names = list(frame.columns)
    np.testing.assert_array_equal(found[names].to_numpy(), fitted.transform(frame))
    assert not list(tmp_path.glob(".*"))


def test_sources_of_many_batches_become_few_row_groups(tmp_path):
    table = pa.table({"a": np.arange(500_000.0), "k": np.arange(500_000) % 7})
    fitted = kdi.KDITransformer().fit(table.select(["a"]))
    fitted.transform_stream(table.to_reader(max_chunksize=1000), tmp_path / "out.parquet")
    written = pq.ParquetFile(tmp_path / "out.parquet")
    assert written.num_row_groups == 1
    np.testing.assert_array_equal(written.read()["k"].to_numpy(), table["k"].to_numpy())


def test_row_groups_have_a_bound(tmp_path):
    n = 2**20 + 2**19
    table = pa.table({"a": np.arange(float(n))})
    fitted = kdi.KDITransformer().fit(pa.table({"a": [0.0, float(n)]}))
    fitted.transform_stream(table.to_reader(max_chunksize=2**17), tmp_path / "out.parquet")
    written = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert [written.row_group(k).num_rows for k in range(written.num_row_groups)] == [2**20, 2**19]


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("existing", [True, False])
def test_a_corrupt_file_leaves_nothing_at_the_sink(tmp_path, truncate, existing):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    write_corrupt_file(tmp_path, truncate)
    folder = tmp_path / "sink"
    folder.mkdir()
    sink = folder / "out.parquet"
    if existing:
        sink.write_text("what was there")
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read"):
        fitted.transform_stream(str(tmp_path / "*.parquet"), sink)
    assert [path.name for path in folder.iterdir()] == ["out.parquet"] * existing
    assert not existing or sink.read_text() == "what was there"
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read"):
        kdi.KDITransformer().fit(str(tmp_path / "*.parquet"))


def test_an_interrupt_leaves_nothing_at_the_sink(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))

    def batches():
        yield pa.record_batch({"a": np.zeros(3_000_000)})
        assert len(list(tmp_path.glob(".out.parquet.*.tmp"))) == 1
        raise KeyboardInterrupt

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), batches())
    with pytest.raises(KeyboardInterrupt):
        fitted.transform_stream(reader, tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_infinite_values_leave_nothing_at_the_sink(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    with pytest.raises(ValueError, match=r"infinity .* in column 'a'"):
        fitted.transform_stream(pa.table({"a": [1.0, np.inf]}), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_the_sink_may_be_a_file_that_is_read(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": np.arange(1000.0)})
    pq.write_table(table, path)
    fitted = kdi.KDITransformer().fit(table)
    fitted.transform_stream(path, path)
    np.testing.assert_array_equal(pq.read_table(path)["a"].to_numpy(), as_array(fitted.transform(table))[:, 0])


def test_sinks_that_cannot_be_written_are_refused_before_any_reading(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))

    def batches():
        raise AssertionError("was read")
        yield

    def reader():
        return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), batches())

    with pytest.raises(FileNotFoundError, match="no directory"):
        fitted.transform_stream(reader(), tmp_path / "none" / "out.parquet")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        fitted.transform_stream(reader(), tmp_path)
    with pytest.raises(TypeError, match="path of a Parquet or CSV file, got BytesIO"):
        fitted.transform_stream(reader(), io.BytesIO())


def test_missing_features_are_named(tmp_path):
    fitted = kdi.KDITransformer().fit(features_frame())
    message = r"no column 'far', 'gaps', which KDITransformer was fitted on; .* 'normal'"
    with pytest.raises(TableError, match=message) as error:
        fitted.transform_stream(pa.table({"normal": [1.0], "whole": [1]}), tmp_path / "out.parquet")
    assert error.value.column == "far"


def test_without_names_all_columns_are_features(tmp_path):
    fitted = kdi.KDITransformer().fit([[0.0, 0.0], [1.0, 10.0]])
    fitted.transform_stream(pa.table({"p": [1.0], "q": [0.0]}), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [{"p": 1.0, "q": 0.0}]
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.transform_stream(pa.table({"p": [1.0], "q": [0.0], "r": [0.0]}), tmp_path / "out.parquet")


def test_no_rows_make_a_file_without_rows(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    source = pa.schema([("a", pa.int64()), ("text", pa.string())]).empty_table()
    assert fitted.transform_stream(source, tmp_path / "out.parquet") == 0
    assert pq.read_schema(tmp_path / "out.parquet").types == [pa.float64(), pa.string()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_the_file_has_ordinary_permissions(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "out.parquet")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "out.parquet").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "out.parquet")
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "link.parquet")
    assert (tmp_path / "link.parquet").is_symlink()
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1


def test_what_pandas_notes_of_types_stays_true(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "kind": pd.Categorical(["x", "y", "x"])})
    frame.index = pd.Index([7, 8, 9], name="row")
    frame.to_parquet(tmp_path / "in.parquet")
    fitted = kdi.KDITransformer().fit(frame[["a"]])
    fitted.transform_stream(tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found.index.tolist() == [7, 8, 9]
    assert found["kind"].dtype == "category"
    assert found["a"].dtype == np.float64
    np.testing.assert_array_equal(found["a"].to_numpy(), fitted.transform(frame[["a"]])[:, 0])


def test_notes_that_are_none_of_pandas_are_left_out(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    table = pa.table({"a": [1.0]}).replace_schema_metadata({"pandas": "no JSON", "mine": "kept"})
    fitted.transform_stream(table, tmp_path / "out.parquet")
    metadata = pq.read_schema(tmp_path / "out.parquet").metadata
    assert metadata == {b"mine": b"kept"}


def test_any_function_of_tables_will_do(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    found = transform_source(fitted, pa.table({"a": [1.0, 2.0]}), lambda table: 2 * table)
    assert found["a"].to_pylist() == [2.0, 4.0]
    write_stream(fitted, pa.table({"a": [1.0, 2.0]}), tmp_path / "out.parquet", function=lambda table: 3 * table)
    assert pq.read_table(tmp_path / "out.parquet")["a"].to_pylist() == [3.0, 6.0]


def test_errors_of_a_function_count_rows_from_the_beginning_of_the_source():
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))

    def function(table):
        wrong = np.flatnonzero(table[:, 0] == 250_123)
        if len(wrong):
            raise TableError("column 'a' holds a wrong value", column="a", row=int(wrong[0]))
        return table

    table = pa.table({"a": np.arange(400_000.0)})
    with pytest.raises(TableError, match="wrong value in row 250123") as error:
        transform_source(fitted, table.to_reader(max_chunksize=100_000), function).read_all()
    assert (error.value.column, error.value.row) == ("a", 250_123)
    with pytest.raises(Exception, match="wrong value") as error:
        transform_source(fitted, pl.from_arrow(table).lazy(), function).collect(engine="streaming")
    assert "in row" not in str(error.value)  # polars passes parts of a table, and not their places


MEASURE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq, kdi, resource
folder = sys.argv[1]
fitted = kdi.KDITransformer().fit(pa.table({name: np.array([-5.0, 5.0]) for name in "abcd"}))
kdi.KDITransformer().fit(folder + "/small.parquet")
fitted.transform_stream(folder + "/small.parquet", folder + "/out.parquet")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kdi.KDITransformer().fit(folder + "/large.parquet")
fitted.transform_stream(folder + "/large.parquet", folder + "/out.parquet")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 288 MB costs hardly more than one of 96 MB."""
    part = pa.table({name: np.random.default_rng(j).normal(size=500_000) for j, name in enumerate("abcd")})
    for name, parts in (("small", 6), ("large", 18)):
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", part.schema, use_dictionary=False) as writer:
            for _ in range(parts):
                writer.write_table(part)
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)], check=True, capture_output=True, text=True, timeout=120
    )
    assert float(found.stdout) < 60
