"""Open maps, robust spreads and feature ranges of partitioned tables: those of one fit in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi import KDITransformer

N = 40_000
MANY_BANDWIDTHS = 8000
CUTS = [0, 1, 700, 700, 15_000, 39_999]
OPTIONS = {
    "open": {"bounded": False},
    "scores": {"bounded": False, "output_distribution": "normal"},
    "robust": {"spread": "robust"},
    "robust scores": {"bounded": False, "output_distribution": "normal", "spread": "robust"},
    "robust, from -1 to 1": {"spread": "robust", "feature_range": (-1, 1)},
    "robust, open, from -1 to 1": {"bounded": False, "spread": "robust", "feature_range": (-1, 1)},
}
EVERY_OPTION = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])


def some_table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    holes, zeros = rng.normal(size=n), rng.lognormal(size=n)
    holes[rng.random(n) < 0.3] = np.nan
    zeros[rng.random(n) < 0.4] = 0
    counts, offset = rng.poisson(3, size=n), 1e9 + rng.normal(size=n)
    tails = rng.lognormal(sigma=2, size=n), rng.standard_cauchy(size=n)
    return np.column_stack([rng.normal(size=n), *tails, zeros, counts, holes, offset])


def some_weights(weighted, n=N):
    return np.random.default_rng(1).integers(0, 4, size=n).astype(float) if weighted else None


def assert_same(model, whole, table, weights=None):
    """Compare to 1e-9, or to the bounds where knots cannot be regular since the range is too many bandwidths."""
    assert_allclose(model.bandwidth_, whole.bandwidth_, rtol=1e-12)
    assert_array_equal(model.data_min_, whole.data_min_)
    assert_array_equal(model.data_max_, whole.data_max_)
    rows = table if weights is None else table[weights > 0]  # scores of others may lie beyond those that bounds cover
    found, expected = model.transform(rows), whole.transform(rows)
    is_sparse = whole.data_max_ - whole.data_min_ > MANY_BANDWIDTHS * whole.bandwidth_
    allowed = np.where(is_sparse, model.error_bound_ + whole.error_bound_, 0)
    assert_array_equal(np.isnan(found), np.isnan(rows))
    assert (np.nan_to_num(abs(found - expected)) <= np.maximum(allowed, 1e-9)).all()
    assert is_sparse.sum() <= 2 or not whole.bandwidth_.any()


@EVERY_OPTION
@WEIGHTED
@pytest.mark.parametrize("alpha", [0, 0.1, 1.0])
def test_partitions_in_any_order(alpha, weighted, options):
    table, weights = some_table(), some_weights(weighted)
    whole = KDITransformer(alpha, **options).fit(table, sample_weight=weights)
    model = KDITransformer(alpha, **options)._fit_partitions(ShuffledPartitions(table, CUTS, weights))
    assert_same(model, whole, table, weights)


@EVERY_OPTION
@WEIGHTED
@pytest.mark.parametrize("alpha", [0, 1.0])
def test_chunks_of_partial_fit_in_any_order(alpha, weighted, options, rng):
    table, weights = some_table(), some_weights(weighted)
    whole = KDITransformer(alpha, **options).fit(table, sample_weight=weights)
    model = KDITransformer(alpha, **options)
    for rows in np.array_split(rng.permutation(N), [10, 5000, 12_000]):
        model.partial_fit(table[rows], sample_weight=None if weights is None else weights[rows])
    assert_same(model, whole, table, weights)


@EVERY_OPTION
def test_sketches_of_parts(options):
    table = some_table()
    parts = [kdi.sketch_table(part) for part in np.split(table, [N // 3])]
    model = KDITransformer(**options).fit_sketches([parts[0][name] + parts[1][name] for name in parts[0]])
    assert_same(model, KDITransformer(**options).fit(table), table)


@pytest.fixture(scope="module")
def cauchy():
    return np.random.default_rng(4).standard_cauchy(size=(200_000, 1))


class TestFarValues:
    """Cauchy samples, whose range is a hundred thousand robust bandwidths."""

    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    def test_one_reading_of_many_values(self, alpha, cauchy):
        whole = KDITransformer(alpha, spread="robust").fit(cauchy)
        partitions = ShuffledPartitions(cauchy, [50_000, 120_000], rereadable=False)
        model = KDITransformer(alpha, spread="robust")._fit_partitions(partitions)
        assert_same(model, whole, cauchy)
        assert model.error_bound_ < 1e-3

    @pytest.mark.parametrize("options", [OPTIONS["robust"], OPTIONS["robust scores"]], ids=["robust", "robust scores"])
    @pytest.mark.parametrize("n", [100_000, 700_000])
    def test_a_second_reading_resolves_what_one_does_not(self, n, options, rng):
        """More values far from the quartiles than one reading has cells for; or even more than a second one keeps."""
        values = np.concatenate([rng.normal(size=6 * n // 10), rng.uniform(-1e6, 1e6, size=4 * n // 10)])
        table = rng.permutation(values)[:, None]
        whole = KDITransformer(**options).fit(table)
        partitions = ShuffledPartitions(table, [20_000, 70_000])
        model = KDITransformer(**options)._fit_partitions(partitions)
        assert partitions.readings == 2
        assert_allclose(model.bandwidth_, whole.bandwidth_, rtol=1e-12)
        # Lines through cells and through values differ more in normal scores, whose bound is infinite here.
        atol = 1e-6 if options == OPTIONS["robust"] else 3e-5
        assert_allclose(model.transform(table), whole.transform(table), rtol=0, atol=atol)
        assert whole.bandwidth_ < 3
        for once in (
            KDITransformer(**options)._fit_partitions(ShuffledPartitions(table, [20_000, 70_000], rereadable=False)),
            KDITransformer(**options).partial_fit(table),
        ):  # the quartiles are not resolved, and the bound says so
            assert once.error_bound_ == (np.inf if "bounded" in options else 1)
        of_sketches = KDITransformer(**options).fit_sketches(kdi.sketch_table(table))
        assert_allclose(of_sketches.bandwidth_, whole.bandwidth_, rtol=1e-12)
