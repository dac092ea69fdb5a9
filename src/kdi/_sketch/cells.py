"""The widest cells that a sketch may have: the error bound of the cells, and its inverse.

Expand G((x - c - z w)/h) in z about a cell's centre c and stop after z^3. The remainder is at most (w/2h)^4 / 24
max|G''''|, whatever the data: the bound is known before a single value is seen.
"""

from __future__ import annotations

from math import floor, frexp, inf, ldexp
from typing import NamedTuple

from kdi._numerics.kernels import Kernel

FEW_VALUES = 64  # no more values than that are always kept as they are
MAX_CELLS = 2**19  # cells that a column may span while it is being filled (32 bytes each, for each thread)
# Range/bandwidth below which T is a straight line, as for min-max, up to an error of the square of this number.
LINEAR_RANGE = 1e-4
DEFAULT_CAPACITY = 2**15  # distinct values, or occupied cells, that a sketch of unknown purpose keeps
FILLED_EXPONENTS = range(-1022, 1023)  # of cells that values are added to: their widths have an inverse
LEAST_WEIGHT = 1e-290  # of a column in memory that is cut into cells
LEAST_EXPONENT = -1074  # of 2**e, the smallest positive number: no two numbers are closer
WIDEST_CELL = 2.0**20  # cells wider than so many ranges of the column tell nothing about places within it
MAX_COUNT = 2**53  # floats hold all integers up to this one
MAX_TABLE_CELLS = 2**23  # cells that the sketches of a table may keep together while its partitions are read
MIN_COLUMN_CELLS = 2**11  # cells that every column may keep, however many columns there are
SENT_CELLS = 1792  # cells that a partition sends at least, if that many are occupied: twice what a normal column needs
SENT_CELLS_PER_ALPHA = 740  # the same for small alphas, in units of 1/alpha
LARGE_COUNT = 2e8  # number of values up to which the capacity for an alpha is enough whatever the data
CELL_TOLERANCE = 1e-8  # what the cells may contribute to the error of T


def cell_error(kernel: Kernel, relative_width: float) -> float:
    """Bound the error that cells of this width, in units of h, make in a sum of kernel cdfs of total weight 1."""
    return min(relative_width, 1e60) ** 4 / 384 * kernel.max_fourth_derivative


def least_total(kernel: Kernel, relative_range: float) -> float:
    """Return a lower bound of P_h(X(1), X(N)), the range in units of h: the ends have the least kernel inside."""
    distance = relative_range / kernel.scale
    if distance < 1e-3:  # the difference would cancel; the density falls by less than a thousandth over that distance
        return 0.999 * distance * kernel.peak
    return 0.5 - kernel.tail_at(distance)


def cell_width_for(kernel: Kernel, bandwidth: float, value_range: float) -> float:
    """Return the largest width of cells whose error stays within CELL_TOLERANCE at this bandwidth."""
    if not (bandwidth > 0 and value_range > 0):
        return 0.0
    if value_range / bandwidth / kernel.scale < LINEAR_RANGE:  # min-max only needs the extremes
        return value_range
    total = least_total(kernel, value_range / bandwidth)
    return float(bandwidth * (CELL_TOLERANCE * total * 192 / kernel.max_fourth_derivative) ** 0.25)


def width_exponent(width: float, low: float, high: float) -> int | None:
    """Return the exponent of the widest cells within `width` and MAX_CELLS; None where the values must be kept."""
    if not (width > 0 and 0 < high - low < inf):
        return None
    mantissa, above = frexp(high - low)
    exponent = max(floor_log2(width), above - (mantissa == 0.5) - floor_log2(MAX_CELLS))
    return None if exponent < finest_exponent(max(abs(low), abs(high))) else exponent


def floor_log2(width: float) -> int:
    """Return the largest integer e such that 2**e <= width, without the rounding of a logarithm."""
    return frexp(width)[1] - 1


def finest_exponent(largest: float) -> int:
    """Return the exponent of the narrowest cells whose indices are safe in 64 bits; hardly two numbers share one.

    Zero is in cell 0 however narrow the cells are, so it allows the narrowest of all.
    """
    return max(frexp(largest)[1] - 50, LEAST_EXPONENT) if largest else LEAST_EXPONENT


def cell_of(value: float, exponent: int) -> int:
    """Return the index of the cell of width 2**exponent with a value; a negative one that underflows stays below 0."""
    position = ldexp(value, -exponent)
    return floor(position) - (position == 0 and value < 0)


def keeps_values(exponent: int, value_range: float, count: int) -> bool:
    """Tell whether the values are the shorter summary: few, or no more than there would be cells."""
    return count <= max(FEW_VALUES, value_range / 2.0**exponent)


class SketchCapacity(NamedTuple):
    """Maximal size of a sketch: a number of distinct values or, once there are more, a number of occupied cells."""

    values: int = DEFAULT_CAPACITY
    cells: int = DEFAULT_CAPACITY


def capacity_for(kernel: Kernel, alpha: float, n_columns: int) -> SketchCapacity:
    """Return a capacity that is enough for the cells of a bandwidth; `n_columns` share the memory.

    Cut into cells of c standard deviations, a column has at most 2k/c of them within k deviations of its mean and, by
    Chebyshev's inequality, at most N/k² values further out. k = (c N)^(1/3) makes that 3 (N/c²)^(1/3) occupied cells,
    for any data; c is at least half of what the bandwidth asks for, as widths are powers of two. (With weights that
    are not counts, only the weight further out is bounded, and there may be more values of little weight.)
    """
    share = MAX_TABLE_CELLS // n_columns
    if alpha == 0:  # ranks need the values themselves
        return SketchCapacity(max(DEFAULT_CAPACITY, 4 * share), min(MAX_CELLS, max(MIN_COLUMN_CELLS, share)))
    width = cell_width_for(kernel, alpha, LARGE_COUNT) / 2
    enough = int(min(3 * LARGE_COUNT ** (1 / 3) / width ** (2 / 3), MAX_CELLS)) if width else MAX_CELLS
    cells = max(MIN_COLUMN_CELLS, min(max(DEFAULT_CAPACITY, enough), share))
    return SketchCapacity(cells, cells)


def sent_capacity_for(kernel: Kernel, alpha: float, n_columns: int) -> SketchCapacity:
    """Return the capacity of partitions whose summaries travel and can be read again: what most columns need.

    A normal column of a billion values needs 860 cells of 0.014 deviations for alpha = 1, and 1/alpha times as many for
    another. Columns for which the capacity was not enough are read again in the cells that they need.
    """
    capacity = capacity_for(kernel, alpha, n_columns)
    if alpha == 0:
        return capacity
    cells = min(capacity.cells, max(SENT_CELLS, int(SENT_CELLS_PER_ALPHA / alpha)))
    return SketchCapacity(2 * cells, cells)  # values take half as many bytes
