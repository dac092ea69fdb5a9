"""The experiments run, their figures are what they are said to be, and docs/correlation.md shows those."""

import re
import subprocess
import sys
from itertools import product
from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pages import ROOT, read
from scipy.stats import BootstrapMethod

import kdi
from experiments.correlation_inference import bootstrap_intervals
from experiments.rows import chosen, read_rows

RESULTS = ROOT / "experiments" / "results"
PAGE = read("docs/correlation.md")
SIZES = ["20", "100", "1000"]
BOOTSTRAPS = ["percentile", "basic", "BCa"]

# The first test that needs the quick run waits for it: some minutes on a busy machine.
pytestmark = [pytest.mark.timeout(1500), pytest.mark.slow]


def run(*arguments):
    command = [sys.executable, "-W", "error", "-m", "experiments", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=600)


@pytest.fixture
def quick(quick_run):
    """Folder, rows and output of a quick run."""
    out, printed = quick_run
    return out, read_rows(out / "correlation_inference.csv"), printed.partition("\nCorrelation inference\n")[2]


def expected_cells():
    """All rows of the experiment: what, data, n, alpha, kernel, method."""
    tested = [(alpha, "polyexp", "default") for alpha in ("0", "0.1", "1", "10", "inf")]
    tested += [("1", "gaussian", "default"), ("1", "polyexp", "permutation")]
    covered = [(alpha, "polyexp", "Fisher z") for alpha in ("0", "0.1", "1", "inf")]
    covered += [(alpha, "polyexp", kind) for alpha in ("0.1", "1") for kind in BOOTSTRAPS]
    cells = {("type-I error", *cell) for cell in product(["normal", "lognormal", "t, 2 df", "Cauchy"], SIZES, tested)}
    cells |= {("coverage", *cell) for cell in product(["normal", "lognormal", "t, 2 df"], SIZES, covered)}
    return {(what, data, n, *setting) for what, data, n, setting in cells}


class TestCorrelationInference:
    @pytest.fixture
    def rows(self, quick):
        return quick[1]

    def test_rows(self, rows):
        names = ["measured", "data", "n", "alpha", "kernel", "method"]
        found = [tuple(row[name] for name in names) for row in rows]
        assert len(found) == len(set(found))
        assert set(found) == expected_cells()

    def test_standard_errors(self, rows):
        for row in rows:
            rate, n_simulations = float(row["rate"]), int(row["simulations"])
            assert 0 <= rate <= 1
            assert float(row["standard_error"]) == pytest.approx(sqrt(rate * (1 - rate) / n_simulations), abs=2e-4)

    def test_true_nulls_are_rejected_as_often_as_said(self, rows):
        """Within Monte Carlo error of 5%, or of the 6% that Cauchy samples have at alpha = 1."""
        for row in chosen(rows, measured="type-I error"):
            if row["data"] == "Cauchy" and row["alpha"] in ("10", "inf"):
                continue  # Pearson's p-value, or nearly, where there is no variance
            rate = 0.06 if row["data"] == "Cauchy" and (row["alpha"], row["method"]) == ("1", "default") else 0.05
            error = sqrt(rate * (1 - rate) / int(row["simulations"]))
            assert float(row["rate"]) == pytest.approx(rate, abs=4 * error), row

    def test_fisher_intervals_of_normal_pairs_cover(self, rows):
        for row in chosen(rows, data="normal", method="Fisher z"):
            error = sqrt(0.95 * 0.05 / int(row["simulations"]))
            assert float(row["rate"]) == pytest.approx(0.945, abs=4 * error), row
            assert float(row["large_sample_rate"]) == pytest.approx(0.945, abs=4 * error), row

    def test_targets_and_widths(self, rows):
        for row in chosen(rows, measured="coverage"):
            assert 0.3 < float(row["target"]) < 0.6
            assert 0.3 < float(row["large_sample"]) < 0.6
        widths = [float(row["mean_width"]) for row in chosen(rows, data="normal", alpha="1", method="Fisher z")]
        assert widths == sorted(widths, reverse=True)

    def test_tables(self, quick):
        out, _, printed = quick
        report = (out / "correlation_inference.md").read_text(encoding="utf-8")
        for title in ("Type-I error at the 5% level", "Coverage of 95% intervals", "Mean width of 95% intervals"):
            assert f"### {title}" in report
            assert title in printed

    def test_progress(self, quick):
        counted = re.findall(r"^(\d+) of (\d+): .*; \d+ s elapsed, about \d+ s left$", quick[2], flags=re.MULTILINE)
        total = int(counted[0][1])
        counted = counted[:total]  # others follow
        assert counted == [(str(count), str(total)) for count in range(1, total + 1)]

    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    def test_shared_resamples_give_the_intervals_of_the_library(self, alpha, rng):
        x = rng.lognormal(size=(3, 20))
        y = x + rng.lognormal(size=(3, 20))
        shared = bootstrap_intervals(x, y, alpha, 99, np.random.default_rng(5))
        result = kdi.correlation(x, y, alpha=alpha, axis=-1)
        for kind in BOOTSTRAPS:
            method = BootstrapMethod(n_resamples=99, method=kind, rng=np.random.default_rng(5))
            assert_allclose(shared[kind], result.confidence_interval(method=method), rtol=0, atol=1e-12)


def test_unknown_experiment():
    finished = run("alchemy")
    assert finished.returncode == 2
    assert "correlation_inference" in finished.stderr


class TestPage:
    def test_measured_tables_are_those_of_the_results(self):
        report = (RESULTS / "correlation_inference.md").read_text(encoding="utf-8").splitlines()
        shown = [line for line in PAGE.splitlines() if re.match(r"\| (normal|lognormal|Cauchy|t, 2 df) \|", line)]
        assert len(shown) >= 27
        assert set(shown) <= set(report)

    def test_population_value_of_normal_pairs(self, rng):
        """The formula of the page, within 4 standard errors of 200,000 pairs."""
        x, noise = rng.normal(size=(2, 200_000))
        for rho, alpha in product([-0.9, 0.5], [0.0, 0.5, 1.0, 3.0]):
            y = rho * x + sqrt(1 - rho**2) * noise
            expected = np.arcsin(rho / (2 + alpha**2)) / np.arcsin(1 / (2 + alpha**2))
            found = kdi.correlation(x, y, alpha=alpha, kernel="gaussian").statistic
            assert found == pytest.approx(expected, abs=4 * (1 - rho**2) / sqrt(200_000))
