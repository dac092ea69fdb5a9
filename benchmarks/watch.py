"""Count the threads of this process that run at the same time, by sampling their states from one more thread."""

import threading
from pathlib import Path
from time import sleep
from typing import Self

import numpy as np

# A thread that ends may be seen once together with the thread that waits for it.
RARE = 0.02


class RunningThreads:
    """Count, every half millisecond, the other threads of this process that are running or ready to run."""

    def __init__(self, leave_out: int | None = None) -> None:
        self._leave_out = leave_out

    def __enter__(self) -> Self:
        self._counts: list[int] = []
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        tasks, left_out = Path("/proc/self/task"), {str(threading.get_native_id()), str(self._leave_out)}
        while not self._done.is_set() and tasks.exists():
            self._counts.append(sum(_is_running(task) for task in tasks.iterdir() if task.name not in left_out))
            sleep(0.0005)

    def most(self) -> int:
        """Return the most threads at once, rare coincidences left out; 0 on a system without /proc."""
        return int(np.quantile(self._counts, 1 - RARE)) if self._counts else 0


def _is_running(task: Path) -> bool:
    try:
        # "id (name) state ...", where the name may hold spaces and brackets
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:  # the thread has ended
        return False
