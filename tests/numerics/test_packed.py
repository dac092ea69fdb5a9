"""Packed maps: what their constructor checks, in the compiled core and its twin."""

import inspect

import numpy as np
import pytest

from kdi import Sketch
from kdi._integral.build import build_map
from kdi._integral.maps import PackedMaps
from kdi._numerics import _core, numpy_core
from kdi._numerics.kernels import get_kernel

NAMES = list(inspect.signature(numpy_core.PackedMaps).parameters)
EVERY_CORE = pytest.mark.parametrize("module", [_core, numpy_core])


def arrays_of_every_kind():
    kernel, values = get_kernel("gaussian"), [0.0, 1.0, 2.0, 5.0]
    columns = [(values, 0.5), (values, 0.0), (values, np.inf), ([1.0], 0.5), ([np.nan], 0.5)]
    maps = [build_map(Sketch.from_values(column), kernel, bandwidth) for column, bandwidth in columns]
    return dict(zip(NAMES, PackedMaps.pack(maps).arrays, strict=True))


@EVERY_CORE
def test_every_kind(module):
    arrays = arrays_of_every_kind()
    assert arrays["kind"].tolist() == [0, 1, 1, 2, 3]
    maps, out = module.PackedMaps(**arrays), np.empty((3, 5))
    given = np.repeat([[0.0], [5.0], [np.nan]], 5, axis=1)
    given[:2, 3] = 1.0
    assert module.forward(maps, given, out, 0, 1) == -1
    np.testing.assert_array_equal(out[:2], [[0, 0, 0, 0, np.nan], [1, 1, 1, 0, np.nan]])
    assert np.isnan(out[2]).all()


def changed(name, change):
    array = arrays_of_every_kind()[name].copy()
    return change(array)


def with_item(index, value):
    def change(array):
        array[index] = value
        return array

    return change


WRONG = [
    ("kind", with_item(4, 4), ValueError, "kind must be"),
    ("kind", lambda a: a.astype(np.int64), TypeError, "dtype|incompatible"),
    ("low", lambda a: a[:-1], ValueError, "one length"),
    ("high_slope", lambda a: np.append(a, 1.0), ValueError, "one length"),
    ("scale", lambda a: a.astype(np.float32), TypeError, "dtype|incompatible"),
    ("n_knots", lambda a: a[:-1], ValueError, "one length"),
    ("start", with_item(0, -1), ValueError, "within the arrays"),
    ("start", with_item(0, 1), ValueError, "within the arrays"),
    ("start", with_item(2, 5), ValueError, "within the arrays"),
    ("start", with_item(1, 2**62), ValueError, "within the arrays"),
    ("n_knots", with_item(0, 1), ValueError, "2 to"),
    ("n_knots", with_item(0, 2**62), ValueError, "2 to"),
    ("n_knots", with_item(2, 3), ValueError, "within the arrays"),
    ("coefficients", lambda a: a[:, :3].copy(), ValueError, "four columns"),
    ("coefficients", lambda a: a[:-1], ValueError, "within the arrays"),
    ("knots", lambda a: a[:-1], ValueError, "one length"),
    ("levels", lambda a: np.append(a, 1.0), ValueError, "one length"),
    ("guide", with_item(1, 3), ValueError, "guide must"),
    ("guide", with_item(4, -1), ValueError, "guide must"),
    ("guide", lambda a: a.astype(np.int64), TypeError, "dtype|incompatible"),
]


@EVERY_CORE
@pytest.mark.parametrize(("name", "change", "error", "message"), WRONG)
def test_inconsistent_arrays_are_refused(module, name, change, error, message):
    with pytest.raises(error, match=message):
        module.PackedMaps(**{**arrays_of_every_kind(), name: changed(name, change)})


@EVERY_CORE
@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_shapes_must_agree(module, name):
    maps = module.PackedMaps(**arrays_of_every_kind())
    for array, out in [((3, 4), (3, 4)), ((3, 5), (3, 4)), ((3, 5), (2, 5)), ((3, 6), (3, 6))]:
        with pytest.raises(ValueError, match="same shape"):
            getattr(module, name)(maps, np.zeros(array), np.zeros(out), 0, 1)
    with pytest.raises(ValueError, match="out_of_range"):
        getattr(module, name)(maps, np.zeros((3, 5)), np.zeros((3, 5)), 3, 1)


@EVERY_CORE
def test_numbers_without_meaning_stay_in_memory(module, rng):
    """Any numbers at all lead to some result, never outside of the arrays."""
    for seed in range(30):
        arrays = arrays_of_every_kind()
        rng = np.random.default_rng(seed)
        for name in ("low", "high", "unit", "scale", "low_slope", "high_slope", "coefficients", "knots", "levels"):
            chosen = rng.random(arrays[name].shape) < 0.3
            arrays[name][chosen] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300], size=chosen.sum())
        maps, out = module.PackedMaps(**arrays), np.empty((40, 5))
        for name in ("forward", "inverse"):
            with np.errstate(all="ignore"):
                assert getattr(module, name)(maps, rng.normal(size=(40, 5)), out, 1, 1) == -1


@EVERY_CORE
def test_memory_is_kept_alive(module):
    maps = module.PackedMaps(**arrays_of_every_kind())
    given, out, again = np.full((2, 5), 1.5), np.empty((2, 5)), np.empty((2, 5))
    module.forward(maps, given, out, 0, 1)
    filler = [np.full(5, np.nan) for _ in range(1000)]  # would take freed memory
    module.forward(maps, given, again, 0, 1)
    np.testing.assert_array_equal(out, again)
    assert len(filler) == 1000
