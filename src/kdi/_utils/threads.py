"""The number of threads that a call may use."""

from __future__ import annotations

import os

import joblib
from joblib.parallel import get_active_backend

MIN_PARALLEL_VALUES = 2**17  # for fewer values, starting a thread costs more than it saves


def count_threads(n_jobs: int | None, n_values: int) -> int:
    """Return the number of threads for a table of so many values.

    A positive `n_jobs` is that number; a negative one counts down from all cores, as in joblib. None means the cores
    that are free to this process (its affinity, its container's share, OMP_NUM_THREADS), but one where the table is
    small, and one inside a joblib worker, since the other workers use the other cores.
    """
    if n_jobs is not None:
        wanted = n_jobs if n_jobs > 0 else int(joblib.cpu_count()) + 1 + n_jobs
        return max(1, min(wanted, n_values // 1024, 256))
    if n_values < MIN_PARALLEL_VALUES or get_active_backend()[0].nesting_level:
        return 1
    return int(min(joblib.cpu_count(), _omp_limit()))


def _omp_limit() -> int:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else 2**10
