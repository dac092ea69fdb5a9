"""The part of a column's sketch that the explorer embeds, and the error bound that it states."""

import numpy as np
import oracle
import pytest
from explorer_decoding import contents_of, levels_of, moments_of, positions_of, ranks_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from samples import probes, sample

import kdi
from kdi._sketch.sketch import Sketch
from kdi.explorer._contents import slider_alphas
from kdi.explorer._features import (
    MASS_UNIT,
    MAX_ALPHA,
    MIN_ALPHA,
    MIN_CELLS,
    MIN_VALUES,
    RoundedMoments,
    describe_feature,
    embedded_sketch,
    max_values_for,
)
from kdi.explorer._ranks import MAX_KNOTS, choose_knots

ALPHAS = [MIN_ALPHA, 0.3, 1.0, MAX_ALPHA]
ROUNDING = 1e-11  # of the sums that the tests take


def test_the_slider_goes_from_quantile_to_min_max():
    alphas = slider_alphas()
    assert alphas[0] == 0 and alphas[-1] == np.inf and 1.0 in alphas
    assert alphas[1] == MIN_ALPHA and alphas[-2] == MAX_ALPHA
    assert np.all(np.diff(alphas[:-1]) > 0)
    assert max(alphas[2:-1] / alphas[1:-2]) < 1.06


def test_values_are_embedded_as_they_are(rng):
    values = np.round(rng.normal(size=1000), 2)
    feature = describe_feature("x", Sketch.exact(values))
    distinct, counts = np.unique(values, return_counts=True)
    assert_array_equal(feature["places"], distinct)
    assert_array_equal(feature["moments"], [counts])
    assert (feature["count"], feature["missing"], feature["weight"]) == (1000, 0, 1000)
    assert (feature["minimum"], feature["maximum"]) == (values.min(), values.max())
    assert_allclose([feature["mean"], feature["std"]], [values.mean(), values.std()], rtol=1e-12)
    assert feature["rank_error"] <= 1e-15 and feature["error"] < 1e-10


def test_cells_are_those_of_the_sketch(rng):
    sketch = Sketch.from_values(rng.lognormal(size=200_000))
    chosen, feature = embedded_sketch(sketch), describe_feature("x", sketch)
    assert not chosen.is_exact and feature["width"] == chosen.cell_width
    assert_allclose(positions_of(feature), chosen.offsets, rtol=1e-15)
    assert_array_equal(np.array(feature["moments"][0]), chosen.moments[:, 0])
    shares = chosen.moments / chosen.weight
    assert_allclose(np.cumsum(moments_of(feature), axis=0), np.cumsum(shares, axis=0), atol=2.0**-25, rtol=0)
    assert_allclose(feature["std"], sketch.std, rtol=1e-15)


@pytest.mark.parametrize("n_features, most", [(1, 2**15), (9, 29_127), (50, 5242), (200, 2**12), (10_000, 2**12)])
def test_the_number_of_values_is_shared_by_the_features(n_features, most):
    assert max_values_for(n_features) == most


def test_an_outlier_leaves_the_cells_of_the_rest(rng):
    values = np.append(rng.normal(size=100_000), 1e9)
    assert len(embedded_sketch(Sketch.from_values(values))) > MIN_CELLS / 2


