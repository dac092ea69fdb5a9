import importlib.util

import make_kditransform as golden
import numpy as np
import pytest

IS_INSTALLED = importlib.util.find_spec("kditransform") is not None


@pytest.fixture(scope="session", params=["stored", "installed"] if IS_INSTALLED else ["stored"])
def original(request):
    """Results of kditransform: the stored ones, and new ones if it is installed."""
    return golden.stored() if request.param == "stored" else golden.record()


@pytest.fixture
def clusters(rng):
    """Two features, with two and with three clusters."""
    left = rng.choice([0.0, 10.0], size=300) + rng.normal(size=300)
    return np.column_stack([left, rng.choice([0.0, 9.0, 20.0], size=300) + rng.normal(size=300)])
