"""The command line as a person uses it: as a process of its own, or called here where that is enough."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd

from kdi.cli import main

UNSET = ("COLUMNS", "KDI_TRACEBACK", "PYTHONUNBUFFERED")
KDI = [sys.executable, "-m", "kdi"]


def environment(**changes):
    """Variables of a process that prints in UTF-8 and is not told how wide its terminal is."""
    ours = {key: value for key, value in os.environ.items() if key not in UNSET}
    return ours | {"PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"} | changes


def assert_same_numbers(found, expected):
    """Compare with a fit in memory, which adds up the same numbers in another order."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def process(*arguments, cwd, **options):
    """Run `kdi` in a folder, and return the finished process with what it printed, as bytes."""
    options = {"env": environment(), "capture_output": True, "timeout": 120} | options
    return subprocess.run([*KDI, *map(str, arguments)], cwd=cwd, **options)


def run(*arguments):
    """Run a command here; it must succeed."""
    assert main([str(one) for one in arguments]) == 0


def refused(capsys, *arguments):
    """Run a command here that must fail in one line, which is returned."""
    capsys.readouterr()
    assert main([str(one) for one in arguments]) == 1
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("kdi: note: ")]
    assert out == ""
    assert len(lines) == 1, err
    assert lines[0].startswith("kdi: ")
    assert "Traceback" not in err
    assert "should not happen" not in err
    return lines[0]


def houses(n=200, seed=0):
    """A table with keys, text, holes, numbers and weights."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "key": [f"{k:03}" for k in range(n)],
            "city": rng.choice(["Ulm", "Köln, am Rhein", 'the "old" town'], n),
            "income": np.concatenate([rng.normal(3, 0.5, n // 2), rng.normal(9, 0.5, n - n // 2)]).round(3),
            "rooms": rng.lognormal(1.5, 0.3, n).round(2),
            "households": rng.integers(1, 5, n),
        }
    )
    frame.loc[3, "rooms"] = np.nan
    return frame


def files_in(folder):
    """Names of all files, those that begin with a dot too."""
    return sorted(os.listdir(folder))
