"""Fits and maps in one call of the compiled core, or step by step in NumPy where that is missing.

`fit_table` makes the sketches and the maps of a table in memory; `build_maps` makes the maps of sketches that came from
elsewhere: from partitions, engines or an earlier fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kdi._integral.bandwidth import resolve_factors
from kdi._integral.duplicates import build_distinct
from kdi._integral.maps import DEFAULT_OPTIONS, ColumnMap, MapOptions, PackedMaps
from kdi._numerics.backend import IS_COMPILED, core
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import cell_width_for, width_exponent
from kdi._sketch.columns import ColumnStats, scan_columns, sketch_array, with_robust_spread
from kdi._sketch.packed import PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray

MAP_WORK = 2**13  # building a map takes as long as reading so many values
CELL_WORK = 16  # and each of its cells as long as reading so many


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """The bandwidth factor, the bandwidth and the map of each feature, and the options of the maps."""

    alpha: Float64Array
    bandwidth: Float64Array
    maps: PackedMaps
    options: MapOptions = DEFAULT_OPTIONS


def fit_table(
    table: FloatArray,
    weights: Float64Array | None,
    factors: Float64Array,
    kernel: Kernel,
    n_threads: int = 1,
    *,
    check: Callable[[ColumnStats], None],
    options: MapOptions = DEFAULT_OPTIONS,
) -> tuple[Sequence[Sketch], FeatureMaps]:
    """Sketch the columns of a table in memory, and build their maps.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,), optional
    factors : ndarray of shape (n_columns,)
        Bandwidth factors or rules, as `bandwidth.alpha_factors` returns them.
    kernel : Kernel
    n_threads : int
    check : callable
        Called with the statistics of the columns; raises where they cannot be sketched.
    options : MapOptions
    """
    if not IS_COMPILED:
        resolve = partial(resolve_factors, factors)
        stats = scan_columns(table, weights, n_threads)
        check(stats)
        whole, widest = with_robust_spread(stats, table, weights) if options.robust else (stats, None)
        sketches = sketch_array(table, weights, kernel, resolve, n_threads, stats=stats, whole=whole, widest=widest)
        alphas = resolve(np.array([sketch.weight for sketch in sketches]))
        return sketches, build_features(sketches, alphas, kernel, options)[0]
    found, alphas, arrays, maps = core.fit(table, weights, factors, options.with_kernel(kernel), n_threads)
    minimum, maximum, counts, sums, missing, infinite = found
    stats = ColumnStats(minimum, maximum, counts, sums, np.full(len(factors), np.nan), missing, infinite)
    check(stats)
    packed_sketches = PackedSketches(stats.minimum, stats.maximum, stats.counts, stats.missing, *arrays)
    *packed, bandwidths = maps
    features = FeatureMaps(alphas, bandwidths, PackedMaps(*packed), options)
    return packed_sketches, features


def build_features(
    sketches: Sequence[Sketch],
    alphas: Float64Array,
    kernel: Kernel,
    options: MapOptions = DEFAULT_OPTIONS,
    n_threads: int = 1,
    *,
    merge: bool = False,
    are_bandwidths: bool = False,
) -> tuple[FeatureMaps, Sequence[Sketch]]:
    """Build the maps of sketches; with `merge`, return the sketches too, no finer than their bandwidths need.

    `alphas` may be the bandwidths themselves.
    """
    if not IS_COMPILED:
        from kdi._integral.numpy_maps import numpy_map  # not imported where the core is compiled

        built = [
            numpy_map(sketch, kernel, alpha, are_bandwidths, options)
            for sketch, alpha in zip(sketches, alphas.tolist(), strict=True)
        ]
        bandwidths = np.array([bandwidth for _, bandwidth in built])
        if merge:
            robust = options.robust and not are_bandwidths
            sketches = coarsen_sketches(sketches, bandwidths, kernel, robust=robust)
        maps = PackedMaps.pack([column_map for column_map, _ in built])
        return FeatureMaps(alphas, bandwidths, maps, options), sketches
    packed = PackedSketches.pack(sketches)
    arrays_of_maps, arrays = core.build_maps(
        packed.arrays,
        packed.minimum,
        packed.maximum,
        packed.counts,
        alphas,
        are_bandwidths,
        options.with_kernel(kernel),
        merge,
        n_threads,
    )
    *fields, bandwidths = arrays_of_maps
    if merge:
        sketches = PackedSketches(packed.minimum, packed.maximum, packed.counts, packed.missing, *arrays)
    return FeatureMaps(alphas, bandwidths, PackedMaps(*fields), options), sketches


@dataclass(eq=False)
class DeferredFeatures:
    """Maps that are built when they are first asked for: the arguments of `build_features`.

    What was built is kept here, not in the model: another thread may have given the model more data meanwhile.
    """

    sketches: Sequence[Sketch]
    alphas: Float64Array
    kernel: Kernel
    options: MapOptions
    n_jobs: int | None
    merge: bool
    built: tuple[FeatureMaps, Sequence[Sketch]] | None = field(default=None, init=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; in older ones, `max_knots` was the only option."""
        self.__dict__.update({"options": MapOptions(state.get("max_knots"))} | state)

    def build(self) -> tuple[FeatureMaps, Sequence[Sketch]]:
        """Return the maps and the sketches."""
        if self.built is None:
            self.built = self._build()
            self.sketches = self.built[1]
        return self.built

    def _build(self) -> tuple[FeatureMaps, Sequence[Sketch]]:
        build = partial(
            build_features,
            kernel=self.kernel,
            options=self.options,
            n_threads=count_threads(self.n_jobs, _work(self.sketches)),
            merge=self.merge,
        )
        return build_distinct(self.sketches, self.alphas, build)


