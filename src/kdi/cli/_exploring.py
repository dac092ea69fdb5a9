"""kdi explore: write a table as one HTML page."""

from __future__ import annotations

import argparse
import os

from kdi._utils.atomic_write import target_path
from kdi._utils.names import format_names
from kdi.cli._choices import parse_columns
from kdi.cli._errors import CommandError, error_context, print_error, print_note
from kdi.cli._inputs import open_input
from kdi.cli._outputs import check_paths_differ, print_text, standard_output


def explore(options: argparse.Namespace) -> None:
    """Write the page."""
    from kdi.explorer import explore as make_page

    with open_input(options.input) as table:
        path = None
        if options.output == "-":
            standard_output()
        elif options.output.lower().endswith((".html", ".htm")):
            path = target_path(options.output, "a page")
        else:
            raise CommandError(f"--output must end in .html, or be - for standard output, got {options.output!r}.")
        check_paths_differ({"--output": path}, {"the input": table.paths})
        chosen = parse_columns(options.columns, table.source.names)
        features = table.select_features(chosen, options.weights, "left out")
        # Without `columns`, the page itself leaves out the columns that are not numeric, and lists them.
        is_default = chosen is None and features == table.numeric_columns(options.weights)
        title = options.title or os.path.basename(table.title)
        if table.shows_progress:
            print_error(f"reading {table.title}, several times")
        with error_context(table.title, features):
            page = make_page(
                table.paths,
                columns=None if is_default else features,
                weights=options.weights,
                title=title,
                progress=table.shows_progress,
            )
        left_out = [name for name in features if name in page.left_out]
        if left_out:
            print_note(f"left out, for reasons that the page states: {format_names(left_out)}.")
        if path is None:
            print_text(page.html)
        else:
            page.save(path)
