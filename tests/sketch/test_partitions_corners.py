"""Partitioned tables: cases that were once wrong."""

import os
import stat
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engines import missing
from numpy.testing import assert_allclose, assert_array_equal
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi import KDIDiscretizer, KDITransformer, Sketch
from kdi._clustering.clusters import ClusterOptions, cluster_partitioned
from kdi._clustering.medians import partitioned_medians
from kdi._clustering.queries import ArrayQueries
from kdi._correlation.partitioned_matrix import corr_partitioned
from kdi._sketch.partitions import ArrayPartitions

MEDIANS = {"strategy": "uniform", "inverse_strategy": "median", "encode": "ordinal"}


class TestMedians:
    @pytest.mark.slow
    def test_a_cell_across_a_cut(self, rng):
        values = np.concatenate([rng.uniform(size=200_000) * 1e-7, rng.uniform(size=40_000) * 1e6 + 1])[:, None]
        expected = KDIDiscretizer(alpha=0, n_bins=2, **MEDIANS).fit(values)
        found = KDIDiscretizer(alpha=0, n_bins=2, **MEDIANS)._fit_partitions(ShuffledPartitions(values, [1000]))
        assert_array_equal(found.representatives_[0], expected.representatives_[0])

    def test_float32_is_compared_with_all_digits_of_a_cut(self):
        column = np.float32([0.1, 0.1, 0.2, 0.3])[:, None]
        cuts = [np.array([float(column[0, 0]) + 1e-10])]
        expected = ArrayQueries(column.astype(float), None).medians(cuts)
        assert_array_equal(partitioned_medians(ArrayPartitions(column, None), cuts)[0], expected[0])


class TestRefits:
    def test_names_of_an_earlier_fit_go(self, rng):
        frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
        for estimator in (KDITransformer(), KDIDiscretizer()):
            estimator.fit(frame)._fit_partitions(ShuffledPartitions(rng.normal(size=(50, 3)), [10]))
            assert not hasattr(estimator, "feature_names_in_")
            assert estimator.n_features_in_ == 3

    def test_an_error_in_a_later_reading_leaves_the_bins(self, rng):
        class Failing(ShuffledPartitions):
            def reduce(self, summarise, merge):
                if self.readings == 2:
                    raise OSError("the disk is gone")
                return super().reduce(summarise, merge)

        table = np.r_[rng.normal(size=(300, 1)), rng.normal(9, 1, size=(300, 1))]
        model = KDIDiscretizer(encode="ordinal").fit(table)
        before = model.bin_edges_[0].copy()
        with pytest.raises(OSError, match="disk"):
            model._fit_partitions(Failing(table * 1e6, [100]))
        assert_array_equal(model.bin_edges_[0], before)
        assert_allclose(model.inverse_transform([[0]]), model.centers_[0][:1, None])

    def test_sketches_of_the_caller_may_grow(self):
        sketch = Sketch.from_values([1.0, 2.0, 3.0])
        model = KDITransformer().fit_sketches({"a": sketch})
        sketch.add([100.0])
        assert model.data_max_.tolist() == [3.0]
        assert KDITransformer.from_json(model.to_json()).data_max_.tolist() == [3.0]


