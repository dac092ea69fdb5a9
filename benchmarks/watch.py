"""Count the threads of this process that run at the same time, by looking at them from one more thread."""

import threading
from pathlib import Path
from time import sleep
from typing import Self

import numpy as np

# A thread that has been told to end may be seen once beside the one that waits for it.
RARE = 0.02


class RunningThreads:
    """Looks every half millisecond at how many threads of this process are running or ready to run; not at itself."""

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
        """The most at once that were not a rare coincidence; 0 where the system does not say (it has no /proc)."""
        return int(np.quantile(self._counts, 1 - RARE)) if self._counts else 0


def _is_running(task: Path) -> bool:
    try:
        # "id (name) state ...", where the name may hold spaces and brackets
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:  # it ended in the meantime
        return False
