"""Corners of kdi.dask that need no cluster: what is taken, what is refused and in which words."""

import operator
import pickle
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest
import sklearn
from engines import missing
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ConstantInputWarning

import kdi
from kdi._utils.errors import TableError

try:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa
except ImportError as error:
    missing(f"dask is not installed ({error})")

import kdi.dask
from kdi._tables.streams import model_for_workers


@pytest.fixture(autouse=True)
def no_threads():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"a": rng.normal(size=300), "b": rng.lognormal(size=300)})


def fitted(X, **options):
    return kdi.dask.fit(kdi.KDITransformer(**options), X)


class TestDtypes:
    @pytest.mark.parametrize(
        "dtype", ["Int64", "Float64", "Float32", "UInt8", "int64[pyarrow]", "float[pyarrow]", "double[pyarrow]"]
    )
    def test_nullable(self, rng, dtype):
        values = pd.Series(rng.integers(0, 50, size=200)).astype(dtype)
        values[::7] = pd.NA
        X = dd.from_pandas(pd.DataFrame({"a": values}), npartitions=3)
        numbers = values.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        expected = kdi.KDITransformer().fit(pd.DataFrame({"a": numbers}))
        found = fitted(X)
        assert found.sketches_[0].missing == 29
        single = dtype in ("Float32", "float[pyarrow]")
        coded = kdi.dask.transform(found, X)
        assert coded.dtypes["a"] == (np.float32 if single else np.float64)
        result = expected.transform(pd.DataFrame({"a": numbers}))
        assert_allclose(coded.compute(), result, rtol=0, atol=1e-7 if single else 1e-9)

    @pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]", "int8", "uint64", "float16", "float32"])
    def test_other_numbers(self, rng, dtype):
        values = pd.Series(rng.integers(0, 2, size=100)).astype(dtype)
        X = dd.from_pandas(pd.DataFrame({"a": values}), npartitions=3)
        found = fitted(X)
        assert (found.data_min_, found.data_max_) == (0, 1)
        assert kdi.dask.transform(found, X).compute().dtypes["a"] == ("float32" if dtype == "float32" else "float64")

    @pytest.mark.parametrize("arrow", [pa.decimal128(10, 2), pa.null()])
    def test_arrow_types_that_have_no_numpy_kind(self, arrow):
        values = [None, None] if pa.types.is_null(arrow) else [Decimal("1.25"), None]
        table = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array(values, dtype=pd.ArrowDtype(arrow))})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # only NaN
            found = fitted(dd.from_pandas(table, npartitions=1))
        assert found.sketches_[1].missing == (2 if pa.types.is_null(arrow) else 1)

    def test_array_of_objects(self, frame):
        X = dd.from_pandas(frame.astype("Float64"), npartitions=3).to_dask_array()
        assert X.dtype == object
        assert np.isnan(X.shape[0])
        assert_array_equal(fitted(X).data_max_, frame.max())

    def test_masked_blocks(self, rng):
        table = rng.normal(size=(50, 2))
        X = da.ma.masked_greater(da.from_array(table, chunks=(20, 2)), 1.0)
        assert (fitted(X).data_max_ <= 1).all()
        coded = kdi.dask.transform(fitted(X), X).compute()
        assert_array_equal(np.isnan(coded), table > 1)

    @pytest.mark.parametrize("dtype", [">f8", ">f4", "<i2", "longdouble"])
    def test_foreign_bytes(self, rng, dtype):
        table = rng.integers(0, 9, size=(60, 2)).astype(dtype)
        found = fitted(da.from_array(table, chunks=(25, 1)))
        points = np.linspace(0, 8, 20).repeat(2).reshape(-1, 2)
        assert_allclose(
            found.transform(points), kdi.KDITransformer().fit(table.astype(float)).transform(points), atol=1e-12
        )

    def test_float32_and_float64_columns_together(self, frame):
        X = dd.from_pandas(frame.astype({"a": np.float32}), npartitions=2)
        assert (kdi.dask.transform(fitted(X), X).dtypes == np.float64).all()

    def test_unknown_chunks(self, frame):
        X = dd.from_pandas(frame, npartitions=4).to_dask_array()
        whole = da.concatenate([X, X], axis=1, allow_unknown_chunksizes=True)
        assert whole.numblocks == (4, 2)
        found = fitted(whole)
        coded = kdi.dask.transform(found, whole)
        table = np.hstack([frame, frame])
        assert_array_equal(coded.compute(), found.transform(table))
        assert_allclose(coded.compute(), kdi.KDITransformer().fit_transform(table), rtol=0, atol=1e-9)
        assert_array_equal(fitted(whole, alpha=0).data_min_, table.min(axis=0))


