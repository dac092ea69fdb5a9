"""kdi.KDIDisplay: curves, densities before and after, and what a picture says of what it leaves out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from display_parts import density_above, legend, notes, spikes
from marginal_oracle import reflected, scott
from numpy.testing import assert_allclose, assert_array_equal
from oracle import transform
from sklearn.datasets import load_wine

import kdi

NAMES = ["normal", "lognormal", "cauchy", "count"]


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=NAMES)


@pytest.fixture
def values(rng):
    return rng.lognormal(size=400)


class TestCurves:
    @pytest.mark.parametrize("alpha", [0, 0.1, 1, np.inf])
    @pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
    def test_are_the_transformation(self, values, alpha, kernel):
        display = kdi.KDIDisplay.from_data(values, alpha=alpha, kernel=kernel)
        x, y = display.lines_[0].get_data()
        assert x[0] == values.min() and x[-1] == values.max()
        assert_allclose(y, transform(values, x, alpha, kernel), rtol=0, atol=1e-6)
        fitted = kdi.KDITransformer(alpha, kernel=kernel).fit(values[:, None])
        assert_allclose(y, fitted.transform(x[:, None])[:, 0], rtol=0, atol=1e-14)

    def test_the_papers_figure(self):
        """Malic acid of Wine: the quantile transform, the KD-integral and min-max scaling, in this order."""
        malic = load_wine().data[:, 1]
        display = kdi.KDIDisplay.from_data(malic, name="malic acid")
        assert legend(display) == ["quantile, alpha = 0", "KD-integral, alpha = 1", "min-max, alpha = ∞"]
        assert display.ax_.get_xlabel() == "malic acid"
        assert display.ax_.get_ylabel() == "T(x)"
        for line, alpha in zip(display.lines_, (0, 1, np.inf), strict=True):
            x, y = line.get_data()
            assert_allclose(y, transform(malic, x, alpha, "polyexp"), rtol=0, atol=1e-6)

    def test_rules_and_orders(self, values):
        display = kdi.KDIDisplay.from_data(values, alpha=["scott", 1], order=2)
        model = kdi.KDITransformer("scott", order=2).fit(values[:, None])
        x, y = display.lines_[0].get_data()
        assert_allclose(y, model.transform(x[:, None])[:, 0], rtol=0, atol=1e-14)
        assert display.alphas[0] == model.alpha_[0]

    def test_weights_are_repetitions(self, rng):
        values, weights = rng.normal(size=50), rng.integers(0, 4, size=50)
        weighted = kdi.KDIDisplay.from_data(values, weights=weights)
        repeated = kdi.KDIDisplay.from_data(np.repeat(values, weights))
        assert_array_equal(weighted.x, repeated.x)
        assert_allclose(weighted.curves, repeated.curves, rtol=0, atol=1e-12)

    def test_missing_values_are_left_out(self, values):
        display = kdi.KDIDisplay.from_data(np.append(values, [np.nan, np.nan]))
        assert_array_equal(display.curves, kdi.KDIDisplay.from_data(values).curves)

    def test_float32_and_lists(self, values):
        short = values.astype(np.float32)
        expected = kdi.KDIDisplay.from_data(short.astype(float))
        for given in (short, short.tolist(), pd.Series(short), pl.Series(short)):
            display = kdi.KDIDisplay.from_data(given)
            assert_array_equal(display.curves, expected.curves)
            assert_array_equal(display.before, expected.before)

    def test_many_values(self, rng):
        values = rng.normal(size=200_000)
        display = kdi.KDIDisplay.from_data(values, alpha=1)
        assert len(display.x) < 2000
        model = kdi.KDITransformer().fit(values[:, None])
        assert_allclose(display.curves[0], model.transform(display.x[:, None])[:, 0], rtol=0, atol=2e-6)

    def test_values_are_left_alone(self, values):
        values.flags.writeable = False
        before = values.copy()
        kdi.KDIDisplay.from_data(values)
        assert_array_equal(values, before)


class TestDensities:
    def test_before_is_above(self, values):
        at, heights = density_above(kdi.KDIDisplay.from_data(values))
        assert_allclose(heights, reflected(values, scott(values), values.min(), values.max(), at), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("alpha", [0, 0.3, 1, np.inf])
    def test_after_is_at_the_right(self, values, alpha):
        display = kdi.KDIDisplay.from_data(values, alpha=alpha)
        (line,) = display.beside_.lines
        heights, at = line.get_data()
        after = transform(values, values, alpha, "polyexp")
        assert_allclose(heights, reflected(after, scott(after), 0, 1, at), rtol=1e-3, atol=1e-4)

    def test_after_quantiles_it_is_level(self, values):
        display = kdi.KDIDisplay.from_data(values, alpha=0)
        assert_allclose(display.beside_.lines[0].get_xdata(), 1, atol=0.02)

    def test_of_a_coarse_sketch(self, rng):
        """A sketch that was made for alpha = 1 knows enough of the densities."""
        values = rng.normal(size=(100_000, 1))
        model = kdi.KDITransformer().fit(values)
        assert not model.sketches_[0].is_exact
        display = kdi.KDIDisplay.from_estimator(model)
        at, heights = density_above(display)
        inner = at[::100]
        expected = reflected(values[:, 0], scott(values), values.min(), values.max(), inner)
        assert_allclose(heights[::100], expected, rtol=0, atol=0.01 * expected.max())
        heights, at = display.beside_.lines[0].get_data()
        after = model.transform(values)[:, 0]
        expected = reflected(after, scott(after), 0, 1, at[::100])
        assert_allclose(heights[::100], expected, rtol=0, atol=0.01 * expected.max())

    def test_one_that_is_far_higher_is_cut_and_noted(self, rng):
        values = np.append(rng.normal(size=1000), 1e4)
        display = kdi.KDIDisplay.from_data(values)
        assert any(note.startswith("to ") and note.endswith("▸") for note in notes(display))
        quantile = display.beside_.lines[0].get_xdata().max()
        assert display.beside_.get_xlim()[1] < 5 * quantile

    def test_nothing_is_cut_of_one(self, rng):
        display = kdi.KDIDisplay.from_data(np.append(rng.normal(size=1000), 1e4), alpha=np.inf)
        assert not any(note.startswith("to ") for note in notes(display))
        assert display.beside_.lines[0].get_xdata().max() <= display.beside_.get_xlim()[1]


class TestOutliers:
    def test_the_axis_ends_before_them_and_says_so(self, rng):
        values = np.concatenate([rng.normal(size=1000), [-12345.6, 2e4]])
        display = kdi.KDIDisplay.from_data(values)
        low, high = display.ax_.get_xlim()
        assert -10 < low < -2 and 2 < high < 10
        assert notes(display)[:2] == ["◂ from -12,346", "on to 20,000 ▸"]

    def test_unless_all_is_asked_for(self, rng):
        values = np.append(rng.normal(size=1000), 2e4)
        display = kdi.KDIDisplay.from_data(values, show_all=True)
        assert display.ax_.get_xlim()[1] > 2e4
        assert not any("on to" in note for note in notes(display))

    def test_no_notes_without(self, rng):
        values = rng.normal(size=1000)
        display = kdi.KDIDisplay.from_data(values, alpha=1)
        low, high = display.ax_.get_xlim()
        assert low < values.min() and values.max() < high
        assert notes(display) == []


class TestEstimator:
    @pytest.mark.parametrize("feature", ["lognormal", 1, np.int64(1)])
    def test_by_name_and_position(self, frame, feature):
        model = kdi.KDITransformer([0.1, 0.5, 1, 3]).fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, feature=feature)
        assert display.ax_.get_xlabel() == "lognormal"
        assert legend(display) == ["KD-integral, alpha = 0.5"]
        x, y = display.lines_[0].get_data()
        rows = np.tile(frame.to_numpy()[:1], (len(x), 1))
        rows[:, 1] = x
        assert_array_equal(y, model.transform(pd.DataFrame(rows, columns=NAMES))[:, 1])

    def test_numbers_for_names(self, table):
        display = kdi.KDIDisplay.from_estimator(kdi.KDITransformer().fit(table), feature=2)
        assert display.ax_.get_xlabel() == "x2"

    def test_polars(self, frame):
        X = pl.DataFrame(frame.to_numpy(), schema=NAMES)
        model = kdi.KDITransformer().fit(X)
        display = kdi.KDIDisplay.from_estimator(model, feature="lognormal", X=X)
        expected = kdi.KDIDisplay.from_estimator(kdi.KDITransformer().fit(frame), feature=1, X=frame)
        assert_array_equal(display.curves, expected.curves)
        assert_array_equal(display.before, expected.before)

    def test_of_tuned_alphas(self, frame):
        model = kdi.KDITransformerCV([0.1, 1, np.inf]).fit(frame, frame["normal"] + np.log(frame["lognormal"]))
        display = kdi.KDIDisplay.from_estimator(model, feature="lognormal")
        assert_array_equal(display.alphas, model.alpha_[[1]])

    def test_normal_output(self, frame):
        model = kdi.KDITransformer(output_distribution="normal").fit(frame)
        display = kdi.KDIDisplay.from_estimator(model)
        assert display.ax_.get_ylabel() == "normal score of T(x)"
        y = display.lines_[0].get_ydata()
        at_ends = model.transform(frame)[:, 0]
        assert y[0] == at_ends.min() < -5 and y[-1] == at_ends.max() > 5
        low, high = display.ax_.get_ylim()
        assert low < y[0] and y[-1] < high

    @pytest.mark.parametrize(
        "options, limits",
        [
            ({"bounded": False}, (0, 1)),
            ({"feature_range": (-1, 1)}, (-1, 1)),
            ({"feature_range": (10, 10.5), "bounded": False, "spread": "robust"}, (10, 10.5)),
        ],
        ids=str,
    )
    def test_levels_reach_from_limit_to_limit(self, options, limits, frame):
        """The axis and the density after end at the limits, as no level lies beyond."""
        model = kdi.KDITransformer(**options).fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, feature="lognormal", X=frame)
        x, y = display.lines_[0].get_data()
        assert_allclose(y, model.transform(frame.iloc[[0] * len(x)].assign(lognormal=x))[:, 1], rtol=0, atol=1e-14)
        levels, heights = display.after[0]
        assert (levels[0], levels[-1]) == limits
        assert np.trapezoid(heights, levels) == pytest.approx(1, abs=1e-3)
        padding = 0.03 * (limits[1] - limits[0])
        assert_allclose(display.ax_.get_ylim(), (limits[0] - padding, limits[1] + padding))

    def test_normal_scores_without_spikes(self, frame):
        model = kdi.KDITransformer(bounded=False, output_distribution="normal").fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, X=frame)
        assert display.ax_.get_ylabel() == "normal score of T(x)"
        y, scores = display.lines_[0].get_ydata(), model.transform(frame)[:, 0]
        assert (y[0], y[-1]) == (scores.min(), scores.max())
        assert -4 < y[0] < -1.5 and 1.5 < y[-1] < 4
        levels, heights = display.after[0]
        assert_allclose(heights, reflected(scores, scott(scores), y[0], y[-1], levels), rtol=1e-4, atol=1e-5)

    def test_a_constant_in_the_middle_of_a_range(self):
        model = kdi.KDITransformer(bounded=False, feature_range=(10, 20)).fit([[3.0], [3.0]])
        display = kdi.KDIDisplay.from_estimator(model)
        display.figure_.canvas.draw()
        assert_array_equal(display.lines_[0].get_data(), [[3], [15]])

    def test_data_of_another_range(self, frame):
        """Clipped: what lies beyond is 0 or 1."""
        model = kdi.KDITransformer().fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, X=frame * 2)
        x, y = display.lines_[0].get_data()
        assert x[0] == 2 * frame["normal"].min() and x[-1] == 2 * frame["normal"].max()
        assert y[0] == 0 and y[-1] == 1
        at, heights = density_above(display)
        doubled = 2 * frame["normal"].to_numpy()
        assert_allclose(heights, reflected(doubled, scott(doubled), at[0], at[-1], at), rtol=1e-6, atol=1e-8)

    def test_out_of_range_is_missing(self, frame):
        model = kdi.KDITransformer(out_of_range="nan").fit(frame)
        x, y = kdi.KDIDisplay.from_estimator(model, X=frame * 2).lines_[0].get_data()
        inside = (x >= frame["normal"].min()) & (x <= frame["normal"].max())
        assert_array_equal(np.isnan(y), ~inside)

    def test_out_of_range_goes_on(self, frame):
        model = kdi.KDITransformer(out_of_range="linear").fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, X=frame * 2)
        _, y = display.lines_[0].get_data()
        low, high = display.ax_.get_ylim()
        assert low < y[0] < 0 and 1 < y[-1] < high

    @pytest.mark.parametrize("out_of_range", ["clip", "nan"])
    def test_all_is_out_of_range(self, frame, out_of_range):
        model = kdi.KDITransformer(out_of_range=out_of_range).fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, X=frame + 1000)
        display.figure_.canvas.draw()
        assert spikes(display.beside_) == ([[[0, 1], [1, 1]]] if out_of_range == "clip" else [])

    def test_after_min_max_densities_need_the_data(self, rng):
        X = rng.normal(size=(100_000, 1))
        model = kdi.KDITransformer(np.inf).fit(X)
        display = kdi.KDIDisplay.from_estimator(model)
        assert display.before is None and display.after is None
        assert notes(display) == ["pass X= for densities"]
        assert notes(kdi.KDIDisplay.from_estimator(model, X=X)) == []

    @pytest.mark.parametrize("given", [False, True])
    def test_without_densities_nothing_is_cut(self, rng, given):
        """An outlier so far that cells are wider than all the rest, which then cannot be told from outliers."""
        X = np.append(rng.normal(size=100_000), 1e20)[:, None]
        model = kdi.KDITransformer(np.inf).fit(X)
        display = kdi.KDIDisplay.from_estimator(model, X=X if given else None)
        assert notes(display) == ["values too far apart for densities" if given else "pass X= for densities"]
        assert display.shown is None and display.ax_.get_xlim()[1] > 1e20

    def test_of_a_saved_model(self, frame):
        model = kdi.KDITransformer().fit(frame)
        again = kdi.KDIDisplay.from_estimator(kdi.KDITransformer.from_json(model.to_json()), feature=1)
        assert_array_equal(again.curves, kdi.KDIDisplay.from_estimator(model, feature=1).curves)

    def test_of_parts(self, frame):
        whole, parts = kdi.KDITransformer().fit(frame), kdi.KDITransformer()
        for start in range(0, 500, 100):
            parts.partial_fit(frame[start : start + 100])
        one, other = (kdi.KDIDisplay.from_estimator(model, feature=1) for model in (whole, parts))
        assert_allclose(np.interp(one.x, other.x, other.before), one.before, rtol=0, atol=1e-3 * one.before.max())


class TestFewValues:
    @pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, np.nan]])
    def test_a_constant(self, values):
        display = kdi.KDIDisplay.from_data(values, alpha=1)
        display.figure_.canvas.draw()
        assert_array_equal(display.lines_[0].get_data(), [[3], [0]])
        assert spikes(display.above_) == [[[3, 0], [3, 1]]]
        assert spikes(display.beside_) == [[[0, 0], [1, 0]]]
        assert notes(display) == []

    def test_data_that_is_constant(self, frame):
        display = kdi.KDIDisplay.from_estimator(kdi.KDITransformer().fit(frame), X=frame[:1])
        assert spikes(display.above_) == [[[frame["normal"][0], 0], [frame["normal"][0], 1]]]
        assert len(spikes(display.beside_)) == 1

    def test_two_values(self):
        display = kdi.KDIDisplay.from_data([1.0, 2.0])
        display.figure_.canvas.draw()
        assert_array_equal(display.curves[:, [0, -1]], [[0, 1]] * 3)

    @pytest.mark.parametrize("values", [[0, 5e-324], [0, 1e-320, 5e-310], [-1e300, 0, 1e300]], ids=str)
    def test_at_the_ends_of_numbers(self, values):
        display = kdi.KDIDisplay.from_data(values)
        display.figure_.canvas.draw()
        assert_array_equal(display.curves[:, [0, -1]], [[0, 1]] * 3)

    def test_a_feature_without_values(self, table):
        table[:, 1] = np.nan
        with pytest.warns(UserWarning, match="only NaN"):
            model = kdi.KDITransformer().fit(table)
        display = kdi.KDIDisplay.from_estimator(model, feature=1)
        display.figure_.canvas.draw()
        assert [text.get_text() for text in display.ax_.texts] == ["no values"]
        assert display.x.shape == (0,) and display.curves.shape == (1, 0)

    def test_data_without_values(self, frame):
        model = kdi.KDITransformer().fit(frame)
        display = kdi.KDIDisplay.from_estimator(model, X=frame * np.nan)
        assert [text.get_text() for text in display.ax_.texts] == ["no values"]


class TestFromNumbers:
    def test_without_densities(self):
        display = kdi.KDIDisplay(x=[0, 1, 2], curves=[[0, 0.4, 1]], alphas=[1])
        assert not hasattr(display, "ax_")
        assert display.plot() is display
        assert_array_equal(display.lines_[0].get_data(), [[0, 1, 2], [0, 0.4, 1]])
        assert notes(display) == []

    def test_a_part_of_the_axis(self):
        display = kdi.KDIDisplay(x=[0, 1, 2], curves=[[0, 0.4, 1]], alphas=[1], shown=[0.5, 1]).plot()
        assert display.ax_.get_xlim() == (0.5, 1)
        assert notes(display) == ["◂ from 0", "on to 2 ▸"]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"x": [0, 0]}, "x must be finite numbers, ascending"),
            ({"x": [1, 0]}, "x must be finite numbers, ascending"),
            ({"x": [[0, 1]]}, "x must be finite numbers, ascending"),
            ({"x": [0, np.inf]}, "x must be finite numbers, ascending"),
            ({"x": ["a", "b"]}, "x must be real numbers"),
            ({"alphas": [-1]}, "alphas must be"),
            ({"alphas": [np.nan]}, "alphas must be"),
            ({"alphas": []}, "alphas must be"),
            ({"alphas": [0, 1]}, r"curves must have shape \(2, 2\).*got \(1, 2\)"),
            ({"curves": [0, 1]}, r"curves must have shape \(1, 2\).*got \(2,\)"),
            ({"before": [1]}, r"before must have the shape of x, \(2,\), got \(1,\)"),
            ({"after": []}, r"after must have one pair per alpha \(1\), got 0"),
            ({"after": [([0, 1], [1])]}, "after must be pairs"),
            ({"after": [[0.5]]}, "after must be pairs"),
            ({"after": [3]}, "after must be pairs"),
            ({"shown": [0]}, "shown must be two finite numbers"),
            ({"shown": 1.0}, "shown must be two finite numbers"),
            ({"shown": (1, 0)}, r"shown must be two finite numbers.*got \(1, 0\)"),
            ({"shown": (0, np.inf)}, "shown must be two finite numbers"),
            ({"shown": (np.nan, 1)}, "shown must be two finite numbers"),
            ({"shown": "ab"}, "shown must be real numbers"),
        ],
    )
    def test_numbers_that_do_not_fit(self, given, said):
        right = {"x": [0, 1], "curves": [[0, 1]], "alphas": [1]}
        with pytest.raises(ValueError, match=said):
            kdi.KDIDisplay(**right | given)
