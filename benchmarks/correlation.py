"""Correlations: matrices, complete and with missing values, their bootstrap, and the interval of one pair.

Each is checked, then timed. Pearson's and Spearman's coefficients are not those of KD-integrals; their times are there
for comparison. kdi is also measured at alpha 0 and infinity, where its answer is the same as theirs.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.interpolate import CubicSpline

from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.contenders import make_kditransform
from benchmarks.data import SIGMA, shape_name
from benchmarks.direct import Values, exact_answer
from benchmarks.report import Table, Target, number
from benchmarks.rounds import timed
from kdi.data import california_housing

SHAPE, GAPPED_SHAPE = (100_000, 30), (100_000, 10)
MISSING = 0.05
HOUSING = california_housing()
RESAMPLES, QUICK_RESAMPLES = 100, 5
PAIR_ROWS = [100, 1_000]
PAIR_RESAMPLES, QUICK_PAIR_RESAMPLES = 9_999, 999
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 30.0, 3.0
SEED = 0
# Columns of each matrix that are checked against the direct sum: two, which share rows whatever is missing.
CHECKED_COLUMNS = 2
# Points per standard deviation at which the direct sum is taken; the error of a cubic spline between them is <= 5e-8.
KNOTS = 30
# Resamples of the intervals that are checked against the direct sum.
CHECKED_RESAMPLES = 20
EXACT, CLOSE = 1e-12, 1e-6
# kditransform's correlations have errors up to 7e-5 here; a bandwidth wrong by a tenth would cause 2e-3.
ROUGH = 2e-4

Work = Mapping[str, Callable[[], Any]]
Pace = tuple[float, int]  # seconds to spend, and the minimum number of rounds


@dataclass(frozen=True)
class Contender:
    """A way to compute correlations, and what its answer is checked against."""

    correlate: Callable[..., Any]
    answer: str  # the coefficient: "pearson", "spearman" or a kernel of KD-integrals
    tolerance: float
    takes_frame: bool = False


def kdi_matrix(table: Any, **settings: Any) -> Any:
    import kdi

    return kdi.corr(table, **settings)


def pandas_matrix(frame: Any, method: str) -> Any:
    return frame.corr(method)


def scipy_matrix(table: Values) -> Any:
    return stats.spearmanr(table).statistic


def kditransform_matrix(table: Values) -> Any:
    return np.corrcoef(make_kditransform(len(table)).fit_transform(table), rowvar=False)


def kdi_interval(x: Values, y: Values, n_resamples: int, **settings: Any) -> Any:
    import kdi

    return kdi.correlation(x, y, **settings).confidence_interval(method=percentile(n_resamples))


def scipy_interval(x: Values, y: Values, n_resamples: int) -> Any:
    return stats.pearsonr(x, y).confidence_interval(method=percentile(n_resamples))


def percentile(n_resamples: int) -> stats.BootstrapMethod:
    """Return a percentile bootstrap with the same resamples at every call."""
    return stats.BootstrapMethod(n_resamples=n_resamples, method="percentile", rng=np.random.default_rng(SEED))


MATRICES = {
    "kdi polyexp": Contender(partial(kdi_matrix, kernel="polyexp"), "polyexp", CLOSE),
    "kdi gaussian": Contender(partial(kdi_matrix, kernel="gaussian"), "gaussian", CLOSE),
    "kdi polyexp, DataFrame": Contender(partial(kdi_matrix, kernel="polyexp"), "polyexp", CLOSE, takes_frame=True),
    "kdi alpha=0": Contender(partial(kdi_matrix, alpha=0), "spearman", EXACT),
    "pandas spearman": Contender(partial(pandas_matrix, method="spearman"), "spearman", EXACT, takes_frame=True),
    "pandas pearson": Contender(partial(pandas_matrix, method="pearson"), "pearson", EXACT, takes_frame=True),
    "scipy spearmanr": Contender(scipy_matrix, "spearman", EXACT),
    "kditransform": Contender(kditransform_matrix, "polyexp", ROUGH),
}
# The others do not leave missing values out pair by pair.
GAPPED = [name for name in MATRICES if name not in ("scipy spearmanr", "kditransform")]
INTERVALS = {
    "kdi polyexp": Contender(partial(kdi_interval, kernel="polyexp"), "polyexp", CLOSE),
    "kdi gaussian": Contender(partial(kdi_interval, kernel="gaussian"), "gaussian", CLOSE),
    "kdi alpha=inf": Contender(partial(kdi_interval, alpha=np.inf), "pearson", EXACT),
    "scipy pearsonr": Contender(scipy_interval, "pearson", EXACT),
}


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing one would be timed too
    for call in matrix_work(dependent_table(200, 3), list(MATRICES)).values():
        call()  # numba compiles and libraries are imported here, not in a timed round
    pace = (QUICK_BUDGET_SECONDS, 1) if quick else (BUDGET_SECONDS, rounds.FEWEST)
    whole, gapped = dependent_table(*SHAPE), with_gaps(dependent_table(*GAPPED_SHAPE))
    resamples, pair_resamples = (QUICK_RESAMPLES, QUICK_PAIR_RESAMPLES) if quick else (RESAMPLES, PAIR_RESAMPLES)
    return {
        "matrix": measure_matrix(shape_name(*SHAPE), whole, list(MATRICES), pace),
        "bootstrap": measure_bootstrap(resamples, pace),
        "gaps": measure_matrix(f"{shape_name(*GAPPED_SHAPE)} with {MISSING:.0%} NaN", gapped, GAPPED, pace),
        **{f"interval {rows}": measure_interval(rows, pair_resamples, pace) for rows in PAIR_ROWS},
    }


def dependent_table(rows: int, features: int) -> Values:
    """Draw a lognormal table, the same for the same arguments, whose columns all depend on each other."""
    generator = np.random.default_rng([SEED, rows, features])
    mix = generator.normal(size=(features, features)) + 1
    return np.exp(SIGMA * generator.normal(size=(rows, features)) @ (mix / np.linalg.norm(mix, axis=0)))


def with_gaps(table: Values) -> Values:
    return np.where(np.random.default_rng(SEED).random(table.shape) < MISSING, np.nan, table)


def matrix_work(table: Values, names: list[str]) -> Work:
    import pandas as pd

    # Each has its own copy: kditransform's fit shifts the caller's table and back, which alters its last digits.
    return {
        name: partial(MATRICES[name].correlate, pd.DataFrame(table) if MATRICES[name].takes_frame else table.copy())
        for name in names
    }


def measure_matrix(of: str, table: Values, names: list[str], pace: Pace) -> dict[str, Any]:
    what = f"correlation matrix of {of}"
    print(f"correlation: {what}", flush=True)
    work = matrix_work(table, names)
    outputs, costs = run_once(work)
    require_agreement(what, outputs, MATRICES)
    checked = slice(CHECKED_COLUMNS)
    columns = table[~np.isnan(table[:, checked]).any(axis=1), checked]
    exact = {answer: exact_matrix(answer, columns) for answer in {MATRICES[name].answer for name in names}}
    errors = {}
    for name in names:
        contender, given = MATRICES[name], np.asarray(outputs[name])[checked, checked]
        errors[name] = largest_error(f"{name}, {what}", given, exact[contender.answer], contender.tolerance)
    beside = [name for name in ("pandas spearman", "kditransform") if name in names]
    return {"what": what, "beside": beside, "times": race(work, costs, errors, pace)}


def measure_bootstrap(resamples: int, pace: Pace) -> dict[str, Any]:
    """Measure matrices of resampled rows, the same for all; compare_correlations computes Pearson and Spearman too."""
    import kdi

    table = np.loadtxt(HOUSING, delimiter=",", skiprows=1)[:, :-1].copy()  # the last column is the target
    what = f"{resamples} bootstrap resamples of California housing, {shape_name(*table.shape)}"
    print(f"correlation: {what}", flush=True)
    # As compare_correlations draws its own.
    generator = np.random.default_rng(SEED)
    samples = [generator.integers(len(table), size=len(table)) for _ in range(resamples)]
    work: Work = {
        "kdi.corr": lambda: [kdi_matrix(table[rows]) for rows in samples],
        "kdi.compare_correlations": lambda: kdi.compare_correlations(table, n_resamples=resamples, rng=SEED),
        "kditransform": lambda: [kditransform_matrix(table[rows]) for rows in samples],
    }
    outputs, costs = run_once(work)
    exact = exact_matrix("polyexp", table[samples[0]])
    errors = {
        name: largest_error(f"{name}, first of {what}", outputs[name][0], exact, tolerance)
        for name, tolerance in (("kdi.corr", CLOSE), ("kditransform", ROUGH))
    }
    largest_error(f"kdi.corr against kditransform, {what}", outputs["kdi.corr"], outputs["kditransform"], ROUGH)
    pairs = outputs["kdi.compare_correlations"]
    spread = np.std(outputs["kdi.corr"], axis=0, ddof=1)[pairs["first"], pairs["second"]]
    largest_error(f"standard errors of compare_correlations, {what}", pairs["kdi_error"], spread, CLOSE)
    return {"what": what, "beside": ["kditransform"], "times": race(work, costs, errors, pace)}


def measure_interval(rows: int, resamples: int, pace: Pace) -> dict[str, Any]:
    what = f"bootstrap interval of one pair, {rows:,} rows, {resamples:,} resamples"
    print(f"correlation: {what}", flush=True)
    x, y = np.ascontiguousarray(dependent_table(rows, 2).T)
    errors = {}
    for name, contender in INTERVALS.items():
        given, exact = contender.correlate(x, y, CHECKED_RESAMPLES), exact_interval(contender.answer, x, y)
        errors[name] = largest_error(f"{name}, {what}", given, exact, contender.tolerance)
    work = {name: partial(contender.correlate, x, y, resamples) for name, contender in INTERVALS.items()}
    outputs, costs = run_once(work)
    require_agreement(what, outputs, INTERVALS)
    return {"what": what, "beside": ["scipy pearsonr"], "times": race(work, costs, errors, pace)}


def require_agreement(what: str, outputs: Mapping[str, Any], contenders: Mapping[str, Contender]) -> None:
    """Raise unless contenders with the same answer agree in every entry."""
    first: dict[str, str] = {}
    for name, output in outputs.items():
        other = first.setdefault(contenders[name].answer, name)
        tolerance = contenders[name].tolerance + contenders[other].tolerance
        largest_error(f"{name} against {other}, {what}", output, outputs[other], tolerance)


def largest_error(what: str, given: Any, exact: Any, tolerance: float) -> float:
    error = float(np.abs(np.asarray(given) - np.asarray(exact)).max())  # pandas would skip NaN
    require(what, error, tolerance)
    return error


def exact_matrix(answer: str, table: Values) -> Values:
    """Compute the correlations of a table without missing values by definition."""
    return np.corrcoef([exact_levels(answer, values) for values in table.T])


def exact_interval(answer: str, x: Values, y: Values) -> Any:
    """Compute the interval of a few resamples by definition."""
    return stats.bootstrap(
        (x, y),
        lambda *pair: exact_matrix(answer, np.transpose(pair))[0, 1],
        paired=True,
        vectorized=False,
        n_resamples=CHECKED_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval


def exact_levels(answer: str, values: Values) -> Values:
    """Compute the arguments of Pearson's formula: the values, their ranks or their integrals by the direct sum."""
    if answer == "pearson":
        return values
    if answer == "spearman":
        return stats.rankdata(values)
    knots = np.linspace(values.min(), values.max(), int(KNOTS * np.ptp(values) / values.std()))
    return CubicSpline(knots, exact_answer(answer, values, knots))(values)


