"""Time to fit and to transform, all contenders in one process; answers are checked before anything is timed."""

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.answers import check_answers
from benchmarks.contenders import CONTENDERS
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number

SHAPES = [(150, 4), (1_000, 20), (10_000, 1), (10_000, 100), (100_000, 10), (1_000_000, 1), (1_000_000, 10)]
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 40.0, 3.0


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing them takes time that is not the algorithm's
    for contender in CONTENDERS.values():  # so that numba compiles and libraries load before the timed rounds
        warm_up = lognormal_table(200, 2)
        contender.make(len(warm_up)).fit(warm_up).transform(warm_up)
    budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
    shapes = SHAPES[:-1] if quick else SHAPES
    return {shape_name(*shape): measure_shape(*shape, budget, fewest=1 if quick else rounds.FEWEST) for shape in shapes}


def measure_shape(rows: int, features: int, budget: float, fewest: int) -> dict[str, Any]:
    print(f"speed: {shape_name(rows, features)}", flush=True)
    original = lognormal_table(rows, features)
    # One copy per contender: kditransform's fit shifts the caller's table and back, which alters the last digits.
    tables = {name: original.copy() for name in CONTENDERS}
    errors, costs = check_answers(original, tables)
    work = {
        name: partial(rounds.fit_and_transform, contender.make, tables[name]) for name, contender in CONTENDERS.items()
    }
    times = rounds.interleaved(work, rounds.turns(costs, budget, fewest))
    result = {}
    for name, pairs in times.items():
        fit, transform = np.array(pairs).T
        result[name] = {
            "fit": rounds.summary(fit),
            "transform": rounds.summary(transform),
            "both": rounds.summary(fit + transform),
            "rounds": len(pairs),
            "error": errors[name],
            "alters_input": not np.array_equal(tables[name], original),
        }
    return result


def tables(results: dict[str, Any]) -> list[Table]:
    overview = [
        [name, *(number(shape[name]["both"]["min"]) for shape in results.values())]
        for name in next(iter(results.values()))
    ]
    note = "Each figure is the minimum over interleaved rounds in one process, seeded lognormal float64 tables."
    summary = Table("Fit + transform, milliseconds", ["", *results], overview, note)
    return [summary, *(shape_table(name, shape) for name, shape in results.items())]


def shape_table(name: str, shape: dict[str, Any]) -> Table:
    header = ["", "fit", "median", "transform", "median", "both", "median", "of MinMax", "of kditransform"]
    header += ["largest error", "rounds"]
    rows = []
    for contender, figures in shape.items():
        times = [number(figures[part][kind]) for part in ("fit", "transform", "both") for kind in ("min", "median")]
        shares = [number(ratio(shape, contender, other)) for other in ("MinMaxScaler", "kditransform")]
        rows.append([contender, *times, *shares, number(figures["error"]), str(figures["rounds"])])
    altered = [contender for contender, figures in shape.items() if figures["alters_input"]]
    note = "Minimum and median over the rounds; ratios are of the minima of both; errors against the direct sum."
    if altered:
        note += f" The input was altered by {', '.join(altered)}."
    return Table(f"Speed on {name}, milliseconds", header, rows, note)


def ratio(shape: dict[str, Any], contender: str, other: str, kind: str = "min") -> float:
    return shape[contender]["both"][kind] / shape[other]["both"][kind]


# Shape, the library compared with, and the largest allowed share of its time for fit and transform together.
ASKED = [
    ("1,000,000×10", "MinMaxScaler", 0.8),
    ("1,000,000×10", "kditransform", 1 / 60),
    ("10,000×100", "kditransform", 1 / 25),
    ("10,000×100", "QuantileTransformer", 1 / 10),
    ("1,000×20", "kditransform", 1 / 10),
    ("150×4", "QuantileTransformer", 1.0),
]
KERNELS = ["kdi polyexp", "kdi gaussian"]


def targets(results: dict[str, Any]) -> list[Target]:
    measured = [
        (shape, kernel, other, share) for shape, other, share in ASKED for kernel in KERNELS if shape in results
    ]
    worst = max(shape[kernel]["error"] for shape in results.values() for kernel in KERNELS)
    accuracy = Target("kdi against the direct sum: at most 1e-06 off", f"{worst:.0e}", worst <= 1e-6)
    return [*(speed_target(results[shape], shape, *rest) for shape, *rest in measured), accuracy]


def speed_target(results: dict[str, Any], shape: str, kernel: str, other: str, share: float) -> Target:
    """Judge by the minima, which other load disturbs least; give the medians too."""
    least, median = (ratio(results, kernel, other, kind) for kind in ("min", "median"))
    if share > 0.5:
        asked, figures = f"at most {share:g} of {other}'s time", f"{number(least)} (by medians {number(median)})"
    else:
        asked = f"at least {1 / share:g} times faster than {other}"
        figures = f"{number(1 / least)} times (by medians {number(1 / median)})"
    return Target(f"{kernel}, {shape}: {asked}", figures, least <= share)
