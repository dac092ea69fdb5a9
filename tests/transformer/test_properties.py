"""What holds for any data: order, ends, units, weights, chunks, the way back."""

import os

import numpy as np
import oracle
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

ordinary = st.floats(-1e6, 1e6, allow_subnormal=False)
whole = st.integers(-20, 20).map(float)
any_number = st.floats(-1e150, 1e150)
columns = st.one_of(
    *(hnp.arrays(np.float64, st.integers(2, 40), elements=one) for one in (ordinary, whole, any_number)),
    st.builds(
        lambda seed, n: np.random.default_rng(seed).standard_cauchy(n), st.integers(0, 2**32), st.integers(2, 3000)
    ),
)
alphas = st.one_of(
    st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0, 3.0, 10.0, np.inf, "scott", "silverman"]), st.floats(1e-3, 1e3)
)
kernels = st.one_of(
    st.just({"kernel": "gaussian"}), st.builds(lambda order: {"kernel": "polyexp", "order": order}, st.integers(1, 6))
)
caps = st.one_of(st.none(), st.integers(2, 60))


def examples(n):
    return settings(max_examples=int(os.environ.get("KDI_EXPLORE", "0")) or n)


EITHER_OUTPUT = pytest.mark.parametrize("output", ["uniform", "normal"])
EVERY_POLICY = pytest.mark.parametrize("policy", ["clip", "linear"])


def fit(values, alpha=1.0, weights=None, **parameters):
    return KDITransformer(alpha, **parameters).fit(np.asarray(values)[:, None], sample_weight=weights)


def apply(model, values):
    return model.transform(np.asarray(values)[:, None])[:, 0]


def not_constant(values):
    assume(values.min() < values.max())
    return values


def close_points(values, model, seed):
    """Chosen points and their nearest neighbours among the floats, in order: wherever a step down could hide."""
    rng = np.random.default_rng(seed)
    low, high = values.min(), values.max()
    with np.errstate(over="ignore"):
        knots = low + (high - low) * np.arange(model.n_knots_[0] + 1) / model.n_knots_[0]
    chosen = np.r_[
        values, rng.uniform(low, high, 100), rng.choice(knots, 100), low + rng.uniform(0, 1e-9, 20) * (high - low)
    ]
    near = [chosen]
    for direction in (-np.inf, np.inf):
        step = chosen
        for _ in range(3):
            step = np.nextafter(step, direction)
            near.append(step)
    return np.unique(np.concatenate(near))


@EITHER_OUTPUT
@EVERY_POLICY
@examples(150)
@given(values=columns, alpha=alphas, kernel=kernels, cap=caps, seed=st.integers(0, 1000))
def test_never_decreases(output, policy, values, alpha, kernel, cap, seed):
    not_constant(values)
    model = fit(values, alpha, output_distribution=output, out_of_range=policy, max_knots=cap, **kernel)
    out = apply(model, close_points(values, model, seed))
    assert np.isfinite(out).all()
    # T itself never falls; scipy's normal quantile does, by an ulp
    assert (np.diff(out) >= (0 if output == "uniform" else -1e-14)).all()


@examples(300)
@given(values=columns, alpha=alphas, kernel=kernels, one=any_number, other=any_number, share=st.floats(0, 1))
def test_never_decreases_for_any_two_inputs(values, alpha, kernel, one, other, share):
    model = fit(values, alpha, **kernel)
    inside = values.min() * (1 - share) + values.max() * share
    pairs = np.array([[one, other], [one, inside], [inside, np.nextafter(inside, np.inf)], [values[0], inside]])
    out = apply(model, np.sort(pairs, axis=1).ravel()).reshape(-1, 2)
    assert (out[:, 0] <= out[:, 1]).all()
    assert ((out >= 0) & (out <= 1)).all()


@examples(200)
@given(values=columns, alpha=alphas, kernel=kernels, cap=caps, dtype=st.sampled_from([np.float64, np.float32]))
def test_exactly_zero_and_one_at_the_ends(values, alpha, kernel, cap, dtype):
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    assume(np.isfinite(values).all())
    not_constant(values)
    model = fit(values, alpha, max_knots=cap, **kernel)
    assert model.data_min_[0] == values.min()
    assert model.data_max_[0] == values.max()
    out = apply(model, values)
    assert out.dtype == dtype
    assert (out[values == values.min()] == 0).all()
    assert (out[values == values.max()] == 1).all()
    assert ((out >= 0) & (out <= 1)).all()
    back = model.inverse_transform(np.array([[0.0], [1.0]]))[:, 0]
    assert back.tolist() == [values.min(), values.max()]


@examples(150)
@given(values=columns, alpha=st.floats(0.05, 10), kernel=kernels)
def test_within_the_bound_of_the_direct_sum(values, alpha, kernel):
    assume(np.ptp(values) > 1e-12 * abs(values).max())
    assume(oracle.spread(values) > 1e-140)  # whose square the oracle would lose
    at = np.linspace(values.min(), values.max(), 50)
    model = fit(values, alpha, **kernel)
    error = abs(apply(model, at) - oracle.transform(values, at, alpha, **kernel)).max()
    assert error <= model.error_bound_[0] + 1e-12
    assert error <= 1e-6


