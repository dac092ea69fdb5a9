"""The rows of the clustering experiment as people read them."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.report import Table
from experiments.clustering_methods import FLAT, JUDGED, LEVELS, MIXTURES, OURS, THEIRS, UNIMODAL, fresh_names

Row = dict[str, Any]

ALLOWED = 0.05  # share of samples from one peak that the recommended level may split, on average


def tables(rows: list[Row]) -> list[Table]:
    compared = [one for one in rows if one["measured"] == "all methods"]
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    found = [
        summary_table(
            "Share of runs with the right number of clusters, mean over the five mixtures", compared, "right"
        ),
        summary_table("Adjusted Rand index against the true labels, mean over the five mixtures", compared, "ari"),
    ]
    agreement = [one for one in rows if one["measured"] == "agreement"]
    found += [agreement_table(agreement)] if agreement else []  # not where kditransform is missing
    found.append(notebook_table(compared))
    chosen = [one for one in rows if one["measured"] == "significance"]
    found += [false_table(chosen), power_table(chosen), choice_table(chosen)]
    for n in sizes:
        here = [one for one in compared if one["n"] == n]
        found += [
            mixture_table(f"Share of runs with the right number of clusters, N = {n:,}", here, "right", 2),
            mixture_table(f"Number of clusters, mean, N = {n:,}", here, "mean_clusters", 1),
            mixture_table(f"Adjusted Rand index against the true labels, N = {n:,}", here, "ari", 3),
        ]
    return found


def summary_table(title: str, rows: list[Row], what: str) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = []
    for method in methods(rows):
        by_size = [[float(one[what]) for one in rows if (one["n"], one["method"]) == (n, method)] for n in sizes]
        body.append([method, *(f"{np.mean(values):.3f}" for values in by_size)])
    return Table(title, ["", *(f"N = {n:,}" for n in sizes)], body, f"{rows[0]['runs']} seeds a mixture.")


def methods(rows: list[Row]) -> list[str]:
    """In the order of the rows, and only those that could be run."""
    return list(dict.fromkeys(one["method"] for one in rows))


def mixture_table(title: str, rows: list[Row], what: str, digits: int) -> Table:
    cells = {(one["method"], one["data"]): float(one[what]) for one in rows}
    body = [[method, *(f"{cells[method, data]:.{digits}f}" for data in MIXTURES)] for method in methods(rows)]
    return Table(title, ["", *(f"{data} ({len(parts)})" for data, parts in MIXTURES.items())], body)


def agreement_table(rows: list[Row]) -> Table:
    body = []
    for n in dict.fromkeys(one["n"] for one in rows):
        here = [one for one in rows if one["n"] == n]
        differ = sum(round(one["runs"] * (1 - float(one["right"]))) for one in here)
        apart = max(float(one["boundaries_apart"]) for one in here)
        body.append([f"N = {n:,}", f"{sum(one['runs'] for one in here)}", f"{differ}", f"{apart:.1e}"])
    header = ["", "runs", "with another number of clusters", "largest distance of a boundary"]
    note = "Distances in units of the KD-integral, whose range is 1; "
    note += f"kditransform {version(THEIRS)} looks at a grid of steps of 1e-3."
    return Table("kdi and kditransform on the same samples", header, body, note)


def notebook_table(rows: list[Row]) -> Table:
    n = 1000 if any(one["n"] == 1000 for one in rows) else rows[-1]["n"]
    cells = {one["data"]: one for one in rows if (one["n"], one["method"]) == (n, OURS)}
    body = [
        [name, *(f"{float(cells[data][what]):.3f}" for data in MIXTURES)]
        for name, what in (("labels stay with their values", "ari"), ("values sorted, labels not", "notebook_ari"))
    ]
    return Table(
        f"Adjusted Rand index of kdi with and without the notebook's sorting, N = {n:,}", ["", *MIXTURES], body
    )


def by_level(rows: list[Row], data: str, n: int, wanted: Callable[[float], float]) -> list[str]:
    found = {one["method"]: float(one["right"]) for one in rows if (one["data"], one["n"]) == (data, n)}
    return [f"{wanted(found[name]):.3f}" for name in fresh_names()]


def level_header() -> list[str]:
    return ["", "N", "none", *(f"{level:g}" for level in LEVELS)]


def false_table(rows: list[Row]) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = [
        [data, f"{n:,}", *by_level(rows, data, n, lambda right: 1 - right)] for data in (*UNIMODAL, FLAT) for n in sizes
    ]
    runs = next(one["runs"] for one in rows if one["data"] == FLAT)
    note = f"{runs} samples a cell, others than in the tables of methods. The last lines are of a flat density."
    return Table("Share of samples from one peak that are split, by significance", level_header(), body, note)


def power_table(rows: list[Row]) -> Table:
    sizes = list(dict.fromkeys(one["n"] for one in rows))
    body = [[data, f"{n:,}", *by_level(rows, data, n, lambda right: right)] for data in MIXTURES for n in sizes]
    runs = next(one["runs"] for one in rows if one["data"] in MIXTURES)
    note = f"{runs} samples a cell, others than in the tables of methods."
    return Table("Share of runs with the right number of clusters, by significance", level_header(), body, note)


def choice_table(rows: list[Row]) -> Table:
    """The means of the two tables above, and the level that follows."""
    split, right = {}, {}
    for name in fresh_names():
        own = [one for one in rows if one["method"] == name]
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
