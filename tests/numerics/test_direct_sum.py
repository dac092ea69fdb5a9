"""kdi._numerics.direct_sum, the package's own direct sum, against the suite's oracle and against quadrature."""

import numpy as np
import oracle
import pytest
from samples import ALPHAS, KERNELS, SAMPLES, probes, sample
from scipy.integrate import quad

from kdi._numerics.direct_sum import kd_integral


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("kernel", "order"), KERNELS)
@pytest.mark.parametrize("name", SAMPLES)
def test_equals_the_oracle(name, kernel, order, alpha):
    values = sample(name, 200)
    at = probes(values, 100)
    ours = kd_integral(values, at, alpha * oracle.spread(values), kernel, order)
    np.testing.assert_allclose(ours, oracle.transform(values, at, alpha, kernel, order), rtol=0, atol=2e-14)


@pytest.mark.parametrize(("kernel", "order"), KERNELS)
def test_equals_quadrature_of_the_density(kernel, order):
    values = np.array([-1.0, 0.0, 0.1, 2.0, 5.0])
    bandwidth = 0.7
    unit = bandwidth * oracle.canonical_scale(kernel, order)

    def density(x):
        return float(oracle.kernel_pdf((x - values) / unit, kernel, order).sum())

    def area(low, high):
        return quad(density, low, high, points=values[(values > low) & (values < high)], epsabs=1e-12, limit=400)[0]

    for x in [-0.5, 0.05, 1.0, 3.3, 4.9]:
        expected = area(-1, x) / area(-1, 5)
        assert float(kd_integral(values, x, bandwidth, kernel, order)) == pytest.approx(expected, abs=1e-10)


def test_weights_are_repetitions(rng):
    values, counts = rng.normal(size=40), rng.integers(0, 4, size=40)
    at = np.linspace(-2, 2, 50)
    repeated = kd_integral(np.repeat(values, counts), at, 0.5)
    np.testing.assert_allclose(kd_integral(values, at, 0.5, weights=counts), repeated, atol=1e-14)
