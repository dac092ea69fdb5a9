"""scikit-learn's own tests of QuantileTransformer, with KDITransformer(alpha=0) in its place.

The functions are imported from scikit-learn, and pytest collects them here with their parameters.
"""

import inspect

import numpy as np
import pytest
from sklearn.preprocessing import QuantileTransformer as Theirs
from sklearn.preprocessing import _data
from sklearn.preprocessing.tests import test_data as their_tests

from kdi import KDITransformer

# kdi warns of columns without values, scikit-learn does not.
pytestmark = [pytest.mark.numpy_core, pytest.mark.filterwarnings("ignore:.* held only NaN:UserWarning")]

# Tests that do not apply, and why.
LEFT_OUT = {
    "test_quantile_transform_check_error": "messages about n_quantiles, subsample and negative values in sparse input",
    "test_quantile_transform_sparse_ignore_zeros": "kdi has no ignore_implicit_zeros",
    "test_quantile_transform_subsampling": "kdi takes all rows; the test expects random subsamples to differ",
    "test_quantile_transformer_sparse_subsampling": "kdi has neither ignore_implicit_zeros nor subsamples",
}


class QuantileTransformer(KDITransformer):
    """KDITransformer(alpha=0) with the parameters of scikit-learn's class.

    `n_quantiles` is the number of levels in `references_` only, since the map keeps all values, and `subsample` and
    `random_state` have no effect.
    """

    def __init__(
        self,
        *,
        n_quantiles=1000,
        output_distribution="uniform",
        ignore_implicit_zeros=False,
        subsample=10_000,
        random_state=None,
        copy=True,
    ):
        super().__init__(alpha=0, output_distribution=output_distribution, copy=copy)
        assert not ignore_implicit_zeros
        self.n_quantiles, self.ignore_implicit_zeros = n_quantiles, ignore_implicit_zeros
        self.subsample, self.random_state = subsample, random_state

    @property
    def references_(self):
        return np.linspace(0, 1, min(self.n_quantiles, self.n_samples_seen_))


@pytest.fixture(autouse=True)
def ours_in_place_of_theirs(monkeypatch):
    monkeypatch.setattr(their_tests, "QuantileTransformer", QuantileTransformer)
    monkeypatch.setattr(_data, "QuantileTransformer", QuantileTransformer)  # which quantile_transform makes


def takes_the_class(function):
    """Tell whether a test has classes as parameters, QuantileTransformer among them."""
    return any(Theirs in mark.args[1] for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize")


def find_tests():
    """Return scikit-learn's tests that name QuantileTransformer or quantile_transform, by name."""
    members = {name: one for name, one in vars(their_tests).items() if name.startswith("test_") and callable(one)}
    named = ("QuantileTransformer", "quantile_transform(")
    return {name: one for name, one in members.items() if any(text in inspect.getsource(one) for text in named)}


FOUND = find_tests()
OF_CLASSES = [name for name, one in FOUND.items() if takes_the_class(one)]
globals().update({name: FOUND[name] for name in FOUND if name not in OF_CLASSES and name not in LEFT_OUT})


@pytest.mark.parametrize("name", OF_CLASSES)
def test_with_our_class(name):
    FOUND[name](QuantileTransformer)


def test_all_are_known():
    assert len(FOUND) >= 14
    assert set(LEFT_OUT) <= set(FOUND)
    assert len(OF_CLASSES) >= 4
