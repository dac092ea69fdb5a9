"""A source that changes between two readings is an error, never a mixture of both."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from shuffled_partitions import ShuffledPartitions

from kdi import KDITransformer
from kdi._correlation.partitioned_matrix import corr_partitioned
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._utils.errors import SourceChangedError

N = 20_000


@pytest.fixture(autouse=True)
def two_readings(monkeypatch):
    """Give every column the least capacity, so that one reading is not enough."""
    monkeypatch.setattr("kdi._sketch.cells.MAX_TABLE_CELLS", 0)
    monkeypatch.setattr("kdi._sketch.cells.MIN_COLUMN_CELLS", 128)


@pytest.fixture
def table(rng):
    return rng.lognormal(sigma=2, size=(N, 2))


class ChangingPartitions(ShuffledPartitions):
    """Partitions that are others from the second reading on."""

    def __init__(self, table, weights=None, other=None, other_weights=None, **options):
        super().__init__(table, [500, 9000], weights, **options)
        self.later = ShuffledPartitions(
            table if other is None else other, [700], weights if other_weights is None else other_weights
        )

    def reduce(self, summarise, merge):
        found = super().reduce(summarise, merge)
        self.arrays, self.weights = self.later.arrays, self.later.weights
        return found


def changed(table, where, value):
    other = table.copy()
    other[where, 1] = value
    return other


CHANGES = {
    "fewer rows": lambda table: table[:500],
    "no rows": lambda table: table[:0],
    "more rows": lambda table: np.concatenate([table, table]),
    "other values": lambda table: changed(table, np.argsort(table[:, 1])[:5000], table[:, 1].max()),
    "a larger value": lambda table: changed(table, 3, 1e9),
    "a missing value": lambda table: changed(table, 3, np.nan),
    "an infinite value": lambda table: changed(table, 3, np.inf),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes(table, change):
    partitions = ChangingPartitions(table, other=CHANGES[change](table), names=["a", "b"])
    with pytest.raises(
        SourceChangedError, match=r"^the source changed while it was read: column '[ab]' had .* at first"
    ):
        KDITransformer(0.3)._fit_partitions(partitions)


def test_other_weights(table, rng):
    weights = rng.uniform(size=N)
    partitions = ChangingPartitions(table, weights, other_weights=weights * (1 + 1e-7))
    with pytest.raises(SourceChangedError, match="weight"):
        KDITransformer(0.3)._fit_partitions(partitions)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_change(table, rng, weighted):
    """Other partitions of the same rows are no change; neither are values of weight 0."""
    table[::7, 0] = np.nan
    table[::11, 1] = 0.0
    weights = rng.integers(0, 3, size=N) * rng.uniform(size=N) if weighted else None
    other = table.copy()
    if weighted:
        other[(weights == 0)[:, None] & ~np.isnan(table)] = 1e9
    model = KDITransformer(0.3)._fit_partitions(ChangingPartitions(table, weights, other))
    expected = KDITransformer(0.3).fit(table, sample_weight=weights)
    np.testing.assert_allclose(model.transform(table), expected.transform(table), rtol=0, atol=1e-9)


class RewrittenFile(ArrowPartitions):
    """A file that is rewritten after the first reading."""

    def reduce(self, summarise, merge):
        found = super().reduce(summarise, merge)
        write(self.path, self.other)
        return found


def write(path, columns):
    (pa.csv.write_csv if path.suffix == ".csv" else pq.write_table)(pa.table(columns), path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("fit", [KDITransformer(0.3)._fit_partitions, corr_partitioned])
def test_files(tmp_path, table, kind, fit):
    path, (a, b) = tmp_path / f"table.{kind}", table.T
    for other in ({"a": a[:500], "b": b[:500]}, {"a": a[:0], "b": b[:0]}, {"a": a, "c": b}):
        write(path, {"a": a, "b": b})
        source = RewrittenFile(path)
        source.path, source.other = path, other
        with pytest.raises(ValueError, match=r"the source changed while it was read|'b' .*does not exist in CSV file"):
            fit(source)


@pytest.mark.parametrize("alpha", [0.3, 1e9])
def test_correlations(table, alpha):
    """For a large alpha one reading makes the sketches, and another the sums."""
    partitions = ChangingPartitions(table, other=table[:500])
    with pytest.raises(SourceChangedError):
        corr_partitioned(partitions, alpha=alpha)
