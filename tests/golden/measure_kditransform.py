"""How far kdi.compat.kditransform is from kditransform 1.2.0: the figures of docs/moving-from-kditransform.md.

`PYTHONPATH=tests/helpers python tests/golden/measure_kditransform.py`, about a minute, with kditransform installed.
"""

import contextlib
import io
import warnings

import numpy as np
from samples import SAMPLES, probes, sample

import kdi
from kdi.compat import kditransform as new

SIZES = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
ALPHAS = [0.05, 0.1, 0.3, 1.0, 3.0, "scott"]
HEAVY = {"lognormal-2", "cauchy", "pareto-1.1", "outlier"}


def transformers(old, kernel, sizes, seeds):
    """Print differences at and between training values, and the error of the original's landmarks."""
    for alpha in ALPHAS:
        found = []
        for name in SAMPLES:
            for n in sizes:
                for seed in range(seeds):
                    values = sample(name, n, seed)[:, None]
                    points = np.vstack([probes(values[:, 0])[:, None], values])
                    theirs = old.KDITransformer(alpha, kernel).fit(values.copy())
                    ours = new.KDITransformer(alpha, kernel).fit(values)
                    difference = abs(theirs.transform(points.copy()) - ours.transform(points)).max()
                    exact = kdi.KDITransformer(alpha, kernel=kernel).fit(values).transform(theirs.quantiles_)[:, 0]
                    found.append((difference, abs(exact - theirs.references_).max(), name))
        light = max(difference for difference, _, name in found if name not in HEAVY)
        over = [(difference, error) for difference, error, _ in found if difference > 2e-3]
        print(
            f"{kernel}, alpha {alpha}: {len(found)} samples, largest difference {max(found)[0]:.1e} ({light:.1e} "
            f"without heavy tails), over 2e-3 {len(over)}, of these original off {sum(e > 0.5 * d for d, e in over)}"
        )


def mixture(rng, kind, n):
    """Draw samples with and without clusters."""
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "lognormal":
        return rng.lognormal(size=n)
    if kind == "cauchy":
        return rng.standard_cauchy(size=n)
    centers = {"two": [0.0, 5.0], "three": [0.0, 4.0, 12.0], "five": [0.0, 2.0, 5.0, 9.0, 20.0]}[kind]
    return rng.choice(centers, n) + rng.normal(size=n) * rng.choice([0.4, 1.0], n)


def discretizers(old, seeds):
    """Compare numbers of bins, boundaries in the integral, and probabilities of bins."""
    rng = np.random.default_rng(0)
    n_samples, other_bins, apart, same, moved = 0, 0, [], [], []
    for kind in ("normal", "lognormal", "cauchy", "two", "three", "five"):
        for n in (30, 100, 300, 1000):
            for alpha in [0.1, 1.0, 10.0] * seeds:
                column = mixture(rng, kind, n)[:, None]
                theirs = old.KDIDiscretizer(alpha, enable_predict_proba=True)
                for name in ("get_centroids", "get_boundaries", "get_intervals"):  # it would fail to print them
                    setattr(theirs.kdd_, name, lambda *_: None)
                theirs.fit(column.copy())
                ours = new.KDIDiscretizer(alpha, enable_predict_proba=True).fit(column)
                n_samples += 1
                if theirs.kdd_.n_bins_[0] != ours.kdd_.n_bins_[0]:
                    other_bins += 1
                    continue
                apart.extend(abs(theirs.kdd_.boundaries_[0] - ours.kdd_.boundaries_[0]).tolist())
                bins = ours.transform(column)[:, 0]
                if np.bincount(bins).min() > 2:  # the original draws random numbers otherwise
                    grid = np.linspace(column.min(), column.max(), 101)[:, None]
                    difference = abs(theirs.predict_proba(grid.copy()) - ours.predict_proba(grid)).max()
                    (same if (theirs.transform(column.copy())[:, 0] == bins).all() else moved).append(difference)
    apart = np.array(apart)
    return (
        f"KDIDiscretizer: {n_samples} samples, other numbers of bins in {other_bins}; {len(apart)} boundaries, "
        f"{np.mean(apart < 5.1e-4):.1%} within 5e-4, largest difference {apart.max():.1e}; predict_proba: {len(same)} "
        f"samples with the same bins, largest difference {max(same):.1e}, {len(moved)} with others, {max(moved):.1e}"
    )


def given_bins(old, seeds):
    """Count how often the search for a number of bins ends at the same alpha and beta."""
    rng = np.random.default_rng(1)
    found, same, more = 0, 0, 0
    for n in (100, 500, 1500):
        for n_bins in [2, 3, 5] * seeds:
            column = (rng.choice([0.0, 3.0, 6.0, 14.0, 20.0], n) + rng.normal(size=n))[:, None]
            try:
                theirs = old.KBinsKDIDiscretizer(n_bins, subsample=None).fit(column.copy())
            except AssertionError:
                with contextlib.suppress(ValueError):
                    new.KBinsKDIDiscretizer(n_bins).fit(column)
                    more += 1
                continue
            ours = new.KBinsKDIDiscretizer(n_bins).fit(column)
            found += 1
            same += np.allclose([*theirs.kdit_.alpha, *theirs.kdd_.beta], [*ours.kdit_.alpha, *ours.kdd_.beta])
    return f"KBinsKDIDiscretizer: {found} found, {same} at the same alpha and beta; {more} where the original fails"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    import kditransform

    transformers(kditransform, "polyexp", SIZES, seeds=3)
    transformers(kditransform, "gaussian", SIZES[:-1], seeds=1)
    with contextlib.redirect_stdout(io.StringIO()):
        result = discretizers(kditransform, seeds=10)
    print(result)
    print(given_bins(kditransform, seeds=12))
