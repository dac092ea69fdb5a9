"""The examples of the site run, without a warning and without a network, and draw what they show."""

import re
import runpy
import socket
from importlib.util import find_spec

import matplotlib
import pytest
from engines import missing
from pages import ROOT, read

matplotlib.use("Agg")
from matplotlib import pyplot as plt

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "gallery"
SCRIPTS = sorted(FOLDER.glob("*.py"))
EVERY_SCRIPT = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise OSError("examples need no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_there_are_examples():
    assert len(SCRIPTS) >= 9
    assert all(path.name.startswith("plot_") for path in SCRIPTS)  # or else the site does not run them
    assert (FOLDER / "GALLERY_HEADER.rst").exists()


@EVERY_SCRIPT
def test_it_runs(path, capsys, tmp_path, monkeypatch, no_network):
    if "import torch" in path.read_text(encoding="utf-8") and find_spec("torch") is None:
        missing("PyTorch is not installed")
    monkeypatch.chdir(tmp_path)
    before = matplotlib.rcParams.copy()
    runpy.run_path(str(path))
    assert plt.get_fignums(), "an example without a picture"
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    assert capsys.readouterr().out.strip(), "an example that prints no numbers"
    assert list(tmp_path.iterdir()) == []
    assert matplotlib.rcParams == before


@EVERY_SCRIPT
def test_it_can_be_read(path):
    """A title that is underlined as far as it goes, a paragraph on what it is about, and blocks of text."""
    text = path.read_text(encoding="utf-8")
    title, line, about = re.match(r'"""\n(.+)\n(=+)\n\n(.+?)"""\n', text, re.DOTALL).groups()
    assert len(line) == len(title)
    assert len(about.split()) > 10
    assert len(re.findall(r"^# %%$", text, re.MULTILINE)) >= 3


def test_the_pictures_of_the_docs(tmp_path, monkeypatch):
    """Each is shown on a page; the README has these three, one of which is of the explorer."""
    drawn = runpy.run_path(str(FOLDER.parent / "pictures.py"))
    monkeypatch.setitem(drawn["main"].__globals__, "IMAGES", tmp_path)
    drawn["main"]()
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"alpha.png", "clusters.png", "correlation.png", "tuning.png"}
    kept = {path.name for path in (ROOT / "docs" / "images").iterdir()}
    assert made <= kept
    in_readme = re.findall(r"!\[[^]]*\]\(docs/images/([^)]+)\)", read("README.md"))
    assert in_readme == ["alpha.png", "explorer.png", "tuning.png"]
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")]
    in_docs = {name for page in pages for name in re.findall(r"!\[[^]]*\]\(images/([^)]+)\)", read(page))}
    assert kept <= {*in_readme, *in_docs}
