"""KDITransform(learn_alpha=True): within the stated error of exact maps at any alpha, and differentiable in it."""

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from samples import SAMPLES, sample
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call

import kdi.torch
from kdi.torch import KDITransform, _alpha_path
from kdi.torch._alpha_path import LEAST, MATRIX, MOST, STEP

KERNELS = pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
OPTIONS = {
    "default": {},
    "open": {"bounded": False},
    "open scores": {"bounded": False, "output_distribution": "normal"},
    "robust, from -1 to 1": {"spread": "robust", "feature_range": (-1, 1)},
}
LOGS = st.floats(log(LEAST), log(MOST))


def set_alpha(layer, alpha):
    with torch.no_grad():
        layer.log_alpha.fill_(log(alpha))


def largest_error(layer, x):
    """The distance to exact maps at the current alphas; of scores, those within 6."""
    exact = kdi.torch.transform(x, layer.maps, out_of_range=layer.out_of_range)
    error = (layer(x).detach() - exact).abs()
    assert torch.equal(error.isnan(), exact.isnan())
    return torch.where(exact.abs() <= 6, error, 0.0).amax(0)


@pytest.fixture(scope="module")
def x():
    columns = [sample(name, 400) for name in ("normal", "lognormal-1", "cauchy", "poisson")]
    return torch.from_numpy(np.column_stack([*columns, np.resize([0, 1, 2, 3.5, 100], 400), np.full(400, 7.0)]))


@KERNELS
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_stated_error_holds(kernel, options, x):
    layer = KDITransform(kernel=kernel, learn_alpha=True, **options).fit(x)
    rng = np.random.default_rng(0)
    grid = x.amin(0) + torch.linspace(-0.1, 1.1, 500, dtype=torch.float64)[:, None] * (x.amax(0) - x.amin(0))
    points = torch.vstack([x, grid])
    for alpha in np.exp(rng.uniform(log(LEAST), log(MOST), size=30)):
        set_alpha(layer, alpha)
        assert (largest_error(layer, points) <= layer.path_error).all()
    if options.get("output_distribution") != "normal":
        assert layer.path_error.max() < 2e-5


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(SAMPLES)), kernel=st.sampled_from(["polyexp", "gaussian"]), order=st.integers(1, 6),
       n=st.integers(2, 200), seed=st.integers(0, 99), logs=st.lists(LOGS, min_size=5, max_size=5))  # fmt: skip
def test_the_stated_error_of_any_sample(name, kernel, order, n, seed, logs):
    values = torch.from_numpy(sample(name, n, seed))[:, None]
    layer = KDITransform(kernel=kernel, order=order, learn_alpha=True).fit(values)
    share = torch.linspace(0, 1, 300, dtype=torch.float64)[:, None]
    points = torch.vstack([values, values.amin(0) * (1 - share) + values.amax(0) * share])
    for log_alpha in logs:
        set_alpha(layer, np.exp(log_alpha))
        assert (largest_error(layer, points) <= layer.path_error).all()


@pytest.mark.parametrize("output_distribution", ["uniform", "normal"])
def test_scores_of_bounded_maps(output_distribution, x):
    """Their error is that of the level, divided by the density."""
    layer = KDITransform(0.4, output_distribution=output_distribution, learn_alpha=True).fit(x)
    exact = kdi.torch.transform(x, layer.maps)
    if output_distribution == "normal":
        levels = [torch.special.ndtr(one) for one in (layer(x).detach(), exact)]
    else:
        levels = [layer(x).detach(), exact]
    assert ((levels[0] - levels[1]).abs().amax(0) <= layer.path_error + 1e-7).all()  # 1e-7: clipped scores


def test_weights_of_the_neighbours():
    """They reproduce polynomials of degree four, and have two continuous derivatives."""
    matrix, nodes, t = np.array(MATRIX), np.arange(-2, 4), np.linspace(0, 1, 11)
    weights = t[:, None] ** np.arange(6) @ matrix
    for degree in range(5):
        assert_allclose(weights @ nodes**degree, t**degree, atol=1e-12)
    factors = [np.ones(6), np.arange(6), np.arange(6) * (np.arange(6) - 1)]
    for order, factor in enumerate(factors):
        at_end = (factor[:, None] * matrix).sum(0)
        at_start = factor[order] * matrix[order]
        assert_allclose(at_end[1:], at_start[:-1], atol=1e-12)
        assert_allclose([at_end[0], at_start[-1]], 0, atol=1e-12)


@KERNELS
@pytest.mark.parametrize("options", [*OPTIONS.values(), {"output_distribution": "normal"}], ids=str)
def test_derivatives(kernel, options, x):
    x = x[:, [0, 1, 3]]
    layer = KDITransform([0.3, 1.0, 4.0], kernel=kernel, learn_alpha=True, **options).fit(x).double()
    generator = torch.Generator().manual_seed(0)
    share = 0.1 + 0.8 * torch.rand(6, 3, generator=generator, dtype=torch.float64)
    points = (x.amin(0) * (1 - share) + x.amax(0) * share).requires_grad_()
    log_alpha = (layer.log_alpha.detach() + 0.03).requires_grad_()

    def call(points, log_alpha):
        return functional_call(layer, {"log_alpha": log_alpha}, (points,))

    assert gradcheck(call, (points, log_alpha), eps=1e-5, atol=1e-4)
    # Positions are rounded to 2^-32 of an interval, which shows in differences of smaller steps.
    assert gradgradcheck(call, (points, log_alpha), eps=1e-4, atol=1e-3)


