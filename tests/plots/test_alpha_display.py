"""kdi.AlphaDisplay: curves, bands and marks of each feature, and how panels are laid out."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

import kdi

pytestmark = pytest.mark.slow

NAMES = ["income", "age", "rooms", "coast"]
ENDS = (0, *kdi.ALPHAS, np.inf)


def sample(n=400):
    rng = np.random.default_rng(0)
    X = rng.lognormal(sigma=1.5, size=(n, 4))
    X[:, 3] = X[:, 3] > 1
    y = np.log(X[:, 0]) / 3 + X[:, 1] + np.sqrt(X[:, 2]) + X[:, 3] + rng.normal(size=n)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def model():
    return kdi.KDITransformerCV().fit(*sample())


def made(n_features, **options):
    """A display of made scores, with names that cannot all fit."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(3, n_features))
    given = {"standard_errors": abs(scores) / 10, "chosen": np.full(n_features, 0.1)} | options
    return kdi.AlphaDisplay(alphas=[0.1, 1, 10], scores=scores, **given)


def dots(panel):
    """Where the marks of chosen alphas are."""
    return [tuple(float(np.ravel(c)[0]) for c in one.get_data()) for one in panel.lines if one.get_marker() == "o"]


def upright(panel):
    """The x of every line that goes straight up."""
    return [
        float(line.get_xdata()[0]) for line in panel.lines if len(line.get_xdata()) == 2 and line.get_ydata()[1] == 1
    ]


def band(panel):
    """Lower and upper ends of the band at each place, or nothing."""
    found = [one for one in panel.collections if isinstance(one, PolyCollection)]
    corners = np.concatenate([path.vertices for one in found for path in one.get_paths()]) if found else []
    return {
        x: (corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max()) for x in {x for x, _ in corners}
    }


def tick_labels(panel):
    return {text.get_text() for text in panel.get_xticklabels()}


def legend(figure):
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


