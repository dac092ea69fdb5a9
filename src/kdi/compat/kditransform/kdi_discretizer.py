"""The four discretizers of kditransform, implemented with kdi's search for valleys.

KDDiscretizer          cuts at the valleys of a feature's density
KDIDiscretizer         cuts at the valleys of the density of its KD-integral
KBinsKDIDiscretizer    the same, at an alpha that gives a requested number of bins
SimpleKDIDiscretizer   cuts the KD-integral at equal steps
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kdi._clustering.queries import assign_clusters
from kdi._integral.bandwidth import bandwidth_factor
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import check_count, column_names
from kdi.compat.kditransform._densities import (
    Discretizer,
    KDDiscretizer,
    check_bins,
    has_densities,
    intervals,
)
from kdi.compat.kditransform.kdi_transformer import KDITransformer

__all__ = ["KBinsKDIDiscretizer", "KDDiscretizer", "KDIDiscretizer", "SimpleKDIDiscretizer"]

MAX_BISECTIONS = 50  # afterwards, the number of bins is assumed to jump at an alpha


class _IntegralDiscretizer(Discretizer):
    """A KDITransformer, `kdit_`, followed by a KDDiscretizer, `kdd_`, of its output."""

    def transform(self, X: Any) -> NDArray[np.int64]:
        """Return the bin of each value, counted from 0; -1 for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        levels = self._levels(X)
        result: NDArray[np.int64] = self.kdd_.transform(levels)
        return result

    @available_if(has_densities)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Float64Array:
        """Return 1 for the most probable bin of each value of the only feature, and 0 for the other bins.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        levels = self._levels(X)
        result: Float64Array = self.kdd_.predict(levels)
        return result

    @available_if(has_densities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float64Array:
        """Return the density of each bin at the values of the only feature, normalised to a sum of 1; NaN for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        levels = self._levels(X)
        result: Float64Array = self.kdd_.predict_proba(levels)
        return result

    def get_centroids(self) -> list[Float64Array]:
        """Return the peaks of each feature as values of the feature."""
        check_is_fitted(self)
        return self._to_values(self.kdd_.centroids_)

    def get_boundaries(self) -> list[Float64Array]:
        """Return the valleys of each feature as values of the feature."""
        check_is_fitted(self)
        return self._to_values(self.kdd_.boundaries_)

    def get_intervals(self, idx: int) -> Float64Array:
        """Return the left and right ends of the bins of feature `idx`; the first is -inf and the last is inf."""
        return intervals(self.get_boundaries()[idx])

    def _fit_steps(self, table: Float64Array, alpha: Any, beta: Any, max_bins: int | None = None) -> None:
        """Fit `kdit_` and `kdd_`, which are private: they ignore the output settings of scikit-learn."""
        options = {name: getattr(self, name) for name in ("precision", "enable_predict_proba", "random_state")}
        self.kdit_ = KDITransformer(alpha, n_quantiles=self.n_quantiles, random_state=self.random_state)
        self.kdit_.set_output(transform="default").fit(table)
        self.kdd_ = KDDiscretizer(beta, **options).set_output(transform="default")
        self.kdd_._fit(self.kdit_.transform(table), max_bins)

    def _levels(self, X: Any) -> Float64Array:
        table = self._table(X, reset=False)
        result: Float64Array = self.kdit_.transform(table)
        return result

    def _to_values(self, levels: list[Float64Array]) -> list[Float64Array]:
        """Transform levels of each feature to its values; features may have different numbers of levels."""
        table = np.full((max(1, *map(len, levels)), len(levels)), np.nan)
        for j, column in enumerate(levels):
            table[: len(column), j] = column
        values = self.kdit_.inverse_transform(table)
        return [values[: len(column), j] for j, column in enumerate(levels)]


