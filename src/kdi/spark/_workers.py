"""Functions sent to Spark's workers, and clear errors where the Python of these workers cannot run them."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyspark import cloudpickle

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
WITHOUT_KDI = "Spark's executors must be able to import kdi"
ADVICE = (
    f"run `pip install 'kdi[spark]'` with Python {VERSION} on every machine, and set PYSPARK_PYTHON (or "
    "spark.pyspark.python) to that Python before Spark, or the Spark Connect server, starts"
)


def for_workers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that workers without kdi raise an error that says what to install.

    Spark pickles the wrapper by value. It contains the function as bytes, so that unpickling it does not import kdi.
    """
    pickled = cloudpickle.dumps(function)
    loaded: list[Callable[..., Any]] = []  # once per task, which may call it for many batches
    problem, advice = WITHOUT_KDI, ADVICE

    def call(*arguments: Any) -> Any:
        if not loaded:
            try:
                import_module("kdi.spark._tasks")
            except ImportError as error:
                raise ImportError(f"{problem}, got {sys.executable} ({error}); {advice}.") from None
            loaded.append(pickle.loads(pickled))
        return loaded[0](*arguments)

    return call


@contextmanager
def explained_errors() -> Iterator[None]:
    """Replace Spark's errors about the Python of its workers, which are tracebacks, by one line."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if found := re.search(f"{WITHOUT_KDI}.*", text):
            raise ImportError(found[0]) from None
        # Spark itself imports these, before it calls a function.
        if found := re.search("No module named '(numpy|pandas|pyarrow)'", text):
            raise ImportError(f"{WITHOUT_KDI}, got a Python without {found[1]}; {ADVICE}.") from None
        if found := re.search(r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)", text):
            raise RuntimeError(
                f"Spark's executors must run Python {found[2]}, as the driver does, got {found[1]}; {ADVICE}."
            ) from None
        raise
