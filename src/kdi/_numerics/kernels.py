"""The kernels: their cdf, its derivatives, and the constants that determine the width of cells and knots.

Both kernels are symmetric, so each is given by its tail S(u) = 1 - G(u) for u >= 0, u in units of the kernel's own
bandwidth, which is `scale` times h.

===========  =======================================================================================
gaussian     S(u) = 1 - Phi(u)
polyexp      S(u) = exp(-u) / (2 (k+1)) * sum_{j<=k} (k+1-j) u^j / j!, the tail of the density
             exp(-|u|) / (2 (k+1)) * sum_{i<=k} |u|^i / i!   (Hofmeyr 2019; order k, the paper takes 4)
===========  =======================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, erfc, exp, pi, sqrt
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import ndtr

from kdi._utils.typing import Float64Array


@dataclass(frozen=True)
class Kernel:
    """Kernel of a given order: 1 and above are polyexp, 0 is the Gaussian."""

    order: int

    @property
    def name(self) -> str:
        return "polyexp" if self.order else "gaussian"

    @cached_property
    def scale(self) -> float:
        """Bandwidth of this kernel for h = 1: the two have the same AMISE-optimal smoothing."""
        if not self.order:
            return 1.0
        terms = range(self.order + 1)
        height = 2 * (self.order + 1)
        roughness = sum(comb(i + j, i) / 2 ** (i + j) for i in terms for j in terms) / height**2
        variance = 2 * sum((i + 1) * (i + 2) for i in terms) / height
        return float((2 * sqrt(pi) * roughness / variance**2) ** 0.2)

    @property
    def peak(self) -> float:
        """The density at 0."""
        return 1 / (2 * (self.order + 1)) if self.order else 1 / sqrt(2 * pi)

    @cached_property
    def max_fourth_derivative(self) -> float:
        """Largest absolute fourth derivative of the cdf for h = 1, a factor of every error bound."""
        if not self.order:
            root = sqrt(3 - sqrt(6))
            return (3 * root - root**3) * exp(-(root**2) / 2) / sqrt(2 * pi)
        # The density's third derivative is c e^-u (2 p_{k-1} - p_{k-2} - p_k) with p_j = u^j / j!; its own derivative
        # vanishes at 0 or where u^3 - 3 k u^2 + 3 k (k-1) u - k (k-1) (k-2) = 0.
        k = self.order
        roots = np.roots([1.0, -3.0 * k, 3.0 * k * (k - 1), -1.0 * k * (k - 1) * (k - 2)])
        candidates = np.append(roots.real[(abs(roots.imag) < 1e-8) & (roots.real > 0)], 0.0)
        return float(abs(self.derivatives(candidates, 4)[4]).max()) / self.scale**4

    def tail_at(self, u: float) -> float:
        """Compute 1 - G(u) for one u >= 0: plain numbers are much faster than arrays of length 1."""
        if not self.order:
            return 0.5 * erfc(u / sqrt(2))
        if u > 700:
            return 0.0
        total = 0.0
        for j in range(self.order, -1, -1):
            total = self.order + 1 - j + total * u / (j + 1)
        return total * exp(-u) / (2 * (self.order + 1))

    def cdf(self, u: Float64Array) -> Float64Array:
        """Compute G(u)."""
        return self.derivatives(np.asarray(u, dtype=float), 0)[0]

    def pdf(self, u: Float64Array) -> Float64Array:
        """Compute the density G'(u)."""
        return self.derivatives(np.asarray(u, dtype=float), 1)[1]

    def derivatives(self, u: Float64Array, n_derivatives: int) -> list[Float64Array]:
        """Compute G(u) and its first `n_derivatives` derivatives."""
        if not self.order:
            u = np.clip(u, -40.0, 40.0)  # all derivatives are 0 there, and squares cannot overflow
            result, before, derivative = [np.asarray(ndtr(u))], 0.0 * u, np.exp(-0.5 * u * u) / sqrt(2 * pi)
            for n in range(n_derivatives):
                result.append(derivative)
                before, derivative = derivative, -u * derivative - n * before
            return result
        distance, right = np.abs(u), u >= 0
        coefficients = _tail_coefficients(self.order)
        tail = _exponential_polynomial(coefficients, distance)
        result = [np.where(right, 1 - tail, tail)]
        for n in range(1, n_derivatives + 1):
            coefficients = np.append(coefficients[1:], 0.0) - coefficients
            derivative = _exponential_polynomial(coefficients, distance)
            result.append(np.where(right, -derivative, (-1) ** n * derivative))
        return result


@lru_cache
def _tail_coefficients(order: int) -> Float64Array:
    """Return the coefficients of the polyexp tail in the basis u^l / l!."""
    return (order + 1.0 - np.arange(order + 1)) / (2 * (order + 1))


def _exponential_polynomial(coefficients: Float64Array, u: Float64Array) -> Float64Array:
    """Compute exp(-u) sum_l c_l u^l / l! by Horner's scheme; for u > 700, where u^l may overflow, it is 0."""
    near = np.minimum(u, 700.0)
    total = np.zeros_like(near)
    for j in range(len(coefficients) - 1, -1, -1):
        total = coefficients[j] + total * near / (j + 1)
    return np.asarray(np.where(u > 700.0, 0.0, total * np.exp(-near)))


@lru_cache
def _kernel(name: str, order: int) -> Kernel:
    """Return one object per kernel, so that its constants are computed once."""
    return Kernel(order if name == "polyexp" else 0)


def get_kernel(name: Any, order: Any = 4) -> Kernel:
    """Return a kernel by the parameters that users pass; raise where they are wrong."""
    if not isinstance(name, str) or name not in ("polyexp", "gaussian"):
        raise ValueError(f"kernel must be 'polyexp' or 'gaussian', got {name!r}.")
    # exp(-u) underflows soon after u = 700; the tail of a kernel of order 300 is negligible there.
    if not isinstance(order, Integral) or isinstance(order, bool) or not 1 <= int(order) <= 300:
        raise ValueError(f"order must be an integer from 1 to 300, got {order!r}.")
    return _kernel(name, int(order))
