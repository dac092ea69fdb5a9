"""kdi.KDIDisplay in axes that were given, several in the same axes, and names of features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from display_parts import density_above, legend, notes
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

import kdi

pytestmark = pytest.mark.slow


@pytest.fixture
def values(rng):
    return rng.lognormal(size=400)


class TestAxes:
    def test_margins_share_them(self, values):
        display = kdi.KDIDisplay.from_data(values)
        assert display.ax_.get_shared_x_axes().joined(display.ax_, display.above_)
        assert display.ax_.get_shared_y_axes().joined(display.ax_, display.beside_)
        assert display.above_.get_ylim()[0] == display.beside_.get_xlim()[0] == 0

    @pytest.mark.parametrize("layout", [None, "constrained", "tight"])
    @pytest.mark.parametrize("shape", [(1, 1), (2, 3)])
    def test_stay_in_their_place(self, values, layout, shape):
        """Nothing reaches into the neighbours, whatever lays out the figure."""
        figure, grid = plt.subplots(*shape, figsize=(12, 8), layout=layout, squeeze=False)
        for ax in grid.ravel():
            kdi.KDIDisplay.from_data(values, ax=ax)
        figure.canvas.draw()
        displays = [ax._kdi_margins for ax in grid.ravel()]
        boxes = [[one.bbox for one in (m.ax, m.above, m.beside, m.legend_axes)] for m in displays]
        for k, own in enumerate(boxes):
            for box in own:
                assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
                assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
            ax, above, beside, top = own
            assert ax.y1 < above.y0 < above.y1 <= top.y0 and ax.x1 < beside.x0
            assert not any(box.overlaps(other) for others in boxes[k + 1 :] for box in own for other in others)

    def test_that_are_given(self, values):
        figure, (left, right) = plt.subplots(1, 2)
        display = kdi.KDIDisplay.from_data(values, ax=right)
        assert display.ax_ is right and display.figure_ is figure
        assert not left.has_data()
        assert plt.get_fignums() == [figure.number]

    def test_in_no_grid(self, values):
        figure = plt.figure()
        ax = figure.add_axes((0.2, 0.3, 0.6, 0.5))
        display = kdi.KDIDisplay.from_data(values, ax=ax)
        boxes = [one.get_position() for one in (display.ax_, display.above_, display.beside_)]
        assert min(box.x0 for box in boxes) == pytest.approx(0.2)
        assert max(box.x1 for box in boxes) == pytest.approx(0.8)
        assert min(box.y0 for box in boxes) == pytest.approx(0.3)
        assert display.legend_.get_window_extent().y1 <= 0.8 * figure.bbox.y1 + 1

    def test_of_a_part_of_a_figure(self, values):
        figure = plt.figure(figsize=(9, 4), layout="constrained")
        parts = figure.subfigures(1, 2)
        display = kdi.KDIDisplay.from_data(values, ax=parts[1].subplots())
        figure.canvas.draw()
        assert display.figure_ is parts[1]
        assert display.ax_.bbox.x0 > figure.bbox.width / 2

    def test_a_new_figure_each_time(self, values):
        display = kdi.KDIDisplay.from_data(values)
        first = display.ax_
        assert display.plot() is display
        assert display.ax_ is not first

    def test_the_legend_covers_nothing(self, values):
        for alpha in (1, (0, 1, np.inf), np.logspace(-2, 2, 12)):
            display = kdi.KDIDisplay.from_data(values, alpha=alpha)
            display.figure_.canvas.draw()
            box = display.legend_.get_window_extent()
            assert display.figure_.bbox.x0 <= box.x0 and box.x1 <= display.figure_.bbox.x1
            assert display.figure_.bbox.y0 <= box.y0 and box.y1 <= display.figure_.bbox.y1
            assert not any(box.overlaps(ax.bbox) for ax in (display.ax_, display.above_, display.beside_))


class TestGrid:
    @pytest.mark.parametrize("layout", [None, "constrained", "tight"])
    def test_panels_are_of_one_size(self, values, layout):
        """Whichever is drawn first; the notes of what is cut stay in the figure."""
        values = np.append(values, 1e5)
        figure, grid = plt.subplots(2, 3, figsize=(6, 4), layout=layout)
        for ax in grid.ravel():
            display = kdi.KDIDisplay.from_data(values, ax=ax)
        figure.canvas.draw()
        heights = [ax.get_position().height for ax in grid.ravel()]
        assert max(heights) - min(heights) < 1e-3 * max(heights)
        right = display.beside_.bbox.x1
        assert len(display.beside_.texts) == 2
        assert all(text.get_window_extent().x1 == pytest.approx(right, abs=1) for text in display.beside_.texts)
        assert right <= figure.bbox.x1

    def test_in_any_order(self, values):
        """Legends of one line and of several; their axes are as high as they need be."""
        found = []
        for order in ([0, 1, 2], [2, 1, 0]):
            figure, grid = plt.subplots(1, 3, figsize=(8, 4), layout="constrained")
            for k in order:
                kdi.KDIDisplay.from_data(values, alpha=[1, [0, 1], [0, 0.1, 1]][k], ax=grid[k])
            figure.canvas.draw()
            found.append([ax.get_position().height for ax in grid])
            for ax in grid:
                top = ax._kdi_margins.legend_axes
                assert top.get_legend().get_window_extent().height <= top.bbox.height
        assert found[0] == pytest.approx(found[1], rel=1e-3)
        assert found[0][0] > found[0][2]

    def test_a_legend_stays_what_was_made_of_it(self, values):
        _, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
        first = kdi.KDIDisplay.from_data(values, alpha=1, ax=left)
        first.legend_.set_title("a title")
        gone = kdi.KDIDisplay.from_data(values, alpha=1, ax=middle)
        gone.legend_.remove()
        kdi.KDIDisplay.from_data(values, alpha=1, ax=right)
        assert first.legend_.get_title().get_text() == "a title"
        assert gone.legend_ is None


class TestSeveralPlots:
    def test_alphas_one_by_one(self, values):
        """The same axes, and one density before: they are of the same values."""
        ax = plt.subplots(layout="constrained")[1]
        kdi.KDIDisplay.from_data(values, alpha=0, ax=ax)
        n_axes = len(ax.figure.axes)
        display = kdi.KDIDisplay.from_data(values, alpha=1, ax=ax)
        assert len(ax.figure.axes) == n_axes
        assert legend(display) == ["quantile, alpha = 0", "KD-integral, alpha = 1"]
        assert len(display.beside_.lines) == len(ax.lines) == 2
        density_above(display)

    def test_limits_hold_both(self, values):
        ax = plt.subplots()[1]
        kdi.KDIDisplay.from_data(values, alpha=1, ax=ax, curve_kwargs={"label": "one"})
        display = kdi.KDIDisplay.from_data(values * 2 + 100, alpha=1, ax=ax, curve_kwargs={"label": "other", "c": "C3"})
        low, high = ax.get_xlim()
        assert low < values.min() and 2 * values.max() + 100 < high
        assert legend(display) == ["one", "other"]
        assert len([one for one in display.above_.collections if isinstance(one, PolyCollection)]) == 2
        assert display.lines_[0].get_color() == "C3" == display.beside_.lines[1].get_color()

    def test_notes_are_those_of_both(self, rng):
        values = rng.normal(size=1000)
        ax = plt.subplots()[1]
        kdi.KDIDisplay.from_data(np.append(values, 500), alpha=1, ax=ax)
        display = kdi.KDIDisplay.from_data(np.append(values, 700), alpha=1, ax=ax)
        assert [note for note in notes(display) if "on to" in note] == ["on to 700 ▸"]

    def test_axes_that_were_cleared(self, values):
        ax = plt.subplots()[1]
        kdi.KDIDisplay.from_data(values + 100, alpha=1, ax=ax)
        ax.clear()
        display = kdi.KDIDisplay.from_data(values, alpha=1, ax=ax)
        density_above(display)
        assert len(display.beside_.lines) == 1
        assert ax.get_xlim()[1] < 100

    def test_a_label_stands_before_several_alphas(self, values):
        display = kdi.KDIDisplay.from_data(values, alpha=[0, 1], curve_kwargs={"label": "train", "linestyle": ":"})
        assert legend(display) == ["train, quantile, alpha = 0", "train, KD-integral, alpha = 1"]
        assert {line.get_linestyle() for line in display.lines_} == {":"}


class TestNames:
    def test_of_a_series(self, values):
        assert kdi.KDIDisplay.from_data(pd.Series(values, name="income")).name == "income"
        assert kdi.KDIDisplay.from_data(pl.Series("income", values)).name == "income"
        assert kdi.KDIDisplay.from_data(pd.Series(values, name="income"), name="other").name == "other"
        assert kdi.KDIDisplay.from_data(pd.Series(values, name=2020)).name == "2020"
        assert kdi.KDIDisplay.from_data(pd.Series(values)).name == "x"
        assert kdi.KDIDisplay.from_data(pl.Series(values)).name == "x"

    @pytest.mark.parametrize("name", ["$x$ and $y", "two\nlines", "name " * 60, r"\frac", "_"])
    def test_any_name_fits(self, values, name):
        display = kdi.KDIDisplay.from_data(values, name=name)
        figure = display.figure_
        figure.canvas.draw()
        box = display.ax_.xaxis.label.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert "\n" not in display.ax_.get_xlabel()
        if len(name) < 20:
            assert display.ax_.get_xlabel() == " ".join(name.split())
