"""Number of threads that kdi uses for each setting of n_jobs, and how much time they save.

Each setting runs in its own process. Threads are counted in two ways: by processor time over wall time, which a busy
machine lowers, and by the number of threads seen running or ready to run, which it does not.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import chain
from threading import get_native_id
from time import perf_counter, process_time
from typing import Any

from benchmarks import fresh
from benchmarks.contenders import make_kdi, make_minmax
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number
from benchmarks.rounds import timed
from benchmarks.watch import RunningThreads

SHAPE, QUICK_SHAPE = (1_000_000, 10), (200_000, 10)
SECONDS, QUICK_SECONDS = 2.0, 0.5
# One thread cannot use more than all of one core; the clocks differ by little.
ONE_CORE = 1.05


def measure(quick: bool) -> dict[str, Any]:
    shape, seconds = (QUICK_SHAPE, QUICK_SECONDS) if quick else (SHAPE, SECONDS)
    settings = {
        "n_jobs=1": (alone, 1, {}),
        "n_jobs=2": (alone, 2, {}),
        "n_jobs=None": (alone, None, {}),
        "n_jobs=None, OMP_NUM_THREADS=1": (alone, None, {"OMP_NUM_THREADS": "1"}),
        "n_jobs=None, one of two joblib processes": (in_joblib_processes, None, {}),
        "n_jobs=None, two joblib threads together": (in_joblib_threads, None, {}),
    }
    result = {}
    for name, (function, n_jobs, environment) in settings.items():
        print(f"threads: {name}", flush=True)
        result[name] = fresh.call(function, n_jobs, *shape, seconds, environment=environment)
    result["MinMaxScaler"] = fresh.call(minmax, *shape, seconds)
    return {"shape": shape_name(*shape), "cores": os.cpu_count(), "settings": result}


def alone(n_jobs: int | None, rows: int, features: int, seconds: float) -> dict[str, float]:
    table = lognormal_table(rows, features)
    work = partial(fit_transform, table, n_jobs)
    return usage(work, partial(repeated, work, seconds))


def minmax(rows: int, features: int, seconds: float) -> dict[str, float]:
    """Measure MinMaxScaler, which uses one thread: a check of the two ways to count."""
    table = lognormal_table(rows, features)

    def work() -> None:
        make_minmax(rows).fit(table).transform(table)

    return usage(work, partial(repeated, work, seconds))


def in_joblib_processes(n_jobs: int | None, rows: int, features: int, seconds: float) -> dict[str, float]:
    """Measure two workers at a time; return the larger figures of the two."""
    from joblib import Parallel, delayed

    both = Parallel(n_jobs=2)(delayed(alone)(n_jobs, rows, features, seconds) for _ in range(2))
    return {name: max(worker[name] for worker in both) for name in both[0]}


def in_joblib_threads(n_jobs: int | None, rows: int, features: int, seconds: float) -> dict[str, float]:
    """Measure two workers at a time in one process, whose threads can only be counted together."""
    from joblib import Parallel, delayed

    table = lognormal_table(rows, features)
    work = partial(fit_transform, table, n_jobs)
    pair = Parallel(n_jobs=2, backend="threading")
    # The main thread only polls whether the two are done; on a busy machine it would be seen as ready to run.
    return usage(work, lambda: list(chain(*pair([delayed(repeated)(work, seconds)] * 2))), leave_out=get_native_id())


def fit_transform(table: Any, n_jobs: int | None) -> None:
    make_kdi(len(table), n_jobs=n_jobs).fit(table).transform(table)


def repeated(work: Callable[[], Any], seconds: float) -> list[float]:
    """Call repeatedly for that many seconds, and return how long each call took."""
    wall: list[float] = []
    while sum(wall) < seconds:
        wall.append(timed(work)[0])
    return wall


def usage(work: Callable[[], Any], run: Callable[[], list[float]], leave_out: int | None = None) -> dict[str, float]:
    """Return the milliseconds of the fastest call, the cores kept busy, and the threads running at the same time."""
    work()  # the first call imports libraries, some of which start threads that spin briefly
    begin, begin_cpu = perf_counter(), process_time()
    wall = run()
    cores = (process_time() - begin_cpu) / (perf_counter() - begin)
    with RunningThreads(leave_out) as running:  # in a run that is not timed: counting takes processor time itself
        run()
    return {"milliseconds": 1e3 * min(wall), "cores": cores, "threads": running.most()}


def tables(results: dict[str, Any]) -> list[Table]:
    rows = [
        [name, number(used["milliseconds"]), number(used["cores"]), str(used["threads"])]
        for name, used in results["settings"].items()
    ]
    note = f"Fit + transform, minimum; {results['cores']} cores. Cores busy: processor time over wall time."
    header = ["", "milliseconds", "cores busy", "threads at once"]
    return [Table(f"Threads on {results['shape']}", header, rows, note)]


def targets(results: dict[str, Any]) -> list[Target]:
    allowed = {name: 1 for name in results["settings"] if name != "MinMaxScaler"}
    allowed |= {"n_jobs=2": 2, "n_jobs=None": results["cores"], "n_jobs=None, two joblib threads together": 2}
    found = []
    for name, most in allowed.items():
        used = results["settings"][name]
        measured = f"{used['threads']}, {number(used['cores'])} cores busy"
        reached = used["threads"] <= most and used["cores"] <= most * ONE_CORE
        found.append(Target(f"{name}: at most {most} thread{'s' * (most > 1)}", measured, reached))
    return found
