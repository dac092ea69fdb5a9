"""kdi.compare_correlations: the figures of the paper, and the table pair by pair."""

from itertools import combinations

import correlation_oracle as direct
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import kdi

HOUSING = kdi.data.california_housing()
NAMES = ["a", "b", "c", "d"]
COLUMNS = ["first", "second", "pearson", "spearman", "kdi", "kdi_minus_pearson", "kdi_minus_spearman"]
ERRORS = ["pearson_error", "spearman_error", "kdi_error"]
EITHER = pytest.mark.parametrize("against", ["pearson", "spearman"])


@pytest.fixture(scope="module")
def housing():
    return pd.read_csv(HOUSING).drop(columns="MedHouseVal")


class TestCaliforniaHousing:
    """What the paper says of the eight features."""

    def test_bedrooms_and_rooms(self, housing):
        row = kdi.compare_correlations(housing).iloc[0]
        assert {row["first"], row["second"]} == {"AveBedrms", "AveRooms"}
        assert [round(row[name], 2) for name in ("pearson", "spearman", "kdi")] == [0.85, 0.08, 0.31]

    @pytest.mark.parametrize(
        ("against", "second"), [("pearson", {"MedInc", "AveRooms"}), ("spearman", {"Population", "AveBedrms"})]
    )
    def test_top_disagreements(self, housing, against, second):
        top = kdi.compare_correlations(housing, against=against).head(2)
        pairs = [set(pair) for pair in zip(top["first"], top["second"], strict=True)]
        assert pairs == [{"AveBedrms", "AveRooms"}, second]

    def test_like_transforming_first(self, housing):
        levels = kdi.KDITransformer().set_output(transform="pandas").fit_transform(housing)
        assert_allclose(kdi.corr(housing), levels.corr(), rtol=0, atol=1e-6)


def simulated(case, n=200, seed=0):
    """The three scenarios of the paper's figure, after Wikipedia's article on Spearman's coefficient."""
    rng = np.random.default_rng(seed)
    if case == "monotone":
        x = rng.uniform(size=n)
        return x, np.log(x / (1 - x))
    x = rng.normal(size=n)
    if case == "noisy":
        return x, 0.4 * x + rng.normal(size=n)
    y = x + 0.4 * rng.normal(size=n)
    y[np.argsort(x)[-8:]] -= 9
    return x, y


class TestSimulatedCases:
    @staticmethod
    def three(case, seed):
        found = kdi.compare_correlations(np.column_stack(simulated(case, seed=seed)))[0]
        return found["pearson"], found["spearman"], found["kdi"]

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("case", ["monotone", "outliers"])
    def test_like_spearman(self, case, seed):
        pearson, spearman, ours = self.three(case, seed)
        assert pearson < ours <= spearman
        assert spearman - ours < ours - pearson

    def test_a_noisy_line_is_between(self):
        """On the whole: in a single sample the three are close, and ours need not be the middle one."""
        pearson, spearman, ours = np.mean([self.three("noisy", seed) for seed in range(200)], axis=0)
        assert spearman < ours < pearson
        assert 0.3 < spearman < pearson < 0.4


def as_columns(found):
    """Any kind of result as a dict of arrays."""
    if isinstance(found, np.ndarray):
        return {name: found[name] for name in found.dtype.names}
    return {name: np.asarray(found[name]) for name in found.columns}


