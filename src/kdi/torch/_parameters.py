"""Checks of what users pass: tables, weights, and the parameters of a fit."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kdi._integral.bandwidth import alpha_factors
from kdi._integral.maps import OUT_OF_RANGE
from kdi._transformer.base import check_open_alphas
from kdi._transformer.transformer import KDITransformer
from kdi._utils.errors import InfiniteValuesError, TableError
from kdi._utils.typing import Float64Array
from kdi._utils.validation import n_dimensions
from kdi.torch._maps import Maps, Parameters

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INFINITE = ("error", "nan")
SAFE_END = 8e307  # extremes up to this size have a finite range


def checked_parameters(parameters: Parameters, alpha: Any) -> Parameters:
    """Return the parameters; raise where `kdi.KDITransformer` does not allow them."""
    check_open_alphas(parameters.bounded, alpha.tolist() if isinstance(alpha, Tensor) else alpha, "alpha")
    try:
        return _checked(parameters)
    except TypeError:  # a list, or something that is wrong
        return _checked.__wrapped__(parameters)


@lru_cache(maxsize=64)
def _checked(parameters: Parameters) -> Parameters:
    KDITransformer(**parameters._asdict())._check_parameters()
    low, high = parameters.feature_range
    return parameters._replace(feature_range=(float(low), float(high)), bounded=bool(parameters.bounded))


def factors_of(alpha: Any, shape: tuple[int, ...]) -> Float64Array:
    """Return one bandwidth factor or rule per column: from one number, one per feature, or one per column."""
    if isinstance(alpha, Tensor):
        alpha = alpha.detach().cpu().double().numpy()  # NumPy has no bfloat16
    if isinstance(alpha, np.ndarray) and alpha.ndim > 1:
        if alpha.shape != shape:
            raise ValueError(f"alpha must have the shape of a row, {shape}, got {alpha.shape}.")
        return alpha_factors(alpha.ravel(), alpha.size)
    if isinstance(alpha, np.ndarray) and alpha.ndim == 0:
        alpha = alpha.item()
    if n_dimensions(alpha) == 0:
        return alpha_factors(alpha, prod(shape))
    factors = alpha_factors(alpha, shape[-1])
    return np.tile(factors, prod(shape[:-1]))


def check_table(x: Any, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return a table as a tensor of shape (rows, columns), of which one row has the given shape."""
    if not isinstance(x, Tensor):
        raise TypeError(
            f"x must be a torch tensor, got {type(x).__name__}; use kdi.KDITransformer for arrays and frames."
        )
    if x.dtype not in FLOATS:
        raise TypeError(f"x must be of dtype float16, bfloat16, float32 or float64, got {x.dtype}; convert it first.")
    if x.ndim < 2:
        raise ValueError(
            f"x must have the shape (rows, …, features), got {tuple(x.shape)}; for one feature, x[:, None]."
        )
    if x.layout != torch.strided:
        raise TypeError(f"x must be a dense tensor, got the layout {x.layout}; use x.to_dense().")
    if shape is not None and tuple(x.shape[1:]) != shape:
        raise ValueError(f"x must have rows of shape {shape}, as in fit, got {tuple(x.shape[1:])}.")
    return x.reshape(x.shape[0], prod(x.shape[1:]))  # not len(x), which torch.export takes for a constant


def check_maps(maps: Any) -> None:
    """Raise unless these are maps of tensors."""
    if not isinstance(maps, Maps):
        raise TypeError(f"maps must be kdi.torch.Maps, as fit returns, got {type(maps).__name__}.")


def check_size(x: Tensor) -> None:
    """Raise unless a table has rows and columns to fit."""
    if not x.numel():
        raise ValueError(f"x must have at least one row and one feature, got the shape {tuple(x.shape)}.")


def check_weights(weights: Any, x: Tensor) -> Tensor | None:
    """Return weights as float64 on the device of the table."""
    if weights is None:
        return None
    try:
        weights = torch.as_tensor(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"weights must be numbers, one per row, got {type(weights).__name__}.") from error
    if weights.is_complex():
        raise TypeError(f"weights must be real numbers, one per row, got the dtype {weights.dtype}.")
    weights = weights.detach().to(x.device, torch.float64)
    if weights.shape != (len(x),):
        raise ValueError(f"weights must have shape ({len(x)},), one weight per row, got {tuple(weights.shape)}.")
    total = float(weights.sum())
    if not bool((torch.isfinite(weights) & (weights >= 0)).all()):
        raise ValueError("weights must be finite and not negative.")
    if not 0 < total < float("inf"):
        raise ValueError(f"weights must have a positive and finite sum, got {total}.")
    return weights.resolve_neg().contiguous()


def check_choice(name: str, value: Any, allowed: Any) -> None:
    """Raise unless a parameter is one of some strings."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}.")


def check_policies(out_of_range: Any, infinite: Any) -> None:
    """Raise unless both policies exist."""
    check_choice("out_of_range", out_of_range, OUT_OF_RANGE)
    check_choice("infinite", infinite, INFINITE)


def check_ends(low: Float64Array, high: Float64Array, shape: tuple[int, ...]) -> None:
    """Raise if columns with these extremes hold infinite values, or if their range overflows."""
    if max(np.abs(low).max(), np.abs(high).max()) < SAFE_END:
        return
    infinite = np.flatnonzero((np.isinf(low) | np.isinf(high)) & (low <= high)).tolist()  # others are empty
    if infinite:
        raise infinite_error(infinite, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.flatnonzero(high - low == np.inf).tolist()
    if wide:
        named, first = _name_columns(wide, shape)
        problem = f"the range of {named} is too large for float64"
        raise TableError(problem, column=first, advice="divide the values first")


def infinite_error(columns: list[int], shape: tuple[int, ...]) -> InfiniteValuesError:
    """Return the error about columns that hold infinite values."""
    named, first = _name_columns(columns, shape)
    text = f"x contains infinity or a value too large for its dtype, in {named}"
    advice = "finite numbers and NaN are allowed; infinite='nan' treats infinite values as missing"
    return InfiniteValuesError(text, column=first, advice=advice)


def _name_columns(columns: list[int], shape: tuple[int, ...]) -> tuple[str, str]:
    """Describe columns by their places in a row; return the first one's alone too."""
    places = [tuple(int(i) for i in np.unravel_index(column, shape)) for column in columns[:5]]
    names = [str(place[0] if len(place) == 1 else place) for place in places]
    return f"column{'s' * (len(columns) > 1)} {', '.join(names)}{' …' * (len(columns) > 5)}", names[0]
