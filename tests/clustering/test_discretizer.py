"""kdi.KDIDiscretizer against kdi.cluster column by column, and what it returns."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cluster_oracle import Clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import KBinsDiscretizer

import kdi
from kdi import KDIDiscretizer, KDITransformer

ENCODINGS = ["onehot", "onehot-dense", "ordinal"]
NAMES = ["age", "income", "rooms"]


class TestAgainstCluster:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"alpha": 0.3, "kernel": "gaussian"},
            {"order": 2},
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
            weighted = KDIDiscretizer(inverse_strategy=inverse, **options).fit(table, sample_weight=weights)
            repeated = KDIDiscretizer(inverse_strategy=inverse, **options).fit(np.repeat(table, weights, axis=0))
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
        model = KDIDiscretizer(encode="ordinal", inverse_strategy="median", strategy=strategy).fit(table)
        labels = model.transform(table)
        back = model.inverse_transform(labels)
        for j in range(3):
            for k in range(model.n_bins_[j]):
                inside = labels[:, j] == k
                assert_allclose(back[inside, j], np.median(table[inside, j]), rtol=1e-15)

    def test_midpoints(self, table):
        model = KDIDiscretizer(encode="ordinal", inverse_strategy="midpoint").fit(table)
        labels = model.transform(table).astype(int)
        back = model.inverse_transform(labels)
        for j, edges in enumerate(model.bin_edges_):
            assert_allclose(back[:, j], ((edges[:-1] + edges[1:]) / 2)[labels[:, j]], rtol=1e-15)

    @pytest.mark.parametrize("inverse", ["center", "median", "midpoint"])
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    def test_there_and_back_again(self, strategy, inverse, table):
        """What comes back lies in the bin it came from."""
        model = KDIDiscretizer(encode="ordinal", inverse_strategy=inverse, strategy=strategy).fit(table)
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
