"""Sketch: what it keeps, how it adds up, when it stops being exact."""

import pickle
from fractions import Fraction
from math import floor

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import KERNELS, SAMPLES, sample

from kdi import KDITransformer, Sketch

pytestmark = pytest.mark.numpy_core


def assert_same(one, other, rtol=1e-12):
    """Same summary; of the same cells, where both have cells."""
    assert (one.minimum, one.maximum, one.count, one.missing) == (
        other.minimum,
        other.maximum,
        other.count,
        other.missing,
    )
    assert_allclose([one.weight, one.std], [other.weight, other.std], rtol=rtol)
    assert_allclose(one.mean, other.mean, rtol=rtol, atol=rtol * other.std)
    if one.exponent == other.exponent:
        assert_array_equal(one.keys, other.keys)
        assert_allclose(one.moments, other.moments, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 500, 100_000])
@pytest.mark.parametrize("name", SAMPLES)
def test_summary(name, n, rng):
    values = sample(name, n) if n > 1 else np.array([2.5])
    sketch = Sketch.from_values(values)
    assert sketch.minimum == values.min()
    assert sketch.maximum == values.max()
    assert sketch.count == n
    assert sketch.missing == 0
    assert sketch.weight == pytest.approx(n, rel=1e-12)
    spread = oracle.spread(values)
    assert sketch.mean == pytest.approx(values.mean(), rel=1e-12, abs=1e-12 * spread)
    assert sketch.std == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("cell_width", [None, 0.01, 0.3, 5.0])
def test_weighted_summary(cell_width, rng):
    values, weights = rng.normal(size=5000), rng.integers(0, 4, size=5000)
    sketch = Sketch.from_values(values, weights, cell_width=cell_width)
    repeated = Sketch.from_values(np.repeat(values, weights), cell_width=cell_width)
    assert sketch.weight == weights.sum()
    assert_allclose([sketch.mean, sketch.std], [repeated.mean, repeated.std], rtol=1e-12)
    assert (sketch.minimum, sketch.maximum) == (repeated.minimum, repeated.maximum)
    assert_array_equal(sketch.keys, repeated.keys)
    assert_allclose(sketch.moments, repeated.moments, rtol=1e-12, atol=1e-12)


def test_missing_values_are_counted_and_left_out(rng):
    values = rng.normal(size=100)
    holes = values.copy()
    holes[::7] = np.nan
    sketch = Sketch.from_values(holes)
    assert sketch.missing == np.isnan(holes).sum()
    assert_same(sketch, Sketch.from_values(holes[~np.isnan(holes)]) + Sketch.from_values(holes[np.isnan(holes)]))


def test_nothing():
    for empty in (Sketch(), Sketch.from_values([]), Sketch.from_values([np.nan]), Sketch.from_values([1.0], [0.0])):
        assert empty.count == 0
        assert empty.weight == 0
        assert empty.is_exact
        full = Sketch.from_values([1.0, 2.0])
        assert (empty + full).count == (full + empty).count == 2
        assert (empty + full).maximum == 2


class TestExactness:
    def test_few_values_are_kept(self):
        sketch = Sketch.from_values([3.0, 1.0, 1.0])
        assert sketch.is_exact
        assert sketch.error_bound(1e-9, "gaussian") == 0

    def test_many_ties_are_few_values(self, rng):
        assert Sketch.from_values(rng.poisson(4, size=500_000)).is_exact

    def test_many_values_are_not_kept(self, rng):
        sketch = Sketch.from_values(rng.normal(size=300_000))
        assert not sketch.is_exact
        assert len(sketch.to_bytes()) < 300_000 * 8
        assert sketch.error_bound(1.0, "gaussian") > 0

    def test_says_itself_when_it_stops_being_exact(self, rng):
        sketch = Sketch()
        seen = [sketch.is_exact]
        for _ in range(30):
            sketch.add(rng.normal(size=10_000))
            seen.append(sketch.is_exact)
        assert seen[0]
        assert not seen[-1]
        assert sorted(seen, reverse=True) == seen  # once lost, lost
        assert sketch.count == 300_000

    def test_memory_is_bounded(self, rng):
        sketch = Sketch()
        sizes = []
        for _ in range(40):
            sketch.add(rng.standard_cauchy(size=10_000))
            sizes.append(len(sketch.to_bytes()))
        assert max(sizes) <= 2 * max(sizes[:10])


class TestErrorBound:
    @pytest.mark.parametrize(("kernel", "order"), KERNELS)
    def test_grows_with_the_cells_and_shrinks_with_the_bandwidth(self, kernel, order, rng):
        values = rng.normal(size=50_000)
        fine, coarse = (Sketch.from_values(values, cell_width=width) for width in (0.01, 0.1))
        assert 0 < fine.error_bound(1.0, kernel, order) < coarse.error_bound(1.0, kernel, order)
        assert coarse.error_bound(0.2, kernel, order) > coarse.error_bound(1.0, kernel, order)
        ratio = coarse.error_bound(0.5, kernel, order) / fine.error_bound(0.5, kernel, order)
        assert ratio == pytest.approx((coarse.cell_width / fine.cell_width) ** 4)

    @pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan])
    def test_bandwidth_must_be_positive(self, bandwidth):
        with pytest.raises(ValueError, match="bandwidth"):
            Sketch.from_values([1.0, 2.0]).error_bound(bandwidth, "gaussian")

    def test_unknown_kernel(self):
        with pytest.raises(ValueError, match="triangle"):
            Sketch.from_values([1.0, 2.0]).error_bound(1.0, "triangle")


