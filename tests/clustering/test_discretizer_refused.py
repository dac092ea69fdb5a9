"""What kdi.KDIDiscretizer refuses, and what its errors say."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kdi import KDIDiscretizer
from kdi._utils.errors import TableError

BAD_PARAMETERS = [
    ("alpha", -1.0, ["-1.0", "scott"]),
    ("alpha", [1.0, 2.0], ["2", "3"]),
    ("alpha", [1.0, "cv", 1.0], ["'cv'", "scott"]),
    ("n_bins", 1, ["1", "'auto'", ">= 2"]),
    ("n_bins", 0, ["0", "'auto'", ">= 2"]),
    ("n_bins", 2.5, ["2.5", "'auto'"]),
    ("n_bins", "many", ["'many'", "'auto'"]),
    ("n_bins", None, ["None", "'auto'"]),
    ("n_bins", True, ["True", "'auto'"]),
    ("n_bins", [2, 3], ["3", "2"]),
    ("n_bins", [2, 3, 1], ["1", ">= 2"]),
    ("n_bins", {"age": 2}, ["n_bins"]),
    ("bandwidth", 0, ["0", "positive", "scott"]),
    ("bandwidth", -1.0, ["-1.0", "scott"]),
    ("bandwidth", "cv", ["'cv'", "scott"]),
    ("bandwidth", [0.1, 0.2], ["3", "2"]),
    ("encode", "binary", ["'binary'", "onehot", "onehot-dense", "ordinal"]),
    ("encode", None, ["None", "ordinal"]),
    ("missing", "drop", ["'drop'", "error", "bin"]),
    ("strategy", "kmeans", ["'kmeans'", "valley", "uniform"]),
    ("kernel", "triangle", ["'triangle'", "polyexp", "gaussian"]),
    ("order", 0, ["0", "integer"]),
    ("order", 2.5, ["2.5", "integer"]),
    ("min_size", -1, ["-1", ">= 0"]),
    ("significance", 2, ["2", "between 0 and 1"]),
    ("inverse_strategy", "mean", ["'mean'", "center", "median", "midpoint"]),
    ("n_jobs", 0, ["0"]),
    ("n_jobs", 1.5, ["1.5"]),
]


class TestRefused:
    @pytest.mark.parametrize("strategy", ["valley", "uniform"])
    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_parameters(self, name, bad, said, strategy, table):
        model = KDIDiscretizer(**{"strategy": strategy, name: bad})  # nothing is said here
        with pytest.raises(ValueError) as caught:
            model.fit(table)
        for word in [name, *said]:
            assert word in str(caught.value)
        with pytest.raises(NotFittedError):
            model.transform(table)

    @pytest.mark.parametrize("method", ["fit", "transform", "predict_proba"])
    def test_infinite_values_name_the_column(self, method, frame):
        model = KDIDiscretizer().fit(frame)
        frame.loc[frame.index[4], "income"] = np.inf
        with pytest.raises(ValueError, match=r"infinity.*'income'"):
            getattr(model, method)(frame)

    def test_a_range_beyond_float64_names_the_column(self, frame):
        frame["income"] = 1.5e308 * np.linspace(-1, 1, 300)
        with pytest.raises(ValueError, match=r"range of column 'income' is too large for float64"):
            KDIDiscretizer().fit(frame)

    def test_text_names_the_column(self, frame):
        frame["rooms"] = "many"
        with pytest.raises(ValueError, match="rooms"):
            KDIDiscretizer().fit(frame)

    @pytest.mark.parametrize("method", ["transform", "predict_proba"])
    def test_wrong_number_of_columns(self, method, table):
        with pytest.raises(ValueError, match=r"2 features.*3 features"):
            getattr(KDIDiscretizer().fit(table), method)(table[:, :2])

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            (np.ones(5), r"\(300,\).*\(5,\)"),
            (np.full(300, -1.0), "negative.*-1.0"),
            (np.zeros(300), "zero in every row"),
            (np.full(300, np.nan), "finite.*nan"),
        ],
    )
    def test_weights(self, weights, said, table):
        with pytest.raises(ValueError, match=f"sample_weight.*{said}"):
            KDIDiscretizer().fit(table, sample_weight=weights)

    def test_values_carry_their_column_and_row(self, frame, table):
        holes = frame.copy()
        holes.iloc[4, 1] = np.nan
        with pytest.raises(
            TableError, match="contains NaN, in column 'income'; missing='bin' gives NaN a bin"
        ) as caught:
            KDIDiscretizer().fit(holes)
        assert caught.value.column == "income"
        model = KDIDiscretizer(encode="ordinal").fit(frame)
        with pytest.raises(
            TableError, match=r"column 'rooms' must hold bins from 0 to 1, got 7.0 in row 1\."
        ) as caught:
            model.inverse_transform([[0, 0, 0], [0, 0, 7]])
        assert (caught.value.column, caught.value.row) == ("rooms", 1)
        unnamed = KDIDiscretizer(encode="onehot-dense").fit(table)
        with pytest.raises(TableError, match="column 0 must have a bin, got 0 in all its columns in row 0") as caught:
            unnamed.inverse_transform([[0, 0, 1, 0, 0, 1, 0]])
        assert (caught.value.column, caught.value.row) == ("0", 0)

    def test_a_stream_is_not_encoded_as_columns(self):
        pa = pytest.importorskip("pyarrow")
        stream = pa.table({"a": [1.0, 2.0, 9.0, 10.0]})
        with pytest.raises(ValueError, match="encode must be 'ordinal' to transform a stream, got 'onehot'"):
            KDIDiscretizer().fit(stream).transform(stream)
