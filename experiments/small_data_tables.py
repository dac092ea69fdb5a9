"""The Small Data Benchmarks as people read them: the paper's table and figure, its claims, and every set."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.report import Table
from experiments import drawing
from experiments.claims import Claim
from experiments.contests import contest, p_value
from experiments.drawing import EACH, KDI, MIN_MAX, QUANTILE, TUNED

Floats = NDArray[np.float64]
Row = dict[str, Any]

METHODS = (MIN_MAX, QUANTILE, KDI, TUNED, EACH)
PAPER = {MIN_MAX: (0.864, 0.132), QUANTILE: (0.866, 0.131), KDI: (0.868, 0.129), TUNED: (0.869, 0.129)}
PAPER_SETS = 142
LEVEL = 0.05  # of a p-value that bears a claim out
NEAR = 0.005  # of the published mean on the same sets
SMALL = 1000  # rows: the smaller ones, of which the paper says that the transformation helps most


def scores(rows: list[Row], method: str) -> Floats:
    """In the order of the sets."""
    return np.array([float(row["auc"]) for row in rows if row["method"] == method])


def relative(rows: list[Row]) -> dict[str, Floats]:
    """The scores over the best of the set: of the paper's four methods, to which an alpha per feature is compared."""
    best = np.max([scores(rows, method) for method in PAPER], axis=0)
    return {method: scores(rows, method) / best for method in METHODS}


def sizes(rows: list[Row]) -> Floats:
    return np.array([float(row["rows"]) for row in rows if row["method"] == MIN_MAX])


# Claims.


def claims(rows: list[Row]) -> list[Claim]:
    means = {method: float(scores(rows, method).mean()) for method in METHODS}
    deviations = {method: float(scores(rows, method).std(ddof=1)) for method in METHODS}
    found = [ahead(rows, KDI, MIN_MAX), ahead(rows, KDI, QUANTILE)]
    found += [ahead(rows, TUNED, other) for other in (MIN_MAX, QUANTILE, KDI)]
    found.append(
        Claim(
            f"{KDI}: less variance over sets than {MIN_MAX} and {QUANTILE} (deviations 0.129, 0.132, 0.131)",
            ", ".join(f"{deviations[method]:.3f}" for method in (KDI, MIN_MAX, QUANTILE)),
            deviations[KDI] < min(deviations[MIN_MAX], deviations[QUANTILE]),
        )
    )
    return [*found, small_claim(rows), published_claim(rows), beyond(rows, means)]


def ahead(rows: list[Row], own: str, other: str) -> Claim:
    """By its mean, and by Wilcoxon's one-sided test."""
    mean, beside = (float(scores(rows, method).mean()) for method in (own, other))
    one = contest(list(scores(rows, own)), list(scores(rows, other)))
    return Claim(
        f"{own}: greater mean AUC than {other} ({PAPER[own][0]:.3f}, {PAPER[other][0]:.3f})",
        f"{mean:.4f} against {beside:.4f}; {one.wins} wins, {one.losses} losses, {one.ties} ties; "
        f"one-sided p = {p_value(one.one_sided)}",
        mean > beside and one.one_sided < LEVEL,
    )


def small_claim(rows: list[Row]) -> Claim:
    """How far below the best the worst tenth of the smaller sets is."""
    small = sizes(rows) < SMALL
    tenths = {method: float(np.quantile(values[small], 0.1)) for method, values in relative(rows).items()}
    said = ", ".join(f"{method} {tenths[method]:.3f}" for method in PAPER)
    return Claim(
        f"both KD-integrals avoid suboptimal performance on small sets: the relative AUC that nine in ten of those "
        f"with fewer than {SMALL:,} rows exceed is above that of {MIN_MAX} and {QUANTILE}",
        f"{said}; {small.sum()} sets",
        min(tenths[KDI], tenths[TUNED]) > max(tenths[MIN_MAX], tenths[QUANTILE]),
    )


