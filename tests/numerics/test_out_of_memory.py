"""Memory that runs out in a thread of the core is a MemoryError, as anywhere in Python; it must not end the process."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="no limits on memory here")

# The sorted values of a column take twice the memory of the column. The limit leaves room for the threads' stacks, so
# that they do start, and for the sorted values of no column.
PROGRAM = """
import resource
import numpy as np
from kdi._numerics import _core

def levels(table, n_threads):
    return _core.levels(table, None, np.empty_like(table), np.ones(table.shape[1]), 0, 1.0, 1e-4, 1e-13, n_threads)

table, small = np.random.default_rng(0).random(({rows}, 4)), np.random.default_rng(0).random((10, 4))
levels(small, {n_threads})
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {rows} * 4 * 8 + {spare}, resource.RLIM_INFINITY))
try:
    levels(table, {n_threads})
except MemoryError:
    assert np.isfinite(levels(small, {n_threads})).all()
    print("MemoryError")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_memory_error_in_a_thread(n_threads):
    program = PROGRAM.format(rows=4_000_000, n_threads=n_threads, spare=n_threads * 12 * 2**20)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "MemoryError\n"), run.stderr