class TestWeights:
    def test_weight_only_where_values_are_missing(self):
        table, weights = np.array([[np.nan], [1.0]]), np.array([1.0, 0.0])
        with pytest.warns(UserWarning, match="held only NaN"):
            KDITransformer()._fit_partitions(ShuffledPartitions(table, [1], weights))

    @pytest.mark.parametrize("table", [[[np.nan, 1.0], [np.nan, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
    def test_no_weight_at_all(self, table):
        with pytest.raises(ValueError, match="zero in every row"):
            KDITransformer()._fit_partitions(ShuffledPartitions(np.array(table), [1], np.zeros(2)))

    def test_an_overflow_over_chunks(self, rng):
        table, weights = rng.normal(size=(1000, 1)), np.full(1000, 1e305)
        model = KDITransformer().partial_fit(table, sample_weight=weights)
        before = model.transform(table)
        with pytest.raises(ValueError, match="finite sum"):
            model.partial_fit(table, sample_weight=weights)
        assert_array_equal(model.transform(table), before)

    def test_many_values_of_hardly_any_weight(self, rng):
        """Chebyshev's inequality is about weight: there may be more cells than the capacity."""
        table = np.concatenate([rng.normal(size=100_000), rng.uniform(0, 1e4, size=100_000)])[:, None]
        weights = np.repeat([1.0, 1e-12], 100_000)
        whole = KDITransformer().fit(table, sample_weight=weights)
        partitions = ShuffledPartitions(table, [150_000], weights)
        model = KDITransformer()._fit_partitions(partitions)
        assert partitions.readings == 2
        assert_allclose(model.transform(table), whole.transform(table), rtol=0, atol=1e-9)
        once = KDITransformer()._fit_partitions(ShuffledPartitions(table, [150_000], weights, rereadable=False))
        assert abs(once.transform(table) - whole.transform(table)).max() <= once.error_bound_[0]

    def test_a_second_reading_beside_a_column_with_infinities(self, rng):
        x = np.concatenate([rng.normal(size=60_000), rng.uniform(0, 1e4, size=60_000)])
        table = np.column_stack([x, x + rng.normal(size=len(x)), x])
        table[0, 2] = np.inf
        weights = np.repeat([1.0, 1e-12], 60_000)
        with pytest.warns(RuntimeWarning, match="infinite"):
            found = corr_partitioned(ShuffledPartitions(table, [1000], weights))
        assert abs(found[0, 1] - kdi.corr(table[:, :2], weights=weights)[0, 1]) < 1e-9


@pytest.mark.parametrize("alpha", [1e-80, 1e-90, 1e-160, 1e-300, 1e-310, 5e-324])
def test_alphas_next_to_nothing(alpha, rng):
    table = rng.normal(size=(300, 1))
    expected = KDITransformer(alpha).fit(table).transform(table)
    assert_allclose(KDITransformer(alpha).partial_fit(table).transform(table), expected, rtol=0, atol=1e-9)
    assert_allclose(
        KDITransformer(alpha)._fit_partitions(ShuffledPartitions(table, [7])).transform(table),
        expected,
        rtol=0,
        atol=1e-9,
    )
    coarse = Sketch.from_values(rng.normal(size=60_000))
    assert coarse.error_bound(1e-90) > 1
    model = KDITransformer(alpha).fit_sketches([coarse])
    assert 1e-5 < model.error_bound_[0] <= 1
    assert np.isfinite(model.transform(table)).all()


def test_partial_fit_tells_of_columns_without_values_when_it_matters():
    model = KDITransformer().partial_fit(np.full((3, 2), np.nan)).partial_fit([[1.0, np.nan], [2.0, np.nan]])
    with pytest.warns(UserWarning, match="column 1 held only NaN"):
        model.transform([[1.0, 1.0]])


def test_cells_too_narrow_for_their_values_are_refused():
    with pytest.raises(ValueError, match=r"at least 2\*\*-18 wide"):
        Sketch.from_values([1e9, 2e9, 3e9]).coarsened(-40)


def test_clusters_of_many_values(rng):
    values = np.concatenate([rng.normal(size=90_000), rng.normal(8, 2, size=60_000)])
    expected = kdi.cluster(values)
    found = cluster_partitioned(ShuffledPartitions(values[:, None], [40_000, 120_000]), ClusterOptions())
    for name in ("boundaries", "centers", "depths", "sizes"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9)


def test_readings_are_as_many_as_said(rng):
    table = np.r_[rng.normal(size=(2000, 2)), rng.normal(9, 1, size=(2000, 2))]
    holed = np.where(rng.uniform(size=table.shape) < 0.1, np.nan, table)

    def readings(question, rows=table):
        partitions = ShuffledPartitions(rows, [100, 3000])
        question(partitions)
        return partitions.readings

    assert readings(KDITransformer()._fit_partitions) == 1
    assert readings(corr_partitioned) == 3
    assert readings(corr_partitioned, holed) == 4
    assert readings(KDIDiscretizer()._fit_partitions) == 3
    assert readings(lambda partitions: cluster_partitioned(partitions, ClusterOptions()), table[:, :1]) == 3
    four = ClusterOptions(n_clusters=4, bandwidth=0.1)
    assert readings(lambda partitions: cluster_partitioned(partitions, four), table[:, :1]) <= 16


class TestStreams:
    def test_an_index_of_pandas_is_no_feature(self, rng, tmp_path):
        frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]).iloc[::3]
        frame.to_parquet(tmp_path / "a.parquet")
        expected = KDITransformer().fit(frame)
        for source in (tmp_path / "a.parquet", pa.Table.from_pandas(frame)):
            model = KDITransformer().fit(source)
            assert model.feature_names_in_.tolist() == ["a", "b"]
            assert_allclose(model.transform(frame), expected.transform(frame), rtol=0, atol=1e-14)
        back = model.transform(pa.Table.from_pandas(frame)).to_pandas()
        assert_array_equal(back.index, frame.index)
        model.transform_stream(tmp_path / "a.parquet", tmp_path / "b.parquet")
        assert_array_equal(pd.read_parquet(tmp_path / "b.parquet").index, frame.index)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system here")
    def test_a_pipe_is_not_replaced(self, tmp_path):
        frame = pd.DataFrame({"a": [1.0, 2.0]})
        frame.to_parquet(tmp_path / "a.parquet")
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="is not a regular file"):
            KDITransformer().fit(frame).transform_stream(tmp_path / "a.parquet", tmp_path / "pipe")
        assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)

    def test_the_mode_of_a_file_stays(self, tmp_path):
        frame = pd.DataFrame({"a": [1.0, 2.0]})
        frame.to_parquet(tmp_path / "a.parquet")
        (tmp_path / "a.parquet").chmod(0o600)
        KDITransformer().fit(frame).transform_stream(tmp_path / "a.parquet", tmp_path / "a.parquet")
        assert stat.S_IMODE((tmp_path / "a.parquet").stat().st_mode) == 0o600

    def test_names_that_are_not_utf8(self, tmp_path):
        (tmp_path / "latin.csv").write_bytes("xé,y\n1,2\n".encode("latin1"))
        with pytest.raises(ValueError, match=r"latin\.csv"):
            KDITransformer().fit(tmp_path / "latin.csv")

    def test_bins_are_not_begun_where_they_cannot_be_ended(self):
        reader = pa.table({"a": [1.0, 2.0]}).to_reader()
        with pytest.raises(ValueError, match="read only once"):
            KDIDiscretizer().fit(reader)
        assert reader.read_all().num_rows == 2

    def test_text_is_refused_with_advice(self):
        with pytest.raises(ValueError, match=r"'id' holds string.*sketch_table"):
            KDITransformer().fit(pa.table({"a": [1.0], "id": ["x"]}))


