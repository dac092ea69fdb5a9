"""The compiled core, called wrongly: whatever the arguments are, it raises and stays within its memory."""

import inspect
from contextlib import nullcontext

import numpy as np
import pytest

from kdi import KDITransformer, Sketch
from kdi._integral.build import build_map
from kdi._integral.maps import DEFAULT_OPTIONS, PackedMaps
from kdi._numerics import _core, numpy_core
from kdi._numerics.kernels import get_kernel
from kdi._sketch.packed import PackedSketches

OPTION_NAMES = (
    "order",
    "scale",
    "peak",
    "max_fourth_derivative",
    "max_knots",
    "tolerance",
    "target",
    "robust",
    "floor",
)
OPTIONS = dict(zip((*OPTION_NAMES, "ceiling"), DEFAULT_OPTIONS.with_kernel(get_kernel("polyexp")), strict=True))


def options(**changed):
    return tuple({**OPTIONS, **changed}.values())


INFINITE_OR_NAN = [np.inf, -np.inf, np.nan]


def table():
    return np.random.default_rng(0).normal(size=(30, 2))


def cells():
    return np.arange(-3, 4) * 3


def moments(n=7):
    return np.abs(np.random.default_rng(1).normal(size=(n, 4)))


def packed_maps():
    columns = [
        build_map(Sketch.from_values([0.0, 1.0, 5.0]), get_kernel("polyexp"), bandwidth) for bandwidth in (0.5, 0.0)
    ]
    return _core.PackedMaps(*PackedMaps.pack(columns).arrays)


def sketches(**changed):
    exact, in_cells = (
        Sketch.from_values([1.0, 2.0, 4.0]),
        Sketch.from_values(np.arange(0.0, 9.0, 0.125), cell_width=1.0),
    )
    packed = PackedSketches.pack([exact, in_cells])
    names = ["keys", "exponents", "sizes", "cells", "moments", "values", "masses"]
    arrays = dict(zip(names, packed.arrays, strict=True))
    return tuple({**arrays, **{name: change(arrays[name].copy()) for name, change in changed.items()}}.values())


def map_arrays():
    return dict(
        zip(
            inspect.signature(numpy_core.PackedMaps).parameters,
            PackedMaps.pack(
                [
                    build_map(Sketch.from_values([0.0, 1.0, 5.0]), get_kernel("polyexp"), bandwidth)
                    for bandwidth in (0.5, 0.0)
                ]
            ).arrays,
            strict=True,
        )
    )


