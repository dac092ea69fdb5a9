"""The correlated data, three simulated cases and California housing, and queries of the rows about them."""

import gzip
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.rows import Row, chosen

Floats = NDArray[np.float64]

# The three coefficients, and the alpha at which `kdi.correlation` equals each of them.
ALPHAS = {"pearson": np.inf, "spearman": 0.0, "kdi": 1.0}
NAMES = {"pearson": "Pearson", "spearman": "Spearman", "kdi": "KD-integral"}

CURVE, NOISY, OUTLIERS, CLEAN = "(A) curve", "(B) noisy line", "(C) line with outliers", "(C) before the outliers"
PAPER_SEED = 1
N = 100
POWER = 1.4  # exponent of the curve
CORRELATIONS = {NOISY: 0.4, OUTLIERS: 0.8}
N_OUTLIERS, STRETCH = 5, 3

TARGET = "MedHouseVal"
# The pairs that the paper highlights, each in the order of the table's columns.
BEDROOMS, INCOME, POPULATION = ("AveRooms", "AveBedrms"), ("MedInc", "AveRooms"), ("AveBedrms", "Population")
HIGHLIGHTED = (BEDROOMS, INCOME, POPULATION)
PERCENTILE = 99  # rows beyond it in either column are outliers, as in the author's notebook


def simulated(seed: int) -> dict[str, tuple[Floats, Floats]]:
    """Draw all cases from one seed, one after the other, as the author's notebook does with the seed 1.

    The code is that of Wikipedia's article on Spearman's coefficient.
    """
    rng = np.random.RandomState(seed)
    x = rng.uniform(size=N)
    logit = np.log(x / (1 - x))
    found = {CURVE: (x, np.sign(logit) * abs(logit) ** POWER), NOISY: line(rng, CORRELATIONS[NOISY])}
    x, y = found[CLEAN] = line(rng, CORRELATIONS[OUTLIERS])
    stretched = x.copy()
    stretched[np.argsort(-x)[:N_OUTLIERS]] *= STRETCH
    return found | {OUTLIERS: (stretched, y)}


def line(rng: np.random.RandomState, correlation: float) -> tuple[Floats, Floats]:
    x = rng.normal(size=N)
    return x, correlation * x + np.sqrt(1 - correlation**2) * rng.normal(size=N)


@cache
def whole_housing() -> tuple[list[str], Floats]:
    """Read the names of the columns, the target last, and the table."""
    with gzip.open(datasets.CALIFORNIA, "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        return names, np.loadtxt(file, delimiter=",")


def housing(n_rows: int | None = None) -> dict[str, Floats]:
    """Return the columns by name: all rows, or about that many, evenly spaced."""
    names, table = whole_housing()
    step = len(table) // (n_rows or len(table))
    return dict(zip(names, table[::step].T, strict=True))


def without_outliers(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Find the rows that are not beyond the percentile in x or in y."""
    return (x <= np.percentile(x, PERCENTILE)) & (y <= np.percentile(y, PERCENTILE))


def pair_name(first: str, second: str) -> str:
    return f"{first}, {second}"


# Queries of the rows.


def papers_draw(rows: Iterable[Row]) -> Row:
    """Find the paper's sample among those of a case."""
    (drawn,) = chosen(rows, seed=str(PAPER_SEED))
    return drawn


def of_pair(rows: Iterable[Row], part: str, pair: tuple[str, str]) -> Row:
    (own,) = chosen(rows, part=part, first=pair[0], second=pair[1])
    return own


def values(rows: Sequence[Row]) -> tuple[Floats, Floats, Floats]:
    """Return Pearson, Spearman and KD-integral of all rows."""
    pearson, spearman, ours = (np.array([float(one[name]) for one in rows]) for name in ALPHAS)
    return pearson, spearman, ours


def outside(pearson: Floats, spearman: Floats, ours: Floats) -> Floats:
    """Compute how far KD-integral is outside the range of the two others; 0 within."""
    low, high = np.minimum(pearson, spearman), np.maximum(pearson, spearman)
    return np.maximum(np.maximum(low - ours, ours - high), 0)


def nearer_spearman(pearson: Floats, spearman: Floats, ours: Floats) -> Floats:
    return abs(ours - spearman) < abs(ours - pearson)


def largest(rows: Sequence[Row], against: str, count: int) -> list[tuple[tuple[str, str], float]]:
    """Find the pairs on which KD-integral and another coefficient disagree most, and by how much."""
    gaps = [((one["first"], one["second"]), abs(float(one["kdi"]) - float(one[against]))) for one in rows]
    return sorted(gaps, key=lambda gap: -gap[1])[:count]


def shown(one: Row, names: Iterable[str] = tuple(ALPHAS)) -> str:
    return ", ".join(f"{NAMES[name]} {float(one[name]):.2f}" for name in names)
