"""kdi.spark against the fit in memory, on a real Spark with two cores."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kdi

ALPHAS = {"a0": 0.0, "a.1": 0.1, "a1": 1.0, "inf": np.inf, "scott": "scott"}
N = 3000


@pytest.fixture(scope="module")
def memory():
    """Columns of many kinds, as pandas has them; the last rows are missing throughout."""
    rng = np.random.default_rng(20231119)
    columns = {
        "normal": rng.normal(size=N),
        "log normal": rng.lognormal(0, 2, size=N),
        "cauchy": rng.standard_cauchy(size=N),
        "offset": 1e9 + rng.normal(size=N),
        "ties": rng.poisson(3, size=N).astype(float),
        "holes": np.where(rng.random(N) < 0.3, np.nan, rng.gamma(2, size=N)),
        "scales": rng.normal(size=N) * 10.0 ** rng.integers(-6, 7, size=N),
        "single": rng.normal(size=N).astype(np.float32),
    }
    table = pd.DataFrame(columns)
    table.loc[N - 100 :] = np.nan
    table["weight"] = rng.integers(0, 4, size=N).astype(float)
    table["id"] = np.arange(N)
    return table


@pytest.fixture(scope="module")
def frame(spark, memory):
    """The same in Spark, with null for some of what is missing and NaN for the rest."""
    table = pa.table(
        {
            name: pa.array(memory[name].to_numpy(), mask=memory[name].isna().to_numpy() & (memory["id"] % 2 == 0))
            for name in memory
        }
    )
    df = spark.createDataFrame(table).cache()
    yield df
    df.unpersist()


FEATURES = ["normal", "log normal", "cauchy", "offset", "ties", "holes", "scales", "single"]


def divided(frame, way):
    """The same rows, in other partitions and another order."""
    if way == "one":
        return frame.coalesce(1)
    if way == "three, one empty":
        return (
            frame.filter("id % 3 = 1")
            .coalesce(1)
            .union(frame.filter("id < 0").coalesce(1))
            .union(frame.filter("id % 3 != 1").coalesce(1))
        )
    # By range: no two partitions overlap, and the first holds the nulls.
    return frame.repartitionByRange(17, "cauchy")


def collected(df):
    return df.toArrow().to_pandas().sort_values("id").reset_index(drop=True)


@pytest.mark.parametrize("way", ["one", "three, one empty", "seventeen"])
@pytest.mark.parametrize("kernel, weights", [("polyexp", None), ("gaussian", "weight")])
def test_the_fit_is_that_of_the_rows_in_memory(frame, memory, way, kernel, weights):
    df = divided(frame, way)
    repeated = {f"{name} {suffix}": name for name in FEATURES for suffix in ALPHAS}
    alpha = {f"{name} {suffix}": value for name in FEATURES for suffix, value in ALPHAS.items()}
    X = pd.DataFrame({new: memory[name] for new, name in repeated.items()})
    wide = df.select("weight", *[df[name].alias(new) for new, name in repeated.items()])

    estimator = kdi.KDITransformer(alpha, kernel=kernel)
    fitted = kdi.spark.fit(estimator, wide, columns=list(repeated), sample_weight=weights)
    expected = kdi.KDITransformer(alpha, kernel=kernel).fit(X, sample_weight=memory[weights] if weights else None)

    assert fitted is estimator and type(fitted) is kdi.KDITransformer
    assert fitted.feature_names_in_.tolist() == list(repeated) and fitted.n_features_in_ == len(repeated)
    assert fitted.n_samples_seen_ == N
    np.testing.assert_array_equal(fitted.data_min_, expected.data_min_)
    np.testing.assert_array_equal(fitted.data_max_, expected.data_max_)
    np.testing.assert_allclose(fitted.bandwidth_, expected.bandwidth_, rtol=1e-12)
    assert (fitted.error_bound_ <= 1e-6).all()
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), rtol=0, atol=1e-9)


def test_many_rows_with_ranges_of_their_own(spark):
    rng = np.random.default_rng(1)
    scale = np.repeat([1e-3, 1.0, 1e3, 1e6], 25_000)
    values = rng.normal(size=100_000) * scale + scale
    df = spark.createDataFrame(pa.table({"x": values, "y": values.astype(np.float32)})).repartitionByRange(5, "x")
    X = pd.DataFrame({"x": values, "y": values.astype(np.float32)})
    for alpha in (0.05, 1.0):
        fitted = kdi.spark.fit(kdi.KDITransformer(alpha), df)
        expected = kdi.KDITransformer(alpha).fit(X)
        np.testing.assert_allclose(fitted.transform(X), expected.transform(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"bounded": False},
        {"bounded": False, "output_distribution": "normal", "spread": "robust"},
        {"spread": "robust", "feature_range": (-1, 1)},
    ],
    ids=str,
)
def test_open_maps_and_robust_spreads(spark, options):
    rng = np.random.default_rng(2)
    n = 50_000  # more than a sketch keeps
    columns = {"normal": rng.normal(size=n), "lognormal": rng.lognormal(size=n), "count": 1.0 * rng.poisson(3, size=n)}
    columns["zeros"] = np.where(rng.random(n) < 0.4, 0, rng.gamma(2, size=n))
    X = pd.DataFrame(columns)
    weights = rng.integers(0, 3, size=n).astype(float)
    df = spark.createDataFrame(pa.table({**columns, "weight": weights, "id": np.arange(n)})).repartition(5, "id")
    fitted = kdi.spark.fit(kdi.KDITransformer(**options), df, columns=list(columns), sample_weight="weight")
    expected = kdi.KDITransformer(**options).fit(X, sample_weight=weights)
    np.testing.assert_allclose(fitted.bandwidth_, expected.bandwidth_, rtol=1e-12)
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), rtol=0, atol=1e-9)
    scaled = kdi.spark.transform(fitted, df)
    levels = pd.DataFrame(fitted.transform(X), columns=X.columns)
    np.testing.assert_array_equal(collected(scaled)[list(columns)], levels)
    back = collected(kdi.spark.inverse_transform(fitted, scaled))
    np.testing.assert_array_equal(back[list(columns)], fitted.inverse_transform(levels))


def test_unions_add_up(frame, memory):
    first, second = frame.filter("id < 1000"), frame.filter("id >= 1000").repartition(2)
    fitted = kdi.spark.fit(kdi.KDITransformer(), first.union(second), columns=["normal", "cauchy"])
    expected = kdi.KDITransformer().fit(memory[["normal", "cauchy"]])
    X = memory[["normal", "cauchy"]]
    np.testing.assert_allclose(fitted.transform(X), expected.transform(X), rtol=0, atol=1e-9)
    sketches = [kdi.spark.sketch_table(part, columns="cauchy")["cauchy"] for part in (first, second)]
    whole = sum(sketches)
    assert whole.count == N - 100 and whole.missing == 100
    np.testing.assert_allclose(whole.std, np.nanstd(memory["cauchy"]), rtol=1e-12)


def test_sketches_have_names_and_weights(frame, memory):
    sketches = kdi.spark.sketch_table(frame.drop("id"), weights="weight")
    assert list(sketches) == FEATURES
    for name, sketch in sketches.items():
        expected = kdi.Sketch.from_values(memory[name], memory["weight"])
        assert (sketch.count, sketch.missing) == (expected.count, expected.missing)
        assert (sketch.minimum, sketch.maximum) == (expected.minimum, expected.maximum)
        np.testing.assert_allclose([sketch.weight, sketch.std], [expected.weight, expected.std], rtol=1e-12)


def test_transform_is_lazy_and_leaves_other_columns_alone(spark, frame, memory):
    features = ["cauchy", "holes", "normal"]
    fitted = kdi.KDITransformer(out_of_range="linear").fit(memory[features])
    df = frame.selectExpr(
        "holes", "CAST(id AS STRING) AS text", "normal", "struct(id, date '2020-01-01' AS day) AS pair", "id",
        "interval '1' day AS span", "array(normal) AS list", "cauchy", "normal AS `log.normal`",
    )  # fmt: skip
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup()
    result = kdi.spark.transform(fitted, df)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == jobs
    assert result.columns == df.columns
    for before, after in zip(df.schema.fields, result.schema.fields, strict=True):
        assert after.dataType.typeName() == "double" if before.name in features else after == before
    wanted = pd.DataFrame(fitted.transform(memory[features]), columns=features)
    got = collected(result)
    for name in features:
        np.testing.assert_allclose(got[name], wanted[name], rtol=0, atol=1e-15)
    others = [name for name in df.columns if name not in features]
    pd.testing.assert_frame_equal(got[others], collected(df)[others])

    nulls = result.selectExpr("count_if(holes IS NULL)", "count_if(isnan(holes))").collect()[0]
    there = df.selectExpr("count_if(holes IS NULL)", "count_if(isnan(holes))").collect()[0]
    assert nulls == there and min(there) > 100  # null stays null and NaN stays NaN

    back = collected(kdi.spark.inverse_transform(fitted, result))
    np.testing.assert_allclose(back[features], fitted.inverse_transform(wanted), rtol=1e-12)


def test_floats_stay_floats(frame, memory):
    X = memory[["single"]]
    fitted = kdi.spark.fit(kdi.KDITransformer(output_distribution="normal"), frame, columns=["single"])
    result = kdi.spark.transform(fitted, frame.select("single", "id"))
    assert dict(result.dtypes) == {"single": "float", "id": "bigint"}
    got = result.toArrow().to_pandas().sort_values("id")["single"].to_numpy()
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, fitted.transform(X)[:, 0], rtol=1e-6)
    back = kdi.spark.inverse_transform(fitted, result)
    assert dict(back.dtypes)["single"] == "float"


def test_the_fitted_transformer_is_an_ordinary_one(frame, memory):
    fitted = kdi.spark.fit(kdi.KDITransformer(), frame, columns=["normal", "ties"])
    X = memory[["normal", "ties"]]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(fitted.transform(X.to_numpy()), fitted.transform(X))
    assert again.get_feature_names_out().tolist() == ["normal", "ties"]
    again.partial_fit(X)
    assert again.n_samples_seen_ == 2 * N


@pytest.mark.parametrize("way", ["one", "three, one empty"])
def test_correlations_are_those_in_memory(frame, memory, way):
    names = ["normal", "log normal", "holes", "ties", "cauchy"]
    table, df = memory[names].copy(), divided(frame, way)
    table["both"] = table["normal"] + table["holes"]
    wide = df.select(*names, (df["normal"] + df["holes"]).alias("both"), "weight")
    got = kdi.spark.corr_test(wide, columns=[*names, "both"], alpha=0.5, order=2)
    expected = kdi.corr_test(table, alpha=0.5, order=2)
    assert isinstance(got, kdi.CorrelationMatrix)
    pd.testing.assert_frame_equal(got.statistic, expected.statistic, rtol=0, atol=1e-9)
    pd.testing.assert_frame_equal(got.pvalue, expected.pvalue, rtol=0, atol=1e-9)
    weighted = kdi.spark.corr(wide, weights="weight", min_periods=2500)
    expected = kdi.corr(table, weights=memory["weight"], min_periods=2500)
    pd.testing.assert_frame_equal(weighted, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weights", [None, "weight"])
@pytest.mark.parametrize("n_clusters", [None, 2])
def test_clusters_are_those_in_memory(spark, weights, n_clusters):
    rng = np.random.default_rng(5)
    x = rng.permutation(np.concatenate([rng.normal(mean, 1, 500) for mean in (0, 6, 11)] + [[np.nan] * 20]))
    mass = rng.integers(0, 4, size=len(x)).astype(float)
    table = pa.table({"x": pa.array(x, from_pandas=True), "weight": mass, "id": np.arange(len(x))})
    df = spark.createDataFrame(table).repartition(3)
    options = {"n_clusters": n_clusters, "significance": None if n_clusters else 0.05}
    got = kdi.spark.cluster(df, "x", weights=weights, **options)
    expected = kdi.cluster(x, weights=mass if weights else None, **options)
    assert got.labels is None and got.n_clusters == expected.n_clusters >= 2
    for name in ("boundaries", "centers", "sizes", "depths", "alpha"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    labelled = kdi.spark.label(got, df, "x")
    assert labelled.columns == ["x", "weight", "id", "cluster"] and dict(labelled.dtypes)["cluster"] == "int"
    labels = collected(labelled)["cluster"].to_numpy(dtype=float)
    np.testing.assert_array_equal(np.nan_to_num(labels, nan=-1), expected.labels)


@pytest.mark.parametrize("encode", ["ordinal", "onehot"])
def test_the_discretizer_fits_and_encodes(frame, memory, encode):
    features = ["ties", "normal", "holes"]
    strategy = "uniform" if encode == "onehot" else "valley"
    options = {"encode": encode, "missing": "bin", "strategy": strategy, "inverse_strategy": "median", "bandwidth": 0.1}
    fitted = kdi.spark.fit(kdi.KDIDiscretizer(**options), frame, columns=features)
    expected = kdi.KDIDiscretizer(**options).fit(memory[features])
    for name in ("bin_edges_", "centers_", "representatives_"):
        for got, wanted in zip(getattr(fitted, name), getattr(expected, name), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    assert min(fitted.n_bins_) > 1
    result = kdi.spark.transform(fitted, frame.select("holes", "id", "normal", "ties"))
    names = fitted.get_feature_names_out().tolist()
    assert result.columns == (["holes", "id", "normal", "ties"] if encode == "ordinal" else ["id", *names])
    assert {kind for name, kind in result.dtypes if name != "id"} == {"double"}
    wanted = fitted.transform(memory[features])
    wanted = wanted if encode == "ordinal" else wanted.toarray()
    np.testing.assert_array_equal(collected(result)[names], wanted)
    back = kdi.spark.inverse_transform(fitted, result)
    assert back.columns == (["holes", "id", "normal", "ties"] if encode == "ordinal" else ["id", *features])
    expected = fitted.inverse_transform(pd.DataFrame(wanted, columns=names))
    np.testing.assert_array_equal(collected(back)[features], expected)
