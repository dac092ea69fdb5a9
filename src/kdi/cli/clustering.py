"""kdi cluster: the natural groups of one column, and the table with the group of each row."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from kdi._typing import Floats
from kdi.cli.drawing import new_axes, picture
from kdi.cli.errors import Refusal, about, say
from kdi.cli.inputs import Input, opened
from kdi.cli.outputs import Output, print_text, refuse_the_same
from kdi.cli.text import aligned, digits, short
from kdi.clusters import Clusters, cluster_parts
from kdi.parts import Parts, gather_parts
from kdi.kernels import get_kernel
from kdi.rows import assign
from kdi.sinks import quoted_field
from kdi.sources import open_source
from kdi.streams import Stream

HEADER = ["cluster", "from", "to", "center", "size", "depth"]
DRAWN = 200_000  # values that stand for those of a column in its picture


def cluster(options: argparse.Namespace) -> None:
    """Print the groups of a column, write the table with them, draw them."""
    column = options.column
    with opened(options.input) as table, picture(options.plot) as plot:
        output = None if options.output is None else Output.of(options.output, options.format)
        path = None if output is None else output.path
        refuse_the_same({"--output": path, "--plot": plot.path}, {})
        refuse_the_same({"--plot": plot.path}, {"the input": table.paths})
        if len(table.paths) > 1:
            refuse_the_same({"--output": path}, {"one of the inputs": table.paths})
        features = table.features([column], options.weights, "")
        added = f"{column}_cluster"
        if output is not None and added in table.source.names:
            raise Refusal(f"{table.title} has a column {added!r} already, which --output would add.")
        parts = table.parts(features, options.weights)
        how = {name: getattr(options, name) for name in ("alpha", "bandwidth", "kernel", "n_clusters", "min_size")}
        if table.shows_progress:
            say(f"reading {column!r} of {table.title}, several times")
        with about(f"column {column!r} of {table.title}"):
            found = cluster_parts(parts, **how, significance=options.significance)
        figure = None if plot.path is None else _draw(found, parts, column)
        if output is not None:
            if table.shows_progress:
                say(f"writing {output.title}")
            output.write(_labelled(table, output, column, added, found))
        if figure is not None:
            plot.save(figure)
        _print(found, sys.stderr if output is not None and output.path is None else sys.stdout)


def _print(found: Clusters, stream: Any) -> None:
    """The clusters: aligned for people, CSV for programs; beside a table on standard output, for people."""
    for_people = stream is sys.stderr or stream.isatty()
    table = found._valleys.table
    ends = [table.low, *found.boundaries.tolist(), table.high]
    depths = [*found.depths.tolist(), np.nan]
    form, whole = (".6g", ".10g") if for_people else ("", "")
    rows = [
        [str(k), digits(low, form), digits(high, form), digits(center, form), digits(size, whole), digits(depth, form)]
        for k, (low, high, center, size, depth) in enumerate(
            zip(ends[:-1], ends[1:], found.centers.tolist(), found.sizes.tolist(), depths, strict=True)
        )
    ]
    if stream is sys.stderr:
        stream.write(aligned(HEADER, rows))
    elif for_people:
        print_text(aligned(HEADER, rows))
    else:
        print_text("".join(",".join(cells) + "\n" for cells in [HEADER, *rows]))


def _labelled(table: Input, output: Output, column: str, added: str, found: Clusters) -> Stream:
    """The table with one column more; the clustered column itself stays as it is."""
    import pyarrow as pa
    import pyarrow.types as kinds

    from kdi._arrow import as_floats
    from kdi._files import numbers_from_text

    source = open_source(table.paths, numbers=[], text=output.kind == "CSV")
    schema = source.schema.append(pa.field(added, pa.int64()))
    place = source.names.index(column)

    def batches() -> Iterator[Any]:
        for batch in source.batches(table.shows_progress):
            values = batch.column(place)
            if kinds.is_string(values.type):  # of a CSV file, as it stands
                values = numbers_from_text(values, pa.float64(), column)
            labels = pa.array(assign(as_floats(values).astype(float, copy=False), found.boundaries))
            yield pa.RecordBatch.from_arrays([*batch.columns, labels], schema=schema)

    return Stream(batches(), schema, [])


def _draw(found: Clusters, parts: Parts, column: str) -> Any:
    """The clusters, drawn from values that stand for those of the column, which may be too many."""
    from kdi.plotting import ClusterDisplay

    (sketch,) = gather_parts(parts, get_kernel("polyexp"), np.ones_like).sketches
    places: Floats = sketch.offsets + sketch.minimum
    mass: Floats = sketch.moments[:, 0]
    weights = None if mass.size == sketch.count and np.ptp(mass) == 0 and mass[0] == 1 else mass
    if sketch.exponent is not None:
        n = min(sketch.count, DRAWN)
        levels = (np.arange(n) + 0.5) * sketch.weight / n
        places = np.interp(levels, np.cumsum(mass) - mass / 2, places)
        weights = None if sketch.weight == n else np.full(n, sketch.weight / n)
    axes = new_axes((7, 4))
    ClusterDisplay(found, places, weights).plot(axes)
    axes.set_xlabel(axes.get_xlabel().replace("x", short(column, 40), 1), parse_math=False)
    return axes.figure
