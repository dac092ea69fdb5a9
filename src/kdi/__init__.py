"""The kernel density integral transformation: between min-max scaling and the quantile transform."""

from kdi import compat
from kdi.clusters import cluster
from kdi.comparison import compare_correlations
from kdi.correlate import correlation
from kdi.discretizer import KDIDiscretizer
from kdi.distribution import KDE1D
from kdi.matrix import corr
from kdi.plotting import ClusterDisplay, CorrelationDisplay
from kdi.sketch import Sketch
from kdi.transformer import KDITransformer

__all__ = [
    "KDE1D",
    "ClusterDisplay",
    "CorrelationDisplay",
    "KDIDiscretizer",
    "KDITransformer",
    "Sketch",
    "cluster",
    "compare_correlations",
    "compat",
    "corr",
    "correlation",
]
__version__ = "0.1.0"
