"""Sparse matrices: the same fit as from the dense table, at the cost of the stored values."""

import os
import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder

from kdi import KDITransformer, KDITransformerCV
from kdi._sketch.sparse import StoredColumns

pytestmark = [
    pytest.mark.numpy_core,
    pytest.mark.filterwarnings("ignore:.* held only NaN:UserWarning"),
]
FORMATS = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]
EVERY_FORMAT = pytest.mark.parametrize("format", FORMATS)
DENSITIES = [0.0, 0.01, 0.1, 0.5, 0.95]


def sample(rng, n=400):
    """Columns that store 0 % to 95 % of their values, none of them negative."""
    return np.where(rng.uniform(size=(n, 5)) < DENSITIES, rng.lognormal(size=(n, 5)), 0.0)


def table_weights(rng, n, kind):
    return {
        "none": None,
        "counts": rng.integers(0, 3, size=n).astype(float),
        "floats": rng.uniform(size=n),
    }[kind]


def assert_same_fit(model, expected, at):
    assert_array_equal(model.data_min_, expected.data_min_)
    assert_array_equal(model.data_max_, expected.data_max_)
    assert_array_equal(model.n_samples_seen_, expected.n_samples_seen_)
    assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-9)
    # Far beyond the ends, lines reach numbers of any size.
    assert_allclose(model.transform(at.copy()), expected.transform(at), rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(model.sketches_, expected.sketches_, strict=True):
        assert (ours.count, ours.missing, ours.exponent) == (theirs.count, theirs.missing, theirs.exponent)
        assert ours.weight == pytest.approx(theirs.weight, rel=1e-12)


alphas = st.sampled_from([0.0, 0.01, 0.3, 1.0, 3.0, np.inf, "scott"])
kernels = st.sampled_from([{}, {"kernel": "gaussian"}, {"order": 1}])
values = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.0, 2.0, np.nan, -1.0]), st.floats(-1e6, 1e6), st.floats(0, 9)
)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 90), st.integers(1, 4)), elements=values, fill=st.just(0.0))


