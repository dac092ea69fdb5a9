"""kdi.KDIDiscretizer against kdi.cluster column by column, and against the conventions of KBinsDiscretizer."""

import pickle
import re
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from cluster_oracle import Clusters, mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import kdi
from kdi import KDIDiscretizer, KDITransformer

ENCODINGS = ["onehot", "onehot-dense", "ordinal"]
NAMES = ["age", "income", "rooms"]


@pytest.fixture
def table():
    """Three features with two, three and two clusters."""
    return np.column_stack([mixture(number, 300)[0] for number in (3, 2, 5)])


@pytest.fixture
def holes(table):
    table[::10, 0], table[5::9, 2] = np.nan, np.nan
    return table


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=NAMES, index=np.arange(300) + 7)


CONFIGURATIONS = [
    KDIDiscretizer(),
    KDIDiscretizer(0.3, encode="ordinal", kernel="gaussian"),
    KDIDiscretizer("scott", encode="onehot-dense", inverse="median"),
    KDIDiscretizer(strategy="uniform", encode="ordinal", n_bins=4),
    KDIDiscretizer(strategy="uniform", missing="bin", inverse="midpoint"),
    KDIDiscretizer(missing="bin", encode="onehot-dense", significance=0.05, min_size=3, n_jobs=2),
    KDIDiscretizer(0, strategy="uniform", bandwidth="silverman"),
    KDIDiscretizer(np.inf, bandwidth=0.1),
]


@parametrize_with_checks(CONFIGURATIONS)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [KDIDiscretizer(), KDIDiscretizer(encode="ordinal", missing="bin")], ids=str)
def test_check_estimator_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None)
    assert results
    # scikit-learn skips its array API check unless SCIPY_ARRAY_API is set; nothing else may be skipped
    others = {result["check_name"]: result["status"] for result in results if "array_api" not in result["check_name"]}
    assert set(others.values()) == {"passed"}


class TestAgainstCluster:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"alpha": 0.3, "kernel": "gaussian"},
            {"alpha": "scott", "bandwidth": 0.1},
            {"alpha": np.inf, "bandwidth": "silverman"},
            {"bandwidth": 0.1, "min_size": 20},
            {"bandwidth": 0.1, "min_size": 0.1},
            {"bandwidth": 0.1, "significance": 0.01},
        ],
        ids=str,
    )
    def test_column_by_column(self, options, table):
        model = KDIDiscretizer(encode="ordinal", **options).fit(table)
        labels, shares = model.transform(table), np.split(model.predict_proba(table), np.cumsum(model.n_bins_)[:-1], 1)
        for j, column in enumerate(table.T):
            expected = kdi.cluster(column, **options)
            assert model.n_bins_[j] == expected.n_clusters
            assert_allclose(model.bin_edges_[j][1:-1], expected.boundaries, rtol=1e-12)
            assert_array_equal(model.bin_edges_[j][[0, -1]], [column.min(), column.max()])
            assert_allclose(model.centers_[j], expected.centers, rtol=1e-12)
            assert_array_equal(labels[:, j], expected.labels)
            assert_allclose(shares[j], expected.predict_proba(column), rtol=0, atol=1e-12)

    def test_against_the_oracle(self, table):
        labels = KDIDiscretizer(encode="ordinal").fit_transform(table)
        for j, column in enumerate(table.T):
            assert_array_equal(labels[:, j], Clusters(column).labels)

    def test_one_alpha_bandwidth_and_number_a_feature(self, table):
        alphas, bandwidths, numbers = [0.3, "scott", 1.0], ["scott", 0.1, 0.2], ["auto", 4, 2]
        model = KDIDiscretizer(alphas, bandwidth=bandwidths, n_bins=numbers, encode="ordinal").fit(table)
        for j, column in enumerate(table.T):
            wanted = None if numbers[j] == "auto" else numbers[j]
            expected = kdi.cluster(column, alpha=alphas[j], bandwidth=bandwidths[j], n_clusters=wanted)
            assert_allclose(model.bin_edges_[j][1:-1], expected.boundaries, rtol=1e-12)
        assert_array_equal(model.n_bins_[1:], [4, 2])

    def test_alphas_by_name(self, frame):
        model = KDIDiscretizer({"income": 0.3}).fit(frame)
        listed = KDIDiscretizer([1.0, 0.3, 1.0]).fit(frame)
        for one, other in zip(model.bin_edges_, listed.bin_edges_, strict=True):
            assert_array_equal(one, other)

    @pytest.mark.parametrize("n_bins", [2, 3, np.int64(4)])
    def test_a_number_of_bins(self, n_bins, table):
        model = KDIDiscretizer(n_bins=n_bins, bandwidth=0.1).fit(table[:, :2])
        assert_array_equal(model.n_bins_, n_bins)
        for j in range(2):
            expected = kdi.cluster(table[:, j], bandwidth=0.1, n_clusters=int(n_bins))
            assert_allclose(model.bin_edges_[j][1:-1], expected.boundaries, rtol=1e-12)

    @pytest.mark.parametrize("n_bins", [np.array([2, 3, 2]), [2, 3, 2], (2, 3, 2)])
    def test_numbers_of_bins(self, n_bins, table):
        assert_array_equal(KDIDiscretizer(n_bins=n_bins).fit(table).n_bins_, [2, 3, 2])

    def test_an_impossible_number_names_the_column(self, frame, table):
        with pytest.raises(ValueError, match=r"'age'.*60 clusters.*at most \d+"):
            KDIDiscretizer(n_bins=[60, 3, 2]).fit(frame)
        with pytest.raises(ValueError, match=r"column 1\b.*60 clusters"):
            KDIDiscretizer(n_bins=["auto", 60, 2]).fit(table)

    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_weights_are_repetitions(self, strategy, table, rng):
        weights = rng.integers(0, 4, size=300)
        options = {"strategy": strategy, "encode": "ordinal"}
        for inverse in ("center", "median"):
            weighted = KDIDiscretizer(inverse=inverse, **options).fit(table, sample_weight=weights)
            repeated = KDIDiscretizer(inverse=inverse, **options).fit(np.repeat(table, weights, axis=0))
            for one, other in zip(weighted.bin_edges_, repeated.bin_edges_, strict=True):
                assert_allclose(one, other, rtol=1e-6)
            assert_array_equal(weighted.transform(table), repeated.transform(table))
            labels = weighted.transform(table)
            assert_allclose(weighted.inverse_transform(labels), repeated.inverse_transform(labels), rtol=1e-6)


