"""Executors whose Python cannot run kdi: what the error says."""

import sys

import pandas as pd
import pytest
from bare_python import make_bare_python

import kdi

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
ADVICE = (
    f"; run `pip install 'kdi[spark]'` with Python {VERSION} on every machine, and set PYSPARK_PYTHON (or "
    "spark.pyspark.python) to that Python before Spark, or the Spark Connect server, starts."
)


@pytest.mark.parametrize("with_engines, lacking", [(True, "kdi"), (False, "pyarrow")])
def test_executors_without_kdi(spark, monkeypatch, tmp_path, with_engines, lacking):
    python = make_bare_python(tmp_path, with_engines=with_engines)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    df = spark.range(0, 3, 1, 1).selectExpr("double(id) AS x")
    with pytest.raises(ImportError) as caught:
        kdi.spark.fit(kdi.KDITransformer(), df)
    got = f"{python} (No module named 'kdi')" if with_engines else "a Python without pyarrow"
    assert str(caught.value) == f"Spark's executors must be able to import kdi, got {got}{ADVICE}"

    fitted = kdi.KDITransformer().fit(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(Exception, match=f"No module named '{lacking}'") as caught:  # as Spark reports it
        kdi.spark.transform(fitted, df).collect()
    assert not with_engines or ADVICE in str(caught.value)


def test_executors_with_another_version_of_python(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")  # as if it were the driver's
    with pytest.raises(RuntimeError) as caught:
        kdi.spark.sketch_table(spark.range(0, 3, 1, 1))
    assert str(caught.value) == f"Spark's executors must run Python 3.9, as the driver does, got {VERSION}{ADVICE}"


def test_other_errors_stay_those_of_spark(spark):
    def fail(batches):
        raise ModuleNotFoundError("No module named 'numpy_of_the_user'")

    df = spark.range(0, 3, 1, 1)
    with pytest.raises(Exception, match="No module named 'numpy_of_the_user'") as caught:
        kdi.spark.sketch_table(df.mapInArrow(fail, df.schema))
    assert type(caught.value).__module__.startswith("pyspark")
