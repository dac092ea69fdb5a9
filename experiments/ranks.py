"""Methods compared over many data sets: mean ranks with intervals, and Holm's correction of p-values."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from experiments.contests import DIGITS
from experiments.rows import Row, grouped

Floats = NDArray[np.float64]
RESAMPLES = 10_000


def signed(row: Row) -> float:
    """Return the value of a row with the sign that makes greater ones better."""
    return float(row["value"]) * (1 if row["metric"] == "AUC" else -1)


def ranks(rows: Iterable[Row]) -> dict[str, Floats]:
    """Rank the methods on each set with each model: 1 for the best, means for ties."""
    found: dict[str, list[float]] = {}
    for own in grouped(rows, "data", "model").values():
        places = rankdata(-np.round([signed(row) for row in own], DIGITS))
        for row, place in zip(own, places, strict=True):
            found.setdefault(row["method"], []).append(float(place))
    return {method: np.array(places) for method, places in found.items()}


def mean_ranks(rows: Iterable[Row]) -> dict[str, float]:
    return {method: float(places.mean()) for method, places in ranks(rows).items()}


def interval(values: Floats) -> tuple[float, float]:
    """Return a 95 % percentile interval of the mean by resampling."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values of several tests by Holm's method."""
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.minimum(1, np.maximum.accumulate(np.array(p_values)[order] * factors))
    found = np.empty(len(p_values))
    found[order] = corrected
    return found.tolist()
