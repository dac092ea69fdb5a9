"""Runs scikit-learn's checks of the array API on KDITransformer and prints their outcomes as JSON.

SCIPY_ARRAY_API=1 python tests/transformer/array_api_checks.py
"""

import json
import warnings
from functools import partial
from inspect import signature
from unittest import SkipTest

import pytest
from sklearn.utils import estimator_checks

from kdi import KDITransformer

MODELS = [
    KDITransformer(),
    KDITransformer(0, output_distribution="normal"),
    KDITransformer(bounded=False, output_distribution="normal", spread="robust"),
]


def checks(model):
    """Those that scikit-learn runs on a model of this tag, and the one on values that its own tests add."""
    yield from estimator_checks._yield_array_api_checks(model)
    on_values = estimator_checks.check_array_api_input_and_values
    names = list(signature(on_values).parameters)[2:5]  # of library, device and dtype; they depend on the version
    for combination in estimator_checks.yield_namespace_device_dtype_combinations():
        for weighted in (False, True):
            yield partial(on_values, **dict(zip(names, combination, strict=True)), check_sample_weight=weighted)


def outcome(check, model):
    try:
        check(type(model).__name__, model)
    except (SkipTest, pytest.skip.Exception) as reason:
        return f"skipped: {reason}"
    return "passed"


if __name__ == "__main__":
    import torch  # not above: modules are looked through for doctests, also where it is not installed

    warnings.simplefilter("default" if torch.cuda.is_available() else "error")  # libraries of GPUs have theirs
    warnings.filterwarnings("ignore", message="kdi.torch computes in plain torch")
    rows = [
        [check.func.__name__, json.dumps(check.keywords, default=str), outcome(check, model)]
        for model in MODELS
        for check in checks(model)
    ]
    print(json.dumps(rows))
