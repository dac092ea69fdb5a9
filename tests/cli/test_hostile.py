"""Input that nobody wants to meet: a clear line or a correct result, never a traceback, never half a file."""

import os
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_runs import files_in, refused, run

import kdi

COMMANDS = {
    "transform": ["-o", "out.csv", "--save", "model.json"],
    "corr": ["-o", "out.csv", "--plot", "out.png"],
    "cluster": ["--column", "x", "-o", "out.csv", "--plot", "out.png"],
    "explore": ["-o", "out.html"],
}
UNREADABLE = {
    "empty.csv": (b"", "empty.csv cannot be read: Empty CSV file"),
    "ragged.csv": (b"x,y\n1,2\n3\n", r"ragged.csv cannot be read: expected 2 columns, got 1 \('3'\) in row 3 "),
    "binary.csv": (bytes(range(256)) * 40, "binary.csv cannot be read: "),
    "latin.csv": ("x,größe\n1,2\n".encode("latin-1"), "latin.csv is not UTF-8; iconv -f latin1 -t utf-8 "),
    "wide.csv": ("x,größe\n1,2\n".encode("utf-16"), "wide.csv is not UTF-8; iconv -f utf-16 -t utf-8 "),
    "twice.csv": (b"x,x\n1,2\n", "names of columns must be unique, but 'x' occurs more than once"),
    "binary.parquet": (bytes(range(256)) * 40, "binary.parquet cannot be read: "),
    "empty.parquet": (b"", "empty.parquet cannot be read: "),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00rubbish", "cut.csv.gz cannot be read: "),
}
EVIL = [
    '<script>alert("x")</script>',
    "</script><!--",
    'quo"te',
    "new\nline\rreturn",
    "$x_1$",
    "k" * 300,
    "😀 é",
    "%s",
    "",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_files_that_cannot_be_read(folder, capsys, command, name):
    content, message = UNREADABLE[name]
    (folder / name).write_bytes(content)
    assert re.search(message, refused(capsys, command, name, *COMMANDS[command]))
    assert files_in(folder) == [name]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_header_only(folder, capsys, command):
    (folder / "a.csv").write_text("x,y\n")
    pq.write_table(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), "a.parquet")
    for name in ("a.csv", "a.parquet"):
        assert re.search("no rows|no value", refused(capsys, command, name, *COMMANDS[command]))
    assert files_in(folder) == ["a.csv", "a.parquet"]


