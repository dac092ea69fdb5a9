"""Integral: the kernel density integral of a sketch at one bandwidth.

    P_h(a, b) = (1/W) Σ_n w_n [G((b - X_n)/h) - G((a - X_n)/h)]

One filter over the cells from the left and one from the right give the sum and its density at any sorted knots, in time
linear in cells and knots (cpp/filter.hpp).
"""

from __future__ import annotations

from copy import copy

import numpy as np

from kdi._backend import core
from kdi._typing import Floats
from kdi.cells import cell_error, cell_width_for, width_exponent
from kdi.kernels import Kernel
from kdi.reference import cell_sum
from kdi.sketch import Sketch

# Where h is much larger than the range, all is a difference of numbers that are nearly equal, which the direct sum has
# more digits of than the filters; of few cells and knots it is asked for them.
NARROW, FEW = 2**-6, 2**12
DENSITY_ROUNDING = 20  # how much larger rounding errors are in the density, in units of 1/h


def rounding_error(kernel: Kernel, n_cells: int) -> float:
    """Bound on what rounding does to a kernel cdf summed over n cells.

    The filters carry a state from cell to cell, and every step adds some roundings of it. Those of the Gaussian are
    larger, being a sum of exponentials that partly cancel; the sum itself is 7e-14 from the Gaussian.
    """
    return 2e-13 + (5e-16 if kernel.order else 4e-15) * n_cells


class Integral:
    """Kernel density integral of a sketch that is not empty, at a bandwidth h that is positive and finite.

    Cells are as wide as the tolerance allows, or `finer` by a factor, where derivatives of the density are asked for.

    Attributes
    ----------
    grid : float
        Width of the cells that this bandwidth calls for, whether or not the sketch has them; 0 where there are none.
    value_error : float
        Bound on the error of the kernel cdf at any point.
    density_error : float
        Bound on the error of its density.
    """

    def __init__(self, sketch: Sketch, kernel: Kernel, bandwidth: float, finer: float = 1.0) -> None:
        needed = cell_width_for(kernel, bandwidth, sketch.range) / finer
        exponent = width_exponent(needed, sketch.minimum, sketch.maximum)
        self.grid = 0.0 if exponent is None else 2.0**exponent
        sketch = sketch.resolving(needed)
        self.kernel, self.bandwidth = kernel, bandwidth
        self.low, self.high = sketch.minimum, sketch.maximum
        self.width = sketch.cell_width
        self.positions = sketch.offsets
        self.moments = sketch.moments / sketch.weight
        relative = min(self.width / bandwidth, 1e60)  # more would overflow below, and promises as little
        rounding = rounding_error(kernel, len(sketch))
        self.value_error = cell_error(kernel, relative) + rounding
        # The density's expansion may stop at a jump of its third derivative (polyexp of order 1 and 2 at the centre).
        self.density_error = (relative**3 * kernel.bend / 24 + DENSITY_ROUNDING * rounding) / bandwidth

    def mirrored(self) -> Integral:
        """The integral of the values in reverse: its cdf is the upper tail of this one, without the loss of 1 - cdf."""
        other = copy(self)
        other.positions = (self.high - self.low) - self.positions[::-1]
        other.moments = np.ascontiguousarray(self.moments[::-1] * [1, -1, 1, -1][: self.moments.shape[1]])
        return other

    def at(self, offsets: Floats) -> tuple[Floats, Floats]:
        """Kernel cdf and density at ascending positions relative to the minimum."""
        own = self.bandwidth * self.kernel.scale
        if self.high - self.low < NARROW * own and len(self.positions) * len(offsets) <= FEW:
            values, densities = cell_sum(self.positions, self.moments, self.width, self.kernel, own, offsets)
            return values, densities
        values, densities = core.integrate(self.positions, self.moments, self.width, self.kernel.order, own, offsets)
        return values, densities
