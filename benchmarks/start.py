"""Time before the first answer: the import, and the first fit in a fresh process against the second."""

from typing import Any

import numpy as np

from benchmarks import fresh
from benchmarks.contenders import CONTENDERS
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number
from benchmarks.rounds import summary, timed

IMPORTED = ["kdi", "kditransform"]
FITTED = ["kdi polyexp", "kdi gaussian", "MinMaxScaler", "kditransform"]
SHAPES = [(1_000, 20), (100_000, 10)]
PROCESSES, QUICK_PROCESSES = 7, 2
IMPORT_MILLISECONDS, FIRST_TO_SECOND = 50, 2.0

# Both imports in one process: a difference between times of two processes would be mostly noise. The class is imported
# because kdi loads its modules lazily.
IMPORTS = """
from time import perf_counter
begin = perf_counter()
import sklearn.preprocessing
middle = perf_counter()
from {name} import KDITransformer
print([middle - begin, perf_counter() - middle])
"""


def measure(quick: bool) -> dict[str, Any]:
    processes = QUICK_PROCESSES if quick else PROCESSES
    print("start: imports", flush=True)
    for name in IMPORTED:
        fresh.run(IMPORTS.format(name=name))  # warms byte code and the disk cache
    times = {name: [] for name in IMPORTED}
    for _ in range(processes):
        for name in IMPORTED:
            times[name].append(fresh.run(IMPORTS.format(name=name)))
    sklearn = summary([before for runs in times.values() for before, _ in runs])
    beyond = {name: summary([after for _, after in runs]) for name, runs in times.items()}
    return {"sklearn": sklearn, "beyond": beyond, "fits": measure_fits(processes)}


def measure_fits(processes: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for shape in SHAPES:
        print(f"start: first fits of {shape_name(*shape)}", flush=True)
        # The first fit of any scikit-learn estimator is slow: it looks for plugins of data frame libraries. So two
        # cases are measured: the first fit of the process, and the first fit after one of MinMaxScaler.
        cases = {name: (name, False) for name in FITTED} | {
            f"{name}, sklearn used": (name, True) for name in FITTED[:2]
        }
        times: dict[str, Any] = {case: [] for case in cases}
        for _ in range(processes):
            for case, (name, sklearn_used) in cases.items():
                times[case].append(fresh.call(first_and_second_fit, name, sklearn_used, *shape))
        result[shape_name(*shape)] = {
            case: {"first": summary(first), "second": summary(second)}
            for case, (first, second) in ((case, np.array(pairs).T) for case, pairs in times.items())
        }
    return result


def first_and_second_fit(name: str, sklearn_used: bool, rows: int, features: int) -> list[float]:
    """Time two fits; runs in a fresh process."""
    table = lognormal_table(rows, features)
    if sklearn_used:
        CONTENDERS["MinMaxScaler"].make(rows).fit(table)
    estimators = [CONTENDERS[name].make(rows) for _ in range(2)]  # imports the library, which is timed separately
    return [timed(estimator.fit, table)[0] for estimator in estimators]


def tables(results: dict[str, Any]) -> list[Table]:
    imports = [["sklearn.preprocessing", *_both(results["sklearn"])]]
    imports += [[f"then {name}", *_both(times)] for name, times in results["beyond"].items()]
    rows = []
    for shape, fits in results["fits"].items():
        for name, times in fits.items():
            cells = [*_both(times["first"]), *_both(times["second"]), number(first_to_second(times))]
            rows.append([f"{shape}, {name}", *cells])
    return [
        Table("Import, milliseconds", ["", "minimum", "median"], imports, "Fresh processes, interleaved."),
        Table(
            "First and second fit in a fresh process, milliseconds",
            ["", "first", "median", "second", "median", "first / second"],
            rows,
            "Minimum and median over the processes; the ratio is that of the minima.",
        ),
    ]


def _both(times: dict[str, float]) -> list[str]:
    return [number(times["min"]), number(times["median"])]


def first_to_second(times: dict[str, Any], kind: str = "min") -> float:
    return times["first"][kind] / times["second"][kind]


def targets(results: dict[str, Any]) -> list[Target]:
    beyond = results["beyond"]["kdi"]
    asked = f"import kdi: at most {IMPORT_MILLISECONDS} ms beyond sklearn.preprocessing"
    measured = f"{number(beyond['min'])} ms (median {number(beyond['median'])} ms)"
    found = [Target(asked, measured, beyond["min"] <= IMPORT_MILLISECONDS)]
    for shape, fits in results["fits"].items():
        for name, times in fits.items():
            if not name.startswith("kdi "):
                continue
            least, median = (first_to_second(times, kind) for kind in ("min", "median"))
            asked = f"{name}, {shape}: first fit at most {FIRST_TO_SECOND:.0f} times the second"
            found.append(Target(asked, f"{number(least)} (by medians {number(median)})", least <= FIRST_TO_SECOND))
    return found
