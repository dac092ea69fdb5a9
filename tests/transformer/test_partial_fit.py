"""Fitting in chunks gives what one fit gives."""

import threading

import numpy as np
import oracle
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample

from kdi import KDITransformer, Sketch
from kdi._integral import build

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]


def chunked(values, cuts, weights=None, **parameters):
    model = KDITransformer(**parameters)
    weights = [None] * (len(cuts) + 1) if weights is None else np.split(weights, cuts)
    for chunk, weight in zip(np.split(values, cuts), weights, strict=True):
        assert model.partial_fit(chunk, sample_weight=weight) is model
    return model


def assert_same_fit(chunks, whole, at):
    assert_array_equal(chunks.data_min_, whole.data_min_)
    assert_array_equal(chunks.data_max_, whole.data_max_)
    assert_array_equal(chunks.n_samples_seen_, whole.n_samples_seen_)
    assert_allclose(chunks.bandwidth_, whole.bandwidth_, rtol=1e-9)
    assert_allclose(chunks.transform(at), whole.transform(at), rtol=0, atol=1e-9)


class TestPartialFit:
    @pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
    @pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, "scott", 10.0, 0, np.inf])
    @pytest.mark.parametrize("order", ["shuffled", "sorted"])
    def test_chunks_give_what_one_fit_gives(self, order, alpha, kernel):
        values = np.column_stack([sample(name, 12_000) for name in SAMPLES])
        if order == "sorted":
            values.sort(axis=0)
        parameters = {"alpha": alpha, "kernel": kernel}
        whole = KDITransformer(**parameters).fit(values)
        chunks = chunked(values, [1, 2, 100, 5000, 5500, 11_999], **parameters)
        assert_same_fit(chunks, whole, values[::7])

    @pytest.mark.parametrize("alpha", [0.05, 1.0])
    def test_many_rows(self, alpha, rng):
        values = np.column_stack([rng.lognormal(sigma=2, size=200_000), rng.standard_cauchy(size=200_000)])
        whole = KDITransformer(alpha).fit(values)
        assert_same_fit(chunked(values, range(30_000, 200_000, 30_000), alpha=alpha), whole, values[::50])

    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    @pytest.mark.parametrize(
        "scales",
        [(1e-6, 1e6), (1e6, 1e-6), (1e3, 1, 1, 1, 1, 1), (1, 1e3, 1e-3, 1e2), (1e-9, 1, 1e9)],
        ids=lambda scales: "-".join(f"{scale:g}" for scale in scales),
    )
    def test_chunks_of_very_different_spread(self, scales, alpha, rng):
        parts = [rng.normal(size=(20_000, 1)) * scale for scale in scales]
        whole = KDITransformer(alpha).fit(np.concatenate(parts))
        chunks = chunked(np.concatenate(parts), np.arange(1, len(parts)) * 20_000, alpha=alpha)
        at = np.sort(np.concatenate([part[::50] for part in parts]), axis=0)
        assert_same_fit(chunks, whole, at)

    @pytest.mark.parametrize("alpha", [0.1, 1.0])
    def test_a_few_wide_rows_first_then_many_narrow_ones(self, alpha, rng):
        # the bandwidth shrinks while chunks arrive, so early cells must be fine enough for the last one
        parts = [rng.normal(size=(20_000, 1)) * 100, *(rng.normal(size=(100_000, 1)) for _ in range(5))]
        values = np.concatenate(parts)
        whole = KDITransformer(alpha).fit(values)
        chunks = chunked(values, 20_000 + 100_000 * np.arange(5), alpha=alpha)
        assert_same_fit(chunks, whole, values[::300])
        at = np.r_[values[:20_000:1000], values[20_000::30_000]]
        error = abs(chunks.transform(at)[:, 0] - oracle.transform(values, at[:, 0], alpha, "polyexp")).max()
        assert error <= chunks.error_bound_[0] + 1e-14

    @pytest.mark.parametrize("shift", [1e3, 1e9, 1e15])
    def test_drifting_chunks(self, shift, rng):
        values = np.concatenate([rng.normal(size=(5000, 1)), rng.normal(size=(5000, 1)) + shift])
        whole = KDITransformer(0.3).fit(values)
        assert_same_fit(chunked(values, [2500, 5000, 7500], alpha=0.3), whole, values)

    def test_row_by_row(self, rng):
        values = rng.standard_cauchy(size=(60, 2))
        assert_same_fit(chunked(values, range(1, 60)), KDITransformer().fit(values), values)

    def test_first_chunks_constant(self, rng):
        values = np.concatenate([np.full((50, 1), 3.0), rng.normal(size=(50, 1))])
        assert_same_fit(chunked(values, [1, 20, 50]), KDITransformer().fit(values), values)

    def test_missing_values_and_weights(self, table, rng):
        table[rng.uniform(size=table.shape) < 0.2] = np.nan
        table[100:200, 1] = np.nan  # a whole chunk of a column: nothing to warn of
        weights = rng.exponential(size=500)
        whole = KDITransformer().fit(table, sample_weight=weights)
        assert_same_fit(chunked(table, [100, 200], weights=weights), whole, table)

    def test_large_chunks_with_weights(self, rng):
        values, weights = rng.lognormal(size=(60_000, 2)), rng.integers(0, 5, size=60_000)
        whole = KDITransformer().fit(values, sample_weight=weights)
        assert_same_fit(chunked(values, [20_000, 40_000], weights=weights), whole, values[::20])

    def test_goes_on_after_fit(self, table):
        model = KDITransformer().fit(table[:200]).partial_fit(table[200:])
        assert_same_fit(model, KDITransformer().fit(table), table)

    def test_float32_chunks(self, table):
        values = table.astype(np.float32)
        model = KDITransformer().partial_fit(values[:100]).partial_fit(values[100:])
        assert_allclose(model.transform(table), KDITransformer().fit(values).transform(table), rtol=0, atol=1e-9)

    def test_names_and_columns_must_agree(self, table):
        frame = pd.DataFrame(table, columns=NAMES)
        model = KDITransformer().partial_fit(frame)
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match=r"2 features.*4 features"):
            KDITransformer().partial_fit(table).partial_fit(table[:, :2])

    def test_alpha_may_change_between_chunks(self, table):
        # the sketch does not know alpha: the last word counts
        model = KDITransformer(0.5).partial_fit(table[:250]).set_params(alpha=2.0).partial_fit(table[250:])
        assert_allclose(model.transform(table), KDITransformer(2.0).fit_transform(table), rtol=0, atol=1e-9)


