"""fit, transform and inverse_transform: which backend computes what, and what they check."""

from __future__ import annotations

import warnings
from functools import cache
from types import ModuleType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from kdi._integral import maps as core_maps
from kdi._integral.build import fit_table
from kdi._numerics.kernels import get_kernel
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, KernelName, OutOfRange, Spread
from kdi.torch import _lookup, _plain
from kdi.torch._maps import HostSketches, Maps, Parameters
from kdi.torch._parameters import (
    INFINITE,
    check_choice,
    check_ends,
    check_maps,
    check_policies,
    check_size,
    check_table,
    check_weights,
    checked_parameters,
    factors_of,
    infinite_error,
)
from kdi.torch._sketches import Sketches
from kdi.torch._sketching import sketch_columns, with_columns_of_host

Infinite = Literal["error", "nan"]


@public_in("kdi.torch")
def fit(
    x: Tensor,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    output_distribution: str = "uniform",
    bounded: bool = True,
    spread: Spread = "std",
    feature_range: tuple[float, float] = (0, 1),
    max_knots: int | None = None,
    weights: Any = None,
    infinite: Infinite = "error",
) -> Maps:
    """Learn the map of each feature from a tensor, on its device.

    The parameters that are not explained here are those of `kdi.KDITransformer`, and so is the result, to rounding.

    Parameters
    ----------
    x : Tensor of shape (rows, …, features)
        float16, bfloat16, float32 or float64. Batch dimensions between rows and features are fitted independently. NaN
        is ignored.
    alpha : float, "scott", "silverman", sequence of these, or tensor
        One for all, one per feature, or one per column, in the shape of a row.
    weights : Tensor of shape (rows,), optional
    infinite : {"error", "nan"}
        Whether infinite values are an error or are ignored like NaN.

    Returns
    -------
    Maps

    Examples
    --------
    >>> import torch, kdi.torch
    >>> x = torch.tensor([[0.0], [1.0], [2.0], [100.0]])
    >>> maps = kdi.torch.fit(x)
    >>> kdi.torch.transform(x, maps).ravel().round(decimals=3)
    tensor([0.0000, 0.0130, 0.0270, 1.0000])
    """
    parameters = Parameters(kernel, order, output_distribution, bounded, spread, feature_range, max_knots)
    parameters = checked_parameters(parameters, alpha)
    check_choice("infinite", infinite, INFINITE)
    table = check_table(x).detach()
    check_size(x)
    shape = tuple(x.shape[1:])
    with torch.inference_mode(False):  # whose tensors could not be used in training
        return _fit(table, check_weights(weights, table), factors_of(alpha, shape), parameters, shape, infinite)


def _fit(
    table: Tensor,
    weights: Tensor | None,
    factors: Float64Array,
    parameters: Parameters,
    shape: tuple[int, ...],
    infinite: Infinite,
) -> Maps:
    backend = backend_for(table.device)
    if backend is None:
        return _fit_on_host(table, weights, factors, parameters, shape, infinite).to(table.device)
    if backend is not _plain and parameters.bounded and parameters.spread == "std" and parameters.max_knots is None:
        maps: Maps | None = backend.fit(table, weights, factors, parameters, shape, infinite == "nan")
        if maps is not None:
            return maps
    kernel = get_kernel(parameters.kernel, parameters.order)
    if (factors == 0).any():  # ranks need the values themselves
        return _fit_on_host(table, weights, factors, parameters, shape, infinite).to(table.device)
    robust = parameters.spread == "robust"
    sketches, too_wide = sketch_columns(
        table,
        weights,
        factors,
        kernel,
        shape,
        backend,
        robust=robust,
        reserve=RESERVE_FOR_ROBUST if robust else 1.0,
        skip_infinite=infinite == "nan",
    )
    if too_wide.any():  # outliers: the quartiles show only in the values themselves
        return _fit_on_host(table, weights, factors, parameters, shape, infinite).to(table.device)
    return sketches.build(factors, parameters)


RESERVE_FOR_ROBUST = 4.0  # so that most columns are read once


