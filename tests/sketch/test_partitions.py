"""Partitioned tables: what is learnt from them equals what is learnt from the whole table in memory."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi import KDIDiscretizer, KDITransformer, Sketch
from kdi._clustering.clusters import ClusterOptions, cluster_partitioned
from kdi._clustering.medians import partitioned_medians
from kdi._clustering.queries import ArrayQueries
from kdi._correlation.partitioned_matrix import corr_partitioned, corr_test_partitioned
from kdi._sketch.partitions import sketch_for_alphas, sketch_partitions

N = 6000
CUTS = [0, 0, 1, 700, 700, 3000, 5999]


def some_table(n=N):
    return np.column_stack([sample(name, n) for name in SAMPLES])


@pytest.fixture(scope="module")
def holed():
    """Related columns, two of which miss rows of their own, and one that misses the rows of another."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(N, 5)) + rng.normal(size=(N, 1))
    table[:, 1] = np.exp(2 * table[:, 1])
    table[rng.uniform(size=N) < 0.2, 0] = np.nan
    table[rng.uniform(size=N) < 0.4, 1] = np.nan
    table[np.isnan(table[:, 1]), 2] = np.nan
    return table


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
@pytest.mark.parametrize("alpha", [0, 0.05, 0.3, 1.0, "scott", 10.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_transformer(weighted, alpha, kernel):
    table = some_table()
    weights = np.random.default_rng(0).integers(0, 3, size=N).astype(float) if weighted else None
    whole = KDITransformer(alpha, kernel=kernel).fit(table, sample_weight=weights)
    partitions = ShuffledPartitions(table, CUTS, weights)
    model = KDITransformer(alpha, kernel=kernel)._fit_partitions(partitions)
    assert_allclose(model.transform(table), whole.transform(table), rtol=0, atol=1e-9)
    assert_allclose(model.error_bound_, whole.error_bound_, rtol=0.1, atol=1e-9)
    assert_array_equal(model.data_max_, whole.data_max_)
    assert model.n_samples_seen_ == N
    assert partitions.readings == 1


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_many_rows(alpha, rng):
    n = 300_000
    table = np.column_stack([rng.lognormal(sigma=2, size=n), rng.standard_cauchy(size=n), rng.normal(size=n)])
    table[: n // 3, 2] *= 1e6  # partitions of very different range
    table[n // 2 : n // 2 + 50_000, 0] = np.nan
    whole = KDITransformer(alpha).fit(table)
    model = KDITransformer(alpha)._fit_partitions(ShuffledPartitions(table, range(50_000, n, 50_000)))
    assert_allclose(model.transform(table[::29]), whole.transform(table[::29]), rtol=0, atol=1e-9)
    if alpha == 1:  # else the whole table's sketch is of the values themselves
        assert [len(one) for one in model.sketches_] == [len(one) for one in whole.sketches_]
    at = table[::30_000, 0][np.isfinite(table[::30_000, 0])]
    exact = oracle.transform(table[np.isfinite(table[:, 0]), 0], at, alpha, "polyexp")
    assert abs(model.transform(np.column_stack([at] * 3))[:, 0] - exact).max() <= model.error_bound_[0] + 1e-14


def test_a_second_reading_where_one_is_not_enough(rng, monkeypatch):
    monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)  # so that every column has the least capacity
    monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 128)
    table = rng.lognormal(sigma=2, size=(60_000, 2))
    table[:, 1] = rng.normal(size=60_000)
    whole = KDITransformer(0.3).fit(table)
    partitions = ShuffledPartitions(table, [20_000, 20_000, 40_000])
    model = KDITransformer(0.3)._fit_partitions(partitions)
    assert partitions.readings == 2
    assert_allclose(model.transform(table), whole.transform(table), rtol=0, atol=1e-9)
    assert_allclose(model.error_bound_, whole.error_bound_, rtol=1e-3)
    for ours, theirs in zip(model.sketches_, whole.sketches_, strict=True):
        assert repr(ours) == repr(theirs)
        assert_array_equal(ours.keys, theirs.keys)
    once = ShuffledPartitions(table, [20_000, 40_000], rereadable=False)
    coarse = KDITransformer(0.3)._fit_partitions(once)
    assert once.readings == 1
    assert coarse.error_bound_[0] > 10 * whole.error_bound_[0]
    difference = abs(coarse.transform(table) - whole.transform(table)).max(axis=0)
    assert (difference <= coarse.error_bound_ + whole.error_bound_).all()


def test_names_are_kept(rng):
    table = rng.normal(size=(50, 2))
    model = KDITransformer(alpha={"a": 0.1})._fit_partitions(ShuffledPartitions(table, [20], names=["a", "b"]))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert_array_equal(model.alpha_, [0.1, 1.0])


def test_infinite_values_are_refused_by_name(rng):
    table = rng.normal(size=(50, 2))
    table[30, 1] = -np.inf
    for estimator in (KDITransformer(), KDIDiscretizer()):
        with pytest.raises(ValueError, match=r"infinity.*column 'b'"):
            estimator._fit_partitions(ShuffledPartitions(table, [20], names=["a", "b"]))
    with pytest.raises(ValueError, match=r"infinity.*column 1"):
        sketch_partitions(ShuffledPartitions(table, [20]))
    with pytest.raises(ValueError, match="x must be finite"):
        cluster_partitioned(ShuffledPartitions(table[:, 1:], [20]), ClusterOptions())


def test_no_rows():
    empty = np.empty((0, 2))
    for estimator in (KDITransformer(), KDIDiscretizer()):
        with pytest.raises(ValueError, match="0 sample"):
            estimator._fit_partitions(ShuffledPartitions(empty, [0]))
    with pytest.raises(ValueError, match="at least one value"):
        cluster_partitioned(ShuffledPartitions(empty[:, :1], [0]), ClusterOptions())


def test_a_column_of_nothing(rng):
    table = np.column_stack([np.full(50, np.nan), rng.normal(size=50)])
    with pytest.warns(UserWarning, match="column 0 held only NaN"):
        model = KDITransformer()._fit_partitions(ShuffledPartitions(table, [20]))
    assert np.isnan(model.transform(table)[:, 0]).all()


def test_a_range_too_large(rng):
    table = np.array([[1e308], [-1e308], [0.0]])
    with pytest.raises(ValueError, match="range of column 0 is too large"):
        KDITransformer()._fit_partitions(ShuffledPartitions(table, [1]))


class TestCorrelations:
    @pytest.mark.parametrize("alpha", [0, 0.1, 1.0, "scott", np.inf, [0.1, 1.0, 1.0, "silverman", 2.0]])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n", [N, 400])
    def test_holes(self, n, weighted, alpha, holed):
        table = holed[:n]
        weights = np.random.default_rng(1).integers(0, 3, size=n).astype(float) if weighted else None
        expected = kdi.corr_test(table, alpha=alpha, weights=weights)
        cuts = [cut for cut in CUTS if cut < n]
        statistic, pvalue = corr_test_partitioned(ShuffledPartitions(table, cuts, weights), alpha=alpha)
        assert_allclose(statistic, expected.statistic, rtol=0, atol=1e-9)
        assert_allclose(pvalue, expected.pvalue, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    def test_no_holes(self, kernel):
        table = some_table()
        expected = kdi.corr(table, kernel=kernel)
        assert_allclose(corr_partitioned(ShuffledPartitions(table, CUTS), kernel=kernel), expected, rtol=0, atol=1e-9)

    def test_few_rows_in_common(self, holed):
        table = holed[:40].copy()
        table[:20, 3], table[18:, 4] = np.nan, np.nan  # none in common, or two with others
        table[5:, 0] = np.nan
        for min_periods in (1, 3, 10):
            expected = kdi.corr(table, min_periods=min_periods)
            found = corr_partitioned(ShuffledPartitions(table, [7, 21]), min_periods=min_periods)
            assert_allclose(found, expected, rtol=0, atol=1e-9)

    def test_warnings_name_constants_and_infinities(self, rng):
        table = rng.normal(size=(60, 4))
        table[:, 1], table[3, 2] = 7.0, np.inf
        with pytest.warns(RuntimeWarning) as heard:
            found = corr_partitioned(ShuffledPartitions(table, [10], names=["a", "b", "c", "d"]))
        assert any("'b'" in str(one.message) for one in heard)
        assert any("'c'" in str(one.message) for one in heard)
        with pytest.warns(RuntimeWarning):
            assert_allclose(found, kdi.corr(table), rtol=0, atol=1e-9)

    def test_far_outlier(self, rng):
        table = rng.normal(size=(20_000, 2)) + rng.normal(size=(20_000, 1))
        table[0] = 1e9, -1e9
        found = corr_partitioned(ShuffledPartitions(table, [5000]))
        assert_allclose(found, kdi.corr(table), rtol=0, atol=1e-9)


class TestClusters:
    @pytest.fixture
    def two(self, rng):
        return np.concatenate([rng.normal(size=3000), rng.normal(7, 1.5, size=2000), np.full(20, np.nan)])

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"alpha": 0.3, "kernel": "gaussian"},
            {"n_clusters": 2},
            {"n_clusters": 4, "bandwidth": 0.1},
            {"min_size": 0.1, "bandwidth": 0.05},
            {"significance": 0.1, "bandwidth": 0.05},
            {"alpha": "scott"},
        ],
    )
    @pytest.mark.parametrize("weighted", [False, True])
    def test_boundaries(self, two, options, weighted, rng):
        values = rng.permutation(two)
        weights = rng.integers(0, 4, size=len(values)).astype(float) if weighted else None
        expected = kdi.cluster(values, weights=weights, **options)
        found = cluster_partitioned(
            ShuffledPartitions(values[:, None], [0, 1000, 1001], weights), ClusterOptions(**options)
        )
        assert found.n_clusters == expected.n_clusters
        assert_allclose(found.boundaries, expected.boundaries, rtol=0, atol=1e-9)
        assert_allclose(found.centers, expected.centers, rtol=0, atol=1e-9)
        assert_allclose(found.depths, expected.depths, rtol=0, atol=1e-9)
        assert_array_equal(found.sizes, expected.sizes)
        assert_array_equal(found.predict(values), expected.labels)
        assert_allclose(found.predict_proba(values[:99]), expected.predict_proba(values[:99]), rtol=0, atol=1e-9)

    def test_a_constant(self):
        found = cluster_partitioned(ShuffledPartitions(np.full((30, 1), 2.0), [10]), ClusterOptions())
        assert found.n_clusters == 1
        assert_array_equal(found.sizes, [30])

    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    @pytest.mark.parametrize("inverse", ["center", "median", "midpoint"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_discretizer(self, two, strategy, inverse, weighted, rng):
        table = np.column_stack([two, np.exp(two / 3), np.round(two)])
        weights = rng.integers(0, 4, size=len(table)).astype(float) if weighted else None
        options = {"strategy": strategy, "inverse_strategy": inverse, "missing": "bin", "encode": "ordinal"}
        expected = KDIDiscretizer(**options).fit(table, sample_weight=weights)
        found = KDIDiscretizer(**options)._fit_partitions(ShuffledPartitions(table, [0, 1000, 4000], weights))
        assert_array_equal(found.n_bins_, expected.n_bins_)
        for ours, theirs in zip(found.bin_edges_, expected.bin_edges_, strict=True):
            assert_allclose(ours, theirs, rtol=0, atol=1e-9)
        for ours, theirs in zip(found.representatives_, expected.representatives_, strict=True):
            assert_allclose(ours, theirs, rtol=0, atol=1e-9)
        assert_array_equal(found.transform(table), expected.transform(table))

    def test_a_number_of_bins(self, two):
        table = np.column_stack([two[:5000], -two[:5000]])
        options = {"n_bins": [3, "auto"], "bandwidth": 0.1, "encode": "ordinal"}
        expected = KDIDiscretizer(**options).fit(table)
        found = KDIDiscretizer(**options)._fit_partitions(ShuffledPartitions(table, [1000]))
        assert_array_equal(found.transform(table), expected.transform(table))
        assert_allclose(found.alpha_, expected.alpha_)

    def test_missing_values_are_refused_by_name(self, two):
        with pytest.raises(ValueError, match="NaN, in column 'a'"):
            KDIDiscretizer()._fit_partitions(ShuffledPartitions(two[:, None], [10], names=["a"]))


@pytest.mark.parametrize("weighted", [False, True])
def test_medians(weighted, rng, monkeypatch):
    monkeypatch.setattr("kdi._sketch.cells.DEFAULT_CAPACITY", 100)  # so that it takes several readings
    monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)
    monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 100)
    table = np.column_stack([rng.normal(size=4001), rng.integers(0, 9, size=4001), rng.lognormal(sigma=3, size=4001)])
    table[::50, 0] = np.nan
    weights = rng.integers(0, 4, size=4001).astype(float) if weighted else None
    cuts = [np.array([-1.0, 0.2, 50.0]), np.array([3.0, 4.0]), np.array([])]
    partitions = ShuffledPartitions(table, [100, 3000], weights)
    found, expected = partitioned_medians(partitions, cuts), ArrayQueries(table, weights).medians(cuts)
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours, theirs)
    assert 2 < partitions.readings < 8


