"""The experiment on tuning runs, and its committed figures are what its page and docs/tuning.md say."""

import pytest
from experiment_runs import run_experiments
from paths import RESULTS, ROOT

from experiments.rows import read_rows
from experiments.tuning_tables import tables

EACH, SINGLE, BASE = "kdi, alpha per feature", "kdi, one alpha tuned", "kdi, alpha 1"
OTHERS = ["QuantileTransformer", "MinMaxScaler", "StandardScaler", "PowerTransformer", "SplineTransformer"]
THEIRS = ["kditransform, alpha 1", "SquashingScaler"]  # of libraries that may be missing

# The first test that needs the quick run waits for it: some minutes on a busy machine.
pytestmark = pytest.mark.timeout(1500)


def values(rows, **fields):
    found = [row for row in rows if all(row[name] == value for name, value in fields.items())]
    return {(row["data"], row["model"]): float(row["value"]) for row in found}


@pytest.fixture
def quick(quick_run):
    out, printed = quick_run
    return out, read_rows(out / "tuning.csv"), printed.partition("\nTuning\n")[2]


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
        printed = run_experiments("tuning", "--quick", "--out", out)
        assert f"{tasks} of {tasks} kept from an earlier run" in printed
        assert "s of tasks kept from earlier runs" in printed
        scores = [row for row in rows if row["part"] != "time"]
        assert [row for row in read_rows(out / "tuning.csv") if row["part"] != "time"] == scores


class TestCommitted:
    """What the full run found, as its rows say it."""

    @pytest.fixture
    def rows(self):
        return read_rows(RESULTS / "tuning.csv")

    def test_thirty_splits_of_all_sets(self, rows):
        scored = [row for row in rows if row["part"] != "time"]
        assert {row["runs"] for row in scored} == {"30"}
        methods = {EACH, SINGLE, BASE, "kdi, one alpha by inner CV", *OTHERS, *THEIRS}
        cells = {(row["data"], row["model"]) for row in scored}
        assert {(row["data"], row["model"], row["method"]) for row in scored} == {
            (*cell, method) for cell in cells for method in methods
        }
        assert len({row["data"] for row in scored if row["part"] == "benchmarks"}) >= 40

    def test_page_says_what_the_rows_say(self, rows):
        page = (RESULTS / "tuning.md").read_text(encoding="utf-8")
        for table in tables(rows):
            assert table.markdown() in page

    def test_guide_shows_the_tables_of_the_page(self):
        page = (RESULTS / "tuning.md").read_text(encoding="utf-8")
        guide = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8").partition("## What it is worth")[2]
        shown = [part.strip() for part in guide.split("\n### ")[1:]]
        assert len(shown) == 4
        assert all(f"### {part}" in page for part in shown)

    def test_nothing_is_lost_on_small_sets(self, rows):
        """Not worse than alpha 1 by more than a standard error of its accuracy, and better on two of four."""
        for model in ("PCA + naive Bayes", "logistic regression"):
            found = [row for row in rows if row["part"] == "classification" and row["model"] == model]
            errors = {row["data"]: float(row["deviation"]) / 30**0.5 for row in found if row["method"] == BASE}
            apart = {row["data"]: float(row["difference"]) for row in found if row["method"] == EACH}
            assert len(apart) == 4
            assert all(apart[data] >= -errors[data] for data in apart)
            assert sum(difference > 0 for difference in apart.values()) >= 2

    def test_tuning_takes_less_time_than_a_grid_search(self, rows):
        ratios = {row["method"]: float(row["ratio"]) for row in rows if row["part"] == "time"}
        assert min(ratio for method, ratio in ratios.items() if method.startswith("GridSearchCV")) > 1

    def test_alpha_per_feature_is_worth_it(self, rows):
        """The claims of the guide, which hold in the committed run."""
        errors = values(rows, part="regression", method=EACH)
        assert errors["california", "linear regression"] <= 0.655
        assert errors["abalone", "linear regression"] <= 2.170
        for model in ("logistic regression", "logistic regression, C by CV"):
            own, single, base = (
                list(values(rows, part="benchmarks", model=model, method=method).values())
                for method in (EACH, SINGLE, BASE)
            )
            assert len(own) == 44
            assert sum(own) > max(sum(single), sum(base))
