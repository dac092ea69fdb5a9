"""ARCHITECTURE.md shows the packages that there are, and the layers that import-linter enforces."""

from package_tree import packages, tree
from paths import ROOT


def test_the_page_shows_the_tree():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown = "\n".join(f"    {line}" for line in tree().splitlines())
    assert shown in page, "python tests/helpers/package_tree.py prints the tree as it is"


def test_every_package_has_its_line():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in packages():
        assert f"`{name}`" in page, name
