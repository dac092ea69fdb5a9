"""The kernel density integral transformation: between min-max scaling and the quantile transform."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kdi._version import __version__ as __version__

if TYPE_CHECKING:
    from kdi._clustering.clusters import Clusters, cluster
    from kdi._clustering.discretizer import KDIDiscretizer
    from kdi._correlation.comparison import compare_correlations
    from kdi._correlation.correlation import ConfidenceInterval, CorrelationResult, correlation
    from kdi._correlation.matrix import CorrelationMatrix, corr, corr_test
    from kdi._distribution import KDE1D
    from kdi._plots.alpha_display import AlphaDisplay
    from kdi._plots.cluster_display import ClusterDisplay
    from kdi._plots.correlation_display import CorrelationDisplay
    from kdi._plots.kdi_display import KDIDisplay
    from kdi._sketch.sketch import Sketch
    from kdi._tables.streams import sketch_table
    from kdi._transformer.paths import ALPHAS, AlphaPath, alpha_path
    from kdi._transformer.transformer import KDITransformer
    from kdi._tuning.transformer_cv import KDITransformerCV
    from kdi.explorer import ExplorerPage, explore

# The module that defines each public name. It is imported when the name is first used, so that `import kdi` and the
# help of the command line are fast.
_HOMES = {
    "ALPHAS": "kdi._transformer.paths",
    "AlphaDisplay": "kdi._plots.alpha_display",
    "AlphaPath": "kdi._transformer.paths",
    "ClusterDisplay": "kdi._plots.cluster_display",
    "Clusters": "kdi._clustering.clusters",
    "ConfidenceInterval": "kdi._correlation.correlation",
    "CorrelationDisplay": "kdi._plots.correlation_display",
    "CorrelationMatrix": "kdi._correlation.matrix",
    "CorrelationResult": "kdi._correlation.correlation",
    "ExplorerPage": "kdi.explorer._page",
    "KDE1D": "kdi._distribution",
    "KDIDiscretizer": "kdi._clustering.discretizer",
    "KDIDisplay": "kdi._plots.kdi_display",
    "KDITransformer": "kdi._transformer.transformer",
    "KDITransformerCV": "kdi._tuning.transformer_cv",
    "Sketch": "kdi._sketch.sketch",
    "alpha_path": "kdi._transformer.paths",
    "cluster": "kdi._clustering.clusters",
    "compare_correlations": "kdi._correlation.comparison",
    "corr": "kdi._correlation.matrix",
    "corr_test": "kdi._correlation.matrix",
    "correlation": "kdi._correlation.correlation",
    "explore": "kdi.explorer._page",
    "sketch_table": "kdi._tables.streams",
}
_PACKAGES = ("cli", "compat", "dask", "data", "explorer", "spark", "torch")

__all__ = [
    "ALPHAS",
    "KDE1D",
    "AlphaDisplay",
    "AlphaPath",
    "ClusterDisplay",
    "Clusters",
    "ConfidenceInterval",
    "CorrelationDisplay",
    "CorrelationMatrix",
    "CorrelationResult",
    "ExplorerPage",
    "KDIDiscretizer",
    "KDIDisplay",
    "KDITransformer",
    "KDITransformerCV",
    "Sketch",
    "alpha_path",
    "cli",
    "cluster",
    "compare_correlations",
    "compat",
    "corr",
    "corr_test",
    "correlation",
    "data",
    "explore",
    "explorer",
    "sketch_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = found = getattr(import_module(_HOMES[name]), name)
        return found
    if name in _PACKAGES:
        try:
            return import_module(f"kdi.{name}")
        except ImportError as error:  # an engine that is not installed: hasattr(kdi, "dask") is then False
            raise AttributeError(f"kdi.{name} cannot be imported: {error}") from error
    raise AttributeError(f"module 'kdi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
