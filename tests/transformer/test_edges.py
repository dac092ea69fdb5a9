"""Corners where a plausible implementation goes wrong: each of these once did."""

import struct
import zlib

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kdi
from kdi import KDE1D, KDITransformer, Sketch


def fitted_error(model, values, at, alpha, kernel="polyexp"):
    """Largest error of a fitted model at points, and what it promises."""
    exact = oracle.transform(values, at, alpha, kernel)
    return abs(model.transform(at[:, None])[:, 0] - exact).max(), model.error_bound_[0]


def test_the_compiled_core_is_there():
    """A build that failed installs all the same, but the tests are of the compiled core."""
    from kdi._numerics import _core

    assert set(dir(_core)) >= {"scan", "fill", "integrate", "cubics", "forward", "inverse", "levels", "slopes"}


def test_a_chunk_far_beyond_the_cells_of_the_first(rng):
    first, second = rng.normal(size=40_000), np.append(rng.normal(size=9_999), 1e18)
    model = KDITransformer().partial_fit(first[:, None]).partial_fit(second[:, None])
    values = np.append(first, second)
    error, bound = fitted_error(model, values, np.linspace(values.min(), 1e18, 200), 1.0)
    assert error <= bound <= 1e-6


def test_sums_of_sketches_far_apart(rng):
    total = Sketch.from_values(rng.normal(size=40_000)) + Sketch.from_values([1e30])
    assert (total.count, total.maximum) == (40_001, 1e30)
    again = Sketch.from_bytes(total.to_bytes())
    assert_array_equal(again.keys, total.keys)


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_cells_that_are_too_coarse_promise_nothing(rng, kernel):
    values = rng.normal(size=200_000)
    model = KDITransformer(np.inf, kernel=kernel).fit(values[:, None])
    model.set_params(alpha=1.0).partial_fit(values[:5, None])
    error, bound = fitted_error(model, np.append(values, values[:5]), np.linspace(-4, 4, 50), 1.0, kernel=kernel)
    assert error <= bound <= 1
    result = model.transform(np.linspace(-4, 4, 1000)[:, None])[:, 0]
    assert (np.diff(result) >= 0).all()


@pytest.mark.parametrize("unit", [1e152, 1e153, 1e154, 1e155, 1e300])
def test_squares_that_overflow(rng, unit):
    values = rng.normal(size=5_000)
    model = KDITransformer().fit(values[:, None] * unit)
    expected = KDITransformer().fit(values[:, None])
    at = np.linspace(values.min(), values.max(), 300)[:, None]
    assert_allclose(model.transform(at * unit), expected.transform(at), rtol=0, atol=1e-6)
    assert 0 <= model.error_bound_[0] <= 1e-6


def test_ranks_among_outliers(rng):
    """All values but one in the first bucket of the guide."""
    values = np.append(rng.normal(size=20_000), 1e12)
    result = KDITransformer(0).fit_transform(values[:, None])[:, 0]
    assert_allclose(result, (np.argsort(np.argsort(values))) / (len(values) - 1), rtol=0, atol=1e-15)


def test_ranks_of_many_values(rng):
    values = rng.permutation(300_000).astype(float)
    result = KDITransformer(0).fit_transform(values[:, None])[:, 0]
    assert_allclose(result, values / (len(values) - 1), rtol=0, atol=1e-15)


def test_few_knots_keep_the_ends():
    values, weights = np.arange(10.0)[:, None], np.append(np.ones(8), [1e-20, 1e-20])
    model = KDITransformer(0, max_knots=5, out_of_range="nan").fit(values, sample_weight=weights)
    assert not np.isnan(model.transform(values)).any()


def test_lines_beyond_the_ends_lead_back(rng):
    values = np.append(rng.normal(30, 1, size=500), 0.0)
    weights = np.append(np.ones(500), 1e-18)
    for alpha in (0, 0.1, 1.0):
        for kernel in ("polyexp", "gaussian"):
            model = KDITransformer(alpha, kernel=kernel, out_of_range="linear")
            model.fit(values[:, None], sample_weight=weights)
            result = model.transform([[-1e6], [0.0], [values.max()], [1e6]])[:, 0]
            assert (np.diff(result) > 0).all()
            assert np.isfinite(model.inverse_transform([[-0.5], [1.5]])).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends_come_back_from_normal_scores(rng, dtype):
    values = rng.normal(size=(500, 1)).astype(dtype)
    model = KDITransformer(output_distribution="normal").fit(values)
    ends = np.array([values.min(), values.max()])[:, None]
    assert_array_equal(model.inverse_transform(model.transform(ends)), ends)