class TestReadersInOtherThreads:
    """Who reads a model while it learns does not undo what it learns."""

    @pytest.mark.parametrize("read", ["transform", "sketches_", "packed_maps_", "error_bound_", "data_max_", "to_json"])
    def test_more_data_while_maps_are_built(self, read, monkeypatch):
        model = KDITransformer().partial_fit([[0.0], [1.0]])
        original = build.build_features

        def learn_meanwhile(*arguments, **options):
            monkeypatch.setattr(build, "build_features", original)
            model.partial_fit([[5.0]])
            return original(*arguments, **options)

        monkeypatch.setattr(build, "build_features", learn_meanwhile)
        found = getattr(model, read)
        if read in ("transform", "to_json"):
            found(*[[[1.0]]] * (read == "transform"))
        model.transform([[1.0]])  # now it certainly builds
        assert (model.n_samples_seen_, model.sketches_[0].count, model.data_max_[0]) == (3, 3, 5.0)
        assert_allclose(
            model.transform([[5.0], [1.0]]).ravel(), [1.0, KDITransformer().fit_transform([[0.0], [1], [5]])[1, 0]]
        )

    def test_threads(self, rng):
        table = rng.normal(size=(1000, 3))
        model, done = KDITransformer().partial_fit(table[:10]), threading.Event()

        def serve():
            while not done.is_set():
                model.transform(table[:5])

        reader = threading.Thread(target=serve)
        reader.start()
        for start in range(10, 1000, 10):
            model.partial_fit(table[start : start + 10])
        done.set()
        reader.join()
        assert model.sketches_[0].count == 1000
        assert_array_equal(model.data_max_, table.max(axis=0))


@pytest.mark.parametrize("alpha", [1e6, np.inf])
def test_sketches_of_wide_kernels_have_hardly_any_cells(alpha, rng):
    table = rng.normal(size=(2000, 1))
    expected = len(KDITransformer(alpha).fit(table).sketches_[0])
    assert expected < 10
    assert len(KDITransformer(alpha).fit_sketches([Sketch.from_values(table[:, 0])]).sketches_[0]) == expected