def _fit_on_host(
    table: Tensor,
    weights: Tensor | None,
    factors: Float64Array,
    parameters: Parameters,
    shape: tuple[int, ...],
    infinite: Infinite,
) -> Maps:
    """Fit by the core of the CPU."""
    array = as_array(table)
    if infinite == "nan" and np.isinf(array).any():
        array = np.where(np.isinf(array), np.nan, array)

    def check(stats: Any) -> None:
        if stats.infinite_columns:
            raise infinite_error(stats.infinite_columns, shape)
        check_ends(stats.minimum, stats.maximum, shape)

    kernel = get_kernel(parameters.kernel, parameters.order)
    mass = None if weights is None else weights.cpu().numpy()
    n_threads = count_threads(None, array.size)
    sketches, features = fit_table(array, mass, factors, kernel, n_threads, check=check, options=parameters.options)
    return Maps.from_features(features, shape, len(array), parameters, HostSketches(sketches))


@public_in("kdi.torch")
def sketch(
    x: Tensor,
    *,
    alpha: Any = 1.0,
    kernel: KernelName = "polyexp",
    order: int = 4,
    spread: Spread = "std",
    weights: Any = None,
    infinite: Infinite = "error",
) -> Sketches:
    """Summarise the columns of a tensor, on its device; sketches of parts of a table add up.

    Parameters
    ----------
    x, weights, infinite
        As in `fit`.
    alpha : float, sequence or tensor
        The smallest bandwidth factor that maps will be asked for: cells are eight times narrower than it needs in this
        part of the table. The error bound of the maps tells whether that was enough.
    kernel, order, spread
        What the widths of cells depend on; maps with other ones may be built too.

    Returns
    -------
    Sketches

    Examples
    --------
    >>> import torch, kdi.torch
    >>> monday, tuesday = torch.tensor([[1.0], [2.0]]), torch.tensor([[4.0], [8.0]])
    >>> both = kdi.torch.sketch(monday, alpha=0.5) + kdi.torch.sketch(tuesday, alpha=0.5)
    >>> both.n_rows
    4
    >>> kdi.torch.transform(tuesday, both.maps(alpha=0.5)).ravel().round(decimals=3)
    tensor([0.6100, 1.0000])
    """
    parameters = checked_parameters(Parameters(kernel, order, spread=spread), alpha)
    check_choice("infinite", infinite, INFINITE)
    table = check_table(x).detach()
    check_size(x)
    shape = tuple(x.shape[1:])
    device = table.device
    if not _has_float64(device):
        table = table.cpu()
    mass = check_weights(weights, table)
    own_kernel = get_kernel(parameters.kernel, parameters.order)
    backend: Any = backend_for(table.device) or _plain
    robust, skip = parameters.spread == "robust", infinite == "nan"
    sketches, too_wide = sketch_columns(
        table,
        mass,
        factors_of(alpha, shape),
        own_kernel,
        shape,
        backend,
        robust=robust,
        skip_infinite=skip,
    )
    if too_wide.any():
        sketches = with_columns_of_host(sketches, table, mass, too_wide, skip_infinite=skip)
    return sketches.to(device)


@public_in("kdi.torch")
def transform(x: Tensor, maps: Maps, *, out_of_range: OutOfRange = "clip", infinite: Infinite = "nan") -> Tensor:
    """Map each feature to [0, 1], to `feature_range`, or to normal scores.

    Parameters
    ----------
    x : Tensor of shape (rows, …, features)
        NaN stays NaN. The result is differentiable in x where x requires a gradient.
    maps : Maps
        On the device of x.
    out_of_range : {"clip", "linear", "nan"}
        The result for values outside the range of the fit, as in `kdi.KDITransformer`.
    infinite : {"nan", "error"}
        Whether infinite values become NaN or are an error. On a GPU, looking for them waits for the device.

    Returns
    -------
    Tensor of the shape and dtype of x

    Examples
    --------
    >>> import torch, kdi.torch
    >>> maps = kdi.torch.fit(torch.tensor([[0.0], [1.0], [2.0], [100.0]]))
    >>> x = torch.tensor([[1.0], [torch.nan], [100.0], [120.0]])
    >>> kdi.torch.transform(x, maps).ravel().round(decimals=3)
    tensor([0.0130,    nan, 1.0000, 1.0000])
    >>> kdi.torch.transform(x, maps, out_of_range="nan").ravel().round(decimals=3)
    tensor([0.0130,    nan, 1.0000,    nan])
    """
    return _apply(x, maps, out_of_range, infinite, back=False)


