"""The direct sum: what the package computes, written as in the paper.

    P(a, b) = sum_n w_n [G((b - X_n)/h) - G((a - X_n)/h)] / sum_n w_n
    T(x)    = P(X_(1), x) / P(X_(1), X_(N))

It takes quadratic time in the number of values and is the oracle of the tests. `cell_sum` is the same sum over a
sketch's cells, for the pure-NumPy core and for very small problems.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from kdi._numerics.kernels import Kernel, get_kernel
from kdi._utils.typing import Float64Array


def kd_integral(
    values: ArrayLike,
    at: ArrayLike,
    bandwidth: float,
    kernel: str = "polyexp",
    order: int = 4,
    weights: ArrayLike | None = None,
) -> Float64Array:
    """Compute the kernel density integral T of `values` at the points `at` by the direct sum.

    Examples
    --------
    >>> from kdi._numerics.direct_sum import kd_integral
    >>> kd_integral([0.0, 1.0, 3.0], at=[0.0, 1.5, 3.0], bandwidth=1.0).round(4)
    array([0.    , 0.5646, 1.    ])
    """
    data = np.asarray(values, dtype=float).ravel()
    mass = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=float).ravel()
    keep = ~np.isnan(data) & (mass > 0)
    data, mass = data[keep], mass[keep]
    low, high = data.min(), data.max()
    points = np.clip(np.asarray(at, dtype=float), low, high)
    knots = np.concatenate([[low], points.ravel(), [high]]) - low
    chosen = get_kernel(kernel, order)
    sums, _ = cell_sum(data - low, mass[:, None] / mass.sum(), 0.0, chosen, bandwidth * chosen.scale, knots)
    return np.asarray(((sums - sums[0]) / (sums[-1] - sums[0]))[1:-1].reshape(points.shape))


def cell_sum(
    positions: Float64Array,
    moments: Float64Array,
    width: float,
    kernel: Kernel,
    bandwidth: float,
    knots: Float64Array,
    n_derivatives: int = 1,
) -> list[Float64Array]:
    """Sum the kernel cdf and its first `n_derivatives` derivatives over cells, at `knots`.

    A cell at c with moments m_k adds sum_k m_k (-w/b)^k / k! G^(k)((x - c)/b): the Taylor expansion about its centre.
    One column of moments means that every cell is a point.
    """
    factors = [(-width / bandwidth) ** k / factorial(k) for k in range(moments.shape[1])]
    sums = [np.empty(len(knots)) for _ in range(n_derivatives + 1)]
    step = max(1, 2**18 // max(len(positions), 1))
    for start in range(0, len(knots), step):
        block = slice(start, start + step)
        distance = (knots[block, None] - positions) / bandwidth
        derivatives = kernel.derivatives(distance, len(factors) - 1 + n_derivatives)
        for order, total in enumerate(sums):
            terms = zip(factors, derivatives[order:], moments.T, strict=False)
            total[block] = sum(factor * derivative @ moment for factor, derivative, moment in terms) / bandwidth**order
    return sums
