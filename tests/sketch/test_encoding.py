"""Sketch.to_bytes and from_bytes: what goes in comes out, and anything else is a ValueError."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kdi import KDITransformer, Sketch

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
