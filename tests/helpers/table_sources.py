"""The same table as every kind of source, and results of every kind as arrays."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kdi._tables.sources import open_source

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


class Foreign:
    """An object of an unknown library, which has nothing but an Arrow stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def numbers_table(seed=0, n=1000):
    """A pyarrow Table of float64, int64 and float32."""
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.normal(size=n), "b": rng.integers(0, 100, n), "c": rng.normal(size=n).astype(np.float32)})


def features_frame(seed=0, n=3000):
    """A pandas frame of columns that a transformer may find hard."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "far": rng.lognormal(0, 2, n) * 1e6 + 1e9,
            "whole": rng.integers(-5, 5, n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )


def as_source(kind, table, folder):
    """A pyarrow Table or a frame as a source; its files are made in `folder`."""
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    paths = _write_parquet(table, folder)
    makers = {
        "table": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "reader": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=77)),
        "dataset": lambda: ds.dataset(paths),
        "dataset of csv": lambda: ds.dataset(_write_csv(table, folder)[:1], format="csv"),
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
        "csv": lambda: [str(path) for path in _write_csv(table, folder)],
    }
    return makers[kind]()


def _write_parquet(table, folder):
    """Three files, of which the second has no rows."""
    paths = [folder / f"part-{k}.parquet" for k in range(3)]
    for path, part in zip(paths, (table[:300], table[:0], table[300:]), strict=True):
        pq.write_table(part, path, row_group_size=128)
    return paths


def _write_csv(table, folder):
    """Two files, of which the second is compressed."""
    paths = [folder / "part-0.csv", folder / "part-1.csv.gz"]
    for path, part in zip(paths, (table[:300], table[300:]), strict=True):
        with pa.CompressedOutputStream(str(path), "gzip") if path.suffix == ".gz" else open(path, "wb") as file:
            pyarrow.csv.write_csv(part, file)
    return paths


def all_rows(source, columns=None):
    """Open a source and read it into a pyarrow Table."""
    opened = open_source(source, columns)
    return pa.Table.from_batches(opened.batches(), schema=opened.schema)


def as_array(result):
    """Any result of a transformation as a NumPy table."""
    if isinstance(result, pl.LazyFrame):
        return result.collect().to_numpy()
    if isinstance(result, pa.RecordBatchReader):
        result = result.read_all()
    return np.column_stack([result.column(name).to_numpy() for name in result.schema.names])


def write_corrupt_file(folder, truncate=False):
    """Write three Parquet files of a column "a", and return the path of the second, which cannot be read."""
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
