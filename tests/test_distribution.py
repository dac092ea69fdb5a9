"""KDE1D against the direct sum, scipy's gaussian_kde and the definition of a distribution."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import KERNELS, SAMPLES, probes, sample
from scipy import stats
from scipy.integrate import quad

from kdi import KDE1D

pytestmark = pytest.mark.numpy_core

EVERY_KERNEL = pytest.mark.parametrize(("kernel", "order"), KERNELS)
BOTH_KERNELS = pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])


def wide_probes(values, bandwidth, n=200):
    """Points in the sample's range and some bandwidths beyond it."""
    outside = bandwidth * np.array([0.1, 1.0, 3.0, 6.0])
    return np.r_[values.min() - outside, probes(values, n), values.max() + outside]


@pytest.mark.parametrize("n", [2, 30, 5000])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 5.0])
@EVERY_KERNEL
@pytest.mark.parametrize("name", SAMPLES)
def test_against_the_direct_sum(name, kernel, order, alpha, n):
    values = sample(name, n)
    bandwidth = alpha * oracle.spread(values)
    kde = KDE1D(values, alpha=alpha, kernel=kernel, order=order)
    at = wide_probes(values, bandwidth)
    cdf = oracle.cdf(values, at, bandwidth, kernel, order)
    assert_allclose(kde.cdf(at), cdf, rtol=0, atol=1e-7)
    assert_allclose(kde.sf(at), 1 - cdf, rtol=0, atol=1e-7)
    # relative to the kernel's height, which is the largest density that one value can have
    height = oracle.kernel_pdf(0.0, kernel, order) / (bandwidth * oracle.canonical_scale(kernel, order))
    pdf = oracle.pdf(values, at, bandwidth, kernel, order)
    assert_allclose(kde.pdf(at) / height, pdf / height, rtol=0, atol=1e-5)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
@pytest.mark.parametrize("name", ["normal", "lognormal-1", "poisson", "offset-1e9"])
def test_against_scipy(name, rule):
    values = sample(name, 2000)
    kde = KDE1D(values, alpha=rule, kernel="gaussian")
    # scipy multiplies the covariance with ddof=1; ours has ddof=0 throughout
    factor = {"scott": 2000, "silverman": 1500}[rule] ** -0.2 * np.sqrt(1999 / 2000)
    theirs = stats.gaussian_kde(values - values.mean(), bw_method=factor)
    at = np.linspace(values.min() - 1, values.max() + 1, 101)
    assert_allclose(kde.pdf(at), theirs(at - values.mean()), rtol=0, atol=1e-6)
    box = [theirs.integrate_box_1d(-np.inf, x) for x in at - values.mean()]
    assert_allclose(kde.cdf(at), box, rtol=0, atol=1e-6)


def test_against_scipy_with_weights(rng):
    values, counts = rng.normal(size=300), rng.integers(1, 4, size=300)
    kde = KDE1D(values, alpha=0.4, kernel="gaussian", weights=counts)
    repeated = np.repeat(values, counts)
    theirs = stats.gaussian_kde(repeated, bw_method=0.4 * np.sqrt(1 - 1 / repeated.size))
    at = np.linspace(-5, 5, 101)
    assert_allclose(kde.pdf(at), theirs(at), rtol=0, atol=1e-6)


def test_scott_is_the_default(rng):
    values = rng.normal(size=500)
    at = np.linspace(-3, 3, 50)
    assert_array_equal(KDE1D(values).pdf(at), KDE1D(values, alpha="scott").pdf(at))
    assert_allclose(KDE1D(values).pdf(at), KDE1D(values, alpha=500**-0.2).pdf(at), rtol=0, atol=1e-9)


@EVERY_KERNEL
def test_is_a_distribution(kernel, order):
    values = np.array([-3.0, 0.0, 0.2, 1.0, 7.0])
    kde = KDE1D(values, alpha=0.2, kernel=kernel, order=order)
    area, _ = quad(lambda x: float(kde.pdf(x)), -60, 70, points=list(values), limit=500, epsabs=1e-11)
    assert area == pytest.approx(1, abs=1e-8)
    for low, high in [(-4, -1), (-1, 0.1), (0.1, 2.5), (2.5, 9)]:
        inner = values[(values > low) & (values < high)]
        area, _ = quad(lambda x: float(kde.pdf(x)), low, high, points=list(inner), limit=500, epsabs=1e-11)
        assert float(kde.cdf(high) - kde.cdf(low)) == pytest.approx(area, abs=1e-8)
    at = np.linspace(-50, 60, 20_001)
    assert (kde.pdf(at) >= 0).all()
    assert (np.diff(kde.cdf(at)) >= -1e-12).all()
    assert ((kde.cdf(at) >= 0) & (kde.cdf(at) <= 1)).all()
    assert_allclose(kde.cdf(at) + kde.sf(at), 1, rtol=0, atol=1e-15)
    assert_allclose(kde.cdf([-1e9, -1e3, 1e3, 1e9]), [0, 0, 1, 1], rtol=0, atol=1e-12)
    assert_allclose(kde.pdf([-1e9, -1e3, 1e3, 1e9]), 0, rtol=0, atol=1e-12)
    assert_allclose(kde.cdf([-np.inf, np.inf]), [0, 1])
    assert_allclose(kde.pdf([-np.inf, np.inf]), [0, 0], atol=1e-15)


