import numpy as np
import pandas as pd
import pytest


@pytest.fixture(params=["polyexp", "gaussian"])
def kernel(request):
    return request.param


@pytest.fixture(params=["two-sided", "less", "greater"])
def alternative(request):
    return request.param


@pytest.fixture
def holes(table, rng):
    """The table with a tenth of it missing; the last column is complete."""
    missing = rng.uniform(size=table.shape) < 0.1
    missing[:, 3] = False
    return np.where(missing, np.nan, table)


@pytest.fixture
def frame(table):
    """The table with names."""
    return pd.DataFrame(table, columns=["a", "b", "c", "d"])
