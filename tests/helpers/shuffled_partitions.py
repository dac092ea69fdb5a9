"""A partitioned table as an engine would have it: its partitions are merged in any order."""

import pickle
from functools import reduce

import numpy as np

from kdi._sketch.partitions import row_blocks


class ShuffledPartitions:
    """Partitions of an array, merged in a shuffled order; `readings` counts how often they were read."""

    n_jobs = 1

    def __init__(self, table, cuts, weights=None, *, names=None, rereadable=True, is_distributed=False, seed=0):
        self.arrays = np.split(table, cuts)
        self.weights = [None] * len(self.arrays) if weights is None else np.split(weights, cuts)
        self.names, self.rereadable, self.n_columns = names, rereadable, table.shape[1]
        self.is_distributed = is_distributed
        self.rng, self.readings, self.sent_bytes = np.random.default_rng(seed), 0, []

    def reduce(self, summarise, merge):
        self.readings += 1
        assert self.rereadable or self.readings == 1
        summaries = [summarise(row_blocks(*partition)) for partition in zip(self.arrays, self.weights, strict=True)]
        summaries = [summaries[j] for j in self.rng.permutation(len(summaries))]
        if not self.is_distributed:
            return reduce(merge, summaries)
        # A tree, as engines merge: every summary travels between two levels of it.
        sent = [self._sent(one) for one in summaries]
        while len(sent) > 1:
            sent = [self._sent(reduce(merge, sent[k : k + 2])) for k in range(0, len(sent), 2)]
        return sent[0]

    def _sent(self, summary):
        data = pickle.dumps(summary, protocol=5)
        self.sent_bytes.append(len(data))
        return pickle.loads(data)
