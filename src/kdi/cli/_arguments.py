"""The parser of the command line: commands, options, and help with examples.

The module of a command is imported when the command runs, so that help and usage errors are fast.
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
from kdi.cli._choices import ALPHA, BANDWIDTH, check_alpha, number_type, parse_bandwidth, parse_factor
from kdi.cli._errors import message_line, print_error

DESCRIPTION = """The kernel density integral transformation: feature scaling
between min-max and quantiles.

Tables are CSV (.csv, .csv.gz) or Parquet (.parquet, .pq) files of any size;
- is standard input or output."""
EPILOG = """Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
kdi COMMAND --help shows examples.
"""
INPUTS = "files or globs that make up one table, all CSV or all Parquet; - is standard input"
ORDER = number_type(int, lambda value: 1 <= value <= 300, "an integer from 1 to 300")
COUNT = number_type(int, lambda value: value >= 1, "an integer >= 1")
SIZE = number_type(float, lambda value: 0 <= value < inf, "a number >= 0")
LEVEL = number_type(float, lambda value: 0 < value < 1, "a number between 0 and 1")
FINITE = number_type(float, lambda value: -inf < value < inf, "a finite number")
EXAMPLES = {
    "transform": """
  kdi transform houses.csv -o scaled.csv
  kdi transform houses.csv -o scaled.parquet --save model.json
  kdi transform houses.csv -o scaled.csv --columns income,rooms --alpha rooms=0.3
  kdi transform houses.csv -o scaled.csv --normal --unbounded --spread robust
  kdi transform houses.csv -o scaled.csv --feature-range -1 1
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
  kdi explore 'parts/*.parquet' -o houses.html --columns income,rooms --title 'All houses'""",
    "demo": """
  kdi demo
  kdi demo -o somewhere/else""",
}


class Parser(argparse.ArgumentParser):
    """A parser that prints errors as one line and does not accept abbreviated options."""

    def __init__(self, **options: Any) -> None:
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"allow_abbrev": False, "formatter_class": form, **options})

    def error(self, message: str) -> NoReturn:
        print_error(f"{message_line(message).removesuffix('.')}; {self.prog} --help shows the usage.")
        raise SystemExit(2)


def _run(module: str, function: str, options: argparse.Namespace) -> None:
    """Import the module of a command, and call its function."""
    getattr(import_module(f"kdi.cli._{module}"), function)(options)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options of a command; their attribute `run` carries the command out."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _parser() -> Parser:
    parser = Parser(prog="kdi", description=DESCRIPTION, epilog=EPILOG)
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
            "fit the transformation to a table, and transform the table",
            "Map each numeric column to [0, 1]. Other columns pass through unchanged, and rows keep their order.",
        )
    )
    for name, short, long in (
        ("apply", "transform a table with a saved model", "Transform a table with a saved model."),
        ("inverse", "map a transformed table back", "Map a transformed table back to the original values."),
    ):
        long += " Columns are found by name; other columns pass through unchanged."
        _add_map(command(name, "transforming", short, long))
    _add_corr(
        command(
            "corr",
            "correlating",
            "correlations between Pearson's and Spearman's",
            "Kernel density integral correlations of the numeric columns, as a matrix or pair by pair.",
        )
    )
    _add_cluster(
        command(
            "cluster",
            "clustering",
            "natural groups of one column",
            "Split a column where its values are sparse. Prints the range and the size of each group, and the depth of "
            "the valley to its right. With -o, also writes the table with the group of each row, numbered from 0; -1 "
            "is a missing value.",
        )
    )
    _add_explore(
        command(
            "explore",
            "exploring",
            "a table as one HTML page",
            "Write a page that shows every numeric column before and after the transformation, at every alpha, and all "
            "correlations. It is a single file, needs no network, and contains sketches of the columns, not rows.",
        )
    )
    demo = command(
        "demo",
        "demonstrating",
        "all commands on California housing",
        "Run the commands on a table that is included in the package, and list the files that they wrote.",
    )
    demo.add_argument("-o", "--output", metavar="DIR", default="kdi-demo", help="folder (default: %(default)s)")
    return parser


def _add_transform(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=INPUTS)
    _add_output(parser)
    _add_columns(parser, "to transform")
    _add_alpha(parser)
    parser.add_argument(
        "--spread",
        choices=["std", "robust"],
        default="std",
        help="what alpha is in units of: the standard deviation (default), or the smaller of it and the interquartile "
        "range divided by 1.349, which a few far values do not change",
    )
    parser.add_argument("--normal", action="store_true", help="map to a normal distribution instead of [0, 1]")
    parser.add_argument(
        "--feature-range",
        nargs=2,
        type=FINITE,
        metavar=("MIN", "MAX"),
        help="map to [MIN, MAX] instead of [0, 1]; not with --normal",
    )
    parser.add_argument(
        "--unbounded",
        action="store_true",
        help="integrate from minus infinity: no value is out of range, and --normal has no spikes at the extremes; "
        "not with alpha = inf",
    )
    parser.add_argument(
        "--out-of-range",
        choices=["clip", "linear", "nan"],
        default="clip",
        help="how the saved model treats values outside the fitted range: clip them (default), extrapolate linearly, "
        "or leave them empty",
    )
    parser.add_argument("--save", metavar="MODEL.json", help="save the model, for apply and inverse")


def _add_map(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL.json", help="file written by kdi transform --save or to_json")
    parser.add_argument("input", nargs="+", metavar="INPUT", help=INPUTS)
    _add_output(parser)


def _add_corr(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=INPUTS)
    parser.add_argument("--compare", action="store_true", help="Pearson, Spearman and KD-integral, pair by pair")
    _add_output(parser)
    _add_plot(parser)
    _add_columns(parser, "to correlate")
    _add_alpha(parser)


def _add_cluster(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=INPUTS)
    parser.add_argument("--column", required=True, metavar="NAME", help="the column to cluster")
    _add_output(parser, default=None)
    _add_plot(parser)
    _add_weights(parser)
    parser.add_argument("--alpha", type=parse_factor, default=1.0, help=f"{ALPHA} (default: 1)")
    _add_kernel(parser)
    parser.add_argument(
        "--bandwidth",
        type=parse_bandwidth,
        default="scott",
        help=f"bandwidth of the density whose valleys separate groups: {BANDWIDTH}; smaller values find more groups "
        "(default: scott)",
    )
    parser.add_argument("--n-clusters", type=COUNT, metavar="N", help="exact number of groups")
    parser.add_argument(
        "--min-size",
        type=SIZE,
        metavar="SIZE",
        help="groups with fewer values, or with a smaller share of them if SIZE is below 1, join a neighbour",
    )
    parser.add_argument(
        "--significance",
        type=LEVEL,
        metavar="LEVEL",
        help="close valleys that are not significant at LEVEL, such as 0.05",
    )


def _add_explore(parser: Parser) -> None:
    parser.add_argument("input", nargs="+", metavar="INPUT", help=INPUTS)
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html", help="the page; - is standard output")
    _add_columns(parser, "to show")
    parser.add_argument("--title", help="heading of the page (default: name of the file)")


def _add_output(parser: Parser, default: str | None = "-") -> None:
    suffix = "" if default is None else " (default: -)"
    parser.add_argument("-o", "--output", default=default, metavar="FILE", help=f"table to write; - is stdout{suffix}")
    parser.add_argument("--format", choices=["csv", "parquet"], help="format of standard output (default: csv)")


def _add_plot(parser: Parser) -> None:
    parser.add_argument("--plot", metavar="FILE", help="draw a plot: .png, .pdf or .svg")


def _add_columns(parser: Parser, purpose: str) -> None:
    parser.add_argument(
        "--columns",
        action="append",
        metavar="NAMES",
        help=f"columns {purpose}, separated by commas (default: all numeric columns); may be repeated",
    )
    _add_weights(parser)


def _add_weights(parser: Parser) -> None:
    parser.add_argument("--weights", metavar="NAME", help="column with one weight per row: 2 counts twice")


def _add_alpha(parser: Parser) -> None:
    parser.add_argument(
        "--alpha",
        action="append",
        type=check_alpha,
        metavar="ALPHA|NAME=ALPHA",
        help=f"{ALPHA}; 0 is quantiles, inf is min-max (default: 1). NAME=ALPHA,… sets it for single columns; may be "
        "repeated",
    )
    _add_kernel(parser)


def _add_kernel(parser: Parser) -> None:
    parser.add_argument("--kernel", choices=["polyexp", "gaussian"], default="polyexp", help="(default: %(default)s)")
    parser.add_argument(
        "--order", type=ORDER, metavar="N", default=4, help="order of polyexp, from 1 to 300 (default: %(default)s)"
    )
