"""KDITransformer: the kernel density integral transformation as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from kdi._input import as_table, as_weights, check_count, check_jobs, column_names, refuse_infinite
from kdi._threads import count_threads
from kdi._typing import Floats, KernelName, OutOfRange, Table
from kdi.bandwidth import resolve_alpha
from kdi.cells import cell_width_for
from kdi.gather import Scan, cell_widths, scan_columns, sketch_columns
from kdi.kernels import Kernel, get_kernel
from kdi.lookup import OUT_OF_RANGE, forward, inverse, tabulate
from kdi.sketch import CAPACITY, Sketch

# As in QuantileTransformer: normal scores beyond these of 1e-7 and 1 - 1e-7 are clipped.
CLIP = float(ndtri(1e-7 - np.spacing(1)))
NORMAL_PART = 2**17  # values turned into normal scores at once
FINER = 64  # how much finer than needed chunks are kept, since a later chunk may bring the bandwidth down


class KDITransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map each feature to [0, 1] by the integral of its kernel density estimate.

    One number, the bandwidth factor `alpha`, moves between the quantile transform (0) and min-max scaling (inf).

    Parameters
    ----------
    alpha : float, "scott", "silverman", sequence of these or dict by feature name, default=1.0
        Bandwidth in units of the feature's standard deviation. 0 is the quantile transform, inf is min-max scaling.
        Features that a dict does not name have alpha 1.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
    order : int, default=4
        Order of the polyexp kernel; 4 is close to the Gaussian.
    output_distribution : {"uniform", "normal"}, default="uniform"
        "normal" returns normal scores of the result, clipped at 1e-7 and 1 - 1e-7 as in QuantileTransformer.
    out_of_range : {"clip", "linear", "nan"}, default="clip"
        What becomes of values outside the range seen in `fit`: 0 or 1, a straight line that goes on with the slope at
        the end (monotone and invertible), or NaN.
    n_quantiles : int, optional
        Most knots that a feature's table may have. None lets the tolerance of 1e-6 choose, up to some 262,144; what
        fewer knots cost, `error_bound_` tells.
    n_jobs : int, optional
        Threads. None takes the cores that are free for large tables, and one inside a joblib worker.
    copy : bool, default=True
        False lets `transform` and `inverse_transform` overwrite an array of floats.

    Attributes
    ----------
    alpha_, bandwidth_ : ndarray of shape (n_features,)
        The bandwidth factor of each feature, and alpha times its standard deviation.
    data_min_, data_max_ : ndarray of shape (n_features,)
    n_samples_seen_ : int
        Rows seen, those with NaN included.
    error_bound_ : ndarray of shape (n_features,)
        Certified bound on the difference between the result (before a rounding to float32) and the exact integral.
    n_knots_ : ndarray of shape (n_features,)
        Knots of each feature's table.
    references_ : ndarray of shape (n_references,)
        Levels evenly spaced in [0, 1], as in QuantileTransformer.
    quantiles_ : ndarray of shape (n_references, n_features)
        The values at which the transformation takes these levels.
    sketches_ : list of Sketch
        What is kept of each feature; `partial_fit` adds to it.
    tables_ : list of CubicTable or LinearTable
        The map of each feature, which follows from its sketch.
    n_features_in_, feature_names_in_

    Notes
    -----
    With bandwidth h = alpha σ and kernel cdf G, a value x of a feature with values X_1, …, X_N becomes

    .. math:: T(x) = P(X_{(1)}, x) / P(X_{(1)}, X_{(N)}), \\quad
        P(a, b) = \\frac{1}{N} \\sum_n G((b - X_n)/h) - G((a - X_n)/h)

    NaN is left out of the fit and stays NaN. A constant feature becomes 0. `fit` takes two readings of the data,
    and memory for the sketches only. The result never decreases in x, in floating point too.

    References
    ----------
    McCarter, C. (2023). The Kernel Density Integral Transformation. Transactions on Machine Learning Research.

    Examples
    --------
    >>> import kdi
    >>> X = [[0.0], [1.0], [2.0], [100.0]]
    >>> kdi.KDITransformer().fit_transform(X).ravel().round(3)
    array([0.   , 0.013, 0.027, 1.   ])
    >>> kdi.KDITransformer(alpha=0).fit_transform(X).ravel().round(3)
    array([0.   , 0.333, 0.667, 1.   ])
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: KernelName = "polyexp",
        order: int = 4,
        output_distribution: str = "uniform",
        out_of_range: OutOfRange = "clip",
        n_quantiles: int | None = None,
        n_jobs: int | None = None,
        copy: bool = True,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.order = order
        self.output_distribution = output_distribution
        self.out_of_range = out_of_range
        self.n_quantiles = n_quantiles
        self.n_jobs = n_jobs
        self.copy = copy

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the transformation of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        self._reset()
        return self._update(X, sample_weight, more_may_come=False)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more part of the data; the parts together give what one `fit` gives.

        Parts are kept finer than they need be, so that a later part may bring the standard deviation down. `fit` keeps
        no such reserve: data that comes in parts is better given to `partial_fit` from the first part on.
        `error_bound_` is true either way.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        return self._update(X, sample_weight, more_may_come=True)

    def transform(self, X: Any) -> Any:
        """Map each feature to [0, 1], or to normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 for float32 input and float64 otherwise
        """
        return self._map(X, forward, after=_to_normal)

    def inverse_transform(self, X: Any) -> Any:
        """Map values of the transformation back to the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return self._map(X, inverse, before=_from_normal)

    @property
    def references_(self) -> Floats:
        check_is_fitted(self)
        n = min(1000, self.n_samples_seen_) if self.n_quantiles is None else self.n_quantiles
        return np.linspace(0, 1, max(n, 2))

    @property
    def quantiles_(self) -> Floats:
        levels = self.references_
        table = np.repeat(levels[:, None], self.n_features_in_, axis=1)
        out = np.empty_like(table)
        inverse(self.tables_, table, out, "clip")
        return out

    def _reset(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]:
            delattr(self, name)

    def _update(self, X: Any, sample_weight: Any, more_may_come: bool) -> Self:
        kernel = self._check_parameters()
        first = not hasattr(self, "sketches_")
        table = as_table(self, X, reset=first)
        weights = as_weights(sample_weight, len(table))
        if weights is not None and not more_may_come and not weights.any():
            raise ValueError("sample_weight is zero in every row, which leaves no row to fit.")
        n_threads = count_threads(self.n_jobs, table.size)
        scan = scan_columns(table, weights, n_threads)
        refuse_infinite(
            self, np.flatnonzero((scan.infinite > 0) | (scan.maximum == np.inf) | (scan.minimum == -np.inf))
        )
        before: list[Sketch] = getattr(self, "sketches_", [Sketch()] * len(scan.counts))
        if more_may_come:
            sketches = self._add_chunk(table, weights, scan, before, kernel, n_threads)
        else:
            alphas = self._resolve_alpha(scan.weight)
            sketches = sketch_columns(table, weights, scan, cell_widths(kernel, alphas, scan), n_threads)
        self._check_ranges(sketches)
        self.sketches_ = sketches
        self.n_samples_seen_ = len(table) + getattr(self, "n_samples_seen_", 0)
        self._tabulate(kernel)
        return self

    def _add_chunk(
        self, table: Table, weights: Floats | None, scan: Scan, before: list[Sketch], kernel: Kernel, n_threads: int
    ) -> list[Sketch]:
        """Sketches so far and of this chunk together: the values themselves while there are few of them, then cells."""
        totals = np.array([sketch.weight for sketch in before]) + scan.weight
        alphas = self._resolve_alpha(totals)
        widths = np.where(scan.counts > CAPACITY, cell_widths(kernel, alphas, scan) / FINER, 0.0)
        widths = np.array([one.cell_width or width for one, width in zip(before, widths, strict=True)])
        merged = [
            old.merged(new)
            for old, new in zip(before, sketch_columns(table, weights, scan, widths, n_threads), strict=True)
        ]
        spreads = [alpha * one.std for alpha, one in zip(alphas.tolist(), merged, strict=True)]
        needed = [cell_width_for(kernel, h, one.range) / FINER for h, one in zip(spreads, merged, strict=True)]
        return [one.resolving(width) if len(one) > CAPACITY else one for one, width in zip(merged, needed, strict=True)]

    def _tabulate(self, kernel: Kernel) -> None:
        """Everything that follows from the sketches."""
        sketches = self.sketches_
        empty = [j for j, sketch in enumerate(sketches) if not sketch.count]
        if empty:
            warnings.warn(
                f"{column_names(self, empty)} held only NaN (or weights of zero) and will be NaN.", stacklevel=4
            )
        self.alpha_ = self._resolve_alpha(np.array([sketch.weight for sketch in sketches]))
        with np.errstate(invalid="ignore"):  # inf times the spread of a constant
            self.bandwidth_ = self.alpha_ * np.array([sketch.std for sketch in sketches])
        self.data_min_ = np.array([sketch.minimum for sketch in sketches])
        self.data_max_ = np.array([sketch.maximum for sketch in sketches])
        self.tables_ = [
            tabulate(sketch, kernel, h, self.n_quantiles)
            for sketch, h in zip(sketches, self.bandwidth_.tolist(), strict=True)
        ]
        self.error_bound_ = np.array([table.error for table in self.tables_])
        self.n_knots_ = np.array([table.n_knots for table in self.tables_])

    def _map(self, X: Any, function: Any, before: Any = None, after: Any = None) -> Table:
        """The table through `function`, which is forward or inverse; `before` and `after` deal with normal scores."""
        check_is_fitted(self)
        self._check_parameters()
        table = as_table(self, X, reset=False)
        in_place = not self.copy and table is X and table.flags.writeable
        if in_place:  # or else a late error would leave the user's table half overwritten
            refuse_infinite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        out = table if in_place else np.empty_like(table)
        n_threads = count_threads(self.n_jobs, table.size)
        if self.output_distribution == "uniform":
            refuse_infinite(self, _met(function(self.tables_, table, out, self.out_of_range, n_threads)))
            return out
        # In parts, as float64: scores near the ends need more digits than float32 has.
        height = max(1, NORMAL_PART // table.shape[1])
        for start in range(0, len(table), height):
            part = table[start : start + height].astype(float)
            if before:
                before(part)
            refuse_infinite(self, _met(function(self.tables_, part, part, self.out_of_range, n_threads)))
            if after:
                after(part)
            out[start : start + height] = part
        return out

    def _resolve_alpha(self, weights: Floats) -> Floats:
        return resolve_alpha(self.alpha, weights, getattr(self, "feature_names_in_", None))

    def _check_parameters(self) -> Kernel:
        if self.output_distribution not in ("uniform", "normal"):
            raise ValueError(f"output_distribution must be 'uniform' or 'normal', got {self.output_distribution!r}.")
        if not isinstance(self.out_of_range, str) or self.out_of_range not in OUT_OF_RANGE:
            raise ValueError(f"out_of_range must be one of {list(OUT_OF_RANGE)}, got {self.out_of_range!r}.")
        if not isinstance(self.copy, bool | np.bool_):
            raise ValueError(f"copy must be True or False, got {self.copy!r}.")
        check_count("n_quantiles", self.n_quantiles, least=2)
        check_jobs(self.n_jobs)
        return get_kernel(self.kernel, self.order)

    def _check_ranges(self, sketches: list[Sketch]) -> None:
        wide = [j for j, sketch in enumerate(sketches) if sketch.range == np.inf]
        if wide:
            raise ValueError(
                f"the range of {column_names(self, wide)} is too large for float64; divide the values first."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tables_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _met(column: int) -> list[int]:
    """The column in which an infinite value was met, if any was."""
    return [column] if column >= 0 else []


def _to_normal(levels: Floats) -> None:
    """Normal scores in place; what lies beyond 0 and 1 goes on from the clipped ends in a straight line."""
    inner = np.clip(levels, 0, 1)
    levels -= inner
    ndtri(inner, out=inner)
    levels += np.clip(inner, CLIP, -CLIP, out=inner)


def _from_normal(scores: Floats) -> None:
    """The inverse of `_to_normal`, in place: clipped scores are the ends, rounded to float32 too."""
    inner = np.clip(scores, CLIP, -CLIP)
    scores -= inner
    at_end = abs(inner) >= -CLIP * (1 - 1e-7)
    scores += np.where(at_end, inner > 0, ndtr(inner))
