"""KDITransformer: the kernel density integral transformation as a scikit-learn transformer.

Modules for streams, partitions and JSON are imported when they are used: most programs only have arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import Tags

from kdi._integral.bandwidth import alpha_factors, resolve_factors
from kdi._integral.build import fit_table
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.batches import BatchedSketches
from kdi._sketch.cells import LARGE_COUNT
from kdi._sketch.columns import ColumnStats
from kdi._sketch.sketch import Sketch
from kdi._sketch.sparse import StoredColumns
from kdi._tables.sources import is_source
from kdi._transformer.arrays import as_device_tensor, fit_tensor
from kdi._transformer.base import BaseKDITransformer, check_open_alphas
from kdi._utils.errors import WeightsError
from kdi._utils.namespaces import library_of, namespace_of
from kdi._utils.public import public_in
from kdi._utils.sparse import as_sparse_table
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, KernelName, OutOfRange, SparseMatrix, Spread
from kdi._utils.validation import as_weights, check_feature_names, check_finite

if TYPE_CHECKING:
    from kdi._sketch.partitions import MergeSummaries, PartitionedTable, SummariseChunks, TableSummary


@public_in("kdi")
class KDITransformer(BaseKDITransformer):
    """Map each feature to [0, 1], or to normal scores, by the integral of its kernel density estimate.

    One number, the bandwidth factor `alpha`, moves between the quantile transform (0) and min-max scaling (inf).

    Parameters
    ----------
    alpha : float, "scott", "silverman", sequence of these or dict by feature name, default=1.0
        Bandwidth in units of the feature's `spread`. 0 is the quantile transform, inf is min-max scaling.
        Features that are not in a dict have alpha 1.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
    order : int, default=4
        Order of the polyexp kernel; 4 is close to the Gaussian.
    output_distribution : {"uniform", "normal"}, default="uniform"
        "normal" returns normal scores of the result. With `bounded`, they are clipped at 1e-7 and 1 - 1e-7 as in
        QuantileTransformer, so that both extremes of a feature are far from all other values: for networks and linear
        models, `bounded=False` is better.
    bounded : bool, default=True
        If True, the integral is taken between the smallest and the largest value, where the result is exactly 0 and 1.
        If False, it is taken from minus infinity: the result increases strictly, nothing is out of range, and every
        result has an inverse. With alpha=0, a value of rank i among N then becomes (i - 1/2) / N, and alpha=inf is an
        error.
    spread : {"std", "robust"}, default="std"
        What `alpha` is in units of: the standard deviation, or the smaller of it and the interquartile range divided by
        1.349, that of a normal distribution. A few far values do not change the latter. Where the quartiles are equal,
        it is the standard deviation.
    feature_range : tuple (min, max), default=(0, 1)
        Range of the result, as in MinMaxScaler; only with output_distribution="uniform".
    out_of_range : {"clip", "linear", "nan"}, default="clip"
        Result for values outside the range seen in `fit`: 0 or 1 ("clip"), a straight line that continues with the
        slope at the end ("linear": monotone and invertible), or NaN. With bounded=False no value is out of range.
    max_knots : int, optional
        Maximum number of knots in the map of a feature. None takes as many as an error of 1e-6 needs, up to some
        262,144; `error_bound_` tells the error with fewer.
    n_jobs : int, optional
        Number of threads. None uses all free cores for large tables, and one inside a joblib worker.
    copy : bool, default=True
        If False, `transform` and `inverse_transform` may overwrite an array of floats, or the values that a sparse
        matrix stores.

    Attributes
    ----------
    alpha_, bandwidth_ : ndarray of shape (n_features,)
        The bandwidth factor of each feature, and alpha times its spread.
    data_min_, data_max_ : ndarray of shape (n_features,)
    n_samples_seen_ : int
        Number of rows seen, including those with NaN.
    error_bound_ : ndarray of shape (n_features,)
        Certified bound on the difference between the result (before any rounding to float32) and the exact integral.
        For normal scores with bounded=False it bounds the difference of scores, wherever the exact score is within
        [-6, 6]; beyond, scores go on in a straight line. For other normal scores it is the bound before Φ⁻¹.
    n_knots_ : ndarray of shape (n_features,)
        Number of knots in the map of each feature.
    references_ : ndarray of shape (n_references,)
        Levels evenly spaced in [0, 1], as in QuantileTransformer; with bounded=False, without the ends.
    quantiles_ : ndarray of shape (n_references, n_features)
        The values that the transformation maps to these levels.
    sketches_ : list of Sketch
        Summary of each feature's values; `partial_fit` adds to it.
    maps_ : list of CubicMap or LinearMap
        The map of each feature, built from its sketch.
    packed_maps_ : PackedMaps
        The maps of all features as flat arrays.
    n_features_in_, feature_names_in_

    Notes
    -----
    With bandwidth h = alpha σ and kernel cdf G, a value x of a feature with values X_1, …, X_N becomes

    .. math:: T(x) = P(X_{(1)}, x) / P(X_{(1)}, X_{(N)}),

    .. math:: P(a, b) = \\frac{1}{N} \\sum_n G((b - X_n)/h) - G((a - X_n)/h)

    NaN is left out of the fit and stays NaN. A constant feature becomes 0; with bounded=False, 1/2, or 0 as a score.
    `fit` reads the data twice and needs memory for the sketches only. The result never decreases in x, not even by
    rounding.

    With scikit-learn's ``array_api_dispatch=True``, arrays of torch, CuPy and other libraries of the array API give
    arrays of the same library on the same device. A model that was fitted to such an array takes only arrays of that
    library, on any device; other models take all. What is learnt stays in NumPy arrays on the host.

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
        bounded: bool = True,
        spread: Spread = "std",
        feature_range: tuple[float, float] = (0, 1),
        out_of_range: OutOfRange = "clip",
        max_knots: int | None = None,
        n_jobs: int | None = None,
        copy: bool = True,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.order = order
        self.output_distribution = output_distribution
        self.bounded = bounded
        self.spread = spread
        self.feature_range = feature_range
        self.out_of_range = out_of_range
        self.max_knots = max_knots
        self.n_jobs = n_jobs
        self.copy = copy

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the transformation of each feature.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a stream
            In a sparse matrix, zeros that are not stored are values like others.

            A stream is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars
            LazyFrame, a DuckDB relation), or the path of a Parquet or CSV file, a glob, or a list of these. It is read
            batch by batch; a second time only if the bandwidth needs narrower cells than one reading could keep.

            With scikit-learn's ``array_api_dispatch=True``, an array of torch, CuPy or another library of the array
            API. On a GPU, `kdi.torch` reads it there.
        y : ignored
        sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        kernel = self._check_parameters()
        if is_source(X):
            from kdi._tables.arrow_partitions import ArrowPartitions

            return self._fit_partitions(ArrowPartitions(X, sample_weight, n_jobs=self.n_jobs))
        namespace = namespace_of(X)
        if namespace is not None:
            return self._fit_array(X, namespace, sample_weight, kernel)
        return self._fit_host(X, sample_weight, kernel)

    def _fit_array(self, X: Any, namespace: ModuleType, sample_weight: Any, kernel: Kernel) -> Self:
        """Learn from an array of another library."""
        tensor = as_device_tensor(X, namespace)
        if tensor is None:
            self._fit_host(X, sample_weight, kernel)
        else:
            fit_tensor(self, tensor, sample_weight)
        self._fitted_to = library_of(namespace)
        return self

    def _fit_host(self, X: Any, sample_weight: Any, kernel: Kernel) -> Self:
        """Learn from a table in the memory of the CPU, or one that is copied there."""
        table, weights = self._read_anew(X, sample_weight)
        if issparse(table):
            return self._fit_sparse(table, weights, kernel)
        n_threads = count_threads(self.n_jobs, table.size)
        names = getattr(self, "feature_names_in_", None)
        sketches, maps = fit_table(
            table,
            weights,
            alpha_factors(self.alpha, table.shape[1], names),
            kernel,
            n_threads,
            check=self._check_stats,
            options=self._map_options(),
        )
        self._set_fit(sketches, len(table), maps)
        self._warn_of_empty_columns(sketches)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of data; all batches together give what one `fit` gives.

        Sketches are kept finer than the bandwidth needs, since a later batch may lower the standard deviation. `fit`
        keeps no such reserve: use `partial_fit` from the first batch on. `error_bound_` holds either way.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a stream
            In a sparse matrix, zeros that are not stored are values like others.

            A stream is anything with an Arrow stream (a pyarrow Table, RecordBatchReader or Dataset, a polars
            LazyFrame, a DuckDB relation), or the path of a Parquet or CSV file, a glob, or a list of these. It is read
            batch by batch.

            With scikit-learn's ``array_api_dispatch=True``, an array as in `fit`. One on a GPU is copied to the host;
            `kdi.torch.sketch` adds up batches on the GPU.
        y : ignored
        sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        from kdi._sketch.partitions import ArrayPartitions

        kernel = self._check_parameters()
        first = not hasattr(self, "_maps")
        batch: PartitionedTable
        known: Sequence[Sketch]
        if is_source(X):
            from kdi._tables.arrow_partitions import ArrowPartitions

            batch = ArrowPartitions(X, sample_weight, n_jobs=self.n_jobs)
            check_feature_names(self, batch.names, batch.n_columns, reset=first)
        else:
            batch = ArrayPartitions(*self._read(X, sample_weight, reset=first), self.n_jobs)
        known = [Sketch()] * batch.n_columns if first else self._get_sketches("partial_fit")
        alphas = self._resolve_alpha(np.full(batch.n_columns, LARGE_COUNT))
        if not isinstance(known, BatchedSketches) or not known.is_for(kernel, alphas, self.n_jobs):
            known = BatchedSketches(known if first else self.sketches_, kernel, alphas, self.n_jobs)
        batches = known.plus(batch)
        check_finite(self, batches.infinite)
        with np.errstate(over="ignore"):
            self._check_totals(batches.maximum - batches.minimum, batches.weight)
        n_rows = batches.n_rows + (0 if first else self.n_samples_seen_)
        if first and type(X) is not np.ndarray:
            self._fitted_to = library_of(namespace_of(X))
        return self._set_sketches(batches, n_rows, self._resolve_alpha(batches.weight), kernel)

    def fit_sketches(self, sketches: Any) -> Self:
        """Learn from sketches of the features that were made elsewhere.

        Parameters
        ----------
        sketches : dict of str to Sketch, or sequence of Sketch
            One sketch per feature, as `kdi.sketch_table` and `kdi.Sketch.from_values` make them. `error_bound_` tells
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
        given = list(sketches.values() if isinstance(sketches, Mapping) else sketches)
        wrong = [type(sketch).__name__ for sketch in given if not isinstance(sketch, Sketch)]
        if wrong or not given:
            raise ValueError(
                f"sketches must be Sketches, one per feature, got {f'one of type {wrong[0]}' if wrong else 'none'}."
            )
        self._reset()
        check_feature_names(self, names, len(given), reset=True)
        own = [replace(sketch) for sketch in given]  # the caller may add to theirs
        n_rows = max(sketch.count + sketch.missing for sketch in own)
        return self._learn(own, n_rows, kernel, merge=True)._build_maps()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the transformer that `to_json` wrote; any other text is a ValueError. No code in it is ever run.

        Parameters
        ----------
        text : str or bytes
        """
        from kdi._transformer.saving import transformer_from_json

        estimator: Self = transformer_from_json(cls, text)
        return estimator

    def _fit_partitions(self, table: PartitionedTable) -> Self:
        """Learn from all partitions of a table, in one reading or two."""
        from kdi._sketch.partitions import sketch_for_alphas

        kernel = self._start_fit(table)
        summary = sketch_for_alphas(table, kernel, self._resolve_alpha, robust=self.spread == "robust")
        return self._fit_summary(summary)

    def _summary_reducer(self, table: PartitionedTable) -> tuple[SummariseChunks, MergeSummaries]:
        """Learn the features of a table; return how to summarise its partitions in one reading.

        `_fit_summary` completes the fit with the merged summary, in another process if need be.
        """
        self._start_fit(table)
        return self._one_pass_reducer(table)

    def _fit_summary(self, summary: TableSummary) -> Self:
        """Learn from the merged summary of all partitions."""
        kernel = self._check_parameters()
        check_finite(self, np.flatnonzero(summary.infinite))
        summary.check_rows()
        return self._learn(summary.sketches, summary.n_rows, kernel, merge=True)._build_maps()

    def _start_fit(self, table: PartitionedTable) -> Kernel:
        """Check the parameters, forget an earlier fit and learn the features of a table."""
        kernel = self._check_parameters()
        self._reset()
        check_feature_names(self, table.names, table.n_columns, reset=True)
        return kernel

    def _one_pass_reducer(self, table: PartitionedTable) -> tuple[SummariseChunks, MergeSummaries]:
        """Return how to sketch a table in one reading, when neither its size nor its spread is known yet."""
        from kdi._sketch.partitions import sketch_reducer

        alphas = self._resolve_alpha(np.full(table.n_columns, LARGE_COUNT))
        return sketch_reducer(get_kernel(self.kernel, self.order), alphas, table.n_jobs)

    def _fit_sparse(self, table: SparseMatrix, weights: Float64Array | None, kernel: Kernel) -> Self:
        columns = StoredColumns.from_matrix(table, weights)
        stats = columns.stats
        self._check_stats(stats)
        alphas = self._resolve_alpha(stats.weight)
        return self._set_sketches(columns.sketches(), table.shape[0], alphas, kernel, merge=True)._build_maps()

    def _read(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Float64Array | None]:
        if not issparse(X):
            return super()._read(X, sample_weight, reset=reset)
        table = as_sparse_table(self, X, reset=reset)
        return table, as_weights(sample_weight, table.shape[0])

    def _check_stats(self, stats: ColumnStats) -> None:
        check_finite(self, stats.infinite_columns)
        with np.errstate(over="ignore"):
            self._check_ranges(np.where(stats.counts > 0, stats.maximum - stats.minimum, 0.0))

    def _learn(self, sketches: Sequence[Sketch], n_rows: int, kernel: Kernel, *, merge: bool = False) -> Self:
        """Keep the sketches; with `merge`, no finer than the bandwidths need, as `fit` of an array makes them."""
        weights = np.array([sketch.weight for sketch in sketches])
        self._check_totals(np.array([sketch.range for sketch in sketches]), weights)
        return self._set_sketches(sketches, n_rows, self._resolve_alpha(weights), kernel, merge=merge)

    def _check_parameters(self) -> Kernel:
        kernel = super()._check_parameters()
        check_open_alphas(self.bounded, self.alpha, "alpha")
        return kernel

    def _check_totals(self, ranges: Float64Array, weights: Float64Array) -> None:
        """Raise if the range or the weight of a column overflows."""
        self._check_ranges(ranges)
        if not np.isfinite(weights).all():
            raise WeightsError("sample_weight", "must have a finite sum; with the weights of this batch it overflows.")

    def _resolve_alpha(self, weights: Float64Array) -> Float64Array:
        """Return one alpha per feature; `weights` are the sums of weights of the features."""
        factors = alpha_factors(self.alpha, len(weights), getattr(self, "feature_names_in_", None))
        return resolve_factors(factors, weights)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags
