"""The correlation experiments: data, coefficients, what is said of the claims, tables and figures."""

import re

import correlation_oracle
import numpy as np
import pytest
from experiment_runs import cut_off
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from paths import RESULTS
from scipy import stats

from experiments import correlation, correlation_inference, datasets
from experiments.correlation_claims import claims
from experiments.correlation_data import (
    BEDROOMS,
    CLEAN,
    CURVE,
    HIGHLIGHTED,
    INCOME,
    NOISY,
    OUTLIERS,
    POPULATION,
    housing,
    largest,
    nearer_spearman,
    outside,
    pair_name,
    simulated,
    without_outliers,
)
from experiments.correlation_tables import tables
from experiments.drawing import style
from experiments.rows import chosen, read_rows, write_rows

pytestmark = pytest.mark.slow

FIGURES = {
    "correlation_simulated",
    "correlation_pearson",
    "correlation_spearman",
    "correlation_averooms_avebedrms",
    "correlation_medinc_averooms",
    "correlation_avebedrms_population",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Rows as they are read back."""
    path = tmp_path_factory.mktemp("correlation") / "correlation.csv"
    write_rows(path, correlation.measure("quick"))
    return read_rows(path)


@pytest.fixture(scope="module")
def figures(quick):
    with style():
        return correlation.figures(quick)


def found(rows, part, pair=("", ""), **fields):
    """The one row of a pair, or of a sample, as numbers."""
    (one,) = chosen(rows, part=part, first=pair[0], second=pair[1], **fields)
    return tuple(float(one[name]) for name in ("pearson", "spearman", "kdi"))


def by_definition(x, y):
    return stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic, correlation_oracle.correlation(x, y)


class TestData:
    def test_cases_are_drawn_one_after_the_other(self):
        rng = np.random.RandomState(1)
        uniform, *normal = rng.uniform(size=100), *(rng.normal(size=100) for _ in range(4))
        cases = simulated(1)
        np.testing.assert_array_equal(cases[CURVE][0], uniform)
        np.testing.assert_array_equal(cases[NOISY][0], normal[0])
        np.testing.assert_allclose(cases[NOISY][1], 0.4 * normal[0] + 0.84**0.5 * normal[1])
        np.testing.assert_array_equal(cases[CLEAN][0], normal[2])
        np.testing.assert_allclose(cases[OUTLIERS][1], 0.8 * normal[2] + 0.6 * normal[3])

    def test_curve_rises_steeper_than_the_logit(self):
        x, y = simulated(1)[CURVE]
        np.testing.assert_allclose(1 / (1 + np.exp(-np.sign(y) * abs(y) ** (1 / 1.4))), x)

    def test_the_five_largest_are_three_times_as_large(self):
        (before, y), (after, same) = (simulated(7)[case] for case in (CLEAN, OUTLIERS))
        changed = np.flatnonzero(before != after)
        assert set(changed) == set(np.argsort(before)[-5:])
        np.testing.assert_array_equal(after[changed], 3 * before[changed])
        np.testing.assert_array_equal(y, same)

    def test_housing_has_names_and_the_target_last(self):
        table, target = datasets.regression("california")
        columns = housing()
        assert list(columns)[-1] == "MedHouseVal"
        np.testing.assert_array_equal(columns["MedHouseVal"], target)
        np.testing.assert_array_equal(columns["AveBedrms"], table[:, 3])
        np.testing.assert_array_equal(housing(2064)["MedInc"], table[::10, 0])

    def test_outliers_are_beyond_the_percentile_of_either(self):
        x = np.arange(101.0)
        np.testing.assert_array_equal(np.flatnonzero(~without_outliers(x, x[::-1])), [0, 100])


class TestMeasured:
    def test_all_parts_with_the_same_columns(self, quick):
        counts = {}
        for one in quick:
            assert list(one) == list(quick[0])
            assert bool(one["case"]) == (one["part"] == "simulated") != bool(one["first"] and one["second"])
            counts[one["part"]] = counts.get(one["part"], 0) + 1
        assert counts == {"simulated": 80, "california": 28, "with target": 8, "outliers excluded": 3}

    @pytest.mark.parametrize("case", [CURVE, NOISY, CLEAN, OUTLIERS])
    def test_simulated_coefficients(self, quick, case):
        expected = by_definition(*simulated(1)[case])
        assert found(quick, "simulated", case=case, seed="1") == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize("pair", HIGHLIGHTED)
    def test_coefficients_of_pairs(self, quick, pair):
        x, y = (housing(2064)[name] for name in pair)
        assert found(quick, "california", pair) == pytest.approx(by_definition(x, y), abs=1e-5)
        kept = without_outliers(x, y)
        expected = by_definition(x[kept], y[kept])
        assert found(quick, "outliers excluded", pair) == pytest.approx(expected, abs=1e-5)

    def test_deviations_are_those_of_resampled_rows(self):
        (one,) = correlation.compared("california", {name: housing(2064)[name] for name in INCOME}, 100)
        rng, columns = np.random.default_rng(5), np.column_stack([housing(2064)[name] for name in INCOME])
        drawn = [stats.spearmanr(columns[rng.integers(2064, size=2064)]).statistic for _ in range(100)]
        assert float(one["spearman_deviation"]) == pytest.approx(np.std(drawn), rel=0.35)

    def test_tasks_have_keys(self, monkeypatch):
        monkeypatch.setattr(correlation, "run", lambda tasks: [task.key for task in tasks])
        keys = {*correlation.measure("quick"), *correlation.measure("usual")}
        assert len(keys) == 10 and all(keys)

    def test_the_papers_numbers_on_all_rows(self):
        columns = housing()
        (one,) = correlation.compared("california", {name: columns[name] for name in BEDROOMS}, 2)
        assert [f"{float(one[name]):.2f}" for name in ("pearson", "spearman", "kdi")] == ["0.85", "0.08", "0.31"]


class TestReading:
    def test_outside(self):
        pearson, spearman = np.array([0.1, 0.5, 0.5, 0.2]), np.array([0.5, 0.1, 0.1, 0.2])
        ours = np.array([0.3, 0.6, 0.0, 0.2])
        np.testing.assert_allclose(outside(pearson, spearman, ours), [0, 0.1, 0.1, 0])

    def test_nearer_spearman(self):
        nearer = nearer_spearman(np.zeros(2), np.ones(2), np.array([0.6, 0.4]))
        assert nearer.tolist() == [True, False]

    def test_largest_in_either_direction(self):
        rows = [made(("a", "b"), 0, 0, 0.1), made(("a", "c"), 0.9, 0, 0), made(("b", "c"), 0, 0.9, 0.5)]
        assert [pair for pair, _ in largest(rows, "pearson", 2)] == [("a", "c"), ("b", "c")]
        assert [pair for pair, _ in largest(rows, "spearman", 2)] == [("b", "c"), ("a", "b")]


def made(pair, pearson, spearman, ours, part="california", **more):
    """A row as it is read back: of two columns, or of a case if more names that."""
    values = dict(zip(("pearson", "spearman", "kdi"), (pearson, spearman, ours), strict=True))
    more |= {"first": pair[0], "second": pair[1], "bootstraps": 9}
    one = correlation.row(part, 1000, values, dict.fromkeys(values, 0.01), **more)
    return {name: str(value) for name, value in one.items()}


def made_sample(case, *three, seed):
    return made(("", ""), *three, part="simulated", case=case, seed=seed)


def made_rows(**changes):
    """Rows of which all claims hold, but for changes: samples by case, pairs by part and name."""
    samples = {CURVE: (0.8, 1, 0.95), NOISY: (0.5, 0.4, 0.45), CLEAN: (0.8, 0.7, 0.8), OUTLIERS: (0.6, 0.7, 0.7)}
    pairs = {BEDROOMS: (0.848, 0.082, 0.313), INCOME: (0.33, 0.64, 0.63), POPULATION: (-0.07, 0.03, -0.08)}
    pairs |= {("Latitude", "Longitude"): (0.1, 0.12, 0.11)} | {("MedInc", f"other{k}"): (0, 0, 0) for k in range(4)}
    left = {BEDROOMS: (0.2, 0.05, 0.1), INCOME: (0.6, 0.6, 0.6), POPULATION: (0, 0.1, 0)}
    target = {("MedInc", "MedHouseVal"): (0.6, 0.6, 0.6)}
    groups = {"samples": samples, "pairs": pairs, "left": left, "target": target}
    samples, pairs, left, target = (group | changes.get(name, {}) for name, group in groups.items())
    rows = [made_sample(case, *three, seed=seed) for case, three in samples.items() for seed in range(3)]
    rows += changes.get("extra", [])
    for part, group in (("california", pairs), ("with target", target), ("outliers excluded", left)):
        rows += [made(pair, *three, part=part) for pair, three in group.items()]
    return rows


def refuted(rows):
    return [claim.claimed for claim in claims(rows) if not claim.holds]


REFUTED = {
    "(A) curve: Spearman exceeds": {"samples": {CURVE: (1, 0.9, 0.93)}},
    "(A) curve: KD-integral behaves": {"samples": {CURVE: (0.8, 1, 0.85)}},
    "(B) noisy line": {"samples": {NOISY: (0.5, 0.4, 0.52)}},
    "(C) line with outliers: Pearson is reduced": {"samples": {CLEAN: (0.5, 0.7, 0.7)}},
    "(C) line with outliers: KD-integral": {"samples": {OUTLIERS: (0.6, 0.7, 0.64)}},
    "top two disagreements with Pearson": {"pairs": {("Latitude", "Longitude"): (0.1, 0.6, 0.6)}},
    "top two disagreements with Spearman": {"pairs": {("Latitude", "Longitude"): (0.1, 0.6, 0.2)}},
    "the three are typically close": {"pairs": {("MedInc", f"other{k}"): (0.2, 0, 0) for k in range(4)}},
    "KD-integral is typically": {"pairs": {("MedInc", f"other{k}"): (0, 0, 0.02) for k in range(4)}},
    "(AveRooms, AveBedrms): Pearson 0.85": {"pairs": {BEDROOMS: (0.848, 0.082, 0.32)}},
    "(AveRooms, AveBedrms): correlated": {"left": {BEDROOMS: (0.019, 0.05, 0.1)}},
    "(MedInc, AveRooms)": {"pairs": {INCOME: (0.1, 0.4, 0.24)}},
    "(AveBedrms, Population)": {"pairs": {POPULATION: (0.01, 0.5, 0.02)}},
}


class TestClaims:
    def test_all_may_hold(self):
        assert refuted(made_rows()) == []
        assert len(claims(made_rows())) == len(REFUTED)

    @pytest.mark.parametrize("claim", REFUTED)
    def test_each_may_fail(self, claim):
        assert any(claimed.startswith(claim) for claimed in refuted(made_rows(**REFUTED[claim])))

    def test_always_between_is_not_what_is_claimed(self):
        (claim,) = refuted(made_rows(pairs={POPULATION: (-0.08, 0.03, -0.08)}))
        assert claim.startswith("KD-integral is typically, but not always")

    def test_the_papers_draw_alone_is_not_enough(self):
        rows = made_rows(extra=[made_sample(CURVE, 0.8, 1, 0.85, seed=3 + k) for k in range(3)])
        assert refuted(rows) == ["(A) curve: KD-integral behaves like Spearman"]
        assert "6 samples: holds in 50%" in claims(rows)[1].found

    def test_what_was_found_is_counted(self):
        said = {claim.claimed: claim.found for claim in claims(made_rows())}
        text = "KD-integral is typically, but not always, between Pearson and Spearman"
        assert said[text].startswith("7 of 8 pairs; of the others 0 are outside")
        assert said[text].endswith("none by more than 0.010")
        assert said["the three are typically close, with few exceptions"].startswith("all three within 0.1 for 5 of 8")

    def test_pairs_with_the_target_do_not_count_but_are_told_of(self):
        rows = made_rows(target={("MedInc", "MedHouseVal"): (-0.5, 0.5, 0.5)})
        assert refuted(rows) == []
        assert "change the top two disagreements with Pearson." in tables(rows)[2].note
        assert "leave all top two as they are" in tables(made_rows())[2].note

    def test_tables_have_every_row(self, quick):
        assert [len(table.rows) for table in tables(quick)] == [4, 28, 8, 3]
        assert all(table.plain() and table.markdown() for table in tables(quick))


class TestFigures:
    def test_all_are_drawn(self, figures):
        assert set(figures) == FIGURES

    @pytest.mark.parametrize("name", sorted(FIGURES))
    def test_nothing_is_cut_off(self, figures, name):
        with style():
            assert cut_off(figures[name]) == []

    def test_simulated(self, figures, quick):
        axes = figures["correlation_simulated"].axes
        assert len(axes) == 6
        for ax, case in zip(axes[:3], (CURVE, NOISY, OUTLIERS), strict=True):
            np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack(simulated(1)[case]))
            numbers = [f"{value:.2f}" for value in found(quick, "simulated", case=case, seed="1")]
            assert re.findall(r"\d\.\d\d", ax.get_title(loc="left")) == numbers
            boxes = {to_hex(box.get_facecolor()) for box in axes[3].patches}
            assert len(boxes) == 3 and to_hex(ax.collections[0].get_edgecolor()[0]) not in boxes

    @pytest.mark.parametrize("against", ["pearson", "spearman"])
    def test_disagreements(self, figures, quick, against):
        (ax,) = figures[f"correlation_{against}"].axes
        pairs = chosen(quick, part="california")
        labelled = {text.get_text() for text in ax.texts}
        assert labelled == {pair_name(*pair) for pair, _ in largest(pairs, against, 2)}
        assert [len(one.get_offsets()) for one in ax.collections if isinstance(one, PathCollection)] == [28, 28]
        joined = next(one for one in ax.collections if isinstance(one, LineCollection))
        assert len(joined.get_segments()) == 28 and to_hex(joined.get_color()[0]) == "#d8a0bf"
        bars = [one for one in ax.containers if isinstance(one, ErrorbarContainer)]
        assert len(bars) == 2 and to_hex(bars[0].lines[2][0].get_color()[0]) == "#000000"

    @pytest.mark.parametrize("pair", HIGHLIGHTED)
    def test_scatter_panels(self, figures, quick, pair):
        *panels, bar = figures["_".join(("correlation", *pair)).lower()].axes
        kept = without_outliers(*(housing(2064)[name] for name in pair)).sum()
        assert [len(ax.collections[0].get_offsets()) for ax in panels] == 3 * [2064, kept]
        assert all(ax.collections[0].get_rasterized() for ax in panels)
        assert all((ax.get_xlabel(), ax.get_ylabel()) == pair for ax in panels)
        assert "median house value" in bar.get_ylabel()
        for ax, value in zip(panels[::2], found(quick, "california", pair), strict=True):
            assert ax.get_title(loc="left").endswith(f" {value:.2f}")
            # What is drawn is what the coefficient in its title is Pearson's formula of.
            assert np.corrcoef(ax.collections[0].get_offsets().T)[0, 1] == pytest.approx(value, abs=1e-4)


def test_committed_tables_of_inference_follow_from_the_rows():
    page = (RESULTS / "correlation_inference.md").read_text(encoding="utf-8")
    tables = correlation_inference.tables(read_rows(RESULTS / "correlation_inference.csv"))
    assert len(tables) == page.count("\n### ")
    assert all(table.markdown() in page for table in tables)
