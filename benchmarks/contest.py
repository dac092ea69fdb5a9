"""What the processes on Dask and those on Spark share: who takes part is named and timed alike."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.direct import Values
from benchmarks.rounds import timed

LEVELS = 1_000
FOLDERS = ["warm", "small", "table"]
# kdi at its default, alpha = 1, has the large table; at alpha = 0 it keeps all values, and has the small one.
KDI = {"kdi": "table", "kdi, alpha = 0": "small"}
ALPHA = {"kdi": 1.0, "kdi, alpha = 0": 0.0}

Contender = Callable[[Any], Any]


def race(contenders: Mapping[str, Contender], tables: Mapping[str, Any], budget: float) -> dict[str, Any]:
    """Times and answers for each table of all that work; those that fail are named, with the error.

    The first table is only for a first run, to load libraries and to start workers.
    """
    (_, warm), *others = tables.items()
    able, left_out = {}, {}
    for name, contender in contenders.items():
        try:
            contender(warm)
            able[name] = contender
        except Exception as error:  # another library's, whatever it may be
            if name in KDI:
                raise
            left_out[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    sizes = {}
    for size, table in others:
        work = {
            name: partial(timed, contender, table) for name, contender in able.items() if KDI.get(name, size) == size
        }
        sizes[size] = race_on(work, budget)
    return {"sizes": sizes, "left_out": left_out}


def race_on(work: Mapping[str, Callable[[], tuple[float, Any]]], budget: float) -> dict[str, Any]:
    first = rounds.interleaved(work, dict.fromkeys(work, 1))
    costs = {name: taken for name, [(taken, _)] in first.items()}
    # Two rounds are enough for those that take much of a minute.
    more = rounds.interleaved(work, rounds.turns(costs, budget - sum(costs.values()), fewest=1))
    times = {name: [costs[name], *(taken for taken, _ in more[name])] for name in work}
    return {
        "times": {name: {**rounds.summary(taken), "rounds": len(taken)} for name, taken in times.items()},
        "answers": {name: answer for name, [(_, answer)] in first.items()},
    }


def levels() -> list[float]:
    return np.linspace(0, 1, LEVELS).tolist()


def points(folder: Path) -> Values:
    """Some values of the table in this folder, of which kdi is asked the levels."""
    return np.load(folder.with_suffix(".npy"))
