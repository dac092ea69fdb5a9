"""Every example of the command line in the documentation and in the help runs; where output is shown, it is that."""

import os
import pty
import re
import subprocess
import sys

import pandas as pd
import pytest
from cli_runs import environment
from paths import ROOT

from kdi.cli import main
from kdi.cli._arguments import EXAMPLES

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
HOUSES = re.search(r"\$ cat houses.csv\n(.*?)```", PAGE, flags=re.DOTALL)[1]


@pytest.fixture
def folder(tmp_path):
    """What the examples name: houses.csv, new.csv, parts/*.parquet, model.json; and kdi itself."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "kdi"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kdi "$@"\n')
    command.chmod(0o755)
    work = tmp_path / "work"
    (work / "parts").mkdir(parents=True)
    (work / "houses.csv").write_text(HOUSES, encoding="utf-8")
    (work / "new.csv").write_text("".join(HOUSES.splitlines(keepends=True)[:5]), encoding="utf-8")
    table = pd.read_csv(work / "houses.csv", dtype={"key": str})
    for k in range(2):
        table.iloc[6 * k : 6 * k + 6].to_parquet(work / "parts" / f"{k}.parquet", index=False)
    return work


def variables(folder):
    return environment(PATH=f"{folder.parent / 'bin'}:{os.environ['PATH']}", COLUMNS="100", TERM="dumb")


def run_block(block, folder):
    """Lines of a shell, of which each must succeed."""
    script = f"set -eu -o pipefail\ntrap '[ $? = 141 ] && exit 0' EXIT\n{block}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=variables(folder), capture_output=True, timeout=300)
    assert done.returncode == 0, (block, done.stderr.decode())


def on_terminal(line, folder):
    """What a line shows on a terminal."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(["bash", "-c", line], cwd=folder, env=variables(folder), stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 2**16)
        except OSError:  # of Linux, once nobody holds the other end
            part = b""
        if not part:
            break
        shown += part
    os.close(ours)
    running.wait(60)
    return shown.decode().replace("\r\n", "\n")


def blocks(text, kind):
    return re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)


def kdi_blocks(name):
    """Blocks with commands of kdi, without what installs it."""
    found = blocks((ROOT / name).read_text(encoding="utf-8"), "sh")
    plain = [re.sub(r"^(make|pip) .*\n", "", block, flags=re.MULTILINE) for block in found]
    return [block for block in plain if re.search(r"\bkdi ", block)]


@pytest.mark.slow
@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_of_the_help(folder, command):
    before = "kdi transform houses.csv -o scaled.csv --save model.json\n"
    run_block(before + EXAMPLES[command], folder)


def test_pages_that_have_examples():
    assert len(kdi_blocks("docs/command-line.md")) == 6
    assert len(kdi_blocks("docs/start.md")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/explorer.md"])
def test_examples_of_other_pages(folder, page):
    for block in kdi_blocks(page):
        run_block(block, folder)


@pytest.mark.slow
def test_the_page_of_the_command_line(folder):
    """Block after block, as one would follow it."""
    shown = []
    for kind, block in re.findall(r"```(sh|console)\n(.*?)```", PAGE, flags=re.DOTALL):
        if kind == "sh":
            run_block(block, folder)
            continue
        for line, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            shown.append((line, output, on_terminal(line, folder)))
    assert len(shown) == sum(block.count("$ ") for block in blocks(PAGE, "console"))
    for line, output, found in shown:
        assert (line, rounded(found)) == (line, rounded(output))


def rounded(text):
    """With numbers of many digits cut to those that are the same on all machines."""
    return re.sub(r"\d+\.\d{9,}", lambda number: f"{float(number[0]):.8f}", text)


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_option_is_on_the_page(command, capsys):
    assert main([command, "--help"]) == 0
    options = set(re.findall(r" (--[a-z-]+)", capsys.readouterr().out)) - {"--help"}
    assert sorted(option for option in options if option not in PAGE) == []
