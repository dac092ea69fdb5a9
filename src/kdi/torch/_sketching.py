"""Sketches of a table on its device: the cells are planned on the host, the values are summed on the device.

A backend has two functions, `scan` and `fill`: kernels.cu by `_cuda`, plain torch operations by `_plain`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kdi._integral.bandwidth import resolve_factors
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import (
    DEFAULT_CAPACITY,
    FILLED_EXPONENTS,
    LEAST_WEIGHT,
    MAX_CELLS,
    SketchCapacity,
    cell_of,
    cell_width_for,
    finest_exponent,
    width_exponent,
)
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array
from kdi.torch._parameters import check_ends
from kdi.torch._sketches import EMPTY_EXPONENT, Sketches

RESERVE = 8.0  # factor by which cells are narrower than one bandwidth needs, where another may be asked for
MAX_READINGS = 4  # of a table whose robust spread shows only in narrow cells
SPREAD_TOLERANCE = 1e-3  # relative error of a robust spread that is not worth a warning
SUM_BITS = 60  # of sums of 63 bits, so that no sum overflows


class TableStats(NamedTuple):
    """Statistics of each column, as tensors of float64."""

    low: Tensor
    high: Tensor
    weight: Tensor
    std: Tensor
    count: Tensor
    missing: Tensor

    def on_host(self) -> list[Float64Array]:
        """Return the statistics as arrays, in one copy."""
        return list(torch.stack(list(self)).cpu().numpy())


@dataclass(frozen=True)
class CellPlan:
    """The cells of each column: width, first index, number, and place in the result of `fill`."""

    exponents: Int64Array
    first: Int64Array
    sizes: Int64Array
    unit_exponents: Int64Array  # of the integers that stand for weights: 2**unit_exponent is a weight of 1

    @property
    def starts(self) -> Int64Array:
        return np.cumsum(self.sizes) - self.sizes

    @property
    def n_cells(self) -> int:
        return int(self.sizes.sum())


class Backend(Protocol):
    """What a device must be able to do."""

    def scan(self, x: Tensor, weights: Tensor | None, *, skip_infinite: bool) -> TableStats: ...
    def fill(self, x: Tensor, weights: Tensor | None, plan: CellPlan) -> Tensor: ...


def sketch_columns(
    x: Tensor,
    weights: Tensor | None,
    factors: Float64Array,
    kernel: Kernel,
    shape: tuple[int, ...],
    backend: Backend,
    *,
    robust: bool = False,
    reserve: float = RESERVE,
    skip_infinite: bool = False,
) -> tuple[Sketches, NDArray[np.bool_]]:
    """Sketch the columns of a table in cells that their bandwidths need, narrower by the factor `reserve`.

    Return the sketches, and with `robust` which columns need narrower cells than their ranges can be divided into.
    """
    stats = backend.scan(x, weights, skip_infinite=skip_infinite)
    low, high, weight, std, count, missing = stats.on_host()
    check_ends(low, high, shape)
    alphas = resolve_factors(factors, weight)
    with np.errstate(invalid="ignore", over="ignore"):
        ranges, bandwidths = high - low, alphas * np.where(np.isfinite(std), std, 0.0) * (1 - 1e-6)
    widths = _widths(kernel, bandwidths, ranges) / reserve
    too_wide = np.zeros(len(widths), dtype=bool)
    for _ in range(MAX_READINGS if robust else 1):
        sketches = _fill(x, weights, widths, (low, high, weight, count, missing), shape, backend, skip_infinite)
        if not robust:
            break
        narrower, own = _robust_widths(sketches, alphas, kernel, ranges), _cell_widths(sketches)
        too_wide = narrower < own
        if not (too_wide & (own / 2 >= ranges / MAX_CELLS)).any():  # the others cannot be narrower
            break
        widths = np.minimum(widths, narrower)
    return sketches, too_wide


def with_columns_of_host(
    sketches: Sketches, x: Tensor, weights: Tensor | None, chosen: NDArray[np.bool_], *, skip_infinite: bool
) -> Sketches:
    """Replace the sketches of some columns by those that the host makes of their values.

    Warn about those whose robust spread does not show in these cells either.
    """
    by_host, coarse = {}, []
    for j in np.flatnonzero(chosen).tolist():
        exact = _values_of(x[:, j], weights, skip_infinite)
        by_host[j] = exact.limited_to(SketchCapacity(values=0, cells=DEFAULT_CAPACITY))
        if not np.isclose(by_host[j].robust_spread.value, exact.robust_spread.value, rtol=SPREAD_TOLERANCE, atol=0):
            coarse.append(j)
    if coarse:
        warnings.warn(
            f"the values of columns {coarse[:5]} are too far apart for sketches with spread='robust': their bandwidths "
            "are in units of a larger spread. Use kdi.torch.fit, or clip the values first.",
            stacklevel=3,
        )
    of_host = torch.from_numpy(np.array(chosen)).to(x.device)
    others = ~of_host[sketches.columns]
    columns, cells, moments = sketches.columns[others], sketches.cells[others], sketches.moments[others]
    return _with_host_columns(replace(sketches, columns=columns, cells=cells, moments=moments), by_host)


def _widths(kernel: Kernel, bandwidths: Float64Array, ranges: Float64Array) -> Float64Array:
    pairs = zip(bandwidths.tolist(), ranges.tolist(), strict=True)
    return np.array([cell_width_for(kernel, bandwidth, value_range) for bandwidth, value_range in pairs])


def _cell_widths(sketches: Sketches) -> Float64Array:
    widths: Float64Array = np.ldexp(1.0, sketches.exponents.cpu().numpy().clip(-1074, 1023))
    return widths


def _robust_widths(sketches: Sketches, alphas: Float64Array, kernel: Kernel, ranges: Float64Array) -> Float64Array:
    """Return the width of cells that the robust spread of each column asks for; infinite where it asks for none."""
    spreads = [sketch.robust_spread if sketch.count else None for sketch in sketches.to_host()]
    own = np.array([np.inf if one is None or not one.cell_width else one.cell_width for one in spreads])
    bandwidths = alphas * np.array([0.0 if one is None else one.value for one in spreads])
    widths = _widths(kernel, bandwidths, ranges)
    narrowest: Float64Array = np.minimum(own, np.where(widths > 0, widths, np.inf))
    return narrowest


def _fill(
    x: Tensor,
    weights: Tensor | None,
    widths: Float64Array,
    stats: Sequence[Float64Array],
    shape: tuple[int, ...],
    backend: Backend,
    skip_infinite: bool,
) -> Sketches:
    low, high, weight, count, missing = stats
    n_columns, device = len(low), x.device
    exponents = np.full(n_columns, EMPTY_EXPONENT)
    first, sizes = np.zeros(n_columns, dtype=np.int64), np.zeros(n_columns, dtype=np.int64)
    by_host: dict[int, Sketch] = {}
    for j in np.flatnonzero(count).tolist():
        exponent = None if weight[j] < LEAST_WEIGHT else _exponent(float(widths[j]), float(low[j]), float(high[j]))
        if exponent is None:
            by_host[j] = _sketch_on_host(x[:, j], weights, skip_infinite)
            continue
        exponents[j], first[j] = exponent, cell_of(float(low[j]), exponent)
        sizes[j] = cell_of(float(high[j]), exponent) - first[j] + 1
    units = SUM_BITS - np.frexp(np.where(weight > 0, weight, 1.0))[1]
    plan = CellPlan(exponents, first, sizes, units.astype(np.int64))
    moments = backend.fill(x, weights, plan)
    # Weights that round to 0 beside the largest ones leave cells that are not occupied.
    places = torch.nonzero(moments[:, 0] > 0)[:, 0]
    columns = np.repeat(np.arange(n_columns), sizes)
    cells = np.arange(plan.n_cells) - np.repeat(plan.starts - first, sizes)
    columns, cells = torch.from_numpy(columns).to(device)[places], torch.from_numpy(cells).to(device)[places]
    low, high, count, missing, exponents = (
        torch.from_numpy(np.array(one)).to(device) for one in (low, high, count, missing, exponents)
    )
    sketches = Sketches(low, high, count, missing, exponents, columns, cells, moments[places], shape, len(x))
    return _with_host_columns(sketches, by_host) if by_host else sketches


def _exponent(width: float, low: float, high: float) -> int | None:
    """Return the exponent of cells of a column; None where the host must make them."""
    if low == high:
        exponent: int | None = finest_exponent(abs(low))
    else:
        exponent = width_exponent(width, low, high)
    return exponent if exponent in FILLED_EXPONENTS else None


def _sketch_on_host(column: Tensor, weights: Tensor | None, skip_infinite: bool) -> Sketch:
    """Sketch a column of extreme magnitude, weight or bandwidth by its values, in the narrowest cells."""
    sketch = _values_of(column, weights, skip_infinite)
    return sketch.coarsened(finest_exponent(max(abs(sketch.minimum), abs(sketch.maximum))))


def _values_of(column: Tensor, weights: Tensor | None, skip_infinite: bool) -> Sketch:
    """Return the values of a column as an exact sketch."""
    values = column.detach().to("cpu", torch.float64).resolve_neg().numpy()
    if skip_infinite:
        values = np.where(np.isinf(values), np.nan, values)
    return Sketch.exact(values, None if weights is None else weights.cpu().numpy())


def _with_host_columns(sketches: Sketches, by_host: dict[int, Sketch]) -> Sketches:
    device = sketches.minimum.device
    exponents = sketches.exponents.clone()
    columns, cells, moments = [sketches.columns], [sketches.cells], [sketches.moments]
    for j, sketch in by_host.items():
        exponents[j] = sketch.exponent
        columns.append(torch.full((len(sketch),), j, device=device))
        cells.append(torch.from_numpy(np.asarray(sketch.keys, dtype=np.int64)).to(device))
        moments.append(torch.from_numpy(sketch.moments).to(device))
    joined = replace(
        sketches, exponents=exponents, columns=torch.cat(columns), cells=torch.cat(cells), moments=torch.cat(moments)
    )
    return joined._joined()._limited()
