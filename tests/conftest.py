import os

import numpy as np
import pytest
from browser import start_browser
from experiment_runs import run_experiments
from hypothesis import HealthCheck, settings

import kdi

# The same examples in every run; KDI_EXPLORE=1000 looks for new ones, that many a test.
common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True, "database": None}
explore = int(os.environ.get("KDI_EXPLORE", "0"))
settings.register_profile("kdi", derandomize=not explore, **common)
settings.load_profile("kdi")


@pytest.fixture
def rng():
    return np.random.default_rng(20231119)


@pytest.fixture
def table(rng):
    """Four columns of different shape, 500 rows."""
    n = 500
    columns = [rng.normal(size=n), rng.lognormal(size=n), rng.standard_cauchy(size=n), rng.poisson(3, size=n)]
    return np.column_stack(columns)


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory):
    """Folder and output of a quick run of all experiments: one for all tests of the group "experiments"."""
    out = tmp_path_factory.mktemp("results")
    return out, run_experiments("all", "--quick", "--out", out)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium: one for all tests of the group "browser"."""
    started = start_browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def housing():
    """California housing as a frame."""
    return pytest.importorskip("pandas").read_csv(kdi.data.california_housing())


@pytest.fixture(scope="session")
def california(housing):
    """Its page of the explorer, as text."""
    return kdi.explore(housing, title="California housing").html


def pytest_report_header():
    return f"KDI_PURE_PYTHON={os.environ.get('KDI_PURE_PYTHON', '')}"