class TestAsDense:
    @settings(max_examples=int(os.environ.get("KDI_EXPLORE", "0")) or 150)
    @given(tables, alphas, kernels, st.sampled_from(FORMATS), st.sampled_from(["none", "counts", "floats"]), st.data())
    def test_any_table(self, table, alpha, kernel, format, kind, data):
        weights = table_weights(np.random.default_rng(1), len(table), kind)
        if weights is not None:
            weights[data.draw(st.integers(0, len(table) - 1))] = 1.0
        policy = data.draw(st.sampled_from(["clip", "linear", "nan"]))
        model, expected = (
            KDITransformer(alpha, out_of_range=policy, **kernel).fit(X, sample_weight=weights)
            for X in (format(table), table)
        )
        assert_same_fit(model, expected, table)
        at_zero = expected.transform(np.zeros((1, table.shape[1])))[0]
        stays = (at_zero == 0) | (table != 0).all(axis=0)
        if not stays.all():
            with pytest.raises(ValueError, match="zeros that stay zeros, but those of column"):
                model.transform(format(table))
        else:
            assert_allclose(model.transform(format(table)).toarray(), expected.transform(table), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("kind", ["none", "counts", "floats"])
    @pytest.mark.parametrize("alpha", [0, 0.05, 1.0, "scott", np.inf])
    @pytest.mark.parametrize("n", [400, 30_000])
    def test_both_ways(self, n, alpha, kind, rng):
        table, weights = sample(rng, n), table_weights(rng, n, kind)
        expected = KDITransformer(alpha).fit(table, sample_weight=weights)
        levels = expected.transform(table)
        for format in FORMATS[:2]:
            model = KDITransformer(alpha).fit(format(table), sample_weight=weights)
            assert_same_fit(model, expected, table)
            out = model.transform(format(table))
            assert isinstance(out, format)
            assert_allclose(out.toarray(), levels, rtol=0, atol=1e-9)
            back = model.inverse_transform(out)
            assert isinstance(back, format)
            # Where T is flat, levels that differ by a rounding come from different values.
            assert_allclose(expected.transform(back.toarray()), levels, rtol=0, atol=1e-9)
            assert_array_equal(back.toarray(), model.inverse_transform(out.toarray()))

    @EVERY_FORMAT
    def test_fit_transform_and_other_formats(self, format, rng):
        table = sample(rng)
        out = KDITransformer().fit_transform(format(table))
        assert isinstance(out, format)
        assert_array_equal(out.toarray(), KDITransformer().fit(format(table)).transform(format(table)).toarray())
        assert KDITransformer().fit_transform(format(table).tolil()).format == "csr"
        assert isinstance(KDITransformer().fit_transform(format(table).tocoo()), sparse.sparray) == isinstance(
            out, sparse.sparray
        )

    def test_missing_values(self, rng):
        table = sample(rng)
        table[rng.uniform(size=table.shape) < 0.1] = np.nan
        model, expected = KDITransformer().fit(sparse.csr_array(table)), KDITransformer().fit(table)
        assert_same_fit(model, expected, table)
        assert_allclose(model.transform(sparse.csr_array(table)).toarray(), expected.transform(table), atol=1e-12)

    def test_negative_values_can_be_fitted(self, rng):
        table = sample(rng) - 2 * sample(rng)
        assert_same_fit(KDITransformer().fit(sparse.csc_array(table)), KDITransformer().fit(table), table)

    @pytest.mark.parametrize("index", [np.int32, np.int64])
    def test_float32_and_indices_are_kept(self, index, rng):
        table = sample(rng).astype(np.float32)
        X = sparse.csr_array(table)
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        out = KDITransformer().fit_transform(X)
        assert (out.dtype, out.indices.dtype) == (np.float32, index)
        assert_array_equal(out.toarray(), KDITransformer().fit(X).transform(table))
        assert KDITransformer().fit_transform(X.astype(int)).dtype == np.float64

    def test_threads(self, rng):
        X = sparse.csr_array(np.where(rng.uniform(size=(3000, 200)) < 0.3, rng.lognormal(size=(3000, 200)), 0))
        assert X.nnz > 2**17  # more than one block
        one, two = (KDITransformer(n_jobs=n_jobs).fit_transform(X) for n_jobs in (1, 2))
        assert_array_equal(one.data, two.data)
        assert_array_equal(one.data, KDITransformer().fit(X).transform(X.toarray())[X.nonzero()])


class TestZeros:
    @EVERY_FORMAT
    def test_explicit_zeros(self, format, rng):
        table = sample(rng)
        with_zeros = table.copy()
        with_zeros[::7], with_zeros[3] = 99.0, 99.0
        X = format(with_zeros)
        X.data[X.data == 99.0] = 0.0
        table[with_zeros == 99.0] = 0.0
        X.data[X.data == 0] *= -1
        assert np.count_nonzero(X.data == 0) > 100
        model, expected = KDITransformer().fit(X), KDITransformer().fit(table)
        assert_same_fit(model, expected, table)
        out = model.transform(X)
        assert out.nnz == X.nnz
        assert_allclose(out.toarray(), expected.transform(table), atol=1e-12)

    def test_duplicates_are_summed_in_a_copy(self):
        data, indices, indptr = np.array([1.0, 2.0, 5.0, 0.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 2, 4])
        X = sparse.csr_array((data, indices, indptr), shape=(3, 2))
        before = X.data.copy(), X.indices.copy(), X.indptr.copy()
        expected = np.array([[0, 3.0], [0, 0], [5, 0]])
        model = KDITransformer(0.5, copy=False).fit(X)
        assert_same_fit(model, KDITransformer(0.5).fit(expected), expected)
        assert_array_equal(model.transform(X).toarray(), model.transform(expected.copy()))
        model.partial_fit(X)
        for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
            assert_array_equal(array, old)

    def test_room_behind_the_stored_values(self):
        X = sparse.csc_array((np.array([1.0, 2.0, 7.0]), np.array([1, 0, 2]), np.array([0, 1, 2])), shape=(3, 2))
        X = sparse.csc_array(X)
        X.data, X.indices = np.r_[X.data[:2], 99.0, 98.0], np.r_[X.indices[:2], 0, 0]
        out = KDITransformer(0).fit_transform(X)
        assert_array_equal(out.toarray(), [[0, 1], [1, 0], [0, 0]])
        assert len(X.data) == 4

    def test_no_stored_values(self):
        model = KDITransformer().fit(sparse.csr_array((7, 3)))
        assert_array_equal(model.data_max_, np.zeros(3))
        assert model.transform(sparse.csr_array((4, 3))).nnz == 0
        assert_array_equal(model.transform(sparse.csr_array(np.eye(3))).toarray(), np.eye(3))  # above the maximum

    def test_one_row(self):
        X = sparse.csr_array([[0.0, 3.0, 0.0]])
        out = KDITransformer().fit_transform(X)
        assert_array_equal(out.toarray(), np.zeros((1, 3)))
        assert out.nnz == 1

    @pytest.mark.parametrize("large", [1e17, 1e200, 1e300])
    def test_small_weights_beside_large_ones(self, large):
        """The weight of the zeros is no difference of rounded sums."""
        table = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [3.0, 2.0]])
        weights = np.array([large, 0.25, 0.5, large / 3])
        sketches = StoredColumns.from_matrix(sparse.csc_array(table), weights).sketches()
        assert_array_equal(sketches[0].moments[:, 0], [0.75, large, large / 3])
        assert sketches[1].moments[1, 0] == 0.5 + large / 3

    def test_no_zero_where_each_row_with_weight_is_stored(self, rng):
        weights = rng.uniform(size=30) * 10.0 ** rng.integers(-30, 30, size=30)
        table = rng.uniform(1, 2, size=(30, 1))
        table[3], weights[3] = 0, 0
        model = KDITransformer().fit(sparse.csr_array(table), sample_weight=weights)
        assert model.data_min_[0] == table[table > 0].min()


