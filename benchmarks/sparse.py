"""Sparse matrices: CPU time and peak memory of fit and transform, each contender on each matrix in its own process.

CPU time, that of all threads together, is what a busy machine changes least. Time and memory should follow the stored
values: the same shape is measured with 0.1 % and with 1 % of them.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import fresh
from benchmarks.contenders import make_kdi, make_quantile
from benchmarks.memory import peak_growth
from benchmarks.report import Table, Target, number

ROUNDS = 3
# Rounds of so many seconds are not repeated.
LONG_SECONDS = 3


def counted_columns(rows: int, columns: int, density: float) -> sparse.csr_array:
    """Draw a matrix whose stored values are lognormal, at random places."""
    rng, size = np.random.default_rng([rows, columns]), round(rows * columns * density)
    places = rng.integers(rows, size=size), rng.integers(columns, size=size)
    return sparse.csr_array(sparse.coo_array((rng.lognormal(size=size), places), shape=(rows, columns)))


def text_columns(rows: int, columns: int) -> sparse.csr_array:
    """Draw a matrix like TF-IDF: the frequency of a word falls as 1/rank, and most words are in few texts."""
    rng = np.random.default_rng([rows, columns])
    counts = np.maximum(rng.binomial(rows, np.minimum(0.3, 10 / np.arange(1, columns + 1))), 1)
    places = np.concatenate([rng.choice(rows, size=count, replace=False) for count in counts])
    entries = rng.uniform(0.02, 0.9, size=len(places)), (places, np.repeat(np.arange(columns), counts))
    return sparse.csr_array(sparse.coo_array(entries, shape=(rows, columns)))


def one_hot_columns(rows: int, columns: int) -> sparse.csr_array:
    """Draw the indicators of a categorical column."""
    categories = np.random.default_rng([rows, columns]).integers(0, columns, size=rows)
    return sparse.csr_array((np.ones(rows), categories, np.arange(rows + 1)), shape=(rows, columns))


@dataclass(frozen=True)
class Case:
    title: str
    make: Callable[..., sparse.csr_array]
    arguments: tuple[Any, ...]
    quick_arguments: tuple[Any, ...]


THIN, THICK, TEXT, ONE_HOT = "0.1 %", "1 %", "text", "one-hot"
CASES = {
    THIN: Case("0.1 % stored", counted_columns, (1_000_000, 1000, 0.001), (100_000, 100, 0.001)),
    THICK: Case("1 % stored", counted_columns, (1_000_000, 1000, 0.01), (100_000, 100, 0.01)),
    TEXT: Case("like TF-IDF", text_columns, (10_000, 50_000), (1000, 1000)),
    ONE_HOT: Case("one-hot", one_hot_columns, (1_000_000, 100_000), (10_000, 1000)),
}
KDI, KDI_SHORT, RANKS, QUANTILES, MAX_ABS = (
    "kdi",
    "kdi, max_knots=100",
    "kdi, alpha=0",
    "QuantileTransformer",
    "MaxAbsScaler",
)
# A call per column: scikit-learn's QuantileTransformer would take minutes.
LEFT_OUT = {(ONE_HOT, QUANTILES), (THIN, KDI_SHORT), (THICK, KDI_SHORT), (ONE_HOT, KDI_SHORT)}


def make_estimator(name: str, rows: int) -> Any:
    if name == QUANTILES:
        return make_quantile(rows)
    if name == MAX_ABS:
        from sklearn.preprocessing import MaxAbsScaler

        return MaxAbsScaler()
    return make_kdi(rows).set_params(**{RANKS: {"alpha": 0}, KDI_SHORT: {"max_knots": 100}}.get(name, {}))


def measure(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for case in CASES:
        found[case] = {}
        for name in (KDI, KDI_SHORT, RANKS, QUANTILES, MAX_ABS):
            if (case, name) not in LEFT_OUT:
                print(f"sparse: {CASES[case].title}: {name}", flush=True)
                found[case][name] = fresh.call(probe, case, name, quick)
    return found


def cpu_timed(work: Callable[[Any], Any], X: Any) -> tuple[float, Any]:
    """Return the CPU seconds that a call takes, and its result."""
    begin = time.process_time()
    result = work(X)
    return time.process_time() - begin, result


def probe(case: str, name: str, quick: bool) -> dict[str, Any]:
    """Measure one contender on one matrix; runs in a fresh process."""
    chosen = CASES[case]
    X = chosen.make(*(chosen.quick_arguments if quick else chosen.arguments))
    small = one_hot_columns(100, 5)
    make_estimator(name, 100).fit(small).transform(small)
    estimator = make_estimator(name, X.shape[0])
    times: dict[str, list[float]] = {"fit": [], "transform": []}
    peaks = {}
    for method in times:
        work = getattr(estimator, method)
        peaks[method], (seconds, _) = peak_growth(cpu_timed, work, X)
        times[method].append(seconds)
        while len(times[method]) < ROUNDS and seconds < LONG_SECONDS:
            gc.collect()
            times[method].append(cpu_timed(work, X)[0])
    error = float(estimator.error_bound_.max()) if hasattr(estimator, "error_bound_") else None
    return {
        "shape": X.shape,
        "stored": int(X.nnz),
        "seconds": {m: min(t) for m, t in times.items()},
        "bytes": peaks,
        "error": error,
    }


def tables(results: dict[str, Any]) -> list[Table]:
    found = []
    for case, contenders in results.items():
        rows = []
        for name, one in contenders.items():
            seconds, peaks = one["seconds"], one["bytes"]
            per_value = [max(peak, 0) / one["stored"] for peak in peaks.values()]
            error = one["error"]
            bound = "–" if error is None else f"{error:.0e}"
            rows.append([name, *map(number, seconds.values()), *(f"{value:,.0f}" for value in per_value), bound])
        first = next(iter(contenders.values()))
        stored, (n_rows, n_columns) = first["stored"], first["shape"]
        note = f"{stored:,} stored values, which take 12 bytes each. float64, CSR, fresh processes, best of {ROUNDS}; "
        note += "peak memory beyond the input. QuantileTransformer draws 10,000 rows."
        header = [
            "",
            "fit, CPU s",
            "transform, CPU s",
            "fit, bytes per stored value",
            "transform",
            "largest error bound",
        ]
        found.append(Table(f"Sparse, {n_rows:,}×{n_columns:,}, {CASES[case].title}", header, rows, note))
    return found


def targets(results: dict[str, Any]) -> list[Target]:
    thin, thick = results[THIN][KDI], results[THICK][KDI]
    thin_seconds, thick_seconds = (sum(one["seconds"].values()) for one in (thin, thick))
    growth, ratio = thick["stored"] / thin["stored"], thick_seconds / thin_seconds
    peak = max(one["bytes"]["fit"] / one["stored"] for one in (thin, thick))
    quantile = sum(results[THIN][QUANTILES]["seconds"].values())
    return [
        Target(
            f"kdi, sparse: {growth:.0f} times the stored values, at most {1.2 * growth:.0f} times the time",
            f"{ratio:.1f} times",
            ratio <= 1.2 * growth,
        ),
        Target("kdi, sparse: peak memory in fit at most 400 bytes per stored value", f"{peak:.0f}", peak <= 400),
        Target(
            "kdi, sparse, 0.1 % stored: fit + transform take no more CPU time than QuantileTransformer",
            f"{number(thin_seconds)} s, {number(quantile)} s",
            thin_seconds <= quantile,
        ),
    ]
