"""kditransform.ksum: constants of the kernels, and the direct sum."""

import make_kditransform as golden
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kdi
from kdi._numerics.kernels import get_kernel
from kdi.compat.kditransform import ksum


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_constants_are_those_of_the_kernel(order):
    betas = ksum.betas_for_order(order)
    assert_allclose(ksum.norm_const_K(betas), 1)
    assert_allclose(ksum.h_Gauss_to_K(1.0, betas), get_kernel("polyexp", order).scale)
    assert_allclose(ksum.roughness_K(3 * betas), ksum.roughness_K(betas))
    assert_allclose(ksum.var_K(betas), ksum.var_K(3 * betas))


def test_the_sum_is_a_density(rng):
    values, points = np.sort(rng.normal(size=50)), np.linspace(-4, 4, 30)
    out, betas = np.empty(30), ksum.betas_for_order(4)
    h = ksum.h_Gauss_to_K(0.3 * values.std(), betas)
    ksum.ksum_numba(values, np.ones(50), points, h, betas, out, None, None, None, None)
    expected = kdi.KDE1D(values, alpha=0.3, kernel="polyexp").pdf(points)
    assert_allclose(out / (50 * h), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("order", golden.ORDERS)
def test_constants_are_those_of_the_original(original, order):
    betas = ksum.betas_for_order(order)
    constants = [ksum.h_Gauss_to_K(0.7, betas), ksum.roughness_K(2 * betas), ksum.var_K(2 * betas)]
    assert_allclose([*constants, ksum.norm_const_K(2 * betas), *betas], original[f"ksum|{order}"], rtol=1e-6)
