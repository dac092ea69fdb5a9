"""Sketches as bytes: a header, two arrays, a checksum; nothing that is read is executed.

"KDIS"  version  kind  exponent  n  count  missing  minimum  maximum  |  keys  moments  |  crc32
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from kdi._sketch.cells import LEAST_EXPONENT, MAX_COUNT, WIDEST_CELL
from kdi._utils.typing import Float64Array, Int64Array

SKETCH_HEADER = struct.Struct("<4sBBhQQQdd")
SKETCH_MAGIC, SKETCH_VERSION = b"KDIS", 1

Fields = tuple[float, float, int, int, int | None, Float64Array | Int64Array, Float64Array]


def pack(
    minimum: float,
    maximum: float,
    count: int,
    missing: int,
    exponent: int | None,
    keys: Float64Array | Int64Array,
    moments: Float64Array,
) -> bytes:
    """Encode the fields of a sketch."""
    kind, power = (0, 0) if exponent is None else (1, exponent)
    header = SKETCH_HEADER.pack(SKETCH_MAGIC, SKETCH_VERSION, kind, power, len(keys), count, missing, minimum, maximum)
    body = header + keys.astype("<i8" if kind else "<f8").tobytes() + moments.astype("<f8").tobytes()
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data: bytes) -> Fields:
    """Decode and check the fields of a sketch that `pack` encoded."""
    try:
        data = bytes(memoryview(data))
    except TypeError:
        raise ValueError(f"data must be the bytes of a sketch, got {type(data).__name__}.") from None
    if len(data) < SKETCH_HEADER.size + 4 or data[:4] != SKETCH_MAGIC:
        raise ValueError("data is not a sketch: its header is missing.")
    _, version, kind, power, n, count, missing, minimum, maximum = SKETCH_HEADER.unpack_from(data)
    if version != SKETCH_VERSION:
        raise ValueError(f"the sketch has format version {version}, but this release reads version {SKETCH_VERSION}.")
    n_moments = 4 if kind else 1
    size = SKETCH_HEADER.size + 8 * n * (1 + n_moments) + 4
    if len(data) != size:
        raise ValueError(f"data must have {size} bytes, as its header says, got {len(data)}.")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ValueError("the sketch is damaged: its checksum does not match.")
    middle = SKETCH_HEADER.size + 8 * n
    keys = np.frombuffer(data[SKETCH_HEADER.size : middle], dtype="<i8" if kind else "<f8")
    moments = np.frombuffer(data[middle:-4], dtype="<f8").reshape(n, n_moments)
    keys = keys.astype(np.int64 if kind else float)
    fields = (minimum, maximum, count, missing, power if kind else None, keys, moments.astype(float))
    if kind > 1 or not is_consistent(*fields):
        raise ValueError("the sketch is damaged: inconsistent fields.")
    return fields


def is_consistent(
    low: float,
    high: float,
    count: int,
    missing: int,
    exponent: int | None,
    keys: Float64Array | Int64Array,
    moments: Float64Array,
) -> bool:
    """Tell whether some column could have these fields; a checksum can be forged."""
    if max(count, missing) > MAX_COUNT:
        return False
    if not len(keys):
        return count == 0 and exponent is None and bool(np.isnan([low, high]).all())
    with np.errstate(all="ignore"):
        return _is_consistent_with_values(low, high, count, exponent, keys, moments)


def _is_consistent_with_values(
    low: float, high: float, count: int, exponent: int | None, keys: Any, moments: Float64Array
) -> bool:
    weight = moments[:, 0].sum()
    if not (
        np.isfinite(moments).all()
        and np.isfinite(weight)
        and (moments[:, 0] > 0).all()
        and (keys[1:] > keys[:-1]).all()
    ):
        return False
    if not (np.isfinite([low, high]).all() and low <= high and count >= len(keys)):
        return False
    if exponent is None:
        return bool(np.isfinite(keys).all()) and (keys[0], keys[-1]) == (low, high)
    # Cells must have a width that suits the range, and indices that are exact as floats too.
    if not LEAST_EXPONENT <= exponent <= 1023 or max(abs(int(keys[0])), abs(int(keys[-1]))) > 2**53:
        return False
    if not 2.0**exponent / WIDEST_CELL <= high - low:
        return False
    # No offset from a cell's centre exceeds one half, but tiny weights are rounded with every value.
    rounding = 2 * count * 2.0**LEAST_EXPONENT
    if (abs(moments) > moments[:, :1] * 0.5 ** np.arange(4) * (1 + 1e-9) + rounding).any():
        return False
    ends = np.array([low, high])
    with np.errstate(over="ignore"):
        positions = np.ldexp(ends, -exponent)
    cells = np.floor(positions) - ((positions == 0) & (ends < 0))  # a negative value that underflows stays below 0
    return np.array_equal(cells, keys[[0, -1]].astype(float))