@pytest.mark.parametrize("name", ["normal", "lognormal-2", "cauchy", "offset-1e9", "far-clusters", "outlier"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_stated_error_is_kept_and_small(rng, name, weighted):
    values = sample(name, 20_000)
    weights = rng.exponential(size=len(values)) if weighted else None
    feature = describe_feature("x", Sketch.from_values(values, weights))
    assert feature["width"] > 0 and feature["error"] <= 5e-7
    at = probes(values, 60)
    for alpha in ALPHAS:
        exact = oracle.transform(values, at, alpha, "polyexp", weights=weights)
        assert abs(levels_of(feature, at, alpha) - exact).max() <= feature["error"]
    exact = oracle.quantile_limit(values, at, weights)
    assert abs(ranks_of(feature, at) - exact).max() <= feature["rank_error"] <= 0.02


@st.composite
def columns(draw):
    """Values that are not all the same, weights or none, and the width of cells in units of the range."""
    values = draw(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=60))
    scale, offset = draw(st.sampled_from([1.0, 1e-6, 1e12])), draw(st.sampled_from([0.0, 1.0, -1e3]))
    values = scale * (np.array(values) + offset)
    if not np.ptp(values) > 1e-6 * scale:
        values[0] += scale
    weights = None
    if draw(st.booleans()):
        weights = np.array(draw(st.lists(st.floats(1e-3, 1e3), min_size=len(values), max_size=len(values))))
    return values, weights, draw(st.sampled_from([1e-4, 1e-3, 1e-2, 0.1]))


@given(columns())
def test_the_stated_error_is_kept_whatever_the_cells(column):
    values, weights, width = column
    feature = describe_feature("x", Sketch.from_values(values, weights, cell_width=width * np.ptp(values)))
    at = np.linspace(values.min(), values.max(), 50)
    for alpha in ALPHAS:
        exact = oracle.transform(values, at, alpha, "polyexp", weights=weights)
        assert abs(levels_of(feature, at, alpha) - exact).max() <= feature["error"] + ROUNDING
    exact = oracle.quantile_limit(values, at, weights)
    assert abs(ranks_of(feature, at) - exact).max() <= feature["rank_error"] + ROUNDING


@given(columns())
def test_rounding_of_moments_stays_within_its_bound(column):
    values, weights, width = column
    sketch = Sketch.from_values(values, weights, cell_width=width * np.ptp(values))
    rounded = RoundedMoments.from_sketch(sketch)
    feature = describe_feature("x", sketch)
    exact = feature | {
        "moments": (sketch.moments / sketch.weight).T.tolist(),
        "units": [1.0] * sketch.moments.shape[1],
    }
    at = np.linspace(values.min(), values.max(), 50)
    for alpha in ALPHAS:
        moved = abs(levels_of(feature, at, alpha) - levels_of(exact, at, alpha)).max()
        assert moved <= rounded.error + ROUNDING


def test_rounding_takes_little_however_many_the_cells(rng):
    for weights in (None, rng.exponential(size=300_000)):
        sketch = Sketch.from_values(rng.normal(size=300_000), weights)
        assert RoundedMoments.from_sketch(sketch).error < 1e-7


def test_weights_that_are_next_to_nothing_vanish_and_leave_the_rest(rng):
    values, weights = rng.normal(size=100), np.ones(100)
    weights[:10] = 1e-12
    feature = describe_feature("x", Sketch.exact(values, weights))
    assert feature["units"] == [MASS_UNIT]
    at = np.linspace(values.min(), values.max(), 50)
    exact = oracle.transform(values, at, 1.0, "polyexp", weights=weights)
    assert abs(levels_of(feature, at, 1.0) - exact).max() <= feature["error"]


def test_weights_of_any_size(rng):
    values, weights = rng.lognormal(size=500), rng.exponential(size=500)
    ordinary, huge = (describe_feature("x", Sketch.exact(values, scale * weights)) for scale in (1.0, 1e300))
    assert huge["moments"] == ordinary["moments"]


def test_columns_without_values_or_spread():
    nothing = describe_feature("x", Sketch.exact(np.array([np.nan, np.nan])))
    assert (nothing["count"], nothing["missing"], nothing["places"], nothing["std"]) == (0, 2, [], None)
    constant = describe_feature("x", Sketch.exact(np.full(5, 2.5)))
    assert (constant["places"], constant["moments"], constant["std"], constant["error"]) == ([2.5], [[5]], 0.0, 0.0)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=300), st.integers(2, 50))
def test_thinned_ranks_leave_out_no_more_than_they_may(masses, most):
    mass = np.array(masses, dtype=float)
    ranks = np.cumsum(mass) - 0.5 * mass
    levels = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    chosen = choose_knots(levels, most)
    assert chosen[0] == 0 and chosen[-1] == len(levels) - 1 and np.all(np.diff(chosen) > 0)
    assert len(chosen) <= 2 * most + 2
    skipped = np.diff(levels[chosen])[np.diff(chosen) > 1]
    assert skipped.max(initial=0) <= np.pi / 2 / (most - 1) + 1 / most


def test_many_equal_values_keep_their_rank(rng):
    values = np.append(rng.lognormal(size=60_000), np.full(30_000, 1.0))
    feature = describe_feature("x", Sketch.from_values(values))
    assert len(feature["ranks"]["places"]) <= 2 * MAX_KNOTS
    at = np.array([1.0, 1.0 - 1e-3, 1.0 + 1e-3])
    exact = oracle.quantile_limit(values, at)
    assert exact[0] - exact[1] > 0.15 and exact[2] - exact[0] > 0.15  # half of the equal ones on either side
    # Cells of the sketch hold other values too, but few of them.
    assert_allclose(ranks_of(feature, at), exact, atol=2e-3, rtol=0)


def test_a_feature_of_a_million_rows_takes_some_ten_thousand_bytes(rng):
    table = rng.lognormal(size=(1_000_000, 2))
    one, both = kdi.explore(table[:, :1]), kdi.explore(table)
    assert len(both.html) - len(one.html) < 60_000
    assert len(contents_of(both)["features"][0]["places"]) >= MIN_VALUES
