"""The pictures of the README and the docs: alpha, its tuning, where correlations disagree, and clusters."""

from pathlib import Path

import numpy as np
from demo import DATA, named_comparison, read_table
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

import kdi

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
ALPHAS = {0.0: "0, quantile", 0.1: "0.1", 0.3: "0.3", 1.0: "1", 3.0: "3", np.inf: "inf, min-max"}
COLOURS = dict(zip(ALPHAS, colormaps["viridis"](np.linspace(0, 0.88, len(ALPHAS))), strict=True))
TITLE = {"loc": "left", "fontsize": 10}


def sample() -> np.ndarray:
    """A skewed feature with two bumps and a few outliers."""
    random = np.random.default_rng(0)
    bumps = random.lognormal(0.9, 0.3, 6000), random.normal(8.5, 0.9, 3000)
    return np.concatenate([*bumps, random.uniform(12, 30, 40), [30.0]])


def draw_curves(axes: Axes, values: np.ndarray) -> None:
    grid = np.linspace(values.min(), values.max(), 2000)
    for alpha, label in ALPHAS.items():
        curve = kdi.KDITransformer(alpha=alpha).fit(values[:, None]).transform(grid[:, None])
        axes.plot(grid, curve, color=COLOURS[alpha], linewidth=2, label=label)
    axes.set_title("The curve from x to T(x)", **TITLE)
    axes.set(ylim=(0, 1.02), yticks=[0, 0.5, 1])
    axes.tick_params(labelbottom=False)
    axes.legend(title="alpha", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, alignment="left")


def draw_sample(axes: Axes, values: np.ndarray) -> None:
    axes.hist(values, bins=100, color="#9aa3ab")
    outliers = values[values > 12]
    axes.vlines(outliers, 0, 0.12, transform=axes.get_xaxis_transform(), color="#4d545b", linewidth=1)
    axes.set_title("The values x, with their outliers", **TITLE)
    axes.set(xlim=(0, values.max()), yticks=[])
    axes.spines["left"].set_visible(False)


def draw_result(axes: Axes, values: np.ndarray, alpha: float, title: str) -> None:
    scaled = kdi.KDITransformer(alpha=alpha).fit_transform(values[:, None])
    axes.hist(scaled, bins=60, range=(0, 1), color=COLOURS[alpha])
    axes.set_title(title, **TITLE)
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1], yticks=[])
    axes.margins(y=0.15)
    axes.spines["left"].set_visible(False)


def draw(values: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    panels = figure.subplot_mosaic(
        [["curves", "min-max"], ["curves", "kdi"], ["sample", "quantile"]], width_ratios=[1.15, 1]
    )
    panels["curves"].sharex(panels["sample"])
    draw_curves(panels["curves"], values)
    draw_sample(panels["sample"], values)
    draw_result(panels["min-max"], values, np.inf, "Min-max scaling: the outliers crowd the rest")
    draw_result(panels["kdi"], values, 1.0, "alpha = 1: both bumps, and room for each")
    draw_result(panels["quantile"], values, 0.0, "Quantile transform: no shape left")
    for axes in panels.values():
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_correlations() -> Figure:
    """The paper's figure: California housing's correlations, with the largest disagreements labelled."""
    names, table = read_table(DATA)
    found = named_comparison(names[:-1], table[:, :-1], n_resamples=100, rng=0)
    figure = Figure(figsize=(10.6, 5.4), layout="constrained")
    for axes, other in zip(figure.subplots(1, 2), ("pearson", "spearman"), strict=True):
        kdi.CorrelationDisplay(found, against=other).plot(axes)
        axes.set_title(f"Largest disagreements with {other.title()} labelled", **TITLE)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_clusters() -> Figure:
    """Two of the paper's mixtures: bumps over a thin layer of scattered values, and two exponentials."""
    random = np.random.default_rng(0)
    bumps = random.normal(1, 0.75, 275), random.normal(4, 1, 150), random.uniform(0, 20, 75)
    exponentials = random.exponential(1, 400), 10 + random.exponential(4, 100)
    titles = "Two bumps and scattered values, N = 500", "Two exponentials, N = 500"
    figure = Figure(figsize=(10.6, 3.6), layout="constrained")
    for axes, parts, title in zip(figure.subplots(1, 2), (bumps, exponentials), titles, strict=True):
        kdi.ClusterDisplay.from_data(np.concatenate(parts), bins=50, ax=axes)
        axes.set_title(title, **TITLE)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_tuning() -> Figure:
    """What each feature of California housing gains by an alpha of its own, on the training part of docs/tuning.md."""
    names, table = read_table(DATA)
    train, _ = train_test_split(table, test_size=0.3, random_state=0)
    model = kdi.KDITransformerCV().fit(train[:, :-1], train[:, -1])
    display = kdi.AlphaDisplay(
        alphas=model.alphas_,
        scores=model.scores_,
        standard_errors=model.standard_errors_,
        chosen=model.alpha_,
        reference=model.common_alpha_,
        feature_names=names[:-1],
        score_name="R² in rows left out",
    )
    return display.plot().figure_


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw(sample()).savefig(IMAGES / "alpha.png", dpi=140)
    draw_correlations().savefig(IMAGES / "correlation.png", dpi=120)
    draw_clusters().savefig(IMAGES / "clusters.png", dpi=120)
    draw_tuning().savefig(IMAGES / "tuning.png", dpi=120)


if __name__ == "__main__":
    main()
