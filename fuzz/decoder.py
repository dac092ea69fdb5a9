"""Decoder: numbers, columns and options from bytes, such that nasty ones come often and small changes stay small."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

One = TypeVar("One")
Column = NDArray[np.float64]

LARGEST = float(np.finfo(float).max)
SPECIAL = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-16, 1 + 2**-52, 1 - 2**-53, 1e9, 1e15, 2.0**53, -(2.0**53) - 2),
    *(5e-324, -5e-324, 1e-320, 2.2250738585072014e-308, 2.225073858507201e-308, 1e-300, 1e-290, 1e-270, 1e-160),
    *(1e160, 1e270, 1e290, 1e300, 1e308, LARGEST, -LARGEST, LARGEST / 2, -LARGEST / 2, 2.0**1023, 0.1, 1 / 3),
]
ALPHAS: list[Any] = [
    *(1.0, 0.0, float("inf"), 0.1, 10.0, "scott", "silverman", 0.01, 0.3, 3.0, 100.0, 1e-3, 1e3, 1e4, 1e6, 1e-6),
]
EXTREME_ALPHAS = [1e-10, 1e-100, 1e-290, 1e-308, 5e-324, 1e20, 1e100, 1e300, LARGEST]

UNIT_EXPONENTS = [-1074, -1070, -1060, -1022, -1000, -960, -540, -500, 500, 960, 1000, 1020]


def beside(values: Column) -> Column:
    """Return the floats next to some, on both sides."""
    return np.concatenate([np.nextafter(values, LARGEST), np.nextafter(values, -LARGEST)])


class Decoder:
    """Values decoded from bytes in order; when they are used up, every further byte is 0."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def __bool__(self) -> bool:
        return self.place < len(self.data)

    def take(self, n: int) -> bytes:
        """Return the next n bytes."""
        found = self.data[self.place : self.place + n]
        self.place += n
        return found.ljust(n, b"\0")

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        found = self.data[self.place :]
        self.place = len(self.data)
        return found

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included; low where no bytes are left."""
        size = ((high - low).bit_length() + 7) // 8
        return low + int.from_bytes(self.take(size), "little") % (high - low + 1)

    def choice(self, options: Sequence[One]) -> One:
        """Return one of some options; the first where no bytes are left."""
        return options[self.integer(0, len(options) - 1)]

    def one_in(self, n: int) -> bool:
        """Return True once in n times; False where no bytes are left."""
        return self.integer(0, n - 1) == n - 1

    def number(self) -> float:
        """Return a number of any size, finite or not: a special one, an integer, or any bits."""
        kind = self.integer(0, 3)
        if kind == 0:
            return float(self.integer(-128, 127))
        if kind == 1:
            return self.choice(SPECIAL)
        if kind == 2:
            return float(np.ldexp(float(self.integer(-1000, 1000)), self.integer(-1084, 1013)))
        value = float(struct.unpack("<d", self.take(8))[0])
        return value if value == value else float("nan")  # never a signalling NaN

    def alpha(self) -> Any:
        """Return a bandwidth factor."""
        if self.one_in(3):
            return 10.0 ** (self.integer(-300, 300) / 100)
        return self.choice(EXTREME_ALPHAS) if self.one_in(12) else self.choice(ALPHAS)

    def kernel(self) -> dict[str, Any]:
        """Return a kernel and its order."""
        kernel = self.choice(["polyexp", "gaussian"])
        return {"kernel": kernel, "order": self.choice([4, 1, 2, 3, 5, 6, 12]) if kernel == "polyexp" else 4}

    def column(self, most: int = 2000) -> Column:
        """Return a column: single numbers or many of one shape, ties, neighbours and gaps, of any unit and offset."""
        values = self._numbers() if self.one_in(2) else self._shape(most)
        if self.one_in(3):
            values = values[self._random().integers(0, len(values), len(values))]  # ties
        if self.one_in(4):  # any unit; subnormal numbers and overflow are what is looked for
            exponent = self.integer(-1100, 1023) if self.one_in(2) else self.choice(UNIT_EXPONENTS)
            with np.errstate(over="ignore", under="ignore"):
                values = np.ldexp(values, exponent)
        if self.one_in(4):
            with np.errstate(over="ignore", invalid="ignore"):
                values = values + self.choice([1.0, -1.0, 1e3, 1e9, 1e12, 1e15]) * self._size(values)
        while self and self.one_in(3):
            values[self.integer(0, 2**16 - 1) % len(values)] = self.number()
        if self.one_in(4):  # close pairs
            k = self.integer(1, 8)
            values = np.concatenate([values, np.nextafter(values[:k], self.choice([LARGEST, -LARGEST]))])
        if self.one_in(5):
            values[self._random().uniform(size=len(values)) < 0.2] = np.nan
        return np.asarray(values, dtype=float)

    def weights(self, n: int) -> Column | None:
        """Return weights of n rows, or None."""
        kind = self.choice(["none"] * 5 + ["counts", "uniform", "uniform", "any", "uneven", "tiny"])
        random = self._random()
        if kind == "none":
            return None
        if kind == "counts":
            return random.integers(0, 4, n).astype(float)
        if kind == "uniform":
            return random.uniform(0, 1, n) * 2.0 ** self.integer(-30, 30)
        if kind == "uneven":
            return np.exp2(random.integers(-self.integer(1, 1000), 1, n).astype(float))
        if kind == "tiny":
            return random.integers(0, 5, n) * self.choice([5e-324, 1e-310, 1e-300, 1e300])
        few = [abs(self.number()) for _ in range(min(n, 8))]
        return np.resize(np.array(few), n)

    def points(self, values: Column, most: int = 30) -> Column:
        """Return finite points at which to evaluate: values, what lies between and beside them, and beyond, sorted."""
        known = np.sort(values[np.isfinite(values)])
        if not len(known):
            return np.array([0.0])
        random = self._random()
        chosen = known if len(known) <= most else known[random.integers(0, len(known), most)]
        low, high = known[0], known[-1]
        share = random.uniform(0, 1, 20)
        between = low * (1 - share) + high * share
        halves = chosen[:-1] * 0.5 + chosen[1:] * 0.5
        found = np.concatenate([chosen, [low, high], between, halves, beside(chosen)])
        return np.unique(found[np.isfinite(found)])

    def _random(self) -> np.random.Generator:
        return np.random.default_rng(self.integer(0, 2**16 - 1))

    @staticmethod
    def _size(values: Column) -> float:
        finite = abs(values[np.isfinite(values)])
        return float(finite.max()) if len(finite) else 1.0

    def _numbers(self) -> Column:
        return np.array([self.number() for _ in range(self.integer(1, 24))])

    def _shape(self, most: int) -> Column:
        """Return many values of one of some shapes."""
        n = self.integer(1, most) if self.one_in(4) else self.integer(1, 100)
        random = self._random()
        kind = self.integer(0, 9)
        if kind == 0:
            return random.normal(size=n)
        if kind == 1:
            return random.standard_cauchy(size=n)
        if kind == 2:
            return random.lognormal(sigma=self.integer(1, 30), size=n)
        if kind == 3:
            return np.power(10.0, random.uniform(-self.integer(1, 300), self.integer(1, 300), size=n))
        if kind == 4:
            return random.poisson(self.integer(0, 20), size=n).astype(float)
        if kind == 5:  # two groups far apart
            return random.normal(size=n) + np.where(random.uniform(size=n) < 0.5, 0, 10.0 ** self.integer(0, 17))
        if kind == 6:  # a grid
            return np.arange(n) * 2.0 ** self.integer(-20, 20)
        if kind == 7:  # gaps that grow by a factor
            return np.cumsum(np.exp2(np.linspace(-self.integer(0, 60), self.integer(0, 60), n)))
        if kind == 8:  # one value far from the others
            return np.append(random.normal(size=n), self.number())
        return 1 + random.integers(0, 50, n) * 2.0**-52  # neighbouring numbers
