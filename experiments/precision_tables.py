"""Tables, claims and the figure of precision against runtime, from the rows of its experiment."""

from math import log10
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.report import Table
from experiments import drawing
from experiments.claims import Claim
from experiments.names import OURS
from experiments.precision_methods import (
    EXACT,
    INTERPOLATED,
    OUR_GAUSSIAN,
    OUR_POLYEXP,
    SUBSAMPLED,
    THEIR_EXACT,
    THEIR_GAUSSIAN,
    THEIR_POLYEXP,
)
from experiments.rows import Row, chosen, grouped

APPROXIMATE = (SUBSAMPLED, THEIR_POLYEXP, THEIR_GAUSSIAN)
SIGNS = {SUBSAMPLED: "S", INTERPOLATED: "R"}
ALMOST_THOUSAND, TENFOLD, SEVERAL = 500, 10, 3

RULES = f"""A claim must hold at each of the three α. Error: the largest absolute difference to the exact Gaussian
KD-integral over all test points; for a polyexp method this includes the difference between the kernels. Almost 1000x:
at least {ALMOST_THOUSAND}x, in the time of fit and transform together; kditransform is compared with its own exact
evaluation, as in the paper, and kdi with a direct sum in NumPy and SciPy. 10x to 100x: at least {TENFOLD}x, in the time
of the fit alone, against the fastest subsampled (S training points, 1,000 references) or interpolated Gaussian (all
training points, R references) with no larger error; where each of them has a larger error, the one with the largest S
or R is taken, and the factor is a lower bound. Several orders: at least {SEVERAL}, that is an error at least a thousand
times smaller, in less time. The paper's claims are about kditransform; kdi's polyexp is the same method, and its fast
Gaussian is not in the paper."""


def label(one: Row) -> str:
    method = one["method"]
    return f"{method}, {counted(one)}" if method in SIGNS else method


def counted(one: Row) -> str:
    return f"{SIGNS[one['method']]} = {int(one['count']):,}"


def tables(rows: list[Row]) -> list[Table]:
    note = (
        "Milliseconds, median over rounds. Error: largest over the test points, against the exact Gaussian integral. "
        "Own error: against the exact integral that the method computes. The two differ for polyexp methods, which "
        "have another kernel, and for kditransform's Gaussian, whose deviation has ddof = 1: there, error beyond the "
        "own error is the difference of definitions, not imprecision. S: training points drawn, with 1,000 "
        "references, as in the paper's caption; R: references, with all training points, as in its notebook."
    )
    found = []
    for (alpha, points), group in grouped(rows, "alpha", "points").items():
        body = [
            [label(one), *(f"{float(one[what]):,.3f}" for what in ("fit_ms", "transform_ms", "total_ms"))]
            + [f"{float(one[what]):.1e}" for what in ("error", "own_error")]
            for one in group
        ]
        header = ["", "fit", "transform", "both", "error", "own error"]
        found.append(Table(f"α = {alpha}, {int(points):,} points", header, body, note))
        note = ""  # only below the first table
    return found


def claims(rows: list[Row]) -> list[Claim]:
    methods = {one["method"] for one in rows}
    # The paper compares kditransform with its own exact evaluation; kdi is compared with the faster direct sum.
    exact = {THEIR_POLYEXP: THEIR_EXACT, OUR_POLYEXP: EXACT, OUR_GAUSSIAN: EXACT}
    fast = [method for method in exact if method in methods]
    found = [speedup(rows, method, exact[method]) for method in fast]
    found += [fixed_precision(rows, method, rival) for rival in SIGNS for method in fast]
    return [*found, orders(rows)]


def mark(method: str) -> str:
    return OURS if method == OUR_GAUSSIAN else ""  # the paper has no fast Gaussian


def speedup(rows: list[Row], method: str, exact: str) -> Claim:
    ratios, said = [], []
    for (alpha,), group in grouped(rows, "alpha").items():
        (slow,), (own,) = chosen(group, method=exact), chosen(group, method=method)
        ratios.append(ratio(slow, own, "total_ms"))
        said.append(f"{times(ratios[-1])} (α = {alpha})")
    claimed = f"{mark(method)}{method} is almost 1000x faster than exact evaluation (at least {ALMOST_THOUSAND}x)"
    return Claim(claimed, f"against {exact}: {', '.join(said)}", min(ratios) >= ALMOST_THOUSAND)


