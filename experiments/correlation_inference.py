"""Type-I errors of the p-values and coverage of the confidence intervals of `kdi.correlation`, on simulated samples.

Type-I error: how often the p-value of two independent samples is at most 0.05. Coverage: how often a 95% interval of
two dependent samples contains its target, for which there are two candidates:

- the mean of the coefficient over samples of the same size, from a simulation of its own (`target`);
- its value in large samples (`large_sample`), from which the mean differs by the bias of a small sample and, if the
  variance is infinite, because the bandwidth grows with the sample.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import PermutationMethod, bootstrap

import kdi
from benchmarks.report import Table
from experiments.progress import Size, Task, run
from experiments.rows import Row, chosen, grouped

Floats = NDArray[np.float64]

SEED = 20231119
SIZES = (20, 100, 1000)
LEVEL = 0.05
RHO = 0.5  # correlation of the normal pairs from which all dependent pairs are made
BLOCK = 2**20  # values of a sample that are correlated at a time: some 100 MB
RESAMPLED_BLOCK = 2**13  # the same for resampling, in batches of BLOCK values; a block shares its resamples

# Alphas of the p-value with their kernels. The kernel does not matter at 0 and inf: spearmanr and pearsonr.
TESTED = [
    (0.0, "polyexp"),
    (0.1, "polyexp"),
    (1.0, "polyexp"),
    (10.0, "polyexp"),
    (np.inf, "polyexp"),
    (1.0, "gaussian"),
]
COVERED = (0.0, 0.1, 1.0, np.inf)
BOOTSTRAPPED = (0.1, 1.0)
BOOTSTRAPS = ("percentile", "basic", "BCa")


@dataclass(frozen=True)
class Effort:
    """Simulations per cell, by the size of the samples."""

    tested: Mapping[int, int]
    permuted: Mapping[int, int]
    targeted: Mapping[int, int]
    covered: Mapping[int, int]
    bootstrapped: Mapping[int, int]
    n_resamples: int
    large: tuple[int, int]  # number of samples, and of rows of each


FULL = Effort(
    tested={20: 100_000, 100: 50_000, 1000: 10_000},
    permuted={20: 20_000, 100: 20_000, 1000: 2_000},
    targeted={20: 50_000, 100: 20_000, 1000: 5_000},
    covered={20: 20_000, 100: 20_000, 1000: 4_000},
    bootstrapped={20: 2_000, 100: 1_000, 1000: 300},
    n_resamples=999,
    large=(20, 200_000),
)
QUICK = Effort(
    tested={20: 4_000, 100: 4_000, 1000: 400},
    permuted={20: 400, 100: 400, 1000: 100},
    targeted={20: 2_000, 100: 1_000, 1000: 100},
    covered={20: 1_000, 100: 1_000, 1000: 100},
    bootstrapped={20: 100, 100: 30, 1000: 1},
    n_resamples=199,
    large=(2, 20_000),
)


def measure(size: Size) -> list[Row]:
    effort = QUICK if size == "quick" else FULL
    tasks = [type_one_task(data, n, effort) for data in INDEPENDENT for n in SIZES]
    tasks += [permutation_task(data, n, effort) for data in INDEPENDENT for n in SIZES]
    tasks += [coverage_task(data, n, alpha, effort) for data in DEPENDENT for n in SIZES for alpha in COVERED]
    return run(tasks)


# Samples, one per row.


def normal_pairs(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    x, noise = rng.normal(size=shape), rng.normal(size=shape)
    return x, RHO * x + np.sqrt(1 - RHO**2) * noise


def lognormal_pairs(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    x, y = normal_pairs(rng, shape)
    return np.exp(x), np.exp(y)


def student_pairs(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Draw bivariate t with 2 degrees of freedom: infinite variance, and rows far out in x are far out in y."""
    x, y = normal_pairs(rng, shape)
    scale = np.sqrt(2 / rng.chisquare(2, size=shape))
    return x * scale, y * scale


INDEPENDENT = {
    "normal": lambda rng, shape: (rng.normal(size=shape), rng.normal(size=shape)),
    "lognormal": lambda rng, shape: (rng.lognormal(size=shape), rng.lognormal(size=shape)),
    "t, 2 df": lambda rng, shape: (rng.standard_t(2, size=shape), rng.standard_t(2, size=shape)),
    "Cauchy": lambda rng, shape: (rng.standard_cauchy(size=shape), rng.standard_cauchy(size=shape)),
}
DEPENDENT = {"normal": normal_pairs, "lognormal": lognormal_pairs, "t, 2 df": student_pairs}


