"""Comparisons, tables and figures of a sweep of alphas.

Methods are compared on the same splits: one is ahead of another where its mean lead is more than two standard errors of
that lead, behind where the other one is ahead, and tied with it otherwise. Splits overlap, so these errors are only a
guide, and do not allow inference about other data.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import drawing
from experiments.claims import Claim
from experiments.names import CLIPPED, EACH, KDI, MIN_MAX, OURS, QUANTILE, TUNED, Z_SCORE
from experiments.rows import Row, chosen, grouped
from experiments.sweeps import METHODS, SETTINGS, SWEEP_ALPHAS, SWEPT

NAMES = {
    "wine": "Wine",
    "iris": "Iris",
    "penguins": "Penguins",
    "hawks": "Hawks",
    "california": "California housing",
    "abalone": "Abalone",
}
PLAIN = (MIN_MAX, Z_SCORE)
FAR = 1.5  # times the range of the other methods
ERRORS = 2  # standard errors that make a lead
RULE = (
    f"Ahead or behind: by more than {ERRORS} standard errors of the difference on the same splits; otherwise tied. "
    "Splits overlap, so these errors are only a guide, and too small for inference about other data."
)
BESIDE = f"Not in the paper: {EACH}, which is kdi.KDITransformerCV, and {CLIPPED}, which clips to the training range."
BARS = "The paper says that its error bars are standard deviations; its notebooks draw standard errors, as we do."
STRAIGHT = (
    "Lower is better. Min-max and z-score are affine maps of the features, which do not change least squares. Both "
    "extrapolate beyond the range of the training part, where the other methods are constant: a few splits with "
    "outliers in the test part make their errors large. Clipped min-max shows how much of a lead is due to that."
)


# Selections of rows.


def samples(rows: Iterable[Row]) -> list[list[Row]]:
    """Group the rows by sample, in their order."""
    return list(grouped(rows, "data", "rows").values())


def of_method(sample: Iterable[Row], method: str) -> Row:
    (row,) = chosen(sample, method=method)
    return row


def sign(row: Row) -> int:
    """Return 1 where higher is better, -1 where lower is."""
    return SETTINGS[row["metric"]].sign


def swept(sample: Iterable[Row]) -> list[Row]:
    return chosen(sample, method=SWEPT)


def best(sample: Iterable[Row]) -> Row:
    """Find the row of the sweep with the best mean over splits; the first of ties."""
    return max(swept(sample), key=lambda row: sign(row) * float(row["value"]))


def title(sample: Sequence[Row]) -> str:
    first = sample[0]
    return f"{NAMES[first['data']]} (N = {int(first['rows']):,}, D = {first['columns']})"


# Comparisons.


class Lead(NamedTuple):
    """The mean lead of one method over another on the same splits, and its standard error."""

    mean: float
    error: float

    @property
    def ahead(self) -> bool:
        return self.mean > ERRORS * self.error

    @property
    def behind(self) -> bool:
        return -self.mean > ERRORS * self.error

    @property
    def tied(self) -> bool:
        return not (self.ahead or self.behind)

    @property
    def said(self) -> str:
        return "ahead" if self.ahead else "behind" if self.behind else "tied"


def lead(sample: Sequence[Row], method: str, other: str) -> Lead:
    """Return the lead of alpha = 1, the tuned alpha or quantiles over another method."""
    prefix = {KDI: "", TUNED: "tuned_", QUANTILE: "quantile_"}[method]
    row = of_method(sample, other)
    return Lead(-sign(row) * float(row[f"{prefix}difference"]) + 0.0, float(row[f"{prefix}difference_error"]))


RELATIONS: dict[str, Callable[[Sequence[Lead]], bool]] = {
    "ahead of": lambda leads: all(lead.ahead for lead in leads),
    "behind": lambda leads: all(lead.behind for lead in leads),
    "tied with": lambda leads: all(lead.tied for lead in leads),
    "not behind": lambda leads: not any(lead.behind for lead in leads),
    "between": lambda leads: any(lead.ahead for lead in leads) and any(lead.behind for lead in leads),
}


class Expected(NamedTuple):
    """A claim of the paper about one method and others on one data set; or one of ours."""

    data: str
    method: str
    relation: str
    others: tuple[str, ...]
    ours: bool = False


def judged(rows: Iterable[Row], expected: Iterable[Expected]) -> list[Claim]:
    """Judge the claims about data that was measured."""
    by_data = {sample[0]["data"]: sample for sample in samples(rows)}
    return [claim(by_data[one.data], one) for one in expected if one.data in by_data]


def claim(sample: Sequence[Row], expected: Expected) -> Claim:
    leads = [lead(sample, expected.method, other) for other in expected.others]
    who = OURS * expected.ours + NAMES[expected.data]
    claimed = f"{who}: {expected.method}, {expected.relation} {listed(expected.others)}"
    said = [
        f"{amount(sample[0], *one)} against {other} ({one.said})"
        for one, other in zip(leads, expected.others, strict=True)
    ]
    return Claim(claimed, "; ".join(said), RELATIONS[expected.relation](leads))


def amount(row: Row, mean: float, error: float) -> str:
    """Format a lead with its error; accuracies in percentage points."""
    if row["metric"] == "accuracy":
        return f"{100 * mean:+.2f} ± {100 * error:.2f} points"
    return f"{mean:+.4f} ± {error:.4f}"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# Tables.


def score_table(rows: Sequence[Row], note: str) -> Table:
    groups, metric = samples(rows), rows[0]["metric"]
    lines = [[method, *(value(of_method(sample, method)) for sample in groups)] for method in METHODS]
    lines.append(["best of the sweep", *(f"{value(best(sample))} at α = {alpha(best(sample))}" for sample in groups)])
    head = f"Mean ± standard error over {rows[0]['splits']} splits. "
    return Table(metric[0].upper() + metric[1:] if metric == "accuracy" else metric, header(groups), lines, head + note)


def lead_table(rows: Sequence[Row]) -> Table:
    groups = samples(rows)
    lines = [
        [f"{method}, against {other}", *(amount(sample[0], *lead(sample, method, other)) for sample in groups)]
        for method in (KDI, TUNED)
        for other in METHODS
        if other != method
    ]
    return Table("How much better, split by split", header(groups), lines, f"± one standard error. {RULE}")


def header(groups: Iterable[Sequence[Row]]) -> list[str]:
    return ["", *map(title, groups)]


def value(row: Row) -> str:
    return f"{float(row['value']):.4f} ± {float(row['standard_error']):.4f}"


def alpha(row: Row) -> str:
    return f"{float(row['alpha']):.3g}"


# Figures.


def figure(rows: Sequence[Row], mark_best: bool = False) -> Figure:
    """Draw two panels per line: the sweep, and methods as horizontal lines with a marker at the end."""
    groups = samples(rows)
    lines = -(-len(groups) // 2)
    found = drawing.new_figure(7.2, 2.6 * lines + 0.9)
    panels = found.subplots(lines, min(2, len(groups)), squeeze=False)
    for panel, sample in zip(panels.flat, groups, strict=False):
        draw_panel(panel, sample, mark_best)
    for panel in panels.flat[len(groups) :]:
        panel.remove()
    for panel in panels[-1]:
        panel.set_xlabel("bandwidth factor α")
    for panel in panels[:, 0]:
        panel.set_ylabel(rows[0]["metric"])
    handles, labels = panels.flat[0].get_legend_handles_labels()
    found.legend(handles, labels, loc="outside lower center", ncols=3)
    return found


def draw_panel(panel: Any, sample: Sequence[Row], mark_best: bool) -> None:
    """Draw one sample; bars are standard errors."""
    sweep = swept(sample)
    panel.errorbar(
        [float(row["alpha"]) for row in sweep],
        [float(row["value"]) for row in sweep],
        [float(row["standard_error"]) for row in sweep],
        color=drawing.SWEEP,
        marker=".",
        markersize=4,
        linewidth=1.2,
        elinewidth=0.9,
        capsize=2,
        label="KD-integral, at each α",
    )
    if mark_best:
        place = float(best(sample)["alpha"])
        # Not up to the top, where text may be.
        panel.axvline(
            place, 0, 0.8, color=drawing.GREY, linestyle=":", linewidth=1, label="best α of the sweep", zorder=0
        )
    first, last = float(SWEEP_ALPHAS[0]), float(SWEEP_ALPHAS[-1])
    for place, method in enumerate(METHODS, start=1):
        row, colour, end = of_method(sample, method), drawing.COLOURS[method], last * 1.32**place
        height, error = float(row["value"]), float(row["standard_error"])
        panel.plot([first, end], [height, height], color=colour, linewidth=0.9, alpha=0.8)
        marks = {"marker": drawing.MARKERS[method], "markersize": 5 + 2 * (method == KDI), "linestyle": "none"}
        # Each at its own place, so that tied methods do not overlap.
        panel.errorbar(end, height, error, color=colour, capsize=2.5, elinewidth=1.1, label=method, **marks)
    keep_in_view(panel, sample)
    panel.set(xscale="log", title=title(sample))
    panel.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    panel.set_xticks([tick * power for power in (0.1, 1) for tick in range(2, 10)], minor=True)
    panel.tick_params(axis="x", which="minor", labelbottom=False)


def keep_in_view(panel: Any, sample: Sequence[Row]) -> None:
    """Leave a scaler that is far off out of the view, where it would flatten the sweep, and say so in the panel."""
    heights = [float(row["value"]) for row in sample if row["method"] not in PLAIN]
    low, high = min(heights), max(heights)
    span = high - low
    scalers = [of_method(sample, method) for method in PLAIN]
    far = [row for row in scalers if not low - FAR * span <= float(row["value"]) <= high + FAR * span]
    if not far:
        return
    seen = heights + [float(row["value"]) for row in scalers if row not in far]
    panel.set_ylim(min(seen) - 0.1 * span, max(seen) + (0.1 + 0.13 * len(far)) * span)
    for line, row in enumerate(far):
        arrow, colour = "↑" if float(row["value"]) > high else "↓", drawing.COLOURS[row["method"]]
        place = {"transform": panel.transAxes, "ha": "right", "va": "top", "fontsize": 8, "color": colour}
        panel.text(0.99, 0.99 - 0.085 * line, f"{row['method']}, off the scale: {value(row)} {arrow}", **place)