class TestTable:
    @EITHER
    @pytest.mark.parametrize("alpha", [0, 0.3, 1.0, [0.1, 1.0, 3.0, "scott"]], ids=str)
    def test_one_row_a_pair(self, frame, alpha, against):
        found = kdi.compare_correlations(frame, alpha=alpha, against=against)
        assert list(found.columns) == COLUMNS
        pd.testing.assert_index_equal(found.index, pd.RangeIndex(6))
        pairs = list(zip(found["first"], found["second"], strict=True))
        assert sorted(pairs) == list(combinations(NAMES, 2))
        alphas = dict(zip(NAMES, alpha if isinstance(alpha, list) else [alpha] * 4, strict=True))
        for row in found.itertuples():
            x, y = frame[row.first], frame[row.second]
            assert row.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
            assert row.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
            expected = direct.correlation(x, y, (alphas[row.first], alphas[row.second]))
            assert row.kdi == pytest.approx(expected, abs=1e-9)
            assert row.kdi_minus_pearson == row.kdi - row.pearson
            assert row.kdi_minus_spearman == row.kdi - row.spearman
        assert (np.diff(abs(found[f"kdi_minus_{against}"])) <= 0).all()

    def test_kernel(self, frame):
        found = kdi.compare_correlations(frame, kernel="gaussian").set_index(["first", "second"])
        expected = direct.correlation(frame["a"], frame["b"], kernel="gaussian")
        assert found.loc[("a", "b"), "kdi"] == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("order", [1, 2])
    def test_order_of_the_kernel(self, frame, order):
        found = kdi.compare_correlations(frame, order=order).set_index(["first", "second"])
        expected = direct.correlation(frame["a"], frame["b"], order=order)
        assert found.loc[("a", "b"), "kdi"] == pytest.approx(expected, abs=1e-9)
        usual = kdi.compare_correlations(frame).set_index(["first", "second"])
        assert abs(found["kdi"] - usual["kdi"]).max() > 1e-3
        pd.testing.assert_frame_equal(found[["pearson", "spearman"]].loc[usual.index], usual[["pearson", "spearman"]])

    @pytest.mark.parametrize("n_resamples", [0, 20])
    def test_kinds(self, frame, n_resamples):
        expected = kdi.compare_correlations(frame, n_resamples=n_resamples, rng=0)
        array = kdi.compare_correlations(frame.to_numpy(), n_resamples=n_resamples, rng=0)
        polars = kdi.compare_correlations(pl.DataFrame(dict(frame)), n_resamples=n_resamples, rng=0)
        assert isinstance(expected, pd.DataFrame)
        assert isinstance(polars, pl.DataFrame)
        assert array.dtype.names == tuple(COLUMNS + ERRORS * (n_resamples > 0))
        assert array.dtype["first"].kind == array.dtype["second"].kind == "i"
        assert array.shape == (6,)
        for name, values in as_columns(expected).items():
            assert_array_equal(as_columns(polars)[name], values)
            numbers = [NAMES.index(label) for label in values] if name in ("first", "second") else values
            assert_array_equal(array[name], numbers)

    def test_missing_values_pair_by_pair(self, frame, rng):
        holes = frame.mask(rng.uniform(size=frame.shape) < 0.1)
        found = kdi.compare_correlations(holes)
        for name, theirs in [
            ("pearson", holes.corr()),
            ("spearman", holes.corr("spearman")),
            ("kdi", kdi.corr(holes)),
        ]:
            expected = [theirs.loc[pair] for pair in zip(found["first"], found["second"], strict=True)]
            assert_allclose(found[name], expected, rtol=0, atol=1e-12)

    def test_weights_are_repetitions(self, frame, rng):
        weights = rng.integers(0, 3, size=len(frame))
        weighted = kdi.compare_correlations(frame, weights=weights)
        repeated = kdi.compare_correlations(frame.loc[np.repeat(frame.index, weights)])
        pd.testing.assert_frame_equal(weighted, repeated, rtol=0, atol=1e-10)

    def test_undefined_pairs_come_last(self, frame):
        frame["b"] = 1.0
        with pytest.warns(stats.ConstantInputWarning, match="'b'"):
            found = kdi.compare_correlations(frame)
        assert_array_equal(np.isnan(found["kdi"]), [False] * 3 + [True] * 3)
        assert (np.diff(abs(found["kdi_minus_pearson"][:3])) <= 0).all()
        assert all("b" in pair for pair in zip(found["first"][3:], found["second"][3:], strict=True))

    def test_equal_labels(self, table):
        frame = pd.DataFrame(table, columns=["a", "a", "b", "a"])
        found = kdi.compare_correlations(frame)
        assert_array_equal(found["kdi"], kdi.compare_correlations(table)["kdi"])
        assert sorted(zip(found["first"], found["second"], strict=True)) == [("a", "a")] * 3 + [("a", "b")] * 2 + [
            ("b", "a")
        ]

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_text(self, make, rng):
        frame = make({"x": rng.normal(size=20), "town": ["Bern"] * 20, "y": rng.normal(size=20)})
        with pytest.raises(ValueError, match="'town'"):
            kdi.compare_correlations(frame)
        found = kdi.compare_correlations(frame, numeric_only=True)
        assert [(found["first"][0], found["second"][0])] == [("x", "y")]
        assert len(found) == 1

    @pytest.mark.parametrize("n_resamples", [0, 10])
    def test_threads_do_not_matter(self, frame, n_resamples):
        one, two = (kdi.compare_correlations(frame, n_resamples=n_resamples, rng=1, n_jobs=n) for n in (1, 2))
        pd.testing.assert_frame_equal(one, two, check_exact=True)

    def test_nothing_is_altered(self, frame):
        copied = frame.copy(deep=True)
        kdi.compare_correlations(frame, n_resamples=5, rng=0)
        pd.testing.assert_frame_equal(frame, copied)
        table = frame.to_numpy(copy=True)
        table.flags.writeable = False
        kdi.compare_correlations(table, n_resamples=5, rng=0)
        assert_array_equal(table, frame)


