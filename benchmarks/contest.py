"""Shared by the benchmarks on Dask and on Spark: contenders have the same names and are timed in the same way."""

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
# kdi at its default, alpha = 1, runs on the large table; alpha = 0 keeps all values and runs on the small one.
KDI = {"kdi": "table", "kdi, alpha = 0": "small"}
ALPHA = {"kdi": 1.0, "kdi, alpha = 0": 0.0}

Contender = Callable[[Any], Any]


def race(contenders: Mapping[str, Contender], tables: Mapping[str, Any], budget: float) -> dict[str, Any]:
    """Return times and answers per table of the contenders that work, and the errors of those that fail.

    The first table is only for a warm-up: it loads libraries and starts workers.
    """
    (_, warm), *others = tables.items()
    able, left_out = {}, {}
    for name, contender in contenders.items():
        try:
            contender(warm)
            able[name] = contender
        except Exception as error:  # another library may raise anything
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
    """Time all in interleaved rounds; return times and the answers of the first round."""
    first = rounds.interleaved(work, dict.fromkeys(work, 1))
    costs = {name: taken for name, [(taken, _)] in first.items()}
    # Two rounds are enough for contenders that take most of a minute.
    more = rounds.interleaved(work, rounds.turns(costs, budget - sum(costs.values()), fewest=1))
    times = {name: [costs[name], *(taken for taken, _ in more[name])] for name in work}
    return {
        "times": {name: {**rounds.summary(taken), "rounds": len(taken)} for name, taken in times.items()},
        "answers": {name: answer for name, [(_, answer)] in first.items()},
    }


def levels() -> list[float]:
    return np.linspace(0, 1, LEVELS).tolist()


def points(folder: Path) -> Values:
    """Load some values of the table in this folder, at which the levels of kdi are checked."""
    return np.load(folder.with_suffix(".npy"))
