"""A table in pieces, as an engine would have it: reduced in any order, each piece a part."""

from functools import reduce

import numpy as np

from kdi._sketch.partitions import row_blocks


class Pieces:
    """Parts of a table in memory, merged in a shuffled order; `readings` counts how often they were read."""

    n_jobs = 1

    def __init__(self, table, cuts, weights=None, *, names=None, again=True, seed=0):
        self.tables = np.split(table, cuts)
        self.weights = [None] * len(self.tables) if weights is None else np.split(weights, cuts)
        self.names, self.rereadable, self.n_columns = names, again, table.shape[1]
        self.rng, self.readings = np.random.default_rng(seed), 0

    def reduce(self, summarise, merge):
        self.readings += 1
        assert self.rereadable or self.readings == 1
        summaries = [summarise(row_blocks(*piece)) for piece in zip(self.tables, self.weights, strict=True)]
        return reduce(merge, [summaries[j] for j in self.rng.permutation(len(summaries))])
