"""Tasks one after the other, with what is done and the time that is left printed after each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Task:
    label: str
    work: float  # in any unit that all tasks share: the time left is judged by it
    call: Callable[[], list[dict[str, Any]]]


def run(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """The rows of all tasks."""
    rows, done, total, begin = [], 0.0, sum(task.work for task in tasks), perf_counter()
    for count, task in enumerate(tasks, start=1):
        rows += task.call()
        done += task.work
        gone = perf_counter() - begin
        left = gone * (total - done) / done
        print(f"{count} of {len(tasks)}: {task.label}; {gone:.0f} s gone, about {left:.0f} s left", flush=True)
    return rows
