"""kdi explore: a table as one page of HTML."""

from __future__ import annotations

import argparse
import os

from kdi._names import quoted
from kdi._writing import target_path
from kdi.cli.choices import as_columns
from kdi.cli.errors import OTHERS, Refusal, about, note, say
from kdi.cli.inputs import opened
from kdi.cli.outputs import print_text, refuse_the_same, standard_output


def explore(options: argparse.Namespace) -> None:
    """Write the page."""
    from kdi.explorer import explore as page_of

    with opened(options.input) as table:
        path = None
        if options.output == "-":
            standard_output()
        elif options.output.lower().endswith((".html", ".htm")):
            path = target_path(options.output, "a page")
        else:
            raise Refusal(f"output {options.output!r} must end in .html, or be - for standard output.")
        refuse_the_same({"--output": path}, {"the input": table.paths})
        chosen = as_columns(options.columns, table.source.names)
        features = table.features(chosen, options.weights, "left out")
        # Where only what is no number was left out, the page does so by itself, and names it.
        by_itself = chosen is None and features == table.numbers(options.weights)
        title = options.title or os.path.basename(table.title)
        if table.shows_progress:
            say(f"reading {table.title}, several times")
        with about(table.title, OTHERS):
            page = page_of(
                table.paths,
                columns=None if by_itself else features,
                weights=options.weights,
                title=title,
                progress=table.shows_progress,
            )
        infinite = [name for name in features if name in page.left_out]
        if infinite:
            note(f"not on the page, which says why: {quoted(infinite)}.")
        if path is None:
            print_text(page.html)
        else:
            page.save(path)
