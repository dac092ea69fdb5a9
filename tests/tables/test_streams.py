"""Streams: what fit, sketch_table and transform make of a source equals what they make of it in memory."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from table_sources import as_array, as_source, features_frame, write_corrupt_file

import kdi
from kdi._integral.build import DeferredFeatures, FeatureMaps
from kdi._tables.streams import model_for_workers

N = 3000
OPTIONS = [
    {"bounded": False},
    {"bounded": False, "output_distribution": "normal", "spread": "robust"},
    {"spread": "robust", "feature_range": (-1, 1)},
]
KINDS = ["table", "batch", "reader", "dataset", "lazy frame", "relation", "glob", "csv"]

# fit


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1.0, 0.05])
def test_fit_of_a_source_is_fit_in_memory(kind, alpha, tmp_path):
    frame = features_frame()
    expected = kdi.KDITransformer(alpha).fit(frame)
    found = kdi.KDITransformer(alpha).fit(as_source(kind, frame, tmp_path))
    assert list(found.feature_names_in_) == list(frame.columns)
    assert found.n_samples_seen_ == N
    assert abs(found.transform(frame) - expected.transform(frame))[~frame.isna().to_numpy()].max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_open_maps_robust_spreads_and_ranges(kind, options, tmp_path):
    """Learnt from a source, applied to a source, and taken back."""
    frame = features_frame()
    expected = kdi.KDITransformer(**options).fit(frame)
    found = kdi.KDITransformer(**options).fit(as_source(kind, frame, tmp_path))
    np.testing.assert_allclose(found.bandwidth_, expected.bandwidth_, rtol=1e-12)
    levels = pd.DataFrame(found.transform(frame), columns=frame.columns)
    np.testing.assert_allclose(levels, expected.transform(frame), rtol=0, atol=1e-9)
    of_source = as_array(found.transform(as_source(kind, frame, tmp_path)))
    np.testing.assert_allclose(of_source, levels, rtol=0, atol=1e-12)
    back = as_array(found.inverse_transform(as_source("table", levels, tmp_path)))
    np.testing.assert_allclose(back, found.inverse_transform(levels), rtol=1e-12)


@pytest.mark.parametrize("again", [True, False])
def test_fit_of_many_rows_is_fit_in_memory(again):
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=400_000), "b": np.sort(rng.lognormal(0, 1.5, 400_000))})
    frame = table.to_pandas()
    expected = kdi.KDITransformer().fit(frame)
    found = kdi.KDITransformer().fit(table if again else table.to_reader(max_chunksize=30_000))
    assert abs(found.transform(frame) - expected.transform(frame)).max() < 1e-9


@pytest.mark.parametrize("kind", ["table", "reader", "glob", "lazy frame", "relation"])
def test_weights_of_a_source_are_weights_in_memory(kind, tmp_path):
    frame = features_frame().assign(w=np.random.default_rng(1).random(N))
    features, weights = frame.drop(columns="w"), frame["w"].to_numpy()
    expected = kdi.KDITransformer().fit(features, sample_weight=weights).transform(features)
    by_name = kdi.KDITransformer().fit(as_source(kind, frame, tmp_path), sample_weight="w")
    assert list(by_name.feature_names_in_) == list(features.columns)
    given = kdi.KDITransformer().fit(as_source(kind, features, tmp_path), sample_weight=weights)
    for found in (by_name, given):
        np.testing.assert_allclose(found.transform(features), expected, atol=1e-9, rtol=0)


def test_parts_of_any_kind_add_up(tmp_path):
    frame = features_frame()
    expected = kdi.KDITransformer().fit(frame).transform(frame)
    found = kdi.KDITransformer()
    for kind, part in zip(["table", "glob", "lazy frame"], np.array_split(np.arange(N), 3), strict=True):
        found.partial_fit(as_source(kind, frame.iloc[part], tmp_path))
    np.testing.assert_allclose(found.transform(frame), expected, atol=1e-9, rtol=0)
    with pytest.raises(ValueError, match="feature names should match"):
        found.partial_fit(pa.table({"other": [1.0]}))


def test_a_source_without_rows_is_refused_as_a_frame_is():
    empty = pa.Table.from_pandas(features_frame(n=0), preserve_index=False)
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
    frame = features_frame()
    found = kdi.sketch_table(as_source(kind, frame, tmp_path))
    assert list(found) == list(frame.columns)
    for name, sketch in found.items():
        expected = kdi.Sketch.from_values(frame[name])
        assert (sketch.count, sketch.missing) == (expected.count, expected.missing)
        assert (sketch.minimum, sketch.maximum) == (expected.minimum, expected.maximum)
        assert sketch.std == pytest.approx(expected.std)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, lambda frame: pa.table(frame)])
def test_sketches_of_chosen_columns_with_weights(make):
    frame = features_frame().assign(w=np.arange(float(N)), text="x")
    found = kdi.sketch_table(make(frame), columns=["gaps", "normal"], weights="w")
    assert list(found) == ["gaps", "normal"]
    assert found["normal"].weight == frame["w"].sum()
    assert kdi.sketch_table(make(frame), columns="normal", weights=frame["w"])["normal"].weight == frame["w"].sum()
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
    frame = features_frame()
    sketches = kdi.sketch_table(as_source("glob", frame, tmp_path))
    found = kdi.KDITransformer().fit_sketches(sketches).transform(frame)
    np.testing.assert_allclose(found, kdi.KDITransformer().fit_transform(frame), atol=1e-9, rtol=0)


# transform


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_transform_of_a_source_is_transform_in_memory(kind, distribution, tmp_path):
    frame = features_frame()
    fitted = kdi.KDITransformer(output_distribution=distribution).fit(frame)
    result = fitted.transform(as_source(kind, frame, tmp_path))
    same = {"table": pa.Table, "batch": pa.RecordBatch, "lazy frame": pl.LazyFrame}
    assert isinstance(result, same.get(kind, pa.RecordBatchReader))
    np.testing.assert_allclose(as_array(result), fitted.transform(frame), atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", ["table", "reader", "lazy frame"])
def test_inverse_transform_of_a_source(kind, tmp_path):
    frame = features_frame()
    fitted = kdi.KDITransformer().fit(frame)
    levels = pd.DataFrame(fitted.transform(frame), columns=frame.columns)
    result = as_array(fitted.inverse_transform(as_source(kind, levels, tmp_path)))
    np.testing.assert_allclose(result, fitted.inverse_transform(levels), rtol=1e-14)


@pytest.mark.parametrize("copy", [True, False])
def test_the_source_is_not_overwritten(copy):
    frame = features_frame()
    fitted = kdi.KDITransformer(copy=copy).fit(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    before = table.to_pandas()
    fitted.transform(table)
    pd.testing.assert_frame_equal(table.to_pandas(), before)
    assert hasattr(fitted, "feature_names_in_")
    assert fitted.copy is copy


@pytest.mark.parametrize("kind", ["table", "batch", "reader", "lazy frame"])
def test_float32_comes_back_as_float32(kind, tmp_path):
    narrow = features_frame()[["normal", "gaps"]].astype(np.float32)
    fitted = kdi.KDITransformer().fit(narrow)
    found = as_array(fitted.transform(as_source(kind, narrow, tmp_path)))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, fitted.transform(narrow))
    mixed = narrow.astype({"gaps": np.float64})
    found = as_array(fitted.transform(as_source(kind, mixed, tmp_path)))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, fitted.transform(mixed))


@pytest.mark.parametrize("kind", ["table", "batch", "reader", "lazy frame", "glob"])
def test_transform_of_no_rows(kind, tmp_path):
    fitted = kdi.KDITransformer().fit(features_frame())
    empty = features_frame(n=0)
    source = as_source(kind, empty, tmp_path) if kind != "batch" else pa.RecordBatch.from_pandas(empty)
    assert as_array(fitted.transform(source)).shape == (0, 4)


def test_batches_without_rows_are_passed_over():
    fitted = kdi.KDITransformer().fit(pa.table({"a": [0.0, 1.0]}))
    batches = [pa.record_batch({"a": pa.array(values, pa.float64())}) for values in ([], [0.0], [], [1.0], [])]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert as_array(fitted.transform(reader)).ravel().tolist() == [0.0, 1.0]


def test_names_are_compared_as_those_of_frames_are():
    frame = features_frame()
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
        with pytest.raises(ValueError, match=f"set_output asks for {output!r}"):
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
    path = write_corrupt_file(tmp_path)
    with pytest.raises(ValueError, match=path.name):
        fitted.transform(str(tmp_path / "*.parquet")).read_all()


def test_transform_before_fit_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        kdi.KDITransformer().transform(pa.table({"a": [1.0]}))


# Models for workers


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "estimator, removed",
    [(kdi.KDITransformer(), "sketches_"), (kdi.KDIDiscretizer(encode="ordinal"), "valleys_")],
    ids=["transformer", "discretizer"],
)
def test_models_for_workers_have_neither_sketches_nor_valleys(estimator, removed, named):
    frame = features_frame().fillna(0.0)
    estimator.fit(frame)
    expected = estimator.transform(frame)
    model = model_for_workers(estimator, named=named, n_jobs=1, alpha_of_no_estimator=3)
    assert hasattr(estimator, removed) and not hasattr(model, removed)
    assert len(pickle.dumps(model)) < len(pickle.dumps(estimator)) - 10_000
    assert hasattr(model, "feature_names_in_") == named
    assert (estimator.n_jobs, model.n_jobs) == (None, 1) and not hasattr(model, "alpha_of_no_estimator")
    found = pickle.loads(pickle.dumps(model)).transform(frame if named else frame.to_numpy())
    np.testing.assert_array_equal(found, expected)


def test_models_for_workers_have_their_maps():
    first = kdi.KDITransformer().partial_fit(np.linspace(0, 1, 100)[:, None])  # builds its maps later
    assert isinstance(first._maps, DeferredFeatures)
    assert isinstance(model_for_workers(first)._maps, FeatureMaps)
