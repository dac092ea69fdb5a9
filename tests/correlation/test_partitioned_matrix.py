"""Correlations of partitioned tables are those of the same rows in memory."""

import correlation_oracle as direct
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi._correlation.comparison import compare_partitioned
from kdi._correlation.partitioned_matrix import corr_partitioned, corr_test_partitioned

CUTS = [0, 7, 300]


@pytest.mark.parametrize("weighted", [False, True])
def test_statistic_and_pvalue(weighted, holes, rng):
    weights = rng.integers(0, 3, size=len(holes)).astype(float) if weighted else None
    expected = kdi.corr_test(holes, weights=weights)
    found = corr_test_partitioned(ShuffledPartitions(holes, CUTS, weights))
    assert type(found) is kdi.CorrelationMatrix
    assert_allclose(found.statistic, expected.statistic, rtol=0, atol=1e-9)
    assert_allclose(found.pvalue, expected.pvalue, rtol=0, atol=1e-9)
    assert_array_equal(corr_partitioned(ShuffledPartitions(holes, CUTS, weights)), found.statistic)


@pytest.mark.parametrize("order", [1, 2])
def test_orders_of_the_kernel(order, table, holes):
    expected = direct.matrix(table, order=order)
    assert_allclose(corr_partitioned(ShuffledPartitions(table, CUTS), order=order), expected, rtol=0, atol=1e-9)
    assert_allclose(
        corr_test_partitioned(ShuffledPartitions(table, CUTS), order=order).statistic, expected, rtol=0, atol=1e-9
    )
    assert_allclose(
        corr_partitioned(ShuffledPartitions(holes, CUTS), order=order), kdi.corr(holes, order=order), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("against", ["pearson", "spearman"])
@pytest.mark.parametrize("options", [{}, {"order": 1}, {"kernel": "gaussian", "alpha": 0.3}], ids=str)
def test_comparisons(options, against, holes):
    expected = kdi.compare_correlations(holes, against=against, **options)
    found = compare_partitioned(ShuffledPartitions(holes, CUTS), against=against, **options)
    assert list(found) == list(expected.dtype.names)
    for name, values in found.items():
        assert_allclose(values, expected[name], rtol=0, atol=1e-9)


def test_names_of_undefined_columns(table):
    table[:, 1], table[3, 2] = 7.0, np.inf
    for function in (corr_partitioned, corr_test_partitioned):
        with pytest.warns(RuntimeWarning) as caught:
            function(ShuffledPartitions(table, CUTS, names=["a", "b", "c", "d"]))
        messages = {str(one.message): one.category for one in caught}
        assert messages == {
            "An input array is constant; the correlation coefficient is not defined (column 'b').": (
                stats.ConstantInputWarning
            ),
            "infinite values have no correlation in a table that is read in partitions (column 'c').": RuntimeWarning,
        }


@pytest.mark.parametrize("function", [corr_partitioned, corr_test_partitioned])
@pytest.mark.parametrize(
    ("name", "bad", "said"),
    [
        ("min_periods", 0.5, "min_periods must be an integer >= 0, got 0.5"),
        ("min_periods", -1, "min_periods must be an integer >= 0, got -1"),
        ("order", 0, "order"),
        ("kernel", "triangle", "kernel.*'triangle'"),
        ("alpha", [1.0, 2.0], "alpha"),
    ],
)
def test_parameters_are_checked(function, name, bad, said, table):
    with pytest.raises(ValueError, match=said):
        function(ShuffledPartitions(table, CUTS), **{name: bad})


def test_weights_that_are_all_zero(table):
    for function in (corr_partitioned, corr_test_partitioned, compare_partitioned):
        with pytest.raises(ValueError, match="weights must not be zero in every row"):
            function(ShuffledPartitions(table, CUTS, np.zeros(len(table))))


def test_no_rows():
    assert_array_equal(corr_partitioned(ShuffledPartitions(np.empty((0, 2)), [])), kdi.corr(np.empty((0, 2))))
