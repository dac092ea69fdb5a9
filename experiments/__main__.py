"""``python -m experiments name|all [--quick|--full|--pages] [--out DIR]``: measure, print, draw, and judge claims.

An experiment is a module with these functions, of which the first two are required:

- ``measure(size)`` returns rows with the same keys, which are written to DIR/name.csv. Everything else is made from the
  rows read back from there, so that it follows from them;
- ``tables(rows)`` returns tables, which are printed and written to DIR/name.md;
- ``claims(rows)`` returns what was claimed, what was found and whether it holds: a section of RESULTS.md, with
  ``RULES``, which defines its terms;
- ``headline(rows)`` returns the first line of the page;
- ``figures(rows)`` draws figures, which are written to DIR/name*.png and .svg.

Rows of tasks with a key are cached in DIR/.cache and not measured again; without that folder all is measured anew.
"""

import argparse
import re
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
    networks,
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
from experiments.libraries import NotInstalled
from experiments.progress import Size, cached_rows
from experiments.rows import read_rows, write_rows

PAPER = (precision, wine, classification, regression, sample_size, small_data, correlation, clustering, limits)
BEYOND = (correlation_inference, tuning, networks)
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
    if arguments.pages:
        for name in names:
            rewrite_pages(name, out)
        return
    for name in names:
        try:
            perform(name, size, out)
        except (NoArchive, NotInstalled) as reason:
            if len(names) == 1:
                sys.exit(f"python -m experiments {name}: {reason}")
            print(f"Left out: {reason}", flush=True)  # the other experiments do not need it
        except WrongArchive as reason:
            sys.exit(f"python -m experiments {name}: {reason}")
        except KeyboardInterrupt:
            sys.exit("Stopped. The same command goes on from here.")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Reproduce the paper's figures and tables, and measure how good kdi's statistics are.",
        epilog="Measured rows are cached in DIR/.cache: a run that was stopped goes on where it was when the same "
        "command is given again. Remove that folder to measure anew.",
    )
    parser.add_argument("name", choices=["all", *EXPERIMENTS], metavar="name", help=", ".join(["all", *EXPERIMENTS]))
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick", action="store_true", help="few simulations and little data, to check that everything runs"
    )
    sizes.add_argument("--full", action="store_true", help="all data, however long it takes")
    sizes.add_argument("--pages", action="store_true", help="only write the pages anew, from the rows in DIR")
    parser.add_argument(
        "--out", type=Path, help="folder to write to (experiments/results, or its quick/ for a quick run)"
    )
    return parser.parse_args()


def perform(name: str, size: Size, out: Path) -> None:
    """Run one experiment and write its rows, pages and figures."""
    print(f"\n{title(name)}", flush=True)
    experiment, begin = EXPERIMENTS[name], perf_counter()
    with cached_rows(out / ".cache" / f"{name}.jsonl") as cache:
        measured = experiment.measure(size)
    took = f"{perf_counter() - begin:.0f} s"
    if cache.seconds_saved:
        took += f", and {cache.seconds_saved:.0f} s of tasks kept from earlier runs"
    write_rows(out / f"{name}.csv", measured)
    written = [f"{name}.csv", *write_pages(name, written_by(name, size, took), out)]
    if hasattr(experiment, "figures"):
        with style():
            written += save(out, experiment.figures(read_rows(out / f"{name}.csv")))
    print(f"\nTook {took}. Written to {out}: {', '.join(written)}", flush=True)


def rewrite_pages(name: str, out: Path) -> None:
    """Write the pages of an experiment anew from its rows; the line that names the run stays as it is."""
    (head,) = re.findall("^Written by .*", (out / f"{name}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    write_pages(name, head, out)


def write_pages(name: str, head: str, out: Path) -> list[str]:
    """Print and write the claims and tables that follow from the rows; return the names of the files."""
    experiment, rows = EXPERIMENTS[name], read_rows(out / f"{name}.csv")
    written, parts = [f"{name}.md"], [f"# {title(name)}", head]
    if hasattr(experiment, "headline"):
        parts.insert(1, experiment.headline(rows))
    if hasattr(experiment, "claims"):
        claims = experiment.claims(rows)
        print(f"\n{plain(claims)}\n\n{experiment.RULES}")
        judged = f"{markdown(claims)}\n\n{experiment.RULES}"
        parts.append(f"### Claims\n\n{judged}")
        # The committed page lies beside the code, that of any other run beside its results.
        page = (HERE if out == RESULTS else out) / "RESULTS.md"
        link = f"[All numbers]({(out / name).relative_to(page.parent)}.md)."
        write_section(page, title(name), f"{head} {link}\n\n{judged}", map(title, EXPERIMENTS))
        written.append("RESULTS.md")
    tables = experiment.tables(rows)
    (out / f"{name}.md").write_text("\n\n".join([*parts, *map(Table.markdown, tables)]) + "\n", encoding="utf-8")
    for table in tables:
        print(f"\n{table.plain()}")
    return written


def title(name: str) -> str:
    return getattr(EXPERIMENTS[name], "TITLE", name.replace("_", " ").capitalize())


def written_by(name: str, size: Size, took: str) -> str:
    command = f"python -m experiments {name}" + f" --{size}" * (size != "usual")
    kind = " (too little data for conclusions)" if size == "quick" else ""
    libraries = (*LIBRARIES, *getattr(EXPERIMENTS[name], "LIBRARIES", ()))  # an experiment may name more
    versions = ", ".join(f"{library} {version(library)}" for library in libraries)
    return f"Written by `{command}`{kind}; do not edit. {versions}; {took}."


if __name__ == "__main__":
    main()
