"""The page: template, style, script and contents as one HTML document that needs nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from gzip import compress
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from kdi._utils.atomic_write import atomic_write, target_path
from kdi._utils.public import public_in
from kdi.explorer._contents import as_json, contents

SCRIPTS = [
    "integral.js",
    "clusters.js",
    "charts.js",
    "summaries.js",
    "curves.js",
    "features.js",
    "heatmaps.js",
    "scatter.js",
    "correlations.js",
    "main.js",
]
MARKERS = re.compile(r"\{\{(title|style|script|policy|data)\}\}")
SCRIPT = re.compile(r"<script>([^<]*\{\{script\}\}[^<]*)</script>")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
HEIGHT = 900  # pixels, in a notebook


@public_in("kdi")
@dataclass(frozen=True, repr=False)
class ExplorerPage:
    """A page to open in a browser, to save or to show in a notebook.

    Attributes
    ----------
    html : str
        The whole document.
    title : str
    rows : int
        Rows of the table.
    features : list of str
        The columns on the page.
    left_out : dict of str to str
        Other columns, and why they are not on it.

    Examples
    --------
    >>> import kdi
    >>> page = kdi.explore([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]], title="Three rows")
    >>> page.title, page.rows, page.html[:15]
    ('Three rows', 3, '<!doctype html>')
    >>> page.save("three.html")  # doctest: +SKIP
    """

    html: str
    title: str
    rows: int
    features: list[str]
    left_out: dict[str, str]

    def save(self, path: Any) -> str:
        """Write the page to a file, which appears when it is whole; returns its path."""
        target = target_path(path, "a page")
        with atomic_write(target) as aside, open(aside, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.html)
        return target

    def __repr__(self) -> str:
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        features = f"{len(self.features)} feature{'s' * (len(self.features) != 1)}"
        return f"ExplorerPage({self.title!r}, {rows}, {features}, {len(self.html) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{_text(self.title)}" srcdoc="{escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


@public_in("kdi")
def explore(
    source: Any,
    *,
    columns: Iterable[str] | str | None = None,
    weights: Any = None,
    title: str | None = None,
    progress: bool = False,
) -> ExplorerPage:
    """A page to explore a table with: every feature before and after its T, at every alpha, and their correlations.

    The page is one HTML file that needs no network. It holds sketches of the columns, not the data, and a browser takes
    the integral from them; each feature tells how far that may be from the exact one.

    Parameters
    ----------
    source : path, glob or list of them, object with an Arrow stream, frame or array
        Parquet and CSV files, a pyarrow Table, RecordBatchReader or Dataset, a polars LazyFrame or a DuckDB relation
        are read batch by batch. Columns of an array are called "x0", "x1", ….
    columns : list of str, optional
        The features; by default all numeric columns but that of the weights, and the page names the others.
    weights : str or array-like of shape (n_rows,), optional
        The name of a column, or one weight a row. A weight of 2 is a repetition, a weight of 0 a removal.
    title : str, optional
        The heading; by default the name of the file.
    progress : bool, default=False
        Whether to show a progress bar on stderr, one for each reading of a source that does not fit in memory.

    Returns
    -------
    ExplorerPage
        With `save`, `html`, and a view of its own in notebooks.

    Notes
    -----
    A source is read three times, and once more where columns have missing values: for the sketches, the correlations
    and a sample of at most 200,000 rows, of which the page holds counts. What takes less than 128 MB is kept in memory
    after the first. A longer stream that can be read only once has no correlations. Columns with infinite values are
    left out.

    T agrees with `KDITransformer` to 1e-6 at every alpha but 0; the page states the bound of each feature. Ranks agree
    as well where there is room for all values, up to 32,768 distinct ones a column and 262,144 in all. Of more, they
    are known at some 2,000 knots, which leaves errors of about 1e-4.

    Examples
    --------
    >>> import kdi
    >>> kdi.explore([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]], title="Three rows").features
    ['x0', 'x1']
    """
    payload = contents(source, columns=columns, weights=weights, title=title, progress=progress)
    return ExplorerPage(
        assembled(payload["title"], as_json(payload)),
        payload["title"],
        payload["rows"],
        [feature["name"] for feature in payload["features"]],
        {one["name"]: one["reason"] for one in payload["left_out"]},
    )


def assembled(title: str, data: bytes) -> str:
    """The document, from the template and what goes into it."""
    template, style = _asset("page.html"), _asset("style.css")
    script = "\n".join(_asset(name) for name in SCRIPTS)
    for text, end in ((style, "</style"), (script, "</script"), (script, "<!--")):
        if end in text.lower():
            raise ValueError(f"an asset of the page must not hold {end!r}, which would end its element.")
    around = SCRIPT.search(template)
    if around is None:
        raise ValueError("the template of the page has no <script>{{script}}</script>.")
    run = around[1].replace("{{script}}", script)  # with the white space beside it, which the hash counts
    values = {
        "title": _text(title),
        "style": style,
        "script": script,
        "policy": escape(POLICY.format(b64encode(sha256(run.encode()).digest()).decode())),
        "data": b64encode(compress(data, 6, mtime=0)).decode(),
    }
    # In one go: what is put in is not looked at again, whatever it holds.
    return MARKERS.sub(lambda marker: values[marker[1]], template)


def _text(text: str) -> str:
    """Any text as HTML; half of a pair of surrogates, which no file can hold, becomes a question mark."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _asset(name: str) -> str:
    return files("kdi.explorer").joinpath("assets", name).read_text(encoding="utf-8")
