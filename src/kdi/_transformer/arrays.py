"""Tables of other array libraries, where scikit-learn dispatches on arrays (`array_api_dispatch=True`).

    memory of the CPU:  array ──▶ NumPy ──▶ the core ──▶ an array of the same library, on the same device
    memory of a GPU:    array ──▶ tensor ──▶ kdi.torch ──▶ an array of the same library

What is learnt is kept as NumPy arrays in either case. kdi.torch lies above this package and needs an optional library:
it is imported by its name when an array on a GPU arrives, as `kdi/__init__.py` does.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import validate_data

from kdi._integral.bandwidth import alpha_factors
from kdi._integral.build import FeatureMaps
from kdi._integral.maps import EMPTY
from kdi._utils.errors import InfiniteValuesError
from kdi._utils.namespaces import as_host_array, library_of, like_array, namespace_of
from kdi._utils.validation import as_table, as_weights, check_finite, check_some_weight

if TYPE_CHECKING:
    from kdi._transformer.base import BaseKDITransformer
    from kdi._transformer.transformer import KDITransformer

FIT_PARAMETERS = ("alpha", "kernel", "order", "output_distribution", "bounded", "spread", "feature_range", "max_knots")

# kdi.torch's Maps of each model, per device; they are forgotten with the maps that they are copies of.
_device_maps: WeakKeyDictionary[FeatureMaps, dict[tuple[Any, bool], Any]] = WeakKeyDictionary()


def map_table(model: BaseKDITransformer, X: Any, *, back: bool) -> Any:
    """Map a table of any library to levels or scores, or `back` to values."""
    namespace = namespace_of(X)
    if get_config()["array_api_dispatch"]:
        _check_library(model, namespace, "inverse_transform" if back else "transform")
    if namespace is None:
        return model._apply_maps(X, back=back)
    tensor = X if _needs_gradient(X) else as_device_tensor(X, namespace)
    if tensor is None:
        return like_array(model._apply_maps(as_host_array(X), back=back), X, namespace)
    result = _map_tensor(model, tensor, back)
    return result if library_of(namespace) == "torch" else namespace.from_dlpack(result)


def as_device_tensor(X: Any, namespace: ModuleType) -> Any:
    """Return an array in the memory of a GPU as a tensor of torch; None for others, and for CuPy's without torch."""
    library = library_of(namespace)
    if not _is_on_gpu(X, library):
        return None
    if library == "torch":
        return X
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    has_negative_strides = any(stride < 0 for stride in getattr(X, "strides", ()))  # which torch cannot have
    return torch.from_dlpack(X.copy() if has_negative_strides else X)


def _is_on_gpu(X: Any, library: str) -> bool:
    return library == "cupy" or (library == "torch" and X.device.type != "cpu")


def fit_tensor(model: KDITransformer, tensor: Any, sample_weight: Any) -> None:
    """Learn from a tensor, on its device."""
    torch_maps = import_module("kdi.torch")
    model._reset()
    table = _read_tensor(model, tensor, reset=True)
    weights = as_weights(sample_weight, len(table))
    check_some_weight(weights, "sample_weight")
    alpha_factors(model.alpha, table.shape[1])  # raises as for other tables
    parameters = {name: getattr(model, name) for name in FIT_PARAMETERS}
    try:
        maps = torch_maps.fit(table, weights=weights, **parameters)
    except InfiniteValuesError:
        check_finite(model, _infinite_columns(table))
        raise
    features = maps.to_features()
    _device_maps[features] = {(table.device, model._turns_into_scores): maps}
    model._set_fit([] if maps.sketches is None else maps.sketches, len(table), features)
    model._warn_of_columns(np.flatnonzero(features.maps.kind == EMPTY).tolist())


def _map_tensor(model: BaseKDITransformer, tensor: Any, back: bool) -> Any:
    """Map a tensor on its device; the result is differentiable where the tensor requires a gradient."""
    torch_maps = import_module("kdi.torch")
    features = model._usable_maps()
    table = _read_tensor(model._without_names() if back else model, tensor, reset=False)
    per_device = _device_maps.setdefault(features, {})
    key = table.device, model._turns_into_scores
    if key not in per_device:
        per_device[key] = torch_maps.Maps.from_sklearn(model, table.device)
    function = torch_maps.inverse_transform if back else torch_maps.transform
    try:
        return function(table, per_device[key], out_of_range=model.out_of_range, infinite="error")
    except InfiniteValuesError:
        check_finite(model, _infinite_columns(table))
        raise


def _read_tensor(model: BaseKDITransformer, tensor: Any, *, reset: bool) -> Any:
    """Return a tensor as float64 or float32, as `as_table` does with arrays, but where it lies."""
    if tensor.is_complex():
        as_table(model, tensor[:1], reset=reset)  # raises
    # Only for its errors: the result would be cut off from the gradient.
    validate_data(model, tensor.detach(), reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=1)
    torch = import_module("torch")
    if tensor.dtype in (torch.float64, torch.float32):
        return tensor
    return tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)


def _needs_gradient(X: Any) -> bool:
    return bool(getattr(X, "requires_grad", False)) and bool(import_module("torch").is_grad_enabled())


def _infinite_columns(table: Any) -> list[int]:
    columns: list[int] = table.isinf().any(0).nonzero()[:, 0].tolist()
    return columns


def _check_library(model: BaseKDITransformer, namespace: ModuleType | None, method: str) -> None:
    """Raise unless a model that was fitted to arrays of another library than NumPy is given such arrays.

    Any table may follow a fit to NumPy arrays, frames, files or sketches, as what is learnt does not depend on it.
    """
    fitted_to, library = model._fitted_to, library_of(namespace)
    if fitted_to not in ("numpy", library):
        raise ValueError(
            f"Inputs passed to {type(model).__name__}.{method}() must use the same namespace as those passed to fit(), "
            f"{fitted_to}, got {library}; convert X, or set array_api_dispatch=False for NumPy arrays."
        )
