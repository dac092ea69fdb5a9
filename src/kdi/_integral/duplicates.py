"""One map for all columns with the same values: tables may have very many one-hot columns and columns of counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kdi._sketch.cells import FEW_VALUES
from kdi._sketch.packed import DISTINCT, PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from kdi._integral.build import FeatureMaps

    Built = tuple[FeatureMaps, Sequence[Sketch]]


def build_distinct(
    sketches: Sequence[Sketch], alphas: Float64Array, build: Callable[[Sequence[Sketch], Float64Array], Built]
) -> Built:
    """Build the maps of sketches, and of equal ones only once; they share the arrays of their maps."""
    packed = PackedSketches.pack(sketches)
    first, which = find_distinct(packed, alphas)
    distinct = packed if len(first) == len(packed) else packed.take(first)
    features, built = build(distinct, alphas[first])
    if distinct is not packed:
        maps, bandwidths = features.maps.take(which), features.bandwidth[which]
        features = replace(features, alpha=alphas, bandwidth=bandwidths, maps=maps)
    if built is distinct:  # the sketches stay as they are
        return features, sketches
    if distinct is not packed:
        built = replace(PackedSketches.pack(built).take(which), missing=packed.missing)
    return features, built


def find_distinct(sketches: PackedSketches, alphas: Float64Array) -> tuple[Int64Array, Int64Array]:
    """Return the first column of each kind, and each column's kind; columns of many values have their own."""
    may_repeat = (sketches.keys == DISTINCT) & (sketches.sizes <= FEW_VALUES)
    ends = np.cumsum(np.where(sketches.keys == DISTINCT, sketches.sizes, 0))
    kinds: dict[object, int] = {}
    first: list[int] = []
    which: list[int] = []
    columns = zip(may_repeat.tolist(), ends.tolist(), sketches.sizes.tolist(), sketches.counts, alphas, strict=True)
    for j, (compare, end, size, count, alpha) in enumerate(columns):
        part = slice(end - size, end)
        key = (count, alpha, sketches.values[part].tobytes(), sketches.masses[part].tobytes()) if compare else j
        kind = kinds.setdefault(key, len(first))
        if kind == len(first):
            first.append(j)
        which.append(kind)
    return np.array(first), np.array(which)
