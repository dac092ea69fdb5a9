"""The bandwidth factor alpha: one number per feature, from what a user passes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from kdi._utils.typing import Float64Array
from kdi._utils.validation import n_dimensions, to_float

BANDWIDTH_RULES = ("scott", "silverman")
SCOTT, SILVERMAN = -1.0, -2.0  # stand for the rules among bandwidth factors
ALLOWED_ALPHAS = "a number >= 0, inf, 'scott' or 'silverman'"


def bandwidth_factor(alpha: Any, weight: float, label: str = "alpha") -> float:
    """Return one alpha as a number; `label` names it in messages.

    The rules take the sum of the weights as the sample size n. Scott: n^(-1/5). Silverman: (3 n / 4)^(-1/5), as in
    scipy.stats.gaussian_kde for one dimension.

    Examples
    --------
    >>> from kdi._integral.bandwidth import bandwidth_factor
    >>> bandwidth_factor("scott", 32.0)
    0.5
    """
    if isinstance(alpha, str):
        if alpha not in BANDWIDTH_RULES:
            raise ValueError(f"{label} must be {ALLOWED_ALPHAS}, got {alpha!r}.")
        return float((weight if alpha == "scott" else 0.75 * weight) ** -0.2) if weight > 0 else float("nan")
    if not isinstance(alpha, Real) or isinstance(alpha, bool | np.bool_) or not to_float(alpha) >= 0:
        raise ValueError(f"{label} must be {ALLOWED_ALPHAS}, got {alpha!r}.")
    return to_float(alpha) + 0.0  # 0 instead of -0, by which a range must not be divided


def spread_alpha(alpha: Any, n_features: int, names: Any = None) -> list[Any]:
    """Return one alpha per feature: from a single one, a sequence, or a mapping by feature name, by default 1."""
    if isinstance(alpha, Mapping):
        if names is None:
            raise ValueError(
                "alpha is a mapping by feature name, but the columns have no names that are all strings; "
                "pass a frame, or alpha as a sequence."
            )
        unknown = [name for name in alpha if name not in set(names)]
        if unknown:
            raise ValueError(
                f"alpha names {unknown[0]!r}, which is not a feature; the features are {list(names)[:10]}."
            )
        return [alpha.get(name, 1.0) for name in names]
    if isinstance(alpha, str) or n_dimensions(alpha) == 0:
        return [alpha] * n_features
    alphas = alpha.tolist() if isinstance(alpha, np.ndarray) else list(alpha)
    if n_dimensions(alpha) != 1 or len(alphas) != n_features:
        raise ValueError(f"alpha must have one entry per feature, {n_features}, got shape {np.shape(alpha)}.")
    return alphas


def resolve_alpha(alpha: Any, weights: Float64Array, names: Any = None) -> Float64Array:
    """Return the bandwidth factor of every feature; `weights` are their sums of weights."""
    alphas = spread_alpha(alpha, len(weights), names)
    single = len({id(one) for one in alphas}) == 1 and not isinstance(alpha, Mapping)
    labels = [
        "alpha" if single else f"alpha of feature {j if names is None else names[j]!r}" for j in range(len(alphas))
    ]
    return np.array([bandwidth_factor(one, w, label) for one, w, label in zip(alphas, weights, labels, strict=True)])


def alpha_factors(alpha: Any, n_features: int, names: Any = None) -> Float64Array:
    """Return one number per feature: its alpha, or SCOTT or SILVERMAN, which `resolve_factors` turns into an alpha."""
    if (isinstance(alpha, float) and alpha >= 0) or (type(alpha) is int and 0 <= alpha < 2**53):
        return np.full(n_features, float(alpha) + 0.0)
    ones = resolve_alpha(alpha, np.ones(n_features), names)  # checks every alpha
    rules = {"scott": SCOTT, "silverman": SILVERMAN}
    alphas = spread_alpha(alpha, n_features, names)
    return np.array([rules[a] if isinstance(a, str) else one for a, one in zip(alphas, ones.tolist(), strict=True)])


def resolve_factors(factors: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the bandwidth factor of every feature; `weights` are their sums of weights."""
    if (factors >= 0).all():
        return factors
    with np.errstate(divide="ignore"):
        effective = np.where(factors == SILVERMAN, 0.75 * weights, weights) ** -0.2
    return np.where(factors >= 0, factors, np.where(weights > 0, effective, np.nan))
