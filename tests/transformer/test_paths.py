"""alpha_path: every model is what one fit at its alpha gives, from one reading of the data."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import kdi
import kdi._integral.build
import kdi._transformer.transformer
from kdi import ALPHAS, KDITransformer, alpha_path
from kdi._transformer.paths import AlphaPath

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]


def assert_same_model(model, expected, tolerance=1e-12):
    """The same tables, to rounding, and the same of everything else that follows from them."""
    assert_array_equal(model.n_knots_, expected.n_knots_)
    for one, other in zip(model.maps_, expected.maps_, strict=True):
        assert type(one) is type(other)
        for name in ("coefficients", "levels", "knots"):
            if hasattr(other, name):
                assert_allclose(getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance)
    assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
    assert_allclose(model.error_bound_, expected.error_bound_, rtol=1e-9, atol=1e-11)  # rounding of the spread of cells
    assert_array_equal(model.alpha_, expected.alpha_)
    assert_array_equal(model.data_min_, expected.data_min_)
    assert_array_equal(model.data_max_, expected.data_max_)
    assert model.n_samples_seen_ == expected.n_samples_seen_
    assert model.n_features_in_ == expected.n_features_in_
    assert model.get_params() == expected.get_params()


def assert_same_to_rounding(one, other):
    """Compare a model of a path with one that was fitted alone: the two sum the same numbers in another order."""
    assert_allclose(one, other, rtol=0, atol=1e-14)


class TestModels:
    EVERY = (0, 0.01, 0.05, 0.3, 1, 3, 10, 100, np.inf)

    @pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
    def test_each_is_what_one_fit_gives(self, kernel, table):
        for model, alpha in zip(alpha_path(table, self.EVERY, kernel=kernel), self.EVERY, strict=True):
            assert_same_model(model, KDITransformer(float(alpha), kernel=kernel).fit(table))

    def test_weights(self, table, rng):
        weights = rng.choice([0, 0.5, 1, 3], size=500)
        for model, alpha in zip(alpha_path(table, self.EVERY, sample_weight=weights), self.EVERY, strict=True):
            assert_same_model(model, KDITransformer(float(alpha)).fit(table, sample_weight=weights))

    def test_missing(self, table, rng):
        table[rng.uniform(size=table.shape) < 0.2] = np.nan
        for model, alpha in zip(alpha_path(table, self.EVERY), self.EVERY, strict=True):
            assert_same_model(model, KDITransformer(float(alpha)).fit(table))
            assert_array_equal(np.isnan(model.transform(table)), np.isnan(table))

    @pytest.mark.parametrize("first", [0, 0.05])
    def test_cells(self, first, rng):
        """Columns that are kept in cells: the cells of each alpha are those of its own fit."""
        table = np.column_stack([rng.normal(size=50_000), rng.standard_cauchy(size=50_000)])
        alphas = (first, 0.3, 2.0)
        for model, alpha in zip(alpha_path(table, alphas), alphas, strict=True):
            expected = KDITransformer(float(alpha)).fit(table)
            assert_same_model(model, expected, tolerance=1e-11)
            assert [len(one) for one in model.sketches_] == [len(one) for one in expected.sketches_]

    @pytest.mark.parametrize("spread", ["std", "robust"])
    @pytest.mark.parametrize("distribution", ["uniform", "normal"])
    def test_open_maps(self, distribution, spread, table):
        """Their knots begin a bandwidth's rounding further left or right: positions are rounded at other places."""
        options = {"bounded": False, "spread": spread, "output_distribution": distribution}
        for model, alpha in zip(alpha_path(table, [0, 0.2, 1, 5], **options), [0.0, 0.2, 1.0, 5.0], strict=True):
            expected = KDITransformer(alpha, **options).fit(table)
            assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
            assert_allclose(model.transform(table * 1.2), expected.transform(table * 1.2), rtol=1e-9, atol=1e-10)

    @pytest.mark.parametrize("options", [{}, {"bounded": False}, {"bounded": False, "output_distribution": "normal"}])
    def test_cells_of_robust_spreads(self, options, rng):
        """The sketch of one alpha is fine enough for the quartiles at the next."""
        options = options | {"spread": "robust"}
        table = np.column_stack([rng.normal(size=50_000), rng.lognormal(size=50_000), rng.poisson(9, size=50_000)])
        alphas = (0.05, 0.3, 2.0, 20.0)
        for model, alpha in zip(alpha_path(table, alphas, **options), alphas, strict=True):
            expected = KDITransformer(alpha, **options).fit(table)
            assert_allclose(model.bandwidth_, expected.bandwidth_, rtol=1e-12)
            assert_allclose(model.transform(table), expected.transform(table), rtol=0, atol=1e-9)
            assert [len(one) for one in model.sketches_] == [len(one) for one in expected.sketches_]

    def test_an_infinite_alpha_needs_bounds(self, table):
        with pytest.raises(ValueError, match="alphas must be finite if bounded=False, got inf"):
            alpha_path(table, [1, np.inf], bounded=False)

    def test_float32(self, table):
        table = table.astype(np.float32)
        for model, alpha in zip(alpha_path(table, [0.1, 1]), [0.1, 1.0], strict=True):
            assert_array_equal(model.transform(table), KDITransformer(alpha).fit_transform(table))
            assert model.transform(table).dtype == np.float32

    @pytest.mark.parametrize(
        "options",
        [
            {"kernel": "gaussian"},
            {"order": 2},
            {"output_distribution": "normal"},
            {"out_of_range": "linear"},
            {"out_of_range": "nan"},
            {"max_knots": 30},
            {"n_jobs": 2},
            {"spread": "robust"},
            {"spread": "robust", "feature_range": (-1, 1)},
        ],
        ids=str,
    )
    def test_options(self, options, table):
        beyond = table * 1.2
        for model, alpha in zip(alpha_path(table, [0.2, 1], **options), [0.2, 1.0], strict=True):
            expected = KDITransformer(alpha, **options).fit(table)
            assert_same_model(model, expected)
            assert_allclose(model.transform(beyond), expected.transform(beyond), rtol=1e-12, atol=1e-12)

    def test_a_column_without_values(self, table):
        table[:, 1] = np.nan
        with pytest.warns(UserWarning, match="column 1 held only NaN"):
            path = alpha_path(table, [0.1, 1])
        with pytest.warns(UserWarning, match="column 1 held only NaN"):
            assert np.isnan(path[1].transform(table)[:, 1]).all()

    @settings(max_examples=25)
    @given(
        st.lists(st.integers(-20, 20), min_size=1, max_size=30),
        st.lists(st.sampled_from([0, 0.1, 0.5, 1, 5, np.inf]), min_size=1, max_size=4),
    )
    def test_any_column(self, values, alphas):
        column = np.array(values, dtype=float)[:, None]
        path = alpha_path(column, alphas)
        assert_array_equal(path.alphas, sorted(set(alphas)))
        for alpha, levels in zip(path.alphas, path.transform(column), strict=True):
            assert_same_to_rounding(levels, KDITransformer(float(alpha)).fit_transform(column))


