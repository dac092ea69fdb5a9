"""Dask and Spark, 1 and 2 workers: time and error of kdi's fit and of each engine's own quantiles, on the same files.

Errors are those of levels, numbers from 0 to 1. The quantiles of others are compared with the ranks of the data in two
ways: the rank of each estimated quantile, and the level that a transformer interpolates from them for some values of
the data. T of kdi is compared with the direct sum, and at alpha = 0, where it is the quantile transformation, with
ranks.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import fresh, on_dask, on_spark, parquet
from benchmarks.answers import require
from benchmarks.contest import ALPHA, FOLDERS, KDI, LEVELS, levels
from benchmarks.correlation import ratio
from benchmarks.direct import Values, exact_answer
from benchmarks.report import Table, Target, number

TIED = "integers"  # many equal values: a quantile between two of them is off by the share of all equal values
KINDS = ["normal", "lognormal", "bimodal", TIED]
ERRORS = {"error": "largest error of T", "rank_error": "of a quantile's rank", "tied_rank_error": f"the same, {TIED}"}
FILES = 8
FILE_ROWS, QUICK_FILE_ROWS = (1_000, 125_000, 1_250_000), (1_000, 5_000, 25_000)  # per folder of FOLDERS
WORKERS = [1, 2]
COMPARED_POINTS, CHECKED_POINTS = 1_000, 6
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 40.0, 2.0
SEED = 0
SAME, CLOSE = 1e-9, 1e-6

ENGINES = {"Dask": on_dask, "Spark": on_spark}


def measure(quick: bool) -> dict[str, Any]:
    file_rows = dict(zip(FOLDERS, QUICK_FILE_ROWS if quick else FILE_ROWS, strict=True))
    with TemporaryDirectory() as directory:
        place = Path(directory)
        print(f"engines: writing {FILES * file_rows['table']:,}×{len(KINDS)}", flush=True)
        truths = {folder: write(place / folder, rows) for folder, rows in file_rows.items()}
        rows = {folder: FILES * number_of_rows for folder, number_of_rows in file_rows.items()}
        result: dict[str, Any] = {"rows": rows, "columns": len(KINDS), "files": FILES, "engines": {}}
        for name, engine in ENGINES.items():
            budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
            result["engines"][name] = measure_engine(name, engine, place, truths, budget)
    return result


def write(folder: Path, file_rows: int) -> "Truth":
    """Write the files that all contenders read, and return their exact answers."""
    folder.mkdir()
    for index in range(FILES):
        parquet.write(folder / f"{index}.parquet", KINDS, [index], file_rows)
    return Truth(folder)


def measure_engine(name: str, engine: Any, place: Path, truths: "dict[str, Truth]", budget: float) -> dict[str, Any]:
    reason = engine.lacking()
    if reason:
        print(f"engines: {name} is left out: {reason}", flush=True)
        return {"lacking": reason}
    sizes: dict[str, Any] = {}
    for n in WORKERS:
        print(f"engines: {name}, {n} worker{'s' if n > 1 else ''}", flush=True)
        found = fresh.call(engine.probe, str(place), n, budget)
        for size, race in found["sizes"].items():
            for contender, figures in race["times"].items():
                figures.update(truths[size].errors(contender, race["answers"][contender]))
            sizes.setdefault(size, {})[str(n)] = race["times"]
    return {"sizes": sizes, "left_out": found["left_out"]}


class Truth:
    """A table in memory, sorted, and some of its values with their exact levels."""

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        from kdi import KDITransformer

        table = parquet.as_array(pq.read_table(folder))
        chosen = np.random.default_rng(SEED).choice(len(table), COMPARED_POINTS, replace=False)
        self.points = np.concatenate([table[chosen], [table.min(axis=0), table.max(axis=0)]])
        np.save(folder.with_suffix(".npy"), self.points)
        self.in_memory = KDITransformer().fit(table).transform(self.points)
        columns = zip(table.T, self.points.T, strict=True)
        checked = [exact_answer("polyexp", column, some[:CHECKED_POINTS]) for column, some in columns]
        self.integral = np.array(checked).T
        table.sort(axis=0)
        self.sorted = table.T

    def errors(self, name: str, answer: Any) -> dict[str, float]:
        """Return the largest errors over all columns; raise AssertionError if an answer of kdi is wrong."""
        found = np.array(answer)
        if name not in KDI:
            made = map(levels_from, found, self.points.T)
            ranks = dict(zip(KINDS, map(rank_errors, self.sorted, found), strict=True))
            return {
                "error": largest_difference(made, map(middle_ranks, self.sorted, self.points.T)),
                "rank_error": float(max(errors.max() for kind, errors in ranks.items() if kind != TIED)),
                "tied_rank_error": float(ranks[TIED].max()),
            }
        if ALPHA[name] == 0:
            error = largest_difference(found.T, map(stretched_ranks, self.sorted, self.points.T))
            require(f"{name} against the ranks", error, SAME)
            return {"error": error}
        require(f"{name} against the fit in memory", abs(found - self.in_memory).max(), SAME)
        error = largest_difference(found[:CHECKED_POINTS], self.integral)
        require(f"{name} against the direct sum", error, CLOSE)
        return {"error": error}


def largest_difference(some: Iterable[Any], others: Iterable[Any]) -> float:
    return float(abs(np.array(list(some)) - np.array(list(others))).max())


def rank_errors(ordered: Values, quantiles: Values) -> Values:
    """Measure how far each level is from the ranks of all values that equal its estimated quantile."""
    below, up_to = (np.searchsorted(ordered, quantiles, side) / len(ordered) for side in ("left", "right"))
    return np.maximum(0, np.maximum(below - levels(), levels() - up_to))


def middle_ranks(ordered: Values, some: Values) -> Values:
    """Compute the levels that a quantile transformer estimates: middle ranks of equal values, 0 and 1 at the ends."""
    below, up_to = (np.searchsorted(ordered, some, side) for side in ("left", "right"))
    result = (below + up_to) / 2 / len(ordered)
    result[some == ordered[0]], result[some == ordered[-1]] = 0, 1
    return result


def stretched_ranks(ordered: Values, some: Values) -> Values:
    """Compute T at alpha = 0: middle ranks of equal values, scaled so that they are 0 and 1 at the ends."""
    low, high = (
        (np.searchsorted(ordered, end, "left") + np.searchsorted(ordered, end, "right")) / 2 for end in ordered[[0, -1]]
    )
    middle = (np.searchsorted(ordered, some, "left") + np.searchsorted(ordered, some, "right")) / 2
    return (middle - low) / (high - low)


def levels_from(quantiles: Values, some: Values) -> Values:
    """Interpolate levels from quantiles as QuantileTransformer does: from both sides, 0 and 1 at the ends."""
    forward = np.interp(some, quantiles, levels())
    backward = -np.interp(-some, -quantiles[::-1], -np.array(levels())[::-1])
    result = (forward + backward) / 2
    result[some == quantiles[0]], result[some == quantiles[-1]] = 0, 1
    return result


def tables(results: dict[str, Any]) -> list[Table]:
    found = []
    for name, engine in results["engines"].items():
        if "lacking" in engine:
            found.append(Table(name, ["", "measured"], [["all", "–"]], f"Not measured: {engine['lacking']}."))
            continue
        for size in reversed(engine["sizes"]):
            shape = f"{results['rows'][size]:,}×{results['columns']}"
            title = f"{name}, {shape} in {results['files']} Parquet files, seconds"
            found.append(size_table(title, engine["sizes"][size], engine["left_out"]))
    return found


def size_table(title: str, workers: dict[str, Any], left_out: dict[str, str]) -> Table:
    ours = next(iter(workers["1"]))
    rows, header = [], [""]
    for n in workers:
        header += [f"{n} worker{'s' if n > '1' else ''}", "median", "of kdi"]
    header += ["1 / 2 workers", *ERRORS.values(), "rounds"]
    for name in workers["1"]:
        cells = []
        for times in workers.values():
            cells += [number(times[name]["min"] / 1e3), number(times[name]["median"] / 1e3)]
            cells.append(number(ratio(times, name, ours)))
        cells.append(number(workers["1"][name]["min"] / workers["2"][name]["min"]))
        cells += [number(largest(workers, name, kind)) for kind in ERRORS]
        rows.append([name, *cells, " + ".join(str(times[name]["rounds"]) for times in workers.values())])
    note = (
        "Each number of workers has a process of its own. After a warm-up, contenders run in interleaved rounds, each "
        "of which reads the files; ratios are of the minima. The error of T is measured against the direct sum at some "
        "values of the data for kdi, and against the ranks of the sorted data for alpha = 0 and for the others, whose "
        f"T is interpolated between {LEVELS:,} quantiles. The rank of a quantile is its position in the sorted data; "
        "its error is the distance from its level."
    )
    note += "".join(f" {name} could not be measured: {reason}." for name, reason in left_out.items())
    return Table(title, header, rows, note)


def largest(workers: dict[str, Any], name: str, kind: str) -> float | None:
    found = [times[name][kind] for times in workers.values() if kind in times[name]]
    return max(found) if found else None


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    for name, engine in results["engines"].items():
        if "sizes" in engine:
            workers = engine["sizes"]["table"]
            what = f"{name}, {results['rows']['table']:,}×{results['columns']}"
            for other in workers["1"]:
                if other not in KDI:
                    found += ahead(what, workers, other)
    return found


def ahead(what: str, workers: dict[str, Any], other: str) -> list[Target]:
    """Targets: kdi takes less time with any number of workers, and its error is below the smallest of the other."""
    least, median = ([ratio(times, other, "kdi", kind) for times in workers.values()] for kind in ("min", "median"))
    figures = f"{' and '.join(map(number, least))} times (by medians {' and '.join(map(number, median))})"
    error = largest(workers, "kdi", "error")
    its_error = min(largest(workers, other, kind) for kind in ERRORS)
    return [
        Target(f"{what}: kdi faster than {other}, 1 and 2 workers", figures, min(least) > 1),
        Target(f"{what}: kdi's error below that of {other}", f"{error:.0e}, {its_error:.0e}", error < its_error),
    ]
