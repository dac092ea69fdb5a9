"""bounded=False against direct sums whose tails are relatively exact: the kernel cdf and its normal score."""

import numpy as np
import open_oracle
import oracle
import pytest
from open_oracle import LARGEST_SCORE
from samples import SAMPLES, sample

from kdi import KDE1D, KDITransformer
from kdi._integral.maps import MAX_INTERVALS

pytestmark = pytest.mark.numpy_core

TOLERANCE = {"uniform": 1e-6, "normal": 1e-5}
ROUNDING = {"uniform": 1e-13, "normal": 1e-11}  # of the direct sum
POSITION_ROUNDING = 2.3e-16  # of a value beside its distance from another one, which counts in units of h
STEEPEST = {"uniform": 0.6, "normal": 8}  # dT/dx and dz/dx in units of 1/h, at most

KERNELS = [("gaussian", 4), *(("polyexp", order) for order in (1, 2, 4, 7))]
EVERY_KERNEL = pytest.mark.parametrize(("kernel", "order"), KERNELS)
EITHER_KERNEL = pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
EVERY_ALPHA = pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 10.0])
EITHER_OUTPUT = pytest.mark.parametrize("output", ["uniform", "normal"])
# Most values of these are within a few deviations of each other; far ones leave no digits of the others in scores.
EVEN = ["normal", "lognormal-1", "offset-1e9", "poisson"]


def check_against_direct_sum(
    values, alpha, kernel="polyexp", order=4, output="normal", *, weights=None, at=None, tolerance=None, **parameters
):
    """Fit one column; the error is within the bound and the tolerance. Return the model."""
    model = KDITransformer(
        alpha, kernel=kernel, order=order, bounded=False, output_distribution=output, **parameters
    ).fit(np.asarray(values)[:, None], sample_weight=weights)
    values = np.asarray(values, dtype=float)
    bandwidth, bound = float(model.bandwidth_[0]), float(model.error_bound_[0])
    if model.spread == "std":
        np.testing.assert_allclose(bandwidth, alpha * oracle.spread(values, weights), rtol=1e-9)
    at = open_oracle.probes(values, bandwidth) if at is None else at
    exact = open_oracle.transform(values, at, bandwidth, kernel, order, weights, output)
    ours = model.transform(at[:, None])[:, 0]
    assert np.isfinite(ours).all()
    assert (np.diff(ours) >= 0).all()
    error = abs(ours - exact)
    if output == "normal":
        error = np.where(abs(exact) <= LARGEST_SCORE, error, 0)
    worst = error.argmax()
    allowance = ROUNDING[output] + STEEPEST[output] * POSITION_ROUNDING * np.nanmax(abs(values)) / bandwidth
    where = f"error {error[worst]:.2e}, bound {bound:.2e} at x={at[worst]!r}, exact {exact[worst]!r}"
    assert error[worst] <= bound + allowance, where
    tolerance = TOLERANCE[output] if tolerance is None else tolerance
    assert error[worst] <= tolerance + allowance, where
    # Where few values are far apart, a score has steps for which the bound allows more than there is.
    assert bound <= tolerance * (1 if output == "uniform" else 10), where
    return model


@EITHER_OUTPUT
@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("n", [2, 3, 30, 2000])
@pytest.mark.parametrize("name", EVEN)
def test_even_samples(name, n, kernel, order, alpha, output):
    check_against_direct_sum(sample(name, n), alpha, kernel, order, output)


@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("n", [30, 2000])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in EVEN])
def test_uneven_samples(name, n, kernel, order, alpha):
    check_against_direct_sum(sample(name, n), alpha, kernel, order, "uniform")


@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in EVEN])
def test_scores_of_uneven_samples(name, kernel, order, alpha):
    check_against_direct_sum(sample(name, 2000), alpha, kernel, order)


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("name", SAMPLES)
def test_robust_bounds_hold_however_large(name, kernel, output):
    """In units of the interquartile range, far values are many bandwidths away: the bound may be large, but holds."""
    for alpha in (0.1, 1.0):
        check_against_direct_sum(sample(name, 1000), alpha, kernel, 4, output, spread="robust", tolerance=np.inf)


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3, 1e2, 1e3, 1e6])
@pytest.mark.parametrize("name", ["normal", "cauchy", "poisson", "outlier"])
def test_extreme_alphas_keep_their_bound(name, alpha, kernel, output):
    check_against_direct_sum(sample(name, 500), alpha, kernel, 4, output, tolerance=np.inf)


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("max_knots", [2, 5, 30, 300])
@pytest.mark.parametrize("name", ["normal", "cauchy", "far-clusters", "poisson"])
def test_capped_knots_keep_their_bound(name, max_knots, kernel, output):
    for alpha in (0.05, 1.0):
        model = check_against_direct_sum(
            sample(name, 500), alpha, kernel, 4, output, tolerance=np.inf, max_knots=max_knots
        )
        assert model.n_knots_[0] <= max_knots


