"""kdi.spark: odd names and types, what is refused and in which words, tasks that fail, trees of merges."""

import os
import pickle
import subprocess
import sys
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import kdi
from kdi._utils.errors import TableError


def some(n=50, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def test_names_may_hold_anything(spark):
    names = ["a.b", "a b", "a`b", "`", "größe", "A", "a", "'", '"', "c0", "mapped", "weight"]
    X = pd.DataFrame({name: some(seed=j) for j, name in enumerate(names)})
    df = spark.createDataFrame(pa.table({**X, "the`weight.s": np.ones(50), "id": np.arange(50)}))
    df = df.repartition(2)
    features = names[::-1]
    fitted = kdi.spark.fit(kdi.KDITransformer(), df, columns=features, sample_weight="the`weight.s")
    assert fitted.feature_names_in_.tolist() == features
    result = kdi.spark.transform(fitted, df)
    assert result.columns == [*names, "the`weight.s", "id"]
    got = result.toArrow().to_pandas().sort_values("id")[features]
    np.testing.assert_allclose(got, kdi.KDITransformer().fit_transform(X[features]), rtol=0, atol=1e-9)
    labelled = kdi.spark.label(kdi.cluster(X["a`b"]), df, "a`b", name="x.`y")
    assert labelled.columns[-1] == "x.`y" and labelled.count() == 50


def test_numbers_of_every_type(spark):
    schema = "b byte, s short, i int, l long, d decimal(10, 2), t boolean, f float, n void, w double"
    rows = [
        (1, 2, 3, 4, Decimal("1.25"), True, 0.5, None, 1.0),
        (None,) * 9,
        (5, 7, 1, 3, Decimal("-2.5"), False, 2.5, None, float("nan")),
    ]
    df = spark.createDataFrame(rows, schema).coalesce(1)
    names = df.columns
    X = pd.DataFrame([[np.nan if value is None else float(value) for value in row] for row in rows], columns=names)
    with pytest.warns(UserWarning, match="'n' held only NaN"):
        fitted = kdi.spark.fit(kdi.KDITransformer(), df)
        expected = kdi.KDITransformer().fit(X)
    result = kdi.spark.transform(fitted, df)
    assert {kind for _, kind in result.dtypes} == {"double"}
    np.testing.assert_allclose(result.toArrow().to_pandas(), expected.transform(X), rtol=0, atol=1e-12)


def test_what_is_refused_before_anything_is_read(spark):
    df = spark.createDataFrame([(1.0, "one", [1.0], 1.0)], "x double, text string, list array<double>, y double")
    transformer = kdi.KDITransformer()

    def fit(estimator, X, columns=None, sample_weight=None):
        return kdi.spark.fit(estimator, X, columns=columns, sample_weight=sample_weight)

    for call, kind, message in [
        (lambda: fit(transformer, df), ValueError, "'text' holds string, column 'list' holds array; columns= selects"),
        (lambda: fit(transformer, df, ["x", "text"]), ValueError, "column 'text' holds string"),
        (lambda: fit(transformer, df, "y", sample_weight="text"), ValueError, "column 'text' holds string"),
        (lambda: fit(transformer, df, ["x", "z"]), ValueError, "there is no column 'z'; the columns are 'x', 'text'"),
        (lambda: fit(transformer, df, ["X"]), ValueError, "there is no column 'X'"),
        (lambda: fit(transformer, df, "x", sample_weight="v"), ValueError, "there is no column 'v'"),
        (
            lambda: fit(transformer, df, "x", sample_weight=[1.0]),
            TypeError,
            "sample_weight must be the name of a column",
        ),
        (lambda: fit(transformer, df, ["x", "y", "x"]), ValueError, "but 'x' occurs more than once; columns= selects"),
        (lambda: fit(transformer, df.select("x", "y", df["y"].alias("x"))), ValueError, "'x' occurs more than once"),
        (lambda: fit(transformer, df, []), ValueError, "no columns to read"),
        (
            lambda: fit(transformer, df.toArrow().to_pandas()),
            TypeError,
            "X must be a Spark DataFrame, got a pandas Data",
        ),
        (lambda: fit(transformer, np.ones((3, 2))), TypeError, "X must be a Spark DataFrame, got a numpy ndarray"),
        (lambda: fit(StandardScaler(), df, "x"), TypeError, "KDITransformer or a KDIDiscretizer, got a sklearn Stan"),
        (lambda: fit(kdi.KDITransformer, df, "x"), TypeError, "or a KDIDiscretizer, got a type"),
        (lambda: fit(transformer, spark.readStream.format("rate").load()), ValueError, "is a stream"),
        (lambda: fit(kdi.KDITransformer(kernel="box"), df, "x"), ValueError, "kernel"),
        (lambda: kdi.spark.corr(df), ValueError, "column 'text' holds string"),
        (lambda: kdi.spark.cluster(df, "list"), ValueError, "column 'list' holds array"),
        (lambda: kdi.spark.cluster(df, "x", order=-1), ValueError, "order"),
        (lambda: kdi.spark.sketch_table(df), ValueError, "columns= selects"),
        (lambda: kdi.spark.corr_test(1), TypeError, "table must be a Spark DataFrame, got a int"),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert message in str(caught.value) and "\n" not in str(caught.value)


def test_transform_and_label_refuse_what_does_not_fit(spark):
    X = pd.DataFrame({"x": some(), "y": some(seed=1)})
    fitted, bins = kdi.KDITransformer().fit(X), kdi.KDIDiscretizer(n_bins=2, strategy="uniform").fit(X[["x"]])
    df = spark.createDataFrame([(1.0, "one", float("inf"))], "x double, y string, z double")
    taken = df.select("x", df["z"].alias(bins.get_feature_names_out()[1]))
    for call, kind, message in [
        (lambda: kdi.spark.transform(fitted, df.select("x")), ValueError, "there is no column 'y'"),
        (lambda: kdi.spark.transform(fitted, df), ValueError, "column 'y' holds string"),
        (lambda: kdi.spark.transform(fitted, X), TypeError, "X must be a Spark DataFrame"),
        (lambda: kdi.spark.transform(kdi.KDITransformer(), df), NotFittedError, "not fitted"),
        (
            lambda: kdi.spark.transform(kdi.KDITransformer().fit(X.to_numpy()), df),
            ValueError,
            "refit it with named columns",
        ),
        (lambda: kdi.spark.transform(bins, taken), ValueError, "the table already has a column 'x_["),
        (lambda: kdi.spark.inverse_transform(bins, df), ValueError, "there is no column 'x_("),
        (
            lambda: kdi.spark.label(kdi.cluster(X["x"]), df, "x", name="y"),
            ValueError,
            "the table already has a column 'y'",
        ),
        (lambda: kdi.spark.label(kdi.cluster(X["x"]), df, "y"), ValueError, "column 'y' holds string"),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert message in str(caught.value) and "\n" not in str(caught.value)
    # What only tasks can see is said when the rows are asked for.
    with pytest.raises(Exception, match=r"infinity.*in column 'x'"):
        kdi.spark.transform(fitted, df.selectExpr("z AS x", "x AS y")).collect()


def test_refusals_carry_the_column(spark):
    df = spark.createDataFrame([(1.0, "one", float("inf"))], "x double, y string, z double")
    twice = df.select("x", "z", df["z"].alias("x"))
    for call, column in [
        (lambda: kdi.spark.sketch_table(df), "y"),
        (lambda: kdi.spark.sketch_table(df, columns=["x", "v", "w"]), "v"),
        (lambda: kdi.spark.sketch_table(df, columns="x", weights="v"), "v"),
        (lambda: kdi.spark.sketch_table(twice), "x"),
        (lambda: kdi.spark.label(kdi.cluster([1.0, 2.0]), df, "x", name="z"), "z"),
        (lambda: kdi.spark.sketch_table(df, columns=["x", "z"]), "z"),
    ]:
        with pytest.raises(TableError) as caught:
            call()
        assert (caught.value.column, caught.value.row) == (column, None)
    # Batches have their own rows, so a row would say nothing.
    with pytest.raises(Exception, match=r"column 'z' must be finite or NaN, got inf\.$"):
        kdi.spark.label(kdi.cluster([1.0, 2.0]), df, "z").collect()


@pytest.mark.parametrize("wrong, shown", [(-1.0, "-1.0"), (None, "nan"), (float("inf"), "inf")])
def test_weights_that_are_none(spark, wrong, shown):
    df = spark.createDataFrame([(float(j), wrong if j == 4 else 1.0) for j in range(9)], "x double, w double")
    expected = r"^weights in column 'w' must be finite and not negative, got [a-z0-9.-]+\.$"
    for call in (kdi.spark.sketch_table, kdi.spark.corr, partial(kdi.spark.cluster, column="x")):
        with pytest.raises(ValueError, match=expected) as caught:
            call(df, weights="w")
        assert shown in str(caught.value) and caught.value.row is None


def test_frames_that_nothing_can_be_learnt_from(spark):
    schema = "x double, w double"
    for rows, weights, message in [
        ([(1.0, 1.0), (float("-inf"), 1.0)], None, "infinity.*in column 'x'"),
        ([(1.0, 0.0), (2.0, 0.0)], "w", "sample_weight must not be zero in every row"),
        ([], None, "0 sample"),
    ]:
        df = spark.createDataFrame(rows, schema)
        for estimator in (kdi.KDITransformer(), kdi.KDIDiscretizer()):
            with pytest.raises(ValueError, match=message):
                kdi.spark.fit(estimator, df, columns=["x"], sample_weight=weights)
    with pytest.raises(ValueError, match="0 sample"):
        kdi.spark.fit(kdi.KDITransformer(), spark.createDataFrame([(1.0,)], "x double").filter("1 = 0"))


def test_a_task_that_fails_once_changes_nothing(spark, tmp_path):
    X = pd.DataFrame({"x": some(4000)})
    df = spark.createDataFrame(pa.table(X)).repartition(3)
    failed = str(tmp_path / "failed")

    def flaky(batches):
        for batch in batches:
            if not os.path.exists(failed):
                open(failed, "w").close()
                raise RuntimeError("a disk was lost")
            yield batch

    fitted = kdi.spark.fit(kdi.KDITransformer(), df.mapInArrow(flaky, df.schema))
    assert os.path.exists(failed)
    np.testing.assert_allclose(fitted.transform(X), kdi.KDITransformer().fit_transform(X), rtol=0, atol=1e-9)
    assert fitted.n_samples_seen_ == 4000


def test_our_own_task_that_fails_once_is_tried_again_and_a_refusal_is_not(spark, tmp_path):
    partitions = kdi.spark.SparkPartitions(spark.range(100).repartition(3))
    tried = str(tmp_path / "tried")

    def flaky(chunks):
        first = not os.path.exists(tried)
        open(tried, "w").close()
        rows = sum(len(columns[0]) for columns, _ in chunks)
        if first:
            raise OSError("a worker was lost")
        return rows

    assert partitions.reduce(flaky, lambda one, other: one + other) == 100 and os.path.exists(tried)

    def refuse(chunks):
        with open(tried, "a") as file:
            file.write("+")
        raise ValueError("no such number")

    with pytest.raises(ValueError, match=r"^no such number$") as caught:
        partitions.reduce(refuse, lambda one, other: one + other)
    assert type(caught.value) is ValueError and Path(tried).read_text() == "+++"


@pytest.mark.parametrize("size, n_partitions", [(2**10, 7), (2**24, 3)])
def test_trees(spark, monkeypatch, size, n_partitions):
    """However many summaries there are, and however large, each partition's is merged once."""
    monkeypatch.setattr(kdi.spark._partitions, "MERGED_BYTES", 3 * size)
    monkeypatch.setattr(kdi.spark._partitions, "MERGED_AT_ONCE", 3)

    def summarise(chunks):
        rows = np.concatenate([columns[0] for columns, _ in chunks] or [np.empty(0)])
        return rows.tolist(), [(len(rows), bytes(size))]

    def merge(one, other):
        return one[0] + other[0], [(n, b"") for n, _ in one[1] + other[1]] + [(0, bytes(size))]

    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = set(kept())
    partitions = kdi.spark.SparkPartitions(spark.range(25).repartition(n_partitions))
    rows, _ = partitions.reduce(summarise, merge)
    assert sorted(rows) == list(range(25))
    assert set(kept()) == before  # nothing is left behind


def test_batches_of_one_partition_come_in_order_with_weights_and_types(spark):
    df = spark.range(0, 50_000, 1, 1).selectExpr("id", "CAST(id AS FLOAT) AS f", "id * 2 AS w")
    partitions = kdi.spark.SparkPartitions(df, columns=["id", "f"], weights="w")
    assert partitions.names == ["id", "f"] and partitions.n_columns == 2 and partitions.rereadable

    def summarise(chunks):
        chunks = list(chunks)
        (ids, floats), weights = (
            [np.concatenate(column) for column in zip(*[columns for columns, _ in chunks], strict=True)],
            np.concatenate([weights for _, weights in chunks]),
        )
        return [(ids.dtype, floats.dtype, weights.dtype, (ids == floats).all(), (2 * ids == weights).all(), len(ids))]

    found = partitions.reduce(summarise, list.__add__)
    assert found == [(np.float64, np.float32, np.float64, True, True, 50_000)]


@pytest.mark.slow
def test_without_pyspark_the_extra_is_named():
    for library in ("pyspark", "pyarrow"):
        missing = f"import sys; sys.modules[{library!r}] = None; import kdi; "
        assert run_code(missing + "assert not hasattr(kdi, 'spark') and hasattr(kdi, 'KDITransformer')").returncode == 0
        done = run_code(missing + "import kdi.spark")
        assert done.returncode == 1 and "ImportError" in done.stderr.splitlines()[-1]
        assert "pip install 'kdi[spark]'" in done.stderr.splitlines()[-1]


def run_code(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_tasks_get_packed_maps_and_no_sketches(spark):
    from kdi.spark._lazy import model_for_workers

    X = np.column_stack([some(20_000, seed) for seed in range(3)])
    model = kdi.KDITransformer(0.1).partial_fit(X)
    sent = pickle.dumps(model_for_workers(model))
    assert len(sent) < len(pickle.dumps(model.packed_maps_)) + 2000 < len(pickle.dumps(model)) / 2
    np.testing.assert_array_equal(pickle.loads(sent).transform(X.copy()), model.transform(X))
