"""Makes the pictures of the README and the docs: alpha, its tuning, disagreeing correlations, and clusters."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

import kdi

matplotlib.use("Agg")
from matplotlib import pyplot as plt

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
TITLE = {"loc": "left", "fontsize": 10}
# Colours as in KDIDisplay, and a title per alpha.
RESULTS = {
    np.inf: ("#8a8a8a", "Min-max scaling: outliers squeeze the rest"),
    1.0: ("#1f6fb8", "alpha = 1: both peaks, well spread"),
    0.0: ("#d97706", "Quantile transform: no shape left"),
}


def sample() -> np.ndarray:
    """A skewed feature with two peaks and a few outliers."""
    random = np.random.default_rng(0)
    peaks = random.lognormal(0.9, 0.3, 6000), random.normal(8.5, 0.9, 3000)
    return np.concatenate([*peaks, random.uniform(12, 30, 40), [30.0]])


def draw_result(axes: Axes, values: np.ndarray, alpha: float) -> None:
    colour, title = RESULTS[alpha]
    axes.hist(kdi.KDITransformer(alpha=alpha).fit_transform(values[:, None]), bins=60, range=(0, 1), color=colour)
    axes.set_title(title, **TITLE)
    axes.set(xlim=(0, 1), xticks=[0, 0.5, 1], yticks=[])
    axes.tick_params(labelsize="small")
    axes.margins(y=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)


def draw_alpha() -> Figure:
    """The curves from alpha = 0 to infinity, and histograms of a sample after three of them."""
    values = sample()
    figure = plt.figure(figsize=(9.4, 4.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1), wspace=0.04)
    display = kdi.KDIDisplay.from_data(values, alpha=(0, 0.3, 1, np.inf), ax=left.subplots(), show_all=True)
    outliers = values[values > 12]  # too few to be seen in a density
    display.above_.plot(outliers, np.full(len(outliers), 0.02), "|", color="black", markersize=5)
    for axes, alpha in zip(right.subplots(3, 1, sharex=True), RESULTS, strict=True):
        draw_result(axes, values, alpha)
    axes.set_xlabel("T(x)")
    return figure


def housing() -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(kdi.data.california_housing())
    return table.drop(columns="MedHouseVal"), table["MedHouseVal"]


def draw_correlations() -> Figure:
    """The paper's figure: California housing's correlations, with the largest disagreements labelled."""
    found = kdi.compare_correlations(housing()[0], n_resamples=100, rng=0)
    figure, panels = plt.subplots(1, 2, figsize=(10.6, 5.4), layout="constrained")
    for axes, other in zip(panels, ("pearson", "spearman"), strict=True):
        kdi.CorrelationDisplay(found, against=other).plot(axes)
        axes.set_title(f"Largest disagreements with {other.title()} labelled", **TITLE)
    return figure


def draw_clusters() -> Figure:
    """Two of the paper's mixtures: two peaks with scattered values, and two exponentials."""
    random = np.random.default_rng(0)
    peaks = random.normal(1, 0.75, 275), random.normal(4, 1, 150), random.uniform(0, 20, 75)
    exponentials = random.exponential(1, 400), 10 + random.exponential(4, 100)
    titles = "Two peaks and scattered values, N = 500", "Two exponentials, N = 500"
    figure, panels = plt.subplots(1, 2, figsize=(10.6, 3.6), layout="constrained")
    for axes, samples, title in zip(panels, (peaks, exponentials), titles, strict=True):
        kdi.ClusterDisplay.from_data(np.concatenate(samples), bins=50, ax=axes)
        axes.set_title(title, **TITLE)
    return figure


def draw_tuning() -> Figure:
    """The gain of an alpha per feature for California housing, on the training part of docs/tuning.md."""
    X_train, _, y_train, _ = train_test_split(*housing(), test_size=0.3, random_state=0)
    return kdi.AlphaDisplay.from_estimator(kdi.KDITransformerCV().fit(X_train, y_train)).figure_


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw_alpha().savefig(IMAGES / "alpha.png", dpi=140)
    draw_correlations().savefig(IMAGES / "correlation.png", dpi=120)
    draw_clusters().savefig(IMAGES / "clusters.png", dpi=120)
    draw_tuning().savefig(IMAGES / "tuning.png", dpi=120)


if __name__ == "__main__":
    main()
