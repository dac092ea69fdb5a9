"""Training folds as sums of sketches: what each fold would give on its own, from one reading of every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import kdi._tuning.folds
from kdi import KDITransformer
from kdi._integral.build import maps_by_alpha
from kdi._integral.maps import MapOptions
from kdi._integral.maps import forward
from kdi._numerics.kernels import get_kernel
from kdi._tuning.folds import MOST_FOLDS, row_groups, sketch_folds

pytestmark = pytest.mark.numpy_core

ALPHAS = np.array([0.0, 0.05, 0.3, 1.0, 10.0, np.inf])
N = 60
GROUPS = np.arange(N) % 7
SPLITTERS = {
    "KFold": KFold(5),
    "KFold shuffled": KFold(4, shuffle=True, random_state=0),
    "StratifiedKFold": StratifiedKFold(3),
    "GroupKFold": GroupKFold(3),
    "TimeSeriesSplit": TimeSeriesSplit(4),
    "ShuffleSplit": ShuffleSplit(3, random_state=0),
    "many ShuffleSplit": ShuffleSplit(12, random_state=0),
    "RepeatedKFold": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    "many RepeatedKFold": RepeatedKFold(n_splits=5, n_repeats=3, random_state=0),
    "LeaveOneOut": LeaveOneOut(),
    "PredefinedSplit": PredefinedSplit(np.arange(N) % 4 - 1),
}
READ_ONCE = ["KFold", "KFold shuffled", "StratifiedKFold", "GroupKFold", "TimeSeriesSplit", "PredefinedSplit"]


def fitted_rows(name, n_rows=N):
    """The training rows of a splitter, and all rows."""
    groups = GROUPS if name == "GroupKFold" else None
    splits = SPLITTERS[name].split(np.zeros(n_rows), np.arange(n_rows) % 2, groups)
    return [fitted for fitted, _ in splits] + [np.arange(n_rows)]


def levels_by_alpha(table, weights, folds, alphas=ALPHAS, kernel=("polyexp", 4)):
    """What each fold makes of the whole table at each alpha, from sketches that were added up."""
    sketches, _ = sketch_folds(table, weights, folds, get_kernel(*kernel), float(alphas[0]), None)
    for fold in sketches:
        levels = []
        for maps in maps_by_alpha(fold, alphas, get_kernel(*kernel), MapOptions()):
            out = np.empty(table.shape)
            forward(maps, table.astype(float), out, "clip", 1)
            levels.append(out)
        yield levels


def assert_as_fitted(table, weights, folds, alphas=ALPHAS, tolerance=1e-12, kernel=("polyexp", 4)):
    """Each fold gives what a transformer gives that was fitted to its rows."""
    for rows, levels in zip(folds, levels_by_alpha(table, weights, folds, alphas, kernel), strict=True):
        mass = None if weights is None else weights[rows]
        for alpha, found in zip(alphas, levels, strict=True):
            model = KDITransformer(alpha, kernel=kernel[0], order=kernel[1]).fit(table[rows], sample_weight=mass)
            assert_allclose(found, model.transform(table.astype(float)), rtol=0, atol=tolerance)


def some_columns(rng, n_rows=N):
    return np.column_stack([rng.normal(size=n_rows), rng.lognormal(2, 2, size=n_rows), rng.poisson(2, size=n_rows)])


class TestRowGroups:
    @pytest.mark.parametrize("name", SPLITTERS)
    def test_groups_make_up_the_folds(self, name):
        folds = fitted_rows(name)
        groups, made_of = row_groups(folds, N)
        for fold, made in zip(folds, made_of, strict=True):
            together = np.concatenate([groups[g] for g in made])
            assert_array_equal(np.sort(together), np.sort(fold))

    @pytest.mark.parametrize(("name", "expected"), [("KFold", 5), ("GroupKFold", 3), ("TimeSeriesSplit", 5)])
    def test_no_more_groups_than_it_takes(self, name, expected):
        groups, _ = row_groups(fitted_rows(name), N)
        assert len(groups) == expected
        assert sum(map(len, groups)) == N

    @pytest.mark.parametrize("name", ["many ShuffleSplit", "many RepeatedKFold"])
    def test_folds_with_little_in_common_stand_alone(self, name):
        folds = fitted_rows(name)
        groups, made_of = row_groups(folds, N)
        assert len(groups) == len(folds)
        assert made_of == [[k] for k in range(len(folds))]

    def test_as_many_folds_as_there_are_bits(self):
        n = MOST_FOLDS + 5
        for n_folds in (MOST_FOLDS, MOST_FOLDS + 1):
            folds = [np.delete(np.arange(n), k) for k in range(n_folds)]
            groups, made_of = row_groups(folds, n)
            for fold, made in zip(folds, made_of, strict=True):
                assert_array_equal(np.sort(np.concatenate([groups[g] for g in made])), fold)

    def test_all_rows_are_one_group(self):
        groups, made_of = row_groups([np.arange(9)], 9)
        assert_array_equal(groups, [np.arange(9)])
        assert made_of == [[0]]

    def test_a_row_that_is_there_twice_counts_twice(self):
        folds = [np.array([0, 1, 1]), np.arange(3)]
        groups, made_of = row_groups(folds, 3)
        assert_array_equal(np.sort(np.concatenate([groups[g] for g in made_of[0]])), [0, 1, 1])

    @settings(max_examples=60)
    @given(st.integers(1, 12), st.data())
    def test_any_folds(self, n, data):
        rows = st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n).map(np.array)
        folds = data.draw(st.lists(rows, min_size=1, max_size=6))
        groups, made_of = row_groups(folds, n)
        for fold, made in zip(folds, made_of, strict=True):
            assert_array_equal(np.sort(np.concatenate([groups[g] for g in made])), np.sort(fold))


class TestSketches:
    @pytest.mark.parametrize("name", SPLITTERS)
    def test_every_splitter(self, name, rng):
        assert_as_fitted(some_columns(rng), None, fitted_rows(name), ALPHAS[[0, 2, 5]])

    @pytest.mark.parametrize("kernel", [("polyexp", 1), ("gaussian", 4)])
    def test_every_kernel(self, kernel, rng):
        assert_as_fitted(some_columns(rng), None, fitted_rows("KFold"), kernel=kernel)

    @pytest.mark.parametrize("name", ["KFold", "LeaveOneOut"])
    def test_weights(self, name, rng):
        weights = rng.choice([0, 0.25, 1, 3], size=N)
        assert_as_fitted(some_columns(rng), weights, fitted_rows(name), ALPHAS[[0, 2, 3]])

    def test_missing(self, rng):
        table = some_columns(rng)
        table[rng.uniform(size=table.shape) < 0.3] = np.nan
        assert_as_fitted(table, None, fitted_rows("KFold"))

    @pytest.mark.parametrize("value", [7.0, np.nan], ids=["constant", "all NaN"])
    def test_one_group_without_spread(self, value, rng):
        table = some_columns(rng)
        table[12:24] = value  # what the second fold leaves out
        assert_as_fitted(table, None, fitted_rows("KFold"))

    @pytest.mark.filterwarnings("ignore:.*held only NaN")
    @pytest.mark.parametrize("value", [7.0, np.nan], ids=["constant", "all NaN"])
    def test_one_training_fold_without_spread(self, value, rng):
        table = some_columns(rng)
        table[np.r_[:12, 24:60]] = value  # all but what the second fold leaves out
        assert_as_fitted(table, None, fitted_rows("KFold"))

    def test_a_group_that_has_no_weight(self, rng):
        weights = np.ones(N)
        weights[:12] = 0
        assert_as_fitted(some_columns(rng), weights, fitted_rows("KFold"))

    def test_float32(self, rng):
        assert_as_fitted(some_columns(rng).astype(np.float32), None, fitted_rows("KFold"))

    def test_order_of_the_rows_of_a_fold_is_no_matter(self, rng):
        table, folds = some_columns(rng), fitted_rows("KFold")
        shuffled = [rng.permutation(rows) for rows in folds]
        first, second = levels_by_alpha(table, None, folds), levels_by_alpha(table, None, shuffled)
        for one, other in zip(first, second, strict=True):
            assert_array_equal(one, other)

    def test_what_was_seen_of_the_columns(self, rng):
        table = some_columns(rng)
        table[3, 1], table[5, 2], table[40, 2] = np.inf, np.nan, np.nan
        _, seen = sketch_folds(table, None, fitted_rows("KFold"), get_kernel("polyexp", 4), 1.0, None)
        assert seen.infinite_columns == [1]
        assert_array_equal(seen.missing, [0, 0, 2])
        assert_array_equal(seen.minimum[[0, 2]], np.nanmin(table, axis=0)[[0, 2]])


class TestCells:
    """Tables so long that cells are kept instead of values."""

    ROWS = 60_000
    TWO = np.array([0.3, 3.0])

    @pytest.fixture
    def folds(self):
        return [fitted for fitted, _ in KFold(3).split(np.zeros(self.ROWS))] + [np.arange(self.ROWS)]

    def assert_cells(self, column, folds, alphas=TWO, weights=None, tolerance=2e-8):
        """Cells are kept, not values, and each fold gives what its rows give."""
        sketches, _ = sketch_folds(column, weights, folds, get_kernel("polyexp", 4), float(alphas[0]), None)
        assert not any(sketch.is_exact for fold in sketches for sketch in fold)
        assert_as_fitted(column, weights, folds, alphas, tolerance)

    def test_normal(self, folds, rng):
        self.assert_cells(rng.normal(size=(self.ROWS, 1)), folds)

    def test_weights_and_missing(self, folds, rng):
        column = rng.gamma(2, size=(self.ROWS, 1))
        column[::7] = np.nan
        self.assert_cells(column, folds, weights=rng.choice([0, 0.5, 2], size=self.ROWS))

    def test_float32(self, folds, rng):
        self.assert_cells(rng.normal(size=(self.ROWS, 1)).astype(np.float32), folds)

    @pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
    def test_an_outlier_in_one_fold(self, far, folds, rng):
        column = rng.normal(size=(self.ROWS, 1))
        column[-1] = (
            far  # the spread of the last group, and of two training folds, is far larger than that of the third
        )
        assert_as_fitted(column, None, folds, self.TWO, 2e-6)

    def test_heavy_tails(self, folds, rng):
        assert_as_fitted(rng.standard_cauchy(size=(self.ROWS, 1)), None, folds, self.TWO, 2e-6)

    def test_one_group_much_narrower_than_the_others(self, folds, rng):
        column = rng.normal(size=(self.ROWS, 1))
        column[:20_000] *= 1e-4
        assert_as_fitted(column, None, folds, self.TWO, 2e-6)

    def test_groups_far_apart(self, folds, rng):
        column = rng.normal(size=(self.ROWS, 1)) + np.repeat([[0.0], [1e4], [-3e5]], 20_000, axis=0)
        assert_as_fitted(column, None, folds, self.TWO, 2e-6)

    def test_200000_rows(self, rng):
        column = rng.normal(size=(200_000, 1))
        column[:100_000] *= 0.3
        folds = [fitted for fitted, _ in KFold(2).split(column)]
        self.assert_cells(column, folds, np.array([0.1, 1.0]), tolerance=2e-6)


class TestReading:
    @pytest.fixture
    def rows_read(self, monkeypatch):
        """Rows that went through the first and the second reading."""
        read = {"scan_columns": 0, "sketch_array": 0}

        def counted(name):
            function = getattr(kdi._tuning.folds, name)

            def count(table, *arguments, **options):
                read[name] += len(table)
                return function(table, *arguments, **options)

            monkeypatch.setattr(kdi._tuning.folds, name, count)

        for name in read:
            counted(name)
        return read

    @pytest.mark.parametrize("name", READ_ONCE)
    def test_every_row_is_read_once(self, name, rows_read, rng):
        sketch_folds(some_columns(rng), None, fitted_rows(name), get_kernel("polyexp", 4), 0.1, None)
        assert rows_read == {"scan_columns": N, "sketch_array": N}

    def test_but_where_folds_stand_alone(self, rows_read, rng):
        folds = fitted_rows("many ShuffleSplit")
        sketch_folds(some_columns(rng), None, folds, get_kernel("polyexp", 4), 0.1, None)
        total = sum(map(len, folds))
        assert rows_read == {"scan_columns": total, "sketch_array": total}

    def test_the_table_is_not_copied_for_one_fold(self, rng, monkeypatch):
        table, given_tables = some_columns(rng), []
        monkeypatch.setattr(
            kdi._tuning.folds,
            "scan_columns",
            lambda part, *rest: given_tables.append(part) or kdi._sketch.columns.scan_columns(part, *rest),
        )
        sketch_folds(table, None, [np.arange(N)], get_kernel("polyexp", 4), 0.1, None)
        assert given_tables[0] is table