class TestPanels:
    def test_curves_are_the_scores(self, model):
        display = kdi.AlphaDisplay.from_estimator(model)
        for line, j in zip(display.lines_, display.features_, strict=True):
            assert_array_equal(line.get_xdata(), model.alphas_)
            assert_array_equal(line.get_ydata(), model.scores_[:, j])

    def test_bands_are_a_standard_error_either_way(self, model):
        display = kdi.AlphaDisplay.from_estimator(model)
        for panel, j in zip(display.axes_, display.features_, strict=True):
            ends = band(panel)
            for alpha, score, error in zip(
                model.alphas_, model.scores_[:, j], model.standard_errors_[:, j], strict=True
            ):
                assert ends[alpha] == pytest.approx((score - error, score + error), rel=1e-12)

    def test_marks_are_at_the_chosen_alphas(self, model):
        display = kdi.AlphaDisplay.from_estimator(model, features=range(4))
        for panel, j in zip(display.axes_, range(4), strict=True):
            chosen = model.alpha_[j]
            assert dots(panel) == [(chosen, model.scores_[model.alphas_ == chosen, j][0])]
            assert panel.get_title(loc="left") == NAMES[j]
            assert panel.get_title(loc="right") == f"alpha = {chosen:g}"

    def test_lines_at_the_common_alpha_and_at_one(self, model):
        assert model.common_alpha_ != 1
        display = kdi.AlphaDisplay.from_estimator(model)
        for panel in display.axes_:
            assert sorted(upright(panel)) == sorted([1, model.common_alpha_])
        assert f"compared with alpha = {model.common_alpha_:g}" in legend(display.figure_)
        assert "alpha = 1" in legend(display.figure_)

    def test_one_line_where_the_common_alpha_is_one(self):
        display = made(2).plot()
        assert upright(display.ax_) == [1]
        assert "alpha = 1" not in legend(display.figure_)
        assert "compared with alpha = 1" in legend(display.figure_)

    def test_those_that_gain_most_come_first(self, model):
        shown = kdi.AlphaDisplay.from_estimator(model).features_
        at = {alpha: place for place, alpha in enumerate(model.alphas_)}
        common = at[model.common_alpha_]
        gains = [model.scores_[at[model.alpha_[j]], j] - model.scores_[common, j] for j in shown]
        assert gains == sorted(gains, reverse=True)

    def test_what_no_alpha_changes_is_not_shown(self, model):
        display = kdi.AlphaDisplay.from_estimator(model)
        assert sorted(display.features_) == [0, 1, 2]
        assert "not shown: 1" in display.figure_.get_supxlabel()

    def test_unless_it_is_asked_for(self, model):
        display = kdi.AlphaDisplay.from_estimator(model, features="coast")
        assert display.features_ == [3]
        assert np.ptp(display.lines_[0].get_ydata()) == 0
        assert display.figure_.get_supxlabel() == "alpha"
        assert band(display.ax_) == {}

    def test_or_there_is_nothing_else(self):
        X, y = sample()
        display = kdi.AlphaDisplay.from_estimator(kdi.KDITransformerCV().fit(X[["coast"]], y))
        assert display.features_ == [0]

    def test_a_legend_for_the_band_although_the_first_is_flat(self, model):
        display = kdi.AlphaDisplay.from_estimator(model, features=["coast", "income"])
        assert "± standard error" in legend(display.figure_)

    def test_at_most_so_many(self):
        display = made(30).plot()
        assert len(display.features_) == len(display.axes_) == 12
        assert "12 of 30" in display.figure_.get_supxlabel()
        assert len(made(30).plot(max_features=5).axes_) == 5
        assert len(made(30).plot(features=range(20)).axes_) == 20

    def test_scores_share_an_axis(self, model):
        display = kdi.AlphaDisplay.from_estimator(model)
        assert len({panel.get_ylim() for panel in display.axes_}) == 1
        low, high = display.ax_.get_ylim()
        shown = model.scores_[:, display.features_], model.standard_errors_[:, display.features_]
        assert low < (shown[0] - shown[1]).min() and (shown[0] + shown[1]).max() < high

    def test_or_each_has_its_own(self, model):
        display = kdi.AlphaDisplay.from_estimator(model, sharey=False)
        assert len({panel.get_ylim() for panel in display.axes_}) == 3

    def test_one_alpha_for_all(self):
        model = kdi.KDITransformerCV(per_feature=False).fit(*sample())
        assert model.alpha_[0] != 1
        display = kdi.AlphaDisplay.from_estimator(model)
        assert len(display.axes_) == 1
        assert display.ax_.get_title(loc="left") == "all features"
        assert_array_equal(display.lines_[0].get_ydata(), model.scores_[:, 0])
        assert dots(display.ax_)[0][0] == model.alpha_[0]
        assert upright(display.ax_) == [1]  # what one alpha for all was compared with
        assert model.standard_errors_[model.alphas_ == 1, 0] == 0

    def test_numbers_for_names(self):
        X, y = sample()
        display = kdi.AlphaDisplay.from_estimator(kdi.KDITransformerCV().fit(X.to_numpy(), y), features=[2, 0])
        assert [panel.get_title(loc="left") for panel in display.axes_] == ["x2", "x0"]

    def test_scores_of_an_estimator(self):
        judge = kdi.KDITransformerCV([0.1, 1], estimator=LinearRegression(), cv=3).fit(*sample(60))
        assert kdi.AlphaDisplay.from_estimator(judge).figure_.get_supylabel() == "score of LinearRegression"
        judge.set_params(scoring="neg_mean_absolute_error")
        display = kdi.AlphaDisplay.from_estimator(judge.fit(*sample(60)))
        assert display.figure_.get_supylabel() == "neg_mean_absolute_error"

    def test_no_band_without_a_standard_error(self):
        once = ShuffleSplit(1, random_state=0)
        model = kdi.KDITransformerCV([0.1, 1], estimator=LinearRegression(), cv=once).fit(*sample(60))
        display = kdi.AlphaDisplay.from_estimator(model)
        assert np.isfinite(display.ax_.get_ylim()).all()
        for one in (display, made(1, standard_errors=None).plot()):
            assert all(band(panel) == {} for panel in one.axes_)
            assert "± standard error" not in legend(one.figure_)


