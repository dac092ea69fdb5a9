"""alpha_path: one fitted transformer per alpha, from one reading of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np

from kdi._integral.build import DeferredFeatures, FeatureMaps
from kdi._numerics.kernels import get_kernel
from kdi._sketch.sketch import Sketch
from kdi._transformer.base import check_open_alphas
from kdi._transformer.transformer import KDITransformer
from kdi._utils.public import public_in
from kdi._utils.typing import Float64Array, KernelName, OutOfRange, Spread
from kdi._utils.validation import as_numbers

# From near the quantile transform to near min-max scaling, in steps of about a third; 1 is among them.
LOWER = (0.05, 0.07, 0.1, 0.13, 0.18, 0.24, 0.32, 0.42, 0.56, 0.75)
ALPHAS = (*LOWER, 1.0, 1.3, 1.7, 2.2, 2.9, 3.8, 5.0, 6.3, 8.0, 10.0)


def check_alphas(alphas: Any) -> Float64Array:
    """Return bandwidth factors as distinct ascending numbers; the default ones for None."""
    given = as_numbers(ALPHAS if alphas is None else alphas, "alphas")
    if given.ndim != 1 or not given.size or not np.all(given >= 0):  # False for NaN
        raise ValueError(f"alphas must be a sequence of numbers >= 0 (inf included), got {alphas!r}.")
    return np.unique(given)


class PathSketches:
    """The sketches of the models that were built, each no finer than its alpha needs."""

    def __init__(self, finest: Sequence[Sketch]) -> None:
        self._found = {-1: finest}

    def up_to(self, place: int) -> Sequence[Sketch]:
        """Return the sketches of the nearest alpha that is not larger: the fewest cells that are fine enough."""
        return self._found[max(found for found in list(self._found) if found <= place)]

    def add(self, place: int, sketches: Sequence[Sketch]) -> None:
        """Keep the sketches of the alpha at an index."""
        self._found[place] = sketches


@dataclass(eq=False)
class PathFeatures(DeferredFeatures):
    """Maps of one alpha of a path, which begin with the sketches of the alpha before, if that was built."""

    path: PathSketches
    place: int

    def _build(self) -> tuple[FeatureMaps, Sequence[Sketch]]:
        features, sketches = self._alone().build()
        self.path.add(self.place, sketches)
        return features, sketches

    def _alone(self) -> DeferredFeatures:
        sketches = self.path.up_to(self.place)
        return DeferredFeatures(sketches, self.alphas, self.kernel, self.options, self.n_jobs, self.merge)

    def __reduce__(self) -> tuple[type[DeferredFeatures], tuple[Any, ...]]:
        alone = self._alone()  # without what other models have built
        return DeferredFeatures, tuple(getattr(alone, one.name) for one in fields(alone) if one.init)


@public_in("kdi")
class AlphaPath(Sequence[KDITransformer]):
    """Fitted transformers, one per alpha, that share one reading of the data.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Ascending.

    Examples
    --------
    >>> import kdi
    >>> path = kdi.alpha_path([[0.0], [1.0], [2.0], [100.0]])
    >>> len(path), path[:3].alphas.tolist()
    (20, [0.05, 0.07, 0.1])
    """

    def __init__(self, alphas: Float64Array, finest: KDITransformer) -> None:
        self.alphas = alphas
        self._finest = finest  # never returned itself: the user may call partial_fit on what is returned
        self._sketches = PathSketches(finest._get_sketches("alpha_path"))
        self._models: dict[int, KDITransformer] = {}

    def __len__(self) -> int:
        return len(self.alphas)

    @overload
    def __getitem__(self, index: int) -> KDITransformer: ...
    @overload
    def __getitem__(self, index: slice) -> AlphaPath: ...
    def __getitem__(self, index: int | slice) -> KDITransformer | AlphaPath:
        place = range(len(self))[index]
        if isinstance(place, range):
            return AlphaPath(self.alphas[index], self._finest)
        if place not in self._models:
            alpha = float(self.alphas[place])
            model = copy(self._finest)
            if alpha != self._finest.alpha:
                model._set_fit([], model.n_samples_seen_, self._features(alpha, place))
                model.alpha = alpha
            self._models[place] = model
        return self._models[place]

    def _features(self, alpha: float, place: int) -> PathFeatures:
        finest, sketches = self._finest, self._sketches.up_to(-1)
        kernel, alphas = get_kernel(finest.kernel, finest.order), np.full(len(sketches), alpha)
        options = finest._map_options()
        return PathFeatures(sketches, alphas, kernel, options, finest.n_jobs, True, self._sketches, place)

    def __repr__(self) -> str:
        ends = f" from {self.alphas[0]:g} to {self.alphas[-1]:g}" if len(self) else ""
        return f"AlphaPath({len(self)} alphas{ends})"

    def transform(self, X: Any) -> Iterator[Any]:
        """Transform X with each transformer in turn, lazily."""
        return (model.transform(X) for model in self)


@public_in("kdi")
def alpha_path(
    X: Any,
    alphas: Any = None,
    *,
    sample_weight: Any = None,
    kernel: KernelName = "polyexp",
    order: int = 4,
    output_distribution: str = "uniform",
    bounded: bool = True,
    spread: Spread = "std",
    feature_range: tuple[float, float] = (0, 1),
    out_of_range: OutOfRange = "clip",
    max_knots: int | None = None,
    n_jobs: int | None = None,
) -> AlphaPath:
    """Fit one transformer per alpha, from one reading of the data.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a stream
        As in `KDITransformer.fit`.
    alphas : sequence of float, default=kdi.ALPHAS
        Bandwidth factors; 0 and inf are allowed. By default 20 from 0.05 to 10.
    sample_weight : array-like of shape (n_samples,), or the name of a column of a stream, optional
    kernel, order, output_distribution, bounded, spread, feature_range, out_of_range, max_knots, n_jobs
        As in `KDITransformer`.

    Returns
    -------
    AlphaPath
        A sequence of fitted `KDITransformer`, by ascending alpha. Each is created when it is first accessed, and its
        maps are built when it is first used. `path.alphas` are the alphas; `path.transform(X)` yields one transformed
        array per alpha.

    Examples
    --------
    >>> import kdi
    >>> X = [[0.0], [1.0], [2.0], [100.0]]
    >>> path = kdi.alpha_path(X, [0, 1, 10])
    >>> path
    AlphaPath(3 alphas from 0 to 10)
    >>> path[0].alpha
    0.0
    >>> for alpha, Z in zip(path.alphas, path.transform(X)):
    ...     print(alpha, Z.ravel().round(3))
    0.0 [0.    0.333 0.667 1.   ]
    1.0 [0.    0.013 0.027 1.   ]
    10.0 [0.   0.01 0.02 1.  ]
    """
    ascending = check_alphas(alphas)
    check_open_alphas(bounded, ascending, "alphas")
    finest = KDITransformer(
        float(ascending[0]),
        kernel=kernel,
        order=order,
        output_distribution=output_distribution,
        bounded=bounded,
        spread=spread,
        feature_range=feature_range,
        out_of_range=out_of_range,
        max_knots=max_knots,
        n_jobs=n_jobs,
    )
    return AlphaPath(ascending, finest.fit(X, sample_weight=sample_weight))
