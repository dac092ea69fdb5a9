"""Medians of the values in bins, with weights, in memory and partitioned.

Over partitions, a sketch shows in which of its cells the median lies, and the next pass looks into that cell alone:
after two or three passes so few values are left that the sketch keeps them exactly.
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


def weighted_median(values: Float64Array, weights: Float64Array) -> float:
    """Return the middle of the values, each repeated as often as its weight says."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    low = values[order][np.searchsorted(reached, half)]
    high = values[order][min(np.searchsorted(reached, half, side="right"), len(values) - 1)]
    return float(0.5 * low + 0.5 * high)


@dataclass(frozen=True)
class MedianSearch:
    """Search for the first value of a column with half of a bin's weight at or below it; it is in [low, high)."""

    column: int
    low: float
    high: float
    side: str  # "left": at least half of the weight; "right": more than half
    weight_below: float = 0.0  # of the bin's values below `low`
    half: float | None = None  # half the weight of the bin; None before the first pass
    result: float | None = None

    def narrowed(self, sketch: Sketch) -> MedianSearch:
        """Return the search after a sketch of the values in [low, high)."""
        if not sketch.count:
            return replace(self, result=float("nan"))
        weights = sketch.moments[:, 0]
        half = 0.5 * sketch.weight if self.half is None else self.half
        reached = self.weight_below + np.cumsum(weights)
        side: Any = self.side
        cell = min(int(np.searchsorted(reached, half, side=side)), len(sketch) - 1)
        if sketch.exponent is None:
            return replace(self, half=half, result=float(sketch.keys[cell]))
        low, high = np.ldexp(np.array([0.0, 1.0]) + float(sketch.keys[cell]), sketch.exponent).tolist()
        low, high = max(low, self.low), min(high, self.high)  # a cell may extend beyond a cut
        return replace(self, half=half, low=low, high=high, weight_below=float(reached[cell] - weights[cell]))


def partitioned_medians(table: PartitionedTable, cuts: list[Float64Array]) -> list[Float64Array]:
    """Return the medians of each column's values between its cuts; NaN where there are no values."""
    bins = [(j, *pair) for j, here in enumerate(cuts) for pair in pairwise([-np.inf, *here.tolist(), np.inf])]
    # The median is the mean of two values where one of them has exactly half of the weight at or below it.
    searches = [MedianSearch(j, low, high, side) for j, low, high in bins for side in ("left", "right")]
    while unfinished := [k for k, search in enumerate(searches) if search.result is None]:
        windows = [(searches[k].column, searches[k].low, searches[k].high) for k in unfinished]
        inside = MappedPartitions(table, partial(_values_in_windows, windows=windows), len(windows))
        summary = sketch_one_pass(inside, get_kernel("polyexp"), np.ones(len(windows)))
        for k, sketch in zip(unfinished, summary.sketches, strict=True):
            searches[k] = searches[k].narrowed(sketch)
    medians = np.array([search.result for search in searches], dtype=float).reshape(-1, 2).mean(axis=1)
    return np.split(medians, np.cumsum([len(here) + 1 for here in cuts])[:-1])


def _values_in_windows(columns: list[FloatArray], windows: list[tuple[int, float, float]]) -> list[FloatArray]:
    """Return one column per window: the values of its column that lie in it, NaN elsewhere."""
    doubles = {j: np.asarray(columns[j], dtype=float) for j, _, _ in windows}  # cuts have more digits than float32
    return [np.where((doubles[j] >= low) & (doubles[j] < high), doubles[j], np.nan) for j, low, high in windows]
