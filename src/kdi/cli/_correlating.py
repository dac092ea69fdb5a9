"""kdi corr: correlate the columns of a table, as a matrix or pair by pair."""

from __future__ import annotations

import argparse
from math import isnan
from typing import Any

from kdi._correlation.comparison import compare_partitioned
from kdi._correlation.partitioned_matrix import corr_partitioned
from kdi._plots.style import new_figure
from kdi._utils.names import format_names
from kdi._utils.typing import Float64Array
from kdi.cli._choices import parse_alpha, parse_columns
from kdi.cli._drawing import draw_matrix, plot_path, save_plot
from kdi.cli._errors import CommandError, error_context, print_error, print_note
from kdi.cli._inputs import open_input
from kdi.cli._outputs import Output, check_paths_differ, print_text, standard_output
from kdi.cli._text import aligned, format_number, short

COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kdi": "KD-integral"}


def corr(options: argparse.Namespace) -> None:
    """Print or write correlations, and draw them."""
    with open_input(options.input) as table:
        import pyarrow as pa

        output = Output.from_options(options.output, options.format)
        plot = plot_path(options.plot)
        check_paths_differ({"--output": output.path, "--plot": plot}, {"the input": table.paths})
        features = table.select_features(
            parse_columns(options.columns, table.source.names), options.weights, "left out"
        )
        if options.compare and len(features) < 2:
            raise CommandError(f"--compare needs at least two numeric columns, got only {features[0]!r}.")
        alpha, kernel, order = parse_alpha(options.alpha, features), options.kernel, options.order
        if table.shows_progress:
            print_error(f"reading {table.title}, several times")
        correlate: Any = compare_partitioned if options.compare else corr_partitioned
        with error_context(table.title, features):
            found = correlate(table.partitions(features, options.weights), alpha=alpha, kernel=kernel, order=order)
        undefined = _undefined_in_pairs(found) if options.compare else _undefined_in_matrix(features, found)
        if undefined:
            print_note(
                f"no correlation is defined for {format_names(undefined)}: it needs rows with different values in both "
                "columns."
            )
        with save_plot(plot, lambda: _draw_pairs(found) if options.compare else draw_matrix(features, found)):
            if output.path is None and output.file_format == "CSV" and standard_output().isatty():
                print_text(pair_text(found) if options.compare else _matrix_text(features, found))
            else:
                output.write_table(pa.table(found if options.compare else _matrix(features, found)))


def _undefined_in_matrix(features: list[str], matrix: Float64Array) -> list[str]:
    """Return the columns that have no correlation, not even with themselves."""
    return [name for name, value in zip(features, matrix.diagonal().tolist(), strict=True) if isnan(value)]


def _undefined_in_pairs(pairs: dict[str, Any]) -> list[str]:
    """Return the columns that have no correlation with any other."""
    lines = list(zip(pairs["first"], pairs["second"], pairs["kdi"], strict=True))
    some = {name for *pair, value in lines if not isnan(value) for name in pair}
    return [name for name in dict.fromkeys(name for *pair, _ in lines for name in pair) if name not in some]


def _matrix(features: list[str], matrix: Float64Array) -> dict[str, Any]:
    """Return the matrix as a table whose first column names the rows."""
    first = "column"
    while first in features:
        first += "_"
    return {first: features} | dict(zip(features, matrix.T, strict=True))


def _matrix_text(features: list[str], matrix: Float64Array) -> str:
    names = [short(name, 16) for name in features]
    rows = [
        [name, *(format_number(value, ".3f") for value in row)]
        for name, row in zip(names, matrix.tolist(), strict=True)
    ]
    return aligned(["", *names], rows)


def pair_text(pairs: dict[str, Any]) -> str:
    """Format one line per pair of columns."""
    names = zip(pairs["first"], pairs["second"], strict=True)
    values = zip(*(pairs[name] for name in COEFFICIENTS), strict=True)
    rows = [
        [*map(short, pair), *(format_number(value, ".3f") for value in row)]
        for pair, row in zip(names, values, strict=True)
    ]
    return aligned(["", "", *COEFFICIENTS.values()], rows, left=2)


def _draw_pairs(pairs: dict[str, Any]) -> Any:
    from kdi._plots.correlation_display import CorrelationDisplay

    axes = new_figure(5.5, 5.5).subplots()
    shown = {name: [short(one) for one in column] for name, column in pairs.items() if name in ("first", "second")}
    CorrelationDisplay(pairs | shown).plot(axes)
    return axes.figure
