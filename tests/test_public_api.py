"""The public API: names, signatures and modules, against a committed list; what `dir` shows; one version."""

import inspect
import re
import tomllib
from importlib import import_module

import pytest
from engines import missing
from paths import ROOT
from public_api import PACKAGES, api_lines

import kdi

COMMITTED = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8")


def package(name):
    try:
        return import_module(name)
    except ImportError as error:
        missing(str(error))


@pytest.mark.parametrize("name", PACKAGES)
def test_is_as_committed(name):
    package(name)
    sections = dict(re.findall(r"^# (\S+)\n((?:kdi.*\n)*)", COMMITTED, re.MULTILINE))
    expected = sections[name].splitlines()
    assert api_lines(name) == expected, "tests/helpers/public_api.py says how to write tests/public_api.txt anew"


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_say_where_they_are_from(name):
    module = package(name)
    for public in module.__all__:
        one = getattr(module, public)
        if inspect.isclass(one) or inspect.isfunction(one):
            assert one.__module__ in PACKAGES
            assert getattr(import_module(one.__module__), public) is one
            assert not any(part.startswith("_") for part in one.__module__.split("."))


PACKAGES_WITH_DIR = ["kdi", "kdi.dask", "kdi.spark", "kdi.torch", "kdi.explorer", "kdi.cli", "kdi.compat", "kdi.data"]


@pytest.mark.parametrize("name", PACKAGES_WITH_DIR)
def test_dir_shows_public_names_only(name):
    module = package(name)
    shown = {one for one in dir(module) if not (one.startswith("__") and one.endswith("__"))}
    assert shown == set(module.__all__)
    for one in dir(module):
        assert hasattr(module, one)


def test_result_classes_are_exported():
    for name in ("AlphaPath", "Clusters", "CorrelationMatrix", "CorrelationResult", "ExplorerPage"):
        assert name in kdi.__all__


def test_the_version_is_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", kdi.__version__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    holders = [
        path.relative_to(ROOT).as_posix()
        for path in [
            *(ROOT / "src").rglob("*.py"),
            ROOT / "pyproject.toml",
            ROOT / "CMakeLists.txt",
            ROOT / "CITATION.cff",
        ]
        if re.search(rf"version\w*\W+{re.escape(kdi.__version__)}\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert holders == ["src/kdi/_version.py"]
