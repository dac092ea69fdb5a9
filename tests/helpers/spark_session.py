"""A plugin of the tests of kdi.spark: one Spark for all of them, with two cores of this machine."""

import os
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec

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
    if find_spec("pyspark") is None:
        missing("pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("no Java runtime found (java)")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    import_module("kdi.spark")
    builder = import_module("pyspark.sql").SparkSession.builder.appName("kdi")
    session = builder.master("local[2,4]").config(map=SETTINGS).getOrCreate()  # a task may fail three times
    yield session
    session.stop()
