"""Sketches: the moments of a table's values in cells, as tensors on the device of the table.

They add up like `kdi.Sketch`, and are turned into it, so that maps are built by the core of the CPU: the formulas of
sketches, integrals and maps are written once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from kdi._integral.bandwidth import resolve_factors
from kdi._integral.build import MAP_WORK, build_features
from kdi._numerics.kernels import get_kernel
from kdi._sketch.cells import DEFAULT_CAPACITY
from kdi._sketch.packed import CELLS, DISTINCT, PackedSketches
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import KernelName, Spread
from kdi.torch._maps import Maps, Parameters, resolve_device
from kdi.torch._parameters import checked_parameters, factors_of

EMPTY_EXPONENT = -5000  # of columns without values; every other one is larger


@public_in("kdi.torch")
@dataclass(frozen=True, eq=False, repr=False)
class Sketches:
    """Summaries of all columns of a table; those of parts of a table add up. `sketch` makes them.

    Attributes
    ----------
    minimum, maximum, counts, missing : Tensor of float64
        The extremes of each column, and its numbers of values and of NaN.
    exponents : Tensor of int64
        The cells of a column are 2**exponent wide.
    columns, cells : Tensor of int64
        The column and the index of each occupied cell, in ascending order.
    moments : Tensor of float64
        The moments 0 to 3 of each of these cells.
    shape : tuple of int
        Shape of a row of the table: batch dimensions and features.
    n_rows : int

    Examples
    --------
    >>> import torch, kdi.torch
    >>> x = torch.linspace(0, 1, 1000, dtype=torch.float64)[:, None] ** 3
    >>> parts = kdi.torch.sketch(x[:300]) + kdi.torch.sketch(x[300:])
    >>> maps = parts.maps(alpha=[0.5])
    >>> kdi.torch.transform(x[500:501], maps).item()  # doctest: +ELLIPSIS
    0.2655...
    """

    minimum: Tensor
    maximum: Tensor
    counts: Tensor
    missing: Tensor
    exponents: Tensor
    columns: Tensor
    cells: Tensor
    moments: Tensor
    shape: tuple[int, ...]
    n_rows: int

    def __len__(self) -> int:
        return len(self.minimum)

    def __repr__(self) -> str:
        device = self.minimum.device
        return f"Sketches(shape={self.shape}, n_rows={self.n_rows}, {len(self.cells)} cells, device='{device}')"

    def __add__(self, other: Sketches) -> Sketches:
        if not isinstance(other, Sketches):
            return NotImplemented
        if self.shape != other.shape:
            raise ValueError(f"sketches must have the same shape of rows, got {self.shape} and {other.shape}.")
        other = other.to(self.minimum.device)
        minimum, maximum = torch.fmin(self.minimum, other.minimum), torch.fmax(self.maximum, other.maximum)
        exponents = torch.maximum(self.exponents, other.exponents)
        # However far out the other's values lie, the indices of their cells must remain exact integers.
        largest = torch.maximum(minimum.abs(), maximum.abs()).nan_to_num(0.0)
        least = torch.frexp(largest).exponent - 50
        exponents = torch.where((largest > 0) & (exponents > EMPTY_EXPONENT), exponents.maximum(least), exponents)
        left, right = self.widened(exponents), other.widened(exponents)
        merged = replace(
            left,
            minimum=minimum,
            maximum=maximum,
            counts=self.counts + other.counts,
            missing=self.missing + other.missing,
            n_rows=self.n_rows + other.n_rows,
            columns=torch.cat([left.columns, right.columns]),
            cells=torch.cat([left.cells, right.cells]),
            moments=torch.cat([left.moments, right.moments]),
        )
        return merged._joined()._limited()

    def __radd__(self, other: object) -> Sketches:
        return self if other == 0 else NotImplemented

    def widened(self, exponents: Tensor) -> Sketches:
        """Return the sketches in cells of 2**exponents, which must not be narrower than their own."""
        shifts = (exponents - self.exponents)[self.columns]
        if not len(shifts) or not bool(shifts.any()):
            return replace(self, exponents=exponents)
        # An offset z in cell p of the 2^s cells that become one is the offset (p + z + 1/2) / 2^s - 1/2 in that one.
        safe = shifts.clamp(max=62)
        cells = self.cells >> safe
        share = torch.ldexp(torch.ones_like(self.moments[:, 0]), -shifts)
        shift = ((self.cells - (cells << safe)) + 0.5) * share - 0.5
        m0, m1, m2, m3 = self.moments.unbind(1)
        moments = [
            m0,
            share * m1 + shift * m0,
            share**2 * m2 + 2 * share * shift * m1 + shift**2 * m0,
            share**3 * m3 + 3 * share**2 * shift * m2 + 3 * share * shift**2 * m1 + shift**3 * m0,
        ]
        return replace(self, exponents=exponents, cells=cells, moments=torch.stack(moments, 1))._joined()

    def to(self, device: Any) -> Self:
        """Return the sketches on another device; the sketches themselves where they are there already."""
        if resolve_device(device) == self.minimum.device:
            return self
        return replace(self, **{name: getattr(self, name).to(device) for name in TENSORS})

    def maps(
        self,
        *,
        alpha: Any = 1.0,
        kernel: KernelName = "polyexp",
        order: int = 4,
        output_distribution: str = "uniform",
        bounded: bool = True,
        spread: Spread = "std",
        feature_range: tuple[float, float] = (0, 1),
        max_knots: int | None = None,
    ) -> Maps:
        """Build the maps of the columns; the parameters are those of `fit`."""
        given = Parameters(kernel, order, output_distribution, bounded, spread, feature_range, max_knots)
        parameters = checked_parameters(given, alpha)
        return self.build(factors_of(alpha, self.shape), parameters)

    def build(self, factors: Any, parameters: Parameters) -> Maps:
        """Build the maps of the columns from bandwidth factors of all of them and checked parameters."""
        host = self.to_host()
        kernel = get_kernel(parameters.kernel, parameters.order)
        columns, masses = self.columns.cpu().numpy(), self.moments[:, 0].cpu().numpy()
        weights = np.bincount(columns, masses, minlength=len(self)).astype(float)
        alphas = resolve_factors(factors, weights)
        n_threads = count_threads(None, MAP_WORK * len(self))
        features, _ = build_features(host, alphas, kernel, parameters.options, n_threads)
        return Maps.from_features(features, self.shape, self.n_rows, parameters, self).to(self.minimum.device)

    def to_host(self) -> PackedSketches:
        """Return the sketches as the CPU's core reads them; constant columns are kept as their value."""
        one = self.to("cpu")
        minimum, maximum, counts, missing, exponents, columns, cells, moments = (
            getattr(one, name).numpy() for name in TENSORS
        )
        sizes = np.bincount(columns, minlength=len(self)).astype(np.int64)
        is_value = (counts == 0) | (minimum == maximum)
        kept = ~is_value[columns]
        masses = np.bincount(columns, moments[:, 0], minlength=len(self)).astype(float)
        is_constant = is_value & (counts > 0)
        return PackedSketches(
            minimum.copy(),
            maximum.copy(),
            counts.copy(),
            missing.copy(),
            keys=np.where(is_value, DISTINCT, CELLS).astype(np.uint8),
            exponents=np.where(is_value, 0, exponents),
            sizes=np.where(is_value, is_constant, sizes).astype(np.int64),
            cells=cells[kept],
            moments=np.ascontiguousarray(moments[kept]),
            values=minimum[is_constant],
            masses=masses[is_constant],
        )

    def _joined(self) -> Sketches:
        """Return the sketches with cells in ascending order, and equal ones added up."""
        # Columns and cells as one key would overflow: sort by the one, then stably by the other.
        order = torch.argsort(self.cells, stable=True)
        order = order[torch.argsort(self.columns[order], stable=True)]
        columns, cells, moments = self.columns[order], self.cells[order], self.moments[order]
        is_first = torch.ones(len(cells), dtype=torch.bool, device=cells.device)
        is_first[1:] = (columns[1:] != columns[:-1]) | (cells[1:] != cells[:-1])
        places = is_first.cumsum(0) - 1
        sums = torch.zeros((int(is_first.sum()), 4), dtype=moments.dtype, device=moments.device)
        sums.index_add_(0, places, moments)
        return replace(self, columns=columns[is_first], cells=cells[is_first], moments=sums)

    def _limited(self) -> Sketches:
        """Return the sketches, coarsened as long as a column has too many cells."""
        limited = self
        while True:
            sizes = torch.bincount(limited.columns, minlength=len(self))
            if not bool((sizes > DEFAULT_CAPACITY).any()):
                return limited
            limited = limited.widened(limited.exponents + (sizes > DEFAULT_CAPACITY))


TENSORS = tuple(one.name for one in fields(Sketches) if one.name not in ("shape", "n_rows"))
