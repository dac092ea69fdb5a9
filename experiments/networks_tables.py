"""Tables, claims and the figure of the experiment on networks."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from benchmarks.report import Table, number
from experiments import drawing
from experiments.claims import Claim
from experiments.contests import Contest, contest, p_value
from experiments.names import KDI
from experiments.names import OURS as NOT_PAPER
from experiments.networks_names import (
    BEST_NORMAL,
    BEST_UNIFORM,
    CLIP,
    LINEAR,
    NETWORK,
    OURS,
    PAPER,
    THEIRS,
)
from experiments.ranks import holm, interval, mean_ranks, ranks, signed
from experiments.rows import Row, chosen, grouped

TITLES = {NETWORK: "Network of two hidden layers", LINEAR: "Logistic or ridge regression"}
SEEN_ROWS, SEEN_COLUMNS = 1_600, 60  # of the benchmarks that earlier trials had seen
RULES = (
    "Ahead: a smaller mean rank among all contenders, over sets for classification, ranked by AUC, and for regression, "
    "ranked by rMSE. The odd half are the sets whose name has an odd CRC-32; kdi's recommended settings were chosen on "
    "the others. p-values are Wilcoxon's, two-sided, of the scores on these sets."
)


def compared(rows: Iterable[Row]) -> list[Row]:
    return chosen(rows, part="comparison")


def halves(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Select the rows of the comparison: those of the odd half first, then all."""
    found = compared(rows)
    return {"odd half": chosen(found, half="odd"), "all sets": found}


def models(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["model"] for row in rows))


