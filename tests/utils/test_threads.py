"""Threads: of the caller, of the package, after fork, and inside joblib's workers."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kdi import KDE1D, KDITransformer, Sketch
from kdi._utils.threads import count_threads

N_JOBS = [1, 2, 3, 16, -1]


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(5)
    table = np.column_stack([rng.normal(size=200_000), rng.lognormal(sigma=2, size=200_000), rng.poisson(4, 200_000)])
    table[::11, 0] = np.nan
    return table


def test_many_callers_get_the_same(large):
    models = [KDITransformer(alpha, kernel=kernel) for alpha in (0.1, 1.0) for kernel in ("gaussian", "polyexp")]
    part = large[:40_000]

    def work(i):
        return models[i % 4].__class__(**models[i % 4].get_params()).fit_transform(part)

    expected = [work(i) for i in range(4)]
    with ThreadPoolExecutor(8) as pool:
        for i, out in enumerate(pool.map(work, range(32))):
            assert_array_equal(out, expected[i % 4])


def test_many_callers_of_one_model(large):
    model = KDITransformer().fit(large)
    expected = model.transform(large[:50_000])
    back = model.inverse_transform(expected[:5000])
    with ThreadPoolExecutor(8) as pool:
        for out in pool.map(lambda _: model.transform(large[:50_000]), range(16)):
            assert_array_equal(out, expected)
        for out in pool.map(lambda _: model.inverse_transform(expected[:5000]), range(16)):
            assert_array_equal(out, back)


def test_sketches_and_distributions_from_many_callers(large):
    values = large[:30_000, 1]
    sketch, median = Sketch.from_values(values).to_bytes(), KDE1D(values).ppf(0.5)
    with ThreadPoolExecutor(8) as pool:
        assert {s.to_bytes() for s in pool.map(lambda _: Sketch.from_values(values), range(16))} == {sketch}
        kde = KDE1D(values)
        assert set(pool.map(lambda _: float(kde.ppf(0.5)), range(16))) == {float(median)}


@pytest.mark.parametrize("n_jobs", N_JOBS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_n_jobs_does_not_change_the_answer(dtype, n_jobs, large):
    table = large.astype(dtype)
    one = KDITransformer(0.3, n_jobs=1).fit(table)
    many = KDITransformer(0.3, n_jobs=n_jobs).fit(table)
    assert_array_equal(many.data_min_, one.data_min_)
    assert_array_equal(many.data_max_, one.data_max_)
    assert_allclose(many.bandwidth_, one.bandwidth_, rtol=1e-12)
    # sums come in another order; cells and knots stay
    assert_allclose(many.transform(large), one.transform(large), rtol=0, atol=1e-10)
    many.n_jobs = 1
    out = many.transform(table)
    many.n_jobs = n_jobs
    assert_array_equal(many.transform(table), out)


@pytest.mark.parametrize("n_jobs", N_JOBS)
def test_n_jobs_with_weights_and_layouts(n_jobs, large):
    weights = np.arange(200_000) % 4
    one = KDITransformer(n_jobs=1).fit(large, sample_weight=weights).transform(large)
    many = KDITransformer(n_jobs=n_jobs).fit(np.asfortranarray(large), sample_weight=weights).transform(large)
    assert_allclose(many, one, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_jobs", [2, 16])
def test_more_threads_than_rows(n_jobs, rng):
    table = rng.normal(size=(3, 2))
    assert_array_equal(KDITransformer(n_jobs=n_jobs).fit_transform(table), KDITransformer().fit_transform(table))


def _fit_in_child(table, connection):
    try:
        connection.send(KDITransformer(0.3, n_jobs=2).fit_transform(table))
    finally:
        connection.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork_the_child_can_use_threads(large):
    expected = KDITransformer(0.3, n_jobs=2).fit_transform(large)  # the parent has used threads before
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_fit_in_child, args=(large, sender))
    child.start()
    sender.close()
    assert receiver.poll(60), "the child did not answer"
    out = receiver.recv()
    child.join(60)
    assert child.exitcode == 0
    assert_allclose(out, expected, rtol=0, atol=1e-10)


class TestCounting:
    def test_small_tables_need_no_threads(self):
        assert count_threads(None, 1000) == 1

    def test_large_tables_take_the_free_cores(self, monkeypatch):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        assert count_threads(None, 10**7) == joblib.cpu_count()

    @pytest.mark.parametrize("given", ["1", "1,2", " 1 "])
    def test_omp_num_threads_is_respected(self, given, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        assert count_threads(None, 10**7) == 1

    def test_an_int_says_how_many(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        assert [count_threads(n, 10**7) for n in (1, 2, 5)] == [1, 2, 5]
        assert count_threads(-1, 10**7) == joblib.cpu_count()
        assert count_threads(-1000, 10**7) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
    def test_one_inside_a_joblib_worker(self, backend, monkeypatch):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        counts = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(count_threads)(None, 10**7) for _ in range(4)
        )
        assert counts == [1] * 4

    def test_an_int_also_inside_a_joblib_worker(self):
        counts = joblib.Parallel(n_jobs=2, backend="threading")(
            joblib.delayed(count_threads)(2, 10**7) for _ in range(2)
        )
        assert counts == [2, 2]


COUNT_THREADS = """
import os, sys, threading, time
import numpy as np
from kdi import KDITransformer
n_jobs = eval(sys.argv[1])
table = np.random.default_rng(0).normal(size=(2_000_000, 2))
before, most, done = len(os.listdir("/proc/self/task")), 0, False
def watch():
    global most
    while not done:
        most = max(most, len(os.listdir("/proc/self/task")))
watcher = threading.Thread(target=watch)
watcher.start()
for _ in range(5):
    KDITransformer(n_jobs=n_jobs).fit_transform(table)
done = True
watcher.join()
print(most - before - 1)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0"), reason="NumPy takes no threads")
@pytest.mark.parametrize(("n_jobs", "omp", "most"), [("1", None, 0), ("4", None, 4), ("None", "1", 0)])
def test_threads_that_are_really_there(n_jobs, omp, most):
    environment = {**os.environ, **({"OMP_NUM_THREADS": omp} if omp else {})}
    done = subprocess.run(
        [sys.executable, "-c", COUNT_THREADS, n_jobs], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    extra = int(done.stdout)
    assert extra <= most
    if most:
        assert extra >= 1
