"""find_modes: every peak and valley of a kernel density estimate, against a fine grid and bisection."""

import numpy as np
import pytest
from cluster_oracle import Density
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample

from kdi import Sketch
from kdi._clustering.modes import Modes, find_modes
from kdi._integral.integral import Integral
from kdi._numerics.kernels import get_kernel

pytestmark = pytest.mark.numpy_core

GAUSSIAN = get_kernel("gaussian")
FACTORS = [0.07, 0.3, 1.0]


def modes_of(values, bandwidth, weights=None, cell_width=None):
    """Modes, their positions as values."""
    sketch = Sketch.from_values(np.asarray(values, dtype=float), weights=weights, cell_width=cell_width)
    (found,) = find_modes([Integral.from_sketch(sketch, GAUSSIAN, bandwidth, finer=4.0)])
    return Modes(
        found.peaks + sketch.minimum, found.valleys + sketch.minimum, found.peak_densities, found.valley_densities
    )


def assert_modes(found, density):
    """The oracle's turning points; where they are ill-determined, as near as rounding lets them be."""
    places, heights = density.turns
    assert len(found.peaks) == len(places[::2])
    assert len(found.valleys) == len(found.peaks) - 1
    flat = np.maximum(1, heights / np.maximum(abs(density.curve(places)) * density.bandwidth**2, 1e-300))
    tolerance = 1e-12 * density.bandwidth * flat + 4 * np.spacing(density.points[-1])
    void = heights < 1e-8 * heights.max()  # a valley anywhere in empty space
    both = np.empty(len(places)), np.empty(len(places))
    both[0][::2], both[0][1::2] = found.peaks, found.valleys
    both[1][::2], both[1][1::2] = found.peak_densities, found.valley_densities
    assert (abs(both[0] - places) <= tolerance)[~void].all()
    assert_allclose(both[1], heights, rtol=0, atol=1e-8 * heights.max())
    assert_allclose(both[1][~void], heights[~void], rtol=1e-11)
    assert (density.value(both[0][void]) <= 1e-8 * heights.max()).all()


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("n", [2, 3, 10, 150])
@pytest.mark.parametrize("name", SAMPLES)
def test_against_the_oracle(name, n, factor):
    values = sample(name, n)
    values = (values - values.min()) / np.ptp(values)  # as levels of T are
    bandwidth = factor * values.std()
    assert_modes(modes_of(values, bandwidth), Density(values, bandwidth))


@pytest.mark.parametrize("factor", FACTORS)
def test_weights(factor, rng):
    values, weights = rng.uniform(size=80), rng.exponential(size=80)
    assert_modes(modes_of(values, factor / 4, weights), Density(values, factor / 4, weights))


