"""Corners of clusters and bins where a plausible implementation goes wrong: each of these once did."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kdi
from kdi import KDIDiscretizer
from kdi._clustering import modes
from kdi._numerics import numpy_core


@pytest.mark.parametrize("bandwidth", [1e-3, 1e-5, 1e-8])
def test_newton_ends_where_positions_do(bandwidth, rng, monkeypatch):
    """Below some bandwidth, 1e-13 of it is less than a position can tell; the steps must end all the same."""
    calls = []
    plain = numpy_core.cell_sum

    def counted(*given, n_derivatives):
        calls.append(n_derivatives)
        return plain(*given, n_derivatives=n_derivatives)

    monkeypatch.setattr(numpy_core, "cell_sum", counted)
    monkeypatch.setattr(modes, "core", numpy_core)
    found = kdi.cluster(np.concatenate([rng.normal(size=60), rng.normal(8, 1, size=40)]), bandwidth=bandwidth)
    assert found.n_clusters > 50
    assert 0 < calls.count(3) < 12 * (2 * found.n_clusters)


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [(1950.0, 2006.0, "1978"), (1_000_000.0, 1_000_020.0, "1000010"), (0.001, 0.003, "0.002"), (1e20, 3e20, "2e+20")],
)
def test_names_of_bins_tell_where_they_end(low, high, name):
    """No exponents for years, and enough digits to tell the sides apart."""
    X = np.repeat([low, high], 20)[:, None] * (1 + 1e-9 * np.tile([-1, 1], 20)[:, None])
    names = KDIDiscretizer().fit(X).get_feature_names_out()
    assert_array_equal(names, [f"x0_(-inf, {name})", f"x0_[{name}, inf)"])


def test_a_picture_shows_weights(rng):
    x = np.concatenate([rng.normal(size=200), rng.normal(10, 1, size=200)])
    weights = np.repeat([1.0, 0.05], 200)
    display = kdi.ClusterDisplay.from_data(x, weights=weights)
    heights = [sum(bar.get_height() for bar in group) for group in display.ax_.containers]
    assert_allclose(heights, [200, 10])
    assert "weight" in display.ax_.get_ylabel()
    plt.close("all")


def test_a_picture_of_a_long_tail_shows_the_clusters(rng):
    x = np.append(rng.normal(size=500), 1e6)
    display = kdi.ClusterDisplay(kdi.cluster(rng.normal(size=500)), x).plot()
    assert display.ax_.get_xlim()[1] < 100
    assert "1 value lies outside" in display.ax_.get_xlabel()
    plt.close("all")


def test_a_feature_without_values_has_one_bin():
    with pytest.warns(UserWarning, match="Feature 0 has no values"):
        model = KDIDiscretizer(missing="bin", encode="onehot-dense").fit([[np.nan], [np.nan]])
    assert_array_equal(model.predict_proba([[1.0], [np.nan]]), [[1, 0], [0, 1]])
    assert_array_equal(model.transform([[1.0], [np.nan]]), [[1, 0], [0, 1]])


def test_one_warning_for_each_constant():
    with pytest.warns(UserWarning) as caught:
        KDIDiscretizer().fit([[1.0, 2.0], [1.0, 2.0]])
    assert [str(one.message) for one in caught] == [
        f"Feature {j} is constant and will be replaced with 0." for j in range(2)
    ]


def test_advice_that_could_help(rng):
    x = np.concatenate([rng.normal(size=100), rng.normal(8, 1, size=100)])
    with pytest.raises(ValueError, match=r"at most 1 were found\. It is constant\."):
        kdi.cluster([3.0], n_clusters=2)
    with pytest.raises(ValueError, match="min_size and significance close valleys"):
        kdi.cluster(x, n_clusters=3, min_size=90)
    with pytest.raises(ValueError, match="strategy='uniform' makes any number of bins"):
        KDIDiscretizer(n_bins=50).fit(x[:, None])


def test_no_bin_cannot_be_inverted():
    model = KDIDiscretizer(encode="onehot-dense").fit(np.repeat([0.0, 9.0], 20)[:, None])
    with pytest.raises(ValueError, match="column 0 must have a bin, got 0 in all its columns in row 1"):
        model.inverse_transform([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="Expecting 2, received 3"):
        model.inverse_transform([[1, 0, 0]])


@pytest.mark.parametrize("bad", [np.nan, None, "x", 0, -1.0, np.inf, True])
def test_bandwidths(bad):
    with pytest.raises(ValueError, match="bandwidth must be a positive number, 'scott' or 'silverman'"):
        kdi.cluster([1.0, 2.0], bandwidth=bad)
