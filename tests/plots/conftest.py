"""No test leaves a figure open, and none opens a window."""

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")
