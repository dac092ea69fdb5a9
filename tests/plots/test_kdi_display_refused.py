"""kdi.KDIDisplay: what cannot be drawn, and what is said of it."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kdi
from kdi.compat import kditransform


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=["normal", "lognormal", "cauchy", "count"])


class TestRefused:
    @pytest.mark.parametrize("bad", [StandardScaler(), None, make_pipeline(kdi.KDITransformer()), "model", np.eye(3)])
    def test_what_is_no_transformer(self, bad):
        with pytest.raises(TypeError, match=rf"KDITransformer or KDITransformerCV.*pipeline.*{type(bad).__name__}"):
            kdi.KDIDisplay.from_estimator(bad)
        assert plt.get_fignums() == []

    def test_a_class_of_the_same_name(self, table):
        model = kditransform.KDITransformer().fit(table)
        with pytest.raises(TypeError, match=r"got kdi\.compat\.kditransform\.KDITransformer\."):
            kdi.KDIDisplay.from_estimator(model)

    def test_a_step_of_a_pipeline_is_drawn(self, frame):
        model = make_pipeline(StandardScaler(), kdi.KDITransformer()).fit(frame)
        assert kdi.KDIDisplay.from_estimator(model[-1]).ax_.get_xlabel() == "x0"

    @pytest.mark.parametrize("model", [kdi.KDITransformer(), kdi.KDITransformerCV()])
    def test_not_fitted(self, model):
        with pytest.raises(NotFittedError, match=type(model).__name__):
            kdi.KDIDisplay.from_estimator(model)

    @pytest.mark.parametrize("bad", ["altitude", 4, -1, 1.0, None, True])
    def test_a_feature_that_is_not_there(self, frame, bad):
        with pytest.raises(ValueError, match=r"feature must be.*below 4, got.*'normal', 'lognormal'"):
            kdi.KDIDisplay.from_estimator(kdi.KDITransformer().fit(frame), feature=bad)
        assert plt.get_fignums() == []

    def test_data_of_other_columns(self, frame):
        model = kdi.KDITransformer().fit(frame)
        with pytest.raises(ValueError, match="feature names"):
            kdi.KDIDisplay.from_estimator(model, X=frame.rename(columns={"count": "number"}))

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"x": [[1.0]]}, r"x must have one dimension.*\(1, 1\)"),
            ({"x": [np.inf, 1]}, "x must be finite.*inf"),
            ({"x": ["a"]}, "x must be real numbers.*'a'"),
            ({"x": []}, "x must hold at least one value"),
            ({"x": [np.nan]}, "x must hold at least one value"),
            ({"x": [1.0, 2.0], "weights": [0, 0]}, "x must hold at least one value"),
            ({"weights": [1]}, "weights"),
            ({"alpha": []}, "alpha must be a number or a sequence of at least one"),
            ({"alpha": -1}, "alpha"),
            ({"alpha": "best"}, "alpha.*best"),
            ({"kernel": "triangle"}, "kernel.*triangle"),
            ({"ax": "axes"}, r"ax must be a matplotlib Axes \(.*\) or None, got str"),
        ],
    )
    def test_what_cannot_be_drawn(self, given, said):
        with pytest.raises(ValueError, match=said):
            kdi.KDIDisplay.from_data(**{"x": [1.0, 2.0, 3.0]} | given)
        assert plt.get_fignums() == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "call", ["from_data([1.0, 2.0])", "from_estimator(None)", "(x=[0], curves=[[0]], alphas=[1]).plot()"]
    )
    def test_without_matplotlib(self, call):
        code = f"""
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import kdi
try:
    kdi.KDIDisplay{"" if call[0] == "(" else "."}{call}
except ImportError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "pip install 'kdi[plot]'" in done.stdout

    def test_it_is_exported(self):
        assert "KDIDisplay" in kdi.__all__
        assert "KDIDisplay" in dir(kdi)
