"""The sources that the explorer reads: frames, arrays, files and streams, all of which make the same page."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from explorer_decoding import contents_of
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi.explorer import _columns
from kdi.explorer._columns import CachedPartitions, open_numeric_columns, source_title

N = 400


@pytest.fixture
def frame(rng):
    """Three numeric columns, one of which misses values, one of text, and weights."""
    columns = {"a": rng.normal(size=N), "b": rng.lognormal(size=N).round(3), "c": rng.integers(0, 9, size=N)}
    frame = pd.DataFrame(columns).assign(text="word", w=rng.integers(0, 3, size=N))
    frame.loc[::10, "a"] = np.nan
    return frame


def parquet(frame, folder):
    frame.to_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def csv(frame, folder):
    frame.to_csv(folder / "table.csv", index=False)
    return str(folder / "table.csv")


def two_files(frame, folder):
    paths = [folder / "1.parquet", folder / "2.parquet"]
    for path, part in zip(paths, (frame[:150], frame[150:]), strict=True):
        part.to_parquet(path, index=False)
    return paths


def from_duckdb(frame, folder):
    return duckdb.connect().from_arrow(pa.Table.from_pandas(frame))


SOURCES = {
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "LazyFrame": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "Arrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "RecordBatchReader": lambda frame, folder: pa.Table.from_pandas(frame).to_reader(max_chunksize=90),
    "Dataset": lambda frame, folder: ds.dataset(parquet(frame, folder)),
    "DuckDB": from_duckdb,
    "Parquet": parquet,
    "CSV": csv,
    "glob": lambda frame, folder: str(two_files(frame, folder)[0].parent / "*.parquet"),
    "list of files": two_files,
}


def comparable(page):
    """The contents of a page without its title and without the names that a library gives to types."""
    contents = contents_of(page)
    left_out = [one["name"] for one in contents.pop("left_out")]
    return {name: contents[name] for name in contents if name not in ("title", "source")} | {"left_out": left_out}


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_table_makes_the_same_page(frame, tmp_path, name):
    expected = comparable(kdi.explore(frame))
    assert expected["rows"] == N and expected["left_out"] == ["text"] and expected["correlations"] is not None
    page = kdi.explore(SOURCES[name](frame, tmp_path))
    assert page.features == ["a", "b", "c", "w"]
    assert comparable(page) == expected


@pytest.mark.parametrize("name", ["pandas", "polars", "Arrow", "CSV", "RecordBatchReader"])
def test_weights_by_name_and_as_an_array(frame, tmp_path, name):
    by_name = kdi.explore(SOURCES[name](frame, tmp_path), weights="w")
    assert by_name.features == ["a", "b", "c"]
    as_array = kdi.explore(SOURCES[name](frame, tmp_path), columns=["a", "b", "c"], weights=frame["w"].to_numpy())
    assert contents_of(by_name)["features"] == contents_of(as_array)["features"]
    counts = frame["w"].sum() - frame.loc[frame["a"].isna(), "w"].sum()
    assert contents_of(by_name)["features"][0]["weight"] == counts
    repeated = kdi.explore(frame.loc[frame.index.repeat(frame["w"])], columns=["b", "c"])
    for one, other in zip(contents_of(by_name)["features"][1:], contents_of(repeated)["features"], strict=True):
        assert one["places"] == other["places"] and one["moments"] == other["moments"]


@pytest.mark.parametrize("name", ["pandas", "polars", "Arrow", "Parquet"])
def test_columns_in_the_order_that_is_asked_for(frame, tmp_path, name):
    page = kdi.explore(SOURCES[name](frame, tmp_path), columns=["c", "a"])
    assert page.features == ["c", "a"] and page.left_out == {}
    assert kdi.explore(SOURCES[name](frame, tmp_path), columns="b").features == ["b"]


@pytest.mark.parametrize("name", ["pandas", "polars", "Arrow", "CSV"])
@pytest.mark.parametrize(
    "options, message",
    [
        ({"columns": ["a", "text"]}, "text"),
        ({"columns": ["a", "nothing"]}, "there is no column 'nothing'"),
        ({"columns": ["a", "a"]}, "different from each other"),
        ({"columns": []}, "there are no columns"),
        ({"weights": "text"}, "text"),
        ({"weights": "nothing"}, "there is no column 'nothing'"),
        ({"columns": ["a", "w"], "weights": "w"}, "holds the weights and cannot be a feature"),
        ({"weights": [1.0, 2.0]}, "one weight per row"),
        ({"weights": np.full(N, -1.0)}, "not negative"),
        ({"weights": "a"}, "finite and not negative"),
    ],
)
def test_what_is_asked_for_must_be_there(frame, tmp_path, name, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kdi.explore(SOURCES[name](frame, tmp_path), **options)


def test_arrays_and_lists(rng):
    table = rng.normal(size=(30, 3))
    expected = comparable(kdi.explore(table))
    for same in (table.tolist(), np.asfortranarray(table), np.ma.masked_array(table, False), table.astype(object)):
        assert comparable(kdi.explore(same)) == expected
    single = kdi.explore(table.astype(np.float32))
    assert contents_of(single)["features"][0]["places"] == np.unique(table[:, 0].astype(np.float32)).tolist()


def test_masked_values_are_missing(rng):
    table = np.ma.masked_greater(rng.normal(size=(50, 2)), 1.0)
    feature = contents_of(kdi.explore(table))["features"][0]
    assert feature["missing"] == table.mask[:, 0].sum() and feature["maximum"] <= 1.0


def test_names_that_are_no_strings(rng):
    frame = pd.DataFrame(rng.normal(size=(9, 3)), columns=[2020, ("a", 1), None])
    assert kdi.explore(frame).features == ["2020", "('a', 1)", "None"]


def test_booleans_and_whole_numbers_are_numbers():
    frame = pd.DataFrame({"yes": [True, False, True], "n": pd.array([1, None, 3], dtype="Int64")})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        features = contents_of(kdi.explore(table))["features"]
        assert [feature["places"] for feature in features] == [[0.0, 1.0], [1.0, 3.0]]
        assert [feature["missing"] for feature in features] == [0, 1]


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas])
def test_names_must_be_unique(make):
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "b"])
    table = make(frame)
    table = frame.set_axis(["a", "a"], axis=1) if table is frame else table.rename_columns(["a", "a"])
    with pytest.raises(ValueError, match="names of columns must be unique, but 'a' occurs more than once"):
        kdi.explore(table)


def test_a_file_without_rows_or_values(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="there are no rows to explore"):
        kdi.explore(path)
    path.write_text("a,b\n,\n")
    assert [feature["missing"] for feature in contents_of(kdi.explore(path))["features"]] == [1, 1]


def test_an_empty_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"table\.csv"):
        kdi.explore(path)


def test_engines_are_refused():
    import dask.dataframe as dd

    with pytest.raises(TypeError, match=r"kdi\.dask"):
        kdi.explore(dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1))


def test_titles_and_names_of_files(frame, tmp_path):
    path = parquet(frame, tmp_path)
    page = kdi.explore(path)
    assert page.title == contents_of(page)["source"] == "table.parquet"
    assert str(tmp_path) not in page.html  # the page does not tell the folder of the file
    assert kdi.explore(path, title="Mine").title == "Mine"
    assert kdi.explore(frame).title == "A table"
    assert source_title(["/a/b.csv", "/a/c.csv", "/d.csv"]) == "b.csv and 2 more"
    assert source_title(frame) is None and source_title(pa.Table.from_pandas(frame)) is None
    assert kdi.explore(two_files(frame, tmp_path)).title == "1.parquet and 1 more"


class Counted:
    """A stream that tells how often it was read."""

    def __init__(self, table):
        self.table, self.readings = table, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.readings += 1
        return self.table.to_reader().__arrow_c_stream__(requested_schema)


def test_a_short_stream_is_read_once_and_has_correlations(frame):
    stream = Counted(pa.Table.from_pandas(frame))
    assert contents_of(kdi.explore(stream))["correlations"] is not None
    assert stream.readings == 1


def test_a_long_stream_has_no_correlations(frame, monkeypatch):
    defaults = CachedPartitions.__init__.__defaults__
    monkeypatch.setattr(CachedPartitions.__init__, "__defaults__", (1000,))
    assert defaults == (_columns.CACHE_BYTES,)
    page = contents_of(kdi.explore(pa.Table.from_pandas(frame).to_reader()))
    assert page["correlations"] is None and "only once" in page["no_correlations"]
    assert page["features"] == contents_of(kdi.explore(frame))["features"]
    # What can be read again is.
    again = contents_of(kdi.explore(pa.Table.from_pandas(frame)))
    assert again["correlations"] == contents_of(kdi.explore(frame))["correlations"]


def test_a_stream_that_was_read_is_refused(frame):
    reader = pa.Table.from_pandas(frame).to_reader()
    kdi.explore(reader)
    with pytest.raises(ValueError, match="only once"):
        kdi.explore(reader)


def summed(chunks):
    return sum(float(columns[0].sum()) for columns, _ in chunks)


def test_partitions_are_cached_by_the_first_read(rng):
    table = rng.normal(size=(1000, 2))
    pieces = ShuffledPartitions(table, [], rereadable=False)
    cached = CachedPartitions(pieces)
    assert not cached.rereadable
    first = cached.reduce(summed, float.__add__)
    assert cached.rereadable and cached.reduce(summed, float.__add__) == first == pytest.approx(table[:, 0].sum())
    assert pieces.readings == 1


def test_partitions_that_need_too_much_memory_are_not_cached(rng):
    pieces = ShuffledPartitions(rng.normal(size=(1000, 2)), [])
    cached = CachedPartitions(pieces, max_bytes=1000 * 2 * 8 - 1)
    for n_reads in (1, 2):
        cached.reduce(summed, float.__add__)
        assert pieces.readings == n_reads


def test_partitions_are_not_cached_where_reading_was_interrupted(rng):
    pieces = ShuffledPartitions(rng.normal(size=(1000, 2)), [])
    cached = CachedPartitions(pieces)

    def interrupted(chunks):
        next(iter(chunks))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached.reduce(interrupted, float.__add__)
    cached.reduce(summed, float.__add__)
    assert pieces.readings == 2


def test_wide_tables_of_a_file_are_read_by_column(rng, tmp_path):
    table = pa.table({f"c{j}": rng.normal(size=20) for j in range(250)})
    pq.write_table(table, tmp_path / "wide.parquet")
    opened = open_numeric_columns(tmp_path / "wide.parquet", ["c7", "c3"], None, False)
    assert opened.names == ["c7", "c3"] and opened.table.n_columns == 2
    assert len(kdi.explore(tmp_path / "wide.parquet").features) == 250


def test_progress_is_shown_when_asked_for(frame, tmp_path, capsys):
    path = parquet(frame, tmp_path)
    kdi.explore(path)
    assert capsys.readouterr().err == ""
    kdi.explore(path, progress=True)
    assert capsys.readouterr().err