class TestUniform:
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, "scott", np.inf])
    @pytest.mark.parametrize("n_bins", ["auto", 2, 3, 10])
    def test_equal_steps_of_the_integral(self, n_bins, alpha, table):
        n = 5 if n_bins == "auto" else n_bins
        model = KDIDiscretizer(alpha, strategy="uniform", n_bins=n_bins, encode="ordinal").fit(table)
        integral = KDITransformer(alpha).fit(table)
        assert_array_equal(model.n_bins_, n)
        for j, edges in enumerate(model.bin_edges_):
            at = np.zeros((n + 1, 3))
            at[:, j] = edges
            assert_allclose(integral.transform(at)[:, j], np.arange(n + 1) / n, rtol=0, atol=1e-7)
            at = np.zeros((n, 3))
            at[:, j] = model.centers_[j]
            assert_allclose(integral.transform(at)[:, j], (np.arange(n) + 0.5) / n, rtol=0, atol=1e-7)

    def test_labels_are_steps(self, table):
        levels = KDITransformer().fit_transform(table)
        labels = KDIDiscretizer(strategy="uniform", n_bins=4, encode="ordinal").fit_transform(table)
        assert_array_equal(labels, np.minimum(np.floor(4 * levels), 3))

    def test_without_smoothing_the_bins_are_quantiles(self, table):
        labels = KDIDiscretizer(0, strategy="uniform", n_bins=5, encode="ordinal").fit_transform(table)
        for column in labels.T:
            assert_allclose(np.bincount(column.astype(int)), 60, rtol=0, atol=1)

    def test_without_limit_the_bins_are_as_wide_as_each_other(self, table):
        edges = KDIDiscretizer(np.inf, strategy="uniform").fit(table).bin_edges_
        expected = KBinsDiscretizer(strategy="uniform", quantile_method="averaged_inverted_cdf").fit(table).bin_edges_
        for one, other in zip(edges, expected, strict=True):
            assert_allclose(one, other, rtol=1e-9)

    def test_one_number_a_feature(self, table):
        assert_array_equal(KDIDiscretizer(strategy="uniform", n_bins=[2, "auto", 7]).fit(table).n_bins_, [2, 5, 7])


