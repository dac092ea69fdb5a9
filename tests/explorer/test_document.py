"""The explorer's document: one file that needs nothing else, and that no name can break out of."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from explorer_decoding import contents_of

import kdi
from kdi.explorer import _page as page_module
from kdi.explorer._page import SCRIPTS, assemble_page

ASSETS = files("kdi.explorer").joinpath("assets")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' `${1}`",
    "two\nlines\r\nand\ttabs",
    "{{script}}{{data}}{{policy}}",
    "<!-- --> ]]> &lt; &amp;",
    "\\1 \\g<0> $& %s",
    "x" * 300,
    "\ud800 alone",
    "\x00\x1b\u2028\u202e",
    "",
    "漢字 🙂",
]


class Reader(HTMLParser):
    """Elements and texts of a document."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self._open = [], {}, ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open = tag

    def handle_data(self, data):
        self.texts.setdefault(self._open, []).append(data)


@pytest.fixture
def page(rng):
    return kdi.explore(rng.normal(size=(30, 2)), title="A title")


def test_the_document_asks_for_nothing(page):
    for tag, attributes in Reader(page.html).tags:
        assert tag not in ("iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:"))
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", page.html)


def test_the_policy_allows_its_own_script_alone(page):
    reader = Reader(page.html)
    (policy,) = [one["content"] for tag, one in reader.tags if tag == "meta" and "http-equiv" in one]
    scripts = re.findall(r"<script>(.*?)</script>", page.html, re.DOTALL)
    assert len(scripts) == 1
    assert f"script-src 'sha256-{b64encode(sha256(scripts[0].encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'") and "'unsafe-eval'" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_every_asset_is_in_the_page(page):
    names = sorted(one.name for one in ASSETS.iterdir())
    assert names == sorted([*SCRIPTS, "page.html", "style.css"])
    for name in [*SCRIPTS, "style.css"]:
        assert ASSETS.joinpath(name).read_text(encoding="utf-8") in page.html
    assert "{{" not in re.sub(r"<script>.*?</script>", "", page.html, flags=re.DOTALL)


def test_a_missing_asset_is_an_error(monkeypatch):
    monkeypatch.setattr(page_module, "SCRIPTS", [*SCRIPTS, "nothing.js"])
    with pytest.raises(FileNotFoundError, match=r"nothing\.js"):
        assemble_page("x", b"{}")


@pytest.mark.parametrize("text", ["let x = '</SCRIPT>'", "// <!-- ", "</style"])
def test_an_asset_cannot_end_its_element(monkeypatch, text):
    read = page_module._asset
    name = "style.css" if "style" in text else "main.js"
    monkeypatch.setattr(page_module, "_asset", lambda one: read(one) + (text if one == name else ""))
    with pytest.raises(ValueError, match="must not contain"):
        assemble_page("x", b"{}")


def test_a_template_without_a_place_for_the_script_is_an_error(monkeypatch):
    read = page_module._asset
    monkeypatch.setattr(page_module, "_asset", lambda name: read(name).replace("{{script}}", ""))
    with pytest.raises(ValueError, match="has no <script>"):
        assemble_page("x", b"{}")


def test_hostile_names_are_kept_and_do_nothing(rng):
    names = pd.Index([*HOSTILE, "</script>"], dtype=object)
    table = rng.normal(size=(20, len(names))).astype(object)
    table[0, -1] = "text"
    frame = pd.DataFrame(table, columns=names)
    plain = kdi.explore(rng.normal(size=(20, 3)))
    page = kdi.explore(frame)
    assert page.features == HOSTILE
    assert [feature["name"] for feature in contents_of(page)["features"]] == HOSTILE
    assert contents_of(page)["left_out"][0]["name"] == "</script>"
    # Names are in the data alone, which is base64: the document has the same elements whatever they are.
    assert Reader(page.html).tags == Reader(plain.html).tags
    page.html.encode("utf-8")


@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_titles_are_text(rng, title, tmp_path):
    table = rng.normal(size=(20, 2))
    page = kdi.explore(table, title=title)
    plain = kdi.explore(table, title="plain")
    assert contents_of(page)["title"] == page.title == title
    reader = Reader(page.html)
    assert reader.tags == Reader(plain.html).tags
    shown = title.encode("utf-8", "replace").decode()
    parsed = "".join(reader.texts.get("title", [])).removesuffix("\n")
    if "\x00" not in title and "\r" not in title:  # which HTML has no way to write
        assert parsed == shown
    page.save(tmp_path / "page.html")
    page._repr_html_().encode("utf-8")


def test_a_page_is_saved_whole(page, tmp_path):
    path = tmp_path / "page.html"
    assert page.save(path) == str(path.resolve())
    assert path.read_bytes() == page.html.encode("utf-8")
    page.save(str(path))
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_a_page_is_saved_where_that_can_be_done(page, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        page.save(tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        page.save(tmp_path)
    with pytest.raises(TypeError, match="must be the path of a page"):
        page.save(3)


def test_what_a_page_says_of_itself(page):
    assert repr(page) == "ExplorerPage('A title', 30 rows, 2 features, 0.1 MB)"
    one = kdi.explore([[1.0]])
    assert repr(one) == "ExplorerPage('A table', 1 row, 1 feature, 0.1 MB)"


def test_in_a_notebook_the_page_is_shut_in(page):
    (frame,) = Reader(page._repr_html_()).tags
    assert frame[0] == "iframe"
    assert frame[1]["srcdoc"] == page.html and frame[1]["title"] == "A title"
    assert frame[1]["sandbox"] == "allow-scripts"


def test_the_same_table_makes_the_same_page(rng):
    table = rng.normal(size=(300, 3))
    assert kdi.explore(table).html == kdi.explore(table).html


def test_numbers_go_through_text_unchanged(rng):
    values = np.concatenate([rng.normal(size=50), [5e-324, 1e-300, 0.1 + 0.2, 1e300, -0.0, np.pi]])
    places = contents_of(kdi.explore(values[:, None]))["features"][0]["places"]
    assert places == np.unique(values).tolist()
