"""How wide a sketch's cells may be: the error bound of the cells, and its inverse.

Expand G((x - c - z w)/h) in z about a cell's centre c and stop after z^3. What is left is at most (w/2h)^4 / 24
max|G''''|, whatever the data: the bound is known before a single value is seen.
"""

from __future__ import annotations

from math import ceil, floor, frexp, ldexp, log2
from typing import NamedTuple

from kdi._numerics.kernels import Kernel

NEVER_CELLS = 64  # values that are never worth cells
MAX_CELLS = 2**19  # cells that a column may span while it is being filled (32 bytes each, for each thread)
LINEAR_RANGE = (
    1e-4  # range/bandwidth below which a kernel is level over the range: min-max, to the square of this number
)
CAPACITY = 2**15  # distinct values, or occupied cells, that a sketch of unknown purpose keeps
TABLE_CELLS = 2**23  # cells that the sketches of a table may keep together while it is read in parts
MIN_CELLS = 2**11  # cells that every column may keep, however many columns there are
LARGE_COUNT = 2e8  # values up to which the capacity for an alpha is enough whatever the data
CELL_TOLERANCE = 1e-8  # what the cells may contribute to the error of T


def cell_error(kernel: Kernel, relative_width: float) -> float:
    """The most that cells of this width, in units of h, change a sum of kernel cdfs of total weight 1."""
    return min(relative_width, 1e60) ** 4 / 384 * kernel.bend


def least_total(kernel: Kernel, relative_range: float) -> float:
    """A lower bound of P_h(X(1), X(N)), the range in units of h: no value has less kernel inside than an end has."""
    distance = relative_range / kernel.scale
    if distance < 1e-3:  # the difference would cancel; the density falls by less than a thousandth over so short a way
        return 0.999 * distance * kernel.peak
    return 0.5 - kernel.tail_at(distance)


def cell_width_for(kernel: Kernel, bandwidth: float, value_range: float) -> float:
    """Widest cells whose error stays within CELL_TOLERANCE at this bandwidth."""
    if not (bandwidth > 0 and value_range > 0):
        return 0.0
    if value_range / bandwidth / kernel.scale < LINEAR_RANGE:  # min-max needs no more than the extremes
        return value_range
    total = least_total(kernel, value_range / bandwidth)
    return float(bandwidth * (CELL_TOLERANCE * total * 192 / kernel.bend) ** 0.25)


def width_exponent(width: float, low: float, high: float) -> int | None:
    """Exponent of the widest cells within `width`, MAX_CELLS permitting; None where only the values will do."""
    if not (width > 0 and 1e-270 < high - low < 1e270):  # powers of two outside the normal numbers are avoided
        return None
    exponent = max(floor(log2(width)), ceil(log2((high - low) / MAX_CELLS)))
    return None if exponent < finest_exponent(max(abs(low), abs(high))) else exponent


def finest_exponent(largest: float) -> int:
    """Exponent of the narrowest cells whose numbers are safe in 64 bits; hardly two numbers share one."""
    return frexp(largest)[1] - 50


def cell_of(value: float, exponent: int) -> int:
    """The number of the cell of 2**exponent that a value lies in; one that is next to nothing there keeps its side."""
    position = ldexp(value, -exponent)
    return floor(position) - (position == 0 and value < 0)


def keeps_values(exponent: int, value_range: float, count: int) -> bool:
    """Whether the values are the shorter summary: few, or no more than there would be cells."""
    return count <= max(NEVER_CELLS, value_range / 2.0**exponent)


class SketchCapacity(NamedTuple):
    """How much a sketch keeps: so many distinct values or, once there are more, so many occupied cells."""

    values: int = CAPACITY
    cells: int = CAPACITY


def capacity_for(kernel: Kernel, alpha: float, n_columns: int) -> SketchCapacity:
    """Room in which the cells that a bandwidth calls for are sure to fit, one of `n_columns` that share the memory.

    Cut into cells of c standard deviations, a column has at most 2k/c of them within k deviations of its mean and, by
    Chebyshev's inequality, at most N/k² values further out. k = (c N)^(1/3) makes that 3 (N/c²)^(1/3) occupied cells,
    for any data; c is half of what the bandwidth asks for at most, as widths are powers of two. (Of weights that are no
    counts, only the weight further out is so bounded, and there may be more values of little weight.)
    """
    share = TABLE_CELLS // n_columns
    if alpha == 0:  # ranks: nothing but the values will do
        return SketchCapacity(max(CAPACITY, 4 * share), min(MAX_CELLS, max(MIN_CELLS, share)))
    width = cell_width_for(kernel, alpha, LARGE_COUNT) / 2
    enough = int(min(3 * LARGE_COUNT ** (1 / 3) / width ** (2 / 3), MAX_CELLS)) if width else MAX_CELLS
    cells = max(MIN_CELLS, min(max(CAPACITY, enough), share))
    return SketchCapacity(cells, cells)
