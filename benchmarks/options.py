"""Fit and transform with each option of KDITransformer, in units of the time with none.

The contenders differ in one option, or in those that are meant to be used together, and are measured in one process, in
interleaved rounds. Asked for: normal scores with bounded=False transform in at most 1.1 of the time of uniform output.
Their maps take longer to build, since more knots are evaluated than are kept; the table shows fit and transform apart.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number
from benchmarks.shares import ratio, summary

SHAPES = [(1_000, 20), (10_000, 100), (100_000, 10), (1_000_000, 10)]
KERNELS = ["polyexp", "gaussian"]
UNIT = "uniform"
OPTIONS: dict[str, dict[str, Any]] = {
    UNIT: {},
    "feature_range=(-1, 1)": {"feature_range": (-1, 1)},
    "bounded=False": {"bounded": False},
    "normal, bounded=False": {"bounded": False, "output_distribution": "normal"},
    "normal": {"output_distribution": "normal"},
    'spread="robust"': {"spread": "robust"},
    'normal, bounded=False, spread="robust"': {
        "bounded": False,
        "output_distribution": "normal",
        "spread": "robust",
    },
}
OPEN_SCORES = "normal, bounded=False"
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 20.0, 1.0
ALLOWED = 1.1  # times uniform output, for the transform
SAME_SCORES = 1e-10  # the error of the table of scores, and of its twin


def make(rows: int, kernel: str, options: dict[str, Any]) -> Any:
    from kdi import KDITransformer

    return KDITransformer(kernel=kernel, **options)


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing them would be timed
    budget = QUICK_BUDGET_SECONDS if quick else BUDGET_SECONDS
    check()
    return {
        shape_name(*shape): {kernel: measure_shape(shape, kernel, budget) for kernel in KERNELS}
        for shape in (SHAPES[:-1] if quick else SHAPES)
    }


def measure_shape(shape: tuple[int, int], kernel: str, budget: float) -> dict[str, Any]:
    print(f"options: {shape_name(*shape)}, {kernel}", flush=True)
    table = lognormal_table(*shape)
    work: dict[str, Callable[[], Any]] = {
        name: partial(rounds.fit_and_transform, partial(make, kernel=kernel, options=options), table)
        for name, options in OPTIONS.items()
    }
    costs = {name: sum(call()) for name, call in work.items()}
    times = rounds.interleaved(work, rounds.turns(costs, budget))
    return {name: summary(pairs) for name, pairs in times.items()}


def check() -> None:
    """Raise AssertionError where two options that are computed differently disagree."""
    table = lognormal_table(3_000, 3)
    for kernel in KERNELS:

        def apply(name: str, kernel: str = kernel) -> Any:
            return make(len(table), kernel, OPTIONS[name]).fit_transform(table)

        levels, scores = apply(UNIT), apply("normal")
        inner = (levels > 1e-6) & (levels < 1 - 1e-6)
        require(f"{kernel}, normal", np.abs(scores - ndtri(np.clip(levels, 1e-9, 1)))[inner].max(), SAME_SCORES)
        levels, scores = apply("bounded=False"), apply(OPEN_SCORES)
        inner = (levels > 0.01) & (levels < 0.99)
        require(f"{kernel}, normal, bounded=False", np.abs(scores - ndtri(levels))[inner].max(), 1e-4)


def tables(results: dict[str, Any]) -> list[Table]:
    header = ["", *(f"{shape}, {kernel}" for shape, kernels in results.items() for kernel in kernels)]

    def rows(part: str) -> list[list[str]]:
        return [
            [
                name,
                *(number(ratio(times, name, UNIT, part)) for kernels in results.values() for times in kernels.values()),
            ]
            for name in OPTIONS
            if name != UNIT
        ]

    note = "Minimum over interleaved rounds in one process, on seeded lognormal tables."
    titles = {"fit": "Fit", "transform": "Transform", "both": "Fit + transform"}
    return [
        Table(f"{title}, uniform output without options = 1", header, rows(part), note)
        for part, title in titles.items()
    ]


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    for shape, kernels in results.items():
        for kernel, times in kernels.items():
            least, median = (ratio(times, OPEN_SCORES, UNIT, "transform", kind) for kind in ("min", "median"))
            asked = f"{kernel}, {shape}: transform to open normal scores at most {ALLOWED:g} of uniform output's time"
            found.append(Target(asked, f"{number(least)} (by medians {number(median)})", least <= ALLOWED))
    return found
