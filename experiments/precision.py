"""Precision against runtime, after the paper's figure: lognormal training points, equally spaced test points.

The error is the largest absolute difference to the exact Gaussian KD-integral over all test points, σ with ddof = 0. Of
a method that computes another integral than that, the error against its own stands beside it: polyexp methods have
another kernel, and the bandwidth of kditransform's Gaussian is alpha times the deviation with ddof = 1.

All run on one thread and take turns in rounds; a subsample is drawn anew in each. Times and errors are medians over the
rounds, of which slow methods have fewer.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from math import log10
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.special import ndtr

from benchmarks.direct import kernel_density_integral, polyexp_cdf, polyexp_scale
from benchmarks.report import Table, number
from benchmarks.rounds import interleaved, timed, turns
from experiments import drawing
from experiments.claims import Claim
from experiments.precision_methods import (
    EXACT,
    INTERPOLATED,
    MISSING,
    OUR_GAUSSIAN,
    OUR_POLYEXP,
    SUBSAMPLED,
    THEIR_EXACT,
    THEIR_GAUSSIAN,
    THEIR_POLYEXP,
    Contender,
    Floats,
    contenders,
)
from experiments.progress import Size, Task, run

Row = dict[str, Any]

TITLE = "Precision against runtime"
LIBRARIES = () if MISSING else ("kditransform",)

POINTS, QUICK_POINTS = 10_000, 1_000  # for training, and as many to test
ALPHAS = (0.1, 1.0, 10.0)
BUDGET, QUICK_BUDGET = 40.0, 0.2  # seconds of rounds an alpha, which the contenders share
APPROXIMATE = (SUBSAMPLED, THEIR_POLYEXP, THEIR_GAUSSIAN)
SIGNS = {SUBSAMPLED: "S", INTERPOLATED: "R"}

# Decided beforehand: what "almost 1000x", "10x to 100x" and "several orders" have to be, at every alpha.
ALMOST_THOUSAND, TENFOLD, SEVERAL = 500, 10, 3


def measure(size: Size) -> list[Row]:
    for library in MISSING:
        print(f"Left out: {library} is not installed", flush=True)
    points, budget = (QUICK_POINTS, QUICK_BUDGET) if size == "quick" else (POINTS, BUDGET)
    # Without a key: times are measured anew in each run.
    return run([Task(f"α = {alpha:g}", 1, partial(compared, alpha, points, budget)) for alpha in ALPHAS])


def compared(alpha: float, points: int, budget: float) -> list[Row]:
    values = np.random.RandomState(0).lognormal(size=points)
    at = np.linspace(values.min(), values.max(), points)
    entrants = {f"{one.method} {one.count}": one for one in contenders(points)}
    exact = {name: integral(values, at) for name, integral in integrals(alpha, points).items()}
    calls = {name: partial(attempt, one, alpha, values, at, exact) for name, one in entrants.items()}
    costs = {}
    for name, one in entrants.items():
        if not one.slow:
            calls[name](seed=0)  # code is loaded, and compiled
        costs[name] = sum(calls[name](seed=0)[:2])
    seeds = {name: count() for name in entrants}
    work = {name: lambda name=name: calls[name](seed=next(seeds[name])) for name in entrants}
    found = interleaved(work, turns(costs, budget))
    return [row(alpha, points, entrants[name], np.array(attempts)) for name, attempts in found.items()]


def attempt(
    one: Contender, alpha: float, values: Floats, at: Floats, exact: dict[str, Floats], seed: int
) -> tuple[float, float, float, float]:
    """Seconds of fit and transform, the largest error, and that against the integral that it computes."""
    given, asked = values.copy(), at.copy()  # kditransform's fit alters the caller's array
    fit, transform = timed(one.make(alpha, seed), given)
    seconds, answer = timed(transform, asked)
    return fit, seconds, *(float(np.abs(answer - exact[name]).max()) for name in ("", one.own))


def integrals(alpha: float, points: int) -> dict[str, Callable[[Floats, Floats], Floats]]:
    """The exact integrals, from code that shares nothing with kdi: Gaussian, polyexp, and Gaussian with ddof = 1."""
    scales = {"": (ndtr, alpha), "polyexp": (polyexp_cdf, alpha * polyexp_scale())}
    if not MISSING:
        scales["ddof"] = (ndtr, alpha * np.sqrt(points / (points - 1)))
    return {name: partial(kernel_density_integral, cdf=cdf, scale=scale) for name, (cdf, scale) in scales.items()}


def row(alpha: float, points: int, one: Contender, attempts: Floats) -> Row:
    fit, transform, error, own = np.median(attempts, axis=0)
    return {
        "alpha": f"{alpha:g}",
        "points": points,
        "method": one.method,
        "count": one.count or "",
        "rounds": len(attempts),
        "fit_ms": f"{1e3 * fit:.4f}",
        "transform_ms": f"{1e3 * transform:.4f}",
        "total_ms": f"{1e3 * np.median(attempts[:, 0] + attempts[:, 1]):.4f}",
        "error": f"{error:.3e}",
        "own_error": f"{own:.3e}",
    }


# The rows as people read them.


def label(one: Row) -> str:
    method = one["method"]
    return f"{method}, {SIGNS[method]} = {int(one['count']):,}" if method in SIGNS else method


def by_alpha(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for one in rows:
        groups.setdefault(one["alpha"], []).append(one)
    return groups


def tables(rows: list[Row]) -> list[Table]:
    note = (
        "Milliseconds, median over rounds. Error: largest over the test points, against the exact Gaussian integral. "
        "Own error: against the exact integral that the method computes. That is the same but for polyexp methods, "
        "which have another kernel, and for kditransform's Gaussian, whose deviation has ddof = 1: what the error is "
        "above the own error is that difference, and no imprecision. S: training points drawn, with 1,000 references, "
        "as in the paper's caption; R: references, with all training points, as in its notebook."
    )
    found = []
    for alpha, group in by_alpha(rows).items():
        body = [
            [label(one), *(f"{float(one[what]):,.3f}" for what in ("fit_ms", "transform_ms", "total_ms"))]
            + [f"{float(one[what]):.1e}" for what in ("error", "own_error")]
            for one in group
        ]
        header = ["", "fit", "transform", "both", "error", "own error"]
        found.append(Table(f"α = {alpha}, {int(group[0]['points']):,} points", header, body, note))
        note = ""  # said once
    return found


def claims(rows: list[Row]) -> list[Claim]:
    groups, methods = by_alpha(rows), {one["method"] for one in rows}
    # The paper compares kditransform with its own exact evaluation; kdi has to beat the faster direct sum.
    pairs = ((THEIR_POLYEXP, THEIR_EXACT), (OUR_POLYEXP, EXACT), (OUR_GAUSSIAN, EXACT))
    found = [speedup(groups, *pair) for pair in pairs if pair[0] in methods]
    for rival in SIGNS:
        fast = (THEIR_POLYEXP, OUR_POLYEXP, OUR_GAUSSIAN)
        found += [fixed_precision(groups, method, rival) for method in fast if method in methods]
    return [*found, orders(groups)]


def single(group: list[Row], method: str) -> Row:
    return next(one for one in group if one["method"] == method)


def error_of(one: Row) -> float:
    return float(one["error"])


def ratio(slow: Row, fast: Row, what: str) -> float:
    return float(slow[what]) / float(fast[what])


def speedup(groups: dict[str, list[Row]], method: str, exact: str) -> Claim:
    ratios = [ratio(single(group, exact), single(group, method), "total_ms") for group in groups.values()]
    said = ", ".join(f"{number:,.0f}x (α = {alpha})" for alpha, number in zip(groups, ratios, strict=True))
    claimed = f"almost 1000x faster than exact evaluation: {method} (at least {ALMOST_THOUSAND}x)"
    return Claim(claimed, f"{said} faster than {exact}", min(ratios) >= ALMOST_THOUSAND)


def fixed_precision(groups: dict[str, list[Row]], method: str, rival: str) -> Claim:
    """Training time of the fastest of the rivals that are at least as precise, over the method's.

    Where none is, with however many points or references, the time of the largest is a lower bound.
    """
    ratios, said = [], []
    for alpha, group in groups.items():
        own = single(group, method)
        rivals = [one for one in group if one["method"] == rival]
        enough = [one for one in rivals if error_of(one) <= error_of(own)]
        taken = min(enough, key=lambda one: float(one["fit_ms"])) if enough else rivals[-1]
        ratios.append(ratio(taken, own, "fit_ms"))
        where = f"{SIGNS[rival]} = {int(taken['count']):,}" + ("" if enough else " is not as precise")
        said.append(f"{'' if enough else 'over '}{number(ratios[-1])}x (α = {alpha}; {where})")
    claimed = f"10x to 100x less training time at fixed precision, {method} against the {rival} (at least {TENFOLD}x)"
    return Claim(claimed, ", ".join(said), min(ratios) >= TENFOLD)


def orders(groups: dict[str, list[Row]]) -> Claim:
    gains, faster, said = [], [], []
    for alpha, group in groups.items():
        own = single(group, OUR_GAUSSIAN)
        best = min((one for one in group if one["method"] in APPROXIMATE), key=error_of)
        gains.append(log10(error_of(best) / error_of(own)))
        faster.append(ratio(best, own, "total_ms"))
        # As many references as points cost as much as the direct sum: no rival in time, but said.
        finest = [one for one in group if one["method"] == INTERPOLATED][-1]
        beside = f"{log10(error_of(finest) / error_of(own)):.1f} than {label(finest)}"
        said.append(f"{gains[-1]:.1f} and {faster[-1]:,.0f}x faster than {label(best)}, {beside} (α = {alpha})")
    claimed = f"kdi gaussian: several orders less error (at least {SEVERAL}) than the most precise "
    claimed += "subsampled Gaussian or kditransform, at less time"
    return Claim(claimed, f"orders: {'; '.join(said)}", min(gains) >= SEVERAL and min(faster) > 1)


# The figure.

COLOURS = ("#0059a8", "#7b3294", "#d9731a")  # one an alpha
MARKERS = {SUBSAMPLED: "o", INTERPOLATED: "P", THEIR_POLYEXP: "s", THEIR_GAUSSIAN: "D"}
MARKERS |= {OUR_POLYEXP: "^", OUR_GAUSSIAN: "v"}


def figures(rows: list[Row]) -> dict[str, Figure]:
    with drawing.style():
        figure = drawing.new_figure(7.8, 4.6)
        axes = figure.subplots()
        groups = by_alpha(rows)
        for colour, group in zip(COLOURS, groups.values(), strict=True):
            for method, marker in MARKERS.items():
                here = [one for one in group if one["method"] == method]
                times, errors, own = ([float(one[what]) for one in here] for what in ("total_ms", "error", "own_error"))
                dashes = "--" if method == INTERPOLATED else "-"
                axes.plot(times, errors, marker=marker, color=colour, ls=dashes, lw=0.8, ms=5.5, zorder=4)
                if "polyexp" in method:  # hollow: against its own kernel
                    axes.plot(times, own, marker=marker, color=colour, mfc="white", ls="", ms=5.5, zorder=3)
                    axes.vlines(times, own, errors, color=colour, lw=0.7, ls=":")
            time, on_axis = float(single(group, EXACT)["total_ms"]), axes.get_xaxis_transform()
            axes.plot([time], [0], marker="*", color=colour, ls="", ms=10, transform=on_axis, clip_on=False, zorder=4)
        axes.set(xscale="log", yscale="log", xlabel="fit and transform, milliseconds", ylabel="largest absolute error")
        axes.grid(alpha=0.25, lw=0.5)
        figure.legend(handles=handles(rows, list(groups)), loc="outside right upper")
    return {"precision": figure}


def handles(rows: list[Row], alphas: list[str]) -> list[Line2D]:
    shown = {one["method"] for one in rows}
    grey: dict[str, Any] = {"color": drawing.GREY, "ls": "", "ms": 5.5}
    marked = [Line2D([], [], marker=sign, label=name, **grey) for name, sign in MARKERS.items() if name in shown]
    return [
        *(Line2D([], [], color=colour, lw=4, label=f"α = {a}") for a, colour in zip(alphas, COLOURS, strict=True)),
        *marked,
        Line2D([], [], marker="^", mfc="white", label="against its own kernel", **grey),
        Line2D([], [], marker="*", label="time of the direct sum", **(grey | {"ms": 10})),
    ]
