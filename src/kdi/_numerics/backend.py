"""The numeric core: compiled where it is there, NumPy where it is not or where KDI_PURE_PYTHON=1 asks for it."""

import os
from types import ModuleType

from kdi._numerics import numpy_core

core: ModuleType = numpy_core
if os.environ.get("KDI_PURE_PYTHON", "0") in ("", "0"):
    try:
        from kdi._numerics import _core

        core = _core
    except ImportError:
        pass
