"""A plugin of the tests of kdi.spark: one Spark for all of them, and Spark Connect in a process of its own."""

import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context

import pytest
from engines import missing

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark():
    require("pyspark")
    prepare_environment(sys.executable)
    import_module("kdi.spark")
    builder = import_module("pyspark.sql").SparkSession.builder.appName("kdi")
    session = builder.master("local[2,4]").config(map=SETTINGS).getOrCreate()  # a task may fail three times
    yield session
    session.stop()


@pytest.fixture(scope="module")
def connect():
    with connect_process(sys.executable) as call:
        yield call


def require(*libraries):
    """Skip the tests without these libraries, or without Java."""
    for library in libraries:
        if find_spec(library) is None:
            missing(f"{library} is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("no Java runtime found (java)")


def prepare_environment(python):
    os.environ["PYSPARK_PYTHON"] = str(python)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@contextmanager
def connect_process(python):
    """Yield a function that calls functions of a session of Spark Connect; its executors run this Python.

    PySpark has either classic sessions or those of Spark Connect per process, so that the calls are in another one.
    """
    require("pyspark", "grpc", "grpc_status", "zstandard")
    with ProcessPoolExecutor(1, get_context("spawn"), start_connect, (python,)) as pool:
        yield lambda function, *arguments: pool.submit(call_with_session, function, *arguments).result()
        pool.submit(stop_connect).result()


def start_connect(python):
    prepare_environment(python)
    os.environ["SPARK_TESTING"] = "1"  # any free port
    session_class = import_module("pyspark.sql").SparkSession
    session_class.builder.remote("local[2]").config(map=SETTINGS).getOrCreate()


def call_with_session(function, *arguments):
    return function(active_session(), *arguments)


def stop_connect():
    active_session().stop()


def active_session():
    return import_module("pyspark.sql").SparkSession.builder.getOrCreate()
