"""Maps: everything of a fitted transformer that follows from its sketches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdi._typing import Floats
from kdi.cells import cell_width_for
from kdi.kernels import Kernel
from kdi.lookup import AnyTable, tabulate
from kdi.sketch import Sketch


@dataclass(frozen=True, eq=False)
class Maps:
    """The bandwidth factor, the bandwidth and the table of each feature."""

    alpha: Floats
    bandwidth: Floats
    tables: list[AnyTable]

    @classmethod
    def of(cls, sketches: list[Sketch], alphas: Floats, kernel: Kernel, max_knots: int | None) -> Maps:
        with np.errstate(invalid="ignore"):  # inf times the spread of a constant
            bandwidths = alphas * np.array([sketch.std for sketch in sketches])
        tables = [
            tabulate(sketch, kernel, bandwidth, max_knots)
            for sketch, bandwidth in zip(sketches, bandwidths.tolist(), strict=True)
        ]
        return cls(alphas, bandwidths, tables)


def resolved(sketches: list[Sketch], alphas: Floats, kernel: Kernel) -> list[Sketch]:
    """Sketches no finer than the bandwidths call for."""
    return [
        sketch.resolving(cell_width_for(kernel, alpha * sketch.std, sketch.range)) if sketch.count else sketch
        for sketch, alpha in zip(sketches, alphas.tolist(), strict=True)
    ]


def tables_by_alpha(
    sketches: list[Sketch], alphas: Floats, kernel: Kernel, max_knots: int | None
) -> list[list[AnyTable]]:
    """The tables of all features at each of some ascending alphas, from sketches that are fine enough for the first."""
    found = []
    for alpha in alphas.tolist():
        each = np.full(len(sketches), alpha)
        sketches = resolved(sketches, each, kernel)  # from those of the alpha before, which are fewer cells
        found.append(Maps.of(sketches, each, kernel, max_knots).tables)
    return found
