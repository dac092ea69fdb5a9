"""``python -m experiments name [--quick] [--out DIR]``: simulate, print, write CSV and Markdown.

An experiment is a module with two functions: ``measure(quick)`` gives rows, all with the same keys, and
``tables(rows)`` gives them to people. Rows of tasks that say so are kept in DIR/.cache, and not measured again after a
run that was stopped; without that folder all is measured anew.
"""

import argparse
import csv
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

from benchmarks.report import Table
from experiments import clustering, correlation_inference, tuning
from experiments.progress import keeping

EXPERIMENTS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module for module in (correlation_inference, clustering, tuning)
}
RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("kdi", "numpy", "scipy", "scikit-learn")


def main() -> None:
    arguments = parse()
    out = arguments.out or (RESULTS / "quick" if arguments.quick else RESULTS)
    out.mkdir(parents=True, exist_ok=True)
    experiment = EXPERIMENTS[arguments.name]
    begin = perf_counter()
    with keeping(out / ".cache" / f"{arguments.name}.jsonl") as kept:
        rows = experiment.measure(arguments.quick)
    took = f"{perf_counter() - begin:.0f} s" + ", after an earlier run that was stopped" * kept.used
    tables = experiment.tables(rows)
    write_rows(out / f"{arguments.name}.csv", rows)
    page = report(arguments.name, arguments.quick, took, tables)
    (out / f"{arguments.name}.md").write_text(page, encoding="utf-8")
    for table in tables:
        print(f"\n{table.plain()}")
    print(f"\nTook {took}. Written to {out}: {arguments.name}.csv, {arguments.name}.md")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description="Measure what kdi's statistics are worth."
    )
    parser.add_argument("name", choices=EXPERIMENTS, help="the experiment")
    parser.add_argument("--quick", action="store_true", help="few simulations, to see that all works")
    parser.add_argument("--out", type=Path, help="where to write (experiments/results, or its quick/ for a quick run)")
    return parser.parse_args()


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def report(name: str, quick: bool, took: str, tables: list[Table]) -> str:
    title = name.replace("_", " ").capitalize()
    kind = " (a quick run: too few simulations to read anything from)" if quick else ""
    libraries = (*LIBRARIES, *getattr(EXPERIMENTS[name], "LIBRARIES", ()))  # an experiment may name more
    versions = ", ".join(f"{library} {version(library)}" for library in libraries)
    head = f"# {title}\n\nWritten by `python -m experiments {name}`{kind}; do not edit. {versions}; {took}."
    return "\n\n".join([head, *(table.markdown() for table in tables)]) + "\n"


if __name__ == "__main__":
    main()
