"""HDBSCAN with `cluster_selection_epsilon`, which scikit-learn 1.9 cannot compute under NumPy 2.4.

It raises a TypeError there (scikit-learn issue 33219). The trees and the selection of clusters are scikit-learn's. Only
the step that fails is implemented here: it replaces clusters that are born below epsilon by their ancestors.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN
from sklearn.cluster._hdbscan._tree import _condense_tree


def hdbscan(values: NDArray[np.float64], min_cluster_size: int, epsilon: float) -> NDArray[np.int64]:
    """Label the values of one variable; -1 is noise."""
    model = HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit(values[:, None])
    tree = _condense_tree(model._single_linkage_tree_, min_cluster_size)
    parents = dict(zip(tree["child"].tolist(), tree["parent"].tolist(), strict=True))
    births = {child: 1 / value for child, value in zip(tree["child"].tolist(), tree["value"].tolist(), strict=True)}
    root = int(tree["parent"].min())
    selected = [common_ancestor(np.flatnonzero(model.labels_ == k), parents) for k in range(model.labels_.max() + 1)]
    chosen = {born_above(epsilon, cluster, parents, births, root) for cluster in selected}
    numbers = {cluster: k for k, cluster in enumerate(sorted(chosen))}
    return np.array([numbers.get(climb(point, numbers, parents, root), -1) for point in range(len(values))])


def common_ancestor(points: Any, parents: dict[int, int]) -> int:
    """Find the lowest node that contains these points: parents have lower numbers than their descendants."""
    nodes = {parents[point] for point in points.tolist()}
    while len(nodes) > 1:
        lowest = max(nodes)
        nodes = nodes - {lowest} | {parents[lowest]}
    return nodes.pop()


def born_above(epsilon: float, node: int, parents: dict[int, int], births: dict[int, float], root: int) -> int:
    """Find the first ancestor that is born above epsilon, or else the last one below the root."""
    if births[node] >= epsilon:
        return node
    while (parent := parents[node]) != root:
        node = parent
        if births[node] > epsilon:
            break
    return node


def climb(node: int, wanted: dict[int, int], parents: dict[int, int], root: int) -> int:
    """Find the highest of the wanted nodes above this one, or the root."""
    found = root
    while node != root:
        node = parents[node]
        if node in wanted:
            found = node
    return found
