"""kdi.correlation: everything that is refused or warned of, and what is said of it."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import kdi

X, Y = np.array([0.3, 1.9, 4.0, 2.2, 9.1, 3.3]), np.array([1.0, 0.2, 8.3, 5.5, 6.1, 0.9])
TOO_SMALL = re.escape(
    "After omitting NaNs, one or more sample arguments is too small; all returned values will be NaN."
)
CONSTANT = re.escape("An input array is constant; the correlation coefficient is not defined.")
EVERY_ALPHA = pytest.mark.parametrize("alpha", [0, 0.3, 1.0, "scott", np.inf])


def small_sample_warning():
    """scipy's own category, wherever this version keeps it, and a RuntimeWarning in any case."""
    return getattr(stats, "SmallSampleWarning", RuntimeWarning)


class TestSamples:
    @pytest.mark.parametrize(
        ("x", "y", "axis", "said", "shown"),
        [
            (X, Y[:5], 0, "`x` and `y` must be broadcastable", ["6", "5"]),
            (np.ones((6, 2)), np.ones((6, 3)), 0, "`x` and `y` must be broadcastable", ["(6, 2)", "(6, 3)"]),
            (X, np.ones((6, 2)), 0, "`x` and `y` must be broadcastable", ["(6,)", "(6, 2)"]),
            (X, Y[:1], 0, "`x` and `y` must have the same length along `axis`", ["6", "1"]),
            (np.ones((3, 6)), np.ones((3, 1)), 1, "`x` and `y` must have the same length along `axis`", ["6", "1"]),
            (np.ones((3, 6)), Y, 0, "`x` and `y` must have the same length along `axis`", ["3", "1"]),
            (X.reshape(2, 3), Y[:5], None, "`x` and `y` must be broadcastable", ["6", "5"]),
            (X[:1], Y[:1], 0, "`x` and `y` must have length at least 2", ["1"]),
            ([], [], 0, "`x` and `y` must have length at least 2", ["0"]),
            (np.ones((3, 1)), np.ones((3, 1)), 1, "`x` and `y` must have length at least 2", ["1"]),
        ],
    )
    def test_shapes(self, x, y, axis, said, shown):
        with pytest.raises(ValueError, match=re.escape(said)) as caught:
            kdi.correlation(x, y, axis=axis)
        for word in shown:
            assert word in str(caught.value).replace(said, "")

    @pytest.mark.parametrize("place", ["x", "y"])
    @pytest.mark.parametrize(
        "bad",
        [
            np.array(list("abcdef")),
            ["1", "2", "3", "4", "5", "6"],
            np.array([1, 2, "three", 4, 5, 6], dtype=object),
            [{}, 1, 2, 3, 4, 5],
            np.array(["2020-01-01"] * 6, dtype="datetime64[D]"),
        ],
        ids=["text", "digits", "a-word", "a-dict", "dates"],
    )
    def test_not_numbers(self, bad, place):
        with pytest.raises(ValueError, match=rf"(^|\W){place}\W"):
            kdi.correlation(**{"x": X, "y": Y, place: bad})

    @pytest.mark.parametrize("pair", [(X + 1j, Y), (X, Y + 1j)], ids=["x", "y"])
    def test_complex(self, pair):
        with pytest.raises(ValueError, match="This function does not support complex data"):
            kdi.correlation(*pair)


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "bad", "said"),
        [
            ("alpha", -1.0, ["alpha", "-1.0", "scott"]),
            ("alpha", np.nan, ["alpha", "nan", "scott"]),
            ("alpha", -np.inf, ["alpha", "-inf", "scott"]),
            ("alpha", "cv", ["alpha", "'cv'", "scott", "silverman"]),
            ("alpha", None, ["alpha", "None"]),
            ("alpha", True, ["alpha", "True"]),
            ("alpha", 1j, ["alpha", "1j"]),
            ("alpha", (1.0, -2.0), ["alpha", "-2.0"]),
            ("alpha", ("cv", 1.0), ["alpha", "'cv'"]),
            ("alpha", (1.0,), ["alpha", "1"]),
            ("alpha", (1.0, 2.0, 3.0), ["alpha", "3"]),
            ("alpha", np.ones((2, 2)), ["alpha"]),
            ("kernel", "triangle", ["kernel", "'triangle'", "polyexp", "gaussian"]),
            ("kernel", None, ["kernel", "None", "polyexp", "gaussian"]),
            ("order", 0, ["order", "0"]),
            ("order", 1.5, ["order", "1.5"]),
            ("order", True, ["order", "True"]),
            ("alternative", "both", ["`alternative` must be 'less', 'greater', or 'two-sided'", "both"]),
            ("alternative", None, ["`alternative` must be 'less', 'greater', or 'two-sided'", "None"]),
            ("nan_policy", "drop", ["nan_policy must be one of {'omit', 'propagate', 'raise'}", "drop"]),
            ("nan_policy", None, ["nan_policy must be one of {'omit', 'propagate', 'raise'}", "None"]),
            ("axis", 0.5, ["`axis` must be an integer", "0.5"]),
            ("axis", "0", ["`axis` must be an integer", "'0'"]),
            (
                "method",
                "exact",
                ["`method` must be an instance of `PermutationMethod`, `MonteCarloMethod`, or None", "'exact'"],
            ),
            (
                "method",
                stats.BootstrapMethod(),
                ["`method` must be an instance of `PermutationMethod`, `MonteCarloMethod`, or None", "BootstrapMethod"],
            ),
            (
                "method",
                stats.PermutationMethod,
                ["`method` must be an instance of `PermutationMethod`, `MonteCarloMethod`, or None"],
            ),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_values(self, name, bad, said):
        with pytest.raises(ValueError) as caught:
            kdi.correlation(X, Y, **{name: bad})
        for word in said:
            assert word in str(caught.value)

    @pytest.mark.parametrize(("axis", "shape"), [(1, (6,)), (-2, (6,)), (2, (6, 6)), (-3, (6, 6))])
    def test_axis_out_of_bounds(self, axis, shape):
        with pytest.raises(np.exceptions.AxisError):
            kdi.correlation(np.ones(shape), np.ones(shape), axis=axis)

    def test_options_have_names(self):
        with pytest.raises(TypeError):
            kdi.correlation(X, Y, 1.0)

    def test_text_as_one_alpha_is_no_pair(self):
        with pytest.raises(ValueError, match="alpha"):
            kdi.correlation(X, Y, alpha="ab")

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ([1, 1, -0.5, 1, 1, 1], "negative.*-0.5"),
            ([1, 1, np.nan, 1, 1, 1], "nan"),
            ([1, 1, np.inf, 1, 1, 1], "finite"),
            ([0, 0, 0, 0, 0, 0], "zero|positive"),
            ([1, 1, 1], r"\(6,\).*\(3,\)"),
            (np.ones((6, 1)), r"\(6, 1\)"),
            (["a"] * 6, "number"),
        ],
        ids=["negative", "nan", "inf", "zero", "short", "2d", "text"],
    )
    def test_weights(self, weights, said):
        with pytest.raises(ValueError, match=f"weights.*{said}"):
            kdi.correlation(X, Y, weights=weights)

    @pytest.mark.parametrize("method", [stats.PermutationMethod(n_resamples=9), stats.MonteCarloMethod(n_resamples=9)])
    def test_resampling_takes_integer_weights(self, method):
        with pytest.raises(ValueError, match=r"weights must be integers.*1\.5"):
            kdi.correlation(X, Y, weights=[1, 1.5, 1, 1, 1, 1], method=method)

    def test_a_bootstrap_takes_integer_weights(self):
        result = kdi.correlation(X, Y, weights=[1, 1.5, 1, 1, 1, 1])
        with pytest.raises(ValueError, match=r"weights must be integers.*1\.5"):
            result.confidence_interval(method=stats.BootstrapMethod(n_resamples=9))


