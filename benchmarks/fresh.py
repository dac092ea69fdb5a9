"""Run code in a fresh Python process, for measurements that earlier work in the same process would change."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Removed from the environment: limits set in the caller's shell would change what is measured.
THREAD_LIMITS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"]


def run(code: str, environment: Mapping[str, str] | None = None) -> Any:
    """Execute the code and return the JSON of the last line it prints."""
    inherited = {name: value for name, value in os.environ.items() if name not in THREAD_LIMITS}
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=inherited | dict(environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(finished.stdout.splitlines()[-1])


def call(function: Any, *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Call a function of a module of this package in a fresh process."""
    code = (
        f"import json; from {function.__module__} import {function.__name__} as work; "
        f"print(json.dumps(work(*{arguments!r})))"
    )
    return run(code, environment)
