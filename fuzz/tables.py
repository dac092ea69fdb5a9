"""The command line on hostile CSV and Parquet files: a result, or one line and its exit code; never half a file."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pandas as pd

import kdi
from fuzz.decoder import Decoder
from kdi.cli import main

OPTIONS = [
    ["--columns", "x"],
    ["--columns", "x,y"],
    ["--alpha", "0"],
    ["--alpha", "inf"],
    ["--alpha", "x=0.5"],
    ["--alpha", "1e-300"],
    ["--weights", "w"],
    ["--weights", "y"],
    ["--kernel", "gaussian"],
]
COMMANDS = {
    "transform": [*OPTIONS, ["--normal"], ["--out-of-range", "linear"], ["--save", "model.json"]],
    "corr": [*OPTIONS, ["--compare"]],
    "cluster": [
        *(["--n-clusters", "2"], ["--min-size", "2"], ["--significance", "0.05"], ["--bandwidth", "0.2"]),
        *(["--weights", "w"], ["--alpha", "0"]),
    ],
    "apply": [[]],
    "inverse": [[]],
    "explore": [["--columns", "x,y"], ["--weights", "w"]],
}
ORDER = ["transform", "corr", "cluster", "apply", "inverse", "transform", "cluster", "explore"]
SUFFIXES = [".csv", ".parquet", ".csv.gz"]


@cache
def folder() -> Path:
    """A folder for the files, with a model in it."""
    path = Path(tempfile.mkdtemp(prefix="kdi-fuzz-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 9.0], "y": [3.0, 1.0, 1.0, 0.0]})
    (path / "fitted.json").write_text(kdi.KDITransformer(out_of_range="linear").fit(frame).to_json())
    return path


def check(data: bytes) -> None:
    """Run a command on a file with the given bytes."""
    decoder = Decoder(data)
    command, suffix = decoder.choice(ORDER), decoder.choice(SUFFIXES)
    chosen = [decoder.choice(COMMANDS[command]) for _ in range(decoder.integer(0, 2))]
    target = "out.html" if command == "explore" else decoder.choice(["out.csv", "-", "out.parquet"])
    content = decoder.rest()
    here = folder()
    (here / f"in{suffix}").write_bytes(content)
    arguments = [command, *["fitted.json"] * (command in ("apply", "inverse")), f"in{suffix}", "-o", target]
    arguments += [*["--column", "x"] * (command == "cluster"), *(one for option in chosen for one in option)]
    code, out, err = run(here, arguments)
    made = sorted(set(os.listdir(here)) - {f"in{suffix}", "fitted.json"})
    try:
        _check(code, out, err, made, arguments)
    finally:
        for name in [*made, f"in{suffix}"]:
            (here / name).unlink()


def run(here: Path, arguments: list[str]) -> tuple[int, bytes, str]:
    """Run a command in a folder; return its exit code and what it printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before = os.getcwd()
    os.chdir(here)
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, {"KDI_TRACEBACK": "1"}):
            code = main(arguments)
        out.flush()
        return code, out.buffer.getvalue(), err.getvalue()  # type: ignore[attr-defined]
    finally:
        os.chdir(before)


def _check(code: int, out: bytes, err: str, made: list[str], arguments: list[str]) -> None:
    lines = err.splitlines()
    shown = [line for line in lines if line.startswith("kdi: ") and not line.startswith("kdi: note: ")]
    assert code in (0, 1, 2), f"exit code {code}"
    if code == 0:
        assert not shown and "Traceback" not in err, f"errors of a success: {err}"
        assert arguments[arguments.index("-o") + 1] in made or out, "a success writes a table or a page"
        return
    assert len(shown) == 1, f"one line: {err[-2000:]}"
    assert "unexpected" not in shown[0].split(":")[1], f"unexpected: {err[-2000:]}"
    assert "should not happen" not in err, err[-2000:]
    assert not made, f"files of a failure: {made}"
