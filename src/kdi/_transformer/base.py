"""BaseKDITransformer: everything that a transformer can do once it has sketches of its features.

Modules for streams, partitions and JSON are imported when they are used: most programs only have arrays.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from kdi._integral.build import DeferredFeatures, FeatureMaps
from kdi._integral.maps import (
    EMPTY,
    LINEAR,
    OUT_OF_RANGE,
    ColumnMap,
    MapOptions,
    PackedMaps,
    Target,
    forward,
    forward_stored,
    inverse,
    inverse_stored,
)
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._numerics.numpy_lookup import CLIPPED_SCORE
from kdi._sketch.packed import PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._tables.sources import is_source
from kdi._transformer.arrays import map_table
from kdi._transformer.sparse import map_sparse
from kdi._utils.errors import NoSketchesError, TableError
from kdi._utils.sparse import as_sparse_table
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, KernelName, OutOfRange
from kdi._utils.validation import (
    SPREADS,
    as_numbers,
    as_table,
    as_weights,
    check_count,
    check_finite,
    check_jobs,
    check_some_weight,
    check_spread,
    column_names,
    n_dimensions,
    to_float,
)

InPlace = Callable[[Float64Array], None]

LEARNT = ("_maps", "_sketches", "_fitted_to")  # besides the attributes whose names end in _
CALLERS = ("kdi", "sklearn", "joblib")  # packages between the user's line and a warning
NORMAL_BLOCK = 2**17  # values turned into normal scores at once


class BaseKDITransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sketches of the features, the maps that follow from them, and the methods that need only these.

    A subclass adds its parameters and its ways to learn. Each of these ends in `_set_sketches`, which leaves the maps
    to be built when they are first used: a series of calls of `partial_fit` builds them once. `fit` builds them at
    once, so that its warnings appear there.
    """

    kernel: KernelName
    order: int
    output_distribution: str
    bounded: bool
    spread: str
    feature_range: tuple[float, float]
    out_of_range: OutOfRange
    max_knots: int | None
    n_jobs: int | None
    copy: bool
    _spreads: tuple[str, ...] = SPREADS
    _sketches: Any  # a sequence of Sketch, or sketches of kdi.torch, which `to_host` turns into one
    _maps: FeatureMaps | DeferredFeatures
    _fitted_to: str = "numpy"  # the library of the arrays that were fitted, if scikit-learn dispatched on them

    def transform(self, X: Any) -> Any:
        """Map each feature to [0, 1] or `feature_range`, or to normal scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a stream as in `KDITransformer.fit`
            In a sparse matrix, zeros that are not stored must stay zeros; an error names the columns where they do not.

        Returns
        -------
        ndarray of shape (n_samples, n_features), float32 for float32 input and float64 otherwise
            For a sparse matrix, a matrix of the same format, CSR or CSC; for a pyarrow Table, a Table; for a polars
            LazyFrame, a LazyFrame; for other streams, a RecordBatchReader that transforms batch by batch as it is read.
            With scikit-learn's ``array_api_dispatch=True``, an array of the library and on the device of X.
        """
        if self._is_for_numpy(X):
            return self._apply_maps(X, back=False)
        if is_source(X):
            from kdi._tables.streams import transform_source

            return transform_source(self, X)
        return map_table(self, X, back=False)

    def inverse_transform(self, X: Any) -> Any:
        """Map transformed values back to the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a stream as in `transform`
        """
        if self._is_for_numpy(X):
            return self._apply_maps(X, back=True)
        if is_source(X):
            from kdi._tables.streams import table_function, transform_source

            return transform_source(self, X, table_function(self, "inverse_transform"))
        return map_table(self, X, back=True)

    def transform_stream(self, source: Any, sink: Any, *, progress: bool = False) -> int:
        """Transform a table that need not fit in memory into a Parquet or CSV file.

        Features are found by name, in any order; other columns pass through unchanged. The file is written under a
        temporary name and renamed when it is complete: after an error there is no new file, and an old one is intact.

        Parameters
        ----------
        source : path, glob or list of them, or a stream as in `KDITransformer.fit`
        sink : path of the file, CSV if it ends in .csv or .csv.gz, Parquet otherwise
            Other columns of a CSV file are copied into a CSV file as text, character by character.
        progress : bool, default=False
            Whether to show a progress bar on stderr.

        Returns
        -------
        int
            The number of rows.
        """
        from kdi._tables.streams import write_stream

        return write_stream(self, source, sink, progress)

    def to_json(self) -> str:
        """Return the fitted transformer as JSON text, exact to the last bit; `from_json` reads it."""
        from kdi._transformer.saving import transformer_to_json

        return transformer_to_json(self)

    @property
    def references_(self) -> Float64Array:
        check_is_fitted(self)
        n = max(min(1000 if self.max_knots is None else self.max_knots, self.n_samples_seen_), 2)
        return np.linspace(0, 1, n) if self.bounded else (np.arange(n) + 0.5) / n

    @property
    def quantiles_(self) -> Float64Array:
        options, references = self._get_maps().options, self.references_
        if options.target == "score":
            references = ndtri(references)
        else:
            references = options.floor + (options.ceiling - options.floor) * references
        levels = np.repeat(references[:, None], self.n_features_in_, axis=1)
        quantiles = np.empty_like(levels)
        inverse(self._get_maps().maps, levels, quantiles, "clip")
        return quantiles

    @property
    def sketches_(self) -> list[Sketch]:
        sketches = self._get_sketches("sketches_")
        return sketches.as_list if isinstance(sketches, PackedSketches) else list(sketches)

    @property
    def alpha_(self) -> Float64Array:
        return self._get_maps().alpha

    @property
    def bandwidth_(self) -> Float64Array:
        return self._get_maps().bandwidth

    @property
    def maps_(self) -> list[ColumnMap]:
        return list(self._get_maps().maps)

    @property
    def packed_maps_(self) -> PackedMaps:
        return self._get_maps().maps

    @property
    def error_bound_(self) -> Float64Array:
        return self._get_maps().maps.error.copy()

    @property
    def n_knots_(self) -> NDArray[np.int64]:
        maps = self._get_maps().maps
        return np.where(maps.kind <= LINEAR, maps.n_knots, 2)

    @property
    def data_min_(self) -> Float64Array:
        return self._extremes("data_min_")

    @property
    def data_max_(self) -> Float64Array:
        return self._extremes("data_max_")

    def _extremes(self, name: str) -> Float64Array:
        """Return the smallest or the largest value of each feature."""
        attribute = "minimum" if name == "data_min_" else "maximum"
        try:
            return np.array([getattr(sketch, attribute) for sketch in self._get_sketches(name)])
        except NoSketchesError:
            if not self.bounded:  # maps go on beyond the values
                raise
            maps = self._get_maps().maps
            return np.where(maps.kind == EMPTY, np.nan, maps.low if attribute == "minimum" else maps.high)

    def _reset(self) -> None:
        """Forget what an earlier fit has learnt."""
        for name in [name for name in vars(self) if name.endswith("_") or name in LEARNT]:
            delattr(self, name)

    def _read(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[FloatArray, Float64Array | None]:
        """Return a table in memory and its weights as arrays; with `reset`, learn the names of its features."""
        table = as_table(self, X, reset=reset)
        return table, as_weights(sample_weight, len(table))

    def _read_anew(self, X: Any, sample_weight: Any) -> tuple[FloatArray, Float64Array | None]:
        """Forget an earlier fit and read the table of a new one."""
        self._reset()
        table, weights = self._read(X, sample_weight, reset=True)
        check_some_weight(weights, "sample_weight")
        return table, weights

    def _set_sketches(
        self, sketches: Sequence[Sketch], n_rows: int, alphas: Float64Array, kernel: Kernel, *, merge: bool = False
    ) -> Self:
        """Keep the sketches, and leave the maps to be built with one of the `alphas` per feature.

        With `merge`, the sketches become no finer than their bandwidths need when the maps are built.
        """
        maps = DeferredFeatures(sketches, alphas, kernel, self._map_options(), self.n_jobs, merge)
        return self._set_fit(sketches, n_rows, maps)

    def _set_fit(self, sketches: Any, n_rows: int, maps: FeatureMaps | DeferredFeatures) -> Self:
        """Keep what was learnt; maps that are built later keep the sketches themselves.

        Sketches with a method `to_host` are taken to the host when they are first asked for. Maps without sketches have
        an empty list.
        """
        self._sketches, self.n_samples_seen_ = [] if isinstance(maps, DeferredFeatures) else sketches, n_rows
        self._maps = maps
        return self

    def _get_maps(self) -> FeatureMaps:
        """Return the maps; on first use, build them and warn about columns without values."""
        if not hasattr(self, "_maps"):
            check_is_fitted(self)  # raises
        maps = self._maps
        if not isinstance(maps, DeferredFeatures):
            return maps
        if maps.built is None:
            self._warn_of_empty_columns(maps.sketches)
        return maps.build()[0]

    def _get_sketches(self, wanted_by: str) -> Sequence[Sketch]:
        """Return the sketches, no finer than they are kept once the maps are built; raise where there are none."""
        check_is_fitted(self)
        sketches, maps = getattr(self, "_sketches", []), self._maps  # in this order: partial_fit may run in a thread
        if not isinstance(maps, DeferredFeatures):
            if hasattr(sketches, "to_host"):
                self._sketches = sketches = sketches.to_host()
            if not len(sketches):
                raise NoSketchesError(wanted_by)
            return sketches
        if maps.merge:
            self._get_maps()
        return maps.sketches

    def _replace_maps(self, maps: Sequence[ColumnMap]) -> Self:
        """Take other maps than those that follow from the sketches."""
        self._maps = replace(self._get_maps(), maps=PackedMaps.pack(maps))
        return self

    def _warn_of_empty_columns(self, sketches: Sequence[Sketch]) -> None:
        counts = sketches.counts if isinstance(sketches, PackedSketches) else [sketch.count for sketch in sketches]
        self._warn_of_columns([j for j, count in enumerate(counts) if not count])

    def _warn_of_columns(self, empty: list[int]) -> None:
        if empty:
            text = f"{column_names(self, empty)} held only NaN (or weights of zero) and will be transformed to NaN."
            warnings.warn(text, stacklevel=_user_stacklevel())

    def _build_maps(self) -> Self:
        """Build the maps now, at the end of a fit."""
        self._get_maps()
        return self

    def _check_ranges(self, ranges: Float64Array) -> None:
        """Raise if the range of a column overflows."""
        wide = np.flatnonzero(ranges == np.inf).tolist()
        if wide:
            names = getattr(self, "feature_names_in_", None)
            raise TableError(
                f"the range of {column_names(self, wide)} is too large for float64",
                column=str(wide[0] if names is None else names[wide[0]]),
                advice="divide the values first",
            )

    def _is_for_numpy(self, X: Any) -> bool:
        """Tell whether X needs no look at what it is; looking takes longer than mapping a row."""
        return type(X) is np.ndarray and self._fitted_to == "numpy"

    def _usable_maps(self) -> FeatureMaps:
        """Return the maps; raise unless the parameters are valid and those of the fit."""
        features = self._get_maps()
        self._check_parameters()
        self._check_as_fitted(features.options)
        return features

    def _apply_maps(self, X: Any, *, back: bool) -> Any:
        """Map a table to levels or scores, or `back` to values."""
        self._usable_maps()
        to_scores = self._turns_into_scores
        function = inverse if back else partial(forward, to_scores=to_scores)
        before = _from_normal if back and to_scores else None
        # Levels may have lost the names that their features had, as in scikit-learn.
        reader = self._without_names() if back and not hasattr(X, "columns") else self
        if issparse(X):
            stored = inverse_stored if back else partial(forward_stored, to_scores=to_scores)
            return map_sparse(self, as_sparse_table(reader, X, reset=False), X, function, stored, before)
        table = as_table(reader, X, reset=False)
        in_place = not self.copy and table is X and table.flags.writeable
        if in_place:  # else an error halfway would leave the user's table half overwritten
            check_finite(self, np.flatnonzero(np.isinf(table).any(axis=0)))
        out = table if in_place else np.empty_like(table)
        self._map_values(table, out, function, before)
        return out

    def _without_names(self) -> Self:
        """Return the transformer, fitted to features without names."""
        if not hasattr(self, "feature_names_in_"):
            return self
        nameless = copy(self)
        del nameless.feature_names_in_
        return nameless

    def _map_values(
        self,
        table: FloatArray,
        out: FloatArray,
        function: Callable[..., int],
        before: InPlace | None = None,
    ) -> None:
        """Map an array to `out`, which may be the same memory; `before` converts normal scores.

        Raise where the array holds infinite values.
        """
        maps = self._get_maps().maps
        n_threads = count_threads(self.n_jobs, table.size)

        def apply(values: FloatArray, result: FloatArray) -> None:
            infinite = function(maps, values, result, self.out_of_range, n_threads)  # a column, or -1
            check_finite(self, [infinite] if infinite >= 0 else [])

        if before is None:
            apply(table, out)
            return
        # In blocks, as float64: scores near the ends need more digits than float32 has.
        height = max(1, NORMAL_BLOCK // table.shape[1])
        for start in range(0, len(table), height):
            block = table[start : start + height].astype(float)
            before(block)
            apply(block, block)
            out[start : start + height] = block

    def _check_parameters(self) -> Kernel:
        if self.output_distribution not in ("uniform", "normal"):
            raise ValueError(f"output_distribution must be 'uniform' or 'normal', got {self.output_distribution!r}.")
        if not isinstance(self.bounded, bool | np.bool_):
            raise ValueError(f"bounded must be True or False, got {self.bounded!r}.")
        check_spread(self.spread, self._spreads)
        check_feature_range(self.feature_range, self.output_distribution)
        if not isinstance(self.out_of_range, str) or self.out_of_range not in OUT_OF_RANGE:
            raise ValueError(f"out_of_range must be one of {list(OUT_OF_RANGE)}, got {self.out_of_range!r}.")
        if not isinstance(self.copy, bool | np.bool_):
            raise ValueError(f"copy must be True or False, got {self.copy!r}.")
        check_count("max_knots", self.max_knots, least=2)
        check_jobs(self.n_jobs)
        return get_kernel(self.kernel, self.order)

    @property
    def _turns_into_scores(self) -> bool:
        """Tell whether levels are turned into normal scores after the maps."""
        return self.bounded and self.output_distribution == "normal"

    @property
    def _holds_scores(self) -> bool:
        """Tell whether the maps themselves give normal scores."""
        return not self.bounded and self.output_distribution == "normal"

    @property
    def _chosen_spread(self) -> str:
        return self.spread

    def _map_options(self) -> MapOptions:
        floor, ceiling = self.feature_range
        target: Target = "bounded" if self.bounded else "score" if self._holds_scores else "cdf"
        return MapOptions(
            max_knots=self.max_knots,
            target=target,
            robust=self._chosen_spread == "robust",
            floor=float(floor),
            ceiling=float(ceiling),
        )

    def _check_as_fitted(self, fitted: MapOptions) -> None:
        """Raise where a parameter that the maps follow from is not what it was in `fit`."""
        wanted = self._map_options()
        names = {
            "target": "bounded and output_distribution",
            "floor": "feature_range",
            "ceiling": "feature_range",
        }
        for name, parameters in names.items():
            before, now = getattr(fitted, name), getattr(wanted, name)
            if before != now:
                raise ValueError(
                    f"{parameters} must be as in fit, where {name} was {before!r}, got {name} {now!r}; call fit again."
                )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        maps = state.get("_maps")
        if isinstance(maps, DeferredFeatures) and maps.built is not None:
            state["_maps"], state["_sketches"] = maps.built
        if hasattr(state.get("_sketches"), "to_host"):
            state["_sketches"] = state["_sketches"].to_host()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, which may be older than some of the parameters."""
        super().__setstate__(state)
        for name, parameter in inspect.signature(type(self)).parameters.items():
            if not hasattr(self, name):
                setattr(self, name, parameter.default)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_maps")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_feature_range(feature_range: Any, output_distribution: str) -> None:
    """Raise unless a range is two ascending numbers, or is not the default where it has no meaning."""
    given = as_numbers(feature_range, "feature_range")
    with np.errstate(over="ignore", invalid="ignore"):
        if given.shape != (2,) or not np.isfinite(given).all() or not 0 < given[1] - given[0] < np.inf:
            raise ValueError(f"feature_range must be two finite numbers, the smaller first, got {feature_range!r}.")
    if output_distribution == "normal" and tuple(given.tolist()) != (0.0, 1.0):
        raise ValueError(
            f"feature_range must be (0, 1) if output_distribution='normal', got {feature_range!r}; "
            "normal scores are not stretched."
        )


def check_open_alphas(bounded: bool, alphas: Any, name: str) -> None:
    """Raise where an alpha of open maps is infinite."""
    given = list(alphas.values()) if isinstance(alphas, Mapping) else alphas if n_dimensions(alphas) else [alphas]
    if not bounded and any(isinstance(alpha, Real) and to_float(alpha) == np.inf for alpha in given):
        raise ValueError(
            f"{name} must be finite if bounded=False, got inf: an infinitely wide kernel has half of its weight on "
            "either side of every value. Use bounded=True for min-max scaling."
        )


def _user_stacklevel() -> int:
    """Return the stacklevel at which a warning of the calling function points at the user's line.

    The number of calls between depends on the estimator, the kind of table and scikit-learn's wrappers.
    """
    level, frame = 0, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in CALLERS:
        level, frame = level + 1, frame.f_back
    return level


def _from_normal(scores: Float64Array) -> None:
    """Turn normal scores into levels in place: clipped scores are the ends, also where they were rounded to float32."""
    inner = np.clip(scores, CLIPPED_SCORE, -CLIPPED_SCORE)
    scores -= inner
    at_end = abs(inner) >= -CLIPPED_SCORE * (1 - 1e-7)
    scores += np.where(at_end, inner > 0, ndtr(inner))
