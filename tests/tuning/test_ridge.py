"""RidgeFold: every candidate in place of a feature, against models fitted anew; what it is given, and is to predict."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import tuning_oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import kdi._tuning.ridge
from kdi._tuning.candidates import CandidateColumns
from kdi._tuning.ridge import LEAST_PENALTY, RidgeFold
from kdi._tuning.targets import are_labels, as_target, target_matrix


class Columns:
    """Candidates that are given as they are: a list of arrays of shape (n_alphas, n_rows)."""

    def __init__(self, columns, n_fitted):
        self.columns, self.n_fitted = columns, n_fitted
        self.n_features, (self.n_alphas, self.n_rows) = len(columns), columns[0].shape

    def column(self, j):
        return self.columns[j]

    def design(self, choice):
        return np.column_stack([self.columns[j][place] for j, place in enumerate(choice)])


def some(rng, n_rows=14, n_features=3, n_alphas=4, n_targets=1, n_fitted=None):
    """Levels in [0, 1] that bend more from alpha to alpha, and targets that follow some of them."""
    values = rng.uniform(size=(n_features, n_rows))
    columns = [np.array([one ** (1 + 2 * place) for place in range(n_alphas)]) for one in values]
    targets = values[0][:, None] ** 3 + rng.normal(scale=0.2, size=(n_rows, n_targets))
    return Columns(columns, n_rows if n_fitted is None else n_fitted), targets - targets.mean(axis=0)


def brute(candidates, choice, targets, mass, penalty):
    """Squared errors of the tested rows, by models fitted anew."""
    design, n = candidates.design(choice), candidates.n_fitted
    if n == len(design):
        return tuning_oracle.left_out_errors(design, targets, mass, penalty)
    return tuning_oracle.held_out_errors(design[:n], targets[:n], mass, penalty, design[n:], targets[n:])


def assert_same(fold, candidates, choice, feature, targets, mass, penalty, **tolerance):
    """A visit gives what brute force gives, with the feature at every alpha."""
    found = fold.visit(feature)
    places = [[*choice[:feature], place, *choice[feature + 1 :]] for place in range(candidates.n_alphas)]
    expected = np.array([brute(candidates, one, targets, mass, penalty) for one in places])
    kept = slice(None) if found.shape[1] != len(mass) else mass > 0  # rows without weight are not left out
    assert_allclose(found[:, kept], expected[:, kept], **{"rtol": 1e-9, "atol": 1e-12, **tolerance})


WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(1, 5, size=n).astype(float),
    "zero": lambda rng, n: np.where(np.arange(n) % 3 == 0, 0.0, rng.integers(1, 3, size=n)),
    "fractional": lambda rng, n: rng.uniform(0.01, 3, size=n),
    "large": lambda rng, n: rng.uniform(1e2, 1e4, size=n),
    "one heavy row": lambda rng, n: np.where(np.arange(n) == 2, 300.0, 1.0),
}
MODES = pytest.mark.parametrize("n_fitted", [None, 9], ids=["in turn", "tested"])


@MODES
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_start_visit_and_move(weights, n_targets, n_fitted, rng):
    candidates, targets = some(rng, n_targets=n_targets, n_fitted=n_fitted)
    mass = WEIGHTS[weights](rng, candidates.n_fitted)
    fold = RidgeFold(candidates, targets, mass, 0.7)
    choice = [0, 3, 1]
    start = fold.start(np.array(choice))
    kept = mass > 0 if n_fitted is None else slice(None)
    assert_allclose(start[kept], brute(candidates, choice, targets, mass, 0.7)[kept], rtol=1e-9)
    for feature, place in [(0, 2), (2, 2), (1, 0), (0, 2), (0, 0)]:
        assert_same(fold, candidates, choice, feature, targets, mass, 0.7)
        fold.move(place)
        choice[feature] = place


@MODES
def test_after_many_moves(n_fitted, rng):
    candidates, targets = some(rng, n_rows=20, n_features=5, n_fitted=n_fitted)
    mass = rng.uniform(0.2, 3, size=candidates.n_fitted)
    fold = RidgeFold(candidates, targets, mass, 1.0)
    choice = [0] * 5
    fold.start(np.array(choice))
    for _ in range(500):
        feature, place = int(rng.integers(5)), int(rng.integers(4))
        fold.visit(feature)
        fold.move(place)
        choice[feature] = place
    assert_same(fold, candidates, choice, 3, targets, mass, 1.0, rtol=1e-7)
    assert_array_equal(fold.choice, choice)


@MODES
def test_a_visit_without_a_move_changes_nothing(n_fitted, rng):
    candidates, targets = some(rng, n_fitted=n_fitted)
    fold = RidgeFold(candidates, targets, np.ones(candidates.n_fitted), 1.0)
    fold.start(np.zeros(3, dtype=int))
    first = fold.visit(1)
    fold.visit(2)
    assert_array_equal(fold.visit(1), first)


@MODES
def test_start_forgets_what_was_before(n_fitted, rng):
    candidates, targets = some(rng, n_fitted=n_fitted)
    fold, fresh = (RidgeFold(candidates, targets, np.ones(candidates.n_fitted), 1.0) for _ in range(2))
    fold.start(np.zeros(3, dtype=int))
    fold.visit(1)
    fold.move(3)
    choice = np.array([1, 2, 0])
    assert_array_equal(fold.start(choice), fresh.start(choice))
    assert_array_equal(fold.visit(0), fresh.visit(0))
    fold.move(3)
    assert_array_equal(choice, [1, 2, 0])  # the caller's own


@MODES
def test_blocks_of_rows(n_fitted, rng, monkeypatch):
    candidates, targets = some(rng, n_rows=30, n_targets=2, n_fitted=n_fitted)
    mass = rng.uniform(0, 2, size=candidates.n_fitted)
    found = []
    for rows in (4096, 7):
        monkeypatch.setattr(kdi._tuning.ridge, "BLOCK", rows)
        fold = RidgeFold(candidates, targets, mass, 1.0)
        fold.start(np.array([0, 1, 2]))
        found.append(fold.visit(2))
    assert_allclose(found[1], found[0], rtol=1e-12)


@MODES
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e4])
def test_more_features_than_rows(penalty, n_fitted, rng):
    candidates, targets = some(rng, n_rows=12, n_features=25, n_alphas=2, n_fitted=n_fitted)
    mass = np.ones(candidates.n_fitted)
    fold = RidgeFold(candidates, targets, mass, penalty)
    fold.start(np.zeros(25, dtype=int))
    assert_same(fold, candidates, [0] * 25, 7, targets, mass, penalty, rtol=1e-6)


@MODES
@pytest.mark.parametrize("distance", [0, 1e-9, 1e-5])
def test_columns_that_are_nearly_the_same(distance, n_fitted, rng):
    candidates, targets = some(rng, n_rows=20, n_fitted=n_fitted)
    candidates.columns[1] = candidates.columns[0] + distance * rng.normal(size=candidates.columns[0].shape)
    mass = np.ones(candidates.n_fitted)
    fold = RidgeFold(candidates, targets, mass, 0.1)
    choice = [0, 1, 0]
    fold.start(np.array(choice))
    for feature, place in [(1, 0), (0, 0), (2, 3), (0, 2), (1, 2)]:
        assert_same(fold, candidates, choice, feature, targets, mass, 0.1, rtol=1e-6)
        fold.move(place)
        choice[feature] = place


@MODES
@pytest.mark.parametrize("penalty", [1e-300, 1e-13, 1e-8])
def test_a_penalty_of_next_to_nothing(penalty, n_fitted, rng):
    candidates, targets = some(rng, n_rows=40, n_fitted=n_fitted and 30)
    candidates.columns += [one.copy() for one in candidates.columns]
    candidates.n_features = 6
    mass = np.full(candidates.n_fitted, 2.0)
    fold = RidgeFold(candidates, targets, mass, penalty)
    choice = [0] * 6
    fold.start(np.array(choice))
    for feature in (0, 3, 1, 4):
        assert_same(fold, candidates, choice, feature, targets, mass, LEAST_PENALTY * mass.sum(), rtol=0, atol=1e-3)
        fold.move(2)
        choice[feature] = 2


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_one_row(weight):
    candidates = Columns([np.array([[0.0], [0.0]])], 1)
    fold = RidgeFold(candidates, np.zeros((1, 1)), np.array([weight]), 10.0)
    assert_array_equal(fold.start(np.array([0])), [0.0])
    assert_array_equal(fold.visit(0), [[0.0], [0.0]])
    fold.move(1)
    assert_array_equal(fold.visit(0), [[0.0], [0.0]])


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_column_that_is_constant(level, rng):
    candidates, targets = some(rng)
    candidates.columns[1] = np.full_like(candidates.columns[1], level)
    mass = np.ones(14)
    fold = RidgeFold(candidates, targets, mass, 1.0)
    fold.start(np.zeros(3, dtype=int))
    assert_same(fold, candidates, [0, 0, 0], 1, targets, mass, 1.0)
    assert_allclose(np.ptp(fold.visit(1), axis=0), 0, atol=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 4), st.floats(-3, 3), st.booleans())
def test_any_data(seed, n_rows, n_features, log_penalty, in_turn):
    rng = np.random.default_rng(seed)
    extra = 0 if in_turn else 3
    candidates, targets = some(rng, n_rows + extra, n_features, 3, n_fitted=n_rows)
    mass, penalty = rng.uniform(0.1, 4, size=n_rows), 10**log_penalty
    fold = RidgeFold(candidates, targets, mass, penalty)
    choice = rng.integers(3, size=n_features)
    fold.start(choice)
    for feature in range(n_features):
        assert_same(fold, candidates, choice.tolist(), feature, targets, mass, penalty, rtol=1e-6, atol=1e-9)
        choice[feature] = rng.integers(3)
        fold.move(int(choice[feature]))


class TestCandidates:
    @staticmethod
    def made(table, rows=None, n_fitted=None, mass=None, keep=True):
        calls = []

        def power(exponent, values, out):
            calls.append(exponent)
            out[:] = values**exponent

        tables = [[1.0] * table.shape[1], [2.0] * table.shape[1]]
        count = len(table) if rows is None else len(rows)
        return CandidateColumns(tables, power, table, rows, n_fitted or count, mass, keep), calls

    @pytest.mark.parametrize("keep", [True, False])
    def test_columns_and_design(self, keep, rng):
        table = rng.uniform(size=(6, 2)).astype(np.float32)
        rows = np.array([4, 0, 2])
        candidates, calls = self.made(table, rows, keep=keep)
        expected = table[rows].astype(float)
        for _ in range(2):
            assert_array_equal(candidates.column(1), [expected[:, 1], expected[:, 1] ** 2])
        assert len(calls) == (2 if keep else 4)
        assert_array_equal(candidates.design(np.array([1, 0])), np.column_stack([expected[:, 0] ** 2, expected[:, 1]]))
        assert (candidates.n_rows, candidates.n_alphas, candidates.n_features) == (3, 2, 2)

    def test_missing_becomes_the_mean_of_the_fitted_rows(self):
        table = np.array([[1.0], [3.0], [np.nan], [100.0], [np.nan]])
        mass = np.array([3.0, 1.0, 5.0])
        candidates, _ = self.made(table, np.arange(5), 3, mass)
        assert_array_equal(candidates.column(0)[0], [1, 3, 1.5, 100, 1.5])
        assert_array_equal(candidates.column(0)[1], [1, 9, 3, 10_000, 3])  # of the levels, not of the values

    def test_missing_everywhere_is_nothing(self):
        candidates, _ = self.made(np.array([[np.nan], [np.nan], [7.0]]), np.arange(3), 2, np.ones(2))
        assert_array_equal(candidates.column(0)[0], [0, 0, 7])

    def test_missing_stays_for_an_estimator(self):
        table = np.array([[1.0], [np.nan]])
        candidates, _ = self.made(table)
        assert_array_equal(candidates.column(0)[0], [1, np.nan])


class TestTargets:
    @pytest.mark.parametrize(
        ("y", "expected"),
        [
            (["a", "b"] * 30, True),
            ([True, False] * 30, True),
            ([0, 1] * 30, True),
            ([0.0, 1.0] * 30, True),
            ([1, 2, 3] * 20, True),
            ([-1.0, 4.0, 9.0] * 20, False),  # not numbered through
            ([2, 3, 4] * 20, False),
            ([-1, 1] * 30, True),
            (pd.Series([4, 9, 3] * 20, dtype="category"), True),
            ([True, False] * 30 + [np.True_], True),
            (np.array([True, False] * 30, dtype=object), True),
            ([Decimal("0.5"), Decimal("1.5")] * 30, False),
            (pd.Series([1, 2, 3] * 20, dtype="Int64"), True),
            ([0.5, 1.0] * 30, False),
            (np.r_[[1, 2, 3] * 19, 4, 4, 4], False),  # small counts, or a rare class: it has to be said
            (np.r_[np.arange(1, 22), [8, 9, 10] * 13], False),  # rings of abalones
            (np.repeat(np.arange(101), 5), False),
            (np.repeat(np.arange(1, 101), 5), True),
            (np.arange(60), False),
            (np.linspace(0, 1, 60), False),
            (np.linspace(0, 1, 60).astype(object), False),
            (pd.Series(np.linspace(0, 1, 60), dtype="Float64"), False),
            (np.arange(60) % 15, False),  # each occurs in four rows
            (np.arange(60) % 12, True),
        ],
    )
    def test_what_y_is_taken_for(self, y, expected):
        target = as_target("it", y, np.zeros((len(y), 1)))
        assert are_labels(target, "auto", np.ones(len(y))) is expected
        assert are_labels(target, "classification", np.ones(len(y))) is True
        assert are_labels(target, "regression", np.ones(len(y))) is False

    def test_weights_are_repetitions(self):
        y = np.array([0, 1, 2, 2])
        assert not are_labels(y, "auto", np.ones(4))
        assert are_labels(y, "auto", np.array([5.0, 5, 3, 2]))
        assert are_labels(y, "auto", np.array([1.0, 0, 2, 1]))  # two values that count

    def test_matrices(self):
        weights = np.array([1.0, 2.0, 1.0, 0.0])
        numbers = target_matrix(np.array([0.0, 2.0, 4.0, 100.0]), False, weights)
        assert_allclose(numbers.ravel(), np.array([-2, 0, 2, 98]) / 100)
        two = target_matrix(np.array(["b", "a", "a", "b"]), True, weights)
        assert_allclose(two.ravel(), [0.75, -0.25, -0.25, 0.75])
        three = target_matrix(np.array([7, 5, 6, 6]), True, weights)
        assert_allclose(three, np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]]) - [0.5, 0.25, 0.25])
        with pytest.raises(ValueError, match="labels that occur more than once, got 4 distinct labels"):
            target_matrix(np.array(list("abcd")), True, weights)

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (np.array(["2020-01-01"] * 3, dtype="M8[s]"), "numbers or labels, got datetime64"),
            ([1, "a", 2.0], "of one kind, got number and str"),
            (np.array([1, None, 2], dtype=object), "contains NaN"),
            (pd.Series(["a", pd.NA, "b"], dtype=object), "contains NaN"),
            (np.array([1.0, np.nan, 2], dtype=object), "contains NaN"),
        ],
    )
    def test_refused(self, y, message):
        y = np.array(y, dtype=object) if isinstance(y, list) else y
        with pytest.raises(ValueError, match=message):
            as_target("KDITransformerCV", y, np.zeros((3, 1)))
