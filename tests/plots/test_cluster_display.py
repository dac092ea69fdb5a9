"""kdi.ClusterDisplay: the histogram, the density and the boundaries."""

import subprocess
import sys

import numpy as np
import pytest
from cluster_oracle import mixture
from display_parts import axes_legend, bars, vertical_lines
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal

import kdi


@pytest.fixture
def values():
    return mixture(2, 500)[0]


class TestFigure:
    def test_one_line_for_every_boundary(self, values):
        display = kdi.ClusterDisplay.from_data(values)
        assert display.clusters.n_clusters == 3
        assert_allclose(vertical_lines(display.ax_), kdi.cluster(values).boundaries, rtol=0, atol=0)

    def test_bars_count_the_values_of_each_cluster(self, values):
        display = kdi.ClusterDisplay.from_data(values)
        colours = {}
        for left, right, height, colour in bars(display.ax_):
            colours.setdefault(colour, []).append((left, right, height))
        assert len(colours) == display.clusters.n_clusters
        by_place = sorted(colours.values(), key=lambda found: min(left for left, _, _ in found))
        assert_array_equal([sum(height for *_, height in found) for found in by_place], display.clusters.sizes)
        ends = [-np.inf, *display.clusters.boundaries, np.inf]
        for found, low, high in zip(by_place, ends[:-1], ends[1:], strict=True):
            assert all(right > low and left < high for left, right, _ in found)

    def test_bins(self, values):
        edges = np.linspace(-5, 25, 31)
        display = kdi.ClusterDisplay.from_data(values, bins=edges)
        counts = np.zeros(30)
        for left, _, height, _ in bars(display.ax_):
            counts[int(np.rint(left + 5))] += height
        assert_array_equal(counts, np.histogram(values, edges)[0])

    def test_a_number_of_bins(self, values):
        display = kdi.ClusterDisplay.from_data(values, bins=7)
        width = np.ptp(values) / 7
        assert_allclose([right - left for left, right, *_ in bars(display.ax_)], width, rtol=1e-9)

    def test_no_bins_are_the_default_ones(self, values):
        given, default = (bars(kdi.ClusterDisplay.from_data(values, **o).ax_) for o in ({"bins": None}, {}))
        assert given == default

    def test_the_density_peaks_at_centers(self, values):
        display = kdi.ClusterDisplay.from_data(values)
        curve = max(display.ax_.lines, key=lambda line: len(line.get_xdata()))
        x, y = curve.get_xdata(), curve.get_ydata()
        assert (y >= 0).all()
        peaks = x[1:-1][(y[1:-1] > y[:-2]) & (y[1:-1] > y[2:])]
        assert_allclose(peaks, display.clusters.centers, rtol=0, atol=x[1] - x[0])
        total = max(height for *_, height, _ in bars(display.ax_))
        assert 0 < y.max() <= 1.01 * max(total, display.ax_.get_ylim()[1])

    def test_it_says_what_is_what(self, values):
        ax = kdi.ClusterDisplay.from_data(values).ax_
        text = " ".join([*axes_legend(ax), ax.get_xlabel(), ax.get_ylabel()])
        assert axes_legend(ax).count("boundaries") == 1
        for word in ("density", "boundaries", "values"):
            assert word in text

    def test_every_text_is_inside_the_figure(self, values):
        display = kdi.ClusterDisplay.from_data(values)
        figure = display.figure_
        figure.draw_without_rendering()
        for text in [*display.ax_.get_legend().get_texts(), display.ax_.xaxis.label, display.ax_.yaxis.label]:
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1

    def test_everything_is_in_sight(self, values):
        display = kdi.ClusterDisplay.from_data(values)
        left, right = display.ax_.get_xlim()
        assert left <= values.min() <= values.max() <= right
        assert display.ax_.get_ylim()[1] >= max(height for *_, height, _ in bars(display.ax_))

    @pytest.mark.parametrize("x", [[3.0, 3.0, 3.0], [3.0], [1.0, 2.0]])
    def test_one_cluster_has_no_boundary(self, x):
        display = kdi.ClusterDisplay.from_data(x, bandwidth=2.0)
        assert vertical_lines(display.ax_) == []
        assert sum(height for *_, height, _ in bars(display.ax_)) == len(x)
        assert "boundaries" not in axes_legend(display.ax_)

    def test_missing_values_are_left_out(self, values):
        holes = np.insert(values, 3, np.nan)
        display = kdi.ClusterDisplay.from_data(holes)
        assert sum(height for *_, height, _ in bars(display.ax_)) == 500
        assert_array_equal(vertical_lines(display.ax_), vertical_lines(kdi.ClusterDisplay.from_data(values).ax_))

    @pytest.mark.parametrize("bins", [None, 30, "auto"])
    def test_far_outliers_are_left_out_and_counted(self, values, bins):
        """As in KDIDisplay; what marks an outlier's cluster is left out with it."""
        far = np.append(values, 1e9)
        display = kdi.ClusterDisplay.from_data(far, bins=bins, name="size")
        assert display.ax_.get_xlabel() == "size (1 value lies outside)"
        assert sum(height for *_, height, _ in bars(display.ax_)) == 500
        assert len({left for left, *_ in bars(display.ax_)}) > 20
        assert display.clusters.centers.max() == pytest.approx(1e9)
        assert max(line.get_xdata().max() for line in display.ax_.lines) < 100
        low, high = kdi.KDIDisplay.from_data(far).shown
        assert display.ax_.get_xlim() == (low, high)

    def test_far_counts(self, rng):
        display = kdi.ClusterDisplay.from_data(np.append(rng.poisson(5, 1000), 5000))
        edges = sorted({left for left, *_ in bars(display.ax_)})
        assert_allclose(np.diff(edges), 1)
        assert edges[0] % 1 == 0.5
        assert 10 < display.ax_.get_xlim()[1] < 20

    def test_a_weight_of_zero_is_a_removal(self, values):
        plain = kdi.ClusterDisplay.from_data(values, weights=np.ones(500))
        weighted = kdi.ClusterDisplay.from_data(np.append(values, 1e3), weights=np.append(np.ones(500), 0))
        assert bars(weighted.ax_) == bars(plain.ax_)
        assert weighted.ax_.get_xlim() == plain.ax_.get_xlim()
        assert weighted.ax_.get_xlabel() == plain.ax_.get_xlabel() == "x"

    def test_it_can_be_drawn(self, values, tmp_path):
        kdi.ClusterDisplay.from_data(values).figure_.savefig(tmp_path / "clusters.png")
        assert (tmp_path / "clusters.png").stat().st_size > 1000