class TestAsKBinsDiscretizer:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("encode", ENCODINGS)
    def test_kinds_shapes_and_dtypes(self, encode, dtype, table):
        table = table.astype(dtype)
        ours = KDIDiscretizer(encode=encode, strategy="uniform").fit(table)
        theirs = KBinsDiscretizer(encode=encode, strategy="uniform").fit(table)
        one, other = ours.transform(table), theirs.transform(table)
        assert type(one) is type(other)
        assert one.shape == other.shape
        assert one.dtype == dtype
        assert sparse.issparse(one) == (encode == "onehot")
        if encode == "onehot":
            assert one.format == "csr"
        assert type(ours.bin_edges_) is type(theirs.bin_edges_)
        assert ours.bin_edges_.dtype == theirs.bin_edges_.dtype == object
        assert ours.bin_edges_.shape == theirs.bin_edges_.shape
        assert_array_equal(ours.n_bins_, theirs.n_bins_)
        assert ours.n_bins_.dtype.kind == "i"
        back = ours.inverse_transform(one)
        assert type(back) is type(theirs.inverse_transform(other))
        assert back.shape == table.shape

    def test_encodings_say_the_same(self, table):
        ordinal, dense, onehot = (
            KDIDiscretizer(encode=encode).fit_transform(table) for encode in ("ordinal", "onehot-dense", "onehot")
        )
        assert_array_equal(onehot.toarray(), dense)
        assert_array_equal(dense.sum(axis=1), 3)
        start = 0
        for j, n_bins in enumerate([2, 3, 2]):
            assert_array_equal(dense[:, start : start + n_bins].argmax(axis=1), ordinal[:, j])
            start += n_bins
        assert dense.shape[1] == start

    def test_whole_numbers_become_float64(self):
        out = KDIDiscretizer(encode="ordinal").fit_transform(np.array([[1], [2], [50], [51]]))
        assert out.dtype == np.float64

    def test_values_outside_belong_to_the_outer_bins(self, table):
        model = KDIDiscretizer(encode="ordinal").fit(table)
        assert_array_equal(model.transform([[-1e9] * 3, [1e9] * 3]), [[0, 0, 0], [1, 2, 1]])

    def test_a_value_on_an_edge_belongs_to_the_right(self, table):
        model = KDIDiscretizer(encode="ordinal").fit(table[:, :1])
        edge = model.bin_edges_[0][1]
        assert_array_equal(model.transform([[np.nextafter(edge, -np.inf)], [edge]]), [[0], [1]])

    def test_not_fitted(self, table):
        for method in ("transform", "inverse_transform", "predict_proba"):
            with pytest.raises(NotFittedError):
                getattr(KDIDiscretizer(), method)(table)
        with pytest.raises(NotFittedError):
            KDIDiscretizer().get_feature_names_out()

    def test_constants_are_one_bin_with_the_same_warning(self, frame):
        frame["rooms"] = 3.0
        with pytest.warns(UserWarning) as theirs:
            KBinsDiscretizer(quantile_method="averaged_inverted_cdf").fit(frame)
        with pytest.warns(UserWarning) as ours:
            model = KDIDiscretizer(encode="ordinal").fit(frame)
        assert "is constant and will be replaced with 0" in str(theirs[0].message)
        assert "'rooms' is constant and will be replaced with 0" in str(ours[0].message)
        assert len(ours) == 1
        assert model.n_bins_[2] == 1
        assert_array_equal(model.bin_edges_[2], [-np.inf, np.inf])
        assert_array_equal(model.transform(frame)[:, 2], 0)
        assert_array_equal(model.inverse_transform(model.transform(frame))[:, 2], 3.0)
        assert_array_equal(model.predict_proba(frame)[:, -1], 1.0)

    @pytest.mark.parametrize("inverse", ["center", "median", "midpoint"])
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_a_constant_comes_back(self, strategy, inverse):
        model = KDIDiscretizer(strategy=strategy, inverse=inverse, n_bins=3)
        with pytest.warns(UserWarning, match="constant"):
            out = model.fit_transform(np.full((4, 1), 7.0))
        assert out.shape == (4, 1)
        assert_array_equal(model.inverse_transform(out), np.full((4, 1), 7.0))
        assert_array_equal(model.get_feature_names_out(), ["x0_(-inf, inf)"])