class TestRefused:
    @pytest.mark.parametrize(
        ("column", "words"),
        [
            (["x", "y"], "column 'c' holds str"),
            (pd.to_datetime(["2020-01-01", "2021-01-01"]), "column 'c' holds datetime64"),
            (pd.Categorical(["x", "y"]), "column 'c' holds category"),
            (pd.to_timedelta([1, 2]), "column 'c' holds timedelta64"),
            ([1j, 2j], "column 'c' holds complex128"),
        ],
    )
    def test_columns_that_are_not_numbers(self, column, words):
        X = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "c": column}), npartitions=1)
        model = fitted(X[["a"]])
        for function in (
            lambda: fitted(X),
            lambda: kdi.dask.corr(X),
            lambda: kdi.dask.sketch_table(X),
            lambda: kdi.dask.transform(model, X),
        ):
            with pytest.raises(TableError, match=f"all columns must be numeric, but {words}") as caught:
                function()
            assert caught.value.column == "c"
        assert list(kdi.dask.sketch_table(X, columns=["a"]).compute()) == ["a"]

    def test_text_among_objects_is_found_in_the_worker(self):
        with dask.config.set({"dataframe.convert-string": False}):
            table = pd.DataFrame({"a": np.array([1.0, "x", None], dtype=object)})
            X = dd.from_pandas(table, npartitions=1)
        with pytest.raises(TableError, match="column 'a' must be real numbers, got 'x'") as caught:
            fitted(X)
        assert (caught.value.column, caught.value.row) == ("a", None)

    @pytest.mark.parametrize("dtype", ["U3", "M8[s]", "c16"])
    def test_arrays_that_are_not_numbers(self, dtype):
        with pytest.raises(TableError, match="all columns must be numeric, but column 0 holds") as caught:
            fitted(da.from_array(np.zeros((3, 2), dtype=dtype)))
        assert caught.value.column == "0"

    def test_one_dimension(self, frame):
        X = dd.from_pandas(frame, npartitions=2)
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
            fitted(da.ones(5))
        with pytest.raises(ValueError, match="Expected 2D array, got 3D array instead"):
            fitted(da.ones((5, 2, 2)))
        with pytest.raises(ValueError, match="Expected a 2-dimensional container"):
            fitted(X["a"])
        with pytest.raises(ValueError, match="0 feature"):
            fitted(da.ones((5, 0)))
        with pytest.raises(ValueError, match="0 columns"):
            fitted(X[[]])

    @pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, lambda table: table.tolist(), dask.delayed])
    def test_what_is_not_of_dask(self, make):
        X = make(np.ones((5, 2)))
        with pytest.raises(
            TypeError, match=r"^X must be a dask array or a dask dataframe, got a .*; use estimator.fit"
        ):
            fitted(X)
        with pytest.raises(TypeError, match=r"^table must be a dask array or .*; use kdi.corr for"):
            kdi.dask.corr(X)
        with pytest.raises(TypeError, match=r"^x must be a dask array, series or .*; use kdi.cluster for"):
            kdi.dask.cluster(X)
        with pytest.raises(TypeError, match=r"^table must be a dask array or .*; use kdi.sketch_table for"):
            kdi.dask.sketch_table(X)
        model = kdi.KDITransformer().fit(np.eye(2))
        with pytest.raises(TypeError, match=r"^table must be a dask array or .*; use kdi.corr_test for"):
            kdi.dask.corr_test(X)
        with pytest.raises(TypeError, match=r"^X must be a dask array or .*; use estimator.transform for"):
            kdi.dask.transform(model, X)

    def test_other_estimators(self):
        with pytest.raises(TypeError, match="estimator must be a KDITransformer or a KDIDiscretizer, got a sklearn"):
            kdi.dask.fit(sklearn.preprocessing.StandardScaler(), da.ones((5, 2)))
        with pytest.raises(TypeError, match="estimator must be a KDITransformer or a KDIDiscretizer, got a type"):
            kdi.dask.fit(kdi.KDITransformer, da.ones((5, 2)))

    def test_not_fitted(self):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            kdi.dask.transform(kdi.KDITransformer(), da.ones((5, 2)))

    def test_no_rows(self):
        with pytest.raises(ValueError, match="0 sample"):
            fitted(da.ones((0, 2)))

    def test_sparse(self):
        from scipy import sparse

        X = da.ones((6, 2), chunks=(3, 2)).map_blocks(sparse.csr_matrix)
        with pytest.raises(TypeError, match="Sparse data was passed"):
            fitted(X)

    def test_infinite_values_name_their_column(self, frame):
        frame.loc[200, "b"] = -np.inf
        X = dd.from_pandas(frame, npartitions=3)
        for function in (
            lambda: fitted(X),
            lambda: kdi.dask.fit(kdi.KDITransformer(), X, compute=False).compute(),
            lambda: kdi.dask.fit(kdi.KDIDiscretizer(), X),
            lambda: kdi.dask.sketch_table(X).compute(),
        ):
            with pytest.raises(ValueError, match=r"infinity.*column 'b'"):
                function()
        with pytest.raises(ValueError, match=r"infinity.*column 1"):
            fitted(X.to_dask_array())
        model = kdi.KDITransformer().fit(frame[:100])
        with pytest.raises(ValueError, match=r"infinity.*column 'b'"):
            kdi.dask.transform(model, X).compute()

    def test_absent_columns(self, frame):
        X = dd.from_pandas(frame, npartitions=1)
        with pytest.raises(ValueError, match="there is no column 'z'; the columns are"):
            kdi.dask.sketch_table(X, columns=["a", "z"])
        with pytest.raises(TableError, match="there is no column 'z'; the columns are") as caught:
            fitted_with(X, "z")
        assert caught.value.column == "z"


