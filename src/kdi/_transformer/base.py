"""BaseKDITransformer: what a transformer does once it has learnt a map for each feature, however it came to it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from kdi._integral.feature_maps import FeatureMaps, coarsen_sketches
from kdi._integral.maps import OUT_OF_RANGE, ColumnMap, forward, inverse
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.sketch import Sketch
from kdi._tables.sources import is_source
from kdi._tables.streams import table_function, transform_source, write_stream
from kdi._transformer.saving import transformer_to_json
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, KernelName, OutOfRange
from kdi._utils.validation import as_table, as_weights, check_count, check_finite, check_jobs, column_names

# As in QuantileTransformer: normal scores beyond these of 1e-7 and 1 - 1e-7 are clipped.
CLIPPED_SCORE = float(ndtri(1e-7 - np.spacing(1)))
NORMAL_PART = 2**17  # values turned into normal scores at once


class BaseKDITransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sketches of the features, the maps that follow from them, and what can be done with these.

    A transformer adds its parameters, the ways to learn, and what alpha each feature has.
    """

    kernel: KernelName
    order: int
    output_distribution: str
    out_of_range: OutOfRange
    n_quantiles: int | None
    n_jobs: int | None
    copy: bool

    def transform(self, X: Any) -> Any:
        """Map each feature to [0, 1], or to normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream as in `KDITransformer.fit`

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 for float32 input and float64 otherwise
            Of a pyarrow Table, a Table; of a polars LazyFrame, a LazyFrame; of other streams, a RecordBatchReader that
            transforms one batch after the other as it is read.
        """
        if is_source(X):
            return transform_source(self, X)
        return self._map(X, forward, after=to_normal)

    def inverse_transform(self, X: Any) -> Any:
        """Map values of the transformation back to the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream as in `transform`
        """
        if is_source(X):
            return transform_source(self, X, table_function(self, "inverse_transform"))
        return self._map(X, inverse, before=_from_normal)

    def transform_stream(self, source: Any, sink: Any, *, progress: bool = False) -> int:
        """Transform a table that need not fit in memory into a Parquet or CSV file.

        Features are found by name, wherever they stand; other columns pass through unchanged. The file is written aside
        and put in its place when it is whole, so that an error leaves nothing behind and what was there untouched.

        Parameters
        ----------
        source : path, glob or list of them, or a stream as in `KDITransformer.fit`
        sink : path of the file, CSV where it ends in .csv or .csv.gz, Parquet otherwise
            Columns of a CSV file that pass through into one stay the text that they are.
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

    @property
    def references_(self) -> Float64Array:
        check_is_fitted(self)
        n = min(1000, self.n_samples_seen_) if self.n_quantiles is None else self.n_quantiles
        return np.linspace(0, 1, max(n, 2))

    @property
    def quantiles_(self) -> Float64Array:
        levels = self.references_
        table = np.repeat(levels[:, None], self.n_features_in_, axis=1)
        out = np.empty_like(table)
        inverse(self.maps_, table, out, "clip")
        return out

    def _reset(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_maps", "_chosen")]:
            delattr(self, name)

    def _coarsen(self, sketches: list[Sketch], kernel: Kernel) -> list[Sketch]:
        """Sketches no finer than the bandwidths call for, as a fit in memory has them."""
        self._check_ranges(sketches)
        return coarsen_sketches(sketches, self._resolve_alpha(np.array([sketch.weight for sketch in sketches])), kernel)

    def _read(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[FloatArray, Float64Array | None]:
        table = as_table(self, X, reset=reset)
        return table, as_weights(sample_weight, len(table))

    def _read_whole(self, X: Any, sample_weight: Any) -> tuple[FloatArray, Float64Array | None]:
        """The table that the whole fit is from."""
        self._reset()
        table, weights = self._read(X, sample_weight, reset=True)
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is zero in every row, which leaves no row to fit.")
        return table, weights

    def _set_sketches(self, sketches: list[Sketch], n_rows: int, kernel: Kernel) -> None:
        """Keep what was gathered; what follows from it is made when it is first asked for."""
        self._check_ranges(sketches)
        weights = np.array([sketch.weight for sketch in sketches])
        if not np.isfinite(weights).all():
            raise ValueError("sample_weight must have a finite sum, which overflows with the weights of this part.")
        alphas = self._resolve_alpha(weights)
        self.sketches_, self.n_samples_seen_ = sketches, n_rows
        self._maps: FeatureMaps | partial[FeatureMaps] = partial(
            FeatureMaps.from_sketches, sketches, alphas, kernel, self.n_quantiles
        )

    def _check_ranges(self, sketches: list[Sketch]) -> None:
        wide = [j for j, sketch in enumerate(sketches) if sketch.range == np.inf]
        if wide:
            raise ValueError(
                f"the range of {column_names(self, wide)} is too large for float64; divide the values first."
            )

    def _build_maps(self) -> Self:
        self._get_maps(stacklevel=4)
        return self

    def _get_maps(self, stacklevel: int = 5) -> FeatureMaps:
        """Everything that follows from the sketches, and a word on columns that have no values."""
        check_is_fitted(self)
        if not isinstance(self._maps, FeatureMaps):
            empty = [j for j, sketch in enumerate(self.sketches_) if not sketch.count]
            if empty:
                text = f"{column_names(self, empty)} held only NaN (or weights of zero) and will be NaN."
                warnings.warn(text, stacklevel=stacklevel)
            self._maps = self._maps()
        return self._maps

    @property
    def alpha_(self) -> Float64Array:
        return self._get_maps().alpha

    @property
    def bandwidth_(self) -> Float64Array:
        return self._get_maps().bandwidth

    @property
    def maps_(self) -> list[ColumnMap]:
        return self._get_maps().maps

    @property
    def error_bound_(self) -> Float64Array:
        return np.array([table.error for table in self.maps_])

    @property
    def n_knots_(self) -> NDArray[np.int64]:
        return np.array([table.n_knots for table in self.maps_])

    @property
    def data_min_(self) -> Float64Array:
        check_is_fitted(self)
        return np.array([sketch.minimum for sketch in self.sketches_])

    @property
    def data_max_(self) -> Float64Array:
        check_is_fitted(self)
        return np.array([sketch.maximum for sketch in self.sketches_])

    def _map(self, X: Any, function: Any, before: Any = None, after: Any = None) -> FloatArray:
        """The table through `function`, which is forward or inverse; `before` and `after` deal with normal scores."""
        check_is_fitted(self)
        self._check_parameters()
        table = as_table(self, X, reset=False)
        in_place = not self.copy and table is X and table.flags.writeable
        if in_place:  # or else a late error would leave the user's table half overwritten
            check_finite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        out = table if in_place else np.empty_like(table)
        n_threads = count_threads(self.n_jobs, table.size)
        if self.output_distribution == "uniform":
            check_finite(self, _met(function(self.maps_, table, out, self.out_of_range, n_threads)))
            return out
        # In parts, as float64: scores near the ends need more digits than float32 has.
        height = max(1, NORMAL_PART // table.shape[1])
        for start in range(0, len(table), height):
            part = table[start : start + height].astype(float)
            if before:
                before(part)
            check_finite(self, _met(function(self.maps_, part, part, self.out_of_range, n_threads)))
            if after:
                after(part)
            out[start : start + height] = part
        return out

    @abstractmethod
    def _resolve_alpha(self, weights: Float64Array) -> Float64Array:
        """The alpha of every feature, `weights` being the sum of weights of each."""

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


def to_normal(levels: Float64Array) -> None:
    """Normal scores in place; what lies beyond 0 and 1 goes on from the clipped ends in a straight line."""
    inner = np.clip(levels, 0, 1)
    levels -= inner
    ndtri(inner, out=inner)
    levels += np.clip(inner, CLIPPED_SCORE, -CLIPPED_SCORE, out=inner)


def _from_normal(scores: Float64Array) -> None:
    """The inverse of `to_normal`, in place: clipped scores are the ends, rounded to float32 too."""
    inner = np.clip(scores, CLIPPED_SCORE, -CLIPPED_SCORE)
    scores -= inner
    at_end = abs(inner) >= -CLIPPED_SCORE * (1 - 1e-7)
    scores += np.where(at_end, inner > 0, ndtr(inner))
