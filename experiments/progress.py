"""Tasks, with what is done and the time that is left printed after each; rows are kept, so that a run can be resumed.

Tasks with a key are looked up in the file of `keeping`, and appended to it when they are done. The key has to say all
that the rows depend on: `task_key` adds the versions of libraries, the sources of kdi and the file that measures. A run
that was stopped goes on where it was; without the file it starts anew.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from joblib import Parallel, delayed

import kdi
from kdi._numerics.backend import core

Rows = list[dict[str, Any]]
Size = Literal["quick", "usual", "full"]  # how much of an experiment is run


@dataclass(frozen=True)
class Task:
    label: str
    work: float  # in any unit that all tasks share: the time left is judged by it
    call: Callable[[], Rows]
    key: str = ""  # none: never kept


def task_key(file: str, *parts: Any, libraries: Sequence[str] = ()) -> str:
    """What names a task, with a hash of the file that measures it and the versions of what that calls."""
    versions = {library: version(library) for library in ("numpy", "scipy", "scikit-learn", *libraries)}
    return json.dumps([*parts, versions, kdi_sources(), hashed([Path(file)])])


@cache
def kdi_sources() -> str:
    """The version of kdi does not change with every line of it."""
    files = [*sorted(Path(kdi.__file__).parent.glob("*.py")), Path(core.__file__)]
    return hashed(files)


def hashed(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Kept:
    """Rows of tasks by key, in a file with one JSON object a line that is only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used = 0.0  # seconds that were taken for rows of an earlier run
        self.rows: dict[str, Rows] = {}
        self.seconds: dict[str, float] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:  # the last line of a run that was killed while it wrote
                    continue
                self.rows[entry["key"]] = entry["rows"]
                self.seconds[entry["key"]] = entry.get("seconds", 0.0)

    def add(self, key: str, rows: Rows, seconds: float) -> None:
        self.rows[key], self.seconds[key] = rows, seconds
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # A line of its own, even after one that was cut short.
            file.write("\n" + json.dumps({"key": key, "rows": rows, "seconds": round(seconds, 3)}))


_kept: Kept | None = None


@contextmanager
def keeping(path: Path) -> Iterator[Kept]:
    """Within this, rows of tasks with a key are kept in that file."""
    global _kept
    _kept = Kept(path)
    try:
        yield _kept
    finally:
        _kept = None


def run(tasks: Sequence[Task], n_jobs: int = 1) -> Rows:
    """The rows of all tasks, in their order; so many tasks at once, in processes of their own where that is not 1."""
    kept = _kept.rows if _kept else {}
    found = {index: kept[task.key] for index, task in enumerate(tasks) if task.key and task.key in kept}
    if _kept and found:
        _kept.used += sum(_kept.seconds[tasks[index].key] for index in found)
        print(f"{len(found)} of {len(tasks)} kept from an earlier run", flush=True)
    rest = [index for index in range(len(tasks)) if index not in found]
    done, total, begin = 0.0, sum(tasks[index].work for index in rest), perf_counter()
    for count, (index, rows, seconds) in enumerate(finished(tasks, rest, n_jobs), start=len(found) + 1):
        task = tasks[index]
        found[index] = rows
        if _kept and task.key:
            _kept.add(task.key, rows, seconds)
        done += task.work
        gone = perf_counter() - begin
        left = gone * (total - done) / done
        print(f"{count} of {len(tasks)}: {task.label}; {gone:.0f} s gone, about {left:.0f} s left", flush=True)
    return [row for index in range(len(tasks)) for row in found[index]]


def finished(tasks: Sequence[Task], wanted: Iterable[int], n_jobs: int) -> Iterator[tuple[int, Rows, float]]:
    """Index, rows and seconds of each task that is wanted, as it is done."""
    if n_jobs == 1:
        yield from (called(index, tasks[index]) for index in wanted)
        return
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    yield from parallel(delayed(called)(index, tasks[index]) for index in wanted)


def called(index: int, task: Task) -> tuple[int, Rows, float]:
    begin = perf_counter()
    rows = task.call()
    return index, rows, perf_counter() - begin
