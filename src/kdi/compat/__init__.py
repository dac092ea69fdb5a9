"""Replacements for other packages: their names and signatures, computed by kdi."""

from __future__ import annotations

import importlib
import importlib.util
import sys

__all__ = ["install"]

REPLACEMENT = "kdi.compat.kditransform"
SUBMODULES = ("", ".kdi_transformer", ".kdi_discretizer", ".ksum")


def install() -> None:
    """Register `kdi.compat.kditransform` as `kditransform` in this process.

    Code that imports kditransform, such as TabPFN, then computes with kdi. Call this function before that code is
    imported; calling it again has no effect.

    Raises
    ------
    RuntimeError
        If kditransform is installed or was imported: a process cannot have two packages with the same name.

    Examples
    --------
    >>> import kdi.compat
    >>> kdi.compat.install()  # doctest: +SKIP
    >>> from kditransform import KDITransformer  # doctest: +SKIP
    """
    modules = {name: importlib.import_module(REPLACEMENT + name) for name in SUBMODULES}
    present = sys.modules.get("kditransform")
    if present is modules[""]:
        return
    if present is not None or ("kditransform" not in sys.modules and importlib.util.find_spec("kditransform")):
        state = "installed" if present is None else "imported already"
        raise RuntimeError(
            f"kditransform is {state}, so kdi.compat.install() cannot replace it. Uninstall it first (pip uninstall "
            "kditransform), or import from kdi.compat.kditransform instead."
        )
    for name, module in modules.items():
        sys.modules["kditransform" + name] = module


def __dir__() -> list[str]:
    return __all__
