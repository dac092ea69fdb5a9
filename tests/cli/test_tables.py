"""Tables in and out: CSV and Parquet, compressed, in parts, from and to standard streams, in place."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from cli_runs import assert_same_numbers, files_in, houses, process, refused, run

import kdi
import kdi.cli._inputs

FEATURES = ["income", "rooms", "households"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return tmp_path


@pytest.fixture
def expected():
    table = houses()[FEATURES]
    return kdi.KDITransformer().fit_transform(table)


def test_csv_to_parquet_and_back(folder, expected):
    run("transform", "houses.csv", "-o", "scaled.parquet", "--save", "model.json")
    found = pd.read_parquet("scaled.parquet")
    assert_same_numbers(found[FEATURES], expected)
    assert found["key"].tolist()[:2] == ["000", "001"]
    assert found["city"].tolist() == houses()["city"].tolist()
    run("inverse", "model.json", "scaled.parquet", "-o", "back.csv")
    back = pd.read_csv("back.csv", dtype={"key": str})
    np.testing.assert_allclose(back[FEATURES], houses()[FEATURES], rtol=1e-6)
    assert back[["key", "city"]].equals(houses()[["key", "city"]])


def test_parquet_to_parquet_keeps_types_and_the_index_of_pandas(folder):
    frame = houses().set_index("key").astype({"income": "float32", "households": "int8"})
    frame["day"] = pd.Timestamp("2024-02-29")
    frame.to_parquet("houses.pq")
    run("transform", "houses.pq", "-o", "scaled.pq", "--columns", "income")
    found = pd.read_parquet("scaled.pq")
    assert found.dtypes.to_dict() == frame.dtypes.to_dict()
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found[["income"]], kdi.KDITransformer().fit_transform(frame[["income"]]))
    assert found.drop(columns="income").equals(frame.drop(columns="income"))


def test_compressed(folder, expected):
    houses().to_csv("houses.csv.gz", index=False)
    run("transform", "houses.csv.gz", "-o", "scaled.csv.gz")
    text = gzip.decompress((folder / "scaled.csv.gz").read_bytes())
    assert_same_numbers(pd.read_csv(io.BytesIO(text))[FEATURES], expected)


def test_globs_and_several_inputs_are_one_table(folder, expected):
    (folder / "parts").mkdir()
    for k in range(4):
        houses().iloc[50 * k : 50 * (k + 1)].to_csv(f"parts/{k}.csv", index=False)
    run("transform", "parts/*.csv", "-o", "scaled.csv")
    run("transform", "parts/0.csv", "parts/[12].csv", "parts/3.csv", "-o", "again.csv")
    np.testing.assert_allclose(pd.read_csv("scaled.csv")[FEATURES], expected, atol=1e-9)
    assert (folder / "scaled.csv").read_bytes() == (folder / "again.csv").read_bytes()


def test_in_place(folder, expected):
    run("transform", "houses.csv", "-o", "houses.csv")
    assert_same_numbers(pd.read_csv("houses.csv")[FEATURES], expected)
    assert files_in(folder) == ["houses.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_standard_input_by_what_it_holds(folder, expected, form):
    path = folder / f"input.{form}"
    houses().to_parquet(path) if form == "parquet" else houses().to_csv(path, index=False)
    done = process("transform", "-", "-o", "-", cwd=folder, input=path.read_bytes())
    assert done.returncode == 0
    assert_same_numbers(pd.read_csv(io.BytesIO(done.stdout))[FEATURES], expected)


@pytest.mark.slow
def test_parquet_on_standard_output(folder, expected):
    done = process("transform", "houses.csv", "--format", "parquet", cwd=folder)
    assert_same_numbers(pd.read_parquet(io.BytesIO(done.stdout))[FEATURES], expected)


@pytest.mark.slow
def test_standard_input_beside_files(folder):
    done = process(
        "transform", "houses.csv", "-", "-o", "both.csv", cwd=folder, input=(folder / "houses.csv").read_bytes()
    )
    assert done.returncode == 0
    assert len(pd.read_csv(folder / "both.csv")) == 400


@pytest.mark.slow
def test_errors_call_standard_input_by_its_name(folder):
    for text, message in [
        (b"", "standard input cannot be read: "),
        (b"a\n1\nx\n", "'a' of standard input must be numeric"),
    ]:
        done = process("transform", "-", "--columns", "a", cwd=folder, input=text)
        assert done.returncode == 1
        assert message in done.stderr.decode()
        assert "/" not in done.stderr.decode()


# What passes through CSV


def test_text_passes_through_as_it_stands(folder):
    text = (
        "key,code,flag,day,blank,note,x\n"
        '007,1e5,true,2024-01-01,,"a ""b"", c",1\n'
        '010,+1.50,FALSE,1/2/2024,"","two\nlines",2\n'
        "011,0x1F,true,,NA,NULL,4\n"
    )
    (folder / "a.csv").write_text(text)
    run("transform", "a.csv", "-o", "b.csv", "--columns", "x", "--alpha", "inf")
    assert (folder / "b.csv").read_text() == text.replace(",1\n", ",0\n").replace(
        '"two\nlines",2', '"two\nlines",0.3333333333333333'
    ).replace("NULL,4", "NULL,1")


def test_what_is_missing_in_numbers(folder):
    (folder / "a.csv").write_text('x,y\n1,a\nNA,b\n,c\nnan,d\nnull,e\n"",f\n"3",g\n 2 ,h\n')
    run("transform", "a.csv", "-o", "b.csv", "--alpha", "inf")
    assert (folder / "b.csv").read_text() == "x,y\n0,a\n,b\n,c\n,d\n,e\n,f\n1,g\n0.5,h\n"


@pytest.mark.parametrize("values", [["0x1F", "0x20", "0x3"], ["+491", "+20", "+3"], ["+49", "1.5", "2"]])
def test_numbers_that_would_be_written_otherwise_are_keys(folder, capsys, values):
    (folder / "a.csv").write_text("code,x\n" + "".join(f"{value},{k}\n" for k, value in enumerate(values)))
    run("transform", "a.csv", "-o", "b.parquet")
    assert "not numeric, and passed through unchanged: 'code'" in capsys.readouterr().err
    assert pd.read_parquet("b.parquet")["code"].tolist() == values


def test_a_column_that_passes_into_parquet_and_turns_out_to_be_text(folder, capsys):
    (folder / "a.csv").write_text("x,y\n" + "1,2\n2,3\n" * 200_000 + "3,oops\n")
    line = refused(capsys, "transform", "a.csv", "-o", "b.parquet", "--columns", "x")
    assert "column 'y': 'oops' is not a number in row 400,002 (the header is row 1); write CSV to pass" in line
    run("transform", "a.csv", "-o", "b.csv", "--columns", "x")
    assert (folder / "b.csv").read_text().endswith("\n1,oops\n")


def test_keys_are_numbers_where_they_are_asked_for(folder, capsys):
    (folder / "a.csv").write_text("zip,x\n02139,1\n10001,2\n90210,4\n")
    run("transform", "a.csv", "-o", "b.csv")
    assert [line.split(",")[0] for line in (folder / "b.csv").read_text().split()] == ["zip", "02139", "10001", "90210"]
    assert "not numeric, and passed through unchanged: 'zip'" in capsys.readouterr().err
    run("transform", "a.csv", "-o", "b.csv", "--columns", "zip", "--alpha", "inf")
    assert (folder / "b.csv").read_text().split()[1:] == ["0,1", f"{7862 / 88071!r},2", "1,4"]


def test_a_column_that_is_empty_at_first_is_one_of_numbers(folder):
    lines = ["x,y", *[",1"] * 300_000, *["2.5,1"] * 2, "3.5,2"]  # the empty ones are longer than a block
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    run("transform", "a.csv", "-o", "b.csv", "--alpha", "inf")
    assert (folder / "b.csv").read_text().split()[-2:] == ["0,0", "1,1"]


# Tables that are not kept in memory


@pytest.mark.parametrize("command", [["transform"], ["corr"], ["corr", "--compare"], ["cluster", "--column", "income"]])
def test_large_tables_are_read_anew_with_the_same_result(folder, monkeypatch, command):
    houses(3000).to_csv("houses.csv", index=False)
    name, *options = command
    read = []
    partitions = kdi.cli._inputs.Input.partitions

    def spy(table, *arguments):
        found = partitions(table, *arguments)
        read.append(found.source.rereadable and table.is_large)
        return found

    monkeypatch.setattr(kdi.cli._inputs.Input, "partitions", spy)
    run(name, "houses.csv", "-o", "small.csv", *options)
    monkeypatch.setattr(kdi.cli._inputs, "IN_MEMORY", 1000)
    run(name, "houses.csv", "-o", "large.csv", *options)
    assert read == [False, True]
    small, large = pd.read_csv("small.csv"), pd.read_csv("large.csv")
    pd.testing.assert_frame_equal(small, large, rtol=0, atol=1e-9)


def test_a_table_that_is_larger_than_its_file_is_not_kept(folder, monkeypatch):
    frame = pd.DataFrame({"x": np.repeat(np.arange(4.0), 5000)})
    frame.to_parquet("a.parquet")
    monkeypatch.setattr(kdi.cli._inputs, "IN_MEMORY", 30_000)
    assert 3 * (folder / "a.parquet").stat().st_size < 30_000 < frame["x"].nbytes / 4
    run("transform", "a.parquet", "-o", "b.parquet")
    assert pq.read_table("b.parquet")["x"].to_pylist() == kdi.KDITransformer().fit_transform(frame)[:, 0].tolist()


# What is refused


def test_names_of_files_say_what_they_are(folder, capsys):
    houses().to_csv("houses.txt", index=False)
    houses().to_parquet("houses.parquet")
    cases = {
        ("houses.txt", "-o", "a.csv"): "must end in .parquet, .pq, .csv, .csv.gz, got 'houses.txt'",
        (
            "houses.csv",
            "-o",
            "a.txt",
        ): "--output must end in .csv, .csv.gz, .parquet, .pq, or be - for standard output, got 'a.txt'",
        ("houses.csv", "-o", "a.csv", "--format", "parquet"): "--format parquet contradicts the suffix of 'a.csv'",
        ("houses.csv", "houses.parquet", "-o", "a.csv"): "must all be Parquet or all be CSV",
        ("none.csv", "-o", "a.csv"): "there is no file 'none.csv'",
        ("none*.csv", "-o", "a.csv"): "no file matches 'none*.csv'",
        ("-", "-", "-o", "a.csv"): "- is standard input, which can be read only once",
    }
    for arguments, message in cases.items():
        assert message in refused(capsys, "transform", *arguments)
    assert files_in(folder) == ["houses.csv", "houses.parquet", "houses.txt"]