@EITHER_OUTPUT
@EITHER_KERNEL
@EVERY_ALPHA
def test_weights_ties_and_missing_values(alpha, kernel, output, rng):
    values = np.round(rng.normal(size=800), 1)
    weights = rng.exponential(size=800)
    weights[::7] = 0
    check_against_direct_sum(values, alpha, kernel, 4, output, weights=weights)
    values[::5] = np.nan
    check_against_direct_sum(values, alpha, kernel, 4, output, weights=weights)
    check_against_direct_sum(values, alpha, kernel, 4, output, weights=weights**6 * 1e-200)


@EITHER_OUTPUT
@EVERY_KERNEL
def test_two_values(kernel, order, output):
    for alpha in (0.05, 1.0, 10.0):
        check_against_direct_sum([-1.0, 2.0], alpha, kernel, order, output)
        check_against_direct_sum([-1.0, 2.0], alpha, kernel, order, output, weights=np.array([1.0, 3.0]))
        far = np.inf if alpha < 1 else None  # they are 20,000 bandwidths apart
        check_against_direct_sum([-1.0, 2.0], alpha, kernel, order, output, weights=np.array([1.0, 1e6]), tolerance=far)


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("n", [20, 5000])
@pytest.mark.parametrize("offset", [1e9, -1e9, 1e15, -1e15])
def test_offsets(offset, n, kernel, output, rng):
    values = offset + rng.integers(-400, 400, n) / 8
    for alpha in (0.1, 1.0):
        check_against_direct_sum(values, alpha, kernel, 4, output)


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("n", [20, 5000])
@pytest.mark.parametrize("exponent", [-1022, -1000, -500, 500, 1000])
def test_a_power_of_two_changes_nothing(exponent, n, kernel, output, rng):
    values = np.round(rng.normal(size=n) * 2**20) / 2**10
    at = open_oracle.probes(values, np.std(values))
    at = np.round(at * 2**10) / 2**10
    options = {"kernel": kernel, "bounded": False, "output_distribution": output}
    plain = KDITransformer(**options).fit(values[:, None])
    other = KDITransformer(**options).fit(np.ldexp(values, exponent)[:, None])
    ours, expected = other.transform(np.ldexp(at, exponent)[:, None]), plain.transform(at[:, None])
    inside = abs(expected) <= (LARGEST_SCORE if exponent < -1000 else np.inf)  # slopes beyond the ends are limited
    limit = 2 * TOLERANCE[output] if exponent < -1000 else 1e-12  # a knot need not be a number there
    np.testing.assert_allclose(ours[inside], expected[inside], rtol=0, atol=limit)
    assert other.error_bound_[0] <= TOLERANCE[output]


@EITHER_OUTPUT
@EITHER_KERNEL
@pytest.mark.parametrize("unit", [1e-320, 1e-310, 1e-300, 1e-200, 1e200, 1e300, 1e306])
def test_any_unit(unit, kernel, output, rng):
    steps = rng.integers(-90, 90, 300).astype(float)
    at = np.linspace(-300, 300, 301)
    with np.errstate(under="ignore", over="ignore"):
        column, points = steps * unit, at * unit
    options = {"kernel": kernel, "bounded": False, "output_distribution": output}
    model = KDITransformer(**options).fit(column[:, None])
    inside = np.isfinite(points)
    exact = open_oracle.transform(steps, at[inside], oracle.spread(steps), kernel, 4, None, output)
    good = abs(exact) <= LARGEST_SCORE
    ours = model.transform(points[inside, None])[:, 0]
    bound = model.error_bound_[0]
    # Subnormal steps are not multiples of one unit, and a bandwidth of some has few digits.
    lost = 1e-320 / unit if unit < 1e-300 else 0.0
    assert abs(ours - exact)[good].max() <= bound + 1e-11 + lost
    assert np.isfinite(ours).all()
    assert bound <= (TOLERANCE[output] if unit >= 1e-300 else 2 * TOLERANCE[output]) or unit > 1e305


@EITHER_OUTPUT
@EITHER_KERNEL
def test_float32(kernel, output, rng):
    values = rng.normal(size=3000).astype(np.float32)
    options = {"kernel": kernel, "bounded": False, "output_distribution": output}
    narrow = KDITransformer(**options).fit(values[:, None])
    wide = KDITransformer(**options).fit(values[:, None].astype(float))
    at = open_oracle.probes(values.astype(float), 1.0).astype(np.float32)[:, None]
    result = narrow.transform(at)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, wide.transform(at.astype(float)).astype(np.float32))
    np.testing.assert_array_equal(narrow.error_bound_, wide.error_bound_)
    largest = np.finfo(np.float32).max
    assert np.isfinite(narrow.transform(np.array([[-largest], [largest]], dtype=np.float32))).all()
    check_against_direct_sum(values, 0.3, kernel, 4, output)


