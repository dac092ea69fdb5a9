"""What kditransform's discretizers have in common, and KDDiscretizer, which cuts at the valleys of a density."""

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

from kdi._clustering.queries import ArrayQueries, assign_clusters
from kdi._clustering.valleys import check_bandwidth, find_valleys
from kdi._distribution import KDE1D
from kdi._integral.bandwidth import bandwidth_factor
from kdi._numerics.kernels import get_kernel
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_table, check_finite, column_names, is_integer

LEAST_SPREAD = 1e-5  # a bin of one value has a density of about this width
FAINT = 1e-6  # of the highest density: below this, shares of it are taken from logarithms
PART = 2**20  # pairs of a point and a value at once


def keeps_densities(estimator: Any) -> bool:
    if not estimator.enable_predict_proba:
        raise AttributeError("predict and predict_proba need enable_predict_proba=True.")
    return True


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the four have in common: tables in, bins counted from 0 out."""

    def _table(self, X: Any, *, reset: bool) -> Float64Array:
        if not reset:
            check_is_fitted(self)
        table = np.asarray(as_table(self, X, reset=reset), dtype=float)
        check_finite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        return table

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(frozen=True, eq=False)
class BinDensity:
    """Gaussian density of the values in one bin, as `scipy.stats.gaussian_kde` has it."""

    values: Float64Array
    kde: KDE1D

    @classmethod
    def of(cls, values: Float64Array) -> BinDensity:
        """The density of a bin that is not empty; values that are all the same are spread a little."""
        if values.std() < LEAST_SPREAD:
            spread = max(LEAST_SPREAD, 4 * float(np.spacing(abs(values).max())))
            values = np.concatenate([values - spread, values + spread])
        n = len(values)
        return cls(values, KDE1D(values, bandwidth_factor("scott", n) * sqrt(n / (n - 1))))

    def pdf(self, x: Float64Array) -> Float64Array:
        """Density at x."""
        return self.kde.pdf(x)

    def logpdf(self, x: Float64Array) -> Float64Array:
        """Its logarithm, by the direct sum: good where the density itself is next to nothing."""
        step = max(1, PART // len(self.values))
        parts = [
            logsumexp(-0.5 * ((x[start : start + step, None] - self.values) / self.kde.bandwidth) ** 2, axis=1)
            for start in range(0, len(x), step)
        ]
        result: Float64Array = np.concatenate([np.empty(0), *parts])
        return result - log(len(self.values) * self.kde.bandwidth * sqrt(2 * pi))


class KDDiscretizer(Discretizer):
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
        check_search(self.precision, self.enable_predict_proba, self.random_state)
        table = self._table(X, reset=True)
        n_features = table.shape[1]
        betas = self._betas(n_features)
        if self.enable_predict_proba and n_features > 1:
            raise ValueError(f"enable_predict_proba is for one feature, got {n_features}; kdi.KDIDiscretizer has more.")
        # The integral at alpha = inf is a straight line: its density is the feature's own.
        rows, at_infinity = ArrayQueries(table, None), partial(np.full_like, fill_value=inf)
        found = find_valleys(rows, at_infinity, betas, get_kernel("polyexp"), partial(column_names, self))
        found = [one if most is None else one.at_most(most) for one in found]
        self.centroids_ = [one.centers for one in found]
        self.boundaries_ = [one.boundaries for one in found]
        self.n_bins_ = np.array([one.n_clusters for one in found], dtype=int)
        self.kdes_ = [self._densities(table[:, 0])] if self.enable_predict_proba else []
        return self

    def get_intervals(self, idx: int) -> Float64Array:
        """Left and right ends of the bins of the feature at index idx, the first from -inf and the last to inf."""
        check_is_fitted(self)
        return intervals(self.boundaries_[idx])

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

    @available_if(keeps_densities)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Float64Array:
        """1 for the most probable bin of each value of one feature, 0 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        shares = self.predict_proba(X)
        result: Float64Array = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        return result

    @available_if(keeps_densities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float64Array:
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
        result: Float64Array = densities / densities.sum(axis=1, keepdims=True)
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

    def _densities(self, column: Float64Array) -> list[BinDensity]:
        column = column[~np.isnan(column)]
        bins = assign_clusters(column, self.boundaries_[0])
        parts = [column[bins == k] for k in range(self.n_bins_[0])]
        return [BinDensity.of(part if len(part) else column) for part in parts]


def intervals(boundaries: Float64Array) -> Float64Array:
    """Left and right ends of the bins between boundaries."""
    return np.column_stack([np.append(-inf, boundaries), np.append(boundaries, inf)])


def check_search(precision: Any, enable_predict_proba: Any, random_state: Any) -> None:
    if not isinstance(precision, Real) or not 0 < float(precision) < inf:
        raise ValueError(f"precision must be a positive number, got {precision!r}.")
    if not isinstance(enable_predict_proba, bool | np.bool_):
        raise ValueError(f"enable_predict_proba must be True or False, got {enable_predict_proba!r}.")
    check_random_state(random_state)


def check_bins(n_bins: Any, least: int) -> None:
    if not is_integer(n_bins) or n_bins < least:
        raise ValueError(f"n_bins must be a whole number >= {least}, got {n_bins!r}.")