class TestSources:
    @staticmethod
    def assert_path(path, expected):
        for model, other in zip(path, expected, strict=True):
            assert_same_model(model, other)
            assert_array_equal(model.feature_names_in_, NAMES)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_frames(self, frame, table):
        given_frame = frame(dict(zip(NAMES, table.T, strict=True)))
        path = alpha_path(given_frame, [0.1, 1])
        self.assert_path(path, [KDITransformer(alpha).fit(given_frame) for alpha in (0.1, 1.0)])
        assert_array_equal(path[0].get_feature_names_out(), NAMES)

    def test_streams(self, table, tmp_path):
        arrow = pa.table(dict(zip(NAMES, table.T, strict=True)))
        pq.write_table(arrow, tmp_path / "table.parquet", row_group_size=100)
        expected = [KDITransformer(alpha).fit(pd.DataFrame(table, columns=NAMES)) for alpha in (0.1, 1.0)]
        for source in (arrow, str(tmp_path / "table.parquet"), tmp_path / "table.parquet"):
            self.assert_path(alpha_path(source, [0.1, 1]), expected)
        found = list(alpha_path(arrow, [0.1, 1]).transform(arrow))
        assert all(isinstance(one, pa.Table) for one in found)
        assert_allclose(found[1]["c"].to_numpy(), expected[1].transform(pd.DataFrame(table, columns=NAMES))[:, 2])

    def test_a_weight_column_of_a_stream(self, table, rng):
        weights = rng.integers(0, 4, size=500)
        arrow = pa.table({**dict(zip(NAMES, table.T, strict=True)), "w": weights})
        frame = pd.DataFrame(table, columns=NAMES)
        expected = [KDITransformer(alpha).fit(frame, sample_weight=weights) for alpha in (0.1, 1.0)]
        self.assert_path(alpha_path(arrow, [0.1, 1], sample_weight="w"), expected)


