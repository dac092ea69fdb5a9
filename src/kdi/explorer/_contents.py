"""Contents: all data of a page, as values that JSON can represent."""

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
from kdi._utils.errors import WeightsError
from kdi._utils.names import format_names
from kdi._utils.typing import Float64Array
from kdi._version import __version__
from kdi.explorer._columns import NumericColumns, open_numeric_columns, source_title
from kdi.explorer._correlations import MATRIX_ALPHAS, matrices_at_alphas
from kdi.explorer._features import KERNEL, MAX_ALPHA, MIN_ALPHA, SKETCH_ALPHA, describe_feature, max_values_for
from kdi.explorer._ranks import rank_error
from kdi.explorer._scatter import BINS, scatter_counts, scatter_edges, scatter_pairs

MAX_CORRELATED = 200  # columns; the matrices of more would be most of the page, and too small to read
DIGITS = 7  # of correlations
SHADES = 16  # of a density scatter
MAX_RANK_ERROR = 5e-3  # beyond, ranks are computed from sketches of their own
HOLDS_INFINITE = "holds infinite values"
TOO_WIDE = "holds values whose range is too large for a float64"


def page_contents(
    source: Any, *, columns: Iterable[str] | str | None, weights: Any, title: str | None, progress: bool
) -> dict[str, Any]:
    """Return the data that the page embeds, as plain Python values."""
    numeric = open_numeric_columns(source, columns, weights, progress)
    summary = sketch_for_alphas(numeric.table, KERNEL, lambda totals: np.full_like(totals, SKETCH_ALPHA))
    if not summary.n_rows:
        raise ValueError("there are no rows to explore.")
    if not summary.has_weight:
        raise WeightsError.all_zero("weights")
    sketches, left_out = {}, dict(numeric.left_out)
    for name, sketch, n_infinite in zip(numeric.names, summary.sketches, summary.infinite, strict=True):
        if n_infinite:
            left_out[name] = HOLDS_INFINITE
        elif sketch.range == inf:
            left_out[name] = TOO_WIDE
        else:
            sketches[name] = sketch
    if not sketches:
        reasons = " or ".join(dict.fromkeys(left_out[name] for name in numeric.names))
        raise ValueError(f"there is no column to explore: {format_names(numeric.names)} {reasons}.")
    rank_sketches = sketch_for_ranks(numeric, sketches)
    correlations, no_correlations = _correlation_contents(numeric, sketches, rank_sketches, summary.n_rows)
    max_values = max_values_for(len(sketches))
    file = source_title(source)
    return {
        "title": str(title) if title is not None else file or "A table",
        "source": file,
        "rows": summary.n_rows,
        "version": __version__,
        "order": KERNEL.order,
        "scale": KERNEL.scale,
        "alphas": _finite_or_none(slider_alphas()),
        "has_names": numeric.has_names,
        "features": [
            describe_feature(name, sketch, max_values, rank_sketches[name]) for name, sketch in sketches.items()
        ],
        "left_out": [{"name": name, "reason": reason} for name, reason in left_out.items()],
        "correlations": correlations,
        "no_correlations": no_correlations,
    }


def to_json(contents: dict[str, Any]) -> bytes:
    """Serialise to ASCII, so that any characters in names survive, and reject NaN and infinity, which JSON lacks."""
    return json.dumps(contents, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def slider_alphas() -> Float64Array:
    """Return the steps of the slider from 0 to infinity: about 5% apart, and round numbers among them."""
    round_alphas = [MIN_ALPHA, 0.1, 0.3, 1.0, 3.0, MAX_ALPHA]
    between = [
        np.geomspace(low, high, round(20 * np.log(high / low)), endpoint=False) for low, high in pairwise(round_alphas)
    ]
    return np.concatenate([[0.0], [float(f"{alpha:.3g}") for alpha in np.concatenate(between)], [MAX_ALPHA, inf]])


def sketch_for_ranks(numeric: NumericColumns, sketches: dict[str, Sketch]) -> dict[str, Sketch]:
    """Return sketches for alpha = 0: new ones, which keep the values, for columns whose cells hold too many values."""
    rank_sketches = dict(sketches)
    coarse = [name for name, sketch in sketches.items() if sketch.range > 0 and rank_error(sketch) > MAX_RANK_ERROR]
    if coarse and numeric.table.rereadable:
        table = numeric.select(coarse)
        rank_sketches |= zip(coarse, sketch_for_alphas(table, KERNEL, np.zeros_like).sketches, strict=True)
    return rank_sketches


def _correlation_contents(
    numeric: NumericColumns, sketches: dict[str, Sketch], rank_sketches: dict[str, Sketch], n_rows: int
) -> tuple[dict[str, Any] | None, str | None]:
    """Return matrices and scatters, or None, and a sentence that says why they are missing or incomplete."""
    features = [j for j, sketch in enumerate(sketches.values()) if sketch.range > 0]
    if len(features) < 2:
        return None, "Correlations need at least two columns that are not constant."
    if not numeric.table.rereadable:
        return None, "The table was a stream that can be read only once, but correlations need a second read."
    reason = None
    if len(features) > MAX_CORRELATED:
        reason = f"Correlations cover the first {MAX_CORRELATED} of {len(features)} columns."
        features = features[:MAX_CORRELATED]
    names = [list(sketches)[j] for j in features]
    table, chosen = numeric.select(names), [sketches[name] for name in names]
    n_correlated, matrices = matrices_at_alphas(table, chosen, n_rows, [rank_sketches[name] for name in names])
    pairs, edges = scatter_pairs(matrices), scatter_edges(chosen)
    n_sampled, counts = scatter_counts(table, n_rows, edges, pairs)
    upper = np.triu_indices(len(features), 1)
    correlations = {
        "features": features,
        "rows": n_correlated,
        "rank_error": max(rank_error(rank_sketches[name]) for name in names) if n_correlated == n_rows else 0.0,
        "alphas": _finite_or_none(MATRIX_ALPHAS),
        "matrices": [_finite_or_none(np.round(matrix[upper], DIGITS)) for matrix in matrices],
        "scatter": {
            "rows": n_sampled,
            "bins": BINS,
            "edges": [_finite_or_none(column_edges) for column_edges in edges],
            "pairs": [list(pair) for pair in pairs],
            "shades": b64encode(counts_to_shades(counts).tobytes()).decode("ascii"),
            "largest_counts": counts.max(axis=1, initial=0).tolist(),
        },
    }
    return correlations, reason


def counts_to_shades(counts: Float64Array) -> NDArray[np.uint8]:
    """Convert counts, one row per pair, to shades from 0 to 255 by their logarithms; few levels compress well."""
    largest = np.maximum(counts.max(axis=1, keepdims=True, initial=0), 1)
    # The factor below 1 keeps rounding from raising the largest count above SHADES.
    shades = np.ceil(SHADES * np.log1p(counts) / np.log1p(largest) * (1 - 1e-12))
    return np.asarray(np.minimum(shades * (256 / SHADES), 255), dtype=np.uint8)


def _finite_or_none(values: Iterable[float]) -> list[float | None]:
    return [float(value) if isfinite(value) else None for value in values]
