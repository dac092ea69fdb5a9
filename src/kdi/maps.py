"""Maps: everything of a fitted transformer that follows from its sketches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdi._typing import Floats
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