class TestFitFromSketches:
    def test_equals_fit(self, table):
        sketches = [Sketch.from_values(column) for column in table.T]
        model, whole = KDITransformer(0.5).fit_sketches(sketches), KDITransformer(0.5).fit(table)
        assert_allclose(model.transform(table), whole.transform(table), rtol=0, atol=1e-12)

    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_names_and_numbers(self, table):
        sketches = [Sketch.from_values(column) for column in table.T]
        assert not hasattr(KDITransformer().fit_sketches(sketches), "feature_names_in_")
        named = KDITransformer().fit_sketches(dict(zip("abcd", sketches, strict=True)))
        assert named.feature_names_in_.tolist() == list("abcd")
        assert named.n_samples_seen_ == len(table)

    def test_goes_on_with_partial_fit(self, table):
        sketches = [Sketch.from_values(column) for column in table[:200].T]
        model = KDITransformer().fit_sketches(sketches).partial_fit(table[200:])
        assert_allclose(model.transform(table), KDITransformer().fit(table).transform(table), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("wrong", [[], {}, [1.0], {"a": [1.0]}, [None]])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(ValueError, match="Sketches, one per feature"):
            KDITransformer().fit_sketches(wrong)


def test_sketches_of_partitions_are_those_of_the_whole(rng):
    table = np.column_stack([rng.normal(size=90_000), rng.lognormal(size=90_000), rng.integers(0, 99, size=90_000)])
    for cuts in ([], [1, 50_000], range(9000, 90_000, 9000)):
        for found, column in zip(sketch_partitions(ShuffledPartitions(table, cuts)), table.T, strict=True):
            expected = Sketch.from_values(column)
            assert (found.exponent, found.count) == (expected.exponent, expected.count)
            assert_array_equal(found.keys, expected.keys)


def test_a_summary_counts_the_rows():
    partitions = ShuffledPartitions(np.ones((7, 1)), [2, 2])
    assert sketch_for_alphas(partitions, kdi._numerics.kernels.get_kernel("gaussian"), np.ones_like).n_rows == 7