class TestWhatWouldBecomeDense:
    @pytest.mark.parametrize(
        ("options", "becomes"),
        [({}, "0.5"), ({"alpha": 0}, "0.5"), ({"output_distribution": "normal"}, r"-5\.19934|0")],
    )
    def test_the_column_and_the_remedy_are_named(self, options, becomes):
        X = sparse.csr_array([[0.0, -1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
        with pytest.raises(ValueError, match=rf"column.* 1 become {becomes}.*X\.toarray\(\)") as caught:
            KDITransformer(**options).fit(X[:, [1, 1]] if "output_distribution" in options else X).transform(X)
        assert caught.value.column in "01"

    def test_feature_names(self):
        pd = pytest.importorskip("pandas")
        model = KDITransformer().fit(pd.DataFrame({"age": [1.0, 2.0], "change": [-1.0, 1.0]}))
        with (
            pytest.warns(UserWarning, match="valid feature names"),
            pytest.raises(ValueError, match=r"of column 'change' become 0\.5"),
        ):
            model.transform(sparse.csr_array([[1.0, 0.0]]))

    def test_inverse(self):
        model = KDITransformer().fit(np.array([[0.0, 2.0], [1.0, 3.0]]))
        with pytest.raises(ValueError, match=r"column 1 become 2; .*X\.toarray\(\)"):
            model.inverse_transform(sparse.csr_array([[0.5, 0.0]]))

    def test_missing_columns_are_not_zero(self):
        model = KDITransformer().fit(np.array([[0.0, np.nan], [1.0, np.nan]]))
        with pytest.raises(ValueError, match="column 1 become nan"):
            model.transform(sparse.csr_array([[0.5, 0.0]]))

    @pytest.mark.parametrize("output", ["uniform", "normal"])
    def test_columns_that_store_every_row(self, output, rng):
        """They have no zeros that could change, so that a dense block beside sparse columns is no error."""
        table = rng.normal(size=(50, 2))
        model = KDITransformer(output_distribution=output).fit(table)
        X = sparse.csc_array(table)
        out = model.transform(X)
        assert_array_equal(out.toarray(), model.transform(table))
        assert_array_equal(model.inverse_transform(out).toarray(), model.inverse_transform(model.transform(table)))


class TestPartialFit:
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0])
    @pytest.mark.parametrize("kind", ["none", "floats"])
    def test_batches_sparse_and_dense(self, kind, alpha, rng):
        table, weights = sample(rng, 3000), table_weights(rng, 3000, kind)
        model, cuts = KDITransformer(alpha), [0, 1, 2, 40, 500, 1700, 3000]
        for k, (start, stop) in enumerate(pairwise(cuts)):
            batch = table[start:stop]
            batch = batch if k % 3 == 2 else FORMATS[k % 4](batch)
            model.partial_fit(batch, sample_weight=None if weights is None else weights[start:stop])
        expected = KDITransformer(alpha).fit(table, sample_weight=weights)
        assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-9)
        assert_allclose(model.transform(sparse.csr_array(table)).toarray(), expected.transform(table), atol=1e-9)

    def test_many_values(self, monkeypatch, rng):
        """Batches are sketched once they hold more values than the sketches may, which then are cells."""
        monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)
        monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 256)
        monkeypatch.setattr("kdi._sketch.cells.DEFAULT_CAPACITY", 256)
        table = sample(rng, 20_000)
        model = KDITransformer()
        for batch in np.split(table, 50):
            model.partial_fit(sparse.csr_array(batch))
        assert [sketch.is_exact for sketch in model.sketches_] == [True, True, False, False, False]
        assert_allclose(model.transform(table), KDITransformer().fit_transform(table), atol=2e-6)

    def test_after_a_fit_and_a_pickle(self, rng):
        X, more = (sparse.csr_array(sample(rng)) for _ in range(2))
        model = pickle.loads(pickle.dumps(KDITransformer().fit(X))).partial_fit(more)
        both = sparse.vstack([X, more])
        assert_allclose(model.transform(both).toarray(), KDITransformer().fit_transform(both).toarray(), atol=1e-9)

    def test_a_batch_that_the_caller_overwrites(self, rng):
        X = sparse.csr_array(sample(rng))
        model = KDITransformer().partial_fit(X)
        expected = KDITransformer().fit_transform(X).toarray()
        before = X.copy()
        X.data[:] = 7
        assert_allclose(model.transform(before).toarray(), expected, atol=1e-9)

    def test_infinite_values_change_nothing(self, rng):
        X = sparse.csr_array(sample(rng))
        model, bad = KDITransformer().partial_fit(X), X.copy()
        bad.data[0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(bad)
        assert model.n_samples_seen_ == 400


class TestRefused:
    @pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "inverse_transform"])
    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (sparse.csr_array((0, 5)), "0 sample"),
            (sparse.csr_array((5, 0)), "0 feature|features"),
            (sparse.csr_array(np.full((3, 5), 1j)), "(?i)complex"),
            (sparse.csr_array([[np.inf, 0, 0, 0, 0.0]]), "infinity.* in column 0"),
            (sparse.csc_array([[1.0, 0, 0, -np.inf, 0.0]]), "infinity.* in column 3"),
            (sparse.coo_array(np.ones(5)), "1D|2D|dim"),
        ],
        ids=["no-rows", "no-columns", "complex", "infinite", "minus-infinite", "1d"],
    )
    def test_tables(self, method, bad, said, rng):
        model = KDITransformer()
        if method.endswith("transform"):
            model.fit(sample(rng))
        with pytest.raises((ValueError, TypeError), match=said):
            getattr(model, method)(bad)

    @pytest.mark.parametrize("method", ["transform", "inverse_transform"])
    def test_wrong_number_of_columns(self, method, rng):
        with pytest.raises(ValueError, match=r"3 features.*5 features"):
            getattr(KDITransformer().fit(sample(rng)), method)(sparse.csr_array((2, 3)))

    def test_weights(self, rng):
        X = sparse.csr_array(sample(rng))
        with pytest.raises(ValueError, match=r"sample_weight must have shape \(400,\)"):
            KDITransformer().fit(X, sample_weight=np.ones(3))
        with pytest.raises(ValueError, match="sample_weight must not be zero in every row"):
            KDITransformer().fit(X, sample_weight=np.zeros(400))

    def test_a_range_that_overflows(self):
        with pytest.raises(ValueError, match="range of column 0 is too large"):
            KDITransformer().fit(sparse.csr_array([[1.7e308], [-1.7e308]]))

    def test_tuning(self, rng):
        with pytest.raises(TypeError, match=r"Sparse data was passed for X.*toarray"):
            KDITransformerCV().fit(sparse.csr_array(sample(rng)), np.zeros(400))

    def test_columns_without_values_are_warned_of(self):
        with pytest.warns(UserWarning, match="column 1 held only NaN"):
            KDITransformer().fit(sparse.csr_array([[0.0, np.nan], [1.0, np.nan]]))


