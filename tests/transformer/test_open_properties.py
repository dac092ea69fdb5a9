"""bounded=False for any data: order, limits, the way back, units, weights, types."""

import os

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

LARGEST = float(np.finfo(float).max)
ordinary = st.floats(-1e6, 1e6, allow_subnormal=False)
whole = st.integers(-20, 20).map(float)
any_number = st.floats(-1e307, 1e307)
columns = st.one_of(
    *(hnp.arrays(np.float64, st.integers(1, 40), elements=one) for one in (ordinary, whole, any_number)),
    st.builds(
        lambda seed, n: np.random.default_rng(seed).standard_cauchy(n), st.integers(0, 2**32), st.integers(1, 2000)
    ),
)
# Sums of squares of these are numbers, and rounding them is not what is tested.
plain_columns = st.builds(
    lambda seed, n, digits: np.round(np.random.default_rng(seed).standard_t(3, n), digits),
    st.integers(0, 2**32),
    st.integers(3, 1000),
    st.integers(0, 12),
)
alphas = st.one_of(st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0, 3.0, 10.0, "scott"]), st.floats(1e-3, 1e3))
bandwidths = st.sampled_from([0.05, 0.3, 1.0, 3.0, 10.0])
options = st.fixed_dictionaries(
    {
        "bounded": st.just(False),
        "output_distribution": st.sampled_from(["uniform", "normal"]),
        "spread": st.sampled_from(["std", "robust"]),
        "kernel": st.sampled_from(["polyexp", "gaussian"]),
        "order": st.sampled_from([1, 2, 4, 7]),
        "max_knots": st.one_of(st.none(), st.integers(2, 60)),
    }
)


def examples(n):
    return settings(max_examples=int(os.environ.get("KDI_EXPLORE", "0")) or n)


def fit(values, alpha=1.0, weights=None, **parameters):
    return KDITransformer(alpha, **parameters).fit(np.asarray(values)[:, None], sample_weight=weights)


def apply(model, values):
    return model.transform(np.asarray(values)[:, None])[:, 0]


def back(model, levels):
    return model.inverse_transform(np.asarray(levels)[:, None])[:, 0]


def close_points(values, model, seed):
    """Points where a step down could hide: values, knots, ends, and their neighbours among the floats."""
    rng = np.random.default_rng(seed)
    maps = model.packed_maps_
    low, high = maps.low[0], maps.high[0]
    with np.errstate(over="ignore"):
        knots = low + (high - low) * np.arange(model.n_knots_[0] + 1) / model.n_knots_[0]
        reach = 10 * (high - low)
        chosen = np.r_[
            values, low, high, rng.uniform(low, high, 50), rng.choice(knots, 50), low - rng.exponential(1, 20) * reach
        ]
        chosen = np.r_[chosen, high + rng.exponential(1, 20) * reach, -LARGEST, LARGEST, 0.0]
    chosen = chosen[np.isfinite(chosen)]
    near = [chosen]
    for direction in (-LARGEST, LARGEST):
        step = chosen
        for _ in range(3):
            step = np.nextafter(step, direction)
            near.append(step)
    return np.unique(np.concatenate(near))


@examples(200)
@given(values=columns, alpha=alphas, parameters=options, seed=st.integers(0, 1000))
def test_never_decreases_and_stays_within_its_limits(values, alpha, parameters, seed):
    model = fit(values, alpha, **parameters)
    result = apply(model, close_points(values, model, seed))
    assert np.isfinite(result).all()
    assert (np.diff(result) >= 0).all()
    if parameters["output_distribution"] == "uniform":
        assert ((result > 0) & (result < 1)).all()


@examples(100)
@given(values=columns, alpha=alphas, parameters=options, one=any_number, other=any_number)
def test_never_decreases_for_any_two_inputs(values, alpha, parameters, one, other):
    model = fit(values, alpha, **parameters)
    low, high = apply(model, sorted([one, other]))
    assert low <= high


@examples(100)
@given(values=columns, alpha=alphas, parameters=options, a=st.floats(-100, 100), width=st.floats(0.01, 1000))
def test_limits_of_any_feature_range(values, alpha, parameters, a, width):
    parameters = parameters | {"output_distribution": "uniform", "feature_range": (a, a + width)}
    model = fit(values, alpha, **parameters)
    result = apply(model, close_points(values, model, 0))
    assert ((result > a) & (result < a + width)).all()
    assert (np.diff(result) >= 0).all()


@examples(100)
@given(values=plain_columns, alpha=bandwidths, parameters=options)
def test_increases_between_quantiles(values, alpha, parameters):
    """Strictly so between values that are further apart than roundings of the result."""
    assume(values.min() < values.max())
    model = fit(values, alpha, **(parameters | {"max_knots": None}))
    at = np.unique(np.quantile(values, np.linspace(0, 1, 21), method="inverted_cdf"))
    at = at[np.r_[True, np.diff(at) > 1e-9 * np.ptp(values)]]
    assert (np.diff(apply(model, at)) > 0).all()


