"""The paper's figure of malic acid in Wine: min-max scaling, quantile transform and KD-integral (polyexp, α = 1)."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

import kdi
from benchmarks.report import Table
from experiments import datasets, drawing
from experiments.claims import Claim
from experiments.names import KDI, MIN_MAX, QUANTILE
from experiments.progress import Size, Task, run
from experiments.rows import Row, chosen

Floats = NDArray[np.float64]

TITLE = "Wine's malic acid under three transformations"
METHODS = (MIN_MAX, QUANTILE, KDI)
ORIGINAL = "original"
COLUMN = 1  # malic acid in scikit-learn's order
STEPS = 200  # of the curves
FINE = 2_000  # positions at which densities are searched for peaks
BEYOND = 3.0  # according to the paper, concave for larger inputs
PROMINENT = 0.01  # of the highest peak
SMOOTHER = 10  # how many times less rough counts as substantially smoother
CURVE, POINT, DENSITY = "curve", "value", "density"
PEAKS, HALF_PEAKS, ROUGHNESS, SHARE = "peaks", "peaks, half bandwidth", "roughness", "share beyond 3"
FALLS, HIGHEST = "falls beyond 3", "highest at"
# The rows that are not curves; the column "method" names the transformation.
NUMBERS = (PEAKS, HALF_PEAKS, ROUGHNESS, SHARE)

RULES = f"""Concave: the slope of the KD-integral, which is a density, falls from each of {FINE:,} positions beyond
{BEYOND:g} to the next. Compresses outliers: inputs beyond {BEYOND:g} get a smaller share of [0, 1] than min-max scaling
gives them. Peaks are those of a Gaussian kernel density estimate of the values, with Scott's bandwidth, as is usual in
plots; a peak counts if its prominence, its height above the deepest dip towards a higher one, is at least
{PROMINENT:.0%} of the height of the highest peak. Bimodal is judged by two peaks after the KD-integral and one after
the quantile transform, whatever their number in the original; the peaks at half of that bandwidth are reported but not
judged. Roughness: the total variation of the slope over {STEPS} equal steps of the range, in units of the mean slope.
Substantially smoother: at least {SMOOTHER} times less rough."""


def measure(size: Size) -> list[Row]:
    return run([Task("malic acid", 1, measured)])


def measured() -> list[Row]:
    values = datasets.classification("wine")[0][:, COLUMN]
    grid = np.linspace(values.min(), values.max(), STEPS + 1)
    rows = marginal(ORIGINAL, values)
    for method in METHODS:
        model = transformer(method, len(values)).fit(values[:, None])
        curve, levels = (model.transform(at[:, None])[:, 0] for at in (grid, np.sort(values)))
        rows += [row(CURVE, method, x, y) for x, y in zip(grid, curve, strict=True)]
        rows += [row(POINT, method, x, y) for x, y in zip(np.sort(values), levels, strict=True)]
        rows += marginal(method, levels)
        at_limit = float(model.transform([[BEYOND]])[0, 0])
        rows += [row(ROUGHNESS, method, "", roughness(curve)), row(SHARE, method, "", 1 - at_limit)]
    slope = kdi.KDE1D(values, alpha=1.0, kernel="polyexp").pdf
    falls = bool((np.diff(slope(np.linspace(BEYOND, grid[-1], FINE))) < 0).all())
    return [*rows, row(FALLS, KDI, "", int(falls)), row(HIGHEST, KDI, "", grid[slope(grid).argmax()])]


def transformer(method: str, n: int) -> Any:
    makers = {
        MIN_MAX: MinMaxScaler(),
        QUANTILE: QuantileTransformer(n_quantiles=n, subsample=None),
        KDI: kdi.KDITransformer(1.0),
    }
    return makers[method]


def marginal(method: str, values: Floats) -> list[Row]:
    """Estimate the density of the values as it is usually plotted, and count its peaks."""
    reach = 0.2 * np.ptp(values)
    grid = np.linspace(values.min() - reach, values.max() + reach, STEPS + 1)
    rows = [row(DENSITY, method, x, y) for x, y in zip(grid, gaussian_kde(values)(grid), strict=True)]
    counts = {PEAKS: peaks(values), HALF_PEAKS: peaks(values, share=0.5)}
    return [*rows, *(row(what, method, "", y) for what, y in counts.items())]


def peaks(values: Floats, share: float = 1.0) -> int:
    """Count the peaks of the density with that share of Scott's bandwidth."""
    reach = 0.5 * np.ptp(values)
    grid = np.linspace(values.min() - reach, values.max() + reach, FINE)
    density = gaussian_kde(values, share * len(values) ** -0.2)(grid)
    return len(find_peaks(density, prominence=PROMINENT * density.max())[0])


def roughness(curve: Floats) -> float:
    """Compute the total variation of the slope, in units of its mean, of a curve from 0 to 1 in equal steps."""
    return float(np.abs(np.diff(curve, 2)).sum() * (len(curve) - 1))


