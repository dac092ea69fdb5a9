"""kdi as a process: exit codes, pipes, signals, terminals, full disks, and files larger than the memory it takes."""

import fcntl
import io
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_runs import KDI, environment, files_in, houses, process

pytestmark = pytest.mark.slow

NOTE = b"kdi: note: not numeric, and passed through unchanged: 'key', 'city'.\n"
LARGE = """
import sys
import kdi._utils.progress, kdi.cli._inputs
kdi.cli._inputs.IN_MEMORY, kdi._utils.progress.REDRAW_SECONDS = 1000, 0.0
from kdi.cli import main
sys.exit(main())
"""


@pytest.fixture
def folder(tmp_path):
    houses(20_000).to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path


def shell(line, folder):
    """A line of sh, with `kdi` in it."""
    line = line.replace("kdi ", f"'{sys.executable}' -m kdi ")
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, timeout=120)


def test_exit_codes(folder):
    assert process("--version", cwd=folder).returncode == 0
    assert process("corr", "houses.csv", cwd=folder).returncode == 0
    assert process("corr", "none.csv", cwd=folder).returncode == 1
    assert process("corr", cwd=folder).returncode == 2


def test_tracebacks_are_for_those_who_ask(folder):
    for value, shown in [("", False), ("1", True)]:
        done = process("corr", "none.csv", cwd=folder, env=environment(KDI_TRACEBACK=value))
        assert (b"Traceback" in done.stderr) == shown
        assert done.stderr.endswith(b"kdi: there is no file 'none.csv'.\n")


