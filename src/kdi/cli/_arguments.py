"""What can be written after `kdi`: commands, options, and help with examples.

The modules of the commands are imported when one of them runs, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from math import inf
from textwrap import fill
from typing import Any, NoReturn

from kdi._version import __version__
from kdi.cli._choices import ALPHA, BANDWIDTH, alpha_text, as_bandwidth, as_rule, limited
from kdi.cli._errors import message_line, print_error

DESCRIPTION = """The kernel density integral transformation: feature scaling
between min-max and quantiles.

Tables are CSV (.csv, .csv.gz) or Parquet (.parquet, .pq) files of any size;
- is standard input or output."""
ENDING = """Exit codes: 0 done, 1 it could not be done, 2 wrong usage, 130 interrupted.
kdi COMMAND --help has examples.
"""
TABLE = "files or globs of one table, all CSV or all Parquet; - is standard input"
COUNT = limited(int, lambda value: value >= 1, "a whole number >= 1")
SIZE = limited(float, lambda value: 0 <= value < inf, "a number >= 0")
LEVEL = limited(float, lambda value: 0 < value < 1, "a number between 0 and 1")
EXAMPLES = {
    "transform": """
  kdi transform houses.csv -o scaled.csv
  kdi transform houses.csv -o scaled.parquet --save model.json
  kdi transform houses.csv -o scaled.csv --columns income,rooms --alpha rooms=0.3
  kdi transform 'parts/*.parquet' -o scaled.parquet --weights households
  cat houses.csv | kdi transform - -o - --alpha 0.5 > scaled.csv""",
    "apply": """
  kdi apply model.json new.csv -o new_scaled.csv
  cat new.csv | kdi apply model.json - | head -3""",
    "inverse": """
  kdi inverse model.json scaled.csv -o back.csv""",
    "corr": """
  kdi corr houses.csv
  kdi corr houses.csv --compare --plot correlations.png
  kdi corr houses.csv --columns income,rooms --alpha 0 -o spearman.csv""",
    "cluster": """
  kdi cluster houses.csv --column income
  kdi cluster houses.csv --column income --n-clusters 2 -o labelled.csv
  kdi cluster houses.csv --column income --significance 0.05 --plot clusters.png""",
    "explore": """
  kdi explore houses.csv -o houses.html
  kdi explore 'parts/*.parquet' -o parts.html --columns income,rooms --title 'Houses in parts'""",
    "demo": """
  kdi demo
  kdi demo -o somewhere/else""",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose options are written out."""

    def __init__(self, **options: Any) -> None:
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"allow_abbrev": False, "formatter_class": form, **options})

    def error(self, message: str) -> NoReturn:
        print_error(f"{message_line(message).removesuffix('.')}; {self.prog} --help shows what there is.")
        raise SystemExit(2)


