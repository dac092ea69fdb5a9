"""What kdi.cluster and its result refuse, and what is said of it."""

import numpy as np
import pandas as pd
import pytest
from cluster_oracle import mixture

import kdi
from kdi._clustering.clusters import ClusterOptions, cluster_partitioned
from kdi._tables.arrow_partitions import ArrowPartitions
from kdi._utils.errors import TableError

pytestmark = pytest.mark.numpy_core

BAD_PARAMETERS = [
    ("alpha", -1.0, ["-1.0", "scott", "silverman"]),
    ("alpha", np.nan, ["nan", "scott"]),
    ("alpha", "cv", ["'cv'", "scott", "silverman"]),
    ("alpha", None, ["None", "scott"]),
    ("alpha", True, ["True", "scott"]),
    ("alpha", [1.0, 2.0], ["[1.0, 2.0]", "scott"]),
    ("bandwidth", -0.5, ["-0.5", "scott", "silverman"]),
    ("bandwidth", 0, ["0", "positive", "scott"]),
    ("bandwidth", 0.0, ["0.0", "positive", "scott"]),
    ("bandwidth", np.inf, ["inf", "positive", "scott"]),
    ("bandwidth", np.nan, ["nan", "scott"]),
    ("bandwidth", "botev", ["'botev'", "scott", "silverman"]),
    ("bandwidth", None, ["None", "scott"]),
    ("bandwidth", False, ["False", "scott"]),
    ("kernel", "triangle", ["'triangle'", "polyexp", "gaussian"]),
    ("kernel", None, ["None", "polyexp", "gaussian"]),
    ("order", 0, ["0", "integer"]),
    ("order", 2.5, ["2.5", "integer"]),
    ("order", None, ["None", "integer"]),
    ("n_clusters", 0, ["0", ">= 1"]),
    ("n_clusters", -2, ["-2", ">= 1"]),
    ("n_clusters", 2.0, ["2.0", "integer"]),
    ("n_clusters", 2.5, ["2.5", "integer"]),
    ("n_clusters", "auto", ["'auto'", "None"]),
    ("n_clusters", True, ["True"]),
    ("min_size", -1, ["-1", ">= 0"]),
    ("min_size", np.nan, ["nan", ">= 0"]),
    ("min_size", np.inf, ["inf"]),
    ("min_size", "5", ["'5'", "None"]),
    ("min_size", True, ["True"]),
    ("significance", 0, ["0", "between 0 and 1"]),
    ("significance", 1, ["1", "between 0 and 1"]),
    ("significance", -0.05, ["-0.05", "between 0 and 1"]),
    ("significance", 5, ["5", "between 0 and 1"]),
    ("significance", np.nan, ["nan", "between 0 and 1"]),
    ("significance", "0.05", ["'0.05'", "None"]),
    ("significance", True, ["True", "between 0 and 1"]),
    ("weights", [1.0, 2.0], ["(40,)", "(2,)"]),
    ("weights", np.ones((40, 1)), ["(40,)", "(40, 1)"]),
    ("weights", np.r_[-1.0, np.ones(39)], ["-1.0", "negative"]),
    ("weights", np.r_[np.nan, np.ones(39)], ["nan", "finite"]),
    ("weights", np.r_[np.ones(39), np.inf], ["inf", "finite", "39"]),
    ("weights", ["a"] * 40, ["'a'", "numbers"]),
]


@pytest.fixture
def values():
    return mixture(3, 40)[0]


class TestParameters:
    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_parameters(self, name, bad, said, values):
        with pytest.raises(ValueError) as caught:
            kdi.cluster(values, **{name: bad})
        for word in [name, *said]:
            assert word in str(caught.value)

    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_for_a_constant_too(self, name, bad, said):
        with pytest.raises(ValueError, match=name):
            kdi.cluster(np.full(40, 3.0), **{name: bad})

    def test_options_have_names(self, values):
        with pytest.raises(TypeError):
            kdi.cluster(values, 1.0)

    def test_unknown_options(self, values):
        with pytest.raises(TypeError, match="alhpa"):
            kdi.cluster(values, alhpa=1.0)

    def test_numpy_numbers_are_fine(self, values):
        kdi.cluster(
            values,
            alpha=np.float32(0.5),
            bandwidth=np.float64(0.3),
            order=np.int64(3),
            n_clusters=np.int64(1),
            min_size=np.int32(2),
            significance=np.float32(0.05),
        )


class TestValues:
    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            ([], ["x", "at least one value"]),
            ([np.nan, np.nan], ["x", "at least one value", "NaN"]),
            ([1.0, np.inf], ["x", "finite", "inf", "1"]),
            ([-np.inf, 1.0], ["x", "finite", "-inf", "0"]),
            ([[1.0], [2.0]], ["x", "one dimension", "(2, 1)"]),
            (np.float64(3.0), ["x", "one dimension", "()"]),
            (["a", "b"], ["x", "numbers", "'a'"]),
            ([1j, 2.0], ["x", "numbers", "complex"]),
            (np.array(["2020-01-01"], dtype="datetime64[D]"), ["x", "numbers", "datetime64"]),
            (pd.DataFrame({"a": [1.0, 2.0]}), ["x", "one dimension", "(2, 1)"]),
        ],
        ids=lambda value: str(value)[:25],
    )
    def test_samples(self, bad, said):
        with pytest.raises(ValueError) as caught:
            kdi.cluster(bad)
        for word in said:
            assert word in str(caught.value)

    def test_a_range_beyond_float64(self):
        with pytest.raises(ValueError, match="range of x is too large for float64"):
            kdi.cluster([-1.5e308, -1.4e308, 0.0, 1.4e308, 1.5e308])

    @pytest.mark.parametrize("weights", [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    def test_no_weight_at_all(self, weights):
        with pytest.raises(ValueError, match=r"(?s)x .*at least one value.*weight"):
            kdi.cluster([1.0, 2.0, np.nan], weights=weights)

    @pytest.mark.parametrize("method", ["predict", "predict_proba"])
    @pytest.mark.parametrize(
        ("bad", "said"), [([np.inf], "finite.*inf"), ([[1.0]], "one dimension"), (["a"], "numbers.*'a'")]
    )
    def test_what_is_predicted(self, method, bad, said, values):
        with pytest.raises(ValueError, match=said):
            getattr(kdi.cluster(values), method)(bad)

    def test_an_infinite_value_without_weight(self):
        with pytest.raises(ValueError, match="finite"):
            kdi.cluster([1.0, 2.0, np.inf], weights=[1.0, 1.0, 0.0])


class TestPartitioned:
    """Errors of `cluster_partitioned` name the column, in the message and as an attribute."""

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ([1.0, np.inf], "column 'size' must be finite or NaN, got infinite values."),
            ([np.nan, np.nan], "column 'size' must hold at least one value that is not NaN and has a weight above 0."),
        ],
    )
    def test_values(self, values, said):
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(TableError) as caught:
            cluster_partitioned(ArrowPartitions(pa.table({"size": values})), ClusterOptions())
        assert str(caught.value) == said
        assert caught.value.column == "size"

    def test_impossible_numbers(self):
        pa = pytest.importorskip("pyarrow")
        with pytest.raises(ValueError, match="column 'size' has no 9 clusters at any alpha"):
            cluster_partitioned(ArrowPartitions(pa.table({"size": [1.0, 2.0, 30.0]})), ClusterOptions(n_clusters=9))
