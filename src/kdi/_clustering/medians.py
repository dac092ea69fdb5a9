"""Medians of values in bins, with weights, in memory and in parts.

In parts, a sketch tells in which of its cells the median lies, and the next reading looks into that cell alone: after
two or three readings few enough values are left to be kept as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import MappedPartitions, PartitionedTable, sketch_one_pass
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray


def median(values: Float64Array, mass: Float64Array) -> float:
    """The weighted median: the middle of the values, each as often as its weight says."""
    order = np.argsort(values)
    reached = np.cumsum(mass[order])
    half = 0.5 * reached[-1]
    low = values[order][np.searchsorted(reached, half)]
    high = values[order][min(np.searchsorted(reached, half, side="right"), len(values) - 1)]
    return float(0.5 * low + 0.5 * high)


@dataclass(frozen=True)
class MedianSearch:
    """The first value of column j with so much weight below or at it, among those in [low, high)."""

    j: int
    low: float
    high: float
    side: str  # "left": at least half of the weight; "right": more than half
    below: float = 0.0  # weight left of `low`
    half: float | None = None  # half the weight of the bin, once known
    found: float | None = None

    def narrowed(self, sketch: Sketch) -> MedianSearch:
        """What a sketch of the values in [low, high) tells."""
        if not sketch.count:
            return replace(self, found=float("nan"))
        mass = sketch.moments[:, 0]
        half = 0.5 * sketch.weight if self.half is None else self.half
        reached = self.below + np.cumsum(mass)
        side: Any = self.side
        place = min(int(np.searchsorted(reached, half, side=side)), len(sketch) - 1)
        if sketch.exponent is None:
            return replace(self, half=half, found=float(sketch.places[place]))
        low, high = np.ldexp(np.array([0.0, 1.0]) + float(sketch.places[place]), sketch.exponent).tolist()
        low, high = max(low, self.low), min(high, self.high)  # a cell may lie across a cut
        return replace(self, half=half, low=low, high=high, below=float(reached[place] - mass[place]))


def partitioned_medians(parts: PartitionedTable, cuts: list[Float64Array]) -> list[Float64Array]:
    """For each column, the medians of its values between cuts; NaN where there are none."""
    bins = [(j, *pair) for j, here in enumerate(cuts) for pair in pairwise([-np.inf, *here.tolist(), np.inf])]
    searches = [MedianSearch(j, low, high, side) for j, low, high in bins for side in ("left", "right")]
    while open_ones := [k for k, search in enumerate(searches) if search.found is None]:
        windows = [(searches[k].j, searches[k].low, searches[k].high) for k in open_ones]
        inside = MappedPartitions(parts, partial(_inside, windows=windows), len(windows))
        gathered = sketch_one_pass(inside, get_kernel("polyexp"), np.ones(len(windows)))
        for k, sketch in zip(open_ones, gathered.sketches, strict=True):
            searches[k] = searches[k].narrowed(sketch)
    found = np.array([search.found for search in searches], dtype=float).reshape(-1, 2).mean(axis=1)
    return np.split(found, np.cumsum([len(here) + 1 for here in cuts])[:-1])


def _inside(columns: list[FloatArray], windows: list[tuple[int, float, float]]) -> list[FloatArray]:
    """One column a window: the values of a column that lie in it, NaN elsewhere."""
    doubles = {j: np.asarray(columns[j], dtype=float) for j, _, _ in windows}  # cuts have more digits than float32
    return [np.where((doubles[j] >= low) & (doubles[j] < high), doubles[j], np.nan) for j, low, high in windows]
