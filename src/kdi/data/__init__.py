"""The table that `kdi demo` and the examples of the documentation use."""

from __future__ import annotations

from pathlib import Path


def california_housing() -> str:
    """The path of California housing: 20,640 districts of the census of 1990, eight features, and the median value.

    The names are those of `sklearn.datasets.fetch_california_housing`; the target, `MedHouseVal`, is the last column.

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