class TestSequence:
    def test_default(self, table):
        path = alpha_path(table)
        assert_array_equal(path.alphas, ALPHAS)
        assert len(path) == len(ALPHAS) == 20
        assert ALPHAS[0] == 0.05
        assert ALPHAS[-1] == 10
        assert 1 in ALPHAS
        assert list(ALPHAS) == sorted(ALPHAS)

    def test_alphas_are_sorted_and_distinct(self, table):
        path = alpha_path(table, [3, 1, 0.1, 1])
        assert_array_equal(path.alphas, [0.1, 1, 3])
        assert [model.alpha for model in path] == [0.1, 1, 3]
        assert all(type(model.alpha) is float for model in path)

    @pytest.mark.parametrize("alphas", [(0.1, 2), np.array([0.1, 2]), range(1, 4), pd.Series([0.1, 2])], ids=type)
    def test_kinds_of_alphas(self, alphas, table):
        assert_array_equal(alpha_path(table, alphas).alphas, np.asarray(alphas))

    def test_places_and_slices(self, table):
        path = alpha_path(table, [0, 0.1, 1, np.inf])
        assert path[-1].alpha == np.inf
        assert path[np.int64(1)].alpha == 0.1
        with pytest.raises(IndexError):
            path[4]
        part = path[1:3]
        assert isinstance(part, AlphaPath)
        assert_array_equal(part.alphas, [0.1, 1])
        assert part[0].alpha == path[1].alpha == 0.1
        assert next(reversed(path)) is path[3]
        assert_array_equal([model.alpha for model in path[::-2]], path.alphas[::-2])
        assert [model.alpha for model in path[1:][1:]] == [1, np.inf]
        assert path.index(path[2]) == 2

    def test_repr(self, table):
        path = alpha_path(table, [0, 0.1, np.inf])
        assert repr(path) == "AlphaPath(3 alphas from 0 to inf)"
        assert repr(path[:0]) == "AlphaPath(0 alphas)"

    def test_pickle(self, table):
        path = pickle.loads(pickle.dumps(alpha_path(table, [0.1, 1])))
        assert_array_equal(path.alphas, [0.1, 1])
        assert_same_to_rounding(path[1].transform(table), KDITransformer().fit_transform(table))

    def test_models_are_whole(self, table):
        """What a model of its own can do, saving and going on learning included."""
        model = alpha_path(table, [0.1, 1])[1]
        again = KDITransformer.from_json(model.to_json())
        assert_array_equal(again.transform(table), model.transform(table))
        assert_allclose(model.inverse_transform(model.transform(table)), table, rtol=1e-6, atol=1e-6)


