"""``python -m benchmarks tabpfn``: TabPFN's own KDI transformer on 6,497×11 beside kdi, in the same rounds.

It runs only where it is named, since it needs packages that `make bench` does not install: ``pip install tabpfn==9.2.0
kditransform==1.2.0`` beside a torch that is there already. No weights are needed or fetched.

TabPFN's `KDITransformerWithNaN` is a subclass of kditransform's transformer. It is measured as it is, and on top of
`kdi.compat.kditransform`, as after `kdi.compat.install()`. The environment variable KDI_TABPFN_FORK may name another
version of its file, such as that of TabPFN's pull request 1265, whose own loops replace those of kditransform.

The table is simulated with the marginal distributions of the wine quality data, for which that pull request reports its
times: at random levels, lines between quantiles of each feature, rounded as the feature is. Columns are transformed one
by one, so that correlations between them do not matter.
"""

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module, util
from types import ModuleType
from typing import Any, Self
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks import fresh, rounds
from benchmarks.answers import require
from benchmarks.report import Table, Target, number
from benchmarks.shares import summary

ROWS, QUICK_ROWS = 6_497, 1_000
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 20.0, 1.0
PROCESSES, QUICK_PROCESSES = 7, 2
OUTPUTS = ["uniform", "normal"]
FORK = "KDI_TABPFN_FORK"
UNIT = "TabPFN 9.2"
COMPAT, FORKED = "TabPFN 9.2 on kdi.compat", "TabPFN, pull request 1265"
NATIVE, STEP, STEP_32 = "kdi.KDITransformer", "kdi.torch.TabPFNStep", "kdi.torch.TabPFNStep, float32"
AGREEMENT, SAME, SAME_FLOAT32 = 2e-3, 1e-9, 1e-4  # from the error of the original, and from rounding of the input
INNER, OUTER = "between -2 and 2", "all"
MISSING = [0.01, 0.05, 0.2]  # shares of values that are NaN where the effect of replacing them is measured

# Quantiles of the 6,462 rows of the UCI wine quality data (Cortez et al. 2009, CC BY 4.0) in the five most frequent
# classes, and the number of decimals of each feature.
LEVELS = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1)
WINE: dict[str, tuple[int, tuple[float, ...]]] = {
    "fixed acidity": (1, (3.8, 5.1, 5.7, 6, 6.4, 7, 7.7, 8.8, 9.8, 12, 15.9)),
    "volatile acidity": (2, (0.08, 0.12, 0.16, 0.18, 0.23, 0.29, 0.4, 0.59, 0.67, 0.87, 1.33)),
    "citric acid": (2, (0, 0, 0.05, 0.14, 0.25, 0.31, 0.39, 0.49, 0.56, 0.74, 1.66)),
    "residual sugar": (1, (0.6, 0.9, 1.2, 1.3, 1.8, 3, 8.1, 13, 15, 18.2, 65.8)),
    "chlorides": (3, (0.009, 0.021, 0.028, 0.031, 0.038, 0.047, 0.065, 0.086, 0.101, 0.185, 0.611)),
    "free sulfur dioxide": (0, (1, 4, 6, 9, 17, 29, 41, 54, 61, 76, 138.5)),
    "total sulfur dioxide": (0, (6, 11, 19, 30, 78, 118, 156, 188, 206, 237, 344)),
    "density": (5, (0.98711, 0.98892, 0.9899, 0.99067, 0.99234, 0.99488, 0.99699, 0.9984, 0.99938, 1.0006, 1.03898)),
    "pH": (2, (2.72, 2.89, 2.97, 3.02, 3.11, 3.21, 3.32, 3.42, 3.5, 3.64, 4.01)),
    "sulphates": (2, (0.22, 0.3, 0.35, 0.37, 0.43, 0.51, 0.6, 0.72, 0.79, 0.99, 2)),
    "alcohol": (1, (8, 8.7, 9, 9.1, 9.5, 10.3, 11.3, 12.3, 12.7, 13.4, 14.9)),
}


