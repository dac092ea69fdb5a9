"""KDIDiscretizer: cut features into bins at their own gaps, as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from kdi._clustering.bins import bin_edges, check_n_bins, interval_names, object_array, per_feature_values
from kdi._clustering.queries import ArrayQueries, ColumnQueries, PartitionedQueries, SketchQueries, assign_clusters
from kdi._clustering.saving import discretizer_from_json, discretizer_to_json
from kdi._clustering.valleys import Pruning, Valleys, check_bandwidth, find_valleys, with_n_clusters
from kdi._integral.bandwidth import alpha_factors
from kdi._numerics.backend import core
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import PartitionedTable, TableSummary
from kdi._sketch.sparse import StoredColumns
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._tables.sources import is_source
from kdi._tables.streams import transform_source
from kdi._utils.errors import TableError
from kdi._utils.public import public_in
from kdi._utils.sparse import as_sparse_table, check_zeros, stored_columns
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, KernelName, SparseMatrix
from kdi._utils.validation import (
    as_table,
    as_weights,
    check_feature_names,
    check_finite,
    check_jobs,
    check_some_weight,
    column_names,
)

UNIFORM_BINS = 5  # the default of KBinsDiscretizer
DENSITY_VALUES = 2**14  # values whose sketch takes as long as the peaks and valleys of one density
ALLOWED_VALUES: dict[str, tuple[str, ...]] = {
    "encode": ("onehot", "onehot-dense", "ordinal"),
    "missing": ("error", "bin"),
    "strategy": ("valley", "uniform"),
    "inverse_strategy": ("center", "median", "midpoint"),
}


@public_in("kdi")
class KDIDiscretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cut features into bins at the valleys of their density, or at equal steps of their KD-integral.

    Parameters
    ----------
    alpha : float, "scott", "silverman", sequence of these or dict by feature name, default=1.0
        Bandwidth factor of the KD-integral; see `KDITransformer`.
    n_bins : "auto", int >= 2, or a sequence of these, default="auto"
        "auto" cuts at every valley of the density, or into 5 bins where the strategy is "uniform". A number of bins is
        reached as `n_clusters` in `kdi.cluster`.
    bandwidth : float, "scott", "silverman" or a sequence of these, default="scott"
        Bandwidth of the density of the KD-integrals; see `kdi.cluster`.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        One column per bin, sparse or dense, or the number of the bin.
    missing : {"error", "bin"}, default="error"
        Raise an error for NaN, or put NaN into a bin of its own, after the last.
    strategy : {"valley", "uniform"}, default="valley"
        Cut at the valleys of the density, or at equal steps of the KD-integral, which gives smoothed quantiles.
        `bandwidth`, `min_size` and `significance` are used for valleys only.
    kernel : {"polyexp", "gaussian"}, default="polyexp"
        Kernel of the KD-integral.
    order : int, default=4
        Order of the polyexp kernel.
    min_size, significance : float, optional
        Which valleys count; see `kdi.cluster`.
    inverse_strategy : {"center", "median", "midpoint"}, default="center"
        The value that `inverse_transform` returns for a bin: the peak of its density, the median of its values, or the
        midpoint of its edges.
    n_jobs : int, optional
        Number of threads. None uses the free cores for large tables.

    Attributes
    ----------
    bin_edges_ : ndarray of shape (n_features,), of ndarray of shape (n_bins_[j] + 1,)
        From the smallest value to the largest; a value on an edge belongs to the bin on its right. Values outside
        belong to the first or the last bin.
    n_bins_ : ndarray of shape (n_features,)
        Number of bins of each feature, without the bin of missing values.
    centers_ : ndarray of shape (n_features,), of ndarray of shape (n_bins_[j],)
        The peak of the density in each bin; for equal steps, the value where the KD-integral is halfway.
    alpha_ : ndarray of shape (n_features,)
        The bandwidth factors; they differ from the given ones where `n_bins` required others.
    representatives_ : list of ndarray
        The values that `inverse_transform` returns for the bins of each feature.
    valleys_ : list of Valleys
        The map to T and the density of the T of each feature, from which `predict_proba` is computed.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import kdi
    >>> X = [[1.0], [1.2], [1.3], [1.1], [5.0], [5.2], [5.1], [4.9]]
    >>> discretizer = kdi.KDIDiscretizer(encode="ordinal").fit(X)
    >>> discretizer.transform([[0.0], [1.25], [5.0]]).ravel()
    array([0., 0., 1.])
    >>> kdi.KDIDiscretizer().fit(X).get_feature_names_out().tolist()
    ['x0_(-inf, 3.1)', 'x0_[3.1, inf)']
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        n_bins: Any = "auto",
        bandwidth: Any = "scott",
        encode: Literal["onehot", "onehot-dense", "ordinal"] = "onehot",
        missing: Literal["error", "bin"] = "error",
        strategy: Literal["valley", "uniform"] = "valley",
        kernel: KernelName = "polyexp",
        order: int = 4,
        min_size: float | None = None,
        significance: float | None = None,
        inverse_strategy: Literal["center", "median", "midpoint"] = "center",
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.encode = encode
        self.missing = missing
        self.strategy = strategy
        self.kernel = kernel
        self.order = order
        self.min_size = min_size
        self.significance = significance
        self.inverse_strategy = inverse_strategy
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the bins of each feature.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a stream as in `KDITransformer.fit`
        y : ignored
        sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
            A weight of 2 repeats a row, a weight of 0 removes it; the sum of the weights is the sample size.
        """
        self._check_parameters()
        if is_source(X):
            return self._fit_partitions(ArrowPartitions(X, sample_weight, n_jobs=self.n_jobs))
        if sparse.issparse(X):
            return self._fit_sparse(X, sample_weight)
        table = self._read(X, reset=True)
        weights = as_weights(sample_weight, len(table))
        check_some_weight(weights, "sample_weight")
        n_threads = count_threads(self.n_jobs, table.size)
        return self._fit_queries(ArrayQueries(np.asarray(table, dtype=float), weights, n_threads))

    def transform(self, X: Any) -> Any:
        """Encode the bin of every value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            If `encode` is "ordinal", also a stream as in `fit`, or a sparse matrix whose zeros are in the first bin.

        Returns
        -------
        ndarray or sparse matrix
            Numbers of bins, of shape (n_samples, n_features), or one column per bin. For a sparse matrix, a matrix of
            the same format; for a stream, the type that `KDITransformer.transform` returns.
        """
        check_is_fitted(self)
        self._check_parameters()
        if is_source(X):
            if self.encode != "ordinal":
                raise ValueError(f"encode must be 'ordinal' to transform a stream, got {self.encode!r}.")
            return transform_source(self, X)
        if sparse.issparse(X):
            return self._transform_sparse(X)
        table = self._read(X, reset=False)
        labels = np.empty(table.shape, dtype=np.int64)
        cuts = [edges[1:-1] for edges in self.bin_edges_]
        core.assign(table, cuts, labels, count_threads(self.n_jobs, table.size))
        labels = np.where(labels < 0, self.n_bins_, labels)
        if self.encode == "ordinal":
            return labels.astype(table.dtype)
        return self._one_hot(labels, table.dtype)

    def predict_proba(self, X: Any) -> Float64Array:
        """Return each bin's share of the density at every value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, total number of bins)
            Columns as in the one-hot encoding; the shares of each feature sum to 1.
        """
        check_is_fitted(self)
        table = self._read(X, reset=False)
        blocks = []
        for j, valleys in enumerate(self.valleys_):
            values = table[:, j].astype(float)
            shares = valleys.shares(values)
            if self.missing == "bin":
                is_missing = np.isnan(values)
                shares[is_missing] = 0.0
                shares = np.column_stack([shares, is_missing])
            blocks.append(shares)
        return np.hstack(blocks)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Replace every bin by its center, median or midpoint, see `inverse_strategy`; missing values become NaN.

        Parameters
        ----------
        X : array-like or sparse matrix
            The output of `transform`.
        """
        check_is_fitted(self)
        labels = self._labels(X)
        result = np.empty(labels.shape)
        for j, values in enumerate(self.representatives_):
            with_missing = np.append(values, np.nan)
            result[:, j] = with_missing[np.clip(labels[:, j], 0, len(values))]
        return result

    def to_json(self) -> str:
        """Write the fitted discretizer as JSON text, exact to the last bit; `from_json` reads it."""
        return discretizer_to_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a discretizer that `to_json` wrote; other text raises a ValueError, and no text is executed.

        Parameters
        ----------
        text : str or bytes
        """
        estimator: Self = discretizer_from_json(cls, text)
        return estimator

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`: the features, or one interval per bin.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features; by default the names seen in `fit`, or x0, x1, …
        """
        check_is_fitted(self)
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        if self.encode == "ordinal":
            return names
        out = []
        for name, edges in zip(names, self.bin_edges_, strict=True):
            out += [f"{name}_{interval}" for interval in interval_names(edges)]
            out += [f"{name}_missing"] * (self.missing == "bin")
        return np.array(out, dtype=object)

    def _fit_partitions(self, table: PartitionedTable) -> Self:
        """Find the bins of a partitioned table: a stream, or a table of an engine."""
        self._check_parameters()
        if not table.rereadable:
            raise ValueError(
                "KDIDiscretizer reads its input several times, but this source can be read only once; pass a Table, a "
                "Dataset or the paths of files."
            )
        check_feature_names(self, table.names, table.n_columns, reset=True)
        return self._fit_queries(PartitionedQueries(table, self._check_summary))

    def _fit_sparse(self, X: Any, sample_weight: Any) -> Self:
        table = as_sparse_table(self, X, reset=True)
        weights = as_weights(sample_weight, table.shape[0])
        check_some_weight(weights, "sample_weight")
        columns = StoredColumns.from_matrix(table, weights)
        check_finite(self, columns.stats.infinite_columns)
        self._check_missing(np.flatnonzero(columns.missing))
        return self._fit_queries(SketchQueries(list(columns.sketches()), count_threads(self.n_jobs, table.nnz)))

    def _transform_sparse(self, X: Any) -> SparseMatrix:
        """Number the bins of stored values; zeros that are not stored must be in bin 0."""
        if self.encode != "ordinal":
            raise ValueError(
                f"encode must be 'ordinal' to transform a sparse X, got {self.encode!r}: one-hot columns hold a 1 for "
                "every row and feature, as many numbers as X.toarray()."
            )
        table = as_sparse_table(self, X, reset=False)
        check_finite(self, np.unique(stored_columns(table)[np.isinf(table.data)]))
        self._check_missing(np.unique(stored_columns(table)[np.isnan(table.data)]))
        cuts = [edges[1:-1] for edges in self.bin_edges_]
        bins_of_zero = np.array([np.searchsorted(here, 0.0, side="right") for here in cuts], dtype=table.dtype)
        check_zeros(self, table, bins_of_zero, "zeros stay zeros where they are in the first bin; or pass X.toarray()")
        result = table.tocsc(copy=True)
        for j, (start, stop) in enumerate(pairwise(result.indptr.tolist())):
            labels = assign_clusters(result.data[start:stop], cuts[j])
            result.data[start:stop] = np.where(labels < 0, self.n_bins_[j], labels)
        return result.asformat(table.format)

    def _fit_queries(self, queries: ColumnQueries) -> Self:
        valleys = self._find_valleys(queries)
        edges = [bin_edges(one) for one in valleys]
        centers = [one.centers if one.n_clusters else np.array([np.nan]) for one in valleys]
        representatives = self._find_representatives(queries, edges, centers)
        # Set attributes only after the last pass: an error must not leave a mixture of two models.
        self._warn_of_constants(valleys)
        self.valleys_, self.representatives_ = valleys, representatives
        self.alpha_ = np.array([one.alpha for one in valleys])
        self.bin_edges_, self.centers_ = object_array(edges), object_array(centers)
        self.n_bins_ = np.array([len(one) - 1 for one in edges])
        return self

    def _find_valleys(self, queries: ColumnQueries) -> list[Valleys]:
        """Find the bins of every feature, as valleys."""
        n_features, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        factors, kernel = alpha_factors(self.alpha, n_features, names), get_kernel(self.kernel, self.order)
        bandwidths = per_feature_values(self.bandwidth, n_features, "bandwidth", check_bandwidth)
        n_bins = per_feature_values(self.n_bins, n_features, "n_bins", check_n_bins)
        pruning = Pruning(self.min_size, self.significance)
        n_threads = count_threads(self.n_jobs, n_features * DENSITY_VALUES)
        found = find_valleys(queries, factors, bandwidths, kernel, partial(column_names, self), n_threads)
        result = []
        for j, (valleys, number) in enumerate(zip(found, n_bins, strict=True)):
            if self.strategy == "uniform":
                result.append(valleys.with_uniform_bins(UNIFORM_BINS if number == "auto" else int(number)))
            elif number == "auto" or valleys.density is None:
                result.append(pruning.apply(valleys))
            else:
                pruned = pruning.apply(valleys)
                result.append(self._with_n_bins(queries.select([j]), pruned, int(number), bandwidths[j], j))
        return result

    def _with_n_bins(self, queries: ColumnQueries, found: Valleys, n_bins: int, bandwidth: Any, j: int) -> Valleys:
        kernel, pruning = get_kernel(self.kernel, self.order), Pruning(self.min_size, self.significance)
        try:
            return with_n_clusters(queries, found, n_bins, bandwidth, kernel, pruning, column_names(self, [j]))
        except ValueError as error:
            raise ValueError(f"{error} strategy='uniform' makes any number of bins.") from error

    def _find_representatives(
        self, queries: ColumnQueries, edges: list[Float64Array], centers: list[Float64Array]
    ) -> list[Float64Array]:
        """Return the values that `inverse_transform` returns for the bins of each feature."""
        result = list(centers)
        if self.inverse_strategy == "center":
            return result
        varied = [j for j, here in enumerate(edges) if np.isfinite(here).all()]
        for j in varied:
            result[j] = 0.5 * edges[j][:-1] + 0.5 * edges[j][1:]
        if self.inverse_strategy == "median":
            medians = queries.medians([here[1:-1] for here in edges])
            for j in varied:  # a bin without values keeps its midpoint
                result[j] = np.where(np.isnan(medians[j]), result[j], medians[j])
        return result

    def _one_hot(self, labels: Any, dtype: Any) -> Any:
        widths = self.n_bins_ + (self.missing == "bin")
        starts = np.cumsum(widths) - widths
        n_rows, n_features = labels.shape
        result = sparse.csr_matrix(
            (
                np.ones(labels.size, dtype=dtype),
                (labels + starts).ravel(),
                np.arange(0, labels.size + 1, n_features),
            ),
            shape=(n_rows, int(widths.sum())),
        )
        return result if self.encode == "onehot" else result.toarray()

    def _labels(self, X: Any) -> Any:
        """Decode the output of `transform` to numbers of bins."""
        widths = self.n_bins_ + (self.missing == "bin")
        expected = self.n_features_in_ if self.encode == "ordinal" else int(widths.sum())
        encoded: Any = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        encoded = encoded.toarray() if hasattr(encoded, "toarray") else encoded
        if encoded.shape[1] != expected:
            raise ValueError(
                f"Incorrect number of features. Expecting {expected}, received {encoded.shape[1]}, which is not what "
                "transform returns."
            )
        if self.encode == "ordinal":
            labels = np.rint(encoded).astype(np.int64)
            wrong = np.argwhere((labels < 0) | (labels >= widths))
            if len(wrong):
                row, j = wrong[0]
                problem = f"{column_names(self, [j])} must hold bins from 0 to {widths[j] - 1}, got {encoded[row, j]}"
                raise TableError(problem, column=self._column_name(int(j)), row=int(row))
            return labels
        blocks = np.split(encoded, np.cumsum(widths)[:-1], axis=1)
        for j, block in enumerate(blocks):
            empty = np.flatnonzero(~(block > 0).any(axis=1))
            if len(empty):
                problem = f"{column_names(self, [j])} must have a bin, got 0 in all its columns"
                raise TableError(problem, column=self._column_name(j), row=int(empty[0]))
        return np.column_stack([block.argmax(axis=1) for block in blocks])

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        table = as_table(self, X, reset=reset)
        check_finite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        self._check_missing(np.flatnonzero(np.isnan(table).any(axis=0)))
        return table

    def _check_summary(self, found: TableSummary) -> None:
        found.check_rows()
        check_finite(self, np.flatnonzero(found.infinite))
        self._check_missing(np.flatnonzero([sketch.missing for sketch in found.sketches]))

    def _check_missing(self, columns: Any) -> None:
        """Raise for the columns that hold NaN, unless NaN has a bin."""
        if len(columns) and self.missing == "error":
            raise TableError(
                f"Input X contains NaN, in {column_names(self, columns)}",
                column=self._column_name(int(columns[0])),
                advice="missing='bin' gives NaN a bin of its own",
            )

    def _column_name(self, j: int) -> str:
        """Return the name of a feature, or its position where it has none."""
        names = getattr(self, "feature_names_in_", None)
        return str(j if names is None else names[j])

    def _warn_of_constants(self, found: list[Valleys]) -> None:
        """Warn of each constant feature, in the words of KBinsDiscretizer."""
        for j, valleys in enumerate(found):
            name = column_names(self, [j]).removeprefix("column ")
            if not valleys.n_clusters:
                warnings.warn(f"Feature {name} has no values.", stacklevel=4)
            elif valleys.density is None:
                warnings.warn(f"Feature {name} is constant and will be replaced with 0.", stacklevel=4)

    def _check_parameters(self) -> None:
        for name, allowed in ALLOWED_VALUES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}.")
        get_kernel(self.kernel, self.order)
        check_jobs(self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "representatives_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "bin"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