class TestTies:
    @settings(max_examples=80)
    @given(
        arrays(np.float64, st.tuples(st.integers(2, 30), st.just(1)), elements=st.integers(-3, 8).map(float)),
        st.sampled_from(["valley", "uniform"]),
        st.sampled_from([0, 0.1, 1.0, np.inf]),
        st.sampled_from([0.05, "scott"]),
    )
    def test_edges_never_repeat(self, values, strategy, alpha, bandwidth):
        values[0], values[1] = -4.0, 9.0  # never constant
        model = KDIDiscretizer(alpha, strategy=strategy, bandwidth=bandwidth, encode="ordinal").fit(values)
        (edges,) = model.bin_edges_
        assert (np.diff(edges) > 0).all()
        assert len(edges) == model.n_bins_[0] + 1
        assert len(model.centers_[0]) == model.n_bins_[0]
        labels = model.transform(values)
        assert ((labels >= 0) & (labels < model.n_bins_[0])).all()
        names = KDIDiscretizer(alpha, strategy=strategy, bandwidth=bandwidth).fit(values).get_feature_names_out()
        assert len(set(names)) == len(names) == model.n_bins_[0]

    @pytest.mark.parametrize("n_bins", [2, 5, 40])
    def test_steps_beyond_the_numbers_there_are(self, n_bins):
        """Neighbouring floats: no edge lies between them, and fewer bins are left."""
        values = np.array([[1.0], [np.nextafter(1.0, 2.0)], [np.nextafter(1.0, 2.0)]])
        model = KDIDiscretizer(strategy="uniform", n_bins=n_bins).fit(values)
        assert (np.diff(model.bin_edges_[0]) > 0).all()
        assert model.n_bins_[0] >= 1

    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_heavy_ties(self, strategy, rng):
        values = np.where(rng.uniform(size=(400, 1)) < 0.9, 0.0, rng.integers(0, 5, size=(400, 1)))
        for alpha in (0, 1e-3, 1.0):
            (edges,) = KDIDiscretizer(alpha, strategy=strategy, n_bins="auto").fit(values).bin_edges_
            assert (np.diff(edges) > 0).all()


class TestInverse:
    @pytest.mark.parametrize("encode", ENCODINGS)
    def test_centers(self, encode, table):
        model = KDIDiscretizer(encode=encode).fit(table)
        labels = KDIDiscretizer(encode="ordinal").fit_transform(table).astype(int)
        expected = np.column_stack([model.centers_[j][labels[:, j]] for j in range(3)])
        assert_array_equal(model.inverse_transform(model.transform(table)), expected)

    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_medians(self, strategy, table):
        model = KDIDiscretizer(encode="ordinal", inverse="median", strategy=strategy).fit(table)
        labels = model.transform(table)
        back = model.inverse_transform(labels)
        for j in range(3):
            for k in range(model.n_bins_[j]):
                inside = labels[:, j] == k
                assert_allclose(back[inside, j], np.median(table[inside, j]), rtol=1e-15)

    def test_midpoints(self, table):
        model = KDIDiscretizer(encode="ordinal", inverse="midpoint").fit(table)
        labels = model.transform(table).astype(int)
        back = model.inverse_transform(labels)
        for j, edges in enumerate(model.bin_edges_):
            assert_allclose(back[:, j], ((edges[:-1] + edges[1:]) / 2)[labels[:, j]], rtol=1e-15)

    @pytest.mark.parametrize("inverse", ["center", "median", "midpoint"])
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_there_and_back_again(self, strategy, inverse, table):
        """What comes back lies in the bin it came from."""
        model = KDIDiscretizer(encode="ordinal", inverse=inverse, strategy=strategy).fit(table)
        labels = model.transform(table)
        assert_array_equal(model.transform(model.inverse_transform(labels)), labels)

    def test_sparse_and_dense(self, table):
        model = KDIDiscretizer().fit(table)
        out = model.transform(table)
        assert_array_equal(model.inverse_transform(out), model.inverse_transform(out.toarray()))

    @pytest.mark.parametrize("encode", ENCODINGS)
    def test_wrong_shapes(self, encode, table):
        model = KDIDiscretizer(encode=encode).fit(table)
        expected = 3 if encode == "ordinal" else 7
        with pytest.raises(ValueError, match=f"Expecting {expected}, received .*5"):
            model.inverse_transform(np.zeros((2, 5)))

    @pytest.mark.parametrize("bad", [-1, 2])
    def test_what_is_no_bin(self, bad, table):
        with pytest.raises(ValueError, match=re.escape(str(bad))):
            KDIDiscretizer(encode="ordinal").fit(table).inverse_transform([[bad, 0, 0]])


