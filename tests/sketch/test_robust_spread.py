"""The robust spread: the interquartile range, the same from memory, chunks, sketches and partitions."""

import numpy as np
import open_oracle
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import kdi
from kdi import KDITransformer, Sketch

pytestmark = pytest.mark.numpy_core


def spread(values, weights=None, alpha=1.0, **parameters):
    """The spread that a fit in memory finds."""
    model = KDITransformer(alpha, spread="robust", **parameters)
    model.fit(np.asarray(values, dtype=float)[:, None], sample_weight=weights)
    return model.bandwidth_[0] / alpha


def with_outlier(rng, n):
    return np.r_[rng.normal(size=n - 1), 1e6]


SMOOTH = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=2, size=n),
    "pareto": lambda rng, n: rng.pareto(1.1, n),
    "offset": lambda rng, n: 1e9 + rng.laplace(size=n),
    "outlier": with_outlier,
    "uniform": lambda rng, n: rng.uniform(size=n),
}
EVERY_SAMPLE = pytest.mark.parametrize("name", SMOOTH)


@EVERY_SAMPLE
@pytest.mark.parametrize("weighted", [False, True])
def test_smooth_data_within_one_percent_of_numpy(name, weighted, rng):
    values = SMOOTH[name](rng, 20_000)
    weights = rng.integers(1, 4, 20_000).astype(float) if weighted else None
    assert_allclose(spread(values, weights), open_oracle.robust_spread(values, weights), rtol=0.01)


