"""Options of kdi.cluster that close valleys: n_clusters, min_size and significance."""

import numpy as np
import pytest
from cluster_oracle import Clusters, assert_turning_points, closed_to, mixture
from numpy.testing import assert_array_equal
from samples import sample

import kdi

pytestmark = pytest.mark.numpy_core


class TestNumberOfClusters:
    @pytest.mark.parametrize("n_clusters", [1, 2, 3, 5, 8])
    @pytest.mark.parametrize("number", [1, 4])
    def test_the_shallowest_valleys_are_closed(self, number, n_clusters):
        values = mixture(number, 150)[0]
        expected = closed_to(Clusters(values, bandwidth=0.05), n_clusters)
        assert expected.n_clusters == n_clusters
        result = kdi.cluster(values, bandwidth=0.05, n_clusters=n_clusters)
        assert_turning_points(result, expected)
        assert_array_equal(result.labels, expected.labels)
        assert_array_equal(result.sizes, expected.sizes)
        assert result.alpha == 1.0

    def test_as_many_as_there_are(self):
        values = mixture(2, 500)[0]
        plain = kdi.cluster(values)
        assert_array_equal(kdi.cluster(values, n_clusters=plain.n_clusters).boundaries, plain.boundaries)

    @pytest.mark.parametrize(
        ("number", "bandwidth", "n_clusters"),
        [(1, 0.2, 4), (3, 0.2, 3), (3, 0.1, 8), (4, 0.2, 4), (4, "scott", 3), (5, 0.1, 4)],
    )
    def test_more_by_another_alpha(self, number, bandwidth, n_clusters):
        values = mixture(number, 200)[0]
        assert kdi.cluster(values, bandwidth=bandwidth).n_clusters < n_clusters
        result = kdi.cluster(values, bandwidth=bandwidth, n_clusters=n_clusters)
        assert result.n_clusters == n_clusters
        expected = closed_to(Clusters(values, alpha=result.alpha, bandwidth=bandwidth), n_clusters)
        assert_turning_points(result, expected)
        assert_array_equal(result.labels, expected.labels)
        assert_array_equal(result.sizes, expected.sizes)
        distance = abs(np.log2(result.alpha))
        for step in np.arange(-distance + 0.25, distance - 0.2, 0.25):  # none that is nearer has enough
            assert Clusters(values, alpha=2.0**step, bandwidth=bandwidth).n_clusters < n_clusters

    @pytest.mark.parametrize("alpha", [0, 0.3, np.inf, "scott"])
    def test_more_from_any_alpha(self, alpha):
        values = mixture(3, 200)[0]
        assert kdi.cluster(values, alpha=alpha, bandwidth=0.1).n_clusters < 8
        assert kdi.cluster(values, alpha=alpha, bandwidth=0.1, n_clusters=8).n_clusters == 8

    @pytest.mark.parametrize("n_clusters", [4, 50])
    def test_impossible_numbers_say_how_many_there_are(self, n_clusters):
        values = np.array([1.0, 2.0, 30.0])
        with pytest.raises(ValueError, match=rf"{n_clusters} clusters.*at most [123]\b"):
            kdi.cluster(values, n_clusters=n_clusters)

    def test_a_constant_has_no_two_clusters(self):
        with pytest.raises(ValueError, match=r"2 clusters.*at most 1\b"):
            kdi.cluster([3.0, 3.0, 3.0], n_clusters=2)
        assert kdi.cluster([3.0, 3.0, 3.0], n_clusters=1).n_clusters == 1

    def test_numpy_numbers(self):
        assert kdi.cluster(mixture(3, 100)[0], n_clusters=np.int32(2)).n_clusters == 2

    def test_weights_count_in_the_search(self, rng):
        values, weights = mixture(3, 150)[0], rng.integers(1, 3, size=150)
        weighted = kdi.cluster(values, weights=weights, bandwidth=0.1, n_clusters=8)
        repeated = kdi.cluster(np.repeat(values, weights), bandwidth=0.1, n_clusters=8)
        assert weighted.alpha == repeated.alpha != 1.0
        assert_array_equal(weighted.sizes, repeated.sizes)


