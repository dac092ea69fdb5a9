"""The experiment on tuning runs, and its committed figures are what its page and docs/tuning.md say."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
EACH, SINGLE, BASE = "kdi, alpha per feature", "kdi, one alpha tuned", "kdi, alpha 1"
OTHERS = ["QuantileTransformer", "MinMaxScaler", "StandardScaler", "PowerTransformer", "SplineTransformer"]
THEIRS = ["kditransform, alpha 1", "SquashingScaler"]  # of libraries that may be missing


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def values(rows, **fields):
    found = [row for row in rows if all(row[name] == value for name, value in fields.items())]
    return {(row["data"], row["model"]): float(row["value"]) for row in found}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    printed = run(out)
    return out, read(out / "tuning.csv"), printed


def run(out):
    environment = {name: value for name, value in os.environ.items() if name != "KDI_UCI_ARCHIVE"}
    command = [sys.executable, "-W", "error", "-m", "experiments", "tuning", "--quick", "--out", str(out)]
    finished = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=600
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


class TestQuickRun:
    def test_every_method_on_every_set(self, quick):
        _, rows, _ = quick
        for data, model in [
            ("abalone", "linear regression"),
            ("wine", "PCA + naive Bayes"),
            ("wine", "logistic regression"),
        ]:
            methods = {row["method"] for row in rows if (row["data"], row["model"]) == (data, model)}
            assert {EACH, SINGLE, BASE, "kdi, one alpha by inner CV", *OTHERS} <= methods
            assert methods - {*THEIRS} == methods & {EACH, SINGLE, BASE, "kdi, one alpha by inner CV", *OTHERS}

    def test_figures_are_plausible(self, quick):
        _, rows, _ = quick
        for method in [EACH, SINGLE, BASE, *OTHERS]:
            assert 1.9 < values(rows, method=method)["abalone", "linear regression"] < 2.6
            assert 0.85 < values(rows, method=method)["wine", "logistic regression"] <= 1

    def test_what_is_left_out_is_said(self, quick):
        _, _, printed = quick
        assert "Left out: the Small Data Benchmarks need a tar.xz" in printed

    def test_a_second_run_goes_on_from_the_first(self, quick):
        out, rows, _ = quick
        tasks = 3 * len({row["method"] for row in rows if row["part"] == "regression"})
        printed = run(out)
        assert f"{tasks} of {tasks} kept from an earlier run" in printed
        assert "after an earlier run that was stopped" in printed
        scores = [row for row in rows if row["part"] != "time"]
        assert [row for row in read(out / "tuning.csv") if row["part"] != "time"] == scores


class TestCommitted:
    """What the full run found, as its rows say it."""

    @pytest.fixture(scope="class")
    def rows(self):
        return read(RESULTS / "tuning.csv")

    def test_thirty_splits_of_all_sets(self, rows):
        scored = [row for row in rows if row["part"] != "time"]
        assert {row["runs"] for row in scored} == {"30"}
        methods = {EACH, SINGLE, BASE, "kdi, one alpha by inner CV", *OTHERS, *THEIRS}
        cells = {(row["data"], row["model"]) for row in scored}
        assert {(row["data"], row["model"], row["method"]) for row in scored} == {
            (*cell, method) for cell in cells for method in methods
        }
        assert len({row["data"] for row in scored if row["part"] == "benchmarks"}) >= 40

    def test_page_says_what_the_rows_say(self, rows, monkeypatch):
        monkeypatch.syspath_prepend(ROOT)
        from experiments.tuning_tables import tables

        page = (RESULTS / "tuning.md").read_text(encoding="utf-8")
        for table in tables(rows):
            assert table.markdown() in page

    def test_alpha_per_feature_is_worth_it(self, rows):
        """The claims of the guide, which hold in the committed run."""
        errors = values(rows, part="regression", method=EACH)
        assert errors["california", "linear regression"] <= 0.655
        assert errors["abalone", "linear regression"] <= 2.170
        own, single, base = (values(rows, part="benchmarks", method=method).values() for method in (EACH, SINGLE, BASE))
        assert sum(own) > max(sum(single), sum(base))