class TestIntervals:
    @pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, 95, np.nan])
    @pytest.mark.parametrize("method", [None, stats.BootstrapMethod(n_resamples=9)], ids=["fisher", "bootstrap"])
    def test_levels(self, level, method):
        with pytest.raises(ValueError, match=f"confidence_level.*{level}"):
            kdi.correlation(X, Y).confidence_interval(level, method)

    @pytest.mark.parametrize("method", ["BCa", stats.PermutationMethod(), stats.BootstrapMethod], ids=str)
    def test_methods(self, method):
        said = "`method` must be an instance of `BootstrapMethod` or None"
        with pytest.raises(ValueError, match=said):
            kdi.correlation(X, Y).confidence_interval(method=method)


class TestMissing:
    @pytest.mark.parametrize("pair", [(np.r_[X, np.nan], np.r_[Y, 1]), (np.r_[X, 1], np.r_[Y, np.nan])])
    def test_refused_when_told(self, pair):
        with pytest.raises(ValueError, match="The input contains nan values"):
            kdi.correlation(*pair, nan_policy="raise")

    @EVERY_ALPHA
    @pytest.mark.parametrize("n_left", [0, 1])
    def test_too_few_are_left(self, n_left, alpha):
        x, y = X.copy(), Y.copy()
        x[:3], y[3 : 6 - n_left] = np.nan, np.nan
        with pytest.warns(small_sample_warning(), match=TOO_SMALL) as caught:
            result = kdi.correlation(x, y, alpha=alpha, nan_policy="omit")
        assert len(caught) == 1
        assert np.isnan(result).all()

    def test_too_few_are_left_in_one_slice(self):
        x, y = np.column_stack([X, X]), np.column_stack([Y, Y])
        x[1:, 0] = np.nan
        with pytest.warns(small_sample_warning(), match=r"After omitting NaNs, one or more"):
            result = kdi.correlation(x, y, nan_policy="omit")
        assert_array_equal(np.isnan(result.statistic), [True, False])
        assert_allclose(np.array(result)[:, 1], kdi.correlation(X, Y), rtol=0, atol=1e-13)

    def test_two_left_are_enough(self):
        x = np.where(np.arange(6) < 2, X, np.nan)
        assert tuple(kdi.correlation(x, Y, nan_policy="omit")) == (-1, 1)

    def test_where_it_points(self):
        """The warning names this file, not one of kdi's."""
        with pytest.warns(stats.ConstantInputWarning) as caught:
            kdi.correlation(X, np.ones(6))
        assert caught[0].filename == __file__


