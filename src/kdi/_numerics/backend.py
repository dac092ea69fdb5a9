"""The numeric core: the compiled module, or NumPy where that is missing or KDI_PURE_PYTHON=1 is set."""

import os
from typing import TYPE_CHECKING

__all__ = ["IS_COMPILED", "core"]

if TYPE_CHECKING:
    from kdi._numerics import _core as core
else:
    try:
        if os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0"):
            raise ImportError("KDI_PURE_PYTHON is set")
        from kdi._numerics import _core as core
    except ImportError:
        from kdi._numerics import numpy_core as core

# Some functions of the compiled module have their NumPy twins in higher packages.
IS_COMPILED = core.__name__ == "kdi._numerics._core"
