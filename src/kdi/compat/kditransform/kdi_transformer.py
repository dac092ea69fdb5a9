"""KDITransformer with kditransform's signature, on top of kdi's own."""

from __future__ import annotations

from copy import copy
from math import sqrt
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from kdi._integral.bandwidth import bandwidth_factor, spread_alpha
from kdi._integral.maps import ColumnMap, build_linear_map, forward, inverse
from kdi._transformer import transformer
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, FloatArray, KernelName
from kdi._utils.validation import as_table, check_count

__all__ = ["BOUNDS_THRESHOLD", "KDITransformer"]

BOUNDS_THRESHOLD = 1e-7  # normal scores are clipped at the quantiles of this level and of 1 minus it
EVALUATIONS = ("uniform", "train", "auto")
DEFAULT_ORDER = 4  # where the order has no effect


@public_in("kdi.compat.kditransform")
class KDITransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """kditransform's KDITransformer, computed by `kdi.KDITransformer`, which new code should use directly.

    Parameters
    ----------
    alpha : float, "scott", "silverman", None or a list of these, default=1.0
        Bandwidth in units of the feature's standard deviation; None is "scott". 0 and inf are allowed.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
        With "gaussian", the standard deviation is the one with N - 1, as in `scipy.stats.gaussian_kde`.
    polyexp_order : int, default=4
        Order of the polyexp kernel; ignored, and not checked, with another kernel, as in the original.
    polyexp_eval : {"auto", "uniform", "train"}, default="auto"
        No effect: landmarks are exact instead of computed by sums over grid points. Not checked with another kernel.
    n_quantiles : int or None, default=1000
        Number of landmarks, at most the number of rows, which None stands for. The result is linear between landmarks.
    output_distribution : {"uniform", "normal"}, default="uniform"
    subsample : int or None, default=None
        No effect: all rows are used.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.
    copy : bool, default=True
        Whether `transform` and `inverse_transform` leave an array of floats as it is instead of overwriting it.
    exact : bool, default=False
        Whether to compute the integral itself, without landmarks: for any kernel and output, as fast, with an inverse.

    Attributes
    ----------
    n_quantiles_, subsample_ : int
        Number of landmarks, and of rows used.
    references_ : ndarray of shape (n_quantiles,)
        Levels evenly spaced in [0, 1].
    quantiles_ : ndarray of shape (n_quantiles, n_features)
        The values at which the transformation takes these levels.
    transformer_ : kdi.KDITransformer
        The transformer that computes the result. Its `error_bound_` is that of the integral, without the landmarks.
    n_features_in_, feature_names_in_

    Notes
    -----
    As in the original, the result is linear between landmarks unless `exact` is set. The landmarks lie at equal steps
    of the integral. Those of the Gaussian kernel are interpolated between quantiles of the values, which may be far off
    in gaps between the values. NaN, which the original rejects, is ignored by the fit and stays NaN.

    Examples
    --------
    >>> from kdi.compat.kditransform import KDITransformer
    >>> KDITransformer(alpha=1.0).fit_transform([[0.0], [1.0], [2.0], [100.0]]).ravel().round(3)
    array([0.   , 0.014, 0.027, 1.   ])
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        kernel: KernelName = "polyexp",
        polyexp_order: int = 4,
        polyexp_eval: str = "auto",
        n_quantiles: int | None = 1000,
        output_distribution: str = "uniform",
        subsample: int | None = None,
        random_state: Any = None,
        copy: bool = True,
        exact: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.polyexp_order = polyexp_order
        self.polyexp_eval = polyexp_eval
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.subsample = subsample
        self.random_state = random_state
        self.copy = copy
        self.exact = exact

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the transformation of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        self._check_parameters()
        table = as_table(self, X, reset=True)
        own = transformer.KDITransformer(
            self._alphas(table),
            kernel=self.kernel,
            order=self.polyexp_order if self.kernel == "polyexp" else DEFAULT_ORDER,
            output_distribution=self.output_distribution,
            copy=self.copy,
        )
        self.transformer_ = own.set_output(transform="default").fit(table)
        self.subsample_ = len(table)
        self.n_quantiles_ = min(len(table) if self.n_quantiles is None else self.n_quantiles, len(table))
        self.references_ = np.linspace(0, 1, self.n_quantiles_)
        interpolated = self.kernel == "gaussian" and not self.exact
        find = _interpolated_landmarks if interpolated else _exact_landmarks
        columns = zip(own.maps_, table.T, strict=True)
        landmarks = [find(column_map, values, self.references_) for column_map, values in columns]
        self.quantiles_ = np.column_stack(landmarks)
        if not self.exact:
            maps = [
                _map_through(column_map, values, self.references_)
                for column_map, values in zip(own.maps_, landmarks, strict=True)
            ]
            own._replace_maps(maps)
        return self

    def transform(self, X: Any) -> Any:
        """Map each feature to [0, 1], or to normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return self._own().transform(as_table(self, X, reset=False))

    def inverse_transform(self, X: Any) -> Any:
        """Map values of the transformation back to the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return self._own().inverse_transform(as_table(self, X, reset=False))

    def _own(self) -> transformer.KDITransformer:
        """Return the transformer that computes the result, with the parameters that may change after `fit`."""
        check_is_fitted(self, "transformer_")
        own: transformer.KDITransformer = copy(self.transformer_)
        own.output_distribution, own.copy = self.output_distribution, self.copy
        return own

    def _alphas(self, table: FloatArray) -> list[float]:
        """Return a bandwidth factor per feature, in units of the standard deviation with N, which kdi uses."""
        counts = (~np.isnan(table)).sum(axis=0).tolist()
        alphas = spread_alpha(self.alpha, len(counts), getattr(self, "feature_names_in_", None))
        rules = ["scott" if alpha is None else alpha for alpha in alphas]
        factors = [bandwidth_factor(rule, n) for rule, n in zip(rules, counts, strict=True)]
        if self.kernel == "gaussian":
            factors = [
                factor * sqrt(n / (n - 1)) if n > 1 else factor for factor, n in zip(factors, counts, strict=True)
            ]
        return [0.0 if np.isnan(factor) else factor for factor in factors]  # rules are undefined for columns of NaN

    def _check_parameters(self) -> None:
        """Check the parameters that `kdi.KDITransformer` does not have; it checks the others itself."""
        known = isinstance(self.polyexp_eval, str) and self.polyexp_eval in EVALUATIONS
        if self.kernel == "polyexp" and not known:
            raise ValueError(f"polyexp_eval must be one of {list(EVALUATIONS)}, got {self.polyexp_eval!r}.")
        if not isinstance(self.exact, bool | np.bool_):
            raise ValueError(f"exact must be True or False, got {self.exact!r}.")
        check_count("n_quantiles", self.n_quantiles, least=1)
        check_count("subsample", self.subsample, least=1)
        check_random_state(self.random_state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _exact_landmarks(column_map: ColumnMap, values: FloatArray, references: Float64Array) -> Float64Array:
    """Return the values at which the integral takes the levels."""
    places = references[:, None].copy()
    inverse([column_map], places, places, "clip")
    return places[:, 0]


def _interpolated_landmarks(column_map: ColumnMap, values: FloatArray, references: Float64Array) -> Float64Array:
    """Return the values at which lines between quantiles take the levels, as the original does for the Gaussian."""
    known = values[~np.isnan(values)].astype(float)
    if not len(known):
        return np.full(len(references), np.nan)
    places = np.quantile(known, references)[:, None]
    levels = np.empty_like(places)
    forward([column_map], places, levels, "clip")
    return np.asarray(np.interp(references, levels[:, 0], places[:, 0]), dtype=float)


def _map_through(column_map: ColumnMap, landmarks: Float64Array, references: Float64Array) -> ColumnMap:
    """Return the map of straight lines between landmarks, or the given map if there are not two different ones."""
    knots, first, counts = np.unique(landmarks, return_index=True, return_counts=True)
    if len(knots) < 2 or np.isnan(knots).any():
        return column_map
    levels = 0.5 * (references[first] + references[first + counts - 1])
    levels[[0, -1]] = 0.0, 1.0
    return build_linear_map(knots, levels, 1.0)
