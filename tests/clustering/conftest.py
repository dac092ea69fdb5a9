"""Tables of three features with clusters, for all tests of the discretizer."""

import numpy as np
import pandas as pd
import pytest
from cluster_oracle import mixture


@pytest.fixture
def table():
    """Three features with two, three and two clusters."""
    return np.column_stack([mixture(number, 300)[0] for number in (3, 2, 5)])


@pytest.fixture
def holes(table):
    table[::10, 0], table[5::9, 2] = np.nan, np.nan
    return table


@pytest.fixture
def frame(table):
    return pd.DataFrame(table, columns=["age", "income", "rooms"], index=np.arange(300) + 7)
