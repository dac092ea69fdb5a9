"""The derivatives of KDITransform in x are those of the fitted map."""

import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import jacfwd, jacrev, vmap

import kdi.torch
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


@pytest.mark.parametrize("options", [{}, {"out_of_range": "nan"}, {"output_distribution": "normal"}], ids=str)
@pytest.mark.parametrize("learn_alpha", [False, True])
def test_no_gradient_is_nan(options, learn_alpha, x):
    """Missing and infinite values, those beyond the range, constant and empty columns."""
    table = torch.column_stack([x, torch.full((60,), 2.5), torch.full((60,), torch.nan)])
    layer = KDITransform(learn_alpha=learn_alpha, **options).fit(table)
    points = torch.vstack([table[:5], table[:5] - 100, table[:5] + 100, torch.full((1, 5), torch.nan)])
    points = torch.vstack([points, torch.full((1, 5), torch.inf)]).requires_grad_()
    layer(points).nan_to_num().sum().backward()
    assert points.grad.isfinite().all()
    assert (points.grad[5:] == 0).all()
    assert (points.grad[:5, :3] >= 0).all()
    if layer.log_alpha is not None:
        assert layer.log_alpha.grad.isfinite().all()
        assert_allclose(layer.log_alpha.grad[3:], 0, atol=1e-12)


@pytest.mark.parametrize("out_of_range", ["clip", "linear", "nan"])
def test_scores_at_the_extremes(out_of_range, x):
    """Where scores are clipped, the derivative of the level is not infinite times 0; alphas can be learned."""
    layer = KDITransform(output_distribution="normal", out_of_range=out_of_range, learn_alpha=True).fit(x)
    points = torch.vstack([x.amin(0), x.amax(0), x.amin(0) - 1, x.amax(0) + 1]).requires_grad_()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (layer(points).nan_to_num().square().sum() + layer(x).square().sum()).backward()
        optimizer.step()
    assert points.grad.isfinite().all()
    assert layer.log_alpha.isfinite().all()


def test_the_score_of_the_middle():
    """Its derivative is that of the quantile at 1/2, although two branches meet there."""
    layer = KDITransform(float("inf"), output_distribution="normal").fit(torch.tensor([[0.0], [1.0], [2.0]]))
    point = torch.tensor([[1.0]], dtype=torch.float64, requires_grad=True)
    layer(point).sum().backward()
    assert_allclose(point.grad, np.sqrt(np.pi / 2))


def test_a_log_alpha_that_is_nan(x):
    """It is no index out of bounds, which would end all work on a GPU."""
    layer = KDITransform(learn_alpha=True).fit(x)
    with torch.no_grad():
        layer.log_alpha[1] = torch.nan
    assert torch.equal(layer(x).isnan().any(0), torch.tensor([False, True, False]))


FUNCTIONS = {
    "default": {},
    "scores": {"output_distribution": "normal"},
    "open": {"bounded": False},
    "lines": {"alpha": 0.0},
}


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # of torch's own modules
@pytest.mark.parametrize("options", [*FUNCTIONS.values(), {"learn_alpha": True}], ids=str)
def test_forward_mode(options, x):
    """Tangents are not lost, and Jacobians are those of the reverse mode."""
    layer = KDITransform(**options).fit(x)
    points = inside(layer, x, n=2).detach()
    levels = layer(points).detach()
    for function, at in ((layer, points), (layer.inverse, levels)):
        expected = jacrev(function)(at)
        assert_allclose(jacfwd(function)(at).detach(), expected.detach(), rtol=1e-12, atol=1e-14)
        tangent = torch.rand_like(at)
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(function(forward_ad.make_dual(at, tangent))).tangent
        assert_allclose(
            found.detach(), (expected.flatten(0, 1).flatten(1) @ tangent.flatten()).reshape(at.shape).detach()
        )


@pytest.mark.parametrize("options", FUNCTIONS.values(), ids=FUNCTIONS)
def test_vmap(options, x):
    layer = KDITransform(**options).fit(x)
    points = torch.stack([x, x + 0.1, x - 3])
    levels = torch.stack([layer(one) for one in points])
    assert_allclose(vmap(layer)(points), levels, rtol=0, atol=1e-10)
    back = torch.stack([layer.inverse(one) for one in levels])
    assert_allclose(vmap(layer.inverse)(levels), back, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("far", [1e160, 1e300])
def test_far_beyond_the_range(name, far, x):
    layer = KDITransform(**OPTIONS[name]).fit(x)
    points = torch.tensor([[-far] * 3, [far] * 3], dtype=torch.float64, requires_grad=True)
    layer(points).sum().backward()
    ends = torch.stack([layer.maps.low_slope, layer.maps.high_slope])
    is_line = name in ("linear", "open scores")
    assert_allclose(points.grad, ends if is_line else torch.zeros_like(ends))


def test_maps_that_were_loaded(x):
    """Their sizes are known, or found out inside torch.func too."""
    maps = kdi.torch.fit(x)
    loaded = pickle.loads(pickle.dumps(maps))
    layer = pickle.loads(pickle.dumps(KDITransform.from_maps(maps)))
    for call in (lambda row: kdi.torch.transform(row[None], loaded), lambda row: layer.inverse(layer(row[None]))):
        assert torch.isfinite(torch.func.grad(lambda row, call=call: call(row).sum())(x[0])).all()


def test_a_fit_in_inference_mode(x):
    """What it leaves can be used in training."""
    with torch.inference_mode():
        layers = [KDITransform(learn_alpha=learn_alpha).fit(x + 0) for learn_alpha in (False, True)]
        layers.append(KDITransform().partial_fit(x + 0))
        maps = kdi.torch.fit(x + 0)
    for call in (*layers, lambda points: kdi.torch.transform(points, maps)):
        points = x.clone().requires_grad_()
        call(points).sum().backward()
        assert (points.grad > 0).any()


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