class TestCopies:
    @EVERY_FORMAT
    @pytest.mark.parametrize("method", ["transform", "inverse_transform"])
    def test_in_place(self, method, format, rng):
        X = format(sample(rng))
        before = X.toarray()
        kept = getattr(KDITransformer().fit(X), method)(X)
        assert_array_equal(X.toarray(), before)
        assert not np.shares_memory(kept.data, X.data)
        assert not np.shares_memory(kept.indices, X.indices)
        model = KDITransformer(copy=False).fit(X)
        assert_array_equal(X.toarray(), before)
        assert getattr(model, method)(X) is X
        assert_array_equal(X.toarray(), kept.toarray())

    def test_an_error_changes_nothing(self, rng):
        X = sparse.csr_array(sample(rng))
        model = KDITransformer(copy=False).fit(X)
        X.data[-1] = np.inf
        before = X.copy()
        with pytest.raises(ValueError, match="infinity"):
            model.transform(X)
        assert_array_equal(X.data, before.data)

    def test_read_only_matrices(self, rng):
        X = sparse.csr_array(sample(rng))
        for array in (X.data, X.indices, X.indptr):
            array.flags.writeable = False
        out = KDITransformer(copy=False).fit_transform(X)
        assert out.data.flags.writeable
        assert out is not X


