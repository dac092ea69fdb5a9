"""What the processes on Dask and those on Spark share: who takes part is named and timed alike."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.correlation import run_once, seconds
from benchmarks.direct import Values

LEVELS = 1_000
POINTS = "points.npy"
KDI = {"kdi": 1.0, "kdi, alpha = 0": 0.0}  # and its alpha


def race(contenders: dict[str, Callable[[Any], Any]], warm: Any, table: Any, budget: float) -> dict[str, Any]:
    """Times and answers of all that work; those that fail are named, with the error."""
    work, left_out = {}, {}
    for name, contender in contenders.items():
        try:
            contender(warm)
            work[name] = partial(contender, table)
        except Exception as error:  # another library's, whatever it may be
            if name in KDI:
                raise
            left_out[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    answers, costs = run_once(work)
    clocked = {name: partial(seconds, call) for name, call in work.items()}
    # One round is enough for those that take much of a minute.
    times = rounds.interleaved(clocked, rounds.turns(costs, budget, fewest=1))
    summaries = {name: {**rounds.summary(taken), "rounds": len(taken)} for name, taken in times.items()}
    return {"times": summaries, "answers": answers, "left_out": left_out}


def levels() -> list[float]:
    return np.linspace(0, 1, LEVELS).tolist()


def points(place: str) -> Values:
    """The values of which kdi is asked the levels, a column a column."""
    return np.load(Path(place) / POINTS)
