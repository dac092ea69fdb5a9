"""kdi.ClusterDisplay.from_estimator: one feature of a fitted KDIDiscretizer, with and without data."""

import numpy as np
import pandas as pd
import pytest
from cluster_oracle import mixture
from display_parts import axes_legend, bars, vertical_lines
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import kdi
from kdi.compat import kditransform

pytestmark = pytest.mark.slow

from_estimator = kdi.ClusterDisplay.from_estimator


@pytest.fixture
def frame():
    """Two features of 300 values, which a density keeps, with three and two clusters."""
    return pd.DataFrame({"size": mixture(2, 300)[0], "age": mixture(4, 300)[0]})


@pytest.fixture
def model(frame):
    return kdi.KDIDiscretizer().fit(frame)


def heights_by_place(ax):
    return np.array(sorted((left, height) for left, _, height, _ in bars(ax)))


class TestFeatures:
    @pytest.mark.parametrize(("feature", "name"), [(0, "size"), (np.int64(1), "age"), ("size", "size"), ("age", "age")])
    def test_by_name_or_position(self, model, frame, feature, name):
        display = from_estimator(model, feature=feature)
        assert display.ax_.get_xlabel() == name
        boundaries = kdi.cluster(frame[name]).boundaries
        assert_allclose(vertical_lines(display.ax_), boundaries, rtol=1e-12)

    def test_the_first_is_the_default(self, model):
        assert from_estimator(model).ax_.get_xlabel() == "size"

    def test_without_names(self, frame):
        model = kdi.KDIDiscretizer(encode="ordinal").fit(frame.to_numpy())
        assert from_estimator(model, feature=1).ax_.get_xlabel() == "x1"
        assert from_estimator(model, feature="x1").ax_.get_xlabel() == "x1"

    @pytest.mark.parametrize("bad", ["altitude", "size_missing", 2, -1, 1.0, None, True])
    def test_that_are_not_there(self, model, bad):
        with pytest.raises(ValueError, match=r"feature must be.*below 2, got.*'size', 'age'"):
            from_estimator(model, feature=bad)
        assert plt.get_fignums() == []

    @pytest.mark.parametrize("name", ["$x$ and $y", "two\nlines", "name " * 60], ids=range(3))
    def test_strange_names(self, frame, name):
        display = from_estimator(kdi.KDIDiscretizer().fit(frame.set_axis([name, "b"], axis=1)))
        display.figure_.canvas.draw()
        box = display.ax_.xaxis.label.get_window_extent()
        assert display.ax_.bbox.x0 <= box.x0 and box.x1 <= display.ax_.bbox.x1
        assert "\n" not in display.ax_.get_xlabel()


