"""Tables, claims and the figure of the two theorems, from the rows of their experiment."""

import numpy as np
from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import drawing
from experiments.claims import Claim
from experiments.names import OURS
from experiments.rows import Row, grouped

KERNELS = {"gaussian": 2, "polyexp": 5}  # with the power of 1/α by which T should approach min-max scaling
LARGEST, SMALLEST = 1e4, 1e-10  # alpha
REACHED = 1e-6  # the largest distance that counts as reaching the limit
ROUNDING = 1e-10  # distances below it have too few digits for a rate
TENTH = 0.1  # the largest relative error of a measured power

RULES = f"""T is the KD-integral, summed directly. Its distance to a limit is the largest absolute difference over all
values of a sample and three places between neighbouring values, or over one of these sets where stated. T tends to a
limit if the distance is at most {REACHED:g} at α = {LARGEST:g} for large α, or at α = {SMALLEST:g} for small α, for
every sample and both kernels. The power of α is measured between the two largest α, half a decade apart, at which the
distance is above {ROUNDING:g}, and must be within a tenth of the theoretical power. The extremes are tied if the
smallest or the largest value of a sample occurs more than once."""


def series(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Group the rows by sample and kernel, from the largest alpha to the smallest."""
    groups = grouped(rows, "sample", "kernel")
    return {key: sorted(group, key=lambda one: -float(one["alpha"])) for key, group in groups.items()}


def rate(group: list[Row]) -> float:
    """Measure the power of 1/α by which the distance to min-max scaling falls, between the two largest clear α."""
    clear = [one for one in group if float(one["to_min_max"]) > ROUNDING]
    (high, low), (near, far) = ([float(one[what]) for one in clear[:2]] for what in ("alpha", "to_min_max"))
    return float(np.log(far / near) / np.log(high / low))


def tables(rows: list[Row]) -> list[Table]:
    return [large_table(rows), small_table(rows)]


def large_table(rows: list[Row]) -> Table:
    body = []
    for (sample, kernel), group in series(rows).items():
        by_alpha = {float(one["alpha"]): float(one["to_min_max"]) for one in group}
        largest = group[0]
        cells = [f"{by_alpha[alpha]:.1e}" for alpha in (1.0, 100.0, LARGEST)]
        body.append([sample, kernel, *cells, f"{float(largest['kdi_to_min_max']):.1e}", f"{rate(group):.2f}"])
    header = ["", "kernel", "α = 1", "α = 100", f"α = {LARGEST:g}", f"kdi, α = {LARGEST:g}", "rate"]
    note = (
        "Largest distance over all values and three places between neighbours. The rate is the power of 1/α at which "
        f"it falls, between the two largest α at which it is above {ROUNDING:g}."
    )
    return Table("Distance to min-max scaling", header, body, note)


def small_table(rows: list[Row]) -> Table:
    goals = ["to_limit_at_values", "to_limit_between", "to_kdi_zero_at_values", "to_quantile_at_values"]
    goals += ["to_sklearn_at_values", "to_ecdf_at_values", "to_ecdf_between"]
    body = []
    for (sample, kernel), group in series(rows).items():
        last = group[-1]
        ties = f"{last['first_ties']}, {last['last_ties']}, {last['most_ties']}"
        body.append([sample, kernel, last["values"], ties, *(f"{float(last[goal]):.1e}" for goal in goals)])
    header = ["", "kernel", "N", "ties", "to L, at values", "between", "to kdi at α = 0", "to scikit-learn, exact"]
    header += ["as it is", "to F_N, at values", "between"]
    note = (
        f"Largest distance at α = {SMALLEST:g}. Ties: how often the smallest value occurs, the largest, and the most "
        "frequent value. L is the limit of T, a step function. kdi at α = 0 and scikit-learn's QuantileTransformer are "
        "evaluated at the values; the latter first with exact quantiles, then as it is, with rounding errors in its "
        "quantiles, which can separate tied values. F_N is the empirical cdf, the limit according to the paper."
    )
    return Table("Distance to the quantile transform", header, body, note)


def claims(rows: list[Row]) -> list[Claim]:
    groups = series(rows)
    ends = [group[-1] for group in groups.values()]
    worst = max((float(group[0]["to_min_max"]), key[0]) for key, group in groups.items())
    found = [
        Claim(
            f"theorem 1: T tends to min-max scaling as α → ∞ (within {REACHED:g})",
            f"at most {worst[0]:.1e} away at α = {LARGEST:g} ({worst[1]}); "
            f"kdi at most {max(float(group[0]['kdi_to_min_max']) for group in groups.values()):.1e}",
            worst[0] <= REACHED,
        )
    ]
    for kernel, power in KERNELS.items():
        rates = [rate(group) for key, group in groups.items() if key[1] == kernel]
        found.append(
            Claim(
                f"{OURS}the distance to min-max scaling falls like α^-{power}, {kernel} (power within a tenth)",
                f"powers from {min(rates):.2f} to {max(rates):.2f}",
                max(abs(one - power) for one in rates) <= TENTH * power,
            )
        )
    single = [one for one in ends if int(one["most_ties"]) == 1]
    tied = [one for one in ends if int(one["most_ties"]) > 1]
    loose = [one for one in ends if int(one["first_ties"]) == int(one["last_ties"]) == 1]
    bound = [one for one in ends if one not in loose]
    both = ("to_ecdf_at_values", "to_ecdf_between")
    found += [
        Claim(
            f"theorem 2: T tends to the empirical cdf as α → 0 (within {REACHED:g})",
            f"at α = {SMALLEST:g} it is {span(single, both[0], times='values')} / N away at the values and "
            f"{span(single, both[1], times='values')} / N between them without ties, and up to "
            f"{furthest(tied, both[0]):.2g} and {furthest(tied, both[1]):.2g} with ties",
            max(furthest(ends, what) for what in both) <= REACHED,
        ),
        Claim(
            f"{OURS}T tends to a step function, which is the mid-rank at each value (tied values share their mean "
            "rank) and constant between values, shifted and scaled to run from 0 to 1",
            f"at most {furthest(ends, 'to_limit_at_values'):.1e} away at the values, "
            f"{furthest(ends, 'to_limit_between'):.1e} between them",
            max(furthest(ends, what) for what in ("to_limit_at_values", "to_limit_between")) <= REACHED,
        ),
        Claim(
            f"{OURS}T tends to scikit-learn's QuantileTransformer with exact quantiles, at the values, where the "
            "extremes are not tied",
            f"at most {furthest(loose, 'to_quantile_at_values'):.1e} away; as it is, with rounding errors in its "
            f"quantiles, which can separate tied values, up to {furthest(loose, 'to_sklearn_at_values'):.1e}; where "
            f"the extremes are tied, up to {furthest(bound, 'to_quantile_at_values'):.2g}",
            furthest(loose, "to_quantile_at_values") <= REACHED,
        ),
        Claim(
            f"{OURS}T tends to what kdi computes at α = 0, at the values, tied or not",
            f"at most {furthest(ends, 'to_kdi_zero_at_values'):.1e} away",
            furthest(ends, "to_kdi_zero_at_values") <= REACHED,
        ),
        within_bound(rows),
    ]
    return found


def furthest(rows: list[Row], what: str) -> float:
    return max((float(one[what]) for one in rows), default=0.0)


def span(rows: list[Row], what: str, times: str) -> str:
    found = sorted(float(one[what]) * int(one[times]) for one in rows)
    low, high = f"{found[0]:.3f}", f"{found[-1]:.3f}"
    return low if low == high else f"{low} to {high}"


def within_bound(rows: list[Row]) -> Claim:
    fine = [one for one in rows if float(one["kdi_bound"]) <= REACHED]
    broken = sum(float(one["kdi_error"]) > float(one["kdi_bound"]) for one in rows)
    return Claim(
        f"{OURS}the error of kdi is within the bound that it reports (error_bound_), at every α",
        f"beyond it in {broken} of {len(rows)} cases; where the bound is {REACHED:g} or less, in {len(fine)} cases, "
        f"the error is at most {furthest(fine, 'kdi_error'):.1e}",
        not broken,
    )


# The figure.

COLOURS = ("#0059a8", "#d9731a", "#2e8b57", "#c0392b", "#7b3294", "#8c6d31", "#d6409f", "#1b1b1b")
FLOOR = 1e-13  # zero cannot be drawn on a logarithmic scale
PANELS = (
    ("min-max scaling", ("to_min_max",), (1.0, LARGEST)),
    ("kdi at α = 0, at the values", ("to_kdi_zero_at_values",), (SMALLEST, 1.0)),
    ("the empirical cdf, anywhere", ("to_ecdf_at_values", "to_ecdf_between"), (SMALLEST, 1.0)),
)


def figures(rows: list[Row]) -> dict[str, Figure]:
    groups = series(rows)
    samples = list(dict.fromkeys(sample for sample, _ in groups))
    figure = drawing.new_figure(10, 6.2)
    grid = figure.subplots(len(KERNELS), len(PANELS), sharex="col", sharey="col")
    for line, kernel in zip(grid, KERNELS, strict=True):
        for axes, (goal, whats, (low, high)) in zip(line, PANELS, strict=True):
            for sample, colour in zip(samples, COLOURS, strict=True):
                here = [one for one in groups[sample, kernel] if low <= float(one["alpha"]) <= high]
                distances = [max(FLOOR, *(float(one[what]) for what in whats)) for one in here]
                alphas = [float(one["alpha"]) for one in here]
                axes.plot(alphas, distances, color=colour, lw=1.2, marker="o", ms=2.5, label=sample)
            axes.set(xscale="log", yscale="log", title=f"to {goal} ({kernel})")
            axes.grid(alpha=0.25, lw=0.5)
        line[0].set_ylabel(f"largest distance, or {FLOOR:g} if less")
    for axes in grid[:, :2].flat:
        axes.set_ylim(FLOOR / 2, 2)
    grid[0, 2].set_ylim(1e-3, 1)  # these distances stay far from 0
    for axes in grid[-1]:
        axes.set_xlabel("α")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return {"limits": figure}
