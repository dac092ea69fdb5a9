"""cluster and KDIDiscretizer: whatever the column, groups are consistent with their own labels, sizes and edges."""

from __future__ import annotations

from typing import Any

import numpy as np

import kdi
from fuzz.checks import DATA_ERRORS, documented
from fuzz.decoder import Column, Decoder

ERRORS = [
    *DATA_ERRORS,
    r"must hold at least one value",
    r"\d+ clusters",
    r"bandwidth",
    r"range",
    r"weights",
]


def check(data: bytes) -> None:
    """Cluster a column, or cut it into bins."""
    decoder = Decoder(data)
    column, alpha, kernel = decoder.column(200), decoder.alpha(), decoder.kernel()
    weights = decoder.weights(len(column))
    bandwidth = decoder.choice(["scott", "scott", "silverman", 0.1, 0.5, 1.0, 0.03, 0.01, 1e-3, 10.0, 1e3, 1e300])
    if decoder.one_in(3):
        with documented(*ERRORS, allowed="held only NaN|constant|bins"):
            _check_bins(decoder, column, weights, alpha, bandwidth)
        return
    options = {
        "n_clusters": decoder.choice([None] * 6 + [1, 2, 3]),
        "min_size": decoder.choice([None, None, 0.1, 2, 5]),
        "significance": decoder.choice([None, None, 0.05]),
    }
    with documented(*ERRORS):
        result = kdi.cluster(column, alpha=alpha, bandwidth=bandwidth, weights=weights, **kernel, **options)
        _check(result, column, weights)


def _check(result: Any, column: Column, weights: Column | None) -> None:
    weights = np.ones(len(column)) if weights is None else weights
    known = ~np.isnan(column)
    counted = column[known & (weights > 0)]
    n = result.n_clusters
    assert n >= 1 and len(result.sizes) == n and len(result.boundaries) == len(result.depths) == n - 1, "shapes"
    assert (result.labels[~known] == -1).all() and ((result.labels[known] >= 0) & (result.labels[known] < n)).all()
    ordered = result.labels[known][np.argsort(column[known], kind="stable")]
    assert (np.diff(ordered) >= 0).all(), "labels follow the values"
    sizes = np.bincount(result.labels[known], weights[known], minlength=n)
    assert np.allclose(result.sizes, sizes, rtol=1e-9, atol=0), f"sizes {result.sizes} {sizes}"
    turns = np.empty(2 * n - 1)
    turns[::2], turns[1::2] = result.centers, result.boundaries
    assert (np.diff(turns) >= 0).all(), f"centers and boundaries alternate, {turns}"
    assert counted.min() <= turns[0] and turns[-1] <= counted.max(), "within the range"
    assert ((result.depths > 0) & (result.depths <= 1)).all(), f"depths {result.depths}"
    assert (result.predict(column) == result.labels).all(), "predict"
    shares = result.predict_proba(column)
    assert np.isnan(shares[~known]).all(), "NaN has no shares"
    assert ((shares[known] >= 0) & (shares[known] <= 1)).all(), "shares"
    assert np.allclose(shares[known].sum(axis=1), 1, rtol=1e-9), "shares sum to 1"
    assert (result.density(column[known]) >= 0).all(), "densities"


def _check_bins(decoder: Decoder, column: Column, weights: Column | None, alpha: Any, bandwidth: Any) -> None:
    model = kdi.KDIDiscretizer(
        alpha,
        bandwidth=bandwidth,
        n_bins=decoder.choice(["auto", 2, 3, 7]),
        encode="ordinal",
        missing="bin",
        strategy=decoder.choice(["valley", "uniform"]),
    )
    table = column[:, None]
    result = np.asarray(model.fit_transform(table, sample_weight=weights))[:, 0]
    known = ~np.isnan(column)
    edges = model.bin_edges_[0]
    assert (np.diff(edges) >= 0).all(), "edges increase"
    ordered = result[known][np.argsort(column[known], kind="stable")]
    assert (np.diff(ordered) >= 0).all(), "bins follow the values"
    back = model.inverse_transform(result[:, None])[:, 0]
    low, high = edges[0], edges[-1]
    assert ((back[known] >= low) & (back[known] <= high)).all(), "representatives lie in the range"
    text = model.to_json()
    again = kdi.KDIDiscretizer.from_json(text)
    assert again.to_json() == text, "JSON"
    assert np.array_equal(np.asarray(again.transform(table))[:, 0], result, equal_nan=True), "JSON"