@examples(150)
@given(values=columns, alpha=alphas, parameters=options, seed=st.integers(0, 1000))
def test_the_way_back_is_finite_and_leads_to_the_level(values, alpha, parameters, seed):
    """From the levels of points: their inverse has a neighbour below and above with levels on both sides."""
    model = fit(values, alpha, **parameters)
    points = close_points(values, model, seed)
    levels = apply(model, points)
    found = back(model, levels)
    assert np.isfinite(found).all()
    below, above = (np.nextafter(found, end) for end in (-LARGEST, LARGEST))
    slack = 1e-12 + 1e-9 * abs(levels)
    with np.errstate(over="ignore"):
        assert (apply(model, below) <= levels + slack).all()
        assert (apply(model, above) >= levels - slack).all()


@examples(100)
@given(values=plain_columns, alpha=bandwidths, parameters=options)
def test_values_come_back(values, alpha, parameters):
    """As far as the slope lets them: an error in x is a rounding of the result, divided by the slope."""
    assume(values.min() < values.max())
    model = fit(values, alpha, **parameters)
    step = 1e-6 * np.ptp(values)
    result = apply(model, values)
    slope = (apply(model, values + step) - apply(model, values - step)) / (2 * step)
    steep = slope * np.ptp(values) > 1e-4
    error = abs(back(model, result) - values)[steep]
    allowed = 1e-13 * np.maximum(abs(result), 1)[steep] / slope[steep] + 4e-16 * abs(values).max()
    # Positions are rounded to 2**-32 of an interval, which is at most the range.
    width = (model.packed_maps_.high[0] - model.packed_maps_.low[0]) * 2.0**-32
    assert (error <= 100 * allowed + width).all()


@examples(100)
@given(values=plain_columns, alpha=bandwidths, parameters=options, seed=st.integers(0, 1000))
def test_levels_come_back(values, alpha, parameters, seed):
    assume(values.min() < values.max())
    model = fit(values, alpha, **parameters)
    rng = np.random.default_rng(seed)
    if parameters["output_distribution"] == "normal":
        levels = np.sort(rng.normal(size=50) * 3)
    else:
        levels = np.sort(np.r_[rng.uniform(size=40), 1e-12, 1e-9, 1e-6, 1e-3, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9])
    found = back(model, levels)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= -1e-12 * np.ptp(values)).all()
    spacing = np.spacing(abs(found)) / model.bandwidth_[0]
    assert (abs(apply(model, found) - levels) <= 2e-9 * np.maximum(abs(levels), 1) + 10 * spacing).all()


@examples(60)
@given(values=plain_columns, alpha=alphas, parameters=options, exponent=st.integers(-40, 40))
def test_units_that_are_powers_of_two(values, alpha, parameters, exponent):
    one, other = fit(values, alpha, **parameters), fit(np.ldexp(values, exponent), alpha, **parameters)
    at = close_points(values, one, 0)
    at = at[abs(at) < 1e100]
    assert_allclose(apply(other, np.ldexp(at, exponent)), apply(one, at), rtol=1e-12, atol=1e-12)
    mirrored = fit(-values, alpha, **parameters)
    ours = apply(mirrored, -at)
    expected = -apply(one, at) if parameters["output_distribution"] == "normal" else 1 - apply(one, at)
    bound = one.error_bound_[0] + mirrored.error_bound_[0]
    if not np.isfinite(bound) or values.min() == values.max():
        return
    inside = abs(expected) < 5.5
    assert_allclose(ours[inside], expected[inside], rtol=0, atol=bound + 1e-11)


@examples(60)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 300), parameters=options, alpha=alphas)
def test_weights_are_repetitions(seed, n, parameters, alpha):
    rng = np.random.default_rng(seed)
    values, weights = np.round(rng.normal(size=n), 2), rng.integers(0, 4, n)
    assume(weights.any())
    one, other = (
        fit(values, alpha, weights.astype(float), **parameters),
        fit(values.repeat(weights), alpha, **parameters),
    )
    at = np.linspace(values.min() - 1, values.max() + 1, 50)
    # Repeated rows may be put into cells where weights are not: then both bounds tell.
    bound = min(one.error_bound_[0] + other.error_bound_[0], 1.0)
    difference = abs(apply(one, at) - apply(other, at))
    near = abs(apply(one, at)) < 5.5
    assert (difference[near] <= bound + 1e-11).all()
    assert_allclose(one.bandwidth_, other.bandwidth_, rtol=1e-12)


