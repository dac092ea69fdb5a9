"""Fit and transform in units of MinMaxScaler's time, on tables from 150×4 to 1,000,000×10 and on a few rows at a time.

Only fast contenders take part, so that the rounds are short and no slow one disturbs the caches. np.copyto of the same
table into memory that was used before is the physical limit: a scaler reads the table twice and writes it once.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.contenders import CONTENDERS, make_kdi
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number

SHAPES = [(150, 4), (1_000, 20), (10_000, 100), (100_000, 10), (1_000_000, 10)]
DTYPES = ["float64", "float32"]
KERNELS = ["kdi polyexp", "kdi gaussian"]
UNIT, LIMIT, ONE_THREAD = "MinMaxScaler", "np.copyto", ", 1 thread"
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 15.0, 1.0
PARTS = ["fit", "transform", "both"]

FITTED, BATCHES = (
    (1_000, 20),
    [1, 10, 100, 1_000],
)  # the table that is fitted, and the rows that are transformed at once
BATCH_NAMES = ["kdi polyexp", "QuantileTransformer", UNIT]
BATCH_SECONDS = 1e-3  # at least so long is a transform repeated for one measurement
SAME, SAME_FLOAT32 = 1e-9, 2e-6  # differences allowed between numbers of threads, and between dtypes

# Table, and the largest allowed time for fit and transform in units of MinMaxScaler's.
ASKED = {"150×4": 1.4, "1,000×20": 2.5, "10,000×100": 2.5, "100,000×10": 0.6, "1,000,000×10": 0.4}
MICROSECONDS, TIMES_FASTER = 30.0, 5.0  # for one row, the latter than QuantileTransformer

MAKERS: dict[str, Callable[[int], Any]] = {
    **{name: CONTENDERS[name].make for name in KERNELS},
    **{name + ONE_THREAD: partial(make_kdi, kernel=name.split()[1], n_jobs=1) for name in KERNELS},
    UNIT: CONTENDERS[UNIT].make,
}


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing them would be timed
    budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
    shapes = {shape_name(*shape): measure_shape(*shape, budget) for shape in (SHAPES[:-1] if quick else SHAPES)}
    return {"shapes": shapes, "batches": measure_batches(budget)}


def measure_shape(rows: int, features: int, budget: float) -> dict[str, Any]:
    """Return the times of all contenders, by dtype."""
    print(f"shares: {shape_name(rows, features)}", flush=True)
    tables = {dtype: lognormal_table(rows, features).astype(dtype) for dtype in DTYPES}
    check(tables)
    result: dict[str, Any] = {}
    for dtype, table in tables.items():
        work: dict[str, Callable[[], Any]] = {
            name: partial(rounds.fit_and_transform, make, table) for name, make in MAKERS.items()
        }
        work[LIMIT] = partial(copy_seconds, table, np.zeros_like(table))
        costs = {name: sum(call()) for name, call in work.items()}
        times = rounds.interleaved(work, rounds.turns(costs, budget))
        result[dtype] = {name: summary(pairs) for name, pairs in times.items()}
    return result


def copy_seconds(table: Any, out: Any) -> tuple[float, float]:
    """Return the time of a copy in place of those of fit and transform."""
    return 0.0, rounds.timed(np.copyto, out, table)[0]


def summary(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    fit, transform = np.array(pairs).T
    seconds = zip(PARTS, (fit, transform, fit + transform), strict=True)
    return {part: rounds.summary(taken) for part, taken in seconds} | {"rounds": len(pairs)}


def check(tables: dict[str, Any]) -> None:
    """Raise AssertionError if a number of threads or a dtype changes the result; benchmarks.speed checks the rest."""
    for kernel in KERNELS:
        expected = make_and_apply(kernel, tables["float64"])
        one_thread = make_and_apply(kernel + ONE_THREAD, tables["float64"])
        require(f"{kernel}, 1 thread against all", np.abs(one_thread - expected).max(), SAME)
        narrow = make_and_apply(kernel, tables["float32"])
        require(f"{kernel}, float32 against float64", np.abs(narrow - expected).max(), SAME_FLOAT32)


def make_and_apply(name: str, table: Any) -> Any:
    return MAKERS[name](len(table)).fit(table).transform(table)


def measure_batches(budget: float) -> dict[str, Any]:
    """Return the times of a transform of a few rows, by number of rows."""
    print("shares: a few rows", flush=True)
    table = lognormal_table(*FITTED)
    fitted = {name: CONTENDERS[name].make(len(table)).fit(table) for name in BATCH_NAMES}
    result = {}
    for n_rows in BATCHES:
        some = table[:n_rows].copy()
        work = {name: partial(seconds_per_call, partial(one.transform, some)) for name, one in fitted.items()}
        costs = {name: call() for name, call in work.items()}
        turns = rounds.turns({name: max(cost, BATCH_SECONDS) for name, cost in costs.items()}, budget / len(BATCHES))
        times = rounds.interleaved(work, turns)
        result[str(n_rows)] = {name: rounds.summary(taken) for name, taken in times.items()}
    return result


def seconds_per_call(call: Callable[[], Any]) -> float:
    """Repeat a short call, so that reading the clock takes no noticeable part of the time."""
    count = max(1, int(BATCH_SECONDS / max(rounds.timed(call)[0], 1e-6)))

    def repeat() -> None:
        for _ in range(count):
            call()

    return rounds.timed(repeat)[0] / count


def ratio(times: dict[str, Any], name: str, other: str, part: str = "both", kind: str = "min") -> float:
    return float(times[name][part][kind] / times[other][part][kind])


def tables(results: dict[str, Any]) -> list[Table]:
    shapes = results["shapes"]
    header = ["", *shapes]
    lines = [(name, dtype) for dtype in DTYPES for name in (*MAKERS, LIMIT)]

    def rows(cell: Callable[[dict[str, Any], str], str], chosen: list[tuple[str, str]]) -> list[list[str]]:
        return [
            [f"{name}, {dtype}", *(cell(times[dtype], name) for times in shapes.values())] for name, dtype in chosen
        ]

    timed = [(name, dtype) for name, dtype in lines if name != LIMIT]
    narrow = [
        [
            name,
            *(
                number(times["float32"][name]["both"]["min"] / times["float64"][name]["both"]["min"])
                for times in shapes.values()
            ),
        ]
        for name in (*MAKERS, LIMIT)
    ]
    note = (
        "Minimum over interleaved rounds in one process, on seeded lognormal tables; threads as many as cores, or one."
    )
    return [
        Table(
            "Fit + transform, MinMaxScaler = 1",
            header,
            rows(lambda times, name: number(ratio(times, name, UNIT)), lines),
            f"{note} Each dtype in units of MinMaxScaler on the same dtype.",
        ),
        Table(
            "Fit, MinMaxScaler = 1",
            header,
            rows(lambda times, name: number(ratio(times, name, UNIT, "fit")), timed),
            note,
        ),
        Table(
            "Transform, MinMaxScaler = 1",
            header,
            rows(lambda times, name: number(ratio(times, name, UNIT, "transform")), timed),
            note,
        ),
        Table("Fit and transform, milliseconds", header, rows(both_parts, timed), note),
        Table(
            "Fit + transform, np.copyto of the same table = 1",
            header,
            rows(lambda times, name: number(ratio(times, name, LIMIT)), timed),
            "The copy goes to memory that was used before; a transform returns new memory.",
        ),
        Table("Fit + transform, float32 in units of float64", header, narrow, note),
        batch_table(results["batches"]),
    ]


def both_parts(times: dict[str, Any], name: str) -> str:
    return " + ".join(number(times[name][part]["min"]) for part in ("fit", "transform"))


def batch_table(batches: dict[str, Any]) -> Table:
    """Make the table of transforms of a few rows: microseconds, and in units of MinMaxScaler's."""
    rows = []
    for name in BATCH_NAMES:
        times = [batch[name]["min"] for batch in batches.values()]
        units = [batch[UNIT]["min"] for batch in batches.values()]
        rows.append([name, *(f"{number(1e3 * t)} ({number(t / u)})" for t, u in zip(times, units, strict=True))])
    header = ["", *(f"{int(n):,} row{'s' * (n != '1')}" for n in batches)]
    note = f"A fitted estimator of {FITTED[1]} features, minimum; in brackets, in units of MinMaxScaler's time."
    return Table(f"Transform of a few rows of {FITTED[1]} features, microseconds", header, rows, note)


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    for shape, times in results["shapes"].items():
        for kernel in KERNELS:
            least, median = (ratio(times["float64"], kernel, UNIT, kind=kind) for kind in ("min", "median"))
            asked = f"{kernel}, {shape}: fit + transform at most {ASKED[shape]:g} of MinMaxScaler's time"
            found.append(Target(asked, f"{number(least)} (by medians {number(median)})", least <= ASKED[shape]))
    one = results["batches"]["1"]
    micro = 1e3 * one["kdi polyexp"]["min"]
    faster = one["QuantileTransformer"]["min"] / one["kdi polyexp"]["min"]
    shape = shape_name(1, FITTED[1])
    return [
        *found,
        Target(f"transform of {shape}: at most {MICROSECONDS:g} µs", f"{number(micro)} µs", micro <= MICROSECONDS),
        Target(
            f"transform of {shape}: at least {TIMES_FASTER:g} times faster than QuantileTransformer",
            f"{number(faster)} times",
            faster >= TIMES_FASTER,
        ),
    ]