class TestLaziness:
    @pytest.fixture
    def made(self, monkeypatch):
        """The alphas of the maps that were built."""
        made, fit_table, build = [], kdi._transformer.transformer.fit_table, kdi._integral.build.DeferredFeatures._build

        def noting_fit(table, weights, factors, *rest, **named):
            made.extend(factors)
            return fit_table(table, weights, factors, *rest, **named)

        def noting_build(deferred):
            made.extend(deferred.alphas)
            return build(deferred)

        monkeypatch.setattr(kdi._transformer.transformer, "fit_table", noting_fit)
        monkeypatch.setattr(kdi._integral.build.DeferredFeatures, "_build", noting_build)
        return made

    def test_tables_are_made_when_they_are_asked_for(self, made, table):
        path = alpha_path(table[:, :1], [0.1, 0.5, 1, 2])
        assert made == [0.1]  # that of the fit itself
        path[2].transform(table[:, :1])
        path[2].transform(table[:, :1])
        assert made == [0.1, 1]

    def test_transform_is_lazy(self, made, table):
        found = alpha_path(table[:, :1], [0.1, 0.5, 1, 2]).transform(table[:, :1])
        assert len(made) == 1
        next(found)
        assert len(made) == 1
        next(found)
        assert len(made) == 2
        assert len(list(found)) == 2

    def test_the_data_is_read_once(self, table, monkeypatch):
        read, fit_table = [], kdi._transformer.transformer.fit_table
        monkeypatch.setattr(
            kdi._transformer.transformer,
            "fit_table",
            lambda table, *given, **named: read.append(len(table)) or fit_table(table, *given, **named),
        )
        list(alpha_path(table).transform(table))
        assert read == [500]


class TestIndependence:
    def test_more_data_for_one_model(self, table):
        path = alpha_path(table, [0.1, 1, 3])
        expected = [model.transform(table) for model in path]
        path[1].partial_fit(table * 5)
        assert path[1].n_samples_seen_ == 1000
        for place in (0, 2):
            assert path[place].n_samples_seen_ == 500
            assert_array_equal(path[place].transform(table), expected[place])
        assert_allclose(path[1].data_max_, 5 * table.max(axis=0))

    def test_another_fit_of_one_model(self, table):
        path = alpha_path(table, [0.1, 1, 3])
        path[0].fit(table[:, :2])
        assert path[1].n_features_in_ == 4
        assert_same_to_rounding(path[1].transform(table), KDITransformer().fit_transform(table))

    def test_before_the_others_are_asked_for(self, table):
        path = alpha_path(table, [0.1, 1, 3])
        path[0].partial_fit(table * 5)
        path[1].partial_fit(table * 7)
        assert_same_to_rounding(path[2].transform(table), KDITransformer(3.0).fit_transform(table))
        assert path[1].n_samples_seen_ == path[0].n_samples_seen_ == 1000

    def test_parameters_of_one_model(self, table):
        path = alpha_path(table, [0.1, 1, 3])
        path[0].set_params(output_distribution="normal").set_output(transform="pandas")
        assert path[1].output_distribution == "uniform"
        assert isinstance(path[1].transform(table), np.ndarray)

    def test_what_is_given_is_left_alone(self, table):
        alphas, before = [3, 1], table.copy()
        list(alpha_path(table, alphas).transform(table))
        assert alphas == [3, 1]
        assert_array_equal(table, before)


class TestRefused:
    @pytest.mark.parametrize("alphas", [[], -1, 1.0, [1, -0.5], [np.nan], [[1.0, 2.0]], np.empty(0)], ids=str)
    def test_alphas(self, alphas, table):
        given_text = re.escape(repr(alphas))
        with pytest.raises(
            ValueError, match=f"alphas must be a sequence of numbers >= 0 .inf included., got {given_text}"
        ):
            alpha_path(table, alphas)

    @pytest.mark.parametrize("alphas", ["scott", ["scott"], ["0.1"], [1, "a"], [1j]], ids=str)
    def test_text(self, alphas, table):
        with pytest.raises(ValueError, match="alphas must be real numbers, got "):
            alpha_path(table, alphas)

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("kernel", "box"),
            ("order", 0),
            ("output_distribution", "x"),
            ("out_of_range", 1),
            ("max_knots", 1),
            ("bounded", None),
            ("spread", "auto"),
            ("feature_range", (1, 0)),
        ],
    )
    def test_options(self, option, value, table):
        with pytest.raises(ValueError, match=option):
            alpha_path(table, **{option: value})

    def test_infinite_values(self, table):
        table[3, 2] = np.inf
        with pytest.raises(ValueError, match="column 2"):
            alpha_path(table)

    def test_options_are_named(self, table):
        with pytest.raises(TypeError):
            alpha_path(table, None, np.ones(500))
