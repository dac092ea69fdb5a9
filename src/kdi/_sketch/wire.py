"""Sketches of a table in few bytes, as engines send them between processes.

Occupied cells lie close together, so their indices are differences of one byte; counts are integers of a few bits, as
varints of seven bits per byte; the other moments are fractions of the count, rounded to fixed steps:

    cell with one value      difference, z                            1 + 5 bytes
    cell with more           difference, count, z, z², z³             1 + 1…3 + 5 + 4 + 4 bytes
    distinct value           difference of neighbours as integers     1 byte for integers, 6 to 8 for float64

Rounding moves a value by at most 2^-41 of a cell, and z² and z³ by as much as moves T no further; where cells are as
narrow as a bandwidth needs, that is 3e-13 for 16 levels of a merge tree together, below the 1e-12 for rounding in the
error bound of every map. `Sketch.to_bytes` is exact, and several times as long.

    "KDIW"  version  number of columns  lengths of the sections  |  sections  |  crc32
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdi._sketch.cells import LEAST_EXPONENT, MAX_COUNT, cell_of
from kdi._sketch.encoding import is_consistent
from kdi._sketch.packed import CELLS, DISTINCT, PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

UInt64Array = NDArray[np.uint64]

WIRE_HEADER = struct.Struct("<4sBI")
WIRE_MAGIC, WIRE_VERSION = b"KDIW", 1
LENGTHS = struct.Struct("<11Q")  # of the sections
VARINT_ENDS = [1 << (7 * k) for k in range(1, 10)]  # numbers from which on a varint has one byte more
STEPS = (40, 34, 34)  # z, z² and z³ are rounded to 2^-40, 2^-34 and 2^-34 of the count
SQUARE_MIDDLE = 0.125  # z² lies between 0 and 1/4

# Bits of a column's flags: what its keys are, and how its masses are written.
IS_CELLS, RAW_MASSES, UNIT_MASSES = 1, 2, 4
VALUES_SHIFT = 3  # of the two bits that say how its values are written
RAW, INTEGERS, SINGLES, DOUBLES = range(4)
FLOATS = {SINGLES: np.float32, DOUBLES: np.float64}


def pack_table(sketches: Sequence[Sketch]) -> bytes:
    """Encode the sketches of a table."""
    table = PackedSketches.pack(sketches)
    is_cells, sizes = table.keys == CELLS, table.sizes.astype(np.int64)
    flags = np.where(is_cells, IS_CELLS, 0).astype(np.uint8)
    cells = _pack_cells(table.cells, table.moments, sizes[is_cells])
    values = _pack_values(table.values, table.masses, sizes[~is_cells])
    flags[is_cells] |= cells.pop(0)
    flags[~is_cells] |= values.pop(0)
    numbers = [table.counts, table.missing, sizes, _zigzag(np.where(is_cells, table.exponents, 0))]
    columns = [
        np.concatenate([table.minimum, table.maximum]).astype("<f8").tobytes(),
        flags.tobytes(),
        pack_varints(np.concatenate([np.asarray(one).astype(np.uint64) for one in numbers])),
    ]
    sections = [*columns, *cells, *values]
    header = WIRE_HEADER.pack(WIRE_MAGIC, WIRE_VERSION, len(table))
    body = b"".join([header, LENGTHS.pack(*map(len, sections)), *sections])
    return body + struct.pack("<I", zlib.crc32(body))


def unpack_table(data: bytes) -> list[Sketch]:
    """Decode the sketches that `pack_table` encoded; raise ValueError for any other bytes."""
    try:
        return _unpack_table(bytes(memoryview(data)))
    except TypeError:
        raise ValueError(f"data must be the bytes of sketches, got {type(data).__name__}.") from None
    except (IndexError, OverflowError, struct.error) as error:
        raise ValueError(f"the sketches are damaged: {error}.") from None


def _unpack_table(data: bytes) -> list[Sketch]:
    start = WIRE_HEADER.size + LENGTHS.size
    if len(data) < start + 4 or data[:4] != WIRE_MAGIC:
        raise ValueError("data is not the sketches of a table: their header is missing.")
    _, version, n_columns = WIRE_HEADER.unpack_from(data)
    if version != WIRE_VERSION:
        raise ValueError(f"the sketches have format version {version}, but this release reads version {WIRE_VERSION}.")
    lengths = LENGTHS.unpack_from(data, WIRE_HEADER.size)
    if len(data) != start + sum(lengths) + 4:
        raise ValueError(f"data must have {start + sum(lengths) + 4} bytes, as its header says, got {len(data)}.")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ValueError("the sketches are damaged: their checksum does not match.")
    ends = np.cumsum([start, *lengths]).tolist()
    parts = [data[one:other] for one, other in pairwise(ends)]
    minimum, maximum = _raw(parts[0], 2 * n_columns).reshape(2, n_columns)
    flags = np.frombuffer(parts[1], dtype=np.uint8)
    counts, missing, sizes, exponents = unpack_varints(parts[2], 4 * n_columns).reshape(4, n_columns)
    _require(len(flags) == n_columns and max(map(int, [0, *counts, *missing])) <= MAX_COUNT)
    is_cells = (flags & IS_CELLS) != 0
    # No cell and no value takes less than a byte, which bounds what forged sizes can allocate.
    _require(int(sizes.max(initial=0)) <= len(data) and int(sizes.sum()) <= len(data))
    n_keys, powers = sizes.astype(np.int64), _unzigzag(exponents)
    first = [_first_cell(low, power) for low, power in zip(minimum[is_cells], powers[is_cells], strict=True)]
    cells, moments = _unpack_cells(parts[3:8], n_keys[is_cells], flags[is_cells], np.array(first, dtype=np.int64))
    values, masses = _unpack_values(parts[8:11], n_keys[~is_cells], flags[~is_cells])
    packed = PackedSketches(
        minimum.copy(),
        maximum.copy(),
        counts.astype(float),
        missing.astype(float),
        keys=np.where(is_cells, CELLS, DISTINCT).astype(np.uint8),
        exponents=powers,
        sizes=n_keys,
        cells=cells,
        moments=moments,
        values=values,
        masses=masses,
    )
    sketches = list(packed)
    for sketch, size in zip(sketches, n_keys.tolist(), strict=True):
        _require(len(sketch) == size and _is_consistent(sketch))
    return sketches


def _is_consistent(sketch: Sketch) -> bool:
    state = sketch.__getstate__()
    return is_consistent(state.pop("minimum"), state.pop("maximum"), **state)


def _require(is_right: bool) -> None:
    if not is_right:
        raise ValueError("the sketches are damaged: inconsistent fields.")


def _first_cell(low: float, exponent: int) -> int:
    _require(np.isfinite(low) and LEAST_EXPONENT <= exponent <= 1023)
    cell = cell_of(float(low), int(exponent))
    _require(abs(cell) <= MAX_COUNT)
    return cell


# ------------------------------------------------------------------------------------------------------- cells


def _pack_cells(cells: Int64Array, moments: Float64Array, sizes: Int64Array) -> list[Any]:
    """Return flags per column, and the sections: differences, counts, raw masses, z, and z² with z³."""
    columns = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    mass = moments[:, 0]
    with np.errstate(all="ignore"):
        fractions = moments[:, 1:] / mass[:, None]
    is_raw = _any_per_column(~_are_counts(mass), columns, len(sizes))
    raw = is_raw[columns]
    z = fractions[:, 0]
    is_single = ~raw & (mass == 1)
    for k, power in ((1, z * z), (2, z * z * z)):  # a value alone, not several of smaller weight
        is_single &= abs(fractions[:, k] - power) <= 2.0 ** -STEPS[k]
    differences = np.diff(cells, prepend=0)
    differences[starts] = 0
    others = ~is_single
    squares = _rounded(fractions[others, 1] - SQUARE_MIDDLE, STEPS[1], 2**31)
    cubes = _rounded(fractions[others, 2], STEPS[2], 2**31)
    return [
        np.where(is_raw, RAW_MASSES, 0).astype(np.uint8),
        pack_varints(differences.astype(np.uint64) * np.uint64(2) + others.astype(np.uint64)),
        pack_varints(mass[others & ~raw].astype(np.uint64)),
        mass[raw].astype("<f8").tobytes(),
        _five_bytes(_rounded(fractions[:, 0], STEPS[0], 2**39)),
        squares.astype("<i4").tobytes() + cubes.astype("<i4").tobytes(),
    ]


def _unpack_cells(
    parts: list[bytes], sizes: Int64Array, flags: NDArray[np.uint8], first: Int64Array
) -> tuple[Int64Array, Float64Array]:
    n = int(sizes.sum())
    columns = np.repeat(np.arange(len(sizes)), sizes)
    steps = unpack_varints(parts[0], n)
    others = (steps & np.uint64(1)) != 0
    differences = (steps >> np.uint64(1)).astype(np.int64)
    _require(int(differences.max(initial=0)) <= 2**54)
    starts = np.cumsum(sizes) - sizes
    starts = starts[sizes > 0]
    _require(not differences[starts].any() and bool((sizes > 0).all()))
    cells = np.cumsum(differences)  # wraps at most, and is then inconsistent
    cells += (first - cells[starts])[columns]
    raw = ((flags & RAW_MASSES) != 0)[columns]
    mass = np.ones(n)
    counted = others & ~raw
    mass[counted] = unpack_varints(parts[1], int(counted.sum())).astype(float)
    mass[raw] = _raw(parts[2], int(raw.sum()))
    z = _from_five_bytes(parts[3], n) * 2.0 ** -STEPS[0]
    fractions = np.column_stack([np.ones(n), z, z * z, z * z * z])
    n_others = int(others.sum())
    _require(len(parts[4]) == 8 * n_others)
    squares, cubes = np.frombuffer(parts[4], dtype="<i4").reshape(2, n_others).astype(float)
    fractions[others, 2] = squares * 2.0 ** -STEPS[1] + SQUARE_MIDDLE
    fractions[others, 3] = cubes * 2.0 ** -STEPS[2]
    return cells, fractions * mass[:, None]


def _rounded(fractions: Float64Array, step: int, limit: int) -> Int64Array:
    """Return fractions as integers of so many bits behind the point, of a size below the limit."""
    return np.clip(np.rint(fractions * 2.0**step), -limit, limit - 1).astype(np.int64)


def _five_bytes(numbers: Int64Array) -> bytes:
    """Return integers of 40 bits: the lower 32 of all of them, and then the upper 8."""
    return numbers.astype("<u4").tobytes() + (numbers >> 32).astype(np.int8).tobytes()


def _from_five_bytes(part: bytes, n: int) -> Float64Array:
    _require(len(part) == 5 * n)
    lower = np.frombuffer(part[: 4 * n], dtype="<u4").astype(float)
    upper = np.frombuffer(part[4 * n :], dtype=np.int8).astype(float)
    return np.asarray(upper * 2.0**32 + lower)


def _are_counts(masses: Float64Array) -> NDArray[np.bool_]:
    """Tell which masses are integers that a float holds without loss."""
    return np.asarray((masses >= 1) & (masses <= MAX_COUNT) & (masses == np.floor(masses)))


def _any_per_column(which: NDArray[np.bool_], columns: Int64Array, n_columns: int) -> NDArray[np.bool_]:
    return np.bincount(columns[which], minlength=n_columns) > 0


# ------------------------------------------------------------------------------------------------------ values


def _pack_values(values: Float64Array, masses: Float64Array, sizes: Int64Array) -> list[Any]:
    """Return flags per column, and the sections: raw values, differences of others, and masses."""
    columns = np.repeat(np.arange(len(sizes)), sizes)
    n_columns = len(sizes)
    with np.errstate(all="ignore"):
        negative_zero = (values == 0) & np.signbit(values)
        is_integer = (values == np.floor(values)) & (abs(values) < 2.0**53) & ~negative_zero
        is_single = values.astype(np.float32).astype(float) == values
    no_integers = _any_per_column(~is_integer, columns, n_columns)
    kinds = np.where(
        ~no_integers, INTEGERS, np.where(_any_per_column(~is_single, columns, n_columns), DOUBLES, SINGLES)
    )
    codes = _codes(values, kinds[columns])
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    differences = np.diff(codes, prepend=np.uint64(0))
    differences[starts] = codes[starts]
    lengths = np.bincount(columns, _varint_lengths(differences), minlength=n_columns)
    kinds = np.where(lengths > 8 * sizes, RAW, kinds)
    raw = (kinds == RAW)[columns]
    has_counts = ~_any_per_column(~_are_counts(masses), columns, n_columns)
    has_units = ~_any_per_column(masses != 1, columns, n_columns)
    counted, measured = (has_counts & ~has_units)[columns], (~has_counts)[columns]
    flags = (kinds << VALUES_SHIFT) | np.where(has_units, UNIT_MASSES, 0) | np.where(has_counts, 0, RAW_MASSES)
    counts = pack_varints(masses[counted].astype(np.uint64))
    return [
        flags.astype(np.uint8),
        values[raw].astype("<f8").tobytes(),
        pack_varints(differences[~raw]),
        struct.pack("<Q", len(counts)) + counts + masses[measured].astype("<f8").tobytes(),
    ]


def _unpack_values(
    parts: list[bytes], sizes: Int64Array, flags: NDArray[np.uint8]
) -> tuple[Float64Array, Float64Array]:
    n, columns = int(sizes.sum()), np.repeat(np.arange(len(sizes)), sizes)
    kinds = ((flags >> VALUES_SHIFT) & 3)[columns]
    raw = kinds == RAW
    values = np.empty(n)
    values[raw] = _raw(parts[0], int(raw.sum()))
    differences = np.zeros(n, dtype=np.uint64)
    differences[~raw] = unpack_varints(parts[1], int((~raw).sum()))
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    codes = np.cumsum(differences)  # modulo 2^64
    if len(starts):
        before = codes[starts] - differences[starts]
        codes -= np.repeat(before, sizes[sizes > 0])
    values[~raw] = _from_codes(codes[~raw], kinds[~raw])
    has_units, measured = ((flags & UNIT_MASSES) != 0)[columns], ((flags & RAW_MASSES) != 0)[columns]
    _require(not (has_units & measured).any())
    counted = ~has_units & ~measured
    (length,) = struct.unpack_from("<Q", parts[2])
    _require(length <= len(parts[2]) - 8)
    masses = np.ones(n)
    masses[counted] = unpack_varints(parts[2][8 : 8 + length], int(counted.sum())).astype(float)
    masses[measured] = _raw(parts[2][8 + length :], int(measured.sum()))
    return values, masses


def _codes(values: Float64Array, kinds: Int64Array) -> UInt64Array:
    """Return integers without sign that ascend with the values."""
    codes = np.zeros(len(values), dtype=np.uint64)
    for kind, number in FLOATS.items():
        own = kinds == kind
        bits, top = _bits_of(values[own].astype(number))
        codes[own] = np.where(bits & top, ~bits, bits | top)
    whole = kinds == INTEGERS
    codes[whole] = (values[whole].astype(np.int64) + 2**53).astype(np.uint64)
    return codes


def _from_codes(codes: UInt64Array, kinds: NDArray[Any]) -> Float64Array:
    values = np.zeros(len(codes))
    for kind, number in FLOATS.items():
        own = kinds == kind
        bits, top = _bits_of(np.zeros(0, dtype=number))
        _require(int(codes[own].max(initial=0)) <= np.iinfo(bits.dtype).max)
        bits = codes[own].astype(bits.dtype)
        values[own] = np.where(bits & top, bits ^ top, ~bits).astype(bits.dtype).view(number)
    whole = kinds == INTEGERS
    _require(int(codes[whole].max(initial=0)) <= 2**54)
    values[whole] = (codes[whole].astype(np.int64) - 2**53).astype(float)
    return values


def _bits_of(numbers: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return the bits of floats as integers without sign, and the bit of their sign."""
    bits = numbers.view(f"u{numbers.itemsize}")
    return bits, bits.dtype.type(1 << (8 * numbers.itemsize - 1))