class TestAdding:
    @pytest.mark.parametrize("name", SAMPLES)
    def test_parts_give_the_whole(self, name):
        values = sample(name, 100_000)
        whole = Sketch.from_values(values)
        sketches = [Sketch.from_values(part) for part in np.split(values, [10, 1000, 50_000])]
        assert_same(sum(sketches, Sketch()), whole, rtol=1e-9)
        assert_same(sum(sketches[::-1], Sketch()), whole, rtol=1e-9)

    @pytest.mark.parametrize("widths", [(0.01, 0.1), (0.1, 0.01), (None, 0.1), (0.1, None)])
    def test_the_finer_one_is_coarsened(self, widths, rng):
        halves = rng.normal(size=(2, 20_000))
        left, right = (Sketch.from_values(half, cell_width=width) for half, width in zip(halves, widths, strict=True))
        total = left + right
        whole = Sketch.from_values(halves.ravel(), cell_width=0.1)
        assert total.exponent == whole.exponent
        assert_same(total, whole)

    def test_order_and_grouping_make_no_difference(self, rng):
        a, b, c = (Sketch.from_values(rng.normal(size=30_000) * scale) for scale in (1, 10, 100))
        assert_same((a + b) + c, a + (b + c), rtol=1e-9)
        assert_same(a + b, b + a)

    def test_adding_leaves_the_parts_alone(self, rng):
        a, b = Sketch.from_values(rng.normal(size=50_000)), Sketch.from_values(rng.normal(size=100) * 1e6)
        before = a.to_bytes(), b.to_bytes()
        assert (a + b).count == 50_100
        assert (a.to_bytes(), b.to_bytes()) == before

    def test_add_is_in_place(self, rng):
        values = rng.normal(size=300)
        sketch = Sketch.from_values(values[:100])
        sketch.add(values[100:])
        assert_same(sketch, Sketch.from_values(values))

    def test_add_with_weights(self, rng):
        values, weights = rng.normal(size=300), rng.integers(0, 3, size=300)
        sketch = Sketch.from_values(values[:100], weights[:100])
        sketch.add(values[100:], weights[100:])
        assert_same(sketch, Sketch.from_values(values, weights))

    def test_only_sketches_add_up(self):
        with pytest.raises(TypeError):
            Sketch.from_values([1.0]) + np.array(2.0).tolist()

    @pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e-12, 1.0, 1e300])
    def test_zeros_of_another_part(self, unit, rng):
        values = rng.integers(-(10**6), 10**6, size=50_000) * unit
        part, zeros = Sketch.from_values(values), Sketch.from_values(np.zeros(7))
        whole = Sketch.from_values(np.append(values, np.zeros(7)))
        assert_same(part + zeros, whole)
        assert_same(zeros + part, whole)
        assert_same(zeros + zeros, Sketch.from_values(np.zeros(14)))

    def test_weights_whose_sum_overflows(self):
        half = Sketch.from_values([1.0, 2.0], [1e308, 1.0])
        with pytest.raises(ValueError, match="weights"):
            half + half

    @pytest.mark.parametrize("shift", [0.0, 1e9, -1e9, 1e15])
    def test_far_from_zero(self, shift, rng):
        halves = np.round(rng.normal(size=(2, 60_000)) * 1000, 3) + shift
        total = Sketch.from_values(halves[0]) + Sketch.from_values(halves[1])
        assert total.std == pytest.approx(oracle.spread(halves.ravel()), rel=1e-9)
        assert total.count == 120_000


