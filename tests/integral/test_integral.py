"""Integrals and lookup maps, which lie between a sketch and the transformer."""

from math import floor, log2

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import ALPHAS, KERNELS, SAMPLES, probes, sample

from kdi import Sketch
from kdi._integral.build import build_map
from kdi._integral.integral import Integral
from kdi._integral.maps import MapOptions, forward, inverse
from kdi._numerics.kernels import get_kernel

pytestmark = pytest.mark.numpy_core


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("kernel", "order"), KERNELS)
@pytest.mark.parametrize("name", SAMPLES)
def test_integral_of_values(name, kernel, order, alpha):
    values = sample(name, 700)
    at, bandwidth = probes(values, 200), alpha * oracle.spread(values)
    integral = Integral.from_sketch(Sketch.from_values(values), get_kernel(kernel, order), bandwidth)
    cdf, pdf = integral.at(at - values.min())
    error = abs(cdf - oracle.cdf(values, at, bandwidth, kernel, order)).max()
    assert error <= integral.value_error <= 1e-8
    if integral.width == 0:
        assert error <= 1e-12  # nothing but rounding where the values themselves are kept
    assert abs(pdf - oracle.pdf(values, at, bandwidth, kernel, order)).max() <= integral.density_error


@pytest.mark.parametrize("share", [1 / 4, 1 / 32])
@pytest.mark.parametrize(("kernel", "order"), KERNELS)
@pytest.mark.parametrize("name", ["normal", "lognormal-2", "offset-1e9", "poisson"])
def test_integral_of_cells_keeps_the_bound_of_the_sketch(name, kernel, order, share):
    """The error of T made of cells, each a Taylor expansion of third order, is within Sketch.error_bound."""
    values = sample(name, 20_000)
    bandwidth = oracle.spread(values)
    sketch = Sketch.exact(values).coarsened(floor(log2(bandwidth * share)))
    at = np.r_[values.min(), probes(values, 100), values.max()]
    integral = Integral.from_sketch(sketch, get_kernel(kernel, order), bandwidth)
    cdf, pdf = integral.at(at - values.min())
    ours, exact = cdf, oracle.cdf(values, at, bandwidth, kernel, order)
    ours, exact = ((one - one[0]) / (one[-1] - one[0]) for one in (ours, exact))
    bound = sketch.error_bound(bandwidth, kernel, order)
    assert abs(ours - exact).max() <= bound + 1e-12
    assert bound <= 0.01 * (share * 4) ** 4
    assert abs(pdf - oracle.pdf(values, at, bandwidth, kernel, order)).max() <= integral.density_error


@pytest.mark.parametrize(("kernel", "order"), KERNELS)
def test_integral_far_outside_the_data(kernel, order):
    values = sample("normal", 500)
    integral = Integral.from_sketch(Sketch.from_values(values), get_kernel(kernel, order), 0.5)
    cdf, pdf = integral.at(np.array([-1e6, -200.0, 200.0, 1e6]))
    assert_allclose(cdf, [0, 0, 1, 1], rtol=0, atol=1e-12)
    assert_allclose(pdf, 0, rtol=0, atol=1e-12)


def run(function, column_map, values, policy="clip"):
    values = np.asarray(values, dtype=float).reshape(-1, 1)
    out = np.empty_like(values)
    assert function([column_map], values, out, policy) == -1
    return out[:, 0]


@pytest.mark.parametrize("max_knots", [None, 2, 3, 50])
@pytest.mark.parametrize("relative_bandwidth", [0, 1e-3, 0.05, 1.0, 10.0, np.inf])
@pytest.mark.parametrize("name", SAMPLES)
def test_map_is_monotone_and_its_inverse_is_too(name, relative_bandwidth, max_knots):
    values = sample(name, 700)
    bandwidth = relative_bandwidth * oracle.spread(values)
    column_map = build_map(Sketch.from_values(values), get_kernel("polyexp"), bandwidth, MapOptions(max_knots))
    assert max_knots is None or column_map.n_knots <= max_knots
    assert 0 <= column_map.error <= 1
    at = np.linspace(values.min(), values.max(), 40_001)
    close = np.sort(np.r_[at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])
    assert (np.diff(run(forward, column_map, close)) >= 0).all()
    levels = np.linspace(0, 1, 40_001)
    close = np.sort(np.r_[levels, np.nextafter(levels, 2), np.nextafter(levels, -1)])
    back = run(inverse, column_map, close)
    assert (np.diff(back) >= -1e-12 * np.ptp(values)).all()  # Newton's method stops some ulps away from the root
    assert back[0] == values.min()
    assert back[-1] == values.max()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_maps_return_the_column_of_an_infinite_value(bad):
    maps = [build_map(Sketch.from_values([0.0, 1.0]), get_kernel("gaussian"), 0.3)] * 3
    values = np.zeros((5, 3))
    values[4, 2] = bad
    assert forward(maps, values, np.empty_like(values), "clip") == 2
    assert inverse(maps, values, np.empty_like(values), "clip") == 2
    values[4, 2] = np.nan
    assert forward(maps, values, np.empty_like(values), "clip") == -1


def test_maps_write_in_place():
    values = np.linspace(0, 1, 12).reshape(4, 3)
    maps = [build_map(Sketch.from_values(column), get_kernel("gaussian"), 0.3) for column in values.T]
    out = np.empty_like(values)
    forward(maps, values, out, "clip")
    forward(maps, values, values, "clip")
    assert_array_equal(values, out)