@pytest.mark.parametrize("n", [5, 50, 5000, 100_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_tied_data_exactly(n, weighted, rng):
    for step in (1.0, 0.1, 100.0):
        values = rng.poisson(10, n) * step
        weights = rng.integers(0, 4, n).astype(float) if weighted else None
        expected = open_oracle.robust_spread(values, weights)
        assert_allclose(spread(values, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("share", [0.51, 0.75, 0.9, 0.999])
def test_zero_inflated_columns_have_the_standard_deviation(share, rng):
    values = np.where(np.arange(5000) < share * 5000, 0.0, rng.lognormal(size=5000))
    low, high = open_oracle.quartiles(values)
    if low == high:
        assert_allclose(spread(values), oracle.spread(values), rtol=1e-9)
    else:
        assert_allclose(spread(values), open_oracle.robust_spread(values), rtol=0.01)


def test_two_values_and_constants():
    assert_allclose(spread([0.0, 1.0]), 0.5)  # the deviation is smaller than 1 / 1.349
    assert spread([3.0, 3.0]) == 0
    assert_allclose(spread([0.0, 0.0, 0.0, 0.0, 1.0]), 0.4)


def test_far_values_do_not_matter(rng):
    values = rng.normal(size=1000)
    near, far = np.r_[values, 10.0], np.r_[values, 1e9]
    assert_allclose(spread(near), spread(far), rtol=0.02)
    assert spread(far) < 1.1 < 1e6 < oracle.spread(far)


@EVERY_SAMPLE
@pytest.mark.parametrize("alpha", [0.02, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_of_any_size(name, alpha, weighted, rng):
    values = SMOOTH[name](rng, 6000)
    weights = rng.exponential(size=6000) if weighted else np.ones(6000)
    expected = spread(values, weights, alpha)
    for n_chunks in (1, 3, 50):
        order = rng.permutation(6000)
        model = KDITransformer(alpha, spread="robust")
        for part in np.array_split(order, n_chunks):
            model.partial_fit(values[part, None], sample_weight=weights[part])
        assert_allclose(model.bandwidth_[0] / alpha, expected, rtol=1e-12)


@EVERY_SAMPLE
@pytest.mark.parametrize("wide", [1e-4, 1e-2, 1 / 33])
def test_sums_of_sketches_in_any_order(name, wide, rng):
    """As long as the cells are no wider than what the range between the quartiles asks for."""
    values, weights = SMOOTH[name](rng, 5000), rng.exponential(size=5000)
    expected = spread(values, weights)
    low, high = open_oracle.quartiles(values, weights)
    width = (high - low) * wide
    parts = np.array_split(rng.permutation(5000), 7)
    sketches = [Sketch.from_values(values[part], weights[part], cell_width=width) for part in parts]
    for order in (range(7), rng.permutation(7)):
        total = sketches[order[0]]
        for k in order[1:]:
            total = total + sketches[k]
        model = KDITransformer(spread="robust").fit_sketches([total])
        assert_allclose(model.bandwidth_[0], expected, rtol=1e-12)


@EVERY_SAMPLE
def test_kept_sketches_still_have_it(name, rng):
    """Sketches are coarsened when the maps are built, but not so far that the quartiles are lost."""
    values = SMOOTH[name](rng, 5000)
    for alpha in (0.1, 1.0, 10.0, 1000.0):
        model = KDITransformer(alpha, spread="robust").fit(values[:, None])
        again = KDITransformer(alpha, spread="robust").fit_sketches(model.sketches_)
        assert_allclose(again.bandwidth_, model.bandwidth_, rtol=1e-12)
        chunked = (
            KDITransformer(alpha, spread="robust").partial_fit(values[:2500, None]).partial_fit(values[2500:, None])
        )
        assert_allclose(chunked.bandwidth_, model.bandwidth_, rtol=1e-12)
        again = KDITransformer(alpha, spread="robust").fit_sketches(chunked.sketches_)
        assert_allclose(again.bandwidth_, model.bandwidth_, rtol=1e-12)


@EVERY_SAMPLE
def test_streams(name, rng):
    arrow = pytest.importorskip("pyarrow")
    values = SMOOTH[name](rng, 9000)
    batches = [arrow.record_batch({"x": part}) for part in np.array_split(values, 9)]
    model = KDITransformer(0.5, spread="robust").fit(arrow.Table.from_batches(batches))
    assert_allclose(model.bandwidth_[0] / 0.5, spread(values), rtol=1e-12)
    once = KDITransformer(0.5, spread="robust").fit(arrow.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert_allclose(once.bandwidth_[0] / 0.5, spread(values), rtol=1e-12)


@EVERY_SAMPLE
def test_one_alpha_of_a_path(name, rng):
    values = SMOOTH[name](rng, 3000)[:, None]
    for model in kdi.alpha_path(values, [0.05, 0.3, 1.0, 10.0], spread="robust", bounded=False):
        alone = KDITransformer(model.alpha, spread="robust", bounded=False).fit(values)
        assert_allclose(model.bandwidth_, alone.bandwidth_, rtol=1e-12)


@pytest.mark.parametrize("output", ["uniform", "normal"])
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("cells", [0.4, 1.0, 2.0, 5.0, 16.0, 33.0])
def test_sketches_that_are_too_coarse_say_so(cells, bounded, output, rng):
    """`cells` between the quartiles; with fewer than 32 the quartiles are known to some cells only."""
    values = np.r_[rng.normal(size=20_000), 1e3]
    exact = open_oracle.robust_spread(values)
    width = 1.349 * exact / cells
    sketch = Sketch.from_values(values, cell_width=width)
    model = KDITransformer(spread="robust", bounded=bounded, output_distribution=output).fit_sketches([sketch])
    at = np.linspace(-4, 4, 81)
    result, bound = model.transform(at[:, None])[:, 0], model.error_bound_[0]
    low, high = open_oracle.tails(values, at, exact, "polyexp")
    if bounded:
        if output == "normal":
            return  # the bound is that of T
        ends = open_oracle.tails(values, np.array([values.min(), values.max()]), exact, "polyexp")[0]
        expected = (low - ends[0]) / (ends[1] - ends[0])
    else:
        expected = open_oracle.level(low, high, output)
    # The sketch states its own error; that of a smooth sample's quartiles, below 1 %, is a matter of definition.
    assert abs(result - expected).max() <= bound + 0.02 * (1 if output == "uniform" else 4)
    if cells < 8:
        assert bound > 0.01


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 400), digits=st.integers(-1, 6), exponent=st.integers(-1000, 900))
def test_any_unit_and_order(seed, n, digits, exponent):
    rng = np.random.default_rng(seed)
    values, weights = np.round(rng.standard_t(2, n), digits), rng.integers(1, 5, n).astype(float)
    expected = spread(values, weights)
    order = rng.permutation(n)
    assert_allclose(spread(values[order], weights[order]), expected, rtol=1e-12)
    assert_allclose(spread(values.repeat(weights.astype(int))), expected, rtol=1e-12)
    assert_allclose(spread(np.ldexp(values, exponent), weights * 8), np.ldexp(expected, exponent), rtol=1e-12)
    assert expected <= oracle.spread(values, weights) * (1 + 1e-9)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("exponent", [-6, -2, 0])
def test_cells_of_a_range_of_very_many_bandwidths_keep_their_bound(exponent, bounded):
    """Lines through the integral begin and end at the extremes, not in the middle of their cells."""
    values = np.exp(3.5 * np.random.default_rng(0).normal(size=4000))
    options = {"spread": "robust", "bounded": bounded}
    model = kdi.KDITransformer(0.2, **options).fit_sketches([kdi.Sketch.exact(values).coarsened(exponent)])
    alpha = float(model.bandwidth_[0] / values.std())  # the same bandwidth in units of the standard deviation
    exact = kdi.KDITransformer(alpha, bounded=bounded).fit(values[:, None])
    places = np.quantile(values, np.linspace(0, 1, 101))[:, None]
    allowed = model.error_bound_[0] + exact.error_bound_[0]
    np.testing.assert_allclose(model.transform(places), exact.transform(places), rtol=0, atol=allowed)
