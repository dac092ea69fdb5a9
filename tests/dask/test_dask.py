"""kdi.dask on a cluster of two worker processes: everything equals what the same rows give in memory."""

import os
import signal
import sys
from itertools import pairwise

import cloudpickle
import numpy as np
import pytest
from engines import missing
from numpy.testing import assert_allclose, assert_array_equal

import kdi

try:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    from dask.distributed import Client, LocalCluster
except ImportError as error:
    missing(f"dask is not installed ({error})")

import kdi.dask

pytestmark = pytest.mark.slow

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers do not see the tests

ALPHAS = [0, 0.1, 1, np.inf, "scott"]
OPTIONS = [
    {"bounded": False},
    {"bounded": False, "output_distribution": "normal", "spread": "robust"},
    {"spread": "robust", "feature_range": (-1, 1)},
]
ROWS = 40_000
NAMES = ["normal", "lognormal", "cauchy", "offset", "ties", "holes"]


@pytest.fixture(scope="module", autouse=True)
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def make_table(n=ROWS):
    rng = np.random.default_rng(5)
    holes = rng.normal(size=n)
    holes[rng.random(n) < 0.3] = np.nan
    return np.column_stack(
        [
            rng.normal(size=n),
            rng.lognormal(sigma=2, size=n),
            rng.standard_cauchy(size=n),
            1e9 + rng.normal(size=n),
            rng.poisson(3, size=n),
            holes,
        ]
    )


TABLE = make_table()