# Arguments that are right, made anew for each call.
CALLS = {
    "scan": lambda: {"array": table(), "weights": np.ones(30), "n_threads": 2},
    "fill": lambda: {
        "array": table(),
        "weights": np.ones(30),
        "scale": np.ones(2),
        "first": [-8, -8],
        "n_cells": [16, 16],
        "n_threads": 2,
    },
    "fit": lambda: {
        "table": table(),
        "weights": np.ones(30),
        "alphas": np.ones(2),
        "options": options(),
        "n_threads": 2,
    },
    "build_maps": lambda: {
        "sketches": sketches(),
        "minimum": np.array([1.0, 0.0]),
        "maximum": np.array([4.0, 8.875]),
        "counts": np.array([3.0, 72.0]),
        "factors": np.ones(2),
        "is_bandwidth": False,
        "options": options(),
        "merge": True,
        "n_threads": 2,
    },
    "accumulate": lambda: {
        "column": table()[:, 0],
        "weights": np.ones(30),
        "scale": 1.0,
        "first": -8,
        "moments": np.zeros((16, 4)),
    },
    "tally": lambda: {
        "column": table()[:, 0],
        "weights": np.ones(30),
        "known_values": np.arange(5.0),
        "masses": np.zeros(5),
    },
    "cut": lambda: {"values": np.arange(5.0), "weights": np.ones(5), "exponent": -3},
    "doublings": lambda: {"keys": np.arange(5.0), "exponent": -3, "most": 2},
    "widen": lambda: {"cells": cells(), "moments": moments(), "n_doublings": 2},
    "merge": lambda: {"keys": cells(), "moments": moments(), "other_keys": cells()[:4], "other_moments": moments(4)},
    "integrate": lambda: {
        "positions": np.arange(7.0),
        "moments": moments(),
        "width": 1.0,
        "order": 4,
        "bandwidth": 1.0,
        "knots": np.arange(3.0),
    },
    "cubics": lambda: {"values": np.array([0.0, 0.5, 1.0]), "slopes": np.full(3, 0.5), "shape_error": 0.0},
    "levels": lambda: {
        "array": table(),
        "weights": np.ones(30),
        "out": np.empty((30, 2)),
        "alphas": np.ones(2),
        "order": 4,
        "kernel_scale": 1.0,
        "flat": 1e-4,
        "cdf_error": 1e-13,
        "n_threads": 2,
    },
    "forward": lambda: {
        "maps": packed_maps(),
        "array": table(),
        "out": np.empty((30, 2)),
        "out_of_range": 0,
        "n_threads": 2,
    },
    "forward_stored": lambda: {
        "maps": packed_maps(),
        "columns": np.array([0, 1, 1, 0, 1]),
        "values": np.arange(5.0),
        "out": np.empty(5),
        "out_of_range": 0,
        "n_threads": 2,
    },
    "PackedMaps": map_arrays,
    "turning_points": lambda: {
        "positions": [np.arange(7.0), np.arange(3.0)],
        "moments": [moments(), np.ones((3, 1))],
        "widths": np.array([1.0, 0.0]),
        "bandwidths": np.ones(2),
        "lengths": np.array([6.0, 2.0]),
        "n_threads": 2,
    },
    "assign": lambda: {
        "array": table(),
        "cuts": [np.arange(3.0), np.empty(0)],
        "out": np.empty((30, 2), dtype=np.int64),
        "n_threads": 2,
    },
    "weights_between": lambda: {
        "array": table(),
        "weights": np.ones(30),
        "cuts": [np.arange(3.0), np.empty(0)],
        "n_threads": 2,
    },
}
CALLS["slopes"], CALLS["inverse"] = CALLS["integrate"], CALLS["forward"]
CALLS["inverse_stored"] = CALLS["forward_stored"]
STORED = ("forward_stored", "inverse_stored")