def _work(sketches: Sequence[Sketch]) -> int:
    """Return how many values can be read in the time that building the maps takes."""
    n_cells = int(sketches.sizes.sum()) if isinstance(sketches, PackedSketches) else 0
    return MAP_WORK * len(sketches) + CELL_WORK * n_cells


def build_map(
    sketch: Sketch,
    kernel: Kernel,
    bandwidth: float,
    options: MapOptions = DEFAULT_OPTIONS,
) -> ColumnMap:
    """Build the map of one column at a bandwidth h >= 0, which may be infinite."""
    features, _ = build_features([sketch], np.array([bandwidth]), kernel, options, are_bandwidths=True)
    return features.maps[0]


def coarsen_sketches(
    sketches: Sequence[Sketch], bandwidths: Float64Array, kernel: Kernel, *, robust: bool = False
) -> list[Sketch]:
    """Coarsen sketches as far as their bandwidths allow, and with `robust` their quartiles."""
    coarsened = []
    for sketch, bandwidth in zip(sketches, bandwidths.tolist(), strict=True):
        width = cell_width_for(kernel, bandwidth, sketch.range) if sketch.count else 0.0
        if robust and width:
            width = min(width, sketch.robust_spread.cell_width)
            exponent = width_exponent(width, sketch.minimum, sketch.maximum)
            if exponent is None or 2.0**exponent > width:  # its range has too many such cells
                width = 0.0
        coarsened.append(sketch.coarsened_to_width(width) if width else sketch)
    return coarsened


def maps_by_alpha(
    sketches: Sequence[Sketch], alphas: Float64Array, kernel: Kernel, options: MapOptions, n_threads: int = 1
) -> list[PackedMaps]:
    """Build the maps of all features at each of some ascending alphas.

    The sketches must be fine enough for the first alpha.
    """
    maps = []
    for alpha in alphas.tolist():  # each begins with the sketches of the alpha before, which have fewer cells
        features, sketches = build_features(
            sketches, np.full(len(sketches), alpha), kernel, options, n_threads=n_threads, merge=True
        )
        maps.append(features.maps)
    return maps