def fitted_with(X, weights):
    return kdi.dask.fit(kdi.KDITransformer(), X, sample_weight=weights)


class TestWeightsRefused:
    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
    def test_values(self, frame, bad):
        frame["w"] = 1.0
        frame.loc[150, "w"] = bad
        X = dd.from_pandas(frame, npartitions=3)
        with pytest.raises(ValueError, match=r"sample_weight.* of a partition must be finite"):
            fitted_with(X, "w")
        with pytest.raises(ValueError, match=r"sample_weight.* of a partition must be finite"):
            fitted_with(X[["a", "b"]].to_dask_array(), X["w"].to_dask_array())
        with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
            fitted_with(da.from_array(frame[["a"]].to_numpy(), chunks=(100, 1)), frame["w"].to_numpy())
        with pytest.raises(ValueError, match="weights of a partition must be finite"):
            kdi.dask.cluster(X["a"], weights=X["w"])

    def test_all_zero(self, frame):
        X = dd.from_pandas(frame.assign(w=0.0), npartitions=3)
        with pytest.raises(ValueError, match="sample_weight must not be zero in every row"):
            fitted_with(X, "w")

    def test_shapes(self, frame):
        X = dd.from_pandas(frame, npartitions=3)
        A = da.from_array(frame.to_numpy(), chunks=(100, 2))
        for weights in (np.ones(299), da.ones(299)):
            with pytest.raises(ValueError, match=r"sample_weight must have shape \(300,\)"):
                fitted_with(A, weights)
        with pytest.raises(ValueError, match="one dimension"):
            fitted_with(A, da.ones((300, 1)))
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            fitted_with(X.to_dask_array(), np.ones(300))
        with pytest.raises(ValueError, match="the 3 chunks of the table, got 1"):
            fitted_with(X.to_dask_array(), da.ones(300, chunks=-1))
        with pytest.raises(ValueError, match="must have the 3 partitions of the table, got 2"):
            fitted_with(X, X["a"].repartition(npartitions=2))
        with pytest.raises(TypeError, match="must be a dask series or the name of a column, got a numpy ndarray"):
            fitted_with(X, np.ones(300))
        with pytest.raises(ValueError, match=r"must have shape \(100,\)"):
            fitted_with(X.to_dask_array(), da.ones(300, chunks=((90, 110, 100),)))

    def test_other_chunks_of_known_size_are_fine(self, rng, frame):
        weights = rng.integers(0, 3, size=300).astype(float)
        A = da.from_array(frame.to_numpy(), chunks=(100, 2))
        found = fitted_with(A, da.from_array(weights, chunks=33))
        expected = kdi.KDITransformer().fit(frame.to_numpy(), sample_weight=weights)
        assert_allclose(found.transform(frame.to_numpy()), expected.transform(frame.to_numpy()), rtol=0, atol=1e-12)