class TestAxis:
    def test_it_is_logarithmic(self, model):
        panel = kdi.AlphaDisplay.from_estimator(model).ax_
        assert panel.get_xscale() == "log"
        assert {"0.1", "1", "10"} <= tick_labels(panel)
        assert not {"0", "∞"} & tick_labels(panel)

    def test_zero_and_infinity_stand_at_the_ends(self):
        model = kdi.KDITransformerCV(ENDS).fit(*sample())
        display = kdi.AlphaDisplay.from_estimator(model)
        places = display.lines_[0].get_xdata()
        assert_array_equal(places[1:-1], kdi.ALPHAS)
        assert 0 < places[0] < 0.05 < 10 < places[-1] < np.inf
        at = dict(zip(model.alphas_, places, strict=True))
        for panel, j in zip(display.axes_, display.features_, strict=True):
            left, right = panel.get_xlim()
            assert left < places[0] and places[-1] < right
            labels = dict(zip(panel.get_xticks(), [text.get_text() for text in panel.get_xticklabels()], strict=True))
            assert labels[places[0]] == "0" and labels[places[-1]] == "∞"
            assert dots(panel)[0][0] == at[model.alpha_[j]]

    def test_infinity_in_the_title(self):
        display = kdi.AlphaDisplay(alphas=[1, np.inf], scores=[[1], [2]], chosen=[np.inf]).plot()
        assert display.ax_.get_title(loc="right") == "alpha = ∞"
        assert "∞" in tick_labels(display.ax_)

    @pytest.mark.parametrize(
        "alphas",
        [[1.0], [0, np.inf], [0], [np.inf], [0.7, 0.8], np.logspace(-8, 8, 9), [1e-30, 1e30], [3, 1, 0.1]],
        ids=str,
    )
    def test_any_alphas(self, alphas):
        scores = np.arange(float(len(alphas)))[:, None]
        display = kdi.AlphaDisplay(alphas=alphas, scores=scores, chosen=alphas[:1], reference=alphas[-1]).plot()
        display.figure_.canvas.draw()
        places = display.lines_[0].get_xdata()
        assert (np.diff(places) > 0).all()
        assert display.ax_.get_xlim()[0] < places[0] <= places[-1] < display.ax_.get_xlim()[1]
        assert 1 <= len(tick_labels(display.ax_)) <= 7
        assert_array_equal(display.lines_[0].get_ydata(), scores[np.argsort(alphas), 0])

    def test_labels_do_not_overlap(self):
        for alphas in (ENDS, np.logspace(-8, 8, 9), [0, 0.3], [0.5, 1, 2]):
            scores = np.random.default_rng(0).normal(size=(len(alphas), 8))
            chosen = np.full(8, alphas[0])
            display = kdi.AlphaDisplay(alphas=alphas, scores=scores, chosen=chosen, reference=alphas[1]).plot()
            display.figure_.canvas.draw()
            boxes = [text.get_window_extent() for panel in display.axes_[4:] for text in panel.get_xticklabels()]
            boxes = sorted(boxes, key=lambda box: box.x0)
            assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


class TestLayout:
    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 12, 30])
    def test_every_text_is_inside_the_figure_and_over_no_other(self, n):
        names = [f"a very long name of measurement {j}, with more words and a $ in it, {j}" for j in range(n)]
        display = made(n, feature_names=names, reference=10, score_name="score of HistGradientBoostingRegressor").plot()
        figure = display.figure_
        figure.canvas.draw()
        texts = [text for one in figure.legends for text in one.get_texts()] + [figure._supxlabel, figure._supylabel]
        for panel, j in zip(display.axes_, display.features_, strict=True):
            left, right = panel._left_title, panel._right_title
            assert left.get_window_extent().x1 < right.get_window_extent().x0
            assert left.get_text().startswith("a very") and left.get_text().endswith(str(j))
            texts += [left, right, *panel.get_xticklabels(), *panel.get_yticklabels()]
        boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
        for box in boxes:
            assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        panels = [panel.bbox for panel in display.axes_]
        assert not any(
            box.overlaps(panel) for one in figure.legends for box in [one.get_window_extent()] for panel in panels
        )
        assert min(panel.width for panel in panels) > 150 and min(panel.height for panel in panels) > 90

    def test_short_names_are_whole(self, model):
        display = kdi.AlphaDisplay.from_estimator(model)
        assert [panel.get_title(loc="left") for panel in display.axes_] == [NAMES[j] for j in display.features_]

    @pytest.mark.parametrize(("n", "n_cols", "shape"), [(8, 4, (2, 4)), (5, 4, (2, 3)), (3, 4, (1, 3)), (6, 2, (3, 2))])
    def test_the_grid(self, n, n_cols, shape):
        display = made(n).plot(n_cols=n_cols)
        assert display.ax_.get_gridspec().get_geometry() == shape
        assert len(display.figure_.axes) == n

    def test_the_lowest_of_every_column_has_labels(self):
        display = made(5).plot()
        shown = [panel.xaxis.get_tick_params()["labelbottom"] for panel in display.axes_]
        assert shown == [False, False, True, True, True]

    def test_it_can_be_drawn(self, model, tmp_path):
        kdi.AlphaDisplay.from_estimator(model).figure_.savefig(tmp_path / "alphas.png")
        assert (tmp_path / "alphas.png").stat().st_size > 1000