def wine_table(rows: int = ROWS) -> NDArray[np.float64]:
    """Draw a table with the marginal distributions of the wine quality data, the same one for the same rows."""
    levels = np.random.default_rng(rows).uniform(size=(rows, len(WINE)))
    columns = [
        np.interp(column, LEVELS, quantiles).round(decimals)
        for column, (decimals, quantiles) in zip(levels.T, WINE.values(), strict=True)
    ]
    return np.column_stack(columns)


@cache
def wrapper_class(package: str, source: str | None = None) -> Any:
    """Return TabPFN's `KDITransformerWithNaN` as a subclass of the transformer of a package with kditransform's names.

    Parameters
    ----------
    package : {"kditransform", "kdi.compat.kditransform"}
    source : str, optional
        Its file, by default that of the installed TabPFN.
    """
    names = {"kditransform" + name: import_module(package + name) for name in ("", ".kdi_transformer", ".ksum")}
    if source is None:
        found = util.find_spec("tabpfn.preprocessing.steps.kdi_transformer")
        assert found is not None and found.origin is not None
        source = found.origin
    spec = util.spec_from_file_location(f"tabpfn_on_{package.replace('.', '_')}", source)
    assert spec is not None and spec.loader is not None
    module: ModuleType = util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, names):
        spec.loader.exec_module(module)
    assert module.KDITransformer is import_module(package).KDITransformer
    return module.KDITransformerWithNaN


class Stateless:
    """A stateless transformer of tensors as an estimator."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, x: Any) -> Self:
        self.cache = self.transformer.fit(x)
        return self

    def transform(self, x: Any) -> Any:
        return self.transformer.transform(x, fitted_cache=self.cache)


def contenders(alpha: float, output: str) -> dict[str, Callable[[], Any]]:
    """Return how to make each contender."""
    from kdi import KDITransformer
    from kdi.torch import TabPFNStep

    def wrapper(package: str, source: str | None = None) -> Callable[[], Any]:
        return partial(wrapper_class(package, source), alpha=alpha, output_distribution=output)

    def step() -> Stateless:
        return Stateless(TabPFNStep(alpha, output))

    found: dict[str, Callable[[], Any]] = {UNIT: wrapper("kditransform")}
    if FORK in os.environ:
        found[FORKED] = wrapper("kditransform", os.environ[FORK])
    found |= {COMPAT: wrapper("kdi.compat.kditransform"), STEP: step, STEP_32: step}
    return found | {NATIVE: partial(KDITransformer, alpha, output_distribution=output)}


def given(name: str, table: NDArray[np.float64]) -> Any:
    """Return the table as a contender takes it."""
    if name not in (STEP, STEP_32):
        return table
    import torch

    x = torch.from_numpy(table)[:, None]
    return x if name == STEP else x.float()


def measure(quick: bool) -> dict[str, Any]:
    missing = [name for name in ("tabpfn", "kditransform", "torch") if util.find_spec(name) is None]
    if missing:
        raise SystemExit(f"tabpfn needs {', '.join(missing)}: pip install tabpfn==9.2.0 kditransform==1.2.0")
    warnings.simplefilter("ignore")  # printing them would be timed
    rows, budget = (QUICK_ROWS, QUICK_BUDGET_SECONDS) if quick else (ROWS, BUDGET_SECONDS)
    table = wine_table(rows)
    return {
        "rows": rows,
        "differences": differences(table),
        "one": {output: measure_one(table, output, budget) for output in OUTPUTS},
        "all": measure_all(table, budget),
        "first": measure_first(rows, QUICK_PROCESSES if quick else PROCESSES),
    }


def measure_one(table: NDArray[np.float64], output: str, budget: float) -> dict[str, Any]:
    """Return the times of one fit and transform at alpha = 1."""
    print(f"tabpfn: {output}", flush=True)
    makers = contenders(1.0, output)
    check(table, makers, output)
    work: dict[str, Callable[[], Any]] = {
        name: partial(rounds.fit_and_transform, lambda _, make=make: make(), given(name, table))
        for name, make in makers.items()
    }
    costs = {name: sum(call()) for name, call in work.items()}
    times = rounds.interleaved(work, rounds.turns(costs, budget))
    return {name: summary(pairs) for name, pairs in times.items()}


def check(table: NDArray[np.float64], makers: dict[str, Callable[[], Any]], output: str) -> None:
    """Raise AssertionError where contenders disagree by more than the original's own error."""
    exact = transformed(NATIVE, makers[NATIVE], table)
    inner = np.abs(exact) < 2  # scores of the ends are far apart where levels are not
    for name, make in makers.items():
        allowed = {STEP: SAME, STEP_32: SAME_FLOAT32}.get(name, AGREEMENT)
        require(f"{name}, {output}", np.abs(transformed(name, make, table) - exact)[inner].max(), allowed)


