"""The documentation: examples run, links have targets, tables of contents and the reference are complete.

`make docs` builds the site; its warnings are errors.
"""

import inspect
import os
import re
from importlib import import_module
from importlib.util import find_spec

import pytest
from engines import missing
from pages import ROOT, anchors, blocks, links, read, run_blocks, run_examples, toctrees

import kdi
from kdi._integral.bandwidth import bandwidth_factor
from kdi.explorer import _columns, _contents, _features, _scatter

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
TEXTS = [*PAGES, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "experiments/RESULTS.md"]
WITH_EXAMPLES = [page for page in PAGES if ">>>" in read(page)]
BUILT = ("docs/auto_examples/", "docs/api/")  # by Sphinx
PUBLIC = ["kdi", "kdi.dask", "kdi.spark", "kdi.torch", "kdi.data", "kdi.compat", "kdi.compat.kditransform"]
PURE = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")
API = read("docs/api.md")


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_run(page, monkeypatch):
    if PURE and page == "docs/correlation.md":
        pytest.skip("thousands of samples, which take NumPy some minutes")
    if ">>> import torch" in read(page) and find_spec("torch") is None:
        missing("PyTorch is not installed")
    monkeypatch.chdir(ROOT)
    assert run_examples(page) > 1


def test_the_readme_can_be_pasted():
    known = run_blocks("README.md")
    assert known["transformer"].error_bound_.max() < 1e-6
    assert known["scaled"].shape == known["X"].shape
    alphas = known["tuned"].alpha_
    assert alphas[2] < 0.5 < 1 < alphas[1]  # as the comment says of y


@pytest.mark.parametrize("page", TEXTS)
def test_links(page):
    folder = (ROOT / page).parent
    for path, anchor in links(read(page)):
        target = (folder / path).resolve() if path else ROOT / page
        where = target.relative_to(ROOT).as_posix()
        if where.startswith(BUILT):
            continue
        assert target.exists(), f"{path} does not exist"
        if anchor:
            assert anchor in anchors(read(where)), f"{where} has no heading #{anchor}"


def test_every_page_is_in_the_contents():
    entries = {}
    for page in PAGES:
        for entry in toctrees(read(page)):
            path = entry[1:] if entry.startswith("/") else f"docs/{entry}"
            assert path.startswith(BUILT) or (ROOT / f"{path}.md").exists(), f"{page} lists {entry}"
            entries[f"{path}.md"] = page
    assert set(PAGES) - {"docs/index.md"} <= set(entries)
    results = {path.relative_to(ROOT).as_posix() for path in (ROOT / "experiments" / "results").glob("*.md")}
    assert results <= set(entries)


@pytest.mark.parametrize("page", [page for page in TEXTS if blocks(read(page), "python")])
def test_code_names_what_there_is(page):
    for block in blocks(read(page), "python"):
        compile(block, page, "exec")
        for name in set(re.findall(r"(?<![\w.])kdi\.(\w+)", block)) - {"dask", "spark", "torch"}:
            assert hasattr(kdi, name), name


def public_names(module):
    """The public names of a module without its submodules."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def listed_names():
    """The full names of all entries of the reference."""
    found, module = [], None
    for block in blocks(API, "{eval-rst}"):
        for line in block.splitlines():
            current = re.match(r"\.\. currentmodule:: (\S+)", line)
            module = current[1] if current else module
            entry = re.match(r"   ([A-Za-z]\w*(?:\.\w+)*)$|\.\. py:data:: (\w+)", line)
            if entry:
                found.append(f"{module}.{entry[1] or entry[2]}")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_reference_is_complete(name):
    try:
        module = import_module(name)
    except ImportError as error:
        missing(str(error))
    listed = listed_names()
    for public in public_names(module):
        assert f"{name}.{public}" in listed
    for full in listed:
        parent, _, last = full.rpartition(".")
        if parent == name:
            assert hasattr(module, last), full


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_has_an_example(name):
    try:
        module = import_module(name)
    except ImportError as error:
        missing(str(error))
    for public in public_names(module):
        one = getattr(module, public)
        if inspect.isclass(one) or callable(one):
            text = inspect.getdoc(one) or ""
            assert re.search(r"^Examples\n-+\n+>>> ", text, flags=re.MULTILINE), f"{name}.{public} has no example"


def test_the_rules_of_which_alpha():
    """The table of Scott's and Silverman's factors."""
    rows = {cells[0].strip('` "'): cells[1:] for cells in table_rows(read("docs/which-alpha.md"), "N | 10")}
    sizes = [float(size.replace(",", "")) for size in rows["N"]]
    for rule in ("scott", "silverman"):
        assert rows[rule] == [f"{bandwidth_factor(rule, size):.2f}" for size in sizes]


def test_scores_of_which_alpha_are_those_of_the_results():
    """Every score in a paragraph occurs on the page of results that the paragraph links."""
    n_scores = 0
    for paragraph in re.split(r"\n(?=- |\n)", read("docs/which-alpha.md")):
        linked = re.findall(r"\]\(\.\./(experiments/results/\w+\.md)\)", paragraph)
        scores = re.findall(r"(?<![\w.])\d\.\d{3,}", paragraph)
        if linked and scores:
            (results,) = linked
            measured = [float(number) for number in re.findall(r"(?<![\w.])\d\.\d{3,}", read(results))]
            for score in scores:
                assert score in {f"{number:.{len(score) - 2}f}" for number in measured}, score
            n_scores += len(scores)
    assert n_scores >= 17


def test_the_limits_of_the_explorer_page_are_as_documented():
    page = " ".join(read("docs/explorer.md").split())
    assert f"up to {_features.max_values_for(8):,} in tables of up to eight features" in page
    assert _features.max_values_for(9) < _features.max_values_for(8) == _features.max_values_for(1)
    assert f"never less than {_features.MIN_VALUES:,}" in page
    assert _features.max_values_for(10**6) == _features.MIN_VALUES
    assert f"{_scatter.BINS} × {_scatter.BINS} bins" in page
    assert f"at most {_scatter.MAX_ROWS:,} rows" in page
    assert f"the {_scatter.MAX_PAIRS:,} pairs" in page
    assert _scatter.MAX_PAIRS == 50 * 49 // 2
    assert f"the first {_contents.MAX_CORRELATED}" in page
    assert f"less than {_columns.CACHE_BYTES // 2**20} MB" in page
    assert f"from 0, quantiles, over {_features.MIN_ALPHA:g} to {_features.MAX_ALPHA:g}, to infinity" in page
    assert _contents.DIGITS == 7
    assert "to seven digits" in page


def table_rows(text, start):
    """The rows of the table that begins with `start`, each as a list of its cells."""
    lines = text[text.index(f"| {start}") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
