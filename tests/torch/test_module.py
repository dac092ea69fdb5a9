"""kdi.torch.KDITransform: equal to KDITransformer, saved and loaded, converted, compiled and exported."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
import torch
from engines import needed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler
from torch import nn

import kdi
import kdi.compat.kditransform
import kdi.torch
from kdi.torch import KDITransform

OPTIONS = {
    "default": {},
    "quantiles": {"alpha": 0.0},
    "min-max": {"alpha": float("inf")},
    "scores": {"output_distribution": "normal"},
    "open": {"bounded": False},
    "open scores": {"bounded": False, "output_distribution": "normal"},
    "open from -0.9 to 0.7": {"bounded": False, "feature_range": (-0.9, 0.7), "kernel": "gaussian"},
    "kinds": {"alpha": [0.0, 1.0, 1.0, "scott", 0.3], "max_knots": 100, "spread": "robust"},
    "linear": {"out_of_range": "linear", "order": 2},
    "nan": {"out_of_range": "nan"},
}
EVERY_OPTION = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
WITH_LEARNED = [*OPTIONS.values(), {"learn_alpha": True}, {"learn_alpha": True, "output_distribution": "normal"}]


def table(n=300, seed=0):
    """Values with missing ones, ties, a constant and an empty column, and a small scale."""
    rng = np.random.default_rng(seed)
    columns = [rng.lognormal(size=n), rng.poisson(3, size=n), np.full(n, 2.5), np.full(n, np.nan), rng.normal(size=n)]
    X = np.column_stack(columns)
    X[::17, 0] = np.nan
    X[:, 4] *= 1e-150
    return torch.from_numpy(X)


X = table()
PROBES = torch.vstack([X, 3 * X - 4, -50 * X, torch.tensor([[np.inf, -np.inf, np.inf, 1, np.nan]])])


def fitted(options, x=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return KDITransform(**options).fit(x)


def expected(options, x=X, probes=PROBES):
    """What KDITransformer gives, with NaN for infinite values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a column has no values
        model = kdi.KDITransformer(**options).fit(x.numpy())
    probes = probes.numpy()
    return np.where(np.isinf(probes), np.nan, model.transform(np.where(np.isinf(probes), np.nan, probes)))


def assert_same(one, other):
    assert torch.equal(one.isnan(), other.isnan())
    assert torch.equal(one.nan_to_num(), other.nan_to_num())


@EVERY_OPTION
def test_it_equals_kdi_transformer(options):
    layer = fitted(options)
    assert_array_equal(layer(PROBES).numpy(), expected(options))
    differentiable = layer(PROBES.clone().requires_grad_()).detach()
    assert_allclose(differentiable.numpy(), expected(options), rtol=0, atol=1e-10)


@EVERY_OPTION
@pytest.mark.parametrize("largest", [1e39, 1e300, 1.7e308])
def test_far_beyond_the_range(options, largest):
    layer = fitted(options)
    far = torch.tensor([[largest], [-largest]], dtype=torch.float64).expand(2, 5)
    for points in (far, far.clone().requires_grad_()):
        found = layer(points).detach()
        assert_allclose(found, expected(options, probes=far), rtol=1e-12)


@EVERY_OPTION
def test_inverse(options):
    layer = fitted(options)
    levels = layer(X)
    inverse = kdi.torch.inverse_transform(levels, layer.maps, out_of_range=layer.out_of_range)
    assert_same(layer.inverse(levels), inverse)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("learn_alpha", [False, True])
def test_dtypes_and_conversions(dtype, learn_alpha):
    """Neither half() nor autocast changes the maps: results are those of float64, rounded."""
    layer = fitted({"learn_alpha": learn_alpha})
    x = X.clone()
    x[:, 4] *= 1e150
    layer = layer.fit(x)
    probes = x.to(dtype)
    exact = layer(probes.double()).detach()
    for converted in (layer, copy.deepcopy(layer).half(), copy.deepcopy(layer).to(torch.bfloat16).float()):
        found = converted(probes)
        assert found.dtype == dtype
        assert_allclose(found.detach().double(), exact, rtol=0, atol=2 * torch.finfo(dtype).eps)
    assert all(tensor.dtype != torch.float16 for tensor in copy.deepcopy(layer).half().tensors.buffers())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(layer(probes).detach(), found.detach())
        network = nn.Sequential(layer, nn.Linear(5, 2))
        network(probes.nan_to_num().float())