class TestNames:
    def test_as_scikit_learn_checks_them(self, frame):
        X = dd.from_pandas(frame, npartitions=2)
        model = kdi.KDITransformer().fit(frame)
        for other in (X.rename(columns={"a": "z"}), X[["b", "a"]]):
            with pytest.raises(ValueError, match="feature names"):
                kdi.dask.transform(model, other)
            with pytest.raises(ValueError, match="feature names"):
                kdi.dask.inverse_transform(model, other)
        with pytest.raises(ValueError, match="feature names"):
            kdi.dask.transform(model, X[["a"]])
        with pytest.raises(ValueError, match="X has 1 features, but KDITransformer is expecting 2"):
            kdi.dask.transform(kdi.KDITransformer().fit(frame.to_numpy()), da.ones((5, 1)))
        later = kdi.dask.fit(kdi.KDITransformer(), X, compute=False)
        with pytest.raises(ValueError, match="feature names"):
            kdi.dask.transform(later, X[["b", "a"]]).compute()

    def test_warned_of_once_and_at_the_client(self, frame):
        X = dd.from_pandas(frame, npartitions=4)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            coded = kdi.dask.transform(kdi.KDITransformer().fit(frame), X.to_dask_array())
        coded.compute()
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            coded = kdi.dask.transform(kdi.KDITransformer().fit(frame.to_numpy()), X)
        coded.compute()

    def test_numbers_are_no_names(self, frame):
        frame.columns = [3, 7]
        X = dd.from_pandas(frame, npartitions=2)
        found = fitted(X)
        assert not hasattr(found, "feature_names_in_")
        coded = kdi.dask.transform(found, X)
        assert list(coded.columns) == [3, 7]
        assert_array_equal(coded.compute(), found.transform(frame.to_numpy()))
        assert list(kdi.dask.sketch_table(X).compute()) == [3, 7]
        assert list(kdi.dask.corr(X).columns) == [3, 7]

    def test_some_names_are_text(self, frame):
        frame.columns = ["a", 7]
        with pytest.raises(TypeError, match="only supported if all input features have string names"):
            fitted(dd.from_pandas(frame, npartitions=2))

    def test_alpha_by_name(self, frame):
        X = dd.from_pandas(frame, npartitions=2)
        expected = kdi.KDITransformer(alpha={"b": 0.1}).fit(frame)
        assert_array_equal(fitted(X, alpha={"b": 0.1}).alpha_, expected.alpha_)


class TestTransform:
    def test_leaves_blocks_and_the_estimator_alone(self, rng):
        table = rng.normal(size=(100, 2))
        kept = table.copy()
        model = kdi.KDITransformer(copy=False).fit(table)
        before = dict(vars(model))
        X = da.from_array(table, chunks=(50, 2), asarray=False, fancy=False)
        kdi.dask.transform(model, X).compute()
        assert_array_equal(table, kept)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())

    @pytest.mark.parametrize("kind", ["pandas", "polars"])
    def test_set_output_changes_nothing(self, frame, kind):
        model = kdi.KDITransformer().fit(frame)
        expected = model.transform(frame)
        X = dd.from_pandas(frame, npartitions=2)
        model.set_output(transform=kind)
        assert_array_equal(kdi.dask.transform(model, X).compute(), expected)
        with sklearn.config_context(transform_output=kind), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert_array_equal(kdi.dask.transform(model, X.to_dask_array()).compute(), expected)

    def test_of_partial_fit(self, frame):
        model = kdi.KDITransformer().partial_fit(frame[:100]).partial_fit(frame[100:])
        found = kdi.dask.transform(model, dd.from_pandas(frame, npartitions=2))
        assert_array_equal(found.compute(), model.transform(frame))

    def test_one_hot_needs_the_estimator(self, rng):
        X = da.from_array(np.where(rng.random((500, 2)) < 0.5, 0, 9) + rng.normal(size=(500, 2)), chunks=(200, 2))
        model = kdi.KDIDiscretizer(encode="onehot-dense")
        with pytest.raises(ValueError, match="compute=False needs a KDITransformer, got a KDIDiscretizer"):
            kdi.dask.fit(model, X, compute=False)
        later = dask.delayed(kdi.dask.fit(model, X))
        with pytest.raises(ValueError, match=r"columns, expected 2: .*; compute the Delayed first"):
            kdi.dask.transform(later, X).compute()

    def test_bins_of_missing_values(self, rng):
        table = np.where(rng.random((500, 2)) < 0.5, 0, 9) + rng.normal(size=(500, 2))
        table[::9, 0] = np.nan
        X = dd.from_pandas(pd.DataFrame(table, columns=["a", "b"]), npartitions=3)
        found = kdi.dask.fit(kdi.KDIDiscretizer(missing="bin"), X)
        coded = kdi.dask.transform(found, X)
        assert list(coded.columns) == list(found.get_feature_names_out())
        assert coded["a_missing"].sum().compute() == len(table[::9])
        with pytest.raises(ValueError, match="NaN, in column 'a'"):
            kdi.dask.fit(kdi.KDIDiscretizer(), X)

    def test_discretizer_inverse_of_another_width(self, rng):
        found = kdi.dask.fit(kdi.KDIDiscretizer(), da.from_array(rng.normal(size=(50, 2)), chunks=20))
        with pytest.raises(ValueError, match="Incorrect number of features"):
            kdi.dask.inverse_transform(found, da.ones((5, 40)))


