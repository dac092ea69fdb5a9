"""Type aliases used in signatures."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64] | NDArray[np.float32]
Indices = NDArray[np.int32] | NDArray[np.int64]  # of a sparse matrix
SparseMatrix = Any  # of scipy, in CSR or CSC format, a matrix or an array
OutOfRange = Literal["clip", "linear", "nan"]
KernelName = Literal["polyexp", "gaussian"]
BandwidthRule = Literal["scott", "silverman"]
Spread = Literal["std", "robust"]
