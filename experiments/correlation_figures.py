"""Figures of the correlation experiment: simulated cases, disagreements of the coefficients, three pairs in detail."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import kdi
from experiments import drawing
from experiments.correlation_data import (
    ALPHAS,
    CURVE,
    HIGHLIGHTED,
    NAMES,
    NOISY,
    OUTLIERS,
    PAPER_SEED,
    PERCENTILE,
    TARGET,
    Floats,
    housing,
    of_pair,
    papers_draw,
    shown,
    simulated,
    without_outliers,
)
from experiments.rows import Row, chosen

SHADES, SHADE = 5, 1.0  # number and width of the classes of the median house value, which ends at 5.00001
# Grey, orange and blue, as in kdi.CorrelationDisplay.
COLOURS = {"pearson": drawing.GREY, "spearman": "#e08214", "kdi": "#0059a8"}
POINTS = "#333333"  # not the colour of a coefficient


def figures(rows: list[Row]) -> dict[str, Figure]:
    pairs = chosen(rows, part="california")
    found = {"correlation_simulated": simulated_figure(chosen(rows, part="simulated"))}
    for against in ("pearson", "spearman"):
        found[f"correlation_{against}"] = disagreement_figure(pairs, against)
    for pair in HIGHLIGHTED:
        found["_".join(("correlation", *pair)).lower()] = pair_figure(pair, of_pair(pairs, "california", pair))
    return found


def simulated_figure(rows: Sequence[Row]) -> Figure:
    """Draw the paper's sample above, the coefficients of all samples below."""
    figure = drawing.new_figure(10, 5)
    above, below = figure.subplots(2, 3, height_ratios=(3, 1.6))
    for top, bottom, case in zip(above, below, (CURVE, NOISY, OUTLIERS), strict=True):
        own = chosen(rows, case=case)
        drawn = papers_draw(own)
        x, y = simulated(PAPER_SEED)[case]
        top.scatter(x, y, s=16, facecolor="none", edgecolor=POINTS, linewidth=0.8)
        top.set_title(f"{case}\n{shown(drawn, ('pearson', 'spearman'))},\n{shown(drawn, ['kdi'])}")
        top.set(xlabel="x", ylabel="y")
        samples = [[float(one[name]) for one in own] for name in ALPHAS]
        boxes = bottom.boxplot(samples, widths=0.6, patch_artist=True, flierprops={"markersize": 2})
        for box, middle, name in zip(boxes["boxes"], boxes["medians"], ALPHAS, strict=True):
            box.set(facecolor=COLOURS[name], alpha=0.7)
            middle.set_color("black")
        bottom.set_xticks([1, 2, 3], NAMES.values())
        bottom.set(ylabel="correlation", title=f"{len(own)} samples")
    return figure


def disagreement_figure(pairs: Sequence[Row], against: str) -> Figure:
    comparison: dict[str, Any] = {name: [float(one[name]) for one in pairs] for name in ALPHAS}
    comparison |= {f"{name}_error": [float(one[f"{name}_deviation"]) for one in pairs] for name in ALPHAS}
    comparison |= {name: [one[name] for one in pairs] for name in ("first", "second")}
    figure = drawing.new_figure(5.5, 5.5)
    display = kdi.CorrelationDisplay(comparison, against=against)
    display.plot(figure.subplots())
    display.ax_.set_title(f"California housing: top two disagreements of KD-integral with {NAMES[against]}")
    return figure


def pair_figure(pair: tuple[str, str], own: Row) -> Figure:
    """Draw a pair and two transformations of it, one per row: all districts left, without outliers right."""
    columns = housing(int(own["rows"]))
    original = np.column_stack([columns[name] for name in pair])
    value, kept = columns[TARGET], without_outliers(*original.T)
    figure = drawing.new_figure(7, 7.5)
    axes = figure.subplots(3, 2)
    for (left, right), (title, name, transform) in zip(axes, TRANSFORMS, strict=True):
        table = transform(original)
        for ax, inside in ((left, np.ones(len(table), dtype=bool)), (right, kept)):
            # Pixels of few colours, not antialiased, keep the file small with tens of thousands of points.
            points = ax.scatter(
                *table[inside].T,
                s=1.5,
                c=value[inside],
                cmap=matplotlib.colormaps["plasma_r"].resampled(SHADES),
                vmin=0,
                vmax=SHADES * SHADE,
                linewidth=0,
                antialiased=False,
                rasterized=True,
            )
            ax.set(xlabel=pair[0], ylabel=pair[1])
        left.set_title(f"{title} {float(own[name]):.2f}")
        right.set_title("outliers excluded")
    figure.colorbar(points, ax=axes, shrink=0.5, aspect=40, label="median house value, 100,000 USD")
    left_out = f"the {np.sum(~kept):,} districts above the {PERCENTILE}th percentile of either"
    figure.suptitle(f"{pair[0]} and {pair[1]}; outliers: {left_out}", fontsize=9)
    return figure


def unchanged(table: Floats) -> Floats:
    return table


def quantiles(table: Floats) -> Floats:
    return kdi.KDITransformer(alpha=0).fit_transform(table)


def integrals(table: Floats) -> Floats:
    return kdi.KDITransformer().fit_transform(table)


# Title, the coefficient that is Pearson's formula on the transformed pair, by its name in the rows, and the function.
TRANSFORMS: tuple[tuple[str, str, Callable[[Floats], Floats]], ...] = (
    ("original data: Pearson", "pearson", unchanged),
    ("quantile transform: Spearman", "spearman", quantiles),
    ("KD-integral transform: correlation", "kdi", integrals),
)
