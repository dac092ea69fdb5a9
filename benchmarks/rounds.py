"""Timing in interleaved rounds.

Every contender takes its turn in a round, so that whatever else the machine does hits all of them alike. A slow
contender that cannot afford every round sits out some, evenly spread over the whole run.
"""

import gc
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

FEWEST, MOST = 3, 300
ALIKE = 5


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds that the call took, and what it returned."""
    begin = perf_counter()
    result = work(*arguments)
    return perf_counter() - begin, result


def fit_and_transform(make: Callable[[int], Any], table: Any) -> tuple[float, float]:
    """Seconds for each of the two; making the estimator and letting go of the result are not timed."""
    estimator = make(len(table))
    fit, _ = timed(estimator.fit, table)
    transform, result = timed(estimator.transform, table)
    del result
    return fit, transform


def turns(costs: Mapping[str, float], budget: float, fewest: int = FEWEST) -> dict[str, int]:
    """How many rounds each may take part in when all share the seconds of the budget equally."""
    share = budget / len(costs)
    # Those of about the same speed take the same number of turns: more turns would lower a minimum by themselves.
    fast = {name: cost for name, cost in costs.items() if cost <= ALIKE * min(costs.values())}
    cost_of_turn = {name: sum(fast.values()) / len(fast) if name in fast else cost for name, cost in costs.items()}
    return {name: int(np.clip(share / cost, fewest, MOST)) for name, cost in cost_of_turn.items()}


def interleaved(work: Mapping[str, Callable[[], Any]], turns: Mapping[str, int]) -> dict[str, list[Any]]:
    """Call each entry of ``work`` its number of times, taking turns, and gather what the calls return."""
    gathered: dict[str, list[Any]] = {name: [] for name in work}
    rounds = max(turns.values())
    gc.collect()
    gc.disable()  # as timeit does: a collection would be charged to whoever happens to run
    try:
        for index in range(rounds):
            for name, call in work.items():
                if (index + 1) * turns[name] // rounds > index * turns[name] // rounds:
                    gathered[name].append(call())
    finally:
        gc.enable()
    return gathered


def summary(seconds: Any) -> dict[str, float]:
    """Minimum and median in milliseconds."""
    return {"min": 1e3 * float(np.min(seconds)), "median": 1e3 * float(np.median(seconds))}