class TestKindsOfColumns:
    def test_text(self):
        texts = ["a cat", "the cat and the dog", "a dog", "the end", "and then the end of the dog"]
        X = TfidfVectorizer().fit_transform(texts)
        assert_allclose(
            KDITransformer().fit_transform(X).toarray(), KDITransformer().fit_transform(X.toarray()), atol=1e-12
        )

    @pytest.mark.parametrize("alpha", [0, 0.3, "scott", [0.3, 1.0, 0.3, 0.3, 0.3, 0.3]])
    def test_equal_columns_share_a_map(self, alpha, rng):
        column, other = rng.poisson(0.3, size=(2, 400, 1)).astype(float)
        table = np.hstack([column, column, other, column[::-1], 2 * column, column])
        table[0, 5], table[1, 5] = np.nan, 7.0
        model, expected = KDITransformer(alpha).fit(sparse.csr_array(table)), KDITransformer(alpha).fit(table)
        assert_same_fit(model, expected, table)
        maps = model.packed_maps_
        distinct = len(np.unique(maps.start))
        assert distinct == (5 if isinstance(alpha, list) else 4)
        assert len(maps.coefficients) + len(maps.knots) < maps.n_knots.sum()
        read = KDITransformer.from_json(model.to_json())
        assert_array_equal(read.transform(table), model.transform(table))
        more = model.partial_fit(sparse.csr_array(table))
        assert_allclose(
            more.transform(table), KDITransformer(alpha).fit(np.vstack([table, table])).transform(table), atol=1e-9
        )

    def test_one_hot_columns_stay_as_they_are(self, rng):
        X = OneHotEncoder().fit_transform(rng.integers(0, 5, size=(300, 2)))
        for alpha in (0, 1.0, np.inf):
            assert_array_equal(KDITransformer(alpha).fit_transform(X).toarray(), X.toarray())

    def test_min_max_is_max_abs(self, rng):
        X = sparse.csr_array(sample(rng))
        assert_allclose(
            KDITransformer(np.inf).fit_transform(X).toarray(), MaxAbsScaler().fit_transform(X).toarray(), rtol=1e-15
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_memory_follows_the_stored_values(weighted, rng):
    n_rows, n_columns, n_stored = 200_000, 500, 20_000
    places = rng.choice(n_rows * n_columns, n_stored, replace=False)
    entries = rng.integers(1, 5, size=n_stored).astype(float), np.divmod(places, n_columns)
    X = sparse.csr_array(sparse.coo_array(entries, shape=(n_rows, n_columns)))
    weights = rng.uniform(size=n_rows) if weighted else None
    tracemalloc.start()
    columns = StoredColumns.from_matrix(X, weights)
    columns.sketches()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    per_row = 100 if weighted else 0  # lists of weights
    assert peak < 200 * n_stored + per_row * n_rows
