"""scikit-learn's array API: arrays of torch, CuPy and array-api-strict give arrays of the same kind on the same device.

scikit-learn dispatches on arrays only where the variable SCIPY_ARRAY_API is set. SciPy reads it when it is imported,
scikit-learn at each call: here it is set for single tests; scikit-learn's checks run in a process that begins with it.
"""

import json
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import sklearn
from engines import missing
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks

import kdi
import kdi.compat.kditransform
from kdi import KDIDiscretizer, KDITransformer, KDITransformerCV
from kdi._transformer import arrays
from kdi._utils.errors import NoSketchesError

try:
    import torch
except ImportError:
    missing("torch is not installed")
try:
    import array_api_strict as strict
except ImportError:
    if os.environ.get("KDI_REQUIRE_ALL") == "1":
        missing("array-api-strict is not installed")
    strict = None  # the machine with a GPU need not have it
import torch_backends  # these import torch
from cupy_stand_in import make_cupy

import kdi.torch

try:
    import cupy
except ImportError:
    cupy = None

# kdi.torch says once that it computes without its CUDA kernels where they cannot be loaded.
pytestmark = pytest.mark.filterwarnings("ignore:kdi.torch computes in plain torch:UserWarning")

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
TENSORS = [("torch", device) for device in DEVICES]
TENSORS += [("cupy", "cuda")] * (cupy is not None and torch.cuda.is_available())
KINDS = [("array_api_strict", "CPU_DEVICE"), ("array_api_strict", "device1")] * (strict is not None) + TENSORS
needs_strict = pytest.mark.skipif(strict is None, reason="array-api-strict is not installed")
MODELS = [
    KDITransformer(),
    KDITransformer(["scott", 0, 0.1, np.inf], kernel="gaussian"),
    KDITransformer(output_distribution="normal", out_of_range="linear"),
    KDITransformer(bounded=False, output_distribution="normal", spread="robust"),
    KDITransformer(0.3, feature_range=(-1, 1), out_of_range="nan", max_knots=100),
]


class Kind:
    """A library and a device: makes arrays there, and takes them to NumPy."""

    def __init__(self, library, device):
        self.library, self.device = library, device
        self.on_gpu = device == "cuda"

    def __call__(self, array):
        if self.library == "torch":
            return torch.tensor(array, device=self.device)
        if self.library == "cupy":
            return sys.modules["cupy"].asarray(array)
        return strict.asarray(np.array(array), device=strict.Device(self.device))

    def to_host(self, array):
        """Return an array as one of NumPy; it must be of this library, and on this device."""
        if self.library == "cupy":
            assert isinstance(array, sys.modules["cupy"].ndarray)
            return array.get()
        assert type(array).__module__.partition(".")[0].lstrip("_") == self.library
        if self.library == "torch":
            assert array.device.type == self.device
            return array.detach().cpu().numpy()
        assert array.device == strict.Device(self.device)
        return np.asarray(array.to_device(strict.Device("CPU_DEVICE")))

    @property
    def tolerance(self):
        """How far levels may lie from those of NumPy: not at all, unless a GPU fits the maps, within their bounds."""
        return 2e-6 if self.on_gpu else 0


@pytest.fixture(autouse=True)
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request):
    return Kind(*request.param)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def like_a_gpu(monkeypatch):
    """Treat all arrays as if they lay on a GPU: they go through DLPack and kdi.torch."""
    monkeypatch.setattr(arrays, "_is_on_gpu", lambda X, library: True)


def on_gpus(request):
    """Return tensors on a GPU, or those on the CPU that are treated so, with one of the backends of kdi.torch."""
    if request.param == "cuda":
        return Kind("torch", "cuda")
    request.getfixturevalue("like_a_gpu")
    backend = torch_backends.choose(request.param, request.getfixturevalue("monkeypatch"))
    kind = Kind("torch", "cpu")
    kind.on_gpu = backend.name != "core"
    return kind


def name_of(kind):
    return kind if isinstance(kind, str) else "-".join(kind)


BACKENDS = ["core", "plain", *torch_backends.ON_KERNELS]


@pytest.fixture
def numbers(table):
    """A column of each kind, and NaN in one of them."""
    table = table.copy()
    table[::50, 1] = np.nan
    return table