# ----------------------------------------------------------------------------------------------------- varints


def pack_varints(numbers: UInt64Array) -> bytes:
    """Encode integers, seven bits per byte and the lowest first; all but the last byte of each have the eighth bit."""
    lengths = _varint_lengths(numbers)
    starts = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()), dtype=np.uint8)
    for k in range(int(lengths.max(initial=0))):
        longer = lengths > k
        low = (numbers[longer] >> np.uint64(7 * k)).astype(np.uint8) & np.uint8(0x7F)
        out[starts[longer] + k] = low | np.where(lengths[longer] > k + 1, 0x80, 0).astype(np.uint8)
    return out.tobytes()


def unpack_varints(part: bytes, n: int) -> UInt64Array:
    """Decode n integers, which must be all that there is."""
    codes = np.frombuffer(part, dtype=np.uint8)
    ends = np.flatnonzero(codes < 0x80)
    _require(len(ends) == n and ((n == 0 and not part) or (n > 0 and int(ends[-1]) == len(codes) - 1)))
    starts = np.concatenate([[0], ends[:-1] + 1]) if n else ends
    lengths = ends - starts + 1
    _require(int(lengths.max(initial=0)) <= 10)
    numbers = np.zeros(n, dtype=np.uint64)
    for k in range(int(lengths.max(initial=0))):
        longer = lengths > k
        numbers[longer] |= (codes[starts[longer] + k] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * k)
    return numbers


def _varint_lengths(numbers: UInt64Array) -> Int64Array:
    lengths = np.ones(len(numbers), dtype=np.int64)
    for end in VARINT_ENDS:
        longer = numbers >= np.uint64(end)
        if not longer.any():
            break
        lengths += longer
    return lengths


def _zigzag(numbers: Int64Array) -> UInt64Array:
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def _unzigzag(numbers: UInt64Array) -> Int64Array:
    half = (numbers >> np.uint64(1)).astype(np.int64)
    return np.where(numbers & np.uint64(1), ~half, half)


def _raw(part: bytes, n: int) -> Float64Array:
    _require(len(part) == 8 * n)
    return np.frombuffer(part, dtype="<f8").astype(float)