@public_in("kdi.compat.kditransform")
class KDIDiscretizer(_IntegralDiscretizer):
    """Cut features at the valleys of the density of their KD-integral, as the paper's clustering does.

    Parameters
    ----------
    alpha : float, "scott", "silverman", None or a list of these, default=1.0
        Bandwidth of the KD-integral.
    n_quantiles : int or None, default=1000
        As in KDITransformer.
    beta : float, "scott", "silverman", None or a list of these, default="scott"
        Bandwidth of the density of the KD-integral.
    precision : float, default=1e-3
        No effect: valleys and peaks are located to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    kdit_ : KDITransformer
    kdd_ : KDDiscretizer
        Its boundaries and centroids lie in [0, 1]; `get_boundaries` and `get_centroids` return them as values.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from kdi.compat.kditransform import KDIDiscretizer
    >>> X = [[1.0], [1.2], [1.3], [1.1], [5.0], [5.2], [5.1], [4.9]]
    >>> model = KDIDiscretizer().fit(X)
    >>> model.transform(X).ravel(), model.get_boundaries()[0].round(1)
    (array([0, 0, 0, 0, 1, 1, 1, 1]), array([3.1]))
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        n_quantiles: int | None = 1000,
        beta: Any = "scott",
        precision: float = 1e-3,
        enable_predict_proba: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.n_quantiles = n_quantiles
        self.beta = beta
        self.precision = precision
        self.enable_predict_proba = enable_predict_proba
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the bins of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        table = self._table(X, reset=True)
        self._fit_steps(table, self.alpha, self.beta)
        return self


@public_in("kdi.compat.kditransform")
class KBinsKDIDiscretizer(_IntegralDiscretizer):
    """Cut features at the valleys of the density of their KD-integral, at an alpha that gives `n_bins` bins.

    Parameters
    ----------
    n_bins : int, default=2
    left_alpha, right_alpha : float, default=0.1 and 10.0
        The interval in which alpha is searched by bisection.
    beta_backtrack : float, default=1.3
        The bandwidth of the density of the KD-integral begins with Silverman's rule, and is multiplied by this factor
        until there are at most `n_bins` bins at `left_alpha`.
    n_quantiles : int or None, default=1000
        As in KDITransformer.
    subsample : int or None, default=10000
        No effect: all rows are used.
    precision : float, default=1e-3
        No effect: valleys and peaks are located to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    kdit_ : KDITransformer
    kdd_ : KDDiscretizer
        Its boundaries and centroids lie in [0, 1]; `get_boundaries` and `get_centroids` return them as values.
    n_features_in_, feature_names_in_

    Notes
    -----
    If the number of bins jumps past `n_bins` as alpha increases, the original does not return; here the shallowest
    valleys are removed.

    Examples
    --------
    >>> from kdi.compat.kditransform import KBinsKDIDiscretizer
    >>> X = [[1.0], [1.2], [1.3], [1.1], [5.0], [5.2], [5.1], [4.9]]
    >>> KBinsKDIDiscretizer(n_bins=2).fit_transform(X).ravel()
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(
        self,
        n_bins: int = 2,
        left_alpha: float = 0.1,
        right_alpha: float = 10.0,
        beta_backtrack: float = 1.3,
        n_quantiles: int | None = 1000,
        subsample: int | None = 10000,
        precision: float = 1e-3,
        enable_predict_proba: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.left_alpha = left_alpha
        self.right_alpha = right_alpha
        self.beta_backtrack = beta_backtrack
        self.n_quantiles = n_quantiles
        self.subsample = subsample
        self.precision = precision
        self.enable_predict_proba = enable_predict_proba
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the bins of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        check_bins(self.n_bins, least=1)
        check_count("subsample", self.subsample, least=1)
        if not 0 < self.left_alpha <= self.right_alpha < inf:
            raise ValueError(
                f"left_alpha and right_alpha must be positive and ascending, got {self.left_alpha!r} and "
                f"{self.right_alpha!r}."
            )
        if not self.beta_backtrack > 1:
            raise ValueError(f"beta_backtrack must be greater than 1, got {self.beta_backtrack!r}.")
        table = self._table(X, reset=True)
        found = [self._search(table[:, [j]], column_names(self, [j])) for j in range(table.shape[1])]
        self._fit_steps(table, [alpha for alpha, _ in found], [beta for _, beta in found], self.n_bins)
        return self

    def _search(self, column: Float64Array, name: str) -> tuple[float, float]:
        """Find alpha and beta at which a feature has `n_bins` bins or, if there are none, the next larger number."""

        def count(alpha: float, beta: float) -> int:
            levels = (
                KDITransformer(alpha, n_quantiles=self.n_quantiles)
                .set_output(transform="default")
                .fit_transform(column)
            )
            return int(KDDiscretizer(beta)._fit(levels).n_bins_[0])

        low, high = self.left_alpha, self.right_alpha
        beta = bandwidth_factor("silverman", float((~np.isnan(column)).sum()))
        while count(low, beta) > self.n_bins:
            beta *= self.beta_backtrack
        for _ in range(MAX_BISECTIONS):
            middle = sqrt(low * high)
            n_bins = count(middle, beta)
            if n_bins == self.n_bins:
                return middle, beta
            low, high = (middle, high) if n_bins < self.n_bins else (low, middle)
        n_bins = count(high, beta)
        if n_bins < self.n_bins:
            raise ValueError(
                f"{name} has only {n_bins} bins at right_alpha={self.right_alpha!r}, fewer than n_bins={self.n_bins}; "
                "use a larger right_alpha, or kdi.KDIDiscretizer(n_bins=…)."
            )
        return high, beta


@public_in("kdi.compat.kditransform")
class SimpleKDIDiscretizer(Discretizer):
    """Cut features at equal steps of their KD-integral: smoothed quantile bins.

    Parameters
    ----------
    n_bins : int, default=2
    alpha : float, "scott", "silverman", None or a list of these, default=1.0
        Bandwidth of the KD-integral.
    n_quantiles : int or None, default=1000
        As in KDITransformer.
    subsample : int or None, default=None
        No effect: all rows are used.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    boundaries_ : ndarray of shape (n_bins - 1, n_features)
    kdit_ : KDITransformer
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from kdi.compat.kditransform import SimpleKDIDiscretizer
    >>> SimpleKDIDiscretizer(n_bins=3).fit_transform([[1.0], [2.0], [3.0], [4.0], [30.0]]).ravel()
    array([0, 0, 0, 0, 2])
    """

    def __init__(
        self,
        n_bins: int = 2,
        alpha: Any = 1.0,
        n_quantiles: int | None = 1000,
        subsample: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.alpha = alpha
        self.n_quantiles = n_quantiles
        self.subsample = subsample
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the bins of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        check_bins(self.n_bins, least=2)
        table = self._table(X, reset=True)
        self.kdit_ = KDITransformer(
            self.alpha, n_quantiles=self.n_quantiles, subsample=self.subsample, random_state=self.random_state
        )
        self.kdit_.set_output(transform="default").fit(table)
        steps = np.linspace(0, 1, self.n_bins + 1)[1:-1]
        self.boundaries_: Float64Array = self.kdit_.inverse_transform(np.repeat(steps[:, None], table.shape[1], axis=1))
        return self

    def get_boundaries(self) -> Float64Array:
        """Return the boundaries, one column per feature."""
        check_is_fitted(self)
        return self.boundaries_.copy()

    def transform(self, X: Any) -> NDArray[np.int64]:
        """Return the bin of each value, counted from 0; -1 for NaN.

        A value on a boundary belongs to the bin on its right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        table = self._table(X, reset=False)
        columns = zip(table.T, self.boundaries_.T, strict=True)
        return np.column_stack([assign_clusters(values, boundaries) for values, boundaries in columns])
