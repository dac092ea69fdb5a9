"""kdi.spark with processes that die, work that is repeated, and jobs that are cancelled."""

import os
import sys
from functools import partial
from threading import Thread

import pyarrow as pa
import pytest
from engines import missing

import kdi
from kdi._sketch.partitions import fit_partitioned, sketch_partitions

try:
    import pyspark.cloudpickle as cloudpickle
    from pyspark import InheritableThread, TaskContext
except ImportError as error:
    missing(f"pyspark is not installed ({error})")

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

pytestmark = pytest.mark.slow

for module in (cluster_failures, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # the workers do not see the tests

N_PARTITIONS = 12
ROWS = make_rows(4000)


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(pa.Table.from_pandas(ROWS)).repartition(N_PARTITIONS).cache()


@pytest.fixture(autouse=True)
def tree_of_two_levels(monkeypatch):
    monkeypatch.setattr(kdi.spark._partitions, "MERGED_AT_ONCE", 3)


def disturbed(frame, folder, act=None):
    """The rows, in another order each time that they are read; the files `part-*` count the readings."""

    def read(batches):
        part = TaskContext.get().partitionId()
        table = pa.Table.from_batches(batches, schema=schema)
        rows = reordered(folder, f"part-{part}", table.to_pandas().to_numpy())
        if act is not None:
            act()
        yield pa.RecordBatch.from_arrays(list(rows.T.copy()), schema=schema)

    schema = pa.schema([(name, pa.float64()) for name in ROWS.columns])
    return frame.mapInArrow(read, frame.schema)


def kill_at(folder, wanted, stage, reading):
    if (stage, reading) == wanted:
        kill_once(folder)


@pytest.mark.parametrize("stage", STAGES[:-1])  # the last summaries are merged by the driver
def test_worker_killed_at_every_stage_of_the_tree(frame, tmp_path, stage):
    table = kdi.spark.SparkPartitions(disturbed(frame, tmp_path), weights="weight")
    watched = WatchedPartitions(table, N_PARTITIONS, partial(kill_at, tmp_path, (stage, 0)))
    found = fit_partitioned(kdi.KDITransformer(ALPHAS), watched)
    assert is_claimed(tmp_path, "killed")
    assert_same_fit(found, ROWS, sample_weight=ROWS["weight"])


def test_every_task_does_its_work_twice(frame):
    table = RepeatedPartitions(kdi.spark.SparkPartitions(frame.select(NAMES)))
    found = fit_partitioned(kdi.KDITransformer(ALPHAS), table)
    assert_same_fit(found, ROWS)
    weighted = RepeatedPartitions(kdi.spark.SparkPartitions(frame, weights="weight"))
    assert_same_sketches(sketch_partitions(weighted), ROWS)


def wait_at(folder, wanted, stage, reading):
    if (stage, reading) == wanted:
        claim(folder, f"process-{os.getpid()}")
        wait_at_gate(folder)


class TestCancelledFits:
    @pytest.fixture(autouse=True)
    def nothing_left(self, spark, frame, tmp_path):
        """No job and no task that a cancelled fit began, and nothing that it persisted."""
        context = spark.sparkContext
        frame.count()
        persisted = set(context._jsc.getPersistentRDDs())
        yield
        assert is_claimed(tmp_path, "waiting", times=2) and not is_claimed(tmp_path, "gate")
        wait_for(lambda: not context.statusTracker().getActiveJobsIds())
        wait_for(lambda: not context.statusTracker().getActiveStageIds())
        wait_for(lambda: set(context._jsc.getPersistentRDDs()) == persisted)
        for file in tmp_path.glob("process-*"):
            pid = int(file.name.split("-")[1].split(".")[0])
            wait_for(lambda pid=pid: not os.path.exists(f"/proc/{pid}"))
        fitted = kdi.spark.fit(kdi.KDITransformer(ALPHAS), frame, sample_weight="weight")
        assert_same_fit(fitted, ROWS, sample_weight=ROWS["weight"])
        assert set(context._jsc.getPersistentRDDs()) == persisted

    @pytest.mark.parametrize("stage", ["partition", "first merge"])
    def test_job_group(self, spark, frame, tmp_path, stage):
        table = kdi.spark.SparkPartitions(frame, weights="weight")
        watched = WatchedPartitions(table, N_PARTITIONS, partial(wait_at, tmp_path, (stage, 0)))
        errors = []

        def fit():
            spark.sparkContext.setJobGroup("kdi-fit", "a fit")
            try:
                fit_partitioned(kdi.KDITransformer(ALPHAS), watched)
            except Exception as error:
                errors.append(str(error))

        thread = InheritableThread(target=fit)
        thread.start()
        wait_for(lambda: is_claimed(tmp_path, "waiting", times=2))
        spark.sparkContext.cancelJobGroup("kdi-fit")
        thread.join(60)
        assert len(errors) == 1 and "cancelled" in errors[0].lower()

    def test_interrupted_driver(self, frame, tmp_path):
        table = kdi.spark.SparkPartitions(frame, weights="weight")
        watched = WatchedPartitions(table, N_PARTITIONS, partial(wait_at, tmp_path, ("first merge", 0)))
        interrupter = Thread(target=interrupt_main_thread, args=[tmp_path, 2])
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            fit_partitioned(kdi.KDITransformer(ALPHAS), watched)
        interrupter.join()
