"""``python -m benchmarks.cores [--quick] [--out DIR]``: fit and transform with 1 to 16 threads.

It needs only NumPy, scikit-learn and kdi, whose core build_in_place.sh builds without pip, so that it runs on any
machine with many cores. The report of all benchmarks, results.md, shows the figures of the last run.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.contenders import make_kdi, make_minmax
from benchmarks.data import lognormal_table, shape_name
from benchmarks.machine import described, machine
from benchmarks.report import Table, Target, number, target_table

SHAPES = [(10_000, 100), (100_000, 100), (10_000_000, 10)]
QUICK_SHAPES = [(10_000, 100), (100_000, 10)]
THREADS = [1, 2, 4, 8, 16]
KERNELS = ["polyexp", "gaussian"]
UNIT, DEFAULT = "MinMaxScaler", "n_jobs=None"
PARTS = ["fit", "transform"]
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 40.0, 2.0
SAME = 1e-9  # difference allowed between numbers of threads
SLOWER = 1.1  # a fit is slower with more threads only beyond the noise of the times


def measure(quick: bool) -> dict[str, Any]:
    """Return the times by shape, kernel and number of threads."""
    cores = machine()["cores_allowed"]
    assert isinstance(cores, int)
    threads = [n for n in THREADS if n <= cores] or [1]
    shapes = QUICK_SHAPES if quick else SHAPES
    budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
    return {shape_name(*shape): measure_shape(*shape, threads, budget) for shape in shapes}


def measure_shape(rows: int, features: int, threads: list[int], budget: float) -> dict[str, Any]:
    print(f"cores: {shape_name(rows, features)}", flush=True)
    table = lognormal_table(rows, features)
    makers: dict[str, Callable[[int], Any]] = {UNIT: make_minmax}
    for kernel in KERNELS:
        expected = make_kdi(rows, kernel, 1).fit(table).transform(table[:1000])
        for n_jobs in (*threads, None):
            make = partial(make_kdi, kernel=kernel, n_jobs=n_jobs)
            found = make(rows).fit(table).transform(table[:1000])
            require(f"{kernel}, n_jobs={n_jobs} against 1", np.abs(found - expected).max(), SAME)
            makers[name_of(kernel, n_jobs)] = make
    work = {name: partial(rounds.fit_and_transform, make, table) for name, make in makers.items()}
    costs = {name: sum(call()) for name, call in work.items()}
    result = {}
    for name, pairs in rounds.interleaved(work, rounds.turns(costs, budget)).items():
        fit, transform = np.array(pairs).T
        result[name] = {"fit": rounds.summary(fit), "transform": rounds.summary(transform), "rounds": len(pairs)}
    return result


def name_of(kernel: str, n_jobs: int | None) -> str:
    threads = DEFAULT if n_jobs is None else f"{n_jobs} thread{'s' * (n_jobs > 1)}"
    return f"kdi {kernel}, {threads}"


def tables(results: dict[str, Any]) -> list[Table]:
    note = (
        "Minimum over interleaved rounds in one process, seeded lognormal float64 tables; MinMaxScaler has one thread."
    )
    header = ["", *(f"{shape}, {part}" for shape in results for part in PARTS)]
    rows = [
        [name, *(number(times[name][part]["min"]) for times in results.values() for part in PARTS)]
        for name in next(iter(results.values()))
    ]
    shares = [
        [name, *(number(both(times, name) / both(times, UNIT)) for times in results.values())]
        for name in next(iter(results.values()))
    ]
    return [
        Table("Numbers of threads, milliseconds", header, rows, note),
        Table("Numbers of threads, fit + transform, MinMaxScaler = 1", ["", *results], shares, note),
    ]


def both(times: dict[str, Any], name: str) -> float:
    return float(sum(times[name][part]["min"] for part in PARTS))


def targets(results: dict[str, Any]) -> list[Target]:
    """Ask that no fit takes longer with more threads."""
    found = []
    for shape, times in results.items():
        for kernel in KERNELS:
            fits = {n: times[name_of(kernel, n)]["fit"]["min"] for n in THREADS if name_of(kernel, n) in times}
            least = np.minimum.accumulate(list(fits.values()))
            slower = max(np.array(list(fits.values())) / least)
            listed = ", ".join(number(fit) for fit in fits.values())
            asked = f"kdi {kernel}, {shape}: fit not slower with {', '.join(map(str, fits))} threads"
            found.append(Target(asked, f"{listed} ms", bool(slower <= SLOWER)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables and fewer rounds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder to write to")
    arguments = parser.parse_args()
    before = machine()
    if not before["kdi_compiled"]:
        parser.error("the compiled core of kdi is missing")
    seconds, results = rounds.timed(measure, arguments.quick)
    measured = {"machine": before, "quick": arguments.quick, "seconds": round(seconds), "results": results}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "cores.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    found = [*tables(results), target_table(targets(results))]
    text = "\n\n".join([described(before), *(table.markdown() for table in found)])
    (arguments.out / "cores.md").write_text(f"# Numbers of threads\n\n{text}\n")
    print(text)


if __name__ == "__main__":
    main()
