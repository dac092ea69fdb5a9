"""The clustering experiment runs, its figures are what they are said to be, and docs/clustering.md shows those."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from pages import ROOT, read
from sklearn.metrics import silhouette_score

from experiments import clustering, clustering_methods
from experiments.libraries import installed
from experiments.rows import read_rows

RESULTS = ROOT / "experiments" / "results"
PAGE = read("docs/clustering.md")
MIXTURES = [f"mixture {k}" for k in range(1, 6)]
UNIMODAL = ["normal", "exponential", "lognormal", "t, 2 df", "uniform", "uniform, α = ∞"]
LEVELS = ["kdi", *(f"kdi, significance {level}" for level in ("0.4", "0.3", "0.2", "0.1", "0.05", "0.01"))]
METHODS = [
    *("kdi", "kdi, significance 0.3", "kdi, significance 0.1", "kdi, significance 0.05", "kdi, significance 0.01"),
    *("kditransform", "KMeans, silhouette", "GMM, BIC", "Bayesian GMM", "MeanShift", "HDBSCAN"),
    *("KDE minima", "adaptive KDE minima"),
]


def expected_cells(sizes, there=True):
    """All rows of the experiment: what, data, n, method; kditransform is left out where it is not there."""
    cells = set(product(["all methods"], MIXTURES, sizes, [one for one in METHODS if there or one != "kditransform"]))
    cells |= set(product(["agreement"], MIXTURES, sizes, ["kdi and kditransform"] if there else []))
    return cells | set(product(["significance"], [*MIXTURES, *UNIMODAL], sizes, LEVELS))


def cells(rows):
    return [(row["measured"], row["data"], row["n"], row["method"]) for row in rows]


@pytest.fixture
def quick(quick_run):
    """Folder, rows and output of a quick run."""
    out, printed = quick_run
    return out, read_rows(out / "clustering.csv"), printed


@pytest.fixture
def experiment():
    return clustering_methods


class TestExperiment:
    def test_rows(self, quick):
        found = cells(quick[1])
        assert len(found) == len(set(found))
        assert set(found) == expected_cells(["100", "200"], installed("kditransform"))

    def test_shares(self, quick):
        for row in quick[1]:
            assert 0 <= float(row["right"]) <= 1
            if row["measured"] == "all methods":
                assert -0.5 <= float(row["ari"]) <= 1
                assert float(row["mean_clusters"]) >= 1

    def test_significance_only_closes_valleys(self, quick):
        found = {cell: float(row["mean_clusters"] or 0) for cell, row in zip(cells(quick[1]), quick[1], strict=True)}
        for data, n in product([*MIXTURES, *UNIMODAL], ["100", "200"]):
            numbers = [found["significance", data, n, method] for method in LEVELS]
            assert numbers == sorted(numbers, reverse=True)

    def test_tables(self, quick):
        out, _, printed = quick
        report = (out / "clustering.md").read_text(encoding="utf-8")
        assert "--quick`" in report
        for title in ("Share of runs with the right number of clusters", "The choice of significance"):
            assert f"### {title}" in report
            assert title in printed


class TestParts:
    @pytest.mark.parametrize("data", MIXTURES)
    @pytest.mark.parametrize("n", [100, 200, 500])
    def test_labels_belong_to_the_values(self, experiment, data, n):
        values, labels = experiment.mixture(data, n, 3)
        assert len(values) == len(labels) == n
        shares = [share for share, _ in experiment.MIXTURES[data]]
        assert np.bincount(labels).tolist() == pytest.approx([share * n for share in shares])
        assert values[labels == 0].mean() < values[labels == 1].mean()

    @pytest.mark.parametrize("k", [2, 3, 7])
    def test_silhouette_is_that_of_scikit_learn(self, experiment, rng, k):
        values = rng.lognormal(size=60)
        labels = np.searchsorted(np.sort(values)[np.linspace(0, 59, k + 1)[1:-1].astype(int)], values)
        expected = silhouette_score(values[:, None], labels)
        assert experiment.silhouette(values, labels) == pytest.approx(expected, abs=1e-12)

    def test_density_without_sensitivity_is_scipys(self, experiment, rng):
        from scipy.stats import gaussian_kde

        values, places = rng.normal(size=50), np.linspace(-2, 2, 7)
        kde = gaussian_kde(values)
        found = experiment.density(values, np.full(50, kde.factor * values.std(ddof=1)), places)
        np.testing.assert_allclose(found, kde(places), rtol=1e-12)

    def test_hdbscan_merges_below_epsilon(self, experiment):
        groups = [np.linspace(start, start + 0.4, 10) for start in (0, 0.8, 5, 10, 10.8)]
        values = np.concatenate(groups)
        labels = {epsilon: experiment.hdbscan(values, 5, epsilon) for epsilon in (0.0, 0.6)}
        assert len(np.unique(labels[0.0])) == 5
        assert [len(np.unique(part)) for part in np.split(labels[0.6], [20, 30])] == [1, 1, 1]
        assert len(np.unique(labels[0.6])) == 3


class TestPage:
    def test_measured_tables_are_those_of_the_results(self):
        report = (RESULTS / "clustering.md").read_text(encoding="utf-8").splitlines()
        shown = [line for line in PAGE.splitlines() if re.match(r"\|.*\d\.\d", line)]
        assert len(shown) >= 60
        assert set(shown) <= set(report)

    def test_results_are_of_a_full_run(self):
        found = cells(read_rows(RESULTS / "clustering.csv"))
        assert set(found) == expected_cells(["100", "200", "500", "1000", "2000", "5000"])

    def test_tables_follow_from_the_rows(self):
        """But for what is said below them."""
        report = (RESULTS / "clustering.md").read_text(encoding="utf-8")
        tables = clustering.tables(read_rows(RESULTS / "clustering.csv"))
        assert len(tables) == 25
        for table in tables:
            assert replace(table, note="").markdown() in report

    def test_kdi_reaches_kditransform(self):
        rows = read_rows(RESULTS / "clustering.csv")
        found = dict(zip(cells(rows), rows, strict=True))
        for data, n in product(MIXTURES, ["100", "200", "500", "1000", "2000", "5000"]):
            ours, theirs = (found["all methods", data, n, method] for method in ("kdi", "kditransform"))
            assert float(ours["right"]) >= float(theirs["right"])
            assert float(ours["ari"]) >= float(theirs["ari"]) - 2e-3  # a boundary half a step of the grid away
