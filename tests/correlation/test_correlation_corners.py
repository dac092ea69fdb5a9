"""Corners of the correlations where a plausible implementation goes wrong: each of these once did."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kdi
from kdi._integral.levels import MAX_SCANNED_ROWS, MAX_SORTED_ROWS, column_levels
from kdi._numerics.kernels import get_kernel
from kdi._utils.errors import TableError


@pytest.fixture
def figure():
    yield plt.figure(figsize=(10, 5))
    plt.close("all")


@pytest.mark.parametrize("nan_policy", ["propagate", "omit", "raise"])
def test_everything_masked(nan_policy):
    with pytest.warns(RuntimeWarning, match="too small"):
        result = kdi.correlation(np.ma.masked_all(4), np.arange(4.0), nan_policy=nan_policy)
    assert np.isnan(result).all()


def test_missing_values_among_objects():
    column = pd.Series([1, pd.NA, 3, 4, None], dtype=object)
    other = [1, 2, 3, 5, 4]
    expected = kdi.correlation([1, 3, 4], [1, 3, 5]).statistic
    matrix = kdi.corr(pd.DataFrame({"a": column, "b": other}))
    assert matrix.loc["a", "b"] == expected
    flags = pd.Series([True, False, None, True], dtype="boolean")
    with_flags = kdi.correlation(flags, [1, 2, 3, 4], nan_policy="omit").statistic
    assert with_flags == kdi.correlation([1, 0, 1], [1, 2, 4]).statistic


@pytest.mark.parametrize(
    "table, column",
    [
        (np.array([[1, "a"], [2, 3]], dtype=object), "1"),
        (np.ma.array([[1, "a"], [2, 3]], dtype=object), "1"),
        (pd.DataFrame({"a": [1.0], "b": ["a"]}), "b"),
        (pd.DataFrame([[1.0, "a"]], columns=[3, 7]), "7"),
        (pl.DataFrame({"a": [1.0], "b": ["a"]}), "b"),
    ],
    ids=["array", "masked", "pandas", "pandas with numbers", "polars"],
)
def test_a_column_that_is_not_numeric(table, column):
    with pytest.raises(TableError) as caught:
        kdi.corr(table)
    message = str(caught.value)
    assert message.startswith("all columns must be numeric, but column ") and message.count("column") == 3
    assert message.endswith("; pass numeric_only=True to leave such columns out.")
    assert caught.value.column == column and column in message


@pytest.mark.parametrize("frame", [pl.DataFrame(), pl.DataFrame({"a": ["x"]}), pd.DataFrame({"a": ["x"]})])
def test_no_numeric_column(frame):
    assert kdi.corr(frame, numeric_only=True).shape == (0, 0)


def test_pairs_that_each_miss_rows_of_their_own(rng):
    """Columns with holes of their own are correlated many pairs at once; the same as one by one, threads or not."""
    table = rng.normal(size=(60, 12))
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:, 10] = table[:, 11]  # two that miss the same rows
    alphas = ["scott", 0.0, np.inf, *rng.uniform(0.1, 3, size=9).tolist()]
    weights = rng.integers(1, 4, size=60)
    matrix, pvalues = kdi.corr_test(table, alpha=alphas, weights=weights)
    for i in range(12):
        for j in range(i):
            pair = kdi.correlation(
                table[:, i], table[:, j], alpha=(alphas[i], alphas[j]), weights=weights, nan_policy="omit"
            )
            assert_allclose([matrix[i, j], pvalues[i, j]], pair, rtol=0, atol=1e-13)
    assert_array_equal(kdi.corr(table, alpha=alphas, weights=weights, n_jobs=2), matrix)


def test_a_sample_with_holes_is_the_sample_without_them(rng):
    """Also where only the rows that are left are few enough for the direct way."""
    x, y = rng.normal(size=(2, 1100))
    x[::7] = np.nan
    known = ~np.isnan(x)
    assert kdi.correlation(x, y, nan_policy="omit") == kdi.correlation(x[known], y[known])


@pytest.mark.parametrize("core", ["_core", "numpy_core"])
def test_min_max_needs_no_deviation(core):
    """Weights can be so uneven that the standard deviation is 0, which infinity times is nothing."""
    from kdi._numerics import _core, numpy_core

    table, out = np.array([[0.0], [1.0], [4.0]]), np.empty((3, 1))
    module = {"_core": _core, "numpy_core": numpy_core}[core]
    error = module.levels(table, np.array([1e300, 1e-300, 1e-300]), out, np.array([np.inf]), 4, 0.3, 1e-4, 1e-13, 1)
    assert_array_equal(out[:, 0], [0, 0.25, 1])
    assert error == 0


def test_infinite_values_are_told_of_at_alpha_0_too(rng):
    table = rng.normal(size=(50, 3))
    table[0, 0] = np.inf
    with pytest.warns(RuntimeWarning, match=r"infinite.*column 0"):
        pairs = kdi.compare_correlations(table, alpha=0)
    assert np.isnan(pairs["pearson"]).sum() == 2 and not np.isnan(pairs["spearman"]).any()


def test_a_figure_within_a_figure(figure, rng):
    axes = figure.subfigures(1, 2)[0].subplots()
    assert kdi.CorrelationDisplay.from_data(rng.normal(size=(50, 4)), ax=axes).ax_ is axes
    figure.canvas.draw()


def test_names_are_not_markup(figure, rng):
    names = ["price $", "cost $ _x^", "%$", "long " * 20]
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=names)
    display = kdi.CorrelationDisplay.from_data(frame, n_labels=6, ax=figure.subplots())
    figure.canvas.draw()
    texts = [label.get_text() for label in display.labels_]
    assert any("$" in text for text in texts)
    assert max(len(line) for text in texts for line in text.split("\n")) <= 30


def test_error_bars_lie_within_the_axes(figure, rng):
    pairs = kdi.compare_correlations(rng.standard_cauchy(size=(40, 4)), n_resamples=30, rng=0)
    axes = kdi.CorrelationDisplay(pairs).plot(figure.subplots()).ax_
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert low < (pairs["pearson"] - pairs["pearson_error"]).min()
    assert high > (pairs["pearson"] + pairs["pearson_error"]).max()
    for name in ("kdi", "spearman"):
        assert bottom < (pairs[name] - pairs[f"{name}_error"]).min()
        assert top > (pairs[name] + pairs[f"{name}_error"]).max()


@pytest.mark.parametrize("wrong", [3, pd.DataFrame({"a": [1.0]}), {"pearson": [0.1]}])
def test_not_a_comparison(wrong):
    with pytest.raises(ValueError, match=r"comparison must be a result of kdi\.compare_correlations"):
        kdi.CorrelationDisplay(wrong)


@pytest.mark.parametrize("n_labels", [-1, 2.5, None])
def test_number_of_labels(n_labels, rng):
    with pytest.raises(ValueError, match="n_labels must be an integer"):
        kdi.CorrelationDisplay.from_data(rng.normal(size=(50, 3)), n_labels=n_labels)


@pytest.mark.numpy_core
@pytest.mark.parametrize("n", [MAX_SORTED_ROWS + 1, MAX_SCANNED_ROWS + 1])
def test_levels_of_columns_that_take_different_ways(n, rng):
    """Cells, values, ranks, nothing at all: beside each other as alone, and as the direct sum has it."""
    table = np.column_stack(
        [
            rng.normal(size=n),
            np.append(rng.normal(size=n - 1), np.inf),
            np.ones(n),
            rng.normal(size=n),
            np.append(rng.normal(size=n - 1), 1e9),
            np.append(rng.normal(size=n - 2), [1e308, -1e308]),
            np.where(np.arange(n) % 7, rng.normal(size=n), np.nan),
        ]
    )
    alphas, kernel = np.array([1.0, 1.0, 1.0, 0.0, 0.01, 1.0, 1.0]), get_kernel("polyexp")
    together, errors = column_levels(table, None, alphas, kernel)
    assert np.isnan(together[:, 1]).all()
    for j, values in enumerate(table.T):
        alone, error = column_levels(table[:, [j]], None, alphas[[j]], kernel)
        assert_array_equal(together[:, j], alone[:, 0])
        assert errors[j] == error[0]
        if j not in (1, 2, 5):
            rows = np.flatnonzero(~np.isnan(values))[:20]
            expected = oracle.transform(values, values[rows], alphas[j], "polyexp")
            assert_allclose(together[rows, j], expected, rtol=0, atol=errors[j] + 1e-12)
    assert_allclose(together[-2:, 5], [1, 0], rtol=0, atol=1e-12)