def fixed_precision(rows: list[Row], method: str, rival: str) -> Claim:
    """Judge the training time of the fastest rival that is at least as precise, over that of the method.

    Where no rival is as precise, the one with the most points or references gives a lower bound.
    """
    ratios, said = [], []
    for (alpha,), group in grouped(rows, "alpha").items():
        (own,), rivals = chosen(group, method=method), chosen(group, method=rival)
        enough = [one for one in rivals if error_of(one) <= error_of(own)]
        taken = min(enough, key=lambda one: float(one["fit_ms"])) if enough else rivals[-1]
        ratios.append(ratio(taken, own, "fit_ms"))
        found = (
            f"{times(ratios[-1])} ({counted(taken)})"
            if enough
            else f"at least {times(ratios[-1])} ({counted(taken)} is not as precise)"
        )
        said.append(f"α = {alpha}: {found}")
    claimed = f"{mark(method)}{method} takes 10x to 100x less training time than the {rival} at fixed precision "
    return Claim(f"{claimed}(at least {TENFOLD}x)", "; ".join(said), min(ratios) >= TENFOLD)


def orders(rows: list[Row]) -> Claim:
    gains, faster, said = [], [], []
    for (alpha,), group in grouped(rows, "alpha").items():
        (own,) = chosen(group, method=OUR_GAUSSIAN)
        best = min((one for one in group if one["method"] in APPROXIMATE), key=error_of)
        gains.append(gain(best, own))
        faster.append(ratio(best, own, "total_ms"))
        # With as many references as points it costs as much as the direct sum: not compared in time, but reported.
        finest = chosen(group, method=INTERPOLATED)[-1]
        said.append(f"α = {alpha}: error {against(best, own)} (and {against(finest, own)})")
    claimed = f"{OURS}{OUR_GAUSSIAN} has several orders less error (at least {SEVERAL}) than the most precise "
    claimed += "subsampled Gaussian or kditransform, in less time"
    return Claim(claimed, "; ".join(said), min(gains) >= SEVERAL and min(faster) > 1)


def against(other: Row, own: Row) -> str:
    orders, factor = gain(other, own), ratio(other, own, "total_ms")
    said = f"10^{abs(orders):.1f} times {'less' if orders >= 0 else 'more'}"
    return f"{said} and {times(factor)} {'faster than' if factor > 1 else 'as fast as'} {label(other)}"


def gain(other: Row, own: Row) -> float:
    """Return the orders of magnitude by which the own error is smaller than that of the other."""
    return log10(error_of(other) / error_of(own))


def error_of(one: Row) -> float:
    return float(one["error"])


def ratio(slow: Row, fast: Row, what: str) -> float:
    return float(slow[what]) / float(fast[what])


def times(factor: float) -> str:
    """Format a factor with enough digits that it is not rounded to 1x, or up to the claimed one."""
    return f"{factor:,.0f}x" if factor >= 100 else f"{factor:.1f}x" if factor >= 1 else f"{factor:.2g}x"


# The figure.

COLOURS = ("#0059a8", "#7b3294", "#d9731a")  # one per alpha
MARKERS = {SUBSAMPLED: "o", INTERPOLATED: "P", THEIR_POLYEXP: "s", THEIR_GAUSSIAN: "D"}
MARKERS |= {OUR_POLYEXP: "^", OUR_GAUSSIAN: "v"}


def figures(rows: list[Row]) -> dict[str, Figure]:
    figure = drawing.new_figure(7.8, 4.6)
    axes = figure.subplots()
    groups = grouped(rows, "alpha")
    for colour, group in zip(COLOURS, groups.values(), strict=True):
        for method, marker in MARKERS.items():
            here = chosen(group, method=method)
            passed, errors, own = ([float(one[what]) for one in here] for what in ("total_ms", "error", "own_error"))
            dashes = "--" if method == INTERPOLATED else "-"
            axes.plot(passed, errors, marker=marker, color=colour, ls=dashes, lw=0.8, ms=5.5, zorder=4)
            if "polyexp" in method:  # hollow marks: the error against its own kernel
                axes.plot(passed, own, marker=marker, color=colour, mfc="white", ls="", ms=5.5, zorder=3)
                axes.vlines(passed, own, errors, color=colour, lw=0.7, ls=":")
        (direct,), on_axis = chosen(group, method=EXACT), axes.get_xaxis_transform()
        star: dict[str, Any] = {"marker": "*", "ls": "", "ms": 10, "clip_on": False, "zorder": 4}
        axes.plot([float(direct["total_ms"])], [0], color=colour, transform=on_axis, **star)
    axes.set(xscale="log", yscale="log", xlabel="fit and transform, milliseconds", ylabel="largest absolute error")
    axes.grid(alpha=0.25, lw=0.5)
    figure.legend(handles=handles(rows, [alpha for (alpha,) in groups]), loc="outside right upper")
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