class TestResults:
    """They are those of NumPy."""

    @pytest.fixture(params=BACKENDS)
    def gpu(self, request):
        return on_gpus(request)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_transform_and_inverse(self, model, kind, dtype, numbers):
        check_same_results(clone(model), kind, numbers.astype(dtype))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_on_the_route_of_gpus(self, model, gpu, dtype, numbers):
        check_same_results(clone(model), gpu, numbers.astype(dtype))

    @needs_strict
    @pytest.mark.usefixtures("like_a_gpu")
    def test_on_the_route_of_cupy(self, numbers):
        check_same_results(KDITransformer(), Kind("array_api_strict", "CPU_DEVICE"), numbers)

    @pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
    def test_integers_and_booleans_become_float64(self, kind, dtype, numbers):
        check_same_results(KDITransformer(), kind, np.nan_to_num(abs(numbers)).clip(0, 100).astype(dtype))

    @pytest.mark.parametrize("name", ["float16", "bfloat16"])
    def test_half_precision_becomes_float64(self, name, device, numbers):
        halves = torch.tensor(numbers).to(getattr(torch, name))
        out = KDITransformer().fit_transform(halves.to(device))
        assert out.dtype == torch.float64
        expected = KDITransformer().fit_transform(halves.double().numpy())
        assert_allclose(out.cpu(), expected, rtol=0, atol=Kind("torch", device).tolerance)

    @needs_strict
    def test_a_device_without_float64(self):
        integers = strict.asarray(np.arange(12, dtype=np.int32).reshape(6, 2), device=strict.Device("no_x64"))
        out = KDITransformer().fit_transform(integers)
        assert (out.dtype, out.device) == (strict.float32, strict.Device("no_x64"))

    def test_memory_in_another_order(self, numbers, device):
        expected = KDITransformer().fit_transform(numbers[::2, ::-1].T.copy().T)
        tensor = torch.tensor(numbers[:, ::-1].copy(), device=device)[::2]
        assert not tensor.is_contiguous()
        out = KDITransformer().fit_transform(tensor)
        assert_allclose(out.cpu(), expected, rtol=0, atol=Kind("torch", device).tolerance)

    @needs_strict
    def test_read_only_arrays(self, numbers):
        numbers.flags.writeable = False
        out = KDITransformer(copy=False).fit_transform(strict.asarray(numbers, copy=False))
        assert_array_equal(np.asarray(out), KDITransformer().fit_transform(numbers))

    def test_the_input_stays_unless_it_may_be_overwritten(self, kind, numbers):
        given = kind(numbers)
        KDITransformer().fit_transform(given)
        assert_array_equal(kind.to_host(given), numbers)
        out = KDITransformer(copy=False).fit(given).transform(given)
        expected = KDITransformer().fit_transform(numbers)
        assert_allclose(kind.to_host(out), expected, rtol=0, atol=kind.tolerance)

    def test_partial_fit(self, kind, numbers):
        model, expected = KDITransformer(), KDITransformer()
        for chunk in (numbers[:100], numbers[100:110], numbers[110:]):
            model.partial_fit(kind(chunk), sample_weight=kind(np.arange(len(chunk)) % 3.0))
            expected.partial_fit(chunk, sample_weight=np.arange(len(chunk)) % 3.0)
        assert model.n_samples_seen_ == 500
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
        out = kind.to_host(model.transform(kind(numbers)))
        assert_allclose(out, expected.transform(numbers), rtol=0, atol=kind.tolerance)

    def test_what_is_learnt_is_numpy(self, kind, numbers):
        model, expected = KDITransformer().fit(kind(numbers)), KDITransformer().fit(numbers)
        names = [
            "alpha_",
            "bandwidth_",
            "data_min_",
            "data_max_",
            "error_bound_",
            "references_",
            "quantiles_",
            "n_knots_",
        ]
        for name in names[:-1]:
            assert type(getattr(model, name)) is np.ndarray
            # A GPU adds to the bound what rounding to its integers costs.
            tolerance = 0 if not kind.on_gpu else 0.01 if name == "error_bound_" else 1e-6
            assert_allclose(getattr(model, name), getattr(expected, name), rtol=tolerance, err_msg=name)
        assert (model.error_bound_ < 1e-6).all()
        assert (model.n_features_in_, model.n_samples_seen_) == (4, 500)
        assert [sketch.count for sketch in model.sketches_] == [500, 490, 500, 500]

    def test_in_a_pipeline(self, device, numbers):
        numbers = np.nan_to_num(numbers)
        X, y = torch.tensor(numbers, device=device), torch.tensor(numbers[:, 0], device=device)
        pipeline = make_pipeline(KDITransformer(), MinMaxScaler(), Ridge(solver="svd")).fit(X, y)
        predicted = pipeline.predict(X)
        assert (type(predicted), predicted.device.type) == (torch.Tensor, device)
        with sklearn.config_context(array_api_dispatch=False):
            expected = clone(pipeline).fit(numbers, numbers[:, 0]).predict(numbers)
        assert_allclose(predicted.cpu(), expected, rtol=0, atol=1e-4 if device == "cuda" else 1e-9)


