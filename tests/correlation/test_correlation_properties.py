"""kdi.correlation: what holds of all samples."""

import os

import correlation_oracle as direct
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

import kdi

pytestmark = pytest.mark.numpy_core


def examples(n):
    return settings(max_examples=int(os.environ.get("KDI_EXPLORE", "0")) or n)


ordinary = st.floats(-1e6, 1e6, allow_subnormal=False)
whole = st.integers(-20, 20).map(float)
two_rows_or_more = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.one_of(*(hnp.arrays(np.float64, n, elements=e) for e in (ordinary, whole))),) * 2)
)
alphas = st.sampled_from([0, 0.05, 0.3, 1.0, 5.0, np.inf, "scott", (0.1, 2.0), (0, 1.0)])
kernels = st.sampled_from(["polyexp", "gaussian"])


def varied(x, y):
    """No constant sample, and none whose range is all rounding."""
    for one in (x, y):
        assume(np.ptp(one) > max(1e-9 * abs(one).max(), 1e-100))  # the oracle loses squares of less
    return x, y


def same(one, other, sign=1):
    assert one.statistic == pytest.approx(sign * other.statistic, abs=one.error_bound + other.error_bound + 1e-12)


class TestProperties:
    @examples(200)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_between_minus_one_and_one(self, pair, alpha, kernel):
        x, y = pair
        assume(np.ptp(x) > 0 and np.ptp(y) > 0)
        for result in (kdi.correlation(x, y, alpha=alpha, kernel=kernel), kdi.correlation(x, x, alpha=0.3)):
            assert -1 <= result.statistic <= 1
            assert 0 <= result.pvalue <= 1
            low, high = result.confidence_interval()
            assert -1 <= low <= high <= 1

    @examples(150)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_within_the_bound_of_the_direct_sum(self, pair, alpha, kernel):
        x, y = varied(*pair)
        ours = kdi.correlation(x, y, alpha=alpha, kernel=kernel)
        direct.check(ours, direct.correlation(x, y, alpha, kernel), tolerance=1e-8)

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_symmetric(self, pair, alpha, kernel):
        x, y = varied(*pair)
        turned = alpha[::-1] if isinstance(alpha, tuple) else alpha
        same(kdi.correlation(x, y, alpha=alpha, kernel=kernel), kdi.correlation(y, x, alpha=turned, kernel=kernel))

    @examples(100)
    @given(
        pair=st.integers(2, 40).flatmap(
            lambda n: st.tuples(*(hnp.arrays(np.float64, n, elements=st.integers(-1000, 1000).map(float)),) * 2)
        ),
        alpha=alphas,
        kernel=kernels,
        exponents=st.tuples(st.integers(-40, 40), st.integers(-40, 40)),
        shifts=st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)),
    )
    def test_units_and_origins_do_not_matter(self, pair, alpha, kernel, exponents, shifts):
        x, y = varied(*pair)
        mapped = [np.ldexp(one + b, a) for one, a, b in zip((x, y), exponents, shifts, strict=True)]  # all exact
        same(kdi.correlation(*mapped, alpha=alpha, kernel=kernel), kdi.correlation(x, y, alpha=alpha, kernel=kernel))

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels)
    def test_the_sign_follows_either_sample(self, pair, alpha, kernel):
        x, y = varied(*pair)
        plain = kdi.correlation(x, y, alpha=alpha, kernel=kernel)
        for signs, sign in [((-1, 1), -1), ((1, -1), -1), ((-1, -1), 1)]:
            turned = kdi.correlation(signs[0] * x, signs[1] * y, alpha=alpha, kernel=kernel)
            same(turned, plain, sign)

    @examples(100)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels, seed=st.integers(0, 1000))
    def test_the_order_of_rows_does_not_matter(self, pair, alpha, kernel, seed):
        x, y = varied(*pair)
        order = np.random.default_rng(seed).permutation(len(x))
        shuffled = kdi.correlation(x[order], y[order], alpha=alpha, kernel=kernel)
        same(shuffled, kdi.correlation(x, y, alpha=alpha, kernel=kernel))

    @examples(150)
    @given(pair=two_rows_or_more, alpha=alphas, kernel=kernels, data=st.data())
    def test_weights_are_repetitions(self, pair, alpha, kernel, data):
        x, y = pair
        counts = data.draw(hnp.arrays(np.int64, len(x), elements=st.integers(0, 3)))
        assume(counts.any())
        repeated = varied(np.repeat(x, counts), np.repeat(y, counts))
        one = kdi.correlation(x, y, alpha=alpha, kernel=kernel, weights=counts)
        other = kdi.correlation(*repeated, alpha=alpha, kernel=kernel)
        same(one, other)
        assert one.pvalue == pytest.approx(other.pvalue, abs=1e-7)  # a square root of rounding where |r| is near 1
        assert_allclose(one.confidence_interval(), other.confidence_interval(), rtol=0, atol=1e-9)
