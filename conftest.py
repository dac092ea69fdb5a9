"""Collection of doctests: those of public classes too, and none of packages whose engine is not installed."""

import doctest
import inspect
from importlib.util import find_spec

import pytest

import kdi

# tests/helpers/engines.py says what happens to the tests of engines that are missing.
NEEDS = {
    "_tables/arrow.py": "pyarrow",
    "_tables/csv_errors.py": "pyarrow",
    "_tables/files.py": "pyarrow",
    "dask": "dask",
    "spark": "pyspark",
    "torch": "torch",
    "torch/_kernels.py": "cuda.core",
}


def _is_installed(library):
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # its parent is not
        return False


collect_ignore = [f"src/kdi/{path}" for path, library in NEEDS.items() if not _is_installed(library)]
collect_ignore += [] if _is_installed("torch") else ["tests/helpers/torch_backends.py"]

_is_from_module = doctest.DocTestFinder._from_module


def _is_defined_in_module(finder, module, one):
    """Return whether an object is defined in a module, also where its `__module__` names the public package."""
    if inspect.isfunction(one):
        return one.__globals__ is module.__dict__
    if inspect.isclass(one) and one.__module__.split(".")[0] == "kdi" and one.__module__ != module.__name__:
        return kdi._HOMES.get(one.__name__) == module.__name__
    return _is_from_module(finder, module, one)


doctest.DocTestFinder._from_module = _is_defined_in_module


# Tests that share an engine, the browser or a long run go to one process. The paths decide, because the marks of
# `--dist loadgroup` in pytest-xdist 3.8 have no effect under pytest 9.2.
SHARED = {
    "tests/dask/": "dask",
    "tests/docs/test_clustering_page.py": "experiments",
    "tests/docs/test_scale_page.py": "spark",
    "tests/experiments/": "experiments",
    "tests/explorer/": "browser",
    "tests/spark/": "spark",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class SharedScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((group for path, group in SHARED.items() if nodeid.startswith(path)), nodeid)

    return SharedScheduling(config, log)
