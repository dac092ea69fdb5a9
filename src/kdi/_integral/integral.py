"""Integral: the kernel density integral of a sketch at one bandwidth.

    P_h(a, b) = (1/W) Σ_n w_n [G((b - X_n)/h) - G((a - X_n)/h)]

One filter over the cells from the left and one from the right give the sum and its density at any sorted knots, in time
linear in cells and knots (cpp/filter.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kdi._numerics.backend import core
from kdi._numerics.direct_sum import cell_sum
from kdi._numerics.kernels import Kernel
from kdi._sketch.cells import cell_error, cell_width_for, width_exponent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array

# Where h is much larger than the range, results are differences of nearly equal numbers. The direct sum computes these
# with more digits than the filters, and is used while there are few cells and knots.
NARROW_RANGE, DIRECT_SUM_TERMS = 2**-6, 2**12
DENSITY_ROUNDING = 20  # rounding errors of the density, in units of those of the cdf divided by h


def rounding_error(kernel: Kernel, n_cells: int, relative_range: float = 0.0) -> float:
    """Bound the rounding error of a kernel cdf summed over n cells; the range is in units of the bandwidth.

    The filters carry a state from cell to cell, and every step rounds it. The errors of the Gaussian are larger, since
    it is a sum of exponentials that partly cancel; that sum itself differs from the Gaussian by 7e-14. Positions are
    rounded relative to the range.
    """
    return 2e-13 + (5e-16 if kernel.order else 4e-15) * n_cells + 4e-16 * kernel.peak * relative_range / kernel.scale


@dataclass(frozen=True, eq=False)
class Integral:
    """Kernel density integral of a column with values, at a bandwidth h that is positive and finite.

    Attributes
    ----------
    kernel : Kernel
    bandwidth : float
    low, high : float
        The extremes of the column.
    width : float
        Width of the cells; 0 where the values themselves are kept.
    positions : ndarray of shape (n,)
        Centres of the cells, or the values, relative to the minimum.
    moments : ndarray of shape (n, 1) or (n, 4)
        Moments of the cells, or weights of the values, of total weight 1.
    grid : float
        Width of the cells that this bandwidth calls for, whether or not the sketch has them; 0 where it needs values.
    value_error : float
        Bound on the error of the kernel cdf at any point.
    density_error : float
        Bound on the error of its density.
    """

    kernel: Kernel
    bandwidth: float
    low: float
    high: float
    width: float
    positions: Float64Array
    moments: Float64Array
    grid: float
    value_error: float
    density_error: float

    @classmethod
    def from_sketch(cls, sketch: Sketch, kernel: Kernel, bandwidth: float, finer: float = 1.0) -> Integral:
        """Integrate a sketch, in cells as wide as the tolerance allows.

        Where derivatives of the density are needed, `finer` is the factor by which the cells are narrower.
        """
        width = cell_width_for(kernel, bandwidth, sketch.range) / finer
        exponent = width_exponent(width, sketch.minimum, sketch.maximum)
        sketch = sketch.coarsened_to_width(width)
        relative = min(sketch.cell_width / bandwidth, 1e60)  # more would overflow below; the bound is useless anyway
        rounding = rounding_error(kernel, len(sketch), sketch.range / bandwidth)
        # The density's expansion may stop at a jump of its third derivative (polyexp of order 1 and 2 at the centre).
        density_error = (relative**3 * kernel.max_fourth_derivative / 24 + DENSITY_ROUNDING * rounding) / bandwidth
        return cls(
            kernel=kernel,
            bandwidth=bandwidth,
            low=sketch.minimum,
            high=sketch.maximum,
            width=sketch.cell_width,
            positions=sketch.offsets,
            moments=sketch.moments / sketch.weight,
            grid=0.0 if exponent is None else 2.0**exponent,
            value_error=cell_error(kernel, relative) + rounding,
            density_error=density_error,
        )

    def mirrored(self) -> Integral:
        """Return the integral of the reflected values, whose cdf is the upper tail of this one.

        It does not suffer from the cancellation of 1 - cdf.
        """
        signs = [1, -1, 1, -1][: self.moments.shape[1]]
        return replace(
            self,
            positions=(self.high - self.low) - self.positions[::-1],
            moments=np.ascontiguousarray(self.moments[::-1] * signs),
        )

    def at(self, offsets: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Evaluate the kernel cdf and density at ascending positions relative to the minimum."""
        kernel_bandwidth = self.bandwidth * self.kernel.scale
        narrow = self.high - self.low < NARROW_RANGE * kernel_bandwidth
        if narrow and len(self.positions) * len(offsets) <= DIRECT_SUM_TERMS:
            values, densities = cell_sum(
                self.positions, self.moments, self.width, self.kernel, kernel_bandwidth, offsets
            )
            return values, densities
        values, densities = core.integrate(
            self.positions, self.moments, self.width, self.kernel.order, kernel_bandwidth, offsets
        )
        return values, densities
