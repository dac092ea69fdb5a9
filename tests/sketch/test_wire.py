"""Sketches as engines send them: short, within rounding of what was packed, and any other bytes are a ValueError."""

import pickle
import struct
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from oracle import transform as direct_sum
from shuffled_partitions import ShuffledPartitions

from kdi import KDITransformer, Sketch
from kdi._numerics.kernels import get_kernel
from kdi._sketch.cells import finest_exponent, sent_capacity_for
from kdi._sketch.partitions import TableSummary
from kdi._sketch.wire import LENGTHS, WIRE_HEADER, pack_table, pack_varints, unpack_table, unpack_varints

pytestmark = pytest.mark.numpy_core

BYTES = {1.0: 32_000, 0.1: 128_000}  # that a column of a partition may take
KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "bimodal": lambda rng, n: rng.normal(size=n) + 1000.0 * (rng.random(n) < 0.5),
    "integers": lambda rng, n: rng.poisson(4, size=n).astype(float),
    "offset": lambda rng, n: 1e9 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-300 * rng.normal(size=n),
    "huge": lambda rng, n: 1e300 * rng.normal(size=n),
    "singles": lambda rng, n: rng.normal(size=n).astype(np.float32).astype(float),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
    "constant": lambda rng, n: np.full(n, -0.0),
    "empty": lambda rng, n: np.full(n, np.nan),
}


def sketch_of(kind, n, alpha=1.0, weights=None):
    rng = np.random.default_rng(n)
    capacity = sent_capacity_for(get_kernel("polyexp"), alpha, 1)
    mass = None if weights is None else weights(rng, n)
    return Sketch.exact(KINDS[kind](rng, n), mass).limited_to(capacity)


def assert_same(sketch, again):
    """The same but for the moments 1 to 3 of cells, which may be rounded to small parts of a cell."""
    for name in ("minimum", "maximum", "count", "missing", "exponent"):
        np.testing.assert_equal(getattr(again, name), getattr(sketch, name))
    np.testing.assert_array_equal(again.keys, sketch.keys)
    np.testing.assert_array_equal(np.signbit(again.keys), np.signbit(sketch.keys))
    np.testing.assert_array_equal(again.moments[:, 0], sketch.moments[:, 0])
    allowed = sketch.moments[:, :1] * [0, 2.0**-40, 2.0**-34, 2.0**-34]
    assert (abs(again.moments - sketch.moments) <= allowed[:, : sketch.moments.shape[1]]).all()


@pytest.mark.parametrize("alpha", BYTES)
@pytest.mark.parametrize("n", [1, 2, 1000, 3584, 3585, 20_000, 100_000])
@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_and_size(kind, n, alpha):
    sketch = sketch_of(kind, n, alpha)
    data = pack_table([sketch])
    (again,) = unpack_table(data)
    assert_same(sketch, again)
    assert len(data) <= BYTES[alpha]
    if n >= 1000:
        assert len(data) <= 8 * n


@pytest.mark.parametrize(
    "weights",
    [
        lambda rng, n: rng.uniform(size=n),
        lambda rng, n: rng.integers(1, 4, size=n).astype(float),
        lambda rng, n: np.full(n, 0.5),
        lambda rng, n: 1e-290 * rng.uniform(size=n),
        lambda rng, n: 1e290 * rng.uniform(size=n),
    ],
)
@pytest.mark.parametrize("n", [10, 20_000])
def test_weights(n, weights):
    for kind in ("normal", "integers", "cauchy"):
        sketch = sketch_of(kind, n, weights=weights)
        assert_same(sketch, unpack_table(pack_table([sketch]))[0])


def test_columns_of_a_table():
    sketches = [sketch_of(kind, n) for kind in KINDS for n in (3, 5000)]
    sketches += [sketch_of("normal", 5000, weights=lambda rng, n: rng.uniform(size=n)), Sketch(), Sketch(missing=3)]
    for sketch, again in zip(sketches, unpack_table(pack_table(sketches)), strict=True):
        assert_same(sketch, again)
    assert unpack_table(pack_table([])) == []


@settings(max_examples=200)
@given(
    arrays.arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e300, 1e300, width=64)),
    st.integers(1, 6),
)
@example(np.array([5e-324, 0.0]), 3)
@example(np.array([1e300, np.nextafter(1e300, np.inf)]), 6)
def test_any_column(values, doublings):
    sketch = Sketch.from_values(values)
    assert_same(sketch, unpack_table(pack_table([sketch]))[0])
    if 1e-290 < sketch.range < np.inf:  # cells that are a part of the range wide
        finest = finest_exponent(max(abs(sketch.minimum), abs(sketch.maximum)))
        cells = sketch.coarsened(max(int(np.frexp(sketch.range)[1]) - doublings, finest))
        assert_same(cells, unpack_table(pack_table([cells]))[0])


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50))
def test_varints(numbers):
    numbers = np.array(numbers, dtype=np.uint64)
    np.testing.assert_array_equal(unpack_varints(pack_varints(numbers), len(numbers)), numbers)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "lognormal", "offset", "missing"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0, 10.0, "scott"])