def simulated(
    draw: Any, purpose: str, n: int, n_simulations: int, block: int = BLOCK
) -> Iterator[tuple[Floats, Floats, np.random.Generator]]:
    """Draw samples of n rows in blocks that fit in memory; yield each with the random generator."""
    rng = np.random.default_rng([SEED, n, *purpose.encode()])
    height = max(1, block // n)
    for start in range(0, n_simulations, height):
        yield *draw(rng, (min(height, n_simulations - start), n)), rng


# Measurements.


def type_one_task(data: str, n: int, effort: Effort) -> Task:
    label = f"type-I error, {data}, n = {n}"
    return Task(label, effort.tested[n] * n * len(TESTED), partial(type_one, data, n, effort.tested[n]))


def type_one(data: str, n: int, n_simulations: int) -> list[Row]:
    rejected = np.zeros(len(TESTED))
    for x, y, _ in simulated(INDEPENDENT[data], f"{data} tested", n, n_simulations):
        for j, (alpha, kernel) in enumerate(TESTED):
            rejected[j] += np.sum(kdi.correlation(x, y, alpha=alpha, kernel=kernel, axis=-1).pvalue <= LEVEL)
    return [
        row("type-I error", data, n, alpha, kernel, "default", n_simulations, count / n_simulations)
        for (alpha, kernel), count in zip(TESTED, rejected, strict=True)
    ]


def permutation_task(data: str, n: int, effort: Effort) -> Task:
    n_simulations = effort.permuted[n]
    work = 0.03 * n_simulations * n * effort.n_resamples  # permutations leave the integrals as they are
    call = partial(permutation, data, n, n_simulations, effort.n_resamples)
    return Task(f"type-I error by permutations, {data}, n = {n}", work, call)


def permutation(data: str, n: int, n_simulations: int, n_resamples: int) -> list[Row]:
    rejected = 0
    for x, y, rng in simulated(INDEPENDENT[data], f"{data} permuted", n, n_simulations, RESAMPLED_BLOCK):
        method = PermutationMethod(n_resamples=n_resamples, batch=BLOCK // x.size, rng=rng)
        rejected += np.sum(kdi.correlation(x, y, axis=-1, method=method).pvalue <= LEVEL)
    rate = rejected / n_simulations
    return [row("type-I error", data, n, 1.0, "polyexp", "permutation", n_simulations, rate)]


def coverage_task(data: str, n: int, alpha: float, effort: Effort) -> Task:
    work = n * (effort.targeted[n] + effort.covered[n])
    if alpha in BOOTSTRAPPED:
        work += n * effort.bootstrapped[n] * (effort.n_resamples + n)
    return Task(f"coverage, {data}, n = {n}, alpha = {alpha:g}", work, partial(coverage, data, n, alpha, effort))


def coverage(data: str, n: int, alpha: float, effort: Effort) -> list[Row]:
    draw = DEPENDENT[data]
    target = mean_coefficient(data, n, alpha, effort.targeted[n])
    large = mean_coefficient(data, effort.large[1], alpha, effort.large[0])
    intervals = {"Fisher z": []}
    for x, y, _ in simulated(draw, f"{data} covered", n, effort.covered[n]):
        intervals["Fisher z"].append(kdi.correlation(x, y, alpha=alpha, axis=-1).confidence_interval(1 - LEVEL))
    if alpha in BOOTSTRAPPED:
        intervals |= {kind: [] for kind in BOOTSTRAPS}
        for x, y, rng in simulated(draw, f"{data} bootstrapped", n, effort.bootstrapped[n], RESAMPLED_BLOCK):
            for kind, interval in bootstrap_intervals(x, y, alpha, effort.n_resamples, rng).items():
                intervals[kind].append(interval)
    rows = []
    for kind, found in intervals.items():
        low, high = np.concatenate(found, axis=-1)
        held, held_large = (float(np.mean((low <= value) & (value <= high))) for value in (target, large))
        rows.append(
            row("coverage", data, n, alpha, "polyexp", kind, len(low), held)
            | {"target": f"{target:.4f}", "large_sample": f"{large:.4f}", "large_sample_rate": f"{held_large:.4f}"}
            | {"mean_width": f"{np.mean(high - low):.4f}"}
        )
    return rows


@cache
def mean_coefficient(data: str, n: int, alpha: float, n_simulations: int) -> float:
    """Compute the mean over samples of n rows."""
    total = 0.0
    for x, y, _ in simulated(DEPENDENT[data], f"{data} targeted", n, n_simulations):
        total += kdi.correlation(x, y, alpha=alpha, axis=-1).statistic.sum()
    return total / n_simulations


def bootstrap_intervals(x: Floats, y: Floats, alpha: float, n_resamples: int, rng: Any) -> dict[str, Floats]:
    """Compute the three intervals from the same resamples: as `confidence_interval`, in a third of its time."""

    def statistic(x: Floats, y: Floats, axis: int) -> Floats:
        return kdi.correlation(x, y, alpha=alpha, axis=axis).statistic

    options = {"paired": True, "vectorized": True, "axis": -1, "batch": max(1, BLOCK // x.size)}
    options["confidence_level"] = 1 - LEVEL
    found, result = {}, None
    for kind in BOOTSTRAPS:
        more = 0 if result else n_resamples
        result = bootstrap(
            (x, y), statistic, method=kind, n_resamples=more, bootstrap_result=result, rng=rng, **options
        )
        found[kind] = np.clip(result.confidence_interval, -1, 1)
    return found


def row(
    measured: str, data: str, n: int, alpha: float, kernel: str, method: str, n_simulations: int, rate: float
) -> Row:
    error = np.sqrt(rate * (1 - rate) / n_simulations)
    return {
        "measured": measured,
        "data": data,
        "n": n,
        "alpha": f"{alpha:g}",
        "kernel": kernel,
        "method": method,
        "simulations": n_simulations,
        "rate": f"{rate:.4f}",
        "standard_error": f"{error:.4f}",
        "target": "",
        "large_sample": "",
        "large_sample_rate": "",
        "mean_width": "",
    }


# Tables of the rows.


def tables(rows: list[Row]) -> list[Table]:
    found = [type_one_table(rows)]
    for alpha in BOOTSTRAPPED:
        found += coverage_tables(rows, f"{alpha:g}")
    return [*found, fisher_table(rows)]


def type_one_table(rows: list[Row]) -> Table:
    columns = [
        ("Spearman (α = 0)", "0", "polyexp", "default"),
        ("α = 0.1", "0.1", "polyexp", "default"),
        ("α = 1", "1", "polyexp", "default"),
        ("α = 10", "10", "polyexp", "default"),
        ("Pearson (α = ∞)", "inf", "polyexp", "default"),
        ("α = 1, Gaussian", "1", "gaussian", "default"),
        ("α = 1, permutations", "1", "polyexp", "permutation"),
    ]
    own = chosen(rows, measured="type-I error")
    cells = by_place(own, "alpha", "kernel", "method")
    body = [
        [data, f"{n:,}", *(percent(cells[data, n, *column], 2) for _, *column in columns)]
        for data in INDEPENDENT
        for n in SIZES
    ]
    note = f"Percent of p-values at most {LEVEL:g}, ± one standard error of the simulation; {numbers(own)}."
    header = ["independent data", "n", *(name for name, *_ in columns)]
    return Table("Type-I error at the 5% level", header, body, note)


def coverage_tables(rows: list[Row], alpha: str) -> list[Table]:
    own = chosen(rows, measured="coverage", alpha=alpha)
    cells = by_place(own, "method")
    kinds = ["Fisher z", *BOOTSTRAPS]
    places = [(data, n) for data in DEPENDENT for n in SIZES]

    def table(title: str, value: Any, target: str | None, note: str = "") -> Table:
        body = []
        for data, n in places:
            aim = [f"{float(cells[data, n, 'Fisher z'][target]):.3f}"] if target else []
            body.append([data, f"{n:,}", *aim, *(value(cells[data, n, kind]) for kind in kinds)])
        return Table(f"{title}, α = {alpha}", ["data", "n", *(["target"] if target else []), *kinds], body, note)

    note = "Percent of intervals that hold the target, ± one standard error of the simulation; "
    return [
        table(
            "Coverage of 95% intervals for the mean coefficient at that n",
            percent,
            "target",
            f"{note}{numbers(own)}.",
        ),
        table("Coverage of 95% intervals for the large-sample coefficient", percent_large, "large_sample"),
        table("Mean width of 95% intervals", lambda one: f"{float(one['mean_width']):.3f}", None),
    ]


def fisher_table(rows: list[Row]) -> Table:
    names = {"0": "Spearman (α = 0)", "0.1": "α = 0.1", "1": "α = 1", "inf": "Pearson (α = ∞)"}
    cells = by_place(chosen(rows, method="Fisher z"), "alpha")
    body = [[data, f"{n:,}", *(percent(cells[data, n, alpha]) for alpha in names)] for data in DEPENDENT for n in SIZES]
    return Table(
        "Coverage of Fisher's 95% interval for the mean coefficient at that n", ["data", "n", *names.values()], body
    )


def by_place(rows: list[Row], *names: str) -> dict[tuple[Any, ...], Row]:
    """Index rows by the data, the size of the samples and these columns."""
    return {(one["data"], int(one["n"]), *(one[name] for name in names)): one for one in rows}


def percent(one: Row, digits: int = 1) -> str:
    return f"{100 * float(one['rate']):.{digits}f} ± {100 * float(one['standard_error']):.{digits}f}"


def percent_large(one: Row) -> str:
    rate = float(one["large_sample_rate"])
    return f"{100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / int(one['simulations'])):.1f}"


def numbers(rows: list[Row]) -> str:
    """Describe the number of simulations by method and size."""
    texts = []
    for (method,), own in grouped(rows, "method").items():
        counts = {one["n"]: int(one["simulations"]) for one in own}
        texts.append(f"{method} {', '.join(f'{count:,}' for count in counts.values())}")
    return f"simulations at n = {', '.join(f'{n:,}' for n in SIZES)}: {'; '.join(texts)}"
