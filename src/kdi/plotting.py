"""The displays, under the names that they had before each had a file of its own."""

from kdi.cluster_display import ClusterDisplay
from kdi.correlation_display import CorrelationDisplay

__all__ = ["ClusterDisplay", "CorrelationDisplay"]
