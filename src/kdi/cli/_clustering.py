"""kdi cluster: the natural groups of one column, and the table with the group of each row."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from kdi._clustering.clusters import Clusters, cluster_partitioned
from kdi._clustering.queries import assign_clusters
from kdi._numerics.kernels import get_kernel
from kdi._sketch.partitions import PartitionedTable, sketch_for_alphas
from kdi._tables.sources import open_source
from kdi._tables.streams import TransformedStream
from kdi._utils.typing import Float64Array
from kdi.cli._drawing import new_figure, picture_beside, picture_path
from kdi.cli._errors import CommandError, error_context, print_error, write_stderr
from kdi.cli._inputs import Input, open_input
from kdi.cli._outputs import Output, check_paths_differ, print_text, standard_output
from kdi.cli._text import aligned, digits, short

HEADER = ["cluster", "from", "to", "center", "size", "depth"]
DRAWN = 200_000  # values that stand for those of a column in its picture


def cluster(options: argparse.Namespace) -> None:
    """Print the groups of a column, write the table with them, draw them."""
    column = options.column
    with open_input(options.input) as table:
        if options.output is None and options.format is not None:
            raise CommandError(f"--format {options.format} is for the table that -o writes, and there is no -o.")
        output = None if options.output is None else Output.of(options.output, options.format)
        path = None if output is None else output.path
        plot = picture_path(options.plot)
        check_paths_differ({"--output": path, "--plot": plot}, {})
        check_paths_differ({"--plot": plot}, {"the input": table.paths})
        if len(table.paths) > 1:
            check_paths_differ({"--output": path}, {"one of the inputs": table.paths})
        features = table.features([column], options.weights)
        added = f"{column}_cluster"
        if output is not None:
            table.check_output(output.kind)
        if output is not None and added in table.source.names:
            raise CommandError(f"{table.title} has a column {added!r} already, which --output would add.")
        parts = table.parts(features, options.weights)
        how = {name: getattr(options, name) for name in ("alpha", "bandwidth", "kernel", "n_clusters", "min_size")}
        if table.shows_progress:
            print_error(f"reading {column!r} of {table.title}, several times")
        with error_context(f"column {column!r} of {table.title}"):
            found = cluster_partitioned(parts, **how, significance=options.significance)
        with picture_beside(plot, lambda: _draw(found, parts, column, options.weights is not None)):
            if output is not None:
                if table.shows_progress:
                    print_error(f"writing {output.title}")
                output.write(_labelled(table, output, column, added, found))
            _print(found, beside_a_table=output is not None and output.path is None)


def _print(found: Clusters, beside_a_table: bool) -> None:
    """The clusters: aligned for people, CSV for programs."""
    if beside_a_table:
        write_stderr(aligned(HEADER, _rows(found, ".6g")))
    elif standard_output().isatty():
        print_text(aligned(HEADER, _rows(found, ".6g")))
    else:
        print_text("".join(",".join(cells) + "\n" for cells in [HEADER, *_rows(found, "")]))


def _rows(found: Clusters, form: str) -> list[list[str]]:
    """A row for each cluster; the depth is that of the valley at its right."""
    edges = found.edges.tolist()
    columns = [edges[:-1], edges[1:], found.centers.tolist(), [*found.depths.tolist(), np.nan]]
    rows = [[digits(value, form) for value in row] for row in zip(*columns, strict=True)]
    sizes = [f"{size:.15g}" for size in found.sizes.tolist()]
    return [[str(k), *row[:3], size, row[3]] for k, (row, size) in enumerate(zip(rows, sizes, strict=True))]


def _labelled(table: Input, output: Output, column: str, added: str, found: Clusters) -> TransformedStream:
    """The table with one column more; the clustered column itself stays as it is."""
    import pyarrow as pa
    import pyarrow.types as kinds

    from kdi._tables.arrow import as_floats
    from kdi._tables.files import numbers_from_text

    is_text = output.kind == "CSV"
    source = open_source(table.paths, numbers=[] if is_text else [column], text=is_text)
    schema = source.schema.append(pa.field(added, pa.int64()))
    place = source.names.index(column)

    def batches() -> Iterator[Any]:
        for batch in source.batches(table.shows_progress):
            values = batch.column(place)
            if kinds.is_string(values.type):  # of a CSV file, as it stands
                values = numbers_from_text(values, pa.float64(), column)
            labels = pa.array(assign_clusters(as_floats(values).astype(float, copy=False), found.boundaries))
            yield pa.RecordBatch.from_arrays([*batch.columns, labels], schema=schema)

    return TransformedStream(batches(), schema, [])


def _draw(found: Clusters, parts: PartitionedTable, column: str, weighted: bool) -> Any:
    """The clusters, drawn from values that stand for those of the column, which may be too many."""
    from kdi._plots.cluster_display import ClusterDisplay

    (sketch,) = sketch_for_alphas(parts, get_kernel("polyexp"), np.ones_like).sketches
    places, mass = sketch.offsets + sketch.minimum, sketch.moments[:, 0]
    weights: Float64Array | None = mass
    n = min(sketch.count, DRAWN)
    exact = sketch.exponent is None
    if not (exact and weighted):  # else there is one place a value, and its weight
        levels, below = (np.arange(n) + 0.5) * sketch.weight / n, np.cumsum(mass)
        places = places[np.searchsorted(below, levels)] if exact else np.interp(levels, below - mass / 2, places)
        weights = None if sketch.weight == n else np.full(n, sketch.weight / n)
    axes = new_figure((7, 4)).subplots()
    ClusterDisplay(found, places, weights, column).plot(axes)
    if not weighted:
        axes.set_ylabel("values")
    if n < sketch.count:  # how many lie outside is not known
        axes.set_xlabel(short(column, 60), parse_math=False)
    return axes.figure
