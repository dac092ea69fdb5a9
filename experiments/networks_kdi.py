"""kdi's contenders of the experiment on networks, and the grid that the two recommended settings are chosen from."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import kdi
from experiments.networks_names import BEST_NORMAL, BEST_UNIFORM, PAPER, TUNED
from experiments.ranks import mean_ranks
from experiments.rows import Row, chosen


class Setting(NamedTuple):
    """Options of KDITransformer that may become recommended ones."""

    family: str  # BEST_UNIFORM or BEST_NORMAL
    alpha: float
    spread: str
    feature_range: tuple[float, float] | None  # of uniform output; normal scores are those of the unbounded integral

    def __str__(self) -> str:
        end = "normal, unbounded" if self.feature_range is None else "uniform, {:g} to {:g}".format(*self.feature_range)
        return f"α = {self.alpha:g}, spread {self.spread}, {end}"

    def make(self) -> kdi.KDITransformer:
        common = {"alpha": self.alpha, "spread": self.spread, "n_jobs": 1}
        if self.feature_range is None:
            return kdi.KDITransformer(bounded=False, output_distribution="normal", **common)
        return kdi.KDITransformer(feature_range=self.feature_range, **common)


SPREADS = ("std", "robust")
RANGES = ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0))
GRID = (
    *(Setting(BEST_UNIFORM, *options) for options in itertools.product((0.5, 1.0, 2.0, 3.0), SPREADS, RANGES)),
    *(Setting(BEST_NORMAL, *options, None) for options in itertools.product((0.25, 0.5, 1.0), SPREADS)),
)


def candidates() -> dict[str, Callable[[int, int], Any]]:
    """Make a transformer per setting of the grid, by its name."""
    return {str(setting): lambda rows, seed, setting=setting: setting.make() for setting in GRID}


def recommended(rows: Iterable[Row]) -> dict[str, Setting]:
    """Choose by the smallest mean rank within a family, over the sets of the selection and both models."""
    found = {}
    for family in (BEST_UNIFORM, BEST_NORMAL):
        settings = {str(setting): setting for setting in GRID if setting.family == family}
        ranks = mean_ranks([row for row in chosen(rows, part="selection") if row["method"] in settings])
        found[family] = settings[min(settings, key=ranks.__getitem__)]  # the first of ties
    return found


def contenders(best: dict[str, Setting]) -> dict[str, Callable[[int, int], Any]]:
    """Make kdi's four contenders; an alpha per feature is tuned with the recommended spread and range."""
    uniform = best[BEST_UNIFORM]
    common = {"spread": uniform.spread, "feature_range": uniform.feature_range, "n_jobs": 1}
    return {
        PAPER: lambda rows, seed: kdi.KDITransformer(alpha=1.0, n_jobs=1),
        BEST_UNIFORM: lambda rows, seed: uniform.make(),
        BEST_NORMAL: lambda rows, seed: best[BEST_NORMAL].make(),
        TUNED: lambda rows, seed: kdi.KDITransformerCV(**common),
    }
