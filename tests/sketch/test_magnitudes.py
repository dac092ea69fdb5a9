"""Sketches of values and weights of any magnitude, made in memory, in parts or as sums: T is within its bound."""

import numpy as np
import oracle
import pytest

from kdi import KDITransformer, Sketch

pytestmark = pytest.mark.numpy_core
N = 2000

WEIGHTS = {
    "subnormal": lambda rng: rng.integers(1, 4, size=N) * 5e-324,
    "1e-320": lambda rng: rng.uniform(0.1, 1, size=N) * 1e-320,
    "1e-300": lambda rng: rng.uniform(size=N) * 1e-300,
    "1e300": lambda rng: rng.uniform(size=N) * 1e300,
    "all magnitudes": lambda rng: 10 ** rng.uniform(-150, 150, size=N),
}


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    """Give partitions fewer cells than there are values."""
    monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)
    monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 256)
    monkeypatch.setattr("kdi._sketch.cells.DEFAULT_CAPACITY", 256)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-150, 1.0, 1e150, 1e307])
def test_any_magnitude(scale, weight, alpha, rng):
    values, weights = rng.normal(size=N) * scale, WEIGHTS[weight](rng)
    in_parts, parts = KDITransformer(alpha), np.array_split(np.arange(N), 5)
    for part in parts:
        in_parts.partial_fit(values[part, None], sample_weight=weights[part])
    sketches = [Sketch.exact(values[part], weights[part]) for part in parts]
    models = {
        "in memory": KDITransformer(alpha).fit(values[:, None], sample_weight=weights),
        "in parts": in_parts,
        "sum": KDITransformer(alpha).fit_sketches([sum(sketches, Sketch())]),
    }
    # The direct sum takes values near 1 and weights up to 1, which are the same numbers but for their exponents.
    unit, mass_unit = -int(np.frexp(scale)[1]), -int(np.frexp(weights.max())[1])
    at = np.sort(values)[::70]
    expected = oracle.transform(
        np.ldexp(values, unit), np.ldexp(at, unit), alpha, "polyexp", weights=np.ldexp(weights, mass_unit)
    )
    for name, model in models.items():
        error = abs(model.transform(at[:, None])[:, 0] - expected).max()
        assert error <= model.error_bound_[0] + 1e-14, name
        if weight in ("1e-300", "1e300", "all magnitudes") or name != "in parts":
            assert model.error_bound_[0] < 1e-4, name  # no refuge in a bound of 1
