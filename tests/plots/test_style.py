"""What all displays share: colours, ink on dark grounds, names, legends, and that they change nothing of the user's."""

import inspect
import re
import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import kdi
from kdi._plots import style

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.lognormal(sigma=1.5, size=(300, 3)), columns=["income", "age", "rooms"])
VALUES = np.concatenate([RNG.normal(0, 1, 200), RNG.normal(8, 1, 200)])
TUNED = kdi.KDITransformerCV([0.1, 1, 10]).fit(FRAME, np.log(FRAME["income"]) + FRAME["age"])
BINNED = kdi.KDIDiscretizer().fit(FRAME)
COMPARED = kdi.compare_correlations(FRAME, n_resamples=5, rng=0)
DISPLAYS = {
    "kdi": lambda ax=None: kdi.KDIDisplay.from_estimator(TUNED, feature="income", ax=ax),
    "alpha": lambda ax=None: kdi.AlphaDisplay.from_estimator(TUNED, features="income", ax=ax),
    "correlation": lambda ax=None: kdi.CorrelationDisplay(COMPARED).plot(ax),
    "cluster": lambda ax=None: kdi.ClusterDisplay.from_data(VALUES, ax=ax),
    "bins": lambda ax=None: kdi.ClusterDisplay.from_estimator(BINNED, feature="age", ax=ax),
}
EVERY_DISPLAY = pytest.mark.parametrize("kind", DISPLAYS)
STRANGE = ["$x$ and $y", "two\nlines", "name " * 60, r"\frac{"]


def legends(figure):
    return [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]


def texts(figure):
    """Every text that is seen."""
    found = [text for one in legends(figure) for text in one.get_texts()]
    for ax in figure.axes:
        if ax.axison:
            found += [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax._left_title, ax._right_title]
    return [text for text in found if text.get_visible() and text.get_text()]


def colours(figure):
    """The colours of lines and markers, by their labels."""
    found = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            colour = handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()[0]
            found[label] = to_rgb(colour)
    return found


class TestReference:
    @pytest.mark.parametrize("name", ["KDIDisplay", "AlphaDisplay", "CorrelationDisplay", "ClusterDisplay"])
    def test_says_what_is_returned(self, name):
        display = getattr(kdi, name)
        called = [one for one in ("from_estimator", "from_data", "plot") if hasattr(display, one)]
        assert len(called) >= 2
        for one in called:
            text = inspect.getdoc(getattr(display, one))
            assert re.search(rf"^Returns\n-+\n\w+ : {name}$", text, flags=re.MULTILINE), one


class TestStyle:
    @EVERY_DISPLAY
    @pytest.mark.parametrize("given", [False, True])
    def test_settings_are_left_alone(self, kind, given):
        before = matplotlib.rcParams.copy()
        DISPLAYS[kind](plt.subplots()[1] if given else None)
        assert matplotlib.rcParams == before

    @EVERY_DISPLAY
    def test_no_frame(self, kind):
        display = DISPLAYS[kind]()
        for side, shown in {"top": False, "right": False, "left": True, "bottom": True}.items():
            assert display.ax_.spines[side].get_visible() is shown
        assert all(not one.get_frame_on() for one in legends(display.figure_))

    def test_the_same_thing_has_the_same_colour(self):
        curves = colours(kdi.KDIDisplay.from_data(VALUES).figure_)
        points = colours(DISPLAYS["correlation"]().figure_)
        assert curves["KD-integral, alpha = 1"] == points["KD-integral"] == to_rgb(style.KDI)
        assert curves["quantile, alpha = 0"] == points["Spearman"] == to_rgb(style.QUANTILE)
        assert curves["min-max, alpha = ∞"] == points["agrees with Pearson"] == to_rgb(style.MIN_MAX)
        assert to_rgb(DISPLAYS["alpha"]().lines_[0].get_color()) == to_rgb(style.KDI)

    def test_colours_are_seen_on_white_and_on_black(self):
        """A contrast of 3 to 1 or nearly, as is asked of parts of a picture, to either ground."""
        for colour in (style.BLUE, style.ORANGE, style.GREY, style.RED):
            channels = np.array(to_rgb(colour))
            linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
            light = linear @ [0.2126, 0.7152, 0.0722]
            assert (light + 0.05) / 0.05 > 3 and 1.05 / (light + 0.05) > 2.9, colour

    @EVERY_DISPLAY
    @pytest.mark.parametrize(("style", "ink"), [("default", "black"), ("dark_background", "white")])
    def test_ink_is_seen(self, kind, style, ink):
        with plt.style.context(style):
            display = DISPLAYS[kind]()
            found = [text.get_color() for one in legends(display.figure_) for text in one.get_texts()]
            found += [text.get_color() for text in display.ax_.texts]
            assert {to_rgb(colour) for colour in found} == {to_rgb(ink)}
            if kind == "cluster":
                assert to_rgb(display.ax_.lines[0].get_color()) == to_rgb(ink)

    @EVERY_DISPLAY
    def test_ink_in_axes_that_show_the_figure_behind_them(self, kind):
        figure, ax = plt.subplots(facecolor="black")
        ax.set_facecolor("none")
        DISPLAYS[kind](ax)
        assert {to_rgb(t.get_color()) for one in legends(figure) for t in one.get_texts()} == {to_rgb("white")}
        for one in legends(figure):
            assert not one.get_frame_on() or to_rgb(one.get_frame().get_facecolor()) == to_rgb("black")

    def test_bars_of_clusters_are_seen_on_black(self):
        with plt.style.context("dark_background"):
            ax = DISPLAYS["cluster"]().ax_
        for container in ax.containers:
            assert max(to_rgb(container[0].get_facecolor())) > 0.5


