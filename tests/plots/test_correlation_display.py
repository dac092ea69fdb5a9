"""kdi.CorrelationDisplay: the figure of the paper, and what is in it."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.container import ErrorbarContainer
from scipy.stats import ConstantInputWarning

import kdi

pytestmark = pytest.mark.slow

NAMES = ["rooms", "bedrooms", "income", "age"]
KINDS = {
    "pandas": lambda table: pd.DataFrame(table, columns=NAMES),
    "polars": lambda table: pl.DataFrame(table, schema=NAMES),
    "numpy": np.asarray,
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
EITHER = pytest.mark.parametrize("against", ["pearson", "spearman"])


@pytest.fixture
def frame(table):
    table[:, 1] += table[:, 0] ** 2
    return pd.DataFrame(table, columns=NAMES)


def points(ax):
    """Every point that is marked or is the end of a line, as rounded pairs."""
    found = [collection.get_offsets() for collection in ax.collections if isinstance(collection, PathCollection)]
    found += [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in ax.lines]
    return {(x, y) for xy in found for x, y in np.round(np.asarray(xy, dtype=float), 9).tolist()}


def segments(ax):
    """The two ends of every straight line between two points."""
    found = [s for one in ax.collections if isinstance(one, LineCollection) for s in one.get_segments()]
    found += [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in ax.lines]
    return {frozenset(map(tuple, np.round(s, 9).tolist())) for s in found if len(s) == 2}


def labels(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


class TestFigure:
    def test_both_points_of_every_pair_and_a_line_between(self, frame):
        display = kdi.CorrelationDisplay.from_data(frame)
        marked, joined = points(display.ax_), segments(display.ax_)
        for row in display.comparison.round(9).itertuples():
            ends = {(row.pearson, row.spearman), (row.pearson, row.kdi)}
            assert ends <= marked
            assert frozenset(ends) in joined

    def test_the_diagonal(self, frame):
        """A line of slope 1 through the origin: where agreement with Pearson lies."""
        ax = kdi.CorrelationDisplay.from_data(frame).ax_
        ends = [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in ax.lines]
        slanted = [xy for xy in ends if len(xy) == 2 and np.ptp(xy[:, 0]) > 0 and np.array_equal(xy[:, 0], xy[:, 1])]
        assert len(slanted) == 1

    def test_axes_say_what_they_are(self, frame):
        ax = kdi.CorrelationDisplay.from_data(frame).ax_
        assert "Pearson" in ax.get_xlabel()
        legend = " ".join(text.get_text() for text in ax.get_legend().get_texts()) if ax.get_legend() else ""
        for word in ("Spearman", "KD-integral"):
            assert word in ax.get_ylabel() + legend

    @pytest.mark.parametrize("n_resamples", [0, 20])
    def test_error_bars_when_there_are_errors(self, frame, n_resamples):
        display = kdi.CorrelationDisplay.from_data(frame, n_resamples=n_resamples, rng=0)
        bars = [one for one in display.ax_.containers if isinstance(one, ErrorbarContainer)]
        assert bool(bars) == (n_resamples > 0)
        assert len(display.comparison) == 6
        if not bars:
            return
        ends = {
            frozenset(np.round(s[:, 1], 9).tolist())
            for bar in bars
            for one in bar.lines[2]
            for s in one.get_segments()
            if s[0, 0] == s[1, 0]
        }
        for row in display.comparison.itertuples():
            for value, error in [(row.spearman, row.spearman_error), (row.kdi, row.kdi_error)]:
                assert frozenset(np.round([value - error, value + error], 9).tolist()) in ends
        sideways = [s for bar in bars for one in bar.lines[2] for s in one.get_segments() if s[0, 1] == s[1, 1]]
        widths = np.sort([np.ptp(s[:, 0]) for s in sideways])
        assert {*np.round(display.comparison["pearson_error"] * 2, 9)} <= {*np.round(widths, 9)}

    def test_everything_is_in_sight(self, frame):
        display = kdi.CorrelationDisplay.from_data(frame, n_resamples=20, rng=0)
        (left, right), (bottom, top) = sorted(display.ax_.get_xlim()), sorted(display.ax_.get_ylim())
        for row in display.comparison.itertuples():
            assert left < row.pearson < right
            for value in (row.spearman, row.kdi):
                assert bottom < value < top


class TestLabels:
    @EVERY_KIND
    @EITHER
    @pytest.mark.parametrize("n_labels", [0, 1, 2, 6, 100])
    def test_of_the_top_disagreements(self, frame, kind, against, n_labels):
        table = KINDS[kind](frame.to_numpy())
        display = kdi.CorrelationDisplay.from_data(table, against=against, n_labels=n_labels)
        expected = kdi.compare_correlations(table, against=against)
        shown = labels(display.ax_)
        assert len(shown) == min(n_labels, 6)
        for text, first, second in zip(shown, expected["first"], expected["second"], strict=False):
            assert str(first) in text
            assert str(second) in text

    @EITHER
    @pytest.mark.parametrize("n_labels", [2, 6])
    @pytest.mark.parametrize("size", [(6.4, 4.8), (3.5, 3.5)], ids=str)
    def test_stay_within_the_figure(self, frame, against, n_labels, size):
        figure, ax = plt.subplots(figsize=size)
        kdi.CorrelationDisplay(kdi.compare_correlations(frame), against=against).plot(ax, n_labels=n_labels)
        figure.canvas.draw()
        outer = figure.bbox
        for text in ax.texts:
            box = text.get_window_extent()
            assert outer.x0 <= box.x0 < box.x1 <= outer.x1, text
            assert outer.y0 <= box.y0 < box.y1 <= outer.y1, text

    def test_do_not_cover_each_other(self, frame):
        display = kdi.CorrelationDisplay.from_data(frame, n_labels=2)
        display.figure_.canvas.draw()
        one, other = (text.get_window_extent() for text in display.ax_.texts)
        assert not one.overlaps(other)

    def test_long_names_at_the_edge(self, rng):
        """Correlations near 1 and -1, whose labels have little room."""
        x = rng.lognormal(sigma=2, size=100)
        frame = pd.DataFrame({"a_rather_long_name": x, "another_long_name": x**3, "a_third_long_name": -np.log(x)})
        display = kdi.CorrelationDisplay.from_data(frame, n_labels=3)
        display.figure_.canvas.draw()
        outer = display.figure_.bbox
        assert len(labels(display.ax_)) == 3
        for text in display.ax_.texts:
            box = text.get_window_extent()
            assert outer.x0 <= box.x0 < box.x1 <= outer.x1, text
            assert outer.y0 <= box.y0 < box.y1 <= outer.y1, text

    def test_names_that_differ_at_their_ends(self, frame):
        names = [f"the_average_number_of_{'very_' * 5}{last}" for last in ("rooms", "bedrooms", "people", "cars")]
        display = kdi.CorrelationDisplay.from_data(frame.set_axis(names, axis=1), n_labels=6)
        shown = labels(display.ax_)
        assert len({*shown}) == 6
        for text in shown:
            for name in text.split(",\n"):
                assert len(name) == 28 and name.startswith("the_average_nu…") and name.endswith(("s", "people"))


class TestInterface:
    @EVERY_KIND
    def test_comparison_then_plot(self, frame, kind):
        comparison = kdi.compare_correlations(KINDS[kind](frame.to_numpy()), n_resamples=5, rng=0)
        display = kdi.CorrelationDisplay(comparison)
        assert display.comparison is comparison
        assert not hasattr(display, "ax_")
        assert display.plot() is display
        assert display.ax_.figure is display.figure_
        assert len(labels(display.ax_)) == 2

    def test_axes_of_the_user(self, frame):
        figure, (left, right) = plt.subplots(1, 2)
        display = kdi.CorrelationDisplay.from_data(frame, ax=right)
        assert display.ax_ is right
        assert display.figure_ is figure
        assert not left.has_data()
        display.plot(left, n_labels=1)
        assert display.ax_ is left
        assert len(labels(left)) == 1
        assert plt.get_fignums() == [figure.number]

    def test_a_new_figure_each_time(self, frame):
        display = kdi.CorrelationDisplay.from_data(frame)
        first = display.ax_
        assert display.plot().ax_ is not first

    def test_options_reach_the_comparison(self, frame, rng):
        options = {
            "alpha": 0.1,
            "kernel": "gaussian",
            "weights": rng.integers(1, 3, size=len(frame)),
            "against": "spearman",
            "n_resamples": 5,
            "n_jobs": 1,
        }
        display = kdi.CorrelationDisplay.from_data(frame, rng=3, **options)
        pd.testing.assert_frame_equal(display.comparison, kdi.compare_correlations(frame, rng=3, **options))

    def test_numeric_only(self, frame):
        frame["town"] = "Bern"
        with pytest.raises(ValueError, match="'town'"):
            kdi.CorrelationDisplay.from_data(frame)
        assert len(kdi.CorrelationDisplay.from_data(frame, numeric_only=True).comparison) == 6

    def test_undefined_pairs_are_left_out(self, frame):
        comparison = kdi.compare_correlations(frame)
        comparison.loc[[4, 5], comparison.columns[2:]] = np.nan
        display = kdi.CorrelationDisplay(comparison).plot(n_labels=6)
        display.figure_.canvas.draw()
        assert len(labels(display.ax_)) == 4
        assert np.isfinite([display.ax_.get_xlim(), display.ax_.get_ylim()]).all()

    def test_no_pair_to_draw(self, frame):
        with pytest.warns(ConstantInputWarning):
            constant = kdi.CorrelationDisplay.from_data(frame * 0)
        alone = kdi.CorrelationDisplay(kdi.compare_correlations(frame)[:0]).plot()
        for display in (constant, alone):
            display.figure_.canvas.draw()
            assert labels(display.ax_) == ["no pair has correlations"]
            assert display.labels_ == []
        assert "no pair has correlations" not in labels(kdi.CorrelationDisplay.from_data(frame).ax_)

    @pytest.mark.parametrize("against", ["kendall", None])
    def test_against_is_checked(self, frame, against):
        with pytest.raises(ValueError, match=f"against.*{against}"):
            kdi.CorrelationDisplay(kdi.compare_correlations(frame), against=against).plot()


class TestWithoutMatplotlib:
    def test_says_what_to_install(self, frame, monkeypatch):
        comparison = kdi.compare_correlations(frame)
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=r"pip install 'kdi\[plot\]'"):
            kdi.CorrelationDisplay(comparison).plot()
        with pytest.raises(ImportError, match=r"pip install 'kdi\[plot\]'"):
            kdi.CorrelationDisplay.from_data(frame)

    def test_is_not_needed_for_anything_else(self):
        code = """
import sys
sys.modules["matplotlib"] = None  # what an import of it then meets is an ImportError
import kdi, numpy as np
comparison = kdi.compare_correlations(np.random.default_rng(0).normal(size=(20, 3)))
kdi.CorrelationDisplay(comparison)
print(kdi.corr(np.eye(4)).shape, len(comparison))
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "(4, 4) 3"
