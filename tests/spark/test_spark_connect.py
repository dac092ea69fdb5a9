"""kdi.spark against the results in memory, on a real local server of Spark Connect.

The functions without "test" in their name run in the process that has the session.
"""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from bare_python import make_bare_python
from spark_session import connect_process

import kdi

FEATURES = ["normal", "log normal", "holes"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(20231119)
    n = 2000
    columns = {
        "normal": rng.normal(size=n) + 6 * rng.integers(0, 2, size=n),
        "log normal": rng.lognormal(0, 2, size=n),
        "holes": np.where(rng.random(n) < 0.3, np.nan, rng.gamma(2, size=n)),
        "weight": rng.integers(0, 4, size=n).astype(float),
        "id": np.arange(n),
    }
    return pd.DataFrame(columns)


def as_frame(spark, table, n_partitions=3):
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    return spark.createDataFrame(pa.Table.from_pandas(table)).repartition(n_partitions, "id")


def collected(df):
    return df.toArrow().to_pandas().sort_values("id").reset_index(drop=True)


def fit(spark, table, estimator, n_partitions):
    import kdi.spark

    df = as_frame(spark, table, n_partitions)
    return kdi.spark.fit(estimator, df, columns=FEATURES, sample_weight="weight")


@pytest.mark.parametrize("alpha, n_partitions", [(1.0, 17), (0.0, 3)])  # 17: more than are merged at once
def test_the_fit_is_that_of_the_rows_in_memory(connect, table, alpha, n_partitions):
    X = table[FEATURES]
    fitted = connect(fit, table, kdi.KDITransformer(alpha), n_partitions)
    expected = kdi.KDITransformer(alpha).fit(X, sample_weight=table["weight"])
    assert fitted.feature_names_in_.tolist() == FEATURES
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), rtol=0, atol=1e-9)


def test_the_discretizer_is_that_of_the_rows_in_memory(connect, table):
    options = {"encode": "ordinal", "missing": "bin"}
    fitted = connect(fit, table, kdi.KDIDiscretizer(**options), 3)
    expected = kdi.KDIDiscretizer(**options).fit(table[FEATURES], sample_weight=table["weight"])
    for got, wanted in zip(fitted.bin_edges_, expected.bin_edges_, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def transform_and_back(spark, table, estimator):
    import kdi.spark

    scaled = kdi.spark.transform(estimator, as_frame(spark, table))
    return collected(scaled), collected(kdi.spark.inverse_transform(estimator, scaled))


def test_transform_and_its_inverse(connect, table):
    fitted = kdi.KDITransformer().fit(table[FEATURES])
    scaled, back = connect(transform_and_back, table, fitted)
    levels = pd.DataFrame(fitted.transform(table[FEATURES]), columns=FEATURES)
    assert list(scaled) == list(back) == list(table)
    np.testing.assert_allclose(scaled[FEATURES], levels, rtol=0, atol=1e-9)
    np.testing.assert_allclose(back[FEATURES], fitted.inverse_transform(levels), rtol=1e-9)
    assert scaled[["weight", "id"]].equals(table[["weight", "id"]])


def correlate(spark, table):
    import kdi.spark

    return kdi.spark.corr_test(as_frame(spark, table), columns=FEATURES, alpha=0.5)


def test_correlations_are_those_in_memory(connect, table):
    got = connect(correlate, table)
    expected = kdi.corr_test(table[FEATURES], alpha=0.5)
    pd.testing.assert_frame_equal(got.statistic, expected.statistic, rtol=0, atol=1e-9)
    pd.testing.assert_frame_equal(got.pvalue, expected.pvalue, rtol=0, atol=1e-9)


def cluster_and_label(spark, table):
    import kdi.spark

    df = as_frame(spark, table)
    found = kdi.spark.cluster(df, "normal", weights="weight")
    return found, collected(kdi.spark.label(found, df, "normal"))["cluster"]


def test_clusters_are_those_in_memory(connect, table):
    got, labels = connect(cluster_and_label, table)
    expected = kdi.cluster(table["normal"].to_numpy(), weights=table["weight"].to_numpy())
    assert got.n_clusters == expected.n_clusters >= 2
    for name in ("boundaries", "centers", "sizes", "depths"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(labels, expected.labels)


def sketch(spark, table):
    import kdi.spark

    return {name: sketch.to_bytes() for name, sketch in kdi.spark.sketch_table(as_frame(spark, table)).items()}


def test_sketches_are_those_in_memory(connect, table):
    got = connect(sketch, table)
    expected = kdi.sketch_table(table)
    assert list(got) == list(expected)
    for name, sent in got.items():
        np.testing.assert_allclose(kdi.Sketch.from_bytes(sent).std, expected[name].std, rtol=1e-12)


def test_errors_about_the_table_are_those_in_memory(connect, table):
    with pytest.raises(ValueError, match=r"^Input X contains infinity.* in column 'holes'"):
        connect(fit, table.replace({"holes": {np.nan: np.inf}}), kdi.KDITransformer(), 3)


def messages(spark, table, estimator):
    """Messages of a fit and of rows that are transformed."""
    import kdi.spark

    df = as_frame(spark, table, 1)
    with pytest.raises(ImportError) as fitting:
        kdi.spark.fit(kdi.KDITransformer(), df)
    with pytest.raises(Exception, match="kdi") as transforming:
        kdi.spark.transform(estimator, df).collect()
    return str(fitting.value), str(transforming.value)


@pytest.mark.slow
def test_executors_without_kdi(table, tmp_path):
    python = make_bare_python(tmp_path, with_engines=True)
    fitted = kdi.KDITransformer().fit(table[FEATURES])
    with connect_process(python) as connect:
        fitting, transforming = connect(messages, table, fitted)
    assert fitting.startswith(f"Spark's executors must be able to import kdi, got {python} (No module named 'kdi'); ")
    assert "\n" not in fitting and fitting in transforming
    assert f"run `pip install 'kdi[spark]'` with Python {sys.version_info[0]}.{sys.version_info[1]} on" in fitting
