"""A sketch as bytes: a header, two arrays, a checksum; nothing that is read is ever run.

"KDIS"  version  kind  exponent  n  count  missing  minimum  maximum  |  places  moments  |  crc32
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from kdi._utils.typing import Float64Array, Int64Array

HEADER = struct.Struct("<4sBBhQQQdd")
MAGIC, VERSION = b"KDIS", 1

Fields = tuple[float, float, int, int, int | None, Float64Array | Int64Array, Float64Array]


def pack(
    minimum: float,
    maximum: float,
    count: int,
    missing: int,
    exponent: int | None,
    places: Float64Array | Int64Array,
    moments: Float64Array,
) -> bytes:
    """Bytes of a sketch's fields."""
    kind, power = (0, 0) if exponent is None else (1, exponent)
    header = HEADER.pack(MAGIC, VERSION, kind, power, len(places), count, missing, minimum, maximum)
    body = header + places.astype("<i8" if kind else "<f8").tobytes() + moments.astype("<f8").tobytes()
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data: bytes) -> Fields:
    """Fields of the sketch whose bytes `pack` wrote, every part checked."""
    data = bytes(memoryview(data))
    if len(data) < HEADER.size + 4 or data[:4] != MAGIC:
        raise ValueError("these bytes are not a sketch: they do not begin with a sketch's header.")
    _, version, kind, power, n, count, missing, minimum, maximum = HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"this sketch has format version {version}; this release reads version {VERSION}.")
    n_moments = 4 if kind else 1
    if len(data) != HEADER.size + 8 * n * (1 + n_moments) + 4:
        raise ValueError(f"these bytes are not a whole sketch: {len(data)} bytes do not hold the {n} places announced.")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ValueError("this sketch is damaged: its checksum does not match.")
    middle = HEADER.size + 8 * n
    places = np.frombuffer(data[HEADER.size : middle], dtype="<i8" if kind else "<f8")
    moments = np.frombuffer(data[middle:-4], dtype="<f8").reshape(n, n_moments)
    places = places.astype(np.int64 if kind else float)
    fields = (minimum, maximum, count, missing, power if kind else None, places, moments.astype(float))
    if kind > 1 or not is_consistent(*fields):
        raise ValueError("this sketch is damaged: its numbers do not fit together.")
    return fields


def is_consistent(
    low: float,
    high: float,
    count: int,
    missing: int,
    exponent: int | None,
    places: Float64Array | Int64Array,
    moments: Float64Array,
) -> bool:
    """A checksum can be forged: what no column could have given is refused all the same."""
    if not len(places):
        return count == 0 and bool(np.isnan([low, high]).all())
    with np.errstate(over="ignore"):
        weight = moments[:, 0].sum()
    if not (
        np.isfinite(moments).all()
        and np.isfinite(weight)
        and (moments[:, 0] > 0).all()
        and (places[1:] > places[:-1]).all()
    ):
        return False
    if not (np.isfinite([low, high]).all() and low <= high and count >= len(places)):
        return False
    if exponent is None:
        return bool(np.isfinite(places).all()) and (places[0], places[-1]) == (low, high)
    # Cells must have a width, and numbers that are whole numbers as floats too.
    if not -1100 <= exponent <= 1023 or max(abs(int(places[0])), abs(int(places[-1]))) > 2**53:
        return False
    # No offset from a cell's centre is more than a half.
    if (abs(moments) > moments[:, :1] * 0.5 ** np.arange(4) * (1 + 1e-9)).any():
        return False
    ends = np.array([low, high])
    positions = np.ldexp(ends, -exponent)
    cells = np.floor(positions) - ((positions == 0) & (ends < 0))  # what is next to nothing keeps its side
    return np.array_equal(cells, places[[0, -1]].astype(float))
