"""kdi cluster: find the natural groups of one column, and write the table with the group of each row."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from kdi._clustering.clusters import ClusterOptions, Clusters, cluster_partitioned
from kdi._clustering.queries import assign_clusters
from kdi._numerics.kernels import get_kernel
from kdi._plots.style import new_figure
from kdi._sketch.partitions import PartitionedTable, sketch_for_alphas
from kdi._tables.sources import open_source
from kdi._tables.streams import TransformedStream
from kdi._utils.typing import Float64Array
from kdi.cli._drawing import plot_path, save_plot
from kdi.cli._errors import CommandError, error_context, print_error, write_stderr
from kdi.cli._inputs import Input, open_input
from kdi.cli._outputs import Output, check_paths_differ, print_text, standard_output
from kdi.cli._text import aligned, format_number, short

CLUSTER_HEADER = ["cluster", "from", "to", "center", "size", "depth"]
MAX_DRAWN = 200_000  # values that a plot represents a column by


def cluster(options: argparse.Namespace) -> None:
    """Print the groups of a column, write the table with the groups, and draw them."""
    column = options.column
    with open_input(options.input) as table:
        if options.output is None and options.format is not None:
            raise CommandError(f"--format {options.format} needs -o -, the table on standard output.")
        output = None if options.output is None else Output.from_options(options.output, options.format)
        path = None if output is None else output.path
        plot = plot_path(options.plot)
        check_paths_differ({"--output": path, "--plot": plot}, {})
        check_paths_differ({"--plot": plot}, {"the input": table.paths})
        if len(table.paths) > 1:
            check_paths_differ({"--output": path}, {"one of the inputs": table.paths})
        features = table.select_features([column], options.weights)
        label_column = f"{column}_cluster"
        if output is not None:
            table.check_format(output.file_format)
            if label_column in table.source.names:
                raise CommandError(
                    f"{table.title} already has a column {label_column!r}, which -o would add; rename it first."
                )
        partitions = table.partitions(features, options.weights)
        names = ("alpha", "bandwidth", "kernel", "order", "n_clusters", "min_size", "significance")
        cluster_options = ClusterOptions(**{name: getattr(options, name) for name in names})
        if table.shows_progress:
            print_error(f"reading {column!r} of {table.title}, several times")
        with error_context(table.title):
            found = cluster_partitioned(partitions, cluster_options)
        with save_plot(plot, lambda: _draw(found, partitions, column, options.weights is not None)):
            if output is not None:
                if table.shows_progress:
                    print_error(f"writing {output.title}")
                output.write(_add_labels(table, output, column, label_column, found))
            _print(found, stdout_is_used=output is not None and output.path is None)


def _print(found: Clusters, stdout_is_used: bool) -> None:
    """Print the clusters: aligned on a terminal, as CSV elsewhere, on stderr if stdout is used for the table."""
    if stdout_is_used:
        write_stderr(aligned(CLUSTER_HEADER, _rows(found, ".6g")))
    elif standard_output().isatty():
        print_text(aligned(CLUSTER_HEADER, _rows(found, ".6g")))
    else:
        print_text("".join(",".join(cells) + "\n" for cells in [CLUSTER_HEADER, *_rows(found, "")]))


def _rows(found: Clusters, form: str) -> list[list[str]]:
    """Format one row per cluster; its depth is that of the valley to its right."""
    edges = found.edges.tolist()
    columns = [edges[:-1], edges[1:], found.centers.tolist(), [*found.depths.tolist(), np.nan]]
    rows = [[format_number(value, form) for value in row] for row in zip(*columns, strict=True)]
    sizes = [f"{size:.15g}" for size in found.sizes.tolist()]
    return [[str(k), *row[:3], size, row[3]] for k, (row, size) in enumerate(zip(rows, sizes, strict=True))]


def _add_labels(table: Input, output: Output, column: str, label_column: str, found: Clusters) -> TransformedStream:
    """Add a column of cluster labels to the table, batch by batch; all other columns stay unchanged."""
    import pyarrow as pa
    import pyarrow.types as arrow_types

    from kdi._tables.arrow import as_floats
    from kdi._tables.files import numbers_from_text

    keep_text = output.file_format == "CSV"
    source = open_source(table.paths, numeric_columns=[] if keep_text else [column], keep_text=keep_text)
    schema = source.schema.append(pa.field(label_column, pa.int64()))
    place = source.names.index(column)

    def batches() -> Iterator[Any]:
        for batch in source.batches(table.shows_progress):
            values = batch.column(place)
            if arrow_types.is_string(values.type):  # the text of a CSV file
                values = numbers_from_text(values, pa.float64(), column)
            labels = pa.array(assign_clusters(as_floats(values).astype(float, copy=False), found.boundaries))
            yield pa.RecordBatch.from_arrays([*batch.columns, labels], schema=schema)

    return TransformedStream(batches(), schema, [])


def _draw(found: Clusters, partitions: PartitionedTable, column: str, weighted: bool) -> Any:
    """Draw the clusters, from a limited number of values that represent those of the column."""
    from kdi._plots.cluster_display import ClusterDisplay

    (sketch,) = sketch_for_alphas(partitions, get_kernel("polyexp"), np.ones_like).sketches
    places, mass = sketch.offsets + sketch.minimum, sketch.moments[:, 0]
    weights: Float64Array | None = mass
    n = min(sketch.count, MAX_DRAWN)
    is_exact = sketch.exponent is None
    if not (is_exact and weighted):  # otherwise the sketch has each value and its weight
        levels, below = (np.arange(n) + 0.5) * sketch.weight / n, np.cumsum(mass)
        places = places[np.searchsorted(below, levels)] if is_exact else np.interp(levels, below - mass / 2, places)
        weights = None if sketch.weight == n else np.full(n, sketch.weight / n)
    axes = new_figure(7, 4).subplots()
    ClusterDisplay(found, places, weights, column).plot(axes)
    if not weighted:
        axes.set_ylabel("values")
    if n < sketch.count:  # how many values lie outside of the axes is not known
        axes.set_xlabel(short(column, 60), parse_math=False)
    return axes.figure
