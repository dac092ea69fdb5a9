"""California housing before and after the kernel density integral transformation, and its correlations.

Prints a summary, saves two pictures and the transformed table.
"""

import argparse
import gzip
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import skew

import kdi

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(kdi.data.california_housing())
RAW, MIN_MAX, KDI, QUANTILE = "#bcc3ca", "#6b6b6b", "#21918c", "#440154"
LINE = "{:<11}{:>10} … {:<9}{:>7} → {:<6}{:>7}{:>13}{:>8}"
SENTENCE = """What one sees: outliers make min-max scaling crowd AveRooms, AveBedrms, Population and AveOccup at 0, the
quantile transform flattens nearly every shape; alpha = 1 spreads the bulk and keeps the bumps (Latitude, Longitude)."""


def read_table(path: Path) -> tuple[list[str], np.ndarray]:
    """Column names and values."""
    with gzip.open(path, "rt") as lines:
        return next(lines).strip().split(","), np.loadtxt(lines, delimiter=",")


def milliseconds(job: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of a few runs."""
    moments = [(perf_counter(), job(), perf_counter()) for _ in range(repeats)]
    return 1e3 * min(end - start for start, _, end in moments)


def summary(names: list[str], raw: np.ndarray, transformer: kdi.KDITransformer) -> str:
    """A line for each feature, with the time of fit and transform of that column alone, and one for the whole table."""
    result = transformer.transform(raw)
    lines = [LINE.format("feature", "min", "max", "skew", "after", "knots", "error bound", "ms")]
    for j, name in enumerate(names):
        column = np.ascontiguousarray(raw[:, [j]])
        spent = milliseconds(lambda column=column: kdi.KDITransformer().fit(column).transform(column))
        limits = (f"{limit[j]:.6g}" for limit in (transformer.data_min_, transformer.data_max_))
        skews = (f"{skew(table[:, j]):.2f}" for table in (raw, result))
        bound = f"{transformer.error_bound_[j]:.1e}"
        lines.append(LINE.format(name, *limits, *skews, transformer.n_knots_[j], bound, f"{spent:.2f}"))
    fit = milliseconds(lambda: kdi.KDITransformer().fit(raw))
    transform = milliseconds(lambda: transformer.transform(raw))
    lines += ["", f"all {raw.shape[0]:,} rows × {raw.shape[1]}: fit {fit:.2f} ms, transform {transform:.2f} ms"]
    return "\n".join(lines)


def named_comparison(names: list[str], raw: np.ndarray, **options: object) -> dict[str, np.ndarray]:
    """kdi.compare_correlations of an array, with names of columns instead of their numbers; frames have them anyway."""
    pairs = kdi.compare_correlations(raw, **options)
    found = {column: pairs[column] for column in pairs.dtype.names}
    return found | {column: np.array(names)[pairs[column]] for column in ("first", "second")}


def disagreements(found: dict[str, np.ndarray], n_pairs: int = 3) -> str:
    """The pairs of features whose KD-integral correlation is furthest from Pearson's."""
    lines = ["correlations that differ most    Pearson  Spearman  KD-integral"]
    for j in range(n_pairs):
        pair = f"{found['first'][j]}, {found['second'][j]}"
        lines.append(f"{pair:<31}{found['pearson'][j]:>9.2f}{found['spearman'][j]:>10.2f}{found['kdi'][j]:>13.2f}")
    return "\n".join(lines)


def draw_before(axes: Axes, name: str, values: np.ndarray) -> None:
    """Histogram of the values with the curve x → T(x), up to where the curve is flat."""
    grid = np.linspace(values.min(), values.max(), 20_000)
    curve = kdi.KDITransformer().fit(values[:, None]).transform(grid[:, None]).ravel()
    shown = slice(0, int(1.1 * np.searchsorted(curve, 0.995)))
    first, last = grid[shown][[0, -1]]
    counts, edges = np.histogram(values, bins=45, range=(first, last))
    axes.stairs(counts / counts.max(), edges, fill=True, color=RAW, label="values")
    axes.plot(grid[shown], curve[shown], color=KDI, linewidth=2, label="T(x), alpha = 1")
    axes.set(xlim=(first, last), ylim=(0, 1.08), yticks=[0, 1])
    axes.set_title(name, fontweight="bold")
    if last < grid[-1]:
        axes.text(0.99, 0.5, f"on to {grid[-1]:,.0f} ▸", transform=axes.transAxes, ha="right", fontsize=8.5)


def draw_after(axes: Axes, values: np.ndarray) -> None:
    """Histograms of alpha = 1 and its two limits, min-max scaling and the quantile transform."""

    def density(alpha: float) -> tuple[np.ndarray, np.ndarray]:
        scaled = kdi.KDITransformer(alpha=alpha).fit_transform(values[:, None])
        return np.histogram(scaled, bins=26, range=(0, 1), density=True)

    axes.stairs(*density(1.0), fill=True, color=KDI, alpha=0.7, label="kdi, alpha = 1")
    axes.stairs(*density(np.inf), color=MIN_MAX, linewidth=1.3, label="min-max, alpha = inf")
    axes.stairs(*density(0.0), color=QUANTILE, linewidth=1.8, baseline=None, label="quantile, alpha = 0")
    highest, limit = density(np.inf)[0].max(), 2.5 * density(1.0)[0].max()
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    if highest > limit:  # else the outline of min-max leaves no room for the rest
        axes.set_ylim(0, limit)
        axes.text(0.1, 0.95, f"▴ min-max on to {highest:.0f}", transform=axes.transAxes, va="top", fontsize=8.5)


def draw(names: list[str], raw: np.ndarray) -> Figure:
    """Two rows of features: the raw values above, the transformed values below."""
    figure = Figure(figsize=(13, 9.4), layout="constrained")
    per_row = (len(names) + 1) // 2
    panels = figure.subplots(4, per_row)
    for j, name in enumerate(names):
        row, column = divmod(j, per_row)
        draw_before(panels[2 * row, column], name, raw[:, j])
        draw_after(panels[2 * row + 1, column], raw[:, j])
    for row, label in enumerate(["before, and T(x)", "after: density"] * 2):
        panels[row, 0].set_ylabel(label)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
    keys = [key for axes in panels[:2, 0] for key in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=keys, loc="outside upper center", ncols=5, frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="folder of the picture and the table")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    names, table = read_table(DATA)
    features, raw, target = names[:-1], table[:, :-1], table[:, -1:]
    transformer = kdi.KDITransformer().fit(raw)
    print(summary(features, raw, transformer))
    found = named_comparison(features, raw)
    print(f"\n{disagreements(found)}")
    picture, correlations = out / "california_housing.png", out / "california_correlations.png"
    draw(features, raw).savefig(picture, dpi=120)
    kdi.CorrelationDisplay(found).plot().figure_.savefig(correlations, dpi=120)
    result = out / "california_housing_kdi.csv.gz"
    scaled = np.hstack([transformer.transform(raw), target])
    np.savetxt(result, scaled, fmt="%.10g", delimiter=",", header=",".join(names), comments="")
    print(f"\npictures: {picture}\n          {correlations}\ntable:    {result}\n\n{SENTENCE}")


if __name__ == "__main__":
    main()
