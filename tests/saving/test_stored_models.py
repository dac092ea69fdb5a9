"""Stored models of earlier versions: they are read, and give the same numbers to the last bit."""

import pickle

import numpy as np
import pytest
from paths import MODELS
from saved_models import assert_same, bits

from kdi import KDIDiscretizer, KDITransformer


@pytest.mark.parametrize("kind", ["transformer", "discretizer"])
@pytest.mark.parametrize(("version", "suffix"), [(1, "json"), (2, "json"), (2, "pickle"), (3, "json"), (3, "pickle")])
def test_stored_models(kind, version, suffix):
    """What each version wrote is read, and gives the same numbers to the last bit."""
    stored = MODELS / f"{kind}-{version}.{suffix}"
    cls = {"transformer": KDITransformer, "discretizer": KDIDiscretizer}[kind]
    model = cls.from_json(stored.read_text()) if suffix == "json" else pickle.loads(stored.read_bytes())
    assert type(model) is cls
    with np.load(MODELS / f"{kind}-{version}.npz") as expected:
        found = {"transformed": model.transform(expected["values"])}
        found["back"] = model.inverse_transform(found["transformed"])
        if kind == "transformer":
            found["error_bound"], found["n_samples_seen"] = model.error_bound_, np.array(model.n_samples_seen_)
            found["sketches"] = np.frombuffer(b"".join(one.to_bytes() for one in model.sketches_), dtype=np.uint8)
        else:
            found["shares"] = model.predict_proba(expected["values"])
            found["edges"] = np.concatenate(model.bin_edges_)
        assert {*found, "values"} == set(expected)
        # Shares are sums of exponentials, whose last digits are the mathematical library's own.
        np.testing.assert_allclose(found.pop("shares", 0), expected.get("shares", 0), rtol=0, atol=1e-12)
        for name, array in found.items():
            assert bits(array) == bits(expected[name]), name


@pytest.mark.parametrize("kind", ["transformer", "discretizer"])
@pytest.mark.parametrize("version", [2, 3])
def test_stored_pickle_and_json_are_the_same_model(kind, version):
    cls = {"transformer": KDITransformer, "discretizer": KDIDiscretizer}[kind]
    model = pickle.loads((MODELS / f"{kind}-{version}.pickle").read_bytes())
    assert_same(model, cls.from_json((MODELS / f"{kind}-{version}.json").read_text()))