def check_same_results(model, kind, table):
    """Fit with and without weights, transform, and transform back."""
    as_levels = ndtr if model.output_distribution == "normal" else np.asarray
    for weight in (None, np.arange(len(table)) % 4.0):
        expected = clone(model).fit(table, sample_weight=weight)
        model.fit(kind(table), sample_weight=None if weight is None else kind(weight))
        levels, out = expected.transform(table), kind.to_host(model.transform(kind(table)))
        back, values = kind.to_host(model.inverse_transform(kind(levels))), expected.inverse_transform(levels)
        assert (out.dtype, back.dtype) == (levels.dtype, values.dtype)
        if kind.on_gpu:  # in levels: where the density is low, values far apart have nearly the same
            assert_allclose(as_levels(out), as_levels(levels), rtol=0, atol=kind.tolerance)
            back, values = (expected.transform(one.astype(float)) for one in (back, values))
            assert_allclose(as_levels(back), as_levels(values), rtol=0, atol=kind.tolerance)
        else:
            assert_array_equal(out, levels)
            # kdi.torch turns scores into levels by torch's normal distribution.
            assert_allclose(back, values, rtol=1e-5 if levels.dtype == np.float32 else 1e-12)


class TestWeights:
    @pytest.mark.parametrize("weights", [*KINDS, ("numpy", "cpu")], ids="-".join)
    def test_of_another_library(self, weights, kind, numbers):
        given = np.arange(500) % 3.0
        model = KDITransformer().fit(
            kind(numbers), sample_weight=given if weights[0] == "numpy" else Kind(*weights)(given)
        )
        expected = KDITransformer().fit(numbers, sample_weight=given)
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-6 if kind.on_gpu else 0)

    def test_beside_numpy(self, kind, numbers):
        given = np.arange(500) % 3.0
        model = KDITransformer().fit(numbers, sample_weight=kind(given))
        assert_array_equal(model.bandwidth_, KDITransformer().fit(numbers, sample_weight=given).bandwidth_)


