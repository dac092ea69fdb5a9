"""partial_fit in many batches: the same model as from one, at little cost per batch."""

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kdi import KDITransformer, Sketch
from kdi._sketch.batches import BatchedSketches

pytestmark = pytest.mark.numpy_core
SIZES = [1, 1, 30, 7, 500, 2, 900, 40, 3]


@pytest.fixture(autouse=True)
def few_pending_rows(monkeypatch):
    """Sketch rows after some hundred of them, not after some ten thousand."""
    monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)
    monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 256)
    monkeypatch.setattr("kdi._sketch.cells.DEFAULT_CAPACITY", 4096)


def make_batches(rng, kind):
    for size in SIZES:
        table = rng.normal(size=(size, 2)).round(2)
        table[rng.uniform(size=size) < 0.2, 1] = np.nan
        weighted = kind == "weighted" or (kind == "some weighted" and size % 2)
        if kind == "float32" or (kind == "mixed types" and size > 5):
            table = table.astype(np.float32)
        yield table, rng.integers(0, 4, size=size).astype(float) if weighted else None


@pytest.mark.parametrize("alpha", [0, 0.5, "scott"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "some weighted", "float32", "mixed types"])
def test_many_batches_are_one(rng, kind, alpha):
    model, batches = KDITransformer(alpha), list(make_batches(rng, kind))
    for table, weights in batches:
        model.partial_fit(table, sample_weight=weights)
    whole = np.concatenate([table.astype(float) for table, _ in batches])
    masses = np.concatenate([np.ones(len(table)) if one is None else one for table, one in batches])
    expected = KDITransformer(alpha).fit(whole, sample_weight=masses)
    assert model.n_samples_seen_ == sum(SIZES)
    assert_allclose(model.alpha_, expected.alpha_, rtol=1e-12)
    difference = np.nanmax(abs(model.transform(whole) - expected.transform(whole)), axis=0)
    assert (difference <= np.maximum(model.error_bound_ + expected.error_bound_, 1e-8)).all()
    for ours, column in zip(model.sketches_, whole.T, strict=True):
        sketch = Sketch.from_values(column, masses)
        assert (ours.count, ours.missing, ours.weight) == (sketch.count, sketch.missing, sketch.weight)
        assert (ours.minimum, ours.maximum) == (sketch.minimum, sketch.maximum)


def test_streams_between_arrays(rng):
    table = rng.normal(size=(3000, 2))
    model = KDITransformer(0.5)
    for j, part in enumerate(np.split(table, [10, 200, 1500, 1600, 1601])):
        frame = pd.DataFrame(part, columns=["a", "b"])
        model.partial_fit(pa.Table.from_pandas(frame).to_reader() if j % 2 == 0 else frame)
    whole = pd.DataFrame(table, columns=["a", "b"])
    assert_allclose(model.transform(whole), KDITransformer(0.5).fit_transform(whole), rtol=0, atol=1e-8)


def test_the_work_is_not_quadratic(rng, monkeypatch):
    merged, sizes = Sketch.merged, []

    def counting(self, other):
        sizes.append(len(self) + len(other))
        return merged(self, other)

    monkeypatch.setattr(Sketch, "merged", counting)
    monkeypatch.setattr("kdi._sketch.cells.DEFAULT_CAPACITY", 2**15)
    table = rng.normal(size=(20_000, 1))
    for batches in (table, [pa.table({"a": part[:, 0]}).to_reader() for part in np.split(table, 1000)]):
        model = KDITransformer(alpha=0)
        for part in batches if isinstance(batches, list) else np.split(table, 2000):
            model.partial_fit(part)
        assert len(model.sketches_[0]) == len(table)
        assert sum(sizes) <= 5 * len(table) * np.log2(len(table))  # merging every batch: 10 and 20 million
        sizes.clear()


def test_the_caller_may_overwrite_a_batch(rng):
    table, weights = rng.normal(size=(50, 1)), rng.uniform(size=50)
    expected = KDITransformer().fit(table, sample_weight=weights).transform(table)
    reused, masses = table.copy(), weights.copy()
    model = KDITransformer().partial_fit(reused, sample_weight=masses)
    reused[:] = masses[:] = 0
    assert_allclose(model.transform(table), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize(
    ("value", "weight"), [(np.inf, 1.0), (1.7e308, 1.0), (0.0, 1e308), (0.0, -1.0)], ids=["inf", "range", "sum", "sign"]
)
def test_a_refused_batch_changes_nothing(rng, value, weight, size):
    table = rng.normal(size=(300, 1))
    model = KDITransformer().partial_fit(np.append(table, [[-1.7e308 if value > 1 else 0.0]], axis=0))
    model.partial_fit(table[:1], sample_weight=[1e308])
    before = [one.to_bytes() for one in copy.deepcopy(model).sketches_]
    bad = np.append(rng.normal(size=(size, 1)), [[value]], axis=0)
    with pytest.raises(ValueError):
        model.partial_fit(bad, sample_weight=np.append(np.ones(size), weight))
    assert model.n_samples_seen_ == 302
    assert [one.to_bytes() for one in model.sketches_] == before


def test_copies_go_their_own_ways(rng):
    parts = rng.normal(size=(4, 60, 1))
    model = KDITransformer().partial_fit(parts[0])
    other = copy.copy(model)
    model.partial_fit(parts[1])
    other.partial_fit(parts[2]).partial_fit(parts[3])
    for one, chosen in ((model, [0, 1]), (other, [0, 2, 3])):
        table = parts[chosen].reshape(-1, 1)
        assert_array_equal(one.sketches_[0].keys, np.unique(table))


def test_use_between_batches(rng):
    table = rng.normal(size=(900, 1))
    model = KDITransformer()
    for n in range(100, 1000, 100):
        model.partial_fit(table[n - 100 : n])
        assert_allclose(model.transform(table[:n]), KDITransformer().fit_transform(table[:n]), rtol=0, atol=1e-8)
        if n % 300 == 0:
            assert model.sketches_[0].count == n


def test_another_alpha_between_batches(rng):
    table = rng.normal(size=(500, 1))
    model = KDITransformer(0.1).partial_fit(table[:200]).set_params(alpha=2.0)
    assert_array_equal(model.alpha_, [0.1])
    model.partial_fit(table[200:])
    assert_allclose(model.transform(table), KDITransformer(2.0).fit_transform(table), rtol=0, atol=1e-8)


def test_pickles(rng):
    table = rng.normal(size=(300, 2))
    model = KDITransformer().partial_fit(table[:100]).partial_fit(table[100:200])
    assert isinstance(model._get_sketches("partial_fit"), BatchedSketches)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again._get_sketches("a test"), list)  # readable by releases without this class
    assert b"BatchedSketches" not in pickle.dumps(model)
    for one in (model, again):
        one.partial_fit(table[200:])
        assert_allclose(one.transform(table), KDITransformer().fit_transform(table), rtol=0, atol=1e-8)
