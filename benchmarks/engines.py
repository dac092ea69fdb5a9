"""Dask and Spark, 1 and 2 workers: kdi's fit beside what each engine has for quantiles, time and error, the same files.

Errors are of levels, numbers from 0 to 1. The quantiles of others are held against the ranks of the data in two ways:
by the rank of each estimated quantile, and by the level that a transformer makes of them for each of some values of the
data. T of kdi is held against the direct sum, and at alpha = 0, where it is the quantile transformation, against ranks.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import fresh, on_dask, on_spark, parquet
from benchmarks.answers import require
from benchmarks.contest import KDI, LEVELS, POINTS, levels
from benchmarks.correlation import ratio
from benchmarks.direct import Values, exact_answer
from benchmarks.report import Table, Target, number

KINDS = ["normal", "lognormal", "bimodal", "integers"]
FILES, FILE_ROWS, QUICK_FILE_ROWS, WARM_ROWS = 8, 1_250_000, 25_000, 1_000
WORKERS = [1, 2]
COMPARED_POINTS, CHECKED_POINTS = 1_000, 6
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 40.0, 2.0
SEED = 0
SAME, CLOSE = 1e-9, 1e-6

ENGINES = {"Dask": on_dask, "Spark": on_spark}


def measure(quick: bool) -> dict[str, Any]:
    file_rows = QUICK_FILE_ROWS if quick else FILE_ROWS
    with TemporaryDirectory() as directory:
        place = Path(directory)
        print(f"engines: writing {FILES * file_rows:,}×{len(KINDS)}", flush=True)
        write(place, file_rows)
        truth = Truth(place)
        result: dict[str, Any] = {"rows": FILES * file_rows, "columns": len(KINDS), "files": FILES, "engines": {}}
        for name, engine in ENGINES.items():
            result["engines"][name] = measure_engine(name, engine, place, truth, quick)
    return result


def write(place: Path, file_rows: int) -> None:
    """The same files for all, and others, small ones, for a first run: to load libraries and to start workers."""
    for folder, rows in (("table", file_rows), ("warm", WARM_ROWS)):
        (place / folder).mkdir()
        for index in range(FILES):
            parquet.write(place / folder / f"{index}.parquet", KINDS, [index], rows)


def measure_engine(name: str, engine: Any, place: Path, truth: "Truth", quick: bool) -> dict[str, Any]:
    reason = engine.lacking()
    if reason:
        print(f"engines: {name} is left out: {reason}", flush=True)
        return {"lacking": reason}
    workers = {}
    for n in WORKERS:
        print(f"engines: {name}, {n} worker{'s' if n > 1 else ''}", flush=True)
        found = fresh.call(engine.probe, str(place), n, QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS)
        for contender, figures in found["times"].items():
            figures.update(truth.errors(contender, found["answers"][contender]))
        workers[str(n)] = found["times"]
    return {"workers": workers, "left_out": found["left_out"]}


class Truth:
    """The whole in memory, sorted, and some of its values with their exact levels."""

    def __init__(self, place: Path) -> None:
        import pyarrow.parquet as pq

        from kdi import KDITransformer

        table = parquet.as_array(pq.read_table(place / "table"))
        chosen = np.random.default_rng(SEED).choice(len(table), COMPARED_POINTS, replace=False)
        self.points = np.concatenate([table[chosen], [table.min(axis=0), table.max(axis=0)]])
        np.save(place / POINTS, self.points)
        self.in_memory = KDITransformer().fit(table).transform(self.points)
        columns = zip(table.T, self.points.T, strict=True)
        checked = [exact_answer("polyexp", column, some[:CHECKED_POINTS]) for column, some in columns]
        self.integral = np.array(checked).T
        table.sort(axis=0)
        self.sorted = table.T

    def errors(self, name: str, answer: Any) -> dict[str, float]:
        """Largest errors over all columns; wrong answers of kdi are errors."""
        found = np.array(answer)
        if name not in KDI:
            pairs = list(zip(self.sorted, found, strict=True))
            made = [levels_from(quantiles, some) for quantiles, some in zip(found, self.points.T, strict=True)]
            exact = [middle_ranks(values, some) for values, some in zip(self.sorted, self.points.T, strict=True)]
            return {
                "rank_error": max(float(rank_errors(values, quantiles).max()) for values, quantiles in pairs),
                "error": float(abs(np.array(made) - exact).max()),
            }
        if KDI[name] == 0:
            exact = [stretched_ranks(values, some) for values, some in zip(self.sorted, self.points.T, strict=True)]
            return {"error": float(abs(found.T - exact).max())}
        require(f"{name} against the fit in memory", abs(found - self.in_memory).max(), SAME)
        error = float(abs(found[:CHECKED_POINTS] - self.integral).max())
        require(f"{name} against the direct sum", error, CLOSE)
        return {"error": error}


def rank_errors(ordered: Values, quantiles: Values) -> Values:
    """How far each level is from the ranks of its estimated quantile: those of all values that are equal to it."""
    below, up_to = (np.searchsorted(ordered, quantiles, side) / len(ordered) for side in ("left", "right"))
    return np.maximum(0, np.maximum(below - levels(), levels() - up_to))


def middle_ranks(ordered: Values, some: Values) -> Values:
    """The levels that a quantile transformer is after: the middle of the ranks of equal values, 0 and 1 at the ends."""
    below, up_to = (np.searchsorted(ordered, some, side) for side in ("left", "right"))
    result = (below + up_to) / 2 / len(ordered)
    result[some == ordered[0]], result[some == ordered[-1]] = 0, 1
    return result


def stretched_ranks(ordered: Values, some: Values) -> Values:
    """T at alpha = 0: the middle of the ranks of equal values, stretched so that it is 0 and 1 at the ends."""
    low, high = (
        (np.searchsorted(ordered, end, "left") + np.searchsorted(ordered, end, "right")) / 2 for end in ordered[[0, -1]]
    )
    middle = (np.searchsorted(ordered, some, "left") + np.searchsorted(ordered, some, "right")) / 2
    return (middle - low) / (high - low)


def levels_from(quantiles: Values, some: Values) -> Values:
    """What QuantileTransformer makes of quantiles: interpolated from both sides, 0 and 1 at the ends."""
    forward = np.interp(some, quantiles, levels())
    backward = -np.interp(-some, -quantiles[::-1], -np.array(levels())[::-1])
    result = (forward + backward) / 2
    result[some == quantiles[0]], result[some == quantiles[-1]] = 0, 1
    return result


def tables(results: dict[str, Any]) -> list[Table]:
    return [engine_table(name, engine, results) for name, engine in results["engines"].items()]


def engine_table(name: str, engine: dict[str, Any], results: dict[str, Any]) -> Table:
    title = f"{name}, {results['rows']:,}×{results['columns']} in {results['files']} Parquet files, seconds"
    if "lacking" in engine:
        return Table(title, ["", "measured"], [["everything", "–"]], f"Not measured: {engine['lacking']}.")
    workers = engine["workers"]
    rows = []
    for contender in workers["1"]:
        cells = []
        for times in workers.values():
            cells += [number(times[contender]["min"] / 1e3), number(times[contender]["median"] / 1e3)]
            cells.append(number(ratio(times, contender, "kdi")))
        one, two = (workers[n][contender] for n in ("1", "2"))
        cells.append(number(one["min"] / two["min"]))
        cells += [number(largest(engine, contender, kind)) for kind in ("error", "rank_error")]
        rows.append([contender, *cells, " + ".join(str(times[contender]["rounds"]) for times in workers.values())])
    header = [""]
    for n in workers:
        header += [f"{n} worker{'s' if n > '1' else ''}", "median", "of kdi"]
    header += ["1 / 2 workers", "largest error of T", "of a quantile's rank", "rounds"]
    note = (
        "Each number of workers in a process of its own, after a warm-up, in interleaved rounds, which all read the "
        "files; ratios are of the minima. The error of T is, for kdi, against the direct sum at some values of the "
        f"data; for alpha = 0, and for the others, whose T is interpolated between {LEVELS:,} quantiles, against the "
        "ranks of the sorted data. The rank of a quantile is its place in the sorted data; its error is how far that "
        "is from its level."
    )
    note += "".join(
        f" {contender} could not be measured: {reason}." for contender, reason in engine["left_out"].items()
    )
    return Table(title, header, rows, note)


def largest(engine: dict[str, Any], contender: str, kind: str) -> float | None:
    found = [times[contender][kind] for times in engine["workers"].values() if kind in times[contender]]
    return max(found) if found else None


def targets(results: dict[str, Any]) -> list[Target]:
    gathered = []
    for name, engine in results["engines"].items():
        for contender in engine.get("workers", {}).get("1", {}):
            if contender not in KDI:
                gathered += ahead(f"{name}, {results['rows']:,}×{results['columns']}", engine, contender)
    return gathered


def ahead(what: str, engine: dict[str, Any], other: str) -> list[Target]:
    """That kdi takes less time with any number of workers, and that its error is below the smaller one of the other."""
    times = engine["workers"].values()
    least, median = ([1 / ratio(one, "kdi", other, kind) for one in times] for kind in ("min", "median"))
    figures = " and ".join(f"{number(share)} times" for share in least)
    figures += f" (by medians {' and '.join(map(number, median))})"
    error = largest(engine, "kdi", "error")
    its_error = min(largest(engine, other, kind) for kind in ("error", "rank_error"))
    return [
        Target(f"{what}: kdi faster than {other}, 1 and 2 workers", figures, min(least) > 1),
        Target(f"{what}: kdi's error below that of {other}", f"{error:.0e}, {its_error:.0e}", error < its_error),
    ]
