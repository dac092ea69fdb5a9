"""A stand-in for CuPy where there is no GPU: its arrays hold those of NumPy, and refuse what CuPy's refuse.

CuPy 14 has no `__array_namespace__` and no `device` argument of `asarray`, and raises where NumPy would convert.
"""

from contextlib import nullcontext
from types import ModuleType

import numpy as np

__all__ = ["make_cupy"]


class ndarray:
    """An array of CuPy, as far as kdi looks at one."""

    device = nullcontext()

    def __init__(self, array):
        self._array = array
        self.shape, self.ndim, self.dtype, self.strides = array.shape, array.ndim, array.dtype, array.strides

    def __len__(self):
        return len(self._array)

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def copy(self):
        return ndarray(self._array.copy())

    def get(self):
        return self._array.copy()


def make_cupy():
    """Return a module with what kdi calls of CuPy."""
    module = ModuleType("cupy")
    module.ndarray = ndarray
    module.asarray = lambda array: ndarray(np.asarray(array))
    module.from_dlpack = lambda array: ndarray(np.from_dlpack(array))
    return module