ORDERS = [-1, -(2**31), 301, 2**31 - 1, 2**31, 2**80, 1.5, None]
WRONG_NUMBERS = {
    "n_threads": [0, -1, 1025, 2**31 - 1, 2**31, 2**80, 1.5, None],
    "order": ORDERS,
    "bandwidth": [0.0, -1.0, *INFINITE_OR_NAN],
    "width": [-1.0, *INFINITE_OR_NAN],
    "exponent": [3000, -3000, 2**31 - 1, -(2**31), 2**80],
    "n_doublings": [-1, 3000, 2**31 - 1, -(2**31), 2**80],
    "most": [-1, 2**80, 1.5],
    "kernel_scale": [0.0, -1.0, *INFINITE_OR_NAN],
    "out_of_range": [-1, 3, 2**31, 2**80],
}
WRONG = [
    (name, argument, value) for name in CALLS for argument in CALLS[name]() for value in WRONG_NUMBERS.get(argument, [])
]
WRONG_OPTIONS = {
    "order": ORDERS,
    "max_knots": [1.0, 0.0, -1.0, -np.inf, np.nan],
    "target": [-1, 3, 2**80, None],
    "floor": [1.0, 2.0, *INFINITE_OR_NAN],
    "ceiling": [0.0, -1.0, *INFINITE_OR_NAN],
    **{name: [0.0, -1.0, *INFINITE_OR_NAN] for name in ("scale", "peak", "max_fourth_derivative", "tolerance")},
}
WRONG += [
    (function, "options", options(**{name: value}))
    for function in ("fit", "build_maps")
    for name, values in WRONG_OPTIONS.items()
    for value in values
]
WRONG += [(function, "options", value) for function in ("fit", "build_maps") for value in ((), options()[:-1], None)]
WRONG += [("accumulate", "scale", value) for value in (0.0, -1.0, *INFINITE_OR_NAN)]
WRONG += [("fill", "scale", np.array([1.0, value])) for value in (0.0, -1.0, *INFINITE_OR_NAN)]
WRONG += [("fill", "first", [0, value]) for value in (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 1.5)]
WRONG += [("fill", "first", [0] * n) for n in (0, 1, 3)]
WRONG += [("fill", "n_cells", [0, value]) for value in (-1, 2**24 + 1, 2**59, 2**63, 2**64 - 1, 2**64, 1.5)]
WRONG += [("fill", "n_cells", [1] * n) for n in (0, 1, 3)]
WRONG += [("accumulate", "first", value) for value in (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**63, 1.5)]
WRONG += [("accumulate", "moments", np.zeros(shape)) for shape in ((16, 3), (16, 5), (4, 0), (64,))]
WRONG += [("tally", "masses", np.zeros(n)) for n in (0, 4, 6)]
WRONG += [("cut", "values", np.array([0.0, value])) for value in (2.0**60, -(2.0**60), *INFINITE_OR_NAN)]
WRONG += [("doublings", "keys", np.array([0.0, value])) for value in (2.0**60, -(2.0**60), *INFINITE_OR_NAN)]
WRONG += [
    (name, "moments", np.ones(shape)) for name in ("integrate", "slopes") for shape in ((7, 0), (7, 5), (6, 4), (8, 1))
]
WRONG += [("widen", "moments", np.ones(shape)) for shape in ((7, 1), (7, 3), (7, 5))]
WRONG += [("merge", "moments", np.ones((7, n))) for n in (0, 1, 3, 5)]
WRONG += [("cubics", "values", np.array(values)) for values in ([0.0, 0.5, 0.4], [0.0, 0.5], [])]
WRONG += [("levels", "out", np.empty(shape)) for shape in ((29, 2), (31, 2), (30, 1), (30, 3), (0, 0))]
WRONG += [(name, "out", np.empty(shape)) for name in ("forward", "inverse") for shape in ((29, 2), (30, 1), (30, 3))]
WRONG += [(name, "maps", value) for name in ("forward", "inverse", *STORED) for value in (None, 1)]
WRONG += [(name, argument, np.empty(n)) for name in STORED for argument in ("values", "out") for n in (0, 4, 6)]
WRONG += [(name, argument, np.empty(10)[::2]) for name in STORED for argument in ("values", "out")]
WRONG += [
    (name, "columns", np.array(columns, dtype=dtype))
    for name in STORED
    for columns in ([0, 0, 0, 0, 2], [-1, 0, 0, 0, 0], [0] * 4, [0] * 6, [0, 2**31 - 1, 0, 0, 0])
    for dtype in (np.int32, np.int64)
]
WRONG += [(name, "columns", np.zeros(5, dtype=dtype)) for name in STORED for dtype in (float, np.uint32, np.int16)]
WRONG += [("levels", "alphas", np.array([1.0, value])) for value in (-1.0, -np.inf)]
WRONG += [("fit", "alphas", np.array([1.0, value])) for value in (-0.5, -3.0, -np.inf)]
WRONG += [("fit", "weights", np.where(np.arange(30) == 4, value, 1.0)) for value in (np.inf, np.nan)]
WRONG += [("build_maps", "counts", np.array([3.0, value])) for value in (-1.0, 1e300, *INFINITE_OR_NAN)]
WRONG += [("build_maps", "factors", np.array([1.0, value])) for value in (-1.0, -np.inf, np.nan)]
WRONG += [("build_maps", "minimum", np.array([1.0, value])) for value in (9.0, *INFINITE_OR_NAN)]
WRONG += [("build_maps", "maximum", np.array([value, 8.875])) for value in (0.0, 5.0, *INFINITE_OR_NAN)]
NO_ARRAYS = [[], [np.arange(7.0)], [None, None], None]
WRONG += [("turning_points", "positions", value) for value in ([np.arange(6.0), np.arange(3.0)], *NO_ARRAYS)]
WRONG += [
    ("turning_points", "positions", [one, np.arange(3.0)]) for one in (np.arange(7.0)[::-1], np.arange(7.0) * np.nan)
]
WRONG += [
    ("turning_points", "moments", [value, np.ones((3, 1))]) for value in (np.ones((7, 1)), np.ones((6, 4)), np.ones(7))
]
WRONG += [("turning_points", "widths", np.array([value, 0.0])) for value in (0.0, -1.0, *INFINITE_OR_NAN)]
WRONG += [
    ("turning_points", name, np.array([1.0, value]))
    for name in ("bandwidths", "lengths")
    for value in (0.0, *INFINITE_OR_NAN)
]
WRONG += [("turning_points", "lengths", np.array([4.0, 2.0]))]
WRONG += [(name, "cuts", value) for name in ("assign", "weights_between") for value in NO_ARRAYS]
WRONG += [
    (name, "cuts", [np.array([1.0, value]), np.empty(0)])
    for name in ("assign", "weights_between")
    for value in (0.0, np.nan)
]
WRONG += [
    ("assign", "out", np.empty(shape, dtype)) for shape, dtype in [((30, 2), float), ((29, 2), int), ((30, 1), int)]
]


