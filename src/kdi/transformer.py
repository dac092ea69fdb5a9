"""KDITransformer: the kernel density integral transformation as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from kdi._input import (
    as_table,
    as_weights,
    check_count,
    check_jobs,
    check_names,
    column_names,
    refuse_infinite,
)
from kdi._threads import count_threads
from kdi._typing import Floats, KernelName, OutOfRange, Table
from kdi.bandwidth import resolve_alpha
from kdi.cells import MANY, cell_width_for
from kdi.gather import cell_widths, scan_columns, sketch_columns
from kdi.kernels import Kernel, get_kernel
from kdi.lookup import OUT_OF_RANGE, AnyTable, forward, inverse
from kdi.maps import Maps
from kdi.parts import Gathered, Parts, TableParts, gather_parts, gathering
from kdi.saving import transformer_from_json, transformer_to_json
from kdi.sketch import Sketch
from kdi.sources import ArrowParts, is_source
from kdi.streams import table_map, transform_source, write_stream

# As in QuantileTransformer: normal scores beyond these of 1e-7 and 1 - 1e-7 are clipped.
CLIP = float(ndtri(1e-7 - np.spacing(1)))
NORMAL_PART = 2**17  # values turned into normal scores at once


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
        X : array-like of shape (n_samples, n_features), or a stream
            A stream is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars
            LazyFrame, a DuckDB relation), or the path of a Parquet or CSV file, a glob, or a list of these. It is read
            batch by batch, and a second time only where one reading was not enough for the bandwidth.
        y : ignored
        sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        kernel = self._check_parameters()
        if is_source(X):
            return self._fit_parts(ArrowParts(X, sample_weight, n_jobs=self.n_jobs))
        self._reset()
        table, weights = self._read(X, sample_weight, reset=True)
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is zero in every row, which leaves no row to fit.")
        n_threads = count_threads(self.n_jobs, table.size)
        scan = scan_columns(table, weights, n_threads)
        refuse_infinite(
            self, np.flatnonzero((scan.infinite > 0) | (scan.maximum == np.inf) | (scan.minimum == -np.inf))
        )
        widths = cell_widths(kernel, self._resolve_alpha(scan.weight), scan)
        self._settle(sketch_columns(table, weights, scan, widths, n_threads), len(table), kernel)
        return self._with_maps()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more part of the data; the parts together give what one `fit` gives.

        Parts are kept finer than they need be, so that a later part may bring the standard deviation down. `fit` keeps
        no such reserve: data that comes in parts is better given to `partial_fit` from the first part on.
        `error_bound_` is true either way.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            A stream is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars
            LazyFrame, a DuckDB relation), or the path of a Parquet or CSV file, a glob, or a list of these. It is read
            batch by batch.
        y : ignored
        sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        kernel = self._check_parameters()
        first = not hasattr(self, "sketches_")
        parts: Parts
        if is_source(X):
            parts = ArrowParts(X, sample_weight, n_jobs=self.n_jobs)
            check_names(self, parts.names, parts.n_columns, reset=first)
        else:
            parts = TableParts(*self._read(X, sample_weight, reset=first), self.n_jobs)
        summarise, merge = gathering(kernel, self._resolve_alpha(np.full(parts.n_columns, MANY)), self.n_jobs)
        found = parts.reduce(summarise, merge)
        refuse_infinite(self, np.flatnonzero(found.infinite))
        if not first:
            found = merge(Gathered(self.sketches_, found.infinite, self.n_samples_seen_), found)
        self._settle(found.sketches, found.n_rows, kernel)
        return self

    def fit_sketches(self, sketches: Any) -> Self:
        """Learn from sketches of the features, wherever they were gathered.

        Parameters
        ----------
        sketches : dict of str to Sketch, or sequence of Sketch
            One sketch a feature, as `kdi.sketch_table` and `kdi.Sketch.from_values` make them. `error_bound_` tells
            whether they are fine enough for this alpha.

        Examples
        --------
        >>> import kdi
        >>> monday, tuesday = kdi.Sketch.from_values([1.0, 2.0]), kdi.Sketch.from_values([4.0])
        >>> kdi.KDITransformer().fit_sketches([monday + tuesday]).transform([[2.0]]).round(3)
        array([[0.359]])
        """
        kernel = self._check_parameters()
        names = list(sketches) if isinstance(sketches, Mapping) else None
        found = list(sketches.values() if isinstance(sketches, Mapping) else sketches)
        wrong = [one for one in found if not isinstance(one, Sketch)]
        if wrong or not found:
            given = f"one of type {type(wrong[0]).__name__}" if wrong else "none"
            raise ValueError(f"sketches must be Sketches, one a feature, got {given}.")
        self._reset()
        check_names(self, names, len(found), reset=True)
        found = [replace(one) for one in found]  # the caller's own may grow
        self._settle(self._resolving(found, kernel), max(one.count + one.missing for one in found), kernel)
        return self._with_maps()

    def transform(self, X: Any) -> Any:
        """Map each feature to [0, 1], or to normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 for float32 input and float64 otherwise
            Of a pyarrow Table, a Table; of a polars LazyFrame, a LazyFrame; of other streams, a RecordBatchReader that
            transforms one batch after the other as it is read.
        """
        if is_source(X):
            return transform_source(self, X)
        return self._map(X, forward, after=_to_normal)

    def inverse_transform(self, X: Any) -> Any:
        """Map values of the transformation back to the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream as in `transform`
        """
        if is_source(X):
            return transform_source(self, X, table_map(self, "inverse_transform"))
        return self._map(X, inverse, before=_from_normal)

    def transform_stream(self, source: Any, sink: Any, *, progress: bool = False) -> int:
        """Transform a table that need not fit in memory into a Parquet file.

        Features are found by name, wherever they stand; other columns pass through unchanged. The file is written aside
        and put in its place when it is whole, so that an error leaves nothing behind and what was there untouched.

        Parameters
        ----------
        source : path, glob or list of them, or a stream as in `fit`
        sink : path of the Parquet file
        progress : bool, default=False
            Whether to show a progress bar on stderr.

        Returns
        -------
        int
            The number of rows.
        """
        return write_stream(self, source, sink, progress)

    def to_json(self) -> str:
        """The fitted transformer as JSON text, exact to the last bit; `from_json` reads it."""
        return transformer_to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The transformer that `to_json` wrote; any other text is a ValueError, and none is ever run.

        Parameters
        ----------
        text : str or bytes
        """
        estimator: Self = transformer_from_json(cls, text)
        return estimator

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
        for name in [name for name in vars(self) if name.endswith("_") or name == "_maps"]:
            delattr(self, name)

    def _fit_parts(self, parts: Parts) -> Self:
        """Learn from a table in parts, wherever these are."""
        kernel = self._check_parameters()
        self._reset()
        check_names(self, parts.names, parts.n_columns, reset=True)
        return self._fit_gathered(gather_parts(parts, kernel, self._resolve_alpha))

    def _fit_gathered(self, found: Gathered) -> Self:
        kernel = self._check_parameters()
        refuse_infinite(self, np.flatnonzero(found.infinite))
        found.check_rows()
        self._settle(self._resolving(found.sketches, kernel), found.n_rows, kernel)
        return self._with_maps()

    def _resolving(self, sketches: list[Sketch], kernel: Kernel) -> list[Sketch]:
        """Sketches no finer than the bandwidths call for, as a fit in memory has them."""
        self._check_ranges(sketches)
        alphas = self._resolve_alpha(np.array([sketch.weight for sketch in sketches])).tolist()
        return [
            sketch.resolving(cell_width_for(kernel, alpha * sketch.std, sketch.range)) if sketch.count else sketch
            for sketch, alpha in zip(sketches, alphas, strict=True)
        ]

    def _read(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Table, Floats | None]:
        table = as_table(self, X, reset=reset)
        return table, as_weights(sample_weight, len(table))

    def _settle(self, sketches: list[Sketch], n_rows: int, kernel: Kernel) -> None:
        """Keep what was gathered; what follows from it is made when it is first asked for."""
        self._check_ranges(sketches)
        weights = np.array([sketch.weight for sketch in sketches])
        if not np.isfinite(weights).all():
            raise ValueError("sample_weight must have a finite sum, which overflows with the weights of this part.")
        alphas = self._resolve_alpha(weights)
        self.sketches_, self.n_samples_seen_ = sketches, n_rows
        self._maps: Maps | partial[Maps] = partial(Maps.of, sketches, alphas, kernel, self.n_quantiles)

    def _check_ranges(self, sketches: list[Sketch]) -> None:
        wide = [j for j, sketch in enumerate(sketches) if sketch.range == np.inf]
        if wide:
            raise ValueError(
                f"the range of {column_names(self, wide)} is too large for float64; divide the values first."
            )

    def _with_maps(self) -> Self:
        self._made(stacklevel=4)
        return self

    def _made(self, stacklevel: int = 5) -> Maps:
        """Everything that follows from the sketches, and a word on columns that have no values."""
        check_is_fitted(self)
        if not isinstance(self._maps, Maps):
            empty = [j for j, sketch in enumerate(self.sketches_) if not sketch.count]
            if empty:
                text = f"{column_names(self, empty)} held only NaN (or weights of zero) and will be NaN."
                warnings.warn(text, stacklevel=stacklevel)
            self._maps = self._maps()
        return self._maps

    @property
    def alpha_(self) -> Floats:
        return self._made().alpha

    @property
    def bandwidth_(self) -> Floats:
        return self._made().bandwidth

    @property
    def tables_(self) -> list[AnyTable]:
        return self._made().tables

    @property
    def error_bound_(self) -> Floats:
        return np.array([table.error for table in self.tables_])

    @property
    def n_knots_(self) -> NDArray[np.int64]:
        return np.array([table.n_knots for table in self.tables_])

    @property
    def data_min_(self) -> Floats:
        check_is_fitted(self)
        return np.array([sketch.minimum for sketch in self.sketches_])

    @property
    def data_max_(self) -> Floats:
        check_is_fitted(self)
        return np.array([sketch.maximum for sketch in self.sketches_])

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_maps")

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
