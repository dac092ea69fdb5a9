"""``python -m experiments name|all [--quick|--full] [--out DIR]``: measure, print, draw, and say what holds.

An experiment is a module with these functions, of which the first two are always there:

- ``measure(size)`` gives rows, all with the same keys: they become DIR/name.csv. All else is made of what is read back
  from there, so that it follows from the rows;
- ``tables(rows)`` gives them to people: printed, and written to DIR/name.md;
- ``claims(rows)`` says what was claimed, what was found and whether it holds: a section of RESULTS.md, with ``RULES``,
  what its words mean;
- ``figures(rows)`` draws: DIR/name*.png and .svg.

Rows of tasks that say so are kept in DIR/.cache, and not measured again; without that folder all is measured anew.
"""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from types import ModuleType

from benchmarks.report import Table
from experiments import (
    classification,
    clustering,
    correlation,
    correlation_inference,
    limits,
    precision,
    regression,
    sample_size,
    small_data,
    tuning,
    wine,
)
from experiments.claims import markdown, plain, write_section
from experiments.datasets import NoArchive, WrongArchive
from experiments.drawing import save, style
from experiments.progress import Size, keeping
from experiments.rows import read_rows, write_rows

PAPER = (precision, wine, classification, regression, sample_size, small_data, correlation, clustering, limits)
BEYOND = (correlation_inference, tuning)
EXPERIMENTS: dict[str, ModuleType] = {module.__name__.rpartition(".")[2]: module for module in (*PAPER, *BEYOND)}
HERE = Path(__file__).parent.resolve()
RESULTS = HERE / "results"
LIBRARIES = ("kdi", "numpy", "scipy", "scikit-learn")


def main() -> None:
    arguments = parse()
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "usual"
    out = (arguments.out or (RESULTS / "quick" if arguments.quick else RESULTS)).resolve()
    out.mkdir(parents=True, exist_ok=True)
    names = list(EXPERIMENTS) if arguments.name == "all" else [arguments.name]
    for name in names:
        try:
            perform(name, size, out)
        except NoArchive as reason:
            if len(names) == 1:
                sys.exit(f"python -m experiments {name}: {reason}")
            print(f"Left out: {reason}", flush=True)  # the others do not need it
        except WrongArchive as reason:
            sys.exit(f"python -m experiments {name}: {reason}")
        except KeyboardInterrupt:
            sys.exit("Stopped. The same command goes on from here.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Reproduce the paper's figures and tables, and measure what kdi's statistics are worth.",
        epilog="What was measured is kept in DIR/.cache: a run that was stopped goes on where it was when the same "
        "command is given again. Remove that folder to measure anew.",
    )
    parser.add_argument("name", choices=["all", *EXPERIMENTS], metavar="name", help=", ".join(["all", *EXPERIMENTS]))
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="few simulations and little data, to see that all works")
    sizes.add_argument("--full", action="store_true", help="all data, however long it takes")
    parser.add_argument("--out", type=Path, help="where to write (experiments/results, or its quick/ for a quick run)")
    return parser.parse_args()


def perform(name: str, size: Size, out: Path) -> None:
    print(f"\n{title(name)}", flush=True)
    experiment, begin = EXPERIMENTS[name], perf_counter()
    with keeping(out / ".cache" / f"{name}.jsonl") as kept:
        measured = experiment.measure(size)
    took = f"{perf_counter() - begin:.0f} s"
    if kept.used:
        took += f", and {kept.used:.0f} s of tasks kept from earlier runs"
    write_rows(out / f"{name}.csv", measured)
    rows, written = read_rows(out / f"{name}.csv"), [f"{name}.csv", f"{name}.md"]
    head = written_by(name, size, took)
    parts = [f"# {title(name)}", head]
    if hasattr(experiment, "claims"):
        claims = experiment.claims(rows)
        print(f"\n{plain(claims)}\n\n{experiment.RULES}")
        judged = f"{markdown(claims)}\n\n{experiment.RULES}"
        parts.append(f"### Claims\n\n{judged}")
        # The committed page stands beside the code, that of any other run beside what it wrote.
        page = (HERE if out == RESULTS else out) / "RESULTS.md"
        link = f"[All numbers]({(out / name).relative_to(page.parent)}.md)."
        write_section(page, title(name), f"{head} {link}\n\n{judged}", map(title, EXPERIMENTS))
        written.append("RESULTS.md")
    tables = experiment.tables(rows)
    (out / f"{name}.md").write_text("\n\n".join([*parts, *map(Table.markdown, tables)]) + "\n", encoding="utf-8")
    if hasattr(experiment, "figures"):
        with style():
            written += save(out, experiment.figures(rows))
    for table in tables:
        print(f"\n{table.plain()}")
    print(f"\nTook {took}. Written to {out}: {', '.join(written)}", flush=True)


def title(name: str) -> str:
    return getattr(EXPERIMENTS[name], "TITLE", name.replace("_", " ").capitalize())


def written_by(name: str, size: Size, took: str) -> str:
    command = f"python -m experiments {name}" + f" --{size}" * (size != "usual")
    kind = " (too little data to read anything from)" if size == "quick" else ""
    libraries = (*LIBRARIES, *getattr(EXPERIMENTS[name], "LIBRARIES", ()))  # an experiment may name more
    versions = ", ".join(f"{library} {version(library)}" for library in libraries)
    return f"Written by `{command}`{kind}; do not edit. {versions}; {took}."


if __name__ == "__main__":
    main()