def with_items(index, value):
    def change(array):
        array[index] = value
        return array

    return change


WRONG += [
    ("build_maps", "sketches", sketches(**changed))
    for changed in (
        {"keys": with_items(0, 2)},
        {"keys": with_items(0, 0)},
        {"sizes": with_items(0, 4)},
        {"sizes": with_items(0, -1)},
        {"sizes": with_items(0, 2**63 - 1)},
        {"sizes": with_items(slice(None), 2**62)},
        {"exponents": with_items(1, 3000)},
        {"exponents": with_items(1, -(2**63))},
        {"cells": lambda a: a[::-1].copy()},
        {"cells": with_items(3, 2)},
        {"cells": with_items(0, -(2**63))},
        {"cells": with_items(-1, 2**63 - 1)},
        {"cells": lambda a: a[:-1]},
        {"cells": lambda a: a.astype(np.int32)},
        {"values": lambda a: a[:, None]},
        {"moments": lambda a: a[:-1]},
        {"moments": lambda a: a[:, :3].copy()},
        {"moments": with_items((2, 0), np.nan)},
        {"moments": with_items((2, 0), np.inf)},
        {"values": lambda a: a[::-1].copy()},
        {"values": with_items(1, 1.0)},
        {"values": with_items(1, np.nan)},
        {"values": with_items(0, 0.5)},
        {"values": with_items(-1, np.inf)},
        {"values": lambda a: a[:-1]},
        {"masses": lambda a: a[:-1]},
        {"masses": with_items(1, np.nan)},
        {"masses": with_items(1, np.inf)},
    )
]
WRONG += [("build_maps", "sketches", sketches()[:-1]), ("build_maps", "sketches", ())]


def test_every_function_is_called():
    assert sorted(CALLS) == sorted(name for name in dir(_core) if not name.startswith("_"))


@pytest.mark.parametrize("name", CALLS)
def test_right_calls_succeed(name):
    getattr(_core, name)(**CALLS[name]())


@pytest.mark.parametrize(
    ("name", "argument", "value"), WRONG, ids=[f"{name}-{argument}-{k}" for k, (name, argument, _) in enumerate(WRONG)]
)
def test_wrong_arguments_are_refused(name, argument, value):
    with pytest.raises((ValueError, TypeError)):
        getattr(_core, name)(**{**CALLS[name](), argument: value})


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:]
    copy = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def longer(array):
    return np.concatenate([array, array[-1:]])


def reshaped(array):
    return array[..., None] if array.ndim == 2 else array[:, None]


