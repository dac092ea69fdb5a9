"""CITATION.cff is valid for the version that is installed."""

import re

from pages import read

import kdi


def test_the_version_is_that_of_the_package():
    """The version is best left out: src/kdi/_version.py has it."""
    versions = re.findall(r"^version: *(.+)$", read("CITATION.cff"), flags=re.MULTILINE)
    assert all(version.strip("\"' ") == kdi.__version__ for version in versions)


def test_required_fields_are_there():
    text = read("CITATION.cff")
    for field in ("cff-version", "message", "title", "authors"):  # those that the format requires
        assert re.search(rf"^{field}:", text, flags=re.MULTILINE), field
