"""kdi explore and kdi demo: the page is that of kdi.explore, and the demo writes what it says."""

import os

import numpy as np
import pandas as pd
import pytest
from cli_runs import files_in, houses, process, refused, run

import kdi
from kdi.cli.demonstrating import WRITTEN


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return tmp_path


def test_the_page(folder, capsys):
    run("explore", "houses.csv", "-o", "houses.html")
    assert (folder / "houses.html").read_text() == kdi.explore("houses.csv").html
    assert capsys.readouterr().err == "kdi: note: not on the page, which says why: 'city'.\n"


def test_columns_weights_and_title(folder):
    options = ["--columns", "income,rooms", "--weights", "households", "--title", "A & <b>"]
    run("explore", "houses.csv", "-o", "a.html", *options)
    page = kdi.explore("houses.csv", columns=["income", "rooms"], weights="households", title="A & <b>")
    assert (folder / "a.html").read_text() == page.html
    assert "<title>A &amp; &lt;b&gt;" in page.html


def test_parts_and_standard_streams(folder):
    houses().iloc[:100].to_csv("a.csv", index=False)
    houses().iloc[100:].to_csv("b.csv", index=False)
    run("explore", "a.csv", "b.csv", "-o", "parts.html")
    assert (folder / "parts.html").read_text() == kdi.explore(["a.csv", "b.csv"]).html
    done = process("explore", "-", "-o", "-", cwd=folder, input=(folder / "houses.csv").read_bytes())
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")
    assert b"<title>standard input" in done.stdout


def test_what_cannot_be_explored(folder, capsys):
    cases = {
        ("-o", "houses.txt"): "output 'houses.txt' must end in .html, or be - for standard output",
        ("-o", "a.html", "--columns", "size"): "there is no column 'size'",
        ("-o", "a.html", "--columns", "city"): "column 'city' holds string; --columns chooses columns",
        ("-o", "a.html", "--weights", "size"): "there is no column 'size'",
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


def test_a_demo_where_there_is_no_folder(folder, capsys):
    assert "'houses.csv' is a file, and no folder to write to" in refused(capsys, "demo", "-o", "houses.csv")
    assert "houses.csv" in refused(capsys, "demo", "-o", "houses.csv/demo")
    assert files_in(folder) == ["houses.csv"]