@pytest.mark.parametrize("n", [1000, 4000])
def test_many_values(n, rng):
    values = np.concatenate([rng.normal(size=n // 2), rng.normal(5, 0.5, size=n // 2)])
    for factor in (0.05, 0.3):
        bandwidth = factor * values.std()
        assert_modes(modes_of(values, bandwidth), Density(values, bandwidth))


@pytest.mark.parametrize("share", [16, 64])
def test_cells_are_near_the_values(share, rng):
    """Cells of a small part of the bandwidth keep the moments of what is in them, and so the modes."""
    values = np.concatenate([rng.normal(size=300), rng.normal(5, 0.5, size=300)])
    for bandwidth in (0.1, 0.4):
        cells = modes_of(values, bandwidth, cell_width=bandwidth / share)
        exact = modes_of(values, bandwidth)
        assert len(cells.peaks) == len(exact.peaks) > 1
        density = Density(values, bandwidth)
        curve = abs(density.curve(exact.peaks)) * bandwidth**2
        assert (abs(cells.peaks - exact.peaks) <= 1e-6 * bandwidth * exact.peak_densities / curve).all()
        assert_allclose(cells.peak_densities, exact.peak_densities, rtol=1e-7)
        assert_allclose(cells.valley_densities, exact.valley_densities, rtol=1e-7, atol=1e-7)


class TestCorners:
    def test_two_values_part_when_they_are_two_bandwidths_apart(self):
        """f is symmetric; its middle is a valley if the values are more than 2h apart, else a peak."""
        near, far = modes_of([0, 1], 1 / 1.98), modes_of([0, 1], 1 / 2.02)
        assert_allclose(near.peaks, [0.5], rtol=0, atol=1e-12)
        assert len(near.valleys) == 0
        assert len(far.peaks) == 2
        assert_allclose(far.valleys, [0.5], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("bandwidth", [0.03, 0.1, 0.25])
    def test_symmetric_data_have_symmetric_modes(self, bandwidth, rng):
        half = rng.uniform(0.1, 1, size=20)
        found = modes_of(np.concatenate([-half, half]), bandwidth)
        assert len(found.peaks) % 2 == 0  # 0 is a valley
        assert_allclose(found.peaks, -found.peaks[::-1], rtol=0, atol=1e-12)
        assert_allclose(found.valleys, -found.valleys[::-1], rtol=0, atol=1e-12)
        assert_allclose(found.peak_densities, found.peak_densities[::-1], rtol=1e-12)
        assert found.valleys[len(found.valleys) // 2] == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("gap", [1e2, 1e4, 1e7])
    def test_empty_space_has_one_valley(self, gap):
        """Between groups so far apart that the density underflows there is one valley, somewhere in the void."""
        values = np.array([0, 0.5, 1, gap, gap + 0.5, gap + 1, 3 * gap])
        found = modes_of(values, 0.6)
        assert_allclose(found.peaks, [0.5, gap + 0.5, 3 * gap], rtol=1e-12)
        assert (found.valley_densities <= 1e-8 * found.peak_densities.min()).all()
        assert 1 < found.valleys[0] < gap
        assert gap + 1 < found.valleys[1] < 3 * gap
        assert_allclose(found.depths, 1, rtol=0, atol=1e-7)

    @pytest.mark.parametrize("n", [50, 300])
    def test_a_plateau_is_one_peak(self, n):
        """Evenly spaced values close together: ripples of their density are below rounding."""
        found = modes_of(np.linspace(0, 1, n), 0.1)
        assert_allclose(found.peaks, [0.5], rtol=0, atol=0.2)
        assert len(found.valleys) == 0

    def test_two_plateaus(self):
        values = np.concatenate([np.linspace(0, 1, 100), np.linspace(3, 4, 100)])
        found = modes_of(values, 0.1)
        assert len(found.peaks) == 2
        assert found.peaks[0] + found.peaks[1] == pytest.approx(4, abs=1e-6)
        assert found.valleys[0] == pytest.approx(2, abs=1e-9)

    @pytest.mark.parametrize("n_ties", [1, 7, 1000])
    def test_ties_are_weights(self, n_ties):
        values = np.array([0.0, 1.0, 1.7, 4.0, 4.1])
        repeated = modes_of(np.repeat(values, [n_ties, 1, 2, 1, n_ties]), 0.3)
        weighted = modes_of(values, 0.3, weights=np.array([n_ties, 1, 2, 1, n_ties], dtype=float))
        assert_allclose(repeated.peaks, weighted.peaks, rtol=0, atol=1e-12)
        assert_allclose(repeated.valleys, weighted.valleys, rtol=0, atol=1e-12)
        assert_modes(repeated, Density(np.repeat(values, [n_ties, 1, 2, 1, n_ties]), 0.3))

    def test_lonely_values_are_peaks(self):
        values = np.arange(6.0)
        found = modes_of(values, 0.05)
        assert_allclose(found.peaks, values, rtol=0, atol=1e-12)
        assert_allclose(found.valleys, values[:-1] + 0.5, rtol=0, atol=0.4)
        assert_allclose(found.peak_densities, 1 / (6 * 0.05 * np.sqrt(2 * np.pi)), rtol=1e-12)


class TestModes:
    """Closing a valley, by hand."""

    modes = Modes(
        np.array([1.0, 3.0, 5.0, 7.0]),
        np.array([2.0, 4.0, 6.0]),
        np.array([4.0, 2.0, 5.0, 1.0]),
        np.array([1.0, 1.5, 0.2]),
    )

    def test_depths(self):
        assert_allclose(self.modes.depths, [1 - 1 / 2, 1 - 1.5 / 2, 1 - 0.2 / 1], rtol=1e-15)
        assert_array_equal(self.modes.lower_peaks, [2, 2, 1])

    @pytest.mark.parametrize(
        ("valley", "peaks", "valleys"), [(0, [1, 5, 7], [4, 6]), (1, [1, 5, 7], [2, 6]), (2, [1, 3, 5], [2, 4])]
    )
    def test_the_higher_peak_stays(self, valley, peaks, valleys):
        rest = self.modes.without(valley)
        assert_array_equal(rest.peaks, peaks)
        assert_array_equal(rest.valleys, valleys)
        assert len(rest.peak_densities) == 3
        assert len(rest.valley_densities) == 2
