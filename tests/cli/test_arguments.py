"""What can be written after kdi: help, versions, mistakes, and names and alphas as texts."""

import argparse
import subprocess
import sys

import pytest
from cli_runs import environment

import kdi
from kdi.cli import main
from kdi.cli._arguments import EXAMPLES
from kdi.cli._choices import parse_alpha, parse_columns, parse_factor
from kdi.cli._errors import CommandError, message_line
from kdi.cli._text import aligned

COMMANDS = ["transform", "apply", "inverse", "corr", "cluster", "explore", "demo"]


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kdi {kdi.__version__}\n"


def test_help_names_all_commands(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n    {command}" in shown for command in COMMANDS)
    assert list(EXAMPLES) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_fits_a_terminal(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"\n  kdi {command} " in shown or f"\n  kdi {command}\n" in shown
    assert max(len(line) for line in shown.partition("examples:")[0].splitlines()) <= 80


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: COMMAND; kdi --help shows the usage"),
        (["transfrom", "a.csv"], "invalid choice: 'transfrom' (choose from"),
        (["transform"], "the following arguments are required: INPUT; kdi transform --help shows"),
        (["transform", "a.csv", "--alfa", "1"], "unrecognized arguments: --alfa 1; kdi transform --help shows"),
        (["transform", "a.csv", "--alpha", "-1"], "'-1' is not a number >= 0, inf, scott or silverman"),
        (["transform", "a.csv", "--alpha", "nan"], "'nan' is not a number >= 0"),
        (["transform", "a.csv", "--alpha", "x=big"], "'big' is not a number >= 0"),
        (["transform", "a.csv", "--kernel", "box"], "invalid choice: 'box'"),
        (["transform", "a.csv", "--order", "0"], "'0' is not an integer from 1 to 300"),
        (["transform", "a.csv", "--spread", "iqr"], "invalid choice: 'iqr' (choose from"),
        (["transform", "a.csv", "--feature-range", "1"], "argument --feature-range: expected 2 arguments"),
        (["transform", "a.csv", "--feature-range", "0", "inf"], "'inf' is not a finite number"),
        (["transform", "a.csv", "--feature-range", "0", "b.csv"], "'b.csv' is not a finite number"),
        (["corr", "a.csv", "--order", "301"], "'301' is not an integer from 1 to 300"),
        (["cluster", "a.csv", "--column", "x", "--order", "2.5"], "'2.5' is not an integer from 1 to 300"),
        (["transform", "a.csv", "--col", "x"], "unrecognized arguments: --col x"),
        (["cluster", "a.csv"], "the following arguments are required: --column"),
        (["cluster", "a.csv", "--column", "x", "--n-clusters", "0"], "'0' is not an integer >= 1"),
        (["cluster", "a.csv", "--column", "x", "--n-clusters", "2.5"], "'2.5' is not an integer >= 1"),
        (["cluster", "a.csv", "--column", "x", "--significance", "1"], "'1' is not a number between 0 and 1"),
        (["cluster", "a.csv", "--column", "x", "--min-size", "-3"], "'-3' is not a number >= 0"),
        *[
            (["cluster", "a.csv", "--column", "x", "--bandwidth", text], f"{text!r} is not a positive number, scott or")
            for text in ("0", "inf", "nan", "wide")
        ],
        (["explore", "a.csv"], "the following arguments are required: -o/--output"),
        (["corr", "a.csv", "--format", "x\ny"], "invalid choice: 'x\\ny'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(capsys, arguments, message):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kdi: ")
    assert err.count("\n") == 1
    assert message in err


def test_help_imports_nothing_that_only_work_needs():
    code = (
        "import sys\n"
        "from kdi.cli import main; main(['transform', '--help'])\n"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in "
        "('kdi', 'matplotlib', 'numpy', 'pandas', 'polars', 'pyarrow', 'scipy', 'sklearn')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[-1].split() == [
        "kdi",
        "kdi._utils",
        "kdi._utils.atomic_write",
        "kdi._utils.errors",
        "kdi._utils.names",
        "kdi._version",
        "kdi.cli",
        "kdi.cli._arguments",
        "kdi.cli._choices",
        "kdi.cli._errors",
    ]


@pytest.mark.slow
def test_the_package_loads_what_is_asked_for():
    code = (
        "import pickle, sys, kdi\n"
        "assert 'numpy' not in sys.modules\n"
        "assert set(kdi.__all__) <= set(dir(kdi))\n"
        "assert kdi.KDITransformer is sys.modules['kdi._transformer.transformer'].KDITransformer\n"
        "assert pickle.loads(pickle.dumps(kdi.KDITransformer(2.0))).alpha == 2.0\n"
        "assert not hasattr(kdi, 'nothing')\n"
        "from kdi import *\n"
        "assert KDE1D is kdi.KDE1D and Sketch is kdi.Sketch\n"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_columns():
    there = ["a", "b", "a,b", 'q"']
    assert parse_columns(None, there) is None
    assert parse_columns(["a,b"], there) == ["a,b"]
    assert parse_columns(["b,a"], there) == ["b", "a"]
    assert parse_columns(['"a,b",a', 'q"'], there) == ["a,b", "a", 'q"']
    assert parse_columns([""], there) == [""]


def test_alphas():
    assert parse_alpha(None, ["a"]) == 1.0
    assert parse_alpha(["2", "0.5"], ["a"]) == 0.5
    assert parse_alpha(["scott"], ["a"]) == "scott"
    assert parse_alpha(["a=0,b=inf"], ["a", "b", "c"]) == {"a": 0.0, "b": float("inf")}
    assert parse_alpha(["a=1", "a=2"], ["a"]) == {"a": 2.0}
    assert parse_alpha(["x=y=3"], ["x=y"]) == {"x=y": 3.0}
    assert parse_alpha(["a=2", "3"], ["a", "b"]) == {"a": 2.0, "b": 3.0}
    with pytest.raises(CommandError, match="must be one value or NAME=VALUE pairs, got '3' among pairs"):
        parse_alpha(["3,a=2"], ["a"])
    with pytest.raises(argparse.ArgumentTypeError, match="'x' is not a number"):
        parse_factor("x")


def test_messages_are_one_line():
    assert message_line(" a\nb\tc\x1b[31m\u202e ") == "a\\nb\\tc\\x1b[31m\\u202e"
    assert len(message_line("x" * 10_000)) < 700


def test_tables_wider_than_the_terminal_are_folded(monkeypatch):
    monkeypatch.setenv("COLUMNS", "18")
    header, rows = ["", "one", "two", "three"], [["first", "1.000", "2.000", "3.000"], ["b", "1", "22", "333"]]
    assert aligned(header, rows) == (
        "         one\nfirst  1.000\nb          1\n\n"
        "         two\nfirst  2.000\nb         22\n\n"
        "       three\nfirst  3.000\nb        333\n"
    )
    monkeypatch.setenv("COLUMNS", "80")
    assert aligned(header, rows).splitlines()[1] == "first  1.000  2.000  3.000"
