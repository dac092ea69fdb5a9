"""``python -m benchmarks.versions PYTHON``: this kdi beside the one that another Python interpreter has installed.

For changes that must not cost time: one process per version; they take turns on the same tables. The ratios are of the
fastest rounds; values below 1 mean that this version is faster. PYTHON is the interpreter of an environment in which
another commit of kdi is installed, for example ../before/.venv/bin/python.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import rounds
from benchmarks.data import shape_name
from benchmarks.report import Table, number

SHAPES = [(1, 20), (150, 4), (1_000, 20), (10_000, 100), (100_000, 10), (1_000_000, 10)]
BUDGET_SECONDS = 15.0
PROCESSES = 15

# What each version's process does: it reads a shape per line, and answers with seconds and a few values.
WORKER = """
import json, sys, warnings
from time import perf_counter
import numpy as np
import kdi
warnings.simplefilter("ignore")
tables = {}
for line in sys.stdin:
    rows, features, kernel = json.loads(line)
    if (rows, features) not in tables:
        tables[rows, features] = np.random.default_rng([0, rows, features]).lognormal(size=(max(rows, 100), features))
    table = tables[rows, features]
    estimator = kdi.KDITransformer(kernel=kernel)
    begin = perf_counter()
    estimator.fit(table)
    middle = perf_counter()
    result = estimator.transform(table[:rows])
    end = perf_counter()
    print(json.dumps([middle - begin, end - middle, result[:20].tolist()]), flush=True)
"""
IMPORT = """
import sklearn.preprocessing
from time import perf_counter
begin = perf_counter()
import kdi
kdi.KDITransformer
print(perf_counter() - begin)
"""


class Version:
    """One version of kdi in a process of its own."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process = subprocess.Popen(
            [python, "-W", "ignore", "-c", WORKER], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, rows: int, features: int, kernel: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([rows, features, kernel]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def import_seconds(self) -> float:
        done = subprocess.run([self.python, "-c", IMPORT], cwd="/", stdout=subprocess.PIPE, text=True, check=True)
        return float(done.stdout)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(versions: dict[str, Version]) -> list[list[str]]:
    rows = []
    for shape in SHAPES:
        for kernel in ("polyexp", "gaussian"):
            work: dict[str, Callable[[], Any]] = {
                name: partial(version.ask, *shape, kernel) for name, version in versions.items()
            }
            warm = {name: call() for name, call in work.items()}
            cost = max(fit + transform for fit, transform, _ in warm.values())
            turns = rounds.turns(dict.fromkeys(work, cost), BUDGET_SECONDS)
            times = rounds.interleaved(work, turns)
            off = max(
                abs(one - other)
                for here, there in zip(warm["this"][2], warm["other"][2], strict=True)
                for one, other in zip(here, there, strict=True)
            )
            fit, transform = ({name: min(found[step] for found in times[name]) for name in work} for step in (0, 1))
            rows.append([f"{shape_name(*shape)}, {kernel}", *cells(fit), *cells(transform), f"{off:.0e}"])
    imports = {name: [version.import_seconds() for _ in range(1)] for name, version in versions.items()}
    for _ in range(PROCESSES):
        for name, version in versions.items():
            imports[name].append(version.import_seconds())
    rows.append(
        ["import kdi.KDITransformer", *cells({name: min(found) for name, found in imports.items()}), *["–"] * 4]
    )
    return rows


def cells(seconds: dict[str, float]) -> list[str]:
    """Milliseconds of both, and the ratio."""
    this, other = seconds["this"], seconds["other"]
    return [number(1e3 * this), number(1e3 * other), f"{this / other:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("python", help="interpreter of an environment with another version of kdi")
    versions = {"this": Version(sys.executable), "other": Version(parser.parse_args().python)}
    header = ["", "fit", "other", "ratio", "transform", "other", "ratio", "largest difference"]
    try:
        table = Table("This version beside another, milliseconds", header, measure(versions))
    finally:
        for version in versions.values():
            version.close()
    print(table.plain())


if __name__ == "__main__":
    main()
