"""Streams: what is learnt of a source, and what is made of it batch by batch, equals what memory would have given."""

import io
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import kdi
from kdi._tables.streams import transform_source, write_stream
from kdi._utils.progress import Progress, with_progress

N = 3000


def sample(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "far": rng.lognormal(0, 2, n) * 1e6 + 1e9,
            "whole": rng.integers(-5, 5, n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )


def as_source(kind, frame, folder):
    """The same frame as every kind of source."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    paths = [folder / "part-0.parquet", folder / "part-1.parquet", folder / "part-2.parquet"]
    for path, part in zip(paths, (table[:1000], table[:0], table[1000:]), strict=True):
        pq.write_table(part, path, row_group_size=256)
    makers = {
        "table": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=77)),
        "dataset": lambda: ds.dataset(paths),
        "lazy": lambda: pl.scan_parquet(paths),
        "relation": lambda: duckdb.read_parquet([str(path) for path in paths]),
        "glob": lambda: str(folder / "part-*.parquet"),
        "csv": lambda: _csv(table, folder / "a.csv"),
    }
    return makers[kind]()


def _csv(table, path):
    pyarrow.csv.write_csv(table, path)
    return path


KINDS = ["table", "batch", "reader", "dataset", "lazy", "relation", "glob", "csv"]


def as_array(result):
    """Any result of a transformation as a NumPy table."""
    if isinstance(result, pl.LazyFrame):
        return result.collect().to_numpy()
    if isinstance(result, pa.RecordBatchReader):
        result = result.read_all()
    return np.column_stack([result.column(name).to_numpy() for name in result.schema.names])


# fit


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1.0, 0.05])
def test_fit_of_a_source_is_fit_in_memory(kind, alpha, tmp_path):
    frame = sample()
    expected = kdi.KDITransformer(alpha).fit(frame)
    found = kdi.KDITransformer(alpha).fit(as_source(kind, frame, tmp_path))
    assert list(found.feature_names_in_) == list(frame.columns)
    assert found.n_samples_seen_ == N
    assert abs(found.transform(frame) - expected.transform(frame))[~frame.isna().to_numpy()].max() < 1e-9


@pytest.mark.parametrize("again", [True, False])
def test_fit_of_many_rows_is_fit_in_memory(again):
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=400_000), "b": np.sort(rng.lognormal(0, 1.5, 400_000))})
    frame = table.to_pandas()
    expected = kdi.KDITransformer().fit(frame)
    found = kdi.KDITransformer().fit(table if again else table.to_reader(max_chunksize=30_000))
    assert abs(found.transform(frame) - expected.transform(frame)).max() < 1e-9


@pytest.mark.parametrize("kind", ["table", "reader", "glob", "lazy", "relation"])
def test_weights_of_a_source_are_weights_in_memory(kind, tmp_path):
    frame = sample().assign(w=np.random.default_rng(1).random(N))
    features, weights = frame.drop(columns="w"), frame["w"].to_numpy()
    expected = kdi.KDITransformer().fit(features, sample_weight=weights).transform(features)
    by_name = kdi.KDITransformer().fit(as_source(kind, frame, tmp_path), sample_weight="w")
    assert list(by_name.feature_names_in_) == list(features.columns)
    given = kdi.KDITransformer().fit(as_source(kind, features, tmp_path), sample_weight=weights)
    for found in (by_name, given):
        np.testing.assert_allclose(found.transform(features), expected, atol=1e-9, rtol=0)


def test_parts_of_any_kind_add_up(tmp_path):
    frame = sample()
    expected = kdi.KDITransformer().fit(frame).transform(frame)
    found = kdi.KDITransformer()
    for kind, part in zip(["table", "glob", "lazy"], np.array_split(np.arange(N), 3), strict=True):
        found.partial_fit(as_source(kind, frame.iloc[part], tmp_path))
    np.testing.assert_allclose(found.transform(frame), expected, atol=1e-9, rtol=0)
    with pytest.raises(ValueError, match="feature names should match"):
        found.partial_fit(pa.table({"other": [1.0]}))


def test_a_source_without_rows_is_refused_as_a_frame_is():
    empty = pa.Table.from_pandas(sample(n=0), preserve_index=False)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        kdi.KDITransformer().fit(empty)


def test_infinite_values_of_a_source_are_named():
    with pytest.raises(ValueError, match=r"infinity .* in column 'b'"):
        kdi.KDITransformer().fit(pa.table({"a": [1.0, 2.0], "b": [1.0, np.inf]}))
    fitted = kdi.KDITransformer().fit(pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"infinity .* in column 'b'"):
        fitted.transform(pa.table({"a": [1.0, 2.0], "b": [1.0, np.inf]}))


# sketch_table


@pytest.mark.parametrize("kind", KINDS)
def test_sketches_of_a_source_are_those_of_its_columns(kind, tmp_path):
    frame = sample()
    found = kdi.sketch_table(as_source(kind, frame, tmp_path))
    assert list(found) == list(frame.columns)
    for name, sketch in found.items():
        expected = kdi.Sketch.from_values(frame[name])
        assert (sketch.count, sketch.missing) == (expected.count, expected.missing)
        assert (sketch.minimum, sketch.maximum) == (expected.minimum, expected.maximum)
        assert sketch.std == pytest.approx(expected.std)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, lambda frame: pa.table(frame)])
def test_sketches_of_chosen_columns_with_weights(make):
    frame = sample().assign(w=np.arange(float(N)), text="x")
    found = kdi.sketch_table(make(frame), columns=["gaps", "normal"], weights="w")
    assert list(found) == ["gaps", "normal"]
    assert found["normal"].weight == frame["w"].sum()
    assert kdi.sketch_table(make(frame), "normal", weights=frame["w"])["normal"].weight == frame["w"].sum()
    with pytest.raises(ValueError, match="column 'text' holds"):
        kdi.sketch_table(make(frame))


def test_columns_of_an_array_have_numbers_for_names():
    table = np.array([[1.0, 2.0, 5.0], [3.0, np.nan, 6.0]])
    found = kdi.sketch_table(table)
    assert list(found) == ["x0", "x1", "x2"]
    assert found["x1"].missing == 1
    weighted = kdi.sketch_table(table, weights="x2")
    assert list(weighted) == ["x0", "x1"]
    assert weighted["x0"].weight == 11.0
    with pytest.raises(ValueError, match="no column 'x3'; the columns are 'x0', 'x1', 'x2'"):
        kdi.sketch_table(table, columns=["x3"])


def test_sketches_refuse_infinite_values():
    with pytest.raises(ValueError, match="'a'"):
        kdi.sketch_table(pa.table({"a": [np.inf]}))


def test_sketches_of_a_source_fit_a_transformer(tmp_path):
    frame = sample()
    sketches = kdi.sketch_table(as_source("glob", frame, tmp_path))
    found = kdi.KDITransformer().fit_sketches(sketches).transform(frame)
    np.testing.assert_allclose(found, kdi.KDITransformer().fit_transform(frame), atol=1e-9, rtol=0)


# transform


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_transform_of_a_source_is_transform_in_memory(kind, distribution, tmp_path):
    frame = sample()
    fitted = kdi.KDITransformer(output_distribution=distribution).fit(frame)
    result = fitted.transform(as_source(kind, frame, tmp_path))
    same = {"table": pa.Table, "batch": pa.RecordBatch, "lazy": pl.LazyFrame}
    assert isinstance(result, same.get(kind, pa.RecordBatchReader))
    np.testing.assert_allclose(as_array(result), fitted.transform(frame), atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", ["table", "reader", "lazy"])
def test_inverse_transform_of_a_source(kind, tmp_path):
    frame = sample()
    fitted = kdi.KDITransformer().fit(frame)
    levels = pd.DataFrame(fitted.transform(frame), columns=frame.columns)
    result = as_array(fitted.inverse_transform(as_source(kind, levels, tmp_path)))
    np.testing.assert_allclose(result, fitted.inverse_transform(levels), rtol=1e-14)


@pytest.mark.parametrize("copy", [True, False])
def test_the_source_is_not_overwritten(copy):
    frame = sample()
    fitted = kdi.KDITransformer(copy=copy).fit(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    before = table.to_pandas()
    fitted.transform(table)
    pd.testing.assert_frame_equal(table.to_pandas(), before)
    assert hasattr(fitted, "feature_names_in_")
    assert fitted.copy is copy


@pytest.mark.parametrize("kind", ["table", "batch", "reader", "lazy"])
def test_float32_comes_back_as_float32(kind, tmp_path):
    narrow = sample()[["normal", "gaps"]].astype(np.float32)
    fitted = kdi.KDITransformer().fit(narrow)
    found = as_array(fitted.transform(as_source(kind, narrow, tmp_path)))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, fitted.transform(narrow))
    mixed = narrow.astype({"gaps": np.float64})
    found = as_array(fitted.transform(as_source(kind, mixed, tmp_path)))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, fitted.transform(mixed))


@pytest.mark.parametrize("kind", ["table", "batch", "reader", "lazy", "glob"])
def test_transform_of_no_rows(kind, tmp_path):
    fitted = kdi.KDITransformer().fit(sample())
    empty = sample(n=0)
    source = as_source(kind, empty, tmp_path) if kind != "batch" else pa.RecordBatch.from_pandas(empty)
    assert as_array(fitted.transform(source)).shape == (0, 4)


def test_batches_without_rows_are_passed_over():
    fitted = kdi.KDITransformer().fit(pa.table({"a": [0.0, 1.0]}))
    batches = [pa.record_batch({"a": pa.array(values, pa.float64())}) for values in ([], [0.0], [], [1.0], [])]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert as_array(fitted.transform(reader)).ravel().tolist() == [0.0, 1.0]


def test_names_are_compared_as_those_of_frames_are():
    frame = sample()
    fitted = kdi.KDITransformer().fit(frame)
    for columns in (["far", "normal", "whole", "gaps"], ["normal"], ["normal", "far", "whole", "other"]):
        other = pd.DataFrame({name: frame["normal"] for name in columns})
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            fitted.transform(pa.Table.from_pandas(other))
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            fitted.transform(pl.from_pandas(other).lazy())
    nameless = kdi.KDITransformer().fit(frame.to_numpy())
    with pytest.raises(ValueError, match="X has 1 features, but KDITransformer is expecting 4 features as input"):
        nameless.transform(pa.table({"a": [1.0]}))
    found = as_array(nameless.transform(pa.Table.from_pandas(frame)))
    np.testing.assert_array_equal(found, nameless.transform(frame.to_numpy()))


def test_a_reader_is_not_taken_for_empty_once_it_has_been_read():
    table = pa.table({"a": [0.0, 1.0]})
    with pytest.raises(ValueError, match="only once"):
        kdi.KDITransformer().fit_transform(table.to_reader())
    reader = table.to_reader()
    fitted = kdi.KDITransformer().fit(reader)
    with pytest.raises(ValueError, match="only once"):
        fitted.transform(reader)
    assert kdi.KDITransformer().fit_transform(table).num_rows == 2


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_is_for_frames(output):
    table = pa.table({"a": [0.0, 1.0]})
    fitted = kdi.KDITransformer().fit(table).set_output(transform=output)
    for source in (table.to_reader(), pl.from_arrow(table).lazy()):
        with pytest.raises(ValueError, match=f"set_output asks for {output}"):
            fitted.transform(source)


def test_text_is_refused_by_transform():
    fitted = kdi.KDITransformer().fit(pa.table({"a": [0.0, 1.0]}))
    with pytest.raises(ValueError, match="column 'a' holds string"):
        fitted.transform(pa.table({"a": ["0"]}))


def test_a_reader_is_transformed_as_it_is_read():
    fitted = kdi.KDITransformer().fit(pa.table({"a": [0.0, 100.0]}))
    made = []

    def batches():
        for k in range(50):
            made.append(k)
            yield pa.record_batch({"a": np.full(100_000, float(k))})

    result = fitted.transform(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), batches()))
    assert not made
    before = pa.total_allocated_bytes()
    for k, batch in enumerate(result):
        assert len(made) <= k + 2
        assert batch.num_rows == 100_000
        assert pa.total_allocated_bytes() - before < 10_000_000


def test_a_lazy_frame_stays_lazy_and_streams():
    frame = pl.DataFrame({"a": np.arange(500_000.0), "b": np.arange(500_000)})
    fitted = kdi.KDITransformer().fit(frame)
    result = fitted.transform(frame.lazy())
    assert result.collect_schema() == {"a": pl.Float64, "b": pl.Float64}
    found = result.filter(pl.col("a") > 0.5).select("b").collect(engine="streaming")
    expected = fitted.transform(frame)
    np.testing.assert_array_equal(found["b"].to_numpy(), expected[expected[:, 0] > 0.5, 1])


def test_an_error_in_a_stream_reaches_the_reader(tmp_path):
    fitted = kdi.KDITransformer().fit(pa.table({"a": np.arange(1000.0)}))
    path = _corrupt(tmp_path)
    with pytest.raises(ValueError, match=path.name):
        fitted.transform(str(tmp_path / "*.parquet")).read_all()


def test_transform_before_fit_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        kdi.KDITransformer().transform(pa.table({"a": [1.0]}))


# transform_stream


def _corrupt(folder, truncate=False):
    """Three files, of which the second cannot be read."""
    rng = np.random.default_rng(0)
    for k in range(3):
        path = folder / f"{k}.parquet"
        pq.write_table(pa.table({"a": rng.normal(size=1000)}), path, row_group_size=100, use_dictionary=False)
    path = folder / "1.parquet"
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    if truncate:
        del data[middle:]
    else:
        data[middle : middle + 1000] = b"\xff" * 1000
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_replaced_and_other_columns_pass(kind, tmp_path):
    frame = sample()
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
    _corrupt(tmp_path, truncate)
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
    fitted = kdi.KDITransformer().fit(sample())
    with pytest.raises(ValueError, match=r"no column 'far', 'gaps', which KDITransformer was fitted on; .* 'normal'"):
        fitted.transform_stream(pa.table({"normal": [1.0], "whole": [1]}), tmp_path / "out.parquet")


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


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_draws_in_place_and_ends_its_line(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(4000, stream)
    for _ in range(4):
        now[0] += 0.5
        progress.add(1000)
        progress.add(0)  # too soon to draw
    progress.close()
    lines = stream.getvalue().split("\r")
    assert len(lines) == 6
    assert "25%  0:02 left, 1,000 of 4,000 rows, 2,000 rows/s" in lines[1]
    assert lines[-1].strip() == "4,000 rows in 2.0 s, 2,000 rows/s"
    assert lines[-1].endswith("\n")
    assert len(lines[-1]) > len(lines[-2])  # all of it is written over


def test_progress_without_a_total_and_for_hours(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    for total, expected in ((None, "100 rows, 0 rows/s"), (1000, "2:30:00 left, 100 of 1,000 rows, 0 rows/s")):
        stream = Terminal()
        now[0] = 0.0
        progress = Progress(total, stream)
        now[0] = 1000.0
        progress.add(100)
        assert stream.getvalue().endswith(expected)


def test_progress_by_the_share_that_is_read(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(None, stream, share=lambda: 0.25)
    now[0] = 10.0
    progress.add(100)
    assert stream.getvalue() == "\r█████░░░░░░░░░░░░░░░  25%  0:30 left, 100 rows, 10 rows/s"


def test_progress_on_a_narrow_terminal_leaves_out_the_rate(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(2_000_000_000, stream)
    now[0] = 100.0
    progress.add(1_000_000_000)
    assert stream.getvalue().endswith("50%  1:40 left, 1,000,000,000 of 2,000,000,000 rows")


def test_progress_is_one_line_where_there_is_no_terminal(capsys):
    kdi.sketch_table(pa.table({"a": np.arange(1000.0)}), progress=True)
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("1,000 rows in ")
    assert shown.err.count("\n") == 1


def test_transform_stream_shows_progress(tmp_path, capsys):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "out.parquet", progress=True)
    assert capsys.readouterr().err.startswith("1 rows in ")
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "out.parquet")
    assert not capsys.readouterr().err


def test_progress_without_stderr(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        found = list(with_progress([pa.record_batch({"a": [1.0]})], 1))
    assert len(found) == 1