def small_pipe():
    """Both ends of a pipe that holds one page, so that who writes to it has to wait for who reads."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    return reading, writing


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough(folder, form, unbuffered):
    reading, writing = small_pipe()
    command = [*KDI, "transform", "houses.csv", "--format", form, "--save", "model.json"]
    environ = environment(PYTHONUNBUFFERED=unbuffered)
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, env=environ, cwd=folder) as running:
        os.close(writing)
        assert os.read(reading, 4)
        os.close(reading)
        assert running.wait(60) == 141
        assert running.stderr.read() == NOTE
    assert files_in(folder) == ["houses.csv"]


@pytest.mark.parametrize("form, read", [("csv", pd.read_csv), ("parquet", pd.read_parquet)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_slow_reader_gets_everything(folder, form, read, unbuffered):
    reading, writing = small_pipe()
    command = [*KDI, "transform", "houses.csv", "--format", form]
    environ = environment(PYTHONUNBUFFERED=unbuffered)
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.DEVNULL, env=environ, cwd=folder) as running:
        os.close(writing)
        with open(reading, "rb") as stream:
            found = stream.read()
        assert running.wait(60) == 0
    assert len(read(io.BytesIO(found))) == 20_000


def test_help_for_nobody(folder):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*KDI, "--help"], stdout=writing, stderr=subprocess.PIPE, env=environment(), cwd=folder)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def not_ignored(number):
    """Reset a signal in a child: nohup and `&` start the tests, and so their children, with signals ignored."""
    return lambda: signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_leave_nothing_half_done(folder, number, code):
    (folder / "model.json").write_text("what was there")
    command = [*KDI, "transform", "houses.csv", "--save", "model.json"]
    reading, writing = small_pipe()
    options = {"stdout": writing, "stderr": subprocess.PIPE, "env": environment(), "cwd": folder}
    with subprocess.Popen(command, preexec_fn=not_ignored(number), **options) as running:
        _wait_for(lambda: len(files_in(folder)) == 3)  # the model is written aside, and nobody reads the table
        running.send_signal(number)
        assert running.wait(60) == code
        assert running.stderr.read() == NOTE
    os.close(reading)
    os.close(writing)
    assert files_in(folder) == ["houses.csv", "model.json"]
    assert (folder / "model.json").read_text() == "what was there"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_while_libraries_are_imported(folder, number, code):
    broken = (
        "import os, sys, types\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'numpy':\n"
        "            try:\n"
        f"                os.kill(os.getpid(), {int(number)})\n"
        "            except BaseException:\n"
        "                raise ImportError('numpy seems to be broken')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from kdi.cli import main\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, "-c", broken, "corr", "houses.csv"]
    options = {"cwd": folder, "env": environment(), "preexec_fn": not_ignored(number)}
    done = subprocess.run(command, capture_output=True, timeout=120, **options)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


def test_signals_that_are_ignored_stay_so(folder):
    command = [*KDI, "transform", "houses.csv"]
    reading, writing = small_pipe()
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731 (as nohup does)
    options = {"stdout": writing, "stderr": subprocess.DEVNULL, "env": environment(), "preexec_fn": ignore}
    with subprocess.Popen(command, cwd=folder, **options) as running:
        os.close(writing)
        assert os.read(reading, 4)
        running.send_signal(signal.SIGHUP)
        with open(reading, "rb") as stream:
            stream.read()
        assert running.wait(60) == 0


def test_standard_input_is_not_left_behind_either(folder):
    scratch = folder / "scratch"
    scratch.mkdir()
    options = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": folder}
    options["preexec_fn"] = not_ignored(signal.SIGTERM)
    with subprocess.Popen([*KDI, "corr", "-"], env=environment(TMPDIR=str(scratch)), **options) as running:
        running.stdin.write(b"x,y\n1,2\n")
        running.stdin.flush()
        _wait_for(lambda: files_in(scratch))
        time.sleep(0.2)  # until it waits for more
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 143
    assert files_in(scratch) == []


def _wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.01)


def test_without_standard_streams(folder):
    done = shell("kdi transform houses.csv -o scaled.csv >&- 2>&- <&-", folder)
    assert done.returncode == 0
    assert len(pd.read_csv(folder / "scaled.csv")) == 20_000
    done = shell("kdi transform houses.csv --save model.json >&-", folder)
    assert done.returncode == 1
    assert done.stderr.endswith(b"kdi: there is no standard output to write to.\n")
    done = shell("kdi transform - -o b.csv <&-", folder)
    assert done.returncode == 1
    assert done.stderr == b"kdi: there is no standard input to read.\n"
    assert shell("kdi corr none.csv 2>&-", folder).returncode == 1
    assert files_in(folder) == ["houses.csv", "scaled.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk_behind_standard_output(folder):
    for form in ("csv", "parquet"):
        done = shell(f"kdi transform houses.csv --format {form} --save model.json > /dev/full", folder)
        assert done.returncode == 1
        assert done.stderr.endswith(b"kdi: standard output cannot be written: the disk is full.\n")
        assert b"Exception" not in done.stderr
    assert files_in(folder) == ["houses.csv"]


@pytest.mark.parametrize("target", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_file_that_may_not_grow(folder, target):
    (folder / target).write_text("what was there")
    options = ["-o", target, "--save", "model.json", "--columns", "rooms"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    done = process("transform", "houses.csv", *options, cwd=folder, preexec_fn=limit)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line == f"kdi: {folder / target} cannot be written: the file would exceed the size limit."
    assert files_in(folder) == ["houses.csv", target]
    assert (folder / target).read_text() == "what was there"


# Progress


def test_progress_on_a_terminal(folder):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", LARGE, "transform", "houses.csv", "-o", "scaled.csv"]
    running = subprocess.Popen(command, cwd=folder, env=environment(), stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 2**16)
        except OSError:  # of Linux, once nobody holds the other end
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert running.communicate()[0] == b""
    assert running.wait(60) == 0
    text = shown.decode()
    assert "reading 'income', 'rooms', 'households' of houses.csv" in text
    assert "writing " in text
    assert len(re.findall(r"\r[█░]{20} [ \d]{3}%  \d+:\d\d left, [\d,]+ rows, [\d,]+ rows/s", text)) >= 2
    assert text.count("20,000 rows in ") == 2
    assert max(len(line) for line in re.split("[\r\n]", text) if "rows" in line) < 80


@pytest.mark.parametrize("command", ["transform", "corr", "cluster", "explore"])
def test_no_progress_in_a_pipe(folder, command):
    options = {"cluster": ["--column", "income"], "explore": ["-o", "page.html"]}.get(command, [])
    arguments = [sys.executable, "-c", LARGE, command, "houses.csv", *options]
    done = subprocess.run(arguments, cwd=folder, env=environment(), capture_output=True, timeout=120)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith(b"kdi: note: ")] == []


def test_people_see_tables_and_programs_read_them(folder):
    ours, theirs = pty.openpty()
    done = subprocess.run([*KDI, "corr", "houses.csv"], cwd=folder, env=environment(), stdout=theirs, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 2**16).decode().split("\r\n")
    os.close(ours)
    assert done.returncode == 0
    assert shown[0].split() == ["income", "rooms", "households"]
    assert shown[1].split()[:2] == ["income", "1.000"]
    assert process("corr", "houses.csv", cwd=folder).stdout.startswith(b"column,income,rooms,households\nincome,1,")


# Memory


def test_memory_does_not_grow_with_the_file(tmp_path):
    rows = 2**20
    schema = pa.schema([(name, pa.float64()) for name in "abcde"])
    part = pa.table(dict(zip("abcde", np.random.default_rng(0).random((5, rows)), strict=True)))
    sizes, peaks = [], []
    for n_parts in (2, 12):
        with pq.ParquetWriter(tmp_path / "a.parquet", schema, use_dictionary=False, compression="none") as writer:
            for _ in range(n_parts):
                writer.write_table(part)
        sizes.append((tmp_path / "a.parquet").stat().st_size)
        command = [*KDI, "transform", "a.parquet", "-o", "b.parquet", "--save", "model.json"]
        running = subprocess.Popen(command, cwd=tmp_path, env=environment())
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0
        assert pq.read_metadata(tmp_path / "b.parquet").num_rows == n_parts * rows
        peaks.append(1024 * usage.ru_maxrss)
        for name in ("a.parquet", "b.parquet"):
            (tmp_path / name).unlink()
    assert sizes[1] - sizes[0] > 4e8
    assert peaks[1] - peaks[0] < 0.3 * (sizes[1] - sizes[0])