def _run(module: str, function: str, options: argparse.Namespace) -> None:
    """Call a function of a module that is imported only then."""
    getattr(import_module(f"kdi.cli._{module}"), function)(options)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command, and as `run` what carries it out."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _parser() -> Parser:
    parser = Parser(prog="kdi", description=DESCRIPTION, epilog=ENDING)
    parser.add_argument("--version", action="version", version=f"kdi {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, module: str, short: str, long: str) -> Parser:
        added = commands.add_parser(name, help=short, description=fill(long, 79), epilog=f"examples:{EXAMPLES[name]}\n")
        added.set_defaults(run=partial(_run, module, name), parser=added)
        return added

    _add_transform(
        command(
            "transform",
            "transforming",
            "learn the transformation of a table, and transform it",
            "Map each numeric column to [0, 1]; other columns pass through, and rows keep their order.",
        )
    )
    for name, short, long in (
        ("apply", "transform a table with a saved model", "Transform a table with a model that was saved."),
        ("inverse", "turn a transformed table back", "Turn a table that was transformed back into values."),
    ):
        _add_map(command(name, "transforming", short, f"{long} Columns are found by name, others pass through."))
    _add_corr(
        command(
            "corr",
            "correlating",
            "correlations between Pearson's and Spearman's",
            "Kernel density integral correlations of the numeric columns: the matrix, or pair by pair.",
        )
    )
    _add_cluster(
        command(
            "cluster",
            "clustering",
            "natural groups of one column",
            "Cut a column where its values are sparse: prints where each group lies, its size, and how deep the "
            "valley at its right is. With -o, writes the table with the group of each row, counted from 0; -1 is a "
            "missing value.",
        )
    )
    _add_explore(
        command(
            "explore",
            "exploring",
            "a table as one page of HTML",
            "Write a page that shows every numeric column before and after, at every alpha, and their correlations. It "
            "is one file, needs no network, and holds sketches of the columns, no rows.",
        )
    )
    demo = command(
        "demo",
        "demonstrating",
        "all of this on California housing",
        "Run the commands on a table that comes with the package, and say what they wrote.",
    )
    demo.add_argument("-o", "--output", metavar="DIR", default="kdi-demo", help="folder (default: %(default)s)")
    return parser


def _add_transform(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=TABLE)
    _add_output(parser)
    _add_columns(parser, "to transform")
    _add_alpha(parser)
    parser.add_argument("--normal", action="store_true", help="map to a normal distribution instead of [0, 1]")
    parser.add_argument(
        "--out-of-range",
        choices=["clip", "linear", "nan"],
        default="clip",
        help="what the saved model does to values beyond those seen: clip them (default), go on in a straight line, "
        "leave them empty",
    )
    parser.add_argument("--save", metavar="MODEL.json", help="save the model, for apply and inverse")


def _add_map(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL.json", help="what kdi transform --save or to_json wrote")
    parser.add_argument("input", nargs="+", metavar="INPUT", help=TABLE)
    _add_output(parser)


def _add_corr(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=TABLE)
    parser.add_argument("--compare", action="store_true", help="each pair with Pearson, Spearman and KD-integral")
    _add_output(parser)
    _add_plot(parser)
    _add_columns(parser, "to correlate")
    _add_alpha(parser)


def _add_cluster(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=TABLE)
    parser.add_argument("--column", required=True, metavar="NAME", help="the column to cluster")
    _add_output(parser, default=None)
    _add_plot(parser)
    _add_weights(parser)
    parser.add_argument("--alpha", type=as_rule, default=1.0, help=f"{ALPHA} (default: 1)")
    _add_kernel(parser)
    parser.add_argument(
        "--bandwidth",
        type=as_bandwidth,
        default="scott",
        help=f"of the density whose valleys are sought, {BANDWIDTH}; smaller ones find more groups (default: scott)",
    )
    parser.add_argument("--n-clusters", type=COUNT, metavar="N", help="exactly so many groups")
    parser.add_argument(
        "--min-size",
        type=SIZE,
        metavar="SIZE",
        help="groups of fewer values, or of a smaller share where SIZE is below 1, join a neighbour",
    )
    parser.add_argument(
        "--significance", type=LEVEL, metavar="LEVEL", help="close valleys that chance would make, as at 0.05"
    )


def _add_explore(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=TABLE)
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html", help="the page; - is standard output")
    _add_columns(parser, "to show")
    parser.add_argument("--title", help="heading of the page (default: the name of the file)")


def _add_output(parser: Parser, default: str | None = "-") -> None:
    ending = "" if default is None else " (default: -)"
    parser.add_argument("-o", "--output", default=default, metavar="FILE", help=f"table to write; - is stdout{ending}")
    parser.add_argument("--format", choices=["csv", "parquet"], help="of standard output (default: csv)")


def _add_plot(parser: Parser) -> None:
    parser.add_argument("--plot", metavar="PICTURE", help="draw a picture: .png, .pdf or .svg")


def _add_columns(parser: Parser, what: str) -> None:
    parser.add_argument(
        "--columns",
        action="append",
        metavar="NAMES",
        help=f"columns {what}, with commas between them (default: all that are numeric); may be repeated",
    )
    _add_weights(parser)


def _add_weights(parser: Parser) -> None:
    parser.add_argument("--weights", metavar="NAME", help="column with the weight of each row: 2 counts twice")


def _add_alpha(parser: Parser) -> None:
    parser.add_argument(
        "--alpha",
        action="append",
        type=alpha_text,
        metavar="ALPHA|NAME=ALPHA",
        help=f"{ALPHA}; 0 is quantiles, inf is min-max (default: 1). NAME=ALPHA,… is for single columns; may be "
        "repeated",
    )
    _add_kernel(parser)


def _add_kernel(parser: Parser) -> None:
    parser.add_argument("--kernel", choices=["polyexp", "gaussian"], default="polyexp", help="(default: %(default)s)")