@pytest.mark.parametrize("command", COMMANDS)
def test_text_only(folder, capsys, command):
    (folder / "a.csv").write_text("x,y\na,b\nc,d\n")
    assert re.search("no numeric column|must be numeric", refused(capsys, command, "a.csv", *COMMANDS[command]))
    assert files_in(folder) == ["a.csv"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory(folder, capsys, command):
    (folder / "a.csv").mkdir()
    assert "'a.csv' is a directory; a glob such as 'a.csv/*.parquet'" in refused(
        capsys, command, "a.csv", *COMMANDS[command]
    )
    assert files_in(folder) == ["a.csv"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("separator, word", [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators(folder, capsys, command, separator, word):
    (folder / "a.csv").write_text(f"x{separator}y\n1{separator}2\n")
    line = refused(capsys, command, "a.csv", *COMMANDS[command])
    assert word in line
    assert f"x{separator}y".replace("\t", "\\") in line.replace("\\\\", "\\").replace("\\t", "\\")


@pytest.mark.parametrize("command", COMMANDS)
def test_semicolons_and_decimal_commas(folder, capsys, command):
    (folder / "a.csv").write_text("x;y;z\n1,5;2;3,25\n2,5;3;4,25\n")
    line = refused(capsys, command, "a.csv", *COMMANDS[command])
    assert "its one column is 'x;y;z', which looks like several columns separated by semicolons" in line


def test_text_that_is_not_utf_8(folder, capsys):
    (folder / "a.csv").write_bytes("x,y,city\n1,2,Köln\n2,3,Ulm\n".encode("latin-1"))
    message = "a.csv is not UTF-8; iconv -f latin1 -t utf-8 converts it"
    assert message in refused(capsys, "transform", "a.csv", "-o", "out.csv")
    assert message in refused(capsys, "cluster", "a.csv", "--column", "x", "-o", "out.csv")
    assert files_in(folder) == ["a.csv"]


def test_files_that_may_not_be_read(folder, capsys, monkeypatch):
    (folder / "a.csv").write_text("x,y\n1,2\n")

    def denied(*_):
        raise PermissionError(13, "Failed to open local file 'a.csv'. Detail: [errno 13] Permission denied")

    monkeypatch.setattr("kdi._tables.files.pa.OSFile", denied)  # since root may read anything
    assert refused(capsys, "corr", "a.csv") == "kdi: a.csv cannot be read: permission denied."


def test_targets_that_cannot_be_written(folder, capsys):
    (folder / "a.csv").write_text("x,y\n1,2\n2,1\n5,3\n")
    (folder / "taken.csv").mkdir()
    os.mkfifo("pipe.csv")
    for command, target in [
        ("transform", ["-o", "none/out.csv"]),
        ("transform", ["-o", "taken.csv"]),
        ("transform", ["-o", "pipe.csv"]),
        ("transform", ["-o", "out.csv", "--save", "none/model.json"]),
        ("corr", ["-o", "out.csv", "--plot", "none/out.png"]),
        ("corr", ["-o", "out.csv", "--plot", "out.gif"]),
        ("cluster", ["--column", "x", "-o", "out.csv", "--plot", "none/out.png"]),
        ("explore", ["-o", "none/out.html"]),
        ("explore", ["-o", "out.txt"]),
    ]:
        line = refused(capsys, command, "a.csv", *target)
        assert re.search(r"no directory|is a directory|is not a regular file|must end in \.(png|html)", line)
    assert files_in(folder) == ["a.csv", "pipe.csv", "taken.csv"]


def test_a_folder_that_may_not_be_written_to(folder, capsys, monkeypatch):
    (folder / "a.csv").write_text("x,y\n1,2\n2,1\n5,3\n")
    monkeypatch.setattr("kdi._utils.atomic_write.os.access", lambda *_: False)  # since root may write anywhere
    assert "cannot be written to" in refused(capsys, "transform", "a.csv", "-o", "out.csv")


@pytest.mark.parametrize("command, target", [("transform", "out.csv"), ("explore", "out.html"), ("corr", "out.csv")])
def test_a_file_that_is_read_only_is_not_replaced(folder, capsys, monkeypatch, command, target):
    (folder / "a.csv").write_text("x,y\n1,2\n2,1\n5,3\n")
    (folder / target).write_text("what was there")
    may = os.access
    monkeypatch.setattr(
        "kdi._utils.atomic_write.os.access", lambda path, how: not path.endswith(target) and may(path, how)
    )
    assert f"{target}' is read-only, and is not replaced" in refused(capsys, command, "a.csv", "-o", target)
    assert (folder / target).read_text() == "what was there"


@pytest.mark.parametrize("command", ["transform", "cluster", "apply", "corr"])
def test_a_table_that_turns_out_broken_leaves_what_was_there(folder, capsys, command):
    good, bad = "x,y\n" + "1,2\n2,3\n" * 200_000, "3,oops\n"  # further on than the types are looked at
    (folder / "a.csv").write_text("x,y\n1,2\n2,1\n5,3\n")
    run("transform", "a.csv", "-o", "out.csv", "--save", "model.json")
    (folder / "broken.csv").write_text(good + bad)
    before = {name: (folder / name).read_bytes() for name in files_in(folder)}
    arguments = {"apply": ["model.json", "broken.csv"], "cluster": ["broken.csv", "--column", "y"]}
    line = refused(capsys, command, *arguments.get(command, ["broken.csv"]), "-o", "out.csv")
    expected = "broken.csv cannot be read: column 'y': 'oops' is not a number in row 400,002 (the header is row 1)."
    advice = "; leave the column out with --columns" if command in ("transform", "corr") else ""
    assert line == f"kdi: {expected.removesuffix('.')}{advice}."
    assert {name: (folder / name).read_bytes() for name in files_in(folder)} == before


# Tables that are odd, but right


def test_one_column(folder):
    values = np.random.default_rng(0).normal(size=50)
    pd.DataFrame({"x": values}).to_csv("a.csv", index=False)
    for command, options in COMMANDS.items():
        run(command, "a.csv", *options)
    assert pd.read_csv("out.csv")["x"].tolist() == pytest.approx(values.tolist(), abs=0)
    assert set(files_in(folder)) >= {"model.json", "out.csv", "out.html", "out.png"}


def test_one_row(folder, capsys):
    (folder / "a.csv").write_text("x,y\n1,2\n")
    run("transform", "a.csv", "-o", "out.csv")
    assert (folder / "out.csv").read_text() == "x,y\n0,0\n"
    for command in ("cluster", "explore"):
        run(command, "a.csv", *COMMANDS[command])


def test_nothing_but_holes(folder, capsys):
    (folder / "a.csv").write_text("x,y,z\n,1,a\n,2,b\n,4,c\n")
    run("transform", "a.csv", "-o", "out.csv")
    assert [line.split(",")[0] for line in (folder / "out.csv").read_text().split()] == ["x", "", "", ""]
    assert "note: column 'x' held only NaN" in capsys.readouterr().err
    run("corr", "a.csv", "-o", "out.csv", "--plot", "out.png")
    assert (folder / "out.csv").read_text() == "column,x,y\nx,,\ny,,1\n"
    assert (
        "note: no correlation is defined for 'x': it needs rows with different values in both columns.\n"
        in capsys.readouterr().err
    )
    run("corr", "a.csv", "-o", "out.csv", "--compare")
    assert (
        "note: no correlation is defined for 'x', 'y': it needs rows with different values in both columns.\n"
        in capsys.readouterr().err
    )
    run("explore", "a.csv", "-o", "out.html")
    assert "a.csv: column 'x' must hold at least one value" in refused(capsys, "cluster", "a.csv", "--column", "x")


def test_a_header_that_is_missing(folder, capsys):
    (folder / "a.csv").write_text("1.5,2\n2,1\n5,3\n")
    run("transform", "a.csv", "-o", "out.csv")
    assert (
        "note: all column names of a.csv are numbers; the first line is used as the header. Is it missing?"
        in capsys.readouterr().err
    )
    (folder / "a.csv").write_text("x,2\n2,1\n5,3\n")
    run("transform", "a.csv", "-o", "out.csv")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["transform", "--columns", "x"], ["cluster", "--column", "x"]])
def test_what_csv_cannot_hold_is_known_before_anything_is_learned(folder, capsys, monkeypatch, command):
    pq.write_table(pa.table({"x": [1.0, 2.0], "many": [[1], [2]]}), "a.parquet")
    monkeypatch.setattr("kdi.cli._inputs.Input.partitions", None)
    name, *options = command
    line = refused(capsys, name, "a.parquet", *options, "-o", "out.csv")
    assert "a.parquet: column 'many' holds list<element: int64>, which cannot be written as CSV; write Parquet" in line


def test_infinite_values(folder, capsys):
    (folder / "a.csv").write_text("x,y\n1,1\ninf,2\n3,3\n")
    for command in ("transform", "cluster"):
        line = refused(capsys, command, "a.csv", *COMMANDS[command])
        assert "a.csv: column 'x' must be finite or" in line
        assert ", got infinite values" in line
        assert ("leave the column out with --columns" in line) == (command == "transform")
    assert files_in(folder) == ["a.csv"]


def test_weights_of_nothing(folder, capsys):
    (folder / "a.csv").write_text("x,w\n1,0\n2,0\n")
    for command in ("transform", "explore"):
        assert "--weights must not be zero in every row" in refused(
            capsys, command, "a.csv", *COMMANDS[command], "--weights", "w"
        )
    (folder / "b.csv").write_text("x,w\n1,1\n2,-1\n")
    assert "must be finite and not negative, got -1.0 in row 1" in refused(
        capsys, "transform", "b.csv", "-o", "out.csv", "--weights", "w"
    )


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_of_columns_that_are_attacks(folder, capsys, suffix):
    rng = np.random.default_rng(0)
    names = [*EVIL, "text</script>"]
    table = pa.table(dict(zip(names, [*rng.lognormal(size=(len(EVIL), 60)), ["<b>"] * 60], strict=True)))
    path = f"a.{suffix}"
    table.to_pandas().to_csv(path, index=False) if suffix == "csv" else pq.write_table(table, path)
    expected = kdi.KDITransformer().fit_transform(table.select(EVIL).to_pandas())
    run("transform", path, "-o", "out.csv")
    found = pd.read_csv("out.csv", keep_default_na=False)
    assert [name if "Unnamed" not in name else "" for name in found] == names
    np.testing.assert_allclose(found.iloc[:, :-1], expected, atol=1e-9)
    run("corr", path, "--plot", "out.png", "--compare", "-o", "pairs.csv")
    run("corr", path, "--plot", "matrix.svg", "-o", "matrix.csv")
    for name in EVIL:
        run("cluster", path, "--column", name, "--plot", "out.png")
    run("explore", path, "-o", "out.html", "--title", EVIL[0])
    page = (folder / "out.html").read_text()
    assert page.lower().count("<script") == page.lower().count("</script>")
    assert 'alert("x")' not in page
    capsys.readouterr()
    assert "\\n" in refused(capsys, "cluster", path, "--column", "n\nne")


def test_libraries_that_are_not_installed(folder, capsys, monkeypatch):
    (folder / "a.csv").write_text("x,y\n1,2\n2,1\n5,3\n")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.figure", None)
        for command in (["corr", "a.csv", "--plot", "a.png"], ["demo"]):
            assert "plots need matplotlib: pip install 'kdi[cli]'" in refused(capsys, *command)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for command, options in COMMANDS.items():
        assert "pyarrow: pip install 'kdi[arrow]'" in refused(capsys, command, "a.csv", *options)
    assert files_in(folder) == ["a.csv"]


def test_messages_are_short(folder, capsys):
    (folder / "a.csv").write_text(",".join(f"column {k} {'x' * 300}" for k in range(30)) + "\n" + "1," * 29 + "1\n")
    assert len(refused(capsys, "transform", "a.csv", "-o", "out.csv", "--columns", "none")) < 700
