"""The page: template, style, scripts and contents in one self-contained HTML document."""

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
from kdi.explorer._contents import page_contents, to_json

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
NOTEBOOK_HEIGHT = 900  # pixels


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
        The other columns, with the reason why they are not on the page.

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
        """Write the page to a file and return its path; the file appears once it is complete."""
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
            f'style="width: 100%; height: {NOTEBOOK_HEIGHT}px; border: 0"></iframe>'
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
    """Make a page to explore a table: its features before and after the transformation, and their correlations.

    The page is one HTML file that needs no network. It holds sketches of the columns, not the data. From the sketches,
    the browser computes the integral at any alpha; the page states an error bound for each feature.

    Parameters
    ----------
    source : path, glob or list of them, object with an Arrow stream, frame or array
        Parquet and CSV files, a pyarrow Table, RecordBatchReader or Dataset, a polars LazyFrame or a DuckDB relation
        are read batch by batch. Columns of an array are called "x0", "x1", ….
    columns : list of str, optional
        The features; by default all numeric columns except the one of the weights. The page names the others.
    weights : str or array-like of shape (n_rows,), optional
        The name of a column, or one weight per row. A weight of 2 counts a row twice, a weight of 0 removes it.
    title : str, optional
        The heading; by default the name of the file.
    progress : bool, default=False
        Whether to show a progress bar on stderr, one per read of a source that does not fit in memory.

    Returns
    -------
    ExplorerPage
        It has `save` and `html`, and notebooks display it.

    Notes
    -----
    A source is read several times: for the sketches, for the correlations, and for the scatters, which count the rows
    of a sample of at most 200,000. Tables of less than 128 MB are cached in memory by the first read. A larger stream
    that can be read only once has no correlations. Columns with infinite values are left out.

    T agrees with `KDITransformer` to 1e-6 at every alpha except 0; the page states the bound of each feature. At
    alpha = 0 it agrees as well if the page holds all values: at most 32,768 distinct ones per column and 262,144 in
    total. For other columns the page holds about 2,000 knots of the curve, with errors of about 1e-4.

    Examples
    --------
    >>> import kdi
    >>> kdi.explore([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]], title="Three rows").features
    ['x0', 'x1']
    """
    contents = page_contents(source, columns=columns, weights=weights, title=title, progress=progress)
    return ExplorerPage(
        assemble_page(contents["title"], to_json(contents)),
        contents["title"],
        contents["rows"],
        [feature["name"] for feature in contents["features"]],
        {column["name"]: column["reason"] for column in contents["left_out"]},
    )


def assemble_page(title: str, data: bytes) -> str:
    """Fill in the template."""
    template, style = _asset("page.html"), _asset("style.css")
    script = "\n".join(_asset(name) for name in SCRIPTS)
    for text, end in ((style, "</style"), (script, "</script"), (script, "<!--")):
        if end in text.lower():
            raise ValueError(f"an asset of the page must not contain {end!r}, which would end its element.")
    element = SCRIPT.search(template)
    if element is None:
        raise ValueError("the template of the page has no <script>{{script}}</script>.")
    code = element[1].replace("{{script}}", script)  # the hash covers the white space around the script too
    values = {
        "title": _text(title),
        "style": style,
        "script": script,
        "policy": escape(POLICY.format(b64encode(sha256(code.encode()).digest()).decode())),
        "data": b64encode(compress(data, 6, mtime=0)).decode(),
    }
    # One substitution for all markers: markers in the inserted texts stay as they are.
    return MARKERS.sub(lambda marker: values[marker[1]], template)


def _text(text: str) -> str:
    """Escape a text for HTML; lone surrogates, which UTF-8 cannot encode, become question marks."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _asset(name: str) -> str:
    return files("kdi.explorer").joinpath("assets", name).read_text(encoding="utf-8")