def run_once(work: Work) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the output of each call, and the seconds that it takes."""
    outputs, costs = {}, {}
    for name, call in work.items():
        costs[name], outputs[name] = timed(call)
        # A second, warm run if it is cheap: the first is a bad estimate of how many rounds there is time for.
        if costs[name] < 0.5:
            costs[name], _ = timed(call)
    return outputs, costs


def race(work: Work, costs: dict[str, float], errors: Mapping[str, float], pace: Pace) -> dict[str, Any]:
    clocked = {name: partial(seconds, call) for name, call in work.items()}
    times = rounds.interleaved(clocked, rounds.turns(costs, *pace))
    return {
        name: {**rounds.summary(taken), "rounds": len(taken), "error": errors.get(name)}
        for name, taken in times.items()
    }


def seconds(call: Callable[[], Any]) -> float:
    return timed(call)[0]


def tables(results: dict[str, Any]) -> list[Table]:
    return [part_table(**measured) for measured in results.values()]


def part_table(what: str, beside: list[str], times: dict[str, Any]) -> Table:
    rows = []
    for name, figures in times.items():
        shares = [number(ratio(times, name, other)) for other in beside]
        cells = [number(figures["min"]), number(figures["median"]), *shares, number(figures["error"])]
        rows.append([name, *cells, str(figures["rounds"])])
    header = ["", "minimum", "median", *(f"of {other}" for other in beside), "largest error", "rounds"]
    note = "Over interleaved rounds in one process; ratios are of the minima; errors against each one's definition."
    return Table(f"{what[0].upper()}{what[1:]}, milliseconds", header, rows, note)


def ratio(times: dict[str, Any], name: str, other: str, kind: str = "min") -> float:
    return times[name][kind] / times[other][kind]


# Measurement, contender, other contender, and how many times faster the first has to be.
ASKED = [
    ("matrix", "kdi polyexp", "pandas spearman", 5),
    ("matrix", "kdi gaussian", "pandas spearman", 5),
    ("matrix", "kdi polyexp, DataFrame", "pandas spearman", 5),
    ("matrix", "kdi polyexp", "kditransform", 20),
    ("matrix", "kdi gaussian", "kditransform", 20),
    ("bootstrap", "kdi.corr", "kditransform", 10),
]


def targets(results: dict[str, Any]) -> list[Target]:
    return [speed_target(results[part], *rest) for part, *rest in ASKED]


def speed_target(measured: dict[str, Any], name: str, other: str, times: int) -> Target:
    """Judge by the minima, which other load on the machine affects least, and report the medians too."""
    least, median = (1 / ratio(measured["times"], name, other, kind) for kind in ("min", "median"))
    asked = f"{name}, {measured['what']}: at least {times} times faster than {other}"
    return Target(asked, f"{number(least)} times (by medians {number(median)})", least >= times)
