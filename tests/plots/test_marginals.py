"""Densities that margins of plots show, beside plain sums, and what is left out of a picture."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from marginal_oracle import reflected, scott
from numpy.testing import assert_allclose, assert_array_equal
from oracle import transform
from scipy.stats import gaussian_kde

import kdi
from kdi._plots.marginals import (
    curve_positions,
    curves_and_densities,
    density_after,
    density_bandwidth,
    density_before,
    quantiles,
    range_without_outliers,
    reflected_density,
    sketched_values,
    transform_feature,
)

SAMPLES = {
    "normal": lambda rng: rng.normal(size=300),
    "lognormal": lambda rng: rng.lognormal(size=300),
    "ties": lambda rng: rng.poisson(3, size=300).astype(float),
    "far from zero": lambda rng: 1e9 + rng.normal(size=300),
    "two values": lambda rng: np.array([1.0, 2.0]),
    "mostly one value": lambda rng: np.append(np.zeros(99), 1.0),
    "very small": lambda rng: 1e-100 * rng.normal(size=50),
    "very large": lambda rng: 1e100 * rng.normal(size=50),
}
EVERY_SAMPLE = pytest.mark.parametrize("kind", SAMPLES)


def integral(at, heights):
    return float(np.sum(np.diff(at) * (heights[1:] + heights[:-1]) / 2))


class TestDensity:
    @EVERY_SAMPLE
    def test_is_the_plain_sum(self, kind, rng):
        values = SAMPLES[kind](rng)
        sketch = kdi.Sketch.from_values(values)
        at = np.linspace(values.min(), values.max(), 200)
        expected = reflected(values, scott(values), values.min(), values.max(), at)
        assert_allclose(density_before(sketch, at), expected, rtol=1e-6, atol=1e-9 * expected.max())

    @EVERY_SAMPLE
    def test_of_what_a_transformer_makes_of_them(self, kind, rng):
        values = SAMPLES[kind](rng)
        for alpha in (0, 1, np.inf):
            after = transform(values, values, alpha, "polyexp")
            at, heights = density_after(after, np.ones(len(after)), len(after), 0.0)
            expected = reflected(after, scott(after), 0, 1, at)
            assert_allclose(heights, expected, rtol=1e-6, atol=1e-9 * expected.max())
            assert at[0] == 0 and at[-1] == 1

    def test_weights_are_repetitions_of_values(self, rng):
        values, weights = rng.normal(size=50), rng.integers(1, 4, size=50).astype(float)
        sketch = kdi.Sketch.from_values(values, weights)
        at = np.linspace(values.min(), values.max(), 100)
        expected = reflected(values, scott(values, weights), values.min(), values.max(), at, weights)
        assert_allclose(density_before(sketch, at), expected, rtol=1e-6)

    def test_away_from_the_ends_it_is_the_usual_estimate(self, rng):
        values = np.concatenate([rng.normal(size=2000), [-60, 60]])
        sketch = kdi.Sketch.from_values(values)
        at = np.linspace(-3, 3, 50)
        usual = gaussian_kde(values, density_bandwidth(sketch) / values.std(ddof=1))(at)
        assert_allclose(density_before(sketch, at), usual, rtol=1e-6)

    def test_of_cells(self, rng):
        """More values than a sketch keeps: cells give the density of the values."""
        values = rng.lognormal(size=100_000)
        sketch = kdi.Sketch.from_values(values)
        assert not sketch.is_exact
        at = np.linspace(values.min(), np.quantile(values, 0.99), 30)
        expected = reflected(values, density_bandwidth(sketch), values.min(), values.max(), at)
        assert_allclose(density_before(sketch, at), expected, rtol=1e-4, atol=1e-6)
        assert density_bandwidth(sketch) == pytest.approx(scott(values), rel=1e-3)

    def test_is_zero_where_nothing_was_seen(self, rng):
        sketch = kdi.Sketch.from_values(rng.uniform(size=100))
        assert_array_equal(density_before(sketch, np.array([-1.0, -1e-9, 1.5])), 0)

    def test_of_equal_values_is_infinite_there(self):
        found = density_before(kdi.Sketch.from_values([2.0, 2.0]), np.array([1.0, 2.0, 3.0]))
        assert_array_equal(found, [0, np.inf, 0])
        at, heights = density_after(np.array([0.5, 0.5]), np.ones(2), 2, 0.0)
        assert_array_equal(at, [0.5])
        assert_array_equal(heights, [np.inf])

    def test_of_nothing_is_nothing(self):
        at, heights = density_after(np.empty(0), np.empty(0), 10, 0.0)
        assert at.shape == heights.shape == (0,)

    def test_is_not_known_where_cells_are_too_wide(self, rng):
        sketch = kdi.Sketch.from_values(rng.normal(size=100_000), cell_width=4.0)
        assert density_bandwidth(sketch) is None
        assert density_before(sketch, np.array([0.0])) is None

    @given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(0, 10))
    def test_integrates_to_one(self, values, wider):
        """Over its range, and over any wider one at whose ends it is reflected."""
        assume(np.ptp(values) > 1e-6)
        sketch = kdi.Sketch.from_values(values)
        low = sketch.minimum - wider * sketch.range / 10
        bandwidth = density_bandwidth(sketch)
        steps = np.linspace(low, sketch.maximum, 2 + int(8 * (sketch.maximum - low) / bandwidth))
        assume(len(steps) < 200_000)  # where far outliers are: the picture ends before them
        found = integral(steps, reflected_density(sketch, bandwidth, low, sketch.maximum, steps))
        assert found == pytest.approx(1, abs=1e-6)

    def test_integrates_to_one_of_two_values(self):
        """Whose bandwidth is nearly half of the range: reflected once it would be 0.99."""
        at = np.linspace(1, 2, 10_001)
        assert integral(at, density_before(kdi.Sketch.from_values([1.0, 2.0]), at)) == pytest.approx(1, abs=1e-9)


class TestSketches:
    def test_quantiles_are_values(self, rng):
        values = rng.normal(size=101)
        found = quantiles(kdi.Sketch.from_values(values), np.array([0.25, 0.5, 1.0]))
        assert_array_equal(found, np.quantile(values, [0.25, 0.5, 1.0], method="inverted_cdf"))

    def test_positions_stay_within_the_range(self, rng):
        sketch = kdi.Sketch.from_values(rng.uniform(size=1000), cell_width=0.25)
        assert sketched_values(sketch).min() >= sketch.minimum
        assert sketched_values(sketch).max() <= sketch.maximum

    def test_grid_has_the_ends_and_the_values(self, rng):
        values = rng.lognormal(size=50)
        at = curve_positions(kdi.Sketch.from_values(values), -1.0, 100.0)
        assert at[0] == -1 and at[-1] == 100
        assert (np.diff(at) > 0).all()
        assert np.isin(values, at).all()

    def test_grid_is_short_for_many_values(self, rng):
        sketch = kdi.Sketch.from_values(rng.normal(size=20_000))
        assert len(curve_positions(sketch, sketch.minimum, sketch.maximum)) <= 1503


class TestBulk:
    def test_is_everything_without_outliers(self, rng):
        for values in (rng.normal(size=500), rng.uniform(size=500), rng.exponential(size=100), np.array([1.0, 2.0])):
            assert range_without_outliers(kdi.Sketch.from_values(values)) == (values.min(), values.max())

    def test_leaves_out_what_is_far(self, rng):
        values = rng.normal(size=1000)
        low, high = range_without_outliers(kdi.Sketch.from_values(np.append(values, [1e6, -1e6])))
        assert -6 < low <= values.min() + 1.5 and values.max() - 1.5 <= high < 6
        assert range_without_outliers(kdi.Sketch.from_values(np.append(values, 1e6)))[0] == values.min()

    def test_one_of_twenty_may_be_left_out(self):
        values = np.arange(20.0)
        assert range_without_outliers(kdi.Sketch.from_values(np.append(values, 1e3)))[1] < 25
        assert range_without_outliers(kdi.Sketch.from_values(np.append(values[:5], 1e3)))[1] == 1e3

    def test_many_far_values_are_no_outliers(self, rng):
        values = np.concatenate([rng.normal(size=900), rng.normal(1000, 1, size=100)])
        assert range_without_outliers(kdi.Sketch.from_values(values)) == (values.min(), values.max())

    def test_mostly_one_value(self):
        assert range_without_outliers(kdi.Sketch.from_values(np.append(np.zeros(999), 1.0))) == (0, 1)


class TestCurves:
    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_levels_are_those_of_transform(self, table, output):
        model = kdi.KDITransformer(output_distribution=output).fit(table)
        for j in range(4):
            assert_array_equal(transform_feature(model, j, table[:, j]), model.transform(table)[:, j])

    def test_the_range_is_that_of_both(self, table):
        """Of what was fitted, and of what was seen."""
        model = kdi.KDITransformer().fit(table)
        found = curves_and_densities(model, [0], kdi.Sketch.from_values([0.0, 50.0]))
        assert found["x"][0] == table[:, 0].min() and found["x"][-1] == 50
        assert found["shown"] == (table[:, 0].min(), 50)
        assert_array_equal(found["before"][found["x"] < 0], 0)

    def test_nothing_seen_and_nothing_fitted(self, table):
        model = kdi.KDITransformer().fit(table)
        assert curves_and_densities(model, [0], kdi.Sketch())["curves"].shape == (1, 0)
