"""The kernel density integral transformation: between min-max scaling and the quantile transform."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdi import compat, data
    from kdi.alpha_display import AlphaDisplay
    from kdi.cluster_display import ClusterDisplay
    from kdi.clusters import cluster
    from kdi.comparison import compare_correlations
    from kdi.correlate import correlation
    from kdi.correlation_display import CorrelationDisplay
    from kdi.discretizer import KDIDiscretizer
    from kdi.distribution import KDE1D
    from kdi.explorer import ExplorerPage, explore
    from kdi.kdi_display import KDIDisplay
    from kdi.matrix import corr
    from kdi.paths import ALPHAS, alpha_path
    from kdi.sketch import Sketch
    from kdi.streams import sketch_table
    from kdi.transformer import KDITransformer
    from kdi.tuning import KDITransformerCV

__all__ = [
    "ALPHAS",
    "KDE1D",
    "AlphaDisplay",
    "ClusterDisplay",
    "CorrelationDisplay",
    "ExplorerPage",
    "KDIDiscretizer",
    "KDIDisplay",
    "KDITransformer",
    "KDITransformerCV",
    "Sketch",
    "alpha_path",
    "cluster",
    "compare_correlations",
    "compat",
    "corr",
    "correlation",
    "data",
    "explore",
    "sketch_table",
]
__version__ = "0.1.0"

# Loaded when first asked for, so that nobody waits for what is not used, nor the command line for its help: name to
# module.
_LATER = {
    "ALPHAS": "kdi.paths",
    "KDE1D": "kdi.distribution",
    "AlphaDisplay": "kdi.alpha_display",
    "ClusterDisplay": "kdi.cluster_display",
    "CorrelationDisplay": "kdi.correlation_display",
    "ExplorerPage": "kdi.explorer",
    "KDIDiscretizer": "kdi.discretizer",
    "KDIDisplay": "kdi.kdi_display",
    "KDITransformer": "kdi.transformer",
    "KDITransformerCV": "kdi.tuning",
    "Sketch": "kdi.sketch",
    "alpha_path": "kdi.paths",
    "cluster": "kdi.clusters",
    "compare_correlations": "kdi.comparison",
    "corr": "kdi.matrix",
    "correlation": "kdi.correlate",
    "explore": "kdi.explorer",
    "sketch_table": "kdi.streams",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        globals()[name] = found = getattr(import_module(_LATER[name]), name)
        return found
    if not name.startswith("__") and find_spec(f"kdi.{name}"):  # a module of the package
        return import_module(f"kdi.{name}")
    raise AttributeError(f"module 'kdi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
