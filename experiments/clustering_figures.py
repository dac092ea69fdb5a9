"""The two figures of clustering: one sample per mixture in the colours of its clusters, and all sample sizes."""

from collections.abc import Iterator
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.clustering_claims import shown_size
from experiments.clustering_methods import (
    METHODS,
    MIXTURES,
    OURS,
    PAPER,
    SHOWN_SEED,
    Floats,
    Labels,
    mixture,
    n_clusters,
    quietly,
)
from experiments.drawing import COLOURS, GREY, MARKERS, new_figure
from experiments.names import KDI
from experiments.rows import Row, chosen

BINS = 40
RIGHT, WRONG = "#1a7431", "#b3261e"
NOISE = "#c3c7cb"
# Used in turn from left to right, so that adjacent clusters have different colours, however many there are.
CLUSTERS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
LINES: dict[str, dict[str, Any]] = {
    OURS: {"color": COLOURS[KDI], "marker": MARKERS[KDI]},
    "KMeans, silhouette": {"color": "#e69f00", "marker": "s"},
    "GMM, BIC": {"color": "#004c8c", "marker": "o"},
    "Bayesian GMM": {"color": "#56b4e9", "marker": "D"},
    "MeanShift": {"color": GREY, "marker": "v"},
    "HDBSCAN": {"color": "#8c564b", "marker": "^"},
    "KDE minima": {"color": "#7cc08f", "marker": "P", "linestyle": "--"},
    "adaptive KDE minima": {"color": "#00663d", "marker": "X", "linestyle": "--"},
}
MARKER_SIZES = (13, 7.5, 6.5, 6, 5.5, 5, 5.5, 3.2)
LINE_WIDTHS = (4.5, 2, 1.3, 1.3, 1.3, 1.3, 1.3, 1)
PANELS = (("right", "accuracy ($\\hat{K} = K$)"), ("ari", "adjusted Rand index"))


def figures(rows: list[Row]) -> dict[str, Figure]:
    own = chosen(rows, measured="all methods")
    return {"clustering_500": samples_figure(shown_size(own)), "clustering_n": sizes_figure(own)}


# One sample per mixture.


def samples_figure(n: int) -> Figure:
    """Cluster one sample again, since the rows do not hold its labels, and plot it."""
    figure = new_figure(10, 10.5)
    panels = figure.subplots(1 + len(PAPER), len(MIXTURES), sharex="col", sharey="col")
    for column, (data, parts) in zip(panels.T, MIXTURES.items(), strict=True):
        values, truth = mixture(data, n, SHOWN_SEED)
        column[0].set_title(data)
        draw_clusters(column[0], values, truth)
        add_note(column[0], f"$K$ = {len(parts)}", "black")
        for axes, method in zip(column[1:], PAPER, strict=True):
            with quietly():
                labels = METHODS[method](values, SHOWN_SEED)
            draw_clusters(axes, values, labels)
            found = n_clusters(labels)
            right = found == len(parts)
            add_note(axes, f"$\\hat{{K}}$ = {found} {'✓' if right else '✗'}", RIGHT if right else WRONG)
    for axes, name in zip(panels[:, 0], ["true", *PAPER.values()], strict=True):
        axes.set_ylabel(fill(name, 14), rotation=0, ha="right", va="center")
    figure.supxlabel(
        f"One sample of N = {n:,} a mixture, from seed {SHOWN_SEED} as in the paper's notebook. "
        "Light grey: what HDBSCAN calls noise, which is no cluster.",
        fontsize=9,
    )
    return figure


def draw_clusters(axes: Axes, values: Floats, labels: Labels) -> None:
    """Draw a stacked histogram of the clusters."""
    edges = np.histogram_bin_edges(values, BINS)
    below = np.zeros(BINS)
    for own, colour in coloured(values, labels):
        above = below + np.histogram(own, edges)[0]
        filled = np.flatnonzero(above > below)
        begin, end = filled[0], filled[-1] + 1  # keeps the file small
        axes.stairs(above[begin:end], edges[begin : end + 1], baseline=below[begin:end], fill=True, color=colour)
        below = above
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.02)


def coloured(values: Floats, labels: Labels) -> Iterator[tuple[Floats, str]]:
    """Yield the values and the colour of each cluster, from left to right, and then of the noise."""
    found = [values[labels == label] for label in np.unique(labels[labels >= 0])]
    yield from zip(sorted(found, key=np.mean), cycle(CLUSTERS))
    if (labels < 0).any():
        yield values[labels < 0], NOISE


def add_note(axes: Axes, text: str, colour: str) -> None:
    """Write a note where none of the mixtures is high."""
    axes.text(0.62, 0.95, text, color=colour, transform=axes.transAxes, ha="center", va="top", weight="bold")


# All sizes.


def sizes_figure(rows: list[Row]) -> Figure:
    figure = new_figure(11, 6.2)
    panels = figure.subplots(1 + len(PANELS), len(MIXTURES), height_ratios=(0.55, 1, 1))
    sizes = sorted({int(one["n"]) for one in rows})
    for column, data in zip(panels.T, MIXTURES, strict=True):
        draw_clusters(column[0], *mixture(data, sizes[-1], SHOWN_SEED))
        column[0].set_title(f"{data}, $K$ = {len(MIXTURES[data])}")
        for axes, (what, _) in zip(column[1:], PANELS, strict=True):
            # Each marker is drawn over the ones before it, and is smaller, so that equal results are all visible.
            for (method, line), size, width in zip(LINES.items(), MARKER_SIZES, LINE_WIDTHS, strict=True):
                own = {int(one["n"]): float(one[what]) for one in chosen(rows, data=data, method=method)}
                look = line | {"markersize": size, "linewidth": width}
                axes.plot(sizes, [own[n] for n in sizes], label=PAPER[method], **look)
            adjust(axes, sizes)
        column[1].tick_params(labelbottom=False)
        column[-1].set_xlabel("$N$")
    for line, (_, label) in zip(panels[1:], PANELS, strict=True):
        line[0].set_ylabel(label)
        for axes in line[1:]:
            axes.tick_params(labelleft=False)
    handles, labels = panels[-1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(PAPER) // 2)
    return figure


def adjust(axes: Axes, sizes: list[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{n // 1000}k" if n >= 1000 else str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_ylim(-0.07, 1.07)
    axes.grid(alpha=0.3)
