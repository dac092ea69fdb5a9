"""The fuzz targets on their corpus, which holds what was found: each input once, without mutations."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from fuzz import CORPUS, TARGETS
from fuzz.checks import DirectSum, documented
from fuzz.decoder import Decoder
from kdi import KDE1D, Clusters, KDITransformer, Sketch

INPUTS = [(target, path) for target in TARGETS for path in sorted((CORPUS / target).iterdir())]


def test_every_target_has_a_corpus():
    assert sorted(path.name for path in CORPUS.iterdir()) == sorted(TARGETS)
    for target in TARGETS:
        assert 20 <= len([one for one, _ in INPUTS if one == target]) <= 80


@pytest.mark.parametrize("target, path", INPUTS, ids=lambda value: getattr(value, "name", value))
def test_input(target, path):
    import_module(f"fuzz.{target}").check(path.read_bytes())


FAULTS = [
    ("transformer", KDITransformer, "transform", lambda result: result * (1 - 1e-5)),
    ("transformer", KDITransformer, "inverse_transform", lambda result: result * (1 - 1e-5)),
    ("distribution", KDE1D, "cdf", lambda result: result * (1 - 1e-5)),
    ("distribution", KDE1D, "ppf", np.flip),
    ("sketch_bytes", Sketch, "__add__", lambda result: replace(result, missing=result.missing + 1)),
    ("clusters", Clusters, "predict", lambda result: result + 1),
]


@pytest.mark.parametrize("target, owner, method, change", FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_faults_are_found(monkeypatch, target, owner, method, change):
    original = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *arguments: change(original(*arguments)))
    check = import_module(f"fuzz.{target}").check
    found = 0
    for path in [path for one, path in INPUTS if one == target]:
        try:
            check(path.read_bytes())
        except (AssertionError, ValueError):
            found += 1
    assert found > 5


def test_a_decoder_without_bytes_still_decodes():
    decoder = Decoder(b"")
    assert not decoder
    assert (decoder.integer(3, 9), decoder.choice("abc"), decoder.number(), decoder.weights(5)) == (
        3,
        "a",
        -128.0,
        None,
    )
    assert len(decoder.column()) == 1


def test_columns_reach_what_is_nasty():
    """Not a property of one input, but of all together: otherwise the targets would check little."""
    rng = np.random.default_rng(0)
    columns = [Decoder(rng.bytes(100)).column() for _ in range(1500)]
    finite = [abs(column[np.isfinite(column)]) for column in columns]
    largest = np.array([one.max() if len(one) else np.nan for one in finite])
    assert 0.02 < np.mean(largest > 1e290) < 0.5
    assert 0.01 < np.mean(largest < 1e-290) < 0.3
    assert 0.1 < np.mean([np.isnan(column).any() for column in columns]) < 0.6
    assert 0.2 < np.mean([len(np.unique(column)) < len(column) for column in columns]) < 0.9
    assert np.mean([len(column) > 500 for column in columns]) > 0.05


def test_the_direct_sum_at_any_magnitude():
    values, at = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.5, 2.0, 3.0])
    plain, _ = DirectSum.of(values, None, 0.5, "gaussian", 4).integral(at)
    for unit in (2.0**-1070, 2.0**-500, 2.0**1020):
        scaled, allowance = DirectSum.of(values * unit, None, 0.5, "gaussian", 4).integral(at * unit)
        assert allowance < 1e-11
        np.testing.assert_allclose(scaled, plain, rtol=0, atol=1e-15)


def test_other_errors_and_warnings_are_findings():
    with documented("expected"):
        raise ValueError("an expected message")
    with pytest.raises(ValueError, match="another"), documented("expected"):
        raise ValueError("another message")
    with pytest.raises(RuntimeWarning), documented("expected"):
        np.array([1e300]) * np.array([1e300])