class TestMissing:
    def test_an_error_by_default(self, holes):
        with pytest.raises(ValueError, match=r"NaN.*0, 2.*missing='bin'"):
            KDIDiscretizer().fit(holes)
        model = KDIDiscretizer().fit(holes[~np.isnan(holes).any(axis=1)])
        for method in (model.transform, model.predict_proba):
            with pytest.raises(ValueError, match="NaN"):
                method(holes)

    def test_the_last_bin(self, holes):
        model = KDIDiscretizer(encode="ordinal", missing="bin").fit(holes)
        labels = model.transform(holes)
        assert_array_equal(model.n_bins_, [2, 3, 2])
        assert_array_equal(labels[:, 0] == 2, np.isnan(holes[:, 0]))
        assert_array_equal(labels[:, 2] == 2, np.isnan(holes[:, 2]))
        for j in (0, 2):
            known = ~np.isnan(holes[:, j])
            assert_array_equal(labels[known, j], kdi.cluster(holes[known, j]).labels)
        back = model.inverse_transform(labels)
        assert_array_equal(np.isnan(back), np.isnan(holes))

    @pytest.mark.parametrize("encode", ["onehot", "onehot-dense"])
    def test_a_column_of_its_own(self, encode, holes):
        model = KDIDiscretizer(encode=encode, missing="bin").fit(holes)
        out = model.transform(holes)
        dense = out.toarray() if encode == "onehot" else out
        names = list(model.get_feature_names_out())
        assert dense.shape == (300, 10) == (300, len(names))
        for j in range(3):
            assert_array_equal(dense[:, names.index(f"x{j}_missing")], np.isnan(holes[:, j]))
        assert_array_equal(dense.sum(axis=1), 3)
        assert_array_equal(np.isnan(model.inverse_transform(out)), np.isnan(holes))

    def test_new_missing_values(self, table):
        model = KDIDiscretizer(encode="ordinal", missing="bin").fit(table)
        assert_array_equal(model.transform([[np.nan] * 3]), [[2, 3, 2]])
        assert_array_equal(model.inverse_transform([[2, 3, 2]]), [[np.nan] * 3])

    def test_shares(self, holes):
        model = KDIDiscretizer(missing="bin").fit(holes)
        shares = model.predict_proba(holes)
        assert shares.shape == (300, 10)
        assert_allclose(shares.sum(axis=1), 3, rtol=1e-12)
        names = list(model.get_feature_names_out())
        assert_array_equal(shares[:, names.index("x0_missing")], np.isnan(holes[:, 0]))

    def test_nothing_but_missing_values(self, holes):
        holes[:, 1] = np.nan
        with pytest.warns(UserWarning, match="Feature 1 has no values"):
            model = KDIDiscretizer(missing="bin", encode="onehot-dense").fit(holes)
        out = model.transform(holes)
        names = list(model.get_feature_names_out())
        assert_array_equal(out[:, names.index("x1_missing")], 1)
        assert_array_equal(out.sum(axis=1), 3)
        assert np.isnan(model.inverse_transform(out)[:, 1]).all()

    def test_tags(self):
        assert KDIDiscretizer(missing="bin").__sklearn_tags__().input_tags.allow_nan
        assert not KDIDiscretizer().__sklearn_tags__().input_tags.allow_nan

    def test_values_without_weight_are_no_values(self, table):
        table[1:, 1] = np.nan
        weights = np.r_[0.0, np.ones(299)]
        with pytest.warns(UserWarning, match="Feature 1 has no values"):
            model = KDIDiscretizer(missing="bin", encode="ordinal").fit(table, sample_weight=weights)
        assert_array_equal(model.transform(table)[:, 1], np.r_[0, np.ones(299)])

    def test_pandas_missing_values(self, holes):
        frame = pd.DataFrame(holes, columns=NAMES).convert_dtypes()
        out = KDIDiscretizer(missing="bin", encode="ordinal").fit_transform(frame)
        assert_array_equal(out, KDIDiscretizer(missing="bin", encode="ordinal").fit_transform(holes))


