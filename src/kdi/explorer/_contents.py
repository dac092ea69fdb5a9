"""Contents: everything that the page knows of a table, as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdi._sketch.partitions import sketch_for_alphas
from kdi._sketch.sketch import Sketch
from kdi._utils.names import format_names
from kdi._utils.typing import Float64Array
from kdi._version import __version__
from kdi.explorer._correlations import SHOWN_ALPHAS, correlations
from kdi.explorer._features import GATHERED, KERNEL, LARGEST, SMALLEST, described, room_for_values
from kdi.explorer._ranks import rank_error
from kdi.explorer._readings import NumericColumns, open_numeric_columns, source_title
from kdi.explorer._scatter import BINS, bin_edges, scatter_counts, scatter_pairs

MOST_CORRELATED = 200  # columns; of more, matrices would be most of the page, and nobody could read them
DIGITS = 7  # of correlations
SHADES = 16  # of a density scatter
COARSE = 5e-3  # of the error of ranks: from there on, other sketches are gathered for them
INFINITE = "holds infinite values"
TOO_WIDE = "holds values that lie further apart than the largest number"


def contents(
    source: Any, *, columns: Iterable[str] | str | None, weights: Any, title: str | None, progress: bool
) -> dict[str, Any]:
    """What the page embeds, as plain values that JSON has."""
    readings = open_numeric_columns(source, columns, weights, progress)
    gathered = sketch_for_alphas(readings.parts, KERNEL, lambda totals: np.full_like(totals, GATHERED))
    if not gathered.n_rows:
        raise ValueError("there are no rows to explore.")
    if not gathered.has_weight:
        raise ValueError("weights are zero in every row, which leaves no row to explore.")
    shown, left_out = {}, dict(readings.left_out)
    for name, sketch, infinite in zip(readings.names, gathered.sketches, gathered.infinite, strict=True):
        if infinite:
            left_out[name] = INFINITE
        elif sketch.range == inf:
            left_out[name] = TOO_WIDE
        else:
            shown[name] = sketch
    if not shown:
        reasons = " or ".join(dict.fromkeys(left_out[name] for name in readings.names))
        raise ValueError(f"there is no column to explore: {format_names(readings.names)} {reasons}.")
    ranked = rank_sketches(readings, shown)
    found, reason = _correlations(readings, shown, ranked, gathered.n_rows)
    file = source_title(source)
    return {
        "title": str(title) if title is not None else file or "A table",
        "source": file,
        "rows": gathered.n_rows,
        "version": __version__,
        "order": KERNEL.order,
        "scale": KERNEL.scale,
        "alphas": _plain(slider_alphas()),
        "named": readings.named,
        "features": [described(name, shown[name], room_for_values(len(shown)), ranked[name]) for name in shown],
        "left_out": [{"name": name, "reason": why} for name, why in left_out.items()],
        "correlations": found,
        "no_correlations": reason,
    }


def as_json(payload: dict[str, Any]) -> bytes:
    """In ASCII, so that names of any characters go through, and without numbers that JSON does not have."""
    return json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def slider_alphas() -> Float64Array:
    """The steps of the slider, from ranks to min-max, some 5% apart, with those among them that people ask for."""
    round_ones = [SMALLEST, 0.1, 0.3, 1.0, 3.0, LARGEST]
    between = [
        np.geomspace(low, high, round(20 * np.log(high / low)), endpoint=False) for low, high in pairwise(round_ones)
    ]
    return np.concatenate([[0.0], [float(f"{alpha:.3g}") for alpha in np.concatenate(between)], [LARGEST, inf]])


def rank_sketches(readings: NumericColumns, shown: dict[str, Sketch]) -> dict[str, Sketch]:
    """Sketches for ranks: where cells hold too many values each, others are gathered that keep the values."""
    ranked = dict(shown)
    coarse = [name for name, sketch in shown.items() if sketch.range > 0 and rank_error(sketch) > COARSE]
    if coarse and readings.parts.rereadable:
        parts = readings.only(coarse)
        ranked |= zip(coarse, sketch_for_alphas(parts, KERNEL, np.zeros_like).sketches, strict=True)
    return ranked


def _correlations(
    readings: NumericColumns, shown: dict[str, Sketch], ranked: dict[str, Sketch], n_rows: int
) -> tuple[dict[str, Any] | None, str | None]:
    """Matrices and scatter, or why there are none; or why there are not all."""
    features = [place for place, sketch in enumerate(shown.values()) if sketch.range > 0]
    if len(features) < 2:
        return None, "It takes two columns with different values to have a correlation."
    if not readings.parts.rereadable:
        return None, "The table was a stream that can be read only once, and correlations take a second reading."
    reason = None
    if len(features) > MOST_CORRELATED:
        reason = f"Correlations are those of the first {MOST_CORRELATED} of {len(features)} columns."
        features = features[:MOST_CORRELATED]
    names = [list(shown)[j] for j in features]
    parts, sketches = readings.only(names), [shown[name] for name in names]
    correlated, matrices = correlations(parts, sketches, n_rows, [ranked[name] for name in names])
    pairs, edges = scatter_pairs(matrices), bin_edges(sketches)
    sampled, counts = scatter_counts(parts, n_rows, edges, pairs)
    most = counts.max(axis=1, initial=0)
    upper = np.triu_indices(len(features), 1)
    found = {
        "features": features,
        "rows": correlated,
        "rank_error": max(rank_error(ranked[name]) for name in names) if correlated == n_rows else 0.0,
        "alphas": _plain(SHOWN_ALPHAS),
        "matrices": [_plain(np.round(matrix[upper], DIGITS)) for matrix in matrices],
        "scatter": {
            "rows": sampled,
            "bins": BINS,
            "edges": [_plain(one) for one in edges],
            "pairs": [list(pair) for pair in pairs],
            "counts": b64encode(shades_of(counts).tobytes()).decode("ascii"),
            "most": most.tolist(),
        },
    }
    return found, reason


def shades_of(counts: Float64Array) -> NDArray[np.uint8]:
    """Counts as shades from 0 to 255, even in their logarithms, a row a pair; few different ones take little room."""
    most = np.maximum(counts.max(axis=1, keepdims=True, initial=0), 1)
    shades = np.ceil(SHADES * np.log1p(counts) / np.log1p(most) * (1 - 1e-12))  # the most is no more than SHADES
    return np.asarray(np.minimum(shades * (256 / SHADES), 255), dtype=np.uint8)


def _plain(values: Iterable[float]) -> list[float | None]:
    return [float(value) if isfinite(value) else None for value in values]
