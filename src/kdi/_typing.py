"""Aliases used in signatures."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Table = NDArray[np.float64] | NDArray[np.float32]
OutOfRange = Literal["clip", "linear", "nan"]
KernelName = Literal["polyexp", "gaussian"]
Rule = Literal["scott", "silverman"]