def published_claim(rows: list[Row]) -> Claim:
    own = [row for row in rows if row["method"] == MIN_MAX]
    ours, theirs = (np.array([float(row[name]) for row in own]) for name in ("auc", "published"))
    apart = abs(ours - theirs)
    return Claim(
        f"{MIN_MAX} has the mean AUC that Feldman (2021) published for these sets, to {NEAR}",
        f"{ours.mean():.4f} against {theirs.mean():.4f}; the median of the differences is {np.median(apart):.4f}, "
        f"the largest {apart.max():.3f} ({own[int(apart.argmax())]['data']})",
        bool(abs(ours.mean() - theirs.mean()) <= NEAR),
    )


def beyond(rows: list[Row], means: dict[str, float]) -> Claim:
    one = contest(list(scores(rows, EACH)), list(scores(rows, TUNED)))
    return Claim(
        f"not in the paper: {EACH}, greater mean AUC than {TUNED}",
        f"{means[EACH]:.4f} against {means[TUNED]:.4f}; {one.wins} wins, {one.losses} losses, {one.ties} ties; "
        f"one-sided p = {p_value(one.one_sided)}",
        means[EACH] > means[TUNED] and one.one_sided < LEVEL,
    )


# Tables.


def tables(rows: list[Row]) -> list[Table]:
    return [summary_table(rows), seconds_table(rows), set_table(rows)]


def summary_table(rows: list[Row]) -> Table:
    body = []
    for method in METHODS:
        own = scores(rows, method)
        cells = [method, f"{own.mean():.4f} ({own.std(ddof=1):.3f})"]
        cells.append(f"{PAPER[method][0]:.3f} ({PAPER[method][1]:.3f})" if method in PAPER else "–")
        for better in (KDI, TUNED, EACH):
            one = contest(list(scores(rows, better)), list(own))
            cells.append("–" if METHODS.index(method) >= METHODS.index(better) else p_value(one.one_sided))
        body.append(cells)
    header = ["", "mean (deviation) of AUC", "the paper", *(f"p, {better}" for better in (KDI, TUNED, EACH))]
    note = f"{len(sizes(rows))} sets here, {PAPER_SETS} in the paper. The p-values are Wilcoxon's, one-sided: small "
    note += "where the method of the column is better than that of the line."
    return Table("ROC AUC of a linear support vector classifier", header, body, note)


def seconds_table(rows: list[Row]) -> Table:
    totals = {method: sum(float(row["seconds"]) for row in rows if row["method"] == method) for method in METHODS}
    body = [[method, f"{total:,.0f}"] for method, total in totals.items()]
    note = "Of the inner searches, summed over sets and folds, on one thread, while other processes are busy. "
    note += f"{TUNED} searches three values of alpha."
    return Table("Seconds", ["", "seconds"], body, note)


def set_table(rows: list[Row]) -> Table:
    body = []
    for data in dict.fromkeys(row["data"] for row in rows):
        own = {row["method"]: row for row in rows if row["data"] == data}
        one = own[MIN_MAX]
        body.append(
            [data, f"{int(one['rows']):,}", f"{one['columns']}", f"{one['classes']}"]
            + [f"{float(own[method]['auc']):.4f}" for method in METHODS]
            + [f"{float(one['published']):.4f}"]
        )
    header = ["", "rows", "columns", "classes", *METHODS, f"{MIN_MAX}, published"]
    return Table("AUC on each set", header, body)


# The figure.


def figures(rows: list[Row]) -> dict[str, Figure]:
    with drawing.style():
        figure = drawing.new_figure(10.4, 2.9)
        panels = figure.subplots(1, len(METHODS), sharex=True, sharey=True)
        for (method, values), axes in zip(relative(rows).items(), panels, strict=True):
            look = {"color": drawing.COLOURS[method], "marker": drawing.MARKERS[method]}
            axes.axhline(1, color=drawing.GREY, linewidth=0.8)
            axes.scatter(sizes(rows), values, s=14, alpha=0.6, **look)
            axes.set(title=f"{method}\nmean {values.mean():.4f}, lowest {values.min():.3f}", xlabel="rows")
            axes.set(xscale="log", xlim=(40, 14_000), xticks=[100, 1000, 10_000])
            axes.set_xticklabels(["100", "1,000", "10,000"])
        panels[0].set_ylabel("relative AUC")
    return {"small_data": figure}