class TestUse:
    def test_from_numbers(self, model):
        display = kdi.AlphaDisplay(
            alphas=model.alphas_, scores=model.scores_, chosen=model.alpha_, reference=model.common_alpha_
        )
        assert not hasattr(display, "ax_")
        assert display.plot() is display
        assert display.features_ == kdi.AlphaDisplay.from_estimator(model).features_

    def test_features_by_name_and_position(self, model):
        display = kdi.AlphaDisplay.from_estimator(model, features=["rooms", 0, np.int64(1)])
        assert display.features_ == [2, 0, 1]
        assert display.figure_.get_supxlabel() == "alpha"

    def test_axes_that_are_given(self, model):
        figure, (left, right) = plt.subplots(1, 2)
        display = kdi.AlphaDisplay.from_estimator(model, features="income", ax=right)
        assert display.ax_ is right
        assert list(display.axes_) == [right]
        assert display.figure_ is figure
        assert list(left.lines) == []
        assert plt.get_fignums() == [figure.number]
        assert right.get_xlabel() == "alpha"
        assert right.get_ylabel()
        assert "chosen alpha" in [text.get_text() for text in right.get_legend().get_texts()]

    def test_the_legend_hides_no_data(self, model):
        figure, ax = plt.subplots(figsize=(5, 3.5))
        for name in NAMES:
            ax.clear()
            display = kdi.AlphaDisplay.from_estimator(model, features=name, ax=ax)
            figure.canvas.draw()
            points = ax.transData.transform(np.column_stack(display.lines_[0].get_data()))
            box = ax.get_legend().get_window_extent()
            assert not box.count_contains(points)
            assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1

    @pytest.mark.parametrize("kind", [np.array, list, tuple])
    def test_an_array_of_axes(self, model, kind):
        figure, grid = plt.subplots(2, 2)
        display = kdi.AlphaDisplay.from_estimator(model, features=range(4), ax=kind(grid))
        assert list(display.axes_) == list(grid.ravel())
        assert all(one.get_ylim() == grid[0, 0].get_ylim() for one in grid.ravel())
        assert all(one.get_legend() is None for one in grid.ravel())
        figure.legend(*display.ax_.get_legend_handles_labels())

    def test_a_subfigure(self, model):
        parts = plt.figure(figsize=(9, 4), layout="constrained").subfigures(1, 2)
        kdi.AlphaDisplay.from_estimator(model, features=0, ax=parts[1].subplots())
        parts[1].figure.canvas.draw()

    def test_no_parameter_of_the_model_is_asked_for_after_its_fit(self):
        model = kdi.KDITransformerCV().fit(*sample())
        model.set_params(per_feature=False, alphas=[1, 2])
        assert len(kdi.AlphaDisplay.from_estimator(model).axes_) == 3

    def test_it_is_exported(self):
        assert "AlphaDisplay" in kdi.__all__
        assert "AlphaDisplay" in dir(kdi)


