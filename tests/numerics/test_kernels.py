"""Kernels: the closed forms against integration of the density, and both against the oracle."""

import numpy as np
import oracle
import pytest
from samples import KERNELS
from scipy.integrate import quad
from scipy.stats import norm

from kdi._numerics.kernels import get_kernel

pytestmark = pytest.mark.numpy_core

EVERY_KERNEL = pytest.mark.parametrize(("kernel", "order"), [*KERNELS, ("polyexp", 9), ("polyexp", 20)])
GRID = np.r_[-60.0, np.linspace(-12, 12, 97), 60.0]


@EVERY_KERNEL
def test_oracle_cdf_integrates_its_pdf(kernel, order):
    for u in [-7.0, -1.3, -0.2, 0.0, 0.4, 2.5, 9.0]:
        above = quad(lambda v: float(oracle.kernel_pdf(v, kernel, order)), abs(u), np.inf, epsabs=1e-13)[0]
        expected = above if u < 0 else 1 - above
        assert oracle.kernel_cdf(u, kernel, order) == pytest.approx(expected, abs=1e-12)


@EVERY_KERNEL
def test_cdf_and_pdf_equal_the_oracle(kernel, order):
    ours = get_kernel(kernel, order)
    np.testing.assert_allclose(ours.cdf(GRID), oracle.kernel_cdf(GRID, kernel, order), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ours.pdf(GRID), oracle.kernel_pdf(GRID, kernel, order), rtol=1e-13, atol=1e-15)


@EVERY_KERNEL
def test_cdf_integrates_the_pdf(kernel, order):
    ours = get_kernel(kernel, order)
    for low, high in [(-5.0, -1.0), (-1.0, 0.5), (0.0, 3.0), (2.0, 11.0)]:
        area = quad(lambda v: float(ours.pdf(np.array(v))), low, high, points=[0.0], epsabs=1e-13)[0]
        assert float(ours.cdf(np.array(high)) - ours.cdf(np.array(low))) == pytest.approx(area, abs=1e-12)


@EVERY_KERNEL
def test_scale_makes_the_smoothing_equal(kernel, order):
    assert get_kernel(kernel, order).scale == pytest.approx(oracle.canonical_scale(kernel, order), rel=1e-14)


def test_scale_of_the_papers_kernel():
    assert round(get_kernel("polyexp", 4).scale, 6) == 0.267260
    assert get_kernel("gaussian").scale == 1


@pytest.mark.parametrize(("kernel", "order"), KERNELS)
def test_scale_is_the_ratio_of_canonical_bandwidths(kernel, order):
    # (R(K) / mu_2(K)^2)^(1/5), relative to the Gaussian's, by quadrature instead of the closed form
    pdf = get_kernel(kernel, order).pdf
    roughness = 2 * quad(lambda v: float(pdf(np.array(v))) ** 2, 0, np.inf, epsabs=1e-13)[0]
    variance = 2 * quad(lambda v: v**2 * float(pdf(np.array(v))), 0, np.inf, epsabs=1e-13)[0]
    expected = (roughness / variance**2 * 2 * np.sqrt(np.pi)) ** 0.2
    assert get_kernel(kernel, order).scale == pytest.approx(expected, rel=1e-8)


def test_gaussian_is_the_normal_distribution():
    ours = get_kernel("gaussian")
    np.testing.assert_allclose(ours.cdf(GRID), norm.cdf(GRID), rtol=1e-13, atol=0)
    np.testing.assert_allclose(ours.pdf(GRID), norm.pdf(GRID), rtol=1e-13, atol=0)


@EVERY_KERNEL
def test_far_out_there_is_nothing(kernel, order):
    far = np.array([-1e300, -1e10, -2000.0, 2000.0, 1e10, 1e300])
    ours = get_kernel(kernel, order)
    with np.errstate(over="ignore"):  # the square of 1e300
        np.testing.assert_array_equal(ours.cdf(far), [0, 0, 0, 1, 1, 1])
        np.testing.assert_array_equal(ours.pdf(far), 0)


@EVERY_KERNEL
def test_max_fourth_derivative(kernel, order):
    # the third difference of the density cannot exceed the largest G'''' and comes close to it
    ours = get_kernel(kernel, order)
    step = 1e-2
    u = np.arange(-40, 40, step / 8) + step / 70
    density = ours.pdf(u[:, None] + step * np.arange(4))
    largest = abs(density @ [-1, 3, -3, 1]).max() / step**3 / ours.scale**4
    assert largest <= ours.max_fourth_derivative * (1 + 1e-6)
    assert largest >= ours.max_fourth_derivative * 0.95
