"""Spark's side of ``benchmarks.engines``: local mode with one or two cores."""

import os
import shutil
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import contest

ACCURACY = 0.001  # approxQuantile's relativeError
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def lacking() -> str | None:
    """Say what is not installed; None if nothing is missing."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java runtime"
    return None


class Frame:
    """Files as a DataFrame, and their path."""

    def __init__(self, session: Any, path: Path) -> None:
        self.frame, self.path = session.read.parquet(str(path)), path


def kdi_levels(table: Frame, alpha: float) -> Any:
    import kdi
    import kdi.spark

    return kdi.spark.fit(kdi.KDITransformer(alpha=alpha), table.frame).transform(contest.points(table.path)).tolist()


def approximate_quantiles(table: Frame) -> Any:
    return table.frame.approxQuantile(table.frame.columns, contest.levels(), ACCURACY)


CONTENDERS = {name: partial(kdi_levels, alpha=alpha) for name, alpha in contest.ALPHA.items()} | {
    f"approxQuantile, relativeError {ACCURACY}": approximate_quantiles
}


def probe(place: str, n_workers: int, budget: float) -> dict[str, Any]:
    """Measure all contenders; runs in a fresh process, which can have only one JVM with one number of cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(f"local[{n_workers}]").config(map=SETTINGS).getOrCreate()
    try:
        tables = {folder: Frame(session, Path(place) / folder) for folder in contest.FOLDERS}
        return contest.race(CONTENDERS, tables, budget)
    finally:
        session.stop()
