"""The contents of a page beside its features: correlations, density scatters, columns that are left out."""

import json
from base64 import b64decode

import numpy as np
import oracle
import pandas as pd
import pyarrow as pa
import pytest
from explorer_decoding import contents_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from shuffled_partitions import ShuffledPartitions

import kdi
from kdi._sketch.partitions import ArrayPartitions, sketch_for_alphas
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi.explorer import _correlations as correlations_module
from kdi.explorer._columns import SampledPartitions
from kdi.explorer._contents import DIGITS, MAX_CORRELATED, counts_to_shades, to_json
from kdi.explorer._correlations import MATRIX_ALPHAS, matrices_at_alphas
from kdi.explorer._features import KERNEL, SKETCH_ALPHA
from kdi.explorer._scatter import BINS, MAX_PAIRS, MAX_ROWS, disagreements, scatter_counts, scatter_edges, scatter_pairs

ROUNDED = 0.51 * 10.0**-DIGITS


def related(rng, n, n_columns=4):
    """Columns of different shapes that go together."""
    table = rng.normal(size=(n, n_columns)) + rng.normal(size=(n, 1))
    table[:, 0] = np.exp(table[:, 0])
    table[:, 1] = np.round(table[:, 1], 1)
    return table


def holed(rng, table, share=0.1):
    return np.where(rng.random(table.shape) < share, np.nan, table)


def square(found, place):
    """A matrix as the page holds it, whole."""
    n = len(found["features"])
    matrix = np.eye(n)
    upper = np.triu_indices(n, 1)
    matrix[upper] = matrix.T[upper] = np.array(found["matrices"][place], dtype=float)
    return matrix


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_matrices_are_those_of_corr(rng, weighted, missing):
    table = related(rng, 3000)
    table = holed(rng, table) if missing else table
    weights = rng.integers(0, 4, size=3000).astype(float) if weighted else None
    found = contents_of(kdi.explore(table, weights=weights))["correlations"]
    assert found["features"] == [0, 1, 2, 3] and found["alphas"] == [0.0, 0.3, 1.0, 3.0, None]
    for place, alpha in enumerate(MATRIX_ALPHAS):
        expected = kdi.corr(table, alpha=alpha, weights=weights)
        assert_allclose(square(found, place), expected, atol=ROUNDED, rtol=0)


def test_the_first_is_spearmans_and_the_last_pearsons(rng):
    table = related(rng, 5000)
    found = contents_of(kdi.explore(table))["correlations"]
    assert found["rows"] == 5000
    assert_allclose(square(found, 0), stats.spearmanr(table).statistic, atol=ROUNDED, rtol=0)
    assert_allclose(square(found, -1), np.corrcoef(table.T), atol=ROUNDED, rtol=0)
    pairs = kdi.compare_correlations(table)
    for pair in pairs:
        for place, name in ((0, "spearman"), (2, "kdi"), (4, "pearson")):
            assert abs(square(found, place)[pair["first"], pair["second"]] - pair[name]) <= ROUNDED


def test_ranks_of_many_values_go_by_cells(rng):
    table = related(rng, 300_000, 3)
    found = contents_of(kdi.explore(table))["correlations"]
    assert_allclose(square(found, 0), kdi.corr(table, alpha=0), atol=1e-6, rtol=0)
    assert_allclose(square(found, 2), kdi.corr(table), atol=ROUNDED, rtol=0)


def sketches_of(table):
    return sketch_for_alphas(table, KERNEL, lambda totals: np.full_like(totals, SKETCH_ALPHA)).sketches


def test_partitions_add_up(rng):
    table, weights = related(rng, 4000), rng.exponential(size=4000)
    pieces = ShuffledPartitions(table, [100, 1500, 1500, 3999], weights)
    rows, found = matrices_at_alphas(pieces, sketches_of(pieces), 4000)
    assert rows == 4000
    for alpha, matrix in zip(MATRIX_ALPHAS, found, strict=True):
        assert_allclose(matrix, kdi.corr(table, alpha=alpha, weights=weights), atol=1e-9, rtol=0)


def test_rows_are_sampled_where_values_are_missing_and_rows_are_many(rng, monkeypatch):
    monkeypatch.setattr(correlations_module, "MAX_PAIR_VALUES", 12_000)
    monkeypatch.setattr(correlations_module, "MIN_SAMPLE", 500)
    table = related(rng, 5000)
    table[::7, 2] = np.nan
    rows, found = matrices_at_alphas(ArrayPartitions(table, None), sketches_of(ArrayPartitions(table, None)), 5000)
    # Six of the twelve columns beside others have rows of their own, so that there is work for 2000 rows.
    sample = SampledPartitions(ArrayPartitions(table, None), 3).load()[0]
    assert rows == len(sample) == 1666  # the last two rows leave out the one that would be theirs
    for alpha, matrix in zip(MATRIX_ALPHAS, found, strict=True):
        assert_allclose(matrix, kdi.corr(sample, alpha=alpha), atol=1e-12, rtol=0)


