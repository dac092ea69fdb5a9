"""docs/tuning.md: its examples run, its picture and its links are there, and it says of the code what the code does."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import kdi

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_examples_run(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(ROOT)
    text = "\n".join(re.findall(r"```pycon\n(.*?)```", PAGE, flags=re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(text, {}, "tuning.md", "docs/tuning.md", 0)
    assert len(examples.examples) > 30
    messages = []
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=messages.append)
    assert outcome.failed == 0, "".join(messages)


def test_links():
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    places = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^## (.*)", PAGE, re.M)}
    for place in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert place in places


def test_the_readme_leads_there():
    assert "(docs/tuning.md)" in README
    assert "(docs/images/tuning.png)" in README


def test_code_of_the_readme_names_what_there_is():
    (block,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "KDITransformerCV" in block]
    for name in re.findall(r"kdi\.(\w+)", block):
        assert hasattr(kdi, name), name


def test_parameters_are_as_said():
    signature = inspect.signature(kdi.KDITransformerCV).parameters
    for name in re.findall(r"`(\w+)=", PAGE):
        assert name in signature or name in inspect.signature(kdi.AlphaDisplay.plot).parameters, name
    for name in ("alphas", "ridge", "cv", "scoring", "max_passes"):
        assert f"`{name}`" in PAGE
        assert name in signature
    assert (len(kdi.ALPHAS), kdi.ALPHAS[0], kdi.ALPHAS[-1]) == (20, 0.05, 10)
    assert "20 from 0.05 to 10" in PAGE
    fits = len(kdi.ALPHAS) * signature["cv"].default * (1 + 8 * signature["max_passes"].default)
    assert f"8 features some {fits:,}" in " ".join(PAGE.split())