class TestConstant:
    @EVERY_ALPHA
    @pytest.mark.parametrize(
        "pair",
        [(X, np.full(6, 3.0)), (np.zeros(6), Y), (np.ones(6), np.ones(6)), (X[:2], np.ones(2))],
        ids=["y", "x", "both", "two-rows"],
    )
    def test_alone(self, pair, alpha):
        with pytest.warns(stats.ConstantInputWarning, match=CONSTANT) as caught:
            result = kdi.correlation(*pair, alpha=alpha)
        assert len(caught) == 1
        assert np.isnan(result).all()
        if len(pair[0]) > 3:
            assert np.isnan(result.confidence_interval()).all()

    @EVERY_ALPHA
    def test_in_one_slice(self, alpha):
        x, y = np.column_stack([X, np.ones(6)]), np.column_stack([Y, Y])
        with pytest.warns(stats.ConstantInputWarning, match=CONSTANT) as caught:
            result = kdi.correlation(x, y, alpha=alpha)
        assert len(caught) == 1
        assert_array_equal(np.isnan(result.statistic), [False, True])
        assert_allclose(np.array(result)[:, 0], kdi.correlation(X, Y, alpha=alpha), rtol=0, atol=1e-13)

    def test_once_the_missing_are_left_out(self):
        x = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 1.0])
        y = np.where(np.arange(6) == 4, np.nan, Y)
        with pytest.warns(stats.ConstantInputWarning, match=CONSTANT):
            assert np.isnan(kdi.correlation(x, y, nan_policy="omit")).all()

    def test_once_the_weightless_are_left_out(self):
        with pytest.warns(stats.ConstantInputWarning, match=CONSTANT):
            assert np.isnan(kdi.correlation([1.0, 1.0, 1.0, 2.0], Y[:4], weights=[1, 2, 1, 0])).all()

    def test_one_row_repeated(self):
        """By its weight: as np.repeat would have it."""
        with pytest.warns(stats.ConstantInputWarning, match=CONSTANT):
            assert np.isnan(kdi.correlation(X, Y, weights=[0, 0, 3, 0, 0, 0])).all()

    def test_a_constant_next_to_nan_is_not_called_constant(self):
        """NaN, as of any slice that holds NaN; and silent, as scipy is."""
        assert np.isnan(kdi.correlation(np.where(np.arange(6) == 4, np.nan, 1.0), Y)).all()


class TestInfinite:
    @pytest.mark.parametrize("alpha", [0.3, 1.0, "scott", np.inf, (0, 1.0)], ids=str)
    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    @pytest.mark.parametrize("place", [0, 1])
    def test_not_a_number_with_a_warning(self, place, bad, alpha):
        pair = [X.copy(), Y.copy()]
        pair[place][2] = bad
        if alpha == (0, 1.0) and place == 0:  # ranked there
            assert np.isfinite(kdi.correlation(*pair, alpha=alpha)).all()
            return
        with pytest.warns(RuntimeWarning):
            result = kdi.correlation(*pair, alpha=alpha)
        assert np.isnan(result).all()

    def test_in_one_slice(self):
        x, y = np.column_stack([X, X]), np.column_stack([Y, Y])
        x[0, 1] = np.inf
        with pytest.warns(RuntimeWarning):
            result = kdi.correlation(x, y)
        assert_array_equal(np.isnan(result.statistic), [False, True])
        assert result.statistic[0] == pytest.approx(kdi.correlation(X, Y).statistic, abs=1e-13)

    @pytest.mark.parametrize("nan_policy", ["omit", "raise"])
    def test_is_not_missing(self, nan_policy):
        x = np.where(np.arange(6) == 3, np.inf, X)
        with pytest.warns(RuntimeWarning):
            assert np.isnan(kdi.correlation(x, Y, nan_policy=nan_policy).statistic)