class TestNames:
    def test_intervals(self, frame):
        model = KDIDiscretizer().fit(frame)
        names = model.get_feature_names_out()
        assert names.dtype == object
        assert [name.split("_")[0] for name in names] == ["age"] * 2 + ["income"] * 3 + ["rooms"] * 2
        number = r"-?\d+(\.\d+)?"
        assert re.fullmatch(rf"age_\(-inf, {number}\)", names[0])
        assert re.fullmatch(rf"age_\[{number}, inf\)", names[1])
        assert re.fullmatch(rf"income_\[{number}, {number}\)", names[3])
        for j, name in [(0, names[0]), (1, names[2]), (2, names[5])]:
            shown = float(re.search(rf", ({number})\)", name)[1])
            assert shown == pytest.approx(model.bin_edges_[j][1], rel=5e-3)

    def test_neighbours_share_an_end(self, table):
        names = KDIDiscretizer(bandwidth=0.05).fit(table[:, :1]).get_feature_names_out()
        ends = [name[len("x0_") :][1:-1].split(", ") for name in names]
        assert len(names) > 3
        for left, right in pairwise(ends):
            assert left[1] == right[0]

    @pytest.mark.parametrize("offset", [0, 1e6, 1e9, -1e12])
    @pytest.mark.parametrize("scale", [1, 1e-9])
    def test_unique_at_any_offset(self, offset, scale, table):
        values = table[:, :1] * (scale if offset == 0 else 1) + offset
        names = KDIDiscretizer(strategy="uniform", n_bins=12).fit(values).get_feature_names_out()
        assert len(set(names)) == 12
        ends = [float(name[len("x0_") :][1:-1].split(", ")[1]) for name in names]
        assert (np.diff(ends) > 0).all()

    def test_ordinal_names_are_the_input(self, frame, table):
        assert_array_equal(KDIDiscretizer(encode="ordinal").fit(frame).get_feature_names_out(), NAMES)
        assert_array_equal(KDIDiscretizer(encode="ordinal").fit(table).get_feature_names_out(), ["x0", "x1", "x2"])

    def test_names_that_are_given(self, table, frame):
        names = KDIDiscretizer().fit(table).get_feature_names_out(["a", "b", "c"])
        assert [name[0] for name in names] == list("aabbbcc")
        with pytest.raises(ValueError, match="input_features"):
            KDIDiscretizer().fit(frame).get_feature_names_out(["a", "b", "c"])

    def test_missing_goes_last(self, frame):
        names = KDIDiscretizer(missing="bin").fit(frame).get_feature_names_out()
        assert list(names[[2, 6, 9]]) == ["age_missing", "income_missing", "rooms_missing"]


class TestProba:
    def test_each_feature_sums_to_one(self, table):
        model = KDIDiscretizer().fit(table)
        shares = model.predict_proba(table)
        assert shares.shape == (300, 7)
        assert isinstance(shares, np.ndarray)
        for part in np.split(shares, [2, 5], axis=1):
            assert_allclose(part.sum(axis=1), 1, rtol=1e-12)
            assert (part >= 0).all()

    @pytest.mark.parametrize("encode", ENCODINGS)
    def test_the_same_for_every_encoding(self, encode, table):
        expected = KDIDiscretizer().fit(table).predict_proba(table)
        assert_array_equal(KDIDiscretizer(encode=encode).fit(table).predict_proba(table), expected)

    def test_mostly_the_bin(self, table):
        model = KDIDiscretizer(encode="ordinal").fit(table)
        labels, shares = model.transform(table), np.split(model.predict_proba(table), [2, 5], axis=1)
        for j, part in enumerate(shares):
            assert (part.argmax(axis=1) == labels[:, j]).mean() > 0.95

    def test_equal_steps(self, table):
        shares = KDIDiscretizer(strategy="uniform", n_bins=4).fit(table).predict_proba(table)
        assert shares.shape == (300, 12)
        assert_allclose(shares.sum(axis=1), 3, rtol=1e-12)

    def test_one_feature_and_one_row(self, table):
        assert KDIDiscretizer().fit(table[:, :1]).predict_proba(table[:1, :1]).shape == (1, 2)


class TestFrames:
    @pytest.mark.parametrize("encode", ["ordinal", "onehot-dense"])
    def test_pandas_out(self, encode, frame):
        model = KDIDiscretizer(encode=encode).set_output(transform="pandas")
        out = model.fit_transform(frame)
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert_array_equal(out.index, frame.index)
        assert_array_equal(out, KDIDiscretizer(encode=encode).fit_transform(frame.to_numpy()))

    @pytest.mark.parametrize("encode", ["ordinal", "onehot-dense"])
    def test_polars_out(self, encode, table):
        frame = pl.DataFrame(table, schema=NAMES)
        model = KDIDiscretizer(encode=encode).set_output(transform="polars")
        out = model.fit_transform(frame)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == list(model.get_feature_names_out())
        assert_array_equal(out.to_numpy(), KDIDiscretizer(encode=encode).fit_transform(table))

    def test_sparse_does_not_fit_in_a_frame(self, frame):
        with pytest.raises(ValueError, match=r"(?i)sparse"):
            KDIDiscretizer().set_output(transform="pandas").fit_transform(frame)

    def test_names_in(self, frame):
        model = KDIDiscretizer().fit(frame)
        assert_array_equal(model.feature_names_in_, NAMES)
        assert model.n_features_in_ == 3
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frame[NAMES[::-1]])

    @pytest.mark.parametrize("kind", [pd.DataFrame, lambda t: pl.DataFrame(t, schema=NAMES), list, np.asfortranarray])
    def test_whatever_comes_in(self, kind, table):
        out = KDIDiscretizer(encode="ordinal").fit_transform(kind(table))
        assert isinstance(out, np.ndarray)
        assert_array_equal(out, KDIDiscretizer(encode="ordinal").fit_transform(table))

    def test_input_is_left_alone(self, table):
        before = table.copy()
        table.flags.writeable = False
        model = KDIDiscretizer().fit(table, sample_weight=np.ones(300))
        model.inverse_transform(model.transform(table))
        assert_array_equal(table, before)


