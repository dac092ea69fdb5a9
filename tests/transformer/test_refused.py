"""Invalid tables and parameters, and the error messages."""

import os

import numpy as np
import pandas as pd
import pytest

from kdi import KDITransformer

pytestmark = pytest.mark.numpy_core

NAMES = ["a", "b", "c", "d"]
PURE = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")
ALPHAS = [0, 0.1, 1.0, "scott", "silverman", np.inf]


BAD_PARAMETERS = [
    ("alpha", -1.0, ["-1.0", "scott", "silverman"]),
    ("alpha", -np.inf, ["-inf", "scott"]),
    ("alpha", np.nan, ["nan", "scott"]),
    ("alpha", "cv", ["'cv'", "scott", "silverman"]),
    ("alpha", None, ["None", "scott"]),
    ("alpha", True, ["True", "scott"]),
    ("alpha", 1j, ["1j", "scott"]),
    ("alpha", [1.0, 2.0], ["2", "4"]),
    ("alpha", np.ones((4, 4)), ["4, 4"]),
    ("alpha", [1.0, "cv", 1.0, 1.0], ["'cv'", "scott", "1"]),
    ("alpha", [1.0, 1.0, -2.0, 1.0], ["-2.0", "scott", "2"]),
    ("alpha", [1.0, 1.0, np.nan, 1.0], ["nan", "scott"]),
    ("kernel", "triangle", ["'triangle'", "polyexp", "gaussian"]),
    ("kernel", None, ["None", "polyexp", "gaussian"]),
    ("kernel", ["gaussian"], ["gaussian", "polyexp"]),
    ("order", 0, ["0", "1"]),
    ("order", -3, ["-3", "1"]),
    ("order", 2.5, ["2.5"]),
    ("order", "4", ["'4'"]),
    ("order", None, ["None"]),
    ("order", True, ["True"]),
    ("output_distribution", "cauchy", ["'cauchy'", "uniform", "normal"]),
    ("output_distribution", None, ["None", "uniform", "normal"]),
    ("out_of_range", "raise", ["'raise'", "clip", "linear", "nan"]),
    ("out_of_range", None, ["None", "clip", "linear", "nan"]),
    ("max_knots", 0, ["0"]),
    ("max_knots", -5, ["-5"]),
    ("max_knots", 10.5, ["10.5"]),
    ("max_knots", "all", ["'all'"]),
    ("n_jobs", 0, ["0"]),
    ("n_jobs", 1.5, ["1.5"]),
    ("n_jobs", "two", ["'two'"]),
    ("copy", "no", ["'no'"]),
    ("copy", None, ["None"]),
]


class TestRefused:
    @pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "transform", "inverse_transform"])
    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (np.empty((0, 4)), "0 sample"),
            (np.empty((5, 0)), r"0 feature|features"),
            (np.ones(4), "1D|2D"),
            (np.ones((2, 2, 4)), "dim"),
            (np.full((3, 4), 1j), "(?i)complex"),
            (np.array([["a", "b", "c", "d"]] * 3), "string|numeric|numbers|convert"),
            (np.array([[1, 2, "x", 4]] * 3, dtype=object), "'x'"),
            (None, "None|array"),
        ],
        ids=["no-rows", "no-columns", "1d", "3d", "complex", "strings", "objects", "none"],
    )
    def test_tables(self, method, bad, said, table):
        model = KDITransformer()
        if method.endswith("transform") and method != "fit_transform":
            model.fit(table)
        with pytest.raises((ValueError, TypeError), match=said):
            getattr(model, method)(bad)

    def test_text_in_a_frame_names_the_column(self):
        frame = pd.DataFrame({"age": [1.0, 2.0], "town": ["Bern", "Basel"]})
        with pytest.raises(ValueError, match="town"):
            KDITransformer().fit(frame)

    def test_dates_in_a_frame_name_the_column(self):
        frame = pd.DataFrame({"age": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2021-01-01"])})
        with pytest.raises((ValueError, TypeError), match="day"):
            KDITransformer().fit(frame)

    @pytest.mark.parametrize("method", ["transform", "inverse_transform"])
    @pytest.mark.parametrize("n_columns", [1, 3, 5])
    def test_wrong_number_of_columns(self, method, n_columns, table):
        with pytest.raises(ValueError, match=f"{n_columns} features.*4 features"):
            getattr(KDITransformer().fit(table), method)(np.zeros((2, n_columns)))

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    @pytest.mark.parametrize(("name", "bad", "said"), BAD_PARAMETERS, ids=lambda value: str(value)[:20])
    def test_parameters(self, name, bad, said, method, table):
        model = KDITransformer(**{name: bad})  # not checked before fit
        with pytest.raises(ValueError) as caught:
            getattr(model, method)(table)
        for word in [name, *said]:
            assert word in str(caught.value)

    def test_a_bad_order_does_not_matter_less_for_the_gaussian(self, table):
        with pytest.raises(ValueError, match="order"):
            KDITransformer(kernel="gaussian", order=0).fit(table)

    def test_numpy_numbers_are_fine(self, table):
        KDITransformer(np.float32(0.5), order=np.int64(3), max_knots=np.int32(50), n_jobs=np.int64(2)).fit(table)
        KDITransformer(copy=np.True_).fit(table)

    def test_a_failed_fit_leaves_no_half_fitted_model(self, table):
        model = KDITransformer(alpha="cv")
        with pytest.raises(ValueError):
            model.fit(table)
        with pytest.raises(ValueError):  # NotFittedError is one
            model.transform(table)
