"""Engines that a machine may lack: their tests are skipped with a reason, or fail where everything is required."""

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the tests of this module, unless KDI_REQUIRE_ALL=1 says that nothing may be skipped."""
    if os.environ.get("KDI_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}, and KDI_REQUIRE_ALL=1 lets nothing be skipped", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
