"""Sketch.to_bytes and from_bytes: what goes in comes out, and anything else is a ValueError."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kdi import KDITransformer, Sketch
from kdi._sketch import encoding
from kdi._sketch.encoding import SKETCH_HEADER

pytestmark = pytest.mark.numpy_core


def some_sketches():
    rng = np.random.default_rng(1)
    return {
        "empty": Sketch(),
        "missing": Sketch.from_values([np.nan, np.nan]),
        "one": Sketch.from_values([2.5]),
        "exact": Sketch.from_values(rng.normal(size=100), rng.uniform(size=100)),
        "cells": Sketch.from_values(rng.lognormal(size=1000), cell_width=0.25),
        "negative-cells": Sketch.from_values(-1e9 - rng.exponential(size=1000), cell_width=1 / 16),
        "full": Sketch.from_values(rng.standard_cauchy(size=100_000)),
    }


SKETCHES = some_sketches()
SMALL = [SKETCHES[name].to_bytes() for name in ("empty", "one", "exact", "cells", "negative-cells")]


@pytest.mark.parametrize("name", SKETCHES)
def test_round_trip(name):
    sketch = SKETCHES[name]
    data = sketch.to_bytes()
    assert isinstance(data, bytes)
    again = Sketch.from_bytes(data)
    assert again.to_bytes() == data
    np.testing.assert_equal(
        (again.minimum, again.maximum, again.count, again.missing, again.is_exact, again.weight),
        (sketch.minimum, sketch.maximum, sketch.count, sketch.missing, sketch.is_exact, sketch.weight),
    )
    if sketch.count:
        assert again.error_bound(0.5, "gaussian") == sketch.error_bound(0.5, "gaussian")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_bytes_like(kind):
    data = SKETCHES["cells"].to_bytes()
    assert Sketch.from_bytes(kind(data)).to_bytes() == data


@pytest.mark.parametrize("end", [-1e-30, -1e-17, 0.0, 1e-30, 7.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_round_trip_of_what_a_fit_keeps(sign, end):
    values = sign * np.r_[np.linspace(1, 1000, 5000), end]
    sketch = KDITransformer().fit(values[:, None]).sketches_[0]
    assert not sketch.is_exact
    assert sketch.weight == 5001
    assert Sketch.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes()


def test_what_is_read_adds_up():
    one = Sketch.from_bytes(SKETCHES["cells"].to_bytes())
    total = one + Sketch.from_bytes(SKETCHES["exact"].to_bytes())
    assert total.count == 1100
    assert one.add([1.0]).count == 1001  # not read-only


def test_there_is_no_pickle_inside():
    for data in SMALL:
        assert b"kdi." not in data
        assert b"numpy" not in data


@pytest.mark.parametrize("name", SKETCHES)
def test_truncated(name):
    data = SKETCHES[name].to_bytes()
    for length in {*range(min(len(data), 200)), len(data) // 2, len(data) - 8, len(data) - 1} - {len(data)}:
        with pytest.raises(ValueError):
            Sketch.from_bytes(data[: max(length, 0)])


@pytest.mark.parametrize("name", SKETCHES)
def test_trailing_bytes(name):
    with pytest.raises(ValueError):
        Sketch.from_bytes(SKETCHES[name].to_bytes() + b"\0")


@pytest.mark.parametrize("data", SMALL, ids=len)
def test_every_flipped_bit(data):
    for place in range(min(len(data), 2000)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(ValueError):
                Sketch.from_bytes(bytes(damaged))


@pytest.mark.parametrize("other", ["abc", None, 7, 1.5, [1, 2]])
def test_what_is_not_bytes(other):
    with pytest.raises(ValueError, match="data must be the bytes of a sketch"):
        Sketch.from_bytes(other)


def test_messages_tell_the_causes_apart():
    data = SKETCHES["exact"].to_bytes()
    newer = bytearray(data)
    newer[4] += 1
    with pytest.raises(ValueError, match="version"):
        Sketch.from_bytes(bytes(newer))
    with pytest.raises(ValueError, match="not a sketch"):
        Sketch.from_bytes(b"PK\3\4" + data)
    with pytest.raises(ValueError):
        Sketch.from_bytes(b"")


@given(st.binary(max_size=400))
@example(b"")
def test_random_bytes(data):
    with pytest.raises(ValueError):
        Sketch.from_bytes(data)


def with_checksum(data):
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def assert_usable(sketch):
    """Nothing that a sketch is for ends in another error than a ValueError."""
    for other in (sketch, Sketch.from_values([0.0]), Sketch.from_values([-1.0, 3.0]), SKETCHES["cells"]):
        try:
            total = sketch + other
        except ValueError:
            continue
        for _ in range(3):
            total = total.merged(total)
        assert Sketch.from_bytes(total.to_bytes()).count == total.count
    if not sketch.count:
        return
    assert sketch.error_bound(1.0) >= 0
    if sketch.range < np.inf:
        assert sketch.minimum <= sketch.mean <= sketch.maximum
        assert 0 <= sketch.std <= sketch.range
    for alpha in (0, 0.5, 1e300):
        try:
            model = KDITransformer(alpha).fit_sketches([sketch])
        except ValueError:
            continue
        levels = model.transform(np.linspace(0, 1, 9)[:, None] * (sketch.maximum - sketch.minimum) + sketch.minimum)
        assert (np.diff(levels[:, 0]) >= 0).all()
        assert ((levels >= 0) & (levels <= 1)).all()
        assert np.isfinite(model.quantiles_).all()
        assert 0 <= model.error_bound_[0] <= 1


def forged(sketch, **fields):
    """Return the bytes of a sketch with other fields and the right checksum."""
    return encoding.pack(**{**sketch.__getstate__(), **fields})


CELLS = SKETCHES["cells"]


@pytest.mark.parametrize(
    "data",
    [
        with_checksum(SKETCH_HEADER.pack(b"KDIS", 1, 1, 1038, 0, 0, 0, np.nan, np.nan) + bytes(4)),
        forged(CELLS, count=2**64 - 1),
        forged(CELLS, missing=2**64 - 1),
        forged(Sketch(), missing=2**53 + 1),
        forged(CELLS, minimum=0.0, maximum=1e-300, exponent=1000, keys=CELLS.keys[:1] * 0, moments=CELLS.moments[:1]),
        forged(CELLS, minimum=5.0, maximum=5.0, exponent=1, keys=CELLS.keys[:1] * 0 + 2, moments=CELLS.moments[:1]),
        forged(CELLS, exponent=-1074),
        forged(CELLS, exponent=-32768),
        forged(CELLS, exponent=1023),
        forged(CELLS, moments=CELLS.moments * 1e306),
        forged(CELLS, moments=CELLS.moments * [1, 2, 1, 1]),
        forged(CELLS, keys=CELLS.keys + 2**60),
    ],
)
def test_forged_fields_are_refused(data):
    with pytest.raises(ValueError, match="damaged"):
        Sketch.from_bytes(data)


@pytest.mark.parametrize("name", SKETCHES)
@pytest.mark.parametrize("count", [2**53 - 1, 2**53])
def test_the_largest_counts(name, count):
    sketch = SKETCHES[name]
    if sketch.count:
        sketch = Sketch.from_bytes(forged(sketch, count=count, missing=count))
        assert_usable(sketch)
        assert (sketch + sketch).count == 2**53


def test_tiny_weights(rng):
    """Moments of subnormal weights are rounded with every value, and yet read back."""
    for width in (0.5, 2.0**-20):
        values, weights = rng.integers(0, 400, size=2000) * width, rng.integers(1, 5, size=2000) * 5e-324
        sketch = Sketch.exact(values, weights).coarsened(-1)
        assert_usable(Sketch.from_bytes(sketch.to_bytes()))


@settings(max_examples=500)
@given(
    st.sampled_from(SMALL),
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4),
)
def test_forged_bytes_are_refused_or_usable(data, patches):
    """Even with a right checksum, what is read is a ValueError or a sketch with which one can go on working."""
    forged = bytearray(data)
    for place, patch in patches:
        place %= len(forged) - 4
        patch = patch[: len(forged) - 4 - place]
        forged[place : place + len(patch)] = patch
    forged = with_checksum(bytes(forged))
    assert len(forged) == len(data)
    try:
        sketch = Sketch.from_bytes(forged)
    except ValueError:
        return
    assert Sketch.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes()
    assert sketch.count == 0 or sketch.minimum <= sketch.maximum
    assert sketch.weight >= 0
    assert (sketch + Sketch()).count == sketch.count
    assert_usable(sketch)
