"""Engines that a machine may lack: their tests are skipped with a reason, or fail where everything is required."""

import os
from importlib import import_module
from typing import Any, NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the tests of this module, unless KDI_REQUIRE_ALL=1 says that nothing may be skipped."""
    if os.environ.get("KDI_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}, and KDI_REQUIRE_ALL=1 lets nothing be skipped", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def needed(library: str) -> Any:
    """Import a library, or skip the test as `missing` does."""
    try:
        return import_module(library)
    except ImportError as error:
        missing(f"{library} is not installed ({error})")
