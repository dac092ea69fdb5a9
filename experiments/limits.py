"""The two theorems of the paper, numerically: how far T is from its limits as alpha grows and as it vanishes.

T is the direct sum at fixed positions: at all values of a sample, and at three places between neighbours. The result of
`kdi.KDITransformer` is compared with it, and the difference with `error_bound_`.

Theorem 1. As h → ∞, T tends to min-max scaling. With a kernel K(u) = K(0) (1 - c |u|^p + …) the distance falls like
h^-p: p is 2 for the Gaussian, and κ + 1 = 5 for the polyexp kernel of order κ = 4, whose top is flatter.

Theorem 2. The paper claims that T tends to the empirical cdf F_N as h → 0. But half of each value's mass lies on either
side of it, so that half of that of the extremes is cut off: T tends to mid-ranks, shifted and scaled to [0, 1]. With
distinct values u_1 < … < u_m of multiplicity c_k and C_k = c_1 + … + c_k, that is, in units of D = N - (c_1 + c_m) / 2,

    L(u_k) = C_k - c_k / 2 - c_1 / 2    and    L(x) = C_k - c_1 / 2    for u_k < x < u_{k+1}.

Without ties that is (k - 1) / (N - 1) at the values, which is the quantile transform of scikit-learn and α = 0 of kdi,
and (k - 1/2) / (N - 1) between them. Its distance to F_N is 1/N at the values (at the smallest, where F_N is 1/N and T
is 0 for any h), and (N - 2) / (2 N (N - 1)) between them: it falls as N grows, but is not 0. With ties the distance at
the values is about half the share of the tied values, however large N is. QuantileTransformer equals L at the values,
unless the extremes are tied, and up to rounding errors in its quantiles, which may move a tied value by half a rank. No
convergence is uniform in x, since T is continuous and L is not.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import QuantileTransformer

import kdi
from experiments import datasets
from experiments.limits_tables import KERNELS, LARGEST, RULES, SMALLEST, claims, figures, tables
from experiments.progress import Size, Task, run
from experiments.rows import Row
from kdi._numerics.direct_sum import kd_integral

__all__ = ["RULES", "TITLE", "claims", "figures", "measure", "tables"]

Floats = NDArray[np.float64]

TITLE = "The two theorems"
VALUES, QUICK_VALUES = 500, 60
SHARES = (0.25, 0.5, 0.75)  # of the way from a value to the next
SAMPLES: dict[str, Callable[[int], Floats]] = {
    "normal": lambda n: generator("normal").normal(size=n),
    "lognormal": lambda n: generator("lognormal").lognormal(size=n),
    "Cauchy": lambda n: generator("Cauchy").standard_cauchy(size=n),
    "Poisson, ties": lambda n: generator("Poisson").poisson(4, size=n).astype(float),
    "bimodal at 1e6": lambda n: 1e6 + generator("bimodal").normal(size=n) + 6.0 * (np.arange(n) % 2),
    "malic acid": lambda n: datasets.classification("wine")[0][:n, 1],
    "AveOccup": lambda n: california(5, n),
    "HouseAge, ties": lambda n: california(1, n),
}


def generator(name: str) -> np.random.Generator:
    return np.random.default_rng(list(name.encode()))


def california(column: int, n: int) -> Floats:
    """Draw rows at random: they are sorted by place."""
    table, _ = datasets.regression("california")
    return generator("California").choice(table[:, column], n, replace=False)


def measure(size: Size) -> list[Row]:
    n, steps = (QUICK_VALUES, 10) if size == "quick" else (VALUES, 20)
    # Steps of half a decade above 1, where the rate is measured.
    alphas = [*np.geomspace(LARGEST, 1, 8, endpoint=False), *np.geomspace(1, SMALLEST, steps + 1)]
    alphas = [float(alpha) for alpha in alphas]
    pairs = [(name, kernel) for name in SAMPLES for kernel in KERNELS]
    return run([Task(f"{name}, {kernel}", 1, partial(measured, name, kernel, n, alphas)) for name, kernel in pairs])


def measured(name: str, kernel: str, n: int, alphas: list[float]) -> list[Row]:
    values = SAMPLES[name](n)
    distinct, counts = np.unique(values, return_counts=True)
    between = np.concatenate([distinct[:-1] + share * np.diff(distinct) for share in SHARES])
    limit_at, limit_between = limits(counts)
    at_data = {
        "limit": limit_at,
        "kdi_zero": kdi.KDITransformer(0, kernel=kernel).fit(values[:, None]).transform(distinct[:, None])[:, 0],
        "sklearn": quantile_transformed(values, distinct),
        "quantile": quantile_transformed(values, distinct, exact=True),
        "ecdf": np.cumsum(counts) / len(values),
    }
    in_between = {"limit": np.tile(limit_between, len(SHARES)), "ecdf": np.tile(at_data["ecdf"][:-1], len(SHARES))}
    scaled = [(where - distinct[0]) / (distinct[-1] - distinct[0]) for where in (distinct, between)]
    rows = []
    for alpha in alphas:
        bandwidth = alpha * float(values.std())
        exact = [kd_integral(values, where, bandwidth, kernel) for where in (distinct, between)]
        model = kdi.KDITransformer(alpha, kernel=kernel).fit(values[:, None])
        ours = [model.transform(where[:, None])[:, 0] for where in (distinct, between)]
        found = {"to_min_max": apart(exact, scaled)}
        found |= {f"to_{goal}_at_values": apart([exact[0]], [level]) for goal, level in at_data.items()}
        found |= {f"to_{goal}_between": apart([exact[1]], [level]) for goal, level in in_between.items()}
        found |= {"kdi_to_min_max": apart(ours, scaled), "kdi_error": apart(ours, exact)}
        found |= {"kdi_bound": float(model.error_bound_[0])}
        ties = {"first_ties": int(counts[0]), "last_ties": int(counts[-1]), "most_ties": int(counts.max())}
        head = {"sample": name, "values": len(values), "distinct": len(distinct), **ties}
        head |= {"kernel": kernel, "alpha": f"{alpha:.4g}"}
        rows.append(head | {what: f"{distance:.3e}" for what, distance in found.items()})
    return rows


def limits(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Compute the limit of T as h → 0, at the distinct values and between them, from their multiplicities."""
    total = counts.sum() - 0.5 * (counts[0] + counts[-1])
    sums = np.cumsum(counts) - 0.5 * counts[0]
    return (sums - 0.5 * counts) / total, sums[:-1] / total


def quantile_transformed(values: Floats, at: Floats, exact: bool = False) -> Floats:
    """Transform by scikit-learn, whose quantiles have rounding errors that can separate ties, or with exact ones."""
    model = QuantileTransformer(n_quantiles=len(values), subsample=None).fit(values[:, None])
    if exact:
        model.quantiles_[:, 0] = np.sort(values)
    return model.transform(at[:, None])[:, 0]


def apart(found: list[Floats], goals: list[Floats]) -> float:
    """Return the largest absolute difference."""
    return max(float(np.abs(one - goal).max()) for one, goal in zip(found, goals, strict=True))