class TestInScikitLearn:
    @pytest.mark.parametrize("model", CONFIGURATIONS, ids=str)
    def test_pickle(self, model, table, tmp_path):
        model = clone(model).fit(table)
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
            out, expected = again.transform(table), model.transform(table)
            assert (out != expected).sum() == 0
            assert_array_equal(again.inverse_transform(out), model.inverse_transform(expected))
            assert_array_equal(again.predict_proba(table), model.predict_proba(table))
            assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())

    def test_pickle_is_small(self, rng):
        model = KDIDiscretizer().fit(rng.normal(size=(100_000, 1)))
        assert len(pickle.dumps(model)) < 1_000_000

    def test_clone(self, table):
        model = KDIDiscretizer(0.3, n_bins=[2, 3, 2], encode="ordinal", inverse="median").fit(table)
        copied = clone(model)
        assert copied.get_params() == model.get_params()
        assert not hasattr(copied, "bin_edges_")
        assert_array_equal(copied.fit_transform(table), model.transform(table))

    def test_repr(self):
        assert repr(KDIDiscretizer(0.3, encode="ordinal")) == "KDIDiscretizer(alpha=0.3, encode='ordinal')"

    def test_pipeline(self, table):
        target = np.where(table[:, 0] > 2.5, 1.0, -1.0) + (table[:, 2] > 50)
        pipeline = make_pipeline(StandardScaler(), KDIDiscretizer(), Ridge(alpha=1e-6)).fit(table, target)
        assert pipeline.score(table, target) > 0.8

    def test_columns(self, frame):
        frame["town"] = "Bern"
        transformer = make_column_transformer(
            (KDIDiscretizer(encode="onehot-dense"), ["age", "income"]), ("drop", ["town"])
        ).set_output(transform="pandas")
        out = transformer.fit_transform(frame)
        assert out.shape == (300, 5)
        assert out.columns[0].startswith("kdidiscretizer__age_(-inf, ")

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_grid_search(self, n_jobs, table):
        target = np.where(table[:, 0] > 2.5, 1.0, -1.0)
        grid = {
            "kdidiscretizer__alpha": [0.3, 1.0, "scott"],
            "kdidiscretizer__n_bins": ["auto", 2, 4],
            "kdidiscretizer__strategy": ["uniform"],
        }
        search = GridSearchCV(make_pipeline(KDIDiscretizer(), Ridge()), grid, cv=3, n_jobs=n_jobs).fit(table, target)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_score_ > 0.5

    def test_number_of_threads(self, table):
        many = np.tile(table, (1, 4))
        one, two = (KDIDiscretizer(n_jobs=n_jobs, inverse="median").fit(many) for n_jobs in (1, 2))
        for left, right in zip(one.bin_edges_, two.bin_edges_, strict=True):
            assert_array_equal(left, right)
        assert_array_equal(one.predict_proba(many), two.predict_proba(many))
        assert (one.transform(many) != two.transform(many)).nnz == 0

    def test_routing(self, table, rng):
        weights = rng.integers(0, 3, size=300)
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(
                KDIDiscretizer().set_fit_request(sample_weight=True), Ridge().set_fit_request(sample_weight=False)
            )
            pipeline.fit(table, table[:, 0], sample_weight=weights)
        expected = KDIDiscretizer().fit(table, sample_weight=weights)
        for one, other in zip(pipeline[0].bin_edges_, expected.bin_edges_, strict=True):
            assert_array_equal(one, other)
        assert any(
            (a != b).any() for a, b in zip(expected.bin_edges_, KDIDiscretizer().fit(table).bin_edges_, strict=True)
        )

    def test_fit_transform_takes_weights(self, table, rng):
        weights = rng.integers(0, 3, size=300)
        expected = KDIDiscretizer(encode="ordinal").fit(table, sample_weight=weights).transform(table)
        assert_array_equal(KDIDiscretizer(encode="ordinal").fit_transform(table, sample_weight=weights), expected)

    def test_fit_again_forgets(self, frame):
        model = KDIDiscretizer().fit(frame)
        model.fit(frame.to_numpy()[:, :1])
        assert model.n_features_in_ == 1
        assert len(model.bin_edges_) == 1
        assert not hasattr(model, "feature_names_in_")


