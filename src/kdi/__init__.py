"""The kernel density integral transformation: between min-max scaling and the quantile transform."""

from kdi.comparison import compare_correlations
from kdi.correlate import correlation
from kdi.distribution import KDE1D
from kdi.matrix import corr
from kdi.plotting import CorrelationDisplay
from kdi.sketch import Sketch
from kdi.transformer import KDITransformer

__all__ = ["KDE1D", "CorrelationDisplay", "KDITransformer", "Sketch", "compare_correlations", "corr", "correlation"]
__version__ = "0.1.0"