class TestWithoutData:
    @pytest.mark.parametrize("name", ["size", "age"])
    def test_few_values_are_all_drawn(self, model, frame, name):
        display = from_estimator(model, feature=name)
        expected = kdi.ClusterDisplay.from_data(frame[name])
        assert display.ax_.get_ylabel() == "share of the values"
        assert axes_legend(display.ax_) == axes_legend(expected.ax_)
        assert_allclose(display.ax_.get_xlim(), expected.ax_.get_xlim(), rtol=1e-5)
        assert sum(height for *_, height, _ in bars(display.ax_)) == pytest.approx(1, abs=1e-12)
        found, counts = heights_by_place(display.ax_), heights_by_place(expected.ax_)
        assert abs(found[:, 1].sum() * 300 - counts[:, 1].sum()) < 1e-9
        edges = np.linspace(frame[name].min() - 1e-3, frame[name].max() + 1e-3, 8)
        few = from_estimator(model, feature=name, bins=edges)
        shares = np.histogram(frame[name], edges)[0] / 300
        totals = np.zeros(7)
        for left, _, height, _ in bars(few.ax_):
            totals[int(np.rint((left - edges[0]) / (edges[1] - edges[0])))] += height
        assert_allclose(totals, shares, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("number", range(1, 6))
    def test_many_values_are_represented_by_cells(self, number):
        values = mixture(number, 50_000)[0]
        model = kdi.KDIDiscretizer(encode="ordinal").fit(values[:, None])
        assert model.valleys_[0].density.width > 0
        edges = np.linspace(values.min(), values.max(), 41)
        display = from_estimator(model, bins=edges)
        totals = np.zeros(40)
        for left, _, height, _ in bars(display.ax_):
            totals[int(np.rint((left - edges[0]) / (edges[1] - edges[0])))] += height
        assert_allclose(totals, np.histogram(values, edges)[0] / 50_000, rtol=0, atol=5e-4)
        assert len({colour for *_, colour in bars(display.ax_)}) == model.n_bins_[0]

    def test_many_integers_have_a_bar_each(self, rng):
        values = rng.poisson(4, 50_000) + 20.0 * (rng.random(50_000) < 0.3)
        model = kdi.KDIDiscretizer().fit(values[:, None])
        found = heights_by_place(from_estimator(model).ax_)
        expected = heights_by_place(kdi.ClusterDisplay.from_data(values).ax_)
        known = np.isin(expected[:, 0], found[:, 0])
        assert expected[~known, 1].sum() < 10  # values that too few represent
        assert_allclose(found[:, 1], expected[known, 1] / 50_000, rtol=0, atol=2e-4)

    def test_outliers_are_left_out(self, frame):
        far = np.append(frame["size"], 1e9)[:, None]
        display = from_estimator(kdi.KDIDiscretizer().fit(far))
        assert display.ax_.get_xlabel() == "x0 (0.33% of the values lie outside)"
        assert display.ax_.get_xlim()[1] < 100

    def test_of_a_stream(self, frame):
        pa = pytest.importorskip("pyarrow")
        streamed = kdi.KDIDiscretizer().fit(pa.table(dict(frame)))
        plain = kdi.KDIDiscretizer().fit(frame)
        one, other = (from_estimator(model, feature="age") for model in (streamed, plain))
        assert_allclose(vertical_lines(one.ax_), vertical_lines(other.ax_), rtol=1e-6)
        assert_allclose(heights_by_place(one.ax_), heights_by_place(other.ax_), rtol=1e-5, atol=1e-6)

    def test_of_a_saved_model(self, model):
        saved = kdi.KDIDiscretizer.from_json(model.to_json())
        assert bars(from_estimator(saved).ax_) == bars(from_estimator(model).ax_)


class TestWithData:
    def test_is_the_picture_of_the_data(self, model, frame):
        display = from_estimator(model, feature="age", X=frame)
        expected = kdi.ClusterDisplay.from_data(frame["age"])
        assert bars(display.ax_) == bars(expected.ax_)
        assert display.ax_.get_ylabel() == "values"
        assert_array_equal(display.clusters.labels, expected.clusters.labels)
        assert_allclose(display.clusters.centers, expected.clusters.centers, rtol=1e-12)
        assert_array_equal(display.clusters.sizes, expected.clusters.sizes)

    def test_of_other_data(self, model, frame):
        display = from_estimator(model, X=frame[:20])
        assert sum(height for *_, height, _ in bars(display.ax_)) == 20

    def test_missing_values_are_left_out(self, frame):
        model = kdi.KDIDiscretizer(missing="bin").fit(frame.mask(frame > 30))
        holes = frame.copy()
        holes.iloc[:7, 0] = np.nan
        display = from_estimator(model, X=holes)
        assert sum(height for *_, height, _ in bars(display.ax_)) == 293
        assert_array_equal(display.clusters.labels[:7], -1)

    def test_of_other_columns(self, model, frame):
        with pytest.raises(ValueError, match="feature names"):
            from_estimator(model, X=frame.rename(columns={"age": "number"}))

    def test_infinite_values(self, model, frame):
        frame.iloc[3, 1] = np.inf
        with pytest.raises(ValueError, match="X must be finite or NaN, got inf in row 3"):
            from_estimator(model, feature="age", X=frame)

    def test_no_values(self, model, frame):
        frame["age"] = np.nan
        with pytest.raises(ValueError, match="X must hold values of feature 'age' that are not NaN"):
            from_estimator(model, feature="age", X=frame)
        assert plt.get_fignums() == []


class TestModels:
    @pytest.mark.parametrize("with_data", [False, True])
    def test_equal_steps(self, frame, with_data):
        model = kdi.KDIDiscretizer(strategy="uniform", n_bins=4).fit(frame)
        display = from_estimator(model, X=frame if with_data else None)
        assert_array_equal(vertical_lines(display.ax_), model.bin_edges_[0][1:-1])
        assert display.clusters.n_clusters == 4
        assert_array_equal(display.clusters.centers, model.centers_[0])
        assert len({colour for *_, colour in bars(display.ax_)}) == 4

    @pytest.mark.parametrize("value", [7.0, 3.3])
    def test_a_constant_is_one_bar(self, value):
        with pytest.warns(UserWarning, match="constant"):
            model = kdi.KDIDiscretizer().fit(np.full((9, 1), value))
        for display in (from_estimator(model), from_estimator(model, X=np.full((4, 1), value))):
            ((left, right, height, _),) = bars(display.ax_)
            assert left <= value <= right
            assert height == (1 if display.weights is not None else 4)
            assert vertical_lines(display.ax_) == []
            assert axes_legend(display.ax_) == ["density of the KD-integral, scaled", "centers"]

    def test_a_feature_without_values(self):
        with pytest.warns(UserWarning, match="no values"):
            model = kdi.KDIDiscretizer(missing="bin").fit(np.column_stack([np.full(9, np.nan), np.arange(9.0)]))
        with pytest.raises(ValueError, match="feature 'x0' must have values in the fitted data"):
            from_estimator(model)
        assert plt.get_fignums() == []
        from_estimator(model, feature=1)

    @pytest.mark.parametrize(
        "bad", [KBinsDiscretizer(), kdi.KDITransformer(), None, make_pipeline(kdi.KDIDiscretizer()), "model"]
    )
    def test_another_class(self, bad):
        with pytest.raises(TypeError, match=rf"fitted KDIDiscretizer.*pipeline.*{type(bad).__name__}"):
            from_estimator(bad)
        assert plt.get_fignums() == []

    def test_a_class_of_the_same_name(self, frame):
        model = kditransform.KDIDiscretizer().fit(frame.to_numpy())
        with pytest.raises(TypeError, match=r"got kdi\.compat\.kditransform\.KDIDiscretizer\."):
            from_estimator(model)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError, match="KDIDiscretizer"):
            from_estimator(kdi.KDIDiscretizer())

    def test_a_step_of_a_pipeline(self, frame):
        model = make_pipeline(StandardScaler(), kdi.KDIDiscretizer()).fit(frame)
        assert from_estimator(model[-1]).ax_.get_xlabel() == "x0"

    def test_in_given_axes(self, model):
        _, (left, right) = plt.subplots(1, 2)
        display = from_estimator(model, ax=right)
        assert display.ax_ is right
        assert not left.has_data()
        assert len(plt.get_fignums()) == 1

    def test_the_model_is_left_alone(self, model, frame):
        before, values = model.to_json(), frame.copy()
        from_estimator(model, X=frame)
        assert model.to_json() == before
        assert_array_equal(frame, values)
