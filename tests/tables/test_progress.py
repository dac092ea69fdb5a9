"""Progress bars of long readings."""

import io
import sys

import numpy as np
import pyarrow as pa

import kdi
from kdi._utils.progress import Progress, with_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_draws_in_place_and_ends_its_line(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(4000, stream)
    for _ in range(4):
        now[0] += 0.5
        progress.add(1000)
        progress.add(0)  # too soon to draw
    progress.close()
    lines = stream.getvalue().split("\r")
    assert len(lines) == 6
    assert "25%  0:02 left, 1,000 of 4,000 rows, 2,000 rows/s" in lines[1]
    assert lines[-1].strip() == "4,000 rows in 2.0 s, 2,000 rows/s"
    assert lines[-1].endswith("\n")
    assert len(lines[-1]) > len(lines[-2])  # all of it is written over


def test_progress_without_a_total_and_for_hours(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    for total, expected in ((None, "100 rows, 0 rows/s"), (1000, "2:30:00 left, 100 of 1,000 rows, 0 rows/s")):
        stream = Terminal()
        now[0] = 0.0
        progress = Progress(total, stream)
        now[0] = 1000.0
        progress.add(100)
        assert stream.getvalue().endswith(expected)


def test_progress_by_the_share_that_is_read(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(None, stream, share=lambda: 0.25)
    now[0] = 10.0
    progress.add(100)
    assert stream.getvalue() == "\r█████░░░░░░░░░░░░░░░  25%  0:30 left, 100 rows, 10 rows/s"


def test_progress_on_a_narrow_terminal_leaves_out_the_rate(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kdi._utils.progress.monotonic", lambda: now[0])
    stream = Terminal()
    progress = Progress(2_000_000_000, stream)
    now[0] = 100.0
    progress.add(1_000_000_000)
    assert stream.getvalue().endswith("50%  1:40 left, 1,000,000,000 of 2,000,000,000 rows")


def test_progress_is_one_line_where_there_is_no_terminal(capsys):
    kdi.sketch_table(pa.table({"a": np.arange(1000.0)}), progress=True)
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("1,000 rows in ")
    assert shown.err.count("\n") == 1


def test_transform_stream_shows_progress(tmp_path, capsys):
    fitted = kdi.KDITransformer().fit(pa.table({"a": [-5.0, 5.0]}))
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "out.parquet", progress=True)
    assert capsys.readouterr().err.startswith("1 rows in ")
    fitted.transform_stream(pa.table({"a": [1.0]}), tmp_path / "out.parquet")
    assert not capsys.readouterr().err


def test_progress_without_stderr(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        found = list(with_progress([pa.record_batch({"a": [1.0]})], 1))
    assert len(found) == 1
