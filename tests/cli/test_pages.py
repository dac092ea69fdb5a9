"""kdi explore and kdi demo: the page is that of kdi.explore, and the demo writes what it says."""

import os

import numpy as np
import pandas as pd
import pytest
from cli_runs import files_in, houses, process, refused, run

import kdi
from kdi.cli import main
from kdi.cli._demonstrating import WRITTEN

pytestmark = pytest.mark.slow

FEATURES = ["income", "rooms", "households"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return tmp_path


def test_the_page(folder, capsys):
    run("explore", "houses.csv", "-o", "houses.html")
    assert (folder / "houses.html").read_text() == kdi.explore("houses.csv", columns=FEATURES).html
    assert capsys.readouterr().err == "kdi: note: not numeric, and left out: 'key', 'city'.\n"


def test_the_page_names_what_it_leaves_out_by_itself(folder, capsys):
    houses().drop(columns="key").assign(far=np.inf).to_csv("plain.csv", index=False)
    run("explore", "plain.csv", "-o", "plain.html")
    page = kdi.explore("plain.csv")
    assert list(page.left_out) == ["city", "far"]
    assert (folder / "plain.html").read_text() == page.html
    assert capsys.readouterr().err == (
        "kdi: note: not numeric, and left out: 'city'.\nkdi: note: left out, for reasons that the page states: 'far'.\n"
    )


def test_columns_are_chosen_as_by_other_commands(folder, capsys):
    (folder / "a.csv").write_text("zip,flag,x,y,city\n02139,true,1,3,a\n10001,false,2,5,b\n90210,true,4,4,c\n")
    run("explore", "a.csv", "-o", "a.html")
    run("corr", "a.csv", "-o", "b.csv")
    first, second = capsys.readouterr().err.splitlines()
    assert first == second == "kdi: note: not numeric, and left out: 'zip', 'flag', 'city'."
    assert (folder / "a.html").read_text() == kdi.explore("a.csv", columns=["x", "y"]).html


def test_columns_weights_and_title(folder):
    options = ["--columns", "income,rooms", "--weights", "households", "--title", "A & <b>"]
    run("explore", "houses.csv", "-o", "a.html", *options)
    page = kdi.explore("houses.csv", columns=["income", "rooms"], weights="households", title="A & <b>")
    assert (folder / "a.html").read_text() == page.html
    assert "<title>A &amp; &lt;b&gt;" in page.html


def test_several_files_and_standard_streams(folder):
    houses().iloc[:100].to_csv("a.csv", index=False)
    houses().iloc[100:].to_csv("b.csv", index=False)
    run("explore", "a.csv", "b.csv", "-o", "parts.html")
    assert (folder / "parts.html").read_text() == kdi.explore(["a.csv", "b.csv"], columns=FEATURES).html
    done = process("explore", "-", "-o", "-", cwd=folder, input=(folder / "houses.csv").read_bytes())
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")
    assert b"<title>standard input" in done.stdout


def test_what_cannot_be_explored(folder, capsys):
    cases = {
        ("-o", "houses.txt"): "--output must end in .html, or be - for standard output, got 'houses.txt'",
        ("-o", "a.html", "--columns", "size"): "houses.csv has no column 'size'; its columns are 'key'",
        ("-o", "a.html", "--columns", "city"): "column 'city' of houses.csv must be numeric, got string, for example '",
        (
            "-o",
            "a.html",
            "--columns",
            "rooms,rooms",
        ): "columns must be different from each other, got 'rooms' more than once",
        ("-o", "a.html", "--weights", "size"): "houses.csv has no column 'size'",
    }
    for arguments, message in cases.items():
        assert message in refused(capsys, "explore", "houses.csv", *arguments)
    assert files_in(folder) == ["houses.csv"]


def test_the_demo(folder, capsys):
    run("demo", "-o", "demo")
    shown = capsys.readouterr().out
    assert files_in("demo") == sorted(WRITTEN)
    assert all(os.path.join("demo", name) in shown for name in WRITTEN)
    table = pd.read_csv(kdi.data.california_housing())
    scaled = pd.read_csv("demo/scaled.csv")
    np.testing.assert_allclose(scaled.iloc[:, :-1], kdi.KDITransformer().fit_transform(table.iloc[:, :-1]), atol=1e-9)
    assert scaled["MedHouseVal"].equals(table["MedHouseVal"])
    pairs = kdi.compare_correlations(table.iloc[:, :-1])
    (line,) = [line for line in shown.splitlines() if line.split()[:2] == ["AveRooms", "AveBedrms"]]
    assert line.split()[2:] == [f"{pairs[name][0]:.3f}" for name in ("pearson", "spearman", "kdi")]
    written = pd.read_csv("demo/correlations.csv")
    pd.testing.assert_frame_equal(written, pairs, rtol=0, atol=1e-6)
    assert (folder / "demo" / "explorer.html").read_text() == kdi.explore(
        "demo/housing.csv.gz", title="California housing"
    ).html
    for name in ("features", "correlations", "clusters"):
        assert (folder / "demo" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_commands_of_the_demo_can_be_repeated(folder, capsys):
    run("demo")
    commands = [line[6:] for line in capsys.readouterr().out.splitlines() if line.startswith("$ kdi ")]
    assert len(commands) == 4
    before = (folder / "kdi-demo" / "model.json").read_bytes()
    done = process(*commands[0].split(), cwd=folder)
    assert done.returncode == 0
    assert (folder / "kdi-demo" / "model.json").read_bytes() == before


def test_a_demo_over_files_of_a_user(folder, capsys):
    (folder / "mine").mkdir()
    for name in ("model.json", "housing.csv.gz"):
        (folder / "mine" / name).write_text("of a user")
    line = refused(capsys, "demo", "-o", "mine")
    assert (
        "'mine' is not the folder of an earlier demo, and its 'model.json', 'housing.csv.gz' would be replaced" in line
    )
    assert files_in("mine") == ["housing.csv.gz", "model.json"]
    assert (folder / "mine" / "model.json").read_text() == "of a user"


def test_a_demo_that_was_broken_off_can_be_repeated(folder, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("kdi.cli._demonstrating.compare_partitioned", lambda *_: 1 / 0)
        assert main(["demo", "-o", "demo"]) == 1
    assert files_in("demo") == ["housing.csv.gz"]
    run("demo", "-o", "demo")
    assert files_in("demo") == sorted(WRITTEN)


def test_a_demo_where_there_is_no_folder(folder, capsys):
    assert "--output must be a folder, got the file 'houses.csv'" in refused(capsys, "demo", "-o", "houses.csv")
    assert "houses.csv" in refused(capsys, "demo", "-o", "houses.csv/demo")
    assert files_in(folder) == ["houses.csv"]
