"""The methods of precision against runtime: exact and approximate Gaussian KD-integrals, and polyexp ones.

The subsampled Gaussian is that of the caption of the paper's figure: S training points, drawn without replacement, and
R = 1000 reference points at quantiles, between which it interpolates. Its bandwidth, ends and quantiles are those of
all training points, which costs almost nothing and makes it more precise: only its sum is over fewer points. The
interpolated Gaussian is that of the paper's notebook, which the figure seems to show: all training points, and R from
30 to 10,000.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import kdi
from experiments.libraries import installed

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]
Fit = Callable[[Floats], Map]

LIBRARY = "kditransform"  # optional
COUNTS = (30, 100, 300, 1_000, 3_000, 10_000)  # of points drawn, and of references
REFERENCES = 1_000  # the paper's R
BLOCK = 1 << 16  # pairs of points and values held in memory at a time

EXACT, THEIR_EXACT = "exact Gaussian, direct sum", "exact Gaussian, kditransform"
SUBSAMPLED, INTERPOLATED = "subsampled Gaussian", "interpolated Gaussian"
THEIR_POLYEXP, THEIR_GAUSSIAN = "kditransform polyexp", "kditransform gaussian"
OUR_POLYEXP, OUR_GAUSSIAN = "kdi polyexp", "kdi gaussian"
THEIRS = (THEIR_EXACT, THEIR_POLYEXP, THEIR_GAUSSIAN)

GAUSSIAN, POLYEXP, DDOF_ONE = "gaussian", "polyexp", "gaussian, ddof = 1"  # the integrals


class Contender(NamedTuple):
    """A method, with a number of points or references where it has one."""

    method: str
    make: Callable[[float, int], Fit]  # from alpha and a seed to a fit, which returns a transform
    own: str = GAUSSIAN  # the integral that it computes
    count: int | None = None  # S or R
    slow: bool = False


def contenders(points: int) -> list[Contender]:
    counts = [count for count in COUNTS if count <= points]
    found = [Contender(EXACT, direct, slow=True)]
    found += [Contender(SUBSAMPLED, partial(subsampled, drawn=count), count=count) for count in counts]
    found += [
        Contender(INTERPOLATED, partial(subsampled, references=count), count=count, slow=count > REFERENCES)
        for count in counts
    ]
    found += [
        Contender(THEIR_EXACT, partial(theirs, kernel="gaussian", exact=True), DDOF_ONE, slow=True),
        Contender(THEIR_POLYEXP, partial(theirs, kernel="polyexp"), POLYEXP),
        Contender(THEIR_GAUSSIAN, partial(theirs, kernel="gaussian"), DDOF_ONE),
        Contender(OUR_POLYEXP, partial(ours, kernel="polyexp"), POLYEXP),
        Contender(OUR_GAUSSIAN, partial(ours, kernel="gaussian")),
    ]
    return [one for one in found if one.method not in THEIRS or installed(LIBRARY)]


def direct(alpha: float, seed: int) -> Fit:
    """Make a fit that sums the definition: all work is done in the transform."""

    def fit(values: Floats) -> Map:
        return lambda at: gaussian_integral(values, at, alpha * values.std(), values.min(), values.max())

    return fit


def subsampled(alpha: float, seed: int, drawn: int | None = None, references: int = REFERENCES) -> Fit:
    def fit(values: Floats) -> Map:
        some = drawn is not None and drawn < len(values)
        chosen = np.random.default_rng(seed).choice(values, drawn, replace=False) if some else values
        knots = np.quantile(values, np.linspace(0, 1, references))
        levels = gaussian_integral(chosen, knots, alpha * values.std(), knots[0], knots[-1])
        return lambda at: np.interp(at, knots, levels)

    return fit


def gaussian_integral(values: Floats, at: Floats, bandwidth: float, low: float, high: float) -> Floats:
    positions, sums = np.r_[low, at, high], []
    step = max(1, BLOCK // len(values))
    for start in range(0, len(positions), step):
        sums.append(ndtr((positions[start : start + step, None] - values) / bandwidth).mean(axis=1))
    total = np.concatenate(sums)
    return (total[1:-1] - total[0]) / (total[-1] - total[0])


def theirs(alpha: float, seed: int, kernel: str, exact: bool = False) -> Fit:
    from kditransform import KDITransformer

    return estimator(KDITransformer(alpha=alpha, kernel=kernel, exact=exact))


def ours(alpha: float, seed: int, kernel: str) -> Fit:
    return estimator(kdi.KDITransformer(alpha, kernel=kernel, n_jobs=1))


def estimator(model: Any) -> Fit:
    def fit(values: Floats) -> Map:
        model.fit(values[:, None])
        return lambda at: model.transform(at[:, None])[:, 0]

    return fit