def transformed(name: str, make: Callable[[], Any], table: NDArray[np.float64]) -> NDArray[np.float64]:
    x = given(name, table)
    return np.asarray(make().fit(x).transform(x), dtype=float).reshape(table.shape)


def differences(table: NDArray[np.float64]) -> dict[str, Any]:
    """Return the largest differences between TabPFN's transformer and kdi's: by alpha, of scores, and with NaN."""
    from kdi.torch import TABPFN_ALPHAS

    by_share = {}
    for share in MISSING:
        holes = np.where(np.random.default_rng(1).uniform(size=table.shape) < share, np.nan, table)
        by_share[str(share)] = largest_differences(holes, 1.0, "uniform", [NATIVE])[NATIVE]
    both = [COMPAT, NATIVE]
    return {
        "alpha": {str(alpha): largest_differences(table, alpha, "uniform", both) for alpha in TABPFN_ALPHAS},
        "scores": {
            INNER: largest_differences(table, 1.0, "normal", both, most=2.0),
            OUTER: largest_differences(table, 1.0, "normal", both),
        },
        "missing": by_share,
    }


def largest_differences(
    table: NDArray[np.float64], alpha: float, output: str, names: list[str], most: float = np.inf
) -> dict[str, float]:
    """Return the largest differences from TabPFN's results, where these are at most `most` in size."""
    makers = contenders(alpha, output)
    reference = transformed(UNIT, makers[UNIT], table)
    inner = np.abs(reference) <= most  # False for NaN
    return {name: float(np.abs(transformed(name, makers[name], table) - reference)[inner].max()) for name in names}


def measure_all(table: NDArray[np.float64], budget: float) -> dict[str, Any]:
    """Return the times of fits and transforms at all 17 alphas of TabPFN's presets."""
    print("tabpfn: 17 alphas", flush=True)
    import kdi
    from kdi.torch import TABPFN_ALPHAS, TabPFNStep

    def one_by_one(name: str) -> None:
        for make in makers[name]:
            make().fit(table).transform(table)

    def path() -> None:
        for _ in kdi.alpha_path(table, TABPFN_ALPHAS).transform(table):
            pass

    def step(x: Any) -> None:
        own = TabPFNStep()
        for maps in own.fit_alphas(x).values():
            own.transform(x, fitted_cache=maps)

    by_alpha = [contenders(alpha, "uniform") for alpha in TABPFN_ALPHAS]
    names = [name for name in by_alpha[0] if name not in (STEP, STEP_32)]
    makers = {name: [one[name] for one in by_alpha] for name in names}
    work: dict[str, Callable[[], Any]] = {name: partial(seconds, partial(one_by_one, name)) for name in names}
    work["kdi.alpha_path"] = partial(seconds, path)
    work["kdi.torch.TabPFNStep.fit_alphas"] = partial(seconds, partial(step, given(STEP, table)))
    costs = {name: call() for name, call in work.items()}
    times = rounds.interleaved(work, rounds.turns(costs, budget, fewest=7))
    return {name: rounds.summary(taken) for name, taken in times.items()}


