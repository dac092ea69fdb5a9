"""The four discretizers of kditransform, on top of kdi's valleys.

KDDiscretizer          cuts at the valleys of a feature's density
KDIDiscretizer         cuts at the valleys of the density of its KD-integral
KBinsKDIDiscretizer    looks for the alpha at which there are so many of these
SimpleKDIDiscretizer   cuts the KD-integral at equal steps
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf, log, pi, sqrt
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kdi._input import as_table, check_count, column_names, is_whole, refuse_infinite
from kdi._typing import Floats
from kdi.bandwidth import bandwidth_factor
from kdi.compat.kditransform.kdi_transformer import KDITransformer
from kdi.distribution import KDE1D
from kdi.kernels import get_kernel
from kdi.valleys import assign, check_bandwidth, find_valleys

__all__ = ["KBinsKDIDiscretizer", "KDDiscretizer", "KDIDiscretizer", "SimpleKDIDiscretizer"]

LEAST_SPREAD = 1e-5  # a bin of one value has a density of about this width
FAINT = 1e-6  # of the highest density: below this, shares of it are taken from logarithms
PART = 2**20  # pairs of a point and a value at once
HALVINGS = 50  # of the interval of alphas, after which the number of bins is known to jump


def _keeps_densities(estimator: Any) -> bool:
    if not estimator.enable_predict_proba:
        raise AttributeError("predict and predict_proba need enable_predict_proba=True.")
    return True


class _Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the four have in common: tables in, bins counted from 0 out."""

    def _table(self, X: Any, *, reset: bool) -> Floats:
        if not reset:
            check_is_fitted(self)
        table = np.asarray(as_table(self, X, reset=reset), dtype=float)
        refuse_infinite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        return table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(frozen=True, eq=False)