class TestUse:
    def test_options_reach_cluster(self, values):
        options = {"alpha": 0.5, "bandwidth": 0.05, "kernel": "polyexp", "order": 2, "n_clusters": 4}
        display = kdi.ClusterDisplay.from_data(values, **options)
        assert_array_equal(vertical_lines(display.ax_), kdi.cluster(values, **options).boundaries)

    def test_weights_reach_cluster(self, values):
        weights = np.arange(500.0)
        display = kdi.ClusterDisplay.from_data(values, weights=weights)
        assert_array_equal(display.clusters.boundaries, kdi.cluster(values, weights=weights).boundaries)

    def test_from_a_result(self, values):
        clusters = kdi.cluster(values)
        display = kdi.ClusterDisplay(clusters, values)
        assert not hasattr(display, "ax_")
        assert display.clusters is clusters
        assert display.plot() is display
        assert_array_equal(vertical_lines(display.ax_), clusters.boundaries)

    def test_axes_that_are_given(self, values):
        _, (left, right) = plt.subplots(1, 2)
        display = kdi.ClusterDisplay.from_data(values, ax=right)
        assert display.ax_ is right
        assert display.figure_ is right.figure
        assert left.lines[:] == [] == list(left.patches)
        assert len(plt.get_fignums()) == 1
        kdi.ClusterDisplay(display.clusters, values).plot(ax=left)
        assert_array_equal(vertical_lines(left), vertical_lines(right))

    def test_values_are_left_alone(self, values):
        values.flags.writeable = False
        before = values.copy()
        kdi.ClusterDisplay.from_data(values)
        assert_array_equal(values, before)


class TestRefused:
    @pytest.mark.parametrize("bad", [None, [1.0, 2.0], "clusters"])
    def test_what_is_no_result(self, bad, values):
        with pytest.raises(ValueError, match=rf"clusters must be .*kdi\.cluster.*{type(bad).__name__}"):
            kdi.ClusterDisplay(bad, values)

    @pytest.mark.parametrize(
        ("bad", "said"), [([[1.0]], r"one dimension.*\(1, 1\)"), ([np.inf], "finite.*inf"), (["a"], "numbers.*'a'")]
    )
    def test_what_are_no_values(self, bad, said, values):
        with pytest.raises(ValueError, match=said):
            kdi.ClusterDisplay(kdi.cluster(values), bad).plot()
        with pytest.raises(ValueError, match=said):
            kdi.ClusterDisplay.from_data(bad)

    @pytest.mark.parametrize("bad", [[], [np.nan]])
    def test_no_values_to_draw(self, bad, values):
        with pytest.raises(ValueError, match="x must"):
            kdi.ClusterDisplay(kdi.cluster(values), bad).plot()
        with pytest.raises(ValueError, match="x must"):
            kdi.ClusterDisplay.from_data(bad)

    def test_no_weight_to_draw(self, values):
        with pytest.raises(ValueError, match="x must hold at least one value that is not NaN and has a weight above 0"):
            kdi.ClusterDisplay(kdi.cluster(values), [1.0, np.nan], weights=[0, 1])

    def test_a_bad_option_leaves_no_figure_behind(self, values):
        with pytest.raises(ValueError, match="kernel"):
            kdi.ClusterDisplay.from_data(values, kernel="triangle")
        assert plt.get_fignums() == []

    @pytest.mark.slow
    def test_without_matplotlib(self):
        code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import kdi
try:
    kdi.ClusterDisplay.from_data([1.0, 2.0, 3.0])
except ImportError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "matplotlib" in done.stdout
        assert "pip install" in done.stdout