class TestErrors:
    """They are those of NumPy, and so are warnings."""

    @pytest.fixture(params=[*KINDS, *BACKENDS[:3]], ids=name_of)
    def kind(self, request):
        return on_gpus(request) if isinstance(request.param, str) else Kind(*request.param)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.array([[1.0, np.inf], [2.0, 3.0]]), "infinity or a value too large for its dtype, in column 1;"),
            (np.array([[1.0, 1.0], [2j, 3.0]]), "column 0 holds complex128"),
            (np.array([1.0, 2.0]), "Expected 2D array, got 1D array"),
            (np.empty((0, 2)), "0 sample"),
            (np.empty((2, 0)), "0 feature"),
            (np.array([[1.0, -1.7e308], [2.0, 1.7e308]]), "the range of column 1 is too large for float64"),
        ],
        ids=["inf", "complex", "1d", "rows", "features", "range"],
    )
    @pytest.mark.filterwarnings("ignore:invalid value|overflow:RuntimeWarning")
    def test_fit(self, given, message, kind):
        for learn in (KDITransformer().fit, KDITransformer().partial_fit, KDITransformer().fit):
            with pytest.raises(ValueError, match=message):
                learn(kind(given))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.array([[1.0, 2.0, -np.inf, 3.0]]), "infinity or a value too large for its dtype, in column 2;"),
            (np.array([[1.0, 2.0, 3j, 4.0]]), "complex128"),
            (np.array([[1.0, 2.0, 3.0]]), "X has 3 features, but KDITransformer is expecting 4 features as input"),
            (np.array([1.0, 2.0, 3.0, 4.0]), "Expected 2D array"),
            (np.empty((0, 4)), "0 sample"),
        ],
        ids=["inf", "complex", "columns", "1d", "rows"],
    )
    @pytest.mark.parametrize("method", ["transform", "inverse_transform"])
    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_transform(self, given, message, method, output, kind, numbers):
        model = KDITransformer(output_distribution=output).fit(kind(numbers))
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(kind(given))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.full(500, -1.0), "sample_weight must be finite and not negative, got -1.0 in row 0"),
            (np.zeros(500), "sample_weight must not be zero in every row"),
            (np.ones(3), r"sample_weight must have shape \(500,\)"),
        ],
        ids=["negative", "zero", "short"],
    )
    def test_weights(self, weights, message, kind, numbers):
        with pytest.raises(ValueError, match=message):
            KDITransformer().fit(kind(numbers), sample_weight=kind(weights))

    @pytest.mark.parametrize("alpha", [{"a": 1.0}, [1.0, 2.0], -1.0, "wide"], ids=str)
    def test_alpha(self, alpha, kind, numbers):
        with pytest.raises(ValueError, match="alpha"):
            KDITransformer(alpha).fit(kind(numbers))

    def test_not_fitted(self, kind, numbers):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            KDITransformer().transform(kind(numbers))

    def test_changed_parameters(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers)).set_params(feature_range=(-1, 1))
        with pytest.raises(ValueError, match="feature_range must be as in fit"):
            model.transform(kind(numbers))

    def test_columns_without_values(self, kind, numbers):
        numbers[:, 2] = np.nan
        with pytest.warns(UserWarning, match="column 2 held only NaN") as caught:
            out = KDITransformer().fit_transform(kind(numbers))
        assert caught[0].filename == __file__
        assert np.isnan(kind.to_host(out)[:, 2]).all()

    def test_features_with_names(self, kind, numbers):
        pandas = pytest.importorskip("pandas")
        model = KDITransformer().fit(pandas.DataFrame(numbers, columns=list("abcd")))
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            levels = model.transform(kind(numbers))
        model.inverse_transform(levels)  # no warning: levels may have lost their names
        model.fit(kind(numbers))
        assert not hasattr(model, "feature_names_in_")


class TestNamespaceOfFit:
    @needs_strict
    def test_another_one_is_an_error(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers))
        other = torch.tensor(numbers) if kind.library != "torch" else strict.asarray(numbers)
        for X in (numbers, numbers.tolist(), other):
            for method in ("transform", "inverse_transform"):
                with pytest.raises(
                    ValueError, match=rf"{method}\(\) must use the same namespace as .*{kind.library}, got"
                ):
                    getattr(model, method)(X)

    def test_after_partial_fit(self, kind, numbers):
        model = KDITransformer().partial_fit(kind(numbers)).partial_fit(numbers)
        model.transform(kind(numbers))
        with pytest.raises(ValueError, match="must use the same namespace"):
            model.transform(numbers)

    def test_without_dispatch_numpy_is_fine(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers))
        with sklearn.config_context(array_api_dispatch=False):
            out = model.transform(numbers)
        assert type(out) is np.ndarray

    def test_any_may_follow_numpy(self, kind, numbers):
        model = KDITransformer().fit(numbers)
        expected = model.transform(numbers)
        out = kind.to_host(model.transform(kind(numbers)))
        assert_allclose(out, expected, rtol=0, atol=1e-9 if kind.on_gpu else 0)
        read = KDITransformer.from_json(model.to_json())
        assert_allclose(kind.to_host(read.transform(kind(numbers))), expected, rtol=0, atol=1e-9 if kind.on_gpu else 0)

    def test_it_is_forgotten_with_the_fit(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers)).fit(numbers)
        assert type(model.transform(numbers)) is np.ndarray
        sketches = KDITransformer().fit(numbers).sketches_
        assert type(KDITransformer().fit(kind(numbers)).fit_sketches(sketches).transform(numbers)) is np.ndarray
        assert type(KDITransformer.from_json(model.fit(kind(numbers)).to_json()).transform(numbers)) is np.ndarray

    def test_other_devices_of_the_library(self, numbers):
        model = KDITransformer().fit(torch.tensor(numbers))
        expected = model.transform(torch.tensor(numbers))
        for device in DEVICES:
            out = model.transform(torch.tensor(numbers, device=device))
            assert out.device.type == device
            assert_allclose(out.cpu(), expected, rtol=0, atol=1e-9)


