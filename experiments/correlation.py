"""Pearson's, Spearman's and the KD-integral correlation (alpha = 1): simulated cases, and California housing.

- simulated: the paper's three cases of 100 pairs, from the seed of its notebook and, because one draw is weak evidence,
  from others;
- california: all pairs of the eight features, as in the author's notebook, with standard deviations from bootstraps of
  the rows. Pairs with the target, the median house value, are measured too but belong to no claim (`with target`);
- outliers excluded: the highlighted pairs again, without the rows beyond the 99th percentile of either column.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kdi
from experiments import correlation_data
from experiments.correlation_claims import RULES, claims
from experiments.correlation_data import (
    ALPHAS,
    HIGHLIGHTED,
    TARGET,
    Floats,
    N,
    housing,
    pair_name,
    simulated,
    without_outliers,
)
from experiments.correlation_figures import figures
from experiments.correlation_tables import tables
from experiments.progress import Size, Task, hashed, run, task_key
from experiments.rows import Row

__all__ = ["RULES", "TITLE", "claims", "figures", "measure", "tables"]

TITLE = "Correlation: Pearson, Spearman and KD-integral"
SEEDS, QUICK_SEEDS = 200, 20
BOOTSTRAPS, QUICK_BOOTSTRAPS = 100, 5
QUICK_ROWS = 2064


def measure(size: Size) -> list[Row]:
    quick = size == "quick"
    seeds = QUICK_SEEDS if quick else SEEDS
    bootstraps, n_rows = (QUICK_BOOTSTRAPS, QUICK_ROWS) if quick else (BOOTSTRAPS, None)
    tasks = [Task(f"{seeds} samples of each case", seeds, partial(simulations, seeds), key("simulated", seeds))]
    call = partial(all_pairs, n_rows, bootstraps)
    tasks += [Task("California housing, all pairs", 15 * bootstraps, call, key("california", n_rows, bootstraps))]
    for pair in HIGHLIGHTED:
        call, own = partial(without, pair, n_rows, bootstraps), key("outliers excluded", pair, n_rows, bootstraps)
        tasks.append(Task(f"{pair_name(*pair)} without outliers", 4 * bootstraps, call, own))
    return run(tasks)


def key(*parts: Any) -> str:
    """Identify a task, so that rows of another version of these two files are measured anew."""
    return task_key(__file__, *parts, hashed([Path(correlation_data.__file__)]))


def simulations(seeds: int) -> list[Row]:
    samples = [simulated(seed) for seed in range(seeds)]
    rows = []
    for case in samples[0]:
        x, y = (np.array([sample[case][which] for sample in samples]) for which in (0, 1))
        found = {name: kdi.correlation(x, y, alpha=alpha, axis=1).statistic for name, alpha in ALPHAS.items()}
        for seed in range(seeds):
            one = {name: values[seed] for name, values in found.items()}
            rows.append(row("simulated", N, one, case=case, seed=seed))
    return rows


def all_pairs(n_rows: int | None, bootstraps: int) -> list[Row]:
    """Measure pairs of features and pairs with the target, the largest disagreement with Pearson first."""
    return compared("california", housing(n_rows), bootstraps)


def without(pair: tuple[str, str], n_rows: int | None, bootstraps: int) -> list[Row]:
    """Measure a pair without its outliers: all three coefficients, of the other rows alone."""
    columns = {name: values for name, values in housing(n_rows).items() if name in pair}
    kept = without_outliers(*columns.values())
    return compared("outliers excluded", {name: values[kept] for name, values in columns.items()}, bootstraps)


def compared(part: str, columns: dict[str, Floats], bootstraps: int) -> list[Row]:
    names, table = list(columns), np.column_stack(list(columns.values()))
    rows = []
    for pair in kdi.compare_correlations(table, n_resamples=bootstraps, rng=0):
        first, second = names[pair["first"]], names[pair["second"]]
        of = "with target" if TARGET in (first, second) else part
        one = {coefficient: pair[coefficient] for coefficient in ALPHAS}
        deviations = {coefficient: pair[f"{coefficient}_error"] for coefficient in ALPHAS}
        rows.append(row(of, len(table), one, deviations, first=first, second=second, bootstraps=bootstraps))
    return rows


def row(
    part: str,
    n_rows: int,
    found: dict[str, float],
    deviations: dict[str, float] | None = None,
    *,
    case: str = "",
    first: str = "",
    second: str = "",
    seed: int | str = "",
    bootstraps: int | str = "",
) -> Row:
    """Write the row of a simulated case, or of a pair of columns."""
    return (
        {"part": part, "case": case, "first": first, "second": second}
        | {"seed": seed, "rows": n_rows, "bootstraps": bootstraps}
        | {name: f"{value:.6f}" for name, value in found.items()}
        | {f"{name}_deviation": f"{deviations[name]:.6f}" if deviations else "" for name in found}
    )