@pytest.mark.parametrize("alpha", [0.1, "scott", 2.0])
@EVERY_KERNEL
@pytest.mark.parametrize("name", SAMPLES)
def test_ppf_inverts_cdf(name, kernel, order, alpha):
    values = sample(name, 1000)
    kde = KDE1D(values, alpha=alpha, kernel=kernel, order=order)
    levels = np.r_[1e-9, 1e-4, np.linspace(0.001, 0.999, 41), 1 - 1e-4, 1 - 1e-9]
    at = kde.ppf(levels)
    assert (np.diff(at) > 0).all()
    # one ulp of x moves the cdf by the density times that ulp
    slack = 4 * kde.pdf(at) * np.spacing(abs(at))
    assert (abs(kde.cdf(at) - levels) <= 1e-11 + slack).all()
    number = 1000**-0.2 if alpha == "scott" else alpha
    bandwidth = number * oracle.spread(values)
    inner = np.linspace(values.min(), values.max(), 30)
    dense = oracle.pdf(values, inner, bandwidth, kernel, order) * np.ptp(values) >= 1e-4
    back = kde.ppf(kde.cdf(inner))
    assert (abs(back - inner)[dense] <= 1e-6 * np.ptp(values)).all()


@BOTH_KERNELS
def test_ppf_at_the_edges(kernel):
    kde = KDE1D([1.0, 2.0, 4.0], kernel=kernel)
    assert_array_equal(kde.ppf([0.0, 1.0]), [-np.inf, np.inf])
    assert np.isnan(kde.ppf([-0.1, 1.1, np.nan])).all()
    assert np.isfinite(kde.ppf([1e-300, 1e-30, 1 - 1e-16])).all()