class BinDensity:
    """Gaussian density of the values in one bin, as `scipy.stats.gaussian_kde` has it."""

    values: Floats
    kde: KDE1D

    @classmethod
    def of(cls, values: Floats) -> BinDensity:
        """The density of a bin that is not empty; values that are all the same are spread a little."""
        if values.std() < LEAST_SPREAD:
            spread = max(LEAST_SPREAD, 4 * float(np.spacing(abs(values).max())))
            values = np.concatenate([values - spread, values + spread])
        n = len(values)
        return cls(values, KDE1D(values, bandwidth_factor("scott", n) * sqrt(n / (n - 1))))

    def pdf(self, x: Floats) -> Floats:
        """Density at x."""
        return self.kde.pdf(x)

    def logpdf(self, x: Floats) -> Floats:
        """Its logarithm, by the direct sum: good where the density itself is next to nothing."""
        step = max(1, PART // len(self.values))
        parts = [
            logsumexp(-0.5 * ((x[start : start + step, None] - self.values) / self.kde.bandwidth) ** 2, axis=1)
            for start in range(0, len(x), step)
        ]
        result: Floats = np.concatenate([np.empty(0), *parts])
        return result - log(len(self.values) * self.kde.bandwidth * sqrt(2 * pi))


class KDDiscretizer(_Discretizer):
    """Cut features at the valleys of their Gaussian density.

    Parameters
    ----------
    beta : float, "scott", "silverman", None or a list of these, default="scott"
        Bandwidth of the density in units of the standard deviation, as in `scipy.stats.gaussian_kde`.
    precision : float, default=1e-3
        No effect: valleys and peaks are found to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    boundaries_, centroids_ : list of ndarray
        Valleys and peaks of each feature's density.
    n_bins_ : ndarray of shape (n_features,)
    kdes_ : list of list
        The densities of the bins, where `predict_proba` is enabled.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from kdi.compat.kditransform import KDDiscretizer
    >>> X = [[1.0], [1.2], [1.3], [1.1], [5.0], [5.2], [5.1], [4.9]]
    >>> KDDiscretizer().fit_transform(X).ravel()
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(
        self,
        beta: Any = "scott",
        precision: float = 1e-3,
        enable_predict_proba: bool = False,
        random_state: Any = None,
    ) -> None:
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
        return self._fit(X)

    def _fit(self, X: Any, most: int | None = None) -> Self:
        """With at most so many bins a feature: the shallowest valleys are closed."""
        _check_search(self.precision, self.enable_predict_proba, self.random_state)
        table = self._table(X, reset=True)
        n_features = table.shape[1]
        betas = self._betas(n_features)
        if self.enable_predict_proba and n_features > 1:
            raise ValueError(f"enable_predict_proba is for one feature, got {n_features}; kdi.KDIDiscretizer has more.")
        # The integral at alpha = inf is a straight line: its density is the feature's own.
        found = find_valleys(
            table, None, np.full(n_features, inf), betas, get_kernel("polyexp"), partial(column_names, self)
        )
        found = [one if most is None else one.at_most(most) for one in found]
        self.centroids_ = [one.centers for one in found]
        self.boundaries_ = [one.boundaries for one in found]
        self.n_bins_ = np.array([one.n_clusters for one in found], dtype=int)
        self.kdes_ = [self._densities(table[:, 0])] if self.enable_predict_proba else []
        return self

    def get_intervals(self, idx: int) -> Floats:
        """Left and right ends of the bins of the feature at index idx, the first from -inf and the last to inf."""
        check_is_fitted(self)
        return _intervals(self.boundaries_[idx])

    def transform(self, X: Any) -> NDArray[np.int64]:
        """The bin of each value, counted from 0; -1 for NaN. A value on a boundary belongs to the left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        table = self._table(X, reset=False)
        bins = [np.searchsorted(one, column) for one, column in zip(self.boundaries_, table.T, strict=True)]
        result: NDArray[np.int64] = np.where(np.isnan(table), -1, np.column_stack(bins))
        return result

    @available_if(_keeps_densities)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Floats:
        """1 for the most probable bin of each value of one feature, 0 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        shares = self.predict_proba(X)
        result: Floats = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        return result

    @available_if(_keeps_densities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The density of each bin at the values of one feature, scaled to a sum of 1; NaN for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        column = self._table(X, reset=False)[:, 0]
        if not self.kdes_:
            raise ValueError("enable_predict_proba=True came after fit, which kept no densities; fit again.")
        bins: list[BinDensity] = self.kdes_[0]
        densities = np.column_stack([one.pdf(column) for one in bins])
        faint = densities.sum(axis=1) < FAINT * max(1 / one.kde.bandwidth for one in bins)
        logarithms = np.column_stack([one.logpdf(column[faint]) for one in bins])
        densities[faint] = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        result: Floats = densities / densities.sum(axis=1, keepdims=True)
        return result

    def _betas(self, n_features: int) -> list[Any]:
        given = self.beta.tolist() if isinstance(self.beta, np.ndarray) else self.beta
        betas = list(given) if isinstance(given, list | tuple) else [given] * n_features
        if len(betas) != n_features:
            raise ValueError(f"beta must have one entry a feature, {n_features}, got {len(betas)}.")
        betas = ["scott" if one is None else one for one in betas]
        for one in betas:
            check_bandwidth(one)
        return betas

    def _densities(self, column: Floats) -> list[BinDensity]:
        column = column[~np.isnan(column)]
        bins = assign(column, self.boundaries_[0])
        parts = [column[bins == k] for k in range(self.n_bins_[0])]
        return [BinDensity.of(part if len(part) else column) for part in parts]


class _OfIntegrals(_Discretizer):
    """A KDITransformer, `kdit_`, and then a KDDiscretizer, `kdd_`, of what it makes."""

    def transform(self, X: Any) -> NDArray[np.int64]:
        """The bin of each value, counted from 0; -1 for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        levels = self._levels(X)
        result: NDArray[np.int64] = self.kdd_.transform(levels)
        return result

    @available_if(_keeps_densities)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Floats:
        """1 for the most probable bin of each value of one feature, 0 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        levels = self._levels(X)
        result: Floats = self.kdd_.predict(levels)
        return result

    @available_if(_keeps_densities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The density of each bin at the values of one feature, scaled to a sum of 1; NaN for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        levels = self._levels(X)
        result: Floats = self.kdd_.predict_proba(levels)
        return result

    def get_centroids(self) -> list[Floats]:
        """The peaks of each feature, as its values."""
        check_is_fitted(self)
        return self._back(self.kdd_.centroids_)

    def get_boundaries(self) -> list[Floats]:
        """The valleys of each feature, as its values."""
        check_is_fitted(self)
        return self._back(self.kdd_.boundaries_)

    def get_intervals(self, idx: int) -> Floats:
        """Left and right ends of the bins of the feature at index idx, the first from -inf and the last to inf."""
        return _intervals(self.get_boundaries()[idx])

    def _fit_parts(self, table: Floats, alpha: Any, beta: Any, most: int | None = None) -> None:
        """Parts of one's own: neither shares its parameters with the outside, or follows its output settings."""
        options = {name: getattr(self, name) for name in ("precision", "enable_predict_proba", "random_state")}
        self.kdit_ = KDITransformer(alpha, n_quantiles=self.n_quantiles, random_state=self.random_state)
        self.kdit_.set_output(transform="default").fit(table)
        self.kdd_ = KDDiscretizer(beta, **options).set_output(transform="default")
        self.kdd_._fit(self.kdit_.transform(table), most)

    def _levels(self, X: Any) -> Floats:
        table = self._table(X, reset=False)
        result: Floats = self.kdit_.transform(table)
        return result

    def _back(self, levels: list[Floats]) -> list[Floats]:
        """Levels of each feature as its values: through a table with NaN where a feature has fewer than another."""
        table = np.full((max(1, *map(len, levels)), len(levels)), np.nan)
        for j, one in enumerate(levels):
            table[: len(one), j] = one
        values = self.kdit_.inverse_transform(table)
        return [values[: len(one), j] for j, one in enumerate(levels)]


class KDIDiscretizer(_OfIntegrals):
    """Cut features at the valleys of the density of their KD-integral, the paper's clustering.

    Parameters
    ----------
    alpha : float, "scott", "silverman", None or a list of these, default=1.0
        Bandwidth of the KD-integral.
    n_quantiles : int or None, default=1000
        As in KDITransformer.
    beta : float, "scott", "silverman", None or a list of these, default="scott"
        Bandwidth of the density of the integrals.
    precision : float, default=1e-3
        No effect: valleys and peaks are found to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    kdit_ : KDITransformer
    kdd_ : KDDiscretizer
        Its boundaries and centroids lie in [0, 1]; `get_boundaries` and `get_centroids` have them as values.
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
        self._fit_parts(table, self.alpha, self.beta)
        return self


class KBinsKDIDiscretizer(_OfIntegrals):
    """Cut features at the valleys of the density of their KD-integral, at an alpha that gives so many bins.

    Parameters
    ----------
    n_bins : int, default=2
    left_alpha, right_alpha : float, default=0.1 and 10.0
        Where the search for alpha, by bisection, begins.
    beta_backtrack : float, default=1.3
        The bandwidth of the density of the integrals begins with Silverman's, and is multiplied by this until there
        are no more than `n_bins` bins at `left_alpha`.
    n_quantiles : int or None, default=1000
        As in KDITransformer.
    subsample : int or None, default=10000
        No effect: all rows are used.
    precision : float, default=1e-3
        No effect: valleys and peaks are found to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    kdit_ : KDITransformer
    kdd_ : KDDiscretizer
        Its boundaries and centroids lie in [0, 1]; `get_boundaries` and `get_centroids` have them as values.
    n_features_in_, feature_names_in_

    Notes
    -----
    Where the number of bins jumps past `n_bins` as alpha grows, the original does not return; here the shallowest
    valleys are closed.

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
        _check_bins(self.n_bins, least=1)
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
        self._fit_parts(table, [alpha for alpha, _ in found], [beta for _, beta in found], self.n_bins)
        return self

    def _search(self, column: Floats, name: str) -> tuple[float, float]:
        """alpha and beta at which a feature has `n_bins` bins or, where no alpha has, the next larger number."""

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
        for _ in range(HALVINGS):
            middle = sqrt(low * high)
            n_bins = count(middle, beta)
            if n_bins == self.n_bins:
                return middle, beta
            low, high = (middle, high) if n_bins < self.n_bins else (low, middle)
        n_bins = count(high, beta)
        if n_bins < self.n_bins:
            raise ValueError(
                f"{name} has only {n_bins} bins at right_alpha={self.right_alpha!r}, fewer than n_bins={self.n_bins}; "
                "kdi.KDIDiscretizer(n_bins=…) searches further."
            )
        return high, beta


class SimpleKDIDiscretizer(_Discretizer):
    """Cut features at equal steps of their KD-integral: quantile bins, smoothed.

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
        _check_bins(self.n_bins, least=2)
        table = self._table(X, reset=True)
        self.kdit_ = KDITransformer(
            self.alpha, n_quantiles=self.n_quantiles, subsample=self.subsample, random_state=self.random_state
        )
        self.kdit_.set_output(transform="default").fit(table)
        steps = np.linspace(0, 1, self.n_bins + 1)[1:-1]
        self.boundaries_: Floats = self.kdit_.inverse_transform(np.repeat(steps[:, None], table.shape[1], axis=1))
        return self

    def get_boundaries(self) -> Floats:
        """The boundaries of each feature, one column a feature."""
        check_is_fitted(self)
        return self.boundaries_.copy()

    def transform(self, X: Any) -> NDArray[np.int64]:
        """The bin of each value, counted from 0; -1 for NaN. A value on a boundary belongs to the right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        table = self._table(X, reset=False)
        bins = [assign(column, one) for column, one in zip(table.T, self.boundaries_.T, strict=True)]
        return np.column_stack(bins)


def _intervals(boundaries: Floats) -> Floats:
    """Left and right ends of the bins between boundaries."""
    return np.column_stack([np.append(-inf, boundaries), np.append(boundaries, inf)])


def _check_search(precision: Any, enable_predict_proba: Any, random_state: Any) -> None:
    if not isinstance(precision, Real) or not 0 < float(precision) < inf:
        raise ValueError(f"precision must be a positive number, got {precision!r}.")
    if not isinstance(enable_predict_proba, bool | np.bool_):
        raise ValueError(f"enable_predict_proba must be True or False, got {enable_predict_proba!r}.")
    check_random_state(random_state)


def _check_bins(n_bins: Any, least: int) -> None:
    if not is_whole(n_bins) or n_bins < least:
        raise ValueError(f"n_bins must be a whole number >= {least}, got {n_bins!r}.")
