"""The kernel density integral transformation: between min-max scaling and the quantile transform."""

from kdi.distribution import KDE1D
from kdi.sketch import Sketch
from kdi.transformer import KDITransformer

__all__ = ["KDE1D", "KDITransformer", "Sketch"]
__version__ = "0.1.0"
