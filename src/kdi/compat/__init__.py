"""Stand-ins for other packages: the names and signatures of these, computed by kdi."""

from __future__ import annotations

import importlib
import importlib.util
import sys

__all__ = ["install"]

OURS = "kdi.compat.kditransform"
PARTS = ("", ".kdi_transformer", ".kdi_discretizer", ".ksum")


def install() -> None:
    """Let `import kditransform` find `kdi.compat.kditransform`, in this process, where that package is absent.

    Code that imports kditransform, TabPFN's for example, then computes with kdi. Call it before that code is imported.
    To call it twice does no harm.

    Raises
    ------
    RuntimeError
        Where kditransform is installed, or was imported: one process cannot have two packages of one name.

    Examples
    --------
    >>> import kdi.compat
    >>> kdi.compat.install()  # doctest: +SKIP
    >>> from kditransform import KDITransformer  # doctest: +SKIP
    """
    parts = {part: importlib.import_module(OURS + part) for part in PARTS}
    present = sys.modules.get("kditransform")
    if present is parts[""]:
        return
    if present is not None or ("kditransform" not in sys.modules and importlib.util.find_spec("kditransform")):
        state = "installed" if present is None else "imported already"
        raise RuntimeError(
            f"kditransform is {state}, and kdi.compat.install() stands in for it only where it is absent. Uninstall it "
            "first (pip uninstall kditransform), or import from kdi.compat.kditransform instead."
        )
    for part, module in parts.items():
        sys.modules["kditransform" + part] = module