class TestRefused:
    @pytest.mark.parametrize("bad", [kdi.KDITransformer(), None, make_pipeline(kdi.KDITransformerCV()), "model"])
    def test_another_class(self, bad):
        with pytest.raises(TypeError, match=rf"fitted KDITransformerCV.*{type(bad).__name__}"):
            kdi.AlphaDisplay.from_estimator(bad)
        assert plt.get_fignums() == []

    def test_not_fitted(self):
        with pytest.raises(NotFittedError, match="KDITransformerCV"):
            kdi.AlphaDisplay.from_estimator(kdi.KDITransformerCV())

    @pytest.mark.parametrize("bad", ["altitude", 4, -1, 1.0, None, True])
    def test_features_that_are_not_there(self, model, bad):
        with pytest.raises(ValueError, match=r"features must be.*got.*'income', 'age'"):
            kdi.AlphaDisplay.from_estimator(model, features=[bad])
        assert plt.get_fignums() == []

    def test_no_features(self, model):
        with pytest.raises(ValueError, match="at least one"):
            kdi.AlphaDisplay.from_estimator(model, features=[])

    def test_a_feature_of_one_alpha_for_all(self):
        model = kdi.KDITransformerCV(per_feature=False).fit(*sample(60))
        with pytest.raises(ValueError, match=r"'income'.*'all features'"):
            kdi.AlphaDisplay.from_estimator(model, features="income")

    @pytest.mark.parametrize(("n", "said"), [(1, "array of 3 Axes.*got Axes"), (2, "array of 3 Axes.*got 2")])
    def test_too_few_axes(self, model, n, said):
        with pytest.raises(ValueError, match=rf"ax must be an {said}.*`features`"):
            kdi.AlphaDisplay.from_estimator(model, ax=plt.subplots(1, n)[1])

    def test_too_many_axes(self, model):
        with pytest.raises(ValueError, match=r"ax must be one Axes.*got 2"):
            kdi.AlphaDisplay.from_estimator(model, features=0, ax=plt.subplots(1, 2)[1])

    @pytest.mark.parametrize("bad", ["axes", 3])
    def test_what_are_no_axes(self, model, bad):
        with pytest.raises(ValueError, match=f"ax must be one Axes.*got {type(bad).__name__}"):
            kdi.AlphaDisplay.from_estimator(model, features=0, ax=bad)

    @pytest.mark.parametrize("name", ["max_features", "n_cols"])
    @pytest.mark.parametrize("bad", [0, 1.5, None, "2", True])
    def test_numbers_of_panels(self, model, name, bad):
        with pytest.raises(ValueError, match=f"{name} must be"):
            kdi.AlphaDisplay.from_estimator(model, **{name: bad})
        assert plt.get_fignums() == []

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"alphas": [1, -1]}, "alphas must be"),
            ({"alphas": [1, np.nan]}, "alphas must be"),
            ({"alphas": [1, 1]}, "alphas must be"),
            ({"alphas": [[1, 2]]}, "alphas must be"),
            ({"scores": [1, 2]}, r"scores must have shape \(2, n_features\), got \(2,\)"),
            ({"scores": [[1]]}, r"scores must have shape"),
            ({"scores": [[1], [np.nan]]}, "scores must be finite"),
            ({"standard_errors": [[1]]}, r"standard_errors must have the shape of scores, \(2, 1\)"),
            ({"chosen": [1, 2]}, r"chosen must have one entry per feature \(1\), got 2"),
            ({"chosen": [3]}, r"chosen must be among the alphas, got 3"),
            ({"reference": 3}, r"reference must be among the alphas, got 3"),
            ({"feature_names": ["a", "b"]}, r"feature_names must have one entry per feature \(1\), got 2"),
        ],
    )
    def test_numbers_that_do_not_fit(self, given, said):
        right = {"alphas": [1, 2], "scores": [[1], [2]], "chosen": [1]}
        with pytest.raises(ValueError, match=said):
            kdi.AlphaDisplay(**right | given)

    def test_without_matplotlib(self):
        code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import kdi
try:
    kdi.AlphaDisplay.from_estimator(kdi.KDITransformerCV())
except ImportError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "matplotlib" in done.stdout
        assert "pip install" in done.stdout