class TestGradients:
    """Tensors that require a gradient are mapped by kdi.torch, on the CPU too."""

    def test_transform_is_differentiable(self, device, numbers):
        model = KDITransformer().fit(torch.tensor(numbers, device=device))
        x = torch.tensor(numbers, device=device, requires_grad=True)
        out = model.transform(x)
        assert_allclose(out.detach().cpu(), model.transform(x.detach()).cpu(), rtol=0, atol=1e-9)
        out.nansum().backward()
        step = 1e-6
        slope = (model.transform(x.detach() + step) - model.transform(x.detach() - step)) / (2 * step)
        is_inside = slice(1, -1)
        order = np.argsort(numbers[:, 0])[is_inside]
        assert_allclose(x.grad.cpu()[order, 0], slope.cpu()[order, 0], rtol=1e-3, atol=1e-6)

    def test_the_inverse_too(self, device, numbers):
        model = KDITransformer().fit(torch.tensor(numbers, device=device))
        levels = torch.full((3, 4), 0.4, dtype=torch.float64, device=device, requires_grad=True)
        model.inverse_transform(levels).sum().backward()
        assert (levels.grad > 0).all()

    def test_fit_and_no_grad(self, device, numbers):
        x = torch.tensor(numbers, device=device, requires_grad=True)
        model = KDITransformer().fit(x, sample_weight=torch.ones(500, requires_grad=True))
        model.partial_fit(x)
        with torch.no_grad():
            assert not model.transform(x).requires_grad


class TestModels:
    """What a model that was fitted to a tensor on a GPU can do."""

    @pytest.fixture(params=[*TENSORS, *BACKENDS[:3]], ids=name_of)
    def kind(self, request):
        return on_gpus(request) if isinstance(request.param, str) else Kind(*request.param)

    def test_pickle_and_clone(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers))
        expected = kind.to_host(model.transform(kind(numbers)))
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(kind.to_host(again.transform(kind(numbers))), expected)
        assert b"torch._" not in pickle.dumps(model)
        with pytest.raises(ValueError, match="same namespace"):
            again.transform(numbers)
        assert clone(model).fit(numbers).transform(numbers) is not None

    def test_learning_goes_on(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers)).partial_fit(kind(numbers))
        expected = KDITransformer().fit(numbers).partial_fit(numbers)
        assert model.n_samples_seen_ == 1000
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-6)

    def test_json(self, kind, numbers):
        model = KDITransformer().fit(kind(numbers))
        read = KDITransformer.from_json(model.to_json())
        assert_array_equal(kind.to_host(read.transform(kind(numbers))), kind.to_host(model.transform(kind(numbers))))

    def test_maps_are_copied_to_a_device_once(self, kind, numbers):
        given = kind(numbers)
        model = KDITransformer().fit(numbers)
        model.transform(given)
        copies = dict(arrays._device_maps.get(model._get_maps(), {}))
        assert bool(copies) == arrays._is_on_gpu(given, kind.library)
        model.transform(given)
        assert arrays._device_maps.get(model._get_maps(), {}) == copies
        n_models = len(arrays._device_maps)
        model.partial_fit(numbers[:10] * 2).transform(given)  # the new maps take the place of the old ones
        assert len(arrays._device_maps) == n_models

    def test_the_output_distribution_may_change_without_a_fit(self, kind, numbers):
        model, expected = KDITransformer().fit(kind(numbers)), KDITransformer().fit(numbers)
        model.transform(kind(numbers))
        for one in (model, expected):
            one.set_params(output_distribution="normal")
        out = kind.to_host(model.transform(kind(numbers)))
        assert_allclose(ndtr(out), ndtr(expected.transform(numbers)), rtol=0, atol=kind.tolerance + 1e-12)

    @needs_strict
    def test_without_torch_cupy_goes_through_the_host(self, monkeypatch, numbers):
        monkeypatch.setattr(arrays, "_is_on_gpu", lambda X, library: True)
        monkeypatch.setitem(sys.modules, "torch", None)  # cannot be imported
        kind = Kind("array_api_strict", "CPU_DEVICE")
        check_same_results(KDITransformer(), kind, numbers)


