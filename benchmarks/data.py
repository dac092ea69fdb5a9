"""The tables that every benchmark uses."""

import numpy as np
from numpy.typing import NDArray

# Skewed with a heavy right tail, like incomes and counts: the typical data for this transformation.
SIGMA = 1.0


def lognormal_table(rows: int, features: int, seed: int = 0) -> NDArray[np.float64]:
    """Draw a C-ordered float64 table, the same one for the same arguments."""
    return np.random.default_rng([seed, rows, features]).lognormal(sigma=SIGMA, size=(rows, features))


def shape_name(rows: int, features: int) -> str:
    return f"{rows:,}×{features}"
