"""Experiments as a person runs them."""

import os
import subprocess
import sys
from pathlib import Path


def run_experiments(*arguments):
    """What it prints. The archive of the Small Data Benchmarks is not there, wherever the tests run."""
    environment = {name: value for name, value in os.environ.items() if name != "KDI_UCI_ARCHIVE"}
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-m", "experiments", *map(str, arguments)],
        cwd=Path(__file__).parent.parent,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1200,
    )
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-5000:]
    return finished.stdout
