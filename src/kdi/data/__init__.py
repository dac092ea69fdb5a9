"""The table used by `kdi demo` and by the examples of the documentation."""

from __future__ import annotations

from pathlib import Path

__all__ = ["california_housing"]


def california_housing() -> str:
    """Return the path of California housing: eight features of 20,640 districts in 1990, and the median house value.

    The column names are those of `sklearn.datasets.fetch_california_housing`. The last column, `MedHouseVal`, is the
    target.

    References
    ----------
    Pace, R. K. and Barry, R. (1997). Sparse spatial autoregressions. Statistics & Probability Letters, 33(3).

    Examples
    --------
    >>> import kdi
    >>> kdi.KDITransformer().fit(kdi.data.california_housing()).n_samples_seen_
    20640
    """
    return str(Path(__file__).parent / "california_housing.csv.gz")


def __dir__() -> list[str]:
    return __all__
