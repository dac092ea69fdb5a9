"""kdi.cluster against the method's definition, summed directly; its inputs and its corners."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cluster_oracle import LEVEL, Clusters, assert_turning_points, mixture
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample

import kdi

pytestmark = pytest.mark.numpy_core

TRUE_NUMBERS = {1: 3, 2: 3, 3: 2, 4: 2, 5: 2}


def assert_agrees(values, **options):
    """Everything in a result, against the oracle."""
    result, expected = kdi.cluster(values, **options), Clusters(values, **options)
    assert_turning_points(result, expected)
    assert_array_equal(result.labels, expected.labels)
    assert result.labels.dtype == np.int64
    assert_allclose(result.sizes, expected.sizes, rtol=1e-14)
    assert_array_equal(result.predict(values), result.labels)
    at = np.concatenate([expected.points, np.linspace(*expected.points[[0, -1]], 50)])
    density = expected.density.value(expected.levels(at))
    clear = at[density > 1e-6 * density.max()]
    tolerance = LEVEL / expected.density.bandwidth
    assert_allclose(result.predict_proba(clear), expected.shares(clear), rtol=0, atol=tolerance)
    assert_allclose(result.predict_proba(at).sum(axis=1), 1, rtol=1e-12)
    return result


class TestAgainstTheDefinition:
    @pytest.mark.parametrize("n", [100, 300, 900])
    @pytest.mark.parametrize("number", range(1, 6))
    def test_the_papers_mixtures(self, number, n):
        assert_agrees(mixture(number, n)[0])

    @pytest.mark.parametrize("n", [2, 3, 5, 30, 250])
    @pytest.mark.parametrize("name", SAMPLES)
    def test_samples(self, name, n):
        assert_agrees(sample(name, n))

    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, 4.0, np.inf, "scott", "silverman"])
    @pytest.mark.parametrize("number", [1, 4])
    def test_alphas_and_kernels(self, number, alpha, kernel):
        result = assert_agrees(mixture(number, 200)[0], alpha=alpha, kernel=kernel)
        assert result.alpha == Clusters([0.0, 1.0] * 100, alpha=alpha).alpha

    @pytest.mark.parametrize("order", [1, 2, 6])
    def test_orders(self, order):
        """The order of the kernel, against the KD-integral of that order at every boundary and center."""
        values = mixture(2, 200)[0]
        result = kdi.cluster(values, order=order)
        levels = kdi.KDITransformer(order=order).fit_transform(values[:, None])[:, 0]
        expected = kdi.cluster(levels, alpha=np.inf)
        ours = kdi.KDITransformer(order=order).fit(values[:, None])
        for found, other in ((result.boundaries, expected.boundaries), (result.centers, expected.centers)):
            assert_allclose(ours.transform(found[:, None])[:, 0], other, rtol=0, atol=1e-6)
        assert abs(result.boundaries - kdi.cluster(values).boundaries).max() > 1e-4

    @pytest.mark.parametrize("bandwidth", ["scott", "silverman", 0.03, 0.1, 0.5, 2])
    @pytest.mark.parametrize("number", [2, 5])
    def test_bandwidths(self, number, bandwidth):
        assert_agrees(mixture(number, 150)[0], bandwidth=bandwidth)

    def test_many_values(self):
        """Enough of them that cells replace values."""
        assert_agrees(mixture(3, 3000)[0], bandwidth=0.3)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, np.inf])
    def test_ties_and_integers(self, alpha, rng):
        assert_agrees(rng.poisson(2, size=200) + 12 * (rng.uniform(size=200) < 0.4), alpha=alpha)
        assert_agrees(np.repeat([1.0, 2.0, 2.5, 7.0, 7.25, 30.0], [5, 1, 20, 9, 9, 1]), alpha=alpha)

    @pytest.mark.parametrize("number", [1, 4])
    def test_boundaries_and_centers_as_values(self, number):
        """The mapping back, by bisection on the direct sum."""
        values = mixture(number, 200)[0]
        result, expected = kdi.cluster(values), Clusters(values)
        assert result.n_clusters > 1
        assert_allclose(result.boundaries, expected.boundaries, rtol=0, atol=1e-7 * values.std())
        assert_allclose(result.centers, expected.centers, rtol=0, atol=1e-7 * values.std())

    def test_scott_is_scipys(self):
        """The density beside scipy.stats.gaussian_kde: its slope is zero at every boundary and center."""
        from scipy.stats import gaussian_kde

        values = mixture(2, 400)[0]
        levels = kdi.KDITransformer().fit_transform(values[:, None])[:, 0]
        result, density = kdi.cluster(values), gaussian_kde(levels)
        at = kdi.KDITransformer().fit(values[:, None])
        for boundary, sign in [*((b, 1) for b in result.boundaries), *((c, -1) for c in result.centers)]:
            level = at.transform([[boundary]])[0, 0]
            middle, *beside = density([level, level - 1e-3, level + 1e-3])
            assert (sign * (np.array(beside) - middle) > 0).all()
            assert beside[1] - beside[0] == pytest.approx(0, abs=1e-6 * middle)


class TestInputs:
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, "scott"])
    def test_weights_are_repetitions(self, alpha, rng):
        values, weights = mixture(2, 150)[0], rng.integers(1, 4, size=150)
        weighted = assert_agrees(values, alpha=alpha, weights=weights)
        repeated = kdi.cluster(np.repeat(values, weights), alpha=alpha)
        assert weighted.n_clusters == repeated.n_clusters
        assert_allclose(weighted.boundaries, repeated.boundaries, rtol=1e-6)
        assert_allclose(weighted.depths, repeated.depths, rtol=0, atol=1e-7)
        assert_array_equal(weighted.sizes, repeated.sizes)
        assert_array_equal(np.repeat(weighted.labels, weights), repeated.labels)

    def test_fractions_as_weights(self, rng):
        assert_agrees(mixture(3, 120)[0], weights=rng.exponential(size=120))

    @pytest.mark.parametrize("outside", [0.0, -1e6, 1e6, np.nan])
    def test_weight_zero_is_removal(self, outside, rng):
        values, weights = mixture(3, 150)[0], rng.integers(0, 3, size=150).astype(float)
        values[:3], weights[:3] = outside, 0
        removed = kdi.cluster(values[weights > 0], weights=weights[weights > 0])
        result = kdi.cluster(values, weights=weights)
        assert_allclose(result.boundaries, removed.boundaries, rtol=1e-12)
        assert_allclose(result.centers, removed.centers, rtol=1e-12)
        assert_array_equal(result.sizes, removed.sizes)
        assert_array_equal(result.labels[weights > 0], removed.labels)
        assert_array_equal(result.labels, result.predict(values))

    def test_missing_values(self):
        values = mixture(3, 200)[0]
        values[::7] = np.nan
        result = assert_agrees(values)
        known = ~np.isnan(values)
        assert (result.labels[~known] == -1).all()
        assert_array_equal(result.labels[known], kdi.cluster(values[known]).labels)
        assert result.sizes.sum() == known.sum()
        assert_array_equal(result.predict([np.nan, values[1]]), [-1, result.labels[1]])
        assert np.isnan(result.predict_proba([np.nan])).all()

    def test_float32(self):
        values = mixture(2, 300)[0].astype(np.float32)
        result, same = kdi.cluster(values), kdi.cluster(values.astype(np.float64))
        assert_allclose(result.boundaries, same.boundaries, rtol=1e-12)
        assert_array_equal(result.labels, same.labels)
        assert result.boundaries.dtype == result.centers.dtype == np.float64

    @pytest.mark.parametrize(
        "kind", [list, tuple, pd.Series, pl.Series, lambda x: x[::-1][::-1], lambda x: np.asfortranarray(x)]
    )
    def test_kinds_of_vectors(self, kind):
        values = mixture(3, 100)[0]
        result = kdi.cluster(kind(values))
        assert isinstance(result.labels, np.ndarray)
        assert_array_equal(result.labels, kdi.cluster(values).labels)
        assert_array_equal(result.predict(kind(values)), result.labels)

    def test_whole_numbers_and_truth_values(self):
        whole = kdi.cluster(np.array([1, 2, 1, 1, 50, 51, 50]))
        assert_array_equal(whole.labels, kdi.cluster([1.0, 2, 1, 1, 50, 51, 50]).labels)
        assert_array_equal(kdi.cluster([True, False, True]).labels, kdi.cluster([1.0, 0.0, 1.0]).labels)

    def test_input_is_left_alone(self):
        values, weights = mixture(3, 100)[0], np.ones(100)
        values.flags.writeable = weights.flags.writeable = False
        kdi.cluster(values, weights=weights, n_clusters=2, min_size=2, significance=0.5)

    @pytest.mark.parametrize("shift", [1e9, -1e9, 1e12])
    def test_offsets(self, shift):
        """At an offset where values are still told apart, the labels are those without it."""
        values = np.round(mixture(3, 300)[0] * 64) / 64
        result, plain = kdi.cluster(values + shift), kdi.cluster(values)
        assert_array_equal(result.labels, plain.labels)
        assert_allclose(result.boundaries - shift, plain.boundaries, rtol=0, atol=2 * np.spacing(abs(shift)) + 1e-7)

    @pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
    def test_extreme_scales(self, scale):
        values = mixture(3, 200)[0]
        result, plain = kdi.cluster(values * scale), kdi.cluster(values)
        assert_array_equal(result.labels, plain.labels)
        assert_allclose(result.boundaries / scale, plain.boundaries, rtol=1e-7)


class TestCorners:
    @pytest.mark.parametrize("values", [[3.0], [3.0] * 5, [np.nan, 3.0, np.nan]])
    @pytest.mark.parametrize("alpha", [0, 1.0, np.inf, "scott"])
    def test_constants_are_one_cluster(self, values, alpha):
        result = kdi.cluster(values, alpha=alpha, significance=0.05, min_size=2)
        assert result.n_clusters == 1
        assert_array_equal(result.labels, np.where(np.isnan(values), -1, 0))
        assert_array_equal(result.centers, [3.0])
        assert result.boundaries.shape == result.depths.shape == (0,)
        assert_array_equal(result.sizes, [np.sum(~np.isnan(values))])
        assert_array_equal(result.predict([-9.0, 3.0, 9.0, np.nan]), [0, 0, 0, -1])
        assert_array_equal(result.predict_proba([-9.0, 3.0, 9.0]), np.ones((3, 1)))

    def test_a_weighted_constant(self):
        assert_array_equal(kdi.cluster([3.0, 3.0, 5.0], weights=[0.25, 0.25, 0]).sizes, [0.5])

    def test_one_value_that_weighs_less_than_one(self):
        result = kdi.cluster([1.0, 5.0], weights=[0.25, 0.25])
        assert result.sizes.sum() == 0.5

    @pytest.mark.parametrize("bandwidth", [1e-2, 1e-4, 1e-6, 1e-9])
    def test_a_tiny_bandwidth_parts_every_value(self, bandwidth):
        values = np.array([1.0, 2.0, 3.0, 10.0, 11.3])
        result = kdi.cluster(values, bandwidth=bandwidth)
        assert_array_equal(result.labels, np.arange(5))
        assert_allclose(result.centers, values, rtol=1e-8)
        assert_allclose(result.depths, 1, rtol=0, atol=1e-7)

    def test_a_huge_bandwidth_is_one_cluster(self):
        assert kdi.cluster(mixture(5, 100)[0], bandwidth=100).n_clusters == 1

    @pytest.mark.parametrize("distance", [1e3, 1e6, 1e9])
    def test_empty_space_between_groups(self, distance, rng):
        values = np.concatenate([rng.normal(size=50), distance + rng.normal(size=50)])
        result = kdi.cluster(values, n_clusters=2)
        assert_array_equal(result.labels, np.repeat([0, 1], 50))
        assert values[:50].max() < result.boundaries[0] < values[50:].min()

    def test_a_value_on_a_boundary_belongs_to_the_right(self):
        result = kdi.cluster(mixture(3, 100)[0])
        (boundary,) = result.boundaries
        assert_array_equal(result.predict([np.nextafter(boundary, -np.inf), boundary]), [0, 1])

    def test_outside_of_the_sample(self):
        result = kdi.cluster(mixture(1, 400)[0])
        assert_array_equal(result.predict([-1e9, 1e9]), [0, result.n_clusters - 1])
        far = result.predict_proba([-1e9, 1e9])
        assert far[0].argmax() == 0
        assert far[1].argmax() == result.n_clusters - 1
        assert_allclose(far.sum(axis=1), 1, rtol=1e-12)

    def test_nothing_to_predict(self):
        result = kdi.cluster(mixture(3, 100)[0])
        assert result.predict([]).shape == (0,)
        assert result.predict_proba([]).shape == (0, 2)

    def test_pickle(self):
        values = mixture(1, 200)[0]
        result = kdi.cluster(values)
        again = pickle.loads(pickle.dumps(result))
        assert_array_equal(again.labels, result.labels)
        assert_array_equal(again.boundaries, result.boundaries)
        assert_array_equal(again.predict_proba(values), result.predict_proba(values))

    def test_a_result_cannot_be_changed_and_says_what_it_is(self):
        result = kdi.cluster(mixture(3, 100)[0])
        with pytest.raises(AttributeError):
            result.labels = None
        assert "n_clusters" in dir(result)
        assert "boundaries" in repr(result)

    @pytest.mark.parametrize("number", range(1, 6))
    def test_the_number_of_the_papers_mixtures(self, number):
        found = [kdi.cluster(mixture(number, 1000, seed)[0]).n_clusters for seed in range(5)]
        assert found == [TRUE_NUMBERS[number]] * 5

    @pytest.mark.parametrize("number", range(1, 6))
    def test_the_most_likely_cluster_is_mostly_the_label(self, number):
        values = mixture(number, 1000)[0]
        result = kdi.cluster(values)
        assert (result.predict_proba(values).argmax(axis=1) == result.labels).mean() > 0.97
        at_centers = result.predict_proba(result.centers).argmax(axis=1)
        assert_array_equal(at_centers, np.arange(result.n_clusters))
