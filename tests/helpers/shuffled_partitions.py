"""A partitioned table as an engine would have it: its partitions are merged in any order."""

from functools import reduce

import numpy as np

from kdi._sketch.partitions import row_blocks


class ShuffledPartitions:
    """Partitions of an array, merged in a shuffled order; `readings` counts how often they were read."""

    n_jobs = 1

    def __init__(self, table, cuts, weights=None, *, names=None, rereadable=True, seed=0):
        self.arrays = np.split(table, cuts)
        self.weights = [None] * len(self.arrays) if weights is None else np.split(weights, cuts)
        self.names, self.rereadable, self.n_columns = names, rereadable, table.shape[1]
        self.rng, self.readings = np.random.default_rng(seed), 0

    def reduce(self, summarise, merge):
        self.readings += 1
        assert self.rereadable or self.readings == 1
        summaries = [summarise(row_blocks(*partition)) for partition in zip(self.arrays, self.weights, strict=True)]
        return reduce(merge, [summaries[j] for j in self.rng.permutation(len(summaries))])
