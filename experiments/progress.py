"""Run tasks, print the progress and the time left after each, and cache their rows so that a run can be resumed.

The rows of a task with a key are looked up in the file of `cached_rows`, and appended to it when the task is done. The
key must contain everything that the rows depend on: `task_key` adds the versions of libraries, the sources of kdi and
the file that measures. A run that was stopped goes on where it was; without the file it starts anew.
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
    """One part of an experiment, which gives some of its rows."""

    label: str
    work: float  # in any unit that all tasks share: the time left is estimated from it
    call: Callable[[], Rows]
    key: str = ""  # empty: never cached


def task_key(file: str, *parts: Any, libraries: Sequence[str] = (), kdi_matters: bool = True) -> str:
    """Make the key of a task: its parts, the versions of libraries, hashes of kdi and of the file that measures."""
    versions = {library: version(library) for library in ("numpy", "scipy", "scikit-learn", *libraries)}
    return json.dumps([*parts, versions, kdi_sources() if kdi_matters else "", hashed([Path(file)])])


@cache
def kdi_sources() -> str:
    """Hash the sources of kdi and its compiled core: its version does not change with every edit."""
    return hash_sources(Path(kdi.__file__).parent, Path(core.__file__))


def hash_sources(package: Path, core_file: Path) -> str:
    """Hash paths and contents of all modules of a package and its subpackages, and the compiled core."""
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    found = hashlib.sha256()
    for name, path in [*sorted(modules.items()), (core_file.name, core_file)]:
        content = path.read_bytes()
        # With the length, so that no other division into names and contents has the same hash.
        found.update(f"{name}\n{len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def hashed(files: Iterable[Path]) -> str:
    """Hash the contents of files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class RowCache:
    """Rows of tasks by key, in a file with one JSON object per line that is only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds_saved = 0.0  # seconds that an earlier run took for rows that this run used
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
            # Begins a new line, even after one that was cut short.
            file.write("\n" + json.dumps({"key": key, "rows": rows, "seconds": round(seconds, 3)}))


_cache: RowCache | None = None


@contextmanager
def cached_rows(path: Path) -> Iterator[RowCache]:
    """Cache the rows of tasks with a key in that file, within this context."""
    global _cache
    _cache = RowCache(path)
    try:
        yield _cache
    finally:
        _cache = None


def run(tasks: Sequence[Task], n_jobs: int = 1) -> Rows:
    """Return the rows of all tasks, in their order; with n_jobs above 1, that many tasks run at once in processes."""
    cached = _cache.rows if _cache else {}
    found = {index: cached[task.key] for index, task in enumerate(tasks) if task.key and task.key in cached}
    if _cache and found:
        _cache.seconds_saved += sum(_cache.seconds[tasks[index].key] for index in found)
        print(f"{len(found)} of {len(tasks)} kept from an earlier run", flush=True)
    rest = [index for index in range(len(tasks)) if index not in found]
    done, total, begin = 0.0, sum(tasks[index].work for index in rest), perf_counter()
    for count, (index, rows, seconds) in enumerate(finished(tasks, rest, n_jobs), start=len(found) + 1):
        task = tasks[index]
        found[index] = rows
        if _cache and task.key:
            _cache.add(task.key, rows, seconds)
        done += task.work
        elapsed = perf_counter() - begin
        left = elapsed * (total - done) / done
        print(f"{count} of {len(tasks)}: {task.label}; {elapsed:.0f} s elapsed, about {left:.0f} s left", flush=True)
    return [row for index in range(len(tasks)) for row in found[index]]


def cached(tasks: Iterable[Task]) -> Rows:
    """Return the rows of the tasks that are done, of a run that was stopped."""
    known = _cache.rows if _cache else {}
    return [row for task in tasks for row in known.get(task.key, [])]


def finished(tasks: Sequence[Task], wanted: Iterable[int], n_jobs: int) -> Iterator[tuple[int, Rows, float]]:
    """Yield index, rows and seconds of each wanted task as soon as it is done."""
    if n_jobs == 1:
        yield from (called(index, tasks[index]) for index in wanted)
        return
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    yield from parallel(delayed(called)(index, tasks[index]) for index in wanted)


def called(index: int, task: Task) -> tuple[int, Rows, float]:
    begin = perf_counter()
    rows = task.call()
    return index, rows, perf_counter() - begin
