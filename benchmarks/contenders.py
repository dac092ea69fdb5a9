"""One small adapter per library: make a new estimator with ``fit`` and ``transform`` for a number of rows.

A library is imported when its estimator is made, so that a process that measures one library loads no other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# The default of scikit-learn and kditransform.
QUANTILES = 1000
# "Typical" by FFTKDE's documentation; a power of two makes it fast.
GRID_POINTS = 2**10


@dataclass(frozen=True)
class Contender:
    """A named way to make an estimator, and the answers that it must give."""

    name: str
    make: Callable[[int], Any]
    # The exact answer that its own is compared with; None where it computes something else.
    answer: str | None = None
    # Largest error allowed, in units of the output, which spans 0 to 1.
    tolerance: float = np.inf
    # Whether the smallest and the largest value must be mapped to exactly 0 and 1.
    reaches_ends: bool = False


def make_kdi(rows: int, kernel: str = "polyexp", n_jobs: int | None = None) -> Any:
    from kdi import KDITransformer

    return KDITransformer(kernel=kernel, n_jobs=n_jobs)


def make_minmax(rows: int) -> Any:
    from sklearn.preprocessing import MinMaxScaler

    return MinMaxScaler()


def make_standard(rows: int) -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


def make_quantile(rows: int, subsample: int | None = 10_000) -> Any:
    from sklearn.preprocessing import QuantileTransformer

    # It would lower n_quantiles to the number of rows itself, with a warning that takes time.
    return QuantileTransformer(n_quantiles=min(QUANTILES, rows), subsample=subsample, random_state=0)


def make_kditransform(rows: int) -> Any:
    from kditransform import KDITransformer

    return KDITransformer()


class FFTKDETransformer:
    """A transformer written with KDEpy: per column, density on a grid, its cumulative sum, and interpolation."""

    def fit(self, table: NDArray[np.float64]) -> Self:
        from KDEpy import FFTKDE

        self.columns_ = []
        for column in table.T:
            lowest, highest = column.min(), column.max()
            # FFTKDE requires every value strictly inside its grid.
            margin = 1e-6 * (highest - lowest)
            grid = np.linspace(lowest - margin, highest + margin, GRID_POINTS)
            density = FFTKDE(kernel="gaussian", bw=column.std()).fit(column).evaluate(grid)
            integral = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
            self.columns_.append((grid, integral / integral[-1]))
        return self

    def transform(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        result = np.empty_like(table)
        for index, (grid, integral) in enumerate(self.columns_):
            result[:, index] = np.interp(table[:, index], grid, integral)
        return result


CONTENDERS = {
    contender.name: contender
    for contender in [
        Contender("kdi polyexp", partial(make_kdi, kernel="polyexp"), "polyexp", 1e-6, True),
        Contender("kdi gaussian", partial(make_kdi, kernel="gaussian"), "gaussian", 1e-6, True),
        Contender("MinMaxScaler", make_minmax, "minmax", 1e-12),
        Contender("StandardScaler", make_standard),
        Contender("QuantileTransformer", make_quantile),
        Contender("QuantileTransformer, all rows", partial(make_quantile, subsample=None)),
        # The next two integrate on a grid and interpolate, which costs digits; a wrong bandwidth would give 1e-1.
        Contender("kditransform", make_kditransform, "polyexp", 5e-3),
        Contender("KDEpy FFTKDE", lambda rows: FFTKDETransformer(), "gaussian", 5e-3),
    ]
}
