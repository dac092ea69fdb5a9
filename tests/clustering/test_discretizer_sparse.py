"""kdi.KDIDiscretizer with sparse matrices: the bins of the dense table, without making it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kdi import KDIDiscretizer

pytestmark = pytest.mark.numpy_core
FORMATS = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]


@pytest.fixture
def groups(rng):
    """Columns of zeros and two groups of counts, which store 10 % to 100 % of their values."""
    n = 2000
    values = np.where(rng.uniform(size=(n, 4)) < 0.5, rng.poisson(20, size=(n, 4)), rng.poisson(70, size=(n, 4)))
    return np.where(rng.uniform(size=(n, 4)) < [0.1, 0.4, 0.7, 1.0], values, 0).astype(float)


OPTIONS = [
    {},
    {"alpha": 0.3, "kernel": "gaussian", "significance": 0.05},
    {"n_bins": 3, "inverse_strategy": "median"},
    {"strategy": "uniform", "n_bins": 4, "inverse_strategy": "midpoint"},
    {"alpha": "scott", "min_size": 10},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("format", FORMATS[:2])
def test_the_same_bins(format, weighted, options, groups, rng):
    weights = rng.integers(0, 4, size=len(groups)).astype(float) if weighted else None
    ours, expected = (
        KDIDiscretizer(encode="ordinal", **options).fit(X, sample_weight=weights) for X in (format(groups), groups)
    )
    assert_array_equal(ours.n_bins_, expected.n_bins_)
    assert ours.n_bins_[2] >= 3
    for j in range(4):
        assert_allclose(ours.bin_edges_[j], expected.bin_edges_[j], rtol=1e-9)
        assert_allclose(ours.representatives_[j], expected.representatives_[j], rtol=1e-9, atol=1e-9)
        assert_allclose(ours.valleys_[j].sizes, expected.valleys_[j].sizes, rtol=1e-12)
    out = ours.transform(format(groups))
    assert isinstance(out, format)
    assert_array_equal(out.toarray(), expected.transform(groups))
    assert_array_equal(ours.inverse_transform(out), ours.inverse_transform(out.toarray()))


@pytest.mark.parametrize("format", FORMATS)
def test_kinds_of_matrices(format, groups):
    X = format(groups.astype(np.float32))
    before = X.copy()
    model = KDIDiscretizer(encode="ordinal").fit(X)
    out = model.transform(X)
    assert isinstance(out, format)
    assert out.dtype == np.float32
    assert_array_equal(X.toarray(), before.toarray())
    assert_array_equal(model.fit_transform(X).toarray(), out.toarray())
    assert_array_equal(KDIDiscretizer(encode="ordinal", n_jobs=2).fit_transform(X.tocoo()).toarray(), out.toarray())


def test_missing_values(groups, rng):
    groups[rng.uniform(size=groups.shape) < 0.05] = np.nan
    X = sparse.csr_array(groups)
    with pytest.raises(ValueError, match="NaN, in columns 0, 1, 2, 3; missing='bin'"):
        KDIDiscretizer().fit(X)
    model = KDIDiscretizer(encode="ordinal", missing="bin").fit(X)
    assert_array_equal(
        model.transform(X).toarray(), KDIDiscretizer(encode="ordinal", missing="bin").fit_transform(groups)
    )
    model.missing = "error"
    with pytest.raises(ValueError, match="NaN, in columns 0, 1, 2, 3"):
        model.transform(X)


@pytest.mark.parametrize("encode", ["onehot", "onehot-dense"])
def test_one_hot_is_not_sparse(encode, groups):
    X = sparse.csr_array(groups)
    with pytest.raises(ValueError, match=rf"encode must be 'ordinal' to transform a sparse X, got '{encode}'"):
        KDIDiscretizer(encode=encode).fit_transform(X)
    fitted = KDIDiscretizer(encode=encode).fit(X)
    assert_array_equal(fitted.transform(groups).sum(), groups.size)


def test_zeros_in_another_bin(groups):
    X = sparse.csr_array(np.where(groups == 0, 0, groups - 45))
    model = KDIDiscretizer(encode="ordinal").fit(X)
    message = r"columns 0, 1, 2, 3 become other numbers, 2 in the first; zeros stay zeros where .*X\.toarray\(\)"
    with pytest.raises(ValueError, match=message):
        model.transform(X)


def test_refused(groups):
    X = sparse.csr_array(groups)
    model = KDIDiscretizer(encode="ordinal").fit(X)
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        model.predict_proba(X)
    X.data[0] = np.inf
    for method in (model.fit, model.transform):
        with pytest.raises(ValueError, match="infinity"):
            method(X)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0])
    with pytest.raises(ValueError, match="sample_weight must not be zero"):
        model.fit(sparse.csr_array(groups), sample_weight=np.zeros(len(groups)))


@pytest.mark.filterwarnings("ignore:Feature .* is constant:UserWarning")
def test_a_column_that_stores_nothing():
    X = sparse.csc_array(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 5.0]]))
    model = KDIDiscretizer(encode="ordinal").fit(X)
    assert_array_equal(model.transform(X).toarray()[:, 0], 0)