def seconds(call: Callable[[], Any]) -> float:
    return rounds.timed(call)[0]


def measure_first(rows: int, processes: int) -> dict[str, Any]:
    """Return the times of the import and the first fit and transform in fresh processes."""
    print("tabpfn: first fits", flush=True)
    times: dict[str, list[Any]] = {"kditransform": [], "kdi": []}
    for _ in range(processes + 1):
        for name, taken in times.items():
            taken.append(fresh.call(first_fit, name, rows))
    # The first process of each warms byte code and the disk cache.
    parts = {name: np.array(taken[1:]).T for name, taken in times.items()}
    return {
        name: {"import": rounds.summary(imports), "fit": rounds.summary(fits)}
        for name, (imports, fits) in parts.items()
    }


def first_fit(package: str, rows: int) -> list[float]:
    """Time the import of a package after scikit-learn, and a fit and transform; runs in a fresh process."""
    from sklearn.preprocessing import MinMaxScaler

    table = wine_table(rows)
    MinMaxScaler().fit(table)
    taken, module = rounds.timed(import_class, package)
    return [taken, sum(rounds.fit_and_transform(lambda _: module(), table))]


def import_class(package: str) -> Any:
    return import_module(package).KDITransformer


def tables(results: dict[str, Any]) -> list[Table]:
    rows = f"{results['rows']:,}×{len(WINE)}"
    found = []
    for output, times in results["one"].items():
        body = [
            [name, *(number(one[part]["min"]) for part in ("fit", "transform", "both")), _times_faster(times, name)]
            for name, one in times.items()
        ]
        title = f"TabPFN's KDI transformer, {rows}, {output} output, alpha = 1, milliseconds"
        found.append(Table(title, ["", "fit", "transform", "both", f"{UNIT} / it"], body, NOTE))
    body = [[name, number(one["min"]), number(one["median"])] for name, one in results["all"].items()]
    title = f"All 17 alphas of TabPFN's presets, {rows}, fit and transform, milliseconds"
    found.append(Table(title, ["", "minimum", "median"], body, "In one process, interleaved; uniform output."))
    body = [[name, number(one["import"]["min"]), number(one["fit"]["min"])] for name, one in results["first"].items()]
    title = f"Import after scikit-learn, and first fit and transform, {rows}, milliseconds"
    note = "Minimum over fresh processes. kditransform imports numba and compiles its loops in each process."
    found.append(Table(title, ["", "import", "first fit and transform"], body, note))
    by_alpha, scores, by_share = (results["differences"][kind] for kind in ("alpha", "scores", "missing"))
    body = [[f"alpha = {alpha}", number(one[COMPAT]), number(one[NATIVE])] for alpha, one in by_alpha.items()]
    body += [
        [f"alpha = 1.0, scores {which}", number(one[COMPAT]), number(one[NATIVE])] for which, one in scores.items()
    ]
    body += [[f"alpha = 1.0, {float(share):.0%} NaN", "–", number(one)] for share, one in by_share.items()]
    note = (
        f"The same table; uniform output but for scores. With NaN, {UNIT} fits the mean of the column in their place, "
    )
    note += "also on kdi.compat; kdi ignores them."
    found.append(Table(f"Largest differences from {UNIT}", ["", COMPAT, NATIVE], body, note))
    return found


NOTE = (
    "Minimum over interleaved rounds in one process; simulated data with the marginal distributions of wine quality. "
)
NOTE += "Tensors are made before the time is taken."


def _times_faster(times: dict[str, Any], name: str) -> str:
    return number(times[UNIT]["both"]["min"] / times[name]["both"]["min"])


def targets(results: dict[str, Any]) -> list[Target]:
    return []