class TestInput:
    def test_values_are_left_alone(self, rng):
        values, weights = rng.normal(size=1000), rng.uniform(size=1000)
        copies = values.copy(), weights.copy()
        values.flags.writeable = weights.flags.writeable = False
        Sketch.from_values(values, weights)
        assert_array_equal(values, copies[0])
        assert_array_equal(weights, copies[1])

    def test_does_not_keep_hold_of_the_values(self):
        values = np.array([3.0, 1.0, 2.0])
        sketch = Sketch.from_values(values)
        values[:] = 0
        assert (sketch.minimum, sketch.maximum, sketch.mean) == (1, 3, 2)

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, bool])
    def test_number_types(self, dtype):
        values = np.array([0, 1, 1, 0, 1], dtype=dtype)
        assert_same(Sketch.from_values(values), Sketch.from_values(values.astype(float)))

    def test_strided(self, rng):
        values = rng.normal(size=1000)
        assert_same(Sketch.from_values(values[::-3]), Sketch.from_values(values[::-3].copy()))

    @pytest.mark.parametrize("bad", [[np.inf], [1.0, -np.inf], ["a"], [1j], np.zeros((2, 2))])
    def test_bad_values(self, bad):
        with pytest.raises(ValueError):
            Sketch.from_values(bad)

    @pytest.mark.parametrize("bad", [[1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [1.0], ["a", "b"]])
    def test_bad_weights(self, bad):
        with pytest.raises(ValueError, match="weight"):
            Sketch.from_values([1.0, 2.0], bad)

    @pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
    def test_bad_cell_width(self, bad):
        with pytest.raises(ValueError, match="cell_width"):
            Sketch.from_values([1.0, 2.0], cell_width=bad)


class TestCellWidth:
    @pytest.mark.parametrize("cell_width", [1e-9, 0.3, np.nextafter(0.25, 0), 0.25])
    def test_no_cell_is_wider(self, cell_width, rng):
        values = np.append(rng.normal(size=200_000), 1e4)
        sketch = Sketch.from_values(values, cell_width=cell_width)
        assert sketch.cell_width <= cell_width
        assert sketch.weight == len(values)
        if cell_width > 1e-9:
            assert sketch.cell_width > cell_width / 2

    @pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [0.0, 1e300], [5e-324, 0.0, -5e-324]])
    def test_few_values_are_kept(self, values):
        assert Sketch.from_values(values, cell_width=1.0).is_exact

    def test_cells_are_no_wider_than_the_range(self, rng):
        values = rng.uniform(size=1000) * 1e-300
        sketch = Sketch.from_values(values, cell_width=1e300)
        assert 0 < sketch.cell_width <= sketch.range
        assert_allclose([sketch.mean, sketch.std], [values.mean(), oracle.spread(values * 1e300) * 1e-300], rtol=1e-12)


@pytest.mark.parametrize("weight", [5e-324, 1e-320, 1e-300, 1e300])
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-150, 1e150, 1e308])
def test_mean_and_std_at_any_magnitude(scale, weight, rng):
    values = rng.uniform(-1, 1, size=50) * scale
    sketch = Sketch.from_values(values, rng.integers(1, 9, size=50) * weight)
    exact = [(Fraction(x), Fraction(w)) for x, w in zip(sketch.keys, sketch.moments[:, 0], strict=True)]
    total = sum(w for _, w in exact)
    mean = sum(x * w for x, w in exact) / total
    variance = sum((x - mean) ** 2 * w for x, w in exact) / total
    unit = Fraction(scale)
    assert sketch.mean == pytest.approx(float(mean), rel=1e-12, abs=max(1e-12 * scale, 5e-324))
    assert (Fraction(sketch.std) / unit) ** 2 == pytest.approx(
        float(variance / unit**2), rel=1e-3 if scale < 1e-310 else 1e-12
    )


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-100, 1e100, 1e300, 1e308])
@pytest.mark.parametrize("n", [10, 100_000])
def test_extreme_units(n, scale, rng):
    values = rng.uniform(-0.8, 0.8, size=n) * scale
    sketch = Sketch.from_values(values)
    assert (sketch.minimum, sketch.maximum, sketch.count) == (values.min(), values.max(), n)
    assert sketch.std == pytest.approx(np.std(values / scale) * scale, rel=1e-6)


@pytest.mark.parametrize("tiny", [-5e-324, -1e-300, -1e-30, -1e-17, 5e-324, 1e-30])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shift", [0.0, 1.0, 1024.0])
def test_values_a_hair_from_the_edge_of_a_cell(shift, sign, tiny):
    """Such an end less the number of the first cell rounds to the edge: no cell may be missed, or invented."""
    values = sign * np.r_[-np.linspace(1, 1000, 5000), tiny] + shift
    sketch = Sketch.from_values(values, cell_width=8.0)
    assert not sketch.is_exact
    assert sketch.weight == 5001
    assert (sketch.minimum, sketch.maximum) == (values.min(), values.max())
    assert sketch.std == pytest.approx(values.std(), rel=1e-12)
    assert sketch.keys[0] == floor(Fraction(values.min()) / 8)
    assert sketch.keys[-1] == floor(Fraction(values.max()) / 8)
    model = KDITransformer(0.3).fit(values[:, None])  # another way into cells
    assert model.sketches_[0].weight == 5001
    assert Sketch.from_bytes(sketch.to_bytes()).weight == 5001


def test_pickles_hold_no_more_after_use(rng):
    sketch = Sketch.from_values(rng.normal(size=1000), cell_width=0.1)
    before = pickle.dumps(sketch)
    assert sketch.std > 0
    assert pickle.dumps(sketch) == before
    again = pickle.loads(before)
    assert (again.std, again.count) == (sketch.std, sketch.count)


@pytest.mark.parametrize("unit", [5e-324, 3e-310, 1e-200, 1e200, 1e305])
def test_weights_of_any_magnitude(unit):
    values, weights = np.arange(9.0) ** 2, np.array([1, 4, 4, 1, 0, 3, 4, 0, 4.0])
    one, other = Sketch.from_values(values, weights), Sketch.from_values(values, weights * unit)
    assert_allclose([other.mean, other.std], [one.mean, one.std], rtol=1e-14)