@examples(150)
@given(
    values=hnp.arrays(np.float64, st.integers(2, 60), elements=st.floats(-100, 100).map(lambda x: round(x, 3))),
    alpha=alphas,
    kernel=kernels,
    exponent=st.integers(-30, 30),
    factor=st.floats(0.1, 10),
    shift=st.floats(-1000, 1000),
)
# The last knot is the end, but for a rounding that would put it before the end.
@example(
    values=np.array([0.0, 1.0, 55.0]), alpha=0.01, kernel={"kernel": "gaussian"}, exponent=0, factor=1.1, shift=0.0
)
def test_units_do_not_matter(values, alpha, kernel, exponent, factor, shift):
    not_constant(values)
    plain = apply(fit(values, alpha, **kernel), values)
    # a power of two is exact, so only the grids of cells and knots differ
    scaled = values * 2.0**exponent
    np.testing.assert_allclose(apply(fit(scaled, alpha, **kernel), scaled), plain, rtol=0, atol=2e-6)
    mapped = values * factor + shift
    np.testing.assert_allclose(apply(fit(mapped, alpha, **kernel), mapped), plain, rtol=0, atol=2e-6)


@examples(100)
@given(values=columns, alpha=st.sampled_from([0.05, 0.3, 1.0, 10.0]), kernel=kernels)
def test_mirrored_data_give_the_mirrored_result(values, alpha, kernel):
    not_constant(values)
    forwards, mirrored = fit(values, alpha, **kernel), fit(-values, alpha, **kernel)
    bound = forwards.error_bound_[0] + mirrored.error_bound_[0] + 1e-12
    np.testing.assert_allclose(apply(mirrored, -values), 1 - apply(forwards, values), rtol=0, atol=bound)


@examples(100)
@given(values=columns, alpha=alphas, kernel=kernels, data=st.data())
def test_weights_are_repetitions(values, alpha, kernel, data):
    counts = data.draw(hnp.arrays(np.int64, values.size, elements=st.integers(0, 3)))
    assume(counts.any())
    repeated = np.repeat(values, counts)
    one, other = fit(values, alpha, counts, **kernel), fit(repeated, alpha, **kernel)
    # Repetitions may be kept in cells where the weighted values are kept as they are: each within its own bound.
    bound = one.error_bound_[0] + other.error_bound_[0] + 1e-9
    np.testing.assert_allclose(apply(one, values), apply(other, values), rtol=0, atol=bound)


@examples(100)
@given(values=columns, alpha=alphas, kernel=kernels, cuts=st.lists(st.integers(1, 2999), max_size=5, unique=True))
def test_chunks_do_not_matter(values, alpha, kernel, cuts):
    model = KDITransformer(alpha, **kernel)
    for chunk in np.split(values, sorted(cut for cut in cuts if cut < values.size)):
        model.partial_fit(chunk[:, None])
    np.testing.assert_allclose(apply(model, values), apply(fit(values, alpha, **kernel), values), rtol=0, atol=1e-9)


@examples(100)
@given(values=columns, alpha=alphas, kernel=kernels, seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(values, alpha, kernel, seed):
    shuffled = np.random.default_rng(seed).permutation(values)
    ours = apply(fit(shuffled, alpha, **kernel), values)
    np.testing.assert_allclose(ours, apply(fit(values, alpha, **kernel), values), rtol=0, atol=1e-9)


@examples(150)
@given(values=columns, alpha=st.floats(0.05, 10), kernel=kernels, share=st.floats(0, 1))
def test_the_way_back_where_the_density_is_not_negligible(values, alpha, kernel, share):
    not_constant(values)
    width = np.ptp(values)
    assume(width > 1e-9 * abs(values).max())
    assume(oracle.spread(values) > 1e-140)
    at = np.clip(values.min() + np.r_[0, share, 0.5, 1] * width, values.min(), values.max())
    model = fit(values, alpha, **kernel)
    back = model.inverse_transform(apply(model, at)[:, None])[:, 0]
    dense = oracle.slope(values, at, alpha, **kernel) * width >= 1e-4
    assert (abs(back - at)[dense] <= 1e-6 * width).all()


@examples(150)
@given(values=columns, alpha=alphas, kernel=kernels, cap=caps)
def test_the_way_back_keeps_order_and_range(values, alpha, kernel, cap):
    not_constant(values)
    model = fit(values, alpha, max_knots=cap, **kernel)
    levels = np.linspace(0, 1, 501)
    levels = np.unique(np.clip(np.r_[levels, np.nextafter(levels, 2), np.nextafter(levels, -1)], 0, 1))
    back = model.inverse_transform(levels[:, None])[:, 0]
    assert (np.diff(back) >= -1e-12 * np.ptp(values)).all()
    assert ((back >= values.min()) & (back <= values.max())).all()


@examples(100)
@given(
    values=hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=ordinary),
    alpha=alphas,
    holes=st.integers(0, 1000),
)
def test_missing_values_pass_through(values, alpha, holes):
    missing = np.random.default_rng(holes).uniform(size=values.shape) < 0.3
    missing[0] = False
    values[missing] = np.nan
    out = KDITransformer(alpha).fit_transform(values)
    assert (np.isnan(out) == missing).all()
    assert ((out[~missing] >= 0) & (out[~missing] <= 1)).all()
