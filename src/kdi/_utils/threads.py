"""How many threads a call may use."""

from __future__ import annotations

import os

import joblib
from joblib.parallel import get_active_backend

LARGE = 2**17  # values below which starting a thread costs more than it saves


def count_threads(n_jobs: int | None, n_values: int) -> int:
    """Threads for a table of that many values.

    An int says how many; negative ones count down from all cores, as in joblib. None takes the cores that are free to
    this process (its affinity, its container's share, OMP_NUM_THREADS), but one where the table is small, and one
    inside a joblib worker, whose siblings use the others.
    """
    if n_jobs is not None:
        wanted = n_jobs if n_jobs > 0 else int(joblib.cpu_count()) + 1 + n_jobs
        return max(1, min(wanted, n_values // 1024, 256))
    if n_values < LARGE or get_active_backend()[0].nesting_level:
        return 1
    return int(min(joblib.cpu_count(), _omp_limit()))


def _omp_limit() -> int:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else 2**10