def pieces_of(table, n, seed=0):
    """The rows of a table in n pieces of different length, in another order."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, len(table)), n - 1, replace=False))
    pieces = [table[start:stop] for start, stop in pairwise([0, *cuts.tolist(), len(table)])]
    return [pieces[k] for k in rng.permutation(n)]


def array_of(pieces, dtype=None):
    """A dask array of these blocks as they are, empty ones too."""
    name = f"pieces-{dask.base.tokenize(pieces)}"
    sizes, tail = tuple(len(piece) for piece in pieces), pieces[0].shape[1:]
    keys = [(name, k, *[0] * len(tail)) for k in range(len(pieces))]
    graph = dict(zip(keys, pieces, strict=True))
    return da.Array(graph, name, chunks=(sizes, *((n,) for n in tail)), dtype=dtype or pieces[0].dtype)


def frame_of(pieces, names=NAMES):
    return dd.from_map(lambda piece: pd.DataFrame(piece, columns=names), pieces)


def probes(table):
    """Rows of the table, and points between its extremes and around its quantiles."""
    table = np.asarray(table, dtype=float)
    ends = np.linspace(np.nanmin(table, axis=0), np.nanmax(table, axis=0), 301)
    return np.concatenate([table[:1000], ends, np.nanquantile(table, np.linspace(0, 1, 301), axis=0)])


def assert_same(found, expected, table):
    points = probes(table)
    if hasattr(expected, "feature_names_in_"):
        points = pd.DataFrame(points, columns=expected.feature_names_in_)
        assert_array_equal(found.feature_names_in_, expected.feature_names_in_)
    assert_allclose(found.transform(points), expected.transform(points), rtol=0, atol=1e-9)
    assert_allclose(found.bandwidth_, expected.bandwidth_, rtol=1e-12)
    assert_array_equal(found.data_min_, expected.data_min_)
    assert_array_equal(found.data_max_, expected.data_max_)
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert found.n_features_in_ == expected.n_features_in_


class TestFit:
    @pytest.mark.parametrize("alpha", ALPHAS)
    @pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
    def test_equals_fit_in_memory(self, kernel, alpha):
        model = kdi.KDITransformer(alpha, kernel=kernel)
        found = kdi.dask.fit(model, array_of(pieces_of(TABLE, 17)))
        assert found is model
        assert_same(found, kdi.KDITransformer(alpha, kernel=kernel).fit(TABLE), TABLE)

    @pytest.mark.parametrize("n", [1, 3, 17])
    @pytest.mark.parametrize("alpha", [0, 0.1, 1])
    def test_whatever_the_partitions(self, n, alpha):
        expected = kdi.KDITransformer(alpha).fit(TABLE)
        found = kdi.dask.fit(kdi.KDITransformer(alpha), array_of(pieces_of(TABLE, n, seed=n)))
        assert_same(found, expected, TABLE)

    @pytest.mark.parametrize("alpha", [0, 0.1, 1])
    def test_dataframe(self, alpha):
        expected = kdi.KDITransformer(alpha).fit(pd.DataFrame(TABLE, columns=NAMES))
        found = kdi.dask.fit(kdi.KDITransformer(alpha), frame_of(pieces_of(TABLE, 5)))
        assert_same(found, expected, TABLE)

    @pytest.mark.parametrize("make", [array_of, frame_of])
    def test_empty_and_missing_partitions(self, make):
        pieces = pieces_of(TABLE, 4)
        nothing, unknown = TABLE[:0], np.full((50, TABLE.shape[1]), np.nan)
        X = make([nothing, unknown, *pieces[:2], nothing, *pieces[2:], unknown, nothing])
        rows = np.concatenate([unknown, TABLE, unknown])
        expected = kdi.KDITransformer().fit(pd.DataFrame(rows, columns=NAMES) if make is frame_of else rows)
        assert_same(kdi.dask.fit(kdi.KDITransformer(), X), expected, TABLE)

    @pytest.mark.parametrize("alpha", [0, 0.1, 1])
    def test_partitions_of_different_dtypes_and_ranges(self, rng, alpha):
        pieces = [
            (1e-6 * rng.normal(size=(7000, 2))).astype(np.float32),
            rng.integers(-5, 5, size=(7000, 2)),
            1e6 * rng.lognormal(size=(7000, 2)),
            rng.normal(size=(7000, 2)),
            rng.random((100, 2)) < 0.5,
        ]
        rows = np.concatenate([piece.astype(float) for piece in pieces])
        for order in (range(5), (4, 2, 0, 3, 1)):
            X = array_of([pieces[k] for k in order], dtype=float)
            found = kdi.dask.fit(kdi.KDITransformer(alpha), X)
            assert_same(found, kdi.KDITransformer(alpha).fit(rows), rows)

    @pytest.mark.parametrize("alpha", [0, 0.1, 1])
    def test_float32(self, alpha):
        table = TABLE[:, :3].astype(np.float32)
        found = kdi.dask.fit(kdi.KDITransformer(alpha), array_of(pieces_of(table, 5)))
        assert_same(found, kdi.KDITransformer(alpha).fit(table), table)

    @pytest.mark.parametrize("alpha", [0, 0.1, 1, "scott"])
    def test_weights(self, rng, alpha):
        weights = rng.integers(0, 4, size=ROWS) * 0.5
        expected = kdi.KDITransformer(alpha).fit(TABLE, sample_weight=weights)
        both = pieces_of(np.column_stack([TABLE, weights]), 7)
        X, w = array_of([piece[:, :-1] for piece in both]), array_of([piece[:, -1] for piece in both])
        assert_same(kdi.dask.fit(kdi.KDITransformer(alpha), X, sample_weight=w), expected, TABLE)
        in_memory = np.concatenate([piece[:, -1] for piece in both])
        assert_same(kdi.dask.fit(kdi.KDITransformer(alpha), X, sample_weight=in_memory), expected, TABLE)

    def test_weights_of_a_dataframe(self, rng):
        weights = rng.integers(0, 4, size=ROWS) * 0.5
        expected = kdi.KDITransformer().fit(pd.DataFrame(TABLE, columns=NAMES), sample_weight=weights)
        X = frame_of(pieces_of(np.column_stack([TABLE, weights]), 7), [*NAMES, "times"])
        assert_same(kdi.dask.fit(kdi.KDITransformer(), X, sample_weight="times"), expected, TABLE)
        assert_same(kdi.dask.fit(kdi.KDITransformer(), X[NAMES], sample_weight=X["times"]), expected, TABLE)

    def test_worker_killed_in_the_middle(self, tmp_path):
        marker = tmp_path / "killed"
        pieces = pieces_of(TABLE, 8)

        def deadly(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 5 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return block

        X = array_of(pieces).map_blocks(deadly, dtype=float, meta=np.empty((0, 0)))
        found = kdi.dask.fit(kdi.KDITransformer(), X)
        assert marker.exists()
        assert_same(found, kdi.KDITransformer().fit(TABLE), TABLE)

    def test_partitions_stay_on_the_workers(self):
        """A summary never names the process of the client."""
        partitions = kdi.dask.DaskPartitions(array_of(pieces_of(TABLE, 20)))
        found = partitions.reduce(processes, set.union)
        assert found
        assert os.getpid() not in found

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    @pytest.mark.parametrize("compute", [True, False])
    def test_open_maps_and_robust_spreads(self, compute, options):
        """All columns but that of Cauchy values, which the robust spread leaves as far as any."""
        columns = [name for name in NAMES if name != "cauchy"]
        table = pd.DataFrame(TABLE, columns=NAMES)[columns]
        expected = kdi.KDITransformer(**options).fit(table)
        X = frame_of(pieces_of(TABLE, 6))[columns]
        found = kdi.dask.fit(kdi.KDITransformer(**options), X, compute=compute)
        scaled = kdi.dask.transform(found, X)
        back = kdi.dask.inverse_transform(found, scaled).compute()
        found = found if compute else found.compute()
        assert_same(found, expected, table)
        levels = pd.DataFrame(found.transform(X.compute()), columns=columns)
        assert_array_equal(scaled.compute(), levels)
        assert_array_equal(back, found.inverse_transform(levels))


def processes(chunks):
    assert all(len(columns) == len(NAMES) for columns, _ in chunks)
    return {os.getpid()}


class TestDelayedFit:
    def test_is_lazy_and_leaves_the_estimator_alone(self):
        model = kdi.KDITransformer()
        found = kdi.dask.fit(model, failing(TABLE), compute=False)
        assert not hasattr(model, "n_features_in_")
        with pytest.raises(RuntimeError, match="computed"):
            found.compute()

    def test_equals_fit_in_memory(self):
        found = kdi.dask.fit(kdi.KDITransformer(), frame_of(pieces_of(TABLE, 9)), compute=False)
        expected = kdi.KDITransformer().fit(pd.DataFrame(TABLE, columns=NAMES))
        assert_same(found.compute(), expected, TABLE)

    def test_goes_into_transform(self):
        X = array_of(pieces_of(TABLE, 5))
        model = kdi.dask.fit(kdi.KDITransformer(), X, compute=False)
        found = kdi.dask.transform(model, X)
        assert_allclose(found.compute(), kdi.KDITransformer().fit(TABLE).transform(X.compute()), rtol=0, atol=1e-9)


def failing(table):
    """The table as a dask array that must not be computed."""

    def fail(block):
        raise RuntimeError("computed")

    return da.from_array(table, chunks=(1000, -1)).map_blocks(fail, dtype=table.dtype, meta=np.empty((0, 0)))


class TestTransform:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("distribution", ["uniform", "normal"])
    def test_arrays(self, dtype, distribution):
        table = TABLE.astype(dtype)
        model = kdi.KDITransformer(output_distribution=distribution).fit(table)
        X = da.from_array(table, chunks=(9000, 2))
        found = kdi.dask.transform(model, X)
        assert found.dtype == dtype
        assert found.chunks == ((9000, 9000, 9000, 9000, 4000), (6,))
        assert_array_equal(found.compute(), model.transform(table))
        back = kdi.dask.inverse_transform(model, found)
        assert back.dtype == dtype
        assert_array_equal(back.compute(), model.inverse_transform(model.transform(table)))

    def test_dataframes_keep_index_and_names(self):
        frame = pd.DataFrame(TABLE, columns=NAMES, index=pd.Index(np.arange(ROWS) * 2, name="row"))
        model = kdi.KDITransformer().fit(frame)
        X = dd.from_pandas(frame, npartitions=4)
        found = kdi.dask.transform(model, X)
        assert found.divisions == X.divisions
        expected = pd.DataFrame(model.transform(frame), index=frame.index, columns=frame.columns)
        pd.testing.assert_frame_equal(found._meta, expected[:0])
        pd.testing.assert_frame_equal(found.compute(), expected)
        back = kdi.dask.inverse_transform(model, found).compute()
        assert_array_equal(back, model.inverse_transform(expected))

    def test_lazy(self):
        model = kdi.KDITransformer().fit(TABLE)
        found = kdi.dask.inverse_transform(model, kdi.dask.transform(model, failing(TABLE)))
        with pytest.raises(RuntimeError, match="computed"):
            found.compute()

    def test_partitions_without_rows(self):
        model = kdi.KDITransformer().fit(TABLE)
        pieces = [TABLE[:0], TABLE[:10], TABLE[:0], TABLE[10:30]]
        assert_array_equal(kdi.dask.transform(model, array_of(pieces)).compute(), model.transform(TABLE[:30]))
        named = kdi.KDITransformer().fit(pd.DataFrame(TABLE, columns=NAMES))
        assert_array_equal(kdi.dask.transform(named, frame_of(pieces)).compute(), model.transform(TABLE[:30]))

    @pytest.mark.parametrize("make", [array_of, frame_of])
    def test_model_travels_once(self, make):
        X = make(pieces_of(TABLE[:2000], 30))
        table = pd.DataFrame(TABLE, columns=NAMES) if make is frame_of else TABLE
        model = kdi.KDITransformer(alpha=0).fit(table)
        (found,) = dask.optimize(kdi.dask.transform(model, X))
        sizes = [len(cloudpickle.dumps(task)) for task in dict(found.__dask_graph__()).values()]
        assert sum(size > 200_000 for size in sizes) == 1  # of 31 or more

    def test_sums_without_a_result_in_one_place(self):
        model = kdi.KDITransformer().fit(TABLE[:, :3])
        X = da.from_array(TABLE[:, :3], chunks=(5000, 3))
        assert_allclose(
            kdi.dask.transform(model, X).mean(axis=0).compute(), model.transform(TABLE[:, :3]).mean(axis=0), rtol=1e-12
        )


class TestSketches:
    def test_do_not_depend_on_the_partitions(self):
        found = [
            kdi.dask.sketch_table(frame_of(pieces_of(TABLE, n, seed=n))).compute(scheduler="sync") for n in (1, 3, 17)
        ]
        assert list(found[0]) == NAMES
        for other in found[1:]:
            for one, another in zip(found[0].values(), other.values(), strict=True):
                assert one.exponent == another.exponent
                assert_array_equal(one.keys, another.keys)
                assert_allclose(one.moments, another.moments, rtol=1e-9, atol=1e-6)
                assert (one.count, one.missing) == (another.count, another.missing)
                assert (one.minimum, one.maximum) == (another.minimum, another.maximum)

    def test_on_the_cluster_with_chosen_columns_and_weights(self, rng):
        weights = rng.integers(0, 3, size=ROWS).astype(float)
        X = frame_of(pieces_of(np.column_stack([TABLE, weights]), 4), [*NAMES, "times"])
        found = kdi.dask.sketch_table(X, columns=["ties", "normal"], weights="times").compute()
        assert list(found) == ["ties", "normal"]
        assert found["ties"].weight == weights.sum()
        assert found["ties"].is_exact
        assert found["normal"].count == np.count_nonzero(weights)

    def test_fit_from_sketches(self):
        sketches = kdi.dask.sketch_table(frame_of(pieces_of(TABLE, 4))).compute()
        found = kdi.KDITransformer().fit_sketches(sketches)
        expected = kdi.KDITransformer().fit(pd.DataFrame(TABLE, columns=NAMES))
        points = pd.DataFrame(probes(TABLE), columns=NAMES)
        assert_allclose(found.transform(points), expected.transform(points), rtol=0, atol=1e-9)

    def test_arrays_are_keyed_by_number(self):
        X = array_of(pieces_of(TABLE, 4))
        assert list(kdi.dask.sketch_table(X).compute()) == list(range(6))
        assert list(kdi.dask.sketch_table(X, columns=[4, 1]).compute()) == [4, 1]


class TestCorrelations:
    @pytest.mark.parametrize("alpha", [0, 0.1, 1, np.inf])
    def test_array(self, alpha):
        table = mixed(TABLE[:, :5])
        found = kdi.dask.corr(array_of(pieces_of(table, 7)), alpha=alpha)
        assert_allclose(found, kdi.corr(table, alpha=alpha), rtol=0, atol=1e-9)

    def test_frame_with_holes_and_p_values(self, rng):
        table = mixed(TABLE)[:3000]
        table[rng.random(table.shape) < 0.1] = np.nan
        table[:, 3] = np.where(np.isnan(table[:, 2]), np.nan, table[:, 1] + table[:, 2])
        frame = pd.DataFrame(table, columns=NAMES)
        X = frame_of(pieces_of(table, 5))
        found, expected = kdi.dask.corr_test(X), kdi.corr_test(frame)
        assert isinstance(found, kdi.CorrelationMatrix)
        pd.testing.assert_frame_equal(found.statistic, expected.statistic, rtol=0, atol=1e-9)
        pd.testing.assert_frame_equal(found.pvalue, expected.pvalue, rtol=0, atol=1e-9)
        pd.testing.assert_frame_equal(kdi.dask.corr(X), found.statistic, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("order", [2, 6])
    def test_p_values_of_an_array_for_every_order(self, order):
        table = mixed(TABLE[:, :3])[:2000]
        X = array_of(pieces_of(table, 3))
        found, expected = kdi.dask.corr_test(X, order=order), kdi.corr_test(table, order=order)
        assert_allclose(found.statistic, expected.statistic, rtol=0, atol=1e-9)
        assert_allclose(found.pvalue, expected.pvalue, rtol=0, atol=1e-9)
        assert_allclose(kdi.dask.corr(X, order=order), expected.statistic, rtol=0, atol=1e-9)
        assert not np.allclose(found.statistic, kdi.corr(table), rtol=0, atol=1e-6)

    def test_weights(self, rng):
        table, weights = mixed(TABLE[:, :3])[:5000], rng.integers(0, 3, size=5000).astype(float)
        both = pieces_of(np.column_stack([table, weights]), 4)
        X = frame_of(both, [*NAMES[:3], "times"])
        found = kdi.dask.corr(X, weights="times")
        assert list(found) == NAMES[:3]
        assert_allclose(found, kdi.corr(table, weights=weights), rtol=0, atol=1e-9)

    def test_min_periods(self):
        table = mixed(TABLE)[:100]
        table[5:, 0] = np.nan
        found = kdi.dask.corr(array_of(pieces_of(table, 3)), min_periods=10)
        assert_allclose(found, kdi.corr(table, min_periods=10), rtol=0, atol=1e-9)


def mixed(table):
    """Columns that depend on each other."""
    return np.column_stack([table[:, :1], table[:, 1:] / np.nanstd(table[:, 1:], axis=0) + 0.5 * table[:, :1]])


class TestClusters:
    @pytest.fixture
    def values(self, rng):
        values = np.concatenate([rng.normal(0, 1, 6000), rng.normal(8, 1, 3000), rng.normal(20, 2, 2000)])
        values[::50] = np.nan
        return rng.permutation(values)

    @pytest.mark.parametrize(
        "options", [{}, {"n_clusters": 2}, {"min_size": 0.2}, {"significance": 0.05}, {"order": 2}]
    )
    def test_equals_cluster_in_memory(self, values, options):
        x = array_of(pieces_of(values, 6))
        found, expected = kdi.dask.cluster(x, **options), kdi.cluster(x.compute(), **options)
        assert found.n_clusters == expected.n_clusters
        for name in ("boundaries", "centers", "sizes", "depths", "alpha"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)
        assert isinstance(found.labels, da.Array)
        assert found.labels.dtype == np.int64
        assert_array_equal(found.labels.compute(), expected.labels)
        assert_array_equal(found.predict(values), kdi.cluster(values, **options).labels)

    def test_series_and_frames(self, values):
        weights = np.where(values > 15, 0.5, 1.0)
        frame = pd.DataFrame({"length": values, "times": weights})
        X = dd.from_pandas(frame, npartitions=4)
        expected = kdi.cluster(values, weights=weights)
        for found in (
            kdi.dask.cluster(X["length"], weights=X["times"]),
            kdi.dask.cluster(X, weights="times"),
        ):
            assert_allclose(found.boundaries, expected.boundaries, rtol=1e-9)
            labels = found.labels.compute()
            pd.testing.assert_series_equal(labels, pd.Series(expected.labels, index=frame.index, name="length"))


class TestDiscretizer:
    @pytest.fixture
    def table(self, rng):
        left = np.where(rng.random(8000) < 0.4, rng.normal(0, 1, 8000), rng.normal(9, 1, 8000))
        right = np.where(rng.random(8000) < 0.7, rng.normal(0, 1, 8000), rng.normal(-7, 1, 8000))
        return np.column_stack([left, right])

    @pytest.mark.parametrize("encode", ["ordinal", "onehot", "onehot-dense"])
    @pytest.mark.parametrize("make", [array_of, frame_of])
    def test_equals_fit_in_memory(self, table, make, encode):
        names = ["left", "right"]
        pieces = [table[:0], *pieces_of(table, 5)]
        X = make(pieces, names) if make is frame_of else make(pieces)
        rows = pd.DataFrame(table, columns=names) if make is frame_of else table
        found = kdi.dask.fit(kdi.KDIDiscretizer(encode=encode), X)
        expected = kdi.KDIDiscretizer(encode=encode).fit(rows)
        for one, other in zip(found.bin_edges_, expected.bin_edges_, strict=True):
            assert_allclose(one, other, rtol=1e-9)
        coded = kdi.dask.transform(found, X)
        dense = expected.transform(X.compute())
        dense = dense.toarray() if encode == "onehot" else dense
        assert_array_equal(coded.compute(), dense)
        if make is frame_of:
            assert list(coded.columns) == list(found.get_feature_names_out())
        back = kdi.dask.inverse_transform(found, coded)
        assert_allclose(back.compute(), expected.inverse_transform(dense), rtol=1e-9)
        if make is frame_of:
            assert list(back.columns) == names

    @pytest.mark.parametrize("options", [{"n_bins": 3}, {"strategy": "uniform"}, {"inverse_strategy": "median"}])
    def test_options(self, table, options):
        found = kdi.dask.fit(kdi.KDIDiscretizer(**options), array_of(pieces_of(table, 2)))
        expected = kdi.KDIDiscretizer(**options).fit(table)
        for one, other in zip(found.bin_edges_, expected.bin_edges_, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        for one, other in zip(found.representatives_, expected.representatives_, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)
