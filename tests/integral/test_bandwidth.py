"""Numbers of every type as bandwidth factors, and in the other parameters that are real numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import kdi

HUGE = 10**400
X = np.random.default_rng(0).normal(size=(60, 2))
PAIR = X[:, 0], X[:, 1]

# From one alpha to numbers that follow from it.
BY_ALPHA = {
    "KDITransformer": lambda alpha: kdi.KDITransformer(alpha).fit_transform(X),
    "KDITransformer, each": lambda alpha: kdi.KDITransformer([alpha, 1.0]).fit_transform(X),
    "alpha_path": lambda alpha: kdi.alpha_path(X, [alpha])[0].transform(X),
    "KDIDiscretizer": lambda alpha: np.concatenate(kdi.KDIDiscretizer(alpha).fit(X).centers_),
    "cluster": lambda alpha: kdi.cluster(X[:, 0], alpha=alpha).centers,
    "correlation": lambda alpha: kdi.correlation(*PAIR, alpha=alpha).statistic,
    "correlation, each": lambda alpha: kdi.correlation(*PAIR, alpha=(alpha, 1.0)).statistic,
    "corr": lambda alpha: kdi.corr(X, alpha=alpha),
    "corr, each": lambda alpha: kdi.corr(X, alpha=[alpha, 1.0]),
}
EVERYWHERE = pytest.mark.parametrize("name", BY_ALPHA)


@EVERYWHERE
@pytest.mark.parametrize(
    ("alpha", "plain"),
    [
        (HUGE, np.inf),
        (Fraction(HUGE, 3), np.inf),
        (Fraction(1, 2), 0.5),
        (np.float32(0.5), 0.5),
        (np.longdouble("0.5"), 0.5),
        (-0.0, 0.0),
        (1e-310, 0.0),
    ],
    ids=str,
)
def test_numbers_of_other_types(name, alpha, plain):
    assert_array_equal(BY_ALPHA[name](alpha), BY_ALPHA[name](plain))


@EVERYWHERE
@pytest.mark.parametrize("alpha", [-HUGE, Fraction(-HUGE, 3), 1j, np.array([0.5]), True], ids=lambda one: str(one)[:10])
def test_wrong_numbers(name, alpha):
    if name == "alpha_path" and (alpha is True or isinstance(alpha, np.ndarray)):
        pytest.skip("its alphas are read as an array")
    with pytest.raises(ValueError, match=r"alpha.* must |must be real numbers"):
        BY_ALPHA[name](alpha)


@pytest.mark.parametrize(
    "bandwidth", [HUGE, -HUGE, Fraction(HUGE, 3), Decimal("0.5"), np.inf], ids=lambda one: str(one)[:5]
)
def test_wrong_bandwidths(bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        kdi.cluster(X[:, 0], bandwidth=bandwidth)
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        kdi.KDIDiscretizer(bandwidth=[1.0, bandwidth]).fit(X)


@pytest.mark.numpy_core
@pytest.mark.parametrize("bandwidth", [1e3, 1e150, 1e300])
def test_wide_bandwidths_have_one_peak_where_T_has_its_mean(bandwidth):
    values = np.append(np.arange(9.0), 30.0)
    found = kdi.cluster(values, bandwidth=bandwidth)
    levels = kdi.KDITransformer().fit(values[:, None])
    assert levels.transform(found.centers[:, None])[:, 0] == pytest.approx(
        levels.transform(values[:, None]).mean(), rel=1e-5
    )
    assert_array_equal(found.labels, 0)


def test_sizes_and_levels_of_other_types():
    assert kdi.cluster(X[:, 0], min_size=HUGE).n_clusters == 1
    half = kdi.cluster(X[:, 0], significance=0.5, bandwidth=0.05)
    assert half.n_clusters > 1
    for level in (Fraction(1, 2), np.longdouble("0.5")):
        assert kdi.cluster(X[:, 0], significance=level, bandwidth=0.05).n_clusters == half.n_clusters
        result = kdi.correlation(*PAIR)
        assert result.confidence_interval(level) == result.confidence_interval(0.5)


@pytest.mark.parametrize(
    "values", [[HUGE, 1.0], [-HUGE, 1.0, None], [Fraction(HUGE, 3), 0.0]], ids=["int", "None", "Fraction"]
)
def test_values_beyond_float64_are_infinite(values):
    with pytest.raises(ValueError, match=r"x must be finite or NaN, got -?inf"):
        kdi.cluster(values)


@pytest.mark.parametrize("axis", [HUGE, -HUGE, 1, -2], ids=lambda one: str(one)[:5])
def test_axes_out_of_bounds(axis):
    with pytest.raises(np.exceptions.AxisError, match="`axis` must be from -1 to 0 for these arrays, got"):
        kdi.correlation(*PAIR, axis=axis)