@EVERY_ALPHA
@EVERY_KERNEL
@pytest.mark.parametrize("n", [1, 4, 300, 20_000])
def test_scores_as_far_as_six(n, alpha, kernel, order, rng):
    """A score of 6 is a tail of 1e-9, which a difference of sums would not have."""
    values = np.r_[rng.normal(size=n), -0.5, 2.0]
    bandwidth = alpha * oracle.spread(values)
    low, high = values.min(), values.max()
    out = np.linspace(0, 25 * bandwidth, 400)
    at = np.r_[low - out[::-1], high + out]
    exact = open_oracle.transform(values, at, bandwidth, kernel, order, output="normal")
    assert exact[0] < -LARGEST_SCORE < LARGEST_SCORE < exact[-1]
    check_against_direct_sum(values, alpha, kernel, order, at=at)


@EVERY_KERNEL
def test_scores_beyond_six_are_straight_lines(kernel, order, rng):
    values = rng.normal(size=1000)
    model = KDITransformer(kernel=kernel, order=order, bounded=False, output_distribution="normal")
    model.fit(values[:, None])
    for side in (-1, 1):
        far = side * np.array([1e3, 2e3, 3e3])
        scores = model.transform(far[:, None])[:, 0]
        slopes = np.diff(scores) / np.diff(far)
        np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9)
        assert 0 < slopes[0] < STEEPEST["normal"]


@EVERY_KERNEL
def test_small_tails_of_the_kernel_cdf(kernel, order, rng):
    """The result is within the bound, and its tails decrease as the kernel's do, to the smallest numbers below 0.5."""
    values = rng.normal(size=500)
    model = KDITransformer(kernel=kernel, order=order, bounded=False).fit(values[:, None])
    at = np.linspace(values.min() - 8, values.min(), 400)
    ours, exact = model.transform(at[:, None])[:, 0], oracle.cdf(values, at, model.bandwidth_[0], kernel, order)
    assert (ours > 0).all()
    assert (np.diff(ours) > 0).all()
    assert abs(ours - exact).max() <= model.error_bound_[0] + ROUNDING["uniform"]
    good = exact > 1e-5
    np.testing.assert_allclose(ours[good], exact[good], rtol=0.1)


@pytest.mark.parametrize("n", [60_000])
@pytest.mark.parametrize("relative_range", [30_000, 40_000])
def test_no_more_knots_than_a_saved_model_may_have(relative_range, n, rng):
    values = np.r_[rng.normal(size=n), -0.15 * relative_range, 0.15 * relative_range]
    for output in ("uniform", "normal"):
        model = KDITransformer(0.3 / np.std(values), order=1, bounded=False, output_distribution=output)
        assert model.fit(values[:, None]).n_knots_[0] <= 2 * MAX_INTERVALS + 2
        assert np.isfinite(model.transform(values[:, None])).all()


def test_large_columns_are_sketched_within_the_bound(rng):
    values = rng.lognormal(sigma=1.5, size=(300_000, 2))
    at = np.quantile(values, np.linspace(0, 1, 25), axis=0)
    for output in ("uniform", "normal"):
        model = KDITransformer([0.2, 1.0], bounded=False, output_distribution=output).fit(values)
        ours = model.transform(at)
        for j in range(2):
            h = model.bandwidth_[j]
            exact = open_oracle.transform(values[:, j], at[:, j], h, "polyexp", output=output)
            assert abs(ours[:, j] - exact).max() <= model.error_bound_[j] + ROUNDING[output]
            assert model.error_bound_[j] <= TOLERANCE[output]


@EITHER_KERNEL
@pytest.mark.parametrize("name", ["normal", "lognormal-1", "poisson", "cauchy"])
@pytest.mark.parametrize("n", [100, 20_000])
def test_distribution_agrees(n, name, kernel):
    """KDE1D and the transformer evaluate one function; each states its error."""
    values = sample(name, n)
    for alpha in (0.1, 1.0):
        estimate = KDE1D(values, alpha=alpha, kernel=kernel)
        model = KDITransformer(alpha, kernel=kernel, bounded=False).fit(values[:, None])
        np.testing.assert_allclose(model.bandwidth_[0], estimate.bandwidth, rtol=1e-12)
        at = open_oracle.probes(values, estimate.bandwidth)
        bound = estimate.error_bound + model.error_bound_[0] + ROUNDING["uniform"]
        assert abs(estimate.cdf(at) - model.transform(at[:, None])[:, 0]).max() <= bound
        levels = np.linspace(0.01, 0.99, 99)
        back = model.inverse_transform(levels[:, None])[:, 0]
        assert abs(estimate.cdf(back) - levels).max() <= bound + 1e-12
        quantiles = estimate.ppf(levels)
        assert abs(model.transform(quantiles[:, None])[:, 0] - levels).max() <= bound + 1e-12
