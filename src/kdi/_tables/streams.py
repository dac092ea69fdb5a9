"""Streams: sketch a source, and transform one batch by batch, into batches or into a file."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from kdi._sketch.partitions import ArrayPartitions, PartitionedTable, sketch_partitions
from kdi._sketch.sketch import Sketch
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.frames import read_frame
from kdi._tables.sinks import sink_format, sink_path, write_batches
from kdi._tables.sources import Source, is_dataframe, is_lazy_frame, is_source, open_source, require_pyarrow
from kdi._utils.atomic_write import atomic_write
from kdi._utils.errors import TableError
from kdi._utils.names import check_available, features_and_weights
from kdi._utils.public import public_in
from kdi._utils.typing import FloatArray
from kdi._utils.validation import as_weights, check_feature_names, check_finite

TableFunction = Callable[[FloatArray], Any]

NOT_SENT = ("_sketches", "valleys_", "_sklearn_output_config")  # attributes that workers do not need


@public_in("kdi")
def sketch_table(
    source: Any, *, columns: Iterable[str] | str | None = None, weights: Any = None, progress: bool = False
) -> dict[str, Sketch]:
    """Sketch the columns of a table that need not fit in memory.

    Parameters
    ----------
    source : path, glob or list of them, object with an Arrow stream, frame or array
        Parquet and CSV files, a pyarrow Table, RecordBatchReader or Dataset, a polars LazyFrame or a DuckDB relation
        are read batch by batch. Columns of an array are called "x0", "x1", ….
    columns : list of str, optional
        The columns to sketch; by default all but that of the weights. They must be numeric.
    weights : str or array-like of shape (n_rows,), optional
        The name of a column, or one weight per row. A weight of 2 is a repetition, a weight of 0 a removal.
    progress : bool, default=False
        Whether to show a progress bar on stderr.

    Returns
    -------
    dict of str to Sketch
        Sketches of parts of a table add up; `KDITransformer.fit_sketches` accepts them.

    Notes
    -----
    The source is read once. It is read a second time if the cells of a sketch turn out to be wider than alpha = 1 needs
    in units of either spread, and the source can be read again.

    Examples
    --------
    >>> import kdi
    >>> kdi.sketch_table([[1.0, 10.0], [2.0, 30.0]], columns=["x1"])
    {'x1': Sketch(count=2, minimum=10.0, maximum=30.0, exact)}
    """
    table = _partitioned_table(source, columns, weights, progress)
    return dict(zip(table.names or [], sketch_partitions(table), strict=True))


def _partitioned_table(
    source: Any, columns: Iterable[str] | str | None, weights: Any, progress: bool
) -> PartitionedTable:
    if is_source(source) or is_dataframe(source):
        return ArrowPartitions(source, weights, columns=columns, progress=progress, argument="weights")
    values = read_frame(source).values
    names = [f"x{j}" for j in range(values.shape[1])]
    features, weight_column = features_and_weights(columns, weights, names)
    positions = {name: j for j, name in enumerate(names)}
    mass = weights if weight_column is None else values[:, positions[weight_column]]
    table = values if features == names else values[:, [positions[name] for name in features]]
    return ArrayPartitions(table, as_weights(mass, len(values), "weights"), names=features)


def table_function(estimator: Any, method: str = "transform") -> TableFunction:
    """Return a method of a fitted estimator as a function of NumPy tables, which it may overwrite."""
    plain = copy.copy(estimator)
    vars(plain).pop("feature_names_in_", None)  # names were checked before; NumPy tables have none
    plain._sklearn_output_config = {"transform": "default"}
    if hasattr(plain, "copy"):
        plain.copy = False

    def function(table: FloatArray) -> Any:
        try:
            return np.asarray(getattr(plain, method)(table))
        except ValueError:
            check_finite(estimator, np.flatnonzero(np.isinf(table).any(axis=0)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the table has no names
                getattr(estimator, method)(table)  # raises the same error with the names of columns
            raise

    return function


def model_for_workers(estimator: Any, *, named: bool = True, **parameters: Any) -> Any:
    """Copy a fitted estimator without what mapping rows does not need, such as its sketches.

    Parameters
    ----------
    estimator : fitted estimator
    named : bool, default=True
        Whether the copy keeps the names of features.
    **parameters
        Parameters that the copy has instead of the estimator's; those that the estimator does not have are ignored.
    """
    check_is_fitted(estimator)
    model = copy.copy(estimator)
    if hasattr(estimator, "_get_maps"):
        model._maps = estimator._get_maps()  # built here if they are not yet: once, not in every worker
    for name in NOT_SENT if named else (*NOT_SENT, "feature_names_in_"):
        vars(model).pop(name, None)
    vars(model).update({name: value for name, value in parameters.items() if name in vars(model)})
    return model


def check_features(estimator: Any, schema: Any) -> None:
    """Raise unless the columns are numeric and those that the estimator was fitted on, in their order."""
    from kdi._tables.arrow import check_numeric_columns

    check_is_fitted(estimator)
    check_feature_names(estimator, list(schema.names), len(schema), reset=False)
    check_numeric_columns(schema)


def transform_batches(
    function: TableFunction, source: Source, features: list[str], schema: Any, progress: bool = False
) -> Iterator[Any]:
    """Transform the features of a source batch by batch; `schema` is that of the result."""
    from kdi._tables.arrow import common_dtype, select_fields

    positions = {name: j for j, name in enumerate(source.names)}
    places = [positions[name] for name in features]
    dtype = common_dtype(select_fields(source.schema, features))
    batches = source.batches(progress)  # open eagerly so that errors surface here, not in the generator
    return _transform_each(function, batches, places, dtype, schema)


def _transform_each(
    function: TableFunction, batches: Iterator[Any], places: list[int], dtype: Any, schema: Any
) -> Iterator[Any]:
    """Transform the columns at some places of each batch."""
    import pyarrow as pa

    start = 0
    for batch in batches:
        columns = list(batch.columns)
        try:
            transformed = _transform_columns(function, [columns[j] for j in places], dtype)
        except TableError as error:
            raise error.after(start) from error
        for place, column in zip(places, transformed, strict=True):
            columns[place] = column
        start += batch.num_rows
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _transform_columns(function: TableFunction, columns: list[Any], dtype: Any) -> list[Any]:
    """Apply a function of NumPy tables to columns of Arrow, as float64 or float32."""
    import pyarrow as pa

    from kdi._tables.arrow import as_floats

    n_rows = len(columns[0])
    if not n_rows:
        return [pa.array([], pa.from_numpy_dtype(dtype)) for _ in columns]
    # In Fortran order, columns of the result become Arrow arrays without a copy.
    table = np.empty((n_rows, len(columns)), dtype=dtype, order="F")
    for j, column in enumerate(columns):
        table[:, j] = as_floats(column)
    result = np.asarray(function(table), dtype=dtype, order="F")
    return [pa.array(result[:, j]) for j in range(len(columns))]


def transformed_schema(schema: Any, features: list[str]) -> Any:
    """Return the schema with features as floats: float32 if all of them are float32, float64 otherwise."""
    import pyarrow as pa

    from kdi._tables.arrow import common_dtype, select_fields

    dtype = common_dtype(select_fields(schema, features))
    chosen, kind = set(features), pa.from_numpy_dtype(dtype)
    fields = [field.with_type(kind) if field.name in chosen else field for field in schema]
    return pa.schema(fields, metadata=_update_metadata(schema.metadata, chosen, dtype.name))


def _update_metadata(metadata: dict[bytes, bytes] | None, changed: set[str], dtype: str) -> dict[bytes, bytes] | None:
    """Update the types of the changed columns in pandas' metadata; leave it out if it is invalid."""
    if not metadata or b"pandas" not in metadata:
        return metadata
    others = {key: value for key, value in metadata.items() if key != b"pandas"}
    try:
        about_pandas = json.loads(metadata[b"pandas"])
        for column in about_pandas["columns"]:
            if column["field_name"] in changed:
                column.update(pandas_type=dtype, numpy_type=dtype, metadata=None)
    except (ValueError, TypeError, KeyError, AttributeError):
        return others
    return {**others, b"pandas": json.dumps(about_pandas).encode()}