@KERNELS
def test_the_derivative_is_that_of_the_integral(kernel, x):
    """Compared with differences of exact maps at two alphas."""
    layer = KDITransform(0.7, kernel=kernel, learn_alpha=True).fit(x).double()
    points, step = x[:40], 0.02
    log_alpha = layer.log_alpha
    gradients = [torch.autograd.grad(layer(points)[:, j].sum(), log_alpha)[0][j].item() for j in range(x.shape[1])]
    sums = []
    for sign in (-2, -1, 1, 2):
        set_alpha(layer, 0.7 * np.exp(sign * step))
        sums.append(kdi.torch.transform(points, layer.maps).sum(0))
    differences = (sums[0] - 8 * sums[1] + 8 * sums[2] - sums[3]) / (12 * step)
    assert_allclose(gradients, differences, atol=40 * 1e-4)


def test_ends_of_the_path(x):
    """Beyond them, log alpha acts like the end, with gradient 0."""
    layer = KDITransform(learn_alpha=True).fit(x).double()
    for inner, outer in ((LEAST, LEAST / 10), (MOST, MOST * 10)):
        set_alpha(layer, inner)
        end = layer(x)
        set_alpha(layer, outer)
        assert_allclose(layer(x).detach(), end.detach(), rtol=0, atol=1e-12)
        assert_allclose(layer.alphas, inner)
        layer(x).sum().backward()
        assert (layer.log_alpha.grad == 0).all()
        assert (largest_error(layer, x) <= layer.path_error).all()


def test_results_stay_in_the_range(x):
    for options in ({}, {"feature_range": (-0.1, 0.7)}, {"bounded": False, "feature_range": (-0.1, 0.7)}):
        layer = KDITransform(learn_alpha=True, **options).fit(x)
        low, high = options.get("feature_range", (0, 1))
        for alpha in (LEAST, 0.123, 1.7, MOST):
            set_alpha(layer, alpha)
            for points in (x, x - 1e3, x + 1e6):
                assert ((layer(points) >= low) & (layer(points) <= high)).all()


def test_fit_and_partial_fit_keep_the_parameter(x):
    """An optimizer holds the parameter: fits change its value, never the object, while the shape is the same."""
    layer = KDITransform(0.5, learn_alpha=True).fit(x)
    parameter = layer.log_alpha
    set_alpha(layer, 2.0)
    assert layer.partial_fit(x).log_alpha is parameter
    assert_allclose(layer.alphas, 2.0)
    assert layer.fit(x).log_alpha is parameter
    assert_allclose(layer.alphas, 0.5)
    assert layer.fit(x[:, :2]).log_alpha.shape == (2,)
    assert layer.tensors.state_dict() == {}  # the path is built again from the sketches


def test_one_alpha_per_column_of_a_batch():
    x = torch.randn(100, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alpha = torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]])
    layer = KDITransform(alpha, learn_alpha=True).fit(x)
    assert_allclose(layer.alphas, alpha, rtol=1e-6)
    assert layer.log_alpha.shape == (2, 3)
    exact = kdi.torch.transform(x, kdi.torch.fit(x, alpha=alpha))
    assert ((layer(x) - exact).abs().amax(0) <= layer.path_error).all()


def test_maps_follow_the_parameter(x):
    layer = KDITransform(learn_alpha=True).fit(x)
    first = layer.maps
    assert layer.maps.low is first.low
    set_alpha(layer, 3.0)
    expected = kdi.torch.fit(x, alpha=3.0)
    assert_allclose(kdi.torch.transform(x, layer.maps), kdi.torch.transform(x, expected), rtol=0, atol=2e-6)
    fixed = KDITransform.from_maps(layer.maps)
    assert fixed.log_alpha is None
    assert_allclose(fixed(x), layer(x).detach(), rtol=0, atol=float(layer.path_error.max()))
    assert_allclose(layer.inverse(fixed(x)), fixed.inverse(fixed(x)), rtol=1e-9)


def test_training_finds_the_alpha():
    """The data is T at some alphas; gradient descent finds them."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 2, generator=generator, dtype=torch.float64) ** 3
    wanted = torch.tensor([0.2, 3.0])
    y = kdi.torch.transform(x, kdi.torch.fit(x, alpha=wanted))
    layer = KDITransform(learn_alpha=True).fit(x)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.mse_loss(layer(x), y).backward()
        optimizer.step()
    assert_allclose(layer.alphas, wanted, rtol=0.02)


def test_the_nodes():
    alphas = _alpha_path.path_alphas(0, _alpha_path.N_INTERVALS + 1)
    assert_allclose(alphas[[0, -1]], [LEAST, MOST])
    assert_allclose(STEP, 0.0987, atol=1e-4)
