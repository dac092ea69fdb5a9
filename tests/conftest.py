import os
import re

import numpy as np
import pytest
from browser import start_browser
from experiment_runs import run_experiments
from hypothesis import HealthCheck, settings
from spark_session import connect as connect
from spark_session import spark as spark

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


# What a test needs, by the fixture that it uses: the mark of that name.
SHARED = {"spark": "spark", "connect": "spark", "browser": "browser", "quick_run": "experiments"}
PYSPARK_WARNING = "ignore:PySpark does not yet fully support pandas:FutureWarning"
IN_PURE_PYTHON = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")
# The NumPy core sums the largest samples directly: once, with the compiled core, is enough for them.
LARGE = re.compile("worst_data|noise_leaves|for_noise_costs|0000|1500|3000|many_rows|polyexp-[235]")


def pytest_itemcollected(item):
    for fixture, group in SHARED.items():
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(getattr(pytest.mark, group))
            if fixture == "spark":
                item.add_marker(pytest.mark.filterwarnings(PYSPARK_WARNING))


def pytest_collection_modifyitems(config, items):
    if IN_PURE_PYTHON:
        left_out = [item for item in items if not item.get_closest_marker("numpy_core") or LARGE.search(item.nodeid)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_report_header():
    return f"KDI_PURE_PYTHON={os.environ.get('KDI_PURE_PYTHON', '')}"