def dask_module(name):
    if find_spec("dask") is None:
        missing("dask is not installed")
    return import_module(f"dask.{name}")


def test_tables_of_engines_are_not_loaded_in_silence():
    da, dd = dask_module("array"), dask_module("dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)
    for X in (da.ones((4, 2)), frame):
        for estimator in (KDITransformer(), KDIDiscretizer()):
            with pytest.raises(TypeError, match=r"kdi\.dask\.fit"):
                estimator.fit(X)


class TestDaskColumns:
    @pytest.fixture
    def frame(self, rng):
        dd = dask_module("dataframe")
        frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"]).assign(name="x")
        return dd.from_pandas(frame, npartitions=2)

    def test_are_chosen(self, frame):
        import kdi.dask

        assert kdi.dask.fit(KDITransformer(), frame, columns=["c", "a"]).feature_names_in_.tolist() == ["c", "a"]
        assert list(kdi.dask.sketch_table(frame, columns="b").compute()) == ["b"]
        assert kdi.dask.corr(frame, columns=["a", "b"]).shape == (2, 2)

    @pytest.mark.parametrize(("columns", "message"), [(["a", "a"], "different"), ([], "no columns"), (["z"], "'z'")])
    def test_are_checked(self, frame, columns, message):
        import kdi.dask

        with pytest.raises(ValueError, match=message):
            kdi.dask.sketch_table(frame, columns=columns)
