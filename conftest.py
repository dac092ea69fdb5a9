"""Modules of engines that are not installed have no doctests to run; tests/engines.py says what their own tests do."""

from importlib.util import find_spec

NEEDS = {
    "_arrow": "pyarrow",
    "_csv_errors": "pyarrow",
    "_files": "pyarrow",
    "_dask_input": "dask",
    "_dask_maps": "dask",
    "_spark_maps": "pyspark",
    "_spark_tasks": "pyarrow",
    "dask": "dask",
    "spark": "pyspark",
}
collect_ignore = [f"src/kdi/{module}.py" for module, library in NEEDS.items() if find_spec(library) is None]
