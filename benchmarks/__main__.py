"""``python -m benchmarks [names] [--quick] [--out DIR]``: measure, print, write JSON and Markdown."""

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import (
    clustering,
    cores,
    correlation,
    engines,
    explorer,
    gpu_tables,
    memory,
    options,
    paths,
    scaling,
    shares,
    sparse,
    speed,
    start,
    stream,
    tabpfn,
    threads,
    wide,
)
from benchmarks.machine import described, machine
from benchmarks.report import Table, target_table
from benchmarks.rounds import timed

BENCHMARKS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        *(speed, shares, options, memory, start, scaling, threads),
        *(paths, correlation, clustering, sparse, stream, engines, explorer),
    )
}
NAMED_ONLY = {"tabpfn": tabpfn, "wide": wide}  # other packages than those of `make bench`; minutes and 10 GB
CHOICES = BENCHMARKS | NAMED_ONLY
REPORTED = CHOICES | {"cores": cores, "gpu": gpu_tables}  # which run by themselves, on other machines
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    arguments = parse()
    out = arguments.out or (RESULTS / "quick" if arguments.quick else RESULTS)
    out.mkdir(parents=True, exist_ok=True)
    names = [name for name in CHOICES if name in arguments.names] or list(BENCHMARKS)
    for name in names:
        before = machine()
        seconds, results = timed(CHOICES[name].measure, arguments.quick)
        measured = {"machine": before, "quick": arguments.quick, "seconds": round(seconds), "results": results}
        (out / f"{name}.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: took {seconds:.0f} s", flush=True)
    for table in report_tables(out, names):
        print(f"\n{table.plain()}")
    # The summary covers every benchmark with figures in that folder, also those of an earlier run.
    (out / "results.md").write_text(summary(out))
    print(f"\nWritten to {out}: {', '.join(f'{name}.json' for name in names)}, results.md")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure kdi beside similar libraries.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"any of {', '.join(CHOICES)}; by default all but {', '.join(NAMED_ONLY)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller tables and fewer rounds, to check that everything runs"
    )
    parser.add_argument(
        "--out", type=Path, help="folder to write to (benchmarks/results, or its quick/ for a quick run)"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in CHOICES:
            parser.error(f"name must be one of {', '.join(CHOICES)}, got {name!r}")
    return arguments


def read(out: Path, name: str) -> dict[str, Any] | None:
    path = out / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def report_tables(out: Path, names: list[str]) -> list[Table]:
    """Make the tables of these benchmarks and, last, that of their targets, from the figures on disk."""
    tables, targets = [], []
    for name in names:
        if measured := read(out, name):
            tables += REPORTED[name].tables(measured["results"])
            targets += REPORTED[name].targets(measured["results"])
    return [*tables, target_table(targets)]


def summary(out: Path) -> str:
    """Make results.md from the figures on disk."""
    *tables, targets = report_tables(out, list(REPORTED))
    lines = ["# Benchmarks", "", "Written by `python -m benchmarks`; do not edit.", ""]
    for name in REPORTED:
        if measured := read(out, name):
            kind = " (quick run)" if measured["quick"] else ""
            lines.append(f"- {name}{kind}: {described(measured['machine'])}")
    return "\n\n".join(["\n".join(lines), *(table.markdown() for table in [targets, *tables])]) + "\n"


if __name__ == "__main__":
    main()
