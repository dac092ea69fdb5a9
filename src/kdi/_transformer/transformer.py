"""KDITransformer: the kernel density integral transformation as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from kdi._integral.bandwidth import resolve_alpha
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.cells import LARGE_COUNT
from kdi._sketch.columns import sketch_array
from kdi._sketch.partitions import (
    ArrayPartitions,
    MergeSummaries,
    PartitionedTable,
    SummariseChunks,
    TableSummary,
    sketch_for_alphas,
    sketch_reducer,
)
from kdi._sketch.sketch import Sketch
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.sources import is_source
from kdi._transformer.base import BaseKDITransformer
from kdi._transformer.saving import transformer_from_json
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, KernelName, OutOfRange
from kdi._utils.validation import check_feature_names, check_finite


@public_in("kdi")
class KDITransformer(BaseKDITransformer):
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
    maps_ : list of CubicMap or LinearMap
        The map of each feature, which follows from its sketch.
    n_features_in_, feature_names_in_

    Notes
    -----
    With bandwidth h = alpha σ and kernel cdf G, a value x of a feature with values X_1, …, X_N becomes

    .. math:: T(x) = P(X_{(1)}, x) / P(X_{(1)}, X_{(N)}),

    .. math:: P(a, b) = \\frac{1}{N} \\sum_n G((b - X_n)/h) - G((a - X_n)/h)

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
            return self._fit_partitions(ArrowPartitions(X, sample_weight, n_jobs=self.n_jobs))
        table, weights = self._read_whole(X, sample_weight)
        n_threads = count_threads(self.n_jobs, table.size)
        sketches = sketch_array(
            table,
            weights,
            kernel,
            self._resolve_alpha,
            n_threads,
            check=lambda stats: check_finite(self, stats.infinite_columns),
        )
        self._set_sketches(sketches, len(table), kernel)
        return self._build_maps()

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
        parts: PartitionedTable
        if is_source(X):
            parts = ArrowPartitions(X, sample_weight, n_jobs=self.n_jobs)
            check_feature_names(self, parts.names, parts.n_columns, reset=first)
        else:
            parts = ArrayPartitions(*self._read(X, sample_weight, reset=first), self.n_jobs)
        summarise, merge = sketch_reducer(
            kernel, self._resolve_alpha(np.full(parts.n_columns, LARGE_COUNT)), self.n_jobs
        )
        found = parts.reduce(summarise, merge)
        check_finite(self, np.flatnonzero(found.infinite))
        if not first:
            found = merge(TableSummary(self.sketches_, found.infinite, self.n_samples_seen_), found)
        self._set_sketches(found.sketches, found.n_rows, kernel)
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
        check_feature_names(self, names, len(found), reset=True)
        found = [replace(one) for one in found]  # the caller's own may grow
        self._set_sketches(self._coarsen(found, kernel), max(one.count + one.missing for one in found), kernel)
        return self._build_maps()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The transformer that `to_json` wrote; any other text is a ValueError, and none is ever run.

        Parameters
        ----------
        text : str or bytes
        """
        estimator: Self = transformer_from_json(cls, text)
        return estimator

    def _fit_partitions(self, table: PartitionedTable) -> Self:
        kernel = self._start_fit(table)
        return self._fit_summary(sketch_for_alphas(table, kernel, self._resolve_alpha))

    def _summary_reducer(self, table: PartitionedTable) -> tuple[SummariseChunks, MergeSummaries]:
        """Learn the columns of a table; return how its partitions are summarised in one reading.

        `_fit_summary` takes the result, in another process too.
        """
        kernel = self._start_fit(table)
        return sketch_reducer(kernel, self._resolve_alpha(np.full(table.n_columns, LARGE_COUNT)), table.n_jobs)

    def _start_fit(self, table: PartitionedTable) -> Kernel:
        kernel = self._check_parameters()
        self._reset()
        check_feature_names(self, table.names, table.n_columns, reset=True)
        return kernel

    def _fit_summary(self, summary: TableSummary) -> Self:
        """Learn from the merged summary of all partitions."""
        kernel = self._check_parameters()
        check_finite(self, np.flatnonzero(summary.infinite))
        summary.check_rows()
        self._set_sketches(self._coarsen(summary.sketches, kernel), summary.n_rows, kernel)
        return self._build_maps()

    def _at(self, alpha: float) -> Self:
        """The same data at another alpha, no finer than it was gathered for."""
        other = copy(self)
        other.alpha = alpha
        kernel = get_kernel(self.kernel, self.order)
        other._set_sketches(other._coarsen(self.sketches_, kernel), self.n_samples_seen_, kernel)
        return other

    def _resolve_alpha(self, weights: Float64Array) -> Float64Array:
        return resolve_alpha(self.alpha, weights, getattr(self, "feature_names_in_", None))
