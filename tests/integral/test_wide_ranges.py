"""Ranges of very many bandwidths: far values beside a robust spread, for which there are no regular knots."""

import numpy as np
import open_oracle
import pytest

from kdi import KDITransformer
from kdi._integral.build import DeferredFeatures
from kdi._integral.maps import LINEAR, MapOptions
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch

pytestmark = pytest.mark.numpy_core

EITHER_OUTPUT = pytest.mark.parametrize("output", ["uniform", "normal"])
KERNELS = pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])


def with_far_values(rng, far, n=800):
    return np.concatenate([rng.normal(size=n), far])


def errors(values, model):
    """The errors at the values and between them, where the exact score is within 6; and the bound."""
    bandwidth = float(model.bandwidth_[0])
    points = open_oracle.probes(values, bandwidth)
    lower, upper = open_oracle.tails(values, points, bandwidth, model.kernel, model.order)
    scores = open_oracle.level(lower, upper, "normal")
    exact = scores if model.output_distribution == "normal" else lower
    error = np.abs(model.transform(points[:, None])[:, 0] - exact)[np.abs(scores) <= 6]
    return error.max(), float(model.error_bound_[0])


@EITHER_OUTPUT
@KERNELS
@pytest.mark.parametrize("far", [[1e6], [-1e9, 1e9], [1e5, 1e5 + 1, 3e7]])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_far_values_cost_no_accuracy(far, alpha, kernel, output, rng):
    values = with_far_values(rng, far)
    model = KDITransformer(alpha, kernel=kernel, spread="robust", bounded=False, output_distribution=output)
    model.fit(values[:, None])
    assert model.packed_maps_.kind[0] == LINEAR
    error, bound = errors(values, model)
    assert error <= min(bound + 1e-13, 1e-6 if output == "uniform" else 1e-5)


@EITHER_OUTPUT
@KERNELS
def test_too_many_clusters_for_knots_between_the_values(kernel, output, rng):
    """Lines through the values are exact there, in both halves."""
    values = rng.standard_cauchy(20_000)
    model = KDITransformer(0.05, kernel=kernel, spread="robust", bounded=False, output_distribution=output)
    model.fit(values[:, None])
    some = np.sort(values)[::101]
    lower, upper = open_oracle.tails(values, some, float(model.bandwidth_[0]), kernel, 4)
    exact = open_oracle.level(lower, upper, "normal") if output == "normal" else lower
    np.testing.assert_allclose(model.transform(some[:, None])[:, 0], exact, rtol=0, atol=2e-8)


@pytest.mark.parametrize("bounded", [True, False])
def test_an_unresolved_spread_is_the_standard_deviation_and_says_so(bounded):
    """More than half of the values are one number, which cells cannot tell from its neighbours."""
    rng = np.random.default_rng(3)
    values = np.where(rng.uniform(size=100_000) < 0.8, 5.0, 5 + 3 * rng.normal(size=100_000))
    coarse = Sketch.from_values(values).coarsened(-4)
    model = KDITransformer(spread="robust", bounded=bounded).fit_sketches([coarse])
    usual = KDITransformer(bounded=bounded).fit_sketches([coarse])
    np.testing.assert_array_equal(model.transform(values[:, None]), usual.transform(values[:, None]))
    assert model.error_bound_ == 1


def test_pickles_of_unused_partial_fits_of_earlier_versions():
    sketch = Sketch.from_values([0.0, 1.0, 5.0])
    maps = DeferredFeatures([sketch], np.ones(1), get_kernel("polyexp"), MapOptions(7), None, True)
    state = {name: value for name, value in vars(maps).items() if name != "options"} | {"max_knots": 7}
    old = object.__new__(DeferredFeatures)
    old.__setstate__(state)
    np.testing.assert_array_equal(old.build()[0].maps.coefficients, maps.build()[0].maps.coefficients)