@pytest.mark.parametrize("learn_alpha", [False, True])
def test_batches_and_empty_ones(learn_alpha):
    """Batch dimensions are fitted independently; there may be no rows."""
    x = torch.randn(200, 2, 3, generator=torch.Generator().manual_seed(0))
    layer = KDITransform(0.5, learn_alpha=learn_alpha).fit(x)
    assert layer.alphas.shape == (2, 3)
    assert layer(x).shape == x.shape
    for batch in (0, 1):
        own = KDITransform(0.5, learn_alpha=learn_alpha).fit(x[:, batch])
        assert_same(layer(x)[:, batch], own(x[:, batch]))
    assert layer(x[:0]).shape == layer.inverse(x[:0]).shape == (0, 2, 3)
    assert layer(x[:0].clone().requires_grad_()).shape == (0, 2, 3)


def copies(layer, make):
    """The layer after a deep copy, a pickle, and state_dicts that were saved to files."""
    yield copy.deepcopy(layer)
    yield pickle.loads(pickle.dumps(layer))
    for state in (layer.state_dict(), nn.Sequential(layer).state_dict(prefix="")):
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
        if "0." in next(iter(state)):
            network = nn.Sequential(make())
            network.load_state_dict(state)
            yield network[0]
        else:
            for fresh in (make(), make().fit(torch.randn(20, 7, dtype=torch.float64))):
                assert str(fresh.load_state_dict(state)) == "<All keys matched successfully>"
                yield fresh


@pytest.mark.parametrize("options", WITH_LEARNED, ids=str)
def test_saving(options):
    layer = fitted(options)
    fresh = {"alpha": 1.0} if isinstance(options.get("alpha"), list) else {}  # its list is of other features
    for one in copies(layer, lambda: KDITransform(**options | fresh)):
        assert_same(one(PROBES), layer(PROBES))
        assert_same(one.inverse(layer(X)), layer.inverse(layer(X)))
        assert repr(one.maps) == repr(layer.maps)


