"""kdi.dask on a cluster of two worker processes that die, repeat work and are interrupted."""

import sys
from contextlib import contextmanager
from functools import partial
from itertools import chain
from threading import Thread

import cloudpickle
import pytest
from engines import missing
from numpy.testing import assert_allclose

import kdi
from kdi._sketch.partitions import fit_partitioned, sketch_partitions

try:
    import dask
    import dask.dataframe as dd
    import pandas as pd
    from dask.distributed import Client, LocalCluster, get_worker
except ImportError as error:
    missing(f"dask is not installed ({error})")

import cluster_failures
from cluster_failures import (
    ALPHAS,
    NAMES,
    STAGES,
    RepeatedPartitions,
    WatchedPartitions,
    assert_same_fit,
    assert_same_sketches,
    claim,
    interrupt_main_thread,
    is_claimed,
    kill_once,
    make_rows,
    reordered,
    wait_at_gate,
    wait_for,
)

import kdi.dask

pytestmark = pytest.mark.slow

for module in (cluster_failures, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # the workers do not see the tests

N_PARTITIONS = 70  # a tree of three levels: 9 merged summaries, then 2, then 1
ROWS = make_rows(7000)
LENGTH = len(ROWS) // N_PARTITIONS


@contextmanager
def two_worker_cluster():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module", autouse=True)
def client():
    with two_worker_cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def two_workers(client):
    def are_there():
        client.cluster.scale(2)  # replaces one that was killed and failed to start again
        return len(client.nthreads()) == 2

    wait_for(are_there)


def read(part, folder, act=None):
    """One partition of the rows, in another order each time; the file `part-*` counts the readings."""
    rows = reordered(folder, f"part-{part}", ROWS.to_numpy()[part * LENGTH : (part + 1) * LENGTH])
    if act is not None:
        act(part)
    return pd.DataFrame(rows, columns=ROWS.columns)


def frame(folder, act=None, n=N_PARTITIONS):
    return dd.from_map(partial(read, folder=folder, act=act), range(n), meta=ROWS[:0])


def readings(folder):
    """How often the partitions were read, all together."""
    return len(list(folder.glob("part-*")))


def kill_at(folder, wanted, stage, reading):
    if (stage, reading) == wanted:
        kill_once(folder)


class TestKilledWorkers:
    @pytest.mark.parametrize("stage", STAGES)
    def test_at_every_stage_of_the_tree(self, tmp_path, stage):
        table = kdi.dask.DaskPartitions(frame(tmp_path), weights="weight")
        watched = WatchedPartitions(table, N_PARTITIONS, partial(kill_at, tmp_path, (stage, 0)))
        found = fit_partitioned(kdi.KDITransformer(ALPHAS), watched)
        assert is_claimed(tmp_path, "killed")
        assert readings(tmp_path) > N_PARTITIONS * watched.readings  # some again, their rows in another order
        assert_same_fit(found, ROWS, sample_weight=ROWS["weight"])

    def test_between_two_readings(self, tmp_path):
        """The second reading of the data finds other workers than the first."""
        options = {"alpha": 0.3, "strategy": "uniform"}
        table = kdi.dask.DaskPartitions(frame(tmp_path)[["normal", "lognormal"]])
        watched = WatchedPartitions(table, N_PARTITIONS, partial(kill_at, tmp_path, ("first merge", 1)))
        found = fit_partitioned(kdi.KDIDiscretizer(**options), watched)
        expected = kdi.KDIDiscretizer(**options).fit(ROWS[["normal", "lognormal"]])
        assert is_claimed(tmp_path, "killed")
        for one, other in zip(found.bin_edges_, expected.bin_edges_, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)

    def test_of_a_delayed_fit(self, tmp_path):
        X = frame(tmp_path, partial(kill_at_part, tmp_path))
        found = kdi.dask.fit(kdi.KDITransformer(ALPHAS), X, sample_weight="weight", compute=False).compute()
        assert is_claimed(tmp_path, "killed")
        assert_same_fit(found, ROWS, sample_weight=ROWS["weight"])


def kill_at_part(folder, part):
    if part == N_PARTITIONS // 2:
        kill_once(folder)


def straggle(folder, part):
    """Wait in the first reading of a partition until there is a second one."""
    if part == 3 and claim(folder, "straggler") == 0:
        (folder / "address").write_text(get_worker().address)
        claim(folder, "waiting")
        wait_for(lambda: is_claimed(folder, "straggler", times=2))
        claim(folder, "late")


async def give_up(address, dask_scheduler):
    """Forget a worker, as if it had not been heard of for long."""
    await dask_scheduler.remove_worker(address, stimulus_id="test", close=False)


class TestWorkDoneTwice:
    def test_straggler_that_was_given_up(self, tmp_path):
        """The scheduler takes a worker for dead: both it and another read the same partition to the end."""
        X = frame(tmp_path, partial(straggle, tmp_path))
        lazy_fit = kdi.dask.fit(kdi.KDITransformer(ALPHAS), X, sample_weight="weight", compute=False)
        with two_worker_cluster() as client:  # its own, which loses that worker
            future = client.compute(lazy_fit)
            wait_for(lambda: is_claimed(tmp_path, "waiting"))
            client.run_on_scheduler(give_up, address=(tmp_path / "address").read_text())
            found = future.result(timeout=60)
            wait_for(lambda: is_claimed(tmp_path, "late"))
        assert is_claimed(tmp_path, "part-3", times=2)
        assert_same_fit(found, ROWS, sample_weight=ROWS["weight"])

    def test_every_task_twice(self, tmp_path):
        """Neither summarising nor merging changes what it is given."""
        X = frame(tmp_path, n=20)
        rows = ROWS[: 20 * LENGTH]
        table = RepeatedPartitions(kdi.dask.DaskPartitions(X[NAMES]))
        assert_same_fit(fit_partitioned(kdi.KDITransformer(ALPHAS), table), rows)
        weighted = RepeatedPartitions(kdi.dask.DaskPartitions(X, weights="weight"))
        assert_same_sketches(sketch_partitions(weighted), rows)


def wait(folder, part):
    wait_at_gate(folder)


def unfinished(client):
    """Tasks that the scheduler, or a worker, knows of."""
    on_workers = client.run(lambda dask_worker: list(dask_worker.state.tasks))
    on_scheduler = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
    return [*on_scheduler, *chain.from_iterable(on_workers.values())]


class TestCancelledFits:
    @pytest.fixture(autouse=True)
    def nothing_before(self, client):
        wait_for(lambda: not unfinished(client))

    def assert_stopped(self, client, folder, X):
        """Nothing is left but the two tasks that had begun; then a fit to the same rows works."""
        wait_for(lambda: not client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))
        assert not any(client.processing().values())
        claim(folder, "gate")
        wait_for(lambda: not unfinished(client))
        assert readings(folder) == 2
        assert_same_fit(kdi.dask.fit(kdi.KDITransformer(ALPHAS), X[NAMES]), ROWS)
        wait_for(lambda: not unfinished(client))

    def test_future_of_a_delayed_fit(self, client, tmp_path):
        X = frame(tmp_path, partial(wait, tmp_path))
        future = client.compute(kdi.dask.fit(kdi.KDITransformer(ALPHAS), X[NAMES], compute=False))
        wait_for(lambda: is_claimed(tmp_path, "waiting", times=2))
        client.cancel(future)
        wait_for(future.cancelled)
        self.assert_stopped(client, tmp_path, X)

    def test_interrupted_client(self, client, tmp_path):
        X = frame(tmp_path, partial(wait, tmp_path))
        interrupt_fit(tmp_path, X)
        self.assert_stopped(client, tmp_path, X)

    def test_fit_again_while_tasks_of_an_interrupted_fit_still_run(self, tmp_path):
        """The new tasks have the names of the old ones."""
        X = frame(tmp_path, partial(wait, tmp_path))
        interrupt_fit(tmp_path, X)
        claim(tmp_path, "gate")
        assert_same_fit(kdi.dask.fit(kdi.KDITransformer(ALPHAS), X[NAMES]), ROWS)

    def test_interrupted_threads(self, tmp_path):
        """Without a cluster, Dask's threads finish the partitions that they have begun, and begin no others."""
        X = frame(tmp_path, partial(wait, tmp_path))
        with dask.config.set(scheduler="threads", num_workers=2):
            interrupt_fit(tmp_path, X, open_gate=True)
            assert_same_fit(kdi.dask.fit(kdi.KDITransformer(ALPHAS), X[NAMES]), ROWS)


def interrupt_fit(folder, X, open_gate=False):
    """Begin a fit, and interrupt it when both workers are reading."""
    interrupter = Thread(target=interrupt_main_thread, args=[folder, 2, open_gate])
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        kdi.dask.fit(kdi.KDITransformer(ALPHAS), X[NAMES])
    interrupter.join()