class TestErrors:
    @pytest.mark.slow
    @pytest.mark.parametrize("missing", [False, True])
    def test_against_a_bootstrap_of_our_own(self, missing, rng):
        """700 resamples and 1,000: standard deviations right to 3 % and 2 %, which differ by less than a tenth."""
        x = rng.lognormal(size=40)
        table = np.column_stack([x, x + rng.normal(size=40), rng.normal(size=40)])
        if missing:
            table[::5, 0], table[::6, 1] = np.nan, np.nan
        found = kdi.compare_correlations(table, n_resamples=1000, rng=0)
        orders = rng.integers(40, size=(700, 40))
        for row in found:
            pair = table[:, [row["first"], row["second"]]]
            draws = []
            for order in orders:
                rows = pair[order]
                rows = rows[~np.isnan(rows).any(axis=1)]
                kinds = rows.T, stats.rankdata(rows, axis=0).T, [direct.levels(one) for one in rows.T]
                draws.append([direct.pearson(*kind) for kind in kinds])
            assert_allclose([row[name] for name in ERRORS], np.std(draws, axis=0, ddof=1), rtol=0.1)

    @pytest.mark.parametrize("make", [lambda: 7, lambda: np.random.default_rng(7)], ids=["seed", "generator"])
    def test_the_same_for_the_same_rng(self, frame, make):
        one, two = (kdi.compare_correlations(frame, n_resamples=10, rng=make()) for _ in range(2))
        other = kdi.compare_correlations(frame, n_resamples=10, rng=8)
        pd.testing.assert_frame_equal(one, two, check_exact=True)
        assert (one[ERRORS] != other[ERRORS]).all(axis=None)
        assert_array_equal(one[COLUMNS], other[COLUMNS])

    def test_of_two_resamples(self, frame):
        found = kdi.compare_correlations(frame, n_resamples=2, rng=0)
        assert list(found.columns) == COLUMNS + ERRORS
        assert (found[ERRORS] > 0).all(axis=None)


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "bad", "said"),
        [
            ("against", "kendall", r"against.*'pearson'.*'spearman'.*'kendall'|against.*'kendall'"),
            ("against", None, "against.*None"),
            ("n_resamples", -1, "n_resamples.*-1"),
            ("n_resamples", 2.5, r"n_resamples.*2\.5"),
            ("alpha", -1.0, "alpha.*-1.0"),
            ("kernel", "triangle", "kernel.*'triangle'"),
            ("order", 0, "order.*0"),
            ("weights", -np.ones(500), "weights.*negative"),
        ],
        ids=lambda value: str(value)[:15],
    )
    def test_parameters(self, frame, name, bad, said):
        with pytest.raises(ValueError, match=said):
            kdi.compare_correlations(frame, **{name: bad})

    @pytest.mark.parametrize("n_columns", [0, 1])
    def test_fewer_than_two_columns(self, frame, n_columns):
        for table in (frame.iloc[:, :n_columns], frame.to_numpy()[:, :n_columns]):
            with pytest.raises(ValueError, match="two"):
                kdi.compare_correlations(table)

    def test_fewer_than_two_numeric_columns(self):
        frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "town": ["Bern", "Basel", "Biel"]})
        with pytest.raises(ValueError, match="two"):
            kdi.compare_correlations(frame, numeric_only=True)