CHANGES = {
    "shorter": lambda array: array[:-1],
    "longer": longer,
    "none": lambda array: array[:0],
    "dimensions": reshaped,
    "complex": lambda array: array.astype(complex),
    "text": lambda array: array.astype("U"),
    "object": lambda array: array.astype(object),
    "nothing": lambda array: "text",
}
# Without an error: nothing else depends on these lengths.
LENGTHS = ("shorter", "longer", "none")
ALLOWED = {
    ("integrate", "knots"): LENGTHS,
    ("slopes", "knots"): LENGTHS,
    ("doublings", "keys"): LENGTHS,
    ("accumulate", "moments"): LENGTHS,
    ("PackedMaps", "coefficients"): ("longer",),
}
ARRAYS = [
    (name, argument, change)
    for name in CALLS
    for argument, value in CALLS[name]().items()
    for change in CHANGES
    if isinstance(value, np.ndarray) and change not in ALLOWED.get((name, argument), ())
]


@pytest.mark.parametrize(("name", "argument", "change"), ARRAYS)
def test_wrong_arrays_are_refused(name, argument, change):
    arguments = CALLS[name]()
    with pytest.raises((ValueError, TypeError)):
        getattr(_core, name)(**{**arguments, argument: CHANGES[change](arguments[argument])})


def test_misaligned_arrays_of_users_are_copied():
    weights = np.arange(1.0, 31.0)
    expected = KDITransformer().fit_transform(table(), sample_weight=weights)
    result = KDITransformer().fit_transform(misaligned(table()), sample_weight=misaligned(weights))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["accumulate", "tally", "levels", "forward", "inverse"])
def test_outputs_must_be_writable_in_place(name):
    output = {"accumulate": "moments", "tally": "masses"}.get(name, "out")
    for change in (lambda a: a.astype(np.float32), lambda a: np.broadcast_to(a[:1], a.shape), lambda a: a.tolist()):
        arguments = CALLS[name]()
        with pytest.raises((ValueError, TypeError)):
            getattr(_core, name)(**{**arguments, output: change(arguments[output])})


@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_maps_without_their_constructor(name):
    maps = _core.PackedMaps.__new__(_core.PackedMaps)
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        getattr(_core, name)(**{**CALLS[name](), "maps": maps})


def test_maps_that_change_after_they_were_checked():
    """The core keeps what it has checked, whatever is done to the arrays that it was given."""
    arrays = map_arrays()
    maps, given, expected, out = (
        _core.PackedMaps(**arrays),
        np.tile([[2.0], [3.0]], 2),
        np.empty((2, 2)),
        np.empty((2, 2)),
    )
    _core.forward(maps, given, expected, 0, 1)
    for name, value in {"kind": 1, "start": 2**60, "n_knots": 2**60, "guide": 2**30}.items():
        arrays[name][:] = value
    _core.forward(maps, given, out, 0, 1)
    np.testing.assert_array_equal(out, expected)
    _core.inverse(maps, expected, out, 0, 1)
    np.testing.assert_allclose(out, given, rtol=1e-9)


READ = [(name, argument) for name, argument, change in ARRAYS if change == "complex"]


def same(one, other):
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(one, other, equal_nan=True) if isinstance(one, np.ndarray) else one == other


@pytest.mark.parametrize(("name", "argument"), READ)
def test_arrays_may_lie_anywhere_in_memory(name, argument):
    """Fields of records, and arrays that were sent between processes."""
    arguments, others = CALLS[name](), CALLS[name]()
    others[argument] = misaligned(others[argument]) if others[argument].itemsize > 1 else others[argument]
    is_written = argument == "out" or (name, argument) in {("accumulate", "moments"), ("tally", "masses")}
    with pytest.raises(ValueError, match="aligned") if is_written else nullcontext():
        expected, found = getattr(_core, name)(**arguments), getattr(_core, name)(**others)
        if name != "PackedMaps":
            assert same(expected, found)
        if "out" in arguments:
            np.testing.assert_array_equal(arguments["out"], others["out"])


def test_cells_that_do_not_hold_the_extremes():
    table = np.tile(np.array([1.0, 0.0, 0.1, 0.0]), (1025, 1))
    for keys in (np.r_[np.arange(1024), 10**9], np.r_[-5000, np.arange(1024)]):
        with pytest.raises(ValueError, match="extremes"):
            KDITransformer().fit_sketches([Sketch(0.0, 1.0, 10**6, 0, -10, keys, table)])