def methods(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def n_sets(rows: Iterable[Row]) -> int:
    return len({row["data"] for row in rows})


def duel(rows: list[Row], own: str, other: str) -> Contest:
    """Compare the scores of two methods with one model."""
    return contest(*([signed(row) for row in chosen(rows, method=method)] for method in (own, other)))


# Claims.


def headline(rows: list[Row]) -> str:
    """Say whether kdi's best contender is ahead of RealMLP's preprocessing with both models."""
    odd = halves(rows)["odd half"]
    best, uniform, chosen_before = (
        best_claim(odd, ""),
        ahead_claim(odd, BEST_UNIFORM, CLIP),
        chosen_claim(compared(rows)),
    )

    def verdict(claim: Claim) -> str:
        return "is ahead" if claim.holds else "is NOT ahead"

    return (
        f"kdi's best contender {verdict(best)} of {CLIP} in mean rank with every model, on the half of the sets that "
        f"kdi's settings were not chosen on: {best.found}. {BEST_UNIFORM} alone {verdict(uniform)} with every model "
        f"({uniform.found}); the contender that was best on the other half {verdict(chosen_before)} "
        f"({chosen_before.found})."
    )


def claims(rows: list[Row]) -> list[Claim]:
    odd, every = halves(rows).values()
    return [
        best_claim(odd, "on the odd half"),
        chosen_claim(compared(rows)),
        best_claim(every, "on all sets"),
        *(ahead_claim(odd, own, CLIP) for own in (BEST_UNIFORM, BEST_NORMAL)),
        ahead_claim(odd, BEST_UNIFORM, PAPER),
        *([ahead_claim(odd, BEST_NORMAL, THEIRS), worst_claim(every)] if THEIRS in methods(every) else []),
    ]


def best_claim(rows: list[Row], where: str) -> Claim:
    """Judge the best of kdi's contenders with each model, whichever it is."""
    places = {model: mean_ranks(chosen(rows, model=model)) for model in models(rows)}
    best = {model: min(OURS, key=own.__getitem__) for model, own in places.items()}
    return judged(f"the best of kdi's four contenders is ahead of {CLIP} with every model, {where}", rows, best)


def chosen_claim(rows: list[Row]) -> Claim:
    """Judge, on the odd half, the contender that was kdi's best on the even one."""
    even, odd = (chosen(rows, half=half) for half in ("even", "odd"))
    places = {model: mean_ranks(chosen(even, model=model)) for model in models(rows)}
    best = {model: min(OURS, key=own.__getitem__) for model, own in places.items()}
    claimed = f"kdi's best contender of the even half is ahead of {CLIP} with every model, on the odd half"
    return judged(claimed, odd, best)


def ahead_claim(rows: list[Row], own: str, other: str) -> Claim:
    claimed = f"{own}: ahead of {other} with every model, on the odd half"
    return judged(claimed, rows, dict.fromkeys(models(rows), own), other)


def judged(claimed: str, rows: list[Row], own: dict[str, str], other: str = CLIP) -> Claim:
    """Compare mean ranks of a contender per model with those of another."""
    found, holds = [], []
    for model, method in own.items():
        among = chosen(rows, model=model)
        places, one = mean_ranks(among), duel(among, method, other)
        holds.append(places[method] < places[other])
        found.append(
            f"{model}: {method} {places[method]:.2f} against {places[other]:.2f}, "
            f"{one.wins} wins, {one.losses} losses, {one.ties} ties, p = {p_value(one.two_sided)}"
        )
    return Claim(NOT_PAPER + claimed, f"{'; '.join(found)}; {n_sets(rows)} sets", all(holds))


def worst_claim(rows: list[Row]) -> Claim:
    """Judge what RealMLP's authors found with their network."""
    found, places = [], {}
    for model in models(rows):
        own = mean_ranks(chosen(rows, model=model))
        places[model] = sorted(own, key=own.__getitem__).index(THEIRS) + 1
        found.append(f"{model}: {places[model]}. of {len(own)}, mean rank {own[THEIRS]:.2f}")
    last = len(methods(rows))
    claimed = f"{THEIRS}: the worst of all with the network, as RealMLP's authors found with theirs, on all sets"
    return Claim(NOT_PAPER + claimed, "; ".join(found), places.get(NETWORK) == last)


# Tables.


def tables(rows: list[Row]) -> list[Table]:
    own = compared(rows)
    found = [
        score_table(chosen(half, model=model), model, where)
        for where, half in halves(rows).items()
        for model in models(rows)
    ]
    found += [part_table(own), setting_table(rows), seconds_table(own)]
    return [*found, *(set_table(chosen(own, model=model), model) for model in models(own))]


def score_table(rows: list[Row], model: str, where: str) -> Table:
    names = methods(rows)
    places = ranks(rows)
    others = [method for method in names if method not in OURS]
    pairs = [(own, other) for own in OURS for other in others]
    p_values = dict(zip(pairs, holm([duel(rows, *pair).two_sided for pair in pairs]), strict=True))
    body = []
    for method in sorted(names, key=lambda method: places[method].mean()):
        low, high = interval(places[method])
        cells = [method, f"{places[method].mean():.2f} ({low:.2f} to {high:.2f})"]
        cells += [mean(chosen(rows, method=method, metric=metric), field) for metric, field in SCORES.values()]
        body.append(cells + [p_value(p_values[own, method]) if method in others else "–" for own in OURS])
    count = {metric: n_sets(chosen(rows, metric=metric)) for metric in ("AUC", "rMSE")}
    note = f"{count['AUC']} sets for classification and {count['rMSE']} for regression; splits: {rows[0]['splits']}. "
    note += "In brackets, 95 % bootstrap intervals over sets. The p-values are Wilcoxon's signed-rank test's, "
    note += "two-sided, of kdi's contenders against the others, with Holm's correction for all "
    note += f"{len(pairs)} of the table."
    header = ["", "mean rank", *SCORES, *(f"p, {own}" for own in OURS)]
    return Table(f"{TITLES[model]}, {where}", header, body, note)


SCORES = {"mean AUC": ("AUC", "value"), "mean error": ("AUC", "error"), "mean rMSE": ("rMSE", "value")}


def mean(rows: list[Row], field: str) -> str:
    return f"{np.mean([float(row[field]) for row in rows]):.4f}" if rows else "–"


def part_table(rows: list[Row]) -> Table:
    """Give mean ranks by kind of data."""
    parts = {
        "classification": chosen(rows, metric="AUC"),
        "regression": chosen(rows, metric="rMSE"),
        "odd half, classification": chosen(rows, metric="AUC", half="odd"),
        "odd half, regression": chosen(rows, metric="rMSE", half="odd"),
        "no trials before": [row for row in rows if not seen(row)],
    }
    columns = {
        f"{model}, {part} ({n_sets(own)})": mean_ranks(chosen(own, model=model))
        for model in models(rows)
        for part, own in parts.items()
        if own
    }
    body = [[method, *(f"{places[method]:.2f}" for places in columns.values())] for method in methods(rows)]
    note = f"The number of sets is in brackets. No trials before: larger than {SEEN_ROWS:,} rows or {SEEN_COLUMNS} "
    note += "columns, or for regression; earlier trials of preprocessings had seen the other benchmarks."
    return Table("Mean rank by kind of data", ["", *columns], body, note)


def seen(row: Row) -> bool:
    return row["metric"] == "AUC" and int(row["rows"]) <= SEEN_ROWS and int(row["columns"]) <= SEEN_COLUMNS


def setting_table(rows: list[Row]) -> Table:
    """Give the grid of kdi's settings with the ranks that the recommended ones were chosen by."""
    found = chosen(rows, part="selection")
    body = []
    for kind in ("uniform", "normal"):
        own = [row for row in found if kind in row["method"]]
        places = [mean_ranks(own), *(mean_ranks(chosen(own, model=model)) for model in models(own))]
        best = min(places[0], key=places[0].__getitem__)
        body += [
            [setting + ", **recommended**" * (setting == best), *(f"{one[setting]:.2f}" for one in places)]
            for setting in places[0]
        ]
    note = f"{n_sets(found)} sets whose name has an even CRC-32, splits: {found[0]['splits']}. Settings with uniform "
    note += "output are ranked among each other, and so are those with normal output."
    header = ["", "mean rank, every model", *(f"mean rank, {model}" for model in models(found))]
    return Table("Choice of kdi's recommended settings", header, body, note)


def seconds_table(rows: list[Row]) -> Table:
    body = []
    for method in methods(rows):
        own = {model: chosen(rows, method=method, model=model) for model in models(rows)}
        prepared = total(next(iter(own.values())), "preparation")
        fits = [total(one, "fit") for one in own.values()]
        body.append([method, *(number(value) for value in (prepared, *fits, *(prepared + fit for fit in fits)))])
    header = ["", "preprocessing", *models(rows), *(f"preprocessing + {model}" for model in models(rows))]
    note = f"Sums over {n_sets(rows)} sets of the median over splits, on one thread, while other processes run. "
    note += (
        "Networks of tables with as many columns are trained together, nine others or kdi's four, and each is given "
    )
    note += "its share of the time, which is smaller among nine; those of the piecewise-linear encoding are alone."
    return Table("Seconds", header, body, note)


def total(rows: list[Row], field: str) -> float:
    return sum(float(row[field]) for row in rows)


def set_table(rows: list[Row], model: str) -> Table:
    body = []
    for (data,), own in grouped(rows, "data").items():
        scores = {row["method"]: f"{float(row['value']):.4f}" for row in own}
        head = [data, own[0]["half"], own[0]["metric"], f"{int(own[0]['rows']):,}", own[0]["columns"]]
        body.append([*head, *(scores[method] for method in methods(rows))])
    header = ["", "half", "score", "rows", "columns", *methods(rows)]
    return Table(f"Scores on each set, {TITLES[model]}", header, body)


# The figure.


def figures(rows: list[Row]) -> dict[str, Figure]:
    found = halves(rows)
    figure = drawing.new_figure(9.6, 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(models(rows)), sharex=True, sharey=True))
    order = mean_ranks(chosen(found["odd half"], model=models(rows)[0]))
    names = sorted(order, key=order.__getitem__, reverse=True)
    for model, axes in zip(models(rows), panels, strict=True):
        odd, every = (ranks(chosen(half, model=model)) for half in found.values())
        axes.axvline(odd[CLIP].mean(), color=drawing.GREY, linewidth=0.8)
        for place, method in enumerate(names):
            colour = drawing.COLOURS[KDI] if method in OURS else drawing.GREY
            axes.plot(interval(odd[method]), (place, place), color=colour, linewidth=1.6)
            (mark,) = axes.plot(odd[method].mean(), place, "o", color=colour, markersize=6)
            (ring,) = axes.plot(every[method].mean(), place, "o", color=colour, markerfacecolor="none", markersize=9)
        axes.set(title=TITLES[model], xlabel="mean rank (smaller is better)", yticks=range(len(names)))
    panels[0].set_yticklabels(names)
    labels = [f"odd half, {n_sets(found['odd half'])} sets, with a 95 % interval", f"all {n_sets(rows)} sets"]
    figure.legend([mark, ring], labels, loc="outside upper right", ncols=2)
    return {"networks": figure}