BAD_PARAMETERS = [
    ("alpha", -1.0, ["-1.0", "scott"]),
    ("alpha", [1.0, 2.0], ["2", "3"]),
    ("alpha", [1.0, "cv", 1.0], ["'cv'", "scott"]),
    ("n_bins", 1, ["1", "'auto'", ">= 2"]),
    ("n_bins", 0, ["0", "'auto'", ">= 2"]),
    ("n_bins", 2.5, ["2.5", "'auto'"]),
    ("n_bins", "many", ["'many'", "'auto'"]),
    ("n_bins", None, ["None", "'auto'"]),
    ("n_bins", True, ["True", "'auto'"]),
    ("n_bins", [2, 3], ["3", "2"]),
    ("n_bins", [2, 3, 1], ["1", ">= 2"]),
    ("n_bins", {"age": 2}, ["n_bins"]),
    ("bandwidth", 0, ["0", "positive", "scott"]),
    ("bandwidth", -1.0, ["-1.0", "scott"]),
    ("bandwidth", "cv", ["'cv'", "scott"]),
    ("bandwidth", [0.1, 0.2], ["3", "2"]),
    ("encode", "binary", ["'binary'", "onehot", "onehot-dense", "ordinal"]),
    ("encode", None, ["None", "ordinal"]),
    ("missing", "drop", ["'drop'", "error", "bin"]),
    ("strategy", "kmeans", ["'kmeans'", "valley", "uniform"]),
    ("kernel", "triangle", ["'triangle'", "polyexp", "gaussian"]),
    ("min_size", -1, ["-1", ">= 0"]),
    ("significance", 2, ["2", "between 0 and 1"]),
    ("inverse", "mean", ["'mean'", "center", "median", "midpoint"]),
    ("n_jobs", 0, ["0"]),
    ("n_jobs", 1.5, ["1.5"]),
]


class TestRefused:
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_parameters(self, name, bad, said, strategy, table):
        model = KDIDiscretizer(**{"strategy": strategy, name: bad})  # nothing is said here
        with pytest.raises(ValueError) as caught:
            model.fit(table)
        for word in [name, *said]:
            assert word in str(caught.value)
        with pytest.raises(NotFittedError):
            model.transform(table)

    @pytest.mark.parametrize("method", ["fit", "transform", "predict_proba"])
    def test_infinite_values_name_the_column(self, method, frame):
        model = KDIDiscretizer().fit(frame)
        frame.loc[frame.index[4], "income"] = np.inf
        with pytest.raises(ValueError, match=r"infinity.*'income'"):
            getattr(model, method)(frame)

    def test_a_range_beyond_float64_names_the_column(self, frame):
        frame["income"] = 1.5e308 * np.linspace(-1, 1, 300)
        with pytest.raises(ValueError, match=r"range of column 'income' is too large for float64"):
            KDIDiscretizer().fit(frame)

    def test_text_names_the_column(self, frame):
        frame["rooms"] = "many"
        with pytest.raises(ValueError, match="rooms"):
            KDIDiscretizer().fit(frame)

    @pytest.mark.parametrize("method", ["transform", "predict_proba"])
    def test_wrong_number_of_columns(self, method, table):
        with pytest.raises(ValueError, match=r"2 features.*3 features"):
            getattr(KDIDiscretizer().fit(table), method)(table[:, :2])

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            (np.ones(5), r"\(300,\).*\(5,\)"),
            (np.full(300, -1.0), "negative.*-1.0"),
            (np.zeros(300), "zero in every row"),
            (np.full(300, np.nan), "finite.*nan"),
        ],
    )
    def test_weights(self, weights, said, table):
        with pytest.raises(ValueError, match=f"sample_weight.*{said}"):
            KDIDiscretizer().fit(table, sample_weight=weights)
