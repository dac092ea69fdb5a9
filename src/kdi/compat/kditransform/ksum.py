"""Kernel sums with the polynomial-exponential kernels Σ_i β_i |u|^i exp(-|u|), for code that imports these names.

Subclasses of the original may use them. `KDITransformer` does not: it computes its integrals with kdi's filters.
"""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

import numpy as np

from kdi._utils.typing import Float64Array

__all__ = ["betas_for_order", "h_Gauss_to_K", "ksum_numba", "norm_const_K", "roughness_K", "var_K"]

MAX_SUMMED_PAIRS = 2**20  # pairs of a point and a value that are summed at once


def norm_const_K(betas: Float64Array) -> float:
    """Return the integral of the kernel with these coefficients."""
    return float(2 * sum(beta * factorial(i) for i, beta in enumerate(np.asarray(betas).tolist())))


def betas_for_order(order: int) -> Float64Array:
    """Return the coefficients of the kernel of an order: β_i = 1 / (2 (order + 1) i!)."""
    return np.array([1 / (2 * (order + 1) * factorial(i)) for i in range(order + 1)])


def roughness_K(betas: Float64Array) -> float:
    """Return the integral of the square of the kernel, which is first scaled to integrate to 1."""
    normed = (np.asarray(betas) / norm_const_K(betas)).tolist()
    return float(
        sum(a * b * factorial(i + j) / 2 ** (i + j) for i, a in enumerate(normed) for j, b in enumerate(normed))
    )


def var_K(betas: Float64Array) -> float:
    """Return the variance of the kernel, which is first scaled to integrate to 1."""
    normed = (np.asarray(betas) / norm_const_K(betas)).tolist()
    return float(2 * sum(beta * factorial(i + 2) for i, beta in enumerate(normed)))


def h_Gauss_to_K(h: Any, betas: Float64Array) -> Any:
    """Return the bandwidth at which the kernel smooths as much as a Gaussian of bandwidth h."""
    return h * (roughness_K(betas) / var_K(betas) ** 2 * 2 * sqrt(pi)) ** 0.2


def ksum_numba(
    x: Float64Array,
    y: Float64Array,
    x_eval: Float64Array,
    h: float,
    betas: Float64Array,
    output: Float64Array,
    counts: Any = None,
    coefs: Any = None,
    Ly: Any = None,
    Ry: Any = None,
) -> None:
    """Write Σ_n y_n K((x_eval - x_n) / h) to `output`, as a direct sum; the buffers after `output` are ignored."""
    coefficients = np.asarray(betas, dtype=float)[::-1]
    step = max(1, MAX_SUMMED_PAIRS // max(len(x), 1))
    for start in range(0, len(x_eval), step):
        distance = abs(np.asarray(x_eval[start : start + step], dtype=float)[:, None] - x) / h
        output[start : start + step] = (np.polyval(coefficients, distance) * np.exp(-distance)) @ y