def transform_source(estimator: Any, source: Any, function: TableFunction | None = None) -> Any:
    """Transform a source into the same kind if that is a Table, RecordBatch or LazyFrame, else a RecordBatchReader.

    Parameters
    ----------
    estimator : fitted estimator
    source : anything that `open_source` takes
    function : callable, optional
        Maps a NumPy table, which it may overwrite, to one of the same shape; the estimator's transform by default.
    """
    pa = require_pyarrow()
    from kdi._tables.arrow import select_fields

    in_memory = isinstance(source, pa.Table | pa.RecordBatch)
    if function is None:
        _check_output(estimator, in_memory)
        function = table_function(estimator)
    opened = open_source(source)
    features = opened.feature_columns
    check_features(estimator, select_fields(opened.schema, features))
    schema = transformed_schema(opened.schema, features)
    if is_lazy_frame(source):
        return _transform_lazy_frame(source, function, schema)
    batches = transform_batches(function, opened, features, schema)
    if not in_memory:
        return pa.RecordBatchReader.from_batches(schema, batches)
    table = pa.Table.from_batches(batches, schema=schema)
    if isinstance(source, pa.Table):
        return table
    in_one_batch = table.combine_chunks().to_batches()
    return in_one_batch[0] if in_one_batch else pa.RecordBatch.from_pylist([], schema=schema)


