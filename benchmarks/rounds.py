"""Timing in interleaved rounds.

Every contender runs once per round, so that other load on the machine affects all of them alike. A slow contender,
for which the budget is too small, skips rounds, evenly spread over the whole run.
"""

import gc
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

FEWEST, MOST = 3, 300
ALIKE = 5  # contenders within this factor of the fastest take equally many turns


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds that the call took, and its result."""
    begin = perf_counter()
    result = work(*arguments)
    return perf_counter() - begin, result


def fit_and_transform(make: Callable[[int], Any], table: Any) -> tuple[float, float]:
    """Return the seconds of each; making the estimator and freeing the result are not timed."""
    estimator = make(len(table))
    fit, _ = timed(estimator.fit, table)
    transform, result = timed(estimator.transform, table)
    del result
    return fit, transform


def turns(costs: Mapping[str, float], budget: float, fewest: int = FEWEST) -> dict[str, int]:
    """Return the number of rounds per contender if all share the seconds of the budget equally."""
    share = budget / len(costs)
    # Contenders of similar speed take equally many turns: more turns lower a minimum by themselves.
    fast = {name: cost for name, cost in costs.items() if cost <= ALIKE * min(costs.values())}
    cost_of_turn = {name: sum(fast.values()) / len(fast) if name in fast else cost for name, cost in costs.items()}
    return {name: int(np.clip(share / cost, fewest, MOST)) for name, cost in cost_of_turn.items()}


def interleaved(work: Mapping[str, Callable[[], Any]], turns: Mapping[str, int]) -> dict[str, list[Any]]:
    """Call each entry of ``work`` its number of times, interleaved; return the results of the calls."""
    results: dict[str, list[Any]] = {name: [] for name in work}
    rounds = max(turns.values())
    gc.collect()
    gc.disable()  # as timeit does: a collection would be charged to an arbitrary contender
    try:
        for index in range(rounds):
            for name, call in work.items():
                if (index + 1) * turns[name] // rounds > index * turns[name] // rounds:
                    results[name].append(call())
    finally:
        gc.enable()
    return results


def summary(seconds: Any) -> dict[str, float]:
    """Return minimum and median in milliseconds."""
    return {"min": 1e3 * float(np.min(seconds)), "median": 1e3 * float(np.median(seconds))}
