"""The tables of the clustering experiment."""

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.report import Table
from experiments.clustering_methods import FLAT, JUDGED, LEVELS, MIXTURES, OURS, UNIMODAL, fresh_names
from experiments.rows import Row, chosen, grouped

ALLOWED = 0.05  # share of samples from one peak that the recommended level may split, on average


def tables(rows: list[Row]) -> list[Table]:
    compared = chosen(rows, measured="all methods")
    found = [
        summary_table(
            "Share of runs with the right number of clusters, mean over the five mixtures", compared, "right"
        ),
        summary_table("Adjusted Rand index against the true labels, mean over the five mixtures", compared, "ari"),
    ]
    agreement = chosen(rows, measured="agreement")
    found += [agreement_table(agreement)] if agreement else []  # empty where kditransform is missing
    found.append(notebook_table(compared))
    levels = chosen(rows, measured="significance")
    found += [false_table(levels), power_table(levels), choice_table(levels)]
    for (n,), here in grouped(compared, "n").items():
        found += [
            mixture_table(f"Share of runs with the right number of clusters, {shown(n)}", here, "right", 2),
            mixture_table(f"Number of clusters, mean, {shown(n)}", here, "mean_clusters", 1),
            mixture_table(f"Adjusted Rand index against the true labels, {shown(n)}", here, "ari", 3),
        ]
    return found


def shown(n: str) -> str:
    return f"N = {int(n):,}"


def summary_table(title: str, rows: list[Row], what: str) -> Table:
    body = []
    for method in values(rows, "method"):
        cells = [np.mean([float(one[what]) for one in chosen(rows, n=n, method=method)]) for n in values(rows, "n")]
        body.append([method, *(f"{cell:.3f}" for cell in cells)])
    return Table(title, ["", *map(shown, values(rows, "n"))], body, f"{rows[0]['runs']} seeds per mixture.")


def values(rows: list[Row], name: str) -> list[str]:
    """Return all sizes, or all methods that were run, in the order of the rows."""
    return [value for (value,) in grouped(rows, name)]


def mixture_table(title: str, rows: list[Row], what: str, digits: int) -> Table:
    cells = {(one["method"], one["data"]): float(one[what]) for one in rows}
    body = [[method, *(f"{cells[method, data]:.{digits}f}" for data in MIXTURES)] for method in values(rows, "method")]
    return Table(title, ["", *(f"{data} ({len(parts)})" for data, parts in MIXTURES.items())], body)


def agreement_table(rows: list[Row]) -> Table:
    body = []
    for (n,), here in grouped(rows, "n").items():
        differ = sum(round(int(one["runs"]) * (1 - float(one["right"]))) for one in here)
        apart = max(float(one["boundaries_apart"]) for one in here)
        body.append([shown(n), f"{sum(int(one['runs']) for one in here)}", f"{differ}", f"{apart:.1e}"])
    header = ["", "runs", "with another number of clusters", "largest distance of a boundary"]
    note = "Distances in units of the KD-integral, whose range is 1; kditransform evaluates a grid of steps of 1e-3."
    return Table("kdi and kditransform on the same samples", header, body, note)


def notebook_table(rows: list[Row]) -> Table:
    n = "1000" if "1000" in values(rows, "n") else rows[-1]["n"]
    cells = {one["data"]: one for one in chosen(rows, n=n, method=OURS)}
    body = [
        [name, *(f"{float(cells[data][what]):.3f}" for data in MIXTURES)]
        for name, what in (("labels stay with their values", "ari"), ("values sorted, labels not", "notebook_ari"))
    ]
    title = f"Adjusted Rand index of kdi with and without the notebook's sorting, {shown(n)}"
    return Table(title, ["", *MIXTURES], body)


def level_lines(rows: list[Row], data: Iterable[str], wanted: Callable[[float], float]) -> list[list[str]]:
    """Return one line per data set and size, with all levels."""
    cells = {(one["data"], one["n"], one["method"]): wanted(float(one["right"])) for one in rows}
    return [
        [name, f"{int(n):,}", *(f"{cells[name, n, method]:.3f}" for method in fresh_names())]
        for name in data
        for n in values(rows, "n")
    ]


def level_header() -> list[str]:
    return ["", "N", "none", *(f"{level:g}" for level in LEVELS)]


def false_table(rows: list[Row]) -> Table:
    body = level_lines(rows, (*UNIMODAL, FLAT), lambda right: 1 - right)
    runs = chosen(rows, data=FLAT)[0]["runs"]
    note = f"{runs} samples per cell, others than in the tables of methods. The last lines are for a flat density."
    return Table("Share of samples from one peak that are split, by significance", level_header(), body, note)


def power_table(rows: list[Row]) -> Table:
    body = level_lines(rows, MIXTURES, lambda right: right)
    runs = next(one["runs"] for one in rows if one["data"] in MIXTURES)
    note = f"{runs} samples per cell, others than in the tables of methods."
    return Table("Share of runs with the right number of clusters, by significance", level_header(), body, note)


def choice_table(rows: list[Row]) -> Table:
    """Return the means of the two tables above, and the level that follows from them."""
    split, right = {}, {}
    for name in fresh_names():
        own = chosen(rows, method=name)
        split[name] = 1 - np.mean([float(one["right"]) for one in own if one["data"] in JUDGED])
        right[name] = np.mean([float(one["right"]) for one in own if one["data"] in MIXTURES])
    body = [
        [f"samples split: {', '.join(JUDGED)}", *(f"{value:.3f}" for value in split.values())],
        ["mixtures with the right number", *(f"{value:.3f}" for value in right.values())],
    ]
    levels = {name: level for name, level in fresh_names().items() if level and split[name] <= ALLOWED}
    best = f"{max(levels.values()):g}" if levels else "none of these"
    note = f"Means over all N. Recommended: {best}, the largest that splits at most {ALLOWED:.0%} of the former."
    return Table("The choice of significance", level_header()[:1] + level_header()[2:], body, note)
