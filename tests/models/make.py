"""Make the stored models of this format version, which later versions must read; run once per format version.

    python tests/models/make.py

Beside each model, as JSON and as pickle, lies an .npz with values and what the model makes of them. Version 1 has no
pickles: it was never released, and its pickles name modules that no longer exist.
"""

import pickle
import warnings
from pathlib import Path

import numpy as np

from kdi import KDIDiscretizer, KDITransformer

HERE = Path(__file__).parent
VERSION = 3


def make_table():
    """Six columns: in cells, of ties with NaN, few knots, a constant, nothing, and far from 0."""
    rng = np.random.default_rng(20231119)
    n = 150
    ties = rng.poisson(2, size=n).astype(float)
    ties[::7] = np.nan
    two = np.where(rng.uniform(size=n) < 0.3, -5, 0) + rng.normal(size=n)
    columns = [two, ties, rng.lognormal(size=n), np.full(n, 2.5), np.full(n, np.nan), 1e9 + rng.uniform(size=n)]
    return np.column_stack(columns).round(2)


def make_values(table):
    """Rows within the range of every column, at its ends, and beyond."""
    low, high = np.nan_to_num(np.nanmin(table[:, :4], axis=0)), np.nan_to_num(np.nanmax(table[:, :4], axis=0))
    ends = np.array([[*low, 0.0, 1e9], [*high, 1.0, 1e9 + 1]])
    share = np.linspace(-0.25, 1.25, 61)[:, None]
    return np.vstack([ends[0] + share * (ends[1] - ends[0]), ends, np.full(6, np.nan)])


def store(name, model, arrays):
    path = HERE / f"{name}-{VERSION}"
    path.with_suffix(".json").write_text(model.to_json())
    path.with_suffix(".pickle").write_bytes(pickle.dumps(model, protocol=4))
    np.savez_compressed(path.with_suffix(".npz"), **arrays)


def main():
    warnings.simplefilter("ignore")  # constant columns, and those without values
    table = make_table()
    values = make_values(table)
    # Those of version 2 are bounded: alphas 3, 0, "scott", inf, 1, 0.5, the Gaussian kernel, out_of_range="linear".
    alphas = [3.0, 0.0, "scott", 5.0, 1.0, 0.5]
    transformer = KDITransformer(alphas, bounded=False, spread="robust", feature_range=(-1, 1), max_knots=12)
    transformer.fit(table)
    transformed = transformer.transform(values)
    store(
        "transformer",
        transformer,
        {
            "values": values,
            "transformed": transformed,
            "back": transformer.inverse_transform(transformed),
            "error_bound": transformer.error_bound_,
            "n_samples_seen": np.array(transformer.n_samples_seen_),
            "sketches": np.frombuffer(b"".join(one.to_bytes() for one in transformer.sketches_), dtype=np.uint8),
        },
    )
    discretizer = KDIDiscretizer(
        [3.0, 0.0, np.inf, 1.0, 1.0],
        bandwidth=["scott", 0.2, 50.0, "silverman", "scott"],
        missing="bin",
        encode="ordinal",
        inverse_strategy="median",
    )
    discretizer.fit(table[:, :5])
    transformed = discretizer.transform(values[:, :5])
    store(
        "discretizer",
        discretizer,
        {
            "values": values[:, :5],
            "transformed": transformed,
            "back": discretizer.inverse_transform(transformed),
            "shares": discretizer.predict_proba(values[:, :5]),
            "edges": np.concatenate(discretizer.bin_edges_),
        },
    )


if __name__ == "__main__":
    main()
