"""The base of kditransform's discretizers, and KDDiscretizer, which cuts at the valleys of a density."""

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
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_table, check_finite, column_names, is_integer

MIN_SPREAD = 1e-5  # width of the density of a bin with a single distinct value
FAINT = 1e-6  # times the highest density: below, probabilities are computed from logarithms
MAX_SUMMED_PAIRS = 2**20  # pairs of a point and a value that are summed at once


def has_densities(estimator: Any) -> bool:
    if not estimator.enable_predict_proba:
        raise AttributeError("predict and predict_proba need enable_predict_proba=True.")
    return True


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The base of the four: transforms a table to bins, which are numbered from 0."""

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
    """The Gaussian density of the values in one bin, as computed by `scipy.stats.gaussian_kde`."""

    values: Float64Array
    kde: KDE1D

    @classmethod
    def from_values(cls, values: Float64Array) -> BinDensity:
        """Return the density of a bin that is not empty; equal values are spread by a tiny amount."""
        if values.std() < MIN_SPREAD:
            spread = max(MIN_SPREAD, 4 * float(np.spacing(abs(values).max())))
            values = np.concatenate([values - spread, values + spread])
        n = len(values)
        return cls(values, KDE1D(values, alpha=bandwidth_factor("scott", n) * sqrt(n / (n - 1))))

    def pdf(self, x: Float64Array) -> Float64Array:
        """Return the density at x."""
        return self.kde.pdf(x)

    def logpdf(self, x: Float64Array) -> Float64Array:
        """Return its logarithm by the direct sum, which is accurate even where the density underflows."""
        step = max(1, MAX_SUMMED_PAIRS // len(self.values))
        chunks = [
            logsumexp(-0.5 * ((x[start : start + step, None] - self.values) / self.kde.bandwidth) ** 2, axis=1)
            for start in range(0, len(x), step)
        ]
        result: Float64Array = np.concatenate([np.empty(0), *chunks])
        return result - log(len(self.values) * self.kde.bandwidth * sqrt(2 * pi))


@public_in("kdi.compat.kditransform")
class KDDiscretizer(Discretizer):
    """Cut features at the valleys of their Gaussian density.

    Parameters
    ----------
    beta : float, "scott", "silverman", None or a list of these, default="scott"
        Bandwidth of the density in units of the standard deviation, as in `scipy.stats.gaussian_kde`.
    precision : float, default=1e-3
        No effect: valleys and peaks are located to machine precision, not on a grid.
    enable_predict_proba : bool, default=False
        Whether to keep a density of each bin for `predict_proba`, which is for one feature only.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.

    Attributes
    ----------
    boundaries_, centroids_ : list of ndarray
        The valleys and peaks of each feature's density.
    n_bins_ : ndarray of shape (n_features,)
    kdes_ : list of list
        The densities of the bins, if `predict_proba` is enabled.
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

    def _fit(self, X: Any, max_bins: int | None = None) -> Self:
        """Fit with at most `max_bins` bins per feature: the shallowest valleys are removed."""
        check_search(self.precision, self.enable_predict_proba, self.random_state)
        table = self._table(X, reset=True)
        n_features = table.shape[1]
        betas = self._betas(n_features)
        if self.enable_predict_proba and n_features > 1:
            raise ValueError(
                f"enable_predict_proba needs a table of one feature, got {n_features}; use kdi.KDIDiscretizer for more."
            )
        # The integral at alpha = inf is a straight line: its density is the feature's own.
        queries, at_infinity = ArrayQueries(table, None), np.full(n_features, inf)
        valleys = find_valleys(queries, at_infinity, betas, get_kernel("polyexp"), partial(column_names, self))
        if max_bins is not None:
            valleys = [found.with_at_most(max_bins) for found in valleys]
        self.centroids_ = [found.centers for found in valleys]
        self.boundaries_ = [found.boundaries for found in valleys]
        self.n_bins_ = np.array([found.n_clusters for found in valleys], dtype=int)
        self.kdes_ = [self._densities(table[:, 0])] if self.enable_predict_proba else []
        return self

    def get_intervals(self, idx: int) -> Float64Array:
        """Return the left and right ends of the bins of feature `idx`; the first is -inf and the last is inf."""
        check_is_fitted(self)
        return intervals(self.boundaries_[idx])

    def transform(self, X: Any) -> NDArray[np.int64]:
        """Return the bin of each value, counted from 0; -1 for NaN.

        A value on a boundary belongs to the bin on its left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        table = self._table(X, reset=False)
        columns = zip(self.boundaries_, table.T, strict=True)
        bins = [np.searchsorted(boundaries, values) for boundaries, values in columns]
        result: NDArray[np.int64] = np.where(np.isnan(table), -1, np.column_stack(bins))
        return result

    @available_if(has_densities)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Float64Array:
        """Return 1 for the most probable bin of each value of the only feature, and 0 for the other bins.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        shares = self.predict_proba(X)
        result: Float64Array = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        return result

    @available_if(has_densities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float64Array:
        """Return the density of each bin at the values of the only feature, normalised to a sum of 1; NaN for NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        """
        column = self._table(X, reset=False)[:, 0]
        if not self.kdes_:
            raise ValueError("enable_predict_proba was False during fit, so there are no densities; fit again.")
        bins: list[BinDensity] = self.kdes_[0]
        densities = np.column_stack([density.pdf(column) for density in bins])
        faint = densities.sum(axis=1) < FAINT * max(1 / density.kde.bandwidth for density in bins)
        logarithms = np.column_stack([density.logpdf(column[faint]) for density in bins])
        densities[faint] = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        result: Float64Array = densities / densities.sum(axis=1, keepdims=True)
        return result

    def _betas(self, n_features: int) -> list[Any]:
        given = self.beta.tolist() if isinstance(self.beta, np.ndarray) else self.beta
        betas = list(given) if isinstance(given, list | tuple) else [given] * n_features
        if len(betas) != n_features:
            raise ValueError(f"beta must have one entry per feature ({n_features}), got {len(betas)}.")
        betas = ["scott" if beta is None else beta for beta in betas]
        for beta in betas:
            check_bandwidth(beta)
        return betas

    def _densities(self, column: Float64Array) -> list[BinDensity]:
        column = column[~np.isnan(column)]
        bins = assign_clusters(column, self.boundaries_[0])
        values_per_bin = [column[bins == k] for k in range(self.n_bins_[0])]
        return [BinDensity.from_values(values if len(values) else column) for values in values_per_bin]


def intervals(boundaries: Float64Array) -> Float64Array:
    """Return the left and right ends of the bins between boundaries."""
    return np.column_stack([np.append(-inf, boundaries), np.append(boundaries, inf)])


def check_search(precision: Any, enable_predict_proba: Any, random_state: Any) -> None:
    if not isinstance(precision, Real) or not 0 < float(precision) < inf:
        raise ValueError(f"precision must be a positive number, got {precision!r}.")
    if not isinstance(enable_predict_proba, bool | np.bool_):
        raise ValueError(f"enable_predict_proba must be True or False, got {enable_predict_proba!r}.")
    check_random_state(random_state)


def check_bins(n_bins: Any, least: int) -> None:
    if not is_integer(n_bins) or n_bins < least:
        raise ValueError(f"n_bins must be an integer >= {least}, got {n_bins!r}.")
