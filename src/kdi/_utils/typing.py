"""Type aliases used in signatures."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64] | NDArray[np.float32]
OutOfRange = Literal["clip", "linear", "nan"]
KernelName = Literal["polyexp", "gaussian"]
BandwidthRule = Literal["scott", "silverman"]
Spread = Literal["std", "robust"]
