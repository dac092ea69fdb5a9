"""Sketch: a summary of a column, made in one pass, for every bandwidth.

The line is cut into cells of width w = 2^e, with edges at the multiples of w. A cell keeps the sums of 1, z, z², z³
over its values, z the offset from its centre in units of w:

    ──┬───────┬───────┬───────┬──        cell k holds the values in [k w, (k+1) w)
      │ · ·· ·│ ··:·· │  ·    │          moments[k] = Σ w_n (1, z_n, z_n², z_n³)
    ──┴───────┴───────┴───────┴──

The edges do not depend on the data, so sketches of partitions of a column add up, in any order, after the finer one
is coarsened, which is exact: the moments shift by the binomial formula. Only occupied cells are kept, so that a far
outlier costs one cell. A few distinct values, however often they occur, are kept as they are: every cell is then a
point, and every bound zero.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import frexp, inf, isfinite, ldexp, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kdi._numerics.backend import core
from kdi._numerics.kernels import get_kernel
from kdi._sketch import encoding
from kdi._sketch.cells import (
    MAX_COUNT,
    WIDEST_CELL,
    SketchCapacity,
    cell_error,
    finest_exponent,
    floor_log2,
    keeps_values,
    least_total,
    width_exponent,
)
from kdi._sketch.quartiles import RobustSpread, robust_spread
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, FloatArray, Int64Array
from kdi._utils.validation import as_column, as_weights, valid_values


@public_in("kdi")
@dataclass(eq=False, repr=False)
class Sketch:
    """Summary of a column: its extremes, and the moments of its values in cells.

    Make one with `from_values`; `Sketch()` is the sketch of an empty column. Sketches of the same column add up.

    Attributes
    ----------
    minimum, maximum : float
        The exact extremes; NaN while the sketch is empty.
    count : int
        Number of values, without NaN and values of weight zero.
    missing : int
        Number of NaN.
    exponent : int or None
        The width of the cells is 2**exponent; None where the distinct values themselves are kept.
    keys : ndarray of shape (n,)
        The distinct values, or the integers k of the occupied cells [k w, (k+1) w), ascending.
    moments : ndarray of shape (n, 1) or (n, 4)
        The weight of each value, or the moments 0 to 3 of each cell.

    Examples
    --------
    >>> import kdi
    >>> left, right = kdi.Sketch.from_values([1.0, 2.0, 2.0]), kdi.Sketch.from_values([7.0])
    >>> whole = left + right
    >>> whole
    Sketch(count=4, minimum=1.0, maximum=7.0, exact)
    >>> float(whole.mean), whole.is_exact
    (3.0, True)
    """

    minimum: float = float("nan")
    maximum: float = float("nan")
    count: int = 0
    missing: int = 0
    exponent: int | None = None
    keys: Float64Array | Int64Array = None  # type: ignore[assignment]
    moments: Float64Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.keys is None:
            self.keys, self.moments = np.empty(0), np.empty((0, 1))

    @classmethod
    def from_values(
        cls, values: ArrayLike, weights: ArrayLike | None = None, *, cell_width: float | None = None
    ) -> Sketch:
        """Sketch one column; NaN is counted and left out.

        Parameters
        ----------
        values : array-like of shape (n,)
        weights : array-like of shape (n,), optional
            A weight of 2 repeats a value, a weight of 0 removes it.
        cell_width : float, optional
            Largest width of the cells; the distinct values are kept where they are few, or no more than there would be
            cells. By default they are kept or, if there are more than 32768, the narrowest cells of which no more than
            that are occupied.
        """
        column = as_column(values)
        mass = as_weights(weights, len(column), "weights")
        if cell_width is not None and not (isfinite(cell_width) and cell_width > 0):
            raise ValueError(f"cell_width must be a positive number, got {cell_width!r}.")
        sketch = Sketch.exact(column, mass)
        if cell_width is None:
            return sketch.limited_to(SketchCapacity())
        exponent = floor_log2(min(cell_width, sketch.range))  # in wider cells, moments would lose digits
        if not sketch.count or exponent < finest_exponent(max(abs(sketch.minimum), abs(sketch.maximum))):
            return sketch
        return sketch if keeps_values(exponent, sketch.range, len(sketch)) else sketch.coarsened(exponent)

    @classmethod
    def exact(cls, column: FloatArray, weights: Float64Array | None = None) -> Sketch:
        """Sketch a column by its distinct values and their weights, however many there are."""
        values, mass, missing = valid_values(column, weights)
        return replace(cls.sorted(values, mass), missing=missing)

    @classmethod
    def sorted(cls, values: Float64Array, mass: Float64Array | None) -> Sketch:
        """Sketch finite values with positive weights by the distinct values; `values` may be sorted in place."""
        if not len(values):
            return Sketch()
        if mass is None:
            values.sort()
            mass = np.ones(len(values))
        else:
            order = np.argsort(values, kind="stable")
            values, mass = values[order], mass[order]
        distinct, moments = _add_equal(values, mass[:, None])
        return Sketch(float(distinct[0]), float(distinct[-1]), len(values), 0, None, distinct, moments)

    def add(self, values: ArrayLike, weights: ArrayLike | None = None) -> Sketch:
        """Add more values of the same column in place; return the sketch itself."""
        total = self + Sketch.from_values(values, weights)
        self.__dict__ = total.__dict__
        return self

    def __add__(self, other: Sketch) -> Sketch:
        if not isinstance(other, Sketch):
            return NotImplemented
        if self.weight + other.weight == inf:
            raise ValueError("the sum of the weights of both sketches must be finite; it overflows.")
        return self.merged(other).limited_to(SketchCapacity())

    def __radd__(self, other: object) -> Sketch:
        if other == 0:  # so that sum(sketches) works
            return replace(self)
        return NotImplemented

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached properties

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        kind = "exact" if self.is_exact else f"{len(self)} cells of 2**{self.exponent}"
        missing = f", missing={self.missing}" if self.missing else ""
        return f"Sketch(count={self.count}, minimum={self.minimum}, maximum={self.maximum}{missing}, {kind})"

    @property
    def is_exact(self) -> bool:
        """True if the distinct values themselves are kept, so that every integral of the sketch is exact."""
        return self.exponent is None

    @property
    def cell_width(self) -> float:
        """Width of the cells, 0 for an exact sketch."""
        return 0.0 if self.exponent is None else 2.0**self.exponent

    @cached_property
    def weight(self) -> float:
        """Sum of the weights."""
        with np.errstate(over="ignore"):
            return float(self.moments[:, 0].sum())

    @property
    def range(self) -> float:
        """The maximum less the minimum."""
        return self.maximum - self.minimum

    @property
    def mean(self) -> float:
        """Mean of the values, exact up to rounding."""
        return self._mean_and_std[0]

    @property
    def std(self) -> float:
        """Standard deviation (ddof=0), exact up to rounding."""
        return self._mean_and_std[1]

    @cached_property
    def robust_spread(self) -> RobustSpread:
        """The smaller of `std` and the interquartile range over that of a normal distribution, 1.349."""
        if not self.count or not self.range:
            return RobustSpread(self.std, 0.0, 0.0)
        scaled, shift = unit_sketch(self)
        spread, error, cell_width = robust_spread(self, scaled, shift)
        return RobustSpread(ldexp(spread, -shift), error, ldexp(cell_width, -shift))

    @cached_property
    def _mean_and_std(self) -> tuple[float, float]:
        if not self.count or not self.range:
            return self.minimum, 0.0 if self.count else float("nan")
        scaled, shift = unit_sketch(self)
        if scaled.cell_width > WIDEST_CELL:  # the moments say nothing about places within the range
            return 0.5 * self.minimum + 0.5 * self.maximum, 0.25 * self.maximum - 0.25 * self.minimum
        positions, width, mass = scaled.offsets, scaled.cell_width, scaled.moments[:, 0]
        sums = (scaled.moments.T @ np.ones(len(self))).tolist()
        centre = float(positions @ mass) / sums[0]  # roughly; what is left is much smaller, and so is its rounding
        positions -= centre
        rest = float(positions @ mass)
        if not self.is_exact:
            rest += width * sums[1]
        centre += rest / sums[0]
        positions -= rest / sums[0]
        square = float(positions * positions @ mass)
        if not self.is_exact:
            square += 2 * width * float(positions @ scaled.moments[:, 1]) + width**2 * sums[2]
        centre = min(max(centre, 0.0), scaled.range)  # rounding, or moments that are forged
        std = min(sqrt(max(square, 0.0) / sums[0]), 0.5 * scaled.range)
        return min(ldexp(scaled.minimum + centre, -shift), self.maximum), ldexp(std, -shift)

    @cached_property
    def offsets(self) -> Float64Array:
        """Positions of the values, or of the centres of the cells, relative to the minimum."""
        if self.exponent is None or not self.count:
            return np.asarray(self.keys - self.minimum, dtype=float)
        first = self.keys[0]
        within = self.minimum - first * self.cell_width  # exact, whatever the offset of the data
        return np.asarray((self.keys - first) * self.cell_width + (0.5 * self.cell_width - within))

    def merged(self, other: Sketch) -> Sketch:
        """Return both sketches merged, in the coarser cells of the two and without limit on their number."""
        if not other.count or not self.count:
            full = self if self.count else other
            return replace(full, missing=min(self.missing + other.missing, MAX_COUNT))
        exponents = [one.exponent for one in (self, other) if one.exponent is not None]
        if exponents:
            # However far out the other's values lie, the indices of their cells must remain exact integers.
            largest = max(abs(end) for one in (self, other) for end in (one.minimum, one.maximum))
            exponents.append(finest_exponent(largest))
        left, right = (one.coarsened(max(exponents)) if exponents else one for one in (self, other))
        keys, moments = core.merge(left.keys, left.moments, right.keys, right.moments)
        return Sketch(
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            min(self.count + other.count, MAX_COUNT),
            min(self.missing + other.missing, MAX_COUNT),
            left.exponent,
            keys,
            moments,
        )

    def coarsened(self, exponent: int) -> Sketch:
        """Return the sketch in cells of width 2**exponent, which must not be narrower than its own."""
        if self.exponent == exponent or not self.count:
            return self
        if self.exponent is None:
            finest = finest_exponent(max(abs(self.minimum), abs(self.maximum)))
            if exponent < finest:
                raise ValueError(f"cells must be at least 2**{finest} wide for these values, got 2**{exponent}.")
            keys, moments = core.cut(self.keys, np.ascontiguousarray(self.moments[:, 0]), exponent)
        elif exponent < self.exponent:
            raise ValueError(f"cells of 2**{self.exponent} cannot be divided into cells of 2**{exponent}.")
        else:
            keys, moments = core.widen(self.keys, self.moments, exponent - self.exponent)
        return replace(self, exponent=exponent, keys=keys, moments=moments)

    def coarsened_to_width(self, width: float) -> Sketch:
        """Return the sketch in the widest cells within `width`, or its values if they are no more than these cells.

        This leads to the same cells however a column was divided, so that results do not depend on that. Where the
        values would be kept but the sketch has cells, these remain as they are.
        """
        exponent = width_exponent(width, self.minimum, self.maximum)
        if exponent is None or (self.exponent is not None and self.exponent >= exponent):
            return self
        return self if keeps_values(exponent, self.range, self.count) else self.coarsened(exponent)

    def error_bound(self, bandwidth: float, kernel: str = "polyexp", order: int = 4) -> float:
        """Bound the error that the cells make in the kernel density integral T at this bandwidth.

        A cell's Taylor expansion stops after the third moment; the rest is at most ``(w/2h)^4 / 24 max|G''''|``, and
        enters T twice, divided by P_h(X(1), X(N)) >= G(range/h) - 1/2.
        """
        if not 0 < bandwidth < inf:
            raise ValueError(f"bandwidth must be positive and finite, got {bandwidth!r}.")
        chosen = get_kernel(kernel, order)
        if self.is_exact:
            return 0.0
        error = cell_error(chosen, self.cell_width / bandwidth)
        total = least_total(chosen, self.range / bandwidth)
        return 2 * error / total if total else float(error > 0)

    def to_bytes(self) -> bytes:
        """Encode the sketch as bytes: versioned, little-endian, with a checksum."""
        return encoding.pack(**self.__getstate__())

    @classmethod
    def from_bytes(cls, data: bytes) -> Sketch:
        """Decode the sketch that `to_bytes` encoded; raise ValueError for any other bytes."""
        return cls(*encoding.unpack(data))

    def limited_to(self, capacity: SketchCapacity) -> Sketch:
        """Return the sketch, coarsened as little as the capacity requires.

        A partition of a column never needs wider cells than the whole. Partitions that are limited before they are
        merged therefore lead to the same cells as the whole, in any order.
        """
        if len(self) <= (capacity.values if self.is_exact else capacity.cells):
            return self
        finest = self.exponent
        if finest is None:  # the narrowest cells that separate neighbouring numbers
            finest = finest_exponent(max(abs(self.minimum), abs(self.maximum)))
        return self.coarsened(finest + core.doublings(self.keys, finest, capacity.cells))


def unit_sketch(sketch: Sketch) -> tuple[Sketch, int]:
    """Return a sketch in units of 2**-shift, in which its range is between 1/2 and 1, and the shift.

    What is computed from it is exact to rounding however large or small the values are. Weights are scaled by a power
    of two where their sums could overflow or lose digits.
    """
    shift = -frexp(sketch.range)[1] if sketch.range < inf else -1025
    if sketch.exponent is None:
        keys, exponent = np.ldexp(sketch.keys, shift), None
    else:
        keys, exponent = sketch.keys, sketch.exponent + shift
    largest = frexp(float(sketch.moments[:, 0].max()))[1]
    moments = np.ldexp(sketch.moments, -largest) if largest > 900 or largest < -400 else sketch.moments
    ends = ldexp(sketch.minimum, shift), ldexp(sketch.maximum, shift)
    return Sketch(*ends, sketch.count, sketch.missing, exponent, keys, moments), shift


def _add_equal(
    keys: Float64Array | Int64Array, moments: Float64Array
) -> tuple[Float64Array | Int64Array, Float64Array]:
    """Return the distinct keys, and the sums of the moments of equal ones."""
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    if len(first) == len(keys):
        return keys, moments
    return keys[first], np.add.reduceat(moments, first, axis=0)
