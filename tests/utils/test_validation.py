"""Validation: what is accepted, and errors that carry the column, row or argument."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from kdi import KDITransformer, Sketch
from kdi._utils.errors import InfiniteValuesError, TableError, WeightsError
from kdi._utils.names import check_available, check_columns, check_unique, features_and_weights, format_names
from kdi._utils.validation import (
    as_column,
    as_numbers,
    as_table,
    as_weights,
    check_count,
    check_finite,
    check_jobs,
    check_some_weight,
    valid_values,
)


class TestWeights:
    def test_what_is_accepted(self):
        assert as_weights(None, 3) is None
        assert_array_equal(as_weights(2, 3), [2.0, 2.0, 2.0])
        assert_array_equal(as_weights([True, False, 3], 3), [1.0, 0.0, 3.0])
        assert as_weights([], 0).shape == (0,)

    @pytest.mark.parametrize(("bad", "shown"), [(-1.0, "-1.0"), (np.nan, "nan"), (np.inf, "inf"), (None, "nan")])
    def test_a_wrong_weight_has_a_row(self, bad, shown):
        with pytest.raises(TableError) as caught:
            as_weights([1.0] * 5 + [bad, -2.0], 7, "weights")
        assert str(caught.value) == f"weights must be finite and not negative, got {shown} in row 5."
        assert (caught.value.row, caught.value.column) == (5, None)
        assert caught.value.after(100).row == 105

    @pytest.mark.parametrize("bad", [[1.0], [[1.0], [1.0]], []])
    def test_a_wrong_shape(self, bad):
        with pytest.raises(WeightsError, match=r"^weights must have shape \(2,\), one weight per row, got ") as caught:
            as_weights(bad, 2, "weights")
        assert caught.value.argument == "weights"

    def test_a_sum_that_overflows(self):
        with pytest.raises(WeightsError, match=r"^sample_weight must have a finite sum, got weights up to 1e\+308"):
            as_weights([1e308, 1e308], 2)

    def test_text(self):
        with pytest.raises(ValueError, match="weights must be real numbers, got 'a'"):
            as_weights(np.array(["a", 1.0], dtype=object), 2, "weights")

    @pytest.mark.parametrize("weights", [None, np.array([]), np.array([0.0, 1e-300])])
    def test_some_weight(self, weights):
        check_some_weight(weights, "weights")

    def test_no_weight(self):
        with pytest.raises(WeightsError, match=r"^w must not be zero in every row") as caught:
            check_some_weight(np.zeros(3), "w")
        assert caught.value.argument == "w"


class TestColumns:
    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_an_infinite_value_has_a_row(self, bad):
        with pytest.raises(TableError) as caught:
            as_column([1.0, np.nan, bad, np.inf], "x")
        assert str(caught.value) == f"x must be finite or NaN, got {bad} in row 2."
        assert caught.value.row == 2
        with pytest.raises(TableError, match="values must be finite or NaN, got inf in row 1"):
            Sketch.from_values([0.0, np.inf])

    def test_two_dimensions(self):
        with pytest.raises(ValueError, match=r"x must have one dimension, got an array of shape \(2, 2\)"):
            as_column(np.zeros((2, 2)), "x")

    def test_infinite_columns_by_name(self):
        frame = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, np.inf], "c": [-np.inf, 1.0]})
        for estimator in (KDITransformer(), KDITransformer().fit(frame.replace([np.inf, -np.inf], 0.5))):
            with pytest.raises(InfiniteValuesError) as caught:
                estimator.fit(frame)
            assert caught.value.column == "b"
            assert "infinity" in str(caught.value) and "'b', 'c'; finite numbers" in str(caught.value)

    def test_infinite_columns_by_position(self):
        with pytest.raises(InfiniteValuesError, match=r"in columns 1, 3; finite") as caught:
            check_finite(BaseEstimator(), np.array([1, 3]))
        assert caught.value.column == "1"
        check_finite(BaseEstimator(), [])

    def test_text_names_the_column(self):
        with pytest.raises(TableError, match="column 'b' holds '2'") as caught:
            as_table(BaseEstimator(), pd.DataFrame({"a": [1.0], "b": ["2"]}, dtype=object), reset=True)
        assert caught.value.column == "b"
        with pytest.raises(TableError, match="column 1 holds '2'") as caught:
            as_table(BaseEstimator(), np.array([[1.0, "2"]], dtype=object), reset=True)
        assert caught.value.column == "1"

    def test_values_of_a_column_that_are_not_numbers(self):
        with pytest.raises(TableError, match=r"^column 'a' must be real numbers, got 'x'\.$") as caught:
            as_numbers(np.array([1.0, "x"], dtype=object), "column 'a'", "a")
        assert (caught.value.column, caught.value.row) == ("a", None)

    @pytest.mark.parametrize("weights", [None, np.array([1.0, 1.0, 0.0, 2.0])])
    def test_valid_values(self, weights):
        values, mass, missing = valid_values(np.float32([1.5, np.nan, 3.0, 4.0]), weights)
        assert (values.dtype, missing) == (np.float64, 1)
        assert_array_equal(values, [1.5, 3.0, 4.0] if weights is None else [1.5, 4.0])
        assert mass is None if weights is None else mass.tolist() == [1.0, 2.0]


class TestParameters:
    @pytest.mark.parametrize("good", [None, 2, np.int8(5)])
    def test_counts(self, good):
        check_count("n", good, least=2)

    @pytest.mark.parametrize("bad", [1, 2.0, True, "2"])
    def test_other_counts(self, bad):
        with pytest.raises(ValueError, match=f"n must be None or an integer >= 2, got {bad!r}"):
            check_count("n", bad, least=2)

    @pytest.mark.parametrize("bad", [0, 1.0, False, "all"])
    def test_jobs(self, bad):
        with pytest.raises(ValueError, match=f"n_jobs must be None or an integer other than 0, got {bad!r}"):
            check_jobs(bad)


class TestNames:
    def test_format(self):
        assert format_names("ab") == "'a', 'b'"
        assert format_names("abcdef") == "'a', 'b', 'c', 'd', 'e' …"
        assert format_names("abc", 2) == "'a', 'b' …"

    @pytest.mark.parametrize(
        ("chosen", "message"),
        [
            (["a", "z"], "there is no column 'z'; the columns are 'a', 'b'"),
            (["a", "a"], "columns must be different from each other, got 'a', 'a'"),
            ([], "there are no columns to read"),
        ],
    )
    def test_columns(self, chosen, message):
        with pytest.raises(ValueError, match=message):
            check_columns(chosen, ["a", "b"])

    def test_unique(self):
        check_unique(["a", "b"])
        with pytest.raises(TableError, match=r"unique, but 'b', 'a' occurs more than once in a\.csv") as caught:
            check_unique(["b", "a", "c", "a", "b"], " in a.csv")
        assert caught.value.column == "b"

    def test_absent_columns(self):
        check_available(["b", "b"], ["a", "b"])
        with pytest.raises(TableError) as caught:
            check_available(["a", "y", 3], ["a", "b"], ", which it needs")
        assert str(caught.value) == "there is no column 'y', 3, which it needs; the columns are 'a', 'b'."
        assert caught.value.column == "y"

    @pytest.mark.parametrize(
        ("columns", "weights", "default", "expected"),
        [
            (None, None, None, (["a", "b", "w"], None)),
            (None, "w", None, (["a", "b"], "w")),
            (None, "w", ["a", "w"], (["a"], "w")),
            (None, [1.0, 2.0], ["b"], (["b"], None)),
            ("b", "w", None, (["b"], "w")),
            (["b", "a"], None, ["w"], (["b", "a"], None)),
        ],
    )
    def test_features_and_weights(self, columns, weights, default, expected):
        assert features_and_weights(columns, weights, ["a", "b", "w"], default) == expected

    def test_weights_are_not_a_feature(self):
        with pytest.raises(ValueError, match="column 'w' holds the weights and cannot be a feature too"):
            features_and_weights(["a", "w"], "w", ["a", "w"])
        with pytest.raises(ValueError, match="there is no feature: the only column, 'w', holds the weights"):
            features_and_weights(None, "w", ["w"])
