"""Figures of the experiments: one style, PNG and SVG, and the same colours for a transformer in all figures."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from experiments.names import CLIPPED, EACH, KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE

# The colours differ in lightness too, for readers who cannot tell hues apart.
COLOURS = {
    MIN_MAX: "#c0392b",
    CLIPPED: "#ec9a8f",
    Z_SCORE: "#8c6d31",
    QUANTILE: "#0059a8",
    KDI: "#7b3294",
    TUNED: "#d6409f",
    EACH: "#1b1b1b",
}
MARKERS = {MIN_MAX: "^", CLIPPED: "<", Z_SCORE: "v", QUANTILE: "s", KDI: "*", TUNED: "o", EACH: "D"}
SWEEP = "#2e8b57"
GREY = "#8a8f94"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "kdi",  # so that the same figure gives the same file
}


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, with its size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def style() -> AbstractContextManager[None]:
    """Set the style in which figures are made and saved, within this context."""
    return matplotlib.rc_context(STYLE)


def save(folder: Path, figures: Mapping[str, Figure]) -> list[str]:
    """Write each figure as PNG and SVG; return the names of the files."""
    written = []
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        written += [f"{name}.png", f"{name}.svg"]
    return written
