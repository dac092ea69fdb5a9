"""kdi corr: the correlations of a table's columns, as a matrix or pair by pair."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kdi._typing import Floats
from kdi.cli.choices import as_alpha
from kdi.cli.drawing import draw_matrix, new_axes, picture
from kdi.cli.errors import Refusal, about, say
from kdi.cli.inputs import opened
from kdi.cli.outputs import Output, print_text, refuse_the_same
from kdi.cli.text import aligned, digits, short
from kdi.comparison import compare_parts
from kdi.matrix_parts import corr_parts

COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kdi": "KD-integral"}


def corr(options: argparse.Namespace) -> None:
    """Print or write correlations, and draw them."""
    import pyarrow as pa

    with opened(options.input) as table:
        output = Output.of(options.output, options.format)
        with picture(options.plot) as plot:
            refuse_the_same({"--output": output.path, "--plot": plot.path}, {"the input": table.paths})
            features = table.features(options.columns, options.weights, "left out")
            if options.compare and len(features) < 2:
                raise Refusal(f"--compare needs at least two numeric columns, got {features[0]!r} alone.")
            how = {"alpha": as_alpha(options.alpha, features), "kernel": options.kernel}
            parts = table.parts(features, options.weights)
            if table.shows_progress:
                say(f"reading {table.title}, several times")
            on_terminal = output.path is None and output.kind == "CSV" and sys.stdout.isatty()
            with about(table.title):
                if options.compare:
                    pairs = compare_parts(parts, **how)
                    text, columns = _pair_text(pairs) if on_terminal else "", pairs
                else:
                    matrix = corr_parts(parts, **how)[0]
                    text, columns = _matrix_text(features, matrix) if on_terminal else "", _matrix(features, matrix)
            if plot.path is not None:
                plot.save(_draw_pairs(pairs) if options.compare else draw_matrix(features, matrix))
            if on_terminal:
                print_text(text)
            else:
                output.write_table(pa.table(columns))


def _matrix(features: list[str], matrix: Floats) -> dict[str, Any]:
    """The matrix as a table, whose first column says which row it is."""
    first = "column"
    while first in features:
        first += "_"
    return {first: features} | dict(zip(features, matrix.T, strict=True))


def _matrix_text(features: list[str], matrix: Floats) -> str:
    names = [short(name, 16) for name in features]
    rows = [[name, *(digits(value, ".3f") for value in row)] for name, row in zip(names, matrix.tolist(), strict=True)]
    return aligned(["", *names], rows)


def _pair_text(pairs: dict[str, Any]) -> str:
    names = zip(pairs["first"], pairs["second"], strict=True)
    values = zip(*(pairs[name] for name in COEFFICIENTS), strict=True)
    rows = [
        [*map(short, pair), *(digits(value, ".3f") for value in row)] for pair, row in zip(names, values, strict=True)
    ]
    return aligned(["", "", *COEFFICIENTS.values()], rows, left=2)


def _draw_pairs(pairs: dict[str, Any]) -> Any:
    from kdi.plotting import CorrelationDisplay

    axes = new_axes((5.5, 5.5))
    shown = {name: [short(one) for one in column] for name, column in pairs.items() if name in ("first", "second")}
    CorrelationDisplay(pairs | shown).plot(axes)
    return axes.figure