def _check_output(estimator: Any, in_memory: bool) -> None:
    """Raise if set_output asks for frames: scikit-learn can convert results in memory only."""
    output = getattr(estimator, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
    if output == "pandas" or (output != "default" and not in_memory):
        raise ValueError(
            f"the transform of a stream is a stream, but set_output asks for {output!r}; call "
            "set_output(transform='default')."
        )


def _transform_lazy_frame(frame: Any, function: TableFunction, schema: Any) -> Any:
    import polars as pl

    dtype = schema.types[0].to_pandas_dtype()

    def transform(part: Any) -> Any:
        columns = [part.get_column(name).to_arrow() for name in schema.names]
        try:
            transformed = _transform_columns(function, columns, dtype)
        except TableError as error:  # polars does not tell at which row a part begins
            raise error.without_row() from error
        return pl.DataFrame(dict(zip(schema.names, transformed, strict=True)))

    kind = pl.Float32 if dtype == np.float32 else pl.Float64
    return frame.map_batches(transform, schema=dict.fromkeys(schema.names, kind), streamable=True)


@dataclass(frozen=True)
class TransformedStream:
    """A transformed source; its batches are computed as they are read."""

    batches: Iterator[Any]
    schema: Any
    features: list[str]  # the columns that were transformed


def transform_named(
    estimator: Any,
    source: Any,
    *,
    keep_text: bool = False,
    progress: bool = False,
    function: TableFunction | None = None,
) -> TransformedStream:
    """Transform the features of a source, which are found by name; other columns pass through.

    Parameters
    ----------
    estimator : fitted estimator
    source : anything that `open_source` takes
    keep_text : bool, default=False
        Whether other columns of CSV files pass through as the text that is in the file.
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    function : callable, optional
        As in `transform_source`.
    """
    require_pyarrow()
    from kdi._tables.arrow import select_fields

    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    opened = open_source(source, numeric_columns=features, keep_text=keep_text)
    if features is None:
        features = opened.feature_columns
    else:
        check_available(features, opened.names, f", which {type(estimator).__name__} was fitted on")
    check_features(estimator, select_fields(opened.schema, features))
    schema = transformed_schema(opened.schema, features)
    batches = transform_batches(function or table_function(estimator), opened, features, schema, progress)
    return TransformedStream(batches, schema, features)


def write_stream(
    estimator: Any, source: Any, sink: Any, progress: bool = False, function: TableFunction | None = None
) -> int:
    """Transform a source into a Parquet or CSV file, batch by batch, and return the number of rows.

    Features are found by name; other columns pass through. The file is written under another name and renamed when it
    is complete: after an error the old file is still there, and `sink` may be one of the files that are read.

    Parameters
    ----------
    estimator : fitted estimator
    source : anything that `open_source` takes
    sink : path of the file: CSV where it ends in .csv or .csv.gz, Parquet otherwise
    progress : bool, default=False
        Whether to show a progress bar on stderr.
    function : callable, optional
        As in `transform_source`.
    """
    check_is_fitted(estimator)
    path = sink_path(sink)
    file_format = sink_format(path)
    keep_text = file_format == "CSV"
    stream = transform_named(estimator, source, keep_text=keep_text, progress=progress, function=function)
    with atomic_write(path) as temporary:
        gzip = path.lower().endswith(".gz")
        return write_batches(stream.batches, stream.schema, temporary, file_format, stream.features, gzip=gzip)
