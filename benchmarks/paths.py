"""Fits at many alphas from one pass over the data, in units of a single fit."""

from functools import partial
from typing import Any

import numpy as np

import kdi
from benchmarks import rounds
from benchmarks.data import lognormal_table
from benchmarks.report import Table, Target, number

SHAPE, QUICK_SHAPE = (100_000, 10), (10_000, 10)
PATH_ALPHAS = np.geomspace(0.05, 10, 50)
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 12.0, 2.0
ONE, LAZY, BUILT, APART = (
    "one fit, alpha = 1",
    "alpha_path, 50 alphas",
    "alpha_path, 50 alphas, every table made",  # the name in committed results; shown as in SHOWN
    "50 fits",
)
SHOWN = {BUILT: "alpha_path, 50 alphas, every map built"}
FITS = {LAZY: 3, BUILT: 8}  # the targets for 50 alphas


def measure(quick: bool) -> dict[str, Any]:
    shape = QUICK_SHAPE if quick else SHAPE
    samples = {"lognormal": lognormal_table(*shape), "normal": np.random.default_rng(0).normal(size=shape)}
    found = {}
    for name, table in samples.items():
        print(f"paths: {name}", flush=True)
        work = {part: partial(seconds, call, table) for part, call in WORK.items()}
        costs = {part: call() for part, call in work.items()}
        turns = rounds.turns(costs, QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS)
        found[name] = {part: rounds.summary(times) for part, times in rounds.interleaved(work, turns).items()}
    return {"rows": shape[0], "columns": shape[1], "times": found}


def seconds(call: Any, table: Any) -> float:
    return rounds.timed(call, table)[0]


def build_every_map(table: Any) -> None:
    for model in kdi.alpha_path(table, PATH_ALPHAS):
        _ = model.packed_maps_


def separate_fits(table: Any) -> None:
    for alpha in PATH_ALPHAS:
        kdi.KDITransformer(alpha).fit(table)


WORK = {
    ONE: lambda table: kdi.KDITransformer().fit(table),
    LAZY: lambda table: kdi.alpha_path(table, PATH_ALPHAS),
    BUILT: build_every_map,
    APART: separate_fits,
}


def in_fits(results: dict[str, Any], sample: str, part: str) -> float:
    """Return the median time in units of the median time of one fit."""
    times = results["times"][sample]
    return float(times[part]["median"] / times[ONE]["median"])


def tables(results: dict[str, Any]) -> list[Table]:
    samples = list(results["times"])
    body = [
        [
            SHOWN.get(part, part),
            *(
                f"{number(results['times'][sample][part]['median'])} ({in_fits(results, sample, part):.1f})"
                for sample in samples
            ),
        ]
        for part in WORK
    ]
    note = f"{results['rows']:,} × {results['columns']}, median over interleaved rounds; in brackets, in units of one "
    note += "fit. The models of a path are built lazily, and so are the maps of each model."
    return [Table("Many alphas, milliseconds", ["", *samples], body, note)]


def targets(results: dict[str, Any]) -> list[Target]:
    return [
        Target(
            f"{SHOWN.get(part, part)}: less than {most} times the cost of one fit, {sample}",
            f"{in_fits(results, sample, part):.1f} fits",
            in_fits(results, sample, part) < most,
        )
        for sample in results["times"]
        for part, most in FITS.items()
    ]