@pytest.mark.skipif(cupy is not None, reason="CuPy is installed: the other tests run with it")
class TestCupyWithoutGpu:
    """The ways of CuPy's arrays, without a GPU."""

    @pytest.fixture(autouse=True)
    def module(self, monkeypatch):
        module = make_cupy()
        monkeypatch.setitem(sys.modules, "cupy", module)
        return module

    @pytest.mark.parametrize("with_torch", [True, False])
    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_results(self, model, with_torch, monkeypatch, numbers):
        if not with_torch:
            monkeypatch.setitem(sys.modules, "torch", None)  # cannot be imported
        check_same_results(clone(model), Kind("cupy", "cpu"), numbers)

    def test_results_are_arrays_of_cupy(self, module, numbers):
        model = KDITransformer().fit(module.asarray(numbers))
        assert isinstance(model.transform(module.asarray(numbers)), module.ndarray)
        flipped = module.asarray(numbers[::-1])  # torch has no negative strides
        assert_array_equal(model.transform(flipped).get(), model.transform(module.asarray(numbers)).get()[::-1])

    def test_partial_fit(self, module, numbers):
        model = KDITransformer()
        for chunk in (numbers[:200], numbers[200:]):
            model.partial_fit(module.asarray(chunk), sample_weight=module.asarray(np.ones(len(chunk))))
        assert_allclose(
            model.transform(module.asarray(numbers)).get(), KDITransformer().fit_transform(numbers), atol=1e-9
        )

    def test_another_library_than_in_fit_is_an_error(self, module, numbers):
        model = KDITransformer().fit(module.asarray(numbers))
        with pytest.raises(ValueError, match="cupy, got torch"):
            model.transform(torch.tensor(numbers))

    def test_without_dispatch_it_is_refused(self, module, numbers):
        with sklearn.config_context(array_api_dispatch=False), pytest.raises(TypeError, match="Implicit conversion"):
            KDITransformer().fit(module.asarray(numbers))


class TestMapsWithoutSketches:
    """Maps of a state_dict know the extremes of the features, and nothing else about their values."""

    @pytest.fixture(params=[True, False], ids=["bounded", "open"])
    def model(self, request, numbers):
        maps = kdi.torch.fit(torch.tensor(numbers), bounded=request.param)
        return kdi.torch.Maps.from_state_dict(maps.state_dict()).to_sklearn()

    def test_what_it_can_do(self, model, numbers):
        expected = KDITransformer(bounded=model.bounded).fit(numbers)
        assert_array_equal(model.transform(numbers), expected.transform(numbers))
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(numbers), expected.transform(numbers))
        assert_array_equal(model.quantiles_, expected.quantiles_)
        assert model._repr_html_()
        if model.bounded:
            assert_array_equal(model.data_min_, expected.data_min_)
            assert_array_equal(model.data_max_, expected.data_max_)

    def test_extremes_of_a_column_without_values(self):
        maps = kdi.torch.fit(torch.tensor([[1.0, torch.nan], [2.0, torch.nan]]))
        model = kdi.torch.Maps.from_state_dict(maps.state_dict()).to_sklearn()
        assert_array_equal(model.data_max_, [2, np.nan])

    def test_what_it_cannot_do(self, model, numbers):
        with pytest.raises(NoSketchesError, match="partial_fit needs the sketches"):
            model.partial_fit(numbers)
        with pytest.raises(ValueError, match="to_json needs the sketches"):
            model.to_json()
        with pytest.raises(AttributeError, match="sketches_ needs the sketches"):
            model.sketches_  # noqa: B018
        assert not hasattr(model, "sketches_")
        if not model.bounded:
            with pytest.raises(NoSketchesError, match="data_max_ needs the sketches"):
                model.data_max_  # noqa: B018

    def test_a_fit_repairs_it(self, model, numbers):
        assert len(model.fit(numbers).sketches_) == 4

    def test_the_error_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(NoSketchesError("to_json")))
        assert str(error) == str(NoSketchesError("to_json"))


class TestWithoutDispatch:
    @needs_strict
    def test_arrays_of_the_host_become_numpy(self, numbers):
        with sklearn.config_context(array_api_dispatch=False):
            expected = KDITransformer().fit_transform(numbers)
            for X in (torch.tensor(numbers), strict.asarray(numbers)):
                out = KDITransformer().fit_transform(X)
                assert type(out) is np.ndarray
                assert_array_equal(out, expected)
                weighted = KDITransformer().fit(X, sample_weight=torch.ones(500)).partial_fit(X)
                assert_array_equal(weighted.inverse_transform(X), weighted.inverse_transform(numbers))

    def test_arrays_of_a_gpu_are_refused(self, numbers):
        for device in DEVICES[1:]:
            with sklearn.config_context(array_api_dispatch=False), pytest.raises(TypeError, match="cuda"):
                KDITransformer().fit(torch.tensor(numbers, device=device))

    @pytest.mark.parametrize("dispatch", [False, True])
    def test_numpy_imports_no_torch(self, dispatch):
        code = f"""if True:
            import sys, numpy, sklearn, kdi
            sklearn.set_config(array_api_dispatch={dispatch})
            kdi.KDITransformer().fit([[1], [2]], sample_weight=[1, 2]).partial_fit(numpy.eye(2)[:, :1]).transform([[1]])
            assert not {{"torch", "cupy", "array_api_strict", "kdi.torch"}} & set(sys.modules)
        """
        run([sys.executable, "-c", code])


