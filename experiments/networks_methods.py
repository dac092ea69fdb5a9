"""The transformers that the experiment on networks compares with kdi's."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, QuantileTransformer, StandardScaler

from experiments.datasets import Floats
from experiments.libraries import installed
from experiments.networks_names import (
    CLIP,
    MIN_MAX,
    NOISY,
    NORMAL,
    PIECES,
    SQUASHED,
    STANDARD,
    THEIRS,
    UNIFORM,
    YEO_JOHNSON,
)

QUANTILES = 1000  # QuantileTransformer's default, which it lowers to the number of rows with a warning
NOISE = 1e-3
BINS = 16


class RobustSmoothClip(TransformerMixin, BaseEstimator):
    """RealMLP's preprocessing (arXiv 2407.04491): x / √(1 + (x/3)²) of x in units of the IQR around the median.

    The unit is half of the range where the IQR is 0; a constant becomes 0.
    """

    def fit(self, X: Floats, y: Any = None) -> Self:
        low, quarter, self.center_, other, high = np.quantile(X, [0, 0.25, 0.5, 0.75, 1], axis=0)
        unit = np.where(other > quarter, other - quarter, (high - low) / 2)
        self.factor_ = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0)
        return self

    def transform(self, X: Floats) -> Floats:
        scaled = (X - self.center_) * self.factor_
        return scaled / np.sqrt(1 + (scaled / 3) ** 2)


class NoisyQuantileTransformer(QuantileTransformer):
    """RTDL's quantile transform: fitted to values with noise, so that ties are spread, and to few quantiles.

    The noise is that of RTDL where the deviation of a column is 1; its own formula adds noise of deviation 1 to columns
    in small units.
    """

    def fit(self, X: Floats, y: Any = None) -> Self:
        self.n_quantiles = max(min(len(X) // 30, 1000), 10)
        return super().fit(X + NOISE * np.random.default_rng(self.random_state).standard_normal(X.shape))


class PiecewiseLinearEncoder(TransformerMixin, BaseEstimator):
    """The encoding of Gorishniy et al. (2022): one column per bin, which rises from 0 to 1 within it.

    The edges are quantiles without repetition; values beyond the outer ones go on in the outer bins.
    """

    def fit(self, X: Floats, y: Any = None) -> Self:
        self.edges_ = [np.unique(column) for column in np.quantile(X, np.linspace(0, 1, BINS + 1), axis=0).T]
        return self

    def transform(self, X: Floats) -> Floats:
        return np.hstack([encode(column, edges) for column, edges in zip(X.T, self.edges_, strict=True)])


def encode(column: Floats, edges: Floats) -> Floats:
    """Encode the values of a column; a constant has no bin."""
    places = (column[:, None] - edges[:-1]) / np.diff(edges)
    places[:, 1:] = np.maximum(places[:, 1:], 0)
    places[:, :-1] = np.minimum(places[:, :-1], 1)
    return places


class CopyingKDITransformer(TransformerMixin, BaseEstimator):
    """The class of kditransform, fitted to copies, since its fit alters the caller's array."""

    def fit(self, X: Floats, y: Any = None) -> Self:
        from kditransform import KDITransformer

        self.fitted_ = KDITransformer(alpha=1.0, output_distribution="normal").fit(np.array(X))
        return self

    def transform(self, X: Floats) -> Floats:
        return self.fitted_.transform(np.array(X))


def quantile(rows: int, seed: int, output: str) -> Any:
    return QuantileTransformer(n_quantiles=min(QUANTILES, rows), output_distribution=output, random_state=seed)


def noisy(rows: int, seed: int) -> Any:
    return make_pipeline(StandardScaler(), NoisyQuantileTransformer(output_distribution="normal", random_state=seed))


def squashing() -> Any:
    from skrub import SquashingScaler

    return SquashingScaler()


# Each makes a transformer for a number of rows and a seed.
OTHERS: dict[str, Callable[[int, int], Any]] = {
    STANDARD: lambda rows, seed: StandardScaler(),
    MIN_MAX: lambda rows, seed: MinMaxScaler(),
    CLIP: lambda rows, seed: RobustSmoothClip(),
    SQUASHED: lambda rows, seed: squashing(),
    UNIFORM: lambda rows, seed: quantile(rows, seed, "uniform"),
    NORMAL: lambda rows, seed: quantile(rows, seed, "normal"),
    NOISY: noisy,
    PIECES: lambda rows, seed: PiecewiseLinearEncoder(),
    YEO_JOHNSON: lambda rows, seed: PowerTransformer(),
    THEIRS: lambda rows, seed: CopyingKDITransformer(),
}
NEEDED = {THEIRS: "kditransform", SQUASHED: "skrub"}  # optional libraries
AVAILABLE = {name: make for name, make in OTHERS.items() if name not in NEEDED or installed(NEEDED[name])}
