"""Results of kditransform 1.2.0 on a few samples: `python tests/golden/make_kditransform.py` writes kditransform.npz.

tests/compat compares kdi.compat.kditransform with the stored values and, where kditransform is installed, new ones.
"""

import contextlib
import io
import warnings
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("kditransform.npz")
ORDERS = (1, 3, 4)
LEVELS = np.linspace(0, 1, 21)

TRANSFORMERS = {
    "default": {},
    "alpha 0.1": {"alpha": 0.1},
    "alpha 10": {"alpha": 10.0},
    "scott": {"alpha": "scott"},
    "silverman": {"alpha": "silverman"},
    "order 1": {"polyexp_order": 1, "alpha": 0.3},
    "order 6": {"polyexp_order": 6},
    "train": {"polyexp_eval": "train"},
    "20 landmarks": {"n_quantiles": 20, "alpha": 0.2},
    "all landmarks": {"n_quantiles": None, "polyexp_eval": "train"},
    "normal": {"output_distribution": "normal"},
    "gaussian": {"kernel": "gaussian"},
    "gaussian none": {"kernel": "gaussian", "alpha": None},
    "gaussian silverman": {"kernel": "gaussian", "alpha": "silverman", "output_distribution": "normal"},
    "gaussian 20 landmarks": {"kernel": "gaussian", "alpha": 0.2, "n_quantiles": 20},
    "gaussian exact": {"kernel": "gaussian", "alpha": 0.3, "exact": True},
}
DISCRETIZERS = {
    "KDDiscretizer": ("KDDiscretizer", {"enable_predict_proba": True}),
    "KDDiscretizer 0.2": ("KDDiscretizer", {"beta": 0.2, "enable_predict_proba": True}),
    "KDIDiscretizer": ("KDIDiscretizer", {"enable_predict_proba": True}),
    "KDIDiscretizer 0.1": ("KDIDiscretizer", {"alpha": 0.1, "beta": "silverman", "enable_predict_proba": True}),
    "KDIDiscretizer 10": ("KDIDiscretizer", {"alpha": 10.0, "beta": None, "enable_predict_proba": True}),
    "KBinsKDIDiscretizer": ("KBinsKDIDiscretizer", {"n_bins": 2, "subsample": None, "enable_predict_proba": True}),
    "SimpleKDIDiscretizer": ("SimpleKDIDiscretizer", {}),
    "SimpleKDIDiscretizer 5": ("SimpleKDIDiscretizer", {"n_bins": 5, "alpha": 0.1}),
}


def samples():
    """Draw a few samples, rounded so that their file is small."""
    rng = np.random.default_rng(20231119)
    found = {
        "normal": rng.normal(size=50),
        "lognormal": rng.lognormal(size=300),
        "counts": rng.poisson(3, size=200).astype(float),
        "clusters": rng.choice([0.0, 6.0, 30.0], size=1200) + rng.normal(size=1200),
        "two": np.append(rng.normal(size=60), rng.normal(7, 1, size=40)),
    }
    return {name: values.round(3) for name, values in found.items()}


def probes(values):
    """Return points inside and outside the range of a sample."""
    low, high = values.min(), values.max()
    return np.concatenate([values[:40], np.linspace(low, high, 60), [low - 1, high + 1, np.nextafter(low, high)]])


def discretized(names):
    """Select the samples for discretizers: those without ties, at which boundaries are arbitrary."""
    return [name for name in names if name in ("clusters", "two")]


def record():
    """Compute all results, by name; every call has its own copy of the data, since `fit` alters it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        import kditransform
        from kditransform import ksum

        result = {f"x|{name}": values for name, values in samples().items()}
        for order in ORDERS:
            betas = ksum.betas_for_order(order)
            constants = [ksum.h_Gauss_to_K(0.7, betas), ksum.roughness_K(2 * betas), ksum.var_K(2 * betas)]
            result[f"ksum|{order}"] = np.array([*constants, ksum.norm_const_K(2 * betas), *betas])
        for name, values in samples().items():
            for case, options in TRANSFORMERS.items():
                model = kditransform.KDITransformer(**options).fit(values[:, None].copy())
                result[f"forward|{case}|{name}"] = model.transform(probes(values)[:, None])[:, 0]
                if not options.get("exact"):
                    result[f"quantiles|{case}|{name}"] = model.quantiles_[:, 0][:: max(1, model.n_quantiles_ // 10)]
                    levels = LEVELS
                    if options.get("output_distribution") == "normal":
                        levels = np.linspace(-3, 3, 21)
                    result[f"inverse|{case}|{name}"] = model.inverse_transform(levels[:, None].copy())[:, 0]
        for name in discretized(samples()):
            column = samples()[name][:, None]
            for case, (kind, options) in DISCRETIZERS.items():
                model = getattr(kditransform, kind)(**options).fit(column.copy())
                result[f"bins|{case}|{name}"] = model.transform(column.copy())[:, 0].astype(np.int8)
                if kind == "KDDiscretizer":
                    result[f"boundaries|{case}|{name}"] = model.boundaries_[0]
                    result[f"centroids|{case}|{name}"] = model.centroids_[0]
                elif kind == "SimpleKDIDiscretizer":
                    result[f"boundaries|{case}|{name}"] = model.get_boundaries()[:, 0]
                else:
                    result[f"boundaries|{case}|{name}"] = model.get_boundaries()[0]
                    result[f"centroids|{case}|{name}"] = model.get_centroids()[0]
                if options.get("enable_predict_proba"):
                    grid = np.linspace(column.min(), column.max(), 40)[:, None]
                    result[f"proba|{case}|{name}"] = model.predict_proba(grid)
        return result


def stored():
    """Load the stored results."""
    with np.load(PATH) as file:
        return dict(file)


if __name__ == "__main__":
    found = record()
    small = {key: one.astype(np.float32) if key[0] != "x" and one.dtype == float else one for key, one in found.items()}
    np.savez_compressed(PATH, **small)
    print(f"{len(found)} arrays, {PATH.stat().st_size:,} bytes")
