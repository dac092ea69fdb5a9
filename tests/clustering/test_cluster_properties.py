"""What holds for every result of kdi.cluster, whatever the sample."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import kdi

pytestmark = pytest.mark.numpy_core

numbers = st.one_of(
    st.floats(-1e3, 1e3, width=32), st.integers(-20, 20).map(float), st.sampled_from([0.0, 1.0, 50.0, 51.0, -300.0])
)
samples_of_numbers = arrays(np.float64, st.integers(1, 40), elements=numbers).map(lambda x: x + 0.0)
OPTIONS = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0, 0.1, 1.0, "scott", np.inf]),
        "bandwidth": st.sampled_from(["scott", 0.1, 0.5]),
        "kernel": st.sampled_from(["gaussian", "polyexp"]),
    }
)


def clear(result, values):
    """Whether no valley is about to close, and no value about to change sides."""
    room = 1e-6 * max(np.ptp(values), 1)
    return (result.depths > 1e-4).all() and (abs(values[:, None] - result.boundaries) > room).all()


def assert_same(result, other, room):
    """Two results for the same sample, where their valleys are determined."""
    assert_array_equal(result.sizes, other.sizes)
    assert_allclose(result.depths, other.depths, rtol=0, atol=1e-5)
    determined = result.depths < 0.999
    assert_allclose(result.boundaries[determined], other.boundaries[determined], rtol=0, atol=room)


class TestProperties:
    @settings(max_examples=150)
    @given(samples_of_numbers, OPTIONS)
    def test_what_every_result_is(self, values, options):
        result = kdi.cluster(values, **options)
        ends = values.min(), values.max()
        assert (np.diff(result.labels[np.argsort(values, kind="stable")]) >= 0).all()
        assert_array_equal(result.sizes, np.bincount(result.labels, minlength=result.n_clusters))
        assert result.sizes.sum() == values.size
        interleaved = np.empty(2 * result.n_clusters - 1)
        interleaved[::2], interleaved[1::2] = result.centers, result.boundaries
        assert (np.diff(interleaved) > 0).all()
        assert ends[0] <= result.centers[0] <= result.centers[-1] <= ends[1]
        assert ((result.depths > 0) & (result.depths <= 1)).all()
        assert_array_equal(result.predict(values), result.labels)
        assert_array_equal(result.predict(result.centers), np.arange(result.n_clusters))
        shares = result.predict_proba(values)
        assert ((shares >= 0) & (shares <= 1)).all()
        assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)

    @settings(max_examples=60)
    @given(samples_of_numbers, st.sampled_from([2.0, 0.125, 3.0, 1e-5]), st.integers(-50, 50), OPTIONS)
    def test_positive_affine_maps(self, values, factor, shift, options):
        result = kdi.cluster(values, **options)
        assume(clear(result, values))
        other = kdi.cluster(values * factor + shift * factor, **options)
        assert_array_equal(other.labels, result.labels)
        room = 1e-5 * max(np.ptp(values), 1)
        determined = result.depths < 0.999
        back = other.boundaries / factor - shift
        assert_allclose(back[determined], result.boundaries[determined], rtol=0, atol=room)

    @settings(max_examples=60)
    @given(samples_of_numbers, st.integers(0, 1000), OPTIONS)
    def test_the_order_of_rows(self, values, seed, options):
        result = kdi.cluster(values, **options)
        assume(clear(result, values))
        order = np.random.default_rng(seed).permutation(values.size)
        other = kdi.cluster(values[order], **options)
        assert_array_equal(other.labels, result.labels[order])
        assert_same(other, result, 1e-7 * max(np.ptp(values), 1))

    @settings(max_examples=60)
    @given(samples_of_numbers, OPTIONS)
    def test_mirrors(self, values, options):
        result = kdi.cluster(values, **options)
        assume(clear(result, values))
        other = kdi.cluster(-values, **options)
        assert_array_equal(other.labels, result.n_clusters - 1 - result.labels)
        assert_array_equal(other.sizes, result.sizes[::-1])
        determined = result.depths < 0.999
        room = 1e-5 * max(np.ptp(values), 1)
        assert_allclose(-other.boundaries[::-1][determined], result.boundaries[determined], rtol=0, atol=room)

    @settings(max_examples=25)
    @given(samples_of_numbers, st.integers(1, 6), OPTIONS)
    def test_a_number_of_clusters_is_met_or_refused(self, values, n_clusters, options):
        try:
            result = kdi.cluster(values, n_clusters=n_clusters, **options)
        except ValueError as error:
            assert f"{n_clusters} clusters" in str(error)
            assert kdi.cluster(values, **options).n_clusters < n_clusters
        else:
            assert result.n_clusters == n_clusters == len(result.sizes)
            assert_array_equal(result.sizes, np.bincount(result.labels, minlength=n_clusters))