@public_in("kdi.torch")
def inverse_transform(
    x: Tensor, maps: Maps, *, out_of_range: OutOfRange = "clip", infinite: Infinite = "nan"
) -> Tensor:
    """Map transformed values back to the features; the parameters are those of `transform`.

    Examples
    --------
    >>> import torch, kdi.torch
    >>> x = torch.tensor([[0.0], [1.0], [2.0], [100.0]])
    >>> maps = kdi.torch.fit(x)
    >>> kdi.torch.inverse_transform(kdi.torch.transform(x, maps), maps).ravel().round(decimals=3)
    tensor([  0.,   1.,   2., 100.])
    """
    return _apply(x, maps, out_of_range, infinite, back=True)


def _apply(x: Tensor, maps: Maps, out_of_range: OutOfRange, infinite: Infinite, *, back: bool) -> Tensor:
    check_policies(out_of_range, infinite)
    check_maps(maps)
    table = check_table(x, maps.shape)
    if maps.device != x.device:
        raise ValueError(f"maps must be on the device of x, {x.device}, got {maps.device}; use maps.to(x.device).")
    if infinite == "error":
        columns = torch.nonzero(torch.isinf(table).any(0))[:, 0].tolist()
        if columns:
            raise infinite_error(columns, maps.shape)
    if not _has_float64(x.device):
        return _apply(x.cpu(), maps.to("cpu"), out_of_range, infinite, back=back).to(x.device)
    if is_plain(x):
        function = _lookup.inverse if back else _lookup.forward
        result = function(table, maps, out_of_range, _lookup.search_steps(maps))
        return _lookup.limited(result, x.dtype).reshape(x.shape)
    backend = backend_for(x.device)
    look_up = _apply_on_host if backend is None else backend.look_up
    mapped: Tensor = look_up(table, maps, out_of_range, back)
    return mapped.reshape(x.shape)


def is_plain(x: Tensor) -> bool:
    """Tell whether a tensor is mapped by plain torch operations: they are differentiable and run anywhere."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return True
    if (x.requires_grad and torch.is_grad_enabled()) or _lookup.is_transformed(x):
        return True
    return backend_for(x.device) is _plain


def _apply_on_host(table: Tensor, maps: Maps, out_of_range: OutOfRange, back: bool) -> Tensor:
    """Map a table by the core of the CPU."""
    array = as_array(table)
    to_scores = maps.parameters.turns_into_scores
    if back and to_scores:
        array = _lookup._to_levels(table.to(torch.float64)).numpy()
    out = np.empty(array.shape, dtype=array.dtype)
    n_threads = count_threads(None, array.size)
    if not array.size:
        pass
    elif back:
        core_maps.inverse(maps.on_host, array, out, out_of_range, n_threads)
    else:
        core_maps.forward(maps.on_host, array, out, out_of_range, n_threads, to_scores=to_scores)
    infinite = np.isinf(array)
    if infinite.any():
        out[infinite] = np.nan
    mapped = torch.from_numpy(out)  # limited to the range of its own dtype
    return mapped if mapped.dtype == table.dtype else _lookup.limited(mapped, table.dtype)


def as_array(table: Tensor) -> Any:
    """Return a table as an array of float32 or float64, without a copy where possible."""
    table = table.detach().cpu().resolve_neg()
    return (table.float() if table.dtype in (torch.float16, torch.bfloat16) else table).numpy()


def _has_float64(device: torch.device) -> bool:
    return str(device.type) != "mps"


def backend_for(device: torch.device) -> Any:
    """Return the module that computes on a device: CUDA kernels or plain torch operations, None for the CPU's core."""
    if device.type == "cpu" or not _has_float64(device):
        return None
    return _load_kernels() or _plain if device.type == "cuda" else _plain


@cache
def _load_kernels() -> ModuleType | None:
    """Load the CUDA kernels; where that is not possible, say so once."""
    try:
        from kdi.torch import _cuda

        _cuda.check_available()
    except ImportError as error:
        warnings.warn(
            "kdi.torch computes in plain torch operations, more slowly, since its CUDA kernels cannot be loaded: "
            f"{error}. pip install 'kdi[cuda]' installs what they need.",
            stacklevel=2,
        )
        return None
    return _cuda
