"""kdi explore: a table as one page of HTML."""

from __future__ import annotations

import argparse
import os

from kdi._names import quoted
from kdi._writing import target_path
from kdi.cli.choices import as_columns
from kdi.cli.errors import Refusal, about, note, say
from kdi.cli.inputs import opened
from kdi.cli.outputs import refuse_the_same


def explore(options: argparse.Namespace) -> None:
    """Write the page."""
    from kdi.explorer import explore as page_of

    with opened(options.input) as table:
        if not options.output.lower().endswith((".html", ".htm")):
            raise Refusal(f"--output {options.output!r} must end in .html.")
        path = target_path(options.output, "a page")
        refuse_the_same({"--output": path}, {"the input": table.paths})
        columns = None if options.columns is None else as_columns(options.columns, table.source.names)
        title = options.title or os.path.basename(table.title)
        if table.shows_progress:
            say(f"reading {table.title}")
        with about(table.title):
            page = page_of(
                table.paths, columns=columns, weights=options.weights, title=title, progress=table.shows_progress
            )
            page.save(path)
        left_out = [one["name"] for one in page.left_out]
        if left_out:
            note(f"{quoted(left_out)} {'is' if len(left_out) == 1 else 'are'} not on the page, which says why.")
