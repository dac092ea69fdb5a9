"""KDITransformer against the direct sum: values, order, ends, the way back; fit, chunks and sketches; all options."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

import kdi
from fuzz.checks import DATA_ERRORS, ROUNDING, DirectSum, documented
from fuzz.decoder import LARGEST, Column, Decoder, beside

LARGEST_SCORE = 6.0  # as far as bounds of normal scores hold


def check(data: bytes) -> None:
    """Fit a column, perhaps beside others, and compare its map with the direct sum."""
    decoder = Decoder(data)
    column, kernel, alpha = decoder.column(), decoder.kernel(), decoder.alpha()
    weights = decoder.weights(len(column))
    max_knots = decoder.choice([None, None, 2, 3, 10, 100])
    out_of_range: Any = decoder.choice(["clip", "linear", "nan"])
    n_columns = decoder.choice([1, 1, 2, 3])
    way = decoder.choice(["fit", "partial_fit", "sketches"])
    dtype = decoder.choice([np.float64, np.float64, np.float32])
    model = kdi.KDITransformer(alpha, **kernel, max_knots=max_knots, out_of_range=out_of_range)
    with documented(*DATA_ERRORS):
        table = _beside(decoder, column, n_columns)
        with np.errstate(all="ignore"):
            table = table.astype(dtype)
        column = table[:, 0].astype(float)
        _fit(decoder, model, table, weights, way)
        check_model(decoder, model, column, weights, alpha, **kernel)
    if not decoder:
        return
    options = _options(decoder)
    model = kdi.KDITransformer(alpha, **kernel, **options, max_knots=max_knots, out_of_range=out_of_range)
    with documented(*DATA_ERRORS, *([] if options["bounded"] else [r"alpha must be finite if bounded=False"])):
        _fit(decoder, model, table, weights, way)
        check_options(decoder, model, column, weights, alpha, **kernel)


def _options(decoder: Decoder) -> dict[str, Any]:
    """Return options of which one at least is not the default."""
    output = decoder.choice(["normal", "uniform"])
    ends = decoder.choice([(0, 1), (-1, 1), (0, 1e-3), (-1e9, 1e6)]) if output == "uniform" else (0, 1)
    chosen = {"bounded": decoder.choice([False, False, True]), "spread": decoder.choice(["std", "robust"])}
    return {"output_distribution": output, "feature_range": ends, **chosen}


def _beside(decoder: Decoder, column: Column, n_columns: int) -> Column:
    """Put other columns of the same length on the right of a column."""
    others = [np.resize(decoder.column(200), len(column)) for _ in range(n_columns - 1)]
    table = np.column_stack([column, *others])
    return np.asarray(np.asfortranarray(table) if decoder.one_in(2) else table)


def _fit(decoder: Decoder, model: Any, table: Column, weights: Column | None, way: str) -> None:
    if way == "fit":
        model.fit(table, sample_weight=weights)
        return
    cuts = sorted({decoder.integer(0, 2**12 - 1) % len(table) for _ in range(decoder.integer(0, 3))} - {0})
    chunks = np.split(table, cuts)
    parts = [None] * len(chunks) if weights is None else np.split(weights, cuts)
    if way == "partial_fit":
        for chunk, part in zip(chunks, parts, strict=True):
            model.partial_fit(chunk, sample_weight=part)
        return
    width = abs(decoder.number()) if decoder.one_in(3) else None
    width = width if width is not None and 0 < width < np.inf else None
    columns = []
    for j in range(table.shape[1]):
        sketches = [
            kdi.Sketch.from_values(chunk[:, j], part, cell_width=width)
            for chunk, part in zip(chunks, parts, strict=True)
        ]
        columns.append(sum(sketches[1:], sketches[0]))
    model.fit_sketches(columns)


def check_model(
    decoder: Decoder, model: Any, column: Column, weights: Column | None, alpha: Any, kernel: str, order: int
) -> None:
    """Check the first column of a fitted model."""
    exact = DirectSum.of(column, weights, alpha, kernel, order)
    at = decoder.points(exact.points)
    n_columns = model.n_features_in_

    def transform(points: Column) -> Column:
        return np.asarray(model.transform(np.repeat(points[:, None], n_columns, axis=1))[:, 0])

    bound = float(model.error_bound_[0])
    assert 0 <= bound <= 1, f"bound is {bound}"
    if not len(exact.points):
        assert np.isnan(transform(at)).all(), "a column without values must be NaN"
        return
    low, high = exact.points[0], exact.points[-1]
    assert (model.data_min_[0], model.data_max_[0]) == (low, high), "extremes"
    inside = at[(at >= low) & (at <= high)]
    result = transform(inside)
    assert ((result >= 0) & (result <= 1)).all(), "within [0, 1]"
    assert (np.diff(result) >= 0).all(), "never decreases"
    if low == high:
        assert (result == 0).all(), "a constant must be 0"
        return
    assert (result[0], result[-1]) == (0, 1), "0 and 1 at the ends"
    if exact.factor in (0, np.inf) or exact.relative_spread > 1e-12:
        expected, allowance = exact.integral(inside)
        error = abs(result - expected).max()
        assert error <= bound + allowance, f"error {error:.3g} beyond bound {bound:.3g} + {allowance:.3g}"
    _check_beyond(transform, at, low, high, model.out_of_range)
    _check_inverse(model, transform, low, high, bound)


def _check_beyond(transform: Any, at: Column, low: float, high: float, out_of_range: str) -> None:
    near = beside(np.array([low, high]))
    beyond = np.unique(np.r_[near, -LARGEST, -1e300, 1e300])
    beyond = beyond[(beyond < low) | (beyond > high)]
    if not len(beyond):
        return
    result = transform(beyond)
    if out_of_range == "nan":
        assert np.isnan(result).all(), "NaN beyond the ends"
    elif out_of_range == "clip":
        assert (result == (beyond > high)).all(), "0 and 1 beyond the ends"
    else:
        assert np.isfinite(result).all(), "lines beyond the ends are finite"
        assert (result[beyond < low] <= 0).all() and (result[beyond > high] >= 1).all(), "lines lead outwards"
        assert (np.diff(result) >= 0).all(), "lines never decrease"


def _check_inverse(model: Any, transform: Any, low: float, high: float, bound: float) -> None:
    levels = np.unique(np.r_[np.linspace(0, 1, 33), 1e-9, 1e-300, 1 - 1e-9, np.nextafter(1, 0), 0.1])
    table = np.repeat(levels[:, None], model.n_features_in_, axis=1)
    back = np.asarray(model.inverse_transform(table)[:, 0])
    assert (back[0], back[-1]) == (low, high), "0 and 1 lead back to the ends"
    assert ((back >= low) & (back <= high)).all(), "the way back stays within the range"
    with np.errstate(over="ignore"):
        assert (np.diff(back) >= -1e-12 * (high - low)).all(), "the way back never decreases"
    below, above = (np.clip(np.nextafter(back, end), low, high) for end in (-LARGEST, LARGEST))
    met = (transform(below) <= levels + 1e-9) & (transform(above) >= levels - 1e-9)
    assert met.all(), f"T of the way back is not the level, {levels[~met][:3]}"


def check_options(
    decoder: Decoder, model: Any, column: Column, weights: Column | None, alpha: Any, kernel: str, order: int
) -> None:
    """Check the first column of a model with bounded=False, another spread or another range."""
    exact = DirectSum.of(column, weights, alpha, kernel, order)
    if not len(exact.points):
        return
    floor, ceiling = model.feature_range
    is_score = model.output_distribution == "normal"
    if is_score:
        floor, ceiling = -np.inf, np.inf
    low, high = exact.points[0], exact.points[-1]
    at = np.unique(np.r_[decoder.points(exact.points), -LARGEST, LARGEST, beside(np.array([low, high]))])

    def apply(method: Any, numbers: Column) -> Column:
        return np.asarray(method(np.repeat(numbers[:, None], model.n_features_in_, axis=1))[:, 0])

    result = apply(model.transform, at)
    inside = (at >= low) & (at <= high) if model.out_of_range == "nan" and model.bounded else np.full(len(at), True)
    assert np.isfinite(result[inside]).all(), "finite"
    assert (np.diff(result[inside]) >= (-1e-14 if is_score and model.bounded else 0)).all(), "never decreases"
    bound = float(model.error_bound_[0])
    assert bound >= 0, f"bound is {bound}"
    if model.bounded:
        found = result[(at >= low) & (at <= high)]
        if not is_score:
            assert ((found >= floor) & (found <= ceiling)).all(), "within the range"
            assert low == high or (found[0], found[-1]) == (floor, ceiling), "the ends"
        return
    assert ((result > floor) & (result < ceiling)).all(), "strictly within the limits"
    back = apply(model.inverse_transform, result)
    assert np.isfinite(back).all(), "a finite way back"
    below, above = (np.clip(np.nextafter(back, end), -LARGEST, LARGEST) for end in (-LARGEST, LARGEST))
    slack = 1e-9 * (np.maximum(abs(result), 1) if is_score else ceiling - floor)
    with np.errstate(over="ignore"):
        met = (apply(model.transform, below) <= result + slack) & (apply(model.transform, above) >= result - slack)
    assert met.all(), f"the way back from {result[~met][:3]} leads to {back[~met][:3]}"
    bandwidth = float(model.bandwidth_[0])
    if not 1e-300 < bandwidth < 1e300 or not exact.relative_spread > 1e-12 or not bound < np.inf:
        return
    with np.errstate(over="ignore"):
        near = (at > low - np.float64(100 * bandwidth)) & (at < high + np.float64(100 * bandwidth))
        exact.factor = bandwidth / exact.length / exact.relative_spread  # a robust spread may be smaller
    if not near.any() or not 0 < exact.factor < np.inf:
        return
    positions = 2.0**-52 * abs(at[near]).max() / bandwidth
    lower, upper = exact.cdf(at[near]), exact.sf(at[near])
    if is_score:
        score = ndtri(np.minimum(lower, upper))
        expected = np.where(lower < upper, score, -score)
        error = np.where(abs(expected) <= LARGEST_SCORE, abs(result[near] - expected), 0)
        allowance = 1e-9 + 10 * positions
    else:
        stretch = ceiling - floor
        expected = np.where(lower < upper, floor + stretch * lower, ceiling - stretch * upper)
        error = abs(result[near] - expected)
        allowance = (ROUNDING + positions) * stretch + 1e-15 * max(abs(floor), abs(ceiling))
    assert error.max() <= bound + allowance, f"error {error.max():.3g} beyond bound {bound:.3g} + {allowance:.3g}"
