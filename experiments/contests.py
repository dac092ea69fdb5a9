"""Two methods compared over many data sets: wins, losses, ties, and Wilcoxon's signed-rank test."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import wilcoxon

DIGITS = 6  # of the scores in the rows: smaller differences are ties


class Contest(NamedTuple):
    wins: int
    losses: int
    ties: int
    two_sided: float  # p-values
    one_sided: float  # small where the first is better


def contest(own: ArrayLike, other: ArrayLike) -> Contest:
    """Compare the scores of two methods on the same sets."""
    differences = np.round(np.subtract(own, other), DIGITS)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    if not wins + losses:
        return Contest(0, 0, len(differences), 1.0, 1.0)
    two_sided, one_sided = (float(wilcoxon(differences, alternative=kind).pvalue) for kind in ("two-sided", "greater"))
    return Contest(wins, losses, len(differences) - wins - losses, two_sided, one_sided)


def p_value(probability: float) -> str:
    return f"{probability:.1e}" if probability < 1e-3 else f"{probability:.3f}"