def test_weights_of_a_sketch_are_its_own():
    with pytest.raises(ValueError, match="weights"):
        KDE1D(Sketch.from_values([1.0, 2.0]), weights=[1.0, 2.0])


def test_no_sketch_is_shared_by_a_sum():
    one = Sketch.from_values([1.0, 2.0])
    sum([one]).add([3.0])
    assert one.count == 2


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_bandwidths_of_a_bound(bad):
    with pytest.raises(ValueError, match="bandwidth"):
        Sketch.from_values([1.0, 2.0]).error_bound(bad)


def test_range_that_float64_cannot_hold():
    with pytest.raises(ValueError, match="values"):
        KDE1D([-1.7e308, 1.7e308])
    assert Sketch.from_values([-1.7e308, 1.7e308], cell_width=1.0).count == 2


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_densities_that_float64_cannot_hold(kernel):
    """The distribution is that of 0 and 1 in another unit; the density of 2^1073 per unit is infinite as a float64."""
    values, smallest = np.array([0.0, 1.0, 1.0, 7.0]), 5e-324
    kde = KDE1D(values * smallest, alpha=1.0, kernel=kernel)
    exact = oracle.cdf(values, np.arange(-2.0, 10.0), oracle.spread(values), kernel)
    assert abs(kde.cdf(np.arange(-2.0, 10.0) * smallest) - exact).max() <= kde.error_bound <= 1e-9
    assert abs(kde.sf(np.arange(-2.0, 10.0) * smallest) - (1 - exact)).max() <= kde.error_bound
    assert_array_equal(kde.pdf([0.0, smallest, 1.0]), [np.inf, np.inf, 0.0])
    assert Sketch.from_values(values * smallest, cell_width=1.0).count == 4


@pytest.mark.parametrize(
    "X",
    [
        [["1", "2"], ["3", "4"]],
        np.array([["1"], ["2"]]),
        np.array([["1"], [2.0]], dtype=object),
        pd.DataFrame({"a": ["1", "2"]}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pl.DataFrame({"a": ["1", "2"]}),
        pl.DataFrame({"a": [1, 2]}).select(pl.col("a").cast(pl.Date)),
        np.array([["2020-01-01"], ["2020-01-02"]], dtype="datetime64[D]"),
    ],
    ids=["list", "text", "object", "pandas text", "pandas dates", "polars text", "polars dates", "dates"],
)
def test_text_and_dates_are_no_numbers(X):
    with pytest.raises((ValueError, TypeError), match=r"column '?(a|0)'?"):
        KDITransformer().fit(X)


def test_masked_values_are_missing():
    X = np.ma.masked_array([[1.0], [2.0], [900.0]], mask=[[False], [False], [True]])
    with pytest.raises(ValueError, match="real numbers"):
        kdi.Sketch.from_values(["1", "2"])
    model = KDITransformer().fit(X)
    assert (model.data_max_[0], model.sketches_[0].missing) == (2.0, 1)


def test_parameters_that_change_after_the_fit():
    model = KDITransformer().fit([[1.0], [2.0]])
    for name in ("out_of_range", "output_distribution"):
        with pytest.raises(ValueError, match=name):
            model.set_params(**{name: "Bogus"}).transform([[1.0]])
        model.set_params(**{name: KDITransformer().get_params()[name]})
    with pytest.raises(ValueError, match="out_of_range"):
        KDITransformer(out_of_range=[]).fit([[1.0]])


def test_forged_moments(rng):
    data = bytearray(Sketch.from_values(rng.normal(size=1000), cell_width=0.5).to_bytes())
    struct.pack_into("<d", data, len(data) - 4 - 24, 1e6)
    data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
    with pytest.raises(ValueError, match="damaged"):
        Sketch.from_bytes(bytes(data))


def test_weights_beyond_float64():
    with pytest.raises(ValueError, match="finite sum"):
        KDITransformer().fit([[1.0], [2.0]], sample_weight=[1e308, 1e308])


def test_orders_have_an_end():
    assert KDITransformer(order=300).fit([[1.0], [2.0], [4.0]]).error_bound_[0] <= 1e-6
    with pytest.raises(ValueError, match="order"):
        KDITransformer(order=301).fit([[1.0], [2.0]])


@pytest.mark.parametrize("values", [[0.0, 5e-324], [0.0, 5e-324, 1.0]])
def test_lines_go_on_from_values_that_are_hardly_apart(values):
    model = KDITransformer(alpha=0, out_of_range="linear").fit(np.array(values)[:, None])
    result = model.transform([[-1.0], [0.0], [max(values)], [2.0]]).ravel()
    assert np.isfinite(result).all() and (np.diff(result) > 0).all()