def test_loading_the_wrong_state():
    layer, learned = fitted({}), fitted({"learn_alpha": True})
    with pytest.raises(RuntimeError, match="parameters must be those of the state"):
        KDITransform(kernel="gaussian").load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match="parameters must be those of the state"):
        KDITransform(kernel="gaussian", learn_alpha=True).load_state_dict(learned.state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        learned.load_state_dict({"log_alpha": learned.log_alpha})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        KDITransform().load_state_dict(learned.state_dict())
    for one, lost in ((layer, "tensors.low"), (layer, "tensors.shape"), (learned, "sketches.cells")):
        state = dict(one.state_dict())
        del state[lost]
        with pytest.raises(RuntimeError, match=lost.split(".")[1]):
            KDITransform(learn_alpha=one.learn_alpha).load_state_dict(state)
    state = dict(learned.state_dict()) | {"sketches.shape": torch.tensor([3])}
    with pytest.raises(RuntimeError, match="one sketch per column"):
        KDITransform(learn_alpha=True).load_state_dict(state)


def test_a_state_that_cannot_be_loaded_changes_nothing():
    """Neither the layer nor the maps that it was made of, whose tensors it shares."""
    maps = kdi.torch.fit(X)
    layer = KDITransform.from_maps(maps)
    wrong = fitted({"feature_range": (0, 5)}).state_dict()
    incomplete = fitted({}, 2 * X).state_dict()
    del incomplete["tensors.low"]
    for state in (wrong, incomplete):
        with pytest.raises(RuntimeError, match="must"):
            layer.load_state_dict(state, strict=False)
        for points in (PROBES, PROBES.clone().requires_grad_()):
            assert_allclose(layer(points).detach(), expected({}), rtol=0, atol=1e-10)
        assert_array_equal(kdi.torch.transform(PROBES, maps), expected({}))
    layer = fitted({"kernel": "gaussian"})
    with pytest.raises(RuntimeError, match="parameters must be those of the state"):
        layer.load_state_dict(fitted({}, 2 * X).state_dict())
    found = layer(PROBES.clone().requires_grad_()).detach()
    assert_allclose(found, expected({"kernel": "gaussian"}), rtol=0, atol=1e-10)
    learned = fitted({"learn_alpha": True})
    before = learned(X).detach()
    state = fitted({"learn_alpha": True}, 2 * X).state_dict() | {"log_alpha": torch.zeros(3)}
    with pytest.raises(RuntimeError, match="size mismatch for log_alpha"):
        learned.load_state_dict(state)
    with pytest.raises(RuntimeError, match="size mismatch for log_alpha"):
        learned.load_state_dict({"log_alpha": torch.zeros(3)}, strict=False)
    assert_same(learned(X).detach(), before)


def test_buffers_of_another_kind():
    """torch.func.functional_call replaces cubics by lines, and lines by cubics."""
    x = X[:, [0, 1, 4]]
    layers = fitted({}, x), fitted({"alpha": 0.0}, x)
    for layer, other in (layers, layers[::-1]):
        for points in (x, x.clone().requires_grad_()):
            found = torch.func.functional_call(layer, dict(other.named_buffers()), (points,)).detach()
            assert_allclose(found, other(x), rtol=0, atol=1e-10)


def test_the_device_is_that_of_the_buffers():
    """A replica for another device has other buffers, and the same attributes."""
    layer = fitted({})
    replica = layer.tensors._replicate_for_data_parallel()
    replica._buffers = {name: one.to("meta") for name, one in layer.tensors._buffers.items()}
    assert replica.device.type == "meta"
    assert layer.tensors.device.type == "cpu"


@pytest.mark.parametrize("learn_alpha", [False, True])
def test_loading_into_a_layer_without_memory(learn_alpha):
    """With assign=True, as torch does it, the device is that of the state."""
    layer = fitted({"learn_alpha": learn_alpha})
    with torch.device("meta"):
        fresh = KDITransform(learn_alpha=learn_alpha)
    for empty in (fresh, copy.deepcopy(layer).to("meta")):
        empty.load_state_dict(layer.state_dict(), assign=True)
        assert_same(empty(PROBES), layer(PROBES))
        assert {one.device.type for one in [*empty.buffers(), *empty.parameters()]} == {"cpu"}
        assert_same(empty.inverse(layer(X)), layer.inverse(layer(X)))


def test_pickles_hold_no_memory_of_a_device(kernels):
    """Not even that of sketches, so that they can be loaded where there is no such device."""
    x = kernels.put(X)
    layer, sketches = fitted({}, x), kdi.torch.sketch(x)
    expected = [one.to_bytes() for one in layer.maps.sketches.to_host()]
    for saved in (layer, layer.maps, sketches.maps()):
        pickled = pickle.dumps(saved)
        assert b"KernelSketches" not in pickled
        assert b"kdi.torch._sketches" not in pickled
        loaded = pickle.loads(pickled)
        if saved is not layer:
            assert len(loaded.sketches.to_host()) == 5
    assert [one.to_bytes() for one in pickle.loads(pickle.dumps(layer)).maps.sketches.to_host()] == expected
    pickle.loads(pickle.dumps(layer)).partial_fit(x)


def test_a_device_with_an_index():
    layer = fitted({})
    assert layer.maps.to("cpu:0") is layer.maps
    sketches = kdi.torch.sketch(X)
    assert sketches.to("cpu:0") is sketches


def test_an_unfitted_layer():
    layer = KDITransform()
    assert layer.state_dict() == {}
    assert list(layer.parameters()) == []
    layer.load_state_dict({})
    assert "unfitted" in repr(layer)
    for use in (layer, layer.inverse):
        with pytest.raises(RuntimeError, match=r"not fitted: call fit, partial_fit or load_state_dict"):
            use(X)
    for name in ("maps", "alphas", "path_error"):
        with pytest.raises(RuntimeError, match="not fitted"):
            getattr(layer, name)
    with pytest.raises(AttributeError, match="path_error"):
        _ = fitted({}).path_error


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_traced():
    """The tracer reads all attributes, and no constants are left in place of results."""
    x = X[:, [0, 1, 4]].nan_to_num()
    layer = KDITransform().fit(x)
    traced = torch.jit.trace(layer, x[:9])
    assert_allclose(traced(x), layer(x), rtol=0, atol=1e-10)


def test_wrong_parameters_and_tables():
    with pytest.raises(ValueError, match="out_of_range must be one of"):
        KDITransform(out_of_range="wrap")
    with pytest.raises(ValueError, match="kernel must be"):
        KDITransform(kernel="box")
    with pytest.raises(ValueError, match="contains infinity"):
        KDITransform().fit(PROBES)
    with pytest.raises(ValueError, match=r"rows of shape \(5,\), as in fit, got \(4,\)"):
        fitted({})(X[:, :4])
    for x in (X.numpy(), X.tolist()):
        for use in (KDITransform(learn_alpha=True).fit, fitted({})):
            with pytest.raises(TypeError, match="x must be a torch tensor"):
                use(x)
    with pytest.raises(TypeError, match=r"x must be a dense tensor, got the layout torch.sparse_coo"):
        KDITransform().fit(X.to_sparse())
    for weights in ("abc", torch.ones(len(X), dtype=torch.complex64)):
        with pytest.raises(TypeError, match=r"weights must be .*numbers, one per row"):
            KDITransform().fit(X, weights)
    for use in (KDITransform.from_maps, lambda maps: kdi.torch.transform(X, maps)):
        with pytest.raises(TypeError, match=r"maps must be kdi.torch.Maps, as fit returns, got int"):
            use(3)
    with pytest.raises(ValueError, match=r"alpha must be from 0.05 to 50 with learn_alpha=True, got 0.01"):
        KDITransform(0.01, learn_alpha=True).fit(X)
    weights = torch.ones(len(X), requires_grad=True)
    assert_same(KDITransform().fit(X, weights)(X), KDITransform().fit(X, weights.detach())(X))
    half = torch.full((5,), 0.5)
    assert_same(KDITransform(half.bfloat16()).fit(X)(X), KDITransform(half).fit(X)(X))
    layer = KDITransform(infinite="nan").fit(PROBES)
    assert_same(layer(X), KDITransform().fit(torch.where(PROBES.isinf(), torch.nan, PROBES))(X))


def test_repr():
    assert repr(KDITransform(0.3)) == "KDITransform(alpha=0.3, unfitted)"
    shown = repr(fitted({"bounded": False, "learn_alpha": True, "out_of_range": "nan"}))
    assert "alpha=1.0, out_of_range='nan', learn_alpha=True, bounded=False, shape=(5,)" in shown


@pytest.mark.parametrize("options", [{}, {"bounded": False}, {"alpha": "scott"}, {"learn_alpha": True}], ids=str)
def test_partial_fit(options):
    """Parts give what the whole table gives, within the bounds, whichever way the first part was learned."""
    whole = fitted(options)
    parts = KDITransform(**options).partial_fit(X[:100]).partial_fit(X[100:])
    after_fit = fitted(options, X[:150]).partial_fit(X[150:])
    for layer in (parts, after_fit):
        bound = (layer.maps.error_bound + whole.maps.error_bound).nan_to_num()
        if layer.learn_alpha:
            bound = layer.path_error + whole.path_error
        assert ((layer(X) - whole(X)).abs().nan_to_num() <= bound + 1e-12).all()
        assert layer.maps.n_rows == len(X)
    weights = torch.ones(len(X))
    weights[:50] = 2
    repeated = KDITransform(**options).partial_fit(X).partial_fit(X[:50])
    weighted = KDITransform(**options).partial_fit(X, weights)
    assert_allclose(repeated(X).detach(), weighted(X).detach(), rtol=0, atol=3e-6)


def test_partial_fit_without_sketches():
    layer = KDITransform()
    layer.load_state_dict(fitted({}).state_dict())
    with pytest.raises(RuntimeError, match="sketches of earlier rows are not known"):
        layer.partial_fit(X)
    with pytest.raises(ValueError, match="rows of shape"):
        fitted({}).partial_fit(X[:, :4])
    loaded = KDITransform(learn_alpha=True)
    loaded.load_state_dict(fitted({"learn_alpha": True}, X[:100]).state_dict())
    both = KDITransform(learn_alpha=True).fit(X[:100]).partial_fit(X[100:])
    assert_same(loaded.partial_fit(X[100:])(X), both(X))  # a state_dict of learned alphas has the sketches


def test_maps_and_scikit_learn():
    layer = fitted({"bounded": False})
    assert_same(KDITransform.from_maps(layer.maps)(X), layer(X))
    model = layer.maps.to_sklearn()
    assert_array_equal(model.transform(X.numpy()), layer(X).numpy())
    again = KDITransform.from_maps(kdi.torch.Maps.from_sklearn(model), out_of_range="nan")
    assert_same(again(X), layer(X))
    assert again.out_of_range == "nan"
    for out_of_range in ("clip", "linear"):
        again = fitted({"out_of_range": out_of_range})
        model = again.maps.to_sklearn(out_of_range=out_of_range)
        assert_allclose(model.transform(3 * X.numpy()), again(3 * X).numpy(), rtol=1e-12)
    whole = KDITransform().partial_fit(X[:100]).partial_fit(X[100:])
    assert whole.maps.to_sklearn().sketches_[0].count == (~X[:, 0].isnan()).sum()
    wrong = [StandardScaler(), kdi.compat.kditransform.KDITransformer()]
    for other in wrong:
        with pytest.raises(TypeError, match=r"must be a kdi.KDITransformer or a kdi.KDITransformerCV, got \w+"):
            kdi.torch.Maps.from_sklearn(other)


COMPILED = pytest.mark.parametrize("options", WITH_LEARNED, ids=str)


@COMPILED
def test_compiled_in_one_graph(options):
    layer = fitted(options)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (len(PROBES), 37, 2):
        assert_allclose(compiled(PROBES[:n]).detach(), layer(PROBES[:n]).detach(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_compiled_with_loaded_maps(alpha):
    maps = kdi.torch.Maps.from_state_dict(fitted({"alpha": alpha}).maps.state_dict())
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: kdi.torch.transform(x, maps), fullgraph=True, backend="aot_eager")
    assert_allclose(compiled(PROBES), kdi.torch.transform(PROBES, maps), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the compiler's own modules
@pytest.mark.parametrize("options", [{}, {"learn_alpha": True}], ids=str)
def test_compiled_to_machine_code(options):
    layer = fitted(options)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for n in (len(PROBES), 37):
        assert_allclose(compiled(PROBES[:n]).detach(), layer(PROBES[:n]).detach(), rtol=0, atol=1e-10)


@COMPILED
def test_exported(options):
    layer = fitted(options)
    rows = torch.export.Dim("rows")
    program = torch.export.export(layer, (PROBES[:5],), dynamic_shapes=({0: rows},))
    assert_allclose(program.module()(PROBES).detach(), layer(PROBES).detach(), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the exporter's own modules
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@COMPILED
def test_onnx(options, dtype):
    needed("onnxscript")
    onnxruntime = needed("onnxruntime")
    layer = fitted(options).eval()
    probes = PROBES.to(dtype)
    shapes = ({0: torch.export.Dim("rows")},)
    program = torch.onnx.export(layer, (probes[:5],), dynamo=True, dynamic_shapes=shapes, verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: probes.numpy()})
    assert found.dtype == probes.numpy().dtype
    # Tails of scores differ by a rounding of 40 bits.
    assert_allclose(found, layer(probes).detach(), rtol=0, atol=1e-10 if dtype == torch.float64 else 3e-7)
