"""The numeric core: the compiled module, or NumPy where that is missing or KDI_PURE_PYTHON=1 is set."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

__all__ = ["IS_COMPILED", "core"]

IS_COMPILED = False  # some functions of the compiled module have their NumPy twins in higher layers

if TYPE_CHECKING:
    from kdi._numerics import _core as core
else:
    from kdi._numerics import numpy_core as core

    if os.environ.get("KDI_PURE_PYTHON", "0") in ("", "0"):
        with suppress(ImportError):
            from kdi._numerics import _core as core

            IS_COMPILED = True
