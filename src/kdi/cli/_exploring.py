"""kdi explore: a table as one page of HTML."""

from __future__ import annotations

import argparse
import os

from kdi._utils.atomic_write import target_path
from kdi._utils.names import format_names
from kdi.cli._choices import as_columns
from kdi.cli._errors import OTHERS, CommandError, error_context, print_error, print_note
from kdi.cli._inputs import open_input
from kdi.cli._outputs import check_paths_differ, print_text, standard_output


def explore(options: argparse.Namespace) -> None:
    """Write the page."""
    from kdi.explorer import explore as page_of

    with open_input(options.input) as table:
        path = None
        if options.output == "-":
            standard_output()
        elif options.output.lower().endswith((".html", ".htm")):
            path = target_path(options.output, "a page")
        else:
            raise CommandError(f"output {options.output!r} must end in .html, or be - for standard output.")
        check_paths_differ({"--output": path}, {"the input": table.paths})
        chosen = as_columns(options.columns, table.source.names)
        features = table.features(chosen, options.weights, "left out")
        # Where only what is no number was left out, the page does so by itself, and names it.
        by_itself = chosen is None and features == table.numbers(options.weights)
        title = options.title or os.path.basename(table.title)
        if table.shows_progress:
            print_error(f"reading {table.title}, several times")
        with error_context(table.title, OTHERS):
            page = page_of(
                table.paths,
                columns=None if by_itself else features,
                weights=options.weights,
                title=title,
                progress=table.shows_progress,
            )
        infinite = [name for name in features if name in page.left_out]
        if infinite:
            print_note(f"not on the page, which says why: {format_names(infinite)}.")
        if path is None:
            print_text(page.html)
        else:
            page.save(path)
