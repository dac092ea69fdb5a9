"""Precision against runtime, after the paper's figure: lognormal training points, equally spaced test points.

The error is the largest absolute difference to the exact Gaussian KD-integral over all test points, σ with ddof = 0. A
method that computes another integral also has an own error, against that integral: polyexp methods have another kernel,
and the bandwidth of kditransform's Gaussian is alpha times the deviation with ddof = 1.

All methods run on one thread in interleaved rounds; a new subsample is drawn in each round. Times and errors are
medians over the rounds, of which slow methods have fewer.
"""

from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
from scipy.special import ndtr

from benchmarks.direct import kernel_density_integral, polyexp_cdf, polyexp_scale
from benchmarks.rounds import interleaved, timed, turns
from experiments.libraries import installed, print_missing
from experiments.precision_methods import DDOF_ONE, GAUSSIAN, LIBRARY, POLYEXP, Contender, Floats, contenders
from experiments.precision_tables import RULES, claims, figures, tables
from experiments.progress import Size, Task, run
from experiments.rows import Row

__all__ = ["LIBRARIES", "RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Precision against runtime"
LIBRARIES = (LIBRARY,) if installed(LIBRARY) else ()

POINTS, QUICK_POINTS = 10_000, 1_000  # for training, and as many for testing
PRECISION_ALPHAS = (0.1, 1.0, 10.0)
BUDGET, QUICK_BUDGET = 40.0, 0.2  # seconds of rounds per alpha, which the contenders share


def measure(size: Size) -> list[Row]:
    print_missing([LIBRARY])
    points, budget = (QUICK_POINTS, QUICK_BUDGET) if size == "quick" else (POINTS, BUDGET)
    # Without a key, since times must be measured anew in each run.
    return run([Task(f"α = {alpha:g}", 1, partial(compared, alpha, points, budget)) for alpha in PRECISION_ALPHAS])


def compared(alpha: float, points: int, budget: float) -> list[Row]:
    values = np.random.RandomState(0).lognormal(size=points)
    at = np.linspace(values.min(), values.max(), points)
    entrants = {f"{one.method} {one.count}": one for one in contenders(points)}
    exact = {name: integral(values, at) for name, integral in integrals(alpha, points).items()}
    calls = {name: partial(attempt, one, alpha, values, at, exact) for name, one in entrants.items()}
    costs = {}
    for name, one in entrants.items():
        if not one.slow:
            calls[name](seed=0)  # a warm-up: loads and compiles code
        costs[name] = sum(calls[name](seed=0)[:2])
    seeds = {name: count() for name in entrants}
    work = {name: lambda name=name: calls[name](seed=next(seeds[name])) for name in entrants}
    found = interleaved(work, turns(costs, budget))
    return [row(alpha, points, entrants[name], np.array(attempts)) for name, attempts in found.items()]


def attempt(
    one: Contender, alpha: float, values: Floats, at: Floats, exact: dict[str, Floats], seed: int
) -> tuple[float, float, float, float]:
    """Return seconds of fit and transform, the largest error, and the largest error against the own integral."""
    given, asked = values.copy(), at.copy()  # kditransform's fit alters the caller's array
    fit, transform = timed(one.make(alpha, seed), given)
    seconds, answer = timed(transform, asked)
    return fit, seconds, *(float(np.abs(answer - exact[name]).max()) for name in (GAUSSIAN, one.own))


def integrals(alpha: float, points: int) -> dict[str, Callable[[Floats, Floats], Floats]]:
    """Return the exact integrals (Gaussian, polyexp, Gaussian with ddof = 1), by code that shares nothing with kdi."""
    scales = {
        GAUSSIAN: (ndtr, alpha),
        POLYEXP: (polyexp_cdf, alpha * polyexp_scale()),
        DDOF_ONE: (ndtr, alpha * np.sqrt(points / (points - 1))),
    }
    return {name: partial(kernel_density_integral, cdf=cdf, scale=scale) for name, (cdf, scale) in scales.items()}


def row(alpha: float, points: int, one: Contender, attempts: Floats) -> Row:
    fit, transform, error, own = np.median(attempts, axis=0)
    return {
        "alpha": f"{alpha:g}",
        "points": points,
        "method": one.method,
        "count": one.count or "",
        "rounds": len(attempts),
        "fit_ms": f"{1e3 * fit:.4f}",
        "transform_ms": f"{1e3 * transform:.4f}",
        "total_ms": f"{1e3 * np.median(attempts[:, 0] + attempts[:, 1]):.4f}",
        "error": f"{error:.3e}",
        "own_error": f"{own:.3e}",
    }
