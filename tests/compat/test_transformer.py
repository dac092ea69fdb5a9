"""KDITransformer of kdi.compat.kditransform: its landmarks, options and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde
from sklearn.exceptions import NotFittedError

import kdi
import kdi.compat.kditransform as new


def test_exact_is_the_native_transformer(table):
    model = new.KDITransformer(0.3, exact=True).fit(table)
    native = kdi.KDITransformer(0.3).fit(table)
    assert_array_equal(model.transform(table), native.transform(table))
    assert_array_equal(
        model.inverse_transform(model.transform(table)), native.inverse_transform(native.transform(table))
    )


@pytest.mark.parametrize("evaluation", ["auto", "train", "uniform"])
def test_landmarks_are_exact(evaluation, table):
    model = new.KDITransformer(0.2, polyexp_eval=evaluation, n_quantiles=20).fit(table)
    levels = kdi.KDITransformer(0.2).fit(table).transform(model.quantiles_)
    assert_allclose(levels, np.repeat(np.linspace(0, 1, 20)[:, None], 4, axis=1), rtol=0, atol=2e-6)


def test_from_1000_rows_on_it_is_close_to_the_integral(rng):
    values = rng.lognormal(size=(1500, 2))
    expected = kdi.KDITransformer(0.2).fit_transform(values)
    assert_allclose(new.KDITransformer(0.2).fit_transform(values), expected, rtol=0, atol=1.01e-3)


def test_exact_gaussian_is_that_of_scipy(rng):
    values = rng.normal(size=20)
    density = gaussian_kde(values, 0.4)
    low, high = values.min(), values.max()
    total = density.integrate_box_1d(low, high)
    expected = [density.integrate_box_1d(low, value) / total for value in values]
    found = new.KDITransformer(0.4, "gaussian", exact=True).fit_transform(values[:, None])
    assert_allclose(found[:, 0], expected, rtol=0, atol=2e-6)


def test_attributes(table):
    model = new.KDITransformer(subsample=100).fit(table)
    assert (model.n_quantiles_, model.subsample_, model.n_features_in_) == (500, 500, 4)
    assert_array_equal(model.references_, np.linspace(0, 1, 500))
    assert model.quantiles_.shape == (500, 4)
    assert_allclose(model.quantiles_[[0, -1]], [table.min(axis=0), table.max(axis=0)])
    assert (np.diff(model.quantiles_, axis=0) >= 0).all()
    assert new.KDITransformer(n_quantiles=None).fit(table).n_quantiles_ == 500
    assert new.KDITransformer(n_quantiles=7).fit(table).quantiles_.shape == (7, 4)


def test_alpha_for_each_feature(table):
    model = new.KDITransformer([0.1, "scott", None, 1]).fit(table)
    for j, alpha in enumerate([0.1, "scott", "scott", 1.0]):
        assert_array_equal(model.transform(table)[:, j], new.KDITransformer(alpha).fit_transform(table[:, [j]])[:, 0])


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_missing_values(kernel, table):
    holes = table.copy()
    holes[::7, 0], holes[:, 3] = np.nan, np.nan
    with pytest.warns(UserWarning, match="only NaN"):
        model = new.KDITransformer("scott", kernel).fit(holes)
    found = model.transform(holes)
    assert_array_equal(np.isnan(found), np.isnan(holes))
    assert_array_equal(np.isnan(model.inverse_transform(found)), np.isnan(holes))
    known = ~np.isnan(holes[:, 0])
    alone = new.KDITransformer("scott", kernel, n_quantiles=100).fit_transform(holes[known][:, [0]])
    again = new.KDITransformer("scott", kernel, n_quantiles=100).fit(holes[:, [0]]).transform(holes[known][:, [0]])
    assert_allclose(alone, again, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"exact": True}, {"kernel": "gaussian"}, {"n_quantiles": 1}], ids=str)
def test_constants_and_single_rows(options):
    model = new.KDITransformer(**options)
    assert_array_equal(model.fit([[3.0]] * 5).transform([[2.0], [3.0], [4.0]]), [[0.0], [0.0], [1.0]])
    assert_array_equal(model.inverse_transform([[0.0], [0.5]]), [[3.0], [3.0]])
    assert_array_equal(model.fit([[3.0]]).transform([[3.0]]), [[0.0]])


def test_types(table):
    assert new.KDITransformer().fit_transform(table.astype(np.float32)).dtype == np.float32
    assert new.KDITransformer().fit_transform(table.astype(int)).dtype == np.float64


def test_the_table_is_left_alone_unless_copy_is_off(table):
    before = table.copy()
    model = new.KDITransformer().fit(table)
    expected = model.transform(table)
    assert_array_equal(table, before)
    model.copy = False
    assert model.transform(table) is table
    assert_array_equal(table, expected)


def test_output_may_be_changed_after_fit(table):
    model = new.KDITransformer().fit(table)
    expected = new.KDITransformer(output_distribution="normal").fit_transform(table)
    assert_array_equal(model.set_params(output_distribution="normal").transform(table), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha"),
        ({"alpha": [1.0]}, "one entry (a|per) feature"),
        ({"kernel": "box"}, "kernel"),
        ({"polyexp_order": 0}, "order"),
        ({"polyexp_eval": "grid"}, "polyexp_eval"),
        ({"n_quantiles": 0}, "n_quantiles"),
        ({"output_distribution": "cauchy"}, "output_distribution"),
        ({"subsample": 0}, "subsample"),
        ({"random_state": "x"}, "seed"),
        ({"copy": 2}, "copy"),
        ({"exact": "yes"}, "exact"),
    ],
    ids=str,
)
def test_refused_in_fit_and_not_before(options, message, table):
    model = new.KDITransformer(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(table)


@pytest.mark.parametrize("order", [1234, 0, "four", None], ids=repr)
def test_parameters_of_a_kernel_that_is_not_used_are_not_checked(order, table):
    model = new.KDITransformer(kernel="gaussian", polyexp_order=order, polyexp_eval="asdf").fit(table)
    assert_array_equal(model.transform(table), new.KDITransformer(kernel="gaussian").fit_transform(table))
    with pytest.raises(ValueError, match="polyexp_eval must be one of"):
        model.set_params(kernel="polyexp", polyexp_order=4).fit(table)
    with pytest.raises(ValueError, match="order must be"):
        model.set_params(polyexp_eval="auto", polyexp_order=1234).fit(table)


def test_not_fitted(table):
    for method in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(new.KDITransformer(), method)(table)