@pytest.mark.parametrize("sigma", [4, 8])
def test_ranks_of_skewed_columns(rng, sigma):
    z = rng.normal(size=200_000)
    table = np.column_stack([np.exp(sigma * z), z + rng.normal(size=len(z))])
    found = contents_of(kdi.explore(table))
    assert_allclose(found["correlations"]["matrices"][0], kdi.corr(table, alpha=0)[0, 1], atol=ROUNDED, rtol=0)
    assert found["correlations"]["rank_error"] < 1e-3
    assert found["features"][0]["rank_error"] < 1e-3


def test_weights_count_in_scatters(rng):
    table = rng.normal(size=(50, 2))
    weights = rng.integers(0, 4, 50)
    repeated = contents_of(kdi.explore(np.repeat(table, weights, axis=0)))["correlations"]["scatter"]
    weighted = contents_of(kdi.explore(table, weights=weights))["correlations"]["scatter"]
    assert weighted["shades"] == repeated["shades"] and weighted["largest_counts"] == repeated["largest_counts"]


def test_constant_and_empty_columns_have_no_correlations(rng):
    table = related(rng, 200, 5)
    table[:, 1], table[:, 3] = 7.0, np.nan
    contents = contents_of(kdi.explore(table))
    assert [feature["name"] for feature in contents["features"]] == ["x0", "x1", "x2", "x3", "x4"]
    assert contents["correlations"]["features"] == [0, 2, 4]
    assert_allclose(square(contents["correlations"], 2), kdi.corr(table[:, [0, 2, 4]]), atol=ROUNDED, rtol=0)


def test_pairs_without_common_rows_have_none(rng):
    table = related(rng, 200, 3)
    table[:100, 0], table[100:, 1] = np.nan, np.nan
    found = contents_of(kdi.explore(table))["correlations"]
    assert all(matrix[0] is None for matrix in found["matrices"])
    assert all(None not in matrix[1:] for matrix in found["matrices"])


@pytest.mark.parametrize("columns", [1, 2])
def test_fewer_than_two_columns_have_no_correlations(rng, columns):
    table = np.zeros((50, columns))
    table[:, 0] = rng.normal(size=50)
    contents = contents_of(kdi.explore(table))
    assert contents["correlations"] is None
    assert contents["no_correlations"].startswith("Correlations need at least two columns")


def test_of_very_many_columns_the_first_are_correlated(rng):
    contents = contents_of(kdi.explore(rng.normal(size=(30, MAX_CORRELATED + 5))))
    assert len(contents["features"]) == MAX_CORRELATED + 5
    assert contents["correlations"]["features"] == list(range(MAX_CORRELATED))
    assert len(contents["correlations"]["scatter"]["pairs"]) == MAX_PAIRS
    assert contents["no_correlations"] == "Correlations cover the first 200 of 205 columns."


