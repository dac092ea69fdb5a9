"""The names and signatures of kditransform 1.2.0, computed by kdi.

Results are within 2e-3 of those of the original, which are approximate. `kdi.compat.install()` registers this package
under the name kditransform. New code should use `kdi.KDITransformer` and `kdi.KDIDiscretizer`.
"""

from kdi.compat.kditransform.kdi_discretizer import (
    KBinsKDIDiscretizer,
    KDDiscretizer,
    KDIDiscretizer,
    SimpleKDIDiscretizer,
)
from kdi.compat.kditransform.kdi_transformer import KDITransformer

__all__ = ["KBinsKDIDiscretizer", "KDDiscretizer", "KDIDiscretizer", "KDITransformer", "SimpleKDIDiscretizer"]


def __dir__() -> list[str]:
    return __all__