@examples(60)
@given(values=columns, alpha=alphas, parameters=options, seed=st.integers(0, 1000))
def test_out_of_range_is_ignored(values, alpha, parameters, seed):
    clip, linear, nan = (fit(values, alpha, out_of_range=one, **parameters) for one in ("clip", "linear", "nan"))
    at = close_points(values, clip, seed)
    assert_array_equal(apply(clip, at), apply(linear, at))
    assert_array_equal(apply(clip, at), apply(nan, at))
    if values.min() < values.max():
        levels = apply(clip, at)
        assert_array_equal(back(clip, levels), back(linear, levels))
        assert_array_equal(back(clip, levels), back(nan, levels))


@examples(60)
@given(
    values=plain_columns,
    alpha=alphas,
    parameters=options,
    bounded=st.booleans(),
    ends=st.sampled_from([(-1, 1), (0, 2), (-3.5, 0.25), (1e6, 1e6 + 1), (-1e-6, 1e-6)]),
)
def test_feature_range_is_an_affine_map(values, alpha, parameters, bounded, ends):
    parameters = parameters | {"output_distribution": "uniform", "bounded": bounded}
    one, other = fit(values, alpha, **parameters), fit(values, alpha, feature_range=ends, **parameters)
    at = np.linspace(values.min() - 1, values.max() + 1, 101)
    scale = ends[1] - ends[0]
    assert_allclose(apply(other, at), ends[0] + scale * apply(one, at), rtol=1e-12, atol=1e-11 * scale)
    assert_allclose(other.error_bound_, scale * one.error_bound_, rtol=1e-6, atol=1e-13 * max(map(abs, ends)))
    assert_array_equal(other.n_knots_, one.n_knots_)
    if values.min() < values.max() and alpha != 0:
        levels = np.linspace(0.01, 0.99, 33)
        close = 1e-6 * np.ptp(values) if ends[0] == 1e6 else 1e-8 * np.ptp(values)
        slope_is_known = apply(one, back(one, levels) + close) > apply(one, back(one, levels) - close)
        difference = abs(back(other, ends[0] + scale * levels) - back(one, levels))
        in_levels = abs(apply(one, back(other, ends[0] + scale * levels)) - levels)
        assert ((difference <= close) | (in_levels <= 1e-8) | ~slope_is_known).all()


@examples(60)
@given(values=plain_columns, alpha=alphas, parameters=options)
def test_float32_is_the_rounded_result(values, alpha, parameters):
    model = fit(values.astype(np.float32), alpha, **parameters)
    at = np.linspace(values.min() - 3, values.max() + 3, 101).astype(np.float32)
    result = apply(model, at)
    assert result.dtype == np.float32
    assert_array_equal(result, apply(model, at.astype(float)).astype(np.float32))


@examples(60)
@given(values=plain_columns, alpha=bandwidths, parameters=options)
def test_chunks_give_the_same_map(values, alpha, parameters):
    assume(len(values) > 3)
    whole_model, chunked = fit(values, alpha, **parameters), KDITransformer(alpha, **parameters)
    for chunk in np.array_split(values, 3):
        chunked.partial_fit(chunk[:, None])
    at = np.linspace(values.min() - 1, values.max() + 1, 50)
    if values.min() == values.max():
        assert_array_equal(apply(chunked, at), apply(whole_model, at))
        return
    bound = whole_model.error_bound_[0] + chunked.error_bound_[0]
    assert np.isfinite(chunked.error_bound_[0]) == np.isfinite(whole_model.error_bound_[0])
    near = abs(apply(whole_model, at)) < 5.5
    assert (abs(apply(chunked, at) - apply(whole_model, at))[near] <= bound + 1e-11).all()


@pytest.mark.parametrize("output", ["uniform", "normal"])
@pytest.mark.parametrize("alpha", [0.0, 0.05, 1.0, 10.0])
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300, LARGEST / 8])
def test_every_finite_input_has_a_finite_result(scale, alpha, output, rng):
    values = rng.integers(-3, 4, size=100) * scale
    model = fit(values, alpha, bounded=False, output_distribution=output)
    at = np.r_[values, -LARGEST, LARGEST, -1.7e308, 1.7e308, 0.0, 5e-324]
    result = apply(model, at)
    assert np.isfinite(result).all()
    assert np.isfinite(back(model, result)).all()
    levels = [-1e308, -40, -6, -1e-300, 0, 1e-300, 0.5, 1, 1.5, 1e308]
    assert np.isfinite(back(model, levels)).all()
    assert np.isnan(apply(model, [np.nan]))
    assert np.isnan(back(model, [np.nan]))


def test_the_spread_is_that_of_the_oracle(rng):
    values, weights = rng.lognormal(size=500), rng.exponential(size=500)
    for output in ("uniform", "normal"):
        model = fit(values, 0.7, weights, bounded=False, output_distribution=output)
        assert_allclose(model.bandwidth_, 0.7 * oracle.spread(values, weights), rtol=1e-12)