class TestOthers:
    """Set output and the other estimators."""

    def test_set_output(self, numbers):
        pytest.importorskip("pandas")
        out = KDITransformer().set_output(transform="pandas").fit_transform(torch.tensor(numbers))
        assert_array_equal(out, KDITransformer().fit_transform(numbers))
        assert list(out.columns) == ["x0", "x1", "x2", "x3"]

    def test_tags(self):
        assert sklearn.utils.get_tags(KDITransformer()).array_api_support
        for other in (KDITransformerCV(), KDIDiscretizer(), kdi.compat.kditransform.KDITransformer()):
            assert not sklearn.utils.get_tags(other).array_api_support

    def test_tuning(self, kind, numbers):
        y = np.nan_to_num(numbers[:, 0])
        model, expected = KDITransformerCV([0.1, 1]).fit(kind(numbers), y), KDITransformerCV([0.1, 1]).fit(numbers, y)
        assert_array_equal(model.alpha_, expected.alpha_)
        assert_allclose(
            kind.to_host(model.transform(kind(numbers))), expected.transform(numbers), rtol=0, atol=1e-9 * kind.on_gpu
        )
        assert_array_equal(model.transform(numbers), expected.transform(numbers))

    def test_bins(self, kind, numbers):
        numbers = np.nan_to_num(numbers)
        model = KDIDiscretizer(encode="ordinal")
        assert_array_equal(model.fit_transform(kind(numbers)), model.fit_transform(numbers))

    def test_kditransform(self, kind, numbers):
        model = kdi.compat.kditransform.KDITransformer()
        numbers = np.nan_to_num(numbers)
        assert_array_equal(model.fit_transform(kind(numbers)), model.fit_transform(numbers))

    def test_paths(self, kind, numbers):
        path = kdi.alpha_path(kind(numbers), [0.5, 2])
        out = [kind.to_host(one) for one in path.transform(kind(numbers))]
        for one, expected in zip(out, kdi.alpha_path(numbers, [0.5, 2]).transform(numbers), strict=True):
            assert_allclose(one, expected, rtol=0, atol=kind.tolerance)


@pytest.fixture(scope="module")
def checks():
    """The outcomes of scikit-learn's checks of the array API, in a process in which SciPy supports it too."""
    return json.loads(run([sys.executable, str(Path(__file__).with_name("array_api_checks.py"))]))


def run(command):
    done = subprocess.run(
        command, env=os.environ | {"SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class TestChecksOfScikitLearn:
    """None fails, and those of a library and device that are there are not skipped."""

    def test_all_of_them(self, checks):
        available = {name for name, spec in (("cupy", cupy), ("dpnp", find_spec("dpnp"))) if spec is not None}
        for name, arguments, status in checks:
            is_there = not any(f'"{library}"' in arguments for library in {"cupy", "dpnp"} - available)
            is_there &= not any(f'"{device}"' in arguments for device in ("mps", "xpu"))
            is_there &= '"cuda"' not in arguments or torch.cuda.is_available()
            assert not is_there or status == "passed", (name, arguments, status)

    def test_each_kind(self, checks):
        expected = {name for name in vars(estimator_checks) if name.startswith("check_array_api_")}
        expected -= {"check_array_api_same_namespace"} if strict is None else set()  # it uses only that
        passed = {name for name, _, status in checks if status == "passed"}
        assert passed == expected
        assert "check_array_api_input" in expected
        for library, device in KINDS:
            device = "null" if library == "cupy" else f'"{device}"'
            found = [name for name, names, status in checks if f'"{library}"' in names and device in names]
            assert "check_array_api_input" in found
            assert "check_array_api_input_and_values" in found