def test_fits_equal_those_in_memory(kind, alpha):
    """Whatever the partitions, through a tree whose every edge is a message."""
    rng = np.random.default_rng(3)
    x = KINDS[kind](rng, 40_000)[:, None]
    x[10_000:20_000].sort(axis=0)  # a partition with another spread
    model = KDITransformer(alpha)._fit_partitions(
        ShuffledPartitions(x, [1000, 11_000, 15_000, 15_001, 36_000], is_distributed=True)
    )
    memory = KDITransformer(alpha).fit(x)
    np.testing.assert_allclose(model.transform(x), memory.transform(x), rtol=0, atol=1e-9)
    places = np.nanquantile(x, np.linspace(0, 1, 41), method="nearest")[:, None]
    values = x[~np.isnan(x)]
    if alpha != 0.0:
        error = abs(model.transform(places)[:, 0] - direct_sum(values, places[:, 0], model.alpha_[0], "polyexp")).max()
        assert error <= model.error_bound_[0]


def test_summaries_are_short_and_columns_are_read_again_where_that_is_needed():
    rng = np.random.default_rng(0)
    n = 60_000
    usual, cuts = rng.normal(size=(n, 1)), [20_000, 40_000]
    table = ShuffledPartitions(usual, cuts, is_distributed=True)
    KDITransformer()._fit_partitions(table)
    assert table.readings == 1
    assert max(table.sent_bytes) <= BYTES[1.0]
    # As many values far out as the deviation allows, each in a cell of its own.
    far = np.linspace(-1.75, 1.75, 3000)
    hard = np.r_[far, rng.normal(size=n - len(far)) * 1e-3][rng.permutation(n)][:, None]
    table = ShuffledPartitions(hard, cuts, is_distributed=True)
    model, memory = KDITransformer(0.3)._fit_partitions(table), KDITransformer(0.3).fit(hard)
    assert table.readings == 2
    np.testing.assert_allclose(model.transform(hard), memory.transform(hard), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.error_bound_, memory.error_bound_, rtol=1e-3)


def test_a_summary_is_pickled_by_the_wire_format():
    summary = TableSummary([sketch_of("normal", 20_000)], [2], 20_000, False)
    data = pickle.dumps(summary)
    assert len(data) < 32_000
    again = pickle.loads(data)
    assert (again.infinite, again.n_rows, again.has_weight) == ([2], 20_000, False)
    assert_same(summary.sketches[0], again.sketches[0])


# ------------------------------------------------------------------------------------------------ hostile bytes

SMALL = [pack_table([sketch_of(kind, n) for kind in ("normal", "integers", "missing")]) for n in (5, 4000)]


@pytest.mark.parametrize("data", SMALL)
def test_truncated(data):
    for end in [0, 1, 4, 20, len(data) // 2, len(data) - 1]:
        with pytest.raises(ValueError, match="data"):
            unpack_table(data[:end])
    with pytest.raises(ValueError, match="must have"):
        unpack_table(data + b"x")


@pytest.mark.parametrize("given", [None, 3, "text", [1, 2]])
def test_no_bytes(given):
    with pytest.raises(ValueError, match="must be the bytes of sketches"):
        unpack_table(given)


def test_another_version():
    with pytest.raises(ValueError, match="format version 9, but this release reads version 1"):
        unpack_table(SMALL[0][:4] + b"\x09" + SMALL[0][5:])


def test_a_flipped_bit():
    for place in range(9, len(SMALL[0]), 7):
        data = bytearray(SMALL[0])
        data[place] ^= 4
        with pytest.raises(ValueError, match=r"sketches|must have"):
            unpack_table(bytes(data))


def forged(data, place, byte):
    """Change a byte, and the checksum with it."""
    body = bytearray(data[:-4])
    body[place] = byte
    return bytes(body) + struct.pack("<I", zlib.crc32(bytes(body)))


@settings(max_examples=400)
@given(st.data())
def test_forged_bytes_are_sketches_or_a_value_error(data):
    packed = data.draw(st.sampled_from(SMALL))
    place = data.draw(st.integers(4, len(packed) - 5))
    byte = data.draw(st.integers(0, 255))
    try:
        sketches = unpack_table(forged(packed, place, byte))
    except ValueError:
        return
    for sketch in sketches:  # consistent: they can be used
        sketch.to_bytes()
        assert sketch.merged(sketch).count >= sketch.count


def test_forged_sizes_allocate_nothing():
    start = WIRE_HEADER.size + LENGTHS.size
    for number in (2**40, 2**63 - 1):
        sections = [np.zeros(2).tobytes(), b"\x01", pack_varints(np.array([1, 0, number, 0], dtype=np.uint64))]
        sections += [b""] * 8
        body = WIRE_HEADER.pack(b"KDIW", 1, 1) + LENGTHS.pack(*map(len, sections)) + b"".join(sections)
        assert len(body) > start
        with pytest.raises(ValueError, match="damaged"):
            unpack_table(body + struct.pack("<I", zlib.crc32(body)))
