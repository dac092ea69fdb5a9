"""Growth of the time with the number of rows: the slope of log time against log N, 1 where doubling N doubles it."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.contenders import CONTENDERS
from benchmarks.data import lognormal_table
from benchmarks.report import Table, Target, number

ROWS = [100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000, 6_400_000, 10_000_000]
QUICK_ROWS = ROWS[:5]
NAMES = ["kdi polyexp", "kdi gaussian", "MinMaxScaler"]
PARTS = ["fit", "transform", "both"]
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 4.0, 0.5
# A slope fitted to eight noisy times varies by a few hundredths; N log N would give 1.07 over this range.
STEEPEST = 1.1


def measure(quick: bool) -> dict[str, Any]:
    sizes = QUICK_ROWS if quick else ROWS
    budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
    times: dict[str, Any] = {name: {part: [] for part in PARTS} for name in NAMES}
    for rows in sizes:
        print(f"scaling: {rows:,} rows", flush=True)
        table = lognormal_table(rows, 1)
        work = {name: partial(rounds.fit_and_transform, CONTENDERS[name].make, table) for name in NAMES}
        costs = {name: sum(call()) for name, call in work.items()}
        for name, pairs in rounds.interleaved(work, rounds.turns(costs, budget)).items():
            fit, transform = np.array(pairs).T
            for part, seconds in zip(PARTS, [fit, transform, fit + transform], strict=True):
                times[name][part].append(rounds.summary(seconds))
    slopes = {name: {part: slope(sizes, times[name][part]) for part in PARTS} for name in NAMES}
    return {"rows": sizes, "times": times, "slopes": slopes}


def slope(sizes: list[int], times: list[dict[str, float]]) -> float:
    """Fit the slope of log time against log N by least squares."""
    return float(np.polyfit(np.log(sizes), np.log([time["min"] for time in times]), 1)[0])


def tables(results: dict[str, Any]) -> list[Table]:
    header = ["", *(f"{rows:,}" for rows in results["rows"]), "slope"]
    rows = []
    for name, parts in results["times"].items():
        for part, times in parts.items():
            cells = [number(time["min"]) for time in times]
            rows.append([f"{name}, {part}", *cells, f"{results['slopes'][name][part]:.2f}"])
    note = "One column, minimum over interleaved rounds. The slope is that of log time against log N, by least squares."
    return [Table("Time against the number of rows, milliseconds", header, rows, note)]


def targets(results: dict[str, Any]) -> list[Target]:
    first, *_, last = results["rows"]
    found = []
    for name in ("kdi polyexp", "kdi gaussian"):
        for part in ("fit", "transform"):
            measured = results["slopes"][name][part]
            asked = f"{name}, {part}: doubling N doubles the time, slope from {first:,} to {last:,} at most {STEEPEST}"
            found.append(Target(asked, f"{measured:.2f}", measured <= STEEPEST))
    return found