class TestMinSize:
    @pytest.mark.parametrize("min_size", [0, 1, 2, 5, 12.5, 40, 150, 1000, 0.01, 0.1, 0.45, 0.99])
    @pytest.mark.parametrize("number", [1, 5])
    def test_small_clusters_join_behind_the_shallower_valley(self, number, min_size):
        values = mixture(number, 150)[0]
        expected = Clusters(values, bandwidth=0.05)
        least = min_size * 150 if min_size < 1 else min_size
        while expected.n_clusters > 1 and expected.sizes.min() < least:
            smallest = int(expected.sizes.argmin())
            beside = [v for v in (smallest - 1, smallest) if 0 <= v < expected.n_clusters - 1]
            expected = expected.closed(min(beside, key=lambda v, depths=expected.depths: depths[v]))
        result = kdi.cluster(values, bandwidth=0.05, min_size=min_size)
        assert_turning_points(result, expected)
        assert_array_equal(result.sizes, expected.sizes)
        assert result.n_clusters == 1 or result.sizes.min() >= least

    def test_outliers_join(self):
        values = np.concatenate([mixture(3, 300)[0], [1e4]])
        assert kdi.cluster(values).sizes[-1] == 1
        assert kdi.cluster(values, min_size=2).sizes[-1] > 1

    def test_weights_are_sizes(self):
        values, weights = mixture(5, 100)[0], np.full(100, 0.125)
        assert kdi.cluster(values, weights=weights, min_size=4, bandwidth=0.3).n_clusters == 2
        assert kdi.cluster(values, weights=weights, min_size=10, bandwidth=0.3).n_clusters == 1

    def test_with_a_number_of_clusters(self):
        """Every cluster that is left of a number asked for is large enough."""
        values = mixture(4, 300)[0]
        result = kdi.cluster(values, bandwidth=0.05, n_clusters=3, min_size=20)
        assert result.n_clusters == 3
        assert result.sizes.min() >= 20


class TestSignificance:
    @pytest.mark.parametrize("n", [100, 500])
    @pytest.mark.parametrize("name", ["normal", "lognormal-1"])
    def test_chance_valleys_close(self, name, n):
        samples = [sample(name, n, seed) for seed in range(20)]
        assert sum(kdi.cluster(x, bandwidth=0.2).n_clusters > 1 for x in samples) >= 10
        assert sum(kdi.cluster(x, bandwidth=0.2, significance=0.01).n_clusters > 1 for x in samples) <= 2

    @pytest.mark.parametrize("level", [0.05, 0.01, 0.001])
    @pytest.mark.parametrize("number", [3, 4, 5])
    def test_real_valleys_stay(self, number, level):
        for seed in range(5):
            values, component = mixture(number, 500, seed)
            result = kdi.cluster(values, significance=level)
            assert result.n_clusters == 2
            assert (result.labels == component).mean() > 0.9

    def test_stricter_levels_keep_fewer_and_none_is_new(self):
        values = mixture(1, 300)[0]
        found = [kdi.cluster(values, bandwidth=0.05, significance=level) for level in (0.5, 0.1, 0.01, 1e-4, 1e-9)]
        numbers = [one.n_clusters for one in found]
        assert numbers == sorted(numbers, reverse=True)
        assert numbers[0] > numbers[-1]
        everything = kdi.cluster(values, bandwidth=0.05)
        for one in found:
            assert np.isin(one.boundaries, everything.boundaries).all()
            assert np.isin(one.centers, everything.centers).all()

    def test_more_values_make_the_same_valley_significant(self):
        """The same density, from a sample that weighs more."""
        values = mixture(2, 60)[0]
        options = {"bandwidth": 0.3, "significance": 0.01}
        numbers = [kdi.cluster(values, weights=np.full(60, w), **options).n_clusters for w in (0.1, 1, 1e5)]
        assert numbers[0] == 1
        assert numbers[-1] == kdi.cluster(values, bandwidth=0.3, weights=np.full(60, 1e5)).n_clusters > 1
        assert numbers == sorted(numbers)
