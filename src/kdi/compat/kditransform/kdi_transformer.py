"""KDITransformer with kditransform's signature, on top of kdi's own."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
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

BOUNDS_THRESHOLD = 1e-7  # normal scores beyond that of it are clipped
EVALUATIONS = ("uniform", "train", "auto")


@public_in("kdi.compat.kditransform")
class KDITransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """kditransform's KDITransformer, computed by `kdi.KDITransformer`, which new code had better use itself.

    Parameters
    ----------
    alpha : float, "scott", "silverman", None or a list of these, default=1.0
        Bandwidth in units of the feature's standard deviation; None is "scott". 0 and inf are allowed.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
        With "gaussian" the deviation is the one with N - 1, as in `scipy.stats.gaussian_kde`.
    polyexp_order : int, default=4
    polyexp_eval : {"auto", "uniform", "train"}, default="auto"
        No effect: landmarks are exact, not found by sums over grid points.
    n_quantiles : int or None, default=1000
        Number of landmarks, at most the number of rows; None is that number. Between them are straight lines.
    output_distribution : {"uniform", "normal"}, default="uniform"
    subsample : int or None, default=None
        No effect: all rows are used.
    random_state : int, RandomState instance or None, default=None
        No effect: nothing is random.
    copy : bool, default=True
        False lets `transform` and `inverse_transform` overwrite an array of floats.
    exact : bool, default=False
        The integral itself, without landmarks, for any kernel and output, and as fast; the inverse works.

    Attributes
    ----------
    n_quantiles_, subsample_ : int
        Number of landmarks, and of rows used.
    references_ : ndarray of shape (n_quantiles,)
        Levels evenly spaced in [0, 1].
    quantiles_ : ndarray of shape (n_quantiles, n_features)
        The values at which the transformation takes these levels.
    transformer_ : kdi.KDITransformer
        What does the work. Its `error_bound_` is that of the integral, without the straight lines.
    n_features_in_, feature_names_in_

    Notes
    -----
    As in the original, the result follows straight lines between landmarks, unless `exact` is set. They lie at equal
    steps of the integral; those of the Gaussian kernel are taken from straight lines between quantiles of the values,
    which may be far off where there are none. NaN, which the original refuses, is left out of the fit and stays NaN.

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
            order=self.polyexp_order,
            output_distribution=self.output_distribution,
            copy=self.copy,
        )
        self.transformer_ = own.set_output(transform="default").fit(table)
        self.subsample_ = len(table)
        self.n_quantiles_ = min(len(table) if self.n_quantiles is None else self.n_quantiles, len(table))
        self.references_ = np.linspace(0, 1, self.n_quantiles_)
        coarse = self.kernel == "gaussian" and not self.exact
        find = _landmarks_between_values if coarse else _landmarks
        found = [find(one, column, self.references_) for one, column in zip(own.maps_, table.T, strict=True)]
        self.quantiles_ = np.column_stack(found)
        if not self.exact:
            lines = [
                _lines_between(one, places, self.references_) for one, places in zip(own.maps_, found, strict=True)
            ]
            own._maps = replace(own._get_maps(), maps=lines)
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
        """What does the work, with the parameters that may change after `fit`."""
        check_is_fitted(self, "transformer_")
        own: transformer.KDITransformer = copy(self.transformer_)
        own.output_distribution, own.copy = self.output_distribution, self.copy
        return own

    def _alphas(self, table: FloatArray) -> list[float]:
        """One bandwidth factor a feature, in units of the deviation with N that kdi takes."""
        counts = (~np.isnan(table)).sum(axis=0).tolist()
        alphas = spread_alpha(self.alpha, len(counts), getattr(self, "feature_names_in_", None))
        factors = [bandwidth_factor("scott" if one is None else one, n) for one, n in zip(alphas, counts, strict=True)]
        if self.kernel == "gaussian":
            factors = [one * sqrt(n / (n - 1)) if n > 1 else one for one, n in zip(factors, counts, strict=True)]
        return [0.0 if np.isnan(one) else one for one in factors]  # a rule has no answer for a column of NaN

    def _check_parameters(self) -> None:
        """The parameters that `kdi.KDITransformer` does not have; it checks the others itself."""
        if not isinstance(self.polyexp_eval, str) or self.polyexp_eval not in EVALUATIONS:
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


def _landmarks(table: ColumnMap, values: FloatArray, references: Float64Array) -> Float64Array:
    """Where the integral takes the levels."""
    places = references[:, None].copy()
    inverse([table], places, places, "clip")
    return places[:, 0]


def _landmarks_between_values(table: ColumnMap, values: FloatArray, references: Float64Array) -> Float64Array:
    """Where straight lines between quantiles of the values take the levels, as in the original's Gaussian case."""
    known = values[~np.isnan(values)].astype(float)
    if not len(known):
        return np.full(len(references), np.nan)
    places = np.quantile(known, references)[:, None]
    levels = np.empty_like(places)
    forward([table], places, levels, "clip")
    return np.asarray(np.interp(references, levels[:, 0], places[:, 0]), dtype=float)


def _lines_between(table: ColumnMap, landmarks: Float64Array, references: Float64Array) -> ColumnMap:
    """A table of straight lines between landmarks; a table that has no two of them stays."""
    knots, first, counts = np.unique(landmarks, return_index=True, return_counts=True)
    if len(knots) < 2 or np.isnan(knots).any():
        return table
    levels = 0.5 * (references[first] + references[first + counts - 1])
    levels[[0, -1]] = 0.0, 1.0
    return build_linear_map(knots, levels, 1.0)
