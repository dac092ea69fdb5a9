"""The derivatives of KDITransform in x are those of the fitted map."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.autograd import gradcheck, gradgradcheck

from kdi.torch import KDITransform

OPTIONS = {
    "default": {},
    "gaussian": {"kernel": "gaussian", "alpha": 0.3},
    "quantiles": {"alpha": 0.0},
    "min-max": {"alpha": float("inf")},
    "scores": {"output_distribution": "normal"},
    "open": {"bounded": False},
    "open scores": {"bounded": False, "output_distribution": "normal"},
    "open from -1 to 1": {"bounded": False, "feature_range": (-1, 1), "spread": "robust"},
    "linear": {"out_of_range": "linear"},
}
BEYOND = [name for name in OPTIONS if "open" in name or name == "linear"]


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return torch.from_numpy(np.column_stack([rng.lognormal(size=60), rng.normal(size=60), rng.uniform(size=60)]))


def inside(layer, x, n=12, seed=0):
    """Points in the inner part of intervals, of cubics or of lines, which are smooth there."""
    rng = np.random.default_rng(seed)
    columns = []
    for one in layer.maps.to_features().maps:
        ends = one.knots if hasattr(one, "knots") else one.low + np.arange(one.n_knots) / one.scale
        ends = ends[1:-1] if len(ends) > 4 else ends
        left = rng.integers(len(ends) - 1, size=n)
        columns.append(ends[left] + rng.uniform(0.2, 0.8, size=n) * (ends[left + 1] - ends[left]))
    return torch.from_numpy(np.column_stack(columns)).requires_grad_()


@pytest.mark.parametrize("name", OPTIONS)
def test_first_and_second_derivative(name, x):
    layer = KDITransform(**OPTIONS[name]).fit(x)
    points = inside(layer, x)
    assert gradcheck(layer, (points,))
    assert gradgradcheck(layer, (points,), eps=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_the_range(name, x):
    layer = KDITransform(**OPTIONS[name]).fit(x)
    low, high = layer.maps.low, layer.maps.high
    gap = high - low
    points = torch.stack([low - 0.3 * gap, low - 0.01 * gap, high + 0.02 * gap, high + 0.4 * gap]).requires_grad_()
    assert gradcheck(layer, (points,))
    assert gradgradcheck(layer, (points,))


@pytest.mark.parametrize("name", OPTIONS)
def test_inverse(name, x):
    layer = KDITransform(**OPTIONS[name]).fit(x)
    ordered = x.sort(0).values
    points = (ordered[20:32] + ordered[21:33]) / 2
    levels = layer(points).requires_grad_()
    assert gradcheck(layer.inverse, (levels,), atol=1e-4)
    (slope,) = torch.autograd.grad(layer(points.requires_grad_()).sum(), points)
    (inverse_slope,) = torch.autograd.grad(layer.inverse(levels).sum(), levels)
    assert_allclose((slope * inverse_slope).detach(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"learn_alpha": True}, {"learn_alpha": True, "out_of_range": "nan"}], ids=str)
def test_no_gradient_is_nan(options, x):
    """Missing and infinite values, those beyond the range, constant and empty columns."""
    table = torch.column_stack([x, torch.full((60,), 2.5), torch.full((60,), torch.nan)])
    layer = KDITransform(**options).fit(table)
    points = torch.vstack([table[:5], table[:5] - 100, table[:5] + 100, torch.full((1, 5), torch.nan)])
    points = torch.vstack([points, torch.full((1, 5), torch.inf)]).requires_grad_()
    layer(points).nan_to_num().sum().backward()
    assert points.grad.isfinite().all()
    assert (points.grad[5:] == 0).all()
    assert (points.grad[:5, :3] >= 0).all()
    if layer.log_alpha is not None:
        assert layer.log_alpha.grad.isfinite().all()
        assert_allclose(layer.log_alpha.grad[3:], 0, atol=1e-12)


def test_a_network_trains_through_it(x):
    """Gradients reach what lies before the layer: a shift is found again."""
    layer = KDITransform().fit(x)
    wanted, shift = layer(x + 0.2), torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([shift], max_iter=50, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        error = ((layer(x + shift) - wanted) ** 2).sum()
        error.backward()
        return error

    optimizer.step(loss)
    assert_allclose(shift.detach(), 0.2, atol=1e-3)