def test_bins_are_even_in_t(rng):
    table = related(rng, 2000)
    for column, edges in zip(table.T, scatter_edges(sketches_of(ArrayPartitions(table, None))), strict=True):
        assert edges[0] == column.min() and edges[-1] == column.max()
        assert_allclose(oracle.transform(column, edges, 1.0, "polyexp"), np.linspace(0, 1, BINS + 1), atol=2e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_counts_are_those_of_histogram2d(rng, missing):
    table = related(rng, 3000, 3)
    table = holed(rng, table) if missing else table
    partitions = ArrayPartitions(table, None)
    edges, pairs = scatter_edges(sketches_of(partitions)), [(0, 1), (0, 2), (1, 2)]
    rows, counts = scatter_counts(partitions, 3000, edges, pairs)
    assert rows == 3000
    for count, (i, j) in zip(counts, pairs, strict=True):
        both = ~np.isnan(table[:, [i, j]]).any(axis=1)
        expected, _, _ = np.histogram2d(table[both, j], table[both, i], bins=[edges[j], edges[i]])
        assert_array_equal(count.reshape(BINS, BINS), expected)


def test_rows_without_weight_are_not_counted(rng):
    table, weights = related(rng, 1000, 2), rng.integers(0, 2, size=1000).astype(float)
    partitions = ArrayPartitions(table, weights)
    rows, counts = scatter_counts(partitions, 1000, scatter_edges(sketches_of(partitions)), [(0, 1)])
    assert rows == counts.sum() == weights.sum()


def test_the_sample_has_one_of_so_many_rows(rng):
    table = np.column_stack([np.arange(1000.0), rng.normal(size=1000)])
    for step in (1, 3, 7, 250, 999, 2000):
        values, weights = SampledPartitions(ShuffledPartitions(table, []), step).load()
        assert weights is None
        assert_array_equal(values[:, 0] // step, np.arange(len(values)))
        assert 1000 // step <= len(values) <= -(-1000 // step)
        assert_array_equal(table[values[:, 0].astype(int)], values)
        batches = pa.table({"row": table[:, 0], "y": table[:, 1]}).to_batches(max_chunksize=97)
        partitions = ArrowPartitions(pa.Table.from_batches(batches))
        assert_array_equal(SampledPartitions(partitions, step).load()[0], values)  # however the table is divided
    edges = [np.linspace(0, 1000, BINS + 1), np.linspace(-9, 9, BINS + 1)]
    rows, counts = scatter_counts(ArrayPartitions(table, None), 4 * MAX_ROWS, edges, [(0, 1)])
    assert rows == counts.sum() == 250


@pytest.mark.parametrize("step", [2, 7, 12, 24])
def test_the_sample_of_periodic_rows_has_all_phases(step):
    table = np.arange(10_000.0)[:, None] % step
    values, _ = SampledPartitions(ArrayPartitions(table, None), step).load()
    shares = np.bincount(values[:, 0].astype(int), minlength=step) / len(values)
    assert_allclose(shares, 1 / step, atol=5 * np.sqrt(1 / step / len(values)))


def test_shades_tell_counts_apart_by_their_logarithms():
    counts = np.array([[0, 1, 2, 10, 100, 1000], [0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1]])
    shades = counts_to_shades(counts)
    assert np.all((shades > 0) == (counts > 0))
    assert np.all(np.diff(shades[0].astype(int)) > 0) and shades[0, -1] == 255
    assert_allclose(shades[0], 255 * np.log1p(counts[0]) / np.log1p(1000), atol=16)
    assert_array_equal(shades[2], [255, 255, 255, 0, 255, 255])


def test_the_page_holds_a_shade_a_bin(rng):
    found = contents_of(kdi.explore(related(rng, 500, 3)))["correlations"]["scatter"]
    shades = np.frombuffer(b64decode(found["shades"]), dtype=np.uint8)
    assert found["pairs"] == [[0, 1], [0, 2], [1, 2]] and found["rows"] == 500
    assert shades.shape == (3 * BINS * BINS,)
    assert np.all(shades.reshape(3, -1).max(axis=1) == 255) and all(
        1 <= count <= 500 for count in found["largest_counts"]
    )


def test_the_pairs_to_draw_are_those_that_disagree_most(rng):
    matrices = [np.corrcoef(rng.normal(size=(60, 200))) for _ in MATRIX_ALPHAS]
    matrices[0][3, 5] = matrices[0][5, 3] = np.nan
    pairs = scatter_pairs(matrices)
    apart = disagreements(matrices)
    assert len(pairs) == MAX_PAIRS and (3, 5) not in pairs and all(i < j for i, j in pairs)
    others = [(i, j) for i in range(60) for j in range(i + 1, 60) if (i, j) not in set(pairs)]
    assert min(apart[pair] for pair in pairs) >= max(apart[pair] for pair in others)


def test_columns_that_are_left_out_are_named_with_why(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    frame["text"], frame["when"] = "word", pd.Timestamp("2020-01-01")
    frame.loc[3, "b"], frame["wide"] = np.inf, np.where(np.arange(20) % 2, 1.7e308, -1.7e308)
    page = kdi.explore(frame)
    assert page.features == ["a", "c"]
    assert page.left_out["b"] == "holds infinite values"
    assert page.left_out["wide"] == "holds values whose range is too large for a float64"
    assert set(page.left_out) == {"text", "when", "b", "wide"}
    assert page.left_out["text"].startswith("is not numeric (")
    assert contents_of(page)["left_out"] == [{"name": name, "reason": why} for name, why in page.left_out.items()]


@pytest.mark.parametrize(
    "table, message",
    [
        (np.empty((0, 2)), "there are no rows to explore"),
        (np.array([[np.inf], [1.0]]), "no column to explore: 'x0' holds infinite values"),
        (np.array([[-1.7e308], [1.7e308]]), "'x0' holds values whose range is too large for a float64"),
        (np.zeros(5), "two dimensions"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.empty((3, 0)), "there are no columns to read"),
        (np.array([["a"], ["b"]]), "there is no numeric column to explore; the columns are 'x0'"),
    ],
)
def test_tables_that_cannot_be_explored(table, message):
    with pytest.raises(ValueError, match=message):
        kdi.explore(table)


def test_weights_that_are_zero_leave_nothing():
    with pytest.raises(ValueError, match="weights must not be zero in every row"):
        kdi.explore(np.ones((3, 1)), weights=[0, 0, 0])


def test_all_nan_is_a_page_without_values():
    contents = contents_of(kdi.explore(np.full((4, 2), np.nan)))
    assert [feature["count"] for feature in contents["features"]] == [0, 0]
    assert [feature["missing"] for feature in contents["features"]] == [4, 4]


def test_contents_are_strict_json(rng):
    payload = {"a": float("nan")}
    with pytest.raises(ValueError, match="JSON"):
        to_json(payload)
    page = kdi.explore(np.column_stack([rng.normal(size=9), np.full(9, np.nan), np.full(9, 1e308)]))
    assert json.loads(to_json(contents_of(page))) == contents_of(page)
    assert to_json({"name": "ü\ud800"}).isascii()
