"""FeatureMaps: the fitted attributes of a transformer that are derived from its sketches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdi._integral.maps import ColumnMap, build_map
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import cell_width_for
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """The bandwidth factor, the bandwidth and the lookup map of each feature."""

    alpha: Float64Array
    bandwidth: Float64Array
    maps: list[ColumnMap]

    @classmethod
    def from_sketches(
        cls, sketches: list[Sketch], alphas: Float64Array, kernel: Kernel, max_knots: int | None
    ) -> FeatureMaps:
        with np.errstate(invalid="ignore"):  # inf times the zero spread of a constant
            bandwidths = alphas * np.array([sketch.std for sketch in sketches])
        maps = [
            build_map(sketch, kernel, bandwidth, max_knots)
            for sketch, bandwidth in zip(sketches, bandwidths.tolist(), strict=True)
        ]
        return cls(alphas, bandwidths, maps)


def coarsen_sketches(sketches: list[Sketch], alphas: Float64Array, kernel: Kernel) -> list[Sketch]:
    """Coarsen sketches as far as their bandwidths allow."""
    return [
        sketch.coarsened_to_width(cell_width_for(kernel, alpha * sketch.std, sketch.range)) if sketch.count else sketch
        for sketch, alpha in zip(sketches, alphas.tolist(), strict=True)
    ]


def maps_by_alpha(
    sketches: list[Sketch], alphas: Float64Array, kernel: Kernel, max_knots: int | None
) -> list[list[ColumnMap]]:
    """Build the maps of all features at each of some ascending alphas.

    The sketches must be fine enough for the first alpha.
    """
    maps = []
    for alpha in alphas.tolist():
        same = np.full(len(sketches), alpha)
        sketches = coarsen_sketches(sketches, same, kernel)  # those of the previous alpha have fewer cells
        maps.append(FeatureMaps.from_sketches(sketches, same, kernel, max_knots).maps)
    return maps
