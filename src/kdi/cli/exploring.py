"""kdi explore: a table as one page of HTML."""

from __future__ import annotations

import argparse
import os

from kdi._names import quoted
from kdi._writing import target_path
from kdi.cli.choices import as_columns
from kdi.cli.errors import Refusal, about, note, say
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
        columns = as_columns(options.columns, table.source.names)
        title = options.title or os.path.basename(table.title)
        if table.shows_progress:
            say(f"reading {table.title}, several times")
        with about(table.title):
            page = page_of(
                table.paths, columns=columns, weights=options.weights, title=title, progress=table.shows_progress
            )
        if page.left_out:
            note(f"not on the page, which says why: {quoted(page.left_out)}.")
        if path is None:
            print_text(page.html)
        else:
            page.save(path)
