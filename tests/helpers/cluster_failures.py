"""Failures of clusters, made on purpose: processes that die once, rows in another order, tasks that wait for a file.

Processes agree through empty files in a folder. Engines send these functions by value, since their workers do not see
the tests.
"""

import os
import signal
import threading
import time
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

LIMIT = 60  # seconds until a wait fails; the tests wait for a small part of it
ALPHAS = {"normal": 1, "lognormal": 0.1, "cauchy": 1, "ties": 0, "holes": "scott"}
NAMES = list(ALPHAS)
STAGES = ["partition", "first merge", "later merge", "last merge"]


def make_rows(n, seed=0):
    """Columns of different shape, beside one of weights."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), rng.lognormal(sigma=2, size=n), rng.standard_cauchy(size=n), rng.poisson(3, size=n)]
    holes = np.where(rng.random(n) < 0.3, np.nan, rng.gamma(2, size=n))
    table = np.column_stack([*columns, holes, rng.integers(0, 4, size=n)])
    return pd.DataFrame(table, columns=[*NAMES, "weight"])


def wait_for(condition):
    """Wait until a condition holds; fail if it takes too long."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("a test waited in vain")
        time.sleep(0.01)


def claim(folder, name):
    """Make the next file of a name, `name.0` first, and return its number: no two processes get the same."""
    for k in count():
        try:
            (Path(folder) / f"{name}.{k}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return k


def is_claimed(folder, name, times=1):
    return (Path(folder) / f"{name}.{times - 1}").exists()


def reordered(folder, name, rows):
    """Return the rows of a partition, in another order each time that it is read."""
    return rows[np.random.default_rng(claim(folder, name)).permutation(len(rows))]


def interrupt_main_thread(folder, times, open_gate=False):
    """Press Ctrl-C, as it were, when so many tasks are waiting at the gate; then open it, if they cannot be left."""
    wait_for(lambda: is_claimed(folder, "waiting", times))
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    if open_gate:
        claim(folder, "gate")


def wait_at_gate(folder):
    claim(folder, "waiting")
    wait_for(lambda: is_claimed(folder, "gate"))


def kill_once(folder, pid_of_victim=os.getpid):
    if claim(folder, "killed") == 0:
        os.kill(pid_of_victim(), signal.SIGKILL)


class WatchedPartitions:
    """A partitioned table that counts the partitions in each summary and calls `act(stage, reading)` in the workers.

    Stages are those of the tree: a partition was summarised; two such summaries were merged; one that is a result of
    merging was added to another; all partitions are in.
    """

    def __init__(self, table, n_partitions, act):
        self.table, self.n_partitions, self.act, self.readings = table, n_partitions, act, 0

    def __getattr__(self, name):
        return getattr(self.table, name)

    def reduce(self, summarise, merge):
        act = partial(self.act, reading=self.readings)
        self.readings += 1
        n, summary = self.table.reduce(
            partial(_summarise, summarise, act), partial(_merge, merge, act, self.n_partitions)
        )
        assert n == self.n_partitions
        return summary


def _summarise(summarise, act, chunks):
    summary = summarise(chunks)
    act("partition")
    return 1, summary


def _merge(merge, act, n_partitions, one, other):
    n = one[0] + other[0]
    merged = merge(one[1], other[1])
    act("last merge" if n == n_partitions else "later merge" if other[0] > 1 else "first merge")
    return n, merged


class RepeatedPartitions(WatchedPartitions):
    """A partitioned table all of whose tasks do their work twice with the same arguments, and return the second result.

    So do stragglers that run again beside the first attempt, and tasks that fail after they have begun.
    """

    def __init__(self, table):
        super().__init__(table, None, None)

    def reduce(self, summarise, merge):
        self.readings += 1
        return self.table.reduce(partial(_summarise_twice, summarise), partial(_merge_twice, merge))


def _summarise_twice(summarise, chunks):
    chunks = list(chunks)
    summarise(chunks)
    return summarise(chunks)


def _merge_twice(merge, one, other):
    merge(one, other)
    return merge(one, other)


def assert_same_fit(found, rows, **weights):
    """Compare a fit to a cluster with one of the rows in memory."""
    X = rows[NAMES]
    expected = type(found)(**found.get_params()).fit(X, **weights)
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert_array_equal(found.data_min_, expected.data_min_)
    assert_array_equal(found.data_max_, expected.data_max_)
    assert_allclose(found.bandwidth_, expected.bandwidth_, rtol=1e-12)
    assert_allclose(found.transform(X), expected.transform(X), rtol=0, atol=1e-9)


def assert_same_sketches(sketches, rows):
    """Compare weighted sketches with the rows: every row counted once, with its weight."""
    for name, sketch in zip(NAMES, sketches, strict=True):
        values, weights = rows[name], rows["weight"]
        is_counted = values.notna() & (weights > 0)
        assert sketch.count == is_counted.sum()
        assert sketch.weight == weights[is_counted].sum()
        mean = np.average(values[is_counted], weights=weights[is_counted])
        assert_allclose(sketch.mean, mean, rtol=1e-9, atol=1e-9)