class TestCorrelations:
    @pytest.mark.parametrize("function", [kdi.dask.corr, kdi.dask.corr_test])
    def test_warnings_point_at_the_caller(self, function):
        with pytest.warns(ConstantInputWarning, match="columns 0, 1") as caught:
            function(da.ones((20, 2)))
        assert [one.filename for one in caught] == [__file__]


class TestCluster:
    def test_refused(self, frame):
        X = dd.from_pandas(frame, npartitions=2)
        with pytest.raises(ValueError, match="x must have one column, got 2"):
            kdi.dask.cluster(X)
        with pytest.raises(ValueError, match="x must have one dimension"):
            kdi.dask.cluster(da.ones((5, 1)))
        frame.loc[7, "a"] = np.inf
        with pytest.raises(ValueError, match="column 'a' must be finite or NaN") as caught:
            kdi.dask.cluster(dd.from_pandas(frame[["a"]], npartitions=2))
        assert caught.value.column == "a"

    def test_series_without_a_name(self, rng):
        values = np.where(rng.random(500) < 0.5, 0, 9) + rng.normal(size=500)
        x = dd.from_pandas(pd.Series(values), npartitions=3)
        found = kdi.dask.cluster(x)
        assert found.labels.name is None
        assert_array_equal(found.labels.compute(), kdi.cluster(values).labels)


class TestPartitions:
    @pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 65, 200])
    def test_every_partition_once(self, n):
        X = da.arange(1000 * n, chunks=1000)[:, None]
        assert kdi.dask.DaskPartitions(X).reduce(first_of_each, operator.add) == sorted(range(0, 1000 * n, 1000))

    def test_no_task_merges_many(self):
        X = da.ones((500, 1), chunks=(1, 1))
        graph = dict(kdi.dask.DaskPartitions(X).reduce_lazily(first_of_each, operator.add).__dask_graph__())
        merges = [task for key, task in graph.items() if "kdi-merge" in str(key) and isinstance(task, tuple)]
        assert len(merges) == 63 + 8 + 1
        assert max(len(group) for _, group in merges) == 8

    def test_only_the_columns_that_are_asked_for_are_read(self, tmp_path, frame):
        frame.assign(c="text", w=1.0).to_parquet(tmp_path / "part.parquet")
        X = dd.read_parquet(tmp_path)
        found = kdi.dask.sketch_table(X, columns=["b"], weights="w")
        assert list(found.compute()) == ["b"]
        read = " ".join(map(str, dict(found.__dask_graph__()).values()))
        assert "'c'" not in read
        assert "'a'" not in read


def first_of_each(chunks):
    return [int(columns[0][0]) for columns, _ in chunks]


@pytest.mark.slow
def test_without_dask():
    missing = "import sys; sys.modules['dask'] = None; import kdi; "
    assert run_code(missing + "assert not hasattr(kdi, 'dask') and hasattr(kdi, 'KDITransformer')").returncode == 0
    done = run_code(missing + "import kdi.dask")
    assert done.returncode
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: kdi.dask needs dask and pandas: pip install 'kdi[dask]'"
    )


def run_code(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_workers_get_packed_maps_and_no_sketches(rng, learn):
    X = rng.normal(size=(20_000, 3))
    model = getattr(kdi.KDITransformer(0.1), learn)(X)
    sent = pickle.dumps(model_for_workers(model, named=False))
    assert len(sent) < len(pickle.dumps(model.packed_maps_)) + 2000 < len(pickle.dumps(model)) / 2
    assert_array_equal(pickle.loads(sent).transform(X), model.transform(X))
