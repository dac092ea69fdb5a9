"""alpha = 0 and other fits that sort: ranks of any values, weights and ties, however many there are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core


def some_columns(rng, n):
    normal = rng.normal(size=n)
    return {
        "normal": normal,
        "float32": normal.astype(np.float32),
        "ties": rng.integers(-50, 50, size=n) / 7,
        "both zeros": np.where(rng.uniform(size=n) < 0.5, -0.0, 0.0) + np.where(rng.uniform(size=n) < 0.2, normal, 0.0),
        "subnormal": rng.integers(-(10**6), 10**6, size=n) * 5e-324,
        "all magnitudes": rng.choice([-1.0, 1.0], size=n) * 10 ** rng.uniform(-320, 307, size=n),
        "ascending": np.sort(normal),
        "descending": -np.sort(normal),
        "one value apart": np.append(np.ones(n - 1), 2.0),
        "missing": np.where(rng.uniform(size=n) < 0.3, np.nan, normal),
    }


NAMES = list(some_columns(np.random.default_rng(0), 10))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 511, 514, 3000])
@pytest.mark.parametrize("name", NAMES)
def test_ranks(name, n, weighted, rng):
    column = some_columns(rng, n)[name]
    weights = rng.uniform(size=n) * rng.integers(0, 3, size=n) if weighted and n > 2 else None
    model = KDITransformer(alpha=0).fit(column[:, None], sample_weight=weights)
    chosen = ~np.isnan(column) & ((weights > 0) if weights is not None else True)
    values, places = np.unique(column[chosen].astype(float), return_inverse=True)
    mass = np.bincount(places, None if weights is None else weights[chosen])
    sketch = model.sketches_[0]
    assert_array_equal(sketch.keys, values)
    assert_allclose(sketch.moments[:, 0], mass, rtol=1e-12)
    if len(values) > 1:
        ranks = np.cumsum(mass) - mass / 2
        expected = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
        assert_allclose(model.transform(values[:, None])[:, 0], expected, rtol=0, atol=1e-12)
        between = values[:-1] / 2 + values[1:] / 2
        assert (np.diff(model.transform(np.sort(np.append(values, between))[:, None])[:, 0]) >= 0).all()


def test_columns_beside_others(rng):
    """The packed arrays of several columns, with cells, values or neither, are those of each column alone."""
    table = rng.normal(size=(2000, 5))
    table[:, 2], table[:, 3] = np.nan, rng.integers(0, 9, size=2000)
    alphas = [0, 1, 0, 0, np.inf]
    with pytest.warns(UserWarning, match="column 2 held only NaN"):
        whole = KDITransformer(alphas).fit(table)
    for j in (0, 1, 3, 4):
        alone = KDITransformer(float(alphas[j])).fit(table[:, [j]])
        assert_array_equal(alone.transform(table[:, [j]])[:, 0], whole.transform(table)[:, j])
        assert alone.sketches_[0].to_bytes() == whole.sketches_[j].to_bytes()
        again = KDITransformer(float(alphas[j])).fit_sketches([whole.sketches_[j]])
        assert_allclose(again.transform(table[:, [j]])[:, 0], whole.transform(table)[:, j], rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-315, 1e-304, 1e-290, 1e290, 1e300])
def test_cells_at_any_magnitude(scale, rng):
    """Columns in cells as narrow or wide as numbers can be have the T of the column in other units."""
    values = rng.normal(size=(30_000, 1)) * scale
    unit = 2.0**1000 if scale < 1 else 2.0**-1000
    expected = KDITransformer().fit(values * unit).transform(values * unit)
    for model in (KDITransformer().fit(values), KDITransformer().partial_fit(values[:9999]).partial_fit(values[9999:])):
        assert_allclose(model.transform(values), expected, rtol=0, atol=1e-8)
        assert model.error_bound_[0] < 1e-6
