"""The clustering experiment: what its claims say of rows that are made up, what its figures show, and how it runs."""

import sys
from functools import partial
from itertools import product

import numpy as np
import pytest
from experiment_runs import cut_off
from matplotlib.colors import to_hex

from experiments import clustering, clustering_claims, clustering_figures, clustering_methods
from experiments.clustering_methods import MIXTURES, OURS, PAPER, THEIRS
from experiments.drawing import style
from experiments.progress import cached_rows

pytestmark = pytest.mark.slow

SIZES = (100, 200, 500, 1000, 2000, 5000)
TRUE = [3, 3, 2, 2, 2]
ADAPTIVE = "adaptive KDE minima"
CLAIMS = (
    *("only right", "GMM", "KMeans", "Bayesian", "MeanShift", "HDBSCAN", "minima", "adaptive"),
    *("only high", "GMM ahead", "Bayesian ahead", "GMM struggles", "Bayesian struggles"),
    *("nearest", "adaptive struggles"),
)
# Accuracies mixture by mixture, at small N, at 500 and 1000, and above.
STORY = {
    OURS: ([0.2, 0.3, 1, 1, 1], [0.9, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    "KMeans, silhouette": ([0, 0, 1, 1, 1],) * 3,
    "GMM, BIC": ([0.9, 0.9, 1, 0, 0], [0.9, 1, 1, 0, 0], [0.4, 0.5, 1, 0, 0]),
    "Bayesian GMM": ([0.8, 0.8, 0.8, 0.2, 0.2], [0.6, 0.6, 0.6, 0, 0], [0, 0, 0, 0, 0]),
    "MeanShift": ([0, 0, 0, 0, 0],) * 3,
    "HDBSCAN": ([0, 0, 0.5, 0, 0],) * 3,
    "KDE minima": ([0, 0, 1, 0, 1],) * 3,
    ADAPTIVE: ([0, 0, 1, 1, 1], [0.1, 0.8, 1, 1, 1], [0.8, 1, 1, 1, 1]),
}
TIMES_AS_MANY = {"Bayesian GMM": 1.2, "MeanShift": 2.4, "HDBSCAN": 3.0}


def story(sizes=SIZES):
    """Rows in which all is as the paper says, by mixture, size and method."""
    found = {}
    for (k, data), n, method in product(enumerate(MIXTURES), sizes, PAPER):
        right = STORY[method][(n > 200) + (n > 1000)][k]
        one = clustering.row("all methods", data, n, method, [])
        one |= {"runs": 20, "right": f"{right:.4f}", "mean_clusters": f"{TRUE[k] * TIMES_AS_MANY.get(method, 1):.2f}"}
        found[data, n, method] = one | {"clusters_shown": TRUE[k], "ari": f"{right / 2:.4f}"}
    return found


def rows_of(cells):
    """With rows of another kind, which claims and figures have to leave alone."""
    return as_text([*cells.values(), clustering.row("significance", "mixture 1", 9000, OURS, [9, 9])])


def as_text(rows):
    """As they are read back."""
    return [{name: str(value) for name, value in one.items()} for one in rows]


def claims_of(cells):
    return dict(zip(CLAIMS, clustering.claims(rows_of(cells)), strict=True))


def failing(cells):
    return {name for name, claim in claims_of(cells).items() if not claim.holds}


class TestClaims:
    def test_all_hold_where_all_is_as_the_paper_says(self):
        assert failing(story()) == set()

    @pytest.mark.parametrize(
        ("method", "data", "n", "changed", "expected"),
        [
            (OURS, 1, 500, {"right": "0.5000"}, {"only right"}),
            (OURS, 5, 2000, {"right": "0.8500"}, {"only high"}),
            (OURS, 5, 1000, {"right": "0.8500"}, set()),  # N > 1000 is claimed
            ("GMM, BIC", 3, 500, {"right": "0.5000"}, {"GMM"}),
            ("GMM, BIC", 4, 500, {"right": "0.5500"}, {"GMM"}),
            ("GMM, BIC", 5, 100, {"right": "0.9000"}, {"GMM struggles"}),
            ("GMM, BIC", 1, 5000, {"right": "0.9500"}, {"GMM struggles"}),
            ("KMeans, silhouette", 2, 500, {"right": "1.0000"}, {"KMeans"}),
            ("Bayesian GMM", 3, 5000, {"right": "1.0000"}, {"Bayesian struggles"}),
            ("Bayesian GMM", 5, 500, {"mean_clusters": "8.00"}, {"Bayesian"}),
            ("Bayesian GMM", 1, 500, {"mean_clusters": "0.00"}, {"Bayesian"}),
            ("MeanShift", 4, 500, {"mean_clusters": "0.00"}, {"MeanShift"}),
            ("HDBSCAN", 5, 200, {"mean_clusters": "0.00"}, set()),
            ("KDE minima", 1, 500, {"right": "0.6000"}, {"minima"}),
            ("KDE minima", 5, 500, {"right": "0.4000"}, {"minima"}),
            (ADAPTIVE, 4, 500, {"right": "0.5000"}, {"adaptive"}),
            (ADAPTIVE, 1, 500, {"right": "0.6000"}, {"adaptive", "only right"}),
            (ADAPTIVE, 2, 200, {"right": "0.9000"}, {"adaptive struggles"}),
        ],
    )
    def test_what_does_not_hold(self, method, data, n, changed, expected):
        cells = story()
        cells[f"mixture {data}", n, method] |= changed
        assert failing(cells) == expected

    def test_hdbscan_that_finds_less_than_twice_as_many(self):
        cells = story()
        for k, data in enumerate(MIXTURES):
            cells[data, 500, "HDBSCAN"]["mean_clusters"] = f"{1.9 * TRUE[k]:.2f}"
        assert failing(cells) == {"HDBSCAN"}

    def test_another_method_with_high_accuracy(self):
        cells = story()
        for data, n in product(MIXTURES, (2000, 5000)):
            cells[data, n, ADAPTIVE]["right"] = "0.9000"
        assert failing(cells) == {"only high"}

    def test_another_method_is_nearer(self):
        cells = story()
        for data, n in product(MIXTURES, SIZES[:5]):
            cells[data, n, "MeanShift"]["right"] = "1.0000"
        assert failing(cells) == {"only right", "nearest"}

    @pytest.mark.parametrize("what", ["right", "ari"])
    def test_outperformed_takes_both(self, what):
        cells = story()
        for data, n in product(("mixture 1", "mixture 2"), (100, 200)):
            cells[data, n, "GMM, BIC"][what] = cells[data, n, OURS][what]
        assert failing(cells) == {"GMM ahead"}

    def test_a_lead_within_its_error_is_none(self):
        cells = story()
        for data, n in product(("mixture 1", "mixture 2"), (100, 200)):
            cells[data, n, OURS]["right"] = "0.5000"
            cells[data, n, "Bayesian GMM"]["right"] = "0.6000"
        found = claims_of(cells)["Bayesian ahead"]
        assert not found.holds
        error = np.sqrt(4 * (0.5 * 0.5 + 0.6 * 0.4) / 20) / 4
        assert f"+0.10 ± {error:.2f};" in found.found

    def test_numbers_are_said(self):
        cells = story()
        cells["mixture 1", 500, "KDE minima"] |= {"right": "0.6000", "clusters_shown": 7}
        found = claims_of(cells)["minima"].found
        assert found.startswith("right in 0.60, 0.00, 1.00, 0.00, 1.00 of 20 samples per mixture; K̂ = 7, 3, 2, 2, 2 ")

    def test_sizes_of_a_quick_run(self):
        claims = claims_of(story((100, 200)))
        assert "At N = 200" in claims["only right"].claimed
        assert "worst accuracy at N = 200:" in claims["only high"].found


def cut(values, seed, k):
    """So many clusters of equal counts, with labels in no order."""
    ranks = np.argsort(np.argsort(values))
    return np.random.default_rng(0).permutation(k)[ranks * k // len(values)]


@pytest.fixture(scope="module")
def drawn():
    """The first figure, with one cluster by the first method, two by the second …; the last has noise too."""
    methods = {method: partial(cut, k=k) for k, method in enumerate(PAPER, start=1)}
    methods[ADAPTIVE] = lambda values, seed: cut(values, seed, 3) - 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering_figures, "METHODS", methods)
        with style():
            found = clustering_figures.figures(rows_of(story()))["clustering_500"]
    return np.reshape(found.axes, (1 + len(PAPER), len(MIXTURES)))


class TestSamplesFigure:
    def test_numbers_and_their_colours(self, drawn):
        for (line, column), axes in np.ndenumerate(drawn):
            (said,) = axes.texts
            if line == 0:
                assert said.get_text() == f"$K$ = {TRUE[column]}"
                continue
            found = line if line < len(PAPER) else 2
            right = found == TRUE[column]
            assert said.get_text() == f"$\\hat{{K}}$ = {found} {'✓' if right else '✗'}"
            assert said.get_color() == (clustering_figures.RIGHT if right else clustering_figures.WRONG)

    def test_names(self, drawn):
        assert [axes.get_ylabel().replace("\n", " ") for axes in drawn[:, 0]] == ["true", *PAPER.values()]
        assert [axes.get_title(loc="left") for axes in drawn[0]] == list(MIXTURES)
        assert "N = 500 " in drawn[0, 0].figure.get_supxlabel()

    def test_all_values_are_drawn_once(self, drawn):
        for axes in drawn.flat:
            heights = [patch.get_data() for patch in axes.patches]
            assert sum(np.sum(top - base) for top, _, base in heights) == 500

    def test_clusters_from_left_to_right(self, drawn):
        colours = [[to_hex(patch.get_facecolor()) for patch in axes.patches] for axes in drawn[:, 0]]
        palette = clustering_figures.CLUSTERS
        assert colours[7] == [*palette, palette[0]]
        assert colours[8] == [*palette[:2], clustering_figures.NOISE]
        starts = [patch.get_data().edges[0] for patch in drawn[7, 0].patches]
        assert starts == sorted(starts)

    def test_labels_are_within(self, drawn):
        with style():
            assert cut_off(drawn[0, 0].figure) == []


class TestSizesFigure:
    @pytest.fixture
    def panels(self, monkeypatch):
        monkeypatch.setattr(clustering_figures, "samples_figure", lambda n: None)
        with style():
            return np.reshape(clustering_figures.figures(rows_of(story()))["clustering_n"].axes, (3, len(MIXTURES)))

    def test_lines_are_the_rows(self, panels):
        cells = story()
        for (line, what), (column, data) in product(enumerate(("right", "ari"), start=1), enumerate(MIXTURES)):
            axes = panels[line, column]
            found = {drawn.get_label(): drawn for drawn in axes.lines}
            assert set(found) == set(PAPER.values())
            assert axes.get_xscale() == "log"
            for method, name in PAPER.items():
                assert found[name].get_xdata().tolist() == list(SIZES)
                assert found[name].get_ydata().tolist() == [float(cells[data, n, method][what]) for n in SIZES]

    def test_one_legend_outside_of_the_panels(self, panels):
        figure = panels[0, 0].figure
        with style():
            assert cut_off(figure) == []
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == list(PAPER.values())
        box = legend.get_window_extent()
        assert not any(axes.get_legend() or box.overlaps(axes.get_tightbbox()) for axes in panels.flat)
        colours = {handle.get_color() for handle in legend.legend_handles}
        assert len(colours) == len(PAPER)

    def test_methods_that_coincide_are_all_seen(self, panels):
        """Lines that are drawn first are below the others, and wider."""
        lines = panels[1, 4].lines
        assert lines[0].get_label() == PAPER[OURS] and lines[0].get_zorder() == lines[-1].get_zorder()
        widths, markers = zip(*((line.get_linewidth(), line.get_markersize()) for line in lines), strict=True)
        assert list(widths) == sorted(widths, reverse=True)
        assert markers[0] > 1.5 * max(markers[1:]) and markers[-1] < 0.7 * min(markers[:-1])


@pytest.fixture
def small(monkeypatch):
    """A quick run of a moment: other methods are not called, and kditransform cannot be imported."""
    for method in set(PAPER) - {OURS}:
        monkeypatch.setitem(clustering_methods.METHODS, method, partial(cut, k=2))
    monkeypatch.setitem(sys.modules, THEIRS, None)
    monkeypatch.setattr(clustering, "SIZES", (60,))


class TestRun:
    def test_without_kditransform(self, small, capsys):
        rows = clustering.measure("quick")
        assert "Left out: kditransform is not installed" in capsys.readouterr().out
        assert {one["measured"] for one in rows} == {"all methods", "significance"}
        assert THEIRS not in {one["method"] for one in rows}
        assert len({tuple(one) for one in rows}) == 1
        rows = as_text(rows)
        titles = [table.title for table in clustering.tables(rows)]
        assert len(titles) == 9
        assert not any(THEIRS in title for title in titles)
        assert len(clustering.claims(rows)) == len(CLAIMS)
        assert len(clustering.figures(rows)) == 2

    def test_what_was_measured_is_not_measured_again(self, small, monkeypatch, tmp_path):
        monkeypatch.setattr(clustering, "usable", lambda: [OURS, "KDE minima"])
        with cached_rows(tmp_path / "rows.jsonl"):
            rows = clustering.measure("quick")
        for method in (OURS, "KDE minima"):
            monkeypatch.setitem(clustering_methods.METHODS, method, None)  # may not be called again
        monkeypatch.setattr(clustering, "Pruning", None)
        with cached_rows(tmp_path / "rows.jsonl") as cache:
            assert clustering.measure("quick") == rows
        assert cache.seconds_saved

    def test_tasks_have_keys_and_share_the_seeds(self, monkeypatch):
        tasks = []
        monkeypatch.setattr(clustering, "run", lambda given: tasks.extend(given) or [])
        assert clustering.measure("usual") == []
        assert len({task.key for task in tasks}) == len(tasks) == 5 * 6 * 2 + 11 * 6
        seeds = [task.call.args[2] for task in tasks if task.call.func is clustering.compared]
        assert {tuple(own) for own in seeds} == {tuple(range(10)), tuple(range(10, 20))}

    def test_summary(self):
        samples = [
            {"data": "mixture 1", "n": 60, "seed": seed, "method": method, "clusters": clusters, "apart": apart}
            | {"ari": clusters / 10, "notebook_ari": clusters / 20}
            for method, numbers, apart in ((OURS, (3, 4, 3), 0.0), (THEIRS, (3, 5, 3), 2e-4))
            for seed, clusters in enumerate(numbers)
        ]
        ours, theirs, agreement = clustering.summarised(samples)
        assert (ours["right"], ours["mean_clusters"], ours["clusters_shown"]) == ("0.6667", "3.33", 4)
        assert (ours["ari"], ours["notebook_ari"], ours["runs"]) == ("0.3333", "0.1667", 3)
        assert theirs["clusters_shown"] == 5
        assert (agreement["right"], agreement["boundaries_apart"], agreement["runs"]) == ("0.6667", "2.0e-04", 3)

    def test_rows_are_of_the_sample_that_is_drawn(self):
        """The figure clusters it again: mixture, size, seed and method are those of the rows."""
        rows = clustering.compared("mixture 1", 500, range(2), ["KDE minima"])
        values, _ = clustering_methods.mixture("mixture 1", 500, clustering_methods.SHOWN_SEED)
        labels = clustering_methods.METHODS["KDE minima"](values, clustering_methods.SHOWN_SEED)
        assert [one["clusters"] for one in rows] == [3, clustering_methods.n_clusters(labels)] == [3, 2]
        assert clustering_claims.shown_size([{"n": "500"}, {"n": "1000"}]) == 500