@pytest.mark.slow
class TestLayout:
    @EVERY_DISPLAY
    @pytest.mark.parametrize("size", [(3.5, 3.0), (6.4, 4.8), (14, 10)], ids=str)
    def test_no_text_is_cut(self, kind, size):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        DISPLAYS[kind](ax)
        figure.canvas.draw()
        for text in texts(figure):
            box = text.get_window_extent()
            assert figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1, text
            assert figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1, text

    @EVERY_DISPLAY
    def test_no_text_is_cut_or_covered_in_a_large_font(self, kind):
        with plt.rc_context({"font.size": 20}):
            display = DISPLAYS[kind]()
            figure = display.figure_
            figure.canvas.draw()
        for text in [text for one in legends(figure) for text in one.get_texts()]:
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text
        for axis in (display.ax_.xaxis, display.ax_.yaxis):
            boxes = [text.get_window_extent() for text in axis.get_ticklabels()]
            assert not any(one.overlaps(other) for one, other in pairwise(boxes))

    @EVERY_DISPLAY
    @pytest.mark.parametrize("layout", [None, "constrained", "tight"])
    def test_in_subplots(self, kind, layout):
        figure, grid = plt.subplots(2, 2, figsize=(10, 8), layout=layout)
        for ax in grid.ravel():
            assert DISPLAYS[kind](ax).ax_ is ax
        figure.canvas.draw()
        assert all(ax.bbox.width > 100 and ax.bbox.height > 100 for ax in grid.ravel())

    @EVERY_DISPLAY
    def test_in_a_figure_that_pyplot_does_not_know(self, kind, tmp_path):
        figure = Figure(figsize=(5, 4), layout="constrained")
        assert DISPLAYS[kind](figure.subplots()).figure_ is figure
        for name in ("picture.png", "picture.svg", "picture.pdf"):
            figure.savefig(tmp_path / name)
        assert plt.get_fignums() == []

    @EVERY_DISPLAY
    def test_in_a_part_of_a_figure(self, kind):
        parts = plt.figure(figsize=(10, 5), layout="constrained").subfigures(1, 2)
        display = DISPLAYS[kind](parts[1].subplots())
        assert display.figure_ is parts[1]
        parts[1].canvas.draw()

    @EVERY_DISPLAY
    def test_twice_in_the_same_axes(self, kind):
        """Nothing is cut or named twice, and there is no more room for the legend than before."""
        figure, ax = plt.subplots(layout="constrained")
        DISPLAYS[kind](ax)
        before = (ax.get_xlim(), ax.get_ylim()), [t.get_text() for one in legends(figure) for t in one.get_texts()]
        DISPLAYS[kind](ax)
        figure.canvas.draw()
        after = (ax.get_xlim(), ax.get_ylim()), [t.get_text() for one in legends(figure) for t in one.get_texts()]
        assert after[1] == before[1]
        assert after[0][0] == pytest.approx(before[0][0], rel=1e-6)
        assert after[0][1] == pytest.approx(before[0][1], rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("kind", ["alpha", "cluster", "bins"])
    def test_the_legend_covers_nothing(self, kind):
        for size in [(3.5, 3.0), (7, 4)]:
            figure, ax = plt.subplots(figsize=size, layout="constrained")
            DISPLAYS[kind](ax)
            figure.canvas.draw()
            box = ax.get_legend().get_window_extent()
            assert ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
            for line in ax.lines:
                if kind != "alpha" or len(line.get_xdata()) == 3:
                    points = ax.transData.transform(np.column_stack(line.get_data()))
                    assert not box.count_contains(points)


class TestFigures:
    def test_for_a_file(self):
        figure = style.new_figure(3, 2)
        assert figure.get_size_inches().tolist() == [3, 2]
        assert plt.get_fignums() == []

    @pytest.mark.slow
    def test_pyplot_is_not_needed_for_given_axes(self):
        code = """
import sys
import kdi
from kdi._plots.style import new_figure
x = [1.0, 1.2, 1.3, 1.1, 5.0, 5.2, 5.1, 4.9]
kdi.ClusterDisplay(kdi.cluster(x), x).plot(new_figure(5, 4).subplots())
assert "matplotlib.pyplot" not in sys.modules
sys.modules["matplotlib.figure"] = None
try:
    new_figure(1, 1)
except ImportError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "pip install 'kdi[plot]'" in done.stdout


class TestAxes:
    @EVERY_DISPLAY
    @pytest.mark.parametrize("projection", ["polar", "3d"])
    def test_that_are_not_flat(self, kind, projection):
        ax = plt.subplots(subplot_kw={"projection": projection})[1]
        with pytest.raises(ValueError, match=f"ax must be .*Axes.*got {type(ax).__name__}"):
            DISPLAYS[kind](ax)
        assert not ax.has_data()


class TestSeveralOfOneKind:
    def test_alphas_that_differ(self):
        ax = plt.subplots()[1]
        for alphas, level in (([0.1, 1], 0), ([1, 10], 5)):
            scores = np.array([[0.0], [1.0]]) + level
            kdi.AlphaDisplay(alphas=alphas, scores=scores, chosen=[1]).plot(ax)
        left, right = ax.get_xlim()
        low, high = ax.get_ylim()
        assert left < 0.1 and right > 10 and low < 0 and high > 6

    def test_clusters_of_other_values(self):
        ax = plt.subplots()[1]
        kdi.ClusterDisplay.from_data(VALUES, ax=ax)
        kdi.ClusterDisplay.from_data(VALUES[:100] + 50, ax=ax)
        left, right = ax.get_xlim()
        assert left <= VALUES.min() and (VALUES[:100] + 50).max() <= right
        assert ax.get_ylim()[1] > max(bar.get_height() for one in ax.containers for bar in one)

    def test_correlations_of_another_table(self):
        ax = plt.subplots()[1]
        narrow = pd.DataFrame(RNG.normal(size=(500, 3)))
        kdi.CorrelationDisplay.from_data(pd.DataFrame({"a": VALUES, "b": -VALUES, "c": VALUES**2}), ax=ax)
        kdi.CorrelationDisplay.from_data(narrow, ax=ax)
        assert ax.get_xlim()[0] < -1


class TestNames:
    @pytest.mark.parametrize("name", STRANGE, ids=range(4))
    def test_of_clusters(self, name):
        display = kdi.ClusterDisplay.from_data(VALUES, name=name)
        display.figure_.canvas.draw()
        box = display.ax_.xaxis.label.get_window_extent()
        assert display.ax_.bbox.x0 <= box.x0 and box.x1 <= display.ax_.bbox.x1
        assert "\n" not in display.ax_.get_xlabel()
        if len(name) < 20:
            assert display.ax_.get_xlabel() == " ".join(name.split())

    def test_of_clusters_in_a_series(self):
        assert kdi.ClusterDisplay.from_data(pd.Series(VALUES, name="income")).ax_.get_xlabel() == "income"
        edges = np.linspace(np.sort(VALUES)[1], VALUES.max(), 20)
        outside = kdi.ClusterDisplay.from_data(pd.Series(VALUES, name="income"), bins=edges)
        assert outside.ax_.get_xlabel() == "income (1 value lies outside)"

    def test_of_alphas(self):
        names = STRANGE[:3]
        model = kdi.KDITransformerCV([0.1, 1]).fit(FRAME.set_axis(names, axis=1), FRAME["age"])
        display = kdi.AlphaDisplay.from_estimator(model, features=range(3))
        display.figure_.canvas.draw()
        titles = [panel._left_title for panel in display.axes_]
        assert titles[0].get_text() == "$x$ and $y" and titles[1].get_text() == "two lines"
        for panel, title in zip(display.axes_, titles, strict=True):
            assert title.get_window_extent().x1 < panel._right_title.get_window_extent().x0

    def test_of_correlations(self):
        display = kdi.CorrelationDisplay.from_data(FRAME.set_axis(STRANGE[:3], axis=1), n_labels=3)
        display.figure_.canvas.draw()
        for label in display.labels_:
            box = label.get_window_extent()
            assert display.figure_.bbox.x0 <= box.x0 and box.x1 <= display.figure_.bbox.x1
            assert label.get_text().count("\n") <= 1
        assert any("$x$ and $y" in label.get_text() for label in display.labels_)


class TestShorten:
    def test_what_fits_is_whole(self):
        text = plt.figure().text(0, 0, "a name")
        style.shorten(text, 1000)
        assert text.get_text() == "a name"

    @pytest.mark.parametrize("room", [200, 50, 20, 1])
    def test_both_ends_are_kept(self, room):
        text = plt.figure().text(0, 0, f"first{'-' * 300}last")
        style.shorten(text, room)
        assert text.get_window_extent().width <= room or len(text.get_text()) <= 3
        assert text.get_text()[0] == "f" and "…" in text.get_text()
        if room == 200:
            assert text.get_text().startswith("first") and text.get_text().endswith("last")

    @pytest.mark.parametrize(
        ("words", "length", "left"),
        [
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abc…fg"),
            ("abcdefg", 5, "ab…fg"),
            ("abcdefg", 1, "a…g"),
            ("", 3, ""),
        ],
    )
    def test_to_a_number_of_characters(self, words, length, left):
        assert style.elide_middle(words, length) == left

    @pytest.mark.parametrize(
        ("alpha", "said"),
        [(0, "0"), (1, "1"), (0.316, "0.316"), (1234.5, "1234"), (1e5, "1e5"), (2.5e-7, "2.5e-7"), (np.inf, "∞")],
    )
    def test_alphas(self, alpha, said):
        assert style.format_alpha(alpha) == said