@BOTH_KERNELS
def test_weights(kernel, rng):
    values, counts = rng.lognormal(size=400), rng.integers(0, 4, size=400)
    at = np.linspace(-1, 10, 200)
    for alpha in ("scott", "silverman", 0.3):
        weighted = KDE1D(values, alpha=alpha, kernel=kernel, weights=counts)
        repeated = KDE1D(np.repeat(values, counts), alpha=alpha, kernel=kernel)
        for method in ("pdf", "cdf", "sf"):
            assert_allclose(getattr(weighted, method)(at), getattr(repeated, method)(at), rtol=0, atol=1e-7)
    uneven = rng.exponential(size=400)
    bandwidth = 0.3 * oracle.spread(values, uneven)
    ours = KDE1D(values, alpha=0.3, kernel=kernel, weights=uneven)
    assert_allclose(ours.cdf(at), oracle.cdf(values, at, bandwidth, kernel, weights=uneven), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
def test_ppf_of_bandwidths_far_below_the_gaps(kernel):
    """The fourth power of knots in units of the bandwidth would overflow."""
    kde = KDE1D([0.0, 1.0, 2.5, 7.0], alpha=1e-100, kernel=kernel)
    assert_allclose(kde.ppf([0.1, 0.3, 0.6, 0.9]), [0.0, 1.0, 2.5, 7.0], rtol=0, atol=1e-15)


def test_shapes_and_scalars():
    kde = KDE1D([1.0, 2.0, 4.0])
    for method, at in [("pdf", 1.5), ("cdf", 1.5), ("sf", 1.5), ("ppf", 0.3)]:
        function = getattr(kde, method)
        assert np.ndim(function(at)) == 0
        assert isinstance(float(function(at)), float)
        assert function([]).shape == (0,)
        assert function([at]).shape == (1,)
        assert function(np.full((2, 3, 4), at)).shape == (2, 3, 4)
        # few points are summed directly, many by the filters: equal up to rounding
        assert_allclose(function(np.full((2, 3), at)), float(function(at)), rtol=1e-13)
        assert np.isnan(function(np.nan))
        assert_array_equal(np.isnan(function([at, np.nan])), [False, True])


def test_order_of_points_does_not_matter(rng):
    kde = KDE1D(rng.normal(size=1000))
    at = np.linspace(-3, 3, 201)
    shuffle = rng.permutation(201)
    for method in (kde.pdf, kde.cdf, kde.sf):
        assert_allclose(method(at[shuffle]), method(at)[shuffle], rtol=0, atol=1e-12)


class TestRvs:
    def test_seed(self):
        kde = KDE1D([1.0, 2.0, 4.0])
        first = kde.rvs(100, rng=7)
        assert_array_equal(kde.rvs(100, rng=7), first)
        assert_array_equal(kde.rvs(100, rng=np.random.default_rng(7)), first)
        assert not np.array_equal(kde.rvs(100, rng=8), first)
        assert not np.array_equal(kde.rvs(100), kde.rvs(100))

    def test_generator(self):
        kde = KDE1D([1.0, 2.0, 4.0])
        rng = np.random.default_rng(3)
        first, second = kde.rvs(10, rng=rng), kde.rvs(10, rng=rng)  # which moves on
        assert_array_equal(kde.rvs(20, rng=np.random.default_rng(3)), np.append(first, second))

    @pytest.mark.parametrize("wrong", [1.5, "seed"])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(TypeError):
            KDE1D([1.0, 2.0, 4.0]).rvs(rng=wrong)

    def test_shapes(self):
        kde = KDE1D([1.0, 2.0, 4.0])
        assert kde.rvs(5).shape == (5,)
        assert kde.rvs((2, 3)).shape == (2, 3)
        assert kde.rvs(0).shape == (0,)
        assert np.size(kde.rvs()) == 1

    @pytest.mark.parametrize("alpha", [0.1, "scott", 2.0])
    @EVERY_KERNEL
    @pytest.mark.parametrize("name", ["normal", "lognormal-1", "poisson", "far-clusters"])
    def test_has_the_distribution(self, name, kernel, order, alpha):
        kde = KDE1D(sample(name, 300), alpha=alpha, kernel=kernel, order=order)
        drawn = kde.rvs(5000, rng=0)
        assert np.isfinite(drawn).all()
        assert stats.kstest(drawn, kde.cdf).pvalue > 1e-4

    def test_moments(self, rng):
        values = rng.normal(size=1000)
        drawn = KDE1D(values, alpha=0.5, kernel="gaussian").rvs(200_000, rng=0)
        variance = values.var() * (1 + 0.5**2)
        assert drawn.mean() == pytest.approx(values.mean(), abs=0.01)
        assert drawn.var() == pytest.approx(variance, rel=0.02)


class TestInput:
    def test_missing_values_are_left_out(self, rng):
        values = rng.normal(size=100)
        holes = np.r_[values, [np.nan] * 20]
        assert_array_equal(KDE1D(holes).cdf([0.0, 1.0]), KDE1D(values).cdf([0.0, 1.0]))

    def test_values_are_left_alone(self, rng):
        values = rng.normal(size=1000)
        copied = values.copy()
        values.flags.writeable = False
        KDE1D(values).ppf([0.1, 0.9])
        assert_array_equal(values, copied)

    @pytest.mark.parametrize("kind", [list, np.float32, lambda x: x.astype(int), lambda x: np.repeat(x, 2)[::2]])
    def test_kinds(self, kind):
        values = np.array([1.0, 5.0, 6.0, 9.0])
        assert_allclose(KDE1D(kind(values)).cdf([2.0, 7.0]), KDE1D(values).cdf([2.0, 7.0]), rtol=1e-15)

    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            ({"x": []}, "x"),
            ({"x": [np.nan]}, "x"),
            ({"x": [1.0, np.inf]}, "inf"),
            ({"x": ["a", "b"]}, "x"),
            ({"x": [1j, 2.0]}, "x"),
            ({"x": np.ones((3, 2))}, "3, 2"),
            ({"alpha": -1.0}, "-1.0"),
            ({"alpha": 0}, "alpha"),
            ({"alpha": np.inf}, "alpha"),
            ({"alpha": np.nan}, "nan"),
            ({"alpha": "cv"}, "'cv'"),
            ({"alpha": None}, "None"),
            ({"kernel": "triangle"}, "'triangle'"),
            ({"kernel": "polyexp", "order": 0}, "0"),
            ({"kernel": "polyexp", "order": 1.5}, "1.5"),
            ({"weights": [1.0]}, "weights"),
            ({"weights": [1.0, -1.0, 1.0]}, "weights"),
            ({"weights": [1.0, np.nan, 1.0]}, "weights"),
            ({"weights": [0.0, 0.0, 0.0]}, "weights must not be zero in every row"),
        ],
        ids=str,
    )
    def test_refused(self, bad, said):
        with pytest.raises(ValueError, match=said):
            KDE1D(**({"x": [1.0, 2.0, 4.0]} | bad))

    @pytest.mark.parametrize("arguments", [("scott",), ("scott", "gaussian"), ("scott", "gaussian", 4, None)])
    def test_only_the_values_are_positional(self, arguments):
        with pytest.raises(TypeError, match="positional"):
            KDE1D([1.0, 2.0, 4.0], *arguments)
        with pytest.raises(TypeError, match="positional"):
            KDE1D([1.0, 2.0, 4.0]).rvs(3, 0)

    def test_a_constant_sample_has_no_density(self):
        with pytest.raises(ValueError, match=r"3\.0"):
            KDE1D([3.0, 3.0])


def test_large_samples(rng):
    values = rng.lognormal(sigma=1.5, size=300_000)
    kde = KDE1D(values, alpha=0.2)
    at = np.quantile(values, np.linspace(0, 1, 21))
    assert_allclose(kde.cdf(at), oracle.cdf(values, at, 0.2 * values.std(), "gaussian"), rtol=0, atol=1e-7)
    assert stats.kstest(kde.rvs(2000, rng=0), kde.cdf).pvalue > 1e-4
