"""Sketch.from_bytes: hostile bytes are a ValueError; a sketch that is accepted adds up, is encoded and is fitted."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from functools import cache

import numpy as np

import kdi
from fuzz.checks import DATA_ERRORS, documented
from fuzz.decoder import Decoder

HEADER = struct.Struct("<4sBBhQQQdd")  # as in kdi/_sketch/encoding.py


@cache
def partners() -> list[kdi.Sketch]:
    """Sketches to add: empty, exact, in cells, and of few values far away."""
    values = np.random.default_rng(1).normal(size=300)
    return [
        kdi.Sketch(),
        kdi.Sketch.from_values([0.0, 1.0, 2.5]),
        kdi.Sketch.from_values(values, cell_width=0.25),
        kdi.Sketch.from_values([-1e300, 1e-300]),
    ]


def check(data: bytes) -> None:
    """Read bytes as a sketch; the first byte says whether to repair length and checksum."""
    decoder = Decoder(data)
    mode, other, alpha = decoder.integer(0, 3), decoder.choice(partners()), decoder.alpha()
    if mode == 0:
        given = decoder.rest()
    elif mode == 1:
        given = repaired(decoder.rest())
    else:
        given = repaired(changed(decoder, encoded(decoder)))
    sketch: kdi.Sketch | None = None
    with documented(".*"):
        sketch = kdi.Sketch.from_bytes(given)
    if sketch is None:
        return
    with documented():
        assert kdi.Sketch.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes(), "encoded again"
        repr(sketch), sketch.weight, len(sketch)
        if np.isfinite(sketch.range):
            assert sketch.std <= sketch.range or not sketch.count, "std"
        _add(sketch, other)
    for use in (_fit, _estimate):
        with documented(".*"):  # ranges, weights and bandwidths that overflow
            use(sketch, alpha)


def encoded(decoder: Decoder) -> bytes:
    """Return the bytes of a sketch of some column."""
    column = decoder.column(100)
    column[~np.isfinite(column)] = np.nan
    weights, width = decoder.weights(len(column)), abs(decoder.number())
    with suppress(ValueError):  # weights that overflow
        wanted = width if decoder.one_in(2) and 0 < width < np.inf else None
        return kdi.Sketch.from_values(column, weights, cell_width=wanted).to_bytes()[:-4]
    return kdi.Sketch.from_values(column).to_bytes()[:-4]


def changed(decoder: Decoder, body: bytes) -> bytes:
    """Replace a few of the fields or of the numbers."""
    result = bytearray(body)
    for _ in range(decoder.integer(0, 3)):
        kind = decoder.integer(0, 3)
        if kind == 0:
            struct.pack_into("<h", result, 6, decoder.integer(-1200, 1200))
        elif kind == 1:
            struct.pack_into("<Q", result, decoder.choice([16, 24]), decoder.choice([0, 1, 2, 2**53, 2**63, 2**64 - 1]))
        else:
            n = (len(result) - 32) // 8
            struct.pack_into("<d", result, 32 + 8 * decoder.integer(0, n - 1), decoder.number())
    return bytes(result)


def repaired(given: bytes) -> bytes:
    """Return bytes with a header that fits their length and a checksum that fits their content."""
    body = bytearray(given.ljust(HEADER.size, b"\0"))
    body[:5] = b"KDIS\1"
    size = 40 if body[5] else 16
    n = (len(body) - HEADER.size) // size
    body = body[: HEADER.size + n * size]
    struct.pack_into("<Q", body, 8, n)
    return bytes(body) + struct.pack("<I", zlib.crc32(body))


def _add(sketch: kdi.Sketch, other: kdi.Sketch) -> None:
    for one, another in ((sketch, sketch), (sketch, other), (other, sketch)):
        with documented(*DATA_ERRORS):
            total = one + another
            counts = one.count + another.count, one.missing + another.missing
            assert (total.count, total.missing) == tuple(min(n, 2**53) for n in counts), "counts add up"
            assert kdi.Sketch.from_bytes(total.to_bytes()).to_bytes() == total.to_bytes(), "sums can be encoded"


def _fit(sketch: kdi.Sketch, alpha: object) -> None:
    model = kdi.KDITransformer(alpha, max_knots=1000).fit_sketches([sketch])
    low, high = np.nan_to_num([sketch.minimum, sketch.maximum])
    at = np.unique(np.r_[low, high, low * 0.5 + high * 0.5, 0.0, 1.0, np.nextafter([low, high], 0)])
    result = model.transform(at[:, None])[:, 0]
    if sketch.count:
        assert ((result >= 0) & (result <= 1)).all(), "within [0, 1]"
        assert (np.diff(result) >= 0).all(), "never decreases"
        back = model.inverse_transform(np.linspace(0, 1, 9)[:, None])[:, 0]
        assert ((back >= low) & (back <= high)).all(), "the way back stays within the range"
    assert 0 <= model.error_bound_[0] <= 1, "bound"
    assert kdi.KDITransformer.from_json(model.to_json()).to_json() == model.to_json(), "JSON"
    model.partial_fit(at[:, None]).transform(at[:, None])


def _estimate(sketch: kdi.Sketch, alpha: object) -> None:
    kde = kdi.KDE1D(sketch, alpha=alpha)
    cdf = kde.cdf([sketch.minimum, sketch.maximum])
    assert ((cdf >= 0) & (cdf <= 1)).all(), "a cdf"
