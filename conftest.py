"""Which doctests there are: those of public classes too, and none of packages whose engine is not installed."""

import doctest
import inspect
from importlib.util import find_spec

import kdi

# tests/helpers/engines.py says what happens to the tests of engines that are missing.
NEEDS = {
    "_tables/arrow.py": "pyarrow",
    "_tables/csv_errors.py": "pyarrow",
    "_tables/files.py": "pyarrow",
    "dask": "dask",
    "spark": "pyspark",
}
collect_ignore = [f"src/kdi/{path}" for path, library in NEEDS.items() if find_spec(library) is None]

_is_from_module = doctest.DocTestFinder._from_module


def _is_defined_in_module(finder, module, one):
    """Whether an object is defined in a module, for classes whose `__module__` names the public package."""
    if inspect.isclass(one) and one.__module__.split(".")[0] == "kdi" and one.__module__ != module.__name__:
        return kdi._HOMES.get(one.__name__) == module.__name__
    return _is_from_module(finder, module, one)


doctest.DocTestFinder._from_module = _is_defined_in_module