def row(what: str, method: str, x: Any, y: float) -> Row:
    return {"what": what, "method": method, "x": x if x == "" else f"{x:.6g}", "y": f"{y:.6g}"}


# Tables and claims.


def number(rows: list[Row], what: str, method: str) -> float:
    (one,) = chosen(rows, what=what, method=method)
    return float(one["y"])


def line(rows: list[Row], what: str, method: str) -> tuple[Floats, Floats]:
    here = chosen(rows, what=what, method=method)
    return np.array([float(one["x"]) for one in here]), np.array([float(one["y"]) for one in here])


def tables(rows: list[Row]) -> list[Table]:
    found = {(one["what"], one["method"]): float(one["y"]) for one in rows if one["what"] in NUMBERS}
    body = [
        [method, *(f"{round(found[what, method], 6):.3g}" if (what, method) in found else "–" for what in NUMBERS)]
        for method in (ORIGINAL, *METHODS)
    ]
    note = (
        "Peaks of a Gaussian kernel density estimate with Scott's bandwidth, and with half of it. "
        f"Roughness of the slope, in units of its mean. Share: the part of [0, 1] that inputs beyond {BEYOND:g} get."
    )
    return [Table("Malic acid before and after each transformation", ["", *NUMBERS], body, note)]


def claims(rows: list[Row]) -> list[Claim]:
    falls, top = number(rows, FALLS, KDI) == 1, number(rows, HIGHEST, KDI)
    shares = {method: number(rows, SHARE, method) for method in (MIN_MAX, KDI)}
    counts = {method: int(number(rows, PEAKS, method)) for method in (ORIGINAL, *METHODS)}
    halves = {method: int(number(rows, HALF_PEAKS, method)) for method in (ORIGINAL, *METHODS)}
    rough = {method: number(rows, ROUGHNESS, method) for method in METHODS}
    times = rough[QUANTILE] / rough[KDI]
    return [
        Claim(
            "KD-integral is concave for inputs > 3",
            f"its density {'falls all the way' if falls else 'does not fall all the way'} beyond 3"
            + f", and is highest at {top:.2f}",
            falls,
        ),
        Claim(
            "it compresses outliers together",
            f"inputs > 3 get {shares[KDI]:.3f} of [0, 1], under min-max scaling {shares[MIN_MAX]:.3f}",
            shares[KDI] < shares[MIN_MAX],
        ),
        Claim(
            "it preserves the bimodal shape: two peaks, where the quantile transform leaves one (at Scott's bandwidth)",
            f"peaks: {listed(counts)}, and the original itself has {counts[ORIGINAL]}; at half of that bandwidth: "
            f"{listed(halves)}, and the original has {halves[ORIGINAL]}",
            counts[KDI] == 2 and counts[QUANTILE] == 1,
        ),
        Claim(
            f"it is substantially smoother than the quantile transform (at least {SMOOTHER}x)",
            f"roughness of the slope {rough[KDI]:.2f} against {rough[QUANTILE]:.1f}: {times:.0f}x less",
            times >= SMOOTHER,
        ),
    ]


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{method.partition(',')[0]} {counts[method]}" for method in (KDI, QUANTILE, MIN_MAX))


# The figure.


def figures(rows: list[Row]) -> dict[str, Figure]:
    figure = drawing.new_figure(10, 3.9)
    parts = figure.subfigures(1, 3)
    for part, letter, method in zip(parts, "ABC", METHODS, strict=True):
        grid = part.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5), wspace=0.02, hspace=0.02)
        main = part.add_subplot(grid[1, 0])
        above = part.add_subplot(grid[0, 0], sharex=main)
        beside = part.add_subplot(grid[1, 1], sharey=main)
        panel(main, above, beside, rows, method)
        above.set_title(f"({letter}) {method}")
        if method == METHODS[0]:
            main.set_ylabel("after the transformation")
    return {"wine": figure}


def panel(main: Axes, above: Axes, beside: Axes, rows: list[Row], method: str) -> None:
    colour = drawing.COLOURS[method]
    main.plot(*line(rows, CURVE, method), color=colour, lw=1.5)
    main.plot(*line(rows, POINT, method), color=colour, ls="", marker="o", ms=2.5, alpha=0.5)
    main.set(xlabel="malic acid", ylim=(-0.22, 1.22), yticks=np.linspace(0, 1, 6))
    above.fill_between(*line(rows, DENSITY, ORIGINAL), color=drawing.GREY, alpha=0.4, lw=0)
    beside.fill_betweenx(*line(rows, DENSITY, method), color=colour, alpha=0.4, lw=0)
    for axes, side in ((above, "bottom"), (beside, "left")):
        axes.tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        axes.spines[side].set_visible(True)
    above.set_ylim(bottom=0)
    beside.set_xlim(left=0)
