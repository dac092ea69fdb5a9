"""SketchBuilder: a column in chunks has the sketch of the whole column, however it was divided."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kdi import Sketch
from kdi._numerics.kernels import get_kernel
from kdi._sketch.builder import SketchBuilder
from kdi._sketch.cells import MAX_CELLS, SketchCapacity, capacity_for, cell_width_for, width_exponent

pytestmark = pytest.mark.numpy_core

CAPACITY = SketchCapacity(200, 200)
N = 20_000


def build(column, cuts, capacity=CAPACITY, weights=None):
    builder = SketchBuilder(capacity)
    masses = [None] * (len(cuts) + 1) if weights is None else np.split(weights, cuts)
    for chunk, mass in zip(np.split(column, cuts), masses, strict=True):
        builder.add(chunk, mass)
    return builder.sketch()


def assert_same(sketch, expected):
    """The same cells, extremes and counts, and the same moments up to rounding."""
    assert sketch.exponent == expected.exponent
    assert_array_equal(sketch.keys, expected.keys)
    for name in ("minimum", "maximum", "count", "missing"):
        assert getattr(sketch, name) == getattr(expected, name) or expected.count == 0
    scale = max(float(expected.moments[:, 0].sum()), 1.0) if len(expected) else 1.0
    assert_allclose(sketch.moments, expected.moments, rtol=0, atol=1e-13 * scale)


def columns(rng):
    normal = rng.normal(size=N)
    return {
        "normal": normal,
        "lognormal": rng.lognormal(sigma=2, size=N),
        "cauchy": rng.standard_cauchy(size=N),
        "sorted": np.sort(normal),
        "offset": normal + 1e9,
        "two far groups": normal + 1e9 * (rng.uniform(size=N) < 0.5),
        "drifting": normal + np.arange(N),
        "few values": rng.integers(0, 150, size=N) / 7,
        "many ties": rng.poisson(3000, size=N).astype(float),
        "huge": normal * 1e300,
        "tiny": normal * 1e-300,
        "subnormal": rng.integers(-9, 9, size=N) * 5e-324,
        "one far value last": np.append(normal[1:], 1e300),
        "far values first": np.append([1e12, -1e12], normal[2:]),
        "constant": np.full(N, 3.0),
        "zeros among tiny": np.where(rng.uniform(size=N) < 0.5, 0.0, normal * 1e-200),
        "zeros first": np.append(np.zeros(N // 2), normal[N // 2 :] * 1e-12),
        "zeros last": np.append(normal[N // 2 :] * 1e-12, np.zeros(N // 2)),
        "one zero far from the rest": np.append((1 + 1e-4 * normal[1:]) * 1e-16, 0.0),
        "many subnormal": rng.integers(-900, 900, size=N) * 5e-324,
        "float32": normal.astype(np.float32),
        "holes": np.where(rng.uniform(size=N) < 0.3, np.nan, normal),
    }


NAMES = list(columns(np.random.default_rng(0)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_however_it_is_divided(name, weighted, rng):
    column = columns(rng)[name]
    weights = rng.integers(0, 3, size=N).astype(float) if weighted else None
    expected = Sketch.exact(column, weights).limited_to(CAPACITY)
    for cuts in ([], [1], [N // 2], [0, 0, 100, 100, N], range(500, N, 500), range(7001, N, 77)):
        assert_same(build(column, cuts, weights=weights), expected)


@pytest.mark.parametrize("name", NAMES)
def test_merged_in_any_order(name, rng):
    column = columns(rng)[name]
    expected = Sketch.exact(column).limited_to(CAPACITY)
    for n_partitions in (2, 9):
        sketches = [build(partition, []) for partition in np.array_split(column, n_partitions)]
        for _ in range(3):
            order = rng.permutation(n_partitions)
            merged = sketches[order[0]]
            for j in order[1:]:
                merged = sketches[j].merged(merged).limited_to(CAPACITY)
            assert_same(merged, expected)


@pytest.mark.parametrize("size", [2, 3, 64])
def test_negative_values_that_underflow_stay_below_zero(size):
    column = np.array([0.0, -0.0, 1.0, 8.0, 2.9e45, -7e-294, 7e-294, -5e-324] * 40)
    capacity = SketchCapacity(size, size)
    for cuts in ([], [3], range(5, 320, 5)):
        assert_same(build(column, cuts, capacity), Sketch.exact(column).limited_to(capacity))


@given(
    st.lists(st.floats(allow_infinity=False, allow_nan=True, width=64), max_size=300),
    st.lists(st.integers(0, 300), max_size=8),
    st.integers(2, 40),
)
def test_any_numbers(values, cuts, size):
    capacity = SketchCapacity(size, size)
    column = np.array(values, dtype=float)
    with np.errstate(over="ignore"):
        assert_same(build(column, sorted(cuts), capacity), Sketch.exact(column).limited_to(capacity))


def test_more_capacity_for_values_than_for_cells(rng):
    column = rng.normal(size=N)
    capacity = SketchCapacity(N - 1, 64)
    assert build(column[:-1], [4000], capacity).is_exact
    assert_same(build(column, [4000], capacity), Sketch.exact(column).limited_to(capacity))


@pytest.mark.parametrize("weighted", [False, True])
def test_values_that_repeat_are_counted(weighted, rng):
    column = rng.integers(-99, 99, size=300_000) / 3
    column[200_000::500] = rng.normal(size=200)  # new ones come late
    column[1::1000] = np.nan
    weights = rng.integers(0, 3, size=len(column)).astype(float) if weighted else None
    for capacity in (SketchCapacity(1000, 1000), SketchCapacity(300, 300)):
        expected = Sketch.exact(column, weights).limited_to(capacity)
        assert expected.is_exact == (capacity.values == 1000)
        for cuts in ([], [140_000, 250_000], range(10_000, 300_000, 10_000)):
            assert_same(build(column, cuts, capacity, weights), expected)


def test_infinite_values_are_counted_and_left_out(rng):
    column = rng.normal(size=N)
    column[[10, 5000]], column[19_000] = np.inf, -np.inf
    builder = SketchBuilder(CAPACITY)
    for chunk in np.split(column, [100, 6000]):
        builder.add(chunk)
    assert builder.infinite == 3
    assert_same(builder.sketch(), Sketch.exact(column[np.isfinite(column)]).limited_to(CAPACITY))


def test_adding_continues_after_sketch(rng):
    column = rng.lognormal(size=N)
    builder = SketchBuilder(CAPACITY)
    for start in range(0, N, 1000):
        builder.add(column[start : start + 1000])
        assert_same(builder.sketch(), Sketch.exact(column[: start + 1000]).limited_to(CAPACITY))


def test_the_caller_may_overwrite_an_array(rng):
    column = rng.normal(size=300)
    builder, reused = SketchBuilder(SketchCapacity(1000, 1000)), column.copy()
    builder.add(reused)
    reused[:] = 0
    assert_same(builder.sketch(), Sketch.exact(column))


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 10.0])
def test_capacity_is_enough_for_the_worst_data(alpha, kernel):
    # Chebyshev's inequality, as an equality at every distance: so many values beyond k deviations as there may be.
    chosen = get_kernel(kernel)
    n = 3_000_000
    ranks = np.arange(1, n // 2 + 1)
    column = np.sqrt(n / (2 * ranks)) * (1 + 0.01 * np.random.default_rng(0).uniform(size=len(ranks)))
    column = np.concatenate([column, -column])
    width = cell_width_for(chosen, alpha * column.std(), np.ptp(column))
    exponent = width_exponent(width, column.min(), column.max())
    n_occupied = len(np.unique(np.floor(np.ldexp(column, -exponent))))
    assert n_occupied <= capacity_for(chosen, alpha, 1).cells <= MAX_CELLS
    if alpha == 1:
        builder = SketchBuilder(capacity_for(chosen, alpha, 1))
        builder.add(column)
        assert builder.sketch().exponent <= exponent


def test_columns_share_the_memory():
    kernel = get_kernel("polyexp")
    assert capacity_for(kernel, 1.0, 1) == capacity_for(kernel, 1.0, 200) == SketchCapacity(2**15, 2**15)
    for n_columns in (1000, 4000):
        assert n_columns * capacity_for(kernel, 1.0, n_columns).cells <= 2**23
    assert capacity_for(kernel, 0.0, 1).values > 10_000_000
    assert capacity_for(kernel, np.inf, 1) == SketchCapacity(2**15, 2**15)
